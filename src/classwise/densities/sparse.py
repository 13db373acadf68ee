"""A density for sparse rows: what all zeros score, once for each class, and what each stored value adds to that.

    relative_k(x) = constant_k + sum over stored x_j of slope_kj x_j + curve_kj x_j²

One sparse product with the slopes, and one of the squares with the curves, where there are any.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.densities.density import ColumnPolynomial, Density, Wrapper
from classwise.errors import ClasswiseError


@dataclass(frozen=True, eq=False)
class OnSparse(Wrapper):
    """The same density, for rows that are a sparse matrix (m, p) of scipy."""

    whole: Density

    @property
    def wrapped(self) -> Density:
        return self.whole

    def relative(self, rows: Any, offset: Array) -> Array:
        constant, slope, curve = self._columns
        scores = rows @ slope
        if curve is not None:
            scores += rows.power(2) @ curve
        scores += constant + offset[:, 0]
        # A word that a class never had, without smoothing: 0 times infinity is not looked at, as zeros are not stored.
        return np.ascontiguousarray(scores.T)

    def common(self, rows: Any) -> Array | float:
        return self.whole.sparse_common(rows)

    def observed(self, rows: Any, offset: Array) -> Array:
        """Sparse rows have no gaps."""
        return self.relative(rows, offset) + self.common(rows)

    @cached_property
    def _columns(self) -> tuple[Array, Array, Array | None]:
        """Constants (g,), slopes and curves as scipy multiplies by them: (p, g), row by row in memory."""
        found = self._polynomial
        curve = None if found.curve is None else np.ascontiguousarray(found.curve.T)
        return found.constant, np.ascontiguousarray(found.slope.T), curve

    @property
    def _polynomial(self) -> ColumnPolynomial:
        found = self.whole.polynomial()
        if found is None:
            raise ClasswiseError(
                f"A density of {type(self.whole).__name__} does not take sparse rows; give X.toarray()."
            )
        return found
