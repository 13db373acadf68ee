"""Every pair of columns."""

from typing import Any

from classwise.errors import ClasswiseError
from classwise.plot.canvas import new_grid
from classwise.plot.densities import draw_joint, value_grid
from classwise.plot.regions import class_handles, draw_regions
from classwise.plot.view import look, number_columns

# Points on each side of a panel's grid.
GRID = 101


def plot_pairs(m: Any, X: Any, y: Any, columns: Any = None) -> Any:
    """What the model decides in every pair of columns, below prior times density of each column; a Figure.

    Each panel is of the model of its columns alone, with the others integrated out. columns: which, by name or
    position; all numbers unless given.
    """
    model = getattr(m, "best_", m)
    columns = number_columns(model) if columns is None else list(columns)
    if len(columns) < 2:
        raise ClasswiseError(f"columns={columns!r}: pairs take at least two columns of numbers.")
    side = 1.0 + 2.1 * len(columns)
    figure, panels = new_grid(len(columns), len(columns), side, side, sharex="col")
    for i, below in enumerate(columns):
        for j, left in enumerate(columns):
            _draw_panel(panels[i, j], model, X, y, (left, below) if j < i else (left,) if j == i else ())
    _name_axes(panels, [look(model, [column], None, 1).names[0] for column in columns])
    figure.legend(handles=class_handles(look(model, columns[:1], None, 1).styles), loc="upper right", frameon=False)
    return figure


def _draw_panel(axes: Any, model: Any, X: Any, y: Any, columns: tuple[Any, ...]) -> None:
    """Two columns as regions, one as densities, none as nothing."""
    if not columns:
        axes.set_axis_off()
        return
    view = look(model, columns, None, len(columns))
    points = view.values(X)
    if len(columns) == 1:
        draw_joint(axes, view, value_grid(view, points))
        axes.set(ylabel="", yticks=[])
        axes.spines["left"].set_visible(False)
    else:
        draw_regions(axes, view, points, y, (2,), GRID, 9)


def _name_axes(panels: Any, names: list[str]) -> None:
    """Names at the left and at the bottom; numbers beside the first column alone."""
    for i, name in enumerate(names):
        panels[-1, i].set_xlabel(name)
        panels[i, 0].set_ylabel(name if i else "")
        for panel in panels[i, 1:i]:
            panel.tick_params(labelleft=False)
