"""All columns at once: every pair of them, or Fisher's directions."""

from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.classifier.column_view import number_columns, read_model, usable_columns
from classwise.classifier.density_grid import find_box, value_grid
from classwise.errors import ClasswiseError
from classwise.plot.borders import refused_handles
from classwise.plot.canvas import (
    Style,
    class_handles,
    class_styles,
    entitle,
    ink,
    legend_above,
    new_axes,
    new_grid,
    plain_spines,
    read_labels,
    scatter,
    wash,
)
from classwise.plot.density_curves import bin_edges, draw_joint
from classwise.plot.regions import Details, draw_view, name_levels, sigma_ellipse
from classwise.plot.view import View, look, look_at_densities

# Points on each side of a panel's grid.
GRID = 101

# Columns that are drawn without being named.
MOST = 12


def plot_pairs(model: Any, X: Any, y: Any, *, columns: Any = None, axes: Any = None, title: str | None = None) -> Any:
    """Draw the decision regions in every pair of columns, and prior times density of each column on the diagonal;
    returns a Figure.

    Each panel shows the model of its columns alone; all others are integrated out.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X : array or table of shape (n, p)
        Rows to show.
    y : array of shape (n,)
        Their labels.
    columns : sequence of columns, optional
        By name or position; by default all numbers, or all columns if there are fewer than two numbers.
    axes : matplotlib Axes, optional
        A square array of Axes to draw on, with a row and a column for each of the columns.
    title : str, optional
        The title of the picture.

    Returns
    -------
    matplotlib Figure
        The picture.
    """
    columns = _chosen(model) if columns is None else list(columns)
    if len(columns) < 2:
        raise ClasswiseError(f"columns={columns!r}: pairs take at least two columns.")
    views = [look_at_densities(model, [column], None, 1) for column in columns]
    boxes = [find_box(view, view.values(X), (3,))[0] for view in views]
    figure, panels = _panels(axes, len(columns))
    for i, below in enumerate(columns):
        _draw_one(panels[i, i], views[i], X)
        for j, left in enumerate(columns[:i]):
            view, box = look(model, (left, below), None, 2), np.array([boxes[j], boxes[i]])
            draw_view(panels[i, j], view, view.values(X), y, Details((2,), (), GRID, 9), box)
        for panel in panels[i, i + 1 :]:
            panel.set_axis_off()
    _name_axes(panels, [view.names[0] for view in views])
    handles = [*class_handles(views[0].styles), *refused_handles(views[0])]
    figure.legend(handles=handles, loc="upper right", frameon=False)
    if title is not None:
        figure.suptitle(title)
    return figure


def _panels(axes: Any, count: int) -> tuple[Any, Any]:
    """The figure, and its panels (count, count); new ones, by default."""
    if axes is None:
        side = 1.0 + 2.1 * count
        return new_grid(count, count, side, side, sharex="col")
    panels = np.asarray(axes, dtype=object)
    if panels.shape != (count, count):
        raise ClasswiseError(f"axes has shape {panels.shape}, and {count} columns take ({count}, {count}) Axes.")
    return panels[0, 0].get_figure(), panels


def _chosen(m: Any) -> list[int]:
    model, _ = read_model(m)
    numbers, usable = number_columns(model), usable_columns(model)
    columns = numbers if len(numbers) > 1 else usable
    if len(columns) > MOST:
        count = len(columns) * (len(columns) - 1) // 2
        raise ClasswiseError(
            f"{len(columns)} columns have {count} pairs, more than a picture can show; name some: columns=[...]."
        )
    return columns


def _draw_one(axes: Any, view: View, X: Any) -> None:
    """Draw prior times density of one column, without a scale."""
    draw_joint(axes, view, value_grid(view, view.values(X)))
    name_levels(axes, view)
    axes.set(ylabel="", yticks=[])
    axes.spines["left"].set_visible(False)


def _name_axes(panels: Any, names: list[str]) -> None:
    """Name the axes at the left and at the bottom; numbers stand beside the first column only."""
    for i, name in enumerate(names):
        panels[-1, i].set_xlabel(name)
        panels[i, 0].set_ylabel(name if i else "")
        for panel in panels[i, 1:i]:
            panel.tick_params(labelleft=False)


# Fisher's directions --------------------------------------------------------------------------------------------------


def plot_projection(model: Any, X: Any, y: Any, *, axes: Any = None, title: str | None = None) -> Any:
    """Draw rows in the first two of Fisher's directions, with class means and circles at 1 and 2 standard deviations.

    Parameters
    ----------
    model : estimator
        An LDA. Two classes have only one direction; histograms of the rows and the densities of the model are
        then drawn on one scale.
    X : array or table of shape (n, p)
        Rows to show.
    y : array of shape (n,)
        Their labels.
    axes : matplotlib Axes, optional
        Where to draw; by default on new Axes.
    title : str, optional
        The title of the picture.

    Returns
    -------
    matplotlib Axes
        The picture.
    """
    if not hasattr(model, "projection_"):
        name = type(model).__name__
        raise ClasswiseError(f"{name} has no directions; fit an LDA, whose classes share one covariance.")
    points, styles = model.transform(X), class_styles(model.classes_.tolist())
    labels = read_labels(y, len(points))
    groups = [(style, points[labels == style.label]) for style in styles]
    axes = new_axes(axes, 6.4, 5.4)
    (_draw_line if points.shape[1] == 1 else _draw_plane)(axes, groups, model)
    entitle(axes, title)
    return axes


def _draw_plane(axes: Any, groups: list[tuple[Style, Array]], m: Any) -> None:
    for (style, points), mean in zip(groups, m.projection_.means, strict=True):
        scatter(axes, points[:, :2], style)
        for sigma in (1, 2):
            axes.add_patch(sigma_ellipse(mean[:2], np.eye(2), sigma, edgecolor=style.color, linewidth=1.4))
        axes.plot(*mean[:2], marker="+", color=ink(), markersize=11, markeredgewidth=2, zorder=4)
    axes.set(xlabel=_direction(m, 0), ylabel=_direction(m, 1))
    axes.set_aspect("equal", adjustable="datalim")
    legend_above(axes)


def _draw_line(axes: Any, groups: list[tuple[Style, Array]], m: Any) -> None:
    every = np.concatenate([points[:, 0] for _, points in groups])
    means, edges = m.projection_.means[:, 0], bin_edges(every)
    grid = np.linspace(min(every.min(), means.min() - 3.5), max(every.max(), means.max() + 3.5), 501)
    for (style, points), mean, prior in zip(groups, means, m.priors_, strict=True):
        heights = np.histogram(points[:, 0], edges)[0] / (len(every) * np.diff(edges))
        axes.stairs(heights, edges, color=style.color, alpha=1.5 * wash(axes), fill=True)
        density = prior * np.exp(-0.5 * (grid - mean) ** 2) / np.sqrt(2 * np.pi)
        axes.plot(grid, density, color=style.color, linewidth=1.8, label=str(style.label))
    axes.set(xlabel=_direction(m, 0), ylabel="prior × density")
    axes.set_ylim(bottom=0)
    plain_spines(axes)
    legend_above(axes)


def _direction(m: Any, direction: int) -> str:
    share = 100 * m.projection_.ratios[direction]
    return f"Fisher's direction {direction + 1} ({share:.3g} % of what lies between classes)"
