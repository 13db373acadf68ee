"""A covariance as rows need it that lack columns u, for many patterns u at once.

With Q = C^-1 of all columns, inverses are of what is missing, which is mostly little. Of a vector v that is 0 in u:

    t = (Q v)[u] Q[u, u]^-1;   C[o, o]^-1 v = (Q v - t Q[u, :])[o];   what is expected in u is -t

    log|C[o, o]| = log|C| + log|Q[u, u]|;   what is left in u has covariance Q[u, u]^-1

Patterns that lack fewer columns than others lack a column of nothing instead: one more, that is 0 in all vectors and
independent of the others. So all vectors here have p + 1 numbers.
"""

from math import log, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, product
from classwise.covariance import FullCovariance


class Metrics(NamedTuple):
    """Of b patterns that lack `gaps` (b, u): precision (p + 1, p + 1): Q; rest (b, u, u): Q[u, u]^-1; volume (b,):
    1/2 log|2π C[o, o]|.
    """

    gaps: Codes
    precision: Array
    rest: Array
    volume: Array

    def of(self, group: Codes) -> "Metrics":
        """Those of some patterns, in any order and any number."""
        return Metrics(self.gaps[group], self.precision, self.rest[group], self.volume[group])

    def project(self, vectors: Array) -> "Projected":
        """Q v, that in u, and t; (b, c, p + 1) -> the same, (b, c, u) twice."""
        ahead = vectors @ self.precision
        inside = np.take_along_axis(ahead, self.gaps[:, None, :], axis=2)
        return Projected(ahead, inside, inside @ self.rest)

    def slopes(self, projected: "Projected") -> Array:
        """C[o, o]^-1 v, in the columns that are there; (b, c, p + 1)."""
        return projected.ahead - projected.lacking @ self.precision[self.gaps]

    def filled(self, vectors: Array, values: Array) -> Array:
        """Vectors (b, c, p + 1) with these values (b, c, u) where nothing is."""
        filled = vectors.copy()
        np.put_along_axis(filled, self.gaps[:, None, :], values, axis=2)
        return filled

    def completed(self, vectors: Array) -> Array:
        """With what is expected where nothing is; (b, c, p + 1) -> the same."""
        return self.filled(vectors, -self.project(vectors).lacking)


class Projected(NamedTuple):
    """Of vectors v: Q v (b, c, p + 1), what it has in u (b, c, u), and t (b, c, u)."""

    ahead: Array
    inside: Array
    lacking: Array


def metrics_of(covariance: FullCovariance, kind: int, gaps: Codes) -> Metrics:
    """Of one of several covariances; gaps (b, u): the columns that patterns lack, and p for the column of nothing."""
    features = covariance.values.shape[1]
    precision = np.eye(features + 1)
    precision[:features, :features] = product(covariance.whitening[kind], covariance.whitening[kind].T)
    inner = precision[gaps[:, :, None], gaps[:, None, :]]
    inner[_twice(gaps, features)] = 0.0
    # In units in which the diagonal is one: columns may be of any scale.
    scale = 1 / np.sqrt(np.diagonal(precision))[gaps]
    units = scale[:, :, None] * scale[:, None, :]
    inner *= units
    there = features - (gaps < features).sum(axis=1)
    determinant = 0.5 * np.linalg.slogdet(inner)[1] - np.log(scale).sum(axis=1)
    volume = covariance.half_log_det[kind] + determinant + 0.5 * log(2 * pi) * there
    return Metrics(gaps, precision, np.linalg.inv(inner) * units, volume)


def _twice(gaps: Codes, features: int) -> NDArray[np.bool_]:
    """Where the column of nothing meets itself, but for the diagonal; (b, u, u)."""
    spare = gaps == features
    return np.asarray(spare[:, :, None] & spare[:, None, :] & ~np.eye(gaps.shape[1], dtype=bool))


def inverse(covariance: FullCovariance) -> Array:
    """V V', where z = x V is white; (k, p, p)."""
    return np.stack([product(whitening, whitening.T) for whitening in covariance.whitening])
