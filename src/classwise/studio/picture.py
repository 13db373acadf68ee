"""The picture as plain values.

In two columns: regions, posteriors, exact boundaries, ellipses, what is refused. In one column: prior times density of
each class, and the posterior beneath.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.classifier.column_view import refuse_posteriors
from classwise.classifier.density_grid import grid_sides
from classwise.plot.borders import borders
from classwise.plot.canvas import spread
from classwise.plot.density_curves import bin_edges, changes
from classwise.plot.regions import boundary_lines, has_levels
from classwise.studio.scene import Scene

# Points on each side of the grid, on each piece of a boundary and on an ellipse; a pixel needs no more halvings.
SIDE = 101
ON_CURVE = 160
ON_ELLIPSE = 72
HALVINGS = 7

# Points along a column of numbers.
ALONG = 401

# Standard deviations at which ellipses are drawn.
SIGMAS = (1.0, 2.0)


def plane_picture(scene: Scene) -> dict[str, Any]:
    """All that a dial changes: the regions as bytes, lines as SVG paths in the units of the columns."""
    view, box = scene.view, scene.box
    sides = [np.linspace(low, high, SIDE) for low, high in box]
    grid = np.column_stack([values.ravel() for values in np.meshgrid(*sides)])
    log_posterior = view.classifier.log_posterior(view.rows(grid))
    scores = (log_posterior if _is_plain(scene) else view.scores(grid)).reshape(-1, SIDE, SIDE)
    codes = scores.reshape(len(scores), -1).argmax(axis=0)
    shade = np.exp(np.take_along_axis(log_posterior, codes[None], axis=0)[0])
    refused = _refused(scene, grid)
    lines = [] if has_levels(view) else boundary_lines(view, box, sides, scores, ON_CURVE)
    edges = [] if not refused.any() else borders(sides, refused.reshape(SIDE, SIDE), view.refuses, HALVINGS)
    return {
        "kind": "plane",
        "box": box,
        "side": SIDE,
        "codes": _bytes(np.where(refused, len(scores), codes)),
        "shade": _bytes(255 * shade),
        "lines": list(_paths(lines)),
        "edges": list(_paths(edges)),
        "ellipses": list(_ellipses(scene)),
        "refused": float(refused.mean()),
    }


def plane_points(scene: Scene) -> dict[str, Any]:
    """The rows that are drawn, by class; those of one level are spread, so that they do not hide each other."""
    levels = scene.view.levels
    flat = [i for i, known in enumerate(levels) if known is not None]
    points = spread(scene.points, flat) if flat else scene.points
    return {
        "box": scene.box,
        "names": scene.view.names,
        "levels": [None if known is None else [str(level) for level in known.tolist()] for known in levels],
        "points": [
            {"rows": own, "x": points[own, 0], "y": points[own, 1]}
            for own in (np.flatnonzero(scene.table.drawn_codes == k) for k in range(len(scene.table.labels)))
        ],
    }


def _is_plain(scene: Scene) -> bool:
    """Whether the class of the largest posterior is predicted, so that its grid is all it takes."""
    view = scene.view
    return not any(view.counts) and (view.decision is None or view.decision.costs is None)


def _refused(scene: Scene, grid: Array) -> NDArray[np.bool_]:
    view = scene.view
    if view.decision is None or view.decision.reject is None:
        return np.zeros(len(grid), dtype=bool)
    return view.refuses(grid)


def _bytes(values: NDArray[Any]) -> str:
    """Numbers up to 255, one byte each, in the order of the grid."""
    return b64encode(np.clip(values, 0, 255).astype(np.uint8).tobytes()).decode()


def _paths(lines: Iterable[Array]) -> Iterator[str]:
    """Lines (m, 2) as SVG paths; NaN ends one, and the next point begins another."""
    for line in lines:
        there = np.asarray(np.isfinite(line).all(axis=1))
        breaks = np.flatnonzero(np.diff(there.astype(np.int8))) + 1
        for part in np.split(np.arange(len(line)), breaks):
            if len(part) > 1 and there[part[0]]:
                yield "M" + "L".join(f"{x:.6g},{y:.6g}" for x, y in line[part].tolist())


def _ellipses(scene: Scene) -> Iterator[dict[str, Any]]:
    """(x - m)'C^-1 (x - m) = sigma², by a root of C."""
    found = None if has_levels(scene.view) else scene.view.ellipses()
    if found is None:
        return
    angles = np.linspace(0, 2 * np.pi, ON_ELLIPSE + 1)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    for k, (mean, covariance) in enumerate(zip(*found, strict=True)):
        values, axes = np.linalg.eigh(covariance)
        root = axes * np.sqrt(np.maximum(values, 0))
        for sigma in SIGMAS:
            (path,) = _paths([mean + sigma * circle @ root.T])
            yield {"class": k, "sigma": sigma, "path": path}


# One column -----------------------------------------------------------------------------------------------------------


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
