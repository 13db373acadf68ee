"""Student-t classes by EM: a row far away counts less (Lange, Little and Taylor 1989).

    u_i = (v + p) / (v + q_i),   q_i = (x_i - m)' C^-1 (x_i - m)
    m = sum u_i x_i / sum u_i,   C = sum u_i (x_i - m)(x_i - m)' / sum u_i

Dividing by sum u_i rather than by n ends at the same place, in fewer steps (Kent, Tyler and Vardi 1994). The degrees of
freedom v maximize the likelihood itself at given m and C (ECME: Liu and Rubin 1994). From one degree on there is only
one m and C for given v (Kent and Tyler 1991), wherever EM starts. Of a row with gaps, p and q are those of the values
that are there; the others stand at their expectation, and add their conditional covariance (Liu and Rubin 1995).
"""

from dataclasses import dataclass
from functools import cached_property
from math import log, pi
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from classwise.arrays import Array, Codes, patterns, product, row_norms, sums_by
from classwise.covariance import FullCovariance
from classwise.densities.em import Ascent
from classwise.densities.robust.problem import LabeledRows, RobustProblem
from classwise.densities.student import Student

# Degrees of freedom that are looked for: below the first a center need not be the only one, and from the last on a
# Student-t cannot be distinguished from a Gaussian by any table.
LEAST_DEGREES, LARGEST_DEGREES = 1.0, 1000.0

REMEDY = "give more degrees"


class StudentFit(NamedTuple):
    """The densities, the weight of each row (n,), and the course of EM: the log-likelihood of each iteration."""

    density: Student
    row_weights: Array
    ascent: Ascent


def fit_student(labeled: LabeledRows, degrees: float | None, tol: float, most: int) -> StudentFit:
    """The likeliest Student-t of each class; degrees: None to estimate them, of each scatter.

    tol: EM stops when the log-likelihood for each row gains less; most: iterations.
    """
    there, units = ~np.isnan(labeled.rows), labeled.units()
    weights, found = np.ones(len(labeled.rows)), []
    for own, problem in labeled.divided(units).problems(there.any(axis=1)):
        found.append(_StudentEM(problem, degrees, tol, most).top())
        weights[own] = found[-1].row_weights
    means = np.concatenate([of.means for of in found]) * units
    freedom = np.broadcast_to([of.degrees for of in found], (len(means),))
    covariance = FullCovariance(np.stack([of.covariance for of in found]) * units[:, None] * units)
    density = Student(means, covariance, np.ones(len(means)), freedom.astype(np.float64))
    volume = float(labeled.weights @ there @ np.log(units))
    return StudentFit(density, weights, _joined([of.ascent for of in found], volume))


def _joined(courses: list[Ascent], volume: float) -> Ascent:
    """The course of several runs of EM together: one that has ended stays where it is. volume: of the units."""
    longest = max(course.iterations for course in courses)
    padded = [np.pad(course.objective, (0, longest - course.iterations), mode="edge") for course in courses]
    return Ascent(np.sum(padded, axis=0) - volume, all(course.converged for course in courses))


class _Top(NamedTuple):
    means: Array
    covariance: Array
    degrees: float
    row_weights: Array
    ascent: Ascent


@dataclass(frozen=True, eq=False)
class _StudentDistances:
    """Rows as means and covariance see them: distances q, volumes 1/2 log|C| and numbers of values; (m,) each.

    filled (m, p): with what is missing at its expectation; spread (p, p): the sum of conditional covariances.
    """

    weights: Array
    squares: Array
    volumes: Array
    counts: Array
    filled: Array
    spread: Array

    def log_likelihood(self, degrees: float) -> float:
        """The sum of log t(x)."""
        v, p = degrees, self.counts
        scale = gammaln((v + p) / 2) - gammaln(v / 2) - 0.5 * p * log(v * pi) - self.volumes
        return float(self.weights @ (scale - 0.5 * (v + p) * np.log1p(self.squares / v)))

    def likeliest_degrees(self) -> float:
        ends = log(LEAST_DEGREES), log(LARGEST_DEGREES)
        best = minimize_scalar(lambda v: -self.log_likelihood(np.exp(v)), bounds=ends, options={"xatol": 1e-8})
        # The search stays inside its bounds: the ends are tried by themselves.
        return max((LEAST_DEGREES, float(np.exp(best.x)), LARGEST_DEGREES), key=self.log_likelihood)

    def row_weights(self, degrees: float) -> Array:
        return (degrees + self.counts) / (degrees + self.squares)


@dataclass(frozen=True, eq=False)
class _StudentEM:
    """EM for one problem, until the log-likelihood for each row gains less than tol."""

    problem: RobustProblem
    degrees: float | None
    tol: float
    most: int

    def top(self) -> _Top:
        means, covariance = self.problem.means, self.problem.covariance
        course: list[float] = []
        least = self.tol * float(self.problem.weights.sum())
        while True:
            measured = self._measured(means, covariance)
            degrees = measured.likeliest_degrees() if self.degrees is None else self.degrees
            course.append(measured.log_likelihood(degrees))
            weights = measured.row_weights(degrees)
            converged = len(course) > 1 and course[-1] - course[-2] <= least
            if converged or len(course) >= self.most:
                return _Top(means, covariance, degrees, weights, Ascent(np.array(course), converged))
            means, covariance = self._maximized(measured, self.problem.weights * weights, means)

    def _maximized(self, measured: _StudentDistances, weights: Array, before: Array) -> tuple[Array, Array]:
        means = self.problem.averages(weights, measured.filled, before)
        away = np.sqrt(weights)[:, None] * (measured.filled - means[self.problem.codes])
        return means, (product(away.T, away) + measured.spread) / weights.sum()

    @cached_property
    def _groups(self) -> list[tuple[Codes, Codes]]:
        """The columns that rows have, and the rows that have just these."""
        distinct, codes = patterns(~np.isnan(self.problem.rows))
        return [(np.flatnonzero(some), np.flatnonzero(codes == group)) for group, some in enumerate(distinct)]

    def _measured(self, means: Array, covariance: Array) -> _StudentDistances:
        problem = self.problem
        whole = problem.factored(covariance, REMEDY)
        squares, volumes, counts = np.zeros((3, len(problem.rows)))
        filled, spread = problem.rows.copy(), np.zeros_like(covariance)
        for there, own in self._groups:
            part = whole if len(there) == problem.features else whole.restrict(there)
            away = problem.rows[np.ix_(own, there)] - means[np.ix_(problem.codes[own], there)]
            squares[own] = row_norms(part.whiten(away, 0))
            volumes[own], counts[own] = part.half_log_det[0], len(there)
            if len(there) < problem.features:
                self._fill(own, there, part.solve(away, 0), means, covariance, filled, spread)
        return _StudentDistances(problem.weights, squares, volumes, counts, filled, spread)

    def _fill(
        self, own: Codes, there: Codes, solved: Array, means: Array, covariance: Array, filled: Array, spread: Array
    ) -> None:
        """What is missing at m + C[missing, there] C[there, there]^-1 (x - m), and what that leaves open."""
        missing = np.setdiff1d(np.arange(self.problem.features), there)
        cross = covariance[np.ix_(there, missing)]
        filled[np.ix_(own, missing)] = means[np.ix_(self.problem.codes[own], missing)] + product(solved, cross)
        slope = np.linalg.solve(covariance[np.ix_(there, there)], cross)
        left = covariance[np.ix_(missing, missing)] - product(slope.T, cross)
        spread[np.ix_(missing, missing)] += sums_by(np.zeros_like(own), self.problem.weights[own], 1)[0] * left
