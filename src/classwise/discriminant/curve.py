"""Curves f = 0 in two columns: lines and conics, parametrized exactly and cut where they leave a box.

A branch is a map from a number t to the plane. It meets the edges of the box, drawn out to lines, only where f = 0 on
them: between two such crossings it lies inside or outside as a whole. All points here are relative to the center.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.discriminant.normal import NormalForm, normal_form
from classwise.discriminant.polynomial import Polynomial
from classwise.discriminant.roots import roots
from classwise.errors import ClasswiseError


@dataclass(frozen=True, eq=False)
class Branch(ABC):
    """y(t), in the coordinates of the normal form; sizes (2,): of the two coordinates."""

    form: NormalForm
    sizes: Array

    @abstractmethod
    def coordinates(self, t: Array) -> Array:
        """y(t); (m,) -> (m, 2)."""

    @abstractmethod
    def where(self, coordinates: Array) -> Array:
        """The t of those points that lie on this branch; (m, 2) -> (m',)."""

    def at(self, t: Array) -> Array:
        """The points; (m,) -> (m, 2)."""
        return self.form.points(self.coordinates(t))

    def crossings(self, f: Polynomial, box: Array) -> Array:
        """The t at which the branch may enter or leave the box, ascending."""
        return np.sort(self.where(self.form.coordinates(_on_edges(f, box))))


class Ellipse(Branch):
    """(a cos t, b sin t)."""

    def coordinates(self, t: Array) -> Array:
        return self.sizes * np.column_stack([np.cos(t), np.sin(t)])

    def where(self, coordinates: Array) -> Array:
        x, y = (coordinates / self.sizes).T
        return np.arctan2(y, x)

    def crossings(self, f: Polynomial, box: Array) -> Array:
        numbers = super().crossings(f, box)
        start = numbers[:1] if len(numbers) else np.zeros(1)
        return np.concatenate([start, numbers[1:], start + 2 * np.pi])


class Hyperbola(Branch):
    """(a cosh t, b sinh t), on the side of the sign of a."""

    def coordinates(self, t: Array) -> Array:
        return self.sizes * np.column_stack([np.cosh(t), np.sinh(t)])

    def where(self, coordinates: Array) -> Array:
        x, y = (coordinates / self.sizes).T
        return np.arcsinh(y[x > 0])


class Parabola(Branch):
    """(a t, b t²)."""

    def coordinates(self, t: Array) -> Array:
        return self.sizes * np.column_stack([t, t**2])

    def where(self, coordinates: Array) -> Array:
        return coordinates[:, 0] / self.sizes[0]


@dataclass(frozen=True, eq=False)
class Line(Branch):
    """start + t (a, b)."""

    start: Array

    def coordinates(self, t: Array) -> Array:
        return self.start + t[:, None] * self.sizes

    def where(self, coordinates: Array) -> Array:
        return (coordinates - self.start) @ self.sizes / (self.sizes @ self.sizes)

    def crossings(self, f: Polynomial, box: Array) -> Array:
        start, end = self.at(np.array([0.0, 1.0]))
        moving = end != start
        return np.sort(((box - start[:, None])[moving] / (end - start)[moving, None]).ravel())


def curve(polynomial: Polynomial, box: Any, count: int) -> list[Array]:
    """f = 0 inside the box, as pieces of `count` points each; a point has one."""
    if polynomial.n_features != 2:
        raise ClasswiseError(
            f"A curve lies in a plane, and this boundary is in {polynomial.n_features} features; "
            "boundary(a, b, columns=(..., ...)) or at={...} is that of two."
        )
    center, form = polynomial.center, normal_form(polynomial)
    local, box = replace(polynomial, center=np.zeros(2)), _read_box(box) - center[:, None]
    if _is_point(form):
        return [center + form.origin[None]] if _is_inside(form.origin, box) else []
    return [
        center + np.clip(_settled(local, branch.at(np.linspace(*arc, count))), *box.T)
        for branch in branches(form)
        for arc in _arcs(branch, local, box)
    ]


def branches(form: NormalForm) -> list[Branch]:
    """The branches of f = 0, by curvatures, tilt and constant."""
    if len(form.curvatures) == 2:
        return _conic(form)
    along = np.array([0.0, 1.0])
    if not len(form.curvatures):
        return [Line(form, along, np.zeros(2))] if form.tilt else []
    if form.tilt:
        return [Parabola(form, np.array([1.0, -form.curvatures[0] / form.tilt]))]
    square = -form.constant / form.curvatures[0]
    starts = {-np.sqrt(square), np.sqrt(square)} if square >= 0 else set()
    return [Line(form, along, np.array([start, 0.0])) for start in sorted(starts)]


def _conic(form: NormalForm) -> list[Branch]:
    squares = -form.constant / form.curvatures
    if (squares > 0).all():
        return [Ellipse(form, np.sqrt(squares))]
    if form.curvatures.prod() > 0:
        return []
    steep, gentle = np.sqrt(np.abs(form.curvatures))
    if not form.constant:
        return [Line(form, np.array([gentle, sign * steep]), np.zeros(2)) for sign in (1, -1)]
    if squares[0] < 0:  # the first axis is the one that a branch meets
        form, squares = replace(form, axes=form.axes[:, ::-1]), squares[::-1]
    sizes = np.sqrt(np.abs(squares))
    return [Hyperbola(form, sizes * [sign, 1]) for sign in (1, -1)]


def _is_point(form: NormalForm) -> bool:
    return len(form.curvatures) == 2 and not form.constant and bool(form.curvatures.prod() > 0)


def _read_box(box: Any) -> Array:
    """((low, high), (low, high)), one pair for each column."""
    edges = np.asarray(box, dtype=np.float64)
    if edges.shape != (2, 2) or not np.isfinite(edges).all() or not (edges[:, 0] < edges[:, 1]).all():
        raise ClasswiseError(f"box={box!r} is not ((low, high), (low, high)), the limits of the two columns.")
    return edges


def _on_edges(f: Polynomial, box: Array) -> Array:
    """The points of f = 0 on the four lines that the edges lie on; (m, 2)."""
    points = []
    for column, other in ((0, 1), (1, 0)):
        for edge in box[column]:
            for root in roots(f.slice({column: edge})):
                point = np.empty(2)
                point[[column, other]] = edge, root
                points.append(point)
    return np.array(points).reshape(-1, 2)


def _arcs(branch: Branch, f: Polynomial, box: Array) -> Iterator[tuple[float, float]]:
    """The pieces of a branch that lie inside the box, from t to t."""
    for start, end in pairwise(branch.crossings(f, box).tolist()):
        if start < end and _is_inside(branch.at(np.array([(start + end) / 2]))[0], box):
            yield start, end


def _is_inside(point: Array, box: Array) -> bool:
    return bool(((box[:, 0] <= point) & (point <= box[:, 1])).all())


def _settled(f: Polynomial, points: Array) -> Array:
    """Each point after a step of Newton's method, u - f C∇f / ∇f'C∇f, where that brings it nearer to f = 0."""
    slopes = 2 * points @ f.quadratic + f.linear
    steps = slopes @ f.covariance
    lengths = (slopes * steps).sum(axis=1)
    values = f(points)
    moved = points - np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0)[:, None] * steps
    return np.where((np.abs(f(moved)) < np.abs(values))[:, None], moved, points)
