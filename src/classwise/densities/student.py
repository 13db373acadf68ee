"""The Student-t: a Gaussian whose covariance is not known for sure.

    log t(x | m, C, v) = log Γ((v + p)/2) - log Γ(v/2) - p/2 log(v π) - 1/2 log|C| - (v + p)/2 log(1 + q / v)

with q = (x - m)' C^-1 (x - m). It is what a normal-inverse-Wishart posterior predicts of the next row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from classwise.arrays import Array, Codes
from classwise.covariance import Conjugate, Covariance, DiagonalCovariance
from classwise.densities.density import Located, by_pattern
from classwise.densities.gaussian import Gaussian
from classwise.storage import stored


def predictive(posterior: Conjugate) -> "Student | IndependentStudent":
    """The density of the next row of each class."""
    wider = (posterior.kappa + 1) / posterior.kappa  # for the mean not being known
    freedom = posterior.freedom() - posterior.dimension + 1
    shape = posterior.structure.shape(posterior.scale, freedom)
    if shape.apart:
        everywhere = np.broadcast_to(freedom, posterior.means.shape)
        return IndependentStudent(posterior.means, shape.values * wider, everywhere, len(shape.values))
    count = len(posterior.means)
    return Student(posterior.means, shape, wider.mean(axis=1), np.broadcast_to(freedom[:, 0], (count,)))


@stored("Student")
@dataclass(frozen=True, eq=False)
class Student(Located):
    """Joint Student-t densities: means (g, p), shapes factor_k C_k, freedom (g,).

    C_k is one for each class or one for all; factor (g,) is how much wider each class is for its mean not being known.
    """

    means: Array
    covariance: Covariance
    factor: Array
    freedom: Array

    def _is_sound(self) -> bool:
        shaped = self.covariance.fits(self.means) and self.factor.shape == self.freedom.shape == (self.count,)
        return shaped and bool((self.factor > 0).all() and (self.freedom > 0).all())

    @property
    def width(self) -> int:
        return self._gaussian.width

    @property
    def free_parameters(self) -> int:
        return self._gaussian.free_parameters

    @cached_property
    def _gaussian(self) -> Gaussian:
        """The Gaussian of the same means and shapes, whose exponents are -q / 2."""
        return Gaussian(self.means, self.covariance)

    @cached_property
    def log_scale(self) -> Array:
        """What does not depend on the row; (g, 1)."""
        v, p = self.freedom, self.n_features
        volume = 0.5 * p * np.log(v * pi * self.factor) + self.covariance.half_log_det
        return (gammaln((v + p) / 2) - gammaln(v / 2) - volume)[:, None]

    def distances(self, rows: Array) -> Array:
        """q / factor: squared distances in the metric of each class; (g, m)."""
        exponents = self._gaussian.exponents(rows)
        return -2 * exponents / self.factor[:, None]

    def relative(self, rows: Array, offset: Array) -> Array:
        power = -0.5 * (self.freedom + self.n_features)[:, None]
        return power * np.log1p(self.distances(rows) / self.freedom[:, None]) + (self.log_scale + offset)

    def common(self, rows: Array) -> float:
        return 0.0

    def marginal(self, columns: Sequence[int] | Codes) -> "Student":
        """The density of these columns alone: Student-t again, with the same freedom."""
        return Student(self.means[:, columns], self.covariance.restrict(columns), self.factor, self.freedom)

    def observed(self, rows: Array, offset: Array) -> Array:
        return by_pattern(rows, offset, lambda columns, values: self.marginal(columns).relative(values, offset))

    def shares(self, row: Array, first: int, second: int) -> Array:
        """log(1 + q / v) is divided among the columns as q is."""
        present = np.flatnonzero(~np.isnan(row))
        shares = np.zeros(self.n_features)
        if len(present):
            part = self.marginal(present)
            ours, theirs = (part._split(row[present], k) for k in (first, second))
            shares[present] = ours - theirs
        return shares

    def _split(self, row: Array, k: int) -> Array:
        away = row - self.means[k]
        own = min(k, len(self.covariance.values) - 1)
        parts = away * self.covariance.solve(away[None], own)[0] / self.factor[k]
        total = parts.sum()
        value = -0.5 * (self.freedom[k] + self.n_features) * np.log1p(total / self.freedom[k])
        return parts * (value / total) if total > 0 else np.zeros_like(parts)

    def matrices(self) -> Array:
        return self.covariance.matrices() * self.factor[:, None, None]

    def parameters(self) -> list[dict[Any, Array]]:
        variances = self.covariance.variances() * self.factor[:, None]
        columns = zip(self.means.T, np.broadcast_to(variances, self.means.shape).T, strict=True)
        return [{"location": m, "shape": v, "freedom": self.freedom} for m, v in columns]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        around = self._gaussian.sample(codes, generator) - self.means[codes]
        spread = np.sqrt(self.factor[codes] * self.freedom[codes] / generator.chisquare(self.freedom[codes]))
        return self.means[codes] + around * spread[:, None]


@stored("IndependentStudent")
@dataclass(frozen=True, eq=False)
class IndependentStudent(Located):
    """Columns that are Student-t one by one: locations, shapes (squared) and freedom, each (g, p).

    kinds: how many variances of a column there are: g, or 1 where all classes share one.
    """

    means: Array
    shapes: Array
    freedom: Array
    kinds: int

    def _is_sound(self) -> bool:
        shaped = self.means.ndim == 2 and self.means.shape == self.shapes.shape == self.freedom.shape
        return shaped and bool((self.shapes > 0).all() and (self.freedom > 0).all())

    @property
    def width(self) -> int:
        return 2 * self.n_features + self.count

    @property
    def free_parameters(self) -> int:
        return self.means.size + self.kinds * self.n_features

    @property
    def covariance(self) -> DiagonalCovariance:
        """The shapes as a covariance."""
        return DiagonalCovariance(self.shapes)

    @cached_property
    def log_scale(self) -> Array:
        v = self.freedom
        return gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * pi * self.shapes)

    def _terms(self, rows: Array, k: int) -> Array:
        """log t of each value in class k; (m, p)."""
        squares = (rows - self.means[k]) ** 2 / (self.shapes[k] * self.freedom[k])
        return self.log_scale[k] - 0.5 * (self.freedom[k] + 1) * np.log1p(squares)

    def relative(self, rows: Array, offset: Array) -> Array:
        return np.stack([self._terms(rows, k).sum(axis=1) for k in range(self.count)]) + offset

    def common(self, rows: Array) -> float:
        return 0.0

    def observed(self, rows: Array, offset: Array) -> Array:
        return np.stack([np.nansum(self._terms(rows, k), axis=1) for k in range(self.count)]) + offset

    def shares(self, row: Array, first: int, second: int) -> Array:
        difference: NDArray[Any] = self._terms(row[None], first)[0] - self._terms(row[None], second)[0]
        return np.nan_to_num(difference)

    def matrices(self) -> Array:
        return self.covariance.matrices()

    def parameters(self) -> list[dict[Any, Array]]:
        columns = zip(self.means.T, self.shapes.T, self.freedom.T, strict=True)
        return [{"location": m, "shape": s, "freedom": v} for m, s, v in columns]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        drawn = generator.standard_t(self.freedom[codes])
        return self.means[codes] + drawn * np.sqrt(self.shapes[codes])
