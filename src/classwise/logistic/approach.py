"""Coming near the mode of many rows: with the curvature of some of them, and the gradient of all.

Curvature of some rows, scaled to the weight of all, is right to about sqrt(weights / rows). With it as the metric, each
gradient of all rows shortens the way to their mode by about that factor, at a fraction of the cost of their curvature;
and going on from a mixture of the steps so far, with shares that sum to 1, for which the step is shortest, by half that
factor (Anderson 1965). A precision that the evidence is to choose moves along.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from classwise.arrays import Array
from classwise.logistic.evidence import Groups, best_values, first_values
from classwise.logistic.newton import Evaluate, Metric, Point, descend, newton_step, rises, tolerance_of

MOST_REFINEMENTS = 12


class Near(NamedTuple):
    """Where to look first: weights (r, q), and the precision of each group, None where nothing is known of it."""

    weights: Array
    values: Array | None


class Trial(NamedTuple):
    """Weights (r, q), and the step from there."""

    weights: Array
    change: Array


def approach_mode(evaluate: Evaluate, start: Point, precision: Array, steps: int, near: float) -> Point:
    """A point near the mode, after so many steps at most, or after one of a length of `near` deviations."""
    point = start
    for _ in range(steps):
        step = newton_step(point, precision)
        if step.decrement <= near:
            return replace(point, weights=point.weights + step.change)
        point, _ = descend(evaluate, point, step, precision)
    return point


def refine(slope: Evaluate, bent: Point, groups: Groups, given: Array | None) -> Near:
    """Weights near the mode of all rows, and the precisions of largest evidence there.

    slope gathers first derivatives of all rows; bent: where to start, with the curvature of some rows, scaled to the
    weight of all; given: precisions to start from. Steps go on while each is at most a quarter of the one before, and
    downhill: what some rows do not show, such as a level that they lack, may be far too flat in their metric.
    """
    values, bounds = first_values(bent, groups, given)
    near, before, last = Near(bent.weights, None), np.inf, None
    trials: list[Trial] = []
    for _ in range(MOST_REFINEMENTS):
        here = slope(near.weights)
        point = Point(bent.likelihood, near.weights, replace(here, products=bent.curvature.products))
        if last is not None and rises(last, point, groups.precision(values, len(near.weights))):
            return Near(last.weights, None)
        last = point
        values = best_values(point, groups, values, bounds) if groups.open else values
        precision = groups.precision(values, len(near.weights))
        metric = Metric.of(point.hessian(precision))
        step = metric.step(point.gradient(precision))
        if not step.decrement < before / 4:
            return Near(near.weights if step.decrement < before or not trials else trials[-1].weights, None)
        left = step.decrement * (max(step.decrement / before, 0.01) if trials else 0.1)  # if it goes on as it did
        trials.append(Trial(near.weights, step.change))
        near, before = Near(_mixed(trials, metric), values), step.decrement
        if left <= 0.5 * tolerance_of(here):
            break
    return near


def _mixed(trials: list[Trial], metric: Metric) -> Array:
    """The mixture of weights, each after its step, for which that of the steps themselves is shortest; (r, q)."""
    weights, changes = (np.array(part).reshape(len(trials), -1) for part in zip(*trials, strict=True))
    lengths = metric.whiten(changes)
    shares = np.linalg.lstsq((lengths[:-1] - lengths[-1]).T, -lengths[-1], rcond=None)[0]
    mixture = np.append(shares, 1 - shares.sum()) @ (weights + changes)
    return np.asarray(mixture).reshape(trials[-1].weights.shape)
