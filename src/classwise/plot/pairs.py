"""Every pair of columns."""

from typing import Any

import numpy as np

from classwise.errors import ClasswiseError
from classwise.plot.boxes import find_box, value_grid
from classwise.plot.canvas import new_grid
from classwise.plot.densities import draw_joint
from classwise.plot.looking import look, look_at_densities, number_columns, read_model, usable_columns
from classwise.plot.refused import refused_handles
from classwise.plot.regions import Details, draw_view
from classwise.plot.rows import class_handles
from classwise.plot.strips import name_levels
from classwise.plot.view import View

# Points on each side of a panel's grid.
GRID = 101

# Columns that are drawn without being named.
MOST = 12


def plot_pairs(m: Any, X: Any, y: Any, columns: Any = None) -> Any:
    """What the model decides in every pair of columns, below prior times density of each column; a Figure.

    Each panel is of the model of its columns alone, with the others integrated out. columns: which, by name or
    position; all numbers unless given, and categories too where there are fewer than two numbers.
    """
    columns = _chosen(m) if columns is None else list(columns)
    if len(columns) < 2:
        raise ClasswiseError(f"columns={columns!r}: pairs take at least two columns.")
    views = [look_at_densities(m, [column], None, 1) for column in columns]
    boxes = [find_box(view, view.values(X), (3,))[0] for view in views]
    side = 1.0 + 2.1 * len(columns)
    figure, panels = new_grid(len(columns), len(columns), side, side, sharex="col")
    for i, below in enumerate(columns):
        _draw_one(panels[i, i], views[i], X)
        for j, left in enumerate(columns[:i]):
            view, box = look(m, (left, below), None, 2), np.array([boxes[j], boxes[i]])
            draw_view(panels[i, j], view, view.values(X), y, Details((2,), (), GRID, 9), box)
        for panel in panels[i, i + 1 :]:
            panel.set_axis_off()
    _name_axes(panels, [view.names[0] for view in views])
    handles = [*class_handles(views[0].styles), *refused_handles(views[0])]
    figure.legend(handles=handles, loc="upper right", frameon=False)
    return figure


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
    """Prior times density of one column, without a scale."""
    draw_joint(axes, view, value_grid(view, view.values(X)))
    name_levels(axes, view)
    axes.set(ylabel="", yticks=[])
    axes.spines["left"].set_visible(False)


def _name_axes(panels: Any, names: list[str]) -> None:
    """Names at the left and at the bottom; numbers beside the first column alone."""
    for i, name in enumerate(names):
        panels[-1, i].set_xlabel(name)
        panels[i, 0].set_ylabel(name if i else "")
        for panel in panels[i, 1:i]:
            panel.tick_params(labelleft=False)
