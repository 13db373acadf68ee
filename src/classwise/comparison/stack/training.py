"""The rows that members are tried on: all in memory, each with its class and its fold."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes, Labels, sums_by
from classwise.comparison.stack.encoding import Encoding
from classwise.engines.progress import Deadline
from classwise.rows.schema import Schema
from classwise.rows.table import Matrix, Table
from classwise.selection import FoldStatistics, summarize_folds
from classwise.statistics import FullScatter, Scatter

# So many rows are enough to bend columns by.
ENOUGH_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Study:
    """rows (n, p) with categories as codes; levels: how many each column of levels has; labels (g,); codes, folds and
    weights (n,); places (n,): where the rows stand in the table that they came from; deadline: when all members have to
    be done, which is looked at between folds and passes, and by what takes long inside.
    """

    rows: Array
    levels: dict[int, int]
    labels: Labels
    codes: Codes
    folds: Codes
    weights: Array
    places: Codes
    seed: int = 0
    deadline: Deadline = field(default_factory=Deadline)

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.labels)

    @cached_property
    def n_folds(self) -> int:
        return int(self.folds.max()) + 1

    @cached_property
    def held_out(self) -> tuple[Codes, ...]:
        """The rows of each fold."""
        return tuple(np.flatnonzero(self.folds == fold) for fold in range(self.n_folds))

    @cached_property
    def class_weight(self) -> Array:
        """The weight of each class in each fold; (folds, g)."""
        pairs = self.folds * self.count + self.codes
        return sums_by(pairs, self.weights, self.n_folds * self.count).reshape(self.n_folds, self.count)

    @cached_property
    def telling(self) -> Array:
        """The weight of each row, 0 if no other fold has its class: then it says nothing of a member; (n,)."""
        elsewhere = self.class_weight.sum(axis=0) - self.class_weight > 0
        return self.weights * elsewhere[self.folds, self.codes]

    def training_weight(self, fold: int) -> Array:
        """The weight of each class outside a fold, 0 where rounding left something; (g,)."""
        weight = self.class_weight.sum(axis=0) - self.class_weight[fold]
        return np.where(weight > 1e-9 * self.class_weight.sum(axis=0), weight, 0.0)

    def of_rows(self, rows: Codes, weights: Array) -> Self:
        """Some of the rows; weights (n,): of all."""
        folds = np.unique(self.folds[rows], return_inverse=True)[1]
        return replace(
            self,
            rows=self.rows[rows],
            codes=self.codes[rows],
            folds=folds,
            weights=weights[rows],
            places=self.places[rows],
        )

    @property
    def numbers(self) -> list[int]:
        """The columns of numbers."""
        return [j for j in range(self.rows.shape[1]) if j not in self.levels]

    def bent(self, encoding: Encoding) -> Encoding:
        """With numbers bent as suits some of the rows."""
        self.deadline.check()
        some = np.arange(0, len(self.codes), max(len(self.codes) // ENOUGH_ROWS, 1))
        return encoding.bent(self.rows[some], self.codes[some], self.count, self.weights[some])

    def summarize(self, numbers: Array, form: type[Scatter] = FullScatter) -> FoldStatistics:
        """Statistics by fold of columns of numbers (n, q) made of the rows."""
        self.deadline.check()
        table = Table(Matrix(numbers), Schema.of_numbers(numbers.shape[1]), {}, self.codes, self.weights)
        return summarize_folds(table, np.arange(self.count), self.codes, self.folds, form)

    def blank(self) -> Array:
        """A log probability of zero everywhere; (n, g)."""
        return np.full((len(self.codes), self.count), -np.inf)

    def each(self) -> Iterator[tuple[int, Codes]]:
        """The folds that hold a row, and their rows."""
        for fold, rows in enumerate(self.held_out):
            if len(rows):
                self.deadline.check()
                yield fold, rows
