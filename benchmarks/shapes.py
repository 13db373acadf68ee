"""The tables that are timed: rows x features x classes of Gaussian numbers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Rows are drawn in chunks this long, so that drawing leaves no high-water mark of its own in a memory measurement.
CHUNK_ROWS = 1 << 14


@dataclass(frozen=True)
class Shape:
    """scored: how many of the rows are predicted; all of them, unless their posteriors would not fit in memory."""

    name: str
    rows: int
    features: int
    classes: int
    scored: int

    def __str__(self) -> str:
        return f"{self.name} {self.rows:,} x {self.features} x {self.classes:,}"


SHAPES = {
    shape.name: shape
    for shape in [
        Shape("small", 150, 4, 3, scored=150),
        Shape("tall", 1_000_000, 20, 5, scored=1_000_000),
        Shape("wide", 200_000, 200, 10, scored=200_000),
        Shape("many", 1_000_000, 16, 1000, scored=20_000),
        Shape("very-tall", 10_000_000, 10, 3, scored=10_000_000),
    ]
}


def draw(shape: Shape, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows X (n, p) around class means of N(0, 1), with unit noise, and their labels y (n,)."""
    generator = np.random.default_rng(seed)
    means = generator.standard_normal((shape.classes, shape.features))
    y = generator.integers(shape.classes, size=shape.rows)
    X = np.empty((shape.rows, shape.features))
    for start in range(0, shape.rows, CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        generator.standard_normal(out=X[part])
        X[part] += means[y[part]]
    return X, y
