"""Bins: the weight of the values of a column, by class, in bins that fit together wherever rows were counted.

    bin i of exponent e holds the values from i 2^e up to (i + 1) 2^e

Two neighbors i = 2j and 2j + 1 are bin j of exponent e + 1, so that fine bins become coarse ones without the rows. A
column keeps the finest exponent for which no more than `MOST_BINS` bins hold a value. More rows can only make it
larger, and so the bins of all rows do not depend on how the rows were split, nor on their order. What is far from the
others takes a bin and nothing in between, so a few outliers do not make the rest coarse. Values are known to half a
bin; few distinct values are known to about twelve digits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, spread
from classwise.errors import StatisticsError
from classwise.rows.schema import Column
from classwise.statistics.statistic import ROUNDING, Statistic
from classwise.storage import stored

# This many bins hold a value, at most, over all classes.
MOST_BINS = 512

# The largest value is known to this many binary digits, and no bin is finer.
DIGITS = 40

# The exponent of a column without a value, or of zeros alone, which any other exponent takes the place of.
FINEST = -1074


@stored("Histogram")
@dataclass(frozen=True, eq=False)
class Histogram:
    """One column: the bins (b,) that hold values, increasing, and their weight in each class (g, b)."""

    exponent: int
    bins: NDArray[np.int64]
    weight: Array

    def _is_sound(self) -> bool:
        counted = self.weight.ndim == 2 and self.weight.shape[1] == len(self.bins) <= MOST_BINS
        within = FINEST <= self.exponent < 1024 and bool((np.abs(self.bins) <= 1 << DIGITS).all())
        return counted and within and bool((np.diff(self.bins) > 0).all() and (self.weight >= 0).all())

    @property
    def width(self) -> float:
        """Of a bin."""
        return float(np.ldexp(1.0, self.exponent))

    @property
    def centers(self) -> Array:
        """The middle of each bin; (b,). Zeros alone are at 0."""
        return np.ldexp(self.bins + (0.5 if self.exponent > FINEST else 0.0), self.exponent)

    def __add__(self, other: Self) -> Self:
        exponent = max(self.exponent, other.exponent)
        ours, theirs = self.coarsened(exponent), other.coarsened(exponent)
        bins = np.union1d(ours.bins, theirs.bins)
        together = replace(self, exponent=exponent, bins=bins, weight=ours._at(bins) + theirs._at(bins))
        return together.coarsened(exponent + _surplus(bins))

    def __sub__(self, other: Self) -> Self:
        taken = other.coarsened(max(self.exponent, other.exponent))
        if taken.exponent > self.exponent or not np.isin(taken.bins, self.bins).all():
            raise StatisticsError(
                "Subtracting values from bins that have none: they were never part of this statistic."
            )
        weight = self.weight - taken._at(self.bins)
        if (weight < -ROUNDING * self.weight.max(initial=0.0)).any():
            raise StatisticsError("Subtracting leaves a negative count: those rows were never part of this statistic.")
        return replace(self, weight=np.where(weight <= ROUNDING * self.weight, 0.0, weight)).compact()

    def coarsened(self, exponent: int) -> Self:
        """The same in coarser bins."""
        if exponent == self.exponent or not len(self.bins):
            return replace(self, exponent=exponent)
        bins, starts = np.unique(self.bins >> min(exponent - self.exponent, 63), return_index=True)
        return replace(self, exponent=exponent, bins=bins, weight=np.add.reduceat(self.weight, starts, axis=1))

    def compact(self) -> Self:
        """Without bins that hold nothing."""
        held = self.weight.any(axis=0)
        return self if held.all() else replace(self, bins=self.bins[held], weight=self.weight[:, held])

    def with_weight(self, weight: Array) -> Self:
        """Other classes in the same bins."""
        return replace(self, weight=weight)

    def _at(self, bins: NDArray[np.int64]) -> Array:
        """The weights of these bins, which hold all of ours; (g, bins)."""
        weight = np.zeros((len(self.weight), len(bins)))
        weight[:, np.searchsorted(bins, self.bins)] = self.weight
        return weight


def _surplus(bins: NDArray[np.int64]) -> int:
    """How much larger the exponent must be for bins, which increase, to be no more than MOST_BINS; found by halving."""
    low, high = 0, DIGITS + 1
    while low < high:
        middle = (low + high) // 2
        if np.count_nonzero(np.diff(bins >> middle)) < MOST_BINS:
            high = middle
        else:
            low = middle + 1
    return low


def gather_bins(values: Array, codes: Codes, count: int, weights: Array | None) -> Histogram:
    """The bins of a column (m,), NaN left out; codes (m,) in range(count) are its classes.

    >>> found = gather_bins(np.array([1.0, 1.0, 3.0, np.nan]), np.array([0, 1, 1, 0]), 2, None)
    >>> found.centers.round(9), found.weight
    (array([1., 3.]), array([[1., 0.],
           [1., 1.]]))
    """
    present = np.flatnonzero(~np.isnan(values))
    kept = values[present]
    largest = float(np.abs(kept).max(initial=0.0))
    exponent = int(np.frexp(largest)[1]) - DIGITS if largest else FINEST
    places = np.floor(np.ldexp(kept, -exponent)).astype(np.int64) if largest else np.zeros(len(kept), dtype=np.int64)
    bins = np.unique(places)
    surplus = _surplus(bins)
    coarse = np.unique(bins >> surplus)
    cells = codes[present].astype(np.intp) * len(coarse) + np.searchsorted(coarse, places >> surplus)
    present_weights = None if weights is None else weights[present]
    weight = np.bincount(cells, present_weights, minlength=count * len(coarse)).reshape(count, len(coarse))
    return Histogram(exponent + surplus, coarse, weight.astype(np.float64))


@stored("Histograms")
@dataclass(frozen=True, eq=False)
class Histograms(Statistic):
    """The bins of several columns."""

    columns: tuple[Histogram, ...]

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        return len(self.columns) == len(columns) and all(len(own.weight) == count for own in self.columns)

    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(map(add, self.columns, other.columns)))

    def __sub__(self, other: Self) -> Self:
        return type(self)(tuple(ours - theirs for ours, theirs in zip(self.columns, other.columns, strict=True)))

    def regroup(self, positions: Codes, count: int) -> Self:
        return self._mapped(lambda own: own.with_weight(spread(own.weight, positions, count)))

    def select(self, kept: Codes) -> Self:
        return self._mapped(lambda own: own.with_weight(own.weight[kept]))

    def restrict(self, columns: Sequence[int]) -> Self:
        return type(self)(tuple(self.columns[j] for j in columns))

    def compact(self) -> Self:
        return self._mapped(Histogram.compact)

    def _mapped(self, change: Callable[[Histogram], Histogram]) -> Self:
        return type(self)(tuple(map(change, self.columns)))
