"""What all estimators share: rows in, statistics kept, a Bayes classifier made of them."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from classwise.arrays import Array, Labels
from classwise.classifier.bayes import BayesClassifier, Priors, class_priors
from classwise.densities import Density, Unseen
from classwise.engines import Rows, open_rows
from classwise.errors import ClasswiseError, SingularCovarianceError, at_least, choose
from classwise.estimators.answers import TIES, Answers
from classwise.estimators.blocks import Blocks, GaussianFit, Smoothing, warn_of_ignored, warn_of_remarks
from classwise.estimators.columns import check_columns, remember_columns
from classwise.estimators.fitted import required
from classwise.estimators.model import Model
from classwise.rows.labels import code_labels
from classwise.rows.reading import open_source
from classwise.rows.schema import read_families
from classwise.rows.table import Table
from classwise.selection import choose_families
from classwise.statistics import ClassStatistics, FullScatter, PooledScatter, Scatter, summarize_rows
from classwise.statistics.chunks import MISSING, summarize_table


class SummaryEstimator(ClassifierMixin, Answers):
    """A scikit-learn classifier that is a summary of the rows, and a Bayes classifier made from it.

    A subclass says which scatter it needs and what model it makes of statistics.
    """

    @abstractmethod
    def _scatter_form(self) -> type[Scatter]:
        """The leanest scatter that serves; options are checked here, before any row is read."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X (n, p) and labels y (n,); a weight of two is the row twice, a weight of zero is no row.

        X is an array or a pandas, polars or Arrow table; text, categories, booleans and missing values are welcome.
        Rows without a label are left out, with a warning that counts them.
        """
        form = self._checked_form()
        table = open_source(X).read(self.families, required(y), sample_weight, strict=self._strict)
        return self._learn(self._summarize(table, form))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those learned from so far; the result is that of fitting all of them at once.

        A class or a level first seen in a later batch is simply a new class or level.

        classes: the labels that may occur; others are refused. A class without rows so far is in classes_, with a prior
            and posteriors of zero: there is no density of it.
        """
        form = self._checked_form()
        source, known = open_source(X), []
        before: ClassStatistics | None = getattr(self, "statistics_", None)
        if before is not None:
            check_columns(self, source)
            form, known = type(before.moments.scatter), before.known_columns()
        table = source.read(self.families, required(y), sample_weight, strict=self._strict, known=known)
        batch = self._summarize(table, form, before)
        batch = _expecting(batch, classes)
        statistics = batch if before is None else before + batch
        # Early batches may hold one class, or too few rows for a covariance: the model is made when it is asked for.
        self._keep(None, statistics)
        return self

    def fit_statistics(self, statistics: ClassStatistics) -> Self:
        """Learn from statistics, gathered here or elsewhere."""
        if not isinstance(statistics, ClassStatistics):
            raise ClasswiseError(f"fit_statistics takes what summarize returns, not {type(statistics).__name__}.")
        self._checked_form()
        return self._learn(statistics)

    def fit_source(
        self, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Learn from rows wherever they are, with flat memory: the same model as from a table of all of them.

        source: whatever `summarize` takes with a target: the path of a CSV, TSV, JSON, Parquet or Arrow file, a
            pattern, a query, a database's table, a lazy frame, a stream of Arrow batches, a DataFrame of Dask or Spark.
        target, weights: the columns that hold labels and weights; columns: those to learn from, all others by default.
        """
        self._checked_form()
        rows = open_rows(source, target=target, columns=columns, weights=weights, families=self.families)
        return self._fit_rows(rows)

    def _fit_rows(self, rows: Rows) -> Self:
        """One pass, where statistics are all that it takes."""
        options: dict[str, Any] = {"allow_missing": not self._strict, "quartics": self._needs_quartics}
        return self._learn(summarize_rows(rows, self._checked_form(), families=self.families, **options))

    def _fit_held(self, rows: Rows) -> Self | None:
        """From all rows in memory, if they are few; else None."""
        held = rows.held()
        return None if held is None else self.fit(held.X, held.y, held.weights)

    def with_priors(self, priors: Priors) -> Self:
        """The same model under other class priors: a new estimator, with nothing fitted again."""
        other = type(self)(**{**self.get_params(deep=False), "priors": priors})
        remember_columns(other, self._fitted().statistics_)
        other.statistics_ = self.statistics_
        given = self._priors(priors, self.statistics_)
        other._model = self.model_.with_classifier(self.classifier_.with_priors(given))
        return other

    # ----------------------------------------------------------------------------------------------------------------

    @property
    def _needs_quartics(self) -> bool:
        return False

    def _summarize(self, table: Table, form: type[Scatter], before: ClassStatistics | None = None) -> ClassStatistics:
        return summarize_table(table, form, allow_missing=not self._strict, quartics=self._needs_quartics)

    def _checked_form(self) -> type[Scatter]:
        choose("ties", self.ties, TIES)
        at_least("smoothing", self.smoothing, 0)
        at_least("min_frequency", self.min_frequency, 0)
        choose("missing", self.missing, MISSING)
        form = self._scatter_form()
        chosen = self.families.values() if isinstance(self.families, Mapping) else [self.families]
        # To choose a family takes the variances of each class.
        return FullScatter if "best" in chosen and form is PooledScatter else form

    def _is_sound(self) -> bool:
        self._checked_form()
        return super()._is_sound()

    def _learn(self, statistics: ClassStatistics) -> Self:
        # First the model: if it cannot be made, what was fitted before stays as it is.
        self._keep(self._model_of(statistics), statistics)
        return self

    @abstractmethod
    def _make(self, statistics: ClassStatistics) -> Model:
        """The model that statistics make of classes that all have rows."""

    def _model_of(self, statistics: ClassStatistics) -> Model:
        seen, labels = np.flatnonzero(statistics.weight > 0), statistics.labels
        if len(seen) == len(labels):
            return self._make(statistics)
        priors = self._priors(self.priors, statistics)
        part = statistics.select(seen, labels[seen], statistics.rows)
        model = self._unfitted().set_params(priors=priors[seen])._make(part)
        density = Unseen(model.classifier.density, seen, len(labels))
        return model.with_classifier(BayesClassifier(labels, priors, density))

    def _keep(self, model: Model | None, statistics: ClassStatistics) -> None:
        self._model, self.statistics_ = model, statistics
        remember_columns(self, statistics)

    def _priors(self, priors: Priors, statistics: ClassStatistics) -> Array:
        """Full Bayes counts one more row in each class: the posterior mean under a uniform Dirichlet prior.

        A class without rows has a prior of zero, whatever is given.
        """
        given = class_priors(priors, statistics.labels, statistics.weight + (1.0 if self._is_bayes else 0.0))
        seen = statistics.weight > 0
        if seen.all():
            return given
        if not given[seen].any():
            raise ClasswiseError(f"priors={priors!r} leave nothing to the classes that have rows.")
        return np.where(seen, given, 0.0) / given[seen].sum()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error" and not self._needs_quartics
        # Not the tag `categorical`: scikit-learn takes it for columns that hold nothing but codes.
        tags.input_tags.string = True
        return tags


class BayesEstimator(SummaryEstimator):
    """Its density is a product over blocks of columns, one for each family.

    A subclass says what density it makes of columns of numbers.
    """

    @abstractmethod
    def _gaussian(self, statistics: ClassStatistics) -> GaussianFit:
        """The density of the Gaussian columns, from statistics of them alone."""

    @abstractmethod
    def _independent(self, statistics: ClassStatistics) -> GaussianFit:
        """The density of columns that are Gaussian by themselves, from statistics of them alone."""

    @property
    @abstractmethod
    def _has_given_prior(self) -> bool:
        """Whether the caller says what is believed of every Gaussian column, whatever the rows."""

    def _make(self, statistics: ClassStatistics) -> Model:
        return self._made(statistics, self._gaussian)

    def _made(self, statistics: ClassStatistics, gaussian: Callable[[ClassStatistics], GaussianFit]) -> Model:
        """The model whose Gaussian columns have the density that `gaussian` makes."""
        refuse_few_classes(statistics.labels)
        priors = self._priors(self.priors, statistics)
        keys = list(statistics.schema.names or range(len(statistics.schema)))
        asked = read_families(self.families, keys, [not c.family.has_levels for c in statistics.schema])
        statistics = statistics.seen_as(asked)
        refuse_underflow(statistics)
        choices = choose_families(statistics)
        statistics = statistics.seen_as({j: choice.family for j, choice in choices.items()})
        smoothing = Smoothing(self.smoothing, self.min_frequency, self.missing == "level")
        blocks = Blocks(statistics, smoothing, gaussian, self._independent, self._has_given_prior)
        density = _computed(blocks)
        notes = {j: str(choice) for j, choice in choices.items()}
        notes |= {j: "; ".join(filter(None, [notes.get(j), note])) for j, note in blocks.notes.items()}
        notes |= {j: f"left out: {why}" for j, why in blocks.ignored.items()}
        classifier = BayesClassifier(statistics.labels, priors, density)
        missing = blocks.missing_weight.sum(axis=0) / statistics.weight.sum()
        levels, evidence = blocks.levels(), blocks.log_evidence
        model = Model(classifier, statistics.schema, levels, missing, notes, blocks.completion, evidence)
        warn_of_ignored(statistics, blocks.ignored)
        warn_of_remarks(type(self).__name__, blocks)
        return model


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
    found = statistics.numbers.underflow()
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


def _expecting(statistics: ClassStatistics, classes: Any) -> ClassStatistics:
    """With all classes that may occur; others are refused."""
    if classes is None:
        return statistics
    expected = code_labels(np.asarray(classes))[0]
    unexpected = [label for label in statistics.labels.tolist() if label not in expected.tolist()]
    if unexpected:
        raise ClasswiseError(f"y contains the label {unexpected[0]!r}, which is not among classes={list(classes)}.")
    return statistics.among(expected)
