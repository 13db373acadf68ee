"""Mixtures of Gaussians within classes: EM, which goes through the rows many times."""

from classwise.densities.em.arranged import Arranged
from classwise.densities.em.ascent import (
    MOST_ITERATIONS,
    ROWS_PER_COMPONENT,
    STARTS,
    TOLERANCE,
    Ascent,
    ComponentSearch,
    component_counts,
    fit_mixture,
    learn_by_bic,
    learn_mixture,
)
from classwise.densities.em.expectation import PseudoRows
from classwise.densities.em.structured import (
    MOST_COMPONENTS,
    ClassRows,
    ComponentChoice,
    learn_structured,
    numbers_of_components,
)

__all__ = [
    "MOST_COMPONENTS",
    "MOST_ITERATIONS",
    "ROWS_PER_COMPONENT",
    "STARTS",
    "TOLERANCE",
    "Arranged",
    "Ascent",
    "ClassRows",
    "ComponentChoice",
    "ComponentSearch",
    "PseudoRows",
    "component_counts",
    "fit_mixture",
    "learn_by_bic",
    "learn_mixture",
    "learn_structured",
    "numbers_of_components",
]
