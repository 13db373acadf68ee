"""Rows left out, one by one or in folds, under priors of many strengths at once; for covariances of each class's own.

Where a prior is worth r rows, its scale is r E, and after the rows that of a class is B + r E. In coordinates where E
is the identity and B diagonal,

    E = L L';   L^-1 B L^-T = Q diag(l) Q';   U = L^-T Q:   U'(B + r E) U = diag(l + r)

so rows are turned once, and what all strengths need of them are products of squared coordinates with 1 / (l + r).
A row x of weight w takes with it, at d of the mean of its class and at a of the posterior's mean,

    r (1 - diagonal) / N w n / (n - w) d d'    from every prior, whose E holds the pooled covariance
    w kappa / (kappa - w) a a'                 from its own class

(Where E lies near the diagonal, each variance loses its part as well; that is spread over all features, and let go.)
"""

from dataclasses import dataclass
from math import pi

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from classwise.arrays import Array, product
from classwise.covariance import FullCovariance, PriorForm
from classwise.covariance.structures import TINY
from classwise.statistics import ClassStatistics


@dataclass(frozen=True, eq=False)
class StrengthPath:
    """Priors worth each of several numbers of rows (s,), with their covariance at one place towards the diagonal.

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
        prior = PriorForm.worth(1.0, diagonal).of(moments).within(FullCovariance)
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
        return self._student(squares, log_det, float(self.kappa[k]), float(self.weight[k]))

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
        return self._student(squares, log_det, kappa, count)

    def _student(self, squares: Array, log_det: Array, kappa: float, count: float) -> Array:
        """log t, where squares are z' scale^-1 z; (m, s)."""
        features = self.means.shape[1]
        freedom = self.rows + 2 + count
        half = (freedom + features) / 2
        constant = gammaln(half) - gammaln(freedom / 2) - features / 2 * np.log(pi * (kappa + 1) / kappa)
        return np.asarray(constant - 0.5 * log_det - half * np.log1p(kappa / (kappa + 1) * squares))
