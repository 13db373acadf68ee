"""A Bayes classifier for rows that stay on a device: its densities as coefficients, which are evaluated there.

    one covariance for all classes   linear scores, c_k + (x - o)'C^-1 (m_k - o), up to a common term
    one for each                     quadratic scores, c_k - 1/2 |(x - m_k) V_k|²
    Student-t                        c_k - (v_k + p)/2 log(1 + |(x - m_k) V_k|² / v_k)

Other densities have no such coefficients; they score copies of the rows in NumPy.
"""

from dataclasses import replace
from math import log, pi
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from classwise.arrays import Array, Codes, row_norms
from classwise.covariance import Covariance, DiagonalCovariance
from classwise.covariance.exponents import FAR
from classwise.densities import Constant, Copies, Density, Gaussian, Student
from classwise.engines.device_scores import LinearScores, QuadraticScores, Scores, answer_in_place
from classwise.rows.table import Table

# Values lie within this many deviations of a mean, as a rule: what float32 must hold.
USUAL = 4.0


class ScoreRequest(NamedTuple):
    """What a method of a classifier makes of scores (what). whole: the term that all classes share counts; with_prior:
    so do priors; calibrated: as posteriors are.
    """

    what: str
    whole: bool = False
    with_prior: bool = True
    calibrated: bool = False


ANSWERS = {
    "decide": ScoreRequest("decide", calibrated=True),
    "posterior": ScoreRequest("posterior", calibrated=True),
    "log_posterior": ScoreRequest("log_posterior", calibrated=True),
    "decision_scores": ScoreRequest("scores", calibrated=True),
    "log_joint": ScoreRequest("scores", whole=True),
    "log_density": ScoreRequest("scores", whole=True, with_prior=False),
    "log_evidence": ScoreRequest("log_evidence", whole=True),
}


class Priced(Protocol):
    """The parts of a Bayes classifier that are used here."""

    @property
    def density(self) -> Density: ...

    @property
    def calibration(self) -> Any: ...

    @property
    def log_prior(self) -> Array:
        """(g, 1)."""
        ...


# The coefficients of classifiers, for as long as these are there.
KNOWN: WeakKeyDictionary[Any, dict[ScoreRequest, Scores | None]] = WeakKeyDictionary()


def bayes_in_place(classifier: Priced, name: str, table: Table) -> Any:
    """What the method of this name says of rows on a device; None, where it takes more than coefficients.

    Rows without a finite score are an UnscorableError, as elsewhere.
    """
    request, known = ANSWERS.get(name), KNOWN.setdefault(classifier, {})
    if request is None:
        return None
    kind = request._replace(what="")
    if kind not in known:
        known[kind] = _coefficients(classifier, request)
    scores = known[kind]
    return None if scores is None else answer_in_place(scores, request.what, table)


def _coefficients(classifier: Priced, request: ScoreRequest) -> Scores | None:
    density, log_prior, calibration = classifier.density, classifier.log_prior, classifier.calibration
    found = _only_block(density)
    if found is None:
        return None
    prior = log_prior[:, 0] if request.with_prior else np.zeros(len(log_prior))
    scores = _among(_scores(found[1], prior, request.whole), found[0], density.n_features)
    if request.calibrated and calibration is not None:
        return _calibrated(scores, calibration.power, calibration.shift)
    return scores


def _only_block(density: Density) -> tuple[Codes, Gaussian | Student] | None:
    """The Gaussian of a density, or its Student-t, and the columns that it is of, if all others are left out."""
    blocks = [block for block in density.as_blocks() if not isinstance(block.density, (Constant, Copies))]
    if len(blocks) != 1 or not isinstance(blocks[0].density, (Gaussian, Student)):
        return None
    return blocks[0].columns, blocks[0].density


def _scores(density: Gaussian | Student, prior: Array, whole: bool) -> Scores:
    is_shared = len(density.covariance.values) < density.count
    if is_shared and not whole and isinstance(density, Gaussian):
        linear = _linear(density.means, density.covariance, prior)
        if linear is not None:
            return linear
    return _quadratic(density, prior)


def _linear(means: Array, covariance: Covariance, prior: Array) -> LinearScores | None:
    """None where means are so far apart that the squares of their distances cost digits."""
    origin = np.asarray(means[0] + (means - means[0]).mean(axis=0))
    white = covariance.whiten(means - origin, 0)
    if np.abs(white).max() > FAR:
        return None
    slopes = covariance.project(white.T, 0)
    spread = USUAL * np.sqrt(covariance.variances()[0]) + np.abs(means - origin).max(axis=0)
    return LinearScores(origin, slopes, prior - 0.5 * row_norms(white), float((spread @ np.abs(slopes)).max()))


def _quadratic(density: Gaussian | Student, prior: Array) -> QuadraticScores:
    covariance, means = density.covariance, density.means
    own = np.arange(density.count) if len(covariance.values) == density.count else np.zeros(density.count, dtype=int)
    if isinstance(covariance, DiagonalCovariance):
        whitening = 1 / np.sqrt(covariance.variances())[own]
        reach = USUAL + float(np.abs((means - means.mean(axis=0)) * whitening).max())
    else:
        whitening = np.stack([covariance.project(np.eye(means.shape[1]), k) for k in range(len(covariance.values))])[
            own
        ]
        spread = USUAL * np.sqrt(covariance.variances())[own] + np.abs(means - means.mean(axis=0))
        reach = float(np.einsum("kp,kpq->kq", spread, np.abs(whitening)).max())
    if isinstance(density, Student):
        wide = np.sqrt(density.factor).reshape(-1, *[1] * (whitening.ndim - 1))
        return QuadraticScores(
            means, whitening / wide, prior + density.log_scale[:, 0], 1.0, density.freedom, means.shape[1], reach
        )
    log_scale = -(0.5 * means.shape[1] * log(2 * pi) + covariance.half_log_det)
    return QuadraticScores(means, whitening, prior + log_scale, reach=reach)


def _among(scores: Scores, columns: Codes, features: int) -> Scores:
    """The same for rows of more columns, the others of no weight."""
    if len(columns) == features:
        return scores

    def placed(values: Array, axes: tuple[int, ...]) -> Array:
        for axis in axes:
            wide = np.zeros((*values.shape[:axis], features, *values.shape[axis + 1 :]))
            np.moveaxis(wide, axis, 0)[columns] = np.moveaxis(values, axis, 0)
            values = wide
        return values

    if isinstance(scores, LinearScores):
        return replace(scores, origin=placed(scores.origin, (0,)), slopes=placed(scores.slopes, (0,)))
    whitening = placed(scores.whitening, (1,) if scores.whitening.ndim == 2 else (1, 2))
    return replace(scores, means=placed(scores.means, (1,)), whitening=whitening)


def _calibrated(scores: Scores, power: float, shift: tuple[float, ...]) -> Scores:
    """Scores times a power, and then shifted."""
    constants = power * scores.constants + (np.array(shift) if shift else 0.0)
    if isinstance(scores, LinearScores):
        return replace(scores, slopes=power * scores.slopes, constants=constants, reach=power * scores.reach)
    return replace(scores, constants=constants, power=power)
