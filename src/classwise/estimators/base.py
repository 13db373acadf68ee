"""What all estimators share: rows in, statistics kept, a Bayes classifier made of them, answers out."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from classwise.arrays import BLOCK_SIZE, Array, Labels
from classwise.classifier import BayesClassifier
from classwise.decision import break_ties
from classwise.densities import Density
from classwise.engines import MemoryEngine
from classwise.errors import ClasswiseError, UnscorableError
from classwise.estimators.columns import check_columns, remember_columns
from classwise.options import choose
from classwise.priors import Priors, class_priors
from classwise.statistics import ClassStatistics, Scatter, code_labels
from classwise.summarize import summarize_table
from classwise.tables import Table, read_table, refuse_not_finite

TIES = {"first": False, "random": True}

# Rows are scored in chunks of this many numbers, so that what is computed from a chunk is still in cache.
SCORING_SIZE = 3 * BLOCK_SIZE


class NegativeLogLikelihood(NamedTuple):
    """-log p(x, y) summed over rows, in the two parts that are minimized separately."""

    labels: float
    features: float

    @property
    def total(self) -> float:
        """labels + features."""
        return self.labels + self.features


class BayesEstimator(ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier that is a summary of the rows, and a Bayes classifier made from it.

    A subclass says which scatter it needs and what density it makes of the statistics.
    """

    priors: Priors
    ties: str
    random_state: Any

    @abstractmethod
    def _scatter_form(self) -> type[Scatter]:
        """The leanest scatter that serves; options are checked here, before any row is read."""

    @abstractmethod
    def _density(self, statistics: ClassStatistics) -> Density:
        """The density of each class."""

    # Learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X (n, p) and labels y (n,); a weight of two is the row twice, a weight of zero is no row."""
        form = self._checked_form()
        table = read_table(X, _required(y), sample_weight)
        return self._learn(summarize_table(table, form))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those learned from so far; the result is that of fitting all of them at once.

        A class first seen in a later batch is simply a new class.

        classes: the labels that may occur, if you want others refused.
        """
        form = self._checked_form()
        table = read_table(X, _required(y), sample_weight)
        if hasattr(self, "statistics_"):
            check_columns(self, table)
            form = type(self.statistics_.moments.scatter)
        batch = summarize_table(table, form)
        _check_expected(batch.labels, classes)
        statistics = self.statistics_ + batch if hasattr(self, "statistics_") else batch
        remember_columns(self, statistics)
        # Early batches may hold one class, or too few rows for a covariance: the model is made when it is asked for.
        self.statistics_, self._classifier = statistics, None
        return self

    def fit_statistics(self, statistics: ClassStatistics) -> Self:
        """Learn from statistics, gathered here or elsewhere."""
        if not isinstance(statistics, ClassStatistics):
            raise ClasswiseError(f"fit_statistics takes what summarize returns, not {type(statistics).__name__}.")
        self._checked_form()
        return self._learn(statistics)

    def with_priors(self, priors: Priors) -> Self:
        """The same model under other class priors: a new estimator, with nothing fitted again."""
        other = type(self)(**{**self.get_params(deep=False), "priors": priors})
        remember_columns(other, self._fitted().statistics_)
        other.statistics_ = self.statistics_
        given = class_priors(priors, self.classes_, self.statistics_.weight)
        other._classifier = self.classifier_.with_priors(given)
        return other

    # Answers ------------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Labels:
        """The most probable label of each row; (n,). Ties go to the first label, or at random with ties="random"."""
        model, table = self.classifier_, self._table(X)
        if choose("ties", self.ties, TIES):
            generator = _generator(self.random_state)
            return model.labels[break_ties(self._apply(model.scores, table), generator)]
        return model.labels[self._apply(model.decide, table)]

    def predict_proba(self, X: Any) -> Array:
        """P(k | x); (n, g), columns in the order of `classes_`."""
        return self._apply(self.classifier_.posterior, self._table(X)).T

    def predict_log_proba(self, X: Any) -> Array:
        """log P(k | x), exact where the probability itself underflows; (n, g)."""
        return self._apply(self.classifier_.log_posterior, self._table(X)).T

    def decision_function(self, X: Any) -> Array:
        """log P(k | x) (n, g); for two classes the log odds of the second, (n,)."""
        if len(self.classes_) > 2:
            return self.predict_log_proba(X)
        scores = self._apply(self.classifier_.scores, self._table(X))
        return np.asarray(scores[1] - scores[0])

    def log_joint(self, X: Any) -> Array:
        """log prior_k + log p(x | k); (n, g)."""
        return self._apply(self.classifier_.log_joint, self._table(X)).T

    def log_density(self, X: Any) -> Array:
        """log p(x | k); (n, g)."""
        return self._apply(self.classifier_.log_density, self._table(X)).T

    def log_evidence(self, X: Any) -> Array:
        """log p(x): how ordinary a row is under the model; (n,)."""
        return self._apply(self.classifier_.log_evidence, self._table(X))

    def nll(self, X: Any, y: Any, sample_weight: Any = None) -> NegativeLogLikelihood:
        """Negative log-likelihood of labeled rows, split into .labels and .features; .total is their sum."""
        table = self._table(X, _required(y), sample_weight).weighted()
        codes = self._codes_of(table)
        weights = np.ones(len(table)) if table.weights is None else table.weights
        log_prior = self.classifier_.log_prior[codes, 0]
        log_density = self._apply(self.classifier_.log_density, table)[codes, np.arange(len(table))]
        return NegativeLogLikelihood(-float(weights @ log_prior), -float(weights @ log_density))

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Array, Labels]:
        """n new rows (n, p) and their labels (n,), drawn from the fitted model."""
        if not (isinstance(n, (int, np.integer)) and n >= 0):
            raise ClasswiseError(f"n={n!r} is not a number of rows.")
        return self.classifier_.sample(int(n), _generator(random_state))

    # Fitted attributes --------------------------------------------------------------------------------------------

    @property
    def classifier_(self) -> BayesClassifier:
        """The fitted model: labels, priors and densities."""
        model = self._fitted()._classifier
        if model is None:
            model = self._classifier = self._make(self.statistics_)
        return model

    @property
    def classes_(self) -> Labels:
        """The labels, sorted; (g,)."""
        return self._fitted().statistics_.labels

    @property
    def priors_(self) -> Array:
        """The prior of each class; (g,)."""
        return self.classifier_.priors

    @property
    def means_(self) -> Array:
        """The mean of each class; (g, p)."""
        return self._fitted().statistics_.mean

    # ----------------------------------------------------------------------------------------------------------------

    statistics_: ClassStatistics
    _classifier: BayesClassifier | None

    def _checked_form(self) -> type[Scatter]:
        choose("ties", self.ties, TIES)
        return self._scatter_form()

    def _learn(self, statistics: ClassStatistics) -> Self:
        # First the model: if it cannot be made, what was fitted before stays as it is.
        self._classifier = self._make(statistics)
        self.statistics_ = statistics
        remember_columns(self, statistics)
        return self

    def _make(self, statistics: ClassStatistics) -> BayesClassifier:
        if len(statistics.labels) < 2:
            found = f"one class, {statistics.label(0)!r}" if len(statistics.labels) else "no rows at all"
            raise ClasswiseError(f"A classifier needs rows of at least two classes, and y has {found}.")
        priors = class_priors(self.priors, statistics.labels, statistics.weight)
        return BayesClassifier(statistics.labels, priors, self._density(statistics))

    def _fitted(self) -> Self:
        if not hasattr(self, "statistics_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted yet; call fit, partial_fit or fit_statistics first.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def _table(self, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
        self._fitted()
        table = read_table(X, y, sample_weight)
        check_columns(self, table)
        return table

    def _apply(self, function: Callable[[Array], NDArray[Any]], table: Table) -> NDArray[Any]:
        def checked(chunk: Table) -> NDArray[Any]:
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    return function(chunk.rows)
            except UnscorableError:
                refuse_not_finite(chunk)
                raise UnscorableError("Some rows lie too far from every class to be scored in float64.") from None

        density = self.classifier_.density
        return MemoryEngine().apply(checked, table, max(SCORING_SIZE // density.width, 64))

    def _codes_of(self, table: Table) -> NDArray[Any]:
        labels, codes = code_labels(_required(table.labels))
        known = self.classes_.tolist()
        unknown = [label for label in labels.tolist() if label not in known]
        if unknown:
            raise ClasswiseError(f"y contains the label {unknown[0]!r}, which is not a class; the classes are {known}.")
        return np.searchsorted(self.classes_, labels)[codes]


def _required(y: Any) -> Any:
    if y is None:
        raise ClasswiseError("This estimator requires y to be passed, but the target y is None.")
    return y


def _check_expected(labels: Labels, classes: Any) -> None:
    if classes is None:
        return
    unexpected = [label for label in labels.tolist() if label not in np.asarray(classes).tolist()]
    if unexpected:
        raise ClasswiseError(f"y contains the label {unexpected[0]!r}, which is not among classes={list(classes)}.")


def _generator(random_state: Any) -> np.random.Generator:
    """A generator from whatever scikit-learn takes as a seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)
