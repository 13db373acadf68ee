"""From scatter to covariance: divisor, sharing, shrinking. The statistics themselves stay unchanged.

C_k         = S_k / divisor_k
C_k(share)  = (1 - share) C_k + share C_shared
C_k(shrink) = (1 - shrink) C_k(share) + shrink (tr C_k(share) / p) I
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.covariance.diagonal import DiagonalCovariance, SphericalCovariance
from classwise.covariance.full import FullCovariance
from classwise.covariance.overall_moments import with_overall_moments
from classwise.covariance.rank import refuse_singular
from classwise.covariance.structures import Covariance
from classwise.errors import ClasswiseError, StatisticsError, fraction
from classwise.statistics import ClassStatistics, FullScatter, Moments, Scatter

# The amounts of shrinking use squares of variances, which float64 must hold without overflow or loss of digits.
LARGEST_VARIANCE = 1e145

STRUCTURES: dict[str, type[Covariance]] = {
    structure.name: structure for structure in (FullCovariance, DiagonalCovariance, SphericalCovariance)
}

# ----------------------------------------------------------------------------------------------------------------------
# Divisors: a scatter divided by one is a covariance.


class Divisor(ABC):
    """A rule for the divisors of the class scatters, (g, 1) or column by column (g, p), and of their sum."""

    @abstractmethod
    def own(self, statistics: ClassStatistics) -> Array: ...

    @abstractmethod
    def pooled(self, statistics: ClassStatistics) -> Array: ...


class MaximumLikelihood(Divisor):
    """S_k / n_k and S / n."""

    def own(self, statistics: ClassStatistics) -> Array:
        return statistics.moments.weight

    def pooled(self, statistics: ClassStatistics) -> Array:
        return statistics.moments.total_weight[None]


class Unbiased(Divisor):
    """S_k / (n_k - 1) and S / (n - g)."""

    def own(self, statistics: ClassStatistics) -> Array:
        weight = statistics.moments.weight
        small: Any = np.argwhere((weight > 0) & (weight <= 1))
        if len(small):
            label, there = statistics.label(small[0][0]), weight[tuple(small[0])]
            raise ClasswiseError(
                f"Class {label!r} has weight {there:g}, and the unbiased covariance divides by that minus one; "
                'give the class more rows, or use estimate="mle".'
            )
        return np.maximum(weight - 1, 0.0)  # 0 where a class has no value in a column

    def pooled(self, statistics: ClassStatistics) -> Array:
        weight = statistics.moments.total_weight[None]
        count = (statistics.moments.weight > 0).sum(axis=0, keepdims=True)
        if (weight <= count).any():
            raise ClasswiseError(
                f"The rows have weight {weight.min():g} in {len(statistics.labels)} classes, and the unbiased shared "
                'covariance divides by the difference; give them more rows, or use estimate="mle".'
            )
        return weight - count


ESTIMATES: dict[str, Divisor] = {"mle": MaximumLikelihood(), "unbiased": Unbiased()}


# ----------------------------------------------------------------------------------------------------------------------
# Sharing: whether each class has its own covariance, all share one, or something between.


class Sharing(ABC):
    """A rule that turns the class scatters into g covariances, or into one that all classes share."""

    needs_only_pooled = False

    # Whether covariances are sums of scatters, each times a number: then a row can be left out with a formula.
    is_linear = True

    @abstractmethod
    def combine(self, structure: type[Covariance], divisor: Divisor, statistics: ClassStatistics) -> Array:
        """The values of the covariances: (g, ...), or (1, ...) if all classes share one."""

    @abstractmethod
    def weight(self, weight: Array) -> Array:
        """The weight of the rows behind each covariance: (g,), or (1,) if all classes share one."""

    def constraints(self, statistics: ClassStatistics, standardized: bool) -> int:
        """How many numbers of the covariances follow from others, where classes share a part of each.

        standardized: whether the units of the features are estimated too.
        """
        return 0


@dataclass(frozen=True)
class Blend(Sharing):
    """(1 - share) C_k + share C_shared, where C_shared is the sum of scatters over the sum of divisors."""

    share: float

    @property
    def needs_only_pooled(self) -> bool:  # type: ignore[override]
        return self.share == 1

    def combine(self, structure: type[Covariance], divisor: Divisor, statistics: ClassStatistics) -> Array:
        if self.share == 0:
            return _own(structure, divisor, statistics)
        whole, scatter = divisor.pooled(statistics), statistics.moments.scatter
        pooled = structure.divided(structure.sums(scatter, shared=True), whole)
        if self.share == 1:
            return pooled
        return (1 - self.share) * _own(structure, divisor, statistics) + self.share * pooled

    def weight(self, weight: Array) -> Array:
        total = weight.sum(keepdims=True)
        return total if self.share == 1 else (1 - self.share) * weight + self.share * total


class Average(Sharing):
    """(1/g) sum C_k: every class has the same weight, however many rows it has."""

    def combine(self, structure: type[Covariance], divisor: Divisor, statistics: ClassStatistics) -> Array:
        return _own(structure, divisor, statistics).mean(axis=0, keepdims=True)

    def weight(self, weight: Array) -> Array:
        return weight.sum(keepdims=True)


def read_sharing(share: Any) -> Sharing:
    """share: a number from 0 to 1, or "average"."""
    return (
        Average() if isinstance(share, str) and share == "average" else Blend(fraction("share", share, "average", "cv"))
    )


def _own(structure: type[Covariance], divisor: Divisor, statistics: ClassStatistics) -> Array:
    statistics = with_overall_moments(statistics, structure.apart)
    weight, scatter = divisor.own(statistics), statistics.moments.scatter
    return structure.divided(structure.sums(scatter, shared=False), weight)


# ----------------------------------------------------------------------------------------------------------------------
# Shrinkage: how far a covariance is moved towards the sphere of the same total variance.


class Shrinkage(ABC):
    """A rule for the amount of shrinking, from 0 (none) to 1 (a sphere)."""

    # Whether the amount can be more than 0.
    shrinks = True

    # Whether sums of |d|⁴ must be gathered.
    needs_quartics = False

    @abstractmethod
    def amount(self, covariance: Covariance, weight: Array, statistics: ClassStatistics) -> Array:
        """The amount for each covariance, estimated from rows of this total weight; (k,)."""


class CovarianceRule(Shrinkage):
    """A rule that needs only the covariance and the weight of the rows behind it."""

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
    """A given amount."""

    shrink: float

    @property
    def shrinks(self) -> bool:  # type: ignore[override]
        return self.shrink != 0

    def amount(self, covariance: Covariance, weight: Array, statistics: ClassStatistics) -> Array:
        return np.full(len(weight), self.shrink)

    def amount_of(self, level: Array, power: Array, features: int, weight: Array) -> Array:
        return np.full(len(weight), self.shrink)


UNSHRUNK = Fixed(0.0)


class OracleApproximating(CovarianceRule):
    """The amount that Chen, Wiesel, Eldar and Hero (2010) derive for Gaussian rows, from C and n alone.

    With a = mean of the squared entries of C and u = tr C / p:  (a + u²) / ((n + 1)(a - u² / p)), at most 1.
    """

    def amount(self, covariance: Covariance, weight: Array, statistics: ClassStatistics) -> Array:
        _refuse_unless_full(covariance, "oas")
        return super().amount(covariance, weight, statistics)

    def amount_of(self, level: Array, power: Array, features: int, weight: Array) -> Array:
        spread = (weight + 1) * (power - level**2 / features)
        # With one feature, or a covariance that is already a sphere, any amount gives the same.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(spread > 0, np.minimum((power + level**2) / spread, 1.0), 1.0)


class LedoitWolf(Shrinkage):
    """The amount that Ledoit and Wolf (2004) derive for rows of any distribution, from sums of |d|⁴.

    With C = S / n, u = tr C / p and b = (sum |d|⁴ / n - |C|²) / n:  b / (|C|² - p u²), at most 1.
    """

    needs_quartics = True

    def amount(self, covariance: Covariance, weight: Array, statistics: ClassStatistics) -> Array:
        _refuse_unless_full(covariance, "ledoit-wolf")
        quartics = statistics.quartics
        if quartics is None:
            raise StatisticsError(
                "shrink='ledoit-wolf' needs sums of |d|⁴, which this statistic does not hold; "
                "gather it with summarize(X, y, quartics=True)."
            )
        if not np.allclose(quartics.moments.weight, statistics.moments.weight):
            raise ClasswiseError(
                "Ledoit-Wolf shrinkage needs rows without gaps in their numbers, and X contains NaN. Use shrink='oas'."
            )
        _refuse_units(covariance.variances().mean(axis=1))
        scatter, n, fourth = quartics.moments.scatter.by_class(), quartics.moments.weight[:, 0], quartics.fourth
        if len(covariance.values) == 1 < len(n):
            scatter, n, fourth = scatter.sum(axis=0, keepdims=True), n.sum(keepdims=True), fourth.sum(keepdims=True)
        return _ledoit_wolf(scatter / n[:, None, None], n, fourth)


def _refuse_unless_full(covariance: Covariance, shrink: str) -> None:
    if not covariance.correlated:
        raise ClasswiseError(
            f"shrink={shrink!r} is derived for full covariances, and structure is {covariance.name!r}; "
            "give shrink as a number from 0 to 1."
        )


def _refuse_units(level: Array) -> None:
    """Raise an error for mean variances (k,) whose squares float64 cannot hold."""
    if (level > LARGEST_VARIANCE).any() or ((level > 0) & (level < 1 / LARGEST_VARIANCE)).any():
        raise ClasswiseError(
            f"X has a mean variance of {level.max():.2g}, and shrink='oas' and shrink='ledoit-wolf' square it, which "
            "float64 cannot hold; measure the columns in another unit, or give shrink as a number from 0 to 1."
        )


def _ledoit_wolf(covariance: Array, n: Array, fourth: Array) -> Array:
    power = (covariance**2).sum(axis=(1, 2))
    spread = power - np.trace(covariance, axis1=1, axis2=2) ** 2 / covariance.shape[1]
    noise = (fourth / n - power) / n
    # With a covariance that is already a sphere, any amount gives the same.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, np.clip(noise / spread, 0.0, 1.0), 1.0)


SHRINKAGES: dict[str, Shrinkage] = {"oas": OracleApproximating(), "ledoit-wolf": LedoitWolf()}


def read_shrinkage(shrink: Any) -> Shrinkage:
    """shrink: a number from 0 to 1, "oas" or "ledoit-wolf"."""
    if isinstance(shrink, str) and shrink in SHRINKAGES:
        return SHRINKAGES[shrink]
    return Fixed(fraction("shrink", shrink, *SHRINKAGES, "cv"))


def is_cv(dial: Any) -> bool:
    """Whether a dial, share or shrink, is to be chosen."""
    return isinstance(dial, str) and dial == "cv"


def read_dials(share: Any, shrink: Any) -> tuple[Sharing, Shrinkage]:
    """What they come to; while one is to be chosen, both need every statistic."""
    share, shrink = (0.5, 0.5) if is_cv(share) or is_cv(shrink) else (share, shrink)
    return read_sharing(share), read_shrinkage(shrink)


# ----------------------------------------------------------------------------------------------------------------------
# The recipe: divisor, sharing and shrinkage together.


@dataclass(frozen=True)
class Recipe:
    """How covariances are estimated from statistics.

    standardize: share and shrink in units of each feature's overall standard deviation, then scale back. Only the
    target of shrinking, tr C / p, depends on units.
    """

    structure: type[Covariance]
    divisor: Divisor
    sharing: Sharing
    shrinkage: Shrinkage
    standardize: bool = False

    def scatter_form(self) -> type[Scatter]:
        """The smallest form of scatter that is sufficient."""
        if self.shrinkage.needs_quartics:
            self.check_quartics()
            return FullScatter
        return self.structure.scatter_form(self.sharing.needs_only_pooled)

    def check_quartics(self) -> None:
        """Refuse options with which sums of |d|⁴ do not go together."""
        if self.standardize or not (self.sharing.needs_only_pooled or self.sharing == Blend(0.0)):
            raise ClasswiseError(
                "shrink='ledoit-wolf' is for share=0 or share=1 and standardize=False: its sums have the units of X. "
                "Use shrink='oas', or standardize the columns first."
            )

    def estimate(self, statistics: ClassStatistics) -> Covariance:
        """The covariances of the classes; a singular one is an error."""
        covariance = self.blend(statistics)
        return covariance if covariance.is_regular else refuse_singular(covariance, statistics)

    def blend(self, statistics: ClassStatistics) -> Covariance:
        """The covariances, which may be singular."""
        constraints = self.sharing.constraints(statistics, self.standardize)
        covariance = (self._standardized if self.standardize else self._covariance)(statistics.denoised())
        return replace(covariance, constraints=constraints) if constraints else covariance

    def _standardized(self, statistics: ClassStatistics) -> Covariance:
        scale = overall_deviation(statistics.moments)
        return self._covariance(statistics.scaled(1 / scale)).scaled(scale)

    def _covariance(self, statistics: ClassStatistics) -> Covariance:
        covariance = self.structure(self.sharing.combine(self.structure, self.divisor, statistics))
        if not self.shrinkage.shrinks:
            return covariance
        weight = self.sharing.weight(statistics.moments.class_weight())
        return covariance.shrunk(self.shrinkage.amount(covariance, weight, statistics))


def overall_deviation(moments: Moments) -> Array:
    """The standard deviation of each feature over all rows, 1 where it is constant; (p,)."""
    deviation = np.sqrt(moments.overall_variance())
    return np.where(deviation > 0, deviation, 1.0)
