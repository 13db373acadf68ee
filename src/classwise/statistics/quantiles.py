"""Quantiles: what is at or below which value. A summary of one column that adds up, exact until it grows too long.

A column is points in order, each with its weight. Two summaries are merged by merging their points. Beyond `most`
points, those whose middle falls into the same of many equal slices of the total weight become one point, their mean
(the merging digest of Dunning and Ertl 2019, with slices of equal weight). So a quantile is off by about one slice of
the weight for each time that points were joined, and a column of few distinct values stays exact forever.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes, sums_by
from classwise.errors import StatisticsError
from classwise.rows.schema import Column
from classwise.statistics.statistic import Statistic

# Points that are kept, and the slices that they are joined in when there are more.
MOST_POINTS = 8192
SLICES = 2048


@dataclass(frozen=True, eq=False)
class Quantiles:
    """points (m,), increasing, and the weight of each (m,); lowest and highest value (NaN without any)."""

    points: Array
    weight: Array
    lowest: float
    highest: float
    most: int = MOST_POINTS

    @classmethod
    def of(cls, values: Array, weights: Array | None = None, most: int = MOST_POINTS) -> Self:
        """The summary of values (m,); NaN is left out.

        >>> Quantiles.of(np.array([3.0, 1.0, np.nan, 3.0])).weight
        array([1., 2.])
        """
        present = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
        values = values if present.all() else values[present]
        if weights is None:
            points, counts = np.unique(values, return_counts=True)
            return cls._held(points, counts.astype(np.float64), most)
        points, codes = np.unique(values, return_inverse=True)
        return cls._held(points, sums_by(codes.reshape(-1), weights[present], len(points)), most)

    @classmethod
    def _held(cls, points: Array, weight: Array, most: int) -> Self:
        lowest, highest = (points[0], points[-1]) if len(points) else (np.nan, np.nan)
        joined = (points, weight) if len(points) <= most else _joined(points, weight)
        return cls(*joined, float(lowest), float(highest), most)

    def __add__(self, other: Self) -> Self:
        """The summary of both sets of values."""
        points, codes = np.unique(np.concatenate([self.points, other.points]), return_inverse=True)
        weight = sums_by(codes.reshape(-1), np.concatenate([self.weight, other.weight]), len(points))
        merged = type(self)._held(points, weight, self.most)
        lowest, highest = np.fmin(self.lowest, other.lowest), np.fmax(self.highest, other.highest)
        return type(self)(merged.points, merged.weight, float(lowest), float(highest), self.most)

    def cuts(self, count: int) -> Array:
        """Inner edges that cut the values into at most `count` ranges of about equal weight; (count - 1,) or fewer.

        A cut lies in the middle between the quantile, the first point with so much weight at or below it, and the next
        point. So values that are equal stay together, and where many are, there are fewer cuts.

        >>> Quantiles.of(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])).cuts(3)
        array([0.5, 1.5])
        """
        if len(self.points) < 2:
            return np.empty(0)
        cumulative = np.cumsum(self.weight)
        # What rounding adds to a sum of weights must not move a cut by a point.
        wanted = np.arange(1, count) * (cumulative[-1] / count * (1 - 1e-12))
        below = np.unique(np.searchsorted(cumulative, wanted))
        below = below[below < len(self.points) - 1]
        return middles(self.points[below], self.points[below + 1])


def middles(low: Array, high: Array) -> Array:
    """Numbers that part each low from its high, which is larger: their middle; high itself, if nothing is between."""
    middle = low + (high - low) / 2
    return np.where(middle > low, middle, high)


def _joined(points: Array, weight: Array) -> tuple[Array, Array]:
    """Fewer points: the means of those whose middle is in the same slice of the weight."""
    cumulative = np.cumsum(weight)
    slices = np.floor((cumulative - weight / 2) / cumulative[-1] * SLICES)
    _, codes = np.unique(slices, return_inverse=True)
    codes, count = codes.reshape(-1), int(codes.max()) + 1
    together = sums_by(codes, weight, count)
    return sums_by(codes, weight * points, count) / together, together


@dataclass(frozen=True, eq=False)
class Sketches(Statistic):
    """The quantiles of each column, whatever the class; None for a category."""

    columns: tuple[Quantiles | None, ...]

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.columns, other.columns, strict=True)
        return type(self)(
            tuple(theirs if ours is None else ours if theirs is None else ours + theirs for ours, theirs in pairs)
        )

    def __sub__(self, other: Self) -> Self:
        raise StatisticsError("Quantiles that were merged cannot be taken apart again.")

    def regroup(self, positions: Codes, count: int) -> Self:
        return self

    def select(self, kept: Codes) -> Self:
        return self

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        return len(self.columns) == len(columns)

    def restrict(self, columns: Sequence[int]) -> Self:
        return type(self)(tuple(self.columns[j] for j in columns))
