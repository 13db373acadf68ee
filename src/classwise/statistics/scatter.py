"""Scatter S = sum w (x - m)(x - m)', in the three forms that models need.

A model gathers the leanest form that serves it; a fuller form can stand in for a leaner one. Products are summed over
rows in groups, with no Python loop over rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, product, spread
from classwise.errors import StatisticsError
from classwise.storage import stored

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


@dataclass(frozen=True, eq=False)
class Scatter(ABC):
    """A scatter by class, centered on each class's own mean, unnormalized."""

    values: Array
    name: ClassVar[str]

    @staticmethod
    @abstractmethod
    def shape(count: int, features: int) -> tuple[int, ...]:
        """The shape of the values for `count` classes."""

    @staticmethod
    @abstractmethod
    def accumulate(products: Array, residuals: Array, groups: Groups) -> None:
        """Add the products w r r' of the residuals to `products`, in this form."""

    @classmethod
    @abstractmethod
    def between(cls, weight: Array, difference: Array) -> Self:
        """weight_k d_k d_k' for each class: what moving the means by d adds; weight (g, 1) or (g, p), d (g, p)."""

    def regroup(self, positions: Codes, count: int) -> Self:
        """The same classes at new positions among `count`, the others empty."""
        return type(self)(spread(self.values, positions, count))

    def select(self, kept: Codes) -> Self:
        """Only the classes at these positions."""
        return type(self)(self.values[kept])

    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        """Only these features."""
        return type(self)(self.values[..., columns, :][..., :, columns])

    def among(self, places: Sequence[int], features: int) -> Self:
        """The same features at these places among `features`, the others without scatter; full and pooled."""
        values = np.zeros((*self.values.shape[:-2], features, features))
        values[..., np.array(places)[:, None], places] = self.values
        return type(self)(values)

    @abstractmethod
    def cleared(self, empty: NDArray[np.bool_]) -> Self:
        """Nothing where nothing is left; empty (g, 1) or (g, p)."""

    @abstractmethod
    def pooled_diagonal(self) -> Array:
        """The within-class sum of squares of each feature over all classes; (p,)."""

    def varies(self, noise: Array) -> NDArray[np.bool_]:
        """Which sums of squares are beyond `noise` (g, p): by class (g, p), or if pooled, of all classes (p,)."""
        return self.diagonals() > noise

    def all_beyond(self, noise: Array) -> bool:
        """Whether all sums of squares are beyond `noise` (g, p)."""
        varies = self.varies(noise)
        return np.count_nonzero(varies) == varies.size

    @abstractmethod
    def denoised(self, noise: Array) -> Self:
        """The features whose sum of squares is within `noise` (g, p) set to constant."""

    def scaled(self, scale: Array) -> Self:
        """The scatter of the rows times `scale` (p,)."""
        return type(self)(self.values * np.outer(scale, scale))

    def lowest(self) -> float:
        """The smallest eigenvalue: negative where this is no scatter of any rows."""
        try:
            return float(np.linalg.eigvalsh(self.values).min(initial=0.0))
        except np.linalg.LinAlgError:  # numbers so large that there is none
            return -np.inf

    def is_positive(self) -> bool:
        """Whether this is a scatter of any rows, up to a millionth; in units of the features' deviations.

        As `lowest`, for a tenth of the work.
        """
        try:
            np.linalg.cholesky(self.values + 1e-6 * np.eye(self.values.shape[-1]))
        except np.linalg.LinAlgError:
            return False
        return np.allclose(self.values, np.swapaxes(self.values, -1, -2), atol=1e-6)

    def by_class(self) -> Array:
        """One matrix per class; (g, p, p)."""
        raise self._lacks("one scatter matrix per class", "full")

    def pooled(self) -> Array:
        """The sum over classes; (p, p)."""
        raise self._lacks("the pooled scatter matrix", "pooled")

    def diagonals(self) -> Array:
        """The within-class sum of squares of each feature, by class; (g, p)."""
        raise self._lacks("one diagonal per class", "diagonal")

    @classmethod
    def empty(cls, count: int, features: int) -> Self:
        return cls(np.zeros(cls.shape(count, features)))

    def __add__(self, other: Self) -> Self:
        self._check_same_form(other)
        return type(self)(self.values + other.values)

    def __sub__(self, other: Self) -> Self:
        self._check_same_form(other)
        return type(self)(self.values - other.values)

    def _check_same_form(self, other: "Scatter") -> None:
        if type(self) is not type(other):
            raise StatisticsError(
                f"A statistic with {self.name} scatter and one with {other.name} scatter cannot be combined; "
                "gather both with the same scatter=."
            )

    def _lacks(self, what: str, scatter: str) -> StatisticsError:
        return StatisticsError(
            f"This model needs {what}, and the statistic holds {self.name} scatter; "
            f'gather it with summarize(X, y, scatter="{scatter}").'
        )


@stored("FullScatter")
class FullScatter(Scatter):
    """One matrix per class; values (g, p, p)."""

    name = "full"

    @staticmethod
    def shape(count: int, features: int) -> tuple[int, ...]:
        return (count, features, features)

    @staticmethod
    def accumulate(products: Array, residuals: Array, groups: Groups) -> None:
        for group, rows in groups.runs(groups.scaled(residuals)):
            products[group] += product(rows.T, rows)

    @classmethod
    def between(cls, weight: Array, difference: Array) -> Self:
        return cls((weight * difference)[:, :, None] * difference[:, None, :])

    def cleared(self, empty: NDArray[np.bool_]) -> Self:
        return type(self)(np.where(np.all(empty, axis=1)[:, None, None], 0.0, self.values))

    def by_class(self) -> Array:
        return self.values

    def pooled(self) -> Array:
        return np.asarray(self.values.sum(axis=0))

    def diagonals(self) -> Array:
        return self.values.diagonal(axis1=1, axis2=2)

    def pooled_diagonal(self) -> Array:
        return np.asarray(self.diagonals().sum(axis=0))

    def denoised(self, noise: Array) -> Self:
        varies = self.varies(noise)
        if np.count_nonzero(varies) == varies.size:
            return self
        return type(self)(self.values * (varies[:, :, None] & varies[:, None, :]))


@stored("PooledScatter")
class PooledScatter(Scatter):
    """The sum over classes; values (p, p)."""

    name = "pooled"

    @staticmethod
    def shape(count: int, features: int) -> tuple[int, ...]:
        return (features, features)

    @staticmethod
    def accumulate(products: Array, residuals: Array, groups: Groups) -> None:
        scaled = groups.scaled(residuals)
        products += product(scaled.T, scaled)

    @classmethod
    def between(cls, weight: Array, difference: Array) -> Self:
        scaled = np.sqrt(weight) * difference
        return cls(scaled.T @ scaled)

    def regroup(self, positions: Codes, count: int) -> Self:
        return self

    def select(self, kept: Codes) -> Self:
        return self

    def cleared(self, empty: NDArray[np.bool_]) -> Self:
        return type(self)(np.zeros_like(self.values)) if empty.all() else self

    def pooled(self) -> Array:
        return self.values

    def pooled_diagonal(self) -> Array:
        return self.values.diagonal()

    def varies(self, noise: Array) -> NDArray[np.bool_]:
        return self.pooled_diagonal() > noise.sum(axis=0)

    def denoised(self, noise: Array) -> Self:
        varies = self.varies(noise)
        return self if varies.all() else type(self)(self.values * np.outer(varies, varies))


@stored("DiagonalScatter")
class DiagonalScatter(Scatter):
    """The diagonal of each class's matrix; values (g, p)."""

    name = "diagonal"

    @staticmethod
    def shape(count: int, features: int) -> tuple[int, ...]:
        return (count, features)

    @staticmethod
    def accumulate(products: Array, residuals: Array, groups: Groups) -> None:
        products += groups.sums(residuals * residuals)

    @classmethod
    def between(cls, weight: Array, difference: Array) -> Self:
        return cls(weight * difference * difference)

    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        return type(self)(self.values[:, columns])

    def cleared(self, empty: NDArray[np.bool_]) -> Self:
        return type(self)(np.where(empty, 0.0, self.values))

    def diagonals(self) -> Array:
        return self.values

    def scaled(self, scale: Array) -> Self:
        return type(self)(self.values * scale**2)

    def lowest(self) -> float:
        return float(self.values.min(initial=0.0))

    def is_positive(self) -> bool:
        return self.lowest() > -1e-6

    def pooled_diagonal(self) -> Array:
        return np.asarray(self.values.sum(axis=0))

    def denoised(self, noise: Array) -> Self:
        varies = self.varies(noise)
        return self if np.count_nonzero(varies) == varies.size else type(self)(self.values * varies)


SCATTERS: dict[str, type[Scatter]] = {form.name: form for form in (FullScatter, PooledScatter, DiagonalScatter)}
