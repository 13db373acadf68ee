"""The picture in one column: prior times density of each class, and the posterior beneath."""

from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.classifier.column_view import refuse_posteriors
from classwise.classifier.density_grid import grid_sides
from classwise.plot.density_curves import bin_edges, changes
from classwise.studio.scene import Scene

# Points along a column of numbers.
ALONG = 401


def line_picture(scene: Scene) -> dict[str, Any]:
    """Curves over a grid; bars, where the column is a category; histograms of the rows on the same scale."""
    view = scene.view
    refuse_posteriors(view)
    grid = grid_sides(view, scene.points, ALONG)[0]
    rows = view.rows(grid[:, None])
    levels = view.levels[0]
    return {
        "kind": "line",
        "names": view.names,
        "grid": grid,
        "levels": None if levels is None else [str(level) for level in levels.tolist()],
        "count": view.counts[0],
        "joint": np.exp(view.classifier.log_joint(rows)),
        "posterior": view.classifier.posterior(rows),
        "changes": [] if levels is not None else changes(view, grid),
        "refused": [] if view.decision is None or view.decision.reject is None else view.refuses(grid[:, None]),
        "histogram": _histogram(scene, levels is not None or view.counts[0]),
    }


def _histogram(scene: Scene, whole: bool) -> dict[str, Any]:
    """The share of the rows in each bin and class, over the width of the bin."""
    values = scene.points[:, 0]
    there = np.isfinite(values)
    if not there.any():
        return {"edges": [], "heights": []}
    edges = np.arange(values[there].min() - 0.5, values[there].max() + 1) if whole else bin_edges(values[there])
    return {"edges": edges, "heights": [_heights(scene, k, edges) for k in range(len(scene.table.labels))]}


def _heights(scene: Scene, k: int, edges: Array) -> Array:
    values, own = scene.points[:, 0], scene.table.drawn_codes == k
    counted = np.histogram(values[own & np.isfinite(values)], edges)[0]
    return counted / (np.isfinite(values).sum() * np.diff(edges))
