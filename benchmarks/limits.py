"""The time that no implementation on this machine can beat: reading the rows, or multiplying them, whichever is longer.

Both rates are measured in the same run. Exponentials, and writing the answers, are not counted: they make the limit
lower than what can be reached, most of all where classes are many.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np
from machine import cores
from shapes import Shape
from timing import Call, seconds

NUMBER = 8  # bytes of a float64, and of a label

Flops = Callable[[int, int, int], int]


def _scatter(n: int, p: int, g: int) -> int:
    return n * p * p  # a symmetric product: half of 2 n p²


def _squares(n: int, p: int, g: int) -> int:
    return 4 * n * p


def _linear(n: int, p: int, g: int) -> int:
    r = min(p, g - 1)  # rows in Fisher's directions, then their products with the means
    return 2 * n * p * r + 2 * n * r * g


def _quadratic(n: int, p: int, g: int) -> int:
    return n * p * p * g  # a triangular product: half of 2 n p² g


def _separate(n: int, p: int, g: int) -> int:
    return 4 * n * p * g


FIT: dict[str, Flops] = {
    "LDA": _scatter,
    "QDA": _scatter,
    "NaiveBayes": _squares,
    "NearestMean": _squares,
    "NearestMean=": _squares,
}
PREDICT: dict[str, Flops] = {
    "LDA": _linear,
    "QDA": _quadratic,
    "NaiveBayes": _separate,
    "NearestMean": _linear,
    "NearestMean=": _linear,
}


@dataclass(frozen=True)
class Rates:
    """What this machine does in a second: bytes read by all cores together, and flops of BLAS with its own threads."""

    bytes: float
    flops: float

    def limit(self, model: str, operation: str, shape: Shape) -> float:
        """Seconds that the operation takes at the least."""
        p, g = shape.features, shape.classes
        if operation == "fit":
            read, flops = shape.rows * (p + 1), FIT[model](shape.rows, p, g)
        else:
            read, flops = shape.scored * p, PREDICT[model](shape.scored, p, g)
        return max(read * NUMBER / self.bytes, flops / self.flops)

    def best(self, other: "Rates") -> "Rates":
        """The higher of two measurements: interruptions only lower a rate."""
        return Rates(max(self.bytes, other.bytes), max(self.flops, other.flops))

    def facts(self) -> dict[str, float]:
        return {f"{name}_per_s": rate for name, rate in asdict(self).items()}


def measure_rates(size: int = 50_000_000, order: int = 2048) -> Rates:
    numbers, matrix = np.ones(size), np.ones((order, order))
    parts = np.array_split(numbers, cores())
    with ThreadPoolExecutor(len(parts)) as pool:
        read = _best(lambda: list(pool.map(np.add.reduce, parts)))
    return Rates(numbers.nbytes / read, 2 * order**3 / _best(lambda: matrix @ matrix))


def _best(call: Call, tries: int = 10) -> float:
    return min(seconds(call) for _ in range(tries))
