"""Missing values when learning a joint Gaussian: expectation and maximization (Dempster, Laird and Rubin 1977).

For a group of n rows with values in columns o, mean x and scatter S there, and a class with mean m and covariance C:

    B = C[:, o] C[o, o]^-1;   V = C - B C[o, :]
    expected mean = m + B (x - m[o]);   expected scatter = B S B' + n V

These are moments, and merge with those of the complete rows. The covariances estimated from the sum are the next C.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, pi
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, marked_places, ratio
from classwise.covariance.recipe import MaximumLikelihood, Recipe
from classwise.errors import ClasswiseError, SingularCovarianceError
from classwise.statistics import ClassStatistics, Gaps, Moments, PooledScatter
from classwise.storage import stored

# The log-likelihood of a row may still grow by this much when EM stops.
TOLERANCE = 1e-10
MOST_ITERATIONS = 1000

# A feature that the others explain up to this share of its variance is where EM drifts to; it got there from far away.
DRIFT = 1e-8


@stored("Completion")
@dataclass(frozen=True, eq=False, repr=False)
class Completion:
    """How EM went: statistics as if nothing were missing, and the log-likelihood after each iteration.

    log_likelihood: of the values that are there, at the parameters of each iteration; it never decreases, unless
    share (between 0 and 1) or shrink ask for something else than maximum likelihood.
    """

    statistics: ClassStatistics
    log_likelihood: Array
    converged: bool

    def _is_sound(self) -> bool:
        return self.log_likelihood.ndim == 1

    @property
    def iterations(self) -> int:
        """How many there were; none where nothing is missing."""
        return len(self.log_likelihood)

    def __repr__(self) -> str:
        if not self.iterations:
            return "Completion(nothing was missing)"
        state = "converged" if self.converged else "not converged"
        return f"Completion({state} after {self.iterations} iterations, log-likelihood {self.log_likelihood[-1]:.6g})"


def complete(statistics: ClassStatistics, recipe: Recipe, tolerance: float = TOLERANCE) -> Completion:
    """The statistics of numbers with their gaps filled by expectation, at the estimates of the recipe.

    statistics: of joint numbers; without gaps they are returned as they are, after no iteration. tolerance: the gain
    of log-likelihood for each row below which EM stops.
    """
    refuse_never_seen(statistics, statistics.numbers.present_weight())
    likeliest = replace(recipe, divisor=MaximumLikelihood())
    return complete_by(
        statistics, lambda full: GaussianParameters(full.mean, likeliest.blend(full).matrices()), tolerance
    )


def complete_by(statistics: ClassStatistics, maximize: "Maximize", tolerance: float = TOLERANCE) -> Completion:
    """The same with any estimates of means and covariances from complete statistics."""
    if not len(statistics.numbers.gaps):
        return Completion(statistics, np.empty(0), converged=True)
    return _Climb(statistics, maximize, tolerance).run()


class _Climb:
    """EM from the start to the top, with every second step stretched (SQUAREM: Varadhan and Roland 2008)."""

    def __init__(self, statistics: ClassStatistics, maximize: "Maximize", tolerance: float) -> None:
        self.statistics = statistics
        self.maximize = maximize
        self.tolerance = tolerance
        self.path: list[float] = []

    def run(self) -> Completion:
        numbers = self.statistics.numbers
        enough = self.tolerance * float(numbers.moments.weight.sum() + numbers.gaps.moments.weight.sum())
        current, converged = _start(self.statistics), False
        while not converged and len(self.path) < MOST_ITERATIONS:
            first = self._step(self._expect(current))
            second = self._step(self._expect(first))
            converged = abs(self.path[-1] - self.path[-2]) <= enough
            current = second if converged else self._stretch(current, first, second)
        completed = self._completed(self._expect(current))
        return Completion(completed, np.array(self.path), converged)

    def _expect(self, current: "GaussianParameters") -> "Expectation":
        return Expectation(current, self.statistics.moments, self.statistics.numbers.gaps)

    def _completed(self, expectation: "Expectation") -> ClassStatistics:
        return self.statistics.with_moments(expectation.moments())

    def _step(self, expectation: "Expectation") -> "GaussianParameters":
        """The rest of an iteration: what was expected is maximized."""
        self.path.append(expectation.log_likelihood())
        completed = self._completed(expectation)
        following = self.maximize(completed)
        _refuse_drift(following, self.statistics)
        return following

    def _stretch(
        self, start: "GaussianParameters", first: "GaussianParameters", second: "GaussianParameters"
    ) -> "GaussianParameters":
        """One iteration from a point further along the way, if that lies higher; else the second point."""
        further = start.stretched(first, second)
        if further is None:
            return second
        expectation = self._expect(further)
        if not expectation.log_likelihood() >= self.path[-1]:
            return second
        return self._step(expectation)


Maximize: TypeAlias = Callable[[ClassStatistics], "GaussianParameters"]


@dataclass(frozen=True, eq=False)
class GaussianParameters:
    """Means (g, p), and covariances (g, p, p), or (1, p, p) where all classes share one."""

    means: Array
    covariances: Array

    def covariance_of(self, codes: Codes) -> Array:
        return self.covariances[np.minimum(codes, len(self.covariances) - 1)]

    def stretched(self, first: "GaussianParameters", second: "GaussianParameters") -> "GaussianParameters | None":
        """self + 2 a r + a² v with r = first - self, v = second - first - r, a = |r| / |v|; None if no model."""
        scale = np.sqrt(np.diagonal(first.covariances[0]))
        if len(self.covariances) != len(first.covariances) or not (scale > 0).all():
            return None
        here, once, twice = (point._vector(scale) for point in (self, first, second))
        step = once - here
        change = twice - once - step
        length = float(np.linalg.norm(change))
        factor = max(float(np.linalg.norm(step)) / length, 1.0) if length else 1.0
        whole = here + 2 * factor * step + factor**2 * change
        means = whole[: self.means.size].reshape(self.means.shape) * scale
        covariances = whole[self.means.size :].reshape(self.covariances.shape) * np.outer(scale, scale)
        if min(_pivots(matrix).min(initial=1.0) for matrix in covariances) < DRIFT:
            return None
        return GaussianParameters(means, covariances)

    def _vector(self, scale: Array) -> Array:
        """All numbers in a row, in units of the standard deviations."""
        return np.concatenate([(self.means / scale).ravel(), (self.covariances / np.outer(scale, scale)).ravel()])


def _start(statistics: ClassStatistics) -> GaussianParameters:
    """What each column has by itself: the means of the classes, and variances within them."""
    numbers = statistics.numbers
    parts = numbers.gaps.by_column(len(statistics.labels))
    complete = numbers.moments
    weight = complete.weight + parts.weight
    sums = complete.weight * complete.mean + parts.weight * parts.mean
    # A class without a value starts at the mean of all rows.
    means = np.where(weight > 0, ratio(sums, weight), ratio(sums.sum(axis=0), weight.sum(axis=0)))
    away = complete.weight * (complete.mean - means) ** 2 + parts.weight * (parts.mean - means) ** 2
    squares = complete.scatter.pooled_diagonal() + parts.scatter.pooled_diagonal() + away.sum(axis=0)
    variances = squares / weight.sum(axis=0)
    return GaussianParameters(means, np.diag(np.where(variances > 0, variances, 1.0))[None])


class Expectation:
    """Complete rows and rows with gaps, seen from given parameters."""

    def __init__(self, parameters: GaussianParameters, complete: Moments, gaps: Gaps) -> None:
        self.parameters = parameters
        self.complete = complete
        self.gaps = gaps
        self.means = parameters.means[gaps.codes]
        self.covariances = parameters.covariance_of(gaps.codes)
        self.inverse, self.log_det = _inverse(self.covariances, gaps.present)

    @cached_property
    def _differences(self) -> Array:
        """x - m where there is a value, else 0; (q, p)."""
        difference = (self.gaps.moments.mean - self.means) + self.gaps.moments.rest
        return np.where(self.gaps.present, difference, 0.0)

    def moments(self) -> Moments:
        """The moments of all rows, as expected."""
        return _added(self.complete, self._filled().merged(self.gaps.codes, len(self.complete.weight)))

    def _filled(self) -> Moments:
        """B and V are of what is missing alone: rows u of them, with p in u for a column of nothing."""
        own, (count, features) = self.gaps.moments, self.gaps.present.shape
        missing = marked_places(~self.gaps.present)
        group, inside = np.arange(count)[:, None], np.minimum(missing, features - 1)
        cross = self.covariances[group, inside]
        regression = cross @ self.inverse
        variance = np.take_along_axis(cross - regression @ self.covariances, inside[:, None, :], axis=2)
        expected = self.means[group, inside] + (regression @ self._differences[:, :, None])[:, :, 0]
        across = regression @ own.scatter.values
        mean, rest, scatter = (_widened(part) for part in (own.mean, own.rest, own.scatter.values))
        mean[group, missing], rest[group, missing] = expected, 0.0
        scatter[group, missing, :features] = across
        scatter[group, :features, missing] = across
        within = across @ regression.transpose(0, 2, 1) + own.weight[:, :, None] * variance
        scatter[group[:, :, None], missing[:, :, None], missing[:, None, :]] = within
        own_scatter = type(own.scatter)(scatter[:, :features, :features])
        return Moments(own.weight, mean[:, :features], rest[:, :features], own_scatter)

    def log_likelihood(self) -> float:
        """sum over groups of -1/2 (n (|o| log 2π + log|C_oo|) + tr C_oo^-1 (S + n d d'))."""
        gaps = self.gaps.moments
        count = self.gaps.present.sum(axis=1)
        squares = gaps.scatter.values + gaps.weight[:, :, None] * _outer(self._differences)
        constants = gaps.weight[:, 0] * (count * log(2 * pi) + self.log_det)
        return -0.5 * float(constants.sum() + np.einsum("qij,qji->", self.inverse, squares)) + self._of_complete()

    def _of_complete(self) -> float:
        complete, count = self.complete, len(self.complete.weight)
        features = complete.mean.shape[1]
        everything = np.ones((len(self.parameters.covariances), features), dtype=bool)
        inverse, log_det = _inverse(self.parameters.covariances, everything)
        between = complete.weight[:, :, None] * _outer(complete.mean - self.parameters.means + complete.rest)
        if len(inverse) == 1:
            squares = (complete.scatter.pooled() + between.sum(axis=0))[None]
        else:
            squares = complete.scatter.by_class() + between
        constants = complete.weight[:, 0] @ (features * log(2 * pi) + np.broadcast_to(log_det, count))
        return -0.5 * float(constants + np.einsum("kij,kji->", inverse, squares))


def _widened(values: Array) -> Array:
    """With one more column, of zeros, along all axes but the first; (q, p) -> (q, p + 1)."""
    return np.pad(values, [(0, 0)] + [(0, 1)] * (values.ndim - 1))


def _added(complete: Moments, filled: Moments) -> Moments:
    form = type(complete.scatter)
    if form is PooledScatter:
        filled = replace(filled, scatter=form(filled.scatter.pooled()))
    return complete + filled


def _inverse(covariances: Array, present: NDArray[np.bool_]) -> tuple[Array, Array]:
    """C_oo^-1, with zeros in the rows and columns without values (q, p, p), and log|C_oo| (q,)."""
    both = present[:, :, None] & present[:, None, :]
    # In units of the standard deviations, and the identity where nothing is: a block that changes nothing.
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    varies = variances > 0
    scale = np.sqrt(np.where(varies, variances, 1.0))
    units = scale[:, :, None] * scale[:, None, :]
    both &= varies[:, :, None] & varies[:, None, :]
    padded = np.where(both, covariances / units, np.eye(present.shape[1]))
    inverse = np.where(both, np.linalg.inv(padded) / units, 0.0)
    log_det = np.linalg.slogdet(padded)[1] + 2 * np.where(present, np.log(scale), 0.0).sum(axis=1)
    return inverse, log_det


def _outer(vectors: Array) -> Array:
    return vectors[:, :, None] * vectors[:, None, :]


def refuse_never_seen(statistics: ClassStatistics, weight: Array) -> None:
    """Refuse a class without a single value in some column; weight (g, p): what is there."""
    if not weight.all():
        k, column = np.argwhere(weight == 0)[0]
        raise ClasswiseError(
            f"Class {statistics.label(k)!r} has no value at all in {statistics.name(column)}, so a Gaussian "
            "cannot place it there; drop the column, or use NaiveBayes."
        )


def _refuse_drift(current: GaussianParameters, statistics: ClassStatistics) -> None:
    """Where values are few, their likelihood may have no maximum: EM then drifts, slowly, to a singular covariance."""
    for k, matrix in enumerate(current.covariances):
        pivots = _pivots(matrix)
        if pivots.min(initial=1.0) < DRIFT:
            shared = len(current.covariances) < len(statistics.labels)
            raise SingularCovarianceError(_explain_drift(statistics, None if shared else k, int(pivots.argmin())))


def _explain_drift(statistics: ClassStatistics, k: int | None, column: int) -> str:
    own = slice(None) if k is None else slice(k, k + 1)
    weight = float(statistics.weight[own].sum())
    there = float(statistics.numbers.present_weight()[own].sum()) / (weight * statistics.n_features)
    subject = "The classes share one covariance; they have" if k is None else f"Class {statistics.label(k)!r} has"
    remedy = "Restrict" if k is None else "Share it (share=1), restrict"
    return (
        f"{subject} {weight:g} rows and {statistics.n_features} features, with {100 * (1 - there):.0f} % of the values "
        f"missing. The likelihood of what is left has no maximum: EM drifts to a singular covariance, where "
        f"{statistics.name(column)} follows from the others. {remedy} it (structure='diagonal'), drop the column, "
        "or shrink it (shrink='oas', standardize=True)."
    )


def _pivots(covariance: Array) -> Array:
    """The share of each feature's variance that the features before it do not explain; (p,)."""
    variances = np.diagonal(covariance)
    if (variances < 0).any():
        return np.where(variances < 0, 0.0, 1.0)
    scale = np.sqrt(variances)
    if not (scale > 0).all():
        return np.ones(len(scale))  # a constant column: what is singular is said better when all is estimated
    correlation = covariance / np.outer(scale, scale)
    try:
        return np.diagonal(np.linalg.cholesky(correlation)) ** 2
    except np.linalg.LinAlgError:
        # Past singular: the feature most involved in the direction without variance.
        direction = np.abs(np.linalg.eigh(correlation).eigenvectors[:, 0])
        return np.where(direction == direction.max(), 0.0, 1.0)
