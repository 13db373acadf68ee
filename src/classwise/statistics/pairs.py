"""Pairs: how often each two places of all columns occur together, by class. What averaged one-dependence needs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Codes, slices, spread
from classwise.errors import StatisticsError
from classwise.rows.schema import Column
from classwise.statistics.places import Bins, Named, Place
from classwise.statistics.statistic import ROUNDING, Statistic
from classwise.storage import stored

# Rows are counted in blocks of this many values, so that memory stays bounded.
BLOCK_VALUES = 1 << 19
LEAST_ROWS = 8192


@stored("PairCounts")
@dataclass(frozen=True, eq=False)
class PairCounts(Statistic):
    """The weight of the rows that have both of two places; (g, L, L), where L counts the places of all columns.

    A place with itself is the place's own weight; two places of one column never meet. columns: the places of each.
    """

    columns: tuple[Place, ...]
    weight: Array

    @cached_property
    def starts(self) -> Codes:
        """Where the places of each column begin, and the end; (d + 1,)."""
        return starts_of(self.columns)

    def span(self, column: int) -> slice:
        """The places of a column."""
        return slice(self.starts[column], self.starts[column + 1])

    @property
    def own(self) -> Array:
        """The weight of each place; (g, L)."""
        return np.diagonal(self.weight, axis1=1, axis2=2)

    def __add__(self, other: Self) -> Self:
        columns = self._union(other)
        return type(self)(columns, self._aligned(columns) + other._aligned(columns))

    def __sub__(self, other: Self) -> Self:
        columns = self._union(other)
        ours = self._aligned(columns)
        weight = ours - other._aligned(columns)
        if (weight < -ROUNDING * self.weight.max(initial=0.0)).any():
            raise StatisticsError("Subtracting leaves a negative count: those rows were never part of this statistic.")
        return type(self)(columns, np.where(weight <= ROUNDING * ours, 0.0, weight)).compact()

    def regroup(self, positions: Codes, count: int) -> Self:
        return replace(self, weight=spread(self.weight, positions, count))

    def select(self, kept: Codes) -> Self:
        return replace(self, weight=self.weight[kept])

    def restrict(self, columns: Sequence[int]) -> Self:
        kept = np.concatenate([np.zeros(0, int), *(np.arange(self.starts[j], self.starts[j + 1]) for j in columns)])
        return type(self)(tuple(self.columns[j] for j in columns), self.weight[:, kept[:, None], kept])

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        levels = [isinstance(place, Named) for place in self.columns]
        return len(self.weight) == count and levels == [column.family.has_levels for column in columns]

    def compact(self) -> Self:
        seen = np.asarray(self.own.any(axis=0))
        parts = [column.kept(seen[self.span(j)]) for j, column in enumerate(self.columns)]
        return self._only([column for column, _ in parts], [mask for _, mask in parts])

    def without_missing(self) -> Self:
        """The same counts, missing values left out."""
        masks = [np.arange(len(column)) < column.count for column in self.columns]
        return self._only([replace(column, missing=False) for column in self.columns], masks)

    def without(self, columns: Collection[int]) -> Self:
        """The same, with nothing counted of these columns."""
        masks = [np.full(len(column), j not in columns) for j, column in enumerate(self.columns)]
        return self._only([c.uncounted() if j in columns else c for j, c in enumerate(self.columns)], masks)

    def _only(self, columns: Sequence[Place], masks: Sequence[NDArray[np.bool_]]) -> Self:
        """Of each column the places that its mask keeps."""
        mask = np.concatenate([np.zeros(0, dtype=bool), *masks])
        kept = np.flatnonzero(mask)
        weight = self.weight if mask.all() else self.weight[:, kept[:, None], kept]
        return type(self)(tuple(columns), weight)

    def taken_for(self, columns: Sequence[Column]) -> Self:
        """A column in which no row has a value may be a category, as well as a number."""
        nothing = np.empty(0, dtype=object)
        places = list(self.columns)
        for j, column in enumerate(columns):
            if column.family.has_levels and isinstance(places[j], Bins) and not places[j].count:
                places[j] = Named(nothing, None, places[j].missing)
        return replace(self, columns=tuple(places))

    def _is_sound(self) -> bool:
        size = int(self.starts[-1])
        return self.weight.shape[1:] == (size, size) and bool((self.weight >= 0).all())

    def _union(self, other: Self) -> tuple[Place, ...]:
        pairs = enumerate(zip(self.columns, other.columns, strict=True))
        columns = tuple(ours.union(theirs, f"column {j}") for j, (ours, theirs) in pairs)
        refuse_too_many(columns, len(self.weight))
        return columns

    def _aligned(self, columns: tuple[Place, ...]) -> Array:
        """The weights at the places of a union."""
        if columns_alike(self.columns, columns):
            return self.weight
        starts = starts_of(columns)
        pairs = enumerate(zip(self.columns, columns, strict=True))
        places = np.concatenate([starts[j] + ours.positions(theirs) for j, (ours, theirs) in pairs])
        weight = np.zeros((len(self.weight), starts[-1], starts[-1]))
        weight[:, places[:, None], places] = self.weight
        return weight


def gather_pairs(
    rows: Array, columns: Sequence[Place], classes: Codes, count: int, weights: Array | None = None
) -> PairCounts:
    """The counts of rows (m, d) whose classes are given (m,), numbers from 0 to count - 1; weights (m,).

    A row holds numbers, NaN where they are missing, and the positions of levels among those of its columns, -1 where
    they are missing.

    >>> from classwise.statistics import Named
    >>> pairs = gather_pairs(np.array([[0.0, 1.0], [0.0, 0.0]]), [Named(np.array(["a"])), Named(np.array(["x", "y"]))],
    ...                      np.array([0, 0]), 1)
    >>> pairs.weight
    array([[[2., 1., 1.],
            [1., 1., 0.],
            [1., 0., 1.]]])
    """
    refuse_too_many(columns, count)
    starts = starts_of(columns)
    size = int(starts[-1])
    weight = np.zeros((count, size, size))
    for block in slices(len(rows), max(BLOCK_VALUES // max(len(columns), 1), LEAST_ROWS)):
        places = placed(rows[block], columns, starts)
        own = classes[block].astype(np.intp)
        _count(weight, places, starts, own, None if weights is None else weights[block])
    # Only half was counted: the other half mirrors it.
    for first, last in pairwise(starts):
        weight[:, last:, first:last] = weight[:, first:last, last:].transpose(0, 2, 1)
    return PairCounts(tuple(columns), weight)


def _count(weight: Array, places: Codes, starts: Codes, classes: Codes, weights: Array | None) -> None:
    """Add the pairs of each column with itself and those after it, to weight (g, L, L); places (d, m).

    All columns after one are counted by a single table over class, place and place; the last place of each stands for
    none.
    """
    size = weight.shape[1]
    for j in range(len(places)):
        first, last = starts[j], starts[j + 1]
        if first == last:
            continue
        width = last - first + 1
        own = np.where(places[j] < size, places[j] - first, width - 1) + classes * width
        cells = own * (size + 1) + places[j:]
        cell_weights = None if weights is None else np.broadcast_to(weights, cells.shape).ravel()
        table = np.bincount(cells.ravel(), cell_weights, minlength=len(weight) * width * (size + 1))
        weight[:, first:last, first:] += table.reshape(len(weight), width, size + 1)[:, :-1, first:-1]


def placed(rows: Array, columns: Sequence[Place], starts: Codes) -> Codes:
    """Where the place of each column stands among those of all, their number where there is none; (m, d) -> (d, m)."""
    places = np.empty((len(columns), len(rows)), dtype=np.intp)
    for j, values in enumerate(np.ascontiguousarray(rows.T)):
        codes = columns[j].codes(values)
        places[j] = np.where(codes < 0, starts[-1], starts[j] + codes)
    return places


def columns_alike(some: Sequence[Place], others: Sequence[Place]) -> bool:
    """Whether two columns of a union, or of a part, have the same places: then they are equally many."""
    return all(len(first) == len(second) for first, second in zip(some, others, strict=True))


def starts_of(columns: Sequence[Place]) -> Codes:
    """Where the places of each column begin, and the end; (d + 1,)."""
    return np.concatenate([[0], np.cumsum([len(column) for column in columns])]).astype(np.intp)


def refuse_too_many(columns: Sequence[Place], count: int) -> None:
    """Pairs take g L² numbers: beyond two gigabytes there is an error that names what takes most."""
    size = int(starts_of(columns)[-1])
    if count * size * size > limits.MOST_PAIR_COUNTS:
        widest = max(range(len(columns)), key=lambda j: len(columns[j]))
        raise StatisticsError(
            f"{len(columns)} columns have {size} ranges and levels in all, so the pairs of {count} classes take "
            f"{count * size * size * 8 / 2**30:.1f} GiB, and at most {limits.MOST_PAIR_COUNTS * 8 / 2**30:g} are "
            f"allowed; use fewer bins (bins=4) or fewer columns. Column {widest} has most of them, "
            f"{len(columns[widest])}."
        )
