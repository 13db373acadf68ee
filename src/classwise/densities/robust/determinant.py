"""Minimum covariance determinant (Rousseeuw 1984): the covariance of those rows that lie closest together.

Of all sets of rows of weight h, the one whose covariance has the least determinant. scikit-learn's FastMCD (Rousseeuw
and Van Driessen 1999) finds a start; concentration steps, each of which takes the h nearest rows and can only make the
determinant less, go on from there to their end. Where classes share a covariance, rows are measured from the mean of
their own class in the set (Hubert and Van Driessen 2004), and the determinant is that of all of them together. Then

    raw covariance = covariance of the set x c(h / n),   c(a) = a / P(chi²_{p+2} <= a-quantile of chi²_p)

makes it that of Gaussian rows (Croux and Haesbroeck 1999), rows beyond the 0.975 quantile of chi²_p are outliers, and
mean and covariance of all others, times c(0.975), are the answer.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from classwise.arrays import Array, Codes, product, row_norms
from classwise.covariance import FullCovariance
from classwise.densities.gaussian import Gaussian
from classwise.densities.robust.problem import LabeledRows, RobustProblem
from classwise.errors import ClasswiseError

# Rows beyond this quantile of chi² are outliers.
INLIERS = 0.975

# Concentration steps at most; they end by themselves after a few.
MOST_STEPS = 500

# Rows of whole weights are copied for FastMCD, if that makes no more than this many times as many.
MOST_COPIES = 5

REMEDY = "raise support"


class RobustGaussians(NamedTuple):
    """The densities; the weight of each row (n,), 1 or 0; the log determinant of the least covariance, before factors,
    of each scatter (k,).
    """

    density: Gaussian
    row_weights: Array
    log_determinants: Array


def fit_determinant(labeled: LabeledRows, support: float | None, starts: int, seed: int) -> RobustGaussians:
    """The Gaussians of the rows that are no outliers, of the rows without gaps.

    support: the share of the rows in the set; None for the least that is possible, (n + p + 1) / 2 rows. starts: how
    often FastMCD looks for a set, with this seed and those that follow.
    """
    usable = ~np.isnan(labeled.rows).any(axis=1)
    weights, found = np.zeros(len(labeled.rows)), []
    for own, problem in labeled.problems(usable):
        distinct, places = problem.distinct()
        found.append(_concentrated(distinct, support, range(seed, seed + starts)))
        weights[own] = found[-1].kept[places]
    means = np.concatenate([of.means for of in found])
    density = Gaussian(means, FullCovariance(np.stack([of.covariance for of in found])))
    return RobustGaussians(density, weights, np.array([of.log_determinant for of in found]))


class _Set(NamedTuple):
    """weights (m,): how much of each row is in the set."""

    means: Array
    covariance: Array
    weights: Array


class _Concentrated(NamedTuple):
    means: Array
    covariance: Array
    kept: Array
    log_determinant: float


def _concentrated(problem: RobustProblem, support: float | None, seeds: Sequence[int]) -> _Concentrated:
    total, features = float(problem.weights.sum()), problem.features
    _refuse_few(problem, total)
    held = _held(total, features + len(problem.means), support)
    ends = [_descended(problem, start, held) for start in _starts(problem, held / total, seeds)]
    nearest, log_determinant = min(ends, key=lambda end: end[1])
    raw = nearest.covariance * _consistency(held / total, features)
    kept = (_squares(problem, nearest.means, raw) < chi2(features).ppf(INLIERS)).astype(np.float64)
    last = _set_of(problem, problem.weights * kept, nearest.means)
    problem.factored(last.covariance, REMEDY)
    return _Concentrated(last.means, last.covariance * _consistency(INLIERS, features), kept, log_determinant)


def _held(total: float, least: int, support: float | None) -> float:
    """The weight of the set; least: the columns and centers, which take as many rows to know."""
    wanted = np.floor(total * support) if support is not None else np.ceil((total + least) / 2)
    return float(np.clip(wanted, least + 1, total))


def _refuse_few(problem: RobustProblem, total: float) -> None:
    least = problem.features + len(problem.means)
    if total <= least + 1:
        remedy = "Share one scatter (share=1), drop" if len(problem.means) == 1 else "Drop"
        raise ClasswiseError(
            f"method='mcd' needs more than {least + 1} rows without gaps in {problem.name}, and there are {total:g} "
            f"such rows, with {problem.features} columns of numbers. {remedy} columns, or add rows."
        )


def _starts(problem: RobustProblem, share: float, seeds: Sequence[int]) -> Iterator[_Set]:
    """scikit-learn's sets, of rows about the median of their class where there are several."""
    from sklearn.covariance import fast_mcd

    medians = np.stack([np.median(problem.rows[problem.codes == k], axis=0) for k in range(len(problem.means))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a set in a plane: what to do about it is said when it is measured
        away = np.repeat(problem.rows - medians[problem.codes], _times(problem.weights), axis=0)
        found = [fast_mcd(away, support_fraction=min(share, 1.0), random_state=seed) for seed in seeds]
    for location, covariance, *_ in found:
        yield _Set(medians + location, np.atleast_2d(covariance), problem.weights)


def _times(weights: Array) -> Codes:
    """How often each row is shown to FastMCD, which knows no weights: as often as it counts, within limits."""
    whole = (weights == np.round(weights)).all() and weights.sum() <= MOST_COPIES * len(weights)
    return weights.astype(np.intp) if whole else np.ones(len(weights), dtype=np.intp)


def _descended(problem: RobustProblem, start: _Set, held: float) -> tuple[_Set, float]:
    """The set at which concentration steps end, and the log determinant of its covariance."""
    now, least = start, np.inf
    for _ in range(MOST_STEPS):
        after = _set_of(problem, _nearest(problem, now, held), now.means)
        determinant = 2 * float(problem.factored(after.covariance, REMEDY).half_log_det[0])
        if not determinant < least - 1e-12 * max(abs(determinant), 1.0):
            break
        now, least = after, determinant
    return now, least


def _nearest(problem: RobustProblem, now: _Set, held: float) -> Array:
    """The weights of the nearest rows, of `held` in all; of the last row a part, where weights do not add up."""
    squares = _squares(problem, now.means, now.covariance)
    order = np.argsort(squares, kind="stable")
    before = np.cumsum(problem.weights[order]) - problem.weights[order]
    taken = np.zeros_like(squares)
    taken[order] = np.clip(held - before, 0.0, problem.weights[order])
    return taken


def _set_of(problem: RobustProblem, weights: Array, before: Array) -> _Set:
    means = problem.averages(weights, problem.rows, before)
    away = np.sqrt(weights)[:, None] * (problem.rows - means[problem.codes])
    return _Set(means, product(away.T, away) / weights.sum(), weights)


def _squares(problem: RobustProblem, means: Array, covariance: Array) -> Array:
    """Squared distances from the own center; (m,)."""
    return row_norms(problem.factored(covariance, REMEDY).whiten(problem.rows - means[problem.codes], 0))


def _consistency(share: float, features: int) -> float:
    """c(share): how much less rows vary that lie nearest to the mean of a Gaussian."""
    return 1.0 if share >= 1 else float(share / chi2(features + 2).cdf(chi2(features).ppf(share)))
