"""What f = 0 is, read off the normal form: sum over k of curvature_k y_k² + tilt y_r + constant = 0.

    curvatures        tilt                    constant zero           same sign       opposite sign
    none              point, line, plane      everywhere              nowhere         nowhere
    one               parabola                point, line, plane      nowhere         two points, parallel lines, planes
    of one sign       paraboloid              point, line, flat       nowhere         circle, ellipse, sphere, ellipsoid
    of both signs     hyperbolic paraboloid   pair of lines, cone     hyperbola, hyperboloid

The names are those of one, two and three columns; of more, those of three. A point, line, plane or flat without a tilt
is where f touches zero and does not change its sign. What does not change along some direction is a cylinder, once
there are three columns. A circle and a sphere are round in the units of the columns; all else is the same in any units.
"""

from math import copysign, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from classwise.arrays import Array
from classwise.classifier.boundary.polynomial import FLAT, NormalForm, Polynomial, normal_form
from classwise.errors import ClasswiseError


class Names(NamedTuple):
    """What surfaces are called, by the number of columns: one, two, three and more."""

    flat: str
    parallel: str
    crossing: str
    round: str
    closed: str
    open: str


NAMES = (
    Names("point", "two points", "", "", "", ""),
    Names("line", "parallel lines", "pair of lines", "circle", "ellipse", "hyperbola"),
    Names("plane", "parallel planes", "pair of planes", "sphere", "ellipsoid", "hyperboloid"),
)


def kind(polynomial: Polynomial, form: NormalForm) -> str:
    """The name of f = 0."""
    columns, rank = polynomial.n_features, len(form.curvatures)
    names = NAMES[min(columns, 3) - 1]
    if form.tilt:
        return names.flat if not rank else _tilted(form, columns)
    if not rank:
        return "nowhere" if form.constant else "everywhere"
    if not _is_definite(form):
        return _saddle(form, columns, names)
    if not form.constant:
        return names.flat if rank == 1 else {0: "point", 1: "line"}.get(columns - rank, "flat")
    if form.constant * form.curvatures[0] > 0:
        return "nowhere"
    return names.parallel if rank == 1 else _bowl(polynomial, rank, names)


def _is_definite(form: NormalForm) -> bool:
    """Whether all curvatures have one sign; they are in ascending order."""
    return bool(form.curvatures[0] * form.curvatures[-1] > 0)


def _tilted(form: NormalForm, columns: int) -> str:
    if columns == 2:
        return "parabola"
    if len(form.curvatures) + 1 < columns:
        return "parabolic cylinder"
    return "paraboloid" if _is_definite(form) else "hyperbolic paraboloid"


def _bowl(polynomial: Polynomial, rank: int, names: Names) -> str:
    if rank < polynomial.n_features:
        return "elliptic cylinder"
    return names.round if _is_round(polynomial) else names.closed


def _is_round(polynomial: Polynomial) -> bool:
    """Whether W is a multiple of I."""
    level = float(np.diagonal(polynomial.quadratic).mean())
    away = polynomial.quadratic - level * np.eye(polynomial.n_features)
    return bool(np.abs(away).max() <= FLAT * abs(level))


def _saddle(form: NormalForm, columns: int, names: Names) -> str:
    rank = len(form.curvatures)
    if not form.constant:
        return names.crossing if rank == 2 else "cone"
    return "hyperbolic cylinder" if rank < columns else names.open


# ----------------------------------------------------------------------------------------------------------------------
# Roots of f in one column, about the center: a u² + b u + c = 0 with x = center + u.


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
