"""The weights of logistic regression, learned in passes that each gather the curvature at some weights.

Many rows are come near by way of fewer. Curvature of some rows, scaled to the weight of all, is right to about
sqrt(weights / rows). With it as the metric, each gradient of all rows shortens the way to their mode by about that
factor, at a fraction of the cost of their curvature; and going on from a mixture of the steps so far (see
newton.mixture) by half that factor. A precision that the evidence is to choose moves along.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from classwise import limits
from classwise.arrays import Array
from classwise.engines import kept_threads
from classwise.errors import ClasswiseError
from classwise.logistic.evidence import (
    PrecisionGroups,
    best_values,
    first_values,
    log_evidence,
    most_probable,
)
from classwise.logistic.gibbs import Chain, Diagnostics, diagnose_chains, draw_chains
from classwise.logistic.likelihood import Likelihood
from classwise.logistic.newton import (
    Evaluate,
    Expansion,
    HessianMetric,
    descend,
    mixture,
    newton_step,
    rises,
    settled,
    tolerance_of,
)
from classwise.logistic.posterior import Laplace, PointMass, WeightPosterior, refuse_flat
from classwise.logistic.regression import Regression
from classwise.logistic.training import TrainingRows
from classwise.logistic.variational import nearest_gaussian
from classwise.statistics import Curvature

# On the way to all rows: steps taken among fewer, the length of the last of these in deviations, and gradients of all.
START_STEPS = 12
LAST_STEP = 4.0
MOST_REFINEMENTS = 12

# On the way from the mode of almost the same rows: gradients, and how many steps are mixed; and the last step, in units
# of the tolerance, where no step of Newton follows.
MOST_SLIDES = 60
MOST_MIXED = 10
LAST_SLIDE = 0.005


@dataclass(frozen=True, eq=False)
class FittedWeights:
    """What rows tell of the weights: their posterior, the precision of each group, the evidence, or a bound of it (None
    where some prior but the intercept's is flat), how many times the rows were gone through, and diagnostics of draws.
    """

    posterior: WeightPosterior
    values: Array
    log_evidence: float | None
    passes: int
    diagnostics: Diagnostics | None = None


class WarmStart(NamedTuple):
    """Where to look first: weights (r, q), and the precision of each group, None where nothing is known of it.

    metric: of almost the same rows at these weights; where it is known, precisions stay as they are. is_enough: whether
    nothing but the most probable weights is asked for: with a metric, gradients lead there.
    """

    weights: Array
    values: Array | None
    metric: HessianMetric | None = None
    is_enough: bool = False


def learn(rows: TrainingRows, groups: PrecisionGroups, shares: Array, near: WarmStart | None = None) -> FittedWeights:
    """The posterior of the weights, by Laplace; shares (g,): of the classes. near: a place to start from, if known, and
    whether its mode is enough.
    """
    refuse_too_many(rows.regression)
    # Products are of cache-sized blocks: several threads of BLAS would spend their time waiting for each other. Passes
    # are many and short, so that threads stay for all of them.
    with kept_threads():
        if near is None or not _fits(near, rows, groups):
            return _by_laplace(rows, groups, shares, _start(rows, groups, shares))
        if near.metric is None or near.values is None:
            return _by_laplace(rows, groups, shares, near)
        groups = replace(groups, given=near.values)
        precision = groups.precision(near.values, len(near.weights))
        start = _slide(rows.slope, rows.regression.likelihood, near, precision)
        if start.is_enough:
            return FittedWeights(PointMass(start.weights), near.values, None, 0)
        return _by_laplace(rows, groups, shares, start)


def _by_laplace(rows: TrainingRows, groups: PrecisionGroups, shares: Array, start: WarmStart) -> FittedWeights:
    mode, values = most_probable(rows.curvature, _expansion(rows, start.weights), groups, start.values)
    precision = groups.precision(values, len(start.weights))
    hessian = mode.point.hessian(precision)
    proper = bool((groups.given != 0).all())
    if not proper:
        zero = _expansion(rows, rows.regression.null(shares))
        refuse_flat(hessian, zero.hessian(precision))
    evidence = log_evidence(mode.point, precision) if proper else None
    posterior = Laplace.of(settled(mode.point, precision).weights, hessian)
    return FittedWeights(posterior, values, evidence, mode.passes + 1)


def _fits(near: WarmStart, rows: TrainingRows, groups: PrecisionGroups) -> bool:
    """Whether these are weights and precisions of the same columns."""
    known = near.values is not None and near.values.shape == groups.given.shape
    return known and near.weights.shape == rows.regression.shape


def _expansion(rows: TrainingRows, weights: Array) -> Expansion:
    return Expansion(rows.regression.likelihood, weights, rows.curvature(weights))


def refuse_too_many(regression: Regression) -> None:
    """Refuse a Hessian that would not fit in memory."""
    r, q = regression.shape
    if r * q > limits.MOST_WEIGHTS:
        raise ClasswiseError(
            f"X has {q} columns to weigh, categories one for each level, and {regression.likelihood.classes} classes: "
            f"{r * q} weights, whose covariance is too large. Choose columns (for at most {limits.MOST_WEIGHTS} "
            "weights), or project them first (sklearn.decomposition.PCA), or use LDA(shrink='oas')."
        )


# Near the mode of many rows, by way of fewer --------------------------------------------------------------------------


def _start(rows: TrainingRows, groups: PrecisionGroups, shares: Array) -> WarmStart:
    """The class shares alone, or where rows are many a place near the mode, found by way of fewer of them."""
    near, point = WarmStart(rows.regression.null(shares), None), None
    r, q = rows.regression.shape
    for some in fewer_rows(rows, r * q):
        assert some.table is not None
        if len(np.unique(np.asarray(some.table.labels))) < len(shares):
            return WarmStart(rows.regression.null(shares), None)
        point, values = _near_mode_of_some(some, rows.weight / some.weight, groups, near)
        near = WarmStart(point.weights, values)
    return near if point is None else refine(rows.slope, point, groups, near.values)


def fewer_rows(rows: TrainingRows, weights: int) -> Iterator[TrainingRows]:
    """Some of the rows, in memory, and then more of them, on the way to all; none where it is not worth it."""
    if rows.table is not None:
        yield from map(rows.sample, levels_of_rows(len(rows.table), weights))
    else:
        drawn = rows.sample(max(limits.START_ROWS_DRAWN, limits.START_ROWS_PER_WEIGHT * weights))
        yield from fewer_rows(drawn, weights)
        yield drawn


def levels_of_rows(rows: int, weights: int) -> list[int]:
    """How many rows to go by, one after the other, on the way to all: a tenth, a tenth of that, and so on, from few on.

    >>> levels_of_rows(1_000_000, 84), levels_of_rows(100_000, 84), levels_of_rows(50_000, 84)
    ([10000, 100000], [20000], [])
    """
    fewest, for_weights = limits.START_ROWS, limits.START_ROWS_PER_WEIGHT * weights
    counts = [max(fewest, for_weights, rows // 10)]
    if rows < 4 * counts[0]:
        return []
    while counts[0] // 10 >= max(fewest // 4, for_weights):
        counts.insert(0, counts[0] // 10)
    return counts


def _near_mode_of_some(
    some: TrainingRows, ratio: float, groups: PrecisionGroups, near: WarmStart
) -> tuple[Expansion, Array]:
    """A point near the mode of some rows, taken for as many as all: within a step of a few deviations of their own."""

    def evaluate(weights: Array) -> Curvature:
        return some.curvature(weights).scaled(ratio)

    start = Expansion(some.regression.likelihood, near.weights, evaluate(near.weights))
    values, bounds = first_values(start, groups, near.values)
    precision = groups.precision(values, len(near.weights))
    point = _approach(evaluate, start, precision, LAST_STEP * np.sqrt(ratio))
    return point, best_values(point, groups, values, bounds) if groups.open else values


def _approach(evaluate: Evaluate, start: Expansion, precision: Array, near: float) -> Expansion:
    """A point near the mode, after a few steps at most, or after one of a length of `near` deviations."""
    point = start
    for _ in range(START_STEPS):
        step = newton_step(point, precision)
        if step.decrement <= near:
            return replace(point, weights=point.weights + step.change)
        point, _ = descend(evaluate, point, step, precision)
    return point


def refine(slope: Evaluate, start: Expansion, groups: PrecisionGroups, given: Array | None) -> WarmStart:
    """Weights near the mode of all rows, and the precisions of largest evidence there.

    slope gathers first derivatives of all rows; start: where to start, with the curvature of some rows, scaled to the
    weight of all; given: precisions to start from. Steps go on while each is at most a quarter of the one before, and
    downhill: what some rows do not show, such as a level that they lack, may be far too flat in their metric.
    """
    values, bounds = first_values(start, groups, given)
    near, before, last = WarmStart(start.weights, None), np.inf, None
    tried: list[Array] = []
    changes: list[Array] = []
    for _ in range(MOST_REFINEMENTS):
        here = slope(near.weights)
        point = Expansion(start.likelihood, near.weights, replace(here, products=start.curvature.products))
        if last is not None and rises(last, point, groups.precision(values, len(near.weights))):
            return WarmStart(last.weights, _alone(values))
        last = point
        values = best_values(point, groups, values, bounds) if groups.open else values
        precision = groups.precision(values, len(near.weights))
        metric = HessianMetric.of(point.hessian(precision))
        step = metric.step(point.gradient(precision))
        if not step.decrement < before / 4:
            return WarmStart(near.weights if step.decrement < before or not tried else tried[-1], _alone(values))
        left = step.decrement * (max(step.decrement / before, 0.01) if tried else 0.1)  # if it goes on as it did
        tried.append(near.weights)
        changes.append(step.change)
        near, before = WarmStart(_mixed(tried, changes, metric), values), step.decrement
        if left <= 0.5 * tolerance_of(here):
            break
    return near


def _alone(values: Array) -> Array | None:
    """The precision of a single group. Several may have more than one optimum, and each search begins at the same."""
    return values if len(values) == 1 else None


def _slide(slope: Evaluate, likelihood: Likelihood, near: WarmStart, precision: Array) -> WarmStart:
    """Weights near the mode of rows, from those of almost the same rows and in their metric; gradients are enough.

    Where they do not lead to the mode, the weights of the shortest step are a start, and no more than that.
    """
    assert near.metric is not None
    weights, shortest, best = near.weights, np.inf, near.weights
    share = LAST_SLIDE if near.is_enough else 0.5
    tried: list[Array] = []
    changes: list[Array] = []
    for _ in range(MOST_SLIDES):
        here = Expansion(likelihood, weights, slope(weights))
        step = near.metric.step(here.gradient(precision))
        if not step.decrement < 4 * shortest:
            break
        if step.decrement < shortest:
            shortest, best = step.decrement, weights
        if step.decrement <= share * tolerance_of(here.curvature):
            return WarmStart(weights + step.change, near.values, is_enough=near.is_enough)
        tried, changes = [*tried, weights][-MOST_MIXED:], [*changes, step.change][-MOST_MIXED:]
        weights = _mixed(tried, changes, near.metric)
    return WarmStart(best, near.values)


def _mixed(tried: list[Array], changes: list[Array], metric: HessianMetric) -> Array:
    """Weights (r, q) from which the next step should be shortest, given those tried so far and the steps from there."""
    weights, steps = (np.array(part).reshape(len(tried), -1) for part in (tried, changes))
    return mixture(weights + steps, metric.whiten(steps)).reshape(tried[-1].shape)


# Better than Laplace --------------------------------------------------------------------------------------------------


def nearest(rows: TrainingRows, fitted: FittedWeights, groups: PrecisionGroups) -> FittedWeights:
    """With the Gaussian nearest to the posterior, given the precision, and its bound of the evidence."""
    assert isinstance(fitted.posterior, Laplace)
    precision = groups.precision(fitted.values, len(fitted.posterior.mean))
    with kept_threads():  # see learn
        found = nearest_gaussian(rows.averaged, rows.regression.likelihood, fitted.posterior, precision)
    evidence = None if fitted.log_evidence is None else found.bound
    return FittedWeights(found.beliefs, fitted.values, evidence, fitted.passes + found.passes)


def drawn(
    rows: TrainingRows, fitted: FittedWeights, groups: PrecisionGroups, count: int, generator: np.random.Generator
) -> FittedWeights:
    """With draws of the weights by Gibbs' sampler, in place of a Gaussian; of rows in memory."""
    table, regression = rows.table, rows.regression
    assert table is not None
    assert table.labels is not None
    assert isinstance(fitted.posterior, Laplace)
    weights = np.ones(len(table)) if table.weights is None else table.weights
    precision, codes = groups.precision(fitted.values, 1)[0], np.asarray(table.labels, dtype=np.intp)
    chain = Chain(regression.design.columns(table.rows), codes, weights, precision, regression.likelihood)
    draws = draw_chains(chain, fitted.posterior, count, generator)
    return replace(fitted, posterior=draws, diagnostics=diagnose_chains(draws.values))
