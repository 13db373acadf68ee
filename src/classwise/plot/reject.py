"""What refusing to decide is worth."""

from math import floor
from typing import Any

from classwise.plot.canvas import BLUE, GRAY, new_axes, plain_spines

# Coverages that are marked, with the posterior that the least sure row decided has.
MARKED = (0.6, 0.8, 1.0)


def plot_reject_curve(curve: Any, axes: Any = None) -> Any:
    """The error among rows that are decided, against the share of rows decided, from the surest on.

    curve: of m.reject_curve(X, y). Dots tell how sure a decision must be for that coverage.
    """
    axes = new_axes(axes, 6.4, 4.2)
    axes.step(curve.coverage, curve.error, where="pre", color=BLUE, linewidth=1.8)
    for coverage in MARKED:
        place = min(int((curve.coverage < coverage - 1e-12).sum()), len(curve.coverage) - 1)
        axes.plot(curve.coverage[place], curve.error[place], "o", color=BLUE, markersize=6, clip_on=False)
        _note(axes, curve, place)
    axes.set(xlabel="share of rows decided", ylabel="error among them", xlim=(0, 1.03))
    axes.set_ylim(0, max(1.25 * float(curve.error.max()), 0.01))
    axes.text(0.02, 0.97, f"mean error {curve.area:.3g}", color=GRAY, ha="left", va="top", transform=axes.transAxes)
    plain_spines(axes)
    return axes


def _note(axes: Any, curve: Any, place: int) -> None:
    """How sure the least sure row is, above the dot; rounded down, since 1 would be a promise."""
    least = floor(1000 * curve.posterior[place]) / 1000
    at, options = (curve.coverage[place], curve.error[place]), {"textcoords": "offset points", "fontsize": "small"}
    axes.annotate(f"P ≥ {least:g}", at, (2, 8), color=GRAY, ha="right", **options)
