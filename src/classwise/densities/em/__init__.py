"""Mixtures of Gaussians within classes: EM, which goes through the rows many times."""

from classwise.densities.em.arranging import Arranged
from classwise.densities.em.belief import PseudoRows
from classwise.densities.em.learning import (
    MOST_ITERATIONS,
    STARTS,
    TOLERANCE,
    Ascent,
    Search,
    fit_mixture,
    learn_mixture,
)
from classwise.densities.em.starting import ROWS_PER_COMPONENT, component_counts

__all__ = [
    "MOST_ITERATIONS",
    "ROWS_PER_COMPONENT",
    "STARTS",
    "TOLERANCE",
    "Arranged",
    "Ascent",
    "PseudoRows",
    "Search",
    "component_counts",
    "fit_mixture",
    "learn_mixture",
]
