"""scikit-learn's classifiers beside the family: what a reader would hold it against."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
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

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.estimators import Crossing, Fold
from classwise.tables import Table

NEIGHBORS = 15


@dataclass(frozen=True, eq=False)
class Reference:
    """A classifier of scikit-learn's, and how many numbers it estimates, given rows, encoded columns and classes."""

    model: Any
    free_parameters: Callable[[int, int, int], int]

    def log_posterior(self, fold: Fold) -> Array:
        """log P(k | x) of the rows held out; (m, g)."""
        crossing = fold.crossing
        training = np.setdiff1d(np.arange(len(crossing.codes)), fold.rows, assume_unique=True)
        weights = crossing.table.weights
        if weights is not None:
            training = training[weights[training] > 0]
        fitted = fit(self.model, crossing, training)
        with np.errstate(divide="ignore"):
            logs = np.log(fitted.predict_proba(matrix(crossing.table.take(fold.rows))))
        return fold.spread(crossing.labels[fitted.classes_], logs)

    def count(self, crossing: Crossing) -> int:
        """Its parameters, if it is fitted to all rows."""
        rows = np.arange(len(crossing.codes))
        encoder = clone(self.model[:-1]).fit(matrix(crossing.table))
        columns = encoder.transform(matrix(crossing.table.take(rows[:1]))).shape[1]
        return self.free_parameters(len(rows), columns, len(crossing.labels))


@dataclass(frozen=True, eq=False)
class Given:
    """A classifier of the caller's, on rows as they came."""

    model: Any
    X: Any

    def log_posterior(self, fold: Fold) -> Array:
        """log P(k | x) of the rows held out; (m, g)."""
        crossing = fold.crossing
        weights = crossing.table.weights
        kept = np.ones(len(crossing.codes), dtype=bool) if weights is None else weights > 0
        kept[fold.rows] = False
        training = np.flatnonzero(kept)
        options = {} if weights is None else {"sample_weight": weights[training]}
        labels = crossing.labels[crossing.codes[training]]
        fitted = clone(self.model).fit(_safe_indexing(self.X, training), labels, **options)
        with np.errstate(divide="ignore"):
            logs = np.log(fitted.predict_proba(_safe_indexing(self.X, fold.rows)))
        return fold.spread(fitted.classes_, logs)

    def count(self, crossing: Crossing) -> None:
        """How many parameters it has is not known."""


def references(crossing: Crossing) -> dict[str, Reference]:
    """Softmax regression, nearest neighbors, and the shares of the classes."""
    models = {
        "softmax regression": (LogisticRegression(max_iter=500), lambda n, p, g: (g - 1) * (p + 1)),
        f"{NEIGHBORS} nearest neighbors": (KNeighborsClassifier(NEIGHBORS), lambda n, p, g: n * p),
        "class shares": (DummyClassifier(strategy="prior"), lambda n, p, g: g - 1),
    }
    return {name: Reference(encoded(model, crossing.table), count) for name, (model, count) in models.items()}


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
