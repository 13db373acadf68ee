"""The curvature of rows at given weights: columns, scores, losses, sums; block by block, in cache."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, product, slices
from classwise.logistic.design import Design
from classwise.logistic.likelihood import Likelihood
from classwise.statistics import Curvature
from classwise.statistics.curvature import block_rows, gather_curvature


@dataclass(frozen=True, eq=False)
class Model:
    """What the rows are seen as, and what their labels say: everything but the weights."""

    design: Design
    likelihood: Likelihood

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weights V: (r, q)."""
        return self.likelihood.contrasts, self.design.width

    def curvature(self, weights: Array, rows: NDArray[Any], codes: Codes, row_weights: Array | None) -> Curvature:
        """Of rows (m, p) of classes codes (m,), at weights V (r, q)."""
        return self._gathered(weights, rows, codes, row_weights, bent=True)

    def slope(self, weights: Array, rows: NDArray[Any], codes: Codes, row_weights: Array | None) -> Curvature:
        """The same without second derivatives, at a fraction of the cost."""
        return self._gathered(weights, rows, codes, row_weights, bent=False)

    def _gathered(
        self, weights: Array, rows: NDArray[Any], codes: Codes, row_weights: Array | None, bent: bool
    ) -> Curvature:
        by_score = self.likelihood.basis @ weights
        factors = self.likelihood.factors if bent else 0
        total = Curvature.empty(len(by_score), factors, self.design.width)
        for block in slices(len(rows), block_rows(self.design.width, factors)):
            columns = self.design.columns(rows[block])
            losses = self.likelihood.losses(product(by_score, columns), codes[block], bent)
            total += gather_curvature(columns, *losses, None if row_weights is None else row_weights[block])
        return total

    def null(self, shares: Array) -> Array:
        """Weights under which every row has these class probabilities, as far as an intercept can; (r, q)."""
        weights = np.zeros(self.shape)
        if self.design.intercept:
            scores = np.log(shares)
            weights[:, -1] = scores[1] - scores[0] if self.shape[0] == 1 else self.likelihood.basis.T @ scores
        return weights
