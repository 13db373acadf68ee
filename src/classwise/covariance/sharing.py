"""Sharing: whether each class has a covariance of its own, all share one, or something between."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from classwise.arrays import Array
from classwise.covariance.divisors import Divisor
from classwise.covariance.structures import Covariance
from classwise.options import fraction
from classwise.statistics import ClassStatistics


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
