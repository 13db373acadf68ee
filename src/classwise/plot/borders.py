"""Where an answer changes: found between the points of a grid, then narrowed down by bisection.

All it takes is a function that answers at any point. So borders are exact to rounding for every kind of density, also
where the log odds jump.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.plot.canvas import GRAY
from classwise.plot.view import View

# A step of the grid, halved so often, is rounding.
HALVINGS = 32

Inside: TypeAlias = Callable[[Array], NDArray[np.bool_]]


def bisect(inside: Inside, within: Array, without: Array, halvings: int = HALVINGS) -> Array:
    """The points at which the answer changes, between points inside and points outside; (m, d) each.

    >>> bisect(lambda points: points[:, 0] < 0.3, np.array([[0.0]]), np.array([[1.0]])).round(12)
    array([[0.3]])
    """
    for _ in range(halvings):
        middle = within + (without - within) / 2
        held = inside(middle)[:, None]
        within, without = np.where(held, middle, within), np.where(held, without, middle)
    return within + (without - within) / 2


def change_points(answers: Callable[[Array], NDArray[Any]], grid: Array, halvings: int = HALVINGS) -> Array:
    """Where the answer changes along an ascending grid (m,): at most once between two neighbors."""
    given = answers(grid[:, None])
    left = np.flatnonzero(given[1:] != given[:-1])
    if not len(left):
        return np.empty(0)

    def inside(points: Array) -> NDArray[np.bool_]:
        return np.asarray(answers(points) == given[left])

    return bisect(inside, grid[left, None], grid[left + 1, None], halvings)[:, 0]


def borders(axes: Sequence[Array], held: NDArray[np.bool_], inside: Inside, halvings: int = HALVINGS) -> list[Array]:
    """The lines around the region where `inside` is true.

    axes: the two axes of an evenly spaced grid; held (m1, m0): whether it is true at the points of the grid.
    """
    from contourpy import contour_generator

    lines = contour_generator(x=axes[0], y=axes[1], z=held.astype(np.float64)).lines(0.5)
    if not lines:
        return []
    points = _narrowed(np.vstack([np.asarray(line) for line in lines]), axes, inside, halvings)
    return np.split(points, np.cumsum([len(line) for line in lines])[:-1])


def _narrowed(points: Array, axes: Sequence[Array], inside: Inside, halvings: int) -> Array:
    """Move points to the border: each lies halfway between two neighbors of the grid, one of them inside."""
    starts, steps = np.array([axis[0] for axis in axes]), np.array([axis[1] - axis[0] for axis in axes])
    places = (points - starts) / steps
    off = np.abs(places - np.round(places))
    moving = off == off.max(axis=1, keepdims=True)
    ends = [starts + steps * np.where(moving, end(places), np.round(places)) for end in (np.floor, np.ceil)]
    first = inside(ends[0])[:, None]
    return bisect(inside, np.where(first, *ends), np.where(first, *ends[::-1]), halvings)


# Where a decision is refused, and what is novel: hatched --------------------------------------------------------------

# Beyond the last class: refused, then novel.
HATCHES = ("////", "....")

# Whether a point is novel takes longer to compute; a step of the grid, halved so often, is far less than a pixel.
NOVEL_HALVINGS = 16


def draw_refused(axes: Any, view: View, sides: Sequence[Array], grid: Array) -> None:
    """Hatch what a decision refuses or takes for novel, with its borders. What is novel is not refused."""
    if view.decision is None:
        return
    shape = (len(sides[1]), len(sides[0]))
    refused, novel = view.refuses(grid).reshape(shape), view.is_novel(grid).reshape(shape)
    _hatch(axes, sides, refused & ~novel, HATCHES[0])
    _hatch(axes, sides, novel, HATCHES[1])
    for line in borders(sides, refused, view.refuses):
        shown = np.where(view.is_novel(line)[:, None], np.nan, line)
        axes.plot(*shown.T, color=GRAY, linewidth=1.2, zorder=2.45)
    for line in borders(sides, novel, view.is_novel, NOVEL_HALVINGS):
        axes.plot(*line.T, color=GRAY, linewidth=1.2, zorder=2.45)
    note_unseen(axes, view)


def _hatch(axes: Any, sides: Sequence[Array], held: NDArray[np.bool_], hatch: str) -> None:
    if held.any():
        area = axes.contourf(*sides, held, levels=[0.5, 1.5], colors=[GRAY], alpha=0.3, hatches=[hatch], zorder=0.5)
        area.set(edgecolor=GRAY, linewidth=0)


def refused_handles(view: View) -> list[Any]:
    """Entries of the legend for the hatches that may be there."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Patch

    if view.decision is None:
        return []
    names = []
    if view.decision.reject is not None:
        names.append((view.decision.reject_label_, HATCHES[0]))
    if view.decision.novelty is not None and view.knows_novelty:
        names.append((view.decision.novel_label_, HATCHES[1]))
    face = to_rgba(GRAY, 0.3)
    return [Patch(facecolor=face, edgecolor=GRAY, linewidth=0.8, hatch=hatch, label=str(name)) for name, hatch in names]


def note_unseen(axes: Any, view: View) -> None:
    """Write a note if novelty cannot be shown, since the model takes whole rows only."""
    if view.decision.novelty is not None and not view.knows_novelty:
        text = "what is novel shows in whole rows only"
        axes.text(0.01, 0.01, text, color=GRAY, fontsize="x-small", transform=axes.transAxes, zorder=5)


def hatch_of(code: int, classes: int) -> str | None:
    """The hatch of an answer; None for a class."""
    return None if code < classes else HATCHES[code - classes]


def halvings_for(view: View) -> int:
    """How often a step is halved to find where answers change."""
    return HALVINGS if view.decision is None or view.decision.novelty is None else NOVEL_HALVINGS
