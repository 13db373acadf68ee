"""How good probabilities are: error, log loss, Brier score, calibration. A statistic too, so it adds up.

log loss     - mean of log P(own class | x)
Brier score  mean of the sum over classes of (P(k | x) - [k is the own class])²
calibration  of the rows decided with confidence near c, is a share of c right? The mean of |confidence - share right|
             over bins of confidence, weighted by their rows (Guo et al. 2017)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import t as student_t

from classwise.arrays import EPS, Array, Codes, Labels, first_class, ratio, sums_by
from classwise.errors import ClasswiseError
from classwise.storage import stored

# Bins of equal width for confidence.
BINS = 15

# A bin is shown if it weighs this much, and this share of all; lighter ones are put together.
FEWEST = 10.0
FEWEST_SHARE = 0.01


class Reliability(NamedTuple):
    """Bins with enough rows: their weight, the mean probability announced, and the share that came true; (b,) each."""

    weight: Array
    announced: Array
    observed: Array


@stored("Evaluation")
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Sums over rows; + merges those of other rows, - takes rows away.

    confusion (g, g): the weight of each own class (rows) that was taken for each class (columns).
    losses, scores: sums of -log P(own class | x) and of squared differences. A probability below 2.2e-16 counts as
    2.2e-16, as in scikit-learn's log_loss: one row that was ruled out would otherwise decide everything.
    bins (1 + g, 3, b): weight, probability and what came true, by bin of probability; first of the class decided for,
    then of each class.
    """

    labels: Labels
    confusion: Array
    losses: float
    scores: float
    bins: Array

    def _is_sound(self) -> bool:
        count = len(self.labels)
        return self.confusion.shape == (count, count) and self.bins.shape == (1 + count, 3, BINS)

    @classmethod
    def of(cls, log_posterior: Array, codes: Codes, labels: Labels, weights: Array | None = None) -> Self:
        """Of rows with log posteriors (n, g), known up to a term for each row, and own classes codes (n,)."""
        codes = np.asarray(codes)
        if codes.dtype.kind not in "iu" or not ((codes >= 0) & (codes < len(labels))).all():
            raise ClasswiseError("codes are the positions of the rows' classes among the labels, not the labels.")
        weights = np.ones(len(codes)) if weights is None else weights
        posterior, decided = _normalized(log_posterior)
        rows, count = np.arange(len(codes)), len(labels)
        own, confidence = posterior[codes, rows], posterior[decided, rows]
        confusion = sums_by(codes * count + decided, weights, count * count).reshape(count, count)
        squares = np.einsum("ki,ki->i", posterior, posterior) - 2 * own + 1
        losses = -float(weights @ np.log(np.maximum(own, EPS)))
        of_decided = _binned(confidence[None], weights, np.zeros_like(codes), confidence, weights * (decided == codes))
        of_classes = _binned(posterior, weights, codes, own, weights)
        bins = np.concatenate([of_decided, of_classes])
        return cls(labels, confusion, losses, float(weights @ squares), bins)

    def __add__(self, other: Self) -> Self:
        return self._combined(other, 1)

    def __radd__(self, other: int) -> Self:
        """0 + evaluation, where sum() begins."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, -1)

    def _combined(self, other: Self, sign: int) -> Self:
        if self.labels.tolist() != other.labels.tolist():
            raise ClasswiseError(
                f"These evaluations are of different classes: {self.labels.tolist()} and {other.labels.tolist()}."
            )
        return replace(
            self,
            confusion=self.confusion + sign * other.confusion,
            losses=self.losses + sign * other.losses,
            scores=self.scores + sign * other.scores,
            bins=self.bins + sign * other.bins,
        )

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.confusion.sum())

    @property
    def error(self) -> float:
        """The share of rows that are decided wrongly."""
        return 1 - self._mean(float(np.trace(self.confusion)))

    @property
    def log_loss(self) -> float:
        """- mean of log P(own class | x)."""
        return self._mean(self.losses)

    @property
    def brier(self) -> float:
        """Mean of the sum over classes of (P(k | x) - [k is the own class])², from 0 to 2."""
        return self._mean(self.scores)

    @property
    def calibration_error(self) -> float:
        """Mean of |confidence - share right| over the bins of confidence."""
        _, announced, observed = self.bins[0]
        return self._mean(float(np.abs(announced - observed).sum()))

    def _mean(self, total: float) -> float:
        return total / self.weight if self.weight else float("nan")

    def reliability(self, label: Any = None) -> Reliability:
        """What was announced and what came true, of the class decided for, or of one label."""
        labels = self.labels.tolist()
        if label is not None and label not in labels:
            raise ClasswiseError(f"{label!r} is not a class; the classes are {labels}.")
        weight, announced, observed = self.bins[0 if label is None else 1 + labels.index(label)]
        joined = _joined(weight, max(FEWEST, FEWEST_SHARE * self.weight))
        weight, announced, observed = (
            sums_by(joined, values, joined[-1] + 1) for values in (weight, announced, observed)
        )
        return Reliability(weight, ratio(announced, weight), ratio(observed, weight))

    def __repr__(self) -> str:
        scores = f"error {self.error:.4g}, log loss {self.log_loss:.4g}, Brier {self.brier:.4g}"
        return f"Evaluation(weight {self.weight:g}: {scores}, calibration {self.calibration_error:.4g})"


def _normalized(log_posterior: Array) -> tuple[Array, Codes]:
    """Posteriors that sum to one, class-major, and the class of the largest; (n, g) -> (g, n), (n,).

    A row that every class rules out has a probability of zero for each.
    """
    scores = np.ascontiguousarray(log_posterior.T)
    peak = scores.max(axis=0)
    decided = first_class(scores == peak)
    peak[np.isneginf(peak)] = 0.0
    posterior = np.exp(scores - peak)
    return ratio(posterior, posterior.sum(axis=0)), decided


def _binned(probability: Array, weights: Array, codes: Codes, own: Array, true: Array) -> Array:
    """Weight, weight times probability, and the weight of what came true, by class and bin; (g, m) -> (g, 3, b).

    codes, own, true (m,): the class that came true for a row, its probability, and the weight it came true with.
    """
    count = len(probability)
    bins = _bin(probability) + BINS * np.arange(count)[:, None]
    announced = (
        sums_by(bins.ravel(), (weights * values).ravel(), BINS * count)
        for values in (np.ones_like(probability), probability)
    )
    observed = sums_by(_bin(own) + BINS * codes, true, BINS * count)
    return np.stack([values.reshape(count, BINS) for values in (*announced, observed)], axis=1)


def _bin(probability: Array) -> Codes:
    return np.minimum((probability * BINS).astype(np.intp), BINS - 1)


def _joined(weight: Array, least: float) -> Codes:
    """Neighboring bins put together until each weighs enough; which of the new bins each bin is in (b,).

    >>> _joined(np.array([3.0, 0.0, 1.0, 5.0, 1.0]), 3.0)
    array([0, 1, 1, 1, 1])
    """
    codes, current, held = np.zeros(len(weight), dtype=np.intp), 0, 0.0
    for i, own in enumerate(weight.tolist()):
        if held >= least:
            current, held = current + 1, 0.0
        codes[i], held = current, held + own
    return np.minimum(codes, max(current - (held < least), 0))


def merged(parts: Sequence[Evaluation]) -> Evaluation:
    """The evaluation of all rows."""
    return sum(parts[1:], parts[0])


class Estimate(NamedTuple):
    """A value, its standard error over the folds, and the 95 % interval around it."""

    value: float
    error: float
    low: float
    high: float


def over_folds(parts: Sequence[Any], measure: Callable[[Any], float]) -> Estimate:
    """A measure of the sum of parts, with its jackknife error: how it changes as each fold is taken away.

    error² = (k - 1) / k  sum over folds of (measure without the fold - their mean)²
    """
    total = sum(parts[1:], parts[0])
    count, value = len(parts), measure(total)
    without = np.array([measure(total - part) for part in parts])
    error = float(np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum()))
    reach = float(student_t.ppf(0.975, count - 1)) * error
    return Estimate(value, error, value - reach, value + reach)
