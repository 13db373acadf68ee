"""One column: the densities of the classes, and what they make of a value."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.plot.bars import draw_joint_bars, draw_posterior_bars, draw_shares
from classwise.plot.borders import change_points
from classwise.plot.boxes import value_grid
from classwise.plot.canvas import GRAY, legend_above, new_grid, plain_spines, wash
from classwise.plot.looking import look_at_densities
from classwise.plot.rows import read_labels
from classwise.plot.strips import name_levels
from classwise.plot.view import View

MOST_BINS = 60


def plot_densities(m: Any, column: Any, X: Any = None, y: Any = None, axes: Any = None, at: Any = None) -> Any:
    """Prior times density of each class in one column, and below it the posterior; a Figure.

    X, y: rows to show as histograms, on the same scale; without labels as one, in gray. Other columns are integrated
    out, or held at a value: at={column: value}. Dotted lines are where the decision changes. A category has a bar for
    each class at each level, with a dot for the share of the rows, and below it the posterior of each level. axes: two
    Axes, to draw there.
    """
    view = look_at_densities(m, column, at, 1)
    if X is not None and view.held:
        raise ClasswiseError("X shows rows at every value of the columns that at holds; give one of the two.")
    values = None if X is None else view.values(X)
    figure, (above, below) = _panels(axes)
    grid, is_level = value_grid(view, values), view.levels[0] is not None
    draw_joint(above, view, grid)
    if values is not None:
        (draw_shares if is_level else _draw_histograms)(above, view, _groups(view, values[:, 0], y), values[:, 0])
    (draw_posterior_bars if is_level else _draw_posterior)(below, view, grid)
    if not is_level:
        _mark_changes((above, below), view, grid)
    beside = 0.5 if is_level or view.counts[0] else 0.0
    below.set(xlabel=view.names[0], xlim=(grid[0] - beside, grid[-1] + beside))
    if is_level:
        name_levels(below, view)
    legend_above(above)
    return figure


def _panels(axes: Any) -> tuple[Any, Any]:
    if axes is not None:
        above, below = axes
        return above.get_figure(), (above, below)
    figure, grid = new_grid(2, 1, 6.4, 5.0, sharex=True, height_ratios=[2, 1])
    return figure, grid[:, 0]


def draw_joint(axes: Any, view: View, grid: Array) -> None:
    """prior_k p(x | k)."""
    joint = np.exp(view.classifier.log_joint(view.rows(grid[:, None])))
    if view.levels[0] is None:
        _draw_curves(axes, view, grid, joint)
        for style, heights in zip(view.styles, joint, strict=True):
            axes.fill_between(grid, heights, color=style.color, alpha=0.7 * wash(axes), linewidth=0)
    else:
        draw_joint_bars(axes, view, grid, joint)
    axes.set(ylabel="prior × density" if view.columns[0].family.kind == "number" else "prior × probability")
    axes.set_ylim(0, 1.08 * joint.max())
    plain_spines(axes)


def _draw_curves(axes: Any, view: View, grid: Array, joint: Array) -> None:
    """A curve for each class; counts have a dot at each number, in the shape of the class."""
    for style, heights in zip(view.styles, joint, strict=True):
        marker = {"marker": style.marker, "markersize": 4.5, "linewidth": 1.0} if view.counts[0] else {"linewidth": 1.8}
        axes.plot(grid, heights, color=style.color, label=str(style.label), **marker)


def _draw_posterior(axes: Any, view: View, grid: Array) -> None:
    posterior = view.classifier.posterior(view.rows(grid[:, None]))
    _draw_curves(axes, view, grid, posterior)
    axes.set(ylabel="posterior", ylim=(-0.03, 1.03))
    plain_spines(axes)


def _mark_changes(panels: tuple[Any, Any], view: View, grid: Array) -> None:
    for change in changes(view, grid):
        for panel in panels:
            panel.axvline(change, color=GRAY, linewidth=0.9, linestyle=":")


def changes(view: View, grid: Array) -> Array:
    """Where the most probable class changes, between the points of a grid."""
    return change_points(lambda points: view.scores(points).argmax(axis=0), grid)


def bin_edges(values: Array) -> Array:
    """Edges for a histogram: by Freedman and Diaconis, unless rows far away would make it too fine."""
    edges = np.histogram_bin_edges(values, "auto")
    return edges if len(edges) <= MOST_BINS else np.histogram_bin_edges(values, MOST_BINS)


def _draw_histograms(axes: Any, view: View, groups: list[tuple[str, NDArray[np.bool_]]], values: Array) -> None:
    """Shares of all rows, per unit of the column."""
    there = np.isfinite(values)
    whole = np.arange(values[there].min() - 0.5, values[there].max() + 1)
    edges = whole if view.counts[0] else bin_edges(values[there])
    for color, own in groups:
        heights = np.histogram(values[own], edges)[0] / (there.sum() * np.diff(edges))
        axes.stairs(heights, edges, color=color, alpha=1.4 * wash(axes), fill=True)
        axes.set_ylim(0, max(axes.get_ylim()[1], 1.08 * heights.max()))


def _groups(view: View, values: Array, y: Any) -> list[tuple[str, NDArray[np.bool_]]]:
    """A color and the rows that have it."""
    if y is None:
        return [(GRAY, np.isfinite(values))]
    labels = read_labels(y, len(values))
    return [(style.color, labels == style.label) for style in view.styles]
