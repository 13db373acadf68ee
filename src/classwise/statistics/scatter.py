"""Scatter S = sum w (x - m)(x - m)', in the three forms that models need.

A model gathers the leanest form that serves it; a fuller form can stand in for a leaner one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, product, spread
from classwise.errors import StatisticsError
from classwise.statistics.grouping import Groups
from classwise.storage import stored


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

    @abstractmethod
    def cleared(self, empty: NDArray[np.bool_]) -> Self:
        """Nothing where nothing is left; empty (g, 1) or (g, p)."""

    @abstractmethod
    def pooled_diagonal(self) -> Array:
        """The within-class sum of squares of each feature over all classes; (p,)."""

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
        return np.diagonal(self.values, axis1=1, axis2=2)

    def pooled_diagonal(self) -> Array:
        return np.asarray(self.diagonals().sum(axis=0))

    def denoised(self, noise: Array) -> Self:
        varies = self.diagonals() > noise
        return self if varies.all() else type(self)(self.values * (varies[:, :, None] & varies[:, None, :]))


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
        return np.diagonal(self.values)

    def denoised(self, noise: Array) -> Self:
        varies = self.pooled_diagonal() > noise.sum(axis=0)
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
        varies = self.values > noise
        return self if varies.all() else type(self)(self.values * varies)


SCATTERS: dict[str, type[Scatter]] = {form.name: form for form in (FullScatter, PooledScatter, DiagonalScatter)}
