"""The statistics of members: sums over transformed rows, which add and subtract."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add, sub
from typing import Any, Self

import numpy as np

from classwise.arrays import Array, Codes, Labels, sums_by
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.transforms import Encoding
from classwise.errors import StatisticsError
from classwise.rows.schema import Schema
from classwise.rows.table import Matrix, Table
from classwise.selection import FoldStatistics, FoldTally
from classwise.statistics import ClassStatistics, FullScatter, Named, PairCounts, gather_pairs
from classwise.statistics.statistic import ROUNDING
from classwise.statistics.summaries import summarize_table
from classwise.statistics.trees import LeafCounts
from classwise.storage import stored


@stored("MemberSums")
@dataclass(frozen=True, eq=False)
class MemberSums:
    """weight (g,): of the classes; moments: of the numbers, by class; counts (g, L): of each category. Instead of
    moments and counts, pairs: how often levels occur together; or leaves: the classes in the leaves of trees.
    """

    weight: Array
    moments: ClassStatistics | None = None
    counts: tuple[Array, ...] = ()
    pairs: PairCounts | None = None
    leaves: LeafCounts | None = None

    def _is_sound(self) -> bool:
        count = len(self.weight)
        counted = all(of.ndim == 2 and len(of) == count and bool((of >= 0).all()) for of in self.counts)
        return self.weight.ndim == 1 and bool((self.weight >= 0).all()) and counted

    @property
    def present(self) -> Codes:
        """The positions of the classes that have rows."""
        return np.flatnonzero(self.weight > 0)

    @property
    def log_priors(self) -> Array:
        """The log prior of each class, with one pseudo-row each (a uniform Dirichlet prior); -inf if absent; (g,)."""
        counted = np.where(self.weight > 0, self.weight + 1, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(counted / counted.sum()))

    def __add__(self, other: Self) -> Self:
        return self._combined(add, other, self.weight + other.weight)

    def __sub__(self, other: Self) -> Self:
        weight = self.weight - other.weight
        if (weight < -ROUNDING * self.weight.max()).any():
            raise StatisticsError("Subtracting leaves a negative weight: those rows were never part of this statistic.")
        return self._combined(sub, other, np.where(weight > ROUNDING * self.weight, weight, 0.0))

    def _combined(self, combine: Callable[[Any, Any], Any], other: Self, weight: Array) -> Self:
        return replace(
            self,
            weight=weight,
            moments=None if self.moments is None or other.moments is None else combine(self.moments, other.moments),
            counts=tuple(np.maximum(combine(a, b), 0.0) for a, b in zip(self.counts, other.counts, strict=True)),
            pairs=None if self.pairs is None or other.pairs is None else combine(self.pairs, other.pairs),
            leaves=None if self.leaves is None or other.leaves is None else combine(self.leaves, other.leaves),
        )


def gather_sums(
    encoding: Encoding, rows: Array, codes: Codes, count: int, weights: Array, pairs: bool = False
) -> MemberSums:
    """The sums of rows (m, p) of a table whose classes are codes (m,)."""
    return _sums(encoding, encoding(rows), codes, count, weights, pairs)


def _sums(encoding: Encoding, encoded: Array, codes: Codes, count: int, weights: Array, pairs: bool) -> MemberSums:
    """The sums of transformed rows (m, q)."""
    weight, width, moments = sums_by(codes, weights, count), encoding.n_continuous, None
    if pairs:
        places = [Named(np.arange(len(category))) for category in encoding.categories]
        return MemberSums(weight, pairs=gather_pairs(encoded, places, codes, count, weights))
    if width:
        numbers = Matrix(np.ascontiguousarray(encoded[:, :width]))
        moments = summarize_table(Table(numbers, Schema.of_numbers(width), {}, codes, weights), FullScatter)
    levels = zip(encoding.categories, encoded[:, width:].T, strict=False)
    return MemberSums(weight, moments, tuple(_count(x, codes, len(of), count, weights) for of, x in levels))


def _count(positions: Array, codes: Codes, levels: int, count: int, weights: Array) -> Array:
    """The weight of each level of a category in each class; (g, L)."""
    known = np.flatnonzero(positions >= 0)
    cells = codes[known] * levels + positions[known].astype(np.intp)
    return sums_by(cells, weights[known], count * levels).reshape(count, -1)


@dataclass(frozen=True, eq=False)
class FoldSums:
    """The sums of each fold, and the transformed rows (n, q); pairs: of all rows."""

    rows: FoldedRows
    encoding: Encoding
    encoded: Array
    moments: FoldStatistics | None
    counts: tuple[Array, ...]
    pairs: PairCounts | None

    @classmethod
    def gather(cls, rows: FoldedRows, encoding: Encoding, pairs: bool = False) -> Self:
        """One pass, which treats each fold and class as a class of its own; not for pairs, which might fill memory."""
        encoded, folds, count = encoding(rows.rows), 1 if pairs else rows.n_folds, rows.count
        rows.deadline.check()
        cells = rows.codes if pairs else rows.folds * count + rows.codes
        sums = _sums(encoding, encoded, cells, folds * count, rows.weights, pairs)
        moments = None
        if sums.moments is not None:
            moments = FoldTally(np.arange(count), sums.moments, np.bincount(rows.folds)).by_fold()
        counts = tuple(of.reshape(folds, count, -1) for of in sums.counts)
        return cls(rows, encoding, encoded, moments, counts, sums.pairs)

    def training(self, fold: int) -> MemberSums:
        """The sums of the rows outside a fold."""
        moments = None if self._training is None else self._training[fold]
        counts = tuple(np.maximum(of.sum(axis=0) - of[fold], 0.0) for of in self.counts)
        return MemberSums(self.rows.training_weight(fold), moments, counts, self._training_pairs(fold))

    def total(self) -> MemberSums:
        """The sums of all rows."""
        moments = None if self.moments is None else self.moments.total()
        counts = tuple(of.sum(axis=0) for of in self.counts)
        return MemberSums(self.rows.class_weight.sum(axis=0), moments, counts, self.pairs)

    @cached_property
    def _training(self) -> list[ClassStatistics] | None:
        return None if self.moments is None else list(self.moments.training())

    def _training_pairs(self, fold: int) -> PairCounts | None:
        """The pairs of all rows minus those of a fold, which are counted again."""
        if self.pairs is None:
            return None
        own, rows = self.rows.held_out[fold], self.rows
        counts = (self.encoded[own], self.pairs.columns, rows.codes[own], rows.count, rows.weights[own])
        weight = self.pairs.weight - gather_pairs(*counts).weight
        return replace(self.pairs, weight=np.maximum(weight, 0.0, out=weight))


@stored("AutoStatistics")
@dataclass(frozen=True, eq=False)
class AutoStatistics:
    """The statistics of a stack: labels (g,); the number of rows; and the sums of each member that learns from sums, by
    name.
    """

    labels: Labels
    rows: int
    sums: dict[str, MemberSums]

    @property
    def weight(self) -> Array:
        """The weight of each class; (g,)."""
        return next(iter(self.sums.values())).weight

    def __add__(self, other: Self) -> Self:
        return self._combined(add, other)

    def __sub__(self, other: Self) -> Self:
        return self._combined(sub, other)

    def _combined(self, combine: Callable[[Any, Any], Any], other: Self) -> Self:
        self._check(other)
        sums = {name: combine(own, other.sums[name]) for name, own in self.sums.items()}
        return type(self)(self.labels, combine(self.rows, other.rows), sums)

    def _check(self, other: Self) -> None:
        if not isinstance(other, AutoStatistics):
            raise StatisticsError(f"Statistics of a stack add to such statistics, not to a {type(other).__name__}.")
        if not np.array_equal(self.labels, other.labels) or self.sums.keys() != other.sums.keys():
            raise StatisticsError("Statistics add up where one stack gathered both; these are of different stacks.")

    def __repr__(self) -> str:
        return f"AutoStatistics({self.rows} rows, {len(self.labels)} classes, {len(self.sums)} members)"
