"""Rows in groups: sums over each group, with no Python loop over rows."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, product

# Up to this many groups a product with the indicator matrix is faster than sorting the rows.
FEW = 64


class Groups:
    """m rows that belong to `count` groups, with a weight each.

    codes (m,) in range(count); weights (m,), or None for weight one.

    >>> groups = Groups(np.array([0, 1, 0]), 2)
    >>> groups.sums(np.array([[1.0], [10.0], [2.0]]))
    array([[ 3.],
           [10.]])
    """

    def __init__(self, codes: Codes, count: int, weights: Array | None = None) -> None:
        self.codes = codes
        self.count = count
        self.weights = weights

    def weight(self) -> Array:
        """The sum of weights in each group; (count,)."""
        sizes = self._sizes if self.weights is None else np.bincount(self.codes, self.weights, minlength=self.count)
        return sizes.astype(np.float64)

    def sums(self, values: Array) -> Array:
        """sum of w_i values_i over each group; (m, p) -> (count, p)."""
        if self.count <= FEW:
            return product(self._indicator, values)
        starts, present = self._runs
        totals = np.zeros((self.count, values.shape[1]))
        weighted = values if self.weights is None else values * self.weights[:, None]
        totals[present] = np.add.reduceat(weighted.take(self._order, axis=0), starts, axis=0)
        return totals

    def scaled(self, values: Array) -> Array:
        """The rows times sqrt(w), whose plain products are the weighted products of the rows."""
        return values if self.weights is None else values * np.sqrt(self.weights)[:, None]

    def runs(self, values: Array) -> Iterator[tuple[int, Array]]:
        """Each group present, with its rows."""
        ordered = self.ordered(values)
        for group, run in self.spans():
            yield group, ordered[run]

    def spans(self) -> Iterator[tuple[int, slice]]:
        """Each group present, and where it lies among rows in the order of the groups."""
        starts, present = (found.tolist() for found in self._runs)
        return zip(present, map(slice, starts, [*starts[1:], len(self.codes)]), strict=True)

    def ordered(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rows (m, p), or a column (m,), in the order of the groups."""
        return values.take(self._order, axis=0)  # several times faster than values[order]

    def put_in_order(self, column: NDArray[Any], target: Array) -> None:
        """The same, into target (m,)."""
        if column.dtype == target.dtype:
            # Without range checks, which would make it a copy of a copy: the order is one of positions by construction.
            column.take(self._order, out=target, mode="clip")
        else:
            target[:] = self.ordered(column)

    def ordered_weights(self) -> Array | None:
        """The weights in the order of the groups."""
        return None if self.weights is None else self.ordered(self.weights)

    @cached_property
    def _indicator(self) -> Array:
        """(count, m): the weight of row i where it belongs to the group, else 0."""
        belongs = self.codes == np.arange(self.count, dtype=self.codes.dtype)[:, None]
        return belongs.astype(np.float64) if self.weights is None else belongs * self.weights

    @cached_property
    def _order(self) -> Codes:
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def _sizes(self) -> Codes:
        return np.bincount(self.codes, minlength=self.count)

    @cached_property
    def _runs(self) -> tuple[Codes, Codes]:
        """Where each run of equal codes starts among the sorted rows, and its code."""
        present = np.flatnonzero(self._sizes)
        return (np.cumsum(self._sizes) - self._sizes)[present], present
