"""The smoothing under which counts are most probable: their evidence, with probabilities and rates integrated out.

    levels, words   Dirichlet(α, ..., α):  lnΓ(αL) - lnΓ(n + αL) + sum over levels of lnΓ(n_l + α) - lnΓ(α)
    yes or no, N    the same with two levels
    counts          gamma of α rows at the overall mean m:  lnΓ(αm + t) - lnΓ(αm) + αm ln α - (αm + t) ln(α + n)

summed over classes and columns (terms without α left out). The words of a class count as one sequence of draws, so that
its sums are enough, and nothing is read twice.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from classwise.arrays import Array

# Where the best smoothing is looked for, and how exactly its logarithm is known.
LEAST, LARGEST, EXACT = 1e-6, 1e4, 1e-4


class Smoothed(ABC):
    """Counts whose estimates are smoothed."""

    @abstractmethod
    def log_evidence(self, smoothing: float) -> float:
        """log p(counts | labels), up to terms without the smoothing."""


@dataclass(frozen=True, eq=False)
class DirichletCounts(Smoothed):
    """weight (k, L): each line a distribution over L levels, drawn from the same Dirichlet.

    >>> round(DirichletCounts(np.array([[3.0, 1.0]])).log_evidence(1.0), 4)  # 3! 1! / 5!
    -2.9957
    """

    weight: Array

    @cached_property
    def _held(self) -> Array:
        """Counts of zero add nothing: lnΓ(α) - lnΓ(α)."""
        return self.weight[self.weight > 0]

    def log_evidence(self, smoothing: float) -> float:
        whole, total = smoothing * self.weight.shape[1], self.weight.sum(axis=1)
        lines = gammaln(whole) - gammaln(total + whole)
        return float(lines.sum() + (gammaln(self._held + smoothing) - gammaln(smoothing)).sum())


@dataclass(frozen=True, eq=False)
class GammaCounts(Smoothed):
    """Rates: the weight of the rows and the mean count, by class and column; (g, p), (g, p)."""

    weight: Array
    mean: Array

    def log_evidence(self, smoothing: float) -> float:
        total = self.weight * self.mean
        shape = smoothing * (total.sum(axis=0) / self.weight.sum(axis=0))
        shape = np.maximum(shape, np.finfo(np.float64).tiny)
        terms = gammaln(shape + total) - gammaln(shape) + shape * log(smoothing)
        return float((terms - (shape + total) * np.log(smoothing + self.weight)).sum())


def most_probable_smoothing(tables: Sequence[Smoothed]) -> float:
    """The one smoothing for all counts under which they are most probable."""

    def lost(exponent: float) -> float:
        return -sum(table.log_evidence(exp(exponent)) for table in tables)

    bounds = log(LEAST), log(LARGEST)
    return exp(float(minimize_scalar(lost, bounds=bounds, method="bounded", options={"xatol": EXACT}).x))
