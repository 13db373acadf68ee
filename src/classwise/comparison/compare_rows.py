"""Which classifier to trust: every member of the family, cross-validated from one pass over the rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from classwise import limits
from classwise.comparison.cross_validation import InMemory, Request, TwoPasses
from classwise.comparison.result import CHOICES, NO_COSTS, ORDERS, Comparison
from classwise.engines import open_rows
from classwise.errors import ClasswiseError, at_least, choose

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
    only: Sequence[str] | None = None,
    rule: str = "best",
    by: str | None = None,
    costs: Any = None,
    time_limit: float | None = limits.COMPARE_SECONDS,
    references: bool | str = "auto",
    calibrate: str | None = "temperature",
    families: Any = "auto",
    random_state: int = 0,
    stream: bool | str = "auto",
    sample: int = 100_000,
) -> Comparison:
    """Which classifier does best on rows it has not seen, by how much, and how sure that is; prints as an answer.

    The whole family is cross-validated on the same folds, from statistics gathered in one pass, with logistic
    regression, a stack of several models (AutoClassifier), and yardsticks of scikit-learn's beside it. Every model
    answers for rows it was not fitted on. Accuracy, log loss, Brier score and calibration error have 95 % intervals
    over the folds; options and temperatures that are used for a fold are chosen on the others.

    `print` shows the answer, with the best model of each kind; `.table()` has all; `.best` is the winner, fitted on all
    rows; `.fitted(name)` is any other.

    X, y: as for all estimators. Or, with `target`, X is whatever holds or yields rows, as for `summarize`, and target,
        columns, weights and groups are names of columns.
    folds: a number of stratified folds, the fold of each row, a splitter of scikit-learn's, or pairs (train, test).
    groups (n,): rows of one group stay in one fold.
    models: further models by name: estimators of classwise, any classifier with fit and predict_proba, or a `Candidate`
        (`classwise.comparison.candidates`), which says itself how it is fitted without a fold. They may win; a
        classifier from elsewhere is scored as it is, without a temperature.
    only: kinds of models to compare, such as ["lda", "qda", "naive-bayes"], or models by their names; the class shares
        stay beside them.
    rule: how the winner is chosen: "best", with the least log loss; or "simplest", with fewest free parameters among
        those within one standard error of it. `.choose` chooses by another rule later.
    by: what is ranked by instead: "log_loss", "error", "brier", or "cost", which is taken where costs are given.
    costs: what mistakes cost, as in `Decision`: {true: {decided: cost}} or a matrix, or a function that makes either of
        the labels. Each model is then charged for its decisions of least expected cost.
    time_limit: about how many seconds all may take. What would take longer is left out, and the answer says so; None
        leaves nothing out. How long a model takes is reckoned from the size of the table, so that the same rows have
        the same models compared everywhere.
    references: softmax regression and nearest neighbors of scikit-learn, which are yardsticks and cannot win, the class
        shares, and the stack. "auto" leaves the first two out of streams, True fits them on a sample there.
    calibrate: "temperature" also gives every model the temperature that suits its posteriors, but not logistic
        regression, whose probabilities are fitted to labels already; None leaves them as they are.
    families: what columns are, as in NaiveBayes.
    stream: with `target`: whether rows are read as a stream, in two passes with flat memory; "auto" does so where there
        are more than 20 million values. Folds are then a number, dealt by chance, and the same each time. The first
        pass learns; the second scores every row.
    sample: of a stream, so many rows are drawn by chance, and options and temperatures are chosen by them, while
        covariances are those of all rows. Logistic regression is fitted on the sample.

    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = cw.compare(X, y, only=["lda", "qda"])
    >>> comparison.best
    LDA(shrink='ledoit-wolf')
    >>> comparison.choose("simplest", by="error").best
    LDA()
    """
    streamed = choose("stream", stream, STREAMS)
    asked = Request(
        models or {},
        None if only is None else [only] if isinstance(only, str) else list(only),
        choose("references", references, REFERENCES),
        choose("calibrate", calibrate, CALIBRATIONS),
        choose("rule", rule, CHOICES),
        ("log_loss" if costs is None else "cost") if by is None else choose("by", by, ORDERS),
        costs,
        None if time_limit is None else at_least("time_limit", time_limit, 0),
    )
    if asked.by == "cost" and costs is None:
        raise ClasswiseError(NO_COSTS)
    if target is None:
        if y is None or columns is not None or weights is not None or streamed is not None:
            raise ClasswiseError(
                "y is missing: give the labels; or target='...', the name of their column, which columns, weights and "
                "stream go with."
            )
        return InMemory(X, y, folds, sample_weight, groups, families, random_state).compare(asked)
    if y is not None or sample_weight is not None:
        raise ClasswiseError(f"target={target!r} names the column of the labels: leave y out, and name the weights.")
    rows = open_rows(X, target=target, columns=columns, weights=weights, groups=groups, families=families)
    held = None if streamed else rows.held(None if streamed is None else np.inf)
    if held is not None:
        rows_held = InMemory(held.X, held.y, folds, held.weights, held.groups, families, random_state)
        return rows_held.compare(asked)
    rows.refuse_gone("A comparison of a stream")
    count, drawn = _checked(folds, sample)
    twice = TwoPasses.read(rows, count, drawn, int(random_state or 0), families, asked.models)
    return twice.compare(asked)


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
