"""Growing one boosted tree: the best cut first, on codes of the rows (Friedman 2001; Ke et al. 2017).

A row has the slopes of its loss in all scores that the tree moves, and one curvature for them. With G and H the sums of
slopes and of curvatures over one side of a cut,

    gain = sum over sides of |G|² / (H + ridge)   -   the same of both sides together

The compiled way and the plain one add up in the same order, and find the same tree to the last digit.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise import kernels
from classwise.kernels import Array
from classwise.kernels.scores import contiguous

Positions: TypeAlias = NDArray[np.integer[Any]]


class GrownTree(NamedTuple):
    """column, cut (N,): of the nodes, all that is left of a node before all that is right of it. A row goes left where
    its code is at most the cut; column is -1 at a leaf. leaf (n,): of each row, by number.
    """

    column: NDArray[np.int32]
    cut: NDArray[np.int32]
    leaf: NDArray[np.int32]

    @property
    def n_leaves(self) -> int:
        return (len(self.column) + 1) // 2


@dataclass(frozen=True)
class TreeGrower:
    """leaves: the most that a tree has; least: the fewest rows of a leaf; bins: how many codes there are, at most 256;
    ridge: see above. A cut that gains less than least_gain is not made.
    """

    leaves: int
    least: int
    bins: int
    ridge: float = 1.0
    least_gain: float = 1e-6

    def room(self, columns: int, scores: int) -> Array:
        """Room to grow trees in, that cut at most so many columns and move so many scores; one tree at a time."""
        wanted = 0 if kernels.native is None else self.leaves * columns * self.bins * (scores + 2)
        return np.empty(wanted)

    def grow(
        self,
        codes: NDArray[np.uint8],
        rows: Positions,
        slopes: Array,
        curvatures: Array,
        columns: Positions,
        room: Array | None = None,
    ) -> GrownTree:
        """codes (n, p); rows (m,): those that it learns from, with slopes (m, d) and curvatures (m,); columns (c,):
        those that it may cut; room: to grow it in, made anew if None.
        """
        if kernels.native is None:
            return _PlainGrowth(self, codes, rows, np.column_stack([slopes, curvatures]), columns).grow()
        room = self.room(len(columns), slopes.shape[1]) if room is None else room
        column, cut = (np.empty(2 * self.leaves - 1, dtype=np.int32) for _ in range(2))
        leaf = np.empty(len(codes), dtype=np.int32)
        nodes = kernels.native.grow(
            np.ascontiguousarray(codes), np.ascontiguousarray(rows, np.int32), contiguous(slopes),
            contiguous(curvatures), np.ascontiguousarray(columns, np.int32), self.bins, self.leaves, self.least,
            self.ridge, self.least_gain, room, column, cut, leaf,
        )  # fmt: skip
        return GrownTree(column[:nodes], cut[:nodes], leaf)

    def score(self, sums: Array) -> Any:
        """|G|² / (H + ridge); (..., d + 1) -> (...)."""
        return _squares(sums) / (sums[..., -1] + self.ridge)

    def scores(self, left: Array, right: Array) -> Any:
        """The sum of the scores of both sides, with one division: a / b + c / d = (a d + c b) / (b d)."""
        h, of_others = left[..., -1] + self.ridge, right[..., -1] + self.ridge
        return (_squares(left) * of_others + _squares(right) * h) / (h * of_others)


def _squares(sums: Array) -> Any:
    """|G|², squares added one after the other."""
    squares = 0.0
    for slopes in np.moveaxis(sums[..., :-1], -1, 0):
        squares = squares + slopes * slopes
    return squares


@dataclass(eq=False)
class _Part:
    """The rows of a node, in rising order, and the sums of their slopes and curvatures (d + 1,); its best cut, and what
    that leaves on both sides.
    """

    own: NDArray[np.intp]
    sums: Array
    counts: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    cells: Array = field(default_factory=lambda: np.zeros(0))
    column: int = -1
    cut: int = 0
    gain: float = 0.0
    sides: tuple[Array, Array] | None = None
    children: "tuple[_Part, _Part] | None" = None


@dataclass(frozen=True, eq=False)
class _PlainGrowth:
    """The same in NumPy. slopes (m, d + 1): slopes and curvatures."""

    grower: TreeGrower
    codes: NDArray[np.uint8]
    rows: Positions
    slopes: Array
    columns: Positions

    def grow(self) -> GrownTree:
        root = _Part(np.arange(len(self.rows)), np.cumsum(self.slopes, axis=0)[-1])
        self._fill(root)
        self._find_cut(root)
        parts = [root]
        for leaves in range(1, self.grower.leaves):
            best = max((part for part in parts if part.children is None), key=lambda part: part.gain)
            if best.gain <= self.grower.least_gain:
                break
            parts += self._split(best, is_last=leaves + 1 == self.grower.leaves)
        return self._written(root)

    def _fill(self, part: _Part) -> None:
        """counts (c, bins) and cells (c, bins, d + 1)."""
        bins = self.grower.bins
        codes = self.codes[np.ix_(self.rows[part.own], self.columns)].T
        part.counts = np.array([np.bincount(own, minlength=bins) for own in codes])
        values = self.slopes[part.own].T
        cells = [[np.bincount(own, of, minlength=bins) for of in values] for own in codes]
        part.cells = np.array(cells).transpose(0, 2, 1)

    def _find_cut(self, part: _Part) -> None:
        least = self.grower.least
        # Where there is no row, sums are rounding.
        cells = np.where(part.counts[..., None] > 0, part.cells, 0.0)
        left, counts = np.cumsum(cells, axis=1), np.cumsum(part.counts, axis=1)
        may = (counts >= least) & (counts[:, -1:] - counts >= least) & (part.counts > 0)
        may[:, -1] = False
        if not may.any():
            return
        gain = np.where(may, self.grower.scores(left, part.sums - left), -1.0)
        part.column, part.cut = (int(of) for of in np.unravel_index(int(gain.argmax()), gain.shape))
        own = left[part.column, part.cut]
        part.sides = own, part.sums - own
        part.gain = float(gain.max() - self.grower.score(part.sums))

    def _split(self, part: _Part, is_last: bool) -> tuple[_Part, _Part]:
        assert part.sides is not None
        is_left = self.codes[self.rows[part.own], self.columns[part.column]] <= part.cut
        sides = _Part(part.own[is_left], part.sides[0]), _Part(part.own[~is_left], part.sides[1])
        smaller, larger = sides if len(sides[0].own) <= len(sides[1].own) else sides[::-1]
        part.children = sides
        if not is_last and len(larger.own) >= 2 * self.grower.least:
            self._fill(smaller)
            larger.cells, larger.counts = part.cells - smaller.cells, part.counts - smaller.counts
            self._find_cut(larger)
            if len(smaller.own) >= 2 * self.grower.least:
                self._find_cut(smaller)
        return sides

    def _written(self, root: _Part) -> GrownTree:
        column, cut, leaves = [], [], []
        waiting = [root]
        while waiting:
            part = waiting.pop()
            if part.children is None:
                leaves.append(part)
            else:
                waiting += part.children[::-1]
            column.append(-1 if part.children is None else int(self.columns[part.column]))
            cut.append(0 if part.children is None else part.cut)
        leaf = np.full(len(self.codes), -1, dtype=np.int32)
        found = GrownTree(np.array(column, np.int32), np.array(cut, np.int32), leaf)
        for number, part in enumerate(leaves):
            leaf[self.rows[part.own]] = number
        others = np.flatnonzero(leaf < 0)
        leaf[others] = _fallen(found, self.codes[others])
        return found


def _fallen(tree: GrownTree, codes: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The leaf of each row, by its number; codes (m, p)."""
    found, at, number = np.empty(len(codes), dtype=np.int32), 0, 0
    waiting = [np.arange(len(codes))]
    while waiting:
        own, column = waiting.pop(), tree.column[at]
        if column < 0:
            found[own], number = number, number + 1
        else:
            is_left = codes[own, column] <= tree.cut[at]
            waiting += [own[~is_left], own[is_left]]
        at += 1
    return found
