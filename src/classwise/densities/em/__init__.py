"""Mixtures of Gaussians within classes: EM, which goes through the rows many times."""

from classwise.densities.em.arranged import Arranged
from classwise.densities.em.ascent import (
    MOST_ITERATIONS,
    ROWS_PER_COMPONENT,
    STARTS,
    TOLERANCE,
    Ascent,
    Search,
    component_counts,
    fit_mixture,
    learn_mixture,
)
from classwise.densities.em.expectation import PseudoRows

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
