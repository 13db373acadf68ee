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

    @abstractmethod
    def amount(self, covariance: Covariance, weight: Array) -> Array:
        """The amount for each covariance, estimated from rows of this total weight; (k,)."""


@dataclass(frozen=True)
class Fixed(Shrinkage):
    """The amount that was asked for."""

    shrink: float

    def amount(self, covariance: Covariance, weight: Array) -> Array:
        return np.full(len(weight), self.shrink)


class OracleApproximating(Shrinkage):
    """The amount that Chen, Wiesel, Eldar and Hero (2010) derive for Gaussian rows, from C and n alone.

    With a = mean of the squared entries of C and u = tr C / p:  (a + u²) / ((n + 1)(a - u² / p)), at most 1.
    """

    def amount(self, covariance: Covariance, weight: Array) -> Array:
        if not isinstance(covariance, FullCovariance):
            raise ClasswiseError(
                f"shrink='oas' is derived for full covariances, and structure is {covariance.name!r}; "
                "give shrink as a number from 0 to 1."
            )
        features = covariance.values.shape[1]
        level = covariance.variances().mean(axis=1) ** 2
        power = (covariance.values**2).mean(axis=(1, 2))
        spread = (weight + 1) * (power - level / features)
        # One feature, or a covariance that is a sphere already: any amount gives the same.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread > 0, np.minimum((power + level) / spread, 1.0), 1.0)


def read_shrinkage(shrink: Any) -> Shrinkage:
    """shrink: a number from 0 to 1, or "oas"."""
    if isinstance(shrink, str) and shrink == "oas":
        return OracleApproximating()
    return Fixed(fraction("shrink", shrink, "oas"))
