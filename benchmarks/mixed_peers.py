"""Naive Bayes on numbers and levels by others: two models of scikit-learn together, and the package mixed-naive-bayes.

Both want levels as codes. scikit-learn's OrdinalEncoder finds them from text; a table of categories has them already,
and handing over those is the fastest that a user can write. Columns stay together in memory (Fortran's order), which
all of these are faster with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from mixed_tables import CATEGORIES, LEVELS, NUMBERS
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

Array = NDArray[np.float64]

HOW_TO_INSTALL = "mixed-naive-bayes is not installed, and is left out; to compare: pip install mixed-naive-bayes"


def numbers(X: pd.DataFrame | pa.Table) -> Array:
    """The columns of numbers; (n, p)."""
    if isinstance(X, pa.Table):
        return np.array([X[name].to_numpy() for name in NUMBERS]).T
    return X[NUMBERS].to_numpy()


def codes(X: pd.DataFrame | pa.Table) -> NDArray[np.int64]:
    """The codes that the table itself has for its levels; (n, p)."""
    if isinstance(X, pa.Table):
        columns = [X[name].combine_chunks().indices.to_numpy() for name in CATEGORIES]
    else:
        columns = [X[name].cat.codes.to_numpy() for name in CATEGORIES]
    return np.array(columns, dtype=np.int64).T


def texts(X: pd.DataFrame | pa.Table) -> NDArray[np.object_]:
    """The levels as text (n, p): objects are what OrdinalEncoder is fastest with."""
    return X.select(CATEGORIES).to_pandas().to_numpy() if isinstance(X, pa.Table) else X[CATEGORIES].to_numpy()


def matrix(X: pd.DataFrame | pa.Table) -> Array:
    """Numbers, then codes, in one array."""
    whole = np.empty((len(X), len(NUMBERS) + len(CATEGORIES)), order="F")
    whole[:, : len(NUMBERS)] = numbers(X)
    whole[:, len(NUMBERS) :] = codes(X)
    return whole


def as_it_is(X: Any) -> Any:
    return X


class Combination:
    """log joint = GaussianNB's on the numbers + CategoricalNB's on the levels - the log prior, which is in both."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder

    def fit(self, X: Any, y: NDArray[np.int64]) -> "Combination":
        self.of_numbers = GaussianNB(var_smoothing=0.0).fit(numbers(X), y)
        self.of_levels = CategoricalNB(alpha=1.0).fit(self.encoder.fit_transform(X), y)
        return self

    def predict_proba(self, X: Any) -> Array:
        first = self.of_numbers.predict_joint_log_proba(numbers(X))
        second = self.of_levels.predict_joint_log_proba(self.encoder.transform(X))
        # Rows side by side: maxima and sums over a few classes are several times faster that way.
        scores = np.add(first.T, second.T, order="C")
        scores -= self.of_levels.class_log_prior_[:, None]
        scores -= scores.max(axis=0)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=0)
        return scores.T


class Mixed:
    """MixedNB, made anew for each fit, since it refuses to be fitted twice; encode: what the user does first."""

    def __init__(self, encode: Callable[[Any], Array], **options: float) -> None:
        self.encode = encode
        self.options = options

    def fit(self, X: Any, y: NDArray[np.int64]) -> "Mixed":
        columns = list(range(len(NUMBERS), len(NUMBERS) + len(CATEGORIES)))
        sizes = [len(LEVELS)] * len(CATEGORIES)  # given them, it need not look for them
        make = import_module("mixed_naive_bayes").MixedNB
        self.model = make(categorical_features=columns, max_categories=sizes, **self.options)
        self.model.fit(self.encode(X), y)
        return self

    def predict_proba(self, X: Any) -> Array:
        return self.model.predict_proba(self.encode(X))


@dataclass(frozen=True)
class Peer:
    """model: with fit and predict_proba; reads: what of the table it is handed, before the clock starts."""

    name: str
    model: Any
    reads: Callable[[Any], Any] = as_it_is


# With the smoothing that ours has by default, and no variance added.
SAME = {"alpha": 1.0, "var_smoothing": 0.0}


def combinations() -> list[Peer]:
    encoder = make_pipeline(FunctionTransformer(texts), OrdinalEncoder(dtype=np.int64))
    return [
        Peer("scikit-learn, OrdinalEncoder", Combination(encoder)),
        Peer("scikit-learn, the table's codes", Combination(FunctionTransformer(codes))),
    ]


def mixed() -> list[Peer]:
    return [
        Peer("mixed-naive-bayes", Mixed(matrix, **SAME)),
        Peer("mixed-naive-bayes, encoded before", Mixed(as_it_is, **SAME), matrix),
    ]


def why_not_mixed(X: Any, y: NDArray[np.int64]) -> str | None:
    """Why mixed-naive-bayes cannot be compared with, on a few rows; None if it can."""
    try:
        Mixed(matrix, **SAME).fit(X, y).predict_proba(X)
    except ModuleNotFoundError as problem:
        return HOW_TO_INSTALL if problem.name == "mixed_naive_bayes" else f"mixed-naive-bayes is left out: {problem}"
    except Exception as problem:  # whatever an old package may stumble over is its answer
        return f"mixed-naive-bayes does not run here, and is left out: {type(problem).__name__}: {problem}"
    return None
