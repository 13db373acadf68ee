"""The area under the ROC curve from sums that add: how often a row of a class gets a higher score than another row.

AUC = (pairs in the right order + half of the ties) / all pairs of a row of the class and a row of another

Which of two rows has the higher score is no sum over rows. So scores are counted in fine bins: pairs in different bins
are in order or not, whatever comes later, and only pairs that share a bin are in doubt. A batch of moderate size is
sorted, too, and knows all its pairs: its AUC is exact. In a sum of batches, pairs of two batches that share a bin count
half, and what that may be wrong by is known.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Codes, sums_by
from classwise.storage import stored

# Odds from 2^-53 to 2^53 are distinguished: beyond, a probability of float64 is 0 or 1.
DOUBLINGS = 53

# Each doubling of the odds has 2^6 bins of equal width; fewer where classes are so many that all bins together would
# hold more numbers than this (4 MB).
FINENESS = 6
MOST_NUMBERS = 1 << 19


@stored("RankSums")
@dataclass(frozen=True, eq=False)
class RankSums:
    """Scores of each class, one class against the rest; of two classes, those of the second alone.

    histogram (s, 2, b): the weight of rows of other classes, and of its own, by bin of the odds of the class.
    shift (s,): what is known of pairs inside bins: their number in the right order, less half of them.
    doubt (s,): how far that may be from the truth; 0 for one batch that was sorted.
    """

    histogram: Array
    shift: Array
    doubt: Array

    def _is_sound(self) -> bool:
        scored, two, _ = self.histogram.shape
        return two == 2 and self.shift.shape == self.doubt.shape == (scored,)

    @classmethod
    def of(cls, posterior: Array, codes: Codes, weights: Array) -> Self:
        """Of rows with posteriors (g, n) and own classes codes (n,)."""
        first = 1 if len(posterior) == 2 else 0
        scores, nothing = posterior[first:], np.zeros(len(posterior) - first)
        fineness = _fineness(len(scores))
        histogram = np.stack(
            [_histogram(score, codes == k, weights, fineness) for k, score in enumerate(scores, first)]
        )
        if scores.size > limits.EXACT_AUC_SCORES:
            return cls(histogram, nothing, _inside(histogram) / 2)
        exact = [_ordered(_by_value(score, codes == k, weights)) for k, score in enumerate(scores, first)]
        return cls(histogram, np.array(exact) - _ordered(histogram), nothing)

    def combined(self, other: Self, sign: int) -> Self:
        """The sums of both, or of the rows that are left: sign 1 or -1."""
        histogram = self.histogram + sign * other.histogram
        # Pairs of a row here and a row there that share a bin: half of them are taken to be in order.
        whole, part = (histogram, self.histogram) if sign > 0 else (self.histogram, histogram)
        mixed = _inside(whole) - _inside(part) - _inside(other.histogram)
        doubt = self.doubt + other.doubt + np.maximum(mixed, 0) / 2
        return replace(self, histogram=histogram, shift=self.shift + sign * other.shift, doubt=doubt)

    @property
    def auc(self) -> float:
        """The mean over classes that have rows, and are not all there is."""
        return self._mean(_ordered(self.histogram) + self.shift)

    @property
    def bound(self) -> float:
        """How far `auc` may be from that of all rows in one batch."""
        return self._mean(np.minimum(self.doubt, _inside(self.histogram) / 2 + np.abs(self.shift)))

    def _mean(self, pairs: Array) -> float:
        every = np.prod(self.histogram.sum(axis=2), axis=1)
        there = every > 0
        return float(np.clip(pairs[there] / every[there], 0, 1).mean()) if there.any() else float("nan")


def _fineness(classes: int) -> int:
    """How many binary digits of the odds distinguish bins.

    >>> _fineness(3), _fineness(100)
    (6, 4)
    """
    spare = MOST_NUMBERS // (4 * DOUBLINGS * classes)
    return min(max(spare.bit_length() - 1, 0), FINENESS)


def _histogram(score: Array, is_own: NDArray[np.bool_], weights: Array, fineness: int) -> Array:
    """The weight of other rows and of own rows by bin of the odds; (2, b)."""
    with np.errstate(divide="ignore"):
        odds = score / (1 - score)
    # The bits of a positive float64, read as a whole number, grow with it: the exponent, then the first binary digits.
    least, most = 2.0**-DOUBLINGS, 2.0**DOUBLINGS
    places = np.clip(odds, least, most).view(np.int64) >> (52 - fineness)
    places -= np.float64(least).view(np.int64) >> (52 - fineness)
    count = (2 * DOUBLINGS << fineness) + 1
    return sums_by(places + count * is_own, weights, 2 * count).reshape(2, count)


def _by_value(score: Array, is_own: NDArray[np.bool_], weights: Array) -> Array:
    """The same with a bin for each value; (2, v)."""
    order = np.argsort(score)
    ranked = score[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=np.nan) != 0)
    own = np.where(is_own, weights, 0.0)
    return np.stack([np.add.reduceat(values[order], starts) for values in (weights - own, own)])


def _ordered(sums: Array) -> Array:
    """The weight of pairs in the right order, those in one bin counted half; (..., 2, b) -> (...).

    >>> _ordered(np.array([[3.0, 1.0], [0.0, 2.0]]))
    array(7.)
    """
    others, own = sums[..., 0, :], sums[..., 1, :]
    return np.asarray((own * (np.cumsum(others, axis=-1) - others / 2)).sum(axis=-1))


def _inside(histogram: Array) -> Array:
    """The weight of pairs that share a bin; (..., 2, b) -> (...)."""
    return np.asarray((histogram[..., 0, :] * histogram[..., 1, :]).sum(axis=-1))
