"""Growing the trees of a forest to their leaves: compiled, or by scikit-learn. Both find the same trees.

A tree cuts numbers of single precision. Columns, cuts and rows are drawn from scikit-learn's generators, in its order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise import kernels
from classwise.kernels import Array

# The seeds of scikit-learn's trees and of their generators are below this.
MOST_SEEDS = np.iinfo(np.int32).max


class ForestTree(NamedTuple):
    """column, threshold (N,): of the nodes, all that is left of a node before all that is right of it. A row goes left
    where its value is at most the threshold; column is negative at a leaf.
    """

    column: NDArray[np.integer[Any]]
    threshold: Array


@dataclass(frozen=True, eq=False)
class ForestRows:
    """values (n, p), classes and weights (n,): of the rows that trees are grown on; count: of classes."""

    values: NDArray[np.float32]
    classes: NDArray[np.integer[Any]]
    weights: Array
    count: int

    @cached_property
    def columns(self) -> NDArray[np.float32]:
        """(p, n)."""
        return np.ascontiguousarray(self.values.T)

    @cached_property
    def codes(self) -> NDArray[np.int32]:
        """The classes as the core reads them."""
        return np.ascontiguousarray(self.classes, np.int32)

    @cached_property
    def ranked(self) -> tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.int64]]:
        """The rank of each value among those of its column (p, n); the values by rank, one column after the other; and
        where those of each column begin (p + 1,).
        """
        ranks, distinct = np.empty(self.columns.shape, dtype=np.uint32), []
        for own, column in zip(ranks, self.columns, strict=True):
            values, own[:] = np.unique(column, return_inverse=True)
            distinct.append(values)
        starts = np.concatenate([[0], np.cumsum([len(values) for values in distinct])]).astype(np.int64)
        return ranks, np.concatenate(distinct), starts


@dataclass(frozen=True)
class ForestGrower:
    """random: whether cuts are drawn, one for each column that a node looks at, on all rows (extremely randomized
    trees); else they are the best there are, on rows drawn with replacement (a random forest). least: the fewest rows
    of a leaf. A node looks at as many columns as the square root of their number.
    """

    random: bool
    least: int

    def prepare(self, rows: ForestRows) -> None:
        """Arrange the rows, so that threads that grow trees at the same time need not each do so."""
        if kernels.native is not None:
            _ = (rows.columns, rows.codes) if self.random else (rows.columns, rows.codes, rows.ranked)

    def grow(self, rows: ForestRows, own: NDArray[np.integer[Any]], count: int, seed: int) -> list[ForestTree]:
        """`count` trees, grown on some of the rows."""
        if not self._is_compiled(rows.weights[own]):
            return self._plainly(rows, own, count, seed)
        generator = np.random.RandomState(seed)
        return [self._tree(rows, own, generator.randint(MOST_SEEDS)) for _ in range(count)]

    def _is_compiled(self, weights: Array) -> bool:
        """Sums of uneven weights are rounded, which may decide between cuts that are equally good. Rows that are drawn
        by their weights are counted.
        """
        return kernels.native is not None and (not self.random or _are_even(weights))

    def _tree(self, rows: ForestRows, own: NDArray[np.integer[Any]], seed: int) -> ForestTree:
        counts = np.zeros(len(rows.values), dtype=np.int32)
        counts[own] = 1 if self.random else _drawn(rows.weights[own], seed)
        column, threshold = np.empty(2 * len(own), dtype=np.int32), np.empty(2 * len(own))
        nodes = kernels.native.grow_forest_tree(
            rows.columns, *((None, None, None) if self.random else rows.ranked), rows.codes, counts, rows.count,
            max(int(np.sqrt(len(rows.columns))), 1), self.least, np.random.RandomState(seed).randint(MOST_SEEDS),
            column, threshold,
        )  # fmt: skip
        return ForestTree(column[:nodes], threshold[:nodes])

    def _plainly(self, rows: ForestRows, own: NDArray[np.integer[Any]], count: int, seed: int) -> list[ForestTree]:
        from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier  # takes a while

        maker = ExtraTreesClassifier if self.random else RandomForestClassifier
        forest = maker(count, min_samples_leaf=self.least, max_features="sqrt", n_jobs=1, random_state=seed)
        weights = rows.weights[own]
        forest.fit(rows.values[own], rows.classes[own], None if _are_even(weights) else weights)
        return list(_nodes(forest))


def _nodes(forest: Any) -> Iterator[ForestTree]:
    for tree in forest.estimators_:
        yield ForestTree(tree.tree_.feature, tree.tree_.threshold)


def _drawn(weights: Array, seed: int) -> NDArray[np.intp]:
    """How often each row is drawn, with replacement, by its weight; (m,)."""
    generator, n = np.random.RandomState(seed), len(weights)
    if _are_even(weights):
        return np.bincount(generator.randint(0, n, n), minlength=n)
    return np.bincount(generator.choice(n, n, p=weights / weights.sum()), minlength=n)


def _are_even(weights: Array) -> bool:
    return bool((weights == weights[0]).all())
