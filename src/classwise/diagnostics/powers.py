"""Third and fourth powers of whitened rows, summed: T = sum w z ⊗ z ⊗ z, of which |T|² is needed, and sum w |z|⁴."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from classwise.arrays import BLOCK_SIZE, Array, Codes, product, row_norms, slices
from classwise.covariance import FullCovariance
from classwise.rows.table import Table
from classwise.statistics import Moments


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Classes as Gaussians, by maximum likelihood. codes (g,): what their rows are labeled with."""

    codes: Codes
    moments: Moments
    covariance: FullCovariance

    @classmethod
    def of(cls, moments: Moments, codes: Codes) -> Self:
        return cls(codes, moments, FullCovariance(FullCovariance.own(moments.scatter, moments.weight)))

    def whiten(self, rows: Array, k: int) -> Array:
        """z of rows of the k-th of them."""
        return self.covariance.whiten((rows - self.moments.mean[k]) - self.moments.rest[k], k)


@dataclass(frozen=True, eq=False)
class Powers:
    """third (g, p(p+1)/2, p): T of each class, for i <= j; fourth (g,): sum w |z|⁴.

    Of rows whitened by Gaussians that are known beforehand, so that the sums simply add.
    """

    third: Array
    fourth: Array

    @classmethod
    def gather(cls, chunk: Table, gaussians: Gaussians) -> Self:
        """Of complete rows labeled by codes; those of a code that is not among the Gaussians are passed over."""
        rows = chunk.rows
        first, second = np.triu_indices(rows.shape[1])
        third, fourth = np.zeros((len(gaussians.codes), len(first), rows.shape[1])), np.zeros(len(gaussians.codes))
        for k, code in enumerate(gaussians.codes):
            own = np.flatnonzero(chunk.labels == code)
            for block in slices(len(own), max(BLOCK_SIZE // len(first), 64)):
                white = gaussians.whiten(rows[own[block]], k)
                weight = np.ones(len(white)) if chunk.weights is None else chunk.weights[own[block]]
                pairs = white.take(first, axis=1) * white.take(second, axis=1)
                third[k] += product(pairs.T, white * weight[:, None])
                fourth[k] += weight @ row_norms(white) ** 2
        return cls(third, fourth)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.third + other.third, self.fourth + other.fourth)

    def squared_thirds(self) -> Array:
        """|T|²; (g,). Entries with i < j stand for two."""
        first, second = np.triu_indices(self.third.shape[2])
        return np.asarray((self.third**2).sum(axis=2) @ np.where(first == second, 1.0, 2.0))


def sums_by_pairs(white: Array, weights: Array) -> tuple[float, float]:
    """|T|² and sum w |z|⁴ of whitened rows (m, p), by all pairs of them."""
    total = 0.0
    for block in slices(len(white), max(BLOCK_SIZE // len(white), 1)):
        angles = product(white[block], white.T)
        total += float(weights[block] @ (angles * angles * angles) @ weights)
    return total, float(weights @ row_norms(white) ** 2)
