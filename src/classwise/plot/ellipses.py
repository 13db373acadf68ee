"""How far a class reaches: ellipses of Gaussians, and lines around the densest parts of other densities."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.plot.view import DRAWN, View


def draw_ellipses(axes: Any, view: View, sides: Sequence[Array], sigmas: Sequence[float]) -> None:
    """At so many standard deviations; sides: the axes of the grid that lines around densities are found on."""
    ellipses = view.ellipses()
    if ellipses is None:
        _draw_densest(axes, view, sides, sigmas)
        return
    for style, mean, covariance in zip(view.styles, *ellipses, strict=True):
        for sigma, width in _widths(sigmas):
            axes.add_patch(sigma_ellipse(mean, covariance, sigma, edgecolor=style.color, linewidth=width))


def sigma_ellipse(mean: Array, covariance: Array, sigmas: float, **style: Any) -> Any:
    """(x - mean)' covariance^-1 (x - mean) = sigmas²."""
    from matplotlib.patches import Ellipse

    values, axes = np.linalg.eigh(covariance)
    small, large = 2 * sigmas * np.sqrt(np.maximum(values, 0))
    angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    return Ellipse(tuple(mean), large, small, angle=angle, facecolor="none", zorder=2, **style)


def _draw_densest(axes: Any, view: View, sides: Sequence[Array], sigmas: Sequence[float]) -> None:
    """Lines of equal density around the parts that hold 1 - exp(-sigma²/2) of a class, as ellipses do of a Gaussian.

    The density at the line is a quantile of the densities of rows drawn from the class (Hyndman 1996).
    """
    if any(view.counts) or view.held or not view.has_densities:
        return
    grid = np.column_stack([values.ravel() for values in np.meshgrid(*sides)])
    shape, codes = (len(sides[1]), len(sides[0])), np.arange(len(view.styles))
    log_density = view.classifier.log_density(view.rows(grid)).reshape(-1, *shape)
    drawn = view.model.classifier_.density.sample(np.repeat(codes, DRAWN), np.random.default_rng(0))
    points = drawn[:, list(view.free)]
    for k, style in enumerate(view.styles):
        own = points[k * DRAWN : (k + 1) * DRAWN]
        there = own[~np.isnan(own).any(axis=1)]
        densities = view.classifier.log_density(view.rows(there))[k]
        for sigma, width in _widths(sigmas):
            level = np.quantile(densities, np.exp(-(sigma**2) / 2))
            if log_density[k].min() < level < log_density[k].max():
                line = {"colors": [style.color], "linewidths": width, "linestyles": "solid", "zorder": 2}
                axes.contour(*sides, log_density[k], levels=[level], **line)


def _widths(sigmas: Sequence[float]) -> list[tuple[float, float]]:
    """The farther a line is, the thinner."""
    return [(sigma, max(1.8 - 0.5 * rank, 0.6)) for rank, sigma in enumerate(sorted(sigmas))]
