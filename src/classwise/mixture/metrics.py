"""A covariance as rows need it that have values in columns o, for many patterns o at once.

    P = C[o, o]^-1;   B = C[:, o] P, which takes what is there to what is expected;   V = C - B C[o, :], what is left

All are matrices (p, p), with zeros where a column is missing: then products with whole rows are products with what the
rows have.
"""

from math import log, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, product
from classwise.covariance import FullCovariance


class Metrics(NamedTuple):
    """Of b patterns: precision P, slope B and rest V, each (b, p, p); volume (b,): 1/2 log|2π C[o, o]|."""

    precision: Array
    slope: Array
    rest: Array
    volume: Array


def metrics_of(covariance: Array, present: NDArray[np.bool_]) -> Metrics:
    """covariance (p, p); present (b, p): the patterns."""
    scale = np.sqrt(np.diagonal(covariance))
    both = present[:, :, None] & present[:, None, :]
    missing = np.eye(len(scale)) * ~present[:, :, None]
    # With ones on the diagonal where columns are missing, a matrix falls apart: they stay what they are.
    correlation = np.where(both, covariance / np.outer(scale, scale), missing)
    roots = np.diagonal(np.linalg.cholesky(correlation), axis1=1, axis2=2)
    precision = (np.linalg.inv(correlation) - missing) / np.outer(scale, scale)
    slope = covariance @ precision
    volume = np.log(roots).sum(axis=1) + present @ (np.log(scale) + 0.5 * log(2 * pi))
    return Metrics(precision, slope, covariance - slope @ covariance, volume)


def inverse(covariance: FullCovariance) -> Array:
    """V V', where z = x V is white; (k, p, p)."""
    return np.stack([product(whitening, whitening.T) for whitening in covariance.whitening])
