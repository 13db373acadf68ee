"""4. An engine maps a function over chunks of rows, and adds the results (to learn) or keeps them (to predict)."""

from classwise.engines.dask import DaskArrays, DaskEngine, is_dask
from classwise.engines.drawn_rows import draw
from classwise.engines.engine import Engine, SourceEngine, total
from classwise.engines.memory import MemoryEngine, in_threads, kept_threads
from classwise.engines.rows import Held, Rows, makes_rows, open_rows, register_engine
from classwise.engines.spark import SparkEngine, is_spark
from classwise.engines.stream import StreamEngine
from classwise.kernels import BLAS

__all__ = [
    "BLAS",
    "DaskArrays",
    "DaskEngine",
    "Engine",
    "Held",
    "MemoryEngine",
    "Rows",
    "SourceEngine",
    "SparkEngine",
    "StreamEngine",
    "draw",
    "in_threads",
    "is_dask",
    "is_spark",
    "kept_threads",
    "makes_rows",
    "open_rows",
    "register_engine",
    "total",
]
