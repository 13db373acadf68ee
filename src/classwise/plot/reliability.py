"""Reliability: what was announced, and what came true."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from classwise.evaluation import Reliability
from classwise.plot.canvas import CYCLE, GRAY, new_axes


def draw_reliability(curves: Mapping[str, Reliability], title: str = "", label: Any = None, axes: Any = None) -> Any:
    """The share that came true against the probability announced; on the diagonal both are the same.

    Areas are in proportion to the rows of a bin, bars are two standard errors. Below the diagonal a model is too sure.
    """
    axes = new_axes(axes, 5.2, 5.2)
    axes.plot([0, 1], [0, 1], color=GRAY, linewidth=0.8, linestyle=":")
    for color, (name, curve) in zip(CYCLE, curves.items(), strict=False):
        weight, announced, observed = curve
        error = np.sqrt(announced * (1 - announced) / weight)
        axes.errorbar(announced, observed, 2 * error, fmt="none", ecolor=color, elinewidth=1, alpha=0.5)
        axes.plot(announced, observed, color=color, linewidth=1, alpha=0.6)
        axes.scatter(announced, observed, 8 + 140 * weight / weight.sum(), color=color, label=name)
    what = "class decided for" if label is None else repr(label)
    axes.set(xlabel=f"announced probability of the {what}" if label is None else f"announced probability of {what}")
    axes.set(ylabel="share that came true", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    if title:
        axes.set_title(title, loc="right", fontsize="medium")
    below, above = ("too sure", "not sure enough") if label is None else ("announced too often", "too rarely")
    axes.text(0.97, 0.06, below, color=GRAY, ha="right")
    axes.text(0.03, 0.92, above, color=GRAY)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(curves), frameon=False)
    return axes
