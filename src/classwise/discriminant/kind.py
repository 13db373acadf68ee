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

from typing import NamedTuple

import numpy as np

from classwise.discriminant.normal import FLAT, NormalForm
from classwise.discriminant.polynomial import Polynomial


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
