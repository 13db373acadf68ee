"""A comparison as a picture: one line for each model, its log loss and how sure that is."""

from collections.abc import Sequence
from typing import Any

from classwise.plot.canvas import BLUE, GRAY, GREEN, ORANGE, new_axes


def draw_comparison(lines: Sequence[Any], axes: Any = None) -> Any:
    """Dots with 95 % intervals, best first; where posteriors have a power, a ring shows the log loss without it.

    lines: those of a ComparisonTable. Green is the best, blue ties with it, gray does not; scikit-learn's are orange.
    """
    shown = [line for line in lines if line.log_loss is not None]
    axes = new_axes(axes, 7.5, 1.4 + 0.27 * len(shown))
    left, right = _limits(shown)
    margin = 0.04 * (right - left)
    for place, line in enumerate(shown):
        _draw_line(axes, place, line, right, right + margin)
    axes.axvline(shown[0].final.value, color=GRAY, linewidth=0.8, linestyle=":")
    axes.set_xlim(left - margin, right + margin)
    axes.set_yticks(range(len(shown)), [line.name for line in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    powers = any(line.uses_power for line in shown)
    axes.set_xlabel("log loss of rows held out" + (", ● with a power, ○ without" if powers else ""))
    axes.spines[["top", "right"]].set_visible(False)
    _legend(axes, shown)
    return axes


def _limits(shown: Sequence[Any]) -> tuple[float, float]:
    """From the first interval to the last, but models far behind must not squeeze the others together."""
    best, middle = shown[0].final.value, sorted(line.final.value for line in shown)[len(shown) // 2]
    farthest = max(best + 4 * (middle - best), best * 1.2 + 1e-3)
    left = max(min(line.final.low for line in shown), 0.0)
    return left, min(max(line.final.high for line in shown), farthest)


def _draw_line(axes: Any, place: int, line: Any, right: float, edge: float) -> None:
    """What lies beyond the axis is marked by an arrow."""
    final, color = line.final, _color(line)
    if final.value > right:
        axes.annotate(f"{final.value:.3g} →", (right, place), ha="right", va="center", color=color)
        return
    axes.plot([max(final.low, 0.0), final.high], [place, place], color=color, linewidth=2, solid_capstyle="round")
    axes.plot(final.value, place, "o", color=color, markersize=6)
    if line.uses_power:
        beyond = line.log_loss.value > edge
        marker = {"marker": ">", "clip_on": False} if beyond else {"marker": "o"}
        axes.plot(min(line.log_loss.value, edge), place, markerfacecolor="none", markeredgecolor=color, **marker)


def _color(line: Any) -> str:
    if line.kind == "reference":
        return ORANGE
    return {"best": GREEN, "tie": BLUE}.get(line.note, GRAY)


def _legend(axes: Any, shown: Sequence[Any]) -> None:
    from matplotlib.lines import Line2D

    names = {GREEN: "best", BLUE: "tie", GRAY: "worse", ORANGE: "scikit-learn"}
    used = [color for color in names if any(_color(line) == color for line in shown)]
    handles = [Line2D([], [], color=color, marker="o", label=names[color]) for color in used]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(used), frameon=False)
