"""Missing values when learning a joint Gaussian: expectation and maximization (Dempster, Laird and Rubin 1977).

Rows with gaps have expected moments (expectation.py), which merge with those of the complete rows. The means and
covariances estimated from the sum are the next to expect from.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from classwise.arrays import Array, product, ratio, row_norms
from classwise.covariance.expectation import Expectation, GapRows, GaussianParameters
from classwise.covariance.full import FullCovariance
from classwise.covariance.overall_moments import OverallMoments, with_valueless
from classwise.covariance.rank import refuse_singular
from classwise.covariance.recipe import Blend, Fixed, MaximumLikelihood, Recipe
from classwise.errors import SingularCovarianceError
from classwise.statistics import ClassStatistics
from classwise.storage import stored

Maximize: TypeAlias = Callable[[ClassStatistics], GaussianParameters]

# The log-likelihood of a row may still grow by this much when EM stops.
TOLERANCE = 1e-10
MOST_ITERATIONS = 1000

# What has not settled after this many leaps hardly ever does: it has nowhere to go. From the second tolerance on, half.
MOST_LEAPS = 300
COARSE = 1e-9

# The last few points that a leap is reckoned from, with fewer of many numbers; and what keeps their equations regular.
MOST_PLACES = 10
MOST_REMEMBERED = 1 << 22
LEAP_RIDGE = 1e-10

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


def complete(
    statistics: ClassStatistics, recipe: Recipe, tolerance: float = TOLERANCE, start: Completion | None = None
) -> Completion:
    """The statistics of numbers with their gaps filled by expectation, at the estimates of the recipe.

    statistics: of joint numbers; without gaps they are returned as they are, after no iteration. tolerance: the gain
    of log-likelihood for each row below which EM stops. start: of similar rows, or by a similar recipe, to set out from
    where that ended; if it is of other classes or columns, EM sets out from each column by itself.
    """
    if statistics.is_complete:
        return _nothing_missing(statistics)
    likeliest = replace(recipe, divisor=MaximumLikelihood())

    def maximize(full: ClassStatistics) -> GaussianParameters:
        return GaussianParameters(full.mean, likeliest.blend(full).matrices())

    is_likeliest = recipe.shrinkage == Fixed(0.0) and recipe.sharing in (Blend(0.0), Blend(1.0))
    return complete_by(statistics, maximize, tolerance, start, _MaximumLikelihoodEM if is_likeliest else _FixedPointEM)


def complete_by(
    statistics: ClassStatistics,
    maximize: Maximize,
    tolerance: float = TOLERANCE,
    start: Completion | None = None,
    algorithm: "type[_EM] | None" = None,
) -> Completion:
    """The same with any estimates of means and covariances from complete statistics."""
    statistics = with_valueless(statistics)
    if not statistics.numbers.has_gaps:
        return _nothing_missing(statistics)
    return (algorithm or _FixedPointEM)(statistics, maximize, tolerance).run(start)


def _nothing_missing(statistics: ClassStatistics) -> Completion:
    return Completion(statistics, np.empty(0), converged=True)


class _EM(ABC):
    """EM from the start to where it stays. enough: the gain of log-likelihood below which it does."""

    def __init__(self, statistics: ClassStatistics, maximize: Maximize, tolerance: float) -> None:
        self.statistics = statistics
        self.maximize = maximize
        self.tolerance = tolerance
        self.rows = GapRows(statistics.numbers.gaps, len(statistics.labels))
        self.enough = tolerance * float(statistics.moments.weight.sum() + self.rows.classes.weight().sum())
        self.path: list[float] = []
        self.overall = OverallMoments.of(statistics)

    def run(self, start: Completion | None) -> Completion:
        near = start is not None and _are_alike(start.statistics, self.statistics)
        last, converged = self._from(self.maximize(start.statistics) if start and near else self._start())
        return Completion(self._completed(self._expect(last)), np.array(self.path), converged)

    def _start(self) -> GaussianParameters:
        return _start(self.statistics, self.overall)

    @abstractmethod
    def _from(self, current: GaussianParameters) -> tuple[GaussianParameters, bool]:
        """Where it ends, and whether it stays there."""

    def _expect(self, current: GaussianParameters) -> Expectation:
        return Expectation(current, self.statistics.moments, self.rows)

    def _completed(self, expectation: Expectation) -> ClassStatistics:
        shared = len(expectation.parameters.covariances) < len(self.statistics.labels)
        return self.statistics.with_moments(self.overall.placed(expectation.moments(), shared))

    def _step(self, expectation: Expectation) -> GaussianParameters:
        """The rest of an iteration: what was expected is maximized."""
        self.path.append(expectation.log_likelihood())
        following = self.maximize(self._completed(expectation))
        _refuse_drift(following, self.statistics)
        return following

    def _is_enough(self) -> bool:
        return len(self.path) > 1 and abs(self.path[-1] - self.path[-2]) <= self.enough


class _MaximumLikelihoodEM(_EM):
    """To the largest likelihood, with every second step stretched (SQUAREM: Varadhan and Roland 2008)."""

    def _from(self, current: GaussianParameters) -> tuple[GaussianParameters, bool]:
        converged = False
        while not converged and len(self.path) < MOST_ITERATIONS:
            first = self._step(self._expect(current))
            second = self._step(self._expect(first))
            converged = self._is_enough()
            current = second if converged else self._stretch(current, first, second)
        return current, converged

    def _stretch(
        self, start: GaussianParameters, first: GaussianParameters, second: GaussianParameters
    ) -> GaussianParameters:
        """One iteration from a point further along the way, if that lies higher; else the second point."""
        further = _stretched(start, first, second)
        if further is None:
            return second
        expectation = self._expect(further)
        if not expectation.log_likelihood() >= self.path[-1]:
            return second
        return self._step(expectation)


class _FixedPointEM(_EM):
    """To where estimates that maximize no likelihood no longer move (Anderson 1965, Walker and Ni 2011).

    With x the parameters in units of the standard deviations, f = EM(x) - x, and their last few changes dx and df:

        next x = x + f - (dx + df) c;   c: the least |f - df c|

    From a point that moves more than twice as far as the last, EM goes back, and on without such a leap. It has settled
    where neither the likelihood nor the parameters change: a likelihood that rises and falls may pause on the way.
    """

    def _from(self, current: GaussianParameters) -> tuple[GaussianParameters, bool]:
        scale = np.sqrt(np.diagonal(self._start().covariances[0]))
        plain, least = current, np.inf
        places: list[list[Array]] = [[], []]
        for _ in range(MOST_LEAPS if self.tolerance < COARSE else MOST_LEAPS // 2):
            expectation = self._expect(current)
            following = self.maximize(self._completed(expectation))
            here = _vector(current, scale, len(following.covariances))
            move = _vector(following, scale, len(following.covariances)) - here
            length = float(np.sqrt(np.mean(move**2)))
            if current is not plain and (length > 2 * least or _drifts(following)):
                current, places = plain, [[], []]
                continue
            _refuse_drift(following, self.statistics)
            self.path.append(expectation.log_likelihood())
            if self._is_enough() and length <= self.tolerance**0.5:
                return following, True
            plain, least = following, length
            current = self._leap(here, move, places, scale, following) or following
        return plain, False

    def _leap(
        self, here: Array, move: Array, places: list[list[Array]], scale: Array, following: GaussianParameters
    ) -> GaussianParameters | None:
        """The next point, by the last few (x, f), to which this one is added; None if it is no model."""
        most = int(np.clip(MOST_REMEMBERED // here.size, 2, MOST_PLACES))
        for kept, one in zip(places, (here, move), strict=True):
            kept.append(one)
            del kept[:-most]
        if len(places[0]) < 2:
            return None
        step, change = (np.diff(np.array(kept), axis=0) for kept in places)
        length = np.sqrt(row_norms(change))
        if not (length > 0).all():
            return None
        gram = product(change, change.T) / np.outer(length, length) + LEAP_RIDGE * np.eye(len(change))
        share = np.linalg.solve(gram, product(change, move) / length) / length
        return _parameters(here + move - product(share, step + change), scale, following)


def _stretched(
    start: GaussianParameters, first: GaussianParameters, second: GaussianParameters
) -> GaussianParameters | None:
    """start + 2 a r + a² v with r = first - start, v = second - first - r, a = |r| / |v|; None if no model."""
    scale = np.sqrt(np.diagonal(first.covariances[0]))
    if len(start.covariances) != len(first.covariances) or not (scale > 0).all():
        return None
    here, once, twice = (_vector(point, scale, len(first.covariances)) for point in (start, first, second))
    step = once - here
    change = twice - once - step
    length = float(np.linalg.norm(change))
    factor = max(float(np.linalg.norm(step)) / length, 1.0) if length else 1.0
    whole = here + 2 * factor * step + factor**2 * change
    return _parameters(whole, scale, first)


def _vector(point: GaussianParameters, scale: Array, count: int) -> Array:
    """All numbers in a row, in units of the standard deviations; count: of covariances."""
    covariances = np.broadcast_to(point.covariances / np.outer(scale, scale), (count, len(scale), len(scale)))
    return np.concatenate([(point.means / scale).ravel(), covariances.ravel()])


def _parameters(vector: Array, scale: Array, like: GaussianParameters) -> GaussianParameters | None:
    """What such a vector stands for, if its covariances are some."""
    means = vector[: like.means.size].reshape(like.means.shape) * scale
    covariances = vector[like.means.size :].reshape(like.covariances.shape) * np.outer(scale, scale)
    found = GaussianParameters(means, covariances)
    return None if _drifts(found) else found


def _drifts(point: GaussianParameters) -> bool:
    """Whether a covariance is all but singular."""
    return min(_pivots(matrix).min(initial=1.0) for matrix in point.covariances) < DRIFT


def _are_alike(one: ClassStatistics, other: ClassStatistics) -> bool:
    """Whether they are of the same classes and columns, with scatter of the same form."""
    places = [[column.place for column in statistics.schema] for statistics in (one, other)]
    same = places[0] == places[1] and np.array_equal(one.labels, other.labels)
    return same and type(one.moments.scatter) is type(other.moments.scatter)


def _start(statistics: ClassStatistics, overall: OverallMoments) -> GaussianParameters:
    """What each column has by itself: the means of the classes, and variances within them."""
    numbers = statistics.numbers
    parts = numbers.gaps.by_column(len(statistics.labels))
    complete = numbers.moments
    weight = complete.weight + parts.weight
    sums = complete.weight * complete.mean + parts.weight * parts.mean
    means = np.where(overall.absent, overall.mean, ratio(sums, weight))
    away = complete.weight * (complete.mean - means) ** 2 + parts.weight * (parts.mean - means) ** 2
    squares = complete.scatter.pooled_diagonal() + parts.scatter.pooled_diagonal() + away.sum(axis=0)
    variances = squares / weight.sum(axis=0)
    return GaussianParameters(means, np.diag(np.where(variances > 0, variances, 1.0))[None])


def _refuse_drift(current: GaussianParameters, statistics: ClassStatistics) -> None:
    """Where values are few, their likelihood may have no maximum: EM then drifts, slowly, to a singular covariance."""
    if not np.diagonal(current.covariances, axis1=1, axis2=2).all():  # a column that does not vary never will
        refuse_singular(FullCovariance(current.covariances), statistics)
    for k, matrix in enumerate(current.covariances):
        pivots = _pivots(matrix)
        if pivots.min(initial=1.0) < DRIFT:
            shared = len(current.covariances) < len(statistics.labels)
            raise SingularCovarianceError(_explain_drift(statistics, None if shared else k, int(pivots.argmin())))


def _explain_drift(statistics: ClassStatistics, k: int | None, column: int) -> str:
    own = slice(None) if k is None else slice(k, k + 1)
    weight = float(statistics.weight[own].sum())
    missing = 1 - statistics.numbers.present_weight()[own].sum(axis=0) / weight
    scarce = int(missing.argmax())
    subject = "The classes share one covariance; they have" if k is None else f"Class {statistics.label(k)!r} has"
    remedy = "Restrict" if k is None else "Share it (share=1), restrict"
    return (
        f"{subject} {weight:g} rows and {statistics.n_features} features, with {100 * missing.mean():.3g} % of the "
        f"values missing, and {100 * missing[scarce]:.3g} % of those of {statistics.name(scarce)}. The likelihood of "
        "what is left has no maximum: EM drifts to a singular covariance, where "
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
