"""Sums of the columns of sparse rows, by class: one product with a one-hot matrix of the classes.

    t_kj = sum over rows of class k of w x_j

All that counts need: a multinomial divides them by their own total, a Poisson and a Bernoulli by the weight of the
class. Gaussians also need squares, about the class means so that no digits cancel:

    S_kj = sum over stored values of w (x_j - m_kj)² + (weight of the zeros) m_kj²
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from classwise.arrays import Array, Codes, ratio, spread
from classwise.errors import StatisticsError
from classwise.rows.schema import Column
from classwise.statistics.moments import Moments
from classwise.statistics.scatter import DiagonalScatter
from classwise.statistics.statistic import ROUNDING, Statistic
from classwise.storage import stored

# Up to this many classes a product with a dense one-hot matrix is faster than counting cells.
FEW_CLASSES = 8


@stored("Sums")
@dataclass(frozen=True, eq=False)
class Sums(Statistic):
    """total (g, p): the sum of each column over the rows of each class."""

    total: Array

    def _is_sound(self) -> bool:
        return self.total.ndim == 2 and bool((self.total >= 0).all())

    def __add__(self, other: Self) -> Self:
        return type(self)(self.total + other.total)

    def __sub__(self, other: Self) -> Self:
        left = self.total - other.total
        if (left < -ROUNDING * self.total.max(initial=0.0)).any():
            raise StatisticsError("Subtracting leaves a negative sum: those rows were never part of this statistic.")
        # Of weights that are not whole numbers, rounding may leave a trace.
        return type(self)(np.where(left <= ROUNDING * self.total, 0.0, left))

    def regroup(self, positions: Codes, count: int) -> Self:
        return type(self)(spread(self.total, positions, count))

    def select(self, kept: Codes) -> Self:
        return type(self)(self.total[kept])

    def restrict(self, columns: Sequence[int]) -> Self:
        return type(self)(self.total[:, columns])

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        return self.total.shape == (count, len(columns))


def sparse_sums(rows: Any, codes: Codes, count: int, weights: Array | None) -> Array:
    """The sums over sparse rows (m, p) of each class, codes (m,) in range(count); (count, p).

    >>> from scipy.sparse import csr_array
    >>> sparse_sums(csr_array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), np.array([0, 1, 0]), 2, None)
    array([[4., 0.],
           [0., 2.]])
    """
    if count <= FEW_CLASSES:
        belongs = np.zeros((len(codes), count))
        belongs[np.arange(len(codes)), codes] = 1.0 if weights is None else weights
        return np.ascontiguousarray((rows.T @ belongs).T)
    return _by_cell(rows, codes, count, rows.data if weights is None else rows.data * _each(rows, weights))


def sparse_moments(rows: Any, codes: Codes, count: int, weights: Array | None) -> Moments:
    """Weight, mean and diagonal scatter of sparse rows (m, p) by class."""
    weight = np.bincount(codes, weights, minlength=count).astype(np.float64)[:, None]
    mean = ratio(sparse_sums(rows, codes, count, weights), weight)
    each = np.ones(len(rows.data)) if weights is None else _each(rows, weights)
    away = rows.data - mean[_each(rows, codes), rows.indices]
    squares = _by_cell(rows, codes, count, each * away * away)
    zeros = np.maximum(weight - _by_cell(rows, codes, count, each), 0.0)
    scatter = DiagonalScatter(squares + zeros * mean * mean)
    return Moments(weight, mean, np.zeros_like(mean), scatter)


def _each(rows: Any, values: Any) -> Any:
    """The value of its row (m,), for each stored number."""
    return np.repeat(values, np.diff(rows.indptr))


def _by_cell(rows: Any, codes: Codes, count: int, values: Array) -> Array:
    """The sum of values, one for each stored number, by class and column; (count, p)."""
    features = rows.shape[1]
    cells = _each(rows, codes.astype(np.intp) * features)
    cells += rows.indices
    return np.bincount(cells, values, minlength=count * features).reshape(count, features).astype(np.float64)
