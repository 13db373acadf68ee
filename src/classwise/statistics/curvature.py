"""Curvature: the loss of rows under given weights, its gradient and its second derivatives. Sums, so they add.

A row with columns z (q,) has scores s = W z (k,), and f(s) is its loss, with residuals r = ∇f and second derivatives F:

    loss = sum w f;   gradient = sum w r z' (k, q);   products_c = sum w F_c z z' (q, q)

for each entry c of F that is not known from others. All are at one W: statistics of different W do not add.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from classwise.arrays import BLOCK_SIZE, Array, product, slices
from classwise.errors import StatisticsError


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
    columns: Array, losses: Array, residuals: Array, factors: Array, weights: Array | None
) -> Curvature:
    """Of rows with columns (q, m), losses (m,), residuals (k, m) and factors (c, m); weights (m,), or None for ones.

    >>> z = np.array([[1.0, 2.0]])
    >>> gather_curvature(z, np.array([0.5, 0.5]), np.array([[1.0, -1.0]]), np.array([[0.25, 0.25]]), None)
    Curvature(weight=2.0, loss=1.0, gradient=array([[-1.]]), products=array([[[1.25]]]))
    """
    if weights is not None:
        losses, residuals, factors = losses * weights, residuals * weights, factors * weights
    weight = float(losses.shape[0] if weights is None else weights.sum())
    gradient = product(residuals, columns.T)
    return Curvature(weight, float(losses.sum()), gradient, _products(columns, factors))


def _products(columns: Array, factors: Array) -> Array:
    """sum over rows of factor_c z z'; (c, q, q).

    As many factors at once as stay in cache: one tall product is faster than many small ones.
    """
    count, size = len(columns), max(columns.size, 1)
    result = np.empty((len(factors), count, count))
    for some in slices(len(factors), max(BLOCK_SIZE // size, 1)):
        scaled = factors[some, None, :] * columns
        result[some] = product(scaled.reshape(-1, columns.shape[1]), columns.T).reshape(-1, count, count)
    return result


def block_rows(columns: int, factors: int) -> int:
    """How many rows to gather at once: their products by all factors stay in cache, if there are enough of them."""
    return max(BLOCK_SIZE // (columns * max(factors, 4)), 2 * columns, 256)
