"""What a model decides in two columns: regions, exact boundaries, ellipses, posteriors and rows.

Where a column is a category there is a strip for each level, or a tile for each pair of levels. Inside a strip only the
other column varies, so each region is an interval, with exact ends.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from classwise.arrays import Array
from classwise.classifier.boundary import boundary
from classwise.classifier.column_view import DRAWN
from classwise.classifier.density_grid import ALONG, find_box
from classwise.errors import ClasswiseError
from classwise.plot.borders import (
    borders,
    change_points,
    draw_refused,
    halvings_for,
    hatch_of,
    note_unseen,
    refused_handles,
)
from classwise.plot.canvas import (
    GRAY,
    Style,
    class_handles,
    draw_rows,
    entitle,
    ink,
    legend_above,
    new_axes,
    slant_ticks,
    spread,
    wash,
)
from classwise.plot.view import View, look

# Half the width of a strip; neighbors stand one apart.
HALF = 0.45


class Tile(NamedTuple):
    """A rectangle with one answer: low and high corners (2,), and the code of the answer."""

    low: tuple[float, float]
    high: tuple[float, float]
    code: int


def has_levels(view: View) -> bool:
    """Whether one of the columns is a category."""
    return any(levels is not None for levels in view.levels)


def draw_strips(axes: Any, view: View, points: Array | None, y: Any, box: Array, size: float) -> None:
    """Draw strips or tiles, and the rows, spread so that those of one level do not hide each other."""
    both = all(levels is not None for levels in view.levels)
    for tile in _tiles(view) if both else _intervals(view, box):
        _draw_tile(axes, view, tile)
    if both and points is None:
        _write_posteriors(axes, view)
    name_levels(axes, view)
    if view.decision is not None:
        note_unseen(axes, view)
    level_columns = [i for i, levels in enumerate(view.levels) if levels is not None]
    draw_rows(axes, view.styles, None if points is None else spread(points, level_columns), y, size)
    axes.set(xlim=box[0], ylim=box[1])


def name_levels(axes: Any, view: View) -> None:
    """Write the names of levels along the axis of each category."""
    for axis, levels in zip((axes.xaxis, axes.yaxis), view.levels, strict=False):
        if levels is not None:
            axis.set_ticks(range(len(levels)), [str(level) for level in levels.tolist()])
            axis.set_tick_params(length=0)
    if view.levels[0] is not None:
        slant_ticks(axes)


def _tiles(view: View) -> Iterator[Tile]:
    for place, code in zip(_places(view), view.answers(_places(view)).tolist(), strict=True):
        x, y = place.tolist()
        yield Tile((x - HALF, y - HALF), (x + HALF, y + HALF), code)


def _places(view: View) -> Array:
    """Every pair of levels; (m, 2)."""
    counts = [len(levels) for levels in view.levels if levels is not None]
    return np.array(list(product(*map(range, counts))), dtype=np.float64)


def _intervals(view: View, box: Array) -> Iterator[Tile]:
    """The intervals of the number with one answer, for each level of the category."""
    flat = 0 if view.levels[0] is not None else 1
    levels, across = view.levels[flat], 1 - flat
    assert levels is not None
    grid = np.linspace(box[across, 0], box[across, 1], ALONG)
    for level in range(len(levels)):
        line = replace(view, free=(view.free[across],), held={**view.held, view.free[flat]: float(level)})
        ends = np.array([grid[0], *change_points(line.answers, grid, halvings_for(view)), grid[-1]])
        codes = line.answers(((ends[1:] + ends[:-1]) / 2)[:, None])
        for low, high, code in zip(ends[:-1], ends[1:], codes.tolist(), strict=True):
            first, last = (level - HALF, float(low)), (level + HALF, float(high))
            yield Tile(first, last, code) if flat == 0 else Tile(first[::-1], last[::-1], code)


def _draw_tile(axes: Any, view: View, tile: Tile) -> None:
    """A class in its color, what is refused or novel hatched in gray; the border is where the next tile begins."""
    from matplotlib.patches import Rectangle

    width, height = tile.high[0] - tile.low[0], tile.high[1] - tile.low[1]
    hatch = hatch_of(tile.code, len(view.styles))
    color = GRAY if hatch else view.styles[tile.code].color
    fill = Rectangle(tile.low, width, height, facecolor=color, alpha=0.3 if hatch else wash(axes), zorder=0)
    if hatch:
        fill.set(hatch=hatch, edgecolor=GRAY, linewidth=0)
    axes.add_patch(fill)
    axes.add_patch(Rectangle(tile.low, width, height, fill=False, edgecolor=ink(), linewidth=1.0, zorder=2.5))


def _write_posteriors(axes: Any, view: View) -> None:
    """Write the largest posterior into each tile."""
    places = _places(view)
    posterior = view.classifier.posterior(view.rows(places)).max(axis=0)
    for (x, y), sure in zip(places.tolist(), posterior.tolist(), strict=True):
        axes.text(x, y, f"{100 * sure:.0f} %", ha="center", va="center")


# Points on each side of the grid that regions are found on, and on each piece of a boundary.
GRID = 241
CURVE_POINTS = 1200

# Posteriors that contours are drawn at, unless others are given.
POSTERIORS = (0.75, 0.9, 0.99)


class Details(NamedTuple):
    """What is drawn besides regions and rows. side: points on each side of the grid; size: of the shapes of rows."""

    sigmas: Sequence[float] = (1, 2, 3)
    contours: Sequence[float] = ()
    side: int = GRID
    size: float = 22


def plot_regions(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    columns: Any = None,
    at: Any = None,
    axes: Any = None,
    title: str | None = None,
    sigmas: Sequence[float] = (1, 2, 3),
    contours: Any = False,
) -> Any:
    """Draw the decision regions of the classes in two columns, with boundaries, ellipses and rows.

    Parameters
    ----------
    model : estimator
        A model of any number of columns, or a Decision, whose rejected and novel regions are hatched.
    X, y : array or table of shape (n, p) and array of shape (n,)
        Rows to show, with their labels; without labels they are gray.
    columns : sequence of columns, optional
        The two columns, by name or position; by default the first two numbers. The others are integrated out.
    at : mapping from column to value, optional
        {column: value} holds other columns at a value.
    axes : matplotlib Axes, optional
        Where to draw; by default on new Axes.
    title : str, optional
        The title of the picture.
    sigmas : sequence of float, default=(1, 2, 3)
        The standard deviations at which ellipses are drawn.
    contours : bool or list of float, default=False
        Lines of equal posterior of each class; True for 0.75, 0.9 and 0.99, or a list of posteriors.

    Returns
    -------
    matplotlib Axes
        The picture.

    Notes
    -----
    Boundaries are computed from W, w and w0 if the log odds are polynomials in the two columns, and else by bisection.
    The ellipses of a Student-t show its location and shape. For a log-normal column, lines around the densest part of a
    class replace the ellipses, and enclose the same share of it. A category has a strip for each level; two categories
    have a tile for each pair of levels. Of more than 5,000 rows, 5,000 are shown, drawn at random.
    """
    view = look(model, columns, at, 2)
    details = Details(tuple(sigmas), _read_contours(contours))
    points = None if X is None else view.values(X)
    axes = new_axes(axes, 6.4, 5.4)
    draw_view(axes, view, points, y, details)
    axes.set(xlabel=view.names[0], ylabel=view.names[1])
    legend_above(axes, [*class_handles(view.styles), *refused_handles(view)])
    entitle(axes, title)
    return axes


def _read_contours(contours: Any) -> tuple[float, ...]:
    if isinstance(contours, bool) or contours is None:
        return POSTERIORS if contours else ()
    levels = tuple(np.unique(np.asarray(contours, dtype=np.float64)).tolist())
    if not all(0 < level < 1 for level in levels):
        raise ClasswiseError(f"contours={contours!r} are not posteriors between 0 and 1.")
    return levels


def draw_view(axes: Any, view: View, points: Array | None, y: Any, details: Details, box: Array | None = None) -> None:
    """Draw all but names and legend; box: (low, high) of each column, by default around rows and ellipses."""
    box = find_box(view, points, details.sigmas) if box is None else box
    if has_levels(view):
        draw_strips(axes, view, points, y, box, details.size)
        return
    sides = [np.linspace(low, high, details.side) for low, high in box]
    grid = np.column_stack([values.ravel() for values in np.meshgrid(*sides)])
    scores = view.scores(grid).reshape(-1, details.side, details.side)
    _fill(axes, view.styles, sides, scores)
    for line in boundary_lines(view, box, sides, scores):
        axes.plot(*line.T, color=ink(), linewidth=1.3, zorder=2.5)
    draw_refused(axes, view, sides, grid)
    draw_ellipses(axes, view, sides, details.sigmas)
    _draw_contours(axes, view, sides, grid, details.contours)
    draw_rows(axes, view.styles, points, y, details.size)
    axes.set(xlim=box[0], ylim=box[1])


def boundary_lines(
    view: View, box: Array, sides: list[Array], scores: Array, count: int = CURVE_POINTS
) -> Iterator[Array]:
    """The boundaries between regions, each (m, 2), NaN where a third class is more probable than both.

    sides: the axes of a grid in the box; scores (g, m1, m0): on it; count: points on each piece that is a polynomial's.
    """
    for first, second in rivals(scores, view.model.priors_):
        for piece in _pieces(view, first, second, box, sides, scores, count):
            yield visible(view, first, second, piece)


def rivals(scores: Array, priors: Array) -> list[tuple[int, int]]:
    """The pairs of classes that are the two most probable at some point; scores (g, ...)."""
    top = np.sort(np.argsort(scores.reshape(len(scores), -1), axis=0)[-2:], axis=0)
    pairs = np.unique(top, axis=1).T.tolist()
    return [(a, b) for a, b in pairs if priors[a] > 0 and priors[b] > 0]


def visible(view: View, first: int, second: int, piece: Array) -> Array:
    """A piece of a boundary, NaN where a third class is more probable than both; (m, 2)."""
    scores = view.scores(piece)
    others = np.delete(scores, [first, second], axis=0).max(axis=0, initial=-np.inf)
    return np.where((others <= np.maximum(scores[first], scores[second]))[:, None], piece, np.nan)


def _pieces(
    view: View, first: int, second: int, box: Array, sides: list[Array], scores: Array, count: int
) -> list[Array]:
    """The curves on which two classes score the same: from polynomials if there are any, else by bisection."""
    has_costs = view.decision is not None and view.decision.costs is not None
    if view.polynomials is not None and not has_costs:
        return list(boundary(view.polynomials[first], view.polynomials[second]).curve(box, count))

    def leads(points: Array) -> Any:
        own, other = view.scores(points)[[first, second]]
        return own > other

    return borders(sides, scores[first] > scores[second], leads)


def _fill(axes: Any, styles: list[Style], sides: list[Array], scores: Array) -> None:
    """Color the region of each class lightly."""
    for k, style in enumerate(styles):
        lead = np.clip(scores[k] - np.delete(scores, k, axis=0).max(axis=0), -1e6, 1e6)
        if lead.max() > 0:
            axes.contourf(*sides, lead, levels=[0, 2e6], colors=[style.color], alpha=wash(axes), zorder=0)


def _draw_contours(axes: Any, view: View, sides: list[Array], grid: Array, posteriors: Sequence[float]) -> None:
    """Draw lines of equal P(k | x) in the color of the class; as log odds, which are smoother than posteriors."""
    if not posteriors:
        return
    log_posterior = view.classifier.log_posterior(view.rows(grid))
    with np.errstate(divide="ignore"):
        odds = np.clip(log_posterior - np.log(-np.expm1(log_posterior)), -700, 700)
    levels = logit(np.array(posteriors))
    names = {level: f"{value:g}" for level, value in zip(levels, posteriors, strict=True)}
    for style, own in zip(view.styles, odds, strict=True):
        within = levels[(levels > own.min()) & (levels < own.max())]
        if len(within):
            options = {"colors": [style.color], "linewidths": 1.0, "linestyles": "dashed", "zorder": 2.4}
            lines = axes.contour(*sides, own.reshape(len(sides[1]), -1), levels=within, **options)
            axes.clabel(lines, fmt=names, fontsize="x-small")


# How far a class reaches: ellipses of Gaussians, lines around the densest parts of others -----------------------------


def draw_ellipses(axes: Any, view: View, sides: Sequence[Array], sigmas: Sequence[float]) -> None:
    """Draw ellipses at these standard deviations; sides: axes of the grid on which other densities are traced."""
    ellipses = view.ellipses()
    if ellipses is None:
        _draw_densest(axes, view, sides, sigmas)
        return
    for style, mean, covariance in zip(view.styles, *ellipses, strict=True):
        for sigma, width in _widths(sigmas):
            axes.add_patch(sigma_ellipse(mean, covariance, sigma, edgecolor=style.color, linewidth=width))


def sigma_ellipse(mean: Array, covariance: Array, sigmas: float, **style: Any) -> Any:
    """(x - mean)' covariance^-1 (x - mean) = sigmas²."""
    from matplotlib.patches import Ellipse

    values, axes = np.linalg.eigh(covariance)
    small, large = 2 * sigmas * np.sqrt(np.maximum(values, 0))
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    return Ellipse(tuple(mean), large, small, angle=angle, facecolor="none", zorder=2, **style)


def _draw_densest(axes: Any, view: View, sides: Sequence[Array], sigmas: Sequence[float]) -> None:
    """Draw lines around the densest parts that hold 1 - exp(-sigma²/2) of a class, as ellipses do for a Gaussian.

    The density at the line is a quantile of the densities of rows drawn from the class (Hyndman 1996).
    """
    if any(view.counts) or view.held or not view.has_densities:
        return
    grid = np.column_stack([values.ravel() for values in np.meshgrid(*sides)])
    shape, codes = (len(sides[1]), len(sides[0])), np.arange(len(view.styles))
    log_density = view.classifier.log_density(view.rows(grid)).reshape(-1, *shape)
    drawn = view.model.classifier_.density.sample(np.repeat(codes, DRAWN), np.random.default_rng(0))
    points = drawn[:, list(view.free)]
    for k, style in enumerate(view.styles):
        own = points[k * DRAWN : (k + 1) * DRAWN]
        there = own[~np.isnan(own).any(axis=1)]
        densities = view.classifier.log_density(view.rows(there))[k]
        for sigma, width in _widths(sigmas):
            level = np.quantile(densities, np.exp(-(sigma**2) / 2))
            if log_density[k].min() < level < log_density[k].max():
                line = {"colors": [style.color], "linewidths": width, "linestyles": "solid", "zorder": 2}
                axes.contour(*sides, log_density[k], levels=[level], **line)


def _widths(sigmas: Sequence[float]) -> list[tuple[float, float]]:
    """Standard deviations with the widths of their lines: outer ones are thinner."""
    return [(sigma, max(1.8 - 0.5 * rank, 0.6)) for rank, sigma in enumerate(sorted(sigmas))]
