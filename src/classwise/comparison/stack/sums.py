"""What members learn from: sums over transformed rows, that add and subtract."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add, sub
from typing import Any, Self

import numpy as np

from classwise.arrays import Array, Codes, Labels, sums_by
from classwise.comparison.stack.training import TrainingRows
from classwise.comparison.stack.transforms import Encoding
from classwise.errors import StatisticsError
from classwise.rows.schema import Schema
from classwise.rows.table import Matrix, Table
from classwise.selection import FoldStatistics, summarize_folds
from classwise.statistics import ClassStatistics, FullScatter, Named, PairCounts, gather_pairs
from classwise.statistics.chunks import summarize_table
from classwise.statistics.statistic import ROUNDING
from classwise.storage import stored


@stored("MemberSums")
@dataclass(frozen=True, eq=False)
class MemberSums:
    """weight (g,): of the classes; moments: of the numbers, by class; counts (g, L) of each category; or, in place of
    both, pairs: how often levels occur together.
    """

    weight: Array
    moments: ClassStatistics | None = None
    counts: tuple[Array, ...] = ()
    pairs: PairCounts | None = None

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
        """The log prior of each class, with one more row in each (a uniform Dirichlet prior), -inf if absent; (g,)."""
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
        )


def gather_sums(
    encoding: Encoding, rows: Array, codes: Codes, count: int, weights: Array, pairs: bool = False
) -> MemberSums:
    """The sums of rows (m, p) of a table whose classes are codes (m,)."""
    encoded, weight = encoding(rows), sums_by(codes, weights, count)
    if pairs:
        return MemberSums(weight, pairs=gather_pairs(encoded, _places(encoding), codes, count, weights))
    numbers = _numbers(encoding, encoded, codes, weights)
    moments = None if numbers is None else summarize_table(numbers, FullScatter)
    return MemberSums(weight, moments, tuple(_count(encoding, encoded, codes, count, weights)))


def _numbers(encoding: Encoding, encoded: Array, codes: Codes, weights: Array) -> Table | None:
    """Transformed rows (m, q) as a table, without the categories; None where nothing else is there."""
    width = encoding.n_continuous
    if not width:
        return None
    return Table(Matrix(np.ascontiguousarray(encoded[:, :width])), Schema.of_numbers(width), {}, codes, weights)


def _count(encoding: Encoding, encoded: Array, codes: Codes, count: int, weights: Array) -> list[Array]:
    """The weight of each level in each class; (g, L) of each category."""
    counts = []
    for category, column in zip(encoding.categories, encoded[:, encoding.n_continuous :].T, strict=False):
        known = np.flatnonzero(column >= 0)
        cells = codes[known] * len(category) + column[known].astype(np.intp)
        counts.append(sums_by(cells, weights[known], count * len(category)).reshape(count, -1))
    return counts


def _places(encoding: Encoding) -> tuple[Named, ...]:
    """The levels of every category, by position."""
    return tuple(Named(np.arange(len(category))) for category in encoding.categories)


@dataclass(frozen=True, eq=False)
class FoldSums:
    """The sums of each fold, and the transformed rows that they are of (n, q); pairs: of all rows."""

    rows: TrainingRows
    encoding: Encoding
    encoded: Array
    moments: FoldStatistics | None
    counts: tuple[Array, ...]
    pairs: PairCounts | None = None

    @classmethod
    def gather(cls, rows: TrainingRows, encoding: Encoding, pairs: bool = False) -> Self:
        """One pass: fold and class together are a class like any other."""
        encoded, codes, count = encoding(rows.rows), rows.codes, rows.count
        if pairs:
            counted = gather_pairs(encoded, _places(encoding), codes, count, rows.weights)
            return cls(rows, encoding, encoded, None, (), counted)
        numbers = _numbers(encoding, encoded, codes, rows.weights)
        if numbers is not None:
            rows.deadline.check()
        labels = np.arange(count)
        moments = None if numbers is None else summarize_folds(numbers, labels, codes, rows.folds, FullScatter)
        counts = _count(encoding, encoded, rows.folds * count + codes, rows.n_folds * count, rows.weights)
        return cls(rows, encoding, encoded, moments, tuple(of.reshape(rows.n_folds, count, -1) for of in counts))

    def training(self, fold: int) -> MemberSums:
        """Of the rows outside a fold."""
        moments = None if self._training is None else self._training[fold]
        counts = tuple(np.maximum(of.sum(axis=0) - of[fold], 0.0) for of in self.counts)
        return MemberSums(self.rows.training_weight(fold), moments, counts, self._training_pairs(fold))

    def total(self) -> MemberSums:
        """Of all rows."""
        moments = None if self.moments is None else self.moments.total()
        counts = tuple(of.sum(axis=0) for of in self.counts)
        return MemberSums(self.rows.class_weight.sum(axis=0), moments, counts, self.pairs)

    @cached_property
    def _training(self) -> list[ClassStatistics] | None:
        return None if self.moments is None else list(self.moments.training())

    def _training_pairs(self, fold: int) -> PairCounts | None:
        """Of all rows, less those of a fold, which are counted again: by class and fold they might fill the memory."""
        if self.pairs is None:
            return None
        own, rows = self.rows.held_out[fold], self.rows
        counts = (self.encoded[own], self.pairs.columns, rows.codes[own], rows.count, rows.weights[own])
        weight = self.pairs.weight - gather_pairs(*counts).weight
        return replace(self.pairs, weight=np.maximum(weight, 0.0, out=weight))


@stored("AutoStatistics")
@dataclass(frozen=True, eq=False)
class AutoStatistics:
    """The statistics of a stack: labels (g,), and what each member that adds up was made of, by name; rows: how many
    there were.
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
