"""A plan: what an estimator's options come to. It says what to gather from rows, and makes a model of statistics.

An estimator reads its options into a plan once; strings end there. Everything below the surface (folds, tuning, leaving
rows out) works with plans, so that a model can be made many times from many statistics without an estimator.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Labels
from classwise.classifier.bayes import BayesClassifier, Model, Priors, class_priors, score
from classwise.classifier.functions import reduced
from classwise.covariance import Completion
from classwise.densities import Density, Gaussian, Unseen
from classwise.densities.blocks import Blocks, Smoothing, warn_of_ignored, warn_of_remarks
from classwise.densities.families import choose_families
from classwise.densities.numbers import NumbersFit, NumbersPlan
from classwise.densities.smoothing import most_probable_smoothing
from classwise.densities.sparse_blocks import SparseBlocks
from classwise.engines import Rows
from classwise.errors import ClasswiseError, SingularCovarianceError
from classwise.rows.device_rows import to_host
from classwise.rows.schema import Families, family_of_sparse, read_families
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics, FullScatter, PooledScatter, Scatter, summarize_rows
from classwise.statistics.summaries import summarize_table

# Makes the density of the Gaussian columns, from statistics of them alone.
Joint = Callable[[ClassStatistics], NumbersFit]


@dataclass(frozen=True)
class Plan(ABC):
    """families: what columns are; priors: of the classes; smoothing: pseudo-rows at each level, or "evidence" for the
    most probable number, or "cv" while it is left to choose; missing_is_level: a gap tells something by itself; strict:
    gaps are refused.
    """

    families: Families
    priors: Priors
    smoothing: float | str
    missing_is_level: bool
    strict: bool

    @property
    @abstractmethod
    def form(self) -> type[Scatter]:
        """The leanest scatter that serves."""

    @property
    def needs_quartics(self) -> bool:
        """Whether sums of |d|⁴ must be gathered."""
        return False

    @property
    def pseudo_rows(self) -> float:
        """How many rows each class is counted to have besides its own, for the priors."""
        return 0.0

    def summarize(self, table: Table, before: ClassStatistics | None = None) -> ClassStatistics:
        """The statistics of rows, to be added to those of rows before."""
        form = self.form if before is None else type(before.moments.scatter)
        return summarize_table(table, form, allow_missing=not self.strict, quartics=self.needs_quartics)

    def gather(self, rows: Rows) -> ClassStatistics:
        """The statistics of rows wherever they are, in one pass."""
        options: dict[str, Any] = {"allow_missing": not self.strict, "quartics": self.needs_quartics}
        return summarize_rows(rows, self.form, families=self.families, **options)

    def model(self, statistics: ClassStatistics) -> Model:
        """The model that statistics make. A class without rows has a prior of zero, and no density."""
        if statistics.all_seen:
            return self._made(statistics)
        seen, labels = np.flatnonzero(statistics.weight > 0), statistics.labels
        priors = self.class_priors(statistics)
        part = statistics.select(seen, labels[seen], statistics.rows)
        model = replace(self, priors=priors[seen])._made(part)
        density = Unseen(model.classifier.density, seen, len(labels))
        return model.with_classifier(BayesClassifier(labels, priors, density))

    @abstractmethod
    def _made(self, statistics: ClassStatistics) -> Model:
        """The model of classes that all have rows."""

    def fit(self, statistics: ClassStatistics) -> "Fit":
        """The same, ready to score rows."""
        return Fit(self, self.model(statistics), statistics)

    def class_priors(self, statistics: ClassStatistics) -> Array:
        """The prior of each class (g,). A class without rows has a prior of zero, whatever is given.

        Full Bayes counts one more row in each class: the posterior mean under a uniform Dirichlet prior.
        """
        given = class_priors(self.priors, statistics.labels, statistics.weight + self.pseudo_rows)
        if statistics.all_seen:
            return given
        seen = statistics.weight > 0
        if not given[seen].any():
            raise ClasswiseError(f"priors={self.priors!r} leave nothing to the classes that have rows.")
        return np.where(seen, given, 0.0) / given[seen].sum()

    def roughly(self) -> Self:
        """The same, with less patience where models are many."""
        return self

    def starting_at(self, start: Completion | None) -> Self:
        """The same, with EM for missing values to set out from where it ended for similar rows."""
        return self

    def is_sum_of_rows(self, statistics: ClassStatistics) -> bool:
        """Whether statistics without a row are those of all rows less those of the row."""
        return True


@dataclass(frozen=True)
class BlockPlan(Plan):
    """A product over blocks of columns, one for each family; numbers: how those of the Gaussian columns are learned.

    rare: levels below this frequency are pooled. rank: keep so many of Fisher's directions; None for all. name: of the
    estimator, for what it has to say.
    """

    numbers: NumbersPlan
    rare: float = 0.0
    rank: int | None = None
    name: str = "The model"

    @property
    def form(self) -> type[Scatter]:
        form = self.numbers.form
        if form is not PooledScatter:
            return form
        chosen = self.families.values() if isinstance(self.families, Mapping) else [self.families]
        return FullScatter if "best" in chosen else form  # to choose a family takes the variances of each class

    @property
    def needs_quartics(self) -> bool:
        return self.numbers.needs_quartics

    @property
    def pseudo_rows(self) -> float:
        return 1.0 if self.numbers.is_bayes else 0.0

    def roughly(self) -> Self:
        return replace(self, numbers=self.numbers.roughly())

    def starting_at(self, start: Completion | None) -> Self:
        return replace(self, numbers=self.numbers.starting_at(start))

    def learning(self, numbers: Any) -> Self:
        """The same, with numbers learned in another way."""
        return replace(self, numbers=numbers)

    def _made(self, statistics: ClassStatistics) -> Model:
        return self.model_with(statistics, self.numbers.joint)

    def _as_asked(self, statistics: ClassStatistics) -> ClassStatistics:
        """With the families that the options name."""
        if isinstance(self.families, str) and self.families == "auto":
            return statistics
        schema = statistics.schema
        if schema.is_sparse:
            return statistics.all_seen_as(family_of_sparse(self.families))
        are_numbers = [not column.family.has_levels for column in schema]
        return statistics.seen_as(read_families(self.families, schema.names or range(len(schema)), are_numbers))

    def model_with(self, statistics: ClassStatistics, joint: Joint) -> Model:
        """The model whose Gaussian columns have the density that `joint` makes."""
        refuse_few_classes(statistics.labels)
        priors = self.class_priors(statistics)
        statistics = self._as_asked(statistics)
        refuse_underflow(statistics)
        known: dict[int, str] = {}
        if statistics.schema.candidates:
            choices = choose_families(statistics)
            statistics = statistics.seen_as({j: choice.family for j, choice in choices.items()})
            known = {j: str(choice) for j, choice in choices.items()}
        if self.rank is not None:
            joint = _in_directions(joint, priors, self.rank)
        blocks = self._blocks(statistics, joint, known)
        density = _computed(blocks)
        levels, evidence = blocks.levels(), blocks.log_evidence
        warn_of_ignored(statistics, blocks.left_out.why)
        warn_of_remarks(self.name, blocks)
        classifier = BayesClassifier(statistics.labels, priors, density)
        notes = blocks.notes | blocks.left_out_notes()
        made = notes, blocks.completion, evidence, blocks.structures, blocks.options.smoothing
        return Model(classifier, statistics.schema, levels, blocks.missing_share(), *made)

    def _blocks(self, statistics: ClassStatistics, joint: Joint, known: dict[int, str]) -> Blocks:
        """The columns as blocks, with the smoothing that was given or that the counts make most probable.

        known: what there is to say of a column already.
        """
        made = SparseBlocks if statistics.schema.is_sparse else Blocks
        number = 1.0 if isinstance(self.smoothing, str) else self.smoothing
        options = Smoothing(number, self.rare, self.missing_is_level)
        blocks = made(statistics, options, joint, self.numbers, known)
        if self.smoothing != "evidence":
            return blocks
        return replace(blocks, options=options._replace(smoothing=most_probable_smoothing(blocks.smoothed())))


@dataclass(frozen=True, eq=False)
class Fit:
    """A model, the plan that made it, and the statistics that it was made of."""

    plan: Plan
    model: Model
    statistics: ClassStatistics

    @property
    def labels(self) -> Labels:
        """(g,)."""
        return self.model.classifier.labels

    def apply(self, function: Callable[[BayesClassifier, Array], NDArray[Any]], table: Table) -> NDArray[Any]:
        """function(classifier, rows) of the rows of a table, side by side."""
        smoothing = 1.0 if isinstance(self.plan.smoothing, str) else self.plan.smoothing
        options: dict[str, Any] = {"strict": self.plan.strict, "smoothing": smoothing}
        found: NDArray[Any] = to_host(score(function, self.model.classifier, table, **options))
        return found


def _in_directions(joint: Joint, priors: Array, rank: int) -> Joint:
    """With class means moved into the space of Fisher's first directions."""

    def reduce(statistics: ClassStatistics) -> NumbersFit:
        fit = joint(statistics)
        if not isinstance(fit.density, Gaussian):
            return fit
        most = min(len(statistics.labels) - 1, statistics.n_features)
        if rank > most:
            raise ClasswiseError(
                f"n_components={rank} is more than {most}: {len(statistics.labels)} classes in "
                f"{statistics.n_features} columns have no more directions."
            )
        return fit._replace(density=reduced(fit.density, priors, rank))

    return reduce


def _computed(blocks: Blocks) -> Density:
    """The density, or an error that can be understood where float64 is too small for its numbers."""
    try:
        return blocks.density()
    except np.linalg.LinAlgError as problem:
        raise SingularCovarianceError(
            f"A covariance cannot be computed in float64 ({problem}): the columns hold numbers that are too large, too "
            "small or too different for it; rescale them."
        ) from problem


def refuse_few_classes(labels: Labels) -> None:
    """Refuse rows of fewer than two classes."""
    if len(labels) < 2:
        found = f"one class, {labels.tolist()[0]!r}" if len(labels) else "no rows at all"
        raise ClasswiseError(f"A classifier needs rows of at least two classes, and y has {found}.")


def refuse_underflow(statistics: ClassStatistics) -> None:
    """Refuse numbers that differ by so little that their squares are lost; decided by all rows, whatever the chunks."""
    found = [] if statistics.all_vary else statistics.numbers.underflow()
    if not found:
        return
    squared, numbers = statistics.schema.positions("gaussian", "best"), statistics.schema.numbers
    lost = [numbers[i] for i in found if numbers[i] in squared]
    if lost:
        where = ", ".join(map(statistics.name, lost[:5])) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
        raise ClasswiseError(
            f"X contains numbers that differ by less than 1e-152, whose squares underflow, in {where}; measure them in "
            "another unit: multiply them by 1e150, say."
        )
