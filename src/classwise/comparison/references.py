"""Reference classifiers: scikit-learn's softmax regression and nearest neighbors, and the class shares."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import has_fit_parameter

from classwise import limits
from classwise.arrays import Array
from classwise.comparison.candidates import Candidate, HeldOut, Size, are_copies_small
from classwise.comparison.names import BASELINE
from classwise.comparison.trial import Trial
from classwise.errors import ClasswiseError
from classwise.rows.table import Table
from classwise.selection.crossing import Crossing

NEIGHBORS = 15

NEEDS_ROWS = "Needs rows in memory, and these are read as a stream."


@dataclass(frozen=True, eq=False)
class Reference(Candidate):
    """A scikit-learn classifier on standardized numbers and one-hot levels.

    count: from rows, encoded columns and classes to the number of parameters.
    """

    role = "reference"
    problems = (Exception,)
    in_threads = True
    takes_device = True  # of the crossing, not of the caller's table

    count: Callable[[int, int, int], int]

    def refusal(self, size: Size) -> str:
        return NEEDS_ROWS if size.is_streamed and not size.samples else ""

    def seconds(self, size: Size) -> float:
        return size.folds * limits.SOFTMAX_SECONDS * size.rows * size.width * size.classes

    def fits_folds_together(self, crossing: Crossing) -> bool:
        return self.in_threads and are_copies_small(crossing)

    def fit(self, held: HeldOut) -> Any:
        crossing = held.fold.crossing
        training = np.setdiff1d(np.arange(len(crossing.codes)), held.fold.rows, assume_unique=True)
        return fit(self.model, crossing, training)

    def log_posterior(self, fitted: Any, held: HeldOut) -> Array:
        with np.errstate(divide="ignore"):
            logs = np.log(fitted.predict_proba(matrix(held.table())))
        return held.fold.spread(held.fold.crossing.labels[fitted.classes_], logs)

    def described(self, trial: Trial, crossing: Crossing) -> tuple[Trial, None]:
        rows = np.arange(len(crossing.codes))
        encoder = clone(self.model[:-1]).fit(matrix(crossing.table))
        columns = encoder.transform(matrix(crossing.table.take(rows[:1]))).shape[1]
        return replace(trial, free_parameters=self.count(len(rows), columns, len(crossing.labels))), None


class Neighbors(Reference):
    """Nearest neighbors, which are searched among all rows, by threads of scikit-learn's."""

    in_threads = False

    def seconds(self, size: Size) -> float:
        return limits.NEIGHBOR_SECONDS * size.rows**2 * (size.width + limits.NEIGHBOR_COLUMNS)


class ClassShares(Candidate):
    """The class shares as posteriors of every row; they come from the statistics, and take no time."""

    role: ClassVar[str] = "reference"
    takes_device = True

    def fit(self, held: HeldOut) -> Array:
        """The log share of each class in all other folds; (g,)."""
        labels, training = held.fold.crossing.labels, held.fold.training
        weight = np.zeros(len(labels))
        weight[np.searchsorted(labels, training.labels)] = training.weight
        with np.errstate(divide="ignore"):
            return np.log(weight / weight.sum())

    def log_posterior(self, fitted: Array, held: HeldOut) -> Array:
        return np.tile(fitted, (len(held), 1))

    def described(self, trial: Trial, crossing: Crossing) -> tuple[Trial, None]:
        return replace(trial, free_parameters=len(crossing.labels) - 1), None


def references(table: Table) -> list[Candidate]:
    """Softmax regression, nearest neighbors, and the class shares."""
    softmax, neighbors = LogisticRegression(max_iter=500), KNeighborsClassifier(NEIGHBORS)
    return [
        ClassShares(BASELINE, DummyClassifier(strategy="prior")),
        Reference("softmax regression", encoded(softmax, table), lambda n, p, g: (g - 1) * (p + 1)),
        Neighbors(f"{NEIGHBORS} nearest neighbors", encoded(neighbors, table), lambda n, p, g: n * p),
    ]


def encoded(model: Any, table: Table) -> Pipeline:
    """The model on standardized numbers, with missing ones replaced by means, and one-hot levels."""
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
    """Fit the model to some of the rows; an error if they have weights that the model does not support."""
    weights = crossing.table.weights
    options = {}
    if weights is not None:
        own = weights[rows]
        if not np.allclose(own, own[:1]) and not has_fit_parameter(model[-1], "sample_weight"):
            raise ClasswiseError(f"{type(model[-1]).__name__} takes no weights.")
        if has_fit_parameter(model[-1], "sample_weight"):
            options = {"model__sample_weight": own}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that did not converge is scored as it is
        return clone(model).fit(matrix(crossing.table.take(rows)), crossing.codes[rows], **options)
