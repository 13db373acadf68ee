"""Shrinkage: how far a covariance is moved towards the sphere of the same total variance."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.covariance.structures import Covariance, FullCovariance
from classwise.errors import ClasswiseError, StatisticsError
from classwise.options import fraction
from classwise.statistics import ClassStatistics, Quartics

# The amounts are made of squares of variances, and these must be numbers too, with all their digits.
LARGEST_VARIANCE = 1e145


class Shrinkage(ABC):
    """A rule for the amount of shrinking, from 0 (none) to 1 (a sphere)."""

    @abstractmethod
    def amount(self, covariance: Covariance, weight: Array, statistics: ClassStatistics) -> Array:
        """The amount for each covariance, estimated from rows of this total weight; (k,)."""


class CovarianceRule(Shrinkage):
    """A rule that asks for no more than the covariance and the weight of the rows behind it."""

    def amount(self, covariance: Covariance, weight: Array, statistics: ClassStatistics) -> Array:
        _refuse_units(covariance.variances().mean(axis=1))
        features = covariance.variances().shape[1]
        power = (covariance.values**2).mean(axis=tuple(range(1, covariance.values.ndim)))
        return self.amount_of(covariance.variances().mean(axis=1), power, features, weight)

    @abstractmethod
    def amount_of(self, level: Array, power: Array, features: int, weight: Array) -> Array:
        """The amount from the mean variance tr C / p and the mean squared entry of C; (k,) each."""


@dataclass(frozen=True)
class Fixed(CovarianceRule):
    """The amount that was asked for."""

    shrink: float

    def amount(self, covariance: Covariance, weight: Array, statistics: ClassStatistics) -> Array:
        return np.full(len(weight), self.shrink)

    def amount_of(self, level: Array, power: Array, features: int, weight: Array) -> Array:
        return np.full(len(weight), self.shrink)


class OracleApproximating(CovarianceRule):
    """The amount that Chen, Wiesel, Eldar and Hero (2010) derive for Gaussian rows, from C and n alone.

    With a = mean of the squared entries of C and u = tr C / p:  (a + u²) / ((n + 1)(a - u² / p)), at most 1.
    """

    def amount(self, covariance: Covariance, weight: Array, statistics: ClassStatistics) -> Array:
        _refuse_unless_full(covariance, "oas")
        return super().amount(covariance, weight, statistics)

    def amount_of(self, level: Array, power: Array, features: int, weight: Array) -> Array:
        spread = (weight + 1) * (power - level**2 / features)
        # One feature, or a covariance that is a sphere already: any amount gives the same.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread > 0, np.minimum((power + level**2) / spread, 1.0), 1.0)


class LedoitWolf(Shrinkage):
    """The amount that Ledoit and Wolf (2004) derive for rows of any distribution, from sums of |d|⁴.

    With C = S / n, u = tr C / p and b = (sum |d|⁴ / n - |C|²) / n:  b / (|C|² - p u²), at most 1.
    """

    def amount(self, covariance: Covariance, weight: Array, statistics: ClassStatistics) -> Array:
        _refuse_unless_full(covariance, "ledoit-wolf")
        quartics = statistics.parts.get("quartics")
        if not isinstance(quartics, Quartics):
            raise StatisticsError(
                "shrink='ledoit-wolf' needs sums of |d|⁴, which this statistic does not hold; "
                "gather it with summarize(X, y, quartics=True)."
            )
        if not np.allclose(quartics.moments.weight, statistics.moments.weight):
            raise ClasswiseError(
                "shrink='ledoit-wolf' needs rows without gaps in their numbers, and X contains NaN; use shrink='oas'."
            )
        _refuse_units(covariance.variances().mean(axis=1))
        scatter, n, fourth = quartics.moments.scatter.by_class(), quartics.moments.weight[:, 0], quartics.fourth
        if len(covariance.values) == 1 < len(n):
            scatter, n, fourth = scatter.sum(axis=0, keepdims=True), n.sum(keepdims=True), fourth.sum(keepdims=True)
        return _ledoit_wolf(scatter / n[:, None, None], n, fourth)


def _refuse_unless_full(covariance: Covariance, shrink: str) -> None:
    if not isinstance(covariance, FullCovariance):
        raise ClasswiseError(
            f"shrink={shrink!r} is derived for full covariances, and structure is {covariance.name!r}; "
            "give shrink as a number from 0 to 1."
        )


def _refuse_units(level: Array) -> None:
    """Refuse mean variances (k,) whose squares float64 cannot hold."""
    if (level > LARGEST_VARIANCE).any() or ((level > 0) & (level < 1 / LARGEST_VARIANCE)).any():
        raise ClasswiseError(
            f"X has a mean variance of {level.max():.2g}, and shrink='oas' and shrink='ledoit-wolf' square it, which "
            "float64 cannot hold; measure the columns in another unit, or give shrink as a number from 0 to 1."
        )


def _ledoit_wolf(covariance: Array, n: Array, fourth: Array) -> Array:
    power = (covariance**2).sum(axis=(1, 2))
    spread = power - np.trace(covariance, axis1=1, axis2=2) ** 2 / covariance.shape[1]
    noise = (fourth / n - power) / n
    # A sphere already: any amount gives the same.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, np.clip(noise / spread, 0.0, 1.0), 1.0)


SHRINKAGES: dict[str, Shrinkage] = {"oas": OracleApproximating(), "ledoit-wolf": LedoitWolf()}


def read_shrinkage(shrink: Any) -> Shrinkage:
    """shrink: a number from 0 to 1, "oas" or "ledoit-wolf"."""
    if isinstance(shrink, str) and shrink in SHRINKAGES:
        return SHRINKAGES[shrink]
    return Fixed(fraction("shrink", shrink, *SHRINKAGES, "cv"))
