"""The cross-validated log loss of any set of columns, from statistics by fold: a set restricts the same sums.

Where the model of some columns is the model of all of them, restricted, sets are scored one column after another
(column_chain). Any other model is made of the restricted statistics of every fold.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np

from classwise.arrays import Array
from classwise.classifier.plan import Plan
from classwise.engines import in_threads
from classwise.engines.progress import progress
from classwise.selection.column_chain import ColumnChain, ScoredRows
from classwise.selection.column_recipe import ChainRecipe
from classwise.selection.crossing import PROBLEMS, Crossing
from classwise.selection.path import BLOCK_OF_SCORES

# This many of the first columns are decided on before threads share the rest of all sets.
FIRST = 5


class ColumnMoves(ABC):
    """A set of columns, and the columns that may be added to it, or taken away."""

    columns: tuple[int, ...]

    @abstractmethod
    def losses(self) -> Array:
        """The losses by fold after each move; (moves, F), NaN where the model cannot be fitted."""

    @abstractmethod
    def after(self, i: int) -> Self:
        """The set after the i-th move."""


class ColumnScores(ABC):
    """columns: those that sets are made of; weight (F,): of the held-out rows of each fold that say something."""

    columns: tuple[int, ...]
    weight: Array

    @abstractmethod
    def adding(self) -> ColumnMoves:
        """From no column on."""

    @abstractmethod
    def removing(self) -> ColumnMoves:
        """From all columns on."""

    @abstractmethod
    def by_fold(self, columns: Sequence[int]) -> Array:
        """The losses of one set, summed by fold; (F,), NaN where the model cannot be fitted."""

    @abstractmethod
    def every(self, most: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """All sets of one to `most` columns that can be fitted, each with the sum of its losses."""


def column_scores(plan: Plan, crossing: Crossing, columns: Sequence[int]) -> ColumnScores:
    """The quick way where there is one; plan: with nothing left to choose, for columns as the crossing reads them."""
    chained = ChainRecipe.of(plan, crossing, columns)
    if chained is None:
        return Refitted(plan, crossing, tuple(columns))
    return Chained(chained.chain())


# One column after another ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChainMoves(ColumnMoves):
    """One set of a chain."""

    chain: ColumnChain

    @property
    def columns(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.chain.columns

    def losses(self) -> Array:
        moved = (self.chain.moved(i)[0] for i in range(len(self.columns)))
        return np.array([self.chain.rows.by_fold(log_joint) for log_joint in moved])

    def after(self, i: int) -> "ChainMoves":
        return ChainMoves(self.chain.after(i))


@dataclass(frozen=True, eq=False)
class Chained(ColumnScores):
    """empty: the chain that begins with the set of no columns."""

    empty: ColumnChain

    @property
    def columns(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.empty.columns

    @property
    def weight(self) -> Array:  # type: ignore[override]
        return self.empty.rows.weight

    def adding(self) -> ChainMoves:
        return ChainMoves(self.empty)

    def removing(self) -> ChainMoves:
        return ChainMoves(self.empty.reversed())

    def by_fold(self, columns: Sequence[int]) -> Array:
        chain = self.empty
        for column in columns:
            chain = chain.after(chain.columns.index(column))
        return chain.rows.by_fold(chain.log_joint[0])

    def every(self, most: int) -> Iterator[tuple[tuple[int, ...], float]]:
        branches = [_Branch((), self.empty)]
        for _ in range(min(FIRST, len(self.columns) - 1)):
            branches = [grown for branch in branches for grown in branch.grown(most)]
        with progress("All sets of columns", len(branches)) as bar:
            found = in_threads(lambda branch: list(branch.losses(most)), branches, bar.step)
        for branch in found:
            for columns, losses in branch:
                yield from ((s, loss) for s, loss in zip(columns, losses, strict=True) if s and loss == loss)


@dataclass(frozen=True, eq=False)
class _Branch:
    """All sets that hold the columns `chosen` and any of those that a chain may still add."""

    chosen: tuple[int, ...]
    chain: ColumnChain

    def grown(self, most: int) -> list["_Branch"]:
        """Without the next column, and with it."""
        without = _Branch(self.chosen, self.chain.frozen(0))
        if len(self.chosen) == most:
            return [without]
        return [without, _Branch((*self.chosen, self.chain.columns[0]), self.chain.after(0))]

    def losses(self, most: int) -> Iterator[tuple[list[tuple[int, ...]], list[float]]]:
        """Sets and the sums of their losses, as many at a time as stay in a core's cache."""
        rows, left = self.chain.rows, self.chain.columns
        if len(self.chosen) == most:
            yield [self.chosen], rows.totals(self.chain.log_joint).tolist()
        elif 1 << len(left) > max(BLOCK_OF_SCORES // (rows.classes * len(rows)), 2):
            for branch in self.grown(most):
                yield from branch.losses(most)
        else:
            chain, sets = self.chain, [self.chosen]
            while chain.columns:
                sets += [(*s, chain.columns[0]) for s in sets]
                chain = chain.doubled()
            kept = [i for i, s in enumerate(sets) if len(s) <= most]
            totals = rows.totals(chain.log_joint)
            yield [sets[i] for i in kept], totals[kept].tolist()


# One model after another ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Refitted(ColumnScores):
    """A model for every set and fold, of restricted statistics."""

    plan: Plan
    crossing: Crossing
    columns: tuple[int, ...]

    @cached_property
    def rows(self) -> ScoredRows:
        crossing = self.crossing
        return ScoredRows(
            crossing.codes, crossing.folds, crossing.scored_weights, len(crossing), len(crossing.labels), True
        )

    @property
    def weight(self) -> Array:  # type: ignore[override]
        return self.rows.weight

    def adding(self) -> "RefitMoves":
        return RefitMoves(self, (), self.columns, 1)

    def removing(self) -> "RefitMoves":
        return RefitMoves(self, self.columns, self.columns, -1)

    def by_fold(self, columns: Sequence[int]) -> Array:
        if not columns:
            return self.rows.by_fold(np.take_along_axis(self._shares(), self.rows.slots, axis=0))
        part = self.crossing.restrict(list(columns))
        try:
            (log_posterior,) = part.log_posteriors([self.plan])
        except PROBLEMS:
            return np.full(len(self.crossing), np.nan)
        return self.rows.by_fold(np.take_along_axis(log_posterior.T, self.rows.slots, axis=0))

    def _shares(self) -> Array:
        """The log priors of each row's fold; (g, n)."""
        logs = self.crossing.blank()
        for fold in self.crossing.each():
            with np.errstate(divide="ignore"):
                priors = np.log(self.plan.class_priors(fold.training))
            logs[fold.rows] = fold.spread(fold.training.labels, np.tile(priors, (len(fold.rows), 1)))
        return logs.T

    def every(self, most: int) -> Iterator[tuple[tuple[int, ...], float]]:
        sets = [s for size in range(1, most + 1) for s in combinations(self.columns, size)]
        with progress("All sets of columns", len(sets)) as bar:
            losses = in_threads(lambda s: float(self.by_fold(s).sum()), sets, bar.step)
        yield from ((s, loss) for s, loss in zip(sets, losses, strict=True) if loss == loss)


@dataclass(frozen=True, eq=False)
class RefitMoves(ColumnMoves):
    """chosen: the set; columns: those that may be moved; sign: 1 to add them, -1 to take them away."""

    scores: Refitted
    chosen: tuple[int, ...]
    columns: tuple[int, ...]
    sign: int

    def losses(self) -> Array:
        moved = [self._moved(column) for column in self.columns]
        return np.array(in_threads(self.scores.by_fold, moved))

    def _moved(self, column: int) -> tuple[int, ...]:
        if self.sign > 0:
            return (*self.chosen, column)
        return tuple(j for j in self.chosen if j != column)

    def after(self, i: int) -> "RefitMoves":
        columns = self.columns[:i] + self.columns[i + 1 :]
        return RefitMoves(self.scores, self._moved(self.columns[i]), columns, self.sign)
