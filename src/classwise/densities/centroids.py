"""Shrunken centroids (Tibshirani, Hastie, Narasimhan and Chu 2002): means that differ only where they plainly do.

    d_kj  = (m_kj - m_j) / (e_k (s_j + s0)),   e_k = sqrt(1/n_k - 1/n)
    d'_kj = sign(d_kj) max(|d_kj| - threshold, 0)
    m'_kj = m_j + e_k (s_j + s0) d'_kj

where m_j is the mean of all rows, s_j² = S_j / (n - g) the variance within classes, and s0 a quantile of the s_j. A
column whose d' are all zero has the same mean in every class: it no longer separates classes. Weights, means and sums
of squares of each column are all that this takes, so memory grows with the number of columns.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from classwise.arrays import Array, ratio
from classwise.covariance import DiagonalCovariance, SphericalCovariance
from classwise.densities.gaussian import Gaussian
from classwise.densities.numbers import NumbersFit
from classwise.errors import ClasswiseError, SingularCovarianceError
from classwise.statistics import ClassStatistics, DiagonalScatter


@dataclass(frozen=True, eq=False)
class Contrasts:
    """How far each class lies from the mean of all rows: center (p,), units e_k (s_j + s0) and values d (g, p).

    within (p,): s_j; deviations (p,): s_j + s0.
    """

    center: Array
    units: Array
    values: Array
    within: Array
    deviations: Array

    @classmethod
    def of(cls, statistics: ClassStatistics, offset: float | None) -> Self:
        """offset: which quantile of the s_j is s0; None for s0 = 0."""
        moments = statistics.denoised().moments
        weight, center = np.broadcast_to(moments.weight, moments.mean.shape), moments.overall_mean()
        total, classes = weight.sum(axis=0), (weight > 0).sum(axis=0)
        _refuse_few(statistics, float((total - classes).max(initial=0.0)))
        # A column with no more values than classes has no variance within classes to know; s0 stands for it.
        within = np.sqrt(ratio(moments.scatter.pooled_diagonal(), np.maximum(total - classes, 0.0)))
        deviations = within + (0.0 if offset is None else np.quantile(within, offset))
        _refuse_constant(statistics, deviations)
        errors = np.sqrt(np.maximum(ratio(np.ones_like(weight), weight) - ratio(np.ones_like(total), total), 0.0))
        # A class without a value in a column has the mean of all rows there.
        units = np.where(weight > 0, errors, 0.0) * deviations
        values = ratio((moments.mean - center) + moments.rest, units)
        return cls(center, units, values, within, deviations)

    def shrunk(self, threshold: float) -> Array:
        """d': what is left of d; (g, p)."""
        return np.asarray(np.sign(self.values) * np.maximum(np.abs(self.values) - threshold, 0.0))

    def means(self, threshold: float) -> Array:
        """m'; (g, p)."""
        return np.asarray(self.center + self.units * self.shrunk(threshold))

    def largest(self) -> float:
        """The least threshold that leaves no difference at all."""
        return float(np.abs(self.values).max(initial=0.0))

    def selected(self, threshold: float) -> int:
        """How many columns still differ between classes."""
        return int((np.abs(self.values) > threshold).any(axis=0).sum())


@dataclass(frozen=True)
class Shrunken:
    """Gaussians at shrunken centroids, column by column in units of s_j + s0, or (euclidean) all in one unit.

    threshold: 0 while it is left to choose (is_open). offset: as for `Contrasts`.
    """

    threshold: float
    offset: float | None
    euclidean: bool = False
    is_open: bool = False

    is_bayes = False
    keeps_constants = False
    keeps_copies = True
    needs_quartics = False
    form = DiagonalScatter

    def at(self, threshold: float) -> Self:
        """The same with a threshold."""
        return replace(self, threshold=threshold, is_open=False)

    def contrasts(self, statistics: ClassStatistics) -> Contrasts:
        """What is shrunk, from statistics of the columns of numbers alone."""
        return Contrasts.of(statistics.by_column() if statistics.numbers.has_gaps else statistics, self.offset)

    def density(self, contrasts: Contrasts) -> Gaussian:
        """The density at the threshold."""
        means, covariance = contrasts.means(self.threshold), DiagonalCovariance(contrasts.deviations[None] ** 2)
        if self.euclidean:
            covariance = SphericalCovariance(np.full_like(covariance.values, (contrasts.within**2).mean()))
        return Gaussian(means, covariance)

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        return NumbersFit(self.density(self.contrasts(statistics)))

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return self.joint(statistics)

    def roughly(self) -> Self:
        return self

    def starting_at(self, start: Any) -> Self:
        return self

    def removal(self) -> None:
        return None


def _refuse_few(statistics: ClassStatistics, freedom: float) -> None:
    if freedom <= 0:
        raise ClasswiseError(
            f"The rows have weight {statistics.weight.sum():g} in {len(statistics.labels)} classes, and shrunken "
            "centroids divide squares within classes by the difference; give more rows, or weights that count rows."
        )


def _refuse_constant(statistics: ClassStatistics, deviations: Array) -> None:
    constant = np.flatnonzero(deviations <= 0)
    if len(constant):
        names = ", ".join(map(statistics.name, constant[:5].tolist()))
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        raise SingularCovarianceError(
            f"These columns do not vary within any class, so that distances in them have no unit: {names}{more}. "
            "Drop them, or raise offset, whose quantile of the deviations of all columns is added to each."
        )
