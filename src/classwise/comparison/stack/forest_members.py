"""Forests as members: trees grown without a fold, with counts of the other rows, predict the rows of the fold.

So no row takes part in its own prediction. The forest itself has as many trees again, grown on all rows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, sums_by
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.sums import MemberSums
from classwise.comparison.stack.trained import CrossValidated, MadeOfSums, Member, Trained
from classwise.forest.beliefs import BELIEFS, Belief
from classwise.forest.folded_growth import GrowingRows
from classwise.forest.growth import Growth
from classwise.statistics.trees import LeafCounts, Trees
from classwise.storage import stored


class OfTrees(Trained):
    """A member whose trees cut rows of the table as they are."""

    trees: Trees

    def mark_reach(self, places: Array) -> None:
        for j, cuts in enumerate(self.trees.cuts):
            if len(cuts) and j not in self.trees.levels:
                places[:, j] = cuts[[0, len(cuts) // 2, -1]]

    def suits(self, count: int, width: int) -> bool:
        return len(self.trees.cuts) == width and super().suits(count, width)


class Forest(OfTrees):
    """trees; beliefs (L, g): P(k | leaf)."""

    beliefs: Array

    def log_posterior(self, rows: Array, X: object = None) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.trees.average(self.trees.codes(rows), self.beliefs)).T


@stored("ForestMember")
@dataclass(frozen=True, eq=False)
class TrainedForest(MadeOfSums, Forest):
    """A forest with the counts in its leaves (sums), and the belief that turns them into probabilities."""

    belief: Belief
    sums: MemberSums

    @property
    def counts(self) -> LeafCounts:
        assert self.sums.leaves is not None
        return self.sums.leaves

    @property
    def trees(self) -> Trees:  # type: ignore[override]  # an attribute, which the counts have
        return self.counts.trees

    @cached_property
    def beliefs(self) -> Array:  # type: ignore[override]  # an attribute, made when it is first asked for
        return self.belief.of_leaves(self.counts)

    def summarize(self, rows: Array, codes: Codes, count: int, weights: Array) -> MemberSums:
        leaves = LeafCounts.gather(self.trees, rows, codes, count, weights)
        return MemberSums(sums_by(codes, weights, count), leaves=leaves)

    def _outline(self) -> "FixedForest":
        """The same without the sums."""
        return FixedForest(self.trees, self.beliefs)


@stored("FixedForest")
@dataclass(frozen=True, eq=False)
class FixedForest(Forest):
    """A forest without counts, which cannot learn further."""

    trees: Trees
    beliefs: Array

    def _is_sound(self) -> bool:
        shaped = self.beliefs.ndim == 2 and len(self.beliefs) == self.trees.n_leaves
        return shaped and bool((self.beliefs >= 0).all()) and np.allclose(self.beliefs.sum(axis=1), 1, atol=1e-6)


@dataclass(frozen=True, eq=False)
class ForestMember(Member):
    """random: whether cuts are drawn at random; trees: their number, None for the default; least: as in `Growth`."""

    is_flat: ClassVar[bool] = True

    name: str
    random: bool
    trees: int | None = None
    least: int | None = None

    def cross(self, rows: FoldedRows) -> CrossValidated:
        levels = {j: np.arange(count) for j, count in rows.levels.items()}
        parts = (rows.codes, rows.count, rows.weights)
        grown = GrowingRows(rows.rows, levels, *parts, rows.folds, rows.seed).grow(
            Growth(self.random, self.trees or limits.STACK_TREES, self.least), BELIEFS, rows.deadline.check
        )
        best = list(BELIEFS)[rows.least_lost(list(grown.logs.values()))]
        sums = MemberSums(rows.class_weight.sum(axis=0), leaves=LeafCounts.gather(grown.trees, rows.rows, *parts))
        return CrossValidated(grown.logs[best], TrainedForest(BELIEFS[best], sums), best)
