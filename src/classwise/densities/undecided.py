"""Gaussians whose structure is left to choose: every one is fitted, and that of the least BIC is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import pi
from typing import Self

import numpy as np

from classwise.covariance import Completion, StructureTable
from classwise.densities.gaussian import Gaussian
from classwise.densities.numbers import Estimated, NumbersFit
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics, FullScatter

# Why a structure cannot be fitted.
PROBLEMS = (ClasswiseError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Undecided:
    """The plan of numbers that tries each of several: the one of least BIC makes the density.

    candidates: by the name of their structure. held_out: whether cross-validation is to choose instead; it leaves one.
    """

    candidates: tuple[tuple[str, Estimated], ...]
    held_out: bool = False

    is_bayes = False
    keeps_constants = False
    keeps_copies = False
    needs_quartics = False
    form = FullScatter

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        fits = [fitted_or_none(plan, statistics) for _, plan in self.candidates]
        found = [fit for fit in fits if fit is not None]
        if not found:
            return self.candidates[0][1].joint(statistics)  # the simplest says why
        table = self.table(fits, statistics)
        chosen = fits[table.names.index(table.best)]
        assert chosen is not None
        return chosen._replace(structures=table)

    def table(self, fits: Sequence[NumbersFit | None], statistics: ClassStatistics) -> StructureTable:
        """What all of them come to."""
        heights = [-np.inf if fit is None else log_likelihood(fit, statistics) for fit in fits]
        counts = [np.nan if fit is None else float(fit.density.free_parameters) for fit in fits]
        names = tuple(name for name, _ in self.candidates)
        return StructureTable(names, np.array(heights), np.array(counts), float(statistics.weight.sum()))

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return self.candidates[0][1].alone(statistics)

    def roughly(self) -> Self:
        return replace(self, candidates=tuple((name, plan.roughly()) for name, plan in self.candidates))

    def starting_at(self, start: Completion | None) -> Self:
        return replace(self, candidates=tuple((name, plan.starting_at(start)) for name, plan in self.candidates))

    def removal(self) -> None:
        return None

    def settled(self, name: str) -> Estimated:
        """The plan of one structure."""
        return dict(self.candidates)[name]


def fitted_or_none(plan: Estimated, statistics: ClassStatistics) -> NumbersFit | None:
    """The fit of a plan, if there is one."""
    try:
        return plan.joint(statistics)
    except PROBLEMS:
        return None


def log_likelihood(fit: NumbersFit, statistics: ClassStatistics) -> float:
    """Of the values that are there, given the classes of their rows."""
    assert isinstance(fit.density, Gaussian)
    if fit.completion is not None and fit.completion.iterations:
        return float(fit.completion.log_likelihood[-1])
    if not statistics.numbers.has_gaps:
        return fit.density.log_likelihood(statistics.moments)
    # Columns one by one: each value adds to the weight of its own column.
    moments = statistics.by_column().moments
    variances = np.broadcast_to(fit.density.covariance.variances(), moments.mean.shape)
    away = (moments.mean - fit.density.means) + moments.rest
    squares = moments.scatter.diagonals() + moments.weight * away**2
    return -0.5 * float((moments.weight * np.log(2 * pi * variances) + squares / variances).sum())
