"""Pictures of models, drawn by matplotlib, which is imported when the first one is drawn."""

from classwise.classifier.density_grid import DensityGrid, density_grid
from classwise.plot.curves import plot_dials, plot_learning_curve, plot_selection
from classwise.plot.density_curves import plot_densities
from classwise.plot.pair_plots import plot_pairs, plot_projection
from classwise.plot.performance import draw_reliability, plot_check, plot_confusion, plot_reject_curve, plot_reliability
from classwise.plot.regions import plot_regions
from classwise.plot.scores import draw_comparison, draw_stack, plot_explanation

__all__ = [
    "DensityGrid",
    "density_grid",
    "draw_comparison",
    "draw_reliability",
    "draw_stack",
    "plot_check",
    "plot_confusion",
    "plot_densities",
    "plot_dials",
    "plot_explanation",
    "plot_learning_curve",
    "plot_pairs",
    "plot_projection",
    "plot_regions",
    "plot_reject_curve",
    "plot_reliability",
    "plot_selection",
]
