"""A comparison as a picture: one line for each model, its log loss and how sure that is."""

from collections.abc import Sequence
from typing import Any

from classwise.plot.canvas import BLUE, GRAY, GREEN, ORANGE, new_axes


def draw_comparison(lines: Sequence[Any], axes: Any = None) -> Any:
    """Dots with 95 % intervals, best first; rings are posteriors as they are, dots with their power.

    lines: those of a ComparisonTable. Green is the best, blue ties with it, gray does not; scikit-learn's are orange.
    """
    shown = [line for line in lines if line.log_loss is not None]
    axes = new_axes(axes, 7.5, 1.4 + 0.27 * len(shown))
    for place, line in enumerate(shown):
        color = _color(line)
        final = line.calibrated or line.log_loss
        axes.plot([max(final.low, 0.0), final.high], [place, place], color=color, linewidth=2, solid_capstyle="round")
        axes.plot(final.value, place, "o", color=color, markersize=6)
        if line.calibrated is not None:
            axes.plot(line.log_loss.value, place, "o", markerfacecolor="none", markeredgecolor=color, markersize=6)
    best = min((line.calibrated or line.log_loss).value for line in shown)
    _limit(axes, shown, best)
    axes.axvline(best, color=GRAY, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(shown)), [line.name for line in shown])
    axes.invert_yaxis()
    axes.set_xlabel("log loss of rows held out" + (", ○ as is, ● calibrated" if shown[0].calibrated else ""))
    axes.spines[["top", "right"]].set_visible(False)
    _legend(axes, shown)
    return axes


def _color(line: Any) -> str:
    if line.kind == "reference":
        return ORANGE
    return {"best": GREEN, "tie": BLUE}.get(line.note, GRAY)


def _limit(axes: Any, shown: Sequence[Any], best: float) -> None:
    """Models far behind must not squeeze the others together: what lies beyond the axis is marked by an arrow."""
    finals = sorted((line.calibrated or line.log_loss).value for line in shown)
    middle = finals[len(finals) // 2]
    farthest = max(best + 4 * (middle - best), best * 1.2 + 1e-3)
    ends = [(line.calibrated or line.log_loss).high for line in shown]
    least = max(min((line.calibrated or line.log_loss).low for line in shown), 0.0)
    right = min(max(ends), farthest)
    margin = 0.04 * (right - least)
    axes.set_xlim(least - margin, right + margin)
    for place, line in enumerate(shown):
        final = (line.calibrated or line.log_loss).value
        if line.log_loss.value > right + margin >= final:
            axes.plot(right + margin, place, ">", markerfacecolor="none", markeredgecolor=_color(line), clip_on=False)
        if final > right:
            axes.annotate(
                f"{final:.3g} →", (right, place), ha="right", va="center", color=_color(line), annotation_clip=False
            )


def _legend(axes: Any, shown: Sequence[Any]) -> None:
    from matplotlib.lines import Line2D

    names = {GREEN: "best", BLUE: "tie", GRAY: "worse", ORANGE: "scikit-learn"}
    used = [color for color in names if any(_color(line) == color for line in shown)]
    handles = [Line2D([], [], color=color, marker="o", label=names[color]) for color in used]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(used), frameon=False)
