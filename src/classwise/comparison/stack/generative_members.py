"""Generative members: a prior and a density per class; most of them learn from sums over the rows.

Own covariances: each class has its own Student-t, the predictive density under a normal-inverse-Wishart prior. The
prior's covariance lies between the pooled one and its diagonal, and counts for a number of rows (its strength); both
are chosen by the log loss of held-out rows. One decomposition of each class serves all strengths. Categories are
independent of the numbers within a class:

    p(level | k) = (n_k,level + s q_level) / (n_k + s),   q_level = (n_level + 1) / (n + L)

so that a class with few rows borrows the rates of all rows.

Shared covariance: a Student-t whose covariance all classes share, over numbers and one-hot columns together. It is
linear discriminant analysis with means and covariance integrated out; the prior has the strength with the largest
evidence.

One-dependence: every column is a category, and each in turn is the parent of all others.

Mixtures: a few Gaussians for each class, for classes that are curved or clustered.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product as pairs_of
from typing import ClassVar

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, log_sum_exp, slices
from classwise.classifier.bayes import BayesClassifier
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.sums import FoldSums, MemberSums
from classwise.comparison.stack.trained import (
    CrossValidated,
    DensityRecipe,
    FixedMember,
    Generative,
    ModelRecipe,
    classifier_of,
    scored,
)
from classwise.comparison.stack.transforms import Encoding
from classwise.covariance import FullCovariance, PriorForm, most_probable_form
from classwise.densities import Block, Categorical, Density, Levels, OneDependence, Product, predictive
from classwise.densities.em import fit_mixture
from classwise.engines import in_threads
from classwise.errors import ClasswiseError
from classwise.selection import StrengthPath
from classwise.selection.first_pass import bytes_by_fold
from classwise.storage import stored

# The pseudo-rows, at the rates of all rows, that smooth each category within each class.
SMOOTHING = 2.0

# The strengths of the prior, in rows, that are tried, and the shares of the diagonal in its covariance.
ROWS = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 10000.0])
DIAGONALS = (0.001, 0.03, 0.2, 0.6, 1.0)

# The shares that are tried if the table is too wide for all of them.
FEW_DIAGONALS = (0.03, 0.2, 1.0)

# The pseudo-rows, at the rates of the class, that are tried for each level of a parent.
BACKOFFS = (1.0, 8.0)

# The numbers of components per class that are tried, with a covariance per class, and with one for all.
OWN = (2, 3)
TIED = (2, 4)


class SumsRecipe(ModelRecipe):
    """A model made of sums. counts_pairs: whether the sums count pairs of levels."""

    counts_pairs: ClassVar[bool] = False

    @abstractmethod
    def recipes(self, folds: FoldSums) -> Sequence[DensityRecipe]:
        """The recipes that are tried on every fold."""

    def cross(self, rows: FoldedRows, encoding: Encoding) -> CrossValidated:
        folds = FoldSums.gather(rows, encoding, self.counts_pairs)
        recipes = self.recipes(folds)

        def answers(fold: int, held_out: Codes) -> Iterator[tuple[Codes, Array]]:
            sums = folds.training(fold)
            return ((sums.present, scored(recipe.classifier(sums), folds.encoded[held_out])) for recipe in recipes)

        best, logs = rows.out_of_fold(len(recipes), answers)
        trained = Generative(encoding, recipes[best], folds.total())
        is_chosen = folds.moments is not None or folds.pairs is not None  # with categories alone, nothing is chosen
        return CrossValidated(logs, trained, str(recipes[best]) if is_chosen else "")


# Own covariances ------------------------------------------------------------------------------------------------------


@stored("OwnCovariances")
@dataclass(frozen=True)
class OwnPrior(DensityRecipe):
    """rows: the strength of the prior; diagonal: the share of the diagonal in its covariance."""

    rows: float
    diagonal: float

    def _is_sound(self) -> bool:
        return self.rows > 0 and 0 <= self.diagonal <= 1

    def density(self, sums: MemberSums) -> Density:
        if sums.moments is None:
            return categories_of(sums)
        statistics = sums.moments.denoised()
        prior = PriorForm.of_strength(self.rows, self.diagonal).of(statistics.moments).within(FullCovariance)
        return beside_categories(predictive(prior.updated(statistics, shared=False)), sums)

    def __str__(self) -> str:
        return f"prior of {self.rows:g} rows, {self.diagonal:g} of the way to the diagonal"


def beside_categories(density: Density, sums: MemberSums) -> Density:
    """The density of the numbers, times that of the categories, if there are any."""
    if not sums.counts:
        return density
    width = density.n_features
    columns = np.arange(width + len(sums.counts))
    return Product((Block(columns[:width], density), Block(columns[width:], categories_of(sums))))


def categories_of(sums: MemberSums) -> Categorical:
    """The density of the categories, for the classes that have rows."""
    return Categorical(tuple(_levels(of[sums.present]) for of in sums.counts))


def _levels(weight: Array) -> Levels:
    overall = weight.sum(axis=0)
    rates = (overall + 1) / (overall.sum() + len(overall))
    total = weight.sum(axis=1, keepdims=True) + SMOOTHING
    ones = np.ones((len(weight), 1))
    probability = (weight + SMOOTHING * rates) / total
    return Levels(np.arange(len(overall)), probability, ones * rates.min(), ones, np.ones(len(overall)))


class OwnCovariances(SumsRecipe):
    """A joint Student-t for the numbers, and independent categories."""

    def refuse(self, rows: FoldedRows, width: int) -> None:
        size = bytes_by_fold(width, rows.count, rows.n_folds)
        if size > limits.STACK_BYTES:
            raise ClasswiseError(f"Covariances by fold and class would take {size / 1e9:.1f} GB.")

    def recipes(self, folds: FoldSums) -> Sequence[DensityRecipe]:
        return [StrengthSearch(folds).best()]


@dataclass(frozen=True, eq=False)
class StrengthSearch:
    """The search for the strength of the prior with the least log loss on held-out rows."""

    folds: FoldSums

    def best(self) -> OwnPrior:
        if not self._width:
            return OwnPrior(1.0, 1.0)
        diagonals, folds = self._places()
        tasks = list(pairs_of(range(len(diagonals)), folds))
        losses = np.zeros((len(diagonals), len(ROWS)))
        for (i, _), lost in zip(tasks, in_threads(partial(self.losses, diagonals), tasks), strict=True):
            losses[i] += lost
        # Of equals the last, which is nearer to the diagonal and stronger.
        last = losses.size - 1 - int(losses[::-1, ::-1].argmin())
        place, rows = divmod(last, len(ROWS))
        return OwnPrior(float(ROWS[rows]), diagonals[place])

    @property
    def _width(self) -> int:
        return self.folds.encoding.n_continuous

    def _places(self) -> tuple[tuple[float, ...], list[int]]:
        """The shares of the diagonal to try, and the folds to try them on."""
        training, width = self.folds.rows, self._width
        rows, folds = min(len(training), limits.ENOUGH_ROWS), [fold for fold, _ in training.each()]
        each = training.count * (10.0 * width**3 + 2.0 * rows / len(folds) * width**2)
        is_quick = each * len(folds) * len(DIAGONALS) < limits.SEARCH_WORK
        return (DIAGONALS, folds) if is_quick else (FEW_DIAGONALS, folds[:1])

    def losses(self, diagonals: tuple[float, ...], task: tuple[int, int]) -> Array:
        """The log loss of some rows of a fold, for each strength of the prior; task: which diagonal, and fold; (s,)."""
        which, fold = task
        training = self.folds.rows
        training.deadline.check()
        sums, rows = self.folds.training(fold), training.held_out[fold]
        assert sums.moments is not None
        rows = rows[training.scored_weights[rows] > 0][:: training.stride]
        total = np.zeros(len(ROWS))
        if not len(rows):
            return total
        path = StrengthPath.of(sums.moments.denoised(), ROWS, diagonals[which])
        for part in slices(len(rows), limits.BLOCK_OF_ROWS):
            own = rows[part]
            scores = path.elsewhere(self.folds.encoded[own, : self._width]) + self._offset(sums, own)[:, :, None]
            of_class = np.searchsorted(sums.present, training.codes[own])
            total += training.weights[own] @ (log_sum_exp(scores) - scores[of_class, np.arange(len(own))])
        return total

    def _offset(self, sums: MemberSums, rows: Codes) -> Array:
        """Log priors plus the log density of the categories; (g, m)."""
        log_prior = sums.log_priors[sums.present, None]
        if not sums.counts:
            return np.repeat(log_prior, len(rows), axis=1)
        return categories_of(sums).relative(self.folds.encoded[rows, self._width :], log_prior)


# One covariance for all classes ---------------------------------------------------------------------------------------


@stored("SharedCovariance")
@dataclass(frozen=True)
class SharedPrior(DensityRecipe):
    """The recipe of a shared covariance. form: of the prior."""

    form: PriorForm

    def density(self, sums: MemberSums) -> Density:
        assert sums.moments is not None
        statistics = sums.moments.denoised()
        prior = self.form.of(statistics.moments).within(FullCovariance)
        return predictive(prior.updated(statistics, shared=True))

    def __str__(self) -> str:
        return f"prior of {max(self.form.freedom - 2, 0):.3g} rows"


class SharedCovariance(SumsRecipe):
    """A joint Student-t for numbers and one-hot columns."""

    def recipes(self, folds: FoldSums) -> Sequence[DensityRecipe]:
        moments = folds.total().moments
        assert moments is not None
        return [SharedPrior(most_probable_form(moments.denoised(), FullCovariance, shared=True))]


# Averaged one-dependence estimators -----------------------------------------------------------------------------------


@stored("OneDependenceRecipe")
@dataclass(frozen=True)
class Backoff(DensityRecipe):
    """backoff: the pseudo-rows, at the rates of the class, for each level of a parent."""

    backoff: float

    def _is_sound(self) -> bool:
        return self.backoff > 0

    def density(self, sums: MemberSums) -> Density:
        assert sums.pairs is not None
        return OneDependence.estimate(sums.pairs.select(sums.present), SMOOTHING, self.backoff)

    def __str__(self) -> str:
        return f"backing off by {self.backoff:g} rows"


class AveragedOneDependence(SumsRecipe):
    """AODE on categories alone, with numbers in quantile bins."""

    counts_pairs = True

    def recipes(self, folds: FoldSums) -> Sequence[DensityRecipe]:
        if all(len(category) < 2 for category in folds.encoding.categories):
            raise ClasswiseError("No column varies.")
        return [Backoff(backoff) for backoff in BACKOFFS]


# Mixtures -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mixtures(ModelRecipe):
    """Mixtures for the numbers, and independent categories. tied: whether all components of all classes share one
    covariance.
    """

    tied: bool = False

    @property
    def components(self) -> tuple[int, ...]:
        return TIED if self.tied else OWN

    def refuse(self, rows: FoldedRows, width: int) -> None:
        if not width:
            raise ClasswiseError("There are no numbers.")
        if len(rows) * width**2 * rows.count * self.components[-1] > limits.MIXTURE_WORK:
            raise ClasswiseError("The table is so large that mixtures would take too long.")

    def cross(self, rows: FoldedRows, encoding: Encoding) -> CrossValidated:
        folds = FoldSums.gather(rows, encoding)

        def answers(fold: int, held_out: Codes) -> Iterator[tuple[Codes, Array]]:
            others, sums, encoded = rows.without(held_out), folds.training(fold), folds.encoded[held_out]
            models = (self._fit(folds, others, sums, components) for components in self.components)
            return ((sums.present, scored(model, encoded)) for model in models)

        best, logs = rows.out_of_fold(len(self.components), answers)
        classifier = self._fit(folds, np.arange(len(rows)), folds.total(), self.components[best])
        return CrossValidated(logs, FixedMember(encoding, classifier), f"{self.components[best]} components")

    def _fit(self, folds: FoldSums, own: Codes, sums: MemberSums, components: int) -> BayesClassifier:
        """The classifier of some rows, whose sums are given."""
        rows = folds.rows
        codes = np.searchsorted(sums.present, rows.codes[own])
        numbers = np.ascontiguousarray(folds.encoded[own, : folds.encoding.n_continuous])
        density = fit_mixture(
            numbers, codes, len(sums.present), components, rows.weights[own], rows.seed,
            tied=self.tied, deadline=rows.deadline,
        )  # fmt: skip
        return classifier_of(sums, beside_categories(density, sums))
