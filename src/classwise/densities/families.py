"""Which family describes a column: the one with the largest marginal likelihood, summed over the classes.

Each prior counts as one row, at the column's overall mean and spread (Kass and Wasserman 1995: unit information):

    gaussian, lognormal   normal-inverse-gamma     needs moments of x, of log x
    poisson               gamma                    needs sum x and sum log x!
    categorical           Dirichlet, 1 / L each    needs the weight of each value, where values are few and repeat

A density and a probability are compared where values lie on a grid, whose step is 1 for whole numbers and else the
smallest gap between values: density times step is probability, and no spread is believed to be finer than the step.
"""

from dataclasses import dataclass, replace
from math import log, pi

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.rows.schema import Family
from classwise.statistics import ClassStatistics, LevelCounts, Moments
from classwise.statistics.parts import FACTORIALS, LOGS

# A value of a number that is to be a level must occur in this many rows on average.
ROWS_PER_VALUE = 4

# A column whose logarithms have a smaller standard deviation than this is as Gaussian as it is lognormal (a hundred
# thousand standard deviations from zero, a logarithm is a straight line), and its logarithms lose digits by rounding.
LEAST_SPREAD_OF_LOGS = 1e-5


@dataclass(frozen=True, eq=False)
class FamilyChoice:
    """The family chosen for a column, and the log evidence of each that was possible."""

    family: Family
    log_evidence: dict[str, float]

    def __str__(self) -> str:
        best = self.log_evidence[self.family.name]
        others = (f"{name} {value - best:.4g}" for name, value in self.log_evidence.items() if name != self.family.name)
        return "best by evidence" + "".join(f"; {other}" for other in others)


def choose_families(statistics: ClassStatistics) -> dict[int, FamilyChoice]:
    """For each column whose family is yet to be chosen, by position."""
    schema, numbers = statistics.schema, statistics.numbers.by_column() if statistics.schema.candidates else None
    choices = {}
    for i, j in enumerate(schema.candidates):
        assert numbers is not None
        column = FamilyEvidence(
            _one(numbers, schema.numbers.index(j)),
            _one(statistics.logs, schema.logs.index(j)),
            _one(statistics.factorials, i),
            _repeated(statistics.values.columns[i]),
        )
        evidence = column.log_evidence()
        choices[j] = FamilyChoice(Family(max(evidence, key=evidence.__getitem__)), evidence)
    return choices


def within_ranges(some: ClassStatistics, every: ClassStatistics) -> ClassStatistics:
    """Statistics of some of the rows, without those of families that cannot take each value of every row.

    So a model of some rows can be asked about the others: a column that holds a 0 elsewhere is not lognormal.
    """
    for part in (LOGS, FACTORIALS) if some.schema.candidates else ():
        own, seen = some.part_of(part), every.part_of(part).weight.sum(axis=0)
        numbers = dict(zip(every.schema.numbers, every.numbers.present_weight().sum(axis=0), strict=True))
        lacking = [seen[i] < (1 - 1e-9) * numbers.get(j, 0.0) for i, j in enumerate(part.columns(every.schema))]
        blank = np.broadcast_to(np.array(lacking), own.mean.shape)
        some = some.with_part(part, replace(own, weight=np.where(blank, 0.0, own.weight)).cleared(blank))
    return some


def _repeated(values: LevelCounts | None) -> LevelCounts | None:
    """The values of a column, if they repeat often enough to be levels: more than one, each in several rows.

    A weight of two is the row twice.
    """
    if values is None or len(values.levels) < 2:
        return None
    return values if ROWS_PER_VALUE * len(values.levels) <= values.weight.sum() else None


def _one(moments: Moments, column: int) -> Moments:
    return moments.restrict([column])


@dataclass(frozen=True, eq=False)
class FamilyEvidence:
    """One column seen four ways: x, log x where it is positive, log x! where it is a count, and value by value."""

    numbers: Moments
    logs: Moments
    factorials: Moments
    values: LevelCounts | None

    def log_evidence(self) -> dict[str, float]:
        """The log marginal likelihood of each family that can have made the column."""
        step = self._step()
        evidence = {"gaussian": _normal(self.numbers, step)}
        if self._has_all(self.logs) and self.logs.overall_variance()[0] > LEAST_SPREAD_OF_LOGS**2:
            # In logs a step at the typical value is a step over that value.
            relative = None if step is None else step / float(np.exp(self.logs.overall_mean()[0]))
            jacobian = -float((self.logs.weight * self.logs.mean).sum())
            size = 0.0 if step is None else float(self._weight().sum()) * log(step / (relative or 1.0))
            evidence["lognormal"] = _normal(self.logs, relative) + jacobian + size
        if self._has_all(self.factorials) and self.numbers.overall_mean()[0] > 0:
            evidence["poisson"] = _poisson(self.numbers, self.factorials)
        if self.values is not None:
            evidence["categorical"] = _dirichlet(self.values.weight)
        return evidence

    def _weight(self) -> Array:
        return self.numbers.weight

    def _has_all(self, some: Moments) -> bool:
        """Whether every value has such a view."""
        return bool(np.allclose(some.weight, self._weight(), rtol=1e-9) and some.weight.any())

    def _step(self) -> float | None:
        """The step of the grid that the values lie on, if they do."""
        if self._has_all(self.factorials):
            return 1.0
        if self.values is not None:
            return float(np.diff(self.values.levels.astype(np.float64)).min())
        return None


def _normal(moments: Moments, step: float | None) -> float:
    """Normal-inverse-gamma; with a step, the probability of cells of that size."""
    weight, mean = moments.weight[:, 0], moments.mean[:, 0]
    squares = moments.scatter.diagonals()[:, 0]
    overall, spread = float(moments.overall_mean()[0]), float(moments.overall_variance()[0])
    # A cell of the grid is at most certain: a spread of step² / 2π makes density times step one.
    finest = 0.0 if step is None else step**2 / (2 * pi)
    spread = max(spread, finest, np.finfo(np.float64).tiny)
    kappa, nu = 1 + weight, 1 + weight
    psi = spread + squares + weight * finest + weight / kappa * (mean - overall) ** 2
    terms = (
        -0.5 * np.log(kappa) + gammaln(nu / 2) - gammaln(0.5) + 0.5 * log(spread) - nu / 2 * np.log(psi)
    ) - weight / 2 * log(pi)
    return float(terms.sum() + (0.0 if step is None else weight.sum() * log(step)))


def _poisson(moments: Moments, factorials: Moments) -> float:
    """Gamma of shape m and rate 1, with m the overall mean."""
    weight, total = moments.weight[:, 0], (moments.weight * moments.mean)[:, 0]
    shape = max(float(moments.overall_mean()[0]), np.finfo(np.float64).tiny)
    terms = gammaln(shape + total) - gammaln(shape) - (shape + total) * np.log1p(weight)
    return float(terms.sum() - (factorials.weight * factorials.mean).sum())


def _dirichlet(weight: Array) -> float:
    """Dirichlet with 1 / L at each of L levels."""
    each = 1 / weight.shape[1]
    terms = gammaln(1.0) - gammaln(1 + weight.sum(axis=1)) + (gammaln(each + weight) - gammaln(each)).sum(axis=1)
    return float(terms.sum())
