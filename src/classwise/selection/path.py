"""The whole path of shrink at once: every value has the same eigenvectors.

    C = U diag(l) U';   C(shrink) = U diag((1 - shrink) l + shrink mean(l)) U'

So rows are turned once, and the scores of all values are one product of squared coordinates with reciprocals.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, product, slices
from classwise.covariance import Recipe, overall_deviation
from classwise.covariance.structures import tolerance
from classwise.kernels.losses import path_losses
from classwise.statistics import ClassStatistics

# Rows are scored in blocks of this many scores, which stay in cache with all that is made of them.
BLOCK_OF_SCORES = 1 << 16


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
        values, vectors = recipe.structure(combined).eigen()
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
        fused = self._fused_losses(rows, codes, offset, weights, spectra)
        if fused is not None:
            total[regular] = fused
            return total
        size = max(BLOCK_OF_SCORES // (len(spectra) * len(self.means)), 64)
        for block in slices(len(rows), size):
            own_offset = offset if offset.shape[1] == 1 else offset[:, block]
            scores = self._scores(rows[block] / self.scale, spectra)
            scores += own_offset[:, None]
            total[regular] += product(_lost(scores, codes[block]), weights[block])
        return total

    def _fused_losses(self, rows: Array, codes: Codes, offset: Array, weights: Array, spectra: Array) -> Array | None:
        """The same by a compiled kernel, where there is one."""
        vectors = np.swapaxes(self.vectors, 1, 2) / self.scale
        inverse, constant = -0.5 / spectra, -0.5 * np.log(spectra).sum(axis=2)
        means = np.concatenate(self._turned_means, axis=1).T
        of_classes = (inverse.transpose(1, 0, 2), constant.T)
        return path_losses(rows, self._center * self.scale, vectors, means, *of_classes, offset, codes, weights)

    def _scores(self, rows: Array, spectra: Array) -> Array:
        """log p(x | k) up to constants; (g, s, m)."""
        scores = np.empty((len(self.means), len(spectra), len(rows)))
        # One product rotates the rows for all covariances; a covariance's coordinates lie together, (p, m).
        turned = product(self._all_vectors, (rows - self._center).T).reshape(len(self.values), -1, len(rows))
        for k, mean in enumerate(self._turned_means):
            j = min(k, len(self.values) - 1)
            own = turned[j] - mean
            own *= own
            np.dot(-0.5 / spectra[:, j], own, out=scores[k])
            scores[k] -= 0.5 * np.log(spectra[:, j]).sum(axis=1)[:, None]
        return scores

    @cached_property
    def _center(self) -> Array:
        """A point among the means, from which rows are turned: far from zero, digits would be lost."""
        return self.means.mean(axis=0)

    @cached_property
    def _all_vectors(self) -> Array:
        """The eigenvectors of all covariances, as rows one below the other; (k p, p)."""
        return np.ascontiguousarray(np.swapaxes(self.vectors, 1, 2)).reshape(-1, len(self.scale))

    @cached_property
    def _turned_means(self) -> list[Array]:
        """U_k'(m_k - center); (p, 1) each."""
        last = len(self.vectors) - 1
        return [((mean - self._center) @ self.vectors[min(k, last)])[:, None] for k, mean in enumerate(self.means)]


def _lost(scores: Array, codes: Codes) -> Array:
    """-log P(own class | x) at each amount, from scores that may be overwritten; (g, s, m) -> (s, m)."""
    scores -= scores.max(axis=0)
    own = scores[codes, :, np.arange(scores.shape[2])]
    np.exp(scores, out=scores)
    return np.log(scores.sum(axis=0)) - own.T
