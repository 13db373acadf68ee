"""Wilks' lambda: the share of the generalized variance that lies within classes, as STEPDISC steps by.

    Λ_S = |W_S| / |T_S|;   F to enter j: (1 - λ) / λ (n - g - s) / (g - 1), with λ = Λ_{S and j} / Λ_S

W is the scatter within classes, T that of all rows, s the number of columns in S. Rao (1951) turns Λ itself into an F.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import f as f_distribution

from classwise.arrays import Array
from classwise.statistics import ClassStatistics, DiagonalScatter, FullScatter


class FTest(NamedTuple):
    """A statistic F with its degrees of freedom, and the probability of a larger one where classes do not differ."""

    f: float
    above: float
    below: float
    p: float

    @classmethod
    def of(cls, share: float, above: float, below: float) -> "FTest | None":
        """From a lambda, or a root of it; None where rows are too few."""
        if not 0 < share <= 1 or below <= 0:
            return None
        f = (1 - share) / share * below / above
        return cls(f, above, below, float(f_distribution.sf(f, above, below)))


@dataclass(frozen=True, eq=False)
class Wilks:
    """W (p, p) and T (p, p) of columns of numbers, by their positions in the table; n: the weight of the rows."""

    places: dict[int, int]
    within: Array
    whole: Array
    weight: float
    classes: int

    @classmethod
    def of(cls, statistics: ClassStatistics) -> "Wilks | None":
        """Of the Gaussian columns, in rows where none of them is missing; None where pairs were not gathered."""
        columns = statistics.schema.positions("gaussian")
        part = statistics.restrict(columns)
        if not columns or isinstance(part.moments.scatter, DiagonalScatter):
            return None
        moments = part.moments
        away = (moments.mean - moments.overall_mean()) + moments.rest
        within = moments.scatter.pooled()
        between = FullScatter.between(moments.weight, away).by_class().sum(axis=0)
        places = {column: i for i, column in enumerate(columns)}
        classes = int((moments.weight[:, 0] > 0).sum())
        return cls(places, within, within + between, float(moments.weight[:, 0].sum()), classes)

    def lambda_of(self, columns: Sequence[int]) -> float:
        """Λ, from 0 (the classes are apart) to 1 (they are alike); NaN where a column has no scatter here."""
        if not all(column in self.places for column in columns):
            return np.nan
        kept = [self.places[column] for column in columns]
        scale = np.sqrt(self.whole.diagonal()[kept])
        if not (scale > 0).all():
            return np.nan
        within, whole = (m[np.ix_(kept, kept)] / np.outer(scale, scale) for m in (self.within, self.whole))
        return float(np.exp(np.linalg.slogdet(within)[1] - np.linalg.slogdet(whole)[1])) if kept else 1.0

    def overall(self, columns: Sequence[int]) -> FTest | None:
        """Rao's F of Λ: whether the classes differ in these columns at all."""
        p, h = len(columns), self.classes - 1
        spread = p**2 + h**2 - 5
        root = sqrt((p**2 * h**2 - 4) / spread) if spread > 0 else 1.0
        below = root * (self.weight - 1 - (p + h + 1) / 2) - (p * h - 2) / 2
        return FTest.of(self.lambda_of(columns) ** (1 / root), p * h, below) if p else None

    def partial(self, columns: Sequence[int], column: int) -> FTest | None:
        """The F to enter a column after others, which is its F to remove from them all."""
        before = self.lambda_of(columns)
        after = self.lambda_of([*columns, column])
        return FTest.of(after / before, self.classes - 1, self.weight - self.classes - len(columns))
