"""Boosted trees as members: each tree corrects the scores of those before it (Friedman 2001).

    log P(k | x) = start_k + sum over trees of value_k(leaf of x),    normalized

A tree moves the scores of all classes at once (of two classes, that of the second), by a step of Newton's method in
each of its leaves. With p_k = P(k | x), a row of class y has slopes g and curvatures h, which are summed over the leaf:

    g_k = p_k - 1(k = y);    h_k = p_k (1 - p_k);    value_k = -RATE sum g_k / (ridge + sum h_k)

Cuts are found by the slopes and the mean curvature of the classes (`classwise.kernels.boosting`).

Trees are boosted without each fold, and predict the rows of the fold after every round. All folds keep the same number
of rounds: that with the least log loss. The member is the mean of the scores of all folds, and so again a sum over
trees; none is grown again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Codes, log_normalize, sums_by
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.forest_members import OfTrees
from classwise.comparison.stack.trained import CrossValidated, Member
from classwise.engines import in_threads
from classwise.errors import ClasswiseError
from classwise.forest.growth import bin_starts
from classwise.kernels.boosting import GrownTree, TreeGrower
from classwise.statistics.trees import Trees
from classwise.storage import stored

# How far a tree moves the scores, and the share of the columns that are drawn for each tree; fewer, where these times
# bins and scores would be more than MOST_CELLS. A tree has at most 16 leaves of at least 5 rows. Columns of numbers
# have at most 255 bins.
RATE = 0.1
COLUMNS, MOST_CELLS = 0.5, 1 << 18
GROWER = TreeGrower(leaves=16, least=5, bins=255, ridge=0.1)

# Boosting goes on by so many rounds at a time, until the best round is that far back, or after MOST_ROUNDS.
PART = 25
MOST_ROUNDS = 300


@stored("BoostedTrees")
@dataclass(frozen=True, eq=False)
class BoostedTrees(OfTrees):
    """values (L, d): what a leaf adds to the score of each class; d is g, or 1 where of two classes the second alone is
    moved; start (g,). In older files a tree belongs to one of the classes (t,), and values (L,) are added to its score.
    """

    trees: Trees
    values: Array
    start: Array
    classes: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def _is_sound(self) -> bool:
        leaves, count = self.trees.n_leaves, len(self.start)
        if self.start.ndim != 1 or count < 2:
            return False
        if self.values.ndim == 2:
            return self.values.shape in ((leaves, count), (leaves, 1)) and (self.values.shape[1] > 1 or count == 2)
        known = bool(((self.classes >= 0) & (self.classes < count)).all())
        return self.values.shape == (leaves,) and self.classes.shape == (len(self.trees),) and known

    @cached_property
    def added(self) -> Array:
        """What each leaf adds to the score of each class; (L, g)."""
        table = np.zeros((len(self.values), len(self.start)))
        if self.values.ndim == 2:
            table[:, -self.values.shape[1] :] = self.values
        else:
            of_leaf = np.repeat(self.classes, np.diff(self.trees.leaf_starts))
            table[np.arange(len(table)), of_leaf] = self.values
        return table

    def log_posterior(self, rows: Array, X: object = None) -> Array:
        return log_normalize(self.scores(rows).T)

    def scores(self, rows: Array) -> Array:
        """(m, p) -> (m, g)."""
        return self.start + len(self.trees) * self.trees.average(self.trees.codes(rows), self.added)


@dataclass(frozen=True, eq=False)
class BoostedColumns:
    """Rows as boosting sees them: each value is the number of cuts of its column that it lies above.

    A level is its position, a missing one comes after the last. A missing number is below all others, so that a cut can
    set it apart; in a column without any it is at the mean. fill (p,): these; cuts: of each column, sorted.
    """

    fill: Array
    levels: dict[int, int]
    cuts: tuple[Array, ...]

    @classmethod
    def of(cls, rows: FoldedRows) -> "BoostedColumns":
        fill = np.zeros(rows.rows.shape[1])
        for j in rows.numbers:
            values = rows.rows[:, j]
            known = values[~np.isnan(values)]
            if len(known) == len(values):
                fill[j] = known.mean()
            elif len(known):
                fill[j] = known.min() - (np.ptp(known) or 1.0)
        fill[list(rows.levels)] = list(rows.levels.values())
        without_cuts = cls(fill, rows.levels, ())
        return cls(fill, rows.levels, tuple(map(_cuts, without_cuts.values(rows.rows).T)))

    def values(self, rows: Array) -> Array:
        """The rows with what stands for missing values; (m, p) -> (m, p)."""
        values = np.where(np.isnan(rows), self.fill, rows)
        for j in self.levels:
            values[:, j] = np.where(rows[:, j] < 0, self.fill[j], rows[:, j])
        return values

    def codes(self, rows: Array) -> NDArray[np.uint8]:
        """(m, p) -> (m, p)."""
        columns = zip(self.cuts, self.values(rows).T, strict=True)
        return np.stack([np.searchsorted(cuts, values) for cuts, values in columns], axis=1).astype(np.uint8)

    def trees(self, grown: Sequence[GrownTree]) -> Trees:
        """Grown trees, so that they cut rows of the table."""
        column = np.concatenate([tree.column for tree in grown])
        cut = np.concatenate([tree.cut for tree in grown])
        starts = np.concatenate([[0], np.cumsum([len(tree.column) for tree in grown])])
        all_cuts = np.concatenate([*self.cuts, [0.0]])
        first = np.concatenate([[0], np.cumsum([len(cuts) for cuts in self.cuts])])
        threshold = all_cuts[np.where(column >= 0, first[column] + cut, -1)]
        levels = {j: np.arange(count) for j, count in self.levels.items()}
        return Trees.of(starts, column, threshold, self.fill, levels)


def _cuts(values: Array) -> Array:
    """Halfway between different values; of many, between bins."""
    distinct, counts = np.unique(values, return_counts=True)
    between = distinct[:-1] + np.diff(distinct) / 2
    return between if len(distinct) <= GROWER.bins else between[bin_starts(counts, GROWER.bins)[1:] - 1]


class BoostedRows(NamedTuple):
    """What boosting reads: the rows of the stack, and their codes (n, p)."""

    rows: FoldedRows
    codes: NDArray[np.uint8]


@dataclass(eq=False)
class FoldBoosting:
    """Boosting on the rows outside a fold. own (m,): these rows; present (c,): the classes that they have; start (d,):
    where scores start; scores (n, d): of all rows; n_columns: how many each tree may cut; room: to grow trees in;
    grown: the tree of each round, and the values of its leaves.
    """

    fold: int
    own: Codes
    present: Codes
    start: Array
    scores: Array
    generator: np.random.Generator
    n_columns: int
    room: Array
    grown: list[tuple[GrownTree, Array]] = field(default_factory=list)

    @classmethod
    def of(cls, rows: FoldedRows, fold: int) -> "FoldBoosting":
        generator = np.random.default_rng([rows.seed, fold])
        own = rows.without(rows.held_out[fold])
        if len(own) > limits.BAGGED_ROWS:
            own = np.sort(generator.choice(own, limits.BAGGED_ROWS, replace=False))
        weight = sums_by(rows.codes[own], rows.weights[own], rows.count)
        present = np.flatnonzero(weight)
        start = np.log(weight[present] / weight.sum())
        start = start[1:] - start[0] if len(present) == 2 else start
        width, cells = rows.rows.shape[1], GROWER.bins * (len(start) + 2)
        drawn = max(min(round(COLUMNS * width), MOST_CELLS // cells), 1)
        scores, room = np.tile(start, (len(rows), 1)), GROWER.room(drawn, len(start))
        return cls(fold, own, present, start, scores, generator, drawn, room)

    def go_on(self, boosted: BoostedRows) -> list[Array]:
        """After each of PART more rounds, log P(k | x) of the held-out rows; (m, c)."""
        rows, scores = boosted.rows, self.scores.shape[1]
        weights, held_out = rows.weights[self.own, None], rows.held_out[self.fold]
        is_own = (rows.codes[self.own, None] == self.present)[:, -scores:]
        found = []
        for _ in range(PART):
            rows.deadline.check()
            posterior = np.exp(self._log_posterior(self.own))[:, -scores:]
            self._grow(boosted.codes, weights * (posterior - is_own), weights * posterior * (1 - posterior))
            found.append(self._log_posterior(held_out))
        return found

    def _log_posterior(self, rows: Codes) -> Array:
        scores = self.scores[rows]
        if scores.shape[1] < len(self.present):
            scores = np.column_stack([np.zeros(len(rows)), scores])
        return log_normalize(scores, 1)

    def _grow(self, codes: NDArray[np.uint8], slopes: Array, curvatures: Array) -> None:
        """One more tree; slopes and curvatures (m, d)."""
        columns = np.sort(self.generator.choice(codes.shape[1], self.n_columns, replace=False))
        tree = GROWER.grow(codes, self.own, slopes, curvatures.mean(axis=1), columns, self.room)
        leaf = tree.leaf[self.own]
        of_leaves = [sums_by(leaf, own, tree.n_leaves) for own in (*slopes.T, *curvatures.T)]
        slope, curvature = np.split(np.array(of_leaves).T, 2, axis=1)
        values = -RATE * slope / (curvature + GROWER.ridge)
        self.scores += values[tree.leaf]
        self.grown.append((tree._replace(leaf=leaf[:0]), values))


@dataclass(frozen=True, eq=False)
class BoostedMember(Member):
    """Boosted trees."""

    name: str

    def suits(self, rows: FoldedRows) -> bool:
        return len(rows) >= limits.FEWEST_BOOSTED_ROWS and rows.count <= limits.MOST_BOOSTED_CLASSES

    def cross(self, rows: FoldedRows) -> CrossValidated:
        columns = BoostedColumns.of(rows)
        folds = [FoldBoosting.of(rows, fold) for fold, _ in rows.each()]
        rounds, logs = _boost(BoostedRows(rows, columns.codes(rows.rows)), folds)
        return CrossValidated(logs, _mean(folds, columns, rounds, rows.count), f"{rounds} rounds")


def _boost(boosted: BoostedRows, folds: list[FoldBoosting]) -> tuple[int, Array]:
    """The best number of rounds, and the out-of-fold log posteriors after them; (n, g)."""
    rows = boosted.rows
    best, logs = 0, np.full((len(rows), rows.count), -np.log(rows.count))
    for done in range(0, MOST_ROUNDS, PART):
        found = [np.full((len(rows), rows.count), -np.inf) for _ in range(PART)]
        for boosting, answers in zip(folds, in_threads(lambda own: own.go_on(boosted), folds), strict=True):
            for of_round, own in zip(found, answers, strict=True):
                of_round[np.ix_(rows.held_out[boosting.fold], boosting.present)] = own
        least = rows.least_lost([logs, *found])
        if not least:
            break
        best, logs = done + least, found[least - 1]
    return best, logs


def _mean(folds: Sequence[FoldBoosting], columns: BoostedColumns, rounds: int, count: int) -> BoostedTrees:
    """The mean of the scores of the folds that have seen all classes."""
    whole = [of for of in folds if len(of.present) == count]
    if not (whole and rounds):
        raise ClasswiseError("No round lowers the log loss, or no training fold has all classes.")
    kept, values = zip(*(grown for of in whole for grown in of.grown[:rounds]), strict=True)
    start = np.zeros(count)
    start[-whole[0].scores.shape[1] :] = np.mean([of.start for of in whole], axis=0)
    return BoostedTrees(columns.trees(kept), np.concatenate(values) / len(whole), start)
