"""Conjugate priors of mean and covariance, and what rows make of them.

    C ~ inverse Wishart(nu, scale);   m | C ~ N(mean, C / kappa)

After n rows with mean x and scatter S:

    kappa' = kappa + n;   nu' = nu + n;   mean' = (kappa mean + n x) / kappa'
    scale' = scale + S + kappa n / kappa' (x - mean)(x - mean)'

The next row is Student-t at mean', with v = nu' - p + 1 degrees of freedom and shape scale' (kappa' + 1) / (kappa' v).
Where classes share a covariance, their scatters add up in one scale', and nu' counts the rows of all. Diagonal
covariances are one such problem for each feature, spherical ones a single one for all features together.
"""

from dataclasses import dataclass, replace
from math import log, pi
from typing import Any

import numpy as np
from scipy.special import gammaln, multigammaln

from classwise.arrays import Array
from classwise.covariance.structures import Covariance, DiagonalCovariance, FullCovariance, SphericalCovariance
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics, Moments
from classwise.storage import stored


@stored("NormalInverseWishart")
@dataclass(frozen=True, eq=False)
class NormalInverseWishart:
    """C ~ inverse Wishart(nu, scale); m | C ~ N(mean, C / kappa), for every class alike.

    mean (p,) or one number for all features; scale (p, p), its diagonal (p,), or one number. The prior mean of C is
    scale / (nu - p - 1), and the prior is worth kappa rows for the mean, and nu for the covariance.

    >>> import classwise as cw
    >>> prior = cw.NormalInverseWishart(mean=0.0, kappa=0.1, nu=4, scale=1.0)
    >>> m = cw.QDA(estimate="bayes", prior=prior).fit([[0.0, 1.0], [5.0, 5.0]], ["a", "b"])
    >>> m.predict([[1.0, 1.0]]).tolist()
    ['a']
    """

    mean: Any
    kappa: float
    nu: float
    scale: Any

    def of(self, features: int) -> "Hyperparameters":
        """Checked, and in full for p features."""
        mean, scale = np.asarray(self.mean, dtype=np.float64), np.asarray(self.scale, dtype=np.float64)
        if mean.shape not in ((), (features,)) or not np.isfinite(mean).all():
            raise ClasswiseError(f"The prior's mean must be a number, or {features} of them, not {self.mean!r}.")
        mean = np.broadcast_to(mean, (features,))
        if scale.shape in ((), (features,)):
            scale = np.diag(np.broadcast_to(scale, (features,)))
        if scale.shape != (features, features):
            raise ClasswiseError(f"The prior's scale has shape {scale.shape}, and there are {features} features.")
        if not self.kappa > 0:
            raise ClasswiseError(f"The prior's kappa must be positive, not {self.kappa!r}.")
        if not self.nu > features - 1:
            raise ClasswiseError(
                f"The prior's nu must be more than {features - 1} for {features} features, not {self.nu!r}."
            )
        if not np.allclose(scale, scale.T) or not (np.linalg.eigvalsh(scale) > 0).all():
            raise ClasswiseError("The prior's scale must be a symmetric matrix with positive eigenvalues.")
        return Hyperparameters(mean, float(self.kappa), float(self.nu), scale)


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """mean (p,), kappa, nu and scale (p, p) of a normal-inverse-Wishart."""

    mean: Array
    kappa: float
    nu: float
    scale: Array

    def within(self, structure: type[Covariance]) -> "Conjugate":
        """The prior of a covariance of this structure: its diagonal, or the average of that."""
        features = len(self.mean)
        alone = self.nu - features + 1  # each variance by itself has an inverse gamma with so many degrees of freedom
        if structure is FullCovariance:
            return Conjugate(structure, self.mean, self.kappa, self.nu, self.scale[None])
        diagonal = np.diagonal(self.scale)[None]
        if structure is DiagonalCovariance:
            return Conjugate(structure, self.mean, self.kappa, alone, diagonal)
        return Conjugate(structure, self.mean, self.kappa, alone, np.full_like(diagonal, diagonal.mean() / features))


@dataclass(frozen=True, eq=False)
class Conjugate:
    """A prior, or a posterior, within a structure.

    means (p,) or (g, p); kappa a number, (g, 1) or (g, p); nu a number, (k, 1) or (k, p); scale (k, ...) as the
    structure stores it, k = 1 where all classes share it. A sphere stores its scale over p in each feature.
    """

    structure: type[Covariance]
    means: Array
    kappa: Any
    nu: Any
    scale: Array

    def updated(self, statistics: ClassStatistics, shared: bool) -> "Conjugate":
        """The posterior, given the rows."""
        moments, structure = statistics.moments, self.structure
        weight = moments.weight
        kappa = self.kappa + weight
        away = (moments.mean - self.means) + moments.rest
        scatter = moments.scatter + moments.scatter.between(self.kappa * weight / kappa, away)
        one = np.ones((1, 1))
        if shared:
            scale, rows = structure.pooled(scatter, one), weight.sum(axis=0, keepdims=True)
        else:
            scale, rows = structure.own(scatter, np.ones((len(weight), 1))), weight
        per_row = moments.mean.shape[1] if structure is SphericalCovariance else 1
        nu = self.nu + per_row * (rows if structure is DiagonalCovariance else rows.mean(axis=1, keepdims=True))
        return replace(self, means=self.means + away * weight / kappa, kappa=kappa, nu=nu, scale=self.scale + scale)

    @property
    def features(self) -> int:
        return self.means.shape[-1]

    def freedom(self) -> Array:
        """nu of each covariance; (k, 1) or (k, p)."""
        nu = np.asarray(self.nu, dtype=np.float64)
        return np.broadcast_to(nu, (len(self.scale), 1)) if nu.ndim == 0 else nu

    def log_normalizer(self) -> float:
        """log of the integral over covariances, summed over the k of them; means aside."""
        half, features = self.freedom() / 2, self.features
        if self.structure is FullCovariance:
            gammas = multigammaln(half[:, 0], features) if features > 1 else gammaln(half[:, 0])
            return float((gammas - half[:, 0] * 2 * FullCovariance(self.scale).half_log_det).sum())
        if self.structure is DiagonalCovariance:
            half = np.broadcast_to(half, self.scale.shape)
            return float((gammaln(half) - half * np.log(self.scale)).sum())
        return float((gammaln(half[:, 0]) - half[:, 0] * np.log(features * self.scale[:, 0])).sum())


def log_evidence(prior: Conjugate, statistics: ClassStatistics, shared: bool) -> float:
    """log p(rows | labels), mean and covariance integrated out: the closed-form marginal likelihood."""
    posterior = prior.updated(statistics, shared)
    count = len(posterior.scale)
    weight = np.broadcast_to(statistics.moments.weight, posterior.means.shape)
    kappa = np.broadcast_to(posterior.kappa, posterior.means.shape)
    spread = 0.5 * float(np.log(prior.kappa / kappa).sum())
    return posterior.log_normalizer() - count * prior.log_normalizer() - 0.5 * float(weight.sum()) * log(pi) + spread


# ----------------------------------------------------------------------------------------------------------------------
# Priors in the units of the rows they are to serve.

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
