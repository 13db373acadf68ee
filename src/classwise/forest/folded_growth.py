"""Trees that are each grown without one fold, whose rows they then answer for; and trees of all rows, which stay.

Tree t of the first does not see fold t mod K. The rows of a fold are answered by the trees that have not seen it, with
counts of the other folds, so that no row answers for itself; which belief suits the rows, and which temperature,
follows from that. As many trees again, grown by all rows, are the forest: on real tables their log loss is a few
percent less than that of the first ones with counts of all rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Codes, Labels, sums_by
from classwise.classifier.plan import refuse_underflow
from classwise.densities.blocks import refuse_silent
from classwise.engines import in_threads
from classwise.forest.beliefs import Belief
from classwise.forest.forest_model import ignored_columns
from classwise.forest.growth import Growth, Units
from classwise.kernels.forests import ForestRows
from classwise.rows.codes import Coded, code_labels
from classwise.rows.sampling import ranks_of_rows
from classwise.rows.table import Columns, Table
from classwise.selection.folds import assign_folds, no_more_than
from classwise.selection.temperature import OutOfFold
from classwise.statistics import DiagonalScatter
from classwise.statistics.summaries import summarize_table
from classwise.statistics.trees import LeafCounts, Trees, mean_of_leaves

# Of more folds than this several are held out together, so that enough trees answer for each.
MOST_PARTS = 5


@dataclass(frozen=True, eq=False)
class GrowingRows:
    """rows (n, p) as tables make them; levels: of each category; codes, folds and weights (n,); count: of classes.

    silent: columns that are not to be cut.
    """

    rows: Array
    levels: dict[int, Labels]
    codes: Codes
    count: int
    weights: Array
    folds: Codes
    seed: int
    silent: Sequence[int] = ()

    def grow(self, growth: Growth, beliefs: Mapping[str, Belief], step: Callable[[], None] = lambda: None) -> "Grown":
        """Trees, and what they say of held-out rows, by what may be believed of a leaf. step is called now and then."""
        levels = {j: len(of) for j, of in self.levels.items()}
        units = Units.of(self.rows, levels, self.weights, growth.most_cuts(len(self.rows)))
        values = units(self.rows)
        # Columns are drawn by chance among those that vary: others would only take their turns.
        varies = np.ptp(values, axis=0) > 0
        varies[list(self.silent)] = False
        kept = np.flatnonzero(varies)
        values = values[:, kept] if len(kept) else np.zeros((len(values), 1), dtype=np.float32)
        parts = np.unique(self.folds, return_inverse=True)[1] % MOST_PARTS
        held_out = [np.flatnonzero(parts == part) for part in np.unique(parts)][: growth.trees if beliefs else 0]
        training = [np.setdiff1d(np.arange(len(self.codes)), own, assume_unique=True) for own in held_out]
        rows = ForestRows(values, self.codes, self.weights, self.count)
        grown = growth.by_fold(rows, training, self.seed, step)
        logs = {name: np.full((len(self.codes), self.count), np.nan) for name in beliefs}

        def answer(fold: int) -> None:
            trees = units.trees(grown[fold], self.levels, kept)
            self._answer(trees, training[fold], held_out[fold], beliefs, logs)

        in_threads(answer, range(len(grown)), step)
        everything = np.arange(len(self.codes))
        (whole,) = growth.by_fold(rows, [everything], self.seed, step)
        return Grown(units.trees(whole, self.levels, kept), logs, self)

    def _answer(
        self, trees: Trees, others: Codes, own: Codes, beliefs: Mapping[str, Belief], logs: dict[str, Array]
    ) -> None:
        """Write what trees that saw the others alone, and count these alone, say of held-out rows; folds have no row in
        common, so that several may write at a time.
        """
        counts = self._counts(trees, others)
        seen = np.flatnonzero(counts.weight.any(axis=1))
        leaves = list(trees.leaves(trees.codes(self.rows[own])))
        for name, belief in beliefs.items():
            logs[name][own] = -np.inf
            with np.errstate(divide="ignore"):
                logs[name][np.ix_(own, seen)] = np.log(mean_of_leaves(leaves, belief.of_leaves(counts.select(seen))))

    def _counts(self, trees: Trees, own: Codes) -> LeafCounts:
        return LeafCounts.gather(trees, self.rows[own], self.codes[own], self.count, self.weights[own])

    def out_of_fold(self, logs: Array) -> OutOfFold:
        """Of the rows that were answered, and whose class the other folds have."""
        kept = np.flatnonzero(np.isfinite(logs[np.arange(len(logs)), self.codes]))
        return OutOfFold(logs[kept], self.codes[kept], self.folds[kept], self.weights[kept])


@dataclass(frozen=True, eq=False)
class Grown:
    """Trees; and log posteriors (n, g) of the rows that they are grown by, each held out, by belief."""

    trees: Trees
    logs: dict[str, Array]
    rows: GrowingRows

    @cached_property
    def out_of_fold(self) -> dict[str, OutOfFold]:
        return {name: self.rows.out_of_fold(of) for name, of in self.logs.items()}

    def powers(self) -> dict[str, float]:
        """The temperature that suits held-out rows, as a power, by belief."""
        return {name: of.fit().power if len(of.codes) else 1.0 for name, of in self.out_of_fold.items()}

    def losses(self, powers: Mapping[str, float]) -> dict[str, float]:
        """The log loss of held-out rows, by belief; 0 where no row could be held out."""
        return {name: _loss(of, powers.get(name, 1.0)) for name, of in self.out_of_fold.items()}


@dataclass(frozen=True, eq=False)
class ForestPlan:
    """The options, read. random, trees: of `Growth`; least: rows of a leaf, None by their number; beliefs: those that
    held-out rows decide between, none where nothing is to be decided; folds: how rows are held out.
    """

    random: bool
    trees: int
    least: int | None
    beliefs: Mapping[str, Belief]
    folds: Any
    seed: int

    def grow(self, table: Table, groups: Any, counted: NDArray[np.bool_]) -> "Grown":
        """From a table of labeled rows, all of which have some weight; groups: of all rows (n,), counted (n,): which
        of these are the rows of the table.
        """
        statistics = summarize_table(table, DiagonalScatter)
        refuse_underflow(statistics)
        silent = ignored_columns(statistics)
        if len(silent) == len(table.schema):
            refuse_silent(statistics)
        assert table.labels is not None
        labels, codes = code_labels(table.labels)
        weights = np.ones(len(codes)) if table.weights is None else table.weights
        folds = assign_folds(no_more_than(self.folds, len(codes)), codes, groups, self.seed, counted)
        growth = Growth(self.random, self.trees, self.least)
        matrix = np.asarray(table.rows, dtype=np.float64)
        rows = GrowingRows(matrix, table.levels, codes, len(labels), weights, folds, self.seed, list(silent))
        return rows.grow(growth, self.beliefs)


def with_seen_levels(table: Table) -> Table:
    """The same table, its categories with the levels that its rows have."""
    if not table.levels:
        return table
    assert isinstance(table.source, Columns)
    values, levels = list(table.source.values), dict(table.levels)
    for j, names in table.levels.items():
        seen, column = np.unique(table.codes(j)), values[j]
        assert isinstance(column, Coded)
        levels[j] = names[seen[seen < len(names)]]
        values[j] = column.among(levels[j])
    return replace(table, source=Columns(values), levels=levels)


def _loss(of: OutOfFold, power: float) -> float:
    return float(of.slopes(np.log(power)).loss.sum() / of.weights.sum()) if len(of.codes) else 0.0


def drawn_to_grow(codes: Codes, weights: Array, seed: int) -> tuple[Codes, Array]:
    """Which of the rows with these classes trees are grown by (m,), and what these weigh: as `Rows.sample` draws them,
    so that the same rows grow the same trees wherever they are.
    """
    if len(codes) <= limits.GROWN_ROWS:
        return np.arange(len(codes)), weights
    kept = np.sort(np.argsort(ranks_of_rows(np.arange(len(codes)), seed), kind="stable")[: limits.GROWN_ROWS])
    count = int(codes.max()) + 1
    total, drawn = sums_by(codes, weights, count), sums_by(codes[kept], weights[kept], count)
    shares = (total / np.where(drawn > 0, drawn, 1.0))[codes[kept]]
    return kept, weights[kept] * shares * (len(kept) / (shares @ weights[kept]))
