"""Leave-one-out predictives of a conjugate posterior: its class loses a matrix of rank one, and so does the prior.

Without a row x of weight w, at d = x - m of its class's mean,

    kappa' = kappa - w;   nu' = nu - w;   x - m' = d kappa / kappa';   scale' = scale - b d d', b = w kappa / kappa'

and the Student-t density at z = x - m' is, with all that depends on the row inside q,

    log t = log Γ((v + p)/2) - log Γ(v/2) - p/2 log(π (kappa' + 1) / kappa') - 1/2 log|scale'| - (v + p)/2 log(1 + q)
    q = kappa' / (kappa' + 1) z' scale'^-1 z,   v = nu' - p + 1

A prior in the units of the rows has seen the row too: its scale is t E, and E holds the pooled covariance S / N, which
loses w n / (n - w) d d' / N. A strong prior that kept it would know the row it is to be judged by. Where E lies near
the diagonal, each variance loses its part as well; that is spread over all features, and ignored.
"""

from dataclasses import dataclass
from functools import cached_property
from math import pi
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from classwise.arrays import Array, product
from classwise.covariance import Conjugate, Covariance, FullCovariance, PriorForm
from classwise.covariance.structures import TINY
from classwise.statistics import ClassStatistics


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


def _student(squares: Array, log_det: Any, kappa: float, freedom: Any, features: int) -> Array:
    """log t, where squares are z' scale^-1 z."""
    half = (freedom + features) / 2
    constant = gammaln(half) - gammaln(freedom / 2) - features / 2 * np.log(pi * (kappa + 1) / kappa)
    return np.asarray(constant - 0.5 * log_det - half * np.log1p(kappa / (kappa + 1) * squares))


# ----------------------------------------------------------------------------------------------------------------------
# Rows left out, one by one or in folds, under priors of many strengths at once; for covariances of each class's own.
#
# Where a prior counts as r rows, its scale is r E, and after the rows that of a class is B + r E. In coordinates where
# E is the identity and B diagonal,
#
#     E = L L';   L^-1 B L^-T = Q diag(l) Q';   U = L^-T Q:   U'(B + r E) U = diag(l + r)
#
# so rows are rotated once, and what all strengths need of them are products of squared coordinates with 1 / (l + r).
# A row x of weight w takes with it, at d of the mean of its class and at a of the posterior's mean,
#
#     r (1 - diagonal) / N w n / (n - w) d d'    from every prior, whose E holds the pooled covariance
#     w kappa / (kappa - w) a a'                 from its own class
#
# (Where E lies near the diagonal, each variance loses its part as well; that is spread over all features, and ignored.)


@dataclass(frozen=True, eq=False)
class StrengthPath:
    """Priors of several strengths in rows (s,), with their covariance at one place towards the diagonal.

    centers and means (g, p): of the classes, and of the posteriors; weight and kappa (g,): likewise; vectors (g, p, p):
    U; values (g, p): l; log_det: of E; held: how much of S the prior's E holds, (1 - diagonal) / N.
    """

    rows: Array
    centers: Array
    means: Array
    weight: Array
    kappa: Array
    vectors: Array
    values: Array
    log_det: float
    held: float

    @classmethod
    def of(cls, statistics: ClassStatistics, rows: Array, diagonal: float) -> "StrengthPath":
        """For statistics of complete rows."""
        moments = statistics.moments
        prior = PriorForm.of_strength(1.0, diagonal).of(moments).within(FullCovariance)
        posterior = prior.updated(statistics, shared=False)
        root = np.linalg.cholesky(prior.scale[0])
        whitening = solve_triangular(root, np.eye(len(root)), lower=True)
        values, vectors = np.linalg.eigh(whitening @ (posterior.scale - prior.scale) @ whitening.T)
        return cls(
            rows,
            moments.mean + moments.rest,
            posterior.means,
            moments.weight[:, 0],
            posterior.kappa[:, 0],
            whitening.T @ vectors,
            np.maximum(values, 0.0),
            2 * float(np.log(np.diagonal(root)).sum()),
            (1 - diagonal) / float(moments.weight.sum()),
        )

    def log_density(self, rows: Array, own: int, weight: float) -> Array:
        """log p(x | k) of rows (m, p) of one class and of one weight, each left out by itself; (g, m, s)."""
        remaining = float(self.weight[own]) - weight
        # The only row of a class lies at its mean, and S holds nothing of it.
        lost = weight * float(self.weight[own]) / remaining if remaining > 1e-9 * weight else 0.0
        of_prior = self.rows * self.held * lost
        return np.stack([self._of_class(k, rows, own, weight, of_prior) for k in range(len(self.means))])

    def elsewhere(self, rows: Array) -> Array:
        """log p(x | k) of rows (m, p) that are none of those learned from; (g, m, s)."""
        return np.stack([self._new_of_class(k, rows) for k in range(len(self.means))])

    def _new_of_class(self, k: int, rows: Array) -> Array:
        turned = product(rows - self.means[k], self.vectors[k])
        scales = self.values[k][:, None] + self.rows
        log_det = self.log_det + np.log(scales).sum(axis=0)
        squares = product(turned * turned, 1 / scales)
        return _student(squares, log_det, float(self.kappa[k]), self.rows + 2 + float(self.weight[k]), len(scales))

    def _of_class(self, k: int, rows: Array, own: int, weight: float, of_prior: Array) -> Array:
        turned = product(rows - self.means[k], self.vectors[k])
        away = turned + (self.means[k] - self.centers[own]) @ self.vectors[k]
        inverse = 1 / (self.values[k][:, None] + self.rows)
        squares, cross = product(turned * turned, inverse), product(turned * away, inverse)
        left = np.maximum(1 - of_prior * product(away * away, inverse), TINY)
        squares += of_prior * cross**2 / left
        log_det = self.log_det + np.log(self.values[k][:, None] + self.rows).sum(axis=0) + np.log(left)
        kappa, count = float(self.kappa[k]), float(self.weight[k])
        if k == own:
            kappa, count = kappa - weight, count - weight
            grown = 1 + weight / kappa
            left = np.maximum(1 - weight * grown * squares, TINY)
            squares, log_det = grown**2 * squares / left, log_det + np.log(left)
        return _student(squares, log_det, kappa, self.rows + 2 + count, rows.shape[1])
