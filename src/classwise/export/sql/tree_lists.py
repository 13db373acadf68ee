"""Rows through trees by lists, in an engine that applies functions to them: a row keeps a number for each tree.

    node    n = 2^b place + column      place: of the left child, which the right one follows; of a leaf, its own
    step    n becomes nodes[place + 1], where the value of the column is above the cut, else nodes[place]

The values of a row end with minus infinity, which stands for the column of a leaf: there the row stays. Cuts are listed
by the places of left children, so that a step takes three lookups. Rows are neither joined nor grouped, and none is
kept for the sake of another.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from classwise.arrays import Array, Codes
from classwise.export.sql.draft import Written
from classwise.export.sql.tables import ENGINES
from classwise.statistics.trees import LEAF, Trees

# After so many steps, trees in which the row is in a leaf are put aside.
STEPS = 8

# Beliefs are written with so many digits.
DIGITS = 12


@dataclass(frozen=True, eq=False)
class TreeLists:
    """beliefs (L, g): of leaves; values: what the columns that trees cut are called; sums: what the sums of the beliefs
    of each class are to be called.
    """

    trees: Trees
    beliefs: Array
    values: dict[int, str]
    sums: list[str]
    is_numbered: ClassVar[bool] = False

    @property
    def reads(self) -> list[str]:
        return [*self.values.values()]

    def steps(self, source: str, kept: Sequence[str], name: str, dialect: str) -> list[Written]:
        """Parts of a query, of which the last has the columns kept of the source, and the sums."""
        lists = self._lists()
        along = ", ".join([*kept, *lists, "tree_row"])
        parts = [
            Written(f"{name}_lists", ENGINES[dialect].lists(lists), materialized=True),
            self._start(source, kept, lists, name),
        ]
        for level in range(STEPS, int(self.trees.depth.max()) + STEPS, STEPS):
            text = f"SELECT {along}, {self._ended()}, {self._moved()} FROM {parts[-1].name}"
            parts.append(Written(f"{name}_{level}", text))
        return [*parts, self._summed(parts[-1].name, kept, name)]

    def _start(self, source: str, kept: Sequence[str], lists: Iterable[str], name: str) -> Written:
        """The values of a row, and the roots of all trees."""
        own = [f"[{', '.join([*self.values.values(), _MINUS_INFINITY])}] AS tree_row", "[] AS tree_ends"]
        roots = f"tree_nodes[1:{len(self.trees)}] AS tree_at"
        return Written(
            f"{name}_0", f"SELECT {', '.join([*kept, *lists, *own, roots])} FROM {source} CROSS JOIN {name}_lists"
        )

    def _ended(self) -> str:
        in_leaf = f"LIST_FILTER(tree_at, LAMBDA n: n & {self._mask} = {self._leaf})"
        return f"LIST_CONCAT(tree_ends, {in_leaf}) AS tree_ends"

    def _moved(self) -> str:
        going = f"LIST_FILTER(tree_at, LAMBDA n: n & {self._mask} < {self._leaf})"
        is_above = f"tree_row[n & {self._mask}] > tree_cuts[n >> {self._bits}]"
        step = f"LAMBDA n, i: tree_nodes[(n >> {self._bits}) + CAST({is_above} AS INTEGER)]"
        return f"LIST_TRANSFORM({going}, LAMBDA root: LIST_REDUCE(RANGE({STEPS}), {step}, root)) AS tree_at"

    def _summed(self, source: str, kept: Sequence[str], name: str) -> Written:
        leaves = "LIST_CONCAT(tree_ends, tree_at)"
        sums = [
            f"LIST_SUM(LIST_TRANSFORM({leaves}, LAMBDA n: tree_leaves{k}[n >> {self._bits}])) AS {of}"
            for k, of in enumerate(self.sums)
        ]
        return Written(name, f"SELECT {', '.join([*kept, *sums])} FROM {source}")

    # The lists --------------------------------------------------------------------------------------------------------

    @property
    def _leaf(self) -> int:
        """What stands for the column of a leaf: columns are counted from 1."""
        return len(self.values) + 1

    @property
    def _bits(self) -> int:
        return self._leaf.bit_length()

    @property
    def _mask(self) -> int:
        return (1 << self._bits) - 1

    def _lists(self) -> dict[str, list[str]]:
        trees, order = self.trees, self._order
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(1, len(order) + 1)
        left, _, inner = trees.parents_of
        next_place, column = place.copy(), np.full(len(order), self._leaf)
        next_place[inner] = place[left]
        column[inner] = 1 + np.searchsorted([*self.values], trees.column[inner])
        beliefs = np.zeros((len(order), len(self.sums)))
        beliefs[place[trees.leaf_nodes] - 1] = self.beliefs
        leaves = {f"tree_leaves{k}": [f"{value:.{DIGITS}g}" for value in of] for k, of in enumerate(beliefs.T.tolist())}
        nodes = ((next_place << self._bits) + column)[order]
        return {"tree_nodes": [*map(str, nodes.tolist())], "tree_cuts": self._cuts(place[left]), **leaves}

    def _cuts(self, places: Codes) -> list[str]:
        """The cut of each inner node, at the place of its left child; (N,)."""
        trees, cuts = self.trees, ["0"] * len(self._order)
        inner = trees.parents_of[2]
        for j, at, place in zip(trees.column[inner], trees.cut[inner], places, strict=True):
            cuts[place - 1] = repr(float(trees.cuts[j][at]))
        return cuts

    @cached_property
    def _order(self) -> Codes:
        """Roots, then their children, and so on; (N,)."""
        left, right, inner = self.trees.parents_of
        children = np.zeros((len(self.trees.column), 2), dtype=np.intp)
        children[inner] = np.stack([left, right], axis=1)
        levels = [self.trees.starts[:-1].astype(np.intp)]
        while len(levels[-1]):
            cut = levels[-1][self.trees.column[levels[-1]] != LEAF]
            levels.append(children[cut].ravel())
        return np.concatenate(levels)


_MINUS_INFINITY = "CAST('-Infinity' AS DOUBLE)"
