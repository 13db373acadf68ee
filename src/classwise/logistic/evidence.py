"""How precise a prior should be: the evidence, log p(labels | rows, precision), with the weights integrated out.

Laplace: about its mode, the posterior is Gaussian with the full Hessian A = H + T of the objective, T = diag precision:

    log evidence = -loss - 1/2 v'T v + 1/2 log|T| - 1/2 log|A|    (weights of a flat prior: + 1/2 log 2π each, no log T)

As a function of the precision, with H held where it is, the evidence is largest where (MacKay 1992)

    precision_c = (d_c - precision_c tr_c A^-1) / |v_c|²

for each group c of d_c weights that share one: what the rows determine of the group, over the size of its weights. H
moves with the mode, so that rows are gone through again until both stand still; each time costs a step of Newton.

That H is held matters. Where classes can be separated, the formula above, with H as it is at each precision's own mode,
grows without end as the precision falls: the posterior is then far from Gaussian, and Laplace's volume far too large.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky
from scipy.linalg.lapack import dtrtri
from scipy.optimize import brentq

from classwise import limits
from classwise.arrays import Array, Codes
from classwise.errors import ClasswiseError, at_least
from classwise.logistic.design import Design
from classwise.logistic.newton import Evaluate, Expansion, HessianMetric, Mode, find_mode, tolerance_of
from classwise.rows.schema import Schema
from classwise.storage import stored

# How far the mode may be, in posterior deviations, while precisions are still moving.
ROUGH = 1e-2
# The same of many weights, where each step takes a second.
HASTY = 0.5
# A precision goes so many times as far as it is asked to, at most. The spectrum of H asks for most of the way.
FARTHEST, HASTY_FARTHEST = 1.5, 4.0
MOST_ROUNDS = 40
# Relative change of precisions at which they stand still; of a single one, which the secant method finds in few steps.
STILL, SINGLE_STILL = 1e-7, 1e-8
MOST_SWEEPS = 10

# A precision this many times the curvature at zero makes a weight nothing; this small a part of it per row is no prior.
LARGEST, SMALLEST = 1e4, 1e-8


# The least and the largest precision of each group.
Bounds = tuple[Array, Array]


@stored("PrecisionGroups", loose=("given",))
@dataclass(frozen=True, eq=False)
class PrecisionGroups:
    """Which weights share a precision.

    codes (q,): the group of each column of the design, -1 where the prior is flat. given: the precision of each group,
    NaN where the evidence is to choose it.
    """

    codes: Codes
    given: Array

    def _is_sound(self) -> bool:
        flat = self.codes.ndim == self.given.ndim == 1
        return flat and bool(((self.codes >= -1) & (self.codes < len(self.given))).all())

    def precision(self, values: Array, contrasts: int) -> Array:
        """Of each weight; (r, q)."""
        by_column = np.where(self.codes < 0, 0.0, values[np.maximum(self.codes, 0)])
        return np.tile(by_column, (contrasts, 1))

    @property
    def open(self) -> list[int]:
        """The groups whose precision is yet to be chosen."""
        return np.flatnonzero(np.isnan(self.given)).tolist()


def log_evidence(point: Expansion, precision: Array) -> float:
    """By Laplace, at the mode; flat priors count with density one in the columns of the design."""
    try:
        factor = cholesky(point.hessian(precision), lower=True)
    except LinAlgError:
        return -np.inf
    return float(log_scale(precision) - point.objective(precision) - np.log(factor.diagonal()).sum())


def log_scale(precision: Array) -> float:
    """1/2 log|T|, and 1/2 log 2π for each weight of a flat prior."""
    flat = precision.ravel() == 0
    return float(0.5 * np.log(precision.ravel()[~flat]).sum() + 0.5 * flat.sum() * np.log(2 * np.pi))


def most_probable(
    evaluate: Evaluate, start: Expansion, groups: PrecisionGroups, given: Array | None = None
) -> tuple[Mode, Array]:
    """The mode, and the precision of each group: those given, and for the others those of largest evidence.

    given: where to start from.
    """
    contrasts = len(start.weights)
    values, bounds = first_values(start, groups, given)
    if not groups.open:
        return find_mode(evaluate, start, groups.precision(values, contrasts)), values
    is_hasty = start.weights.size > limits.MANY_WEIGHTS
    still = SINGLE_STILL if len(values) == 1 else STILL
    bracket, rough = Bracket(HASTY_FARTHEST if is_hasty else FARTHEST), HASTY if is_hasty else ROUGH
    mode, passes = find_mode(evaluate, start, groups.precision(values, contrasts), rough)
    for round_ in range(MOST_ROUNDS):
        updated = best_values(mode, groups, values, bounds)
        moved = np.abs(np.log(updated / values)).max(initial=0.0)
        values = bracket.next(values, updated) if len(values) == 1 else updated
        tolerance = max(rough * min(1.0, moved), 1e-8, tolerance_of(start.curvature))
        mode, more = find_mode(evaluate, mode, groups.precision(values, contrasts), tolerance)
        passes += more
        if moved < still or (round_ > 20 and moved < 1e-4):
            break
    mode, more = find_mode(evaluate, mode, groups.precision(values, contrasts))
    return Mode(mode, passes + more), values


def first_values(start: Expansion, groups: PrecisionGroups, given: Array | None) -> tuple[Array, Bounds]:
    """Where precisions start, and the bounds of those that are chosen: in units of the curvature at the start."""
    diagonal = start.likelihood.hessian(start.curvature.products).diagonal().reshape(start.weights.shape).mean(axis=0)
    curvature = np.array([diagonal[groups.codes == c].mean() for c in range(len(groups.given))])
    curvature = np.where(curvature > 0, curvature, 1.0)
    # Many weights can separate the classes, and small precisions are far from there: they are come near from above.
    rows = 1.0 if start.weights.size > limits.MANY_WEIGHTS else max(start.curvature.weight, 1.0)
    first = 4 * curvature / rows if given is None else given
    values = np.where(np.isnan(groups.given), first, groups.given)
    return values, (
        np.where(np.isnan(groups.given), SMALLEST * curvature / start.curvature.weight, groups.given),
        np.where(np.isnan(groups.given), LARGEST * curvature, groups.given),
    )


def best_values(point: Expansion, groups: PrecisionGroups, values: Array, bounds: Bounds) -> Array:
    """The precisions of largest evidence, with the loss taken for its expansion to second order at this point."""
    if len(groups.given) == 1 and point.weights.size > limits.MANY_WEIGHTS:
        return np.clip(_determined(point, groups, values), *bounds)
    contrasts, none = len(point.weights), np.zeros_like(point.weights)
    hessian = point.hessian(none)
    # loss = 1/2 v'H v - target'v + constant
    target = hessian @ point.weights.ravel() - point.gradient(none).ravel()
    codes = np.tile(groups.codes, contrasts)
    if len(groups.given) > 1:
        return _by_turns(hessian, target, codes, groups, values, bounds)
    return np.array([_best_of_one(*_without_flat(hessian, target, codes), values[0], bounds[0][0], bounds[1][0])])


def _determined(point: Expansion, groups: PrecisionGroups, values: Array) -> Array:
    """MacKay's formula above, for one group: what the rows determine of the weights over their size, at precisions as
    they are. It stands still where the evidence is largest, and takes no spectrum of H.
    """
    precision = groups.precision(values, len(point.weights))
    metric, kept = HessianMetric.of(point.hessian(precision)), precision.ravel() > 0
    inverse, _ = dtrtri(metric.factor, lower=1)
    variances = (inverse**2).sum(axis=0) * metric.scale**2
    mode = (point.weights + metric.step(point.gradient(precision)).change).ravel()[kept]
    determined = float((1 - values[0] * variances[kept]).sum())
    return np.array([max(determined, 0.0) / max(float(mode @ mode), np.finfo(np.float64).tiny)])


@dataclass(eq=False)
class Bracket:
    """Where a precision meets the one it asks for: both move with the mode, and where classes can nearly be separated
    each may leap over the other, time and again.

    The next is where the line through the last two says that it asks for no change (the secant method), but at most
    `farthest` times as far as was asked for. low, high: the last precision that asked for more, and for less, as
    logarithms, and how much more each asked for.
    """

    farthest: float
    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None
    last: tuple[float, float] | None = None

    def next(self, values: Array, asked: Array) -> Array:
        """The next precision to try; (1,), (1,) -> (1,)."""
        here, gap = float(np.log(values[0])), float(np.log(asked[0] / values[0]))
        before, self.last = self.last, (here, gap)
        if gap > 0:
            self.low = self.last
        else:
            self.high = self.last
        there = here + gap
        if before is not None and gap != before[1]:
            share = (here - before[0]) / (before[1] - gap)
            there = here + gap * float(np.clip(share, 0.1, self.farthest))  # never backwards
        if self.low is not None and self.high is not None and not self.low[0] < there < self.high[0]:
            (low, more), (high, less) = self.low, self.high
            there = low + (high - low) * float(np.clip(more / (more - less), 0.1, 0.9))
        return np.array([np.exp(there)]) if there != here + gap else asked


def _by_turns(
    hessian: Array, target: Array, codes: Codes, groups: PrecisionGroups, values: Array, bounds: Bounds
) -> Array:
    """One group after the other, with the weights of all others integrated out, until none moves.

    With covariance C and mean m of all weights, the rows say of group c alone: H_c = C_cc^-1 - precision_c I, and
    target_c = C_cc^-1 m_c. A new precision changes C by as many ranks as the group has weights.
    """
    values = values.copy()
    for _ in range(MOST_SWEEPS):
        before = values.copy()
        covariance = _inverse(hessian, np.where(codes < 0, 0.0, values[np.maximum(codes, 0)]))
        mean = covariance @ target
        for c in groups.open:
            inside = np.flatnonzero(codes == c)
            block = np.linalg.inv(covariance[np.ix_(inside, inside)])
            own = block - values[c] * np.eye(len(inside))
            best = _best_of_one(np.linalg.eigh(own), block @ mean[inside], values[c], bounds[0][c], bounds[1][c])
            _change(covariance, mean, inside, best - values[c])
            values[c] = best
        if np.abs(np.log(values / before)).max() < 0.1 * STILL:
            break
    return values


def _inverse(hessian: Array, precision: Array) -> Array:
    factor = cho_factor(hessian + np.diag(precision), lower=True)
    return np.asarray(cho_solve(factor, np.eye(len(hessian))))


def _change(covariance: Array, mean: Array, inside: Codes, more: float) -> None:
    """Covariance and mean, in place, as the precision of the weights inside grows by so much (Woodbury)."""
    columns = covariance[:, inside].copy()
    inner = np.eye(len(inside)) + more * columns[inside]
    mean -= columns @ np.linalg.solve(inner, more * mean[inside])
    covariance -= columns @ np.linalg.solve(inner, more * columns.T)


def _best_of_one(spectrum: Sequence[Array], target: Array, start: float, least: float, largest: float) -> float:
    """Where weights share a precision t: one decomposition serves all of its values.

    The first top of the evidence uphill from where it stands: sum of l / (l + t) = t sum of (b / (l + t))².
    """
    start = min(max(start, least), largest)
    values, axes = spectrum
    values, loads = np.maximum(values, 0.0), (axes.T @ target) ** 2

    def slope(log_t: float) -> float:
        t = np.exp(log_t)
        return float((values / (values + t)).sum() - t * (loads / (values + t) ** 2).sum())

    found = np.exp(_crossing(slope, float(np.log(start)), float(np.log(least)), float(np.log(largest))))
    return float(min(max(found, least), largest))


def _without_flat(hessian: Array, target: Array, codes: Codes) -> tuple[Sequence[Array], Array]:
    """The spectrum of H, and the target, with weights of flat priors integrated out (Schur's complement)."""
    flat, kept = np.flatnonzero(codes < 0), np.flatnonzero(codes >= 0)
    inner, own = hessian[np.ix_(kept, kept)], target[kept]
    if len(flat):
        factor = cho_factor(hessian[np.ix_(flat, flat)], lower=True)
        cross = cho_solve(factor, hessian[np.ix_(flat, kept)])
        inner = inner - hessian[np.ix_(kept, flat)] @ cross
        own = own - cross.T @ target[flat]
    return np.linalg.eigh(inner), own  # SciPy's holds the interpreter lock all the while


def _crossing(slope: Callable[[float], float], start: float, least: float, largest: float) -> float:
    """Where a slope changes from positive to negative, uphill from the start; the end of the range, if nowhere.

    Steps are small at first, and grow: a start just below a narrow top must not step over it.
    """
    step, here = (0.01 if slope(start) > 0 else -0.01), start
    while True:
        there = min(max(here + step, least), largest)
        if there == here:
            return here
        if (slope(there) > 0) != (step > 0):
            return float(brentq(slope, min(here, there), max(here, there), xtol=1e-12))
        here, step = there, float(np.clip(2 * step, -2.0, 2.0))


# As the caller says it ------------------------------------------------------------------------------------------------


def read_groups(precision: Any, schema: Schema, design: Design, penalize_intercept: bool) -> PrecisionGroups:
    """precision: a number, "evidence", "relevance", or a mapping from a column or several to a number or "evidence".

    Columns that a mapping leaves out make up one more group, of largest evidence. An intercept that has a prior shares
    the precision of that group. Groups without a column that has weights are dropped.
    """
    everything = list(range(len(schema)))
    if isinstance(precision, Mapping):
        keys = [list(key) if isinstance(key, tuple) else [key] for key in precision]
        asked = [(schema.find(key), read_value(value)) for key, value in zip(keys, precision.values(), strict=True)]
    elif isinstance(precision, str) and precision == "relevance":
        asked = [([j], np.nan) for j in everything]
    else:
        asked = [(everything, read_value(precision))]
    rest = _left_out(asked, schema)
    if rest or (penalize_intercept and design.intercept and len(asked) > 1):
        asked = [(rest, np.nan), *asked]
    group = {j: c for c, (columns, _) in enumerate(asked) for j in columns}
    codes = [group[j] for j in design.source.tolist()] + [0 if penalize_intercept else -1] * design.intercept
    used = sorted(set(codes) - {-1})
    place = {code: i for i, code in enumerate(used)} | {-1: -1}
    return PrecisionGroups(np.array([place[code] for code in codes]), np.array([asked[code][1] for code in used]))


def _left_out(asked: list[tuple[list[int], float]], schema: Schema) -> list[int]:
    """The columns that no group names; an error if two groups name one."""
    named = [j for columns, _ in asked for j in columns]
    counts = np.bincount(named, minlength=len(schema))
    if (counts > 1).any():
        twice = next(j for i, j in enumerate(named) if j in named[:i])
        raise ClasswiseError(f"precision names {schema.name(twice)} twice; it belongs to one group.")
    return np.flatnonzero(counts == 0).tolist()


def read_value(value: Any) -> float:
    """A precision from 0 on, or NaN for "evidence"."""
    if isinstance(value, str) and value == "evidence":
        return np.nan
    if isinstance(value, str):
        raise ClasswiseError(
            f"precision={value!r} is not an option; give a number from 0 on, 'evidence', 'relevance', or a mapping "
            "from columns to one of the first two."
        )
    return at_least("precision", value, 0)
