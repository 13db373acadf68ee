"""Shrinkage: how far a covariance is moved towards the sphere of the same total variance."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.covariance.structures import Covariance, FullCovariance
from classwise.errors import ClasswiseError
from classwise.options import fraction


class Shrinkage(ABC):
    """A rule for the amount of shrinking, from 0 (none) to 1 (a sphere)."""

    def amount(self, covariance: Covariance, weight: Array) -> Array:
        """The amount for each covariance, estimated from rows of this total weight; (k,)."""
        features = covariance.variances().shape[1]
        power = (covariance.values**2).mean(axis=tuple(range(1, covariance.values.ndim)))
        self.refuse(covariance)
        return self.amount_of(covariance.variances().mean(axis=1), power, features, weight)

    @abstractmethod
    def amount_of(self, level: Array, power: Array, features: int, weight: Array) -> Array:
        """The same from the mean variance tr C / p and the mean squared entry of C; (k,) each."""

    def refuse(self, covariance: Covariance) -> None:
        """Refuse structures that the rule was not made for."""
        del covariance


@dataclass(frozen=True)
class Fixed(Shrinkage):
    """The amount that was asked for."""

    shrink: float

    def amount(self, covariance: Covariance, weight: Array) -> Array:
        return np.full(len(weight), self.shrink)

    def amount_of(self, level: Array, power: Array, features: int, weight: Array) -> Array:
        return np.full(len(weight), self.shrink)


class OracleApproximating(Shrinkage):
    """The amount that Chen, Wiesel, Eldar and Hero (2010) derive for Gaussian rows, from C and n alone.

    With a = mean of the squared entries of C and u = tr C / p:  (a + u²) / ((n + 1)(a - u² / p)), at most 1.
    """

    def refuse(self, covariance: Covariance) -> None:
        if not isinstance(covariance, FullCovariance):
            raise ClasswiseError(
                f"shrink='oas' is derived for full covariances, and structure is {covariance.name!r}; "
                "give shrink as a number from 0 to 1."
            )

    def amount_of(self, level: Array, power: Array, features: int, weight: Array) -> Array:
        spread = (weight + 1) * (power - level**2 / features)
        # One feature, or a covariance that is a sphere already: any amount gives the same.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread > 0, np.minimum((power + level**2) / spread, 1.0), 1.0)


def read_shrinkage(shrink: Any) -> Shrinkage:
    """shrink: a number from 0 to 1, or "oas"."""
    if isinstance(shrink, str) and shrink == "oas":
        return OracleApproximating()
    return Fixed(fraction("shrink", shrink, "oas"))
