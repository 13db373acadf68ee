"""`select_columns`: forward, backward or best-subset selection by log loss on held-out rows."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from classwise import limits
from classwise.classifier.plan import Plan
from classwise.comparison.column_selection import RULES, ColumnSelection
from classwise.densities.blocks import why_constant, why_ignored
from classwise.engines import BLAS, Rows, open_rows
from classwise.errors import ClasswiseError, choose, whole
from classwise.estimators.answers import read_seed
from classwise.estimators.plans import left_to_rows, plan_of
from classwise.estimators.summary import SummaryEstimator, crosses
from classwise.rows.device_rows import to_host
from classwise.rows.sources import open_source
from classwise.selection.column_search import ColumnSearch, FoldLosses, Search, backward, best_subsets, forward
from classwise.selection.crossing import Crossing
from classwise.statistics import ClassStatistics, FullScatter
from classwise.statistics.copies import find_copies

METHODS: dict[str, Search] = {"forward": forward, "backward": backward, "best": best_subsets}
NESTED = {"auto": None, True: True, False: False}

# The fewest folds of which one can be left out, and others still be held out.
FEWEST_FOLDS = 3


def select_columns(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    method: str = "forward",
    folds: Any = 10,
    most: int | None = None,
    rule: str = "best",
    nested: bool | str = "auto",
    target: str | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = 0,
) -> ColumnSelection:
    """Which columns to use: the set of columns with the least log loss on held-out rows.

    The rows are read once, into statistics by fold. A set of columns restricts the same sums, so that thousands of
    sets are scored in a second. The least of many log losses is too good; so the whole search is repeated without each
    fold, and what it chose is scored on that fold (`nested`).

    Parameters
    ----------
    model : estimator
        A model that is made of statistics, with nothing left to cross-validation: LDA, QDA, NearestMean, NaiveBayes or
        GaussianClassifier. It is not changed. Sets are scored quickest without shrinking.
    X, y : array, table or source, and array of shape (n,)
        As for all estimators. With `target`, X is any source of rows, as for `summarize`, and target, columns, weights
        and groups are names of columns. Of more than 20 million values, the statistics are those of all rows, and a
        sample of 100,000 rows is scored.
    method : {"forward", "backward", "best"}, default="forward"
        "forward" adds one column after another, "backward" removes one after another, "best" tries all sets, up to
        about a million.
    folds : int, array of shape (n,), splitter or "loo", default=10
        As for `compare`; "loo" leaves out one row at a time.
    most : int, optional
        The most columns of a set; by default all.
    rule : {"best", "simplest"}, default="best"
        "best" chooses the least log loss, "simplest" the fewest columns within one standard error of it.
    nested : bool or "auto", default="auto"
        Whether to repeat the search without each fold; "auto" does so unless folds="loo".
    target : str, optional
        The column of labels.
    columns : sequence of str, optional
        The columns to choose from; by default all.
    weights : str, optional
        The column of weights; by default all rows have weight one.
    sample_weight : array of shape (n,), optional
        The weight of each row: two counts a row twice, zero not at all; by default all are one.
    groups : array of shape (n,), optional
        Rows of one group stay in one fold.
    random_state : int, RandomState or Generator, default=0
        The seed of the folds.

    Returns
    -------
    ColumnSelection
        `.columns` are the chosen columns, `.best` the model fitted on them, `.table()` a line for each number of
        columns, `.plot()` a picture.

    Notes
    -----
    Columns that say nothing (constant, empty, ids) are not tried, nor are copies of other columns where covariances are
    full. Wilks' lambda is that of the rows without gaps.

    Examples
    --------
    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = cw.select_columns(cw.LDA(), X, y, rule="simplest")
    >>> found.table()
    size  columns                 log loss  ± s.e.  Wilks' lambda  F to enter         p
       0  none: the class shares    1.0986  0.0000         1.0000
       1  + petal length (cm)       0.1217  0.0296         0.0586        1180  2.86e-91
       2  + petal width (cm)        0.0840  0.0323         0.0438       24.77  5.48e-10
       3  + sepal width (cm)        0.0606  0.0211         0.0250       54.58  2.14e-18  simplest
       4  + sepal length (cm)       0.0549  0.0254         0.0234       4.721    0.0103  best
    >>> found.columns
    ['sepal width (cm)', 'petal length (cm)', 'petal width (cm)']
    >>> round(found.best.score(X[found.columns], y), 4)
    0.98
    >>> round(found.log_loss, 3), round(found.nested_log_loss, 3)
    (0.061, 0.096)
    """
    repeats, chosen = choose("nested", nested, NESTED), choose("rule", rule, RULES)
    search = choose("method", method, METHODS)
    _refuse(model)
    with BLAS.held(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to the chosen columns gives the warnings
        if target is None:
            _refuse_names(y, columns, weights)
            crossing = _read(model, X, y, folds, sample_weight, groups, random_state)
        else:
            rows = open_rows(X, target=target, columns=columns, weights=weights, groups=groups, families=model.families)
            crossing = _read_rows(model, rows, folds, random_state)
        plan = replace(plan_of(model), families="auto")  # the crossing has read the columns as the options say
        total = crossing.statistics.total()
        left_out = _left_out(plan, total)
        tried = tuple(j for j in range(total.n_features) if j not in left_out)
        count = len(tried) if most is None else min(whole("most", most, 1), len(tried))
        looking = ColumnSearch(plan, crossing, tried, search, count)
        sets = tuple(looking.sets())
        again = looking.nested(chosen) if _is_repeated(repeats, folds, len(crossing)) else None
        everything = looking.of(tried)
    names = total.features or range(total.n_features)
    reasons = {names[j]: why for j, why in left_out.items()}
    return ColumnSelection(model, method, rule, sets, _finite(everything), again, reasons, total)


def _refuse(model: Any) -> None:
    """Refuse models that are not made of statistics, or that have something left to choose."""
    name = type(model).__name__
    if not crosses(model):
        raise ClasswiseError(
            f"model={name} is not made of sums over rows, which sets of columns restrict; give LDA, QDA, NearestMean, "
            "NaiveBayes or GaussianClassifier, or use scikit-learn's SequentialFeatureSelector."
        )
    left = left_to_rows(model)
    if left:
        named = " and ".join(f"{option}={value!r}" for option, value in left.items())
        raise ClasswiseError(
            f"{named} would be chosen for every set of columns; give a number, select the columns, and leave the "
            "choice to a fit of the chosen columns."
        )
    if plan_of(model).needs_quartics:
        raise ClasswiseError(
            "shrink='ledoit-wolf' needs sums of |d|⁴ over just the columns of a set, which are not a restriction of "
            "those of all columns; use shrink='oas'."
        )


def _refuse_names(y: Any, columns: Any, weights: Any) -> None:
    if y is None or columns is not None or weights is not None:
        raise ClasswiseError(
            "y is missing: give the labels; or target='...', the name of their column, which columns and weights go "
            "with."
        )


def _read(model: SummaryEstimator, X: Any, y: Any, folds: Any, weights: Any, groups: Any, seed: Any) -> Crossing:
    plan, X = plan_of(model), to_host(X)
    source = open_source(X)
    if isinstance(folds, str) and folds == "loo":
        folds = np.arange(len(source.values))
    form = FullScatter if source.n_features <= limits.PAIRED_SELECTION else plan.form
    options: dict[str, Any] = {"families": plan.families, "weights": weights, "groups": groups, "strict": plan.strict}
    return Crossing.read(X, to_host(y), folds, random_state=read_seed(seed), form=form, **options)


def _read_rows(model: SummaryEstimator, rows: Rows, folds: Any, seed: Any) -> Crossing:
    """Rows wherever they are: in memory if they fit there, and else in one pass."""
    held = rows.held()
    if held is not None:
        return _read(model, held.X, held.y, folds, held.weights, held.groups, seed)
    rows.refuse_gone("A selection of columns from a stream")
    count = whole("folds", folds, 2)
    return Crossing.read_rows(rows, count, model.families, True, limits.SAMPLE_TO_CHOOSE_BY, read_seed(seed))


def _left_out(plan: Plan, total: ClassStatistics) -> dict[int, str]:
    """Why columns are not tried, by position."""
    found = why_ignored(total, total.missing_weight()) | why_constant(total.constants())
    numbers: Any = getattr(plan, "numbers", None)
    if numbers is not None and not numbers.keeps_copies:
        found |= {j: copy.described(total.name) for j, copy in find_copies(total).items()}
    if len(found) == total.n_features:
        raise ClasswiseError("No column of X can tell the classes apart: each is empty, constant, or an id.")
    return found


def _is_repeated(repeats: bool | None, folds: Any, count: int) -> bool:
    if repeats is None:
        return not isinstance(folds, str) and count >= FEWEST_FOLDS
    if repeats and (isinstance(folds, str) or count < FEWEST_FOLDS):
        raise ClasswiseError(
            f"nested=True repeats the search without each fold, and folds={folds!r} has "
            f"{'one for every row' if isinstance(folds, str) else f'only {count}'}; give folds=10, or nested=False."
        )
    return repeats


def _finite(losses: FoldLosses) -> FoldLosses | None:
    return losses if np.isfinite(losses.log_loss) else None
