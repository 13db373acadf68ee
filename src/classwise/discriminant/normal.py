"""The normal form: the coordinates in which a polynomial of second degree has no mixed terms.

    f = sum over k of curvature_k y_k² + tilt y_r + constant        x = center + origin + axes y

First the columns are whitened by the covariance within a class, so that 1 is a standard deviation in every direction
and f is what it is: log odds. There W has the curvatures as eigenvalues; in directions without curvature the slope
that is left is the tilt, and where there is a tilt the constant is shifted away.

What is zero does not depend on units. Log odds that bend or rise by less than FLAT in one standard deviation are flat.
The constant is a curvature times a squared distance: it is zero below TOUCHING of the terms it is made of, so that a
distance is zero below 1e-6 standard deviations.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.discriminant.polynomial import Polynomial

FLAT = 1e-9
TOUCHING = 1e-12


@dataclass(frozen=True, eq=False)
class NormalForm:
    """curvatures (r,), none of them zero; origin (p,), relative to the center; axes (p, p)."""

    curvatures: Array
    tilt: float
    constant: float
    origin: Array
    axes: Array

    def points(self, coordinates: Array) -> Array:
        """y -> x - center; (m, p) -> (m, p)."""
        return self.origin + coordinates @ self.axes.T

    def coordinates(self, points: Array) -> Array:
        """x - center -> y; (m, p) -> (m, p)."""
        return np.asarray(np.linalg.solve(self.axes, (points - self.origin).T).T, dtype=np.float64)


def normal_form(polynomial: Polynomial) -> NormalForm:
    """The curvatures come first, the direction of the tilt next, directions along which nothing changes last."""
    root = whitening_root(polynomial)
    if np.isinf(polynomial.constant):  # a prior of zero: one class wins everywhere
        return NormalForm(np.zeros(0), 0.0, polynomial.constant, np.zeros(len(root)), root)
    curvatures, axes = np.linalg.eigh(root.T @ polynomial.quadratic @ root)
    bent = ~is_flat(curvatures)
    axes = np.column_stack([axes[:, bent], axes[:, ~bent]])
    curvatures, rank = curvatures[bent], int(bent.sum())
    axes[:, rank:] = _facing(axes[:, rank:], root.T @ polynomial.linear)
    slopes = axes.T @ root.T @ polynomial.linear
    tilt = 0.0 if is_flat(slopes)[rank:].all() else float(slopes[rank])
    shift = np.zeros(len(slopes))
    shift[:rank] = -slopes[:rank] / (2 * curvatures)
    constant = _level(polynomial.constant, curvatures * shift[:rank] ** 2, [*curvatures, *slopes])
    if tilt:
        shift[rank], constant = -constant / tilt, 0.0
    return NormalForm(curvatures, tilt, constant, root @ axes @ shift, root @ axes)


def whitening_root(polynomial: Polynomial) -> Array:
    """T with T T' the covariance: x = center + T z, with z white; (p, p)."""
    scale = polynomial.deviations
    correlation = polynomial.covariance / np.outer(scale, scale)
    return scale[:, None] * np.linalg.cholesky(correlation)


def is_flat(values: Array) -> NDArray[np.bool_]:
    """Which coefficients are zero: below FLAT, or rounding beside the largest."""
    return np.abs(values) <= FLAT + TOUCHING * np.abs(values).max(initial=0.0)


def _facing(basis: Array, slope: Array) -> Array:
    """The same space, with a basis whose first direction is that of the slope within it; (p, q) -> (p, q)."""
    within = np.column_stack([basis.T @ slope, np.eye(basis.shape[1])])
    return basis @ np.linalg.qr(within)[0]


def _level(constant: float, squares: Array, coefficients: list[float]) -> float:
    """What is left of the constant when squares are complete: v0 - sum of curvature_k shift_k²."""
    left = constant - float(squares.sum())
    terms = np.abs([constant, *squares, *coefficients])
    size = TOUCHING * terms.max() if not is_flat(np.array(coefficients)).all() else FLAT
    return 0.0 if abs(left) <= size else left
