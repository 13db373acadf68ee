"""Rows in a picture: a color and a shape for each class."""

from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.errors import ClasswiseError
from classwise.plot.canvas import GRAY, Style, scatter
from classwise.rows.targets import read_labels as read_any_labels

# How far rows of one level are spread, on each side of it.
SPREAD = 0.3


def read_labels(y: Any, length: int) -> Labels:
    """The labels of rows; (n,), None where one is missing."""
    labels, missing = read_any_labels(y)
    if labels.shape != (length,):
        raise ClasswiseError(f"y has shape {labels.shape}, and X has {length} rows; give one label for each.")
    return labels if missing is None else np.where(missing, np.array(None), labels)


def draw_rows(axes: Any, styles: list[Style], points: Array | None, y: Any, size: float) -> None:
    """Rows at points (n, 2); gray where there are no labels."""
    if points is None:
        return
    if y is None:
        scatter(axes, points, Style("rows", GRAY, "o"), size)
        return
    labels = read_labels(y, len(points))
    for style in styles:
        scatter(axes, points[labels == style.label], style, size)


def spread(points: Array, columns: list[int]) -> Array:
    """Rows of one level side by side, rather than on top of each other: always the same way."""
    moved = points.copy()
    moved[:, columns] += np.random.default_rng(0).uniform(-SPREAD, SPREAD, (len(points), len(columns)))
    return moved


def class_handles(styles: list[Style]) -> list[Any]:
    """A shape for each class, whether or not rows are shown."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=s.color, marker=s.marker, linestyle="", label=str(s.label)) for s in styles]
