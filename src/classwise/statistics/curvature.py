"""Curvature: the loss of rows under given weights, its gradient and its second derivatives. Sums, so they add.

A row with columns z (q,) has scores s = W z (k,), and f(s) is its loss, with residuals r = ∇f and second derivatives F:

    loss = sum w f;   gradient = sum w r z' (k, q);   products_c = sum w F_c z z' (q, q)

for each entry c of F that is not known from others. All are at one W: statistics of different W do not add.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from classwise.arrays import BLOCK_SIZE, Array, Codes, product, slices
from classwise.errors import StatisticsError
from classwise.kernels.sums import factor_products

# From this many factors on, of columns that are not many times more, pairs of columns are multiplied first (z_i z_j is
# z_j z_i, which halves the work), for this many rows at a time.
MANY_FACTORS = 8
PAIR_ROWS = 1536
# Rows are gathered in blocks of about this many numbers. That is more than fits in the cache of a core, but between two
# calls on a block threads wait for each other, and with blocks of half the size they take longer.
BLOCK_OF_ROWS = 4 * BLOCK_SIZE
# BLAS multiplies matrices whose product has no more numbers than this as they are, without packing them first.
SMALL_PRODUCT = 500

# ----------------------------------------------------------------------------------------------------------------------
# Columns of which most are indicators: of hundreds of levels a row has one, and sums by level are sums of its rows.
#
#     z = A u,  u = (dense columns, an indicator for each level),  W z = (W A) u,  sum of f z z' = A (sum of f u u') A'
#
# So rows cost as many multiplications as they have values, whatever the number of levels.


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


# ----------------------------------------------------------------------------------------------------------------------
# The statistic.


@dataclass(frozen=True, eq=False)
class Curvature:
    """weight: of the rows; loss; gradient (k, q); products (c, q, q).

    `+` merges those of other rows at the same weights, `-` takes rows away.
    """

    weight: float
    loss: float
    gradient: Array
    products: Array

    @classmethod
    def empty(cls, scores: int, factors: int, columns: int) -> Self:
        """Of no rows, the identity of `+`."""
        return cls(0.0, 0.0, np.zeros((scores, columns)), np.zeros((factors, columns, columns)))

    def __add__(self, other: Self) -> Self:
        return self._combined(other, 1.0)

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, -1.0)

    def _combined(self, other: Self, sign: float) -> Self:
        if self.products.shape != other.products.shape or self.gradient.shape != other.gradient.shape:
            raise StatisticsError(
                f"Curvatures of {self.products.shape} and {other.products.shape} products cannot be combined: "
                "they are of other classes or columns."
            )
        return type(self)(
            self.weight + sign * other.weight,
            self.loss + sign * other.loss,
            self.gradient + sign * other.gradient,
            self.products + sign * other.products,
        )

    def scaled(self, factor: float) -> Self:
        """As if every row weighed `factor` times as much."""
        return replace(
            self,
            weight=factor * self.weight,
            loss=factor * self.loss,
            gradient=factor * self.gradient,
            products=factor * self.products,
        )


def gather_curvature(
    columns: DesignColumns, losses: Array, residuals: Array, factors: Array, weights: Array | None
) -> Curvature:
    """Of rows with columns (q, m), losses (m,), residuals (k, m) and factors (c, m); weights (m,), or None for ones.

    >>> z = np.array([[1.0, 2.0]])
    >>> gather_curvature(z, np.array([0.5, 0.5]), np.array([[1.0, -1.0]]), np.array([[0.25, 0.25]]), None)
    Curvature(weight=2.0, loss=1.0, gradient=array([[-1.]]), products=array([[[1.25]]]))
    """
    if weights is not None:
        losses, residuals, factors = losses * weights, residuals * weights, factors * weights
    weight = float(losses.shape[0] if weights is None else weights.sum())
    gradient = sums_of(residuals, columns)
    return Curvature(weight, float(losses.sum()), gradient, _products(columns, factors))


def _products(columns: DesignColumns, factors: Array) -> Array:
    """sum over rows of factor_c z z'; (c, q, q)."""
    if isinstance(columns, Indicated):
        return columns.products(factors)
    fused = factor_products(columns, factors)
    if fused is not None:
        return fused
    return (_by_pairs if _is_shared(len(columns), len(factors)) else _one_by_one)(columns, factors)


def _is_shared(columns: int, factors: int) -> bool:
    """Whether it pays to multiply pairs of columns first, once for all factors."""
    return factors >= MANY_FACTORS and columns <= 12 * factors


def _one_by_one(columns: Array, factors: Array) -> Array:
    """Columns times a factor, in cache, and then their products with the columns."""
    result = np.zeros((len(factors), len(columns), len(columns)))
    size = block_rows(len(columns), 1)
    space = np.empty((len(columns), min(size, columns.shape[1])))
    for rows in slices(columns.shape[1], size):
        block = columns[:, rows]
        scaled = space[:, : block.shape[1]]
        for total, factor in zip(result, factors[:, rows], strict=True):
            total += product(np.multiply(factor, block, out=scaled), block.T)
    return result


def _by_pairs(columns: Array, factors: Array) -> Array:
    """First z_i z_j of the pairs i <= j, which are the same for all factors, a strip of them at a time."""
    strips = _strips(len(columns), len(factors))
    sums = [np.zeros((len(factors), (s.stop - s.start) * (len(columns) - s.start))) for s in strips]
    space = np.empty(max(total.shape[1] for total in sums) * PAIR_ROWS)
    for rows in slices(columns.shape[1], PAIR_ROWS):
        block, own = np.ascontiguousarray(columns[:, rows]), np.ascontiguousarray(factors[:, rows])
        for strip, total in zip(strips, sums, strict=True):
            pairs = space[: total.shape[1] * block.shape[1]].reshape(-1, block.shape[1])
            shape = (-1, len(columns) - strip.start, block.shape[1])
            np.multiply(block[strip, None], block[None, strip.start :], out=pairs.reshape(shape))
            total += product(own, pairs.T)
    return _symmetric(strips, sums, len(columns))


def _strips(columns: int, factors: int) -> list[slice]:
    """The first columns i of the pairs of each strip; the second are all from the first i on."""
    strips, start = [], 0
    while start < columns:
        size = max(SMALL_PRODUCT // (factors * (columns - start)), 1)
        strips.append(slice(start, min(start + size, columns)))
        start += size
    return strips


def _symmetric(strips: list[slice], sums: list[Array], columns: int) -> Array:
    """The matrices (c, q, q) of sums by strip."""
    result = np.empty((len(sums[0]), columns, columns))
    for strip, total in zip(strips, sums, strict=True):
        part = total.reshape(len(total), -1, columns - strip.start)
        result[:, strip, strip.start :] = part
        result[:, strip.start :, strip] = part.transpose(0, 2, 1)
    return result


def block_rows(columns: int, factors: int) -> int:
    """How many rows to gather at once: few enough to stay in cache, and enough to pay for the calls.

    Columns times one factor need as much room as the columns; pairs of columns are multiplied in smaller parts.
    """
    room = 2 * columns + factors if factors == 0 or _is_shared(columns, factors) else 4 * columns
    return max(BLOCK_OF_ROWS // room, 2 * columns, 256)
