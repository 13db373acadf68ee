"""Softmax regression with a ridge penalty, which is chosen by the log loss of held-out rows."""

import warnings
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from classwise.arrays import Array, Codes, log_normalize
from classwise.comparison.stack.fold_networks import search_ridge
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.kernel_features import KernelFeatures, kernel_features
from classwise.comparison.stack.trained import CrossValidated, ModelRecipe, Transformed
from classwise.comparison.stack.transforms import Encoding
from classwise.engines import in_threads
from classwise.engines.messages import Shared
from classwise.engines.progress import Deadline
from classwise.engines.workers import away
from classwise.storage import stored

# The inverse strengths of the ridge that are tried, weak ones last: each fit starts from the previous one.
RIDGES = (0.003, 0.03, 0.3, 3.0)

# The ridges that are tried on kernel features, which are small numbers, strong ones first; and widths of the kernel.
KERNEL_RIDGES = (1.0, 0.1, 0.01, 0.001)
KERNEL_WIDTHS = (1.0, 0.25)

# Fits end here: further gains are smaller than the folds can distinguish.
TOLERANCE = 1e-3
MOST_ITERATIONS = 200

# The number of iterations between two checks of a time limit.
PART = 20


@dataclass(frozen=True, eq=False)
class Scored(Transformed):
    """log P(k | x) = intercept_k + weights_k'(x - center), normalized; weights (g, q), intercept (g,), center (q,)."""

    encoding: Any
    weights: Array
    intercept: Array
    center: Array

    def _is_sound(self) -> bool:
        count, width = self.weights.shape  # raises an error, which also counts as unsound, for other shapes
        return self.intercept.shape == (count,) and self.center.shape == (width,)

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return scored(self.encoding(rows) - self.center, self.weights, self.intercept).T


@stored("Linear")
@dataclass(frozen=True, eq=False)
class Linear(Scored):
    """Softmax regression on numbers, quantile steps and one-hot columns."""

    encoding: Encoding


@stored("KernelLinear")
@dataclass(frozen=True, eq=False)
class KernelLinear(Scored):
    """Softmax regression on kernel features."""

    encoding: KernelFeatures

    @cached_property
    def _of_landmarks(self) -> tuple[Array, Array]:
        """The weights (g, c) and intercepts (g,) in terms of the kernel between a row and each landmark."""
        return self.weights @ self.encoding.projection.T, self.intercept - self.weights @ self.center

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return scored(self.encoding.near(rows), *self._of_landmarks).T


class SoftmaxFit(NamedTuple):
    """The positions of the classes in the rows, weights (g, q) and intercepts (g,)."""

    present: Codes
    weights: Array
    intercept: Array


class SoftmaxRegression(ModelRecipe):
    """The recipe for softmax regression on numbers, quantile steps and one-hot columns."""

    def cross(self, rows: FoldedRows, encoding: Encoding) -> CrossValidated:
        values, center = _centered_rows(rows, encoding)
        shared = Shared((rows, values))
        best, logs = rows.out_of_fold(len(RIDGES), lambda fold, _: away(_fold_answers, shared, fold))
        fit = away(_fit_to_all, shared, RIDGES[: best + 1])
        trained = Linear(encoding, fit.weights, fit.intercept, center)
        return CrossValidated(logs, trained, f"ridge of {1 / RIDGES[best]:.3g}")


class KernelSoftmaxRegression(ModelRecipe):
    """The recipe for softmax regression on kernel features; the width of the kernel is chosen, too."""

    def cross(self, rows: FoldedRows, encoding: Encoding) -> CrossValidated:
        features = kernel_features(rows, encoding, KERNEL_WIDTHS)
        centered = [_centered_rows(rows, of) for of in features]
        singles = [values.astype(np.float32) for values, _ in centered]
        tried = in_threads(lambda values: search_ridge(rows, values, (), KERNEL_RIDGES), singles)
        which = rows.least_lost([of.logs for of in tried])
        best, (_, center) = tried[which], centered[which]
        (layer,) = best.refitted()
        note = f"ridge of {best.ridge:.3g}, width of {KERNEL_WIDTHS[which]:.3g}"
        return CrossValidated(best.logs, KernelLinear(features[which], layer.weights, layer.bias, center), note)


def _centered_rows(rows: FoldedRows, encoding: Encoding | KernelFeatures) -> tuple[Array, Array]:
    """Transformed rows less their mean, and the mean; (n, q), (q,)."""
    values = encoding(rows.rows)
    center = rows.weights @ values / rows.weights.sum()
    return values - center, center


def _fold_answers(shared: Shared[tuple[FoldedRows, Array]], fold: int) -> list[tuple[Codes, Array]]:
    """What the fits without a fold say of its rows, one for each ridge."""
    rows, values = shared.value
    held_out = rows.held_out[fold]
    fits = _path(rows, values, rows.without(held_out), RIDGES)
    return [(fit.present, scored(values[held_out], fit.weights, fit.intercept)) for fit in fits]


def _fit_to_all(shared: Shared[tuple[FoldedRows, Array]], ridges: tuple[float, ...]) -> SoftmaxFit:
    """The fit to all rows with the last of some ridges."""
    rows, values = shared.value
    return _path(rows, values, np.arange(len(rows)), ridges)[-1]


def _path(training: FoldedRows, encoded: Array, rows: Codes, ridges: tuple[float, ...]) -> list[SoftmaxFit]:
    """The fits to some rows, one for each ridge."""
    model = LogisticRegression(tol=TOLERANCE, warm_start=True)
    X, y, weights = encoded[rows], training.codes[rows], training.weights[rows]
    found = []
    for ridge in ridges:
        _search(model.set_params(C=ridge), X, y, weights, training.deadline)
        found.append(_centered(SoftmaxFit(model.classes_, model.coef_.copy(), model.intercept_.copy())))
    return found


def _search(model: LogisticRegression, X: Array, y: Codes, weights: Array, deadline: Deadline) -> None:
    """Fit at once; or, under a time limit, in parts, each of which continues the last one."""
    part = MOST_ITERATIONS if deadline.at == inf else PART
    for _ in range(MOST_ITERATIONS // part):
        deadline.check()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that did not converge is scored as it is
            model.set_params(max_iter=part).fit(X, y, weights)
        if model.n_iter_.max() < part:
            break


def _centered(fit: SoftmaxFit) -> SoftmaxFit:
    """The same fit with weights for each class: two classes get half of their common vector, with opposite signs."""
    if len(fit.present) > 2:
        return fit
    signs = np.array([-0.5, 0.5])
    return SoftmaxFit(fit.present, signs[:, None] * fit.weights, signs * fit.intercept)


def scored(encoded: Array, weights: Array, intercept: Array) -> Array:
    """log P(k | x); (m, q) -> (m, g)."""
    return log_normalize(np.dot(encoded, weights.T) + intercept, axis=1)
