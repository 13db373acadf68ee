"""Rows in Fisher's directions."""

from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.plot.canvas import Style, class_styles, ink, legend_above, new_axes, plain_spines, scatter, wash
from classwise.plot.densities import bin_edges
from classwise.plot.ellipses import sigma_ellipse
from classwise.plot.rows import read_labels


def plot_projection(m: Any, X: Any, y: Any, axes: Any = None) -> Any:
    """Rows in the first two of Fisher's directions, with the class means and circles at 1 and 2 standard deviations.

    m: an LDA. Two classes have one direction: histograms of the rows and the densities of the model, on one scale.
    """
    if not hasattr(m, "projection_"):
        raise ClasswiseError(f"{type(m).__name__} has no directions; fit an LDA, whose classes share one covariance.")
    points, styles = m.transform(X), class_styles(m.classes_.tolist())
    labels = read_labels(y, len(points))
    groups = [(style, points[labels == style.label]) for style in styles]
    axes = new_axes(axes, 6.4, 5.4)
    (_draw_one if points.shape[1] == 1 else _draw_two)(axes, groups, m)
    return axes


def _draw_two(axes: Any, groups: list[tuple[Style, Array]], m: Any) -> None:
    for (style, points), mean in zip(groups, m.projection_.means, strict=True):
        scatter(axes, points[:, :2], style)
        for sigma in (1, 2):
            axes.add_patch(sigma_ellipse(mean[:2], np.eye(2), sigma, edgecolor=style.color, linewidth=1.4))
        axes.plot(*mean[:2], marker="+", color=ink(), markersize=11, markeredgewidth=2, zorder=4)
    axes.set(xlabel=_name(m, 0), ylabel=_name(m, 1))
    axes.set_aspect("equal", adjustable="datalim")
    legend_above(axes)


def _draw_one(axes: Any, groups: list[tuple[Style, Array]], m: Any) -> None:
    every = np.concatenate([points[:, 0] for _, points in groups])
    means, edges = m.projection_.means[:, 0], bin_edges(every)
    grid = np.linspace(min(every.min(), means.min() - 3.5), max(every.max(), means.max() + 3.5), 501)
    for (style, points), mean, prior in zip(groups, means, m.priors_, strict=True):
        heights = np.histogram(points[:, 0], edges)[0] / (len(every) * np.diff(edges))
        axes.stairs(heights, edges, color=style.color, alpha=1.5 * wash(axes), fill=True)
        density = prior * np.exp(-0.5 * (grid - mean) ** 2) / np.sqrt(2 * np.pi)
        axes.plot(grid, density, color=style.color, linewidth=1.8, label=str(style.label))
    axes.set(xlabel=_name(m, 0), ylabel="prior × density")
    axes.set_ylim(bottom=0)
    plain_spines(axes)
    legend_above(axes)


def _name(m: Any, direction: int) -> str:
    share = 100 * m.projection_.ratios[direction]
    return f"Fisher's direction {direction + 1} ({share:.3g} % of what lies between classes)"
