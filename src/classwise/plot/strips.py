"""Regions where a column is a category: a strip for each level, or a tile for each pair of levels.

Inside a strip only the other column varies, so each region is an interval, with exact ends.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Array
from classwise.classifier.density_grid import ALONG
from classwise.plot.borders import change_points, halvings_for, hatch_of, note_unseen
from classwise.plot.canvas import GRAY, draw_rows, ink, slant_ticks, spread, wash
from classwise.plot.view import View

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
