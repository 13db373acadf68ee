"""Bags of counts: the columns of a row count what it holds, such as the words of a document.

    multinomial   log p(x | k) = sum over j of x_j log θ_kj + log n! - sum over j of log x_j!,   n = sum over j of x_j
                  θ_kj = (t_kj + smoothing) / (sum over j of t_kj + smoothing p),   t_kj: the sum of x_j in class k

It is a density of counts given their total n, about which it says nothing. With a Dirichlet prior of `smoothing` at
each column θ is the posterior mean; 0 is maximum likelihood.

    complement    score_k(x) = sum over j of x_j w_kj,   w_kj = -log of θ_j as the rows of all other classes have it

Rennie, Shih, Teevan and Karger (2003), as scikit-learn has it (norm=False): where a class has few rows, those of all
others show more surely which words are unlike it. These are scores, not densities: rows have no density under them.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array, Codes, product
from classwise.densities.density import ColumnPolynomial, Density
from classwise.errors import NotAvailableError, UnscorableError
from classwise.storage import stored

# Counts beyond this are not whole numbers any more in float64; nor can they be drawn.
MOST = 2.0**53


class CountsTogether(Density):
    """Scores that are linear in the counts of a row, with a weight for each class and column."""

    @property
    @abstractmethod
    def slope(self) -> Array:
        """What one more in a column adds to the score of a class; (g, p)."""

    @property
    def count(self) -> int:
        return len(self.slope)

    @property
    def n_features(self) -> int:
        return self.slope.shape[1]

    @property
    def width(self) -> int:
        return self.n_features + self.count

    def relative(self, rows: Array, offset: Array) -> Array:
        if (rows < 0).any():
            raise UnscorableError("Some counts are negative.")
        if np.isfinite(self.slope).all():
            return product(self.slope, rows.T) + offset
        return np.stack([self._terms(rows, k).sum(axis=1) for k in range(self.count)]) + offset

    def polynomial(self) -> ColumnPolynomial:
        return ColumnPolynomial(np.zeros(self.count), self.slope)

    def shares(self, row: Array, first: int, second: int) -> Array:
        with np.errstate(invalid="ignore"):
            terms = self._terms(row[None], first)[0] - self._terms(row[None], second)[0]
        return np.where(np.isnan(row), 0.0, terms)

    def _terms(self, rows: Array, k: int) -> Array:
        """x_j times its weight, 0 for a count of 0, whatever the weight; (m, p) -> (m, p)."""
        with np.errstate(invalid="ignore"):
            return np.where(rows == 0, 0.0, rows * self.slope[k])


@stored("Multinomial")
@dataclass(frozen=True, eq=False)
class Multinomial(CountsTogether):
    """chance (g, p): the share θ of each column in the counts of a class; total (g,): the mean total of its rows."""

    chance: Array
    total: Array

    def _is_sound(self) -> bool:
        shares = bool((self.chance >= 0).all()) and bool((np.abs(self.chance.sum(axis=1) - 1) < 1e-6).all())
        return (
            shares and self.total.shape == (len(self.chance),) and bool(((self.total >= 0) & (self.total < MOST)).all())
        )

    @classmethod
    def estimate(cls, sums: Array, weight: Array, smoothing: float) -> Self:
        """From the sum of each column by class (g, p), and the weight of the rows (g,)."""
        smoothed = smoothed_sums(sums, smoothing)
        return cls(smoothed / smoothed.sum(axis=1, keepdims=True), sums.sum(axis=1) / weight)

    @cached_property
    def slope(self) -> Array:
        with np.errstate(divide="ignore"):  # without smoothing, a class may never have had a word
            return np.log(self.chance)

    @property
    def free_parameters(self) -> int:
        return self.count * (self.n_features - 1)

    def common(self, rows: Array) -> Array:
        return np.asarray(gammaln(rows.sum(axis=1) + 1) - gammaln(rows + 1).sum(axis=1))

    def sparse_common(self, rows: Any) -> Array:
        # log 0! = 0: only stored counts matter.
        factorials = np.add.reduceat(np.append(gammaln(rows.data + 1), 0.0), rows.indptr[:-1])
        return gammaln(_totals(rows) + 1) - np.where(np.diff(rows.indptr) > 0, factorials, 0.0)

    def observed(self, rows: Array, offset: Array) -> Array:
        """Of the counts that are there, given their own total: θ is renormalized over their columns."""
        present = ~np.isnan(rows)
        held = np.where(present, rows, 0.0)
        if (held < 0).any():
            raise UnscorableError("Some counts are negative.")
        with np.errstate(divide="ignore"):
            left = np.log(product(self.chance, present.T.astype(np.float64)))
        terms = np.stack([self._terms(held, k).sum(axis=1) for k in range(self.count)])
        total = held.sum(axis=1)
        return terms - total * np.where(total > 0, left, 0.0) + self.common(held) + offset

    def parameters(self) -> list[dict[Any, Array]]:
        return [{"share": of_column} for of_column in self.chance.T]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        """Counts of a total that is drawn too, around the mean total of the class (Poisson)."""
        totals = generator.poisson(self.total[codes])
        chance = self.chance / self.chance.sum(axis=1, keepdims=True)
        drawn = [generator.multinomial(n, chance[k]) for n, k in zip(totals.tolist(), codes.tolist(), strict=True)]
        return np.array(drawn, dtype=np.float64).reshape(len(codes), self.n_features)


@stored("Complement")
@dataclass(frozen=True, eq=False)
class Complement(CountsTogether):
    """weights (g, p): what one more in a column adds to the score of a class."""

    weights: Array

    def _is_sound(self) -> bool:
        return self.weights.ndim == 2

    @classmethod
    def estimate(cls, sums: Array, smoothing: float) -> Self:
        """From the sum of each column by class (g, p)."""
        others = smoothed_sums(sums.sum(axis=0) - sums, smoothing)
        with np.errstate(divide="ignore"):
            return cls(-np.log(others / others.sum(axis=1, keepdims=True)))

    @property
    def slope(self) -> Array:
        return self.weights

    @property
    def is_density(self) -> bool:
        return False

    @property
    def free_parameters(self) -> int:
        return self.weights.size

    def common(self, rows: Array) -> Array:
        raise _no_density()

    def sparse_common(self, rows: Any) -> Array:
        raise _no_density()

    def observed(self, rows: Array, offset: Array) -> Array:
        return self.relative(np.where(np.isnan(rows), 0.0, rows), offset)

    def parameters(self) -> list[dict[Any, Array]]:
        return [{"weight": of_column} for of_column in self.weights.T]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        raise _no_density()


def _no_density() -> NotAvailableError:
    """The error for methods that need a density."""
    return NotAvailableError(
        "families='complement' scores classes against each other, and is no density of rows: it has no sample, "
        "log_density, log_joint or log_evidence. families='multinomial' has them."
    )


def smoothed_sums(sums: Array, smoothing: float) -> Array:
    """Sums with pseudo-counts; a class without a single count, and no smoothing, has all columns alike."""
    smoothed = sums + smoothing
    return np.where(smoothed.any(axis=1, keepdims=True), smoothed, 1.0)


def _totals(rows: Any) -> Array:
    return np.asarray(rows.sum(axis=1)).reshape(-1)
