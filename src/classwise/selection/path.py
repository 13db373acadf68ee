"""The whole path of shrink at once: every value has the same eigenvectors.

    C = U diag(l) U';   C(shrink) = U diag((1 - shrink) l + shrink mean(l)) U'

So rows are turned once, and the scores of all values are one product of squared coordinates with reciprocals.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, log_sum_exp, product, slices
from classwise.covariance import FullCovariance, Recipe, overall_deviation
from classwise.covariance.rank import tolerance
from classwise.statistics import ClassStatistics

# Rows are scored in blocks of this many numbers.
BLOCK_OF_SCORES = 1 << 18


@dataclass(frozen=True, eq=False)
class Path:
    """Gaussians whose covariances are shrunk by each of several amounts (s,).

    values (k, p) and vectors (k, p, p): of the covariances before shrinking; rows are divided by scale (p,) first.
    """

    means: Array
    values: Array
    vectors: Array
    amounts: Array
    scale: Array

    @classmethod
    def of(cls, statistics: ClassStatistics, recipe: Recipe, amounts: Array) -> "Path":
        """The path of a recipe, whatever its own amount of shrinking is."""
        statistics = statistics.denoised()
        scale = np.ones(statistics.n_features)
        if recipe.standardize:
            scale = overall_deviation(statistics.moments)
            statistics = statistics.scaled(1 / scale)
        combined = recipe.sharing.combine(recipe.structure, recipe.divisor, statistics)
        if recipe.structure is FullCovariance:
            values, vectors = np.linalg.eigh(combined)
        else:
            values, vectors = (
                combined,
                np.broadcast_to(np.eye(combined.shape[1]), (len(combined), *[combined.shape[1]] * 2)),
            )
        return cls(statistics.mean, values, vectors, amounts, scale)

    def spectra(self) -> Array:
        """The eigenvalues at each amount; (s, k, p)."""
        amounts = self.amounts[:, None, None]
        return (1 - amounts) * self.values + amounts * self.values.mean(axis=1, keepdims=True)

    def regular(self) -> NDArray[np.bool_]:
        """At which amounts every covariance has an inverse; (s,)."""
        spectra = self.spectra()
        least = tolerance(spectra.shape[-1]) * spectra.max(axis=-1)
        return np.asarray((spectra.min(axis=-1) > least).all(axis=1))

    def losses(self, rows: Array, codes: Codes, offset: Array, weights: Array) -> Array:
        """The sum of -log P(own class | x) of rows whose classes are codes, at each amount; (s,), inf if singular.

        offset: the log priors (g, 1), or with the log density of other columns added, (g, m).
        """
        total, regular = np.zeros(len(self.amounts)), self.regular()
        total[~regular] = np.inf
        if not regular.any():
            return total
        spectra = self.spectra()[regular]
        size = max(BLOCK_OF_SCORES // (len(spectra) * len(self.means)), 64)
        for block in slices(len(rows), size):
            own_offset = offset if offset.shape[1] == 1 else offset[:, block]
            scores = self._scores(rows[block] / self.scale, spectra) + own_offset[:, None]
            own = scores[codes[block], :, np.arange(scores.shape[2])]
            lost = log_sum_exp(scores) - own.T
            total[regular] += product(lost, weights[block])
        return total

    def _scores(self, rows: Array, spectra: Array) -> Array:
        """log p(x | k) but for constants; (g, s, m)."""
        scores = np.empty((len(self.means), len(spectra), len(rows)))
        for k, turned in enumerate(self._turned(rows)):
            j = min(k, len(self.values) - 1)
            turned *= turned
            scores[k] = -0.5 * product(1 / spectra[:, j], turned.T)
            scores[k] -= 0.5 * np.log(spectra[:, j]).sum(axis=1)[:, None]
        return scores

    def _turned(self, rows: Array) -> Iterator[Array]:
        """U'(x - m_k) for each class; (m, p) each. Where all share U, rows are turned once."""
        if len(self.values) > 1 or len(self.means) == 1:
            yield from (product(rows - mean, own) for mean, own in zip(self.means, self.vectors, strict=True))
            return
        center = self.means.mean(axis=0)
        turned, means = product(rows - center, self.vectors[0]), product(self.means - center, self.vectors[0])
        yield from (turned - mean for mean in means)
