"""Learning curves."""

from typing import Any

import numpy as np

from classwise.errors import ClasswiseError
from classwise.plot.canvas import class_styles, legend_above, new_axes, plain_spines, wash

NAMES = {"error": "error on rows held out", "log_loss": "log loss of rows held out"}

# Medians that differ by more than this factor take a logarithmic scale.
WIDE = 8.0


def plot_learning_curve(curve: Any, measure: str = "log_loss", axes: Any = None) -> Any:
    """The median of each model over repeats against the number of rows learned from, with the quartiles as a band.

    curve: of learning_curve(X, y). measure: "log_loss" or "error". A line begins where the model can be fitted in every
    repeat.
    """
    if measure not in NAMES:
        raise ClasswiseError(f"measure={measure!r} is not an option; choose 'error' or 'log_loss'.")
    medians, (low, high) = curve.median(measure), curve.spread(measure)
    axes = new_axes(axes, 6.4, 4.2)
    for style, middle, below, above in zip(class_styles(curve.names), medians, low, high, strict=True):
        axes.fill_between(curve.sizes, below, above, color=style.color, alpha=1.2 * wash(axes), linewidth=0)
        line = {"color": style.color, "marker": style.marker, "linewidth": 1.8, "markersize": 5}
        axes.plot(curve.sizes, middle, label=str(style.label), **line)
    _limit(axes, measure, medians, high)
    _scale(axes, curve.sizes)
    axes.set(xlabel="rows learned from", ylabel=NAMES[measure])
    plain_spines(axes)
    legend_above(axes)
    return axes


def _limit(axes: Any, measure: str, medians: Any, high: Any) -> None:
    """From zero on; log losses that differ by an order of magnitude are drawn on a logarithmic scale."""
    if measure == "log_loss" and np.nanmax(medians) > WIDE * np.nanmin(medians) > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        return
    top = np.nanmax(high)
    axes.set_ylim(0, 1.06 * top if top > 0 else 1.0)


def _scale(axes: Any, sizes: Any) -> None:
    """A logarithmic axis that names the sizes themselves, as many as do not run into each other."""
    axes.set_xscale("log")
    shown = [size for i, size in enumerate(sizes) if i == 0 or size / sizes[i - 1] > 1.2 or i == len(sizes) - 1]
    axes.set_xticks(shown, [f"{size:g}" for size in shown])
    axes.minorticks_off()
