"""Learning curves: error and log loss on held-out rows against the number of training rows."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import _safe_indexing

from classwise import limits
from classwise.arrays import Array, Codes, Labels
from classwise.classifier.evaluation import Evaluation
from classwise.comparison.references import encoded, matrix
from classwise.engines import in_threads, open_rows
from classwise.engines.progress import progress, silent
from classwise.errors import ClasswiseError, choose, fraction
from classwise.estimators import LDA, read_seed
from classwise.kernels import with_jobs
from classwise.rows.codes import code_labels
from classwise.rows.sources import read_table
from classwise.tabular import aligned, html_table

# The least number of rows of each class in every subset.
FEWEST = 2

# The default number of sizes, and the smallest size.
STEPS, LEAST = 8, 10


@dataclass(frozen=True, eq=False)
class Splits:
    """Random splits into training rows, ordered so that every prefix has all classes, and held-out rows."""

    codes: Codes
    repeats: int
    held_out: float
    generator: np.random.Generator

    def __iter__(self) -> Iterator[tuple[Codes, Codes]]:
        for _ in range(self.repeats):
            order = nested_order(self.codes, self.generator)
            yield order[: self.most], order[self.most :]

    @property
    def most(self) -> int:
        """The number of training rows."""
        return len(self.codes) - max(1, round(self.held_out * len(self.codes)))

    @property
    def least(self) -> int:
        """The smallest subset."""
        return FEWEST * len(np.unique(self.codes))

    def sizes(self) -> list[int]:
        """Sizes from few rows to all, evenly spaced on a logarithmic scale."""
        first = min(max(self.least, LEAST), self.most)
        return sorted({round(size) for size in np.geomspace(first, self.most, STEPS)})


def nested_order(codes: Codes, generator: np.random.Generator) -> Codes:
    """A random order of rows that begins with two rows of each class and keeps the class shares after that; (n,).

    >>> order = nested_order(np.array([0] * 90 + [1] * 10), np.random.default_rng(0))
    >>> [int((order[:size] >= 90).sum()) for size in (4, 20, 50, 100)]
    [2, 2, 5, 10]
    """
    shuffled = generator.permutation(len(codes))
    keys = np.empty(len(codes))
    for k in np.unique(codes):
        own = shuffled[codes[shuffled] == k]
        keys[own] = (np.arange(len(own)) + generator.random()) / len(own)
        keys[own[:FEWEST]] = -1.0
    return shuffled[np.argsort(keys[shuffled], kind="stable")]


def read_sizes(sizes: Sequence[int], splits: Splits) -> list[int]:
    wanted = sorted({int(size) for size in sizes})
    if not wanted or wanted[0] < splits.least or wanted[-1] > splits.most:
        raise ClasswiseError(
            f"sizes={list(sizes)!r}: subsets have from {splits.least} rows ({FEWEST} of each class) to {splits.most}, "
            f"which is what held_out={splits.held_out:g} leaves of {len(splits.codes)}."
        )
    return wanted


# ----------------------------------------------------------------------------------------------------------------------
# A learning curve: the measures, and which model leads.

MEASURES = {"error": 0, "log_loss": 1}


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve:
    """Error and log loss of models on held-out rows against the number of training rows; prints as a table.

    names (m,): of the models.
    sizes (s,): of the training subsets.
    values (2, m, s, r): error and log loss of each model, size and repeat; NaN if the model could not be fitted.
    reasons: for each model that failed, the first error.
    """

    names: tuple[str, ...]
    sizes: Array
    values: Array
    reasons: Mapping[str, str]

    def median(self, measure: str = "log_loss") -> Array:
        """The median over repeats; NaN if a model failed in one of them; (m, s)."""
        return np.median(self._of(measure), axis=2)

    def spread(self, measure: str = "log_loss") -> tuple[Array, Array]:
        """The lower and upper quartiles over repeats; (m, s) each."""
        low, high = np.quantile(self._of(measure), [0.25, 0.75], axis=2)
        return low, high

    def leaders(self, measure: str = "log_loss") -> list[str]:
        """The model with the least median at each size."""
        medians = np.where(np.isnan(self.median(measure)), np.inf, self.median(measure))
        return [self.names[best] for best in medians.argmin(axis=0)]

    def summary(self, measure: str = "log_loss") -> list[str]:
        """Sentences that say which model leads at which sizes."""
        pairs = zip(self.leaders(measure), self.sizes.tolist(), strict=True)
        runs = [(name, [size for _, size in run]) for name, run in groupby(pairs, lambda pair: pair[0])]
        leads = f"has the least {measure.replace('_', ' ')}"
        return [f"{name} {leads} {_between(sizes[0], sizes[-1])}." for name, sizes in runs]

    def plot(self, measure: str = "log_loss", axes: Any = None) -> Any:
        """Draw medians and quartiles against the number of rows; matplotlib axes."""
        from classwise.plot import plot_learning_curve

        return plot_learning_curve(self, measure=measure, axes=axes)

    def _of(self, measure: str) -> Array:
        return self.values[choose("measure", measure, MEASURES)]

    def cells(self) -> list[tuple[str, ...]]:
        """Medians as text, header first: error in percent, and log loss."""
        heads = [f"{name}: {what}" for name in self.names for what in ("error %", "log loss")]
        columns = [part for pair in zip(100 * self.median("error"), self.median(), strict=True) for part in pair]
        rows = zip(self.sizes, *columns, strict=True)
        return [("rows", *heads), *((f"{size:g}", *map(_shown, values)) for size, *values in rows)]

    def __str__(self) -> str:
        failed = [f"{name} could not always be fitted: {reason}" for name, reason in self.reasons.items()]
        return "\n".join([*aligned(self.cells(), ">"), "", *self.summary(), *failed])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{html_table(self.cells())}<p>{escape(' '.join(self.summary()))}</p>"


def _between(first: int, last: int) -> str:
    return f"from {first} to {last} rows" if first < last else f"with {first} rows"


def _shown(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3g}"


# ----------------------------------------------------------------------------------------------------------------------
# Models on training subsets of growing size.


def learning_curve(
    X: Any,
    y: Any = None,
    models: Mapping[str, Any] | None = None,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
    repeats: int = 20,
    held_out: float = 0.3,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> LearningCurve:
    """Error and log loss of models on held-out rows against the number of training rows.

    Parameters
    ----------
    X, y : array, table or source, and array of shape (n,)
        As for all estimators. With `target`, X is any source of rows, as for `summarize`, and target and
        columns are names of columns. Up to 20 million values are held in memory; of more, a uniform sample of
        that size is drawn. Rows without a label are left out, and a warning counts them.
    models : mapping from name to estimator, optional
        Classifiers by name, of classwise or of scikit-learn; by default LDA, and scikit-learn's softmax
        regression on standardized numbers and one-hot levels.
    target : str, optional
        The column of labels.
    columns : sequence of str, optional
        The columns to use, by name or position; by default all.
    sizes : sequence of int, optional
        The sizes of the training subsets; by default evenly spaced on a logarithmic scale.
    repeats : int, default=20
        How often rows are split at random. The subsets of a split are nested, keep the class shares, and have
        at least two rows of each class.
    held_out : float, default=0.3
        The share of rows that each split holds out.
    random_state : int, RandomState or Generator, default=0
        The seed of the splits.
    n_jobs : int, optional
        How many threads work, as in `compare`: a number, -1 for all cores, or -2 for all but one; None is all
        cores, unless `joblib.parallel_config` or the limits of BLAS say otherwise.

    Returns
    -------
    LearningCurve
        The scores of every model at every size.

    Examples
    --------
    >>> import classwise as cw
    >>> X, y = cw.datasets.gaussians(400, covariances="line", random_state=0)
    >>> curve = learning_curve(X, y, sizes=[10, 50, 250], repeats=10)
    >>> curve.median("error").shape, curve.leaders()[0]
    ((2, 3), 'LDA')
    """
    if target is not None:
        X, y = _from_source(X, y, target, columns, random_state)
    elif columns is not None:
        raise ClasswiseError("columns goes with target='...', the name of the column of the labels.")
    labels, codes = code_labels(_read_labels(X, y))
    contestants = _contestants(X, y, models)
    splits = Splits(codes, _read_repeats(repeats), fraction("held_out", held_out), np.random.default_rng(random_state))
    tried = splits.sizes() if sizes is None else read_sizes(sizes, splits)
    values = np.full((2, len(contestants), len(tried), repeats), np.nan)
    parts = list(splits)
    reasons: dict[str, str] = {}
    # The largest subsets first, so that no core waits long for the last one.
    tasks = [(i, r, j) for i in reversed(range(len(tried))) for r in range(repeats) for j in range(len(contestants))]
    tried_models = list(contestants.values())

    def score(task: tuple[int, int, int]) -> str:
        i, r, j = task
        learned, held = parts[r]
        try:
            values[:, j, i, r] = tried_models[j].score(learned[: tried[i]], held, codes, labels)
        except ValueError as problem:
            return f"{tried[i]} rows: {problem}"
        return ""

    with progress("learning", len(tasks)) as steps, silent(), with_jobs(n_jobs), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that did not converge is scored as it is
        problems = in_threads(score, tasks, steps.step)
    for (_, _, j), problem in sorted(zip(tasks, problems, strict=True)):
        if problem:
            reasons.setdefault(list(contestants)[j], problem)
    return LearningCurve(tuple(contestants), np.array(tried), values, reasons)


@dataclass(frozen=True, eq=False)
class Contestant:
    """A classifier that is not fitted, and the rows in the form that it needs."""

    model: Any
    rows: Any

    def score(self, learned: Codes, held: Codes, codes: Codes, labels: Labels) -> tuple[float, float]:
        """Fit to the rows `learned`, and return error and log loss on the rows `held`."""
        fitted = clone(self.model).fit(_safe_indexing(self.rows, learned), labels[codes[learned]])
        posterior = np.asarray(fitted.predict_proba(_safe_indexing(self.rows, held)), dtype=np.float64)
        logs = np.full((len(held), len(labels)), -np.inf)
        with np.errstate(divide="ignore"):
            logs[:, np.searchsorted(labels, fitted.classes_)] = np.log(posterior)
        evaluation = Evaluation.of(logs, codes[held], labels, auc=False)
        return evaluation.error, evaluation.log_loss


def _contestants(X: Any, y: Any, models: Mapping[str, Any] | None) -> dict[str, Contestant]:
    if models is None:
        table = read_table(X, y)
        softmax = encoded(LogisticRegression(max_iter=500), table)
        return {"LDA": Contestant(LDA(), X), "softmax regression": Contestant(softmax, matrix(table))}
    if not isinstance(models, Mapping) or not models:
        raise ClasswiseError(f"models={models!r} is not a mapping from name to classifier, such as {{'QDA': QDA()}}.")
    return {name: Contestant(model, X) for name, model in models.items()}


def _from_source(X: Any, y: Any, target: str, columns: Sequence[str] | None, random_state: Any) -> tuple[Any, Labels]:
    """The rows of a source with their labels: all of them if they fit in memory, and else a uniform sample."""
    if y is not None:
        raise ClasswiseError(f"target={target!r} names the column of the labels: leave y out.")
    rows = open_rows(X, target=target, columns=columns)
    held = rows.held()
    if held is None:
        rows.refuse_gone("A learning curve of more rows than fit in memory")
        most = max(limits.MOST_HELD // len(rows.roles.needed), 1)
        drawn, labels, _ = rows.sample(most, seed=read_seed(random_state))
        return drawn, labels
    if held.weights is None:
        return held.X, held.y
    labeled = np.flatnonzero(held.weights)  # a row without a label has a weight of zero
    return _safe_indexing(held.X, labeled), held.y[labeled]


def _read_labels(X: Any, y: Any) -> Labels:
    """The label of each row; missing labels are an error."""
    labels = read_table(X, y, strict=True).labels
    if labels is None:
        raise ClasswiseError("y=None: a learning curve needs the label of every row.")
    return labels


def _read_repeats(repeats: Any) -> int:
    if not (isinstance(repeats, (int, np.integer)) and repeats >= 1):
        raise ClasswiseError(f"repeats={repeats!r} is not a number of repeats.")
    return int(repeats)
