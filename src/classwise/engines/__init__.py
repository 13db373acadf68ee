"""4. An engine maps a function over chunks of rows, and adds the results (to learn) or keeps them (to predict)."""

from classwise.engines.blas import BLAS
from classwise.engines.memory import MemoryEngine, in_threads
from classwise.engines.protocol import Engine

__all__ = ["BLAS", "Engine", "MemoryEngine", "in_threads"]
