"""Covariances without correlations: a variance for each feature, or one for all."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes, row_norms
from classwise.covariance.exponents import Exponents, OwnDiagonal
from classwise.covariance.structures import TINY, Covariance
from classwise.statistics import DiagonalScatter, Scatter
from classwise.storage import stored


@stored("DiagonalCovariance")
class DiagonalCovariance(Covariance):
    """Features that do not vary together; values (k, p), the variances."""

    name = "diagonal"
    apart = True

    def _is_sound(self) -> bool:
        shaped = self.values.ndim == 2 and self.values.shape[1] > 0 and 0 <= self.constraints < self._size()
        return shaped and bool((self.values > 0).all())

    @staticmethod
    def scatter_form(shared: bool) -> type[Scatter]:
        return DiagonalScatter

    @staticmethod
    def sums(scatter: Scatter, shared: bool) -> Array:
        return scatter.pooled_diagonal()[None] if shared else scatter.diagonals()

    @staticmethod
    def divided(sums: Array, divisor: Array) -> Array:
        return sums / divisor

    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        return type(self)(self.values[:, columns])

    def traces(self, matrices: Array) -> Array:
        return np.asarray((matrices / self.values).sum(axis=1))

    def _size(self) -> int:
        return self.values.size

    def variances(self) -> Array:
        return self.values

    def matrices(self) -> Array:
        return self.values[:, :, None] * np.eye(self.values.shape[1])

    def shrunk(self, amount: Array) -> Self:
        amount = amount[:, None]
        return replace(self, values=(1 - amount) * self.values + amount * self.values.mean(axis=1, keepdims=True))

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

    def precisions(self, k: int) -> Array:
        return 1 / self.values[k]

    def color(self, noise: Array, k: int) -> Array:
        return noise * self.deviations[k]

    def reach(self, point: Array) -> float:
        return float((np.abs(point) / self.deviations).max())

    def own_exponents(self, means: Array) -> Exponents:
        return OwnDiagonal(means, self.deviations)

    def eigen(self) -> tuple[Array, Array]:
        count, features = self.values.shape
        return self.values, np.broadcast_to(np.eye(features), (count, features, features))

    @staticmethod
    def prior_scale(matrix: Array) -> Array:
        return np.diagonal(matrix)[None]

    @classmethod
    def log_dets(cls, scale: Array) -> Array:
        return np.log(cls.values_per_row(scale.shape[1]) * cls._one_of_each(scale))

    @classmethod
    def ratios(cls, scale: Array, change: Array) -> Array:
        return cls._one_of_each(change) / cls._one_of_each(scale)

    @classmethod
    def _one_of_each(cls, scale: Array) -> Array:
        """One number for each inverse Wishart: that of a sphere stands in all features."""
        return scale if cls.apart else scale[:, :1]

    def without(self, z: Array, d: Array, b: float) -> tuple[Array, Array]:
        rest = np.maximum(self.values[0] - b * d * d, TINY * self.values[0])
        return z * z / rest, np.log(rest)


@stored("SphericalCovariance")
class SphericalCovariance(DiagonalCovariance):
    """s² I: every feature with the same variance; values (k, p), equal along each row.

    Its average over the features is the trace over p, so shrinking it changes nothing. A scale stands over p in each
    feature.
    """

    name = "spherical"
    apart = False

    def _size(self) -> int:
        return len(self.values)

    def scaled(self, scale: Array) -> DiagonalCovariance:
        return ScaledSphere(self.values * scale**2)

    @staticmethod
    def sums(scatter: Scatter, shared: bool) -> Array:
        sums = DiagonalCovariance.sums(scatter, shared)
        features = sums.shape[1]
        return (sums.sum(axis=1, keepdims=True) / features).repeat(features, axis=1)

    @staticmethod
    def divided(sums: Array, divisor: Array) -> Array:
        return sums / (divisor if divisor.shape[1] == 1 else divisor.mean(axis=1, keepdims=True))

    @staticmethod
    def prior_scale(matrix: Array) -> Array:
        diagonal = np.diagonal(matrix)[None]
        return np.full_like(diagonal, diagonal.mean() / len(matrix))

    def without(self, z: Array, d: Array, b: float) -> tuple[Array, Array]:
        scale, features = self.values[0, 0], self.values.shape[1]
        rest = np.maximum(features * scale - b * row_norms(d), TINY * scale)[:, None]
        return row_norms(z)[:, None] / rest, features * np.log(rest)


@stored("ScaledSphere")
class ScaledSphere(DiagonalCovariance):
    """A sphere in units of each feature's own: its k sizes, and the p units."""

    def _size(self) -> int:
        return sum(self.values.shape)
