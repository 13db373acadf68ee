"""Nystroem features of a Gaussian kernel (Williams and Seeger 2001): a linear model of them can follow any curve.

    K(z, c) = exp(-|z - c|^2 / width),    phi(x) = K(z, C) V L^(-1/2)    where K(C, C) = V L V'

z: the row with standardized numbers and one-hot levels; C: some of the rows, the landmarks. phi(x)'phi(y) equals
K(x, y) if x or y is a landmark, and approximates it elsewhere.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from classwise import limits
from classwise.arrays import Array
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.transforms import Encoding
from classwise.errors import ClasswiseError
from classwise.storage import stored

# Eigenvalues below this share of the largest are rounding errors.
LEAST_SPREAD = 1e-6


@stored("KernelFeatures")
@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """encoding: from rows of the table to z (m, q); landmarks (c, q); width; projection (c, r): V L^(-1/2)."""

    encoding: Encoding
    landmarks: Array
    kernel_width: float
    projection: Array

    def _is_sound(self) -> bool:
        count, columns = self.landmarks.shape  # raises an error, which also counts as unsound, for other shapes
        fits = self.encoding.n_encoded == columns and self.projection.ndim == 2 and len(self.projection) == count
        return fits and self.kernel_width > 0

    @classmethod
    def of(cls, encoding: Encoding, landmarks: Array, kernel_width: float) -> Self:
        spreads, directions = np.linalg.eigh(_kernel(landmarks, landmarks, kernel_width))
        kept = spreads > LEAST_SPREAD * spreads[-1]
        return cls(encoding, landmarks, kernel_width, directions[:, kept] / np.sqrt(spreads[kept]))

    def __call__(self, rows: Array) -> Array:
        """Rows of the table (m, p) -> (m, r)."""
        return np.asarray(self.near(rows) @ self.projection)

    def near(self, rows: Array) -> Array:
        """K(z, C), the kernel between rows of the table and each landmark; (m, p) -> (m, c)."""
        return _kernel(self.encoding(rows), self.landmarks, self.kernel_width)

    @property
    def width(self) -> int:
        """The number of columns of the table."""
        return self.encoding.width

    def probes(self) -> Array:
        return self.encoding.probes()

    def mark_reach(self, places: Array) -> None:
        self.encoding.mark_reach(places)


def _kernel(z: Array, landmarks: Array, width: float) -> Array:
    nearness = (2 / width) * (z @ landmarks.T)
    nearness -= (z**2).sum(axis=1)[:, None] / width
    nearness -= (landmarks**2).sum(axis=1) / width
    return np.asarray(np.exp(np.minimum(nearness, 0.0, out=nearness), out=nearness))


def kernel_features(rows: FoldedRows, encoding: Encoding, widths: tuple[float, ...]) -> list[KernelFeatures]:
    """The features for each width, in units of the mean squared distance of two rows; landmarks are drawn at random."""
    encoded = encoding(rows.rows)
    work = min(len(rows), limits.BAGGED_ROWS) * rows.count
    count = min(limits.MOST_LANDMARKS, len(rows), int(limits.KERNEL_WORK / work))
    if count < min(limits.FEWEST_LANDMARKS, len(rows)):
        raise ClasswiseError("The table is so large that features of a kernel would take too long.")
    drawn = np.sort(np.random.default_rng(rows.seed).permutation(len(rows))[:count])
    spread = float(encoded.var(axis=0).sum())
    return [KernelFeatures.of(encoding, encoded[drawn], 2 * spread * width) for width in widths]
