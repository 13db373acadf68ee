"""Downdates for leave-one-out: what a class and the pool lose with one row is a matrix of rank one.

Without a row x of weight w, a class of weight n, mean m and scatter S has, with d = x - m,

    n - w;   m - w d / (n - w);   S - b d d', b = w n / (n - w)

and x lies at d n / (n - w) from its mean. A covariance of class k is then A - γ d d', where A and γ depend on the class
of x and on its weight alone; shrunk by a, it is (1 - a)(A - γ d d') + a τ I with τ = tr(A - γ d d') / p. In the
eigenvectors of A all of this is diagonal except for the rank one, and by Sherman and Morrison (1950), with e = U'd,

    M = D^-1 - G e e';   z'M^-1 z = z'D z + G (z'D e)² / (1 - G e'D e);   |M| = |D^-1| (1 - G e'D e)
"""

from dataclasses import dataclass, replace
from math import log, pi
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, row_norms
from classwise.covariance import CovarianceRule, Fixed, FullCovariance, Recipe
from classwise.statistics import ClassStatistics, DiagonalScatter, Moments

# Where less than this is left of a row's direction, the formulas lose digits: such a row is better left out for real.
LITTLE = 1e-5


class Loss(NamedTuple):
    """log p(x | k) of rows without themselves (g, m), and which of them cannot be trusted to these formulas (m,)."""

    log_density: Array
    doubtful: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Downdates:
    """Gaussians of complete rows, estimated by a recipe that does not standardize, and shrinks by a covariance rule.

    floor: the least variance, as a fraction of that over all rows; for diagonal covariances.
    """

    statistics: ClassStatistics
    recipe: Recipe
    floor: float = 0.0

    def log_density(self, rows: Array, own: int, weight: float) -> Loss:
        """For rows (m, p) of one class and of one weight, each left out by itself."""
        moments = self.statistics.moments
        remaining = float(moments.weight[own, 0]) - weight
        grown = 1 + weight / remaining
        reduced = moments.weight.copy()
        reduced[own] = remaining
        bases, losses = self._base(reduced), self._losses(reduced, own, weight * grown)
        away = (rows - moments.mean[own]) - moments.rest[own]
        scores, doubtful = np.empty((len(reduced), len(rows))), np.zeros(len(rows), dtype=bool)
        weights = self.recipe.sharing.weight(reduced[:, 0])
        least = self._least(rows, weight)
        for k in range(len(reduced)):
            j = min(k, len(bases) - 1)
            from_mean = grown * away if k == own else (rows - moments.mean[k]) - moments.rest[k]
            part = _ClassPart(bases[j], float(losses[j]), self.recipe, float(weights[j]), least)
            scores[k], little = part.log_density(from_mean, away)
            doubtful |= little
        return Loss(scores, doubtful)

    def _least(self, rows: Array, weight: float) -> Array | float:
        """The least variance of each feature, when each row is left out; (m, p)."""
        if not self.floor:
            return 0.0
        moments = self.statistics.moments
        total = float(moments.weight.sum())
        away = rows - moments.overall_mean()
        squares = total * moments.overall_variance() - weight * total / (total - weight) * away**2
        return self.floor * squares / (total - weight)

    def _base(self, weight: Array) -> Array:
        """A: the covariances from the scatters as they are, and the weights as they will be; (k, ...)."""
        moments = replace(self.statistics.moments, weight=weight)
        statistics = self.statistics.with_moments(moments)
        return self.recipe.sharing.combine(self.recipe.structure, self.recipe.divisor, statistics)

    def _losses(self, weight: Array, own: int, amount: float) -> Array:
        """γ: how much of d d' each covariance loses, when the scatter of a class loses this much; (k,)."""
        form = type(self.statistics.moments.scatter)
        zeros = np.zeros((len(weight), 1))
        lost = np.zeros((len(weight), 1))
        lost[own] = amount
        unit = Moments(weight, zeros, zeros, form.between(lost, np.ones_like(zeros)))
        statistics = self.statistics.with_moments(unit)
        values = self.recipe.sharing.combine(self.recipe.structure, self.recipe.divisor, statistics)
        return values.reshape(len(values), -1)[:, 0]


@dataclass(frozen=True, eq=False)
class _ClassPart:
    """One class: base A in its structure, loss γ, and the weight of the rows of its covariance."""

    base: Array
    loss: float
    recipe: Recipe
    weight: float
    least: Array | float

    def log_density(self, from_mean: Array, away: Array) -> tuple[Array, Any]:
        """log p(x | k) of rows at `from_mean` of the class's mean, lost at `away` by their own class; and doubts."""
        return (self._full if self.recipe.structure.correlated else self._diagonal)(from_mean, away)

    def _diagonal(self, from_mean: Array, away: Array) -> tuple[Array, Any]:
        squares = self.recipe.structure.sums(DiagonalScatter(away * away), shared=False)
        variances = self.base - self.loss * squares
        assert isinstance(self.recipe.shrinkage, Fixed)  # other rules are for full covariances
        amount = np.full(len(variances), self.recipe.shrinkage.shrink)
        variances = np.maximum(self.recipe.structure(variances).shrunk(amount).values, self.least)
        little = (variances <= LITTLE * np.abs(self.base)).any(axis=1)
        variances = np.where(variances > 0, variances, 1.0)
        terms = from_mean**2 / variances + np.log(2 * pi * variances)
        return -0.5 * terms.sum(axis=1), little

    def _full(self, from_mean: Array, away: Array) -> tuple[Array, Any]:
        features = away.shape[1]
        if isinstance(self.recipe.shrinkage, Fixed) and self.recipe.shrinkage.shrink == 0:
            covariance = FullCovariance(self.base[None])
            z, e = covariance.whiten(from_mean, 0), covariance.whiten(away, 0)
            inverse, log_det, loss = np.ones((len(e), 1)), 2 * covariance.half_log_det[0], np.full(len(e), self.loss)
        else:
            values, vectors = np.linalg.eigh(self.base)
            z, e = from_mean @ vectors, away @ vectors
            level = (values.mean() - self.loss * row_norms(e) / features)[:, None]
            amount = self._amounts(values, e)[:, None]
            diagonal = (1 - amount) * values + amount * level
            inverse, log_det = 1 / diagonal, np.log(np.abs(diagonal)).sum(axis=1)
            loss = (1 - amount[:, 0]) * self.loss
        left = 1 - loss * (e * e * inverse).sum(axis=1)
        little = (left <= LITTLE) | (inverse <= 0).any(axis=1)
        left = np.where(little, 1.0, left)
        distance = (z * z * inverse).sum(axis=1) + loss * (z * e * inverse).sum(axis=1) ** 2 / left
        return -0.5 * (distance + log_det + np.log(left) + features * log(2 * pi)), little

    def _amounts(self, values: Array, e: Array) -> Array:
        """How far each row's covariance is shrunk, from its trace and the trace of its square."""
        features, norms = len(values), row_norms(e)
        level = (values.sum() - self.loss * norms) / features
        squares = (values**2).sum() - 2 * self.loss * (e * e) @ values + self.loss**2 * norms**2
        assert isinstance(self.recipe.shrinkage, CovarianceRule)
        return self.recipe.shrinkage.amount_of(level, squares / features**2, features, np.full(len(e), self.weight))


def groups_of(codes: Codes, weights: Array | None) -> list[tuple[int, float, Codes]]:
    """The rows of each class and weight: (class, weight, positions)."""
    values = np.ones(len(codes)) if weights is None else weights
    groups: list[tuple[int, float, Codes]] = []
    for k in np.unique(codes).tolist():
        own = np.flatnonzero(codes == k)
        groups += [(k, weight, own[values[own] == weight]) for weight in np.unique(values[own]).tolist()]
    return groups
