"""Rows in groups: sums over each group, with no Python loop over rows."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

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
        return np.bincount(self.codes, self.weights, minlength=self.count).astype(np.float64)

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
        starts, present = self._runs
        ends = np.append(starts[1:], len(values))
        ordered = values.take(self._order, axis=0)  # several times faster than values[order]
        for group, start, end in zip(present.tolist(), starts.tolist(), ends.tolist(), strict=True):
            yield group, ordered[start:end]

    @cached_property
    def _indicator(self) -> Array:
        """(count, m): the weight of row i where it belongs to the group, else 0."""
        belongs = self.codes == np.arange(self.count, dtype=self.codes.dtype)[:, None]
        return belongs.astype(np.float64) if self.weights is None else belongs * self.weights

    @cached_property
    def _order(self) -> Codes:
        return np.argsort(self.codes, kind="stable")

    @cached_property
    def _runs(self) -> tuple[Codes, Codes]:
        """Where each run of equal codes starts among the sorted rows, and its code."""
        ordered = self.codes[self._order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        return starts, ordered[starts]
