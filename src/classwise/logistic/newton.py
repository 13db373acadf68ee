"""The most probable weights, by Newton's method on curvature that was gathered over the rows.

    objective(V) = loss(V) + 1/2 sum of precision_j V_kj²,   step = -(H + diag precision)^-1 gradient

The objective is convex. A step that does not lower it as promised is halved (Armijo's rule); where rounding leaves H
without an inverse, the step is taken as if curvature were larger (Levenberg's guard). The decrement, the length of a
step in standard deviations of the posterior, tells how far the mode is: it is squared from step to step at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from classwise.arrays import EPS, Array, product
from classwise.errors import ClasswiseError
from classwise.logistic.likelihood import Likelihood
from classwise.statistics import Curvature

# A step of so small a part of a posterior deviation is the last; of many rows, by weight^3/4 more: see tolerance_of.
TOLERANCE = 1e-10
MOST_STEPS = 200
MOST_HALVINGS = 40
SUFFICIENT = 1e-4

# Decrements that no longer fall, once they are this small, are rounding.
NEAR = 1e-4

Evaluate = Callable[[Array], Curvature]


@dataclass(frozen=True, eq=False)
class Expansion:
    """Weights V (r, q), and the curvature of all rows there."""

    likelihood: Likelihood
    weights: Array
    curvature: Curvature

    def objective(self, precision: Array) -> float:
        """precision (r, q): of the prior, 0 where it is flat."""
        return self.curvature.loss + 0.5 * float((precision * self.weights**2).sum())

    def gradient(self, precision: Array) -> Array:
        """Of the objective; (r, q)."""
        return self.likelihood.gradient(self.curvature) + precision * self.weights

    def hessian(self, precision: Array) -> Array:
        """Of the objective; (r q, r q)."""
        matrix = self._of_rows.copy()
        matrix[np.diag_indices_from(matrix)] += precision.ravel()
        return matrix

    @cached_property
    def _of_rows(self) -> Array:
        """The Hessian without a prior: several precisions are tried at a point."""
        matrix = self.likelihood.hessian(self.curvature.products)
        return 0.5 * (matrix + matrix.T)


class Mode(NamedTuple):
    """A point within tolerance of the mode, and how many times the rows were gone through."""

    point: Expansion
    passes: int


class NewtonStep(NamedTuple):
    """What to add to the weights (r, q), and its length in deviations of the posterior."""

    change: Array
    decrement: float


@dataclass(frozen=True, eq=False)
class HessianMetric:
    """Second derivatives H = S^-1 L L' S^-1, in which lengths are deviations of the posterior.

    scale (r q,): S, so that columns of very different spread are not mistaken for dependent ones; factor (r q, r q): L.
    """

    scale: Array
    factor: Array

    @classmethod
    def of(cls, hessian: Array) -> "HessianMetric":
        """With a guard, as small as can be, where rounding leaves H without an inverse."""
        scale = 1 / np.sqrt(np.maximum(hessian.diagonal(), np.finfo(np.float64).tiny))
        scaled = hessian * scale * scale[:, None]
        guard = 0.0
        while True:
            try:
                return cls(scale, cholesky(scaled + guard * np.eye(len(scaled)), lower=True, check_finite=False))
            except LinAlgError:
                guard = max(10 * guard, len(scaled) * EPS)
                if guard > 10 * len(scaled):  # more than any finite matrix can need
                    raise _too_large() from None

    def step(self, gradient: Array) -> NewtonStep:
        """-H^-1 gradient; (r, q)."""
        change = -self.scale * cho_solve((self.factor, True), self.scale * gradient.ravel(), check_finite=False)
        decrement = np.sqrt(max(-float(change @ gradient.ravel()), 0.0))
        return NewtonStep(change.reshape(gradient.shape), decrement)

    def whiten(self, changes: Array) -> Array:
        """Changes (t, r q) in coordinates in which their lengths are deviations; (t, r q)."""
        return product(changes / self.scale, self.factor)


def newton_step(point: Expansion, precision: Array) -> NewtonStep:
    """-(H + guard)^-1 gradient."""
    return HessianMetric.of(point.hessian(precision)).step(point.gradient(precision))


def tolerance_of(curvature: Curvature) -> float:
    """The decrement at which curvature no longer changes.

    A step of d deviations moves scores by about d / sqrt(n), and curvature by as large a part of itself: with this
    tolerance by 1e-10 n^1/4. The weights themselves are then within d² / sqrt(n) deviations of the mode.
    """
    return float(TOLERANCE * max(curvature.weight, 1.0) ** 0.75)


def find_mode(evaluate: Evaluate, start: Expansion, precision: Array, tolerance: float | None = None) -> Mode:
    """From a point on; evaluate gathers the curvature at given weights."""
    point, passes, before = start, 0, np.inf
    tolerance = tolerance_of(start.curvature) if tolerance is None else tolerance
    for _ in range(MOST_STEPS):
        step = newton_step(point, precision)
        if step.decrement <= tolerance or (step.decrement < NEAR and step.decrement > before / 2):
            return Mode(point, passes)
        point, tried = descend(evaluate, point, step, precision)
        passes, before = passes + tried, step.decrement
    raise ClasswiseError(
        f"The most probable weights were not found in {MOST_STEPS} steps. Where precision is 0 or tiny and the classes "
        "can be separated, they are infinite: give a larger precision, or precision='evidence'."
    )


def settled(point: Expansion, precision: Array) -> Expansion:
    """The point after a last step, too small to gather the curvature again."""
    step = newton_step(point, precision)
    return replace(point, weights=point.weights + step.change) if step.decrement < NEAR else point


def descend(evaluate: Evaluate, point: Expansion, step: NewtonStep, precision: Array) -> tuple[Expansion, int]:
    """A point of lower objective along the step, and how many times the rows were gone through for it."""
    value, promised, length = point.objective(precision), step.decrement**2, 1.0
    rounding = 8 * EPS * (abs(value) + point.curvature.weight)
    for tried in range(1, MOST_HALVINGS):
        weights = point.weights + length * step.change
        trial = Expansion(point.likelihood, weights, evaluate(weights))
        reached = trial.objective(precision)
        if np.isfinite(reached) and reached <= value - SUFFICIENT * length * promised + rounding:
            return trial, tried
        length /= 2
    raise _too_large()


def rises(first: Expansion, second: Expansion, precision: Array) -> bool:
    """Whether the objective of the second point is above that of the first, by more than rounding."""
    value = first.objective(precision)
    rounding = 8 * EPS * (abs(value) + first.curvature.weight)
    return not second.objective(precision) <= value + rounding


def mixture(reached: Array, steps: Array, rcond: float | None = None) -> Array:
    """The mixture of places, of shares that sum to 1, for which that of the steps to them is shortest (Anderson 1965).

    reached (t, d): where each step led to; steps (t, e): in coordinates in which their lengths are to be compared.

    >>> mixture(np.array([[1.0], [4.0]]), np.array([[1.0], [-2.0]]))  # between the two, where a step would be zero
    array([2.])
    """
    shares = np.linalg.lstsq((steps[:-1] - steps[-1]).T, -steps[-1], rcond=rcond)[0]
    return np.asarray(np.append(shares, 1 - shares.sum()) @ reached)


def _too_large() -> ClasswiseError:
    return ClasswiseError("No step lowers the loss: X holds numbers too large for float64; rescale its columns.")
