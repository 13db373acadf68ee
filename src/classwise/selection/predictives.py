"""Leaving out one row of a conjugate posterior: its class loses a matrix of rank one, and so does the prior.

Without a row x of weight w, at d = x - m of its class's mean,

    kappa' = kappa - w;   nu' = nu - w;   x - m' = d kappa / kappa';   scale' = scale - b d d', b = w kappa / kappa'

and the Student-t density at z = x - m' is, with all that depends on the row inside q,

    log t = log Γ((v + p)/2) - log Γ(v/2) - p/2 log(π (kappa' + 1) / kappa') - 1/2 log|scale'| - (v + p)/2 log(1 + q)
    q = kappa' / (kappa' + 1) z' scale'^-1 z,   v = nu' - p + 1

A prior in the units of the rows has seen the row too: its scale is t E, and E holds the pooled covariance S / N, which
loses w n / (n - w) d d' / N. A strong prior that kept it would know the row it is to be judged by. Where E lies near
the diagonal, each variance loses its part as well; that is spread over all features, and let go.
"""

from dataclasses import dataclass
from functools import cached_property
from math import pi
from typing import Any

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.covariance import Conjugate, Covariance


@dataclass(frozen=True, eq=False)
class Predictives:
    """The posterior of complete rows: kappa (g, 1), one scale for each class or one for all.

    weight (g,): of the classes; own: how much of S the scale of the prior holds, t / N times the share of E that is S.
    """

    posterior: Conjugate
    weight: Array
    own: float = 0.0

    @cached_property
    def _scales(self) -> list[Covariance]:
        """Each scale by itself, factored once for all rows."""
        return [self.posterior.structure(scale[None]) for scale in self.posterior.scale]

    def log_density(self, rows: Array, own: int, weight: float) -> Array:
        """log p(x | k) of rows (m, p) of one class and of one weight, each left out by itself; (g, m)."""
        posterior = self.posterior
        kappa = np.broadcast_to(np.asarray(posterior.kappa)[:, :1], (len(posterior.means), 1))[:, 0].copy()
        kappa[own] -= weight
        grown = 1 + weight / kappa[own]
        away = rows - posterior.means[own]
        shared = len(posterior.scale) < len(posterior.means)
        rest = float(self.weight[own]) - weight
        # The only row of a class lies at its mean, and S holds nothing of it.
        of_prior = self.own * weight * float(self.weight[own]) / rest if rest > 1e-9 * weight else 0.0
        scores = np.empty((len(kappa), len(rows)))
        for k in range(len(kappa)):
            z = grown * away if k == own else rows - posterior.means[k]
            lost = weight if k == own or shared else 0.0
            b = lost * grown + of_prior
            scores[k] = self._log_density(0 if shared else k, z, away, lost, b, float(kappa[k]))
        return scores

    def each_density(self, rows: Array, own: int, weight: float) -> Array:
        """The same as a stack of one; (g, m, 1)."""
        return self.log_density(rows, own, weight)[:, :, None]

    def _log_density(self, j: int, z: Array, d: Array, lost: float, b: float, kappa: float) -> Array:
        """Of one class: its scale loses b d d', and its freedom the weight of the row."""
        posterior, features = self.posterior, self.posterior.features
        squares, log_det = self._scales[j].without(z, d, b)
        freedom = float(posterior.freedom()[j, 0]) - lost * posterior.structure.values_per_row(features)
        each = features // squares.shape[1]  # how many features each Student-t has
        return _student(squares, log_det, kappa, freedom - posterior.dimension + 1, each).sum(axis=1)


def _student(squares: Array, log_det: Any, kappa: float, freedom: float, features: int) -> Array:
    """log t, where squares are z' scale^-1 z."""
    half = (freedom + features) / 2
    constant = gammaln(half) - gammaln(freedom / 2) - features / 2 * np.log(pi * (kappa + 1) / kappa)
    return np.asarray(constant - 0.5 * log_det - half * np.log1p(kappa / (kappa + 1) * squares))
