"""What members learn from: sums over encoded rows, that add and subtract."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes, sums_by
from classwise.comparison.stack.columns import Category
from classwise.comparison.stack.encoding import Encoding
from classwise.comparison.stack.study import Study
from classwise.errors import StatisticsError
from classwise.rows.schema import Schema
from classwise.rows.table import Matrix, Table
from classwise.selection import FoldStatistics
from classwise.statistics import ClassStatistics, FullScatter, Named, PairCounts, gather_pairs
from classwise.statistics.chunks import summarize_table
from classwise.storage import stored

# What is left of a weight after as much was taken away.
ROUNDING = 1e-9


@stored("MemberSums")
@dataclass(frozen=True, eq=False)
class Sums:
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

    def __add__(self, other: Self) -> Self:
        return replace(
            self,
            weight=self.weight + other.weight,
            moments=None if self.moments is None or other.moments is None else self.moments + other.moments,
            counts=tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            pairs=None if self.pairs is None or other.pairs is None else self.pairs + other.pairs,
        )

    def __sub__(self, other: Self) -> Self:
        weight = self.weight - other.weight
        if (weight < -ROUNDING * self.weight.max()).any():
            raise StatisticsError("Subtracting leaves a negative weight: those rows were never part of this statistic.")
        return replace(
            self,
            weight=np.where(weight > ROUNDING * self.weight, weight, 0.0),
            moments=None if self.moments is None or other.moments is None else self.moments - other.moments,
            counts=tuple(np.maximum(a - b, 0.0) for a, b in zip(self.counts, other.counts, strict=True)),
            pairs=None if self.pairs is None or other.pairs is None else self.pairs - other.pairs,
        )


def gather_sums(encoding: Encoding, rows: Array, codes: Codes, count: int, weights: Array, pairs: bool = False) -> Sums:
    """The sums of rows (m, p) of a table whose classes are codes (m,)."""
    encoded = encoding(rows)
    weight = sums_by(codes, weights, count)
    if pairs:
        return Sums(weight, pairs=gather_pairs(encoded, places(encoding), codes, count, weights))
    width = encoded.shape[1] - (len(encoding.categories) if encoding.is_plain else 0)
    moments = None
    if width:
        numbers = np.ascontiguousarray(encoded[:, :width])
        table = Table(Matrix(numbers), Schema.of_numbers(width), {}, codes, weights)
        moments = summarize_table(table, FullScatter)
    return Sums(weight, moments, tuple(_count(encoding.categories, encoded[:, width:], codes, count, weights)))


def _count(categories: Sequence[Category], positions: Array, codes: Codes, count: int, weights: Array) -> list[Array]:
    """The weight of each level in each class; (g, L) of each category."""
    counts = []
    for category, column in zip(categories, positions.T, strict=False):
        known = np.flatnonzero(column >= 0)
        cells = codes[known] * len(category) + column[known].astype(np.intp)
        counts.append(sums_by(cells, weights[known], count * len(category)).reshape(count, -1))
    return counts


def places(encoding: Encoding) -> tuple[Named, ...]:
    """The levels of every category, by position."""
    return tuple(Named(np.arange(len(category))) for category in encoding.categories)


@dataclass(frozen=True, eq=False)
class FoldSums:
    """The sums of each fold, and the encoded rows that they are of (n, q); pairs: of all rows."""

    study: Study
    encoded: Array
    moments: FoldStatistics | None
    counts: tuple[Array, ...]
    pairs: PairCounts | None

    @classmethod
    def gather(cls, study: Study, encoding: Encoding, pairs: bool = False) -> Self:
        """One pass: fold and class together are a class like any other."""
        encoded = encoding(study.rows)
        if pairs:
            counted = gather_pairs(encoded, places(encoding), study.codes, study.count, study.weights)
            return cls(study, encoded, None, (), counted)
        cells, count = study.folds * study.count + study.codes, study.n_folds * study.count
        width = encoded.shape[1] - (len(encoding.categories) if encoding.is_plain else 0)
        moments = study.summarize(np.ascontiguousarray(encoded[:, :width])) if width else None
        counts = _count(encoding.categories, encoded[:, width:], cells, count, study.weights)
        return cls(study, encoded, moments, tuple(of.reshape(study.n_folds, study.count, -1) for of in counts), None)

    def training(self, fold: int) -> Sums:
        """Of the rows outside a fold."""
        moments = None if self._training is None else self._training[fold]
        counts = tuple(np.maximum(of.sum(axis=0) - of[fold], 0.0) for of in self.counts)
        return Sums(self.study.training_weight(fold), moments, counts, self._pairs(fold))

    def total(self) -> Sums:
        """Of all rows."""
        moments = None if self.moments is None else self.moments.total()
        counts = tuple(of.sum(axis=0) for of in self.counts)
        return Sums(self.study.class_weight.sum(axis=0), moments, counts, self._pairs(None))

    @cached_property
    def _training(self) -> list[ClassStatistics] | None:
        return None if self.moments is None else list(self.moments.training())

    def _pairs(self, fold: int | None) -> PairCounts | None:
        """Of all rows, less those of a fold, which are counted again: by class and fold they might fill the memory."""
        if self.pairs is None or fold is None:
            return self.pairs
        study, rows = self.study, self.study.held_out[fold]
        counts = (self.encoded[rows], self.pairs.columns, study.codes[rows], study.count, study.weights[rows])
        weight = self.pairs.weight - gather_pairs(*counts).weight
        return replace(self.pairs, weight=np.maximum(weight, 0.0, out=weight))


def log_priors(weight: Array) -> Array:
    """The log of each class's prior, with one more row in each (a uniform Dirichlet prior), -inf if absent; (g,)."""
    counted = np.where(weight > 0, weight + 1, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(counted / counted.sum()))
