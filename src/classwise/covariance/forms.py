"""Priors in the units of the rows they are to serve."""

from dataclasses import dataclass

import numpy as np

from classwise.arrays import Array
from classwise.covariance.conjugate import Hyperparameters
from classwise.covariance.structures import Covariance, FullCovariance
from classwise.statistics import Moments
from classwise.storage import stored

KAPPA = 0.1


@stored("PriorForm")
@dataclass(frozen=True)
class PriorForm:
    """A prior in the units of the rows it is to serve: mean at their overall mean, nu = p - 1 + freedom.

    scale = size freedom E, where E lies between the pooled covariance within classes and its diagonal.
    """

    kappa: float
    freedom: float
    size: float
    diagonal: float

    def _is_sound(self) -> bool:
        return self.kappa > 0 and self.freedom > 0 and self.size > 0 and 0 <= self.diagonal <= 1

    @classmethod
    def worth(cls, rows: float, diagonal: float = 0.5) -> "PriorForm":
        """C is expected at E, and that is worth so many rows: nu = p + 1 + rows."""
        return cls(KAPPA, rows + 2, rows / (rows + 2), diagonal)

    def of(self, moments: Moments) -> Hyperparameters:
        """For these rows."""
        scale = self.size * self.freedom * expected_covariance(moments, self.diagonal)
        nu = moments.mean.shape[1] - 1 + self.freedom
        return Hyperparameters(moments.overall_mean(), self.kappa, nu, scale)


def weak_form(features: int, structure: type[Covariance]) -> PriorForm:
    """Worth a row for each number that a row tells of a covariance: p of them if it is full, one for a variance."""
    return PriorForm.worth(float(features) if structure is FullCovariance else 1.0)


def expected_covariance(moments: Moments, diagonal: float = 0.5) -> Array:
    """Between the pooled covariance within classes (0) and its diagonal (1); (p, p).

    Columns that do not vary within classes have their overall variance, or 1 if they never vary.
    """
    within = moments.scatter.pooled_diagonal() / np.maximum(moments.weight.sum(axis=0), 1.0)
    overall = moments.overall_variance()
    # What is tiny beside the overall variance is rounding, or a single row in each class.
    variances = np.where(within > 1e-12 * overall, within, np.where(overall > 0, overall, 1.0))
    if moments.scatter.name == "diagonal":
        return np.diag(variances)
    pooled = moments.scatter.pooled() / float(moments.weight.sum())
    return (1 - diagonal) * np.where(np.eye(len(variances), dtype=bool), 0.0, pooled) + np.diag(variances)
