"""From scatter to covariance: divisor, sharing, shrinking. Everything is applied on the way out of the statistic.

C_k         = S_k / divisor_k
C_k(share)  = (1 - share) C_k + share C_shared
C_k(shrink) = (1 - shrink) C_k(share) + shrink (tr C_k(share) / p) I
"""

from dataclasses import dataclass

import numpy as np

from classwise.arrays import Array
from classwise.covariance.rank import refuse_singular
from classwise.covariance.sharing import Blend, Divisor, Sharing
from classwise.covariance.shrinkage import LedoitWolf, Shrinkage
from classwise.covariance.structures import Covariance
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics, FullScatter, Moments, Scatter


@dataclass(frozen=True)
class Recipe:
    """How covariances are estimated from statistics.

    standardize: share and shrink in units of each feature's overall standard deviation, then go back; only the
    target of shrinking, tr C / p, depends on units.
    """

    structure: type[Covariance]
    divisor: Divisor
    sharing: Sharing
    shrinkage: Shrinkage
    standardize: bool = False

    @property
    def needs_quartics(self) -> bool:
        """Whether sums of |d|⁴ must be gathered."""
        return isinstance(self.shrinkage, LedoitWolf)

    def scatter_form(self) -> type[Scatter]:
        """The leanest scatter that serves."""
        if self.needs_quartics:
            self._check_quartics()
            return FullScatter
        return self.structure.scatter_form(self.sharing.needs_only_pooled)

    def _check_quartics(self) -> None:
        if self.standardize or not (self.sharing.needs_only_pooled or self.sharing == Blend(0.0)):
            raise ClasswiseError(
                "shrink='ledoit-wolf' is for share=0 or share=1 and standardize=False: its sums have the units of X. "
                "Use shrink='oas', or standardize the columns first."
            )

    def estimate(self, statistics: ClassStatistics) -> Covariance:
        """The covariances of the classes; a singular one is an error."""
        return refuse_singular(self.blend(statistics), statistics)

    def blend(self, statistics: ClassStatistics) -> Covariance:
        """The same, singular or not."""
        statistics = statistics.denoised()
        if not self.standardize:
            return self._covariance(statistics)
        scale = overall_deviation(statistics.moments)
        return self._covariance(statistics.scaled(1 / scale)).scaled(scale)

    def _covariance(self, statistics: ClassStatistics) -> Covariance:
        covariance = self.structure(self.sharing.combine(self.structure, self.divisor, statistics))
        weight = self.sharing.weight(statistics.moments.weight.mean(axis=1))
        return covariance.shrunk(self.shrinkage.amount(covariance, weight, statistics))


def overall_deviation(moments: Moments) -> Array:
    """The standard deviation of each feature over all rows, 1 where it is constant; (p,)."""
    deviation = np.sqrt(moments.overall_variance())
    return np.where(deviation > 0, deviation, 1.0)
