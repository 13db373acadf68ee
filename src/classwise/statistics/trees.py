"""Trees whose cuts are frozen: rows fall into leaves, and the weight of each class in each leaf is a statistic.

A tree cuts one column at a time: a row goes left where x_j <= cut, and right elsewhere. What is believed of a leaf
depends on its counts alone, so that counts of parts of the rows add up to those of all.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels, slices, spread
from classwise.errors import StatisticsError
from classwise.kernels import is_compiled
from classwise.kernels.falls import HIGHEST, Cuts, PackedTrees
from classwise.rows.codes import Coded, is_sorted
from classwise.rows.schema import Column
from classwise.rows.table import Columns, Table
from classwise.statistics.statistic import ROUNDING, Statistic
from classwise.storage import stored

# What stands for no column, at a leaf.
LEAF = -1

# Leaves of this many trees are held at once, four bytes a row and tree.
TREES_AT_ONCE = 16


@stored("Trees")
@dataclass(frozen=True, eq=False)
class Trees:
    """The cuts of several trees. Nodes stand one tree after the other, each with all that is left of it before all
    that is right of it, so that leaves alone determine the shape.

    starts (t + 1,): where the nodes of each tree begin, and the end. column, cut (N,): which column a node cuts, LEAF
    at a leaf, and where, by position among the cuts of that column. cuts: of each column, sorted. means (p,): stand for
    missing numbers. levels: of each category; levels are cut by their positions, and what is missing or was never seen
    comes after the last of them.
    """

    starts: Codes
    column: Codes
    cut: Codes
    cuts: tuple[Array, ...]
    means: Array
    levels: dict[int, Labels]

    @classmethod
    def of(cls, starts: Codes, column: Codes, threshold: Array, means: Array, levels: dict[int, Labels]) -> Self:
        """column, threshold (N,): which column each node cuts, negative at a leaf, and where."""
        cut, cuts = np.zeros(len(column), dtype=np.intp), []
        for j in range(len(means)):
            own = np.flatnonzero(column == j)
            cuts.append(np.unique(threshold[own]))
            cut[own] = np.searchsorted(cuts[j], threshold[own])
        return cls(starts, compact(np.where(column >= 0, column, LEAF)), compact(cut), tuple(cuts), means, levels)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getstate__(self) -> dict[str, Any]:
        """What workers are sent: the rest they make themselves."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def is_like(self, other: "Trees") -> bool:
        """Whether rows fall into the same leaves."""
        if self is other:
            return True
        names = ("starts", "column", "cut", "means")
        same = all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
        same = same and len(self.cuts) == len(other.cuts)
        return same and all(map(np.array_equal, self.cuts, other.cuts)) and _same_levels(self.levels, other.levels)

    def _is_sound(self) -> bool:
        count, width = len(self.column), len(self.cuts)
        if self.starts.ndim != 1 or len(self.starts) < 2 or self.starts[0] != 0 or self.starts[-1] != count:
            return False
        if (np.diff(self.starts.astype(np.intp)) < 1).any() or not self.column.shape == self.cut.shape == (count,):
            return False
        if not (self.means.shape == (width,) and self._has_sound_cuts() and self._ends_well()):
            return False
        column, cut = self.column[self._inner].astype(np.intp), self.cut[self._inner].astype(np.intp)
        if not ((self.column >= LEAF).all() and (column < width).all()):
            return False
        held = np.array([len(values) for values in self.cuts], dtype=np.intp)[column]
        return bool(((cut >= 0) & (cut < held)).all())

    def _ends_well(self) -> bool:
        """Whether every tree ends with its last node, and none before: a leaf is open after the last inner node."""
        tree = np.arange(len(self))
        last = self.starts[1:].astype(np.intp) - 1
        others = np.delete(np.arange(len(self.column)), last)
        return bool((self._open[last] == -tree - 1).all() and (self._open[others] >= -self.tree_of[others]).all())

    @cached_property
    def _open(self) -> Codes:
        """How many more inner nodes than leaves there are up to each node; (N,)."""
        return np.cumsum(np.where(self.column == LEAF, -1, 1), dtype=np.intp)

    def _has_sound_cuts(self) -> bool:
        """Whether cuts rise, and levels are those of columns that there are."""
        rising = all(of.ndim == 1 and np.isfinite(of).all() and (np.diff(of) > 0).all() for of in self.cuts)
        known = all(0 <= j < len(self.cuts) and is_sorted(levels) for j, levels in self.levels.items())
        return rising and known

    @cached_property
    def tree_of(self) -> Codes:
        """The tree of each node; (N,)."""
        return np.repeat(np.arange(len(self)), self.starts[1:] - self.starts[:-1])

    @cached_property
    def _inner(self) -> Codes:
        """The nodes that cut."""
        return np.flatnonzero(self.column != LEAF)

    @cached_property
    def parents_of(self) -> tuple[Codes, Codes, Codes]:
        """Left children, right children and the nodes that they belong to, by position among all nodes.

        The left child follows its parent; the right one follows the first node after which one inner node less is open.
        """
        count, inner = len(self.column), self._inner
        places = (self._open - self._open.min() + 1) * count + np.arange(count)
        before = np.sort(places)
        right = before[np.searchsorted(before, places[inner] - count)] % count + 1
        return inner + 1, right, inner

    @cached_property
    def left(self) -> Codes:
        """The left child of each node, counted from the root of its tree, 0 at leaves; (N,)."""
        return self._counted_from_roots(self.parents_of[0])

    @cached_property
    def right(self) -> Codes:
        """The right child of each node, counted from the root of its tree, 0 at leaves; (N,)."""
        return self._counted_from_roots(self.parents_of[1])

    def _counted_from_roots(self, children: Codes) -> Codes:
        counted = np.zeros(len(self.column), dtype=np.intp)
        counted[self._inner] = children - self.starts[self.tree_of[self._inner]]
        return counted

    @cached_property
    def parent(self) -> Codes:
        """The parent of each node, by position among all; of a root, itself; (N,)."""
        parent = np.arange(len(self.column))
        left, right, inner = self.parents_of
        parent[left], parent[right] = inner, inner
        return parent

    @cached_property
    def by_depth(self) -> list[Codes]:
        """The nodes at each depth, roots first."""
        found: list[Codes] = [self.starts[:-1].astype(np.intp)]
        left, right, inner = self.parents_of
        children = np.full((2, len(self.column)), LEAF)
        children[0, inner], children[1, inner] = left, right
        while True:
            below = children[:, found[-1]].ravel()
            below = np.sort(below[below != LEAF])
            if not len(below):
                return found
            found.append(below)

    @cached_property
    def depth(self) -> Codes:
        """How many cuts stand above each node; (N,)."""
        depth = np.empty(len(self.column), dtype=np.intp)
        for count, nodes in enumerate(self.by_depth):
            depth[nodes] = count
        return depth

    @cached_property
    def leaf_nodes(self) -> Codes:
        """The node that each leaf is; (L,)."""
        return np.flatnonzero(self.column == LEAF)

    @cached_property
    def leaf(self) -> Codes:
        """The number of each leaf among all leaves, LEAF at other nodes; (N,)."""
        leaves = self.column == LEAF
        return np.where(leaves, np.cumsum(leaves) - 1, LEAF)

    @cached_property
    def leaf_starts(self) -> Codes:
        """Where the leaves of each tree begin among all leaves, and the end; (t + 1,)."""
        return np.concatenate([[0], np.cumsum(self.column == LEAF)[self.starts[1:] - 1]]).astype(np.intp)

    @property
    def n_leaves(self) -> int:
        return int(self.leaf_starts[-1])

    # Rows -----------------------------------------------------------------------------------------------------------

    def placed(self, table: Table) -> Table:
        """The same table, its categories as positions among our levels."""
        if not self.levels:
            return table
        assert isinstance(table.source, Columns)
        values = [c.among(self.levels[j]) if isinstance(c, Coded) else c for j, c in enumerate(table.source.values)]
        return replace(table, source=Columns(values), levels=self.levels)

    def codes(self, rows: NDArray[Any]) -> NDArray[np.unsignedinteger[Any]]:
        """How many of its column's cuts each value lies above; (m, p). Rows are as tables make them."""
        fused = self._all_cuts.codes(rows) if self._falls else None
        if fused is not None:
            return fused
        codes = np.empty(rows.shape, dtype=np.uint16 if self._is_small else np.uint32)
        for j, cuts in enumerate(self.cuts):
            values = np.asarray(rows[:, j], dtype=np.float64)
            if j in self.levels:
                values = np.where(values < 0, len(self.levels[j]), values)
            else:
                values = np.where(np.isnan(values), self.means[j], values)
            codes[:, j] = np.searchsorted(cuts, values)
        return codes

    def leaves(self, codes: NDArray[np.unsignedinteger[Any]]) -> Iterator[Codes]:
        """Tree by tree, the leaf that each row falls into, by its number among all leaves; (m,)."""
        if self._falls:
            for group in slices(len(self), TREES_AT_ONCE):
                yield from self._packed.leaves(codes, group.start, group.stop)
            return
        exact = codes.astype(np.float32)
        for start, walk in zip(self.starts[:-1], self._walks, strict=True):
            yield self.leaf[start + walk(exact)]

    def average(self, codes: NDArray[np.unsignedinteger[Any]], table: Array) -> Array:
        """The mean over trees of table[leaf]; codes (m, p), table (L, g) -> (m, g)."""
        if self._falls:
            return self._packed.sums(codes, table) / len(self)
        return mean_of_leaves(self.leaves(codes), table)

    @property
    def _falls(self) -> bool:
        """Whether the compiled kernel takes these trees."""
        return is_compiled() and self._is_small

    @cached_property
    def _is_small(self) -> bool:
        """Whether columns and cuts can be counted in two bytes."""
        return max(len(self.cuts), *map(len, self.cuts)) < HIGHEST

    @cached_property
    def _all_cuts(self) -> Cuts:
        """The cuts as the compiled kernel reads them."""
        is_level = np.isin(np.arange(len(self.cuts)), list(self.levels))
        blanks = [
            float(len(self.levels[j])) if j in self.levels else mean for j, mean in enumerate(self.means.tolist())
        ]
        return Cuts.of(self.cuts, np.array(blanks), is_level)

    @cached_property
    def _packed(self) -> PackedTrees:
        """The nodes as the compiled kernel reads them."""
        right = np.zeros(len(self.column), dtype=np.int32)
        right[self._inner] = self.parents_of[1] - self._inner
        return PackedTrees.of(self.starts, right, self.column, self.cut, self.leaf)

    @cached_property
    def _walks(self) -> list[Callable[[NDArray[np.float32]], Codes]]:
        """The trees as scikit-learn has them, whose loops are compiled; they cut codes, which float32 holds exactly."""
        return [self._walk(slice(*ends)) for ends in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def _walk(self, own: slice) -> Callable[[NDArray[np.float32]], Codes]:
        tree = _empty_tree(len(self.cuts))
        count = own.stop - own.start
        nodes = np.zeros(count, dtype=_node())
        leaves = self.column[own] == LEAF
        nodes["feature"] = np.where(leaves, -2, self.column[own])
        nodes["threshold"] = np.where(leaves, -2.0, self.cut[own])
        nodes["left_child"] = np.where(leaves, -1, self.left[own])
        nodes["right_child"] = np.where(leaves, -1, self.right[own])
        nodes["n_node_samples"], nodes["weighted_n_node_samples"] = 1, 1.0
        values = np.zeros((count, 1, 1))
        tree.__setstate__({"max_depth": count, "node_count": count, "nodes": nodes, "values": values})
        walk: Callable[[NDArray[np.float32]], Codes] = tree.apply
        return walk


def mean_of_leaves(leaves: Iterable[Codes], table: Array) -> Array:
    """The mean over trees of P(k | leaf); leaves (m,): of rows, tree by tree; table (L, g) -> (m, g)."""
    total, count = np.zeros(1), 0
    for of_tree in leaves:
        total, count = total + table.take(of_tree, axis=0), count + 1
    return np.asarray(total / count)


def _empty_tree(columns: int) -> Any:
    """A tree of scikit-learn's, which is imported where one is needed: that takes a while."""
    from sklearn.tree._tree import Tree

    return Tree(columns, np.array([1], dtype=np.intp), 1)


@cache
def _node() -> Any:
    """How scikit-learn keeps a node."""
    return _empty_tree(1).__getstate__()["nodes"].dtype


def _same_levels(some: dict[int, Labels], others: dict[int, Labels]) -> bool:
    return some.keys() == others.keys() and all(some[j].tolist() == others[j].tolist() for j in some)


@stored("LeafCounts")
@dataclass(frozen=True, eq=False)
class LeafCounts(Statistic):
    """The weight of each class in each leaf; (g, L). Whole numbers are held in as few bytes as they need."""

    trees: Trees
    weight: NDArray[np.number[Any]]

    @classmethod
    def gather(cls, trees: Trees, rows: NDArray[Any], classes: Codes, count: int, weights: Array | None) -> Self:
        """Of rows (m, p) whose classes are given (m,), numbers from 0 to count - 1; weights (m,)."""
        return cls(trees, compact(_gathered(trees, trees.codes(rows), classes, count, weights)))

    def __add__(self, other: Self) -> Self:
        self._refuse_unlike(other)
        return replace(self, weight=compact(np.add(self.weight, other.weight, dtype=np.float64)))

    def __sub__(self, other: Self) -> Self:
        self._refuse_unlike(other)
        weight = np.subtract(self.weight, other.weight, dtype=np.float64)
        if (weight < -ROUNDING * float(self.weight.max(initial=0))).any():
            raise StatisticsError("Subtracting leaves a negative count: those rows were never part of this statistic.")
        return replace(self, weight=compact(np.where(weight <= ROUNDING * self.weight, 0.0, weight)))

    def _refuse_unlike(self, other: Self) -> None:
        if not self.trees.is_like(other.trees):
            raise StatisticsError(
                "These counts are of leaves of different trees, and cannot be combined: grow the trees once, and count "
                "all rows in them (partial_fit, or fit_statistics of a fitted forest)."
            )

    def regroup(self, positions: Codes, count: int) -> Self:
        return replace(self, weight=compact(spread(self.weight.astype(np.float64), positions, count)))

    def select(self, kept: Codes) -> Self:
        return replace(self, weight=self.weight[kept])

    def restrict(self, columns: Sequence[int]) -> Self:
        if list(columns) != list(range(len(self.trees.cuts))):
            raise StatisticsError("Trees cut all their columns, and leaves cannot be counted by some of them alone.")
        return self

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        return len(self.weight) == count and len(self.trees.cuts) == len(columns)

    def _is_sound(self) -> bool:
        return self.weight.shape[1:] == (self.trees.n_leaves,) and bool((self.weight >= 0).all())

    @cached_property
    def of_nodes(self) -> Array:
        """The weight of each class at every node, which is that of its leaves; (N, g)."""
        trees = self.trees
        counts = np.zeros((len(trees.column), len(self.weight)))
        leaves = trees.column == LEAF
        counts[leaves] = self.weight.T
        left, right, inner = trees.parents_of
        for depth in trees.by_depth[::-1]:
            places = np.searchsorted(inner, depth[~leaves[depth]])
            counts[inner[places]] = counts[left[places]] + counts[right[places]]
        return counts


def _gathered(
    trees: Trees, codes: NDArray[np.unsignedinteger[Any]], classes: Codes, count: int, weights: Array | None
) -> Array:
    """The weight of each class in each leaf, tree by tree; (g, L)."""
    weight = np.empty((count, trees.n_leaves))
    ends = zip(trees.leaf_starts[:-1], trees.leaf_starts[1:], strict=True)
    for leaves, (start, end) in zip(trees.leaves(codes), ends, strict=True):
        cells = np.multiply(classes, end - start, dtype=np.intp) + (leaves - start)
        weight[:, start:end] = np.bincount(cells, weights, minlength=count * (end - start)).reshape(count, end - start)
    return weight


def compact(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in as few bytes as hold all of them exactly.

    >>> compact(np.array([0.0, 3.0, 250.0])).dtype, compact(np.array([0.5])).dtype
    (dtype('uint8'), dtype('float64'))
    """
    largest = values.max(initial=0)
    if values.dtype.kind == "f" and not (largest < 2**32 and (values == np.floor(values)).all()):
        return values
    least = min(int(values.min(initial=0)), 0)
    return values.astype(np.result_type(np.min_scalar_type(int(largest)), np.min_scalar_type(least)))
