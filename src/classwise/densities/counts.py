"""Counts: independent columns of whole numbers, Poisson without a limit, binomial up to N.

Poisson:   log p(x | rate)  = x log rate - rate - log x!
binomial:  log p(x | chance) = x log chance + (N - x) log(1 - chance) + log (N over x)
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from classwise.arrays import Array, Codes, product
from classwise.densities.density import Density
from classwise.errors import UnscorableError


class CountDensity(Density):
    """Independent columns of counts, with a parameter for each class and column."""

    values: Array
    name: ClassVar[str]

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def n_features(self) -> int:
        return self.values.shape[1]

    @property
    def width(self) -> int:
        return self.n_features + self.count

    @property
    def free_parameters(self) -> int:
        return self.values.size

    @cached_property
    @abstractmethod
    def _line(self) -> tuple[Array, Array]:
        """Slopes and constants: log p(x | k) is linear in x, up to a term common to all classes; (g, p), (g, p)."""

    @abstractmethod
    def _terms(self, rows: Array, k: int) -> Array:
        """The same exactly, where a parameter at its limit makes the slope infinite; (m, p) -> (m, p)."""

    @abstractmethod
    def _log_base(self, rows: Array) -> Array:
        """The common term of each value; (m, p) -> (m, p)."""

    @abstractmethod
    def _possible(self, rows: Array) -> bool:
        """Whether every value, NaN aside, is one that the family can take."""

    def relative(self, rows: Array, offset: Array) -> Array:
        self._check(rows)
        slope, constant = self._line
        if np.isfinite(slope).all():
            return product(slope, rows.T) + (constant.sum(axis=1, keepdims=True) + offset)
        return np.stack([self._terms(rows, k).sum(axis=1) for k in range(self.count)]) + offset

    def common(self, rows: Array) -> Array:
        return self._log_base(rows).sum(axis=1)

    def observed(self, rows: Array, offset: Array) -> Array:
        self._check(rows)
        base = self._log_base(rows)
        return np.stack([np.nansum(self._terms(rows, k) + base, axis=1) for k in range(self.count)]) + offset

    def shares(self, row: Array, first: int, second: int) -> Array:
        shares = self._terms(row[None], first)[0] - self._terms(row[None], second)[0]
        return np.where(np.isnan(row), 0.0, shares)

    def parameters(self) -> list[dict[Any, Array]]:
        return [{self.name: of_column} for of_column in self.values.T]

    def _check(self, rows: Array) -> None:
        if not self._possible(rows):
            raise UnscorableError("Some values are not counts.")


@dataclass(frozen=True, eq=False)
class Poisson(CountDensity):
    """values (g, p): the rate, or mean count, of each class and column."""

    name = "rate"
    values: Array

    @classmethod
    def estimate(cls, weight: Array, mean: Array, smoothing: float) -> "Poisson":
        """rate = (sum x + smoothing m) / (n + smoothing), with m the mean over all classes; weight n and mean (g, p).

        The posterior mean under a gamma prior that is worth `smoothing` rows; 0 is maximum likelihood, sum x / n.
        """
        overall = (weight * mean).sum(axis=0) / weight.sum(axis=0)
        return cls((weight * mean + smoothing * overall) / (weight + smoothing))

    @cached_property
    def _line(self) -> tuple[Array, Array]:
        with np.errstate(divide="ignore"):
            return np.log(self.values), -self.values

    def _terms(self, rows: Array, k: int) -> Array:
        return xlogy(rows, self.values[k]) - self.values[k]

    def _log_base(self, rows: Array) -> Array:
        return -gammaln(rows + 1)

    def _possible(self, rows: Array) -> bool:
        return not ((rows < 0) | (rows != np.floor(rows)) & ~np.isnan(rows)).any()

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return generator.poisson(self.values[codes]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Binomial(CountDensity):
    """values (g, p): the chance of success in each of trials (p,)."""

    name = "chance"
    values: Array
    trials: Array

    @classmethod
    def estimate(cls, weight: Array, mean: Array, trials: Array, smoothing: float) -> "Binomial":
        """chance = (sum x + smoothing) / (n N + 2 smoothing): the posterior mean under a beta prior; (g, p)."""
        return cls((weight * mean + smoothing) / (weight * trials + 2 * smoothing), trials)

    @cached_property
    def _line(self) -> tuple[Array, Array]:
        with np.errstate(divide="ignore", invalid="ignore"):
            log_failure = np.log1p(-self.values)
            return np.log(self.values) - log_failure, self.trials * log_failure

    def _terms(self, rows: Array, k: int) -> Array:
        chance = self.values[k]
        return xlogy(rows, chance) + xlog1py(self.trials - rows, -chance)

    def _log_base(self, rows: Array) -> Array:
        return gammaln(self.trials + 1) - gammaln(rows + 1) - gammaln(self.trials - rows + 1)

    def _possible(self, rows: Array) -> bool:
        return not ((rows < 0) | (rows > self.trials) | (rows != np.floor(rows)) & ~np.isnan(rows)).any()

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return generator.binomial(self.trials.astype(np.int64), self.values[codes]).astype(np.float64)
