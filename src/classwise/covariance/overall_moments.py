"""Classes without a single value in a column: they take the moments of the rows of all classes there.

The mean of such a class in that column is not determined, nor, if its covariance is its own, a variance or
correlations: the likelihood is the same for all of them. The class is given

    the mean of all rows, and in a covariance of its own their variance, and no correlation

A covariance that all classes share is that of the rows which have values: to EM, the others are gaps like any. Between
the two, as in RDA, what a class was given is pooled with what the others have.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.statistics import ClassStatistics, FullScatter, Gaps, Moments
from classwise.statistics.parts import NUMBERS


def with_overall_moments(statistics: ClassStatistics, apart: bool = True) -> ClassStatistics:
    """Columns one by one, with the moments of all rows where a class has no value; the same if all have some.

    apart: whether each column has a variance of its own. If not, only a class without any value is filled.
    """
    if statistics.all_valued:
        return statistics
    absent = statistics.moments.weight == 0
    absent = absent if apart else np.asarray(absent.all(axis=1, keepdims=True))
    if not absent.any():
        return statistics
    moments = statistics.by_column().moments
    shape, every = moments.mean.shape, moments.of_all()
    filled = Moments(
        np.where(absent, np.broadcast_to(every.weight, shape), moments.weight),
        np.where(absent, every.mean, moments.mean),
        np.where(absent, 0.0, moments.rest),
        type(moments.scatter)(np.where(absent, every.scatter.values, moments.scatter.values)),
    )
    return statistics.with_moments(filled)


@dataclass(frozen=True, eq=False)
class OverallMoments:
    """What EM keeps to. absent (g, p): where a class has no value; mean, variance (p,): of all rows."""

    absent: NDArray[np.bool_]
    mean: Array
    variance: Array

    @classmethod
    def of(cls, statistics: ClassStatistics) -> "OverallMoments":
        every = statistics.numbers.of_all()
        return cls(statistics.numbers.present_weight() == 0, every.mean[0], every.overall_variance())

    def placed(self, moments: Moments, shared: bool) -> Moments:
        """Moments that EM expects, with those of all rows where values are absent; shared: one covariance for all."""
        if not self.absent.any():
            return moments
        mean, rest = np.where(self.absent, self.mean, moments.mean), np.where(self.absent, 0.0, moments.rest)
        if shared:
            return replace(moments, mean=mean, rest=rest)
        either = self.absent[:, :, None] | self.absent[:, None, :]
        given = np.where(self.absent, moments.weight * self.variance, 0.0)[:, :, None] * np.eye(len(self.variance))
        scatter = FullScatter(np.where(either, given, moments.scatter.by_class()))
        return Moments(moments.weight, mean, rest, scatter)


def with_valueless(statistics: ClassStatistics) -> ClassStatistics:
    """The rows of classes that have no number at all, too: as rows that lack them all, so that EM fills them."""
    if statistics.all_valued:
        return statistics
    numbers = statistics.numbers
    codes = np.flatnonzero(~numbers.present_weight().any(axis=1) & (statistics.weight > 0))
    if not len(codes):
        return statistics
    nothing = Moments.empty(len(codes), numbers.moments.mean.shape[1], FullScatter)
    rows = replace(nothing, weight=statistics.weight[codes, None])
    lacking = Gaps(codes, np.zeros(nothing.mean.shape, dtype=bool), rows)
    return statistics.with_part(NUMBERS, replace(numbers, gaps=numbers.gaps + lacking))
