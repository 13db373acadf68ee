"""Softmax regression with a ridge, which is chosen by the log loss of rows held out."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from classwise.arrays import Array, Codes, log_normalize
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.trained import CrossValidated, ModelRecipe, Transformed
from classwise.comparison.stack.transforms import Encoding
from classwise.engines.progress import Deadline
from classwise.storage import stored

# The inverse strengths of the ridge that are tried, weak ones last: each search starts where the last one ended.
RIDGES = (0.003, 0.03, 0.3, 3.0)

# Searches end here: what is left to gain is less than the folds can tell.
TOLERANCE = 1e-3
MOST_ITERATIONS = 200

# Under a time limit it is looked at after so many iterations.
PART = 20


@stored("Linear")
@dataclass(frozen=True, eq=False)
class Linear(Transformed):
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


class SoftmaxFit(NamedTuple):
    """The classes that are there, weights (g, q) and intercepts (g,)."""

    present: Codes
    weights: Array
    intercept: Array


class SoftmaxRegression(ModelRecipe):
    """On numbers, steps and one-hot columns."""

    def cross(self, rows: FoldedRows, encoding: Encoding) -> CrossValidated:
        encoded = encoding(rows.rows)
        center = rows.weights @ encoded / rows.weights.sum()
        encoded -= center

        def answers(fold: int, held_out: Codes) -> Iterator[tuple[Codes, Array]]:
            fits = _path(rows, encoded, rows.without(held_out))
            return ((fit.present, scored(encoded[held_out], fit.weights, fit.intercept)) for fit in fits)

        best, logs = rows.out_of_fold(len(RIDGES), answers)
        fit = _path(rows, encoded, np.arange(len(rows)), RIDGES[: best + 1])[-1]
        linear = Linear(encoding, fit.weights, fit.intercept, center)
        return CrossValidated(logs, linear, f"ridge of {1 / RIDGES[best]:.3g}")


def _path(training: FoldedRows, encoded: Array, rows: Codes, ridges: tuple[float, ...] = RIDGES) -> list[SoftmaxFit]:
    """The fits of some rows, for each ridge."""
    model = LogisticRegression(tol=TOLERANCE, warm_start=True)
    X, y, weights = encoded[rows], training.codes[rows], training.weights[rows]
    found = []
    for ridge in ridges:
        _search(model.set_params(C=ridge), X, y, weights, training.deadline)
        found.append(_centered(SoftmaxFit(model.classes_, model.coef_.copy(), model.intercept_.copy())))
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


def _centered(fit: SoftmaxFit) -> SoftmaxFit:
    """Two classes have one vector between them: half of it is each one's, with its sign."""
    if len(fit.present) > 2:
        return fit
    signs = np.array([-0.5, 0.5])
    return SoftmaxFit(fit.present, signs[:, None] * fit.weights, signs * fit.intercept)


def scored(encoded: Array, weights: Array, intercept: Array) -> Array:
    """log P(k | x); (m, q) -> (m, g)."""
    return log_normalize(np.dot(encoded, weights.T) + intercept, axis=1)
