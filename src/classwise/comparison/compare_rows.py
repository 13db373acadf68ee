"""`compare`: cross-validate the whole family of models, and name the best."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from classwise import limits
from classwise.comparison.cross_validation import MODULES, InMemory, Request, TwoPasses
from classwise.comparison.result import CHOICES, NO_COSTS, ORDERS, Comparison
from classwise.engines import open_rows
from classwise.engines.workers import has_workers, kept_workers
from classwise.errors import ClasswiseError, at_least, choose
from classwise.kernels import with_jobs

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
    n_jobs: int | None = None,
) -> Comparison:
    """Compare classifiers on held-out rows: which one is best, by how much, and how certain that is.

    The Gaussian and naive Bayes family, logistic regression, a stack of several models (AutoClassifier) and reference
    models of scikit-learn are cross-validated on the same folds. The statistics of the family are gathered in one pass.
    Each model is scored on rows that it was not fitted on. Accuracy, log loss, Brier score and calibration error have
    95 % intervals over the folds. Options and temperatures for a fold are chosen on the other folds.

    `print` shows the answer, with the best model of each kind; `.table()` lists all models; `.best` is the winner,
    fitted on all rows; `.fitted(name)` is any other model.

    Parameters
    ----------
    X, y : array, table or source, and array of shape (n,)
        As for all estimators. With `target`, X is any source of rows, as for `summarize`, and target,
        columns, weights and groups are names of columns.
    folds : int, array of shape (n,), splitter or pairs of index arrays, default=10
        A number of stratified folds, the fold of each row, a scikit-learn splitter, or pairs (train, test).
    target : str, optional
        The column of labels.
    columns : sequence of str, optional
        The columns to use, by name or position; by default all.
    weights : str, optional
        The column of weights; by default all rows have weight one.
    sample_weight : array of shape (n,), optional
        The weight of each row: two counts a row twice, zero not at all; by default all are one.
    groups : array of shape (n,), optional
        Rows of one group stay in one fold.
    models : mapping from name to estimator, optional
        Further models by name: classwise estimators, any classifier with fit and predict_proba, or a
        `Candidate` (`classwise.comparison.candidates`), which defines how it is fitted without a fold. They
        may win. A classifier of another library is scored as it is, without a temperature.
    only : sequence of str, optional
        Kinds of models to compare, such as ["lda", "qda", "naive-bayes"], or models by name. The class shares
        stay in the comparison.
    rule : str, default="best"
        "best" chooses the model with the least log loss; "simplest", the one with the fewest free parameters
        within one standard error of the best. `.choose` applies another rule later.
    by : str, optional
        The measure to rank by: "log_loss", "error", "brier" or "cost"; by default "cost" if costs are given,
        and else "log_loss".
    costs : matrix, mapping or function, optional
        The cost of mistakes, as in `Decision`: {true: {decided: cost}}, a matrix, or a function that returns
        one of these for given labels. Each model then makes the decisions of least expected cost, and is
        charged for them.
    time_limit : float or None, default=60.0
        About how many seconds the comparison may take. Models that would take longer are left out, and the
        answer names them; None leaves nothing out. The time of a model is estimated from the size of the
        table, so that the same rows lead to the same models on every machine.
    references : bool or str, default="auto"
        Whether to include the stack, the class shares, and scikit-learn's softmax regression and nearest
        neighbors, which cannot win. With a stream, "auto" leaves the last two out, and True fits them on a
        sample.
    calibrate : {"temperature"} or None, default="temperature"
        "temperature" also scores each model with a temperature, except logistic regression, whose
        probabilities are fitted to the labels already, and the stack, which has its own; None scores all
        models as they are.
    families : str or mapping from column to family, default="auto"
        How to model the columns, as in NaiveBayes.
    random_state : int, default=0
        The seed of folds, samples and models.
    stream : bool or str, default="auto"
        With `target`, whether to read the rows as a stream, in two passes with flat memory; "auto" does so
        above 20 million values. Folds are then a number, and rows are assigned to them at random, always in
        the same way. The first pass fits the models. The second scores rows: about 20 million values, drawn
        at random, or all with time_limit=None.
    sample : int, default=100000
        With a stream, the number of rows that are drawn at random to choose options and temperatures.
        Covariances are those of all rows. Logistic regression is fitted on the sample.
    n_jobs : int, optional
        How many threads work: a number, -1 for all cores, or -2 for all but one. Unlike in scikit-learn, None
        is up to eight cores, or up to six where there are no worker processes, unless `joblib.parallel_config`,
        OMP_NUM_THREADS or threadpoolctl say otherwise. It changes no result.

    Returns
    -------
    Comparison
        The result of every model.

    Examples
    --------
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
    request = Request(
        models or {},
        None if only is None else [only] if isinstance(only, str) else list(only),
        choose("references", references, REFERENCES),
        choose("calibrate", calibrate, CALIBRATIONS),
        choose("rule", rule, CHOICES),
        ("log_loss" if costs is None else "cost") if by is None else choose("by", by, ORDERS),
        costs,
        None if time_limit is None else at_least("time_limit", time_limit, 0),
    )
    if request.by == "cost" and costs is None:
        raise ClasswiseError(NO_COSTS)
    if target is None:
        if y is None or columns is not None or weights is not None or streamed is not None:
            raise ClasswiseError(
                "y is missing: give the labels; or target='...', the name of their column, which columns, weights and "
                "stream go with."
            )
        return _compared(InMemory(X, y, folds, sample_weight, groups, families, random_state), request, n_jobs)
    if y is not None or sample_weight is not None:
        raise ClasswiseError(f"target={target!r} names the column of the labels: leave y out, and name the weights.")
    with with_jobs(n_jobs, limits.SIDE_BY_SIDE):
        rows = open_rows(X, target=target, columns=columns, weights=weights, groups=groups, families=families)
        held = None if streamed else rows.held(None if streamed is None else np.inf)
        if held is None:
            rows.refuse_gone("A comparison of a stream")
            count, drawn = _checked(folds, sample)
            twice = TwoPasses.read(rows, count, drawn, int(random_state or 0), families, request.models)
            return twice.compare(request)
    rows_held = InMemory(held.X, held.y, folds, held.weights, held.groups, families, random_state)
    return _compared(rows_held, request, n_jobs)


def _compared(rows: InMemory, request: Request, n_jobs: int | None) -> Comparison:
    with kept_workers(n_jobs, rows.workers_pay(request), MODULES, limits.COMPARE_WORKERS):
        has_workers()  # they start while the rows are read
        return rows.compare(request)


def _checked(folds: Any, sample: int) -> tuple[int, int]:
    """The number of folds and the size of the sample, checked: each fold needs some rows of the sample."""
    if not isinstance(folds, (int, np.integer)) or isinstance(folds, bool) or folds < 2:
        shown = repr(folds) if isinstance(folds, (int, float, str)) else f"<{type(folds).__name__}>"
        raise ClasswiseError(
            f"folds={shown} is not an option for a stream; give a number from 2 on, and groups='...' for rows that "
            "stay together."
        )
    if sample < 100 * folds:
        raise ClasswiseError(f"sample={sample!r} is too small for {folds} folds; give {100 * folds} rows at least.")
    return int(folds), int(sample)
