"""The Gaussian: log N(x | m, C) = -p/2 log 2π - 1/2 log|C| - 1/2 (x - m)' C^-1 (x - m). And of logarithms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, patterns, row_norms
from classwise.covariance import Covariance
from classwise.covariance.exponents import Exponents
from classwise.densities.density import ColumnPolynomial, Density, Located, Wrapper, by_pattern
from classwise.errors import UnscorableError
from classwise.kernels.scores import Scores
from classwise.statistics import Moments
from classwise.storage import stored


@stored("Gaussian")
@dataclass(frozen=True, eq=False)
class Gaussian(Located):
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

    def _is_sound(self) -> bool:
        return self.covariance.fits(self.means)

    @property
    def width(self) -> int:
        return self.means.shape[1] + self._exponents.width

    @property
    def free_parameters(self) -> int:
        return self.means.size + self.covariance.free_parameters

    def log_likelihood(self, moments: Moments) -> float:
        """The sum of log p(x | own class) of complete rows, from their moments:

        -1/2 sum over classes of n_k (p log 2π + log|C_k|) + tr C_k^-1 (S_k + n_k (x_k - m_k)(x_k - m_k)')
        """
        weight, shared = moments.weight[:, 0], self._is_shared
        away = (moments.mean - self.means) + moments.rest
        scatter = moments.scatter + moments.scatter.between(moments.weight, away)
        sums = self.covariance.sums(scatter, shared)
        half_log_det = np.broadcast_to(self.covariance.half_log_det, weight.shape)
        volumes = weight @ (self.n_features * log(2 * pi) + 2 * half_log_det)
        return -0.5 * float(volumes + self.covariance.traces(sums).sum())

    def relative(self, rows: Array, offset: Array) -> Array:
        own = 0.0 if self._is_shared else self._log_scale[:, None]
        return self._exponents.relative(self._about_origin(rows), offset + own)

    def scores(self, offset: Array) -> Scores | None:
        own = 0.0 if self._is_shared else self._log_scale[:, None]
        exponents = self._exponents
        origin = np.zeros(self.means.shape[1]) if self._origin is None else self._origin
        return exponents.scores(origin, offset + own)

    def common(self, rows: Array) -> Array | float:
        common = self._exponents.common(self._about_origin(rows))
        return common + self._log_scale[0] if self._is_shared else common

    def polynomial(self) -> ColumnPolynomial | None:
        """log p(x | k) itself, where columns are independent: x m / v - x² / 2v, and what all zeros have."""
        if self.covariance.correlated:
            return None
        variances = np.broadcast_to(self.covariance.variances(), self.means.shape)
        constant = self._log_scale - 0.5 * (self.means**2 / variances).sum(axis=1)
        return ColumnPolynomial(constant, self.means / variances, -0.5 / variances)

    def exponents(self, rows: Array) -> Array:
        """-1/2 (x - m_k)' C_k^-1 (x - m_k), nothing left out; (m, p) -> (g, m)."""
        centered = self._about_origin(rows)
        return self._exponents.relative(centered, np.zeros((self.count, 1))) + self._exponents.common(centered)

    def observed(self, rows: Array, offset: Array) -> Array:
        if not self.covariance.correlated:
            deviations = np.broadcast_to(np.sqrt(self.covariance.variances()), self.means.shape)
            own, present = zip(self.means, deviations, strict=True), ~np.isnan(rows)
            return np.stack([_log_observed(rows, present, *each) for each in own]) + offset

        def score(columns: Codes, values: Array) -> Array:
            marginal = self.marginal(columns)
            return marginal.relative(values, offset) + marginal.common(values)

        return by_pattern(rows, offset, score)

    def without_each(self, rows: Array, blank: Array) -> Iterator[Array]:
        """By the precision P = C^-1, with u = P (x - m): integrating x_j out takes u_j² / P_jj from the squared
        distance, and adds log P_jj to log|C|.
        """
        if np.isnan(rows).any():
            yield from super().without_each(rows, blank)
            return
        whole = self.observed(rows, np.zeros((self.count, 1)))
        gains = []
        for k in range(self.count):
            own, solved = self.covariance.precisions(self._own(k)), self._solve(rows - self.means[k], k)
            gains.append(0.5 * solved**2 / own - 0.5 * np.log(own / (2 * pi)))
        yield from (whole + gain for gain in np.moveaxis(np.array(gains), -1, 0))

    def observed_exponents(self, rows: Array) -> Array:
        """The same of the values that are there: of row x the exponents of x_o, with m_o and C_oo; (m, p) -> (g, m)."""
        nothing = np.zeros((self.count, 1))
        return by_pattern(rows, nothing, lambda columns, values: self.marginal(columns).exponents(values))

    def marginal(self, columns: Sequence[int] | Codes) -> "Gaussian":
        """The density of these columns alone, the others integrated out: the sub-block of mean and covariance."""
        return Gaussian(self.means[:, columns], self.covariance.restrict(columns))

    def expected(self, rows: Array, posterior: Array) -> Array:
        """Rows with what is missing at its expectation given the rest; (m, p), posterior (g, m) -> (m, p)."""
        filled = np.array(rows, dtype=np.float64)
        distinct, codes = patterns(~np.isnan(filled))
        for group, some in enumerate(distinct):
            own, there, missing = np.flatnonzero(codes == group), np.flatnonzero(some), np.flatnonzero(~some)
            parts = [self._regress(filled[np.ix_(own, there)], there, missing, k) for k in range(self.count)]
            filled[np.ix_(own, missing)] = np.einsum("gm,gmp->mp", posterior[:, own], np.stack(parts))
        return filled

    def _regress(self, values: Array, there: Codes, missing: Codes, k: int) -> Array:
        """m + C[missing, there] C[there, there]^-1 (x - m): what is missing, given what is there, in class k."""
        covariance = self.covariance.matrices()[self._own(k)]
        slope = np.linalg.solve(covariance[np.ix_(there, there)], covariance[np.ix_(there, missing)])
        return self.means[k, missing] + (values - self.means[k, there]) @ slope

    def shares(self, row: Array, first: int, second: int) -> Array:
        present = np.flatnonzero(~np.isnan(row))
        shares = np.zeros(self.n_features)
        if len(present):
            shares[present] = self.marginal(present)._complete_shares(row[present], first, second)
        return shares

    def _complete_shares(self, row: Array, first: int, second: int) -> Array:
        """Shared covariance: w_j (x_j - middle_j) with w = C^-1 (m_first - m_second).

        Own covariances: the exponent splits into -1/2 d_j (C^-1 d)_j with d = x - m. Independent columns also have
        -1/2 log v_j of their own.
        """
        if self._is_shared:
            slope = self._solve((self.means[first] - self.means[second])[None], 0)[0]
            return slope * (row - (self.means[first] + self.means[second]) / 2)
        exponents = [-0.5 * d * self._solve(d[None], k)[0] for k, d in self._away(row, first, second)]
        shares = exponents[0] - exponents[1]
        if not self.covariance.correlated:
            variances = self.covariance.variances()
            shares -= 0.5 * np.log(variances[first] / variances[second])
        return shares

    def _away(self, row: Array, *classes: int) -> list[tuple[int, Array]]:
        return [(k, row - self.means[k]) for k in classes]

    def _solve(self, rows: Array, k: int) -> Array:
        """C^-1 x of each row, in the metric of class k; (m, p) -> (m, p)."""
        return self.covariance.solve(rows, self._own(k))

    def _own(self, k: int) -> int:
        """Which covariance is class k's."""
        return 0 if self._is_shared else k

    def matrices(self) -> Array:
        matrices = self.covariance.matrices()
        return np.broadcast_to(matrices, (self.count, *matrices.shape[1:]))

    def parameters(self) -> list[dict[Any, Array]]:
        variances = np.broadcast_to(self.covariance.variances(), self.means.shape)
        return [{"mean": m, "variance": v} for m, v in zip(self.means.T, variances.T, strict=True)]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        rows = generator.standard_normal((len(codes), self.n_features))
        for k in range(len(self.covariance.values)):
            own = slice(None) if self._is_shared else codes == k
            rows[own] = self.covariance.color(rows[own], k)
        return rows + self.means[codes]

    @property
    def _is_shared(self) -> bool:
        return len(self.covariance.values) < len(self.means)

    @cached_property
    def _log_scale(self) -> Array:
        """-p/2 log 2π - 1/2 log|C|; (g,), or (1,) where all classes share it."""
        return -(0.5 * self.means.shape[1] * log(2 * pi) + self.covariance.half_log_det)

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


# The log-normal: log x is Gaussian, so log p(x | k) = log N(log x | m_k, v_k) - log x ---------------------------------


def _log_observed(rows: Array, present: NDArray[np.bool_], mean: Array, deviations: Array) -> Array:
    """The sum of log N(x_j | m_j, s_j²) over the columns with a value; (m,)."""
    distances = np.where(present, (rows - mean) / deviations, 0.0)
    return -0.5 * row_norms(distances) - present @ (np.log(deviations) + 0.5 * log(2 * pi))


@stored("LogNormal")
@dataclass(frozen=True, eq=False)
class LogNormal(Wrapper):
    """Positive columns whose logarithms have this density: Gaussian, or Student-t."""

    logs: Density

    @property
    def wrapped(self) -> Density:
        return self.logs

    @property
    def width(self) -> int:
        return self.n_features + self.logs.width

    def relative(self, rows: Array, offset: Array) -> Array:
        return self.logs.relative(_log(rows), offset)

    def common(self, rows: Array) -> Array:
        logs = _log(rows)
        return self.logs.common(logs) - logs.sum(axis=1)

    def observed(self, rows: Array, offset: Array) -> Array:
        logs = _log(rows)
        return self.logs.observed(logs, offset) - np.nansum(logs, axis=1)

    def shares(self, row: Array, first: int, second: int) -> Array:
        return self.logs.shares(_log(row), first, second)

    def parameters(self) -> list[dict[Any, Array]]:
        return [{f"log {name}": value for name, value in of.items()} for of in self.logs.parameters()]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return np.exp(self.logs.sample(codes, generator))


def _log(rows: Array) -> Array:
    if (rows <= 0).any():
        raise UnscorableError("Some values are not positive.")
    return np.log(rows)
