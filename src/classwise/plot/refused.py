"""Where a decision is refused, and what is novel: hatched."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.plot.borders import HALVINGS, borders
from classwise.plot.canvas import GRAY
from classwise.plot.view import View

# Beyond the last class: refused, then novel.
HATCHES = ("////", "....")

# Whether a point is novel takes longer to tell; a step of the grid, halved so often, is far less than a pixel.
NOVEL_HALVINGS = 16


def draw_refused(axes: Any, view: View, sides: Sequence[Array], grid: Array) -> None:
    """Hatches over the regions, with their borders; nothing without a decision. What is novel is not refused."""
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
    """What hatches mean, for those that may be there."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Patch

    if view.decision is None:
        return []
    names = []
    if view.decision.reject is not None:
        names.append((view.decision.reject_label_, HATCHES[0]))
    if view.decision.novelty is not None and view.tells_novelty:
        names.append((view.decision.novel_label_, HATCHES[1]))
    face = to_rgba(GRAY, 0.3)
    return [Patch(facecolor=face, edgecolor=GRAY, linewidth=0.8, hatch=hatch, label=str(name)) for name, hatch in names]


def note_unseen(axes: Any, view: View) -> None:
    """A word where novelty cannot be told, since the model takes whole rows only."""
    if view.decision.novelty is not None and not view.tells_novelty:
        text = "what is novel shows in whole rows only"
        axes.text(0.01, 0.01, text, color=GRAY, fontsize="x-small", transform=axes.transAxes, zorder=5)


def hatch_of(code: int, classes: int) -> str | None:
    """The hatch of an answer; None for a class."""
    return None if code < classes else HATCHES[code - classes]


def halvings_for(view: View) -> int:
    """How often a step is halved to find where answers change."""
    return HALVINGS if view.decision is None or view.decision.novelty is None else NOVEL_HALVINGS
