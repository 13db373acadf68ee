"""How good predicted labels and probabilities are on labeled rows. Evaluations are sums over rows, and add up.

accuracy           the share of rows with the correct label
recall             of the rows of a class, the share assigned to it; balanced accuracy is the mean over classes
precision          of the rows assigned to a class, the share that is of it; F1 = 2 / (1 / precision + 1 / recall)
log loss           - mean of log P(own class | x)
Brier score        mean of the sum over classes of (P(k | x) - [k is the own class])²
AUC                how often a row of a class gets a higher probability of it than a row of another class
calibration error  the mean of |confidence - share correct| over bins of confidence, weighted by their rows
                   (Guo et al. 2017)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import t as student_t

from classwise.arrays import EPS, Array, Codes, Labels, first_class, ratio, sums_by
from classwise.classifier import evaluation_text
from classwise.classifier.rank_sums import RankSums
from classwise.errors import ClasswiseError
from classwise.kernels.losses import posterior_sums
from classwise.storage import stored
from classwise.tabular import LabeledTable

# Bins of equal width for confidence.
BINS = 15

# A bin is shown if its weight is at least FEWEST, and this share of the total; lighter bins are merged.
FEWEST = 10.0
FEWEST_SHARE = 0.01

# A normal variable is within this many standard deviations of its mean with a probability of 95 %.
DEVIATIONS = 1.959963984540054


class Interval(NamedTuple):
    """A 95 % confidence interval for the value in the population of which the rows are a sample."""

    low: float
    high: float


class Reliability(NamedTuple):
    """Bins with enough rows: their weight, mean predicted probability (announced), and observed share; (b,) each."""

    weight: Array
    announced: Array
    observed: Array


@stored("Evaluation")
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How good a model is on labeled rows, as sums over the rows; prints its measures.

    Evaluations of different rows add (+), and subtract (-). A row of weight two counts as two rows. The measures of a
    sum are those of all rows at once; only the AUC may differ, by at most `auc_bound`.

    confusion (g, g): the weight of the rows of each class (rows) that were assigned to each class (columns).
    losses, scores: sums of -log P(own class | x) and of squared differences. Probabilities below 2.2e-16 count as
        2.2e-16, as in scikit-learn's log_loss, so that no single row makes the sum infinite.
    bins (1 + g, 3, b): weight, predicted probability and observed weight, by bin of probability; first of the predicted
        class, then of each class.
    squared_losses: the sum of (log P(own class | x))², for the interval of the log loss.
    ranks: sums for the AUC.
    """

    labels: Labels
    confusion: Array
    losses: float
    scores: float
    bins: Array
    squared_losses: float | None = None
    ranks: RankSums | None = None

    def _is_sound(self) -> bool:
        count = len(self.labels)
        ranked = self.ranks is None or len(self.ranks.shift) == (1 if count == 2 else count)
        return ranked and self.confusion.shape == (count, count) and self.bins.shape == (1 + count, 3, BINS)

    @classmethod
    def of(
        cls, log_posterior: Array, codes: Codes, labels: Labels, weights: Array | None = None, auc: bool = True
    ) -> Self:
        """The evaluation of rows from their log posteriors (n, g), up to a constant per row, and classes codes (n,).

        auc: whether to compute the sums for the AUC, which take longer than all others.
        """
        codes = np.asarray(codes)
        if codes.dtype.kind not in "iu" or not ((codes >= 0) & (codes < len(labels))).all():
            raise ClasswiseError("codes are the positions of the rows' classes among the labels, not the labels.")
        weights = np.ones(len(codes)) if weights is None else weights
        found = posterior_sums(log_posterior, codes, weights, BINS, EPS) or _sums(log_posterior, codes, weights)
        confusion, bins, (losses, scores, squared) = found[0], found[1], found[2].tolist()
        ranks = RankSums.of(normalized(log_posterior)[0], codes, weights) if auc else None
        return cls(labels, confusion, losses, scores, bins, squared, ranks)

    def __add__(self, other: Self) -> Self:
        return self._combined(other, 1)

    def __radd__(self, other: int) -> Self:
        """0 + evaluation, so that sum() works."""
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
            squared_losses=_either(self.squared_losses, other.squared_losses, lambda a, b: a + sign * b),
            ranks=_either(self.ranks, other.ranks, lambda a, b: a.combined(b, sign)),
        )

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.confusion.sum())

    # Decisions -------------------------------------------------------------------------------------------------------

    @property
    def accuracy(self) -> float:
        """The share of rows with the correct label."""
        return self._mean(float(np.trace(self.confusion)))

    @property
    def error(self) -> float:
        """The share of rows with a wrong label."""
        return 1 - self.accuracy

    @property
    def accuracy_interval(self) -> Interval:
        """The 95 % confidence interval of the accuracy (Wilson 1927)."""
        if not self.weight:
            return Interval(np.nan, np.nan)
        share, spread = self.accuracy, DEVIATIONS**2 / self.weight
        middle = (share + spread / 2) / (1 + spread)
        reach = float(np.sqrt(spread * (share * (1 - share) + spread / 4))) / (1 + spread)
        return Interval(max(middle - reach, 0.0), min(middle + reach, 1.0))

    @property
    def support(self) -> Array:
        """The weight of the rows of each class; (g,)."""
        return np.asarray(self.confusion.sum(axis=1))

    @property
    def recall(self) -> Array:
        """Of the rows of each class, the share assigned to it; NaN for a class without rows; (g,)."""
        return _share(np.diag(self.confusion), self.support)

    @property
    def precision(self) -> Array:
        """Of the rows assigned to each class, the share that is of it; NaN if there are none; (g,)."""
        return _share(np.diag(self.confusion), self.confusion.sum(axis=0))

    @property
    def f1(self) -> Array:
        """The harmonic mean of precision and recall; NaN for a class with neither true nor predicted rows; (g,)."""
        return _share(2 * np.diag(self.confusion), self.support + self.confusion.sum(axis=0))

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows: each class counts equally, however rare."""
        there = self.support > 0
        return float(self.recall[there].mean()) if there.any() else float("nan")

    # Probabilities ---------------------------------------------------------------------------------------------------

    @property
    def log_loss(self) -> float:
        """- mean of log P(own class | x)."""
        return self._mean(self.losses)

    @property
    def log_loss_interval(self) -> Interval:
        """The 95 % confidence interval of the log loss: the mean ± 1.96 standard errors.

        NaN with fewer than two rows, and for files of earlier versions, which lack the sum of squares.
        """
        if self.squared_losses is None or self.weight <= 1:
            return Interval(np.nan, np.nan)
        variance = max(self.squared_losses - self.losses * self.log_loss, 0.0) / (self.weight - 1)
        reach = DEVIATIONS * float(np.sqrt(variance / self.weight))
        return Interval(max(self.log_loss - reach, 0.0), self.log_loss + reach)

    @property
    def brier(self) -> float:
        """Mean of the sum over classes of (P(k | x) - [k is the own class])², from 0 to 2."""
        return self._mean(self.scores)

    @property
    def auc(self) -> float:
        """The area under the ROC curve; with more than two classes, the mean over each class against all others.

        It is the probability that a row of a class gets a higher posterior of that class than a row of another class;
        ties count half. Classes without rows are left out. The AUC is exact for one batch of up to 300,000
        probabilities (rows times classes), and else accurate to `auc_bound`. NaN if it was not computed.
        """
        return float("nan") if self.ranks is None else self.ranks.auc

    @property
    def auc_bound(self) -> float:
        """The largest possible error of `auc`: 0 for one batch of moderate size."""
        return float("nan") if self.ranks is None else self.ranks.bound

    @property
    def calibration_error(self) -> float:
        """The mean of |confidence - share correct| over the bins of confidence."""
        _, predicted, observed = self.bins[0]
        return self._mean(float(np.abs(predicted - observed).sum()))

    def _mean(self, total: float) -> float:
        return total / self.weight if self.weight else float("nan")

    def reliability(self, label: Any = None) -> Reliability:
        """Predicted probabilities and observed shares by bin, for the predicted class, or for one label."""
        labels = self.labels.tolist()
        if label is not None and label not in labels:
            raise ClasswiseError(f"{label!r} is not a class; the classes are {labels}.")
        weight, predicted, observed = self.bins[0 if label is None else 1 + labels.index(label)]
        joined = _joined(weight, max(FEWEST, FEWEST_SHARE * self.weight))
        weight, predicted, observed = (
            sums_by(joined, values, joined[-1] + 1) for values in (weight, predicted, observed)
        )
        return Reliability(weight, ratio(predicted, weight), ratio(observed, weight))

    # Output ----------------------------------------------------------------------------------------------------------

    def measures(self) -> dict[str, float]:
        """The measures of all classes together, by name."""
        names = ("accuracy", "balanced_accuracy", "log_loss", "brier", "auc", "calibration_error")
        return {name: getattr(self, name) for name in names}

    def by_class(self) -> LabeledTable:
        """Precision, recall, F1 and support of each class; a table that prints, and has `frame()` and `records()`."""
        shares = ("precision", "recall", "f1")
        columns = {name: getattr(self, name).tolist() for name in (*shares, "support")}
        return LabeledTable("class", self.labels.tolist(), columns, shares)

    def confusion_table(self) -> LabeledTable:
        """The confusion with its labels: true classes down the side, predicted ones along the top."""
        labels = self.labels.tolist()
        columns = {str(label): taken.tolist() for label, taken in zip(labels, self.confusion.T, strict=True)}
        return LabeledTable("true \\ predicted", labels, columns)

    def summary(self) -> str:
        """One sentence: how many of 100 rows have the correct label."""
        return evaluation_text.summary(self)

    def __str__(self) -> str:
        return evaluation_text.text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return evaluation_text.html(self)


def _share(part: Array, whole: Array) -> Array:
    """part / whole, and NaN where whole is 0."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _either(first: Any, second: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Both combined, or None if one is missing."""
    return None if first is None or second is None else combine(first, second)


def normalized(log_posterior: Array) -> tuple[Array, Codes]:
    """Normalized posteriors, class-major, and the class with the largest one; (n, g) -> (g, n), (n,).

    A row with probability zero under every class has posteriors of zero.
    """
    scores = np.ascontiguousarray(log_posterior.T)
    peak = scores.max(axis=0)
    decided = first_class(scores == peak)
    peak[np.isneginf(peak)] = 0.0
    posterior = np.exp(scores - peak)
    return ratio(posterior, posterior.sum(axis=0)), decided


def _sums(log_posterior: Array, codes: Codes, weights: Array) -> tuple[Array, Array, Array]:
    """Confusion (g, g), bins (1 + g, 3, b), and the sums of losses, squared differences and squared losses (3,)."""
    posterior, decided = normalized(log_posterior)
    rows, count = np.arange(len(codes)), len(posterior)
    own, confidence = posterior[codes, rows], posterior[decided, rows]
    confusion = sums_by(codes * count + decided, weights, count * count).reshape(count, count)
    squares = np.einsum("ki,ki->i", posterior, posterior) - 2 * own + 1
    losses = -np.log(np.maximum(own, EPS))
    of_decided = _binned(confidence[None], weights, np.zeros_like(codes), confidence, weights * (decided == codes))
    of_classes = _binned(posterior, weights, codes, own, weights)
    sums = np.array([weights @ values for values in (losses, squares, losses**2)])
    return confusion, np.concatenate([of_decided, of_classes]), sums


def _binned(probability: Array, weights: Array, codes: Codes, own: Array, true: Array) -> Array:
    """Weight, weight times probability, and observed weight, by class and bin; (g, m) -> (g, 3, b).

    codes, own, true (m,): the class that was observed for a row, its probability, and the weight of the observation.
    """
    count = len(probability)
    bins = _bin(probability) + BINS * np.arange(count)[:, None]
    predicted = (
        sums_by(bins.ravel(), (weights * values).ravel(), BINS * count)
        for values in (np.ones_like(probability), probability)
    )
    observed = sums_by(_bin(own) + BINS * codes, true, BINS * count)
    return np.stack([values.reshape(count, BINS) for values in (*predicted, observed)], axis=1)


def _bin(probability: Array) -> Codes:
    return np.minimum((probability * BINS).astype(np.intp), BINS - 1)


def _joined(weight: Array, least: float) -> Codes:
    """Merge neighboring bins until each has enough weight; the new bin of each bin; (b,).

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
