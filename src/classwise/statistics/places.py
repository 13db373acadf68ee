"""Places: what the values of a column are counted as. Numbers fall into ranges, categories are levels.

Ranges lie between quantiles: what is at or below which value. A summary of one column that adds up, exact until it
grows too long. A column is points in order, each with its weight. Two summaries are merged by merging their points.
Beyond `most` points, those whose middle falls into the same of many equal slices of the total weight become one point,
their mean (the merging digest of Dunning and Ertl 2019, with slices of equal weight). So a quantile is off by about one
slice of the weight for each time that points were joined, and a column of few distinct values stays exact forever.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels, sums_by
from classwise.errors import StatisticsError
from classwise.rows.codes import is_sorted, positions, union_labels
from classwise.rows.schema import Column
from classwise.statistics.statistic import Statistic
from classwise.storage import stored

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


P = TypeVar("P", "Bins", "Named")


@stored("Bins")
@dataclass(frozen=True, eq=False)
class Bins:
    """The ranges that a column of numbers is cut into: edges (b + 1,), increasing; the outermost are what was seen.

    A value on an inner edge belongs to the range above it, and a value outside to the nearest range.
    values (b,): the only value seen in each range, where there is just one; None for ranges proper.
    missing: whether a missing value is counted too, after the ranges.

    >>> Bins(np.array([0.0, 1.0, 4.0])).codes(np.array([-2.0, 0.5, 1.0, 9.0, np.nan]))
    array([ 0,  0,  1,  1, -1])
    """

    edges: Array
    values: Array | None = None
    missing: bool = False

    @classmethod
    def of_values(cls, values: Array, missing: bool = False) -> Self:
        """A range around each of some values (b,), which increase; there may be none.

        >>> Bins.of_values(np.array([0.0, 1.0, 3.0])).edges
        array([0. , 0.5, 2. , 3. ])
        """
        return cls(np.concatenate([values[:1], middles(values[:-1], values[1:]), values[-1:]]), values, missing)

    def uncounted(self) -> "Bins":
        """No ranges at all."""
        return Bins.of_values(np.empty(0))

    @property
    def count(self) -> int:
        """How many ranges."""
        return max(len(self.edges) - 1, 0)

    def __len__(self) -> int:
        return self.count + self.missing

    def codes(self, values: Array) -> Codes:
        """The range of each value, -1 where it is missing and that is not counted; (m,)."""
        codes = np.full(len(values), 0 if self.count else -1, dtype=np.intp)
        for edge in self.edges[1:-1]:  # of a few edges, a search takes ten times as long
            codes += values >= edge
        codes[np.isnan(values)] = self.count if self.missing else -1
        return codes

    @property
    def widths(self) -> Array:
        """Of each range, over which its probability is spread; 1 for a single value, which has it all; (b,)."""
        return np.diff(self.edges) if self.values is None else np.ones(self.count)

    @property
    def names(self) -> list[Any]:
        """What messages and reports call each place; None for missing."""
        if self.values is not None:
            return self.values.tolist() + [None] * self.missing
        edges = [f"{edge:.6g}" for edge in self.edges]
        return [f"{low} to {high}" for low, high in pairwise(edges)] + [None] * self.missing

    def draw(self, codes: Codes, generator: np.random.Generator) -> Array:
        """A number of each range, NaN for missing; (m,)."""
        lots, known = generator.random(len(codes)), np.minimum(codes, self.count - 1)
        drawn = self.edges[known] + self.widths[known] * lots if self.values is None else self.values[known]
        return np.where(codes < self.count, drawn, np.nan)

    def union(self, other: "Place", name: str) -> "Bins":
        """The same ranges; others cannot be counted together with them."""
        if not isinstance(other, Bins):
            raise StatisticsError(f"{name} is a number in one statistic and a category in the other.")
        if self.count and other.count and not self.is_like(other):
            raise StatisticsError(
                f"Pairs were counted in different ranges of {name}, and cannot be combined; count both in the same: "
                "summarize(X, y, pairs=first), or partial_fit of the model that has them."
            )
        return replace(self if self.count else other, missing=self.missing or other.missing)

    def is_like(self, other: "Place") -> bool:
        """Whether the other has the same ranges."""
        if not isinstance(other, Bins) or (self.values is None) != (other.values is None):
            return False
        return np.array_equal(self.edges, other.edges)

    def positions(self, among: "Place") -> Codes:
        """Where our places stand among those of a union."""
        return np.append(np.arange(self.count), [among.count] * self.missing).astype(np.intp)

    def kept(self, seen: NDArray[np.bool_]) -> tuple["Bins", NDArray[np.bool_]]:
        """A range without rows stays a range; missing, if there is none, goes."""
        return _without_missing(self, seen, np.ones_like(seen))

    def _is_sound(self) -> bool:
        increase = self.edges if self.values is None else self.values
        increasing = increase.ndim == 1 and bool((np.diff(increase) > 0).all())
        if self.values is None:
            return increasing and self.count > 0
        return increasing and np.array_equal(self.edges, Bins.of_values(self.values).edges)


@stored("Named")
@dataclass(frozen=True, eq=False)
class Named:
    """The levels (L,) of a category, sorted.

    places (L,): where each level is counted; None if each has a place of its own. Else levels may share a place: the
    last one is that of rare levels and of those never seen. -1: not counted at all.
    missing: whether a missing value is counted too, after the levels.

    >>> color = Named(np.array(["blue", "green", "red"]), np.array([0, 1, 1]))
    >>> color.codes(np.array([0.0, 2.0, 3.0, -1.0]))
    array([ 0,  1,  1, -1])
    """

    levels: Labels
    places: Codes | None = None
    missing: bool = False

    @classmethod
    def of_most(cls, levels: Labels, weight: Array, most: int, missing: bool = False) -> Self:
        """Levels (L,) that weigh (L,): if there are more than `most`, the rarest share one place."""
        if len(levels) <= most:
            return cls(levels, None, missing)
        places = np.full(len(levels), most - 1)
        frequent = np.sort(np.argsort(-weight, kind="stable")[: most - 1])
        places[frequent] = np.arange(most - 1)
        return cls(levels, places, missing)

    def uncounted(self) -> "Named":
        """The same levels, with a place for none: they say nothing, such as those of an id."""
        return Named(self.levels, np.full(len(self.levels), -1))

    @property
    def count(self) -> int:
        """How many places levels have."""
        return len(self.levels) if self.places is None else int(self.places.max(initial=-1)) + 1

    def __len__(self) -> int:
        return self.count + self.missing

    def codes(self, values: Array) -> Codes:
        """The place of each level: values (m,) are positions among the levels, L for others, -1 for missing."""
        own = np.arange(len(self.levels)) if self.places is None else self.places
        other = -1 if self.places is None else self.count - 1
        return np.array([*own, other, self.count if self.missing else -1])[values.astype(np.intp)]

    @property
    def names(self) -> list[Any]:
        """What reports call each place: its level, "other" for levels that share one; None for missing."""
        return self._own_levels() + ["other"] * (self.count > len(self._own_levels())) + [None] * self.missing

    def _own_levels(self) -> list[Any]:
        """The levels that have a place of their own, in order."""
        if self.places is None:
            return list(self.levels.tolist())
        return list(self.levels[self.places < self.count - 1].tolist()) if self.count else []

    def draw(self, codes: Codes, generator: np.random.Generator) -> Array:
        """The position of a level that is counted there, -1 for missing; of rare ones any; (m,)."""
        places = np.arange(len(self.levels)) if self.places is None else self.places
        order = np.argsort(places, kind="stable")
        first, last = (np.searchsorted(places[order], codes, side) for side in ("left", "right"))
        drawn = first + (generator.random(len(codes)) * (last - first)).astype(np.intp)
        return np.append(order, -1)[drawn].astype(np.float64)

    def union(self, other: "Place", name: str) -> "Named":
        """The levels of both, by name."""
        if not isinstance(other, Named):
            raise StatisticsError(f"{name} is a category in one statistic and a number in the other.")
        missing = self.missing or other.missing
        if not other.levels.size or (self.levels is other.levels and self.places is other.places):
            return replace(self, missing=missing)
        if not self.levels.size:
            return replace(other, missing=missing)
        levels = union_labels(self.levels, other.levels, name)
        if self.places is None and other.places is None:
            return Named(levels, None, missing)
        ours, theirs = self._placed(), other._placed()
        shared = ours.keys() & theirs.keys()
        if self.count != other.count or any(ours[level] != theirs[level] for level in shared):
            raise StatisticsError(
                f"Rare levels of {name} were pooled in different ways, and cannot be combined; use partial_fit on the "
                "model that has them, or fit all rows at once."
            )
        both = ours | theirs
        return Named(levels, np.array([both[level] for level in levels.tolist()], dtype=np.intp), missing)

    def _placed(self) -> dict[Any, int]:
        places = range(len(self.levels)) if self.places is None else self.places.tolist()
        return dict(zip(self.levels.tolist(), places, strict=True))

    def is_like(self, other: "Place") -> bool:
        """Whether the other counts the same levels at the same places."""
        return isinstance(other, Named) and self._placed() == other._placed()

    def extended(self, levels: Labels) -> "Named":
        """With levels that another batch has: each by itself, or with the rare ones where there are such."""
        union = union_labels(self.levels, levels, "a column")
        if self.places is None:
            return Named(union, None, self.missing)
        known, other = self._placed(), self.count - 1
        return Named(union, np.array([known.get(level, other) for level in union.tolist()], np.intp), self.missing)

    def positions(self, among: "Place") -> Codes:
        """Where our places stand among those of a union."""
        assert isinstance(among, Named)
        own = positions(self.levels, among.levels) if self.places is None else np.arange(self.count)
        return np.append(own, [among.count] * self.missing).astype(np.intp)

    def kept(self, seen: NDArray[np.bool_]) -> tuple["Named", NDArray[np.bool_]]:
        """Without the levels that no row has, unless some share a place; missing, if there is none, goes."""
        if self.places is not None:
            return _without_missing(self, seen, np.ones_like(seen))
        levels = self.levels[seen[: self.count]]
        return _without_missing(replace(self, levels=levels), seen, seen)

    def _is_sound(self) -> bool:
        if self.places is None:
            return is_sorted(self.levels)
        used = np.unique(self.places)
        dense = np.array_equal(used[used >= 0], np.arange(self.count))
        return is_sorted(self.levels) and self.places.shape == self.levels.shape and dense


Place: TypeAlias = Bins | Named


def _without_missing(place: P, seen: NDArray[np.bool_], kept: NDArray[np.bool_]) -> tuple[P, NDArray[np.bool_]]:
    """The places that are kept, except for that of missing values if no row is there."""
    if not place.missing or seen[-1]:
        return place, kept if not place.missing else np.append(kept[:-1], True)
    return replace(place, missing=False), np.append(kept[:-1], False)
