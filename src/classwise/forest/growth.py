"""Growing trees on numbers in their own units of spread and categories by position (`classwise.kernels.forests`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Codes, Labels
from classwise.engines import in_threads
from classwise.kernels.forests import ForestGrower, ForestRows, ForestTree
from classwise.statistics.trees import Trees

# This many trees are grown in one task.
BLOCK = 10


@dataclass(frozen=True, eq=False)
class GrowthBins:
    """The bins of a column of many numbers. edges (b,): sorted; centers (b + 1,): a number for each bin."""

    edges: Array
    centers: Array

    @classmethod
    def of(cls, values: Array, most: int) -> "GrowthBins | None":
        """At most this many cuts; None where there are few enough different numbers; values (m,): without gaps."""
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) <= most + 1:
            return None
        starts = bin_starts(counts, most + 1)
        ends = np.append(starts[1:], len(distinct))
        return cls(distinct[starts[1:] - 1], (distinct[starts] + distinct[ends - 1]) / 2)


def bin_starts(counts: Codes, most: int) -> Codes:
    """The first value of each of at most so many bins of sorted values that occur so often; (d,) -> (b,).

    A value with the rows of three bins has a bin of its own. The others are in bins that hold about as many rows each.

    >>> bin_starts(np.array([1, 1, 1, 900, 1, 1, 1, 1]), 4)
    array([0, 3, 4])
    """
    is_frequent = counts * most > 3 * counts.sum()
    rare = np.where(is_frequent, 0, counts)
    share = max(most - 2 * np.count_nonzero(is_frequent) - 1, 1) / max(rare.sum(), 1)
    bins = np.floor((np.cumsum(rare) - rare / 2) * share)
    begins = (np.diff(bins) > 0) | is_frequent[1:] | is_frequent[:-1]
    return np.flatnonzero(np.concatenate([[True], begins]))


@dataclass(frozen=True, eq=False)
class Units:
    """Numbers less their means, in units of their standard deviations: float32, which trees are grown in, holds these.

    A category is the position of its level; what is missing, or was never seen, comes after the last. A missing number
    is at the mean. means, scales (p,): 0 and 1 for categories. bins: of the columns that are cut between bins
    alone, so that cuts of many rows take little room, and best cuts little time.
    """

    means: Array
    scales: Array
    levels: Mapping[int, int]
    bins: Mapping[int, GrowthBins] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Array, levels: Mapping[int, int], weights: Array, most_cuts: int | None) -> "Units":
        """rows (n, p) as tables make them; levels: how many each category has; most_cuts: of a column, None for any."""
        means, scales, bins = np.zeros(rows.shape[1]), np.ones(rows.shape[1]), {}
        for j in set(range(rows.shape[1])) - set(levels):
            known = np.flatnonzero(~np.isnan(rows[:, j]))
            if len(known):
                values, of = rows[known, j], weights[known] / weights[known].sum()
                means[j] = of @ values
                away = np.abs(values - means[j]).max()
                scales[j] = away * np.sqrt(of @ ((values - means[j]) / away) ** 2) if away > 0 else 1.0
                between = None if most_cuts is None else GrowthBins.of(values, most_cuts)
                if between is not None:
                    bins[j] = between
        return cls(means, np.where(scales > 0, scales, 1.0), levels, bins)

    def __call__(self, rows: Array) -> NDArray[np.float32]:
        """(m, p) -> (m, p)."""
        values = rows.copy()
        for j, of in self.bins.items():
            values[:, j] = np.where(np.isnan(rows[:, j]), np.nan, of.centers[np.searchsorted(of.edges, rows[:, j])])
        values = (values - self.means) / self.scales
        for j, count in self.levels.items():
            values[:, j] = np.where(rows[:, j] < 0, count, rows[:, j])
        return np.nan_to_num(values, copy=False, nan=0.0).astype(np.float32)

    def trees(self, grown: Sequence[ForestTree], levels: dict[int, Labels], columns: Codes | None = None) -> Trees:
        """Trees that were grown on such numbers, so that they cut rows as tables make them; columns: those that they
        were grown on, if not all.
        """
        column = np.concatenate([tree.column for tree in grown])
        if columns is not None:
            column = np.where(column >= 0, np.append(columns, 0)[column], column)
        threshold = np.concatenate([tree.threshold for tree in grown])
        at = np.maximum(column, 0)  # leaves have no column
        values = self.means[at] + self.scales[at] * threshold
        for j, of in self.bins.items():
            own = np.flatnonzero(column == j)
            values[own] = of.edges[np.searchsorted(of.centers, values[own]) - 1]
        # Random cuts between the same two levels are one cut.
        is_level = np.isin(column, list(levels))
        values[is_level] = np.floor(values[is_level]) + 0.5
        starts = np.concatenate([[0], np.cumsum([len(tree.column) for tree in grown])])
        return Trees.of(starts, column, values, self.means, levels)


@dataclass(frozen=True)
class Growth:
    """How trees are grown. random: whether cuts are drawn by chance, the best of one for each of some columns, on all
    rows (Geurts, Ernst and Wehenkel 2006); else they are the best there are, on rows drawn with replacement (Breiman
    2001). trees: how many; least: rows that a leaf has at least; None: 1, or 2 where cuts are the best and rows are
    many.
    """

    random: bool
    trees: int
    least: int | None = None

    def least_of(self, rows: int) -> int:
        """How many rows a leaf has at least, of this many rows in all."""
        if self.least is not None:
            return self.least
        many = not self.random and rows > limits.MANY_GROWN_ROWS
        return limits.LEAF_ROWS_OF_MANY if many else limits.LEAF_ROWS

    def most_cuts(self, rows: int) -> int | None:
        """How many cuts a column of this many rows has at most; None: it may be cut between any two values."""
        most = limits.MANY_GROWN_ROWS if self.random else limits.BINNED_ROWS
        return limits.MOST_CUTS if rows > most else None

    def by_fold(
        self,
        rows: ForestRows,
        training: Sequence[Codes],
        seed: int,
        step: Callable[[], None] = lambda: None,
    ) -> list[list[ForestTree]]:
        """The trees, in one list for each fold: tree t is grown on training[t mod folds], the rows outside that fold.

        They are grown in blocks, several at a time, and are the same however many at a time. step is called as each
        block is done.
        """
        counts = [max(len(range(fold, self.trees, len(training))), 1) for fold in range(len(training))]
        blocks = [
            TreeBlock(fold, start, min(BLOCK, count - start))
            for fold, count in enumerate(counts)
            for start in range(0, count, BLOCK)
        ]
        ForestGrower(self.random, 1).prepare(rows)
        grown = in_threads(lambda block: self._block(rows, training[block.fold], block, seed), blocks, step)
        found: list[list[ForestTree]] = [[] for _ in training]
        for block, trees in zip(blocks, grown, strict=True):
            found[block.fold] += trees
        return found

    def _block(self, rows: ForestRows, own: Codes, block: "TreeBlock", seed: int) -> list[ForestTree]:
        """The trees of a block, on the rows outside its fold."""
        generator = np.random.default_rng([seed, block.fold, block.start])
        if len(own) > limits.ROWS_OF_TREE:
            own = np.sort(generator.choice(own, limits.ROWS_OF_TREE, replace=False))
        grower = ForestGrower(self.random, self.least_of(len(own)))
        return grower.grow(rows, own, block.size, int(generator.integers(2**31)))


class TreeBlock(NamedTuple):
    """Trees that are grown in one task: the fold that they do not see, the number of the first, and how many."""

    fold: int
    start: int
    size: int
