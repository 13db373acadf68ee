"""A fitted stack: posteriors from the pool of its members, and new rows from its generative members."""

import sys
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels, first_leader, log_normalize
from classwise.classifier.bayes import Priors, class_priors, score
from classwise.classifier.explanation import Explanation
from classwise.comparison.stack.pool import Pool
from classwise.comparison.stack.stacking import AutoReport
from classwise.comparison.stack.trained import Trained, current_name
from classwise.errors import ClasswiseError, NotAvailableError
from classwise.estimators import Answers, read_generator
from classwise.estimators.fit_summary import SummaryTable
from classwise.estimators.importance import LossSums, shuffled_sums
from classwise.estimators.unavailable import MEMBERS
from classwise.kernels import RowsOrColumns, with_jobs
from classwise.kernels.scores import Answer
from classwise.rows.device_rows import to_host
from classwise.rows.frames import make_frame
from classwise.rows.schema import Schema
from classwise.rows.sources import required
from classwise.rows.table import Table, refuse_unsuitable, within_families

# Rows are scored in blocks of this many.
BLOCK_OF_ROWS = 8192


class AutoAnswers(Answers):
    """The methods of a fitted stack."""

    _unavailable = MEMBERS
    _fitted_by = ("pool_", "fit")

    classes_: Labels
    pool_: Pool
    members_: dict[str, Trained]
    report_: AutoReport
    _schema: Schema
    _levels: dict[int, Labels]
    _shift: Array
    _totals: Array
    rows_: int
    n_jobs: int | None

    def with_priors(self, priors: Priors) -> Self:
        """The same model under other class priors: a new estimator, whose posteriors are multiplied by the ratio of the
        priors, and normalized.

        Parameters
        ----------
        priors : str, mapping or sequence
            The class priors: "empirical", "uniform", a mapping from label to probability, or a sequence in the
            order of the sorted labels.

        Returns
        -------
        estimator
            A new estimator; this one stays as it is.
        """
        given = class_priors(priors, self.classes_, self._fitted()._totals)
        other = copy(self)
        with np.errstate(divide="ignore"):
            other._shift = np.log(given) - np.log(self._totals / self._totals.sum())
        return other

    @property
    def priors_(self) -> Array:
        """The prior of each class; (g,)."""
        priors = self._fitted()._totals * np.exp(self._shift)
        return np.asarray(priors / priors.sum())

    @property
    def model_(self) -> "StackModel":
        """The pool of its members, with the schema of its columns."""
        pooled = PooledClassifier(self._fitted().classes_, self.members_, self.pool_, self._shift)
        return StackModel(pooled, self._schema, self._levels)

    @property
    def classifier_(self) -> "PooledClassifier":
        """The classifier that computes posteriors from rows of numbers."""
        classifier = self.model_.classifier
        if not classifier.sees_rows:
            raise NotAvailableError(
                "A member that is a classifier of your own sees rows as they are, and pictures are of columns alone."
            )
        return classifier

    def _names(self) -> list[str]:
        """The current names of the members; older files may have former ones."""
        return list(map(current_name, self._fitted().members_))

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each member; they sum to one."""
        return dict(zip(self._names(), self.pool_.weights.tolist(), strict=True))

    @property
    def temperatures_(self) -> dict[str, float]:
        """The temperature of each member, whose posteriors are raised to the power 1 / temperature."""
        return dict(zip(self._names(), (1 / self.pool_.powers).tolist(), strict=True))

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Any, Labels]:
        """n new rows (n, p) and their labels (n,), drawn from the generative members in proportion to their weights.

        Parameters
        ----------
        n : int, default=1
            The number of rows to draw.
        random_state : int, RandomState or Generator, optional
            The seed of what is drawn at random.

        Returns
        -------
        X, y
            The rows, as a table if the model was fitted on one, and their labels of shape (n,).
        """
        if not (isinstance(n, (int, np.integer)) and n >= 0):
            raise ClasswiseError(f"n={n!r} is not a number of rows.")
        used = {name: trained for name, trained in self.model_.classifier.used.items() if trained.can_sample}
        if not used:
            raise NotAvailableError("No member with weight is a model of the rows, so none can be drawn.")
        generator = read_generator(random_state)
        weights = np.array([w for m, w in zip(self.members_, self.pool_.weights.tolist(), strict=True) if m in used])
        drawn = generator.choice(len(used), size=int(n), p=weights / weights.sum())
        codes = generator.choice(len(self.classes_), size=int(n), p=self.priors_)
        rows = np.empty((int(n), len(self._schema)))
        for i, trained in enumerate(used.values()):
            rows[drawn == i] = trained.sample(codes[drawn == i], generator)
        return make_frame(rows, self._schema, self._levels), self.classes_[codes]

    # ----------------------------------------------------------------------------------------------------------------

    def _reasons(self, table: Table, first: int, second: int) -> Explanation:
        """The share of a column is the log odds minus those without it, so that redundant columns have small shares."""
        rows = np.repeat(np.asarray(table.rows, dtype=np.float64), len(self._schema) + 1, axis=0)
        for j in range(len(self._schema)):
            rows[j, j] = -1 if j in self._levels else np.nan
        scores = self.classifier_.log_posterior(rows)
        odds = scores[first] - scores[second]
        prior = float(np.log(self.priors_[first] / self.priors_[second]))
        shares = odds[-1] - odds[:-1]
        names = list(self._schema.names or range(len(self._schema)))
        return Explanation(
            self.classes_.tolist()[first],
            self.classes_.tolist()[second],
            float(odds[-1]),
            prior,
            float(odds[-1] - prior - shares.sum()),
            dict(zip(names, shares.tolist(), strict=True)),
            dict(zip(names, table.shown(0), strict=True)),
            "columns in combination",
        )

    def _summary_tables(self) -> list[SummaryTable]:
        return [SummaryTable("Members", self.report_.cells())]

    def _weight_learned(self) -> tuple[int, Array]:
        return self.rows_, self._totals

    def _loss_sums(self, table: Table, repeats: int, seed: int) -> LossSums:
        if self.model_.classifier.sees_rows:
            return super()._loss_sums(table, repeats, seed)
        assert isinstance(table, NativeTable)
        weights = np.ones(len(table)) if table.weights is None else table.weights
        return shuffled_sums(self.predict_log_proba, table.X, self._codes_of(table), weights, repeats, seed)

    def _table(self, X: Any, y: Any = None, sample_weight: Any = None) -> "NativeTable":
        table = super()._table(X, y, sample_weight)
        return NativeTable(table.source, table.schema, table.levels, table.labels, table.weights, X)

    def _labeled(self, X: Any, y: Any, sample_weight: Any) -> Table:
        return self._table(X, required(y), sample_weight)  # all rows, because a member may need the caller's table

    def _applied(self, function: Answer | Callable[[Any, Array], NDArray[Any]], table: Table) -> Any:
        refuse_unsuitable(table, allow_missing=True)
        classifier = self.model_.classifier
        if not classifier.sees_rows:
            if not isinstance(table, NativeTable):
                raise NotAvailableError(
                    "A member that is a classifier of your own sees rows as they are; explain cannot."
                )
            classifier = replace(classifier, X=to_host(table.X))
        with with_jobs(self.n_jobs):
            return score(function, classifier, table)


@dataclass(frozen=True, eq=False)
class NativeTable(Table):
    """A table, and the caller's table X."""

    X: Any = None


@dataclass(frozen=True, eq=False)
class PooledClassifier:
    """members by name, and their pool; shift (g,): added to log posteriors, for other class priors; X: the caller's
    table of the rows to score, for members that need it.
    """

    labels: Labels
    members: Mapping[str, Trained]
    pool: Pool
    shift: Array
    X: Any = None

    @cached_property
    def used(self) -> dict[str, Trained]:
        """The members with weight."""
        pairs = zip(self.members.items(), self.pool.weights.tolist(), strict=True)
        return {name: trained for (name, trained), weight in pairs if weight > 0}

    @property
    def sees_rows(self) -> bool:
        """Whether rows of numbers are enough, without the caller's table."""
        return all(trained.sees_rows for trained in self.used.values())

    def log_posterior(self, rows: Array) -> Array:
        """log P(k | x); (m, p) -> (g, m)."""
        rows = np.asarray(rows, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            answers = [
                trained.log_posterior(rows, self.X).T if name in self.used else None
                for name, trained in self.members.items()
            ]
            pooled = self.pool(answers)
            return (log_normalize(pooled + self.shift, 1) if self.shift.any() else pooled).T

    def posterior(self, rows: Array) -> Array:
        """P(k | x); (m, p) -> (g, m)."""
        return np.exp(self.log_posterior(rows))

    def decision_scores(self, rows: Array) -> Array:
        """The same as log_posterior; (m, p) -> (g, m)."""
        return self.log_posterior(rows)

    def decide(self, rows: Array) -> Codes:
        """The most probable class, the first of equals; (m, p) -> (m,)."""
        return first_leader(self.log_posterior(rows))

    def fused(self, rows: RowsOrColumns, answer: Answer) -> None:
        """There is no compiled kernel for all of it."""

    def in_place(self, name: str, table: Table) -> None:
        """Rows of a device are copied."""

    def observing(self) -> "PooledClassifier":
        """The same classifier, because members handle missing values themselves."""
        return self

    def chunk_rows(self, copied: bool) -> int:
        """How many rows to score at once; all, if a member needs the caller's table."""
        return BLOCK_OF_ROWS if self.sees_rows else sys.maxsize


@dataclass(frozen=True, eq=False)
class StackModel:
    """The pool of a stack, and its columns; their shares of missing values are not kept."""

    classifier: PooledClassifier
    schema: Schema
    levels: dict[int, Labels]
    notes: dict[int, str] = field(default_factory=dict)

    @property
    def missing(self) -> Array:
        return np.zeros(len(self.schema))

    def reach(self) -> Array:
        """The range of each column: its lowest, middle and highest value; (3, p)."""
        places = np.array([[-1.0], [0.0], [1.0]]) * np.ones(len(self.schema))
        for j, levels in self.levels.items():
            places[:, j] = [0, 0, len(levels) - 1]
        for member in self.classifier.used.values():
            member.mark_reach(places)
        return within_families(places, self.schema)
