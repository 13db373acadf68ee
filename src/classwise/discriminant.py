"""The same classifier as polynomials.

g_k(x)  = x'A x + b'x + c        log_joint of class k, up to a constant all classes share
f_ij(x) = g_i(x) - g_j(x) = x'W x + w'x + w0    positive where class i wins over class j
"""

from dataclasses import dataclass

import numpy as np

from classwise.arrays import Array
from classwise.densities import Gaussian
from classwise.errors import ClasswiseError


@dataclass(frozen=True, eq=False)
class Discriminant:
    """g_k(x) = x'A x + b'x + c, with A (p, p) and b (p,)."""

    A: Array
    b: Array
    c: float


@dataclass(frozen=True, eq=False)
class Boundary:
    """f(x) = x'W x + w'x + w0, with W (p, p) and w (p,)."""

    W: Array
    w: Array
    w0: float

    def __call__(self, rows: Array) -> Array:
        """f at each row; (n, p) -> (n,)."""
        rows = np.asarray(rows, dtype=np.float64)
        return np.einsum("ij,jk,ik->i", rows, self.W, rows) + rows @ self.w + self.w0

    def roots(self) -> Array:
        """Where f = 0, in ascending order; for one feature."""
        if len(self.w) != 1:
            raise ClasswiseError(f"Roots are points on a line, and this boundary is in {len(self.w)} features.")
        polynomial = np.polynomial.Polynomial([self.w0, self.w[0], self.W[0, 0]]).trim()
        roots = polynomial.roots()
        return np.sort(roots[np.isreal(roots)].real)


def discriminant(gaussian: Gaussian, k: int, log_prior: float) -> Discriminant:
    """A = -1/2 C^-1;  b = C^-1 m;  c = -1/2 m'C^-1 m - 1/2 log|C| + log prior."""
    covariance, mean = gaussian.covariance, gaussian.means[k]
    own = min(k, len(covariance.values) - 1)  # position 0 where all classes share one
    precision = covariance.precision(own)
    slope = precision @ mean
    constant = -0.5 * mean @ slope - covariance.half_log_det[own] + log_prior
    return Discriminant(-0.5 * precision, slope, float(constant))


def boundary(first: Discriminant, second: Discriminant) -> Boundary:
    """f = g_first - g_second."""
    return Boundary(first.A - second.A, first.b - second.b, first.c - second.c)
