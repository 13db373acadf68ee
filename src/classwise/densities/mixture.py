"""A mixture of Gaussians within each class: one class may be several clusters, or curved (Hastie and Tibshirani 1996).

    log p(x | k) = log sum over the components c of class k of  share_c N(x | m_c, C_c)

The components of all classes stand in one row, those of a class side by side. The covariance is one for all of them,
one for the components of each class, or one for each component.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.covariance import FullCovariance
from classwise.densities.density import Density
from classwise.densities.gaussian import Gaussian
from classwise.storage import stored


@stored("Mixture")
@dataclass(frozen=True, eq=False)
class Mixture(Density):
    """owner (q,): the class of each of q components, in order; share (q,): of its class; components: their Gaussians.

    kinds: how many covariances there are: 1, or one for each class, or for each component.

    >>> from classwise.covariance import FullCovariance
    >>> clusters = Gaussian(np.array([[-3.0], [3.0], [0.0]]), FullCovariance(np.ones((1, 1, 1))))
    >>> split = Mixture(np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0]), clusters, 1)
    >>> at = np.array([[0.0], [3.0]])
    >>> split.relative(at, np.zeros((2, 1))).argmax(axis=0)
    array([1, 0])
    """

    owner: Codes
    share: Array
    components: Gaussian
    kinds: int

    def _is_sound(self) -> bool:
        size = self.components.count
        shaped = self.owner.shape == self.share.shape == (size,) and size > 0
        if not shaped or self.owner[0] != 0 or not np.isin(np.diff(self.owner), (0, 1)).all():
            return False
        covariance, kept = self.components.covariance, {1: 1, self.count: size, size: size}
        matched = isinstance(covariance, FullCovariance) and kept.get(self.kinds) == len(covariance.values)
        whole = np.allclose(np.add.reduceat(self.share, self._starts), 1.0) and bool((self.share > 0).all())
        return matched and whole

    @property
    def count(self) -> int:
        return int(self.owner[-1]) + 1

    @property
    def n_features(self) -> int:
        return self.components.n_features

    @property
    def width(self) -> int:
        return self.components.width + self.components.count

    @property
    def free_parameters(self) -> int:
        features, means = self.n_features, self.components.means
        covariances = self.kinds * (features * (features + 1) // 2) - self.components.covariance.constraints
        return means.size + covariances + len(means) - self.count

    def relative(self, rows: Array, offset: Array) -> Array:
        return self._summed(self.components.relative(rows, self._log_share)) + offset

    def common(self, rows: Array) -> Array | float:
        return self.components.common(rows)

    def observed(self, rows: Array, offset: Array) -> Array:
        return self._summed(self.components.observed(rows, self._log_share)) + offset

    def responsibilities(self, rows: Array) -> Array:
        """P(component c | x, its class), what is missing integrated out; (m, p) -> (q, m)."""
        scores = self.components.observed(np.asarray(rows, dtype=np.float64), self._log_share)
        return np.exp(scores - self._summed(scores)[self.owner])

    def shares(self, row: Array, first: int, second: int) -> Array:
        """Those of Gaussian components, averaged over pairs of them by their responsibilities for the row.

        What belongs to no column is how well the shares of the components foresaw these.
        """
        weight = self.responsibilities(row[None])[:, 0]
        ours, theirs = (np.flatnonzero(self.owner == k).tolist() for k in (first, second))
        pairs = [weight[a] * weight[b] * self.components.shares(row, a, b) for a in ours for b in theirs]
        return np.sum(pairs, axis=0)

    def parameters(self) -> list[dict[Any, Array]]:
        """Mean and variance of each class, all its components taken together."""
        mean = self._averaged(self.components.means)
        spread = self.components.covariance.variances() + (self.components.means - mean[self.owner]) ** 2
        return [{"mean": m, "variance": v} for m, v in zip(mean.T, self._averaged(spread).T, strict=True)]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        cumulative = np.cumsum(self.share)
        whole = np.append(0.0, cumulative)[self._starts]  # what the classes before have
        drawn = np.searchsorted(cumulative, whole[codes] + generator.random(len(codes)), side="right")
        # Sums of shares are one except for rounding: none is drawn of another class.
        return self.components.sample(np.clip(drawn, self._starts[codes], self._ends[codes]), generator)

    def _averaged(self, values: Array) -> Array:
        """The average over the components of each class; (q, p) -> (g, p)."""
        return np.asarray(np.add.reduceat(self.share[:, None] * values, self._starts, axis=0))

    def _summed(self, scores: Array) -> Array:
        """log of the sum of exp(scores) over the components of each class; (q, m) -> (g, m)."""
        if len(self._starts) == len(scores):
            return scores
        peak = np.maximum.reduceat(scores, self._starts, axis=0)
        return peak + np.log(np.add.reduceat(np.exp(scores - peak[self.owner]), self._starts, axis=0))

    @cached_property
    def _starts(self) -> Codes:
        """The first component of each class; (g,)."""
        return np.flatnonzero(np.diff(self.owner, prepend=-1))

    @cached_property
    def _ends(self) -> Codes:
        """The last component of each class; (g,)."""
        return np.append(self._starts[1:], len(self.owner)) - 1

    @cached_property
    def _log_share(self) -> Array:
        return np.log(self.share)[:, None]
