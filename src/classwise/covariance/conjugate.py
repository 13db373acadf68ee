"""Conjugate priors of mean and covariance, and what rows make of them.

    C ~ inverse Wishart(nu, scale);   m | C ~ N(mean, C / kappa)

After n rows with mean x and scatter S:

    kappa' = kappa + n;   nu' = nu + n;   mean' = (kappa mean + n x) / kappa'
    scale' = scale + S + kappa n / kappa' (x - mean)(x - mean)'

The next row is Student-t at mean', with v = nu' - p + 1 degrees of freedom and shape scale' (kappa' + 1) / (kappa' v).
Where classes share a covariance, their scatters add up in one scale', and nu' counts the rows of all. Diagonal
covariances are one such problem for each feature, spherical ones a single one for all features together; a structure
says itself how many there are, and of what dimension.

Priors that have names:

weak      counts little, in the units of the data: mean at the overall mean with kappa = 0.1, and C expected half way
          between the pooled covariance within classes and its diagonal, which counts as p rows (nu = 2 p + 1), about
          as many as it takes for a covariance to have an inverse; a variance by itself counts as one row
geisser   the limiting prior |C|^-(p+1)/2, improper: it needs more rows than features (Geisser 1964)
evidence  of the weak prior's form, with kappa, nu and the size of scale that make the rows most probable
cv, loo   of the weak prior's form, with the nu and the place between covariance and diagonal under which rows held
          out (in folds, or one by one) are classified best
"""

from dataclasses import dataclass, replace
from math import log, pi
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from classwise.arrays import Array
from classwise.covariance.structures import Covariance
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics, Moments
from classwise.storage import stored


@stored("NormalInverseWishart")
@dataclass(frozen=True, eq=False)
class NormalInverseWishart:
    """C ~ inverse Wishart(nu, scale); m | C ~ N(mean, C / kappa), for every class alike.

    The prior mean of C is scale / (nu - p - 1). The prior counts as kappa rows for the mean, and as nu rows for the
    covariance.

    Parameters
    ----------
    mean : float or array of shape (p,)
        The expected mean of each feature; one number for all features.
    kappa : float
        The number of rows that the prior counts as for the mean.
    nu : float
        The degrees of freedom: the number of rows that the prior counts as for the covariance.
    scale : float or array of shape (p,) or (p, p)
        The scale matrix, its diagonal, or one number for a multiple of the identity.

    Examples
    --------
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
        # Each variance by itself has an inverse gamma, with fewer degrees of freedom.
        nu = self.nu - features + structure.dimension(features)
        return Conjugate(structure, self.mean, self.kappa, nu, structure.prior_scale(self.scale))


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
        rows = weight.sum(axis=0, keepdims=True) if shared else weight
        rows = rows if structure.apart else rows.mean(axis=1, keepdims=True)
        nu = self.nu + structure.values_per_row(moments.mean.shape[1]) * rows
        scale = self.scale + structure.sums(scatter, shared)
        return replace(self, means=self.means + away * weight / kappa, kappa=kappa, nu=nu, scale=scale)

    @property
    def features(self) -> int:
        return self.means.shape[-1]

    @property
    def dimension(self) -> int:
        """Of each inverse Wishart."""
        return self.structure.dimension(self.features)

    def freedom(self) -> Array:
        """nu of each covariance; (k, 1) or (k, p)."""
        nu = np.asarray(self.nu, dtype=np.float64)
        return np.broadcast_to(nu, (len(self.scale), 1)) if nu.ndim == 0 else nu

    def log_normalizer(self) -> float:
        """log of the integral over covariances, summed over the k of them; up to a constant of the dimension."""
        log_dets = self.structure.log_dets(self.scale)
        nu = np.broadcast_to(self.freedom(), log_dets.shape)
        return float((log_gammas(nu, self.dimension) - nu / 2 * log_dets).sum())

    def slope_in_nu(self) -> float:
        """The slope of the log normalizer in nu."""
        log_dets = self.structure.log_dets(self.scale)
        nu = np.broadcast_to(self.freedom(), log_dets.shape)
        return 0.5 * float((digammas(nu, self.dimension) - log_dets).sum())

    def half_trace(self, change: Array) -> float:
        """1/2 nu tr(scale^-1 change), summed: minus the slope of the log normalizer when scale changes."""
        return 0.5 * float((self.freedom() * self.structure.ratios(self.scale, change)).sum())


def log_gammas(nu: Array, dimension: int) -> Array:
    """log of the multivariate gamma function at nu / 2, up to a constant of the dimension; of the shape of nu."""
    return np.asarray(gammaln((nu[..., None] - np.arange(dimension)) / 2).sum(axis=-1))


def digammas(nu: Array, dimension: int) -> Array:
    """Its slope in nu / 2."""
    return np.asarray(digamma((nu[..., None] - np.arange(dimension)) / 2).sum(axis=-1))


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
    def of_strength(cls, rows: float, diagonal: float = 0.5) -> "PriorForm":
        """C is expected at E, and that counts as `rows` rows: nu = p + 1 + rows."""
        return cls(KAPPA, rows + 2, rows / (rows + 2), diagonal)

    def of(self, moments: Moments) -> Hyperparameters:
        """For these rows."""
        scale = self.size * self.freedom * expected_covariance(moments, self.diagonal)
        nu = moments.mean.shape[1] - 1 + self.freedom
        return Hyperparameters(moments.overall_mean(), self.kappa, nu, scale)

    def share_of_rows(self, structure: type[Covariance], features: int) -> float:
        """How much of the pooled covariance the scale holds, in the directions of the rows."""
        share = 1 - self.diagonal if structure.correlated else 1 / structure.values_per_row(features)
        return self.size * self.freedom * share


def weak_form(features: int, structure: type[Covariance]) -> PriorForm:
    """Counts as many rows as it takes for a covariance to have an inverse: p if it is full, one for a variance."""
    return PriorForm.of_strength(float(structure.dimension(features)))


def expected_covariance(moments: Moments, diagonal: float = 0.5) -> Array:
    """Between the pooled covariance within classes (0) and its diagonal (1); (p, p).

    Columns that do not vary within classes have their overall variance, or 1 if they never vary.
    """
    within = moments.scatter.pooled_diagonal() / np.maximum(moments.weight.sum(axis=0), 1.0)
    overall = moments.overall_variance()
    # What is tiny relative to the overall variance is rounding, or a single row in each class.
    variances = np.where(within > 1e-12 * overall, within, np.where(overall > 0, overall, 1.0))
    if moments.scatter.name == "diagonal":
        return np.diag(variances)
    pooled = moments.scatter.pooled() / float(moments.weight.sum())
    return (1 - diagonal) * np.where(np.eye(len(variances), dtype=bool), 0.0, pooled) + np.diag(variances)
