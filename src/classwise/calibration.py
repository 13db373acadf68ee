"""Calibration: posteriors raised to a power, so that they are as sure as they should be.

    P(k | x)^β / sum over classes of P(j | x)^β

Densities that take dependent features for independent count the same news twice, and a power below 1 takes that back
(Guo et al. 2017 call 1 / β the temperature). It changes no decision.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from classwise.arrays import Array
from classwise.storage import stored


@stored("Calibration")
@dataclass(frozen=True)
class Calibration:
    """power: β. shift (g,): added to the log posteriors afterwards, where priors were changed since."""

    power: float
    shift: tuple[float, ...] = ()

    def _is_sound(self) -> bool:
        return self.power > 0 and all(map(isfinite, self.shift))

    def __call__(self, scores: Array) -> Array:
        """Scores (g, m), which are log posteriors up to a term for each row, as they should be; up to such a term."""
        calibrated = self.power * scores
        return calibrated + np.array(self.shift)[:, None] if self.shift else calibrated

    def with_priors(self, before: Array, after: Array) -> "Calibration":
        """Posteriors under other priors (g,) are the calibrated ones times the ratio of the priors.

        The power applies to log_joint, priors included: the shift makes up for what it does to their ratio.
        """
        known = (before > 0) & (after > 0)
        change = np.zeros(len(before))
        change[known] = (1 - self.power) * (np.log(after[known]) - np.log(before[known]))
        return Calibration(self.power, tuple((np.array(self.shift or (0.0,)) + change).tolist()))
