"""The interface of a structure of covariances; each structure is a file of its own.

A Gaussian needs little of a covariance: the exponent -1/2 |whiten(x - m)|², and half the log determinant. A conjugate
prior needs the number and dimension of its inverse Wisharts, and their determinants and traces.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from classwise.arrays import EPS, Array, Codes
from classwise.covariance.exponents import FAR, Exponents, Shared
from classwise.statistics import Scatter

# What is left of a scale where nearly nothing is: rounding must not make it negative.
TINY = 1e-12


def tolerance(features: int) -> float:
    """The least share of a feature's variance that must not be explained by the features before it."""
    return 10 * features * EPS


@dataclass(frozen=True, eq=False)
class Covariance(ABC):
    """k covariances, one per class, or one shared by all (k = 1), of p features.

    constraints: how many of the numbers follow from the others by what classes share, if not all of a covariance.
    correlated: whether features may vary together. apart: whether each variance is known by its own feature alone.
    """

    values: Array
    constraints: int = 0
    name: ClassVar[str]
    correlated: ClassVar[bool] = False
    apart: ClassVar[bool] = False

    def fits(self, means: Array) -> bool:
        """Whether there is one covariance for all means (g, p), or one for each, of as many features."""
        return means.ndim == 2 and len(self.values) in (1, len(means)) and self.values.shape[1] == means.shape[1]

    @staticmethod
    @abstractmethod
    def scatter_form(shared: bool) -> type[Scatter]:
        """The leanest scatter from which this structure can be estimated."""

    @staticmethod
    @abstractmethod
    def sums(scatter: Scatter, shared: bool) -> Array:
        """The scatter of each class, or of all together, as the structure stores it; (g, ...) or (1, ...)."""

    @staticmethod
    @abstractmethod
    def divided(sums: Array, divisor: Array) -> Array:
        """Such sums over divisors (k, 1) or (k, p)."""

    @classmethod
    def own(cls, scatter: Scatter, divisor: Array) -> Array:
        """Each class's scatter over its divisor; (g, ...)."""
        return cls.divided(cls.sums(scatter, shared=False), divisor)

    @classmethod
    def pooled(cls, scatter: Scatter, divisor: Array) -> Array:
        """The scatter summed over classes over its divisor; (1, ...)."""
        return cls.divided(cls.sums(scatter, shared=True), divisor)

    @abstractmethod
    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        """The covariance of these features alone: that of their marginal density."""

    @abstractmethod
    def traces(self, matrices: Array) -> Array:
        """tr C_k^-1 M_k, for matrices M_k as the structure stores them; (k,)."""

    @property
    def free_parameters(self) -> int:
        """How many numbers are left to estimate."""
        return self._size() - self.constraints

    @abstractmethod
    def _size(self) -> int:
        """How many numbers k covariances of this structure have."""

    @abstractmethod
    def variances(self) -> Array:
        """The diagonal; (k, p)."""

    @abstractmethod
    def matrices(self) -> Array:
        """As matrices; (k, p, p)."""

    @abstractmethod
    def shrunk(self, amount: Array) -> Self:
        """(1 - amount) C + amount (tr C / p) I, with an amount for each; (k,)."""

    @abstractmethod
    def scaled(self, scale: Array) -> "Covariance":
        """The covariance of x * scale, given that of x; (p,)."""

    @property
    @abstractmethod
    def half_log_det(self) -> Array:
        """1/2 log|C|; (k,)."""

    @abstractmethod
    def whiten(self, rows: Array, k: int) -> Array:
        """z with z'z = x' C_k^-1 x for each row; (m, p) -> (m, p)."""

    @abstractmethod
    def project(self, basis: Array, k: int) -> Array:
        """V B, where whitening is z = x V: the map to coordinates of z along the basis; (p, r) -> (p, r)."""

    @abstractmethod
    def color(self, noise: Array, k: int) -> Array:
        """The inverse of whiten: rows of covariance C_k from rows of covariance I."""

    @abstractmethod
    def reach(self, point: Array) -> float:
        """How many standard deviations a point lies from zero at most, no help from cancellation counted; (p,)."""

    @abstractmethod
    def own_exponents(self, means: Array) -> Exponents:
        """The exponents of Gaussians at these means, each in the metric of its own class."""

    def exponents(self, means: Array) -> Exponents:
        """-1/2 (x - m_k)' C_k^-1 (x - m_k) for the means (g, p)."""
        if len(self.values) < len(means):
            return Shared.of(self, means)
        return self.own_exponents(means)

    def origin(self, means: Array) -> Array | None:
        """The average of the means, or None where it is so near to zero that subtracting it gains nothing."""
        middle = np.asarray(means[0] + (means - means[0]).mean(axis=0))
        return middle if self.reach(middle) > FAR else None

    def least_pivot(self) -> float:
        """The least share of a feature's variance that the features before it do not explain."""
        return float((self.variances() > 0).all())

    @property
    def is_regular(self) -> bool:
        """Whether every one of the covariances has an inverse."""
        return tolerance(self.values.shape[1]) < self.least_pivot()

    @abstractmethod
    def eigen(self) -> tuple[Array, Array]:
        """Eigenvalues (k, p) and eigenvectors (k, p, p)."""

    def precision(self, k: int) -> Array:
        """C_k^-1; (p, p)."""
        whitening = self.project(np.eye(self.variances().shape[1]), k)
        return whitening @ whitening.T

    def precisions(self, k: int) -> Array:
        """The diagonal of C_k^-1; (p,)."""
        return self.precision(k).diagonal()

    def solve(self, rows: Array, k: int) -> Array:
        """C_k^-1 x of each row, without a matrix of p x p where the structure has none; (m, p) -> (m, p)."""
        return self.project(self.whiten(rows, k).T, k).T

    # Conjugate priors ------------------------------------------------------------------------------------------------
    #
    # A full covariance has one inverse Wishart of dimension p, a diagonal one p of dimension one, and a sphere one of
    # dimension one, to which a row adds p values. Their scales stand as the structure stores a scatter: `sums`.

    @classmethod
    def dimension(cls, features: int) -> int:
        """Of each inverse Wishart: its degrees of freedom are more than this less one."""
        return features if cls.correlated else 1

    @classmethod
    def values_per_row(cls, features: int) -> int:
        """How many values a row adds to each inverse Wishart."""
        return 1 if cls.correlated or cls.apart else features

    @staticmethod
    @abstractmethod
    def prior_scale(matrix: Array) -> Array:
        """The scale (p, p) of a prior of full covariances, in this structure; (1, ...)."""

    @classmethod
    @abstractmethod
    def log_dets(cls, scale: Array) -> Array:
        """log|scale| of each inverse Wishart; (k, 1), or (k, p) if apart."""

    @classmethod
    @abstractmethod
    def ratios(cls, scale: Array, change: Array) -> Array:
        """tr scale^-1 change of each inverse Wishart; (k, 1), or (k, p) if apart."""

    @classmethod
    def shape(cls, scale: Array, freedom: Array) -> Self:
        """scale over freedom (k, 1) or (k, p): the shape of the Student-t that the rows to come have."""
        return cls(cls.divided(cls.values_per_row(scale.shape[1]) * scale, freedom))

    @abstractmethod
    def without(self, z: Array, d: Array, b: float) -> tuple[Array, Array]:
        """z'S^-1 z and log|S| of each Student-t for the scale S = C_0 - b d d'; (m, p) each -> (m, 1), or (m, p)."""
