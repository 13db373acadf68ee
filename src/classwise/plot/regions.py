"""What a model decides in two columns: regions, exact boundaries, ellipses, posteriors and rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from classwise.arrays import Array
from classwise.classifier.boundary import boundary
from classwise.classifier.column_view import DRAWN
from classwise.classifier.density_grid import find_box
from classwise.errors import ClasswiseError
from classwise.plot.borders import borders, draw_refused, refused_handles
from classwise.plot.canvas import Style, class_handles, draw_rows, ink, legend_above, new_axes, wash
from classwise.plot.strips import draw_strips, has_levels
from classwise.plot.view import View, look

# Points on each side of the grid that regions are found on, and on each piece of a boundary.
GRID = 241
ALONG = 1200

# Posteriors that contours are drawn at, unless others are given.
POSTERIORS = (0.75, 0.9, 0.99)


class Details(NamedTuple):
    """What is drawn besides regions and rows. side: points on each side of the grid; size: of the shapes of rows."""

    sigmas: Sequence[float] = (1, 2, 3)
    contours: Sequence[float] = ()
    side: int = GRID
    size: float = 22


def plot_regions(
    m: Any,
    X: Any = None,
    y: Any = None,
    columns: Any = None,
    at: Any = None,
    axes: Any = None,
    sigmas: Sequence[float] = (1, 2, 3),
    contours: Any = False,
) -> Any:
    """The regions of the classes in two columns, their boundaries, ellipses at 1, 2, 3 standard deviations, and rows.

    m: a fitted model of any number of columns, or a Decision, which hatches what it refuses and what is novel. X, y:
    rows to show, with their labels; without labels they are gray. columns: which two, by name or position; the first
    two of numbers unless given. Other columns are integrated out, or held at a value: at={column: value}. contours:
    lines of equal posterior of each class, at 0.75, 0.9 and 0.99 if True, or at those given.

    Boundaries are drawn from W, w and w0 where log odds are polynomials in the two columns, whatever the others are,
    and elsewhere are narrowed down by bisection. Ellipses of a Student-t are of its location and shape; where a column
    is log-normal, lines around the densest parts of a class stand for them, which hold as much of it. A category has a
    strip for each of its levels, two have a tile for each pair.
    """
    view = look(m, columns, at, 2)
    details = Details(tuple(sigmas), _read_contours(contours))
    points = None if X is None else view.values(X)
    axes = new_axes(axes, 6.4, 5.4)
    draw_view(axes, view, points, y, details)
    axes.set(xlabel=view.names[0], ylabel=view.names[1])
    legend_above(axes, [*class_handles(view.styles), *refused_handles(view)])
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
    for first, second in rivals(scores, view.model.priors_):
        for piece in _pieces(view, first, second, box, sides, scores):
            axes.plot(*visible(view, first, second, piece).T, color=ink(), linewidth=1.3, zorder=2.5)
    draw_refused(axes, view, sides, grid)
    draw_ellipses(axes, view, sides, details.sigmas)
    _draw_contours(axes, view, sides, grid, details.contours)
    draw_rows(axes, view.styles, points, y, details.size)
    axes.set(xlim=box[0], ylim=box[1])


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


def _pieces(view: View, first: int, second: int, box: Array, sides: list[Array], scores: Array) -> list[Array]:
    """The curves on which two classes score the same: from polynomials if there are any, else by bisection."""
    has_costs = view.decision is not None and view.decision.costs is not None
    if view.polynomials is not None and not has_costs:
        return list(boundary(view.polynomials[first], view.polynomials[second]).curve(box, ALONG))

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
