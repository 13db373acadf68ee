"""Rows held out from models that learn from rows, and not from statistics of them: one fit for each fold."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from classwise.arrays import Array, Labels
from classwise.rows.codes import code_labels
from classwise.rows.sources import Source, read_counted
from classwise.selection.folds import assign_folds, no_more_than
from classwise.selection.temperature import OutOfFold

# Fits to rows with labels and weights, and answers for others: the labels it knows, and their log posteriors (m, g).
FitAndAnswer: TypeAlias = Callable[[Source, Labels, Array, Source], tuple[Labels, Array]]


def out_of_fold_by_rows(fit: FitAndAnswer, X: Any, y: Any, weights: Any, folds: Any, seed: int) -> OutOfFold:
    """The log posteriors of each row under the model of the other folds. A row whose class no other fold has is
    not scored: no model could know it.
    """
    source, table, counted = read_counted(X, y, weights)
    assert table.labels is not None
    labels, codes = code_labels(table.labels)
    assigned = assign_folds(no_more_than(folds, len(codes)), codes, None, seed, counted)
    own = np.ones(len(codes)) if table.weights is None else table.weights
    answers = np.full((len(codes), len(labels)), -np.inf)
    for fold in np.unique(assigned):
        held, others = np.flatnonzero(assigned == fold), np.flatnonzero(assigned != fold)
        known, found = fit(source.take(others), labels[codes[others]], own[others], source.take(held))
        answers[np.ix_(held, np.searchsorted(labels, known))] = found
    scored = np.flatnonzero(np.isfinite(answers[np.arange(len(codes)), codes]))
    return OutOfFold(answers[scored], codes[scored], assigned[scored], own[scored])
