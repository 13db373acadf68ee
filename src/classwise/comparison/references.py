"""Classifiers beside the family, fitted on rows: logistic regression, scikit-learn's, the caller's."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from classwise.arrays import Array, Codes, Labels
from classwise.errors import ClasswiseError
from classwise.estimators import BayesianLogistic
from classwise.rows.table import Table
from classwise.selection.crossing import Crossing, Fold

NEIGHBORS = 15


@dataclass(frozen=True, eq=False)
class Reference:
    """A classifier of scikit-learn's, and how many numbers it estimates, given rows, encoded columns and classes."""

    model: Any
    free_parameters: Callable[[int, int, int], int]

    def log_posterior(self, fold: Fold) -> Array:
        """log P(k | x) of the rows held out; (m, g)."""
        return self.answer(self.fitted(fold), fold, fold.crossing.table.take(fold.rows))

    def fitted(self, fold: Fold) -> Any:
        """The model of the rows of all other folds."""
        crossing = fold.crossing
        training = np.setdiff1d(np.arange(len(crossing.codes)), fold.rows, assume_unique=True)
        return fit(self.model, crossing, training)

    def answer(self, fitted: Any, fold: Fold, rows: Table) -> Array:
        """log P(k | x) of rows under a fitted model; (m, g)."""
        with np.errstate(divide="ignore"):
            logs = np.log(fitted.predict_proba(matrix(rows)))
        return fold.spread(fold.crossing.labels[fitted.classes_], logs)

    def work(self, table: Table) -> int:
        """How long it takes, about: rows times columns."""
        return len(table) * len(table.schema)

    def count(self, crossing: Crossing) -> int:
        """Its parameters, if it is fitted to all rows."""
        rows = np.arange(len(crossing.codes))
        encoder = clone(self.model[:-1]).fit(matrix(crossing.table))
        columns = encoder.transform(matrix(crossing.table.take(rows[:1]))).shape[1]
        return self.free_parameters(len(rows), columns, len(crossing.labels))


@dataclass(eq=False)
class Given:
    """A classifier of the caller's, on rows as they came."""

    model: Any
    X: Any

    def log_posterior(self, fold: Fold) -> Array:
        """log P(k | x) of the rows held out; (m, g)."""
        return self.answer(self.fitted(fold), fold, self.taken(fold.crossing, fold.rows))

    def fitted(self, fold: Fold) -> Any:
        """The model of the rows of all other folds."""
        rows, labels, weights = self.training(fold.crossing, fold.rows)
        options = {} if weights is None else {"sample_weight": weights}
        return clone(self.model).fit(rows, labels, **options)

    def answer(self, fitted: Any, fold: Fold, rows: Any) -> Array:
        """log P(k | x) of rows under a fitted model; (m, g)."""
        with np.errstate(divide="ignore"):
            logs = np.log(fitted.predict_proba(rows))
        return fold.spread(fitted.classes_, logs)

    def training(self, crossing: Crossing, without: Codes) -> tuple[Any, Labels, Array | None]:
        """All rows but some, with their labels and weights."""
        weights = crossing.table.weights
        rows = np.setdiff1d(np.arange(len(crossing.codes)), without, assume_unique=True)
        labels = crossing.labels[crossing.codes[rows]]
        return self.taken(crossing, rows), labels, None if weights is None else weights[rows]

    def taken(self, crossing: Crossing, rows: Codes) -> Any:
        """Some of the rows, in the kind of table that they came in."""
        return _safe_indexing(self.X if hasattr(self.X, "__getitem__") else np.asarray(self.X), crossing.places[rows])

    def like(self, rows: Any) -> Any:
        """Rows of pyarrow's, in the kind of table that the model was fitted on."""
        return rows.to_pandas() if hasattr(self.X, "iloc") else rows

    def count(self, crossing: Crossing) -> None:
        """How many parameters it has is not known."""


@dataclass(eq=False)
class Twin(Given):
    """Logistic regression, averaged over its weights in one way or another: the fits are the same, and are kept.

    Each starts from that of all rows, which is near.
    """

    fits: dict[int, BayesianLogistic] = field(default_factory=dict)

    def fitted(self, fold: Fold) -> BayesianLogistic:
        """The model of the rows of all other folds."""
        return self._averaged(self._fit(fold.crossing, fold.rows))

    def answer(self, fitted: BayesianLogistic, fold: Fold, rows: Any) -> Array:
        """log P(k | x) of rows under a fitted model; (m, g)."""
        return fold.spread(fitted.classes_, fitted.predict_log_proba(rows))

    def trained(self, crossing: Crossing) -> BayesianLogistic:
        """The model of all rows."""
        return self._averaged(self._fit(crossing, np.zeros(0, dtype=np.intp)))

    def _fit(self, crossing: Crossing, without: Codes) -> BayesianLogistic:
        key = int(without[0]) if len(without) else -1
        if key not in self.fits:
            near = self._fit(crossing, without[:0]).near() if len(without) else None
            rows, labels, weights = self.training(crossing, without)
            self.fits[key] = clone(self.model)._fit(rows, labels, weights, near)
        return self.fits[key]

    def _averaged(self, fitted: BayesianLogistic) -> BayesianLogistic:
        return fitted.predicting(self.model.predictive)


class Neighbors(Reference):
    """Looked for among indicators of levels, of which there are many more than columns."""

    def work(self, table: Table) -> int:
        return super().work(table) + len(table) * sum(len(levels) - 1 for levels in table.levels.values())


class ClassShares(Reference):
    """The shares of the classes, whatever the row: statistics know them."""

    def work(self, table: Table) -> int:
        return 0


def references(crossing: Crossing) -> dict[str, Reference]:
    """Softmax regression, nearest neighbors, and the shares of the classes."""
    table = crossing.table
    softmax, neighbors = LogisticRegression(max_iter=500), KNeighborsClassifier(NEIGHBORS)
    shares = DummyClassifier(strategy="prior")
    return {
        "softmax regression": Reference(encoded(softmax, table), lambda n, p, g: (g - 1) * (p + 1)),
        f"{NEIGHBORS} nearest neighbors": Neighbors(encoded(neighbors, table), lambda n, p, g: n * p),
        "class shares": ClassShares(encoded(shares, table), lambda n, p, g: g - 1),
    }


def encoded(model: Any, table: Table) -> Pipeline:
    """The model on numbers in standard units, means for missing ones, and an indicator for each level."""
    levels = sorted(table.levels)
    numbers = [j for j in range(len(table.schema)) if j not in table.levels]
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2, sparse_output=False)
    parts = [
        ("numbers", make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers),
        ("levels", one_hot, levels),
    ]
    return Pipeline([("columns", ColumnTransformer(parts)), ("model", model)])


def matrix(table: Table) -> Array:
    """Rows as numbers, levels as their positions."""
    return np.asarray(table.rows, dtype=np.float64)


def fit(model: Pipeline, crossing: Crossing, rows: Any) -> Any:
    """The model of some of the rows; an error if it cannot weigh them as it is asked to."""
    weights = crossing.table.weights
    options = {}
    if weights is not None:
        own = weights[rows]
        if not np.allclose(own, own[:1]) and not has_fit_parameter(model[-1], "sample_weight"):
            raise ClasswiseError(f"{type(model[-1]).__name__} takes no weights.")
        if has_fit_parameter(model[-1], "sample_weight"):
            options = {"model__sample_weight": own}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a search that stopped early still gives probabilities, which are scored
        return clone(model).fit(matrix(crossing.table.take(rows)), crossing.codes[rows], **options)
