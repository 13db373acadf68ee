"""The spectrum of the within-class correlation matrix: how many directions the columns really fill.

    effective rank = exp(-sum q log q), q = λ / sum λ          (Roy and Vetterli 2007)
    condition      = largest λ / smallest λ
    dependence     = -1/2 log |R|, less what chance alone gives

for the eigenvalues λ of the correlation matrix R: units do not matter. The dependence is the log density per row that a
diagonal covariance gives away. What chance gives follows from the bias of a log determinant: for the scatter S of v
degrees of freedom of p columns with the covariance I,

    L(v, p) = E log |S / v| = sum over j < p of ψ((v - j)/2) - log(v/2)
    E -log |R| = p L(v, 1) - L(v, p)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr, psi

from classwise.arrays import Array
from classwise.covariance.structures import tolerance
from classwise.diagnostics.advice import Finding, number
from classwise.statistics import ClassStatistics


@dataclass(frozen=True)
class Spectrum:
    """The spectrum of the correlation matrix of one class, or pooled within classes (label None).

    weight: of the rows; freedom: that less one for each mean; features: p.
    condition is infinite and dependence NaN where the rank is below p.
    """

    label: Any
    weight: float
    freedom: float
    features: int
    rank: int
    effective_rank: float
    condition: float
    dependence: float

    @property
    def rows_per_parameter(self) -> float:
        """Rows for each of the p (p + 1) / 2 numbers of the covariance."""
        return self.weight / (self.features * (self.features + 1) / 2)

    @property
    def is_bound(self) -> bool:
        """Whether columns follow from others, rather than for want of rows."""
        return self.rank < min(self.features, self.freedom)

    @property
    def is_regular(self) -> bool:
        """Whether the covariance has an inverse, and no more columns than degrees of freedom."""
        return self.rank == self.features and self.freedom > self.features - 1


def spectra(statistics: ClassStatistics) -> tuple[Spectrum, tuple[Spectrum, ...]]:
    """The spectrum pooled within classes, and that of each class."""
    scatter, weight = statistics.moments.scatter, statistics.moments.weight[:, 0]
    pooled = examine(None, float(weight.sum()), len(weight), scatter.pooled())
    own = zip(statistics.labels.tolist(), weight.tolist(), scatter.by_class(), strict=True)
    return pooled, tuple(examine(label, size, 1, matrix) for label, size, matrix in own)


def examine(label: Any, weight: float, means: int, scatter: Array) -> Spectrum:
    """The spectrum of a scatter (p, p). means: how many were estimated, each of which costs a degree of freedom."""
    features, scale = len(scatter), np.sqrt(np.diagonal(scatter))
    scale = np.where(scale > 0, scale, 1.0)
    values = np.linalg.eigvalsh(scatter / np.outer(scale, scale)).clip(0)
    rank = int((values > tolerance(features)).sum())
    effective = float(np.exp(entr(values / values.sum()).sum())) if rank else 0.0
    if rank < features:
        return Spectrum(label, weight, weight - means, features, rank, effective, np.inf, np.nan)
    dependence = _dependence(values, weight - means)
    return Spectrum(label, weight, weight - means, features, rank, effective, float(values[-1] / values[0]), dependence)


def _dependence(values: Array, freedom: float) -> float:
    p = len(values)
    if freedom <= p - 1:
        return 0.0
    by_chance = p * log_det_bias(np.array([freedom]), 1) - log_det_bias(np.array([freedom]), p)
    return max(-float(np.log(values).sum() + by_chance[0]), 0.0) / 2


def log_det_bias(freedom: Array, features: int) -> Array:
    """L(v, p) for the degrees of freedom v (k,), each above p - 1; (k,)."""
    halves = (freedom[:, None] - np.arange(features)) / 2
    return np.asarray((psi(halves) - np.log(freedom[:, None] / 2)).sum(axis=1))


# A column follows from others if no more than this share of its variance is its own.
OWN_SHARE = 1e-9


def followers(statistics: ClassStatistics) -> list[int]:
    """The columns that follow linearly from those before them: within classes, and from class to class.

    One that is another plus a number for each class follows within classes, and yet separates them: it is none.
    """
    moments = statistics.moments
    middle = (moments.weight * moments.mean).sum(axis=0) / moments.weight.sum()
    away = (moments.mean - middle) + moments.rest
    scatter = moments.scatter.pooled() + (away * moments.weight).T @ away
    scale = np.sqrt(np.diagonal(scatter))
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    basis, found = np.zeros((0, len(scatter))), []
    for j, column in enumerate(vectors * np.sqrt(values.clip(0))):
        for _ in range(2):  # twice is enough for what is left to be free of rounding
            column = column - (column @ basis.T) @ basis
        rest = float(column @ column)
        if rest <= OWN_SHARE:
            found.append(j)
        else:
            basis = np.vstack([basis, column / np.sqrt(rest)])
    return found


def about_spectra(pooled: Spectrum, own: Sequence[Spectrum], advice: str) -> Finding:
    header = ("class", "rows", "rank", "effective rank", "condition", "rows per parameter")
    return Finding("Rank of the correlations within classes", [], [header, *map(_cells, (pooled, *own))], advice)


def _cells(spectrum: Spectrum) -> tuple[str, ...]:
    name = "(pooled)" if spectrum.label is None else str(spectrum.label)
    rank = f"{spectrum.rank} of {spectrum.features}"
    sizes = (spectrum.effective_rank, spectrum.condition, spectrum.rows_per_parameter)
    return (name, f"{spectrum.weight:.10g}", rank, *map(number, sizes))
