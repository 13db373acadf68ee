"""Axes to draw on, and the colors of the house."""

from typing import Any

from classwise.errors import MissingExtraError

# Colors that people with color-blindness can tell apart (Okabe and Ito 2008).
BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
)
GRAY = "#767676"
CYCLE = (BLUE, RED, GREEN, PINK, ORANGE, SKY, YELLOW)


def new_axes(axes: Any, width: float, height: float) -> Any:
    """The axes given, or new ones."""
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as problem:
        raise MissingExtraError("Pictures need matplotlib: pip install 'classwise[plot]'.") from problem
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]
