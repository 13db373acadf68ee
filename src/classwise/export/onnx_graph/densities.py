"""Densities in an ONNX graph: log p(x | k) of every class, up to a term common to all classes, unless graph.whole.

`scores` is one function with a version for each density. A density of a new kind is added here, and nowhere else.
Gaussians and Student-t are centered and whitened:

    Gaussian:   -1/2 q - 1/2 log|C|
    Student-t:  log Γ((v + p)/2) - log Γ(v/2) - p/2 log(v π) - 1/2 log|C| - (v + p)/2 log(1 + q / v)

with q = (x - m)' C^-1 (x - m). Rows and means are taken about the average of the means before anything else, so that a
common offset costs no digits. Where values are missing, q, |C| and p are those of the columns that are there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce, singledispatch
from operator import add

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.covariance import Covariance, DiagonalCovariance
from classwise.covariance.exponents import FAR, Shared
from classwise.densities import (
    Binomial,
    Categorical,
    Complement,
    Constant,
    Density,
    Gaussian,
    IndependentStudent,
    LogNormal,
    Multinomial,
    Observed,
    Poisson,
    Presence,
    Product,
    Student,
)
from classwise.errors import ClasswiseError
from classwise.export.novelty import FEW, LOG_UNIT, STIRLING
from classwise.export.onnx_graph.graph import Graph, Tensor
from classwise.export.onnx_graph.input_rows import DerivedRows, GraphRows


@dataclass(frozen=True, eq=False)
class Distances:
    """squares (n, g): q of each class; half_log_det: 1/2 log|C|, (n, g) or (1, g); count (n,) or (1,): of columns."""

    squares: Tensor
    half_log_det: Tensor
    count: Tensor


def gaussian_scores(density: Gaussian, rows: GraphRows) -> Tensor:
    """log N(x | m_k, C_k), up to a term common to all classes; (n, g)."""
    origin, means = _about_origin(density.means)
    values, covariance = rows.numbers() - origin, density.covariance
    if isinstance(covariance, DiagonalCovariance):
        return _independent(values, means, covariance)
    is_shared = _is_shared(means, covariance) and not rows.graph.whole
    complete = _shared(values, means, covariance) if is_shared else _own(values, means, covariance)
    return _filled(rows, values, complete, means, covariance, _gaussian)


def _gaussian(of: Distances) -> Tensor:
    return of.squares * -0.5 - of.half_log_det - of.count.cast(np.float64).widen(1) * LOG_UNIT


def squared_distances(density: Gaussian, rows: GraphRows) -> Tensor:
    """(x - m_k)' C_k^-1 (x - m_k) of the values that are there; (n, g)."""
    origin, means = _about_origin(density.means)
    values, covariance = rows.numbers() - origin, density.covariance
    if isinstance(covariance, DiagonalCovariance):
        return _distances_alone(values, means, covariance).squares
    complete = _whitened(values, means, covariance)
    return _filled(rows, values, complete, means, covariance, lambda of: of.squares)


def student_scores(density: Student, rows: GraphRows) -> Tensor:
    """log t(x | m_k, factor_k C_k, v_k); (n, g)."""
    origin, means = _about_origin(density.means)
    values, covariance = rows.numbers() - origin, density.covariance
    if isinstance(covariance, DiagonalCovariance):
        return _student(density, _distances_alone(values, means, covariance))
    count = rows.graph.constant(np.array([means.shape[1]]))
    half_log_det = rows.graph.constant(np.broadcast_to(covariance.half_log_det, len(means))[None])
    complete = _student(density, Distances(_whitened(values, means, covariance), half_log_det, count))
    return _filled(rows, values, complete, means, covariance, lambda of: _student(density, of))


def _student(density: Student, of: Distances) -> Tensor:
    """With the terms that depend on the number of columns looked up by that number."""
    v, counts = density.freedom, np.arange(density.n_features + 1)[:, None]
    scale = gammaln((v + counts) / 2) - gammaln(v / 2) - 0.5 * counts * np.log(v * np.pi * density.factor)
    power, graph = -0.5 * (v + counts), of.squares.graph
    looked_up = [graph.node("Gather", table, of.count, axis=0) for table in (scale, power)]
    spread = (of.squares / (density.factor * v)[None] + 1.0).log()
    return looked_up[0] + looked_up[1] * spread - of.half_log_det


# Complete rows --------------------------------------------------------------------------------------------------------


def _shared(values: Tensor, means: Array, covariance: Covariance) -> Tensor:
    """One metric for all classes: measured in the space that the means span; (n, p) -> (n, g)."""
    shared = Shared.of(covariance, means)
    along, centers = (values - shared.middle[None]) @ shared.projection, shared.centers
    if np.abs(centers).max(initial=0.0) > FAR:
        return (along.widen(1) - centers[None]).squared().sum(2) * -0.5
    return along @ centers.T - 0.5 * (centers**2).sum(axis=1)[None]


def _own(values: Tensor, means: Array, covariance: Covariance) -> Tensor:
    """A metric for each class; (n, p) -> (n, g)."""
    volume = covariance.half_log_det + means.shape[1] * LOG_UNIT
    return _whitened(values, means, covariance) * -0.5 - volume[None]


def _whitened(values: Tensor, means: Array, covariance: Covariance) -> Tensor:
    """q, by whitening; (n, p) -> (n, g)."""
    features = means.shape[1]
    whitening = np.stack([covariance.project(np.eye(features), k) for k in range(len(covariance.values))])
    centers = (means[:, None, :] @ whitening)[:, 0]
    side_by_side = values @ whitening.transpose(1, 0, 2).reshape(features, -1)
    return (side_by_side.reshape(0, len(whitening), features) - centers[None]).squared().sum(2)


def _filled(
    rows: GraphRows,
    values: Tensor,
    complete: Tensor,
    means: Array,
    covariance: Covariance,
    score: Callable[[Distances], Tensor],
) -> Tensor:
    """The scores of complete rows, and in place of the others those of the columns that are there."""
    if rows.strict:
        return complete

    def of_what_is_there(some: Tensor) -> Tensor:
        return score(_marginal_distances(rows.graph, some, means, covariance.matrices()))

    return _with_gaps(rows.graph, values, complete, of_what_is_there)


# Columns that are independent: what is missing is left out ------------------------------------------------------------


def _independent(values: Tensor, means: Array, covariance: Covariance) -> Tensor:
    """-1/2 sum over columns of (x - m)² / s² and log s², of what is there; (n, p) -> (n, g)."""
    deviations = np.broadcast_to(np.sqrt(covariance.variances()), means.shape)
    if np.abs(means / deviations).max(initial=0.0) > FAR:
        return _gaussian(_distances_alone(values, means, covariance))
    absent = values.is_nan()
    there, values = (~absent).cast(np.float64), absent.where(0.0, values)
    precisions = deviations**-2.0
    constant = -0.5 * means**2 * precisions
    if _is_shared(means, covariance) and not values.graph.whole:  # x² and the volume are common to all classes
        return values @ (means * precisions).T + there @ constant.T
    exponents = values @ (means * precisions).T + values.squared() @ (-0.5 * precisions).T
    return exponents + there @ (constant - np.log(deviations) - LOG_UNIT).T


def _distances_alone(values: Tensor, means: Array, covariance: Covariance) -> Distances:
    deviations = np.broadcast_to(np.sqrt(covariance.variances()), means.shape)
    absent = values.is_nan()
    away = (values.widen(1) - means[None]) / deviations[None]
    there = (~absent).cast(np.float64)
    squares = absent.widen(1).where(0.0, away).squared().sum(2)
    return Distances(squares, there @ np.log(deviations).T, there.cast(np.int64).sum(1))


def _about_origin(means: Array) -> tuple[Array, Array]:
    """The average of the means, and the means about it; (1, p), (g, p)."""
    origin = means[:1] + (means - means[0]).mean(axis=0)
    return origin, means - origin


def _is_shared(means: Array, covariance: Covariance) -> bool:
    return len(covariance.values) < len(means)


# Rows with gaps: distances and volumes of the columns that are there --------------------------------------------------
#
# A missing column is made to stand alone: its variance 1, its covariances and its deviation 0. So C is the covariance
# of what is there, next to an identity that adds nothing. Then, column by column, C = L D L' is eliminated:
#
#     q   += d_j² / C_jj            d <- d - C_.j d_j / C_jj
#     log|C| += log C_jj            C <- C - C_.j C_j. / C_jj


def _with_gaps(graph: Graph, values: Tensor, complete: Tensor, score: Callable[[Tensor], Tensor]) -> Tensor:
    """The scores of complete rows, and in place of those of rows with gaps, score(rows); (n, p), (n, g) -> (n, g).

    If no row has a gap, nothing of it is computed.
    """
    gaps = values.is_nan()

    def replaced() -> Tensor:
        places = graph.node("NonZero", gaps.any(1))
        return graph.node("ScatterND", complete, places.transpose(1, 0), score(values.take(places.squeeze(0), 0)))

    return graph.choose(gaps.any(0, 1), replaced, lambda: complete)


def _marginal_distances(graph: Graph, values: Tensor, means: Array, covariances: Array) -> Distances:
    """Of each row (n, p) to the means (g, p), in the metric of the columns that are there; covariances (k, p, p)."""
    absent = values.is_nan()
    there = (~absent).cast(np.float64)
    kinds, classes, features = len(covariances), *means.shape

    def measured(covariance: Tensor, centers: Tensor) -> Sequence[Tensor]:
        away = absent.widen(1).where(0.0, values.widen(1) - centers)
        alone = absent.cast(np.float64).widen(2) * np.eye(features)
        return _eliminated(graph, covariance * there.widen(1) * there.widen(2) + alone, away, features)

    # One covariance for each class, or one for all of them: (k, g / k, p) means, (k, n, g / k) results.
    grouped = means.reshape(kinds, classes // kinds, features)
    squares, half_log_det = (of.transpose(1, 0, 2) for of in graph.each(measured, (2, 2), covariances, grouped))
    return Distances(squares.reshape(0, classes), half_log_det.squeeze(2), there.cast(np.int64).sum(1))


def _eliminated(graph: Graph, covariance: Tensor, away: Tensor, features: int) -> Sequence[Tensor]:
    """q and 1/2 log|C|; (n, p, p), (n, c, p) -> (n, c), (n, 1).

    Each step is done with the first of the columns that are left: of r columns r - 1 remain.
    """

    def step(_: Tensor, covariance: Tensor, away: Tensor, squares: Tensor, volume: Tensor) -> Sequence[Tensor]:
        pivot, distance = covariance.first_of(1).first_of(2), away.first_of(2)  # (n, 1, 1), (n, c, 1)
        own = covariance.first_of(2).but_first(1)  # (n, r - 1, 1)
        slope = covariance.first_of(1).but_first(2) / pivot  # (n, 1, r - 1)
        return (
            covariance.but_first(1).but_first(2) - own * slope,
            away.but_first(2) - distance * slope,
            squares + (distance.squared() / pivot).squeeze(2),
            volume + pivot.squeeze(2).log() * 0.5,
        )

    nothing = away.sum(2) * 0.0
    none = covariance.first_of(1).first_of(2).squeeze(2) * 0.0
    return graph.repeat(features, step, covariance, away, nothing, none)[2:]


# All densities --------------------------------------------------------------------------------------------------------


@singledispatch
def scores(density: Density, rows: GraphRows) -> Tensor:
    """log p(x | k), missing values integrated out, up to a term common to all classes; (n, g), or (1, g)."""
    raise ClasswiseError(
        f"A model with {type(density).__name__} densities cannot be exported to ONNX; score its rows in Python."
    )


scores.register(Gaussian)(gaussian_scores)
scores.register(Student)(student_scores)


@scores.register
def _(density: Product, rows: GraphRows) -> Tensor:
    """The sum over blocks of columns."""
    return reduce(add, (scores(block.density, rows.part(block.columns.tolist())) for block in density.blocks))


@scores.register
def _(density: Observed, rows: GraphRows) -> Tensor:
    return scores(density.whole, rows)


@scores.register
def _(density: Constant, rows: GraphRows) -> Tensor:
    return rows.graph.constant(np.zeros((1, density.count)))


@scores.register
def _(density: LogNormal, rows: GraphRows) -> Tensor:
    """The density of the logarithms; 1/x is common to all classes."""
    values = rows.numbers()
    rows.graph.refuse(values < 0.0, values.equals(0.0))
    logs = values.log()
    found = scores(density.logs, DerivedRows(rows.graph, rows.strict, logs))
    return found - _summed(values, logs) if rows.graph.whole else found


@scores.register
def _(density: Presence, rows: GraphRows) -> Tensor:
    """The density of what is there, and log P(there or not)."""
    with np.errstate(divide="ignore"):
        absent, there = (
            np.nan_to_num(np.log(density.missing), neginf=-np.inf),
            np.nan_to_num(np.log1p(-density.missing)),
        )
    gone = rows.numbers().is_nan().cast(np.float64)
    signal = gone @ (_finite(absent) - there).T + there.sum(axis=1)[None]
    return scores(density.numbers, rows) + _ruled_out(gone, np.isneginf(absent), signal)


@scores.register
def _(density: Categorical, rows: GraphRows) -> Tensor:
    """A look into a table for each column."""
    graph, columns = rows.graph, enumerate(density.columns)
    tables = (graph.constant(levels.log_probability.T).take(rows.codes(j), 0) for j, levels in columns)
    return reduce(add, tables)


@scores.register
def _(density: Poisson, rows: GraphRows) -> Tensor:
    """A line in x, except for a rate of 0, which allows 0 alone."""
    values, never = rows.numbers(), density.values == 0
    rows.graph.refuse(values < 0.0, values > values.floor())
    slope, constant = density.line
    line = _line(values, np.where(never, 0.0, slope), constant)
    if rows.graph.whole:
        average = values * np.log(density.average)[None] - density.average[None]
        line = line + _summed(values, average - _log_factorial(values))
    return _ruled_out((values > 0.0).cast(np.float64), never, line)


@scores.register
def _(density: Binomial, rows: GraphRows) -> Tensor:
    """A line in x, except for a chance of 0, which allows 0 alone, and a chance of 1, which allows N alone."""
    values, trials = rows.numbers(), density.trials
    never, always = density.values == 0, density.values == 1
    rows.graph.refuse(values < 0.0, values > values.floor(), values > trials[None])
    slope, constant = density.line
    constant = np.where(always, -trials * np.log(density.average), constant)
    line = _line(values, np.where(never | always, 0.0, slope), constant)
    if rows.graph.whole:
        rest = values * -1.0 + trials[None]
        ways = (_log_factorial(values) + _log_factorial(rest)) * -1.0 + gammaln(trials + 1)[None]
        chances = values * np.log(density.average)[None] + rest * np.log1p(-density.average)[None]
        line = line + _summed(values, ways + chances)
    some, not_all = (values > 0.0).cast(np.float64), (values < trials[None]).cast(np.float64)
    return _ruled_out(not_all, always, _ruled_out(some, never, line))


@scores.register
def _(density: Multinomial, rows: GraphRows) -> Tensor:
    """Lines in the counts; where some are missing, the others have a total of their own, and shares of it."""
    if rows.graph.whole:
        raise ClasswiseError(
            "The novelty of a bag of counts cannot be written as ONNX; decide in Python, or JavaScript."
        )
    absent, held = rows.numbers().is_nan(), _held_counts(rows)
    whole = held @ np.ones((density.n_features, 1))
    left = (~absent).cast(np.float64) @ density.chance.T
    own = (left > 0.0).where(left, 1.0).log() * whole
    return _weighted(density, held) - own


@scores.register
def _(density: Complement, rows: GraphRows) -> Tensor:
    return _weighted(density, _held_counts(rows))


def _held_counts(rows: GraphRows) -> Tensor:
    """Counts, 0 where one is missing; negative ones are refused."""
    values = rows.numbers()
    rows.graph.refuse(values < 0.0)
    return values.is_nan().where(0.0, values)


def _weighted(density: Multinomial | Complement, held: Tensor) -> Tensor:
    """The sum of each count times its weight; without smoothing, a class may rule a count out."""
    never = np.isinf(density.slope)
    return _ruled_out((held > 0.0).cast(np.float64), never, held @ np.where(never, 0.0, density.slope).T)


@scores.register
def _(density: IndependentStudent, rows: GraphRows) -> Tensor:
    """The sum over columns of log t(x_j | m_j, s_j, v_j)."""
    v = density.freedom
    log_scale = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * np.pi * density.shapes)
    values = rows.numbers()
    squares = (values.widen(1) - density.means[None]).squared() / (density.shapes * v)[None]
    terms = (squares + 1.0).log() * (-0.5 * (v + 1))[None] + log_scale[None]
    return values.is_nan().widen(1).where(0.0, terms).sum(2)


def _line(values: Tensor, slope: Array, constant: Array) -> Tensor:
    """The sum over columns of slope x + constant, of what is there; (n, p), (g, p) -> (n, g)."""
    absent = values.is_nan()
    return absent.where(0.0, values) @ slope.T + (~absent).cast(np.float64) @ constant.T


def _summed(values: Tensor, terms: Tensor) -> Tensor:
    """The sum over columns of terms, of those values that are there; (n, p), (n, p) -> (n, 1)."""
    return values.is_nan().where(0.0, terms).sum(1, keep=True)


def _log_factorial(counts: Tensor) -> Tensor:
    """log x!, from a table for few, else by Stirling's series."""
    known = ~(counts.is_nan() | (counts < 0.0))
    counts = known.where(counts, 0.0)
    few = counts.graph.node("Min", counts, float(FEW - 1)).cast(np.int64)
    table = counts.graph.constant(gammaln(np.arange(FEW) + 1.0)).take(few, 0)
    z = counts + 1.0
    ratio = counts.graph.constant(np.array(1.0)) / z.squared()
    series = reduce(lambda sum_, next_: sum_ * ratio + next_, STIRLING[-2::-1], ratio * 0.0 + STIRLING[-1])
    large = (counts + 0.5) * z.log() - z + LOG_UNIT + series / z
    return (counts < float(FEW)).where(table, large)


def _ruled_out(events: Tensor, impossible: NDArray[np.bool_], otherwise: Tensor) -> Tensor:
    """-inf where something happens that a class makes impossible; events (n, p), impossible (g, p), (n, g)."""
    if not impossible.any():
        return otherwise
    return (events @ impossible.T.astype(np.float64) > 0.0).where(-np.inf, otherwise)


def _finite(logs: Array) -> Array:
    """0 in place of -inf: what has probability zero is ruled out instead."""
    return np.where(np.isneginf(logs), 0.0, logs)
