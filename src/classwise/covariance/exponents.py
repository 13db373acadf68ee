"""The exponents of Gaussians, -1/2 (x - m_k)' C_k^-1 (x - m_k), for many rows and all classes in a few matrix products.

Results are class-major, (g, m): what follows works down the classes, and long rows keep that fast.
Rows and means come as differences from an origin that lies near the data, so that a common offset costs no digits.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from classwise.arrays import Array, product, row_norms, tall_product
from classwise.kernels.scores import Scores

# |z - c|² expanded to |z|² - 2 z'c + |c|² is a matrix product, but costs the digits of |c|². Up to this many
# standard deviations from the origin that is harmless (64² rounding errors, 1e-12); beyond, subtract first.
FAR = 64.0

# Triangular whitenings wider than this are multiplied in panels, which skip most of the zeros.
PANEL = 32


class Metric(Protocol):
    """What a covariance that all classes share must have."""

    def whiten(self, rows: Array, k: int) -> Array: ...

    def project(self, basis: Array, k: int) -> Array: ...


class Exponents(ABC):
    """-1/2 squared Mahalanobis distance to each mean, split into what differs between classes and what is common."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers an evaluation holds per row."""

    @abstractmethod
    def relative(self, rows: Array, offset: Array) -> Array:
        """The exponents plus offset (g, 1), up to a term common to all classes; (m, p) -> (g, m).

        The offset comes along because adding it to results takes a pass over them, and adding it to constants none.
        """

    @abstractmethod
    def common(self, rows: Array) -> Array | float:
        """The common term; (m, p) -> (m,)."""

    @abstractmethod
    def scores(self, origin: Array, offset: Array) -> Scores | None:
        """`relative` of rows less an origin (p,), plus offset (g, 1), as polynomials of the rows; None where a mean is
        so far away that polynomials lose digits.
        """


@dataclass(frozen=True, eq=False)
class Shared(Exponents):
    """One metric for all classes: whiten, then measure in the subspace that the means span (g - 1 dimensions).

    middle (p,): the average of the means; basis (p, r): orthonormal directions of that subspace; projection (p, r):
    whitening followed by the basis; centers (g, r): the means there, about the middle.
    """

    metric: Metric
    middle: Array
    basis: Array
    projection: Array
    centers: Array

    @classmethod
    def of(cls, metric: Metric, means: Array) -> Self:
        middle = means.mean(axis=0)
        # Means about their average sum to zero, so the last adds no direction of its own.
        basis = np.linalg.qr(metric.whiten(means - middle, 0)[:-1].T).Q
        projection = metric.project(basis, 0)
        return cls(metric, middle, basis, projection, (means - middle) @ projection)

    @property
    def width(self) -> int:
        return self.projection.shape[1] + len(self.centers)

    @cached_property
    def _far(self) -> bool:
        return bool(np.abs(self.centers).max(initial=0.0) > FAR)

    @cached_property
    def _constant(self) -> Array:
        return (-0.5 * row_norms(self.centers) - self.centers @ (self.middle @ self.projection))[:, None]

    def relative(self, rows: Array, offset: Array) -> Array:
        if self._far:
            projected = (rows - self.middle) @ self.projection
            return _differences(projected, self.centers, np.ones_like(self.centers)) + offset
        # In homogeneous coordinates [z; 1] the constants are one more factor of the product.
        homogeneous = np.ones((len(rows), self.projection.shape[1] + 1))
        homogeneous[:, :-1] = tall_product(rows, self.projection)
        return product(np.hstack([self.centers, self._constant + offset]), homogeneous.T)

    def scores(self, origin: Array, offset: Array) -> Scores | None:
        if self._far:
            return None
        return Scores.linear(origin, (self._constant + offset)[:, 0], self.centers @ self.projection.T)

    def common(self, rows: Array) -> Array:
        white = self.metric.whiten(rows - self.middle, 0)
        if self._far:
            white -= white @ self.basis @ self.basis.T  # what lies in the subspace is all in `relative` there
        return -0.5 * row_norms(white)


@dataclass(frozen=True, eq=False)
class OwnDiagonal(Exponents):
    """A diagonal metric of its own for each class; means and deviations (g, p)."""

    means: Array
    deviations: Array

    @property
    def width(self) -> int:
        return self.means.shape[1] + len(self.means)

    @cached_property
    def _far(self) -> bool:
        return bool(np.abs(self.means / self.deviations).max(initial=0.0) > FAR)

    @cached_property
    def _coefficients(self) -> tuple[Array, Array, Array]:
        # Classes side by side in memory: BLAS multiplies these with rows as they lie in half of the time.
        precisions = np.asfortranarray(self.deviations**-2.0)
        linear = np.asfortranarray(self.means * precisions)
        return -0.5 * precisions, linear, -0.5 * row_norms(self.means / self.deviations)[:, None]

    def relative(self, rows: Array, offset: Array) -> Array:
        if self._far:
            return _differences(rows, self.means, self.deviations) + offset
        quadratic, linear, constant = self._coefficients
        exponents = product(linear, rows.T)
        exponents += product(quadratic, (rows * rows).T)
        exponents += constant + offset
        return exponents

    def scores(self, origin: Array, offset: Array) -> Scores | None:
        if self._far:
            return None
        quadratic, linear, constant = self._coefficients
        return Scores.diagonal(origin, (constant + offset)[:, 0], linear, quadratic)

    def common(self, rows: Array) -> float:
        return 0.0


@dataclass(frozen=True, eq=False)
class OwnFull(Exponents):
    """A full metric of its own for each class: whitening V (g, p, p), upper triangular; points m V (g, p)."""

    whitening: Array
    points: Array

    @classmethod
    def of(cls, whitening: Array, means: Array) -> Self:
        return cls(whitening, (means[:, None, :] @ whitening)[:, 0, :])

    @cached_property
    def _panels(self) -> list[Array]:
        """All whitenings side by side in one product, in ranges of columns: [start, stop) need only the first `stop`
        features. For each range (g * (stop - start), 1 + stop): what takes [1; x] to the whitened x - m_k.
        """
        features, panels = self.whitening.shape[1], []
        for start in range(0, features, PANEL):
            stop = min(start + PANEL, features)
            panel = self.whitening[:, :stop, start:stop].transpose(0, 2, 1).reshape(-1, stop)
            panels.append(np.hstack([-self.points[:, start:stop].reshape(-1, 1), panel]))
        return panels

    @property
    def width(self) -> int:
        return len(self.points) * min(PANEL, self.points.shape[1])

    def relative(self, rows: Array, offset: Array) -> Array:
        count = len(self.points)
        distances = np.zeros((count, len(rows)))
        homogeneous = np.ones((len(rows), 1 + rows.shape[1]))
        homogeneous[:, 1:] = rows
        for panel in self._panels:
            white = product(panel, homogeneous[:, : panel.shape[1]].T).reshape(count, -1, len(rows))
            distances += np.einsum("gpm,gpm->gm", white, white)
        distances *= -0.5
        distances += offset
        return distances

    def scores(self, origin: Array, offset: Array) -> Scores:
        return Scores.full(origin, offset[:, 0], self.points, self.whitening)

    def common(self, rows: Array) -> float:
        return 0.0


def _differences(rows: Array, means: Array, deviations: Array) -> Array:
    """Exponents with the means subtracted first; (m, p) -> (g, m)."""
    pairs = zip(means, deviations, strict=True)
    return np.stack([-0.5 * row_norms((rows - mean) / deviation) for mean, deviation in pairs])
