"""One column: the densities of the classes, and what they make of a value."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.plot.canvas import GRAY, legend_above, new_grid, plain_spines
from classwise.plot.regions import find_box
from classwise.plot.view import COUNTS, View, look, read_labels

# Points along the column.
ALONG = 1001
MOST_BINS = 60


def plot_densities(m: Any, column: Any, X: Any = None, y: Any = None, axes: Any = None) -> Any:
    """Prior times density of each class in one column, and below it the posterior; a Figure.

    X, y: rows to show as histograms, on the same scale; without labels as one, in gray. Other columns are integrated
    out. Dotted lines are where the decision changes. axes: two Axes, to draw there.
    """
    view = look(m, column, None, 1)
    values = None if X is None else view.values(X)
    figure, (above, below) = _panels(axes)
    grid = value_grid(view, values)
    draw_joint(above, view, grid)
    if values is not None:
        _draw_histograms(above, view, values[:, 0], y)
    _draw_posterior(below, view, grid)
    for change in changes(view, grid):
        for panel in (above, below):
            panel.axvline(change, color=GRAY, linewidth=0.9, linestyle=":")
    beside = 0.5 if is_count(view) else 0.0
    below.set(xlabel=view.names[0], xlim=(grid[0] - beside, grid[-1] + beside))
    legend_above(above)
    return figure


def _panels(axes: Any) -> tuple[Any, Any]:
    if axes is not None:
        above, below = axes
        return above.get_figure(), (above, below)
    figure, grid = new_grid(2, 1, 6.4, 5.0, sharex=True, height_ratios=[2, 1])
    return figure, grid[:, 0]


def is_count(view: View) -> bool:
    """Whether the first column is of whole numbers."""
    return view.families[0].startswith(COUNTS)


def value_grid(view: View, values: Array | None) -> Array:
    """Values along the column; whole numbers for counts."""
    low, high = find_box(view, values, (3,))[0]
    if is_count(view):
        return np.arange(max(np.ceil(low), 0), np.floor(high) + 1)
    return np.linspace(low, high, ALONG)


def draw_joint(axes: Any, view: View, grid: Array) -> None:
    """prior_k p(x | k)."""
    joint = np.exp(view.classifier.log_joint(view.rows(grid[:, None])))
    marker = {"marker": "o", "markersize": 3} if is_count(view) else {}
    for style, heights in zip(view.styles, joint, strict=True):
        axes.plot(grid, heights, color=style.color, linewidth=1.8, label=str(style.label), **marker)
        axes.fill_between(grid, heights, color=style.color, alpha=0.12, linewidth=0)
    axes.set(ylabel="prior × density", ylim=(0, 1.08 * joint.max()))
    plain_spines(axes)


def _draw_posterior(axes: Any, view: View, grid: Array) -> None:
    posterior = view.classifier.posterior(view.rows(grid[:, None]))
    for style, heights in zip(view.styles, posterior, strict=True):
        axes.plot(grid, heights, color=style.color, linewidth=1.8)
    axes.set(ylabel="posterior", ylim=(-0.03, 1.03))
    plain_spines(axes)


def changes(view: View, grid: Array) -> Array:
    """Where the most probable class changes, between the points of a grid."""
    scores = view.scores(grid[:, None])
    best = scores.argmax(axis=0)
    left = np.flatnonzero(np.diff(best))
    before, after = (scores[best[left], i] - scores[best[left + 1], i] for i in (left, left + 1))
    return grid[left] + (grid[left + 1] - grid[left]) * before / (before - after)


def bin_edges(values: Array) -> Array:
    """Edges for a histogram: by Freedman and Diaconis, unless rows far away would make it too fine."""
    edges = np.histogram_bin_edges(values, "auto")
    return edges if len(edges) <= MOST_BINS else np.histogram_bin_edges(values, MOST_BINS)


def _draw_histograms(axes: Any, view: View, values: Array, y: Any) -> None:
    """Shares of all rows, per unit of the column."""
    there = np.isfinite(values)
    whole = np.arange(values[there].min() - 0.5, values[there].max() + 1)
    edges = whole if is_count(view) else bin_edges(values[there])
    for color, own in _groups(view, values, y):
        heights = np.histogram(values[own], edges)[0] / (there.sum() * np.diff(edges))
        axes.stairs(heights, edges, color=color, alpha=0.22, fill=True)
        axes.set_ylim(0, max(axes.get_ylim()[1], 1.08 * heights.max()))


def _groups(view: View, values: Array, y: Any) -> list[tuple[str, NDArray[np.bool_]]]:
    """A color and the rows that have it."""
    if y is None:
        return [(GRAY, np.isfinite(values))]
    labels = read_labels(y, len(values))
    return [(style.color, labels == style.label) for style in view.styles]
