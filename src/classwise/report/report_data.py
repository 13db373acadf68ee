"""What a report is made from, each computed only once: the winner, its answers, the rows to draw."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import _safe_indexing

from classwise import limits
from classwise.arrays import Array, Codes, Labels
from classwise.classifier.column_view import column_keys, usable_columns
from classwise.classifier.evaluation import Evaluation, merged
from classwise.comparison import Comparison
from classwise.diagnostics import diagnose
from classwise.errors import ClasswiseError
from classwise.plot.view import look
from classwise.rows.codes import is_missing


class DrawnRows(NamedTuple):
    """Rows to draw: places in the table (m,), the rows (m, p), and their labels (m,)."""

    places: Codes
    X: Any
    y: Labels


@dataclass(frozen=True, eq=False)
class ReportData:
    """A comparison, and the rows X (n, p) and labels y (n,) that it compared, or a sample of them.

    weights, families: as given to `compare`; source: where the rows came from; target: the name of the labels; seed: of
    the folds; model: the file in which the best model was saved; examination: what `examine` found; importance: what
    `held_out_importance` found, which is called if None; advice: sentences, those of `diagnose` if None; command: the
    line in the shell that asked for the report, "" for Python.
    """

    comparison: Comparison
    X: Any
    y: Any
    weights: Any = None
    families: Any = "auto"
    source: str | None = None
    target: str | None = None
    seed: int | None = None
    model: str | None = None
    examination: Any = None
    importance: Any = None
    advice: Sequence[str] | None = None
    command: str = ""

    @cached_property
    def labels(self) -> Labels:
        return np.asarray(self.y)

    @property
    def winner(self) -> str:
        return self.comparison.winner.name

    @cached_property
    def best(self) -> Any:
        with quiet():
            return self.comparison.best

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation of the winner on rows held out."""
        return merged(self.comparison.winner.final)

    @cached_property
    def drawn(self) -> DrawnRows:
        places = np.flatnonzero([not is_missing(label) for label in self.labels.tolist()])
        if len(places) > limits.REPORT_ROWS:
            places = np.sort(np.random.default_rng(0).choice(places, limits.REPORT_ROWS, replace=False))
        return DrawnRows(places, _safe_indexing(self.X, places), self.labels[places])

    @cached_property
    def shown(self) -> str:
        """A sentence that says so, if not all rows are drawn."""
        drawn, rows = len(self.drawn.y), self.comparison.rows
        return f" {drawn:,} of {rows:,} rows are shown, drawn by chance." if drawn < rows else ""

    def row_name(self, i: int) -> str:
        """What a drawn row is called: by its number, from 1 on, unless it was drawn from a stream."""
        return "a row" if self.comparison.streamed else f"row {self.drawn.places[i] + 1}"

    @cached_property
    def posteriors(self) -> Array:
        """What the winner, fitted on all rows, says of the drawn ones; (m, g)."""
        with quiet():
            return np.asarray(self.best.predict_proba(self.drawn.X))

    @cached_property
    def decided(self) -> list[Any]:
        """The most probable class of each drawn row."""
        return [self.best.classes_.tolist()[k] for k in self.posteriors.argmax(axis=1).tolist()]

    @cached_property
    def what_matters(self) -> Any | str | None:
        """The importance of columns on rows held out, or the reason why there is none."""
        if self.importance is not None:
            return self.importance
        try:
            with quiet():
                return self.comparison.importance(self.X, self.y, self.weights)
        except ClasswiseError as problem:
            return str(problem)

    @cached_property
    def sentences(self) -> Sequence[str]:
        """The advice of `diagnose`, or the reason why there is none."""
        if self.advice is not None:
            return self.advice
        try:
            with quiet():
                held_out = self.comparison.evaluations
                found = diagnose(self.X, self.y, self.weights, families=self.families, held_out=held_out)
        except ClasswiseError as problem:
            return [str(problem)]
        return found.sentences(shell=bool(self.command))

    @cached_property
    def projector(self) -> Any | None:
        """The LDA that was compared, if there was one: the plain one, or else one that was shrunk."""
        for name in ("LDA", "LDA, OAS", "LDA, Ledoit-Wolf"):
            trials = [trial for trial in self.comparison.members if trial.name == name]
            if trials:
                with quiet():
                    return self.comparison.fitted(trials[0])
        return None

    @cached_property
    def seen(self) -> tuple[str, Any] | None:
        """The best model that can predict from two columns alone, with its name.

        A stack cannot: to it, that all others are missing says something of the row.
        """
        for trial in (self.comparison.winner, *self.comparison.members):
            if not trial.is_stack:
                with quiet():
                    return trial.name, self.best if trial is self.comparison.winner else self.comparison.fitted(trial)
        return None

    @cached_property
    def pair(self) -> list[Any] | None:
        """The two columns to draw boundaries in."""
        ranked = [line.name for line in getattr(self.what_matters, "lines", ())] or None
        return None if self.seen is None else best_pair(self.seen[1], self.drawn.X, self.drawn.y, ranked)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide warnings: they were shown when the rows were compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# The two columns that matter most -------------------------------------------------------------------------------------

# Pairs are tried among this many columns, those with the least log loss by themselves.
TRIED = 6

# A category with more levels than this makes no picture.
MOST_LEVELS = 16


def best_pair(m: Any, X: Any, y: Labels, ranked: Sequence[Any] | None = None) -> list[Any] | None:
    """The two columns that matter most, numbers or categories of few levels, by name or position; None if it has fewer.

    ranked: columns in the order of their importance. Without it, the two in which the model, with all others integrated
    out, has the least log loss.
    """
    keys = column_keys(m)
    drawable = [keys[j] for j in usable_columns(m) if len(m.model_.levels.get(j, ())) <= MOST_LEVELS]
    if ranked is not None:
        chosen = [name for name in ranked if name in drawable][:2]
        return chosen if len(chosen) == 2 else None
    losses = {column: _loss(m, X, y, [column]) for column in drawable}
    tried = sorted(losses, key=lambda column: losses[column])[:TRIED]
    pairs = list(combinations(tried, 2))
    return list(min(pairs, key=lambda pair: _loss(m, X, y, list(pair)))) if pairs else None


def _loss(m: Any, X: Any, y: Labels, columns: list[Any]) -> float:
    """The log loss on rows that have values in these columns; infinity if none has."""
    view = look(m, columns, None, len(columns))
    values = view.values(X)
    there = np.isfinite(values).all(axis=1)
    codes = np.searchsorted(m.classes_, y[there])
    return _log_loss(view.classifier.decision_scores(view.rows(values[there])), codes) if there.any() else np.inf


def _log_loss(scores: Array, codes: Any) -> float:
    own = scores[codes, np.arange(len(codes))]
    return float(np.mean(logsumexp(scores, axis=0) - own))
