"""Columns of which most are indicators: of hundreds of levels a row has one, and sums by level are sums of its rows.

    z = A u,   u = (dense columns, an indicator for each level),   W z = (W A) u,   sum of f z z' = A (sum of f u u') A'

So rows cost as many multiplications as they have values, whatever the number of levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from classwise.arrays import Array, Codes, product


@dataclass(frozen=True, eq=False)
class Indicated:
    """Of m rows: dense (d, m); marks (m, l): sparse indicators, as many in each row; spread (q, d + l): A, sparse.

    >>> spread = csr_array(np.array([[1.0, 0.0, 0.0], [-0.5, 1.0, 0.0], [-0.5, 0.0, 1.0]]))
    >>> z = Indicated.of(np.ones((1, 2)), [np.array([0, 1])], spread)
    >>> z.scores(np.eye(3))
    array([[ 1. ,  1. ],
           [ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    dense: Array
    marks: Any
    spread: Any

    @classmethod
    def of(cls, dense: Array, codes: Sequence[Codes], spread: Any) -> Self:
        """codes (m,) of each category: which of all indicators a row has."""
        rows = dense.shape[1]
        places = np.column_stack(codes)
        ends = np.arange(rows + 1) * len(codes)
        shape = (rows, spread.shape[1] - len(dense))
        return cls(dense, csr_array((np.ones(places.size), places.ravel(), ends), shape=shape), spread)

    @property
    def rows(self) -> int:
        return self.dense.shape[1]

    def scores(self, weights: Array) -> Array:
        """W z; (k, q) -> (k, m)."""
        dense, levels = self._parted(weights @ self.spread)
        return product(dense, self.dense) + (self.marks @ np.ascontiguousarray(levels.T)).T

    def sums(self, values: Array) -> Array:
        """The sum over rows of v z'; (k, m) -> (k, q)."""
        by_level = self.marks.T @ np.ascontiguousarray(values.T)
        return np.asarray(np.hstack([product(values, self.dense.T), by_level.T]) @ self.spread.T)

    def products(self, factors: Array) -> Array:
        """The sum over rows of f z z', for each factor; (c, m) -> (c, q, q)."""
        columns = self.spread.shape[0]
        result = np.empty((len(factors), columns, columns))
        for total, factor in zip(result, factors, strict=True):
            total[:] = self.spread @ (self.spread @ self._products(factor)).T
        return result

    def _products(self, factor: Array) -> Array:
        """The sum over rows of f u u'; symmetric."""
        scaled = factor * self.dense
        across = self.marks.T @ np.ascontiguousarray(scaled.T)
        weighted = csr_array((np.repeat(factor, self._each), self.marks.indices, self.marks.indptr), self.marks.shape)
        between = (weighted.T @ self.marks).toarray()
        return np.block([[product(scaled, self.dense.T), across.T], [across, between]])

    def squares(self, matrix: Array) -> Array:
        """z'C z of each row; (q, q) -> (m,)."""
        dense, across = self._parted(self.spread.T @ (self.spread.T @ (0.5 * (matrix + matrix.T))).T)
        inner, cross = dense[: len(self.dense)], across[: len(self.dense)]
        total = ((product(inner, self.dense) + 2 * (self.marks @ np.ascontiguousarray(cross.T)).T) * self.dense).sum(0)
        places = self.marks.indices.reshape(self.rows, self._each)
        between = across[len(self.dense) :]
        for first in places.T:
            for second in places.T:
                total += between[first, second]
        return np.asarray(total)

    @property
    def _each(self) -> int:
        """How many indicators a row has: the number of categories."""
        return self.marks.nnz // self.rows

    def _parted(self, matrix: Array) -> tuple[Array, Array]:
        """What belongs to dense columns, and what to indicators."""
        return matrix[:, : len(self.dense)], matrix[:, len(self.dense) :]


# Columns (q, m), or the same with indicators.
DesignColumns: TypeAlias = Array | Indicated


def scores_of(weights: Array, columns: DesignColumns) -> Array:
    """W z of each row; (k, q) -> (k, m)."""
    return columns.scores(weights) if isinstance(columns, Indicated) else product(weights, columns)


def squares_of(matrix: Array, columns: DesignColumns) -> Array:
    """z'C z of each row; (q, q) -> (m,)."""
    if isinstance(columns, Indicated):
        return columns.squares(matrix)
    return np.asarray((product(matrix, columns) * columns).sum(axis=0))


def sums_of(values: Array, columns: DesignColumns) -> Array:
    """The sum over rows of v z'; (k, m) -> (k, q)."""
    return columns.sums(values) if isinstance(columns, Indicated) else product(values, columns.T)
