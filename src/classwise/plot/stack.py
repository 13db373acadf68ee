"""A stack as a picture: the weight of each member beside its log loss, and the log loss of all together."""

from collections.abc import Sequence
from typing import Any

from classwise.plot.canvas import BLUE, GRAY, GREEN, new_axes

# Members this many times as far behind the best as the one in the middle would squeeze the others together.
FAR = 3.0


def draw_stack(lines: Sequence[Any], log_loss: float, axes: Any = None) -> Any:
    """Dots at the log loss of each member, the larger the more weight it has; the weight is written beside.

    lines: those of an AutoReport; log_loss: of the stack, a green line. Members that took no part are left out.
    """
    shown = [line for line in lines if line.log_loss is not None]
    axes = new_axes(axes, 7.0, 1.2 + 0.32 * len(shown))
    right = _limit(sorted(line.log_loss for line in shown))
    for place, line in enumerate(shown):
        color = BLUE if line.weight > 0 else GRAY
        if line.log_loss > right:
            axes.annotate(f"{line.log_loss:.3g} →", (right, place), ha="right", va="center", color=color)
        else:
            axes.scatter(line.log_loss, place, 30 + 400 * line.weight, color=color, alpha=0.85, clip_on=False, zorder=3)
    axes.axvline(log_loss, color=GREEN, linewidth=1.5, label="the stack")
    names = [f"{line.name}  {100 * line.weight:.0f} %" for line in shown]
    axes.set_yticks(range(len(shown)), names)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    low = min(log_loss, *(line.log_loss for line in shown))
    room = max(right - low, 0.02 * right)
    axes.set_xlim(low - 0.06 * room, right + 0.04 * room)
    axes.set_xlabel("log loss of rows held out")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper right", frameon=False)
    return axes


def _limit(losses: Sequence[float]) -> float:
    """The largest log loss that is drawn where it lies; losses: sorted."""
    best, middle = losses[0], losses[len(losses) // 2]
    return min(losses[-1], max(best + FAR * (middle - best), 1.2 * best))
