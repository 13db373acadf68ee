"""4. An engine maps a function over chunks of rows, and adds the results (to learn) or keeps them (to predict)."""

from classwise.engines.blas import BLAS
from classwise.engines.dask import DaskEngine, is_dask
from classwise.engines.memory import MemoryEngine, in_threads
from classwise.engines.protocol import Engine
from classwise.engines.spark import SparkEngine, is_spark
from classwise.engines.stream import StreamEngine

__all__ = [
    "BLAS",
    "DaskEngine",
    "Engine",
    "MemoryEngine",
    "SparkEngine",
    "StreamEngine",
    "in_threads",
    "is_dask",
    "is_spark",
]
