"""Cross-validation from statistics by fold: every model sees every fold, and the rows are read twice in all."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes, Labels
from classwise.classifier.bayes import BayesClassifier, Priors, class_priors
from classwise.classifier.plan import Fit, Plan, refuse_few_classes, refuse_underflow
from classwise.densities.families import within_ranges
from classwise.engines import Rows
from classwise.engines.messages import Shared
from classwise.errors import ClasswiseError
from classwise.rows.codes import code_labels, positions
from classwise.rows.roles import Counted, as_frame
from classwise.rows.sampling import SamplePart
from classwise.rows.schema import Schema
from classwise.rows.sources import Source, open_source, read_counted
from classwise.rows.table import Table
from classwise.selection.by_fold import FoldStatistics, summarize_folds
from classwise.selection.first_pass import FirstLook, Reading, look_at
from classwise.selection.folds import FoldAssigner, assign_folds, no_more_than
from classwise.selection.temperature import OutOfFold
from classwise.statistics import ClassStatistics, FullScatter, PooledScatter, Scatter

# Why a model cannot be fitted.
PROBLEMS = (ClasswiseError, np.linalg.LinAlgError)


@dataclass(frozen=True, eq=False)
class Crossing:
    """Rows, their classes (n,) and folds (n,), and the statistics of each fold. Rows of weight zero are none of them.

    places (n,): where they stand in the table that they came from. The statistics may be those of more rows than are
    here: then these are a sample, to choose by.
    """

    source: Source
    table: Table
    places: Codes
    labels: Labels
    codes: Codes
    folds: Codes
    statistics: FoldStatistics

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any,
        folds: Any = 10,
        *,
        families: Any = "auto",
        weights: Any = None,
        groups: Any = None,
        random_state: int | None = 0,
        strict: bool = False,
        quartics: bool = False,
        form: type[Scatter] = FullScatter,
        sparse: bool = False,
    ) -> "Crossing":
        """The first look at the rows; sparse: whether a sparse matrix will do."""
        source, table, counted = read_counted(X, y, weights, families, strict, sparse)
        assert table.labels is not None
        labels, codes = code_labels(table.labels)
        refuse_few_classes(labels)
        assigned = assign_folds(no_more_than(folds, len(codes)), codes, groups, random_state, counted)
        if form is PooledScatter:  # a scatter pooled over all classes cannot be split by class in a fold
            form = FullScatter
        statistics = summarize_folds(table, labels, codes, assigned, form, not strict, quartics)
        refuse_underflow(statistics.total())
        return cls(source, table, np.flatnonzero(counted), labels, codes, assigned, statistics)

    def seen_as(self, families: Any, quartics: bool, form: type[Scatter]) -> "Crossing":
        """The same rows in the same folds, with other families."""
        table = self.source.read(families, self.table.labels, self.table.weights)
        statistics = summarize_folds(table, self.labels, self.codes, self.folds, form, quartics=quartics)
        return replace(self, table=table, statistics=statistics)

    def restrict(self, columns: Sequence[int]) -> "Crossing":
        """The same rows in the same folds, with some of the columns: a restriction of the same sums."""
        parts = tuple(part.restrict(columns) for part in self.statistics.parts)
        return replace(
            self,
            source=self.source.restrict(columns),
            table=self.table.restrict(columns),
            statistics=FoldStatistics(parts),
        )

    def without_fold(self, fold: int) -> "Crossing":
        """The rows of all other folds, in those folds."""
        kept = np.flatnonzero(self.folds != fold)
        parts = self.statistics.parts
        return replace(
            self,
            source=self.source.take(kept),
            table=self.table.take(kept),
            places=self.places[kept],
            codes=self.codes[kept],
            folds=self.folds[kept] - (self.folds[kept] > fold),
            statistics=FoldStatistics((*parts[:fold], *parts[fold + 1 :])),
        )

    @classmethod
    def of_look(
        cls, look: FirstLook, position: int, families: Any, X: Any, y: Any, weights: Any, part: SamplePart
    ) -> "Crossing":
        """The statistics by fold of all rows, as one of the readings of a first look has them.

        X, y, weights: the rows of its sample, to choose by; part: their folds.
        """
        tally = look.tallies[position]
        statistics = tally.by_fold()
        kept = np.flatnonzero(tally.rows)
        source = open_source(X)
        table = source.read(families, y, weights, known=statistics.total().known_columns())
        codes, folds = positions(y, tally.labels), np.searchsorted(kept, part.folds)
        refuse_underflow(statistics.total())
        return cls(source, table, np.arange(len(codes)), tally.labels, codes, folds, statistics)

    @classmethod
    def read_rows(cls, rows: Rows, folds: int, families: Any, full: bool, sample: int, seed: int) -> "Crossing":
        """Rows wherever they are, in one pass: statistics by fold of all of them, and a sample to choose by."""
        assigner = FoldAssigner(rows.decided, folds, seed)
        look = look_at(rows, assigner, (Reading(families, full),), sample, "Learning by fold")
        refuse_few_classes(look.tallies[0].labels)
        part = look.sample.whole()
        counted = Counted.of(as_frame(part.table), rows.roles)
        labels, codes = counted.coded()
        X = part.table.select(list(rows.roles.features))
        return cls.of_look(look, 0, families, X, labels[codes], counted.weights, part)

    def __len__(self) -> int:
        return len(self.statistics.parts)

    @cached_property
    def shared(self) -> Shared["Crossing"]:
        """The same for worker processes."""
        return Shared(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "shared"}

    def each(self) -> tuple["Fold", ...]:
        """The folds in turn, each with the statistics of all others; cached."""
        return self._each

    @cached_property
    def _each(self) -> tuple["Fold", ...]:
        every, training = self.statistics.total(), enumerate(self.statistics.training())
        held = ((np.flatnonzero(self.folds == fold), within_ranges(others, every)) for fold, others in training)
        return tuple(Fold(self, rows, others) for rows, others in held)

    def started(self, plans: Sequence[Plan]) -> list[Plan]:
        """Plans whose EM for missing values sets out, in every fold, from where it ends for all rows; this is near.

        It is found by the first of them that can be fitted. The last is the simplest: where even that cannot be fitted
        to all rows, this says why, before any fold is tried.
        """
        total = self.statistics.total()
        for plan in plans:
            try:
                start = plan.roughly().model(total).completion
            except PROBLEMS:
                if plan is plans[-1]:
                    raise
                continue
            return [each.starting_at(start) for each in plans]
        return []

    def log_posteriors(self, plans: Sequence[Plan]) -> list[Array]:
        """log P(k | x) of each row under the model of each plan that was fitted without the row's fold; (n, g) each.

        A class that the training rows of a fold lack has -inf there.
        """
        answers = [self.blank() for _ in plans]
        for fold in self.each():
            for plan, answer in zip(plans, answers, strict=True):
                answer[fold.rows] = fold.log_posterior(fold.fit(plan))
        return answers

    def blank(self) -> Array:
        """A log probability of zero everywhere; (n, g)."""
        return np.full((len(self.codes), len(self.labels)), -np.inf)

    @cached_property
    def scored_weights(self) -> Array:
        """The weight of each row, 0 if no other fold has its class: no model could know it; (n,)."""
        weights = np.ones(len(self.codes)) if self.table.weights is None else self.table.weights
        return weights * self.statistics.elsewhere(self.labels)[self.folds, self.codes]

    def out_of_fold(self, log_posterior: Array) -> OutOfFold:
        """The posteriors (n, g) of the held-out rows that are scored."""
        weights = self.scored_weights
        scored = slice(None) if weights.all() else np.flatnonzero(weights)
        return OutOfFold(log_posterior[scored], self.codes[scored], self.folds[scored], weights[scored])


@dataclass(eq=False)
class Fold:
    """rows: the positions of the rows held out; training: the statistics of all other rows."""

    crossing: Crossing
    rows: Codes
    training: ClassStatistics
    _tables: list[Table] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": []}

    def fit(self, plan: Plan) -> Fit:
        """The model of the other folds."""
        return plan.roughly().fit(self.training)

    def completed(self, plans: Sequence[Plan]) -> "Fold":
        """The same with the gaps of the other folds filled, as the first of some plans that can be fitted expects.

        Many variants of a model can then be tried without EM for each. Where gaps are informative, or columns other
        than the Gaussian's have some, the fold stays as it is.
        """
        schema = self.training.schema
        if plans[0].missing_is_level or schema.numbers != schema.positions("gaussian"):
            return self
        for plan in plans:
            try:
                completion = self.fit(plan).model.completion
            except PROBLEMS:
                continue
            if completion is not None and completion.iterations:
                filled = completion.statistics
                places = [schema.numbers.index(column.place) for column in filled.schema]
                moments = filled.moments.among(places, len(schema.numbers))
                return replace(self, training=self.training.with_moments(moments))
            break
        return self

    def log_posterior(self, fit: Fit) -> Array:
        """log P(k | x) of the rows held out under a model of the others; (m, g)."""
        return self.spread(fit.labels, fit.apply(BayesClassifier.log_posterior, self.read(fit)).T)

    def loss(self, plan: Plan, weights: Array) -> float:
        """The sum of -log P(own class | x) over the rows held out, by weights (n,); inf if nothing can be fitted."""
        weights = weights[self.rows]
        kept = weights > 0
        try:
            answer = self.log_posterior(self.fit(plan))[kept]
        except PROBLEMS:
            return np.inf
        return -float(weights[kept] @ answer[np.arange(len(answer)), self.crossing.codes[self.rows[kept]]])

    def spread(self, labels: Labels, values: Array) -> Array:
        """Values of some of the classes (m, ...) among all classes, -inf for the others; (m, g)."""
        whole = np.full((len(self.rows), len(self.crossing.labels)), -np.inf)
        whole[:, np.searchsorted(self.crossing.labels, labels)] = values
        return whole

    def read(self, fit: Fit) -> Table:
        """The rows held out, as a fitted model reads them; models that read alike share them."""
        schema, levels = fit.model.schema, fit.model.levels
        for table in self._tables:
            if _read_alike(table, schema, levels):
                return table
        self._tables.append(self.crossing.source.read_like(schema, levels).take(self.rows))
        return self._tables[-1]


def _read_alike(table: Table, schema: Schema, levels: dict[int, Labels]) -> bool:
    if table.schema.is_sparse:
        return table.schema == schema
    families = [column.family for column in table.schema] == [column.family for column in schema]
    return families and all(np.array_equal(known, levels[j]) for j, known in table.levels.items())


def selection_weights(priors: Priors, crossing: Crossing) -> Array:
    """The weights of rows to choose by: 0 also for those of classes that are never predicted; (n,)."""
    total = crossing.statistics.total()
    never = total.labels[class_priors(priors, total.labels, total.weight) == 0]
    return np.where(np.isin(crossing.labels, never)[crossing.codes], 0.0, crossing.scored_weights)


def is_complete(statistics: ClassStatistics) -> bool:
    """Whether no number of any row is missing."""
    missing = statistics.weight[:, None] - statistics.numbers.present_weight()
    return bool((missing <= 1e-9 * statistics.weight[:, None]).all())
