"""Curves f = 0 in two columns: lines and conics inside a box, solved and not read off a grid."""

from dataclasses import replace
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.discriminant.normal import NormalForm, normal_form
from classwise.discriminant.polynomial import Polynomial
from classwise.discriminant.sweep import Sweep, chained
from classwise.errors import ClasswiseError

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
