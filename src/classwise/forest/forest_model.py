"""A fitted forest: the classifier, and what its columns are; made of statistics that hold the counts of leaves."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.classifier.bayes import Calibration, Priors, class_priors
from classwise.classifier.explanation import Explanation
from classwise.classifier.plan import refuse_few_classes
from classwise.densities.blocks import why_constant, why_ignored
from classwise.engines import MemoryEngine
from classwise.errors import ClasswiseError, StatisticsError
from classwise.forest.beliefs import Belief
from classwise.forest.forest import Forest
from classwise.limits import chunk_rows
from classwise.rows.codes import code_labels, is_sorted
from classwise.rows.roles import Chunk, Roles
from classwise.rows.schema import Schema
from classwise.rows.sources import open_source
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics, DiagonalScatter
from classwise.statistics.parts import LEAVES
from classwise.statistics.summaries import summarize_table
from classwise.statistics.trees import LeafCounts, Trees
from classwise.storage import stored


@stored("ForestModel")
@dataclass(frozen=True, eq=False)
class ForestModel:
    """missing (p,): the share without a value; notes: what to know of a column; ends (2, p): rows that others lie
    between: means less and plus three deviations, first and last levels.
    """

    classifier: Forest
    schema: Schema
    missing: Array
    notes: dict[int, str]
    ends: Array

    def _is_sound(self) -> bool:
        width, trees = len(self.schema), self.classifier.trees
        shaped = self.missing.shape == (width,) and self.ends.shape == (2, width) and len(trees.cuts) == width
        known = set(trees.levels) == set(self.schema.levels) and set(self.notes) <= set(range(width))
        return shaped and known and all(map(is_sorted, trees.levels.values()))

    @property
    def levels(self) -> dict[int, Labels]:
        return self.classifier.trees.levels

    def reach(self) -> Array:
        return self.ends

    @classmethod
    def of(
        cls, statistics: ClassStatistics, belief: Belief, calibration: Calibration | None, priors: Priors
    ) -> "ForestModel":
        """What statistics make, given what is to be believed of leaves."""
        counts, seen = leaf_counts(statistics), np.flatnonzero(statistics.weight > 0)
        refuse_few_classes(statistics.labels[seen])
        beliefs = np.zeros((len(counts.trees.column), len(statistics.labels)))
        beliefs[:, seen] = belief.of_nodes(counts.select(seen))
        plain = Forest(statistics.labels, counts.trees, beliefs, calibration)
        missing = statistics.missing_weight()
        uncut = {j: why for j, why in ignored_columns(statistics).items() if not len(counts.trees.cuts[j])}
        return cls(
            with_priors(plain, priors, statistics.weight),
            statistics.schema,
            missing.sum(axis=0) / statistics.weight.sum(),
            {j: f"left out: {why}" for j, why in uncut.items()},
            _ends(statistics, counts.trees.levels),
        )


def leaf_counts(statistics: ClassStatistics) -> LeafCounts:
    """The weight of each class in the leaves of trees."""
    if LEAVES.name not in statistics.gathered:
        raise StatisticsError(
            "These statistics hold no counts of leaves, which a forest needs; gather them with a fitted forest: "
            "m.summarize(X, y)."
        )
    return statistics.part_of(LEAVES)


def is_counted(statistics: ClassStatistics) -> bool:
    """Whether every tree has all rows in its leaves."""
    counts = leaf_counts(statistics)
    by_tree = np.add.reduceat(counts.weight, counts.trees.leaf_starts[:-1], axis=1)
    return np.allclose(by_tree, statistics.weight[:, None], rtol=1e-6)


def count_leaves(trees: Trees, table: Table) -> ClassStatistics:
    """The statistics of a labeled table whose categories are positions among the levels of the trees."""
    table = table.weighted()
    statistics = summarize_table(table, DiagonalScatter)
    assert table.labels is not None
    labels, classes = code_labels(table.labels)
    trees.leaf_starts, trees._walks  # noqa: B018 - made once, before threads need them

    def count(chunk: Table) -> LeafCounts:
        assert chunk.labels is not None
        return LeafCounts.gather(trees, chunk.rows, chunk.labels, len(labels), chunk.weights)

    # A chunk adds as many numbers as there are leaves: it has as many rows as a tree has leaves, at least.
    size = max(chunk_rows(len(table.schema)), trees.n_leaves // len(trees))
    counts = MemoryEngine().gather(count, replace(table, labels=classes), size)
    return statistics.with_part(LEAVES, counts)


@dataclass(frozen=True, eq=False)
class LeafCounting:
    """A chunk of rows to what it adds: small, and sent to the workers. schema, roles: of its columns."""

    trees: Trees
    schema: Schema
    roles: Roles

    def __call__(self, chunk: Chunk) -> ClassStatistics | None:
        counted = chunk.counted(self.roles)
        if not len(counted):
            return None
        labels, codes = counted.coded()
        rows = open_source(counted.frame.select(list(self.roles.features)).to_native())
        return count_leaves(self.trees, rows.read_like(self.schema, self.trees.levels, labels[codes], counted.weights))


def ignored_columns(statistics: ClassStatistics) -> dict[int, str]:
    """Columns that say nothing, and why: they never vary, have no values, or a level for every other row."""
    return why_ignored(statistics, statistics.missing_weight()) | why_constant(statistics.constants())


def with_priors(forest: Forest, priors: Priors, weight: Array) -> Forest:
    """The same where classes are mixed in other shares than those of the rows; weight (g,): of the classes there."""
    if priors is None or (isinstance(priors, str) and priors == "empirical"):
        return replace(forest, shift=None)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.log(seen_priors(priors, forest.labels, weight)) - np.log(weight / weight.sum())
    return replace(forest, shift=np.where(weight > 0, shift, -np.inf))


def seen_priors(priors: Priors, labels: Labels, weight: Array) -> Array:
    """The prior of each class (g,); a class without rows has none, whatever is given."""
    given = class_priors(priors, labels, weight)
    seen = weight > 0
    if not given[seen].any():
        raise ClasswiseError(f"priors={priors!r} leave nothing to the classes that have rows.")
    return np.asarray(np.where(seen, given, 0.0) / given[seen].sum())


def _ends(statistics: ClassStatistics, levels: dict[int, Labels]) -> Array:
    ends = np.zeros((2, len(statistics.schema)))
    whole = statistics.numbers.of_all()
    weight, mean = whole.weight[0], whole.mean[0]
    spread = np.sqrt(whole.scatter.pooled_diagonal() / np.maximum(weight, 1e-300))
    ends[:, statistics.schema.numbers] = np.nan_to_num([mean - 3 * spread, mean + 3 * spread])
    for j, of in levels.items():
        ends[1, j] = max(len(of) - 1, 0)
    return ends


# Why ------------------------------------------------------------------------------------------------------------------


def forest_explanation(model: ForestModel, row: Array, shown: list[Any], first: int, second: int) -> Explanation:
    """Log odds, and what the cuts of each column have to do with them.

    Columns add c_kj to probabilities, from p_k at the roots to q_k. On the straight way from p to q, log probabilities
    rise by c_kj log(q_k / p_k) / (q_k - p_k): these add up too.
    """
    forest = model.classifier
    roots, added = forest.contributions(row)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = forest.power * (_rise(roots[first], added[first]) - _rise(roots[second], added[second]))
        prior = float(forest.power * (np.log(roots[first]) - np.log(roots[second])))
        prior += 0.0 if forest.shift is None else float(forest.shift[first] - forest.shift[second])
    keys, labels = list(model.schema.names or range(len(row))), forest.labels.tolist()
    by_column, values = dict(zip(keys, shares.tolist(), strict=True)), dict(zip(keys, shown, strict=True))
    log_odds = prior + float(shares.sum())
    return Explanation(labels[first], labels[second], log_odds, prior, 0.0, by_column, values)


def _rise(root: float, added: Array) -> Array:
    """How much the logarithm of a probability rises by what columns add to it; (p,)."""
    change = added.sum()
    if root <= 0:
        return np.zeros(len(added))
    # log(1 + t) / t, which is 1 at 0.
    relative = change / root
    return np.asarray(added / root * (np.log1p(relative) / relative if abs(relative) > 1e-12 else 1.0))
