"""Divisors: what a scatter is divided by to become a covariance."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.covariance.structures import Covariance
from classwise.errors import ClasswiseError, fraction
from classwise.statistics import ClassStatistics


class Divisor(ABC):
    """A rule for the divisors of the classes' scatters, (g, 1) or column by column (g, p), and of their sum."""

    @abstractmethod
    def own(self, statistics: ClassStatistics) -> Array: ...

    @abstractmethod
    def pooled(self, statistics: ClassStatistics) -> Array: ...


class MaximumLikelihood(Divisor):
    """S_k / n_k and S / n."""

    def own(self, statistics: ClassStatistics) -> Array:
        return statistics.moments.weight

    def pooled(self, statistics: ClassStatistics) -> Array:
        return statistics.moments.weight.sum(axis=0, keepdims=True)


class Unbiased(Divisor):
    """S_k / (n_k - 1) and S / (n - g)."""

    def own(self, statistics: ClassStatistics) -> Array:
        weight = statistics.moments.weight
        small: Any = np.argwhere(weight <= 1)
        if len(small):
            label, there = statistics.label(small[0][0]), weight[tuple(small[0])]
            raise ClasswiseError(
                f"Class {label!r} has weight {there:g}, and the unbiased covariance divides by that minus one; "
                'give the class more rows, or use estimate="mle".'
            )
        return weight - 1

    def pooled(self, statistics: ClassStatistics) -> Array:
        weight = statistics.moments.weight.sum(axis=0, keepdims=True)
        count = (statistics.moments.weight > 0).sum(axis=0, keepdims=True)
        if (weight <= count).any():
            raise ClasswiseError(
                f"The rows have weight {weight.min():g} in {len(statistics.labels)} classes, and the unbiased shared "
                'covariance divides by the difference; give them more rows, or use estimate="mle".'
            )
        return weight - count


ESTIMATES: dict[str, Divisor] = {"mle": MaximumLikelihood(), "unbiased": Unbiased()}


# ----------------------------------------------------------------------------------------------------------------------
# Sharing: whether each class has a covariance of its own, all share one, or something between.


class Sharing(ABC):
    """A rule that turns the classes' scatters into g covariances, or into one that all share."""

    needs_only_pooled = False

    @abstractmethod
    def combine(self, structure: type[Covariance], divisor: Divisor, statistics: ClassStatistics) -> Array:
        """The covariances' values: (g, ...), or (1, ...) where all classes share one."""

    @abstractmethod
    def weight(self, weight: Array) -> Array:
        """How many rows speak for each covariance: (g,), or (1,) where all classes share one."""


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
        scatter = statistics.moments.scatter
        pooled = structure.pooled(scatter, divisor.pooled(statistics))
        if self.share == 1:
            return pooled
        return (1 - self.share) * _own(structure, divisor, statistics) + self.share * pooled

    def weight(self, weight: Array) -> Array:
        total = weight.sum(keepdims=True)
        return total if self.share == 1 else (1 - self.share) * weight + self.share * total


class Average(Sharing):
    """(1/g) sum C_k: every class has the same say, however many rows it has."""

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
    return structure.own(statistics.moments.scatter, divisor.own(statistics))
