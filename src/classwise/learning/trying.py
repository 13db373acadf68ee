"""Models tried on subsets of growing size."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import _safe_indexing

from classwise.arrays import Codes, Labels
from classwise.comparison.references import encoded, matrix
from classwise.errors import ClasswiseError
from classwise.estimators import LDA
from classwise.evaluation import Evaluation
from classwise.learning.curve import LearningCurve
from classwise.learning.splits import Splits, read_sizes
from classwise.options import fraction
from classwise.progress import progress, silent
from classwise.statistics import code_labels
from classwise.tables import read_table


def learning_curve(
    X: Any,
    y: Any,
    models: Mapping[str, Any] | None = None,
    *,
    sizes: Sequence[int] | None = None,
    repeats: int = 20,
    held_out: float = 0.3,
    random_state: Any = 0,
) -> LearningCurve:
    """Error and log loss of models against the number of rows they learn from.

    models: classifiers by name, of classwise or of scikit-learn; unless given, LDA against scikit-learn's softmax
    regression on standardized numbers and an indicator for each level. sizes: of the subsets learned from; evenly
    spaced on a logarithmic scale unless given. repeats: how often a share `held_out` of the rows is held out; of the
    others, each subset holds the smaller ones, with the classes in their shares, and at least two rows of each.

    >>> import classwise as cw
    >>> X, y = cw.datasets.gaussians(400, covariances="line", random_state=0)
    >>> curve = learning_curve(X, y, sizes=[10, 50, 250], repeats=10)
    >>> curve.median("error").shape, curve.leaders()[0]
    ((2, 3), 'LDA')
    """
    labels, codes = code_labels(_read_labels(X, y))
    contestants = _contestants(X, y, models)
    splits = Splits(codes, _read_repeats(repeats), fraction("held_out", held_out), np.random.default_rng(random_state))
    tried = splits.sizes() if sizes is None else read_sizes(sizes, splits)
    values = np.full((2, len(contestants), len(tried), repeats), np.nan)
    reasons: dict[str, str] = {}
    with progress("learning", values[0].size) as steps, silent():
        for r, (learned, held) in enumerate(splits):
            for i, size in enumerate(tried):
                for j, (name, contestant) in enumerate(contestants.items()):
                    try:
                        values[:, j, i, r] = contestant.score(learned[:size], held, codes, labels)
                    except ValueError as problem:
                        reasons.setdefault(name, f"{size} rows: {problem}")
                    steps.step(name)
    return LearningCurve(tuple(contestants), np.array(tried), values, reasons)


@dataclass(frozen=True, eq=False)
class Contestant:
    """A classifier that is not fitted, and the rows as it takes them."""

    model: Any
    rows: Any

    def score(self, learned: Codes, held: Codes, codes: Codes, labels: Labels) -> tuple[float, float]:
        """Error and log loss on the rows held out, of the model of those learned from."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a search that stopped early still gives probabilities, which are scored
            fitted = clone(self.model).fit(_safe_indexing(self.rows, learned), labels[codes[learned]])
            posterior = np.asarray(fitted.predict_proba(_safe_indexing(self.rows, held)), dtype=np.float64)
        logs = np.full((len(held), len(labels)), -np.inf)
        with np.errstate(divide="ignore"):
            logs[:, np.searchsorted(labels, fitted.classes_)] = np.log(posterior)
        evaluation = Evaluation.of(logs, codes[held], labels)
        return evaluation.error, evaluation.log_loss


def _contestants(X: Any, y: Any, models: Mapping[str, Any] | None) -> dict[str, Contestant]:
    if models is None:
        table = read_table(X, y)
        softmax = encoded(LogisticRegression(max_iter=500), table)
        return {"LDA": Contestant(LDA(), X), "softmax regression": Contestant(softmax, matrix(table))}
    if not isinstance(models, Mapping) or not models:
        raise ClasswiseError(f"models={models!r} is not a mapping from name to classifier, such as {{'QDA': QDA()}}.")
    return {name: Contestant(model, X) for name, model in models.items()}


def _read_labels(X: Any, y: Any) -> Labels:
    """One for each row; missing ones are an error."""
    labels = read_table(X, y, strict=True).labels
    if labels is None:
        raise ClasswiseError("y=None: a learning curve needs the label of every row.")
    return labels


def _read_repeats(repeats: Any) -> int:
    if not (isinstance(repeats, (int, np.integer)) and repeats >= 1):
        raise ClasswiseError(f"repeats={repeats!r} is not a number of repeats.")
    return int(repeats)
