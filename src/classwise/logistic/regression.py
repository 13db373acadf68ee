"""The curvature of rows at given weights: columns, scores, losses, sums; block by block, in cache.

First derivatives can do without columns: with z = A'u, u = (x, 1), scores are W z = (W A') u, and the sum of r z' is
that of r u' times A. So rows are multiplied as they lie in memory. Second derivatives are of columns with their means
taken away, and so are the first derivatives that come with them: the last step has all digits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, product, slices
from classwise.logistic.design import Design
from classwise.logistic.fused import fused_curvature
from classwise.logistic.likelihood import Likelihood, Losses
from classwise.logistic.posterior import Laplace
from classwise.logistic.predictive import averaged_losses
from classwise.statistics import Curvature
from classwise.statistics.curvature import DesignColumns, block_rows, gather_curvature, scores_of

# The losses of rows, from their columns (q, m) and codes (m,).
LossesOf = Callable[[DesignColumns, Codes], Losses]


@dataclass(frozen=True, eq=False)
class Regression:
    """What the rows are seen as, and what their labels say: everything but the weights.

    direct: rows are numbers, all there, and means are not far away (see is_direct): first derivatives need no columns.
    """

    design: Design
    likelihood: Likelihood
    direct: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weights V: (r, q)."""
        return self.likelihood.contrasts, self.design.width

    @property
    def least_rows(self) -> int:
        """At least this many rows have a statistic of their own, which holds c matrices of q²: merging stays a small
        part of the work.
        """
        return max(8 * self.likelihood.factors * self.design.width, self.design.merged_rows)

    def curvature(self, weights: Array, rows: NDArray[Any], codes: Codes, row_weights: Array | None) -> Curvature:
        """Of rows (m, p) of classes codes (m,), at weights V (r, q)."""
        fused = self._fused(weights, rows, codes, row_weights, curved=True)
        if fused is not None:
            return fused
        return self._gathered(self._losses_at(weights, curved=True), rows, codes, row_weights, self.likelihood.factors)

    def averaged(self, beliefs: Laplace, rows: NDArray[Any], codes: Codes, row_weights: Array | None) -> Curvature:
        """The same, averaged over weights that have this Gaussian."""

        def losses(columns: DesignColumns, own: Codes) -> Losses:
            return averaged_losses(self.likelihood, *beliefs.scores(columns), own)

        return self._gathered(losses, rows, codes, row_weights, self.likelihood.factors)

    def slope(self, weights: Array, rows: NDArray[Any], codes: Codes, row_weights: Array | None) -> Curvature:
        """The same without second derivatives, at a fraction of the cost."""
        fused = self._fused(weights, rows, codes, row_weights, curved=False)
        if fused is not None:
            return fused
        if self.direct:
            return self._directly(weights, rows, codes, row_weights)
        return self._gathered(self._losses_at(weights, curved=False), rows, codes, row_weights, 0)

    def _fused(
        self, weights: Array, rows: NDArray[Any], codes: Codes, row_weights: Array | None, curved: bool
    ) -> Curvature | None:
        """By the compiled core; None where NumPy has to do it."""
        if not self.direct:
            return None
        return fused_curvature(self.design, self.likelihood, weights, rows, codes, row_weights, curved)

    def _losses_at(self, weights: Array, curved: bool) -> LossesOf:
        by_score = self.likelihood.basis @ weights
        return lambda columns, codes: self.likelihood.losses(scores_of(by_score, columns), codes, curved)

    def _gathered(
        self, losses: LossesOf, rows: NDArray[Any], codes: Codes, row_weights: Array | None, factors: int
    ) -> Curvature:
        total = Curvature.empty(len(self.likelihood.basis), factors, self.design.width)
        size = min(max(block_rows(self.design.room, factors), factors and self.design.merged_rows), len(rows))
        space = np.empty((self.design.room, size))  # new memory for every block would cost as much as its filling
        for block in slices(len(rows), max(size, 1)):
            columns = self.design.leanest(rows[block], space)
            own = None if row_weights is None else row_weights[block]
            total += gather_curvature(columns, *losses(columns, codes[block]), own)
        return total

    def _directly(self, weights: Array, rows: NDArray[Any], codes: Codes, row_weights: Array | None) -> Curvature:
        """The slope, from rows as they are: gathered in columns x, with residuals for the 1, and mapped at the end."""
        width, numbers = self.design.width, rows.shape[1]
        by_score = self.likelihood.basis @ weights @ self.design.to_raw.T
        slopes, offsets = np.ascontiguousarray(by_score[:, :numbers].T), by_score[:, numbers:].sum(axis=1)
        total, residuals = Curvature.empty(len(by_score), 0, numbers), np.zeros(len(by_score))
        for block in slices(len(rows), block_rows(numbers, 0)):
            x, own = np.asarray(rows[block], dtype=np.float64), None if row_weights is None else row_weights[block]
            scores = np.add(product(x, slopes).T, offsets[:, None], order="C")
            losses = self.likelihood.losses(scores, codes[block], curved=False)
            total += gather_curvature(x.T, *losses, own)
            residuals += losses.residuals.sum(axis=1) if own is None else product(losses.residuals, own)
        gradient = np.column_stack([total.gradient, residuals])[:, :width] @ self.design.to_raw
        return replace(total, gradient=gradient, products=np.zeros((0, width, width)))

    def null(self, shares: Array) -> Array:
        """Weights under which every row has these class probabilities, as far as an intercept can; (r, q)."""
        weights = np.zeros(self.shape)
        if self.design.intercept:
            scores = np.log(shares)
            weights[:, -1] = scores[1] - scores[0] if self.shape[0] == 1 else self.likelihood.basis.T @ scores
        return weights
