"""Densities of columns of numbers, from their statistics: estimated, believed, or estimated with a floor.

An estimator reads its options into one of three values. `joint` makes the density of the Gaussian columns together,
`alone` that of columns that are Gaussian one by one, such as logarithms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from classwise.arrays import Array, Codes
from classwise.covariance import (
    TOLERANCE,
    Blend,
    Completion,
    Conjugate,
    Covariance,
    DiagonalCovariance,
    Divisor,
    Fixed,
    FullCovariance,
    GaussianParameters,
    NormalInverseWishart,
    Recipe,
    complete,
    complete_by,
    log_evidence,
    most_probable_form,
    read_prior,
    refuse_never_seen,
)
from classwise.densities.density import Density
from classwise.densities.gaussian import Gaussian
from classwise.densities.student import predictive
from classwise.errors import SingularCovarianceError
from classwise.statistics import ClassStatistics, Moments, Scatter

# Where EM may stop in cross-validation: log losses are compared to far fewer digits.
ROUGH = 1e-6


class NumbersFit(NamedTuple):
    """A density of numbers, what should be said about it, and how rows with gaps were learned from.

    log_evidence: the marginal likelihood of the rows, where parameters were integrated out.
    """

    density: Density
    remarks: Sequence[str] = ()
    completion: Completion | None = None
    log_evidence: float | None = None


class NumbersPlan(Protocol):
    """How columns of numbers are learned."""

    @property
    def form(self) -> type[Scatter]:
        """The leanest scatter that serves."""
        ...

    @property
    def needs_quartics(self) -> bool:
        """Whether sums of |d|⁴ must be gathered."""
        ...

    @property
    def is_bayes(self) -> bool:
        """Whether parameters are integrated out."""
        ...

    @property
    def keeps_constants(self) -> bool:
        """Whether columns that never vary are described too, as they can be under a prior that was given."""
        ...

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        """The density of the Gaussian columns, from statistics of them alone."""
        ...

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        """The density of columns that are Gaussian by themselves, from statistics of them alone."""
        ...

    def roughly(self) -> Self:
        """The same, with less patience where models are many."""
        ...

    def removal(self) -> tuple[Recipe, float] | None:
        """The recipe, and the floor of variances, by which rows can be left out with a formula; else None."""
        ...


@dataclass(frozen=True)
class Estimated:
    """Gaussians whose covariances are estimated by a recipe; rows with gaps are learned from by EM.

    tol: where EM stops. dials: share and shrink as the caller gave them, with "cv" for one that is left to choose.
    """

    recipe: Recipe
    tol: float = TOLERANCE
    dials: tuple[Any, Any] = (0.0, 0.0)

    is_bayes = False
    keeps_constants = False

    @property
    def form(self) -> type[Scatter]:
        return self.recipe.scatter_form()

    @property
    def needs_quartics(self) -> bool:
        return self.recipe.needs_quartics

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        if self.recipe.structure is not FullCovariance:
            return _one_by_one(statistics, self.recipe)
        completion = complete(statistics, self.recipe, self.tol)
        remarks = [] if completion.converged else [f"stopped EM for missing values early: {completion}"]
        statistics = completion.statistics
        return NumbersFit(Gaussian(statistics.mean, self.recipe.estimate(statistics)), remarks, completion)

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return _one_by_one(statistics, diagonal_recipe(self.recipe.divisor))

    def roughly(self) -> Self:
        return replace(self, tol=max(self.tol, ROUGH))

    def removal(self) -> tuple[Recipe, float] | None:
        return None if self.needs_quartics or self.recipe.standardize else (self.recipe, 0.0)


@dataclass(frozen=True)
class Believed:
    """Student-t densities: mean and covariance are integrated out under a prior.

    prior: as for `read_prior`; "cv" or "loo" while its strength is left to choose. tol: where EM stops.
    """

    structure: type[Covariance]
    shared: bool
    prior: Any
    tol: float = TOLERANCE

    is_bayes = True
    needs_quartics = False

    @property
    def form(self) -> type[Scatter]:
        return self.structure.scatter_form(self.shared)

    @property
    def keeps_constants(self) -> bool:
        return isinstance(self.prior, NormalInverseWishart)

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        return believe(statistics, self.structure, self.shared, self.prior, self.tol)

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return believe(statistics, DiagonalCovariance, False, self.prior)

    def roughly(self) -> Self:
        return replace(self, tol=max(self.tol, ROUGH))

    def removal(self) -> None:
        return None


@dataclass(frozen=True)
class Floored:
    """Gaussians column by column, none of whose variances is below a fraction of the column's overall variance."""

    divisor: Divisor
    floor: float

    is_bayes = False
    keeps_constants = False
    needs_quartics = False

    @property
    def form(self) -> type[Scatter]:
        return diagonal_recipe(self.divisor).scatter_form()

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        filled = borrowed(statistics)
        variances, low = self._floored(filled)
        remarks = self._remarks(filled, low) + borrowers(statistics)
        return NumbersFit(Gaussian(filled.mean, DiagonalCovariance(variances)), remarks)

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return self.joint(statistics)

    def roughly(self) -> Self:
        return self

    def removal(self) -> tuple[Recipe, float]:
        return diagonal_recipe(self.divisor), self.floor

    def _floored(self, statistics: ClassStatistics) -> tuple[Array, Codes]:
        """The variances within each class, none below the floor (g, p), and the columns where it mattered."""
        variances = diagonal_recipe(self.divisor).blend(statistics).values
        least = np.broadcast_to(self.floor * statistics.moments.overall_variance(), variances.shape)
        return np.maximum(variances, least), np.flatnonzero((variances <= least).any(axis=0))

    def _remarks(self, statistics: ClassStatistics, low: Codes) -> list[str]:
        """Names the columns whose variance was raised; an error if floor is 0."""
        if not len(low):
            return []
        names = ", ".join(statistics.name(column) for column in low)
        if self.floor == 0:
            raise SingularCovarianceError(
                f"These columns do not vary within every class, and floor=0 refuses that: {names}. "
                "Give floor as a small fraction of the overall variance (floor=1e-6), or drop the columns."
            )
        return [f"raised variances within a class to {self.floor:g} of the overall variance in {names}"]


def diagonal_recipe(divisor: Divisor) -> Recipe:
    """A variance for each class and column, neither shared nor shrunk."""
    return Recipe(DiagonalCovariance, divisor, Blend(0.0), Fixed(0.0))


def _one_by_one(statistics: ClassStatistics, recipe: Recipe) -> NumbersFit:
    """Columns one by one, each with what it has; a class without a value in one is an error."""
    refuse_never_seen(statistics, statistics.numbers.present_weight())
    statistics = statistics.by_column() if len(statistics.numbers.gaps) else statistics
    return NumbersFit(Gaussian(statistics.mean, recipe.estimate(statistics)))


# ----------------------------------------------------------------------------------------------------------------------
# Full Bayes: from statistics and a prior to the density of the next row.


def believe(
    statistics: ClassStatistics, structure: type[Covariance], shared: bool, prior: Any, tolerance: float = TOLERANCE
) -> NumbersFit:
    """The Student-t density of each class; rows with gaps are completed at the most probable mean and covariance.

    tolerance: where EM stops.
    """
    completion, remarks = None, []
    if structure is FullCovariance:
        refuse_never_seen(statistics, statistics.numbers.present_weight())
        if isinstance(prior, str) and prior == "evidence" and len(statistics.numbers.gaps):
            # The strength that suits the rows as a weaker prior completes them: sought once, not in every step of EM.
            weakly = complete_to_mode(statistics, shared, "weak", tolerance)
            prior = most_probable_form(weakly.statistics.denoised(), structure, shared)
        completion = complete_to_mode(statistics, shared, prior, tolerance)
        remarks = [] if completion.converged else [f"stopped EM for missing values early: {completion}"]
        statistics = completion.statistics
    elif len(statistics.numbers.gaps):
        statistics = statistics.by_column()
    statistics = statistics.denoised()
    before = read_prior(prior, statistics, structure, shared)
    density = predictive(before.updated(statistics, shared))
    # An improper prior has no evidence, and completed rows only an approximate one.
    closed = before.kappa > 0 and not (completion and completion.iterations)
    return NumbersFit(density, remarks, completion, log_evidence(before, statistics, shared) if closed else None)


def complete_to_mode(statistics: ClassStatistics, shared: bool, prior: Any, tolerance: float = TOLERANCE) -> Completion:
    """EM to the mode of the posterior, under the prior that the completed rows suggest."""

    def mode(full: ClassStatistics) -> GaussianParameters:
        posterior = read_prior(prior, full, FullCovariance, shared).updated(full, shared)
        return GaussianParameters(posterior.means, posterior.scale / _mode_divisor(posterior))

    return complete_by(statistics, mode, tolerance)


def _mode_divisor(posterior: Conjugate) -> Any:
    """nu + p + 2: the joint mode of mean and covariance is at mean and scale over this."""
    return np.asarray(posterior.freedom() + posterior.features + 2)[:, :, None]


# ----------------------------------------------------------------------------------------------------------------------
# Classes without a single value in a column.


def borrowed(statistics: ClassStatistics) -> ClassStatistics:
    """Column by column, where a class without a single value borrows the moments of all rows."""
    statistics = statistics.by_column()
    moments = statistics.moments
    absent = moments.weight == 0
    if not absent.any():
        return statistics
    shape = moments.mean.shape
    weight = np.broadcast_to(moments.weight.sum(axis=0), shape)
    absent = np.broadcast_to(absent, shape)
    scatter = np.where(absent, weight * moments.overall_variance(), moments.scatter.diagonals())
    filled = Moments(
        np.where(absent, weight, moments.weight),
        np.where(absent, moments.overall_mean(), moments.mean),
        np.where(absent, 0.0, moments.rest),
        type(moments.scatter)(scatter),
    )
    return statistics.with_moments(filled)


def borrowers(statistics: ClassStatistics) -> list[str]:
    """Names the classes that have no value in some column."""
    absent = np.argwhere(statistics.numbers.present_weight() == 0)
    if not len(absent):
        return []
    where = ", ".join(f"{statistics.label(k)!r} in {statistics.name(j)}" for k, j in absent[:5])
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    return [f"gave the values of all rows to classes that have none of their own: {where}{more}"]
