"""What is believed of a mixture before the rows: pseudo-rows, as a conjugate prior has them.

    C   as after `worth` rows of covariance expected        log prior  -worth/2 (log|C| + tr C^-1 expected)
    m_c as after kappa rows at mean                         log prior  -kappa/2 (m_c - mean)' C^-1 (m_c - mean)
    share_c as after `alike` rows in each component         log prior  alike log share_c

This is the normal-inverse-Wishart prior, as a density over C^-1 and over means in units of C: with one component for
each class, the most probable C is then the covariance that the prior leads to expect, scale' / (nu' - p - 1), and the
most probable means are mean'. No component can shrink to a point, for there C^-1 would be infinite, and the prior zero.
"""

from dataclasses import dataclass
from typing import Self

from classwise.arrays import Array
from classwise.covariance import Conjugate, FullCovariance
from classwise.covariance.conjugate import weak_form
from classwise.errors import ClasswiseError
from classwise.statistics import Moments

# Pseudo-rows in each component of a class.
ALIKE = 1.0


@dataclass(frozen=True, eq=False)
class PseudoRows:
    """mean (p,) and kappa; scale (p, p) = worth times the expected covariance, and worth; alike."""

    mean: Array
    kappa: float
    scale: Array
    worth: float
    alike: float = ALIKE

    @classmethod
    def of(cls, prior: Conjugate) -> Self:
        """The same as a normal-inverse-Wishart of full covariances."""
        worth = float(prior.nu) - prior.features - 1
        if not worth > 0 or not prior.kappa > 0:
            raise ClasswiseError(
                f"The prior's nu={float(prior.nu):g} leads to expect no covariance of {prior.features} features, and a "
                f"mixture needs one: give nu above {prior.features + 1} and kappa above 0, or prior='weak'."
            )
        return cls(prior.means, float(prior.kappa), prior.scale[0], worth)

    @classmethod
    def weak(cls, moments: Moments) -> Self:
        """Worth little, in the units of the rows whose moments by class are given; as prior="weak" elsewhere."""
        form = weak_form(moments.mean.shape[1], FullCovariance)
        return cls.of(form.of(moments).within(FullCovariance))
