"""Candidates of a comparison: models that are fitted without each fold, and then scored on the rows of that fold.

candidate.refusal(size)                why it cannot be tried on a table of this size, or ""
candidate.seconds(size)                about how long it will take, and
candidate.scoring_seconds(size)        how much longer, to score held-out rows
candidate.prepared(crossing, X)        the candidate with its options chosen on the folds
candidate.fit(held)                    the model of the rows of all other folds
candidate.log_posterior(model, held)   the log posteriors of the held-out rows under that model
candidate.described(trial, crossing)   the trial with parameters, evidence and the model of all rows

A new candidate defines how it is fitted and scored; `compare(models={"its name": candidate})` compares it with all
others. docs/extending.md has an example.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import log2, sqrt
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from classwise import limits
from classwise.arrays import Array, Codes, Labels
from classwise.comparison.trial import GIVEN, Trial
from classwise.engines.messages import Shared
from classwise.engines.workers import away
from classwise.errors import ClasswiseError
from classwise.estimators import BayesianLogistic
from classwise.logistic import WarmStart
from classwise.rows.device_rows import is_on_device, take_rows, to_host
from classwise.rows.sources import open_source
from classwise.rows.table import Table
from classwise.selection.crossing import Crossing, Fold
from classwise.selection.first_pass import Reading

# The errors of classwise models that cannot be fitted. Any other error is a bug, and is raised.
OUR_PROBLEMS = (ClasswiseError, np.linalg.LinAlgError)

# In place of the number of a fold: the model is fitted on all rows.
WHOLE = -1


# Held-out rows --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The rows of one fold, or those of them in a chunk.

    number: of the fold; fold: the rows as classwise estimators read them; codes, weights (m,): of the rows; scored
    (m,): the weights, but 0 for a row whose class no other fold has; rows: returns them in the caller's kind of table;
    table: returns them as numbers and positions of levels.
    """

    number: int
    fold: Fold
    codes: Codes
    weights: Array
    scored: Array
    rows: Callable[[], Any]
    table: Callable[[], Table]

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def each(cls, crossing: Crossing, X: Any) -> Iterator["HeldOut"]:
        """The rows of a crossing, fold by fold; X: the caller's table."""
        weights = np.ones(len(crossing.codes)) if crossing.table.weights is None else crossing.table.weights
        for number, fold in enumerate(crossing.each()):
            rows = partial(taken, X, crossing.places[fold.rows])
            table = partial(crossing.table.take, fold.rows)
            scored = crossing.scored_weights[fold.rows]
            yield cls(number, fold, crossing.codes[fold.rows], weights[fold.rows], scored, rows, table)

    @classmethod
    def of_chunk(
        cls, crossing: Crossing, number: int, rows: Any, codes: Codes, weights: Array, scored: Array
    ) -> "HeldOut":
        """The rows of a chunk that belong to one fold, as a pyarrow table; crossing: of the sample."""
        places, one = np.arange(len(codes)), np.zeros(len(codes), dtype=np.intp)
        own = replace(crossing, source=open_source(rows), places=places, codes=codes, folds=one)
        table = partial(own.source.read_like, crossing.table.schema, crossing.table.levels)
        fold = Fold(own, places, crossing.each()[number].training)
        return cls(number, fold, codes, weights, scored, lambda: rows, table)


def taken(X: Any, places: Codes) -> Any:
    """Some of the rows, in the caller's kind of table."""
    if is_on_device(X):
        return take_rows(X, places)
    return _safe_indexing(X if hasattr(X, "__getitem__") else np.asarray(X), places)


# Candidates -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """The size of a table, which decides how long models take. width: columns, with one for each level; covariances:
    their bytes for all folds and classes; is_streamed: whether the rows are a sample of a stream; samples: whether
    references are fitted on that sample; gaps: groups of rows of a class with the same missing numbers; numbers:
    columns of numbers; scored: the rows to score.
    """

    rows: int
    columns: int
    width: int
    classes: int
    covariances: float
    is_streamed: bool
    samples: bool = False
    folds: int = 10
    gaps: int = 0
    numbers: int = 0
    scored: int = 0


@dataclass(frozen=True, eq=False)
class Candidate(ABC):
    """A model to compare. model: not fitted; is_given: whether the caller added it by `models`."""

    role: ClassVar[str]
    takes_temperature: ClassVar[bool] = True
    # Whether it is tried while others are, quietly, in several threads; for models that start no threads themselves.
    in_threads: ClassVar[bool] = False
    # Errors that make the candidate fail, with the message as the reason; other errors are raised.
    problems: ClassVar[tuple[type[Exception], ...]] = OUR_PROBLEMS
    # Whether warnings are suppressed. Users see them when they ask for the fitted model.
    is_quiet: ClassVar[bool] = True
    # Whether it gets the rows of streams as pandas frames, as classifiers of other libraries need them.
    takes_pandas: ClassVar[bool] = False
    # Whether it learns from rows on a device; others get a copy of them in NumPy.
    takes_device: ClassVar[bool] = False

    name: str
    model: Any
    is_given: bool = field(default=False, kw_only=True)

    def trial(self) -> Trial:
        """The trial of this candidate, before it is scored."""
        return Trial(self.name, GIVEN if self.is_given else self.role, self.model)

    def reading(self, families: Any) -> Reading:
        """How the candidate reads the columns; families: the option of the comparison, which is the default."""
        return Reading(families, True)

    def refusal(self, size: Size) -> str:
        """Why it cannot be tried on a table of this size, or ""."""
        return ""

    def seconds(self, size: Size) -> float:
        """The expected seconds, which may lead to it being left out; 0 for candidates that are always tried."""
        return 0.0

    def scoring_seconds(self, size: Size) -> float:
        """The expected seconds to score the held-out rows, if that takes much longer than it does for other models."""
        return 0.0

    @property
    def work(self) -> Any:
        """The object that holds the expensive work. Candidates that share it share its time, which is counted once."""
        return self

    @property
    def is_in_pieces(self) -> bool:
        """Whether its work is many small pieces, so that threads would mostly wait for each other's Python."""
        return False

    def fits_folds_together(self, crossing: Crossing) -> bool:
        """Whether several folds are fitted at a time."""
        return self.in_threads

    def prepared(self, crossing: Crossing, X: Any) -> "Candidate":
        """The candidate with all options chosen that are the same for all folds, or are chosen for all at once."""
        return self

    @abstractmethod
    def fit(self, held: HeldOut) -> Any:
        """The model of the rows of all other folds."""

    @abstractmethod
    def log_posterior(self, fitted: Any, held: HeldOut) -> Array:
        """log P(k | x) of held-out rows under a model from `fit`; (m, g)."""

    def described(self, trial: Trial, crossing: Crossing) -> tuple[Trial, Any]:
        """The trial with facts on the model of all rows; and that model, if its evidence needs the density of rows."""
        return trial, None

    def own_log_density(self, whole: Any, held: HeldOut) -> Array:
        """log p(x | own class) under the model of all rows; (m,)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class AnyClassifier(Candidate):
    """A classifier with fit and predict_proba, on the caller's table. X: the table of all rows.

    It is scored without a temperature, because the caller gets it without one.
    """

    role = "given"
    takes_temperature = False
    # Any error of such a classifier makes it fail, and is the reason in the table.
    problems: ClassVar[tuple[type[Exception], ...]] = (Exception,)
    is_quiet = False
    takes_pandas = True

    X: Any = None

    def prepared(self, crossing: Crossing, X: Any) -> "AnyClassifier":
        return replace(self, X=X)

    def fit(self, held: HeldOut) -> Any:
        rows, labels, weights = self._training(held.fold.crossing, held.fold.rows)
        options = {} if weights is None else {"sample_weight": weights}
        return clone(self.model).fit(rows, labels, **options)

    def log_posterior(self, fitted: Any, held: HeldOut) -> Array:
        with np.errstate(divide="ignore"):
            logs = np.log(fitted.predict_proba(self._like(held.rows())))
        return held.fold.spread(fitted.classes_, logs)

    def described(self, trial: Trial, crossing: Crossing) -> tuple[Trial, None]:
        rows, labels, weights = self._training(crossing, np.zeros(0, dtype=np.intp))
        options = {} if weights is None else {"sample_weight": weights}
        return replace(trial, trained=clone(self.model).fit(rows, labels, **options)), None

    def _training(self, crossing: Crossing, without: Codes) -> tuple[Any, Labels, Array | None]:
        """All rows except some, with their labels and weights."""
        weights = crossing.table.weights
        rows = np.setdiff1d(np.arange(len(crossing.codes)), without, assume_unique=True)
        labels = crossing.labels[crossing.codes[rows]]
        return taken(self.X, crossing.places[rows]), labels, None if weights is None else weights[rows]

    def _like(self, rows: Any) -> Any:
        """Rows in the kind of table that the model was fitted on; a chunk is a pyarrow table."""
        return rows.to_pandas() if hasattr(self.X, "iloc") and not hasattr(rows, "iloc") else rows


@dataclass(frozen=True, eq=False)
class LogisticRegression(AnyClassifier):
    """Logistic regression. Candidates that differ only in `predictive` share their fits; is_mode: all of them predict
    at the most probable weights alone.

    The fit of each fold starts from that of all rows, which is close. It needs no temperature, because its
    probabilities are fitted to the labels.
    """

    role = "logistic"
    takes_temperature = False
    problems = OUR_PROBLEMS
    is_quiet = True
    in_threads = True
    takes_pandas = False
    takes_device = True

    table: Shared[Any] = field(default_factory=lambda: Shared(None))
    fits: dict[int, BayesianLogistic] = field(default_factory=dict)
    is_mode: bool = False

    def seconds(self, size: Size) -> float:
        if self.is_given:
            return 0.0
        step = step_work(size.rows, size.width + 1, size.classes)
        once = limits.LOGISTIC_SECONDS * (step + limits.LOGISTIC_VALUE * size.rows * size.width * size.classes)
        folds = size.folds * (limits.KEPT_SHARE if step > limits.KEPT_PRECISION else 1)
        rounds = limits.LOGISTIC_ROUNDS * (size.classes - 1) * (1 - size.columns / size.width) ** 2
        return (folds + rounds) * once

    def scoring_seconds(self, size: Size) -> float:
        is_plain = self.is_given or self.model.predictive == "plugin"
        return 0.0 if is_plain else limits.AVERAGED_SECONDS * size.scored * size.classes

    @property
    def work(self) -> Any:
        return self.fits

    def fits_folds_together(self, crossing: Crossing) -> bool:
        return are_copies_small(crossing)

    def prepared(self, crossing: Crossing, X: Any) -> "LogisticRegression":
        known = replace(self, X=X, table=Shared(X))
        known._of_all(crossing)  # which all folds start from
        return known

    def fit(self, held: HeldOut) -> BayesianLogistic:
        rows = held.fold.rows
        return self._fit(held.fold.crossing, rows, held.number if len(rows) else WHOLE)

    def log_posterior(self, fitted: BayesianLogistic, held: HeldOut) -> Array:
        return held.fold.spread(fitted.classes_, to_host(fitted.predict_log_proba(held.rows())))

    def described(self, trial: Trial, crossing: Crossing) -> tuple[Trial, None]:
        trained = self._of_all(crossing)
        count = (len(crossing.labels) - 1) * trained.classifier_.design.width
        return replace(trial, trained=trained, free_parameters=count), None

    def _of_all(self, crossing: Crossing) -> BayesianLogistic:
        return self._fit(crossing, np.zeros(0, dtype=np.intp), WHOLE)

    def _fit(self, crossing: Crossing, without: Codes, number: int) -> BayesianLogistic:
        """The model of all rows except some; number: of the fold that is left out."""
        if number not in self.fits:
            near = None if number == WHOLE else self._near(crossing)
            parts = crossing.shared, self.table, self.model, near, without
            # The fit to all rows, which others wait for, is split among threads.
            self.fits[number] = _logistic_without(*parts) if number == WHOLE else away(_logistic_without, *parts)
        return self.fits[number].predicting(self.model.predictive)

    def _near(self, crossing: Crossing) -> WarmStart:
        """The start of the fits by fold; with many weights or rows, they keep the precision of the fit to all rows."""
        of_all = self._of_all(crossing)
        work = step_work(len(crossing.codes), of_all.classifier_.design.width, len(crossing.labels))
        return of_all.near(keep=work > limits.KEPT_PRECISION)._replace(is_enough=self.is_mode)


def _logistic_without(
    crossing: Shared[Crossing], X: Shared[Any], model: BayesianLogistic, near: WarmStart | None, without: Codes
) -> BayesianLogistic:
    """The model of all rows of a table except some; near: where the fit starts."""
    rows, labels, weights = AnyClassifier("", model, X=X.value)._training(crossing.value, without)
    return clone(model)._fit(rows, labels, weights, near)


def are_copies_small(crossing: Crossing) -> bool:
    """Whether the training rows of all folds fit into memory side by side."""
    return len(crossing) * len(crossing.codes) * len(crossing.table.schema) <= limits.MOST_COPIED


def step_work(rows: int, columns: int, classes: int) -> float:
    """The multiplications in a Newton step of logistic regression: products of all pairs of columns over the rows, for
    each pair of classes; and the factorization of the Hessian, whose multiplications are faster.
    """
    return rows * columns**2 * classes * (classes - 1) / 2 + 0.4 * ((classes - 1) * columns) ** 3


@dataclass(frozen=True, eq=False)
class Stack(AnyClassifier):
    """AutoClassifier. Its posteriors for a fold come from members and weights that have not seen the fold.

    Its own folds are those of the comparison, so that one fit is enough. It has a temperature of its own. answers
    (n, g): log posteriors of held-out rows.
    """

    role = "stack"
    takes_temperature = False
    problems = OUR_PROBLEMS

    answers: Array | None = None

    def refusal(self, size: Size) -> str:
        if size.is_streamed:
            return "Needs the rows in memory."
        most = limits.MOST_TRIED
        return f"Tries {most:,} rows at most; AutoClassifier by itself learns from more." if size.rows > most else ""

    def seconds(self, size: Size) -> float:
        members = size.rows * size.columns * min(size.classes, limits.STACK_CLASSES)
        trees = min(size.rows, limits.ROWS_OF_TREE) * sqrt(size.columns) * log2(max(size.rows, 2))
        return limits.STACK_START + size.folds * limits.STACK_SECONDS * members + limits.TREE_SECONDS * trees

    def prepared(self, crossing: Crossing, X: Any) -> "Stack":
        known = replace(self, X=X)
        learned = clone(self.model)
        rows, labels, weights = known._training(crossing, np.zeros(0, dtype=np.intp))
        answers = learned._learn(rows, labels, weights).log_posterior
        # The folds belong to these rows; a copy of the model will be fitted on others.
        return replace(known, model=learned.set_params(folds=len(crossing)), answers=answers)

    def fit(self, held: HeldOut) -> None:
        """Nothing to do: `prepared` has fitted all folds at once."""

    def log_posterior(self, fitted: None, held: HeldOut) -> Array:
        assert self.answers is not None
        return self.answers[held.fold.rows]

    def described(self, trial: Trial, crossing: Crossing) -> tuple[Trial, None]:
        return replace(trial, trained=self.model), None
