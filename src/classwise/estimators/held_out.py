"""Importance on held-out rows: an estimator is fitted again without each fold, and scored on the rows of the fold."""

import warnings
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.engines.progress import progress, silent
from classwise.errors import ClasswiseError, whole
from classwise.estimators.answers import Answers, codes_among, read_seed
from classwise.estimators.decisions import model_within
from classwise.estimators.fit_summary import left_out
from classwise.estimators.importance import Importance, LossSums, shuffled_sums
from classwise.rows.codes import code_labels
from classwise.rows.frames import read_labels
from classwise.rows.sources import open_source, required
from classwise.selection import assign_folds, no_more_than


def held_out_importance(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    folds: Any = 5,
    repeats: int = 5,
    most_rows: int = limits.IMPORTANCE_ROWS,
    random_state: Any = 0,
) -> Importance:
    """Which columns matter on held-out rows: an `Importance`, as `m.importance(X, y)` returns.

    Parameters
    ----------
    estimator : classifier
        Any classifier, fitted or not. It is not changed: copies of it are fitted without each fold, and
        scored on the rows of the fold. For a classifier of another library, columns are shuffled.
    X : array or table of shape (n, p)
        Rows.
    y : array of shape (n,)
        The labels of the rows.
    sample_weight : array of shape (n,), optional
        The weight of each row: two counts a row twice, zero not at all; by default all are one.
    folds : int, array of shape (n,) or splitter, default=5
        A number of stratified folds, the fold of each row, or a scikit-learn splitter.
    repeats : int, default=5
        How often a column is shuffled, if the model cannot integrate it out.
    most_rows : int, default=5000
        The most rows to use; of more rows, this many are drawn at random.
    random_state : int, RandomState or Generator, default=0
        The seed of what is drawn at random.

    Returns
    -------
    Importance
        The importance of each column, with its standard error.

    Notes
    -----
    Rows of a class that no other fold has are left out.

    Examples
    --------
    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> cw.held_out_importance(cw.LDA(), X, y).names[:2]
    ('petal length (cm)', 'petal width (cm)')
    """
    seed, times = read_seed(random_state), whole("repeats", repeats, 1)
    source = open_source(X)
    labels, missing = read_labels(required(y))
    if len(labels) != len(source.values):
        raise ClasswiseError(f"X has {len(source.values)} rows and y has {len(labels)} labels; each row needs one.")
    weights = np.broadcast_to(np.asarray(1.0 if sample_weight is None else sample_weight, np.float64), labels.shape)
    weights = weights if missing is None else np.where(missing, 0.0, weights)
    counted = np.flatnonzero(weights > 0)
    own = assign_folds(no_more_than(folds, len(counted)), code_labels(labels[counted])[1], None, seed, weights > 0)
    if len(counted) > whole("most_rows", most_rows, 2):
        drawn = np.sort(np.random.default_rng(seed).choice(len(counted), most_rows, replace=False))
        counted, own = counted[drawn], own[drawn]
    rows = _GivenRows(
        X if hasattr(X, "__getitem__") else np.asarray(X), labels, None if sample_weight is None else weights
    )
    found: list[LossSums] = []
    with progress("Importance, fold by fold", len(np.unique(own))) as bar, silent(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit to all rows gives the same warnings
        for fold in np.unique(own).tolist():
            model, held = rows.fit(clone(estimator), counted[own != fold]), counted[own == fold]
            held = held[np.isin(labels[held], model.classes_)]
            if len(held):
                found.append(_sums(model_within(model), rows.take(held), times, seed))
            bar.step()
    if not found:
        raise ClasswiseError("No class has rows in two folds, so none can be held out; give more rows of each class.")
    inner = model_within(model)
    ours = isinstance(inner, Answers)
    names = source.names or range(source.n_features)
    return Importance.of(reduce(add, found), names, left_out(inner) if ours else {}, ours and inner._integrates, True)


class _GivenRows(NamedTuple):
    """Rows as the caller gave them, labels (n,), and weights (n,) if given."""

    X: Any
    y: Labels
    weights: Array | None

    def take(self, places: Any) -> "_GivenRows":
        weights = None if self.weights is None else self.weights[places]
        return _GivenRows(_safe_indexing(self.X, places), self.y[places], weights)

    def fit(self, model: Any, places: Any) -> Any:
        """The model, fitted to some of the rows."""
        X, y, weights = self.take(places)
        return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)


def _sums(model: Any, rows: _GivenRows, repeats: int, seed: int) -> LossSums:
    """The sums of the losses of some rows, with all columns and without each."""
    if isinstance(model, Answers):
        return model._loss_sums(model._labeled(*rows), repeats, seed)
    codes = codes_among(model.classes_, rows.y)
    weights = np.ones(len(codes)) if rows.weights is None else rows.weights

    def log_posterior(X: Any) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(model.predict_proba(X))

    return shuffled_sums(log_posterior, rows.X, codes, weights, repeats, seed)
