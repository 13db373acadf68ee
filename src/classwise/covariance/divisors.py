"""Divisors: what a scatter is divided by to become a covariance."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.errors import ClasswiseError
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
