"""Structures: a covariance that is full, diagonal or spherical, one per class or one that all classes share.

A Gaussian asks little of a covariance: the exponent -1/2 |whiten(x - m)|², and half the log determinant.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from scipy.linalg.lapack import dtrtri

from classwise.arrays import Array, Codes, product
from classwise.covariance.exponents import FAR, Exponents, OwnDiagonal, OwnFull, Shared
from classwise.statistics import DiagonalScatter, FullScatter, PooledScatter, Scatter
from classwise.storage import stored


@dataclass(frozen=True, eq=False)
class Covariance(ABC):
    """k covariances, one per class, or one shared by all (k = 1), of p features."""

    values: Array
    name: ClassVar[str]

    def fits(self, means: Array) -> bool:
        """Whether there is one covariance for all means (g, p), or one for each, of as many features."""
        return means.ndim == 2 and len(self.values) in (1, len(means)) and self.values.shape[1] == means.shape[1]

    @staticmethod
    @abstractmethod
    def scatter_form(shared: bool) -> type[Scatter]:
        """The leanest scatter from which this structure can be estimated."""

    @staticmethod
    @abstractmethod
    def own(scatter: Scatter, divisor: Array) -> Array:
        """Each class's scatter over its divisor, in this structure; divisor (g, 1) or (g, p) -> (g, ...)."""

    @staticmethod
    @abstractmethod
    def pooled(scatter: Scatter, divisor: Array) -> Array:
        """The scatter summed over classes over its divisor, in this structure; divisor (1, 1) or (1, p) -> (1, ...)."""

    @abstractmethod
    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        """The covariance of these features alone: that of their marginal density."""

    @abstractmethod
    def traces(self, matrices: Array) -> Array:
        """tr C_k^-1 M_k, for matrices M_k as the structure stores them; (k,)."""

    @property
    @abstractmethod
    def free_parameters(self) -> int:
        """How many numbers the structure leaves to estimate."""

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

    def precision(self, k: int) -> Array:
        """C_k^-1; (p, p)."""
        whitening = self.project(np.eye(self.variances().shape[1]), k)
        return whitening @ whitening.T


@stored("FullCovariance")
class FullCovariance(Covariance):
    """Any covariance; values (k, p, p)."""

    name = "full"

    def _is_sound(self) -> bool:
        square = self.values.ndim == 3 and self.values.shape[1] == self.values.shape[2] > 0
        if not square or not (self.variances() > 0).all():
            return False
        correlation = self.values / (self.scale[:, :, None] * self.scale[:, None, :])
        return np.allclose(correlation, correlation.transpose(0, 2, 1)) and bool(np.isfinite(self.whitening).all())

    @staticmethod
    def scatter_form(shared: bool) -> type[Scatter]:
        return PooledScatter if shared else FullScatter

    @staticmethod
    def own(scatter: Scatter, divisor: Array) -> Array:
        return scatter.by_class() / divisor[:, :, None]

    @staticmethod
    def pooled(scatter: Scatter, divisor: Array) -> Array:
        return scatter.pooled()[None] / divisor[:, :, None]

    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        return type(self)(self.values[:, columns, :][:, :, columns])

    def traces(self, matrices: Array) -> Array:
        return np.trace(np.linalg.solve(self.values, matrices), axis1=1, axis2=2)

    @property
    def free_parameters(self) -> int:
        count, features, _ = self.values.shape
        return count * features * (features + 1) // 2

    def variances(self) -> Array:
        return np.diagonal(self.values, axis1=1, axis2=2)

    def matrices(self) -> Array:
        return self.values

    def shrunk(self, amount: Array) -> Self:
        spherical = self.variances().mean(axis=1)[:, None, None] * np.eye(self.values.shape[1])
        amount = amount[:, None, None]
        return type(self)((1 - amount) * self.values + amount * spherical)

    def scaled(self, scale: Array) -> "FullCovariance":
        return FullCovariance(self.values * np.outer(scale, scale))

    @cached_property
    def scale(self) -> Array:
        """The standard deviation of each feature, taken out before factoring so that units do not matter; (k, p)."""
        deviations = np.sqrt(self.variances())
        return np.where(deviations > 0, deviations, 1.0)

    @cached_property
    def root(self) -> Array:
        """L, lower triangular, with L L' the correlation matrix; (k, p, p)."""
        return np.asarray(np.linalg.cholesky(self.values / (self.scale[:, :, None] * self.scale[:, None, :])))

    @cached_property
    def whitening(self) -> Array:
        """V, upper triangular, with V V' = C^-1, so that z = x V is white; (k, p, p)."""
        inverse = np.stack([dtrtri(root, lower=1)[0] for root in self.root])
        return inverse.transpose(0, 2, 1) / self.scale[:, :, None]

    @cached_property
    def half_log_det(self) -> Array:
        diagonal = np.diagonal(self.root, axis1=1, axis2=2)
        return np.asarray(np.log(self.scale).sum(axis=1) + np.log(diagonal).sum(axis=1))

    def whiten(self, rows: Array, k: int) -> Array:
        return product(rows, self.whitening[k])

    def project(self, basis: Array, k: int) -> Array:
        return self.whitening[k] @ basis

    def color(self, noise: Array, k: int) -> Array:
        return (noise @ self.root[k].T) * self.scale[k]

    def reach(self, point: Array) -> float:
        return float((np.abs(point) @ np.abs(self.whitening)).max())

    def own_exponents(self, means: Array) -> Exponents:
        return OwnFull.of(self.whitening, means)


@stored("DiagonalCovariance")
class DiagonalCovariance(Covariance):
    """Features that do not vary together; values (k, p), the variances."""

    name = "diagonal"

    def _is_sound(self) -> bool:
        return self.values.ndim == 2 and self.values.shape[1] > 0 and bool((self.values > 0).all())

    @staticmethod
    def scatter_form(shared: bool) -> type[Scatter]:
        return DiagonalScatter

    @staticmethod
    def own(scatter: Scatter, divisor: Array) -> Array:
        return scatter.diagonals() / divisor

    @staticmethod
    def pooled(scatter: Scatter, divisor: Array) -> Array:
        return scatter.pooled_diagonal()[None] / divisor

    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        return type(self)(self.values[:, columns])

    def traces(self, matrices: Array) -> Array:
        return np.asarray((matrices / self.values).sum(axis=1))

    @property
    def free_parameters(self) -> int:
        return self.values.size

    def variances(self) -> Array:
        return self.values

    def matrices(self) -> Array:
        return self.values[:, :, None] * np.eye(self.values.shape[1])

    def shrunk(self, amount: Array) -> Self:
        amount = amount[:, None]
        return type(self)((1 - amount) * self.values + amount * self.values.mean(axis=1, keepdims=True))

    def scaled(self, scale: Array) -> "DiagonalCovariance":
        return DiagonalCovariance(self.values * scale**2)

    @cached_property
    def deviations(self) -> Array:
        return np.sqrt(self.values)

    @cached_property
    def half_log_det(self) -> Array:
        return np.asarray(np.log(self.deviations).sum(axis=1))

    def whiten(self, rows: Array, k: int) -> Array:
        return rows / self.deviations[k]

    def project(self, basis: Array, k: int) -> Array:
        return basis / self.deviations[k][:, None]

    def color(self, noise: Array, k: int) -> Array:
        return noise * self.deviations[k]

    def reach(self, point: Array) -> float:
        return float((np.abs(point) / self.deviations).max())

    def own_exponents(self, means: Array) -> Exponents:
        return OwnDiagonal(means, self.deviations)


@stored("SphericalCovariance")
class SphericalCovariance(DiagonalCovariance):
    """s² I: every feature with the same variance; values (k, p), equal along each row.

    Its average over the features is the trace over p, so shrinking it changes nothing.
    """

    name = "spherical"

    @property
    def free_parameters(self) -> int:
        return len(self.values)

    def scaled(self, scale: Array) -> DiagonalCovariance:
        return ScaledSphere(self.values * scale**2)

    @staticmethod
    def own(scatter: Scatter, divisor: Array) -> Array:
        return _level(scatter.diagonals(), divisor)

    @staticmethod
    def pooled(scatter: Scatter, divisor: Array) -> Array:
        return _level(scatter.pooled_diagonal()[None], divisor)


@stored("ScaledSphere")
class ScaledSphere(DiagonalCovariance):
    """A sphere in units of each feature's own: its k sizes, and the p units."""

    @property
    def free_parameters(self) -> int:
        return sum(self.values.shape)


STRUCTURES: dict[str, type[Covariance]] = {
    structure.name: structure for structure in (FullCovariance, DiagonalCovariance, SphericalCovariance)
}


def _level(sums: Array, divisor: Array) -> Array:
    """All sums of squares over all divisors, for every feature alike."""
    variance = sums.mean(axis=1, keepdims=True) / divisor.mean(axis=1, keepdims=True)
    return np.broadcast_to(variance, sums.shape)
