"""What a report is about: a comparison, the rows it was made from, and a part of them that can be drawn."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from classwise.arrays import Labels
from classwise.comparison import Comparison
from classwise.diagnostics import Diagnosis, diagnose
from classwise.errors import ClasswiseError
from classwise.evaluation import Evaluation, merged
from classwise.statistics import is_missing

# So many rows are drawn, taken at random from all.
DRAWN = 1000


@dataclass(frozen=True, eq=False)
class Study:
    """comparison: of rows X (n, p) with labels y (n,), weights, families; source: where they came from; target: what
    the labels are called; seed: of the folds; model: the file in which the best model was saved.
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

    @cached_property
    def labels(self) -> Labels:
        return np.asarray(self.y)

    @cached_property
    def best(self) -> Any:
        with _quiet():
            return self.comparison.best

    @cached_property
    def evaluation(self) -> Evaluation:
        """Of the winner, on rows held out."""
        return merged(self.comparison.winner.final)

    @cached_property
    def drawn(self) -> tuple[Any, Labels]:
        """Rows to draw, and their labels."""
        labeled = np.flatnonzero([not is_missing(label) for label in self.labels.tolist()])
        if len(labeled) > DRAWN:
            labeled = np.sort(np.random.default_rng(0).choice(labeled, DRAWN, replace=False))
        return _safe_indexing(self.X, labeled), self.labels[labeled]

    @cached_property
    def shown(self) -> str:
        """A sentence, where not all rows are drawn."""
        return f" {len(self.drawn[1])} of {len(self.labels)} rows are shown." if len(self.labels) > DRAWN else ""

    @cached_property
    def diagnosis(self) -> Diagnosis | str:
        """What the rows say before a model is fitted, or why they cannot."""
        try:
            with _quiet():
                return diagnose(self.X, self.y, self.weights, families=self.families)
        except ClasswiseError as problem:
            return str(problem)

    @cached_property
    def projector(self) -> Any | None:
        """The LDA that was compared, if there was one: the plain one, or else one that was shrunk."""
        for name in ("LDA", "LDA, OAS", "LDA, Ledoit-Wolf"):
            trials = [trial for trial in self.comparison.members if trial.name == name]
            if trials:
                with _quiet():
                    return self.comparison.fitted(trials[0])
        return None


@contextmanager
def _quiet() -> Iterator[None]:
    """What there was to warn of has been said when the rows were compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
