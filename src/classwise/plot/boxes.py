"""How far a picture reaches."""

from collections.abc import Sequence

import numpy as np

from classwise.arrays import Array
from classwise.plot.view import View

# Ellipses are shown as far as this share of the rows' range beyond the rows.
FARTHEST = 0.4

# Points along one column.
ALONG = 1001


def find_box(view: View, points: Array | None, sigmas: Sequence[float]) -> Array:
    """(low, high) of each column: around the rows and the largest ellipses, as far as these are near the rows.

    Levels of a category stand at 0, 1, 2, ..., half a unit apart from the edges.
    """
    low, high = _reach(view, sigmas)
    if points is not None and len(points):
        least, most = _range(points, low, high)
        beyond = FARTHEST * (most - least)
        low, high = np.clip(low, least - beyond, least), np.clip(high, most, most + beyond)
    margin = 0.04 * np.where(high > low, high - low, 1.0)
    positive = np.array([column.family.name == "lognormal" for column in view.columns])
    box = np.column_stack([low - np.where(positive, np.minimum(margin, low / 2), margin), high + margin])
    for i, levels in enumerate(view.levels):
        if levels is not None:
            box[i] = -0.5, len(levels) - 0.5
    return box


def _range(points: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Least and largest of each column; the reach of the model, where a column has no value."""
    none = np.isnan(points).all(axis=0)
    filled = np.where(none, 0.0, points)
    return np.where(none, low, np.nanmin(filled, axis=0)), np.where(none, high, np.nanmax(filled, axis=0))


def _reach(view: View, sigmas: Sequence[float]) -> tuple[Array, Array]:
    """Where the largest ellipses begin and end; without ellipses, rows drawn from the model."""
    ellipses = view.ellipses()
    if ellipses is None:
        drawn = view.drawn()
        return np.nanmin(drawn, axis=0), np.nanmax(drawn, axis=0)
    means, reach = ellipses[0], max(sigmas, default=3) * np.sqrt(ellipses[1].diagonal(axis1=1, axis2=2))
    return (means - reach).min(axis=0), (means + reach).max(axis=0)


def value_grid(view: View, values: Array | None) -> Array:
    """Values along one column; whole numbers for counts, the positions of levels for categories."""
    return grid_sides(view, values, ALONG)[0]


def grid_sides(view: View, points: Array | None, count: int) -> list[Array]:
    """The same for each column; so many values of numbers."""
    box = find_box(view, points, (3,))
    whole = [levels is not None or count for levels, count in zip(view.levels, view.counts, strict=True)]
    return [
        np.arange(max(np.ceil(low), 0), np.floor(high) + 1) if is_whole else np.linspace(low, high, count)
        for (low, high), is_whole in zip(box, whole, strict=True)
    ]
