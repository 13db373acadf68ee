"""Conics and quadrics f = 0: what they are called, where their roots are, and how they run through a box.

The name is read off the normal form: sum over k of curvature_k y_k² + tilt y_r + constant = 0.

    curvatures        tilt                    constant zero           same sign       opposite sign
    none              point, line, plane      everywhere              nowhere         nowhere
    one               parabola                point, line, plane      nowhere         two points, parallel lines, planes
    of one sign       paraboloid              point, line, flat       nowhere         circle, ellipse, sphere, ellipsoid
    of both signs     hyperbolic paraboloid   pair of lines, cone     hyperbola, hyperboloid

The names are those of one, two and three columns; of more, those of three. A point, line, plane or flat without a tilt
is where f touches zero and does not change its sign. What does not change along some direction is a cylinder, once
there are three columns. A circle and a sphere are round in the units of the columns; all else is the same in any units.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import copysign, inf, isfinite, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial as Series

from classwise.arrays import Array
from classwise.classifier.polynomial import FLAT, NormalForm, Polynomial, normal_form
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


# The curve inside a box, swept from one side to the other -------------------------------------------------------------
#
# In coordinates (s, t) of the box f is a quadratic function of t for every s, and the curve f = 0 is its two roots:
#
#     f = a t² + b(s) t + c(s)        t = (-b(s) ± sqrt(d(s))) / 2a        d(s) = b(s)² - 4 a c(s)
#
# Both exist where d(s) >= 0, turn into each other where d is zero, and enter or leave the box only where f = 0 on one
# of its edges. The kind of the curve does not matter, so nothing goes wrong where it is almost another.

# Relative to the terms that it is made of, this is rounding.
ROUNDING = 1e-14

# A slope of this many times the largest curvature keeps its sign all over the box.
STEEP = 4.0


class Arc(NamedTuple):
    """One root, the one where f rises (sign 1) or falls (-1) with t, over an interval of s."""

    sign: int
    low: float
    high: float


class SweptArc(NamedTuple):
    """An arc, from its low end to its high end or backward."""

    arc: Arc
    forward: bool


@dataclass(frozen=True, eq=False)
class Sweep:
    """x = middle + half (s, t) @ axes, with axes (2, 2) orthonormal: the box is [-1, 1] in both columns, turned.

    quadratic (2, 2), linear (2,), constant: of f as a function of (s, t).
    """

    middle: Array
    half: Array
    axes: Array
    quadratic: Array
    linear: Array
    constant: float

    @classmethod
    def of(cls, f: Polynomial, box: Array) -> "Sweep":
        """t is where f changes most: along the slope if that is steep, else along the largest curvature."""
        middle, half = box.mean(axis=1), (box[:, 1] - box[:, 0]) / 2
        quadratic = f.quadratic * np.outer(half, half)
        linear = half * (f.linear + 2 * f.quadratic @ middle)
        curvatures, vectors = np.linalg.eigh(quadratic)
        sizes = np.abs(curvatures)
        slope = sqrt(linear @ linear)
        x, y = linear / slope if slope > STEEP * sizes.max() else vectors[:, sizes.argmax()]
        axes = np.array([[y, -x], [x, y]])
        constant = float(f(middle[None])[0])
        return cls(middle, half, axes, axes @ quadratic @ axes.T, axes @ linear, constant)

    @property
    def a(self) -> float:
        return float(self.quadratic[1, 1])

    @cached_property
    def b(self) -> Series:
        return Series([self.linear[1], 2 * self.quadratic[0, 1]])

    @cached_property
    def c(self) -> Series:
        return Series([self.constant, self.linear[0], self.quadratic[0, 0]])

    @cached_property
    def d(self) -> Series:
        """b² - 4ac, without what is rounding; zero where the curve is one line twice."""
        square, rest = self.b**2, 4 * self.a * self.c
        size = max(np.abs(square.coef).max(), np.abs(rest.coef).max())
        whole = square - rest
        return Series(np.where(np.abs(whole.coef) > ROUNDING * size, whole.coef, 0.0))

    @cached_property
    def turns(self) -> list[float]:
        """The s at which the two roots are one."""
        constant, linear, quadratic = np.pad(self.d.coef, (0, 3 - len(self.d.coef)))
        return real_roots(quadratic, linear, constant, ROUNDING)

    def roots(self, s: Array, sign: int) -> Array:
        """t; of the two ways to write a root, the one in which nothing cancels; (m,) -> (m,)."""
        b, c = self.b(s), self.c(s)
        side = np.where(b < 0, -1.0, 1.0)
        q = -b - side * np.sqrt(np.maximum(self.d(s), 0.0))
        above, below = np.where(side == sign, 2 * c, q), np.where(side == sign, q, 2 * self.a)
        # 0 / 0 is the double root b = c = 0; where a is zero, one of the roots is nowhere.
        return np.divide(above, below, out=np.full_like(q, 0.0 if self.a else np.nan), where=below != 0)

    def at(self, s: Array, sign: int) -> Array:
        """The points, in units of the box; (m,) -> (m, 2)."""
        return np.column_stack([s, self.roots(s, sign)]) @ self.axes

    def arcs(self) -> list[Arc]:
        """The intervals in which a root lies inside the box, cut where the roots turn into each other."""
        reach = sqrt(2)
        stops = sorted({-reach, reach, *self.turns, *self.crossings()})
        signs = (1, -1) if self.d.coef.any() else (1,)
        return [arc for sign in signs for arc in self._merged(sign, stops)]

    def _merged(self, sign: int, stops: list[float]) -> Iterator[Arc]:
        low = inf
        for start, end in pairwise([*stops, inf]):
            inside = end < inf and self._is_inside((start + end) / 2, sign)
            if low < inf and (not inside or start in self.turns):
                yield Arc(sign, low, start)
                low = inf
            if inside and low == inf:
                low = start

    def _is_inside(self, s: float, sign: int) -> bool:
        if self.d(s) < 0:
            return False
        return bool((np.abs(self.at(np.array([s]), sign)) <= 1 + ROUNDING).all())

    def crossings(self) -> Iterator[float]:
        """The s of the points where f = 0 on an edge."""
        whole, slopes = self.axes.T @ self.quadratic @ self.axes, self.linear @ self.axes
        for own, other in ((0, 1), (1, 0)):
            for edge in (-1.0, 1.0):
                linear = slopes[other] + 2 * whole[0, 1] * edge
                constant = self.constant + (slopes[own] + whole[own, own] * edge) * edge
                for root in real_roots(whole[other, other], linear, constant):
                    if abs(root) <= 1 + ROUNDING:
                        yield float(self.axes[0, own] * edge + self.axes[0, other] * root)

    def points(self, chain: list[SweptArc], count: int) -> Array:
        """Points along arcs one after the other; (count, 2)."""
        along = np.linspace(0, len(chain), count)
        place = np.minimum(along.astype(int), len(chain) - 1)
        parts = [self._along(step, along[place == i] - i) for i, step in enumerate(chain)]
        return self.middle + self.half * np.concatenate(parts)

    def _along(self, step: SweptArc, share: Array) -> Array:
        """Points at these shares of an arc; near a turn, where t changes like a root of s, they lie closer in s."""
        sign, low, high = step.arc
        share = share if step.forward else 1 - share
        ends = low in self.turns, high in self.turns
        way = {
            (True, True): (1 - np.cos(pi * share)) / 2,
            (True, False): share**2,
            (False, True): share * (2 - share),
            (False, False): share,
        }
        return self.at(low + (high - low) * way[ends], sign)


def chained(arcs: list[Arc], turns: list[float]) -> list[list[SweptArc]]:
    """Arcs that meet at a turn one after the other."""
    left, chains = list(arcs), []
    while left:
        chain = [SweptArc(left.pop(), True)]
        while following := _next(chain[-1], left, arcs, turns):
            chain.append(following)
        backward = [SweptArc(step.arc, not step.forward) for step in reversed(chain)]
        while following := _next(backward[-1], left, arcs, turns):
            backward.append(following)
        chains.append(backward)
    return chains


def _next(step: SweptArc, left: list[Arc], arcs: list[Arc], turns: list[float]) -> SweptArc | None:
    """The arc that goes on where a step ends, taken from those left."""
    end = step.arc.high if step.forward else step.arc.low
    if end not in turns:
        return None
    across = any(arc.low == end for arc in arcs) and any(arc.high == end for arc in arcs)
    for arc in left:
        # Where lines cross, each goes straight on: to the other side, and to the other root.
        start = (arc.low if step.forward else arc.high) if across else end
        if arc.sign != step.arc.sign and start == end and end in (arc.low, arc.high):
            left.remove(arc)
            return SweptArc(arc, arc.low == end)
    return None


# ----------------------------------------------------------------------------------------------------------------------
# Curves f = 0 in two columns: lines and conics inside a box, solved and not read off a grid.

# Steps of Newton's method that bring points onto the curve.
STEPS = 3


def curve(polynomial: Polynomial, box: Any, count: int) -> list[Array]:
    """f = 0 inside the box, as pieces of `count` points each; a point has one."""
    if polynomial.n_features != 2:
        raise ClasswiseError(
            f"A curve lies in a plane, and this boundary is in {polynomial.n_features} features; "
            "boundary(a, b, columns=(..., ...)) or at={...} is that of two."
        )
    edges, center, form = _read_box(box), polynomial.center, normal_form(polynomial)
    if _is_constant(form):
        return []
    if _is_point(form):
        point = center + form.origin
        return [point[None]] if ((edges[:, 0] <= point) & (point <= edges[:, 1])).all() else []
    local = replace(polynomial, center=np.zeros(2))
    sweep = Sweep.of(local, edges - center[:, None])
    pieces = [sweep.points(chain, count) for chain in chained(sweep.arcs(), sweep.turns)]
    return [np.clip(center + _settled(local, piece), *edges.T) for piece in pieces]


def _is_constant(form: NormalForm) -> bool:
    return not len(form.curvatures) and not form.tilt


def _is_point(form: NormalForm) -> bool:
    return len(form.curvatures) == 2 and not form.constant and bool(form.curvatures.prod() > 0)


def _read_box(box: Any) -> Array:
    """((low, high), (low, high)), one pair for each column."""
    edges = np.asarray(box, dtype=np.float64)
    if edges.shape != (2, 2) or not np.isfinite(edges).all() or not (edges[:, 0] < edges[:, 1]).all():
        raise ClasswiseError(f"box={box!r} is not ((low, high), (low, high)), the limits of the two columns.")
    return edges


def _settled(f: Polynomial, points: Array) -> Array:
    """Each point after steps of Newton's method, u - f C∇f / ∇f'C∇f, as long as they bring it nearer to f = 0."""
    for _ in range(STEPS):
        slopes = 2 * points @ f.quadratic + f.linear
        steps = slopes @ f.covariance
        lengths = (slopes * steps).sum(axis=1)
        values = f(points)
        moved = points - np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)[:, None] * steps
        points = np.where((np.abs(f(moved)) < np.abs(values))[:, None], moved, points)
    return points
