"""What a stack answers: labels, probabilities, reasons, new rows."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from classwise.arrays import Array, Labels, first_leader, log_normalize, slices
from classwise.classifier.bayes import Priors, class_priors
from classwise.classifier.decision import RejectCurve, reject_curve
from classwise.classifier.evaluation import Evaluation
from classwise.classifier.explanation import Explanation
from classwise.classifier.shift import PriorShift, estimate_shift
from classwise.comparison.stack.pool import Pool
from classwise.comparison.stack.stacking import AutoReport
from classwise.comparison.stack.trained import Trained
from classwise.comparison.stack.transforms import Encoding
from classwise.engines import in_threads
from classwise.errors import ClasswiseError, NotAvailableError
from classwise.estimators import check_columns, codes_among, position_among, read_generator, required
from classwise.rows.checks import refuse_unsuitable
from classwise.rows.frames import make_frame
from classwise.rows.reading import Source, open_asked, open_row
from classwise.rows.schema import Schema
from classwise.rows.table import Table

# Rows are scored in blocks of this many.
BLOCK_OF_ROWS = 4096

# How far from its center a column of numbers is looked at, in standard units.
REACH = 2.5


class AutoAnswers:
    """Everything that can be asked of a fitted stack."""

    pool_: Pool
    members_: dict[str, Trained]
    report_: AutoReport
    classes_: Labels
    _schema: Schema
    _levels: dict[int, Labels]
    _shift: Array
    _totals: Array

    def predict(self, X: Any) -> Labels:
        """The most probable label of each row; (n,). Ties go to the first label."""
        log_posterior = self.predict_log_proba(X)
        return self.classes_[first_leader(log_posterior.T)]

    def predict_proba(self, X: Any) -> Array:
        """P(k | x); (n, g), columns in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """log P(k | x); (n, g)."""
        source = self._source(X)
        return self._log_posterior(source.read_like(self._schema, self._levels), X)

    def decision_function(self, X: Any) -> Array:
        """log P(k | x) (n, g); for two classes the log odds of the second, (n,)."""
        logs = self.predict_log_proba(X)
        return logs if len(self.classes_) > 2 else logs[:, 1] - logs[:, 0]

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """Error, log loss, Brier score, confusion and calibration on labeled rows; evaluations of batches add up."""
        table = self._labeled(X, y, sample_weight)
        return Evaluation.of(self._log_posterior(table, X), self._codes(table), self.classes_, table.weights)

    def reject_curve(self, X: Any, y: Any, sample_weight: Any = None) -> RejectCurve:
        """Error against coverage on labeled rows, as only the surest decisions are kept."""
        table = self._labeled(X, y, sample_weight)
        return reject_curve(np.exp(self._log_posterior(table, X)), self._codes(table), table.weights)

    def estimate_priors(self, X: Any) -> PriorShift:
        """The class priors of rows without labels, whose classes may be mixed in other shares than those learned from.

        As of the other estimators; it takes posteriors alone. The result is for with_priors.
        """
        return estimate_shift(self.predict_log_proba(X), self.classes_, self.priors_)

    def with_priors(self, priors: Priors) -> Self:
        """The same model under other class priors: posteriors times the ratio of the priors; a new estimator."""
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
        """Its columns, as pictures look at them."""
        return StackModel(self._fitted()._schema, self._levels, tuple(self._used().values()))

    @property
    def classifier_(self) -> "StackRule":
        """What makes posteriors of rows as the table has them."""
        if any(not trained.sees_rows for trained in self._used().values()):
            raise NotAvailableError(
                "A member that is a classifier of your own sees rows as they came, and pictures are of columns alone."
            )
        return StackRule(lambda rows: self._pooled(rows, None))

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each member; they sum to one."""
        return dict(zip(self._fitted().members_, self.pool_.weights.tolist(), strict=True))

    @property
    def temperatures_(self) -> dict[str, float]:
        """The temperature of each member: its posteriors are raised to one over it."""
        return dict(zip(self._fitted().members_, (1 / self.pool_.powers).tolist(), strict=True))

    def explain(self, row: Any, label: Any = None, against: Any = None) -> Explanation:
        """What each column adds to the log odds of one label against another: the log odds less those without it.

        Columns that say the same add little each, and what only some of them together say is called that.

        >>> from sklearn.datasets import load_iris
        >>> import classwise as cw
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> reason = cw.AutoClassifier(members="fast").fit(X, y).explain(X.iloc[[100]])
        >>> reason.label, max(reason.shares, key=reason.shares.get)
        (2, 'petal width (cm)')
        """
        self._fitted()
        source = open_row(row, self._schema.names)
        check_columns(self, source)
        table = source.read_like(self._schema, self._levels)
        if len(table) != 1:
            raise ClasswiseError(f"explain takes one row, not {len(table)}.")
        if any(not trained.sees_rows for trained in self._used().values()):
            raise NotAvailableError("A member that is a classifier of your own sees rows as they came; explain cannot.")
        rows = np.repeat(np.asarray(table.rows, dtype=np.float64), len(self._schema) + 1, axis=0)
        for j in range(len(self._schema)):
            rows[j, j] = -1 if j in self._levels else np.nan
        scores = self._pooled(rows, None)
        first, second = self._two(scores[-1], label, against)
        odds = scores[:, first] - scores[:, second]
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
            "together",
        )

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Any, Labels]:
        """n new rows (n, p) and their labels (n,), drawn from the members that are models of rows, by their weights."""
        if not (isinstance(n, (int, np.integer)) and n >= 0):
            raise ClasswiseError(f"n={n!r} is not a number of rows.")
        used = {name: trained for name, trained in self._used().items() if trained.can_sample}
        if not used:
            raise NotAvailableError("No member with weight is a model of the rows, so none can be drawn.")
        generator = read_generator(random_state)
        weights = np.array([self.weights_[name] for name in used])
        drawn = generator.choice(len(used), size=int(n), p=weights / weights.sum())
        codes = generator.choice(len(self.classes_), size=int(n), p=self.priors_)
        rows = np.empty((int(n), len(self._schema)))
        for i, trained in enumerate(used.values()):
            rows[drawn == i] = trained.sample(codes[drawn == i], generator)
        return make_frame(rows, self._schema, self._levels), self.classes_[codes]

    # ----------------------------------------------------------------------------------------------------------------

    def _used(self) -> dict[str, Trained]:
        """The members that have weight."""
        return {name: trained for name, trained in self._fitted().members_.items() if self.weights_[name] > 0}

    def _two(self, scores: Array, label: Any, against: Any) -> tuple[int, int]:
        """The positions of two labels: those given, else the most probable."""
        order = np.argsort(-scores, kind="stable").tolist()
        second = None if against is None else position_among(self.classes_, against)
        first = position_among(self.classes_, label) if label is not None else next(k for k in order if k != second)
        return first, second if second is not None else next(k for k in order if k != first)

    def _source(self, X: Any) -> Source:
        self._fitted()
        source = open_asked(X, self._schema.names)
        check_columns(self, source)
        return source

    def _labeled(self, X: Any, y: Any, sample_weight: Any) -> Table:
        return self._source(X).read_like(self._schema, self._levels, required(y), sample_weight)

    def _codes(self, table: Table) -> Any:
        return codes_among(self.classes_, table.labels)

    def _log_posterior(self, table: Table, X: Any) -> Array:
        """log P(k | x); (n, g)."""
        refuse_unsuitable(table, allow_missing=True)
        rows = np.asarray(table.rows, dtype=np.float64)
        if not all(trained.sees_rows for trained in self._used().values()):
            return self._pooled(rows, X)
        parts = [rows[part] for part in slices(len(rows), BLOCK_OF_ROWS)]
        blocks = list(in_threads(lambda part: self._pooled(part, None), parts))
        return np.concatenate(blocks) if blocks else np.zeros((0, len(self.classes_)))

    def _pooled(self, rows: Array, X: Any) -> Array:
        used = self._used()
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            answers = [
                trained.log_posterior(rows, X).T if name in used else None for name, trained in self.members_.items()
            ]
            pooled = self.pool_(answers)
            return log_normalize(pooled + self._shift, 1) if self._shift.any() else pooled

    def _fitted(self) -> Self:
        if not hasattr(self, "pool_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit first.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "pool_")


# A stack as pictures look at it ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StackRule:
    """score: log P(k | x) of rows as the table has them, categories as codes; (m, p) -> (m, g)."""

    score: Callable[[Array], Array]

    def log_posterior(self, rows: Array) -> Array:
        """(m, p) -> (g, m)."""
        return self.score(rows).T

    def posterior(self, rows: Array) -> Array:
        """P(k | x); (g, m)."""
        return np.exp(self.log_posterior(rows))

    def announced(self, rows: Array) -> Array:
        """The class of the largest is announced; (g, m)."""
        return self.log_posterior(rows)


@dataclass(frozen=True, eq=False)
class StackModel:
    """The columns of a stack, with the levels of those that have some."""

    schema: Schema
    levels: dict[int, Labels]
    members: Iterable[Trained]
    notes: dict[int, str] = field(default_factory=dict)

    def reach(self) -> Array:
        """How far rows reach in each column: the lowest, the middle and the highest; (3, p)."""
        places = np.array([[-1.0], [0.0], [1.0]]) * np.ones(len(self.schema))
        for j, levels in self.levels.items():
            places[:, j] = [0, 0, len(levels) - 1]
        for encoding in filter(None, (getattr(member, "encoding", None) for member in self.members)):
            _put(encoding, places)
        return places


def _put(encoding: Encoding, places: Array) -> None:
    numbers = encoding.numbers
    places[:, numbers.columns] = numbers.center + REACH * numbers.scale * np.array([[-1.0], [0.0], [1.0]])
    for category in encoding.categories:
        if category.column in encoding.few:
            places[:, category.column] = category.values[[0, len(category.values) // 2, -1]]
