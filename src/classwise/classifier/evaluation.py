"""How good decisions and probabilities are, on rows with labels. A statistic too, so it adds up.

accuracy           the share of rows that are decided rightly
recall             of the rows of a class, the share taken for it; balanced accuracy is the mean over classes
precision          of the rows taken for a class, the share that is of it; F1 = 2 / (1 / precision + 1 / recall)
log loss           - mean of log P(own class | x)
Brier score        mean of the sum over classes of (P(k | x) - [k is the own class])²
AUC                how often a row of a class gets a higher probability of it than a row of another class
calibration error  of the rows decided with confidence near c, is a share of c right? The mean of
                   |confidence - share right| over bins of confidence, weighted by their rows (Guo et al. 2017)
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
from classwise.storage import stored
from classwise.tabular import LabeledTable

# Bins of equal width for confidence.
BINS = 15

# A bin is shown if it weighs this much, and this share of all; lighter ones are put together.
FEWEST = 10.0
FEWEST_SHARE = 0.01

# A Normal variable is within so many standard deviations of its mean with a probability of 95 %.
DEVIATIONS = 1.959963984540054


class Interval(NamedTuple):
    """Where the value for all rows of this kind lies, of which these are a sample: 95 % of such intervals hold it."""

    low: float
    high: float


class Reliability(NamedTuple):
    """Bins with enough rows: their weight, the mean probability announced, and the share that came true; (b,) each."""

    weight: Array
    announced: Array
    observed: Array


@stored("Evaluation")
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Sums over rows; + merges those of other rows, - takes rows away. Printed, it says how good a model is.

    A weight of two is a row twice, so weights count as rows. All measures of a sum are those of all rows at once; only
    the AUC may differ, by `auc_bound` at most.

    confusion (g, g): the weight of each own class (rows) that was taken for each class (columns).
    losses, scores: sums of -log P(own class | x) and of squared differences. A probability below 2.2e-16 counts as
    2.2e-16, as in scikit-learn's log_loss: one row that was ruled out would otherwise decide everything.
    bins (1 + g, 3, b): weight, probability and what came true, by bin of probability; first of the class decided for,
    then of each class.
    squared_losses: the sum of (log P(own class | x))², for the interval of the log loss; ranks: sums for the AUC.
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
        """Of rows with log posteriors (n, g), known up to a term for each row, and own classes codes (n,).

        auc: whether to gather what the AUC needs, which takes longer than all the rest.
        """
        codes = np.asarray(codes)
        if codes.dtype.kind not in "iu" or not ((codes >= 0) & (codes < len(labels))).all():
            raise ClasswiseError("codes are the positions of the rows' classes among the labels, not the labels.")
        weights = np.ones(len(codes)) if weights is None else weights
        posterior, decided = normalized(log_posterior)
        rows, count = np.arange(len(codes)), len(labels)
        own, confidence = posterior[codes, rows], posterior[decided, rows]
        confusion = sums_by(codes * count + decided, weights, count * count).reshape(count, count)
        squares = np.einsum("ki,ki->i", posterior, posterior) - 2 * own + 1
        losses = -np.log(np.maximum(own, EPS))
        of_decided = _binned(confidence[None], weights, np.zeros_like(codes), confidence, weights * (decided == codes))
        of_classes = _binned(posterior, weights, codes, own, weights)
        bins = np.concatenate([of_decided, of_classes])
        sums = [float(weights @ values) for values in (losses, squares, losses**2)]
        ranks = RankSums.of(posterior, codes, weights) if auc else None
        return cls(labels, confusion, sums[0], sums[1], bins, sums[2], ranks)

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
        """The share of rows that are decided rightly."""
        return self._mean(float(np.trace(self.confusion)))

    @property
    def error(self) -> float:
        """The share of rows that are decided wrongly."""
        return 1 - self.accuracy

    @property
    def accuracy_interval(self) -> Interval:
        """Where the accuracy on all rows of this kind lies, with 95 % confidence (Wilson 1927)."""
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
        """Of the rows of each class, the share that was taken for it; NaN of a class without rows; (g,)."""
        return _share(np.diag(self.confusion), self.support)

    @property
    def precision(self) -> Array:
        """Of the rows taken for each class, the share that is of it; NaN where none was taken for it; (g,)."""
        return _share(np.diag(self.confusion), self.confusion.sum(axis=0))

    @property
    def f1(self) -> Array:
        """The harmonic mean of precision and recall; NaN of a class without rows that no row was taken for; (g,)."""
        return _share(2 * np.diag(self.confusion), self.support + self.confusion.sum(axis=0))

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows: each class counts alike, however rare."""
        there = self.support > 0
        return float(self.recall[there].mean()) if there.any() else float("nan")

    # Probabilities ---------------------------------------------------------------------------------------------------

    @property
    def log_loss(self) -> float:
        """- mean of log P(own class | x)."""
        return self._mean(self.losses)

    @property
    def log_loss_interval(self) -> Interval:
        """Where the log loss on all rows of this kind lies, with 95 % confidence: the mean and 1.96 standard errors.

        NaN where there are fewer than two rows, and in files of earlier versions, which lack the sum of squares.
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
        """The area under the ROC curve; of more than two classes, the mean over each class against all others.

        It is how often a row of a class gets a higher probability of that class than a row of another class; ties count
        half. Classes without rows are left out. Exact for one batch of up to 300,000 probabilities, rows times classes;
        of more rows, and of sums of batches, exact to `auc_bound`. NaN where it was not asked for.
        """
        return float("nan") if self.ranks is None else self.ranks.auc

    @property
    def auc_bound(self) -> float:
        """How far `auc` may be from the exact one: 0 for one batch of moderate size."""
        return float("nan") if self.ranks is None else self.ranks.bound

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

    # For people ------------------------------------------------------------------------------------------------------

    def measures(self) -> dict[str, float]:
        """All measures of the whole, by name."""
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
        """One sentence: how many rows of a hundred are decided rightly."""
        return evaluation_text.summary(self)

    def __str__(self) -> str:
        return evaluation_text.text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return evaluation_text.html(self)


def _share(part: Array, whole: Array) -> Array:
    """part / whole, and NaN where there is nothing to have a share of."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _either(first: Any, second: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Both combined, or None where one is missing."""
    return None if first is None or second is None else combine(first, second)


def normalized(log_posterior: Array) -> tuple[Array, Codes]:
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
