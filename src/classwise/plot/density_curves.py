"""One column: the density of each class, and the posterior below it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.classifier.density_grid import value_grid
from classwise.errors import ClasswiseError
from classwise.plot.borders import change_points
from classwise.plot.canvas import (
    GRAY,
    contrasting,
    entitle,
    ink,
    legend_above,
    new_grid,
    plain_spines,
    read_labels,
    wash,
)
from classwise.plot.regions import name_levels
from classwise.plot.view import View, look_at_densities

MOST_BINS = 60


def plot_densities(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    columns: Any = None,
    at: Any = None,
    axes: Any = None,
    title: str | None = None,
) -> Any:
    """Draw prior times density of each class in one column, and below it the posterior; returns a Figure.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X, y : array or table of shape (n, p) and array of shape (n,)
        Rows to show as histograms on the same scale; without y, as one gray histogram.
    columns : column, optional
        The column, by name or position; by default the first number. The others are integrated out.
    at : mapping from column to value, optional
        {column: value} holds other columns at a value.
    axes : matplotlib Axes, optional
        Two Axes to draw on.
    title : str, optional
        The title of the picture.

    Returns
    -------
    matplotlib Figure
        The picture.

    Notes
    -----
    Dotted lines mark where the decision changes. For a category, each level has a bar for each class, with a dot at the
    share of the rows, and below it the posterior of the level.
    """
    if isinstance(X, (str, int)):
        raise ClasswiseError(f"X={X!r} is no table of rows; name the column by columns={X!r}.")
    view = look_at_densities(model, columns, at, 1)
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
    margin = 0.5 if is_level or view.counts[0] else 0.0
    below.set(xlabel=view.names[0], xlim=(grid[0] - margin, grid[-1] + margin))
    if is_level:
        name_levels(below, view)
    legend_above(above)
    entitle(above, title)
    return figure


def _panels(axes: Any) -> tuple[Any, Any]:
    if axes is not None:
        above, below = axes
        return above.get_figure(), (above, below)
    figure, grid = new_grid(2, 1, 6.4, 5.0, sharex=True, height_ratios=[2, 1])
    return figure, grid[:, 0]


def draw_joint(axes: Any, view: View, grid: Array) -> None:
    """Draw prior_k p(x | k)."""
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
    """Draw a curve for each class; counts have a marker at each number."""
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
    """Edges of the bins of a histogram, by Freedman and Diaconis; fewer if outliers would make them too many."""
    edges = np.histogram_bin_edges(values, "auto")
    return edges if len(edges) <= MOST_BINS else np.histogram_bin_edges(values, MOST_BINS)


def _draw_histograms(axes: Any, view: View, groups: list[tuple[str, NDArray[np.bool_]]], values: Array) -> None:
    """Draw histograms of rows on the scale of prior times density."""
    there = np.isfinite(values)
    whole = np.arange(values[there].min() - 0.5, values[there].max() + 1)
    edges = whole if view.counts[0] else bin_edges(values[there])
    for color, own in groups:
        heights = np.histogram(values[own], edges)[0] / (there.sum() * np.diff(edges))
        axes.stairs(heights, edges, color=color, alpha=1.4 * wash(axes), fill=True)
        axes.set_ylim(0, max(axes.get_ylim()[1], 1.08 * heights.max()))


def _groups(view: View, values: Array, y: Any) -> list[tuple[str, NDArray[np.bool_]]]:
    """Colors, and which rows have them."""
    if y is None:
        return [(GRAY, np.isfinite(values))]
    labels = read_labels(y, len(values))
    return [(style.color, labels == style.label) for style in view.styles]


# A column of levels: bars for each class, and what each level makes of the classes ------------------------------------

# The share of the room between two levels that bars take.
ROOM = 0.8


def draw_joint_bars(axes: Any, view: View, grid: Array, joint: Array) -> None:
    """Draw prior_k P(level | k) as bars, the classes side by side; joint (g, levels)."""
    for style, heights, shift in zip(view.styles, joint, _shifts(len(joint)), strict=True):
        width = ROOM / len(joint)
        axes.bar(grid + shift, heights, width, color=style.color, alpha=0.75, label=str(style.label))


def draw_shares(axes: Any, view: View, groups: list[tuple[str, NDArray[np.bool_]]], values: Array) -> None:
    """Draw a dot at the share of rows that have a class and a level: where the bar should end."""
    levels, there = view.levels[0], np.isfinite(values)
    assert levels is not None
    shifts = _shifts(len(groups)) if len(groups) > 1 else np.zeros(1)
    marks = [style.marker for style in view.styles] if len(groups) > 1 else ["o"]
    for (_, own), shift, mark in zip(groups, shifts, marks, strict=True):
        counts = np.bincount(values[own & there].astype(np.intp), minlength=len(levels))
        shares = counts / max(int(there.sum()), 1)
        edge = {"markerfacecolor": axes.get_facecolor(), "markeredgecolor": ink(), "markersize": 6, "clip_on": False}
        axes.plot(np.arange(len(levels)) + shift, shares, mark, linestyle="", zorder=3, **edge)
        axes.set_ylim(0, max(axes.get_ylim()[1], 1.08 * shares.max()))


def draw_posterior_bars(axes: Any, view: View, grid: Array) -> None:
    """Draw P(k | level) as bars, stacked up to 1, with the number if there is room."""
    posterior = view.classifier.posterior(view.rows(grid[:, None]))
    floor = np.zeros(len(grid))
    for style, heights in zip(view.styles, posterior, strict=True):
        axes.bar(grid, heights, ROOM, bottom=floor, color=style.color, edgecolor=axes.get_facecolor(), linewidth=0.8)
        for x, bottom, height in zip(grid, floor, heights, strict=True):
            if height > 0.18 and len(grid) <= 12:
                text = {"ha": "center", "va": "center", "fontsize": "x-small", "color": contrasting(style.color)}
                axes.text(x, bottom + height / 2, f"{100 * height:.0f} %", **text)
        floor = floor + heights
    axes.axhline(0, color=GRAY, linewidth=0.8)
    axes.set(ylabel="posterior", ylim=(0, 1.0))
    plain_spines(axes)


def _shifts(count: int) -> Array:
    """The positions of the classes' bars around a level."""
    return (np.arange(count) - (count - 1) / 2) * ROOM / count
