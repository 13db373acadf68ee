"""Softmax regression with a ridge, which is chosen by the log loss of rows held out."""

import warnings
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from classwise.arrays import Array, Codes
from classwise.auto.encoding import MOST_STEPS, Encoding, encode
from classwise.auto.member import Crossed, Member, Trained, least_lost, refuse_nothing
from classwise.auto.study import Study
from classwise.errors import ClasswiseError
from classwise.progress import Deadline
from classwise.storage import stored

# The inverse strengths of the ridge that are tried, weak ones last: each search starts where the last one ended.
RIDGES = (0.003, 0.03, 0.3, 3.0)

# Searches end here: what is left to gain is less than the folds can tell.
TOLERANCE = 1e-3
MOST_ITERATIONS = 200

# Under a time limit it is looked at after so many iterations.
PART = 20

# Rows times columns times classes: with more, there are fewer steps, and at last none.
MOST_WORK = 3e7


@stored("Linear")
@dataclass(frozen=True, eq=False)
class Linear(Trained):
    """log P(k | x) = intercept_k + weights_k'(x - center), normalized; weights (g, q), intercept (g,), center (q,)."""

    encoding: Encoding
    weights: Array
    intercept: Array
    center: Array

    def _is_sound(self) -> bool:
        count, width = self.weights.shape  # of any other array this raises, which is no sound one either
        return self.intercept.shape == (count,) and self.center.shape == (width,)

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return scored(self.encoding(rows) - self.center, self.weights, self.intercept).T


class Fit(NamedTuple):
    """The classes that are there, weights (g, q) and intercepts (g,)."""

    present: Codes
    weights: Array
    intercept: Array


@dataclass(frozen=True, eq=False)
class Softmax(Member):
    """On numbers and an indicator for each frequent level.

    steps: whether each column of numbers also has steps up at its quantiles, so that any curve can be followed.
    """

    name: str
    steps: bool = False

    def cross(self, study: Study) -> Crossed:
        encoding = self._encoding(study)
        encoded = encoding(study.rows)
        refuse_nothing(encoded)
        center = study.weights @ encoded / study.weights.sum()
        encoded -= center
        answers = [study.blank() for _ in RIDGES]
        for _, rows in study.each():
            others = np.setdiff1d(np.arange(len(encoded)), rows, assume_unique=True)
            for answer, fit in zip(answers, _path(study, encoded, others), strict=True):
                answer[np.ix_(rows, fit.present)] = scored(encoded[rows], fit.weights, fit.intercept)
        best = least_lost(study, answers)
        fit = _path(study, encoded, np.arange(len(encoded)), RIDGES[: best + 1])[-1]
        linear = Linear(encoding, fit.weights, fit.intercept, center)
        return Crossed(answers[best], linear, f"ridge of {1 / RIDGES[best]:.3g}")

    def _encoding(self, study: Study) -> Encoding:
        encoding = encode(study.rows, study.levels, study.weights).with_indicators(study.rows, study.weights)
        if not self.steps:
            return encoding
        if not encoding.n_numbers:
            raise ClasswiseError("There are no numbers to make steps of.")
        most = int(MOST_WORK / (len(study.codes) * study.count * encoding.n_numbers))
        if most < 2:
            raise ClasswiseError("The table is so large that steps would take too long.")
        return encoding.with_steps(study.rows, study.weights, min(most, MOST_STEPS))


def _path(study: Study, encoded: Array, rows: Codes, ridges: tuple[float, ...] = RIDGES) -> list[Fit]:
    """The fits of some rows, for each ridge."""
    model = LogisticRegression(tol=TOLERANCE, warm_start=True)
    X, y, weights = encoded[rows], study.codes[rows], study.weights[rows]
    found = []
    for ridge in ridges:
        _search(model.set_params(C=ridge), X, y, weights, study.deadline)
        found.append(_centered(Fit(model.classes_, model.coef_.copy(), model.intercept_.copy())))
    return found


def _search(model: LogisticRegression, X: Array, y: Codes, weights: Array, deadline: Deadline) -> None:
    """At once; or, where time is short, in parts that each go on from where the last one ended."""
    part = MOST_ITERATIONS if deadline.at == inf else PART
    for _ in range(MOST_ITERATIONS // part):
        deadline.check()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a search that stops early is scored for what it is
            model.set_params(max_iter=part).fit(X, y, weights)
        if model.n_iter_.max() < part:
            break


def _centered(fit: Fit) -> Fit:
    """Two classes have one vector between them: half of it is each one's, with its sign."""
    if len(fit.present) > 2:
        return fit
    signs = np.array([-0.5, 0.5])
    return Fit(fit.present, signs[:, None] * fit.weights, signs * fit.intercept)


def scored(encoded: Array, weights: Array, intercept: Array) -> Array:
    """log P(k | x); (m, q) -> (m, g)."""
    scores = np.dot(encoded, weights.T) + intercept
    scores -= scores.max(axis=1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))
