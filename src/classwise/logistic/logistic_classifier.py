"""The classifier of logistic regression: log P(k | x) from what is believed of the weights, without a model of x."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri

from classwise.arrays import Array, Codes, Labels, finite, first_leader, log_normalize
from classwise.engines.device import DeviceEngine, block_rows
from classwise.engines.device_scores import LinearScores, answer_in_place
from classwise.errors import ClasswiseError, choose
from classwise.kernels import RowsOrColumns, is_compiled
from classwise.kernels.scores import Answer, Scores
from classwise.limits import SCORING_SIZE
from classwise.logistic.design import Design
from classwise.logistic.in_place import gaussian_scores_in_place, is_of_numbers
from classwise.logistic.likelihood import Binary, Likelihood
from classwise.logistic.posterior import Draws, Laplace, WeightPosterior
from classwise.logistic.predictive import POINTS, at_points, lattice, log_average, log_moderated
from classwise.rows.codes import is_sorted
from classwise.rows.device_rows import from_host
from classwise.rows.table import Table
from classwise.statistics.curvature import DesignColumns, Indicated, scores_of
from classwise.storage import stored


@stored("LogisticClassifier")
@dataclass(frozen=True, eq=False)
class LogisticClassifier:
    """labels (g,) sorted; design: columns of a table to columns of weights; likelihood: from scores to probabilities;
    beliefs: what is believed of the weights; predictive: how they are averaged over, a name in PREDICTIVES; shift (g,):
    added to the log posteriors, where classes are mixed in other shares than those learned from.

    Everything is class-major, (g, m), and in logs. Rows (m, p) are matrices as tables make them: categories as
    positions among their levels, -1 or NaN where a value is missing.
    """

    labels: Labels
    design: Design
    likelihood: Likelihood
    beliefs: WeightPosterior
    predictive: str = "integrated"
    shift: tuple[float, ...] = ()

    def _is_sound(self) -> bool:
        count = len(self.labels)
        matched = self.likelihood.classes == count > 1 and self.beliefs.mean.shape == (count - 1, self.design.width)
        shifted = len(self.shift) in (0, count) and bool(np.isfinite(self.shift).all())
        return matched and shifted and is_sorted(self.labels) and self.predictive in PREDICTIVES

    def log_posterior(self, rows: NDArray[Any]) -> Array:
        """log P(k | x); (m, p) -> (g, m)."""
        return self._reweighed(finite(PREDICTIVES[self.predictive](self, self._columns(rows))))

    def _columns(self, rows: NDArray[Any]) -> DesignColumns:
        return self.design.columns(rows) if isinstance(self.beliefs, Draws) else self.design.leanest(rows)

    def _reweighed(self, logs: Array) -> Array:
        """log P(k | x) as the classes are mixed now; (g, ...)."""
        if not self.shift:
            return logs
        shifted = logs + np.reshape(self.shift, (-1, *[1] * (logs.ndim - 1)))
        return log_normalize(shifted, out=shifted)

    def decision_scores(self, rows: NDArray[Any]) -> Array:
        """The same: what decisions need; (m, p) -> (g, m)."""
        return self.log_posterior(rows)

    def posterior(self, rows: NDArray[Any]) -> Array:
        """P(k | x); (m, p) -> (g, m)."""
        return _posterior(self.log_posterior(rows))

    def decide(self, rows: NDArray[Any]) -> Codes:
        """The most probable class, the first of equals; (m, p) -> (m,)."""
        return first_leader(self.log_posterior(rows))

    def fused(self, rows: RowsOrColumns, answer: Answer) -> NDArray[Any] | None:
        """The same answer from a compiled kernel; None where probabilities are averaged."""
        if not is_compiled():
            return None
        scores = self._linear_scores(rows.shape[1] if isinstance(rows, np.ndarray) else len(rows))
        return None if scores is None else scores.answer(rows, answer)

    def _linear_scores(self, features: int) -> Scores | None:
        """The scores of all classes as linear functions of the numbers of a table; of two classes, the first has 0.

        None where probabilities do not follow from such scores alone.
        """
        weights = self.likelihood.as_softmax(self.weights) if self.predictive == "plugin" else None
        if weights is None or isinstance(self.beliefs, Draws) or not is_of_numbers(self.design):
            return None
        if features not in self._known_scores:
            numbers, origin, slopes = len(self.design.source), np.zeros(features), np.zeros((len(weights), features))
            origin[self.design.source] = self.design.center
            slopes[:, self.design.source] = weights[:, :numbers] / self.design.scale
            constants = weights[:, numbers:].sum(axis=1) + np.array(self.shift or 0.0)
            self._known_scores[features] = Scores.linear(origin, constants, slopes)
        return self._known_scores[features]

    @cached_property
    def _known_scores(self) -> dict[int, Scores]:
        """The linear scores by the number of columns of a table, of which some may be left out."""
        return {}

    def observing(self) -> "LogisticClassifier":
        """The same: the mean of a column stands for what is missing."""
        return self

    def in_place(self, name: str, table: Table) -> Any:
        """What the method of this name says of rows on a device; None where they must be copied.

        With weights that are known, all is computed there; averages over weights are of scores, which leave the device.
        """
        if name not in IN_PLACE or isinstance(self.beliefs, Draws) or not is_of_numbers(self.design):
            return None
        scores = self._linear_scores(len(table.schema))
        if scores is not None:
            linear = LinearScores(scores.origin, scores.first.T, scores.constant)
            return answer_in_place(linear, IN_PLACE[name].what, table)

        def score(rows: Any) -> Any:
            logs = self._log_posterior_in_place(rows)
            return from_host(IN_PLACE[name].of(logs), rows, None if name == "decide" else rows.dtype)

        return DeviceEngine().apply(score, table, block_rows(8 * self.beliefs.mean.size))

    def _log_posterior_in_place(self, rows: Any) -> Array:
        assert isinstance(self.beliefs, Laplace)
        mean, covariance = (finite(part) for part in gaussian_scores_in_place(self.design, self.beliefs, rows))
        average = {"integrated": log_average, "moderated": log_moderated, "plugin": _log_at_mean}[self.predictive]
        return self._reweighed(finite(average(self.likelihood, mean, covariance)))

    def chunk_rows(self, copied: bool) -> int:
        """So many rows at once that what is computed of them fits in cache, or of draws and lattices in memory."""
        plain = max(SCORING_SIZE // (self.design.room + 2 * self.likelihood.classes**2), self.design.merged_rows // 16)
        many = 64 * SCORING_SIZE // (POINTS * self.likelihood.classes)
        return max(min(plain, many), 64)

    def scores(self, rows: NDArray[Any]) -> Array:
        """Linear predictors at `weights`: (1, m) for two classes, else (g, m) that sum to zero."""
        return scores_of(self.weights, self.design.leanest(rows))

    @cached_property
    def weights(self) -> Array:
        """Weights of each score, most probable ones or means, in columns of the design; (k, q)."""
        return self.likelihood.basis @ self.beliefs.mean

    def gaussian_scores(self, columns: DesignColumns) -> tuple[Array, Array]:
        """Mean (r, m) and covariance (r, r, m) of the contrasts of scores, where beliefs are Gaussian."""
        assert isinstance(self.beliefs, Laplace)
        mean, covariance = self.beliefs.scores(columns)
        return finite(mean), finite(covariance)

    def log_by_draw(self, columns: DesignColumns) -> Array:
        """log P(k | x) under each draw of the weights; (draws, g, m)."""
        assert isinstance(self.beliefs, Draws)
        assert not isinstance(columns, Indicated)
        flat = self.beliefs.flat
        scores = np.tensordot(self.likelihood.basis, np.tensordot(flat, columns, (2, 0)), (1, 1))
        logs = self.likelihood.log_probabilities(scores.reshape(len(scores), -1))
        return logs.reshape(self.likelihood.classes, len(flat), -1).transpose(1, 0, 2)

    def interval(self, rows: NDArray[Any], low: float, high: float) -> Array:
        """Quantiles of P(k | V z) over the posterior of V; (m, p) -> (2, g, m).

        For two classes exactly, since P is monotone in the score; for more, over the points of a lattice.
        """
        columns = self._columns(rows)
        if isinstance(self.beliefs, Draws):
            by_draw = self._reweighed(self.log_by_draw(columns).transpose(1, 0, 2))
            return np.exp(np.quantile(by_draw, [low, high], axis=1))
        mean, covariance = self.gaussian_scores(columns)
        if isinstance(self.likelihood, Binary):
            return self._interval_of_two(mean[0], np.sqrt(np.maximum(covariance[0, 0], 0.0)), low, high)
        p = at_points(self.likelihood, mean, covariance, lattice(len(mean))[0])
        if self.shift:
            p = p * np.exp(self.shift)[:, None, None]
            p /= p.sum(axis=0)
        return np.quantile(p, [low, high], axis=1)

    def _interval_of_two(self, mean: Array, deviation: Array, low: float, high: float) -> Array:
        scores = [(mean + ndtri(q) * deviation)[None] for q in (low, high)]
        ends = [np.exp(self._reweighed(self.likelihood.log_probabilities(score))) for score in scores]
        return np.stack([[ends[1][0], ends[0][1]], [ends[0][0], ends[1][1]]])

    def with_priors(self, before: Array, after: Array) -> "LogisticClassifier":
        """Posteriors times the ratio of priors (g,): Bayes' rule, if the classes themselves are as they were."""
        ratio = np.log(after) - np.log(before)
        return replace(self, shift=tuple((np.array(self.shift or (0.0,)) + ratio).tolist()))

    def predicting(self, predictive: str) -> "LogisticClassifier":
        """The same beliefs, averaged over in another way."""
        choose("predictive", predictive, PREDICTIVES)
        if predictive == "moderated" and isinstance(self.beliefs, Draws):
            raise moderated_draws()
        return replace(self, predictive=predictive)


class InPlace(NamedTuple):
    """What a method makes of scores on a device, and of log posteriors (g, m)."""

    what: str
    of: Callable[[Array], NDArray[Any]]


def _posterior(logs: Array) -> Array:
    p = np.exp(logs)
    return p / p.sum(axis=0)


def _log_at_mean(likelihood: Likelihood, mean: Array, covariance: Array) -> Array:
    return likelihood.log_probabilities(likelihood.basis @ mean)


IN_PLACE = {
    "log_posterior": InPlace("log_posterior", np.asarray),
    "decision_scores": InPlace("log_posterior", np.asarray),
    "posterior": InPlace("posterior", _posterior),
    "decide": InPlace("decide", first_leader),
}


def _plugin(classifier: LogisticClassifier, columns: DesignColumns) -> Array:
    """As if the weights were known."""
    return classifier.likelihood.log_probabilities(scores_of(classifier.weights, columns))


def _integrated(classifier: LogisticClassifier, columns: DesignColumns) -> Array:
    if isinstance(classifier.beliefs, Draws):
        return np.asarray(logsumexp(classifier.log_by_draw(columns), axis=0) - np.log(len(classifier.beliefs.flat)))
    return log_average(classifier.likelihood, *classifier.gaussian_scores(columns))


def _moderated(classifier: LogisticClassifier, columns: DesignColumns) -> Array:
    return log_moderated(classifier.likelihood, *classifier.gaussian_scores(columns))


# log P(k | x), averaged over the weights; (g, m).
PREDICTIVES: dict[str, Callable[[LogisticClassifier, DesignColumns], Array]] = {
    "integrated": _integrated,
    "plugin": _plugin,
    "moderated": _moderated,
}


def moderated_draws() -> ClasswiseError:
    """What is said where draws are asked for MacKay's approximation."""
    return ClasswiseError("predictive='moderated' approximates a Gaussian posterior; use 'laplace' or 'variational'.")
