"""Rows fall through trees into leaves: compiled, many rows abreast, with threads of its own.

A tree is a run of nodes. The left child of a node follows it, and the right one stands `right` nodes away. A row goes
right where its code in the node's column is above the cut. At a leaf `right` is 0, and no code is above the cut.

Many rows do not walk through trees of at most 16 leaves: see native/small_trees.inl.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.kernels import Array, native, readable
from classwise.kernels.threads import threads_for

NODE = np.dtype([("right", np.int32), ("column", np.uint16), ("cut", np.uint16)])

# Columns and cuts are counted in two bytes, and the highest cut is that of a leaf.
HIGHEST = 0xFFFF

# A fall is about so many steps: what it takes beside a pass over a number.
STEPS = 16


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """starts (t + 1,): where the nodes of each tree begin, and the end; nodes (N,); numbers (N,): of each leaf."""

    starts: NDArray[np.int64]
    nodes: NDArray[Any]
    numbers: NDArray[np.int32]

    @classmethod
    def of(cls, starts: Any, right: Any, column: Any, cut: Any, leaf: Any) -> "PackedTrees":
        """right: 0 at leaves, where column and cut do not count; leaf: its number, where there is one; (N,) each."""
        nodes, is_leaf = np.empty(len(right), dtype=NODE), right == 0
        nodes["right"], nodes["column"], nodes["cut"] = right, np.where(is_leaf, 0, column), cut
        nodes["cut"][is_leaf] = HIGHEST  # where `cut` may be stored in one byte, which cannot hold it
        return cls(np.asarray(starts, dtype=np.int64), nodes, np.asarray(leaf, dtype=np.int32))

    def leaves(self, codes: NDArray[np.uint16], first: int, last: int) -> NDArray[np.int32]:
        """The leaf that each row falls into, by its number, in trees [first, last); codes (m, p) -> (t, m)."""
        found = np.empty((last - first, len(codes)), dtype=np.int32)
        starts, threads = self.starts[first : last + 1], threads_for(STEPS * found.size)
        native.leaves(np.ascontiguousarray(codes), starts, self.nodes, self.numbers, threads, found)
        return found

    def sums(self, codes: NDArray[np.uint16], table: Array) -> Array:
        """The sum over trees of table[leaf]; codes (m, p), table (L, g) -> (m, g)."""
        sums, threads = np.empty((len(codes), table.shape[1])), threads_for(STEPS * len(codes) * len(self.starts))
        rows, beliefs = np.ascontiguousarray(codes), np.ascontiguousarray(table)
        native.leaf_sums(rows, self.starts, self.nodes, self.numbers, beliefs, threads, sums)
        return sums


@dataclass(frozen=True, eq=False)
class Cuts:
    """values: of all columns, one after the other; starts (p + 1,): where those of each begin; blanks (p,): stand for
    what is missing, NaN in a number, and a negative code in a category (is_level).
    """

    values: Array
    starts: NDArray[np.int64]
    blanks: Array
    is_level: NDArray[np.bool_]

    @classmethod
    def of(cls, cuts: Sequence[Array], blanks: Array, is_level: NDArray[np.bool_]) -> "Cuts":
        starts = np.concatenate([[0], np.cumsum([len(values) for values in cuts])]).astype(np.int64)
        return cls(np.concatenate(cuts), starts, np.ascontiguousarray(blanks), is_level)

    def codes(self, rows: NDArray[Any]) -> NDArray[np.uint16] | None:
        """How many cuts of its column each value lies above; (m, p). None where NumPy has to count."""
        read = readable(rows)
        if read is None:
            return None
        codes = np.empty(rows.shape, dtype=np.uint16)
        threads = threads_for(STEPS * rows.size)
        native.cut_codes(read, self.values, self.starts, self.blanks, self.is_level, threads, codes)
        return codes
