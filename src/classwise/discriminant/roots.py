"""Roots of f in one column, about the center: a u² + b u + c = 0 with x = center + u."""

from math import copysign, isfinite, sqrt

import numpy as np

from classwise.arrays import Array
from classwise.discriminant.kind import kind
from classwise.discriminant.normal import normal_form
from classwise.discriminant.polynomial import Polynomial
from classwise.errors import ClasswiseError


def roots(polynomial: Polynomial) -> Array:
    """Where f = 0, ascending; none where f is zero nowhere, or everywhere."""
    if polynomial.n_features != 1:
        raise ClasswiseError(
            f"Roots are points on a line, and this boundary is in {polynomial.n_features} features; "
            "boundary(a, b, columns=...) is that of one."
        )
    form, scale = normal_form(polynomial), polynomial.deviations[0]
    a, b, c = polynomial.quadratic[0, 0] * scale**2, polynomial.linear[0] * scale, polynomial.constant
    name = kind(polynomial, form)
    if name == "two points":
        away = np.sort(_both(a, b, c))
    elif name == "point":
        away = np.array([_nearest(a, b, c) if form.tilt else -b / (2 * a)])
    else:
        away = np.zeros(0)
    return polynomial.center + scale * away


def real_roots(a: float, b: float, c: float, rounding: float = 0.0) -> list[float]:
    """All x with a x² + b x + c = 0, ascending; one where they differ by rounding, none where that is so everywhere.

    >>> real_roots(1.0, -3.0, 2.0), real_roots(0.0, 2.0, 1.0), real_roots(1.0, -2.0, 1.0), real_roots(1.0, 0.0, 1.0)
    ([1.0, 2.0], [-0.5], [1.0], [])
    """
    if not a:
        return [-c / b] if b else []
    square, rest = b * b, 4 * a * c
    if abs(square - rest) <= rounding * (square + abs(rest)):
        return [-b / (2 * a)]
    found = _both(a, b, c) if square > rest else []
    return sorted({root for root in found if isfinite(root)})


def _both(a: float, b: float, c: float) -> list[float]:
    """q / a and c / q with q = -(b ± sqrt(b² - 4ac)) / 2, the sign that of b: nothing cancels."""
    q = -(b + copysign(sqrt(max(b * b - 4 * a * c, 0.0)), b)) / 2
    return [q / a, c / q] if q else [0.0]


def _nearest(a: float, b: float, c: float) -> float:
    """The root near the center, where a is so small that the other one is out of sight."""
    return -2 * c / (b + copysign(sqrt(max(b * b - 4 * a * c, 0.0)), b))
