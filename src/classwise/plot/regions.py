"""What a model decides in two columns: regions, exact boundaries, ellipses and rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.plot.canvas import GRAY, Style, ink, legend_above, new_axes, scatter
from classwise.plot.view import View, look, read_labels

# Points on each side of the grid that regions are found on, and on each piece of a boundary.
GRID = 241
ALONG = 1200

# Ellipses are shown as far as this share of the rows' range beyond the rows.
FARTHEST = 0.4


def plot_regions(
    m: Any,
    X: Any = None,
    y: Any = None,
    columns: Any = None,
    at: Any = None,
    axes: Any = None,
    sigmas: Sequence[float] = (1, 2, 3),
) -> Any:
    """The regions of the classes in two columns, their boundaries, ellipses at 1, 2, 3 standard deviations, and rows.

    m: a fitted model of any number of columns. X, y: rows to show, with their labels; without labels they are gray.
    columns: which two, by name or position; the first two of numbers unless given. Other columns are integrated out,
    or held at a value: at={column: value}. Boundaries are drawn exactly where m.boundary knows them, and else off a
    grid. Columns that are not Gaussian have no ellipses; those of a Student-t are of its location and shape.
    """
    view = look(m, columns, at, 2)
    points = None if X is None else view.values(X)
    axes = new_axes(axes, 6.4, 5.4)
    draw_regions(axes, view, points, y, sigmas)
    axes.set(xlabel=view.names[0], ylabel=view.names[1])
    legend_above(axes, class_handles(view.styles))
    return axes


def draw_regions(
    axes: Any, view: View, points: Array | None, y: Any, sigmas: Sequence[float], count: int = GRID, size: float = 22
) -> None:
    """Everything but labels and legend; count: points on each side of the grid; size: of the shapes of rows."""
    box = find_box(view, points, sigmas)
    x0, x1 = (np.linspace(low, high, count) for low, high in box)
    grid = np.column_stack([values.ravel() for values in np.meshgrid(x0, x1)])
    scores = view.scores(grid).reshape(-1, count, count)
    _fill(axes, view.styles, x0, x1, scores)
    for first, second in rivals(scores, view.model.priors_):
        for piece in _pieces(view, first, second, box, (x0, x1, scores)):
            axes.plot(*visible(view, first, second, piece).T, color=ink(), linewidth=1.3, zorder=2.5)
    _draw_ellipses(axes, view, sigmas)
    _draw_rows(axes, view.styles, points, y, size)
    axes.set(xlim=box[0], ylim=box[1])


def find_box(view: View, points: Array | None, sigmas: Sequence[float]) -> Array:
    """(low, high) of each column: around the rows and the largest ellipses, as far as these are near the rows."""
    low, high = _reach(view, sigmas)
    if points is not None:
        least, most = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
        beyond = FARTHEST * (most - least)
        low, high = np.clip(low, least - beyond, least), np.clip(high, most, most + beyond)
    margin = 0.04 * np.where(high > low, high - low, 1.0)
    positive = np.array(view.families) == "lognormal"
    return np.column_stack([low - np.where(positive, np.minimum(margin, low / 2), margin), high + margin])


def _reach(view: View, sigmas: Sequence[float]) -> tuple[Array, Array]:
    """Where the largest ellipses begin and end; without ellipses, rows drawn from the model."""
    ellipses = view.ellipses()
    if ellipses is None:
        drawn = view.drawn()
        return np.nanmin(drawn, axis=0), np.nanmax(drawn, axis=0)
    means, reach = ellipses[0], max(sigmas, default=3) * np.sqrt(ellipses[1].diagonal(axis1=1, axis2=2))
    return (means - reach).min(axis=0), (means + reach).max(axis=0)


def rivals(scores: Array, priors: Array) -> list[tuple[int, int]]:
    """The pairs of classes that are the two most probable somewhere; (g, ...)."""
    top = np.sort(np.argsort(scores.reshape(len(scores), -1), axis=0)[-2:], axis=0)
    pairs = np.unique(top, axis=1).T.tolist()
    return [(a, b) for a, b in pairs if priors[a] > 0 and priors[b] > 0]


def visible(view: View, first: int, second: int, piece: Array) -> Array:
    """A piece of a boundary, NaN where a third class is more probable than both; (m, 2)."""
    scores = view.scores(piece)
    others = np.delete(scores, [first, second], axis=0).max(axis=0, initial=-np.inf)
    return np.where((others <= np.maximum(scores[first], scores[second]))[:, None], piece, np.nan)


def _pieces(view: View, first: int, second: int, box: Array, grid: tuple[Array, Array, Array]) -> list[Array]:
    """The curves on which two classes are equally probable: exact where the model has them, else off the grid."""
    edge = _polynomial(view, first, second)
    if edge is not None:
        return list(edge.curve(box, ALONG))
    from contourpy import contour_generator

    x0, x1, scores = grid
    return [np.asarray(line) for line in contour_generator(x0, x1, scores[first] - scores[second]).lines(0.0)]


def _polynomial(view: View, first: int, second: int) -> Any:
    """The boundary of the model, or None: not every model has polynomials."""
    if not hasattr(view.model, "boundary"):
        return None
    labels = view.model.classes_.tolist()
    try:
        return view.model.boundary(labels[first], labels[second], columns=list(view.free), at=view.held)
    except ClasswiseError:
        return None


def _fill(axes: Any, styles: list[Style], x0: Array, x1: Array, scores: Array) -> None:
    """Where each class leads, lightly."""
    for k, style in enumerate(styles):
        lead = np.clip(scores[k] - np.delete(scores, k, axis=0).max(axis=0), -1e6, 1e6)
        if lead.max() > 0:
            axes.contourf(x0, x1, lead, levels=[0, 2e6], colors=[style.color], alpha=0.16, zorder=0)


def _draw_ellipses(axes: Any, view: View, sigmas: Sequence[float]) -> None:
    ellipses = view.ellipses()
    if ellipses is None:
        return
    for style, mean, covariance in zip(view.styles, *ellipses, strict=True):
        for rank, sigma in enumerate(sorted(sigmas)):
            width = max(1.8 - 0.5 * rank, 0.6)
            axes.add_patch(sigma_ellipse(mean, covariance, sigma, edgecolor=style.color, linewidth=width))


def sigma_ellipse(mean: Array, covariance: Array, sigmas: float, **style: Any) -> Any:
    """(x - mean)' covariance^-1 (x - mean) = sigmas²."""
    from matplotlib.patches import Ellipse

    values, axes = np.linalg.eigh(covariance)
    small, large = 2 * sigmas * np.sqrt(np.maximum(values, 0))
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    return Ellipse(tuple(mean), large, small, angle=angle, facecolor="none", zorder=2, **style)


def _draw_rows(axes: Any, styles: list[Style], points: Array | None, y: Any, size: float) -> None:
    if points is None:
        return
    if y is None:
        scatter(axes, points, Style("rows", GRAY, "o"), size)
        return
    labels = read_labels(y, len(points))
    for style in styles:
        scatter(axes, points[labels == style.label], style, size)


def class_handles(styles: list[Style]) -> list[Any]:
    """A shape for each class, whether or not rows are shown."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=s.color, marker=s.marker, linestyle="", label=str(s.label)) for s in styles]
