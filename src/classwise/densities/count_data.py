"""Densities of count data: independent columns of whole numbers, Poisson without a limit, binomial up to N.

Poisson:   log p(x | rate)  = x log rate - rate - log x!
binomial:  log p(x | chance) = x log chance + (N - x) log(1 - chance) + log (N over x)

Classes are compared with their average a: log p(x | k) = (log p(x | k) - log p(x | a)) + log p(x | a). Of counts by the
million the three are large and their difference is small, so it has a formula of its own:

Poisson:   x log(rate / a) - (rate - a)
binomial:  x log(chance / a) + (N - x) log((1 - chance) / (1 - a))
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from classwise.arrays import Array, Codes, product
from classwise.densities.density import ColumnPolynomial, Density
from classwise.errors import UnscorableError
from classwise.storage import stored

# Counts beyond this are not whole numbers any more in float64; nor can they be drawn.
MOST = 2.0**53

ALL = slice(None)


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
    def average(self) -> Array:
        """The parameter of the average class, within its limits; (p,)."""

    @cached_property
    @abstractmethod
    def line(self) -> tuple[Array, Array]:
        """Slopes and constants: log p(x | k) - log p(x | average) is linear in x; (g, p), (g, p).

        Where a parameter is at its limit they are infinite, or NaN.
        """

    @abstractmethod
    def _terms(self, rows: Array, k: int) -> Array:
        """The same exactly, where a parameter at its limit makes the slope infinite; (m, p) -> (m, p)."""

    @abstractmethod
    def _log_base(self, rows: Array, columns: slice | Codes = ALL) -> Array:
        """log p(x | average) of each value, which is common to all classes; (m, p) -> (m, p).

        columns: of each value, where values are not rows.
        """

    @abstractmethod
    def _possible(self, rows: Array) -> bool:
        """Whether every value, NaN aside, is one that the family can take."""

    def relative(self, rows: Array, offset: Array) -> Array:
        self._check(rows)
        slope, constant = self.line
        if np.isfinite(slope).all():
            return product(slope, rows.T) + (constant.sum(axis=1, keepdims=True) + offset)
        return np.stack([self._terms(rows, k).sum(axis=1) for k in range(self.count)]) + offset

    def polynomial(self) -> ColumnPolynomial:
        slope, constant = self.line
        return ColumnPolynomial(constant.sum(axis=1), slope)

    def common(self, rows: Array) -> Array:
        return self._log_base(rows).sum(axis=1)

    def sparse_common(self, rows: Any) -> Array:
        """What zeros have, and what stored values have more than these."""
        zero = self._log_base(np.zeros((1, self.n_features)))[0]
        excess = self._log_base(rows.data, rows.indices) - zero[rows.indices]
        sums = np.add.reduceat(np.append(excess, 0.0), rows.indptr[:-1])
        return zero.sum() + np.where(np.diff(rows.indptr) > 0, sums, 0.0)

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


@stored("Poisson")
@dataclass(frozen=True, eq=False)
class Poisson(CountDensity):
    """values (g, p): the rate, or mean count, of each class and column."""

    name = "rate"
    values: Array

    def _is_sound(self) -> bool:
        return self.values.ndim == 2 and bool(((self.values >= 0) & (self.values < MOST)).all())

    @classmethod
    def estimate(cls, weight: Array, mean: Array, smoothing: float) -> "Poisson":
        """rate = (sum x + smoothing m) / (n + smoothing), with m the mean over all classes; weight n and mean (g, p).

        The posterior mean under a gamma prior that counts as `smoothing` rows; 0 is maximum likelihood, sum x / n.
        """
        overall = (weight * mean).sum(axis=0) / weight.sum(axis=0)
        return cls((weight * mean + smoothing * overall) / (weight + smoothing))

    @cached_property
    def average(self) -> Array:
        """The average rate, or 1 where all are 0."""
        average = self.values.mean(axis=0)
        return np.where(average > 0, average, 1.0)

    @cached_property
    def line(self) -> tuple[Array, Array]:
        excess = self.values - self.average
        with np.errstate(divide="ignore"):
            return np.log1p(excess / self.average), -excess

    def _terms(self, rows: Array, k: int) -> Array:
        excess = self.values[k] - self.average
        return xlog1py(rows, excess / self.average) - excess

    def _log_base(self, rows: Array, columns: slice | Codes = ALL) -> Array:
        average = self.average[columns]
        return xlogy(rows, average) - average - gammaln(rows + 1)

    def _possible(self, rows: Array) -> bool:
        return not ((rows < 0) | (rows != np.floor(rows)) & ~np.isnan(rows)).any()

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return generator.poisson(self.values[codes]).astype(np.float64)


@stored("Binomial")
@dataclass(frozen=True, eq=False)
class Binomial(CountDensity):
    """values (g, p): the chance of success in each of trials (p,)."""

    name = "chance"
    values: Array
    trials: Array

    def _is_sound(self) -> bool:
        possible = (self.values >= 0) & (self.values < 1 + 1e-9) & (self.trials >= 1) & (self.trials < MOST)
        return self.values.ndim == 2 and self.trials.shape == self.values.shape[1:] and bool(possible.all())

    @classmethod
    def estimate(cls, weight: Array, mean: Array, trials: Array, smoothing: float) -> "Binomial":
        """chance = (sum x + smoothing) / (n N + 2 smoothing): the posterior mean under a beta prior; (g, p)."""
        return cls((weight * mean + smoothing) / (weight * trials + 2 * smoothing), trials)

    @cached_property
    def average(self) -> Array:
        """The average chance, or 1/2 where all are 0 or all are 1."""
        average = self.values.mean(axis=0)
        return np.where((average > 0) & (average < 1), average, 0.5)

    @cached_property
    def _ratios(self) -> tuple[Array, Array]:
        """chance / average - 1, and the same of failure; (g, p), (g, p)."""
        excess = self.values - self.average
        return excess / self.average, -excess / (1 - self.average)

    @cached_property
    def line(self) -> tuple[Array, Array]:
        with np.errstate(divide="ignore", invalid="ignore"):
            log_success, log_failure = map(np.log1p, self._ratios)
            return log_success - log_failure, self.trials * log_failure

    def _terms(self, rows: Array, k: int) -> Array:
        success, failure = self._ratios
        return xlog1py(rows, success[k]) + xlog1py(self.trials - rows, failure[k])

    def _log_base(self, rows: Array, columns: slice | Codes = ALL) -> Array:
        average, trials = self.average[columns], self.trials[columns]
        choices = gammaln(trials + 1) - gammaln(rows + 1) - gammaln(trials - rows + 1)
        return choices + xlogy(rows, average) + xlog1py(trials - rows, -average)

    def _possible(self, rows: Array) -> bool:
        return not ((rows < 0) | (rows > self.trials) | (rows != np.floor(rows)) & ~np.isnan(rows)).any()

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return generator.binomial(self.trials.astype(np.int64), self.values[codes]).astype(np.float64)
