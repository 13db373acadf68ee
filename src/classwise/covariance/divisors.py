"""Divisors: what a scatter is divided by to become a covariance."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics


class Divisor(ABC):
    """A rule for the divisors of the classes' scatters (g,) and of their sum."""

    @abstractmethod
    def own(self, statistics: ClassStatistics) -> Array: ...

    @abstractmethod
    def pooled(self, statistics: ClassStatistics) -> float: ...


class MaximumLikelihood(Divisor):
    """S_k / n_k and S / n."""

    def own(self, statistics: ClassStatistics) -> Array:
        return statistics.weight

    def pooled(self, statistics: ClassStatistics) -> float:
        return float(statistics.weight.sum())


class Unbiased(Divisor):
    """S_k / (n_k - 1) and S / (n - g)."""

    def own(self, statistics: ClassStatistics) -> Array:
        small: Any = np.flatnonzero(statistics.weight <= 1)
        if len(small):
            label, weight = statistics.label(small[0]), statistics.weight[small[0]]
            raise ClasswiseError(
                f"Class {label!r} has weight {weight:g}, and the unbiased covariance divides by that minus one; "
                'give the class more rows, or use estimate="mle".'
            )
        return statistics.weight - 1

    def pooled(self, statistics: ClassStatistics) -> float:
        weight, count = float(statistics.weight.sum()), len(statistics.weight)
        if weight <= count:
            raise ClasswiseError(
                f"The rows have weight {weight:g} in {count} classes, and the unbiased shared covariance divides by "
                'the difference; give them more rows, or use estimate="mle".'
            )
        return weight - count


ESTIMATES: dict[str, Divisor] = {"mle": MaximumLikelihood(), "unbiased": Unbiased()}
