"""One column of levels: bars for each class, and what each level makes of the classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.plot.canvas import GRAY, contrasting, ink, plain_spines
from classwise.plot.view import View

# The share of the room between two levels that bars take.
ROOM = 0.8


def draw_joint_bars(axes: Any, view: View, grid: Array, joint: Array) -> None:
    """prior_k P(level | k), the classes side by side; joint (g, levels)."""
    for style, heights, shift in zip(view.styles, joint, _shifts(len(joint)), strict=True):
        width = ROOM / len(joint)
        axes.bar(grid + shift, heights, width, color=style.color, alpha=0.75, label=str(style.label))


def draw_shares(axes: Any, view: View, groups: list[tuple[str, NDArray[np.bool_]]], values: Array) -> None:
    """The share of all rows that is of a class and has a level: a dot at the height where the bar should end."""
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
    """P(k | level), one above the other up to 1, with the number where there is room."""
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
    """Where the bars of the classes stand, about the level."""
    return (np.arange(count) - (count - 1) / 2) * ROOM / count
