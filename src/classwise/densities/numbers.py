"""Densities of columns of numbers, from their statistics: estimated, believed, or estimated with a floor.

An estimator reads its options into one of three values. `joint` makes the density of the Gaussian columns together,
`alone` that of columns that are Gaussian one by one, such as logarithms.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from classwise.arrays import Array, Codes
from classwise.covariance import (
    TOLERANCE,
    UNSHRUNK,
    Blend,
    Completion,
    Conjugate,
    Covariance,
    DiagonalCovariance,
    Divisor,
    FullCovariance,
    GaussianParameters,
    NormalInverseWishart,
    Recipe,
    StructureTable,
    complete,
    complete_by,
    log_evidence,
    most_probable_form,
    read_prior,
    with_overall_moments,
)
from classwise.densities.density import Density
from classwise.densities.gaussian import Gaussian
from classwise.densities.student import predictive
from classwise.errors import SingularCovarianceError
from classwise.statistics import ClassStatistics, DiagonalScatter, Scatter

# Where EM may stop in cross-validation: log losses then have six digits. They move with the parameters, of which the
# likelihood shows but the square.
ROUGH = 1e-8


# A warning names at most this many columns, and counts the others.
MOST_NAMED = 100


class NumbersFit(NamedTuple):
    """A density of numbers, what should be said about it, and how rows with gaps were learned from.

    log_evidence: the marginal likelihood of the rows, where parameters were integrated out. structures: those that were
    tried, where one was chosen.
    """

    density: Density
    remarks: Sequence[str] = ()
    completion: Completion | None = None
    log_evidence: float | None = None
    structures: StructureTable | None = None


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

    @property
    def keeps_copies(self) -> bool:
        """Whether columns that follow from others are described too: under a prior that was given, and where
        statistics do not say, as those of columns one by one.
        """
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

    def starting_at(self, start: Completion | None) -> Self:
        """The same, with EM for missing values to set out from where it ended for similar rows."""
        ...

    def removal(self) -> tuple[Recipe, float] | None:
        """The recipe, and the floor of variances, by which rows can be left out with a formula; else None."""
        ...


@dataclass(frozen=True)
class Estimated:
    """Gaussians whose covariances are estimated by a recipe; rows with gaps are learned from by EM.

    tol: where EM stops; start: where it sets out, if not from each column by itself. dials: share and shrink as the
    caller gave them, with "cv" for one that is left to choose.
    """

    recipe: Recipe
    tol: float = TOLERANCE
    dials: tuple[Any, Any] = (0.0, 0.0)
    start: Completion | None = field(default=None, compare=False, repr=False)

    is_bayes = False
    keeps_constants = False

    @property
    def keeps_copies(self) -> bool:
        # Sums of |d|⁴ are of all columns together: what they would be without one is not known.
        return self.recipe.structure is not FullCovariance or self.needs_quartics

    @property
    def form(self) -> type[Scatter]:
        return self.recipe.scatter_form()

    @property
    def needs_quartics(self) -> bool:
        return self.recipe.shrinkage.needs_quartics

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        if self.recipe.structure is not FullCovariance:
            return _one_by_one(statistics, self.recipe)
        completion = complete(statistics, self.recipe, self.tol, self.start)
        remarks = [] if completion.converged else [f"stopped EM for missing values early: {completion}"]
        statistics = completion.statistics
        return NumbersFit(Gaussian(statistics.mean, self.recipe.estimate(statistics)), remarks, completion)

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return _one_by_one(statistics, diagonal_recipe(self.recipe.divisor))

    def roughly(self) -> Self:
        return replace(self, tol=max(self.tol, ROUGH))

    def starting_at(self, start: Completion | None) -> Self:
        return replace(self, start=start)

    def removal(self) -> tuple[Recipe, float] | None:
        by_formula = self.recipe.sharing.is_linear and not self.needs_quartics and not self.recipe.standardize
        return (self.recipe, 0.0) if by_formula else None


@dataclass(frozen=True)
class Believed:
    """Student-t densities: mean and covariance are integrated out under a prior.

    prior: as for `read_prior`; "cv" or "loo" while its strength is left to choose. tol, start: as for `Estimated`.
    """

    structure: type[Covariance]
    shared: bool
    prior: Any
    tol: float = TOLERANCE
    start: Completion | None = field(default=None, compare=False, repr=False)

    is_bayes = True
    needs_quartics = False

    @property
    def form(self) -> type[Scatter]:
        return self.structure.scatter_form(self.shared)

    @property
    def keeps_constants(self) -> bool:
        return isinstance(self.prior, NormalInverseWishart)

    @property
    def keeps_copies(self) -> bool:
        return self.keeps_constants or self.structure is not FullCovariance

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        return believe(statistics, self.structure, self.shared, self.prior, self.tol, self.start)

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return believe(statistics, DiagonalCovariance, False, self.prior)

    def roughly(self) -> Self:
        return replace(self, tol=max(self.tol, ROUGH))

    def starting_at(self, start: Completion | None) -> Self:
        return replace(self, start=start)

    def removal(self) -> None:
        return None


@dataclass(frozen=True)
class Floored:
    """Gaussians column by column, none of whose variances is below a fraction of the column's overall variance."""

    divisor: Divisor
    floor: float

    is_bayes = False
    keeps_constants = False
    keeps_copies = True
    needs_quartics = False
    form = DiagonalScatter

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        filled = with_overall_moments(statistics.by_column())
        variances, low = self._floored(filled)
        return NumbersFit(Gaussian(filled.mean, DiagonalCovariance(variances)), self._remarks(filled, low))

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return self.joint(statistics)

    def roughly(self) -> Self:
        return self

    def starting_at(self, start: Completion | None) -> Self:
        return self

    def removal(self) -> tuple[Recipe, float]:
        return diagonal_recipe(self.divisor), self.floor

    def _floored(self, statistics: ClassStatistics) -> tuple[Array, Codes]:
        """The variances within each class, none below the floor (g, p), and the columns where it mattered."""
        variances = diagonal_recipe(self.divisor).blend(statistics).values
        least = self.floor * statistics.moments.overall_variance()
        low: Codes = np.logical_or.reduce(variances <= least).nonzero()[0]
        return np.maximum(variances, least) if len(low) else variances, low

    def _remarks(self, statistics: ClassStatistics, low: Codes) -> list[str]:
        """Names the columns whose variance was raised; an error if floor is 0."""
        if not len(low):
            return []
        names = ", ".join(statistics.name(column) for column in low[:MOST_NAMED])
        names += f" and {len(low) - MOST_NAMED} more" if len(low) > MOST_NAMED else ""
        if self.floor == 0:
            raise SingularCovarianceError(
                f"These columns do not vary within every class, and floor=0 refuses that: {names}. "
                "Give floor as a small fraction of the overall variance (floor=1e-6), or drop the columns."
            )
        return [f"raised variances within a class to {self.floor:g} of the overall variance in {names}"]


def diagonal_recipe(divisor: Divisor) -> Recipe:
    """A variance for each class and column, neither shared nor shrunk."""
    return Recipe(DiagonalCovariance, divisor, Blend(0.0), UNSHRUNK)


def _one_by_one(statistics: ClassStatistics, recipe: Recipe) -> NumbersFit:
    """Columns one by one, each with what it has."""
    statistics = statistics.by_column() if statistics.numbers.has_gaps else statistics
    return NumbersFit(Gaussian(with_overall_moments(statistics).mean, recipe.estimate(statistics)))


# ----------------------------------------------------------------------------------------------------------------------
# Full Bayes: from statistics and a prior to the density of the next row.


def believe(
    statistics: ClassStatistics,
    structure: type[Covariance],
    shared: bool,
    prior: Any,
    tolerance: float = TOLERANCE,
    start: Completion | None = None,
) -> NumbersFit:
    """The Student-t density of each class; rows with gaps are completed at the most probable mean and covariance.

    tolerance, start: where EM stops, and where it sets out.
    """
    completion, remarks = None, []
    if structure is FullCovariance:
        if isinstance(prior, str) and prior == "evidence" and statistics.numbers.has_gaps:
            # The strength that suits the rows as a weaker prior completes them: sought once, not in every step of EM.
            weakly = complete_to_mode(statistics, shared, "weak", tolerance, start)
            start = weakly
            prior = most_probable_form(weakly.statistics.denoised(), structure, shared)
        completion = complete_to_mode(statistics, shared, prior, tolerance, start)
        remarks = [] if completion.converged else [f"stopped EM for missing values early: {completion}"]
        statistics = completion.statistics
    elif statistics.numbers.has_gaps:
        statistics = statistics.by_column()
    statistics = statistics.denoised()
    before = read_prior(prior, statistics, structure, shared)
    density = predictive(before.updated(statistics, shared))
    # An improper prior has no evidence, and completed rows only an approximate one.
    closed = before.kappa > 0 and not (completion and completion.iterations)
    return NumbersFit(density, remarks, completion, log_evidence(before, statistics, shared) if closed else None)


def complete_to_mode(
    statistics: ClassStatistics,
    shared: bool,
    prior: Any,
    tolerance: float = TOLERANCE,
    start: Completion | None = None,
) -> Completion:
    """EM to the mode of the posterior, under the prior that the completed rows suggest."""

    def mode(full: ClassStatistics) -> GaussianParameters:
        posterior = read_prior(prior, full, FullCovariance, shared).updated(full, shared)
        return GaussianParameters(posterior.means, posterior.scale / _mode_divisor(posterior))

    return complete_by(statistics, mode, tolerance, start)


def _mode_divisor(posterior: Conjugate) -> Any:
    """nu + p + 2: the joint mode of mean and covariance is at mean and scale over this."""
    return np.asarray(posterior.freedom() + posterior.features + 2)[:, :, None]
