"""Counts: the weight of each level of each column, by class."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import add, sub
from typing import Self

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, Labels, spread
from classwise.errors import StatisticsError
from classwise.rows.codes import is_sorted, positions, union_labels
from classwise.rows.schema import Column
from classwise.statistics.statistic import ROUNDING, Statistic
from classwise.storage import stored


@stored("LevelCounts")
@dataclass(frozen=True, eq=False)
class LevelCounts:
    """One column: its levels (L,) sorted, and their weight in each class (g, L)."""

    levels: Labels
    weight: Array

    @classmethod
    def empty(cls, count: int) -> Self:
        return cls(np.empty(0, dtype=object), np.zeros((count, 0)))

    def _is_sound(self) -> bool:
        counted = self.weight.ndim == 2 and self.weight.shape[1] == len(self.levels)
        return counted and is_sorted(self.levels) and bool((self.weight >= 0).all())

    def aligned(self, levels: Labels) -> Array:
        """The weights at these levels, which hold all of ours; (g, levels)."""
        if len(levels) == len(self.levels):
            return self.weight
        weight = np.zeros((len(self.weight), len(levels)))
        weight[:, positions(self.levels, levels)] = self.weight
        return weight

    def __add__(self, other: Self) -> Self:
        if self.levels is other.levels:  # chunks of one table
            return replace(self, weight=self.weight + other.weight)
        levels = union_labels(self.levels, other.levels, "a column")
        return type(self)(levels, self.aligned(levels) + other.aligned(levels))

    def __sub__(self, other: Self) -> Self:
        unknown = sorted(set(other.levels.tolist()) - set(self.levels.tolist()))
        if unknown:
            raise StatisticsError(f"Level {unknown[0]!r} cannot be subtracted: the statistic has no rows of it.")
        weight = self.weight - other.aligned(self.levels)
        if (weight < -ROUNDING * self.weight.max(initial=0.0)).any():
            raise StatisticsError("Subtracting leaves a negative count: those rows were never part of this statistic.")
        # Of weights that are not whole numbers, rounding may leave a trace.
        return type(self)(self.levels, np.where(weight <= ROUNDING * self.weight, 0.0, weight)).compact()

    def compact(self) -> Self:
        """Without the levels that no row has."""
        seen = self.weight.any(axis=0)
        return self if seen.all() else type(self)(self.levels[seen], self.weight[:, seen])

    def withheld(self, minimum: float) -> Self:
        """Without levels that weigh less in some class: in all classes, so that the others compare as before.

        Of a class, one small cell alone would be what its levels lack of its weight; a further level goes with it.
        """
        there = self.weight > 0
        small = there & (self.weight < minimum)
        gone = np.asarray(small.any(axis=0))
        while len(revealed := np.flatnonzero(small.any(axis=1) & ((there & gone).sum(axis=1) == 1))):
            others = there[revealed].any(axis=0) & ~gone
            if not others.any():
                break
            gone[np.where(others, self.weight.sum(axis=0), np.inf).argmin()] = True
        return type(self)(self.levels[~gone], self.weight[:, ~gone])


@stored("Counts")
@dataclass(frozen=True, eq=False)
class Counts(Statistic):
    """The levels of several columns, each with its weights by class.

    most: a column with more distinct levels than this is dropped (None), and stays so; or no limit.
    """

    columns: tuple[LevelCounts | None, ...]
    most: int | None = None

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        """Only a column whose family is yet to be chosen may have been given up."""
        if len(self.columns) != len(columns):
            return False
        pairs = zip(self.columns, columns, strict=True)
        return all(c.family.name == "best" if own is None else len(own.weight) == count for own, c in pairs)

    def __add__(self, other: Self) -> Self:
        return self._combined(other, add)

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, sub)

    def _combined(self, other: Self, combine: Callable[[LevelCounts, LevelCounts], LevelCounts]) -> Self:
        pairs = zip(self.columns, other.columns, strict=True)
        return self._with(None if ours is None or theirs is None else combine(ours, theirs) for ours, theirs in pairs)

    def regroup(self, positions: Codes, count: int) -> Self:
        return self._mapped(lambda weight: spread(weight, positions, count))

    def select(self, kept: Codes) -> Self:
        return self._mapped(lambda weight: weight[kept])

    def restrict(self, columns: Sequence[int]) -> Self:
        return replace(self, columns=tuple(self.columns[j] for j in columns))

    def compact(self) -> Self:
        return self._with(None if column is None else column.compact() for column in self.columns)

    def withheld(self, minimum: float) -> Self:
        return self._with(None if column is None else column.withheld(minimum) for column in self.columns)

    def _mapped(self, change: Callable[[Array], Array]) -> Self:
        """With other weights."""
        return self._with(None if c is None else LevelCounts(c.levels, change(c.weight)) for c in self.columns)

    def _with(self, columns: Iterable[LevelCounts | None]) -> Self:
        return replace(self, columns=tuple(_limited(column, self.most) for column in columns))


def is_id(levels: int, rows: float) -> bool:
    """Whether a column of this many levels in this many rows is taken for an id or free text, which predict no class.

    rows: what those weigh that have a value; a weight of two is the row twice.

    >>> is_id(50, 60.0), is_id(50, 600.0), is_id(5, 5.0)
    (True, False, False)
    """
    return levels >= limits.MANY_LEVELS and 2 * levels > rows


def _limited(column: LevelCounts | None, most: int | None) -> LevelCounts | None:
    return None if column is None or (most is not None and len(column.levels) > most) else column


def gather_counts(values: Codes, levels: Labels, classes: Codes, count: int, weights: Array | None) -> LevelCounts:
    """The counts of one column: values (m,) are positions among the levels, their number L for missing; classes (m,).

    >>> gather_counts(np.array([0, 1, 1, 2]), np.array(["no", "yes"]), np.array([0, 0, 1, 1]), 2, None).weight
    array([[1., 1.],
           [0., 1.]])
    """
    width = len(levels) + 1
    # One table over class and level; what is missing falls into a last column, which is dropped.
    cells = np.multiply(classes, width, dtype=np.intp)
    cells += values
    table = np.bincount(cells, weights, minlength=count * width).reshape(count, width)
    return LevelCounts(levels, table[:, :-1].astype(np.float64))
