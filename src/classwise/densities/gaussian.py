"""The Gaussian: log N(x | m, C) = -p/2 log 2π - 1/2 log|C| - 1/2 (x - m)' C^-1 (x - m)."""

from dataclasses import dataclass
from functools import cached_property
from math import log, pi

import numpy as np

from classwise.arrays import Array, Codes
from classwise.covariance import Covariance
from classwise.covariance.exponents import Exponents
from classwise.densities.density import Density


@dataclass(frozen=True, eq=False)
class Gaussian(Density):
    """Means (g, p), with a covariance for each class or one for all.

    >>> from classwise.covariance import SphericalCovariance
    >>> standard = Gaussian(np.array([[0.0], [2.0]]), SphericalCovariance(np.array([[1.0]])))
    >>> at = np.array([[0.0]])
    >>> standard.relative(at, np.zeros((2, 1))) + standard.common(at)
    array([[-0.91893853],
           [-2.91893853]])
    """

    means: Array
    covariance: Covariance

    @property
    def count(self) -> int:
        return len(self.means)

    @property
    def n_features(self) -> int:
        return self.means.shape[1]

    @property
    def width(self) -> int:
        return self.n_features + self._exponents.width

    def relative(self, rows: Array, offset: Array) -> Array:
        own = 0.0 if self._is_shared else self._log_scale[:, None]
        return self._exponents.relative(self._about_origin(rows), offset + own)

    def common(self, rows: Array) -> Array | float:
        common = self._exponents.common(self._about_origin(rows))
        return common + self._log_scale[0] if self._is_shared else common

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        rows = generator.standard_normal((len(codes), self.n_features))
        for k in range(len(self.covariance.values)):
            own = slice(None) if self._is_shared else codes == k
            rows[own] = self.covariance.color(rows[own], k)
        return rows + self.means[codes]

    @property
    def _is_shared(self) -> bool:
        return len(self.covariance.values) < self.count

    @cached_property
    def _log_scale(self) -> Array:
        """-p/2 log 2π - 1/2 log|C|; (g,), or (1,) where all classes share it."""
        return -(0.5 * self.n_features * log(2 * pi) + self.covariance.half_log_det)

    @cached_property
    def _origin(self) -> Array | None:
        return self.covariance.origin(self.means)

    @cached_property
    def _exponents(self) -> Exponents:
        return self.covariance.exponents(self.means if self._origin is None else self.means - self._origin)

    def _about_origin(self, rows: Array) -> Array:
        if self._origin is None:
            return np.asarray(rows, dtype=np.float64)
        return np.subtract(rows, self._origin, dtype=np.float64)
