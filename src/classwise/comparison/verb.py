"""Which classifier to trust: every member of the family, cross-validated from one pass over the rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from classwise.comparison.cross_validation import InMemory, TwoPasses
from classwise.comparison.result import Comparison
from classwise.engines import open_rows
from classwise.errors import ClasswiseError, choose

CALIBRATIONS = {None: False, "temperature": True}
REFERENCES = {"auto": None, True: True, False: False}
STREAMS = {"auto": None, True: True, False: False}


def compare(
    X: Any,
    y: Any = None,
    folds: Any = 10,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    models: Mapping[str, Any] | None = None,
    references: bool | str = "auto",
    calibrate: str | None = "temperature",
    families: Any = "auto",
    random_state: int = 0,
    stream: bool | str = "auto",
    sample: int = 100_000,
) -> Comparison:
    """Cross-validate the whole family on the same folds, from statistics gathered in one pass; and logistic regression.

    Bayesian logistic regression is fitted on rows: "logistic", with its most probable weights, and for up to four
    classes "logistic, averaged" over their posterior. It may win like any member, but has no power and no evidence.

    Every model answers for rows it was not fitted on. Error, log loss, Brier score and calibration error have 95 %
    intervals over the folds; dials, priors' strengths and powers that are used for a fold are chosen on the others.
    `.table()` shows all, `.best` is the simplest of those that tie with the best, fitted on all rows.

    X, y: as for all estimators. Or, with `target`, X is whatever holds or yields rows, as for `summarize`, and target,
        columns, weights and groups are names of columns.
    folds: a number of stratified folds, the fold of each row, a splitter of scikit-learn's, or pairs (train, test).
    groups (n,): rows of one group stay in one fold.
    models: further models by name: estimators of classwise, any classifier with fit and predict_proba, or a `Candidate`
        (`classwise.comparison.candidates`), which says itself how it is fitted without a fold.
    references: softmax regression, nearest neighbors and the class shares, from scikit-learn, and the stack of
        AutoClassifier, which is many models and so cannot win: `fitted("stack")` has it, with its members. "auto"
        leaves the slow ones out of large tables, and says so. So is logistic regression where it would take minutes,
        unless this is True.
    calibrate: "temperature" also gives every model the power that suits its posteriors, but not logistic regression,
        whose probabilities are fitted to labels already; None leaves them as they are.
    families: what columns are, as in NaiveBayes.
    stream: with `target`: whether rows are read as a stream, in two passes with flat memory; "auto" does so where there
        are more than 20 million values. Folds are then a number, dealt by chance, and the same each time. The first
        pass learns; the second scores every row.
    sample: of a stream, so many rows are drawn by chance, and options and powers are chosen by them, while covariances
        are those of all rows. Logistic regression is fitted on the sample; references are left out, unless
        references=True fits them on it, too.

    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = cw.compare(X, y, references=False)
    >>> comparison.best
    LDA(shrink='ledoit-wolf')
    """
    power = choose("calibrate", calibrate, CALIBRATIONS)
    rivals = choose("references", references, REFERENCES)
    streamed = choose("stream", stream, STREAMS)
    given = models or {}
    if target is None:
        if y is None or columns is not None or weights is not None or streamed is not None:
            raise ClasswiseError(
                "y is missing: give the labels; or target='...', the name of their column, which columns, weights and "
                "stream go with."
            )
        return InMemory(X, y, folds, sample_weight, groups, families, random_state).compare(given, rivals, power)
    if y is not None or sample_weight is not None:
        raise ClasswiseError(f"target={target!r} names the column of the labels: leave y out, and name the weights.")
    rows = open_rows(X, target=target, columns=columns, weights=weights, groups=groups, families=families)
    held = None if streamed else rows.held(None if streamed is None else np.inf)
    if held is not None:
        rows_held = InMemory(held.X, held.y, folds, held.weights, held.groups, families, random_state)
        return rows_held.compare(given, rivals, power)
    rows.refuse_gone("A comparison of a stream")
    count, drawn = _checked(folds, sample)
    twice = TwoPasses.read(rows, count, drawn, int(random_state or 0), families, given)
    return twice.compare(given, rivals, power)


def _checked(folds: Any, sample: int) -> tuple[int, int]:
    """How many folds, and how large a sample: each fold must have some rows of it."""
    if not isinstance(folds, (int, np.integer)) or isinstance(folds, bool) or folds < 2:
        shown = repr(folds) if isinstance(folds, (int, float, str)) else f"<{type(folds).__name__}>"
        raise ClasswiseError(
            f"folds={shown} is not an option for a stream; give a number from 2 on, and groups='...' for rows that "
            "stay together."
        )
    if sample < 100 * folds:
        raise ClasswiseError(f"sample={sample!r} is too small for {folds} folds; give {100 * folds} rows at least.")
    return int(folds), int(sample)
