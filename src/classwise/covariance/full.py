"""Full covariances: any features may vary together."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg.lapack import dtrtri

from classwise.arrays import Array, Codes, product, row_norms
from classwise.covariance.exponents import Exponents, OwnFull
from classwise.covariance.structures import TINY, Covariance
from classwise.kernels.sums import least_pivot
from classwise.statistics import FullScatter, PooledScatter, Scatter
from classwise.storage import stored


@stored("FullCovariance")
class FullCovariance(Covariance):
    """Any covariance; values (k, p, p)."""

    name = "full"
    correlated = True

    def _is_sound(self) -> bool:
        square = self.values.ndim == 3 and self.values.shape[1] == self.values.shape[2] > 0
        if not square or not 0 <= self.constraints < self._size() or not (self.variances() > 0).all():
            return False
        correlation = self.values / (self.scale[:, :, None] * self.scale[:, None, :])
        return np.allclose(correlation, correlation.transpose(0, 2, 1)) and bool(np.isfinite(self.whitening).all())

    @staticmethod
    def scatter_form(shared: bool) -> type[Scatter]:
        return PooledScatter if shared else FullScatter

    @staticmethod
    def sums(scatter: Scatter, shared: bool) -> Array:
        return scatter.pooled()[None] if shared else scatter.by_class()

    @staticmethod
    def divided(sums: Array, divisor: Array) -> Array:
        return sums / divisor[:, :, None]

    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        return type(self)(self.values[:, columns, :][:, :, columns])

    def traces(self, matrices: Array) -> Array:
        return self.ratios(self.values, matrices)[:, 0]

    def _size(self) -> int:
        count, features, _ = self.values.shape
        return count * features * (features + 1) // 2

    def variances(self) -> Array:
        return self.values.diagonal(axis1=1, axis2=2)

    def matrices(self) -> Array:
        return self.values

    def shrunk(self, amount: Array) -> Self:
        spherical = self.variances().mean(axis=1)[:, None, None] * np.eye(self.values.shape[1])
        amount = amount[:, None, None]
        return replace(self, values=(1 - amount) * self.values + amount * spherical)

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

    def least_pivot(self) -> float:
        return least_pivot(self.values)

    def eigen(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.values)
        return values, vectors

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

    @staticmethod
    def prior_scale(matrix: Array) -> Array:
        return matrix[None]

    @classmethod
    def log_dets(cls, scale: Array) -> Array:
        return 2 * cls(scale).half_log_det[:, None]

    @classmethod
    def ratios(cls, scale: Array, change: Array) -> Array:
        return np.trace(np.linalg.solve(scale, change), axis1=1, axis2=2)[:, None]

    def without(self, z: Array, d: Array, b: float) -> tuple[Array, Array]:
        """By Sherman and Morrison (1950)."""
        z = self.whiten(z, 0)
        log_det = 2 * self.half_log_det[:1, None]
        if not b:
            return row_norms(z)[:, None], log_det
        d = self.whiten(d, 0)
        left = np.maximum(1 - b * row_norms(d), TINY)
        squares = row_norms(z) + b * np.einsum("ij,ij->i", z, d) ** 2 / left
        return squares[:, None], log_det + np.log(left)[:, None]
