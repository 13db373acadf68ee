"""Cross-validation from statistics by fold: every model sees every fold, and the rows are read twice in all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from classwise.arrays import Array, Codes, Labels
from classwise.classifier import BayesClassifier
from classwise.estimators.base import BayesEstimator, refuse_few_classes
from classwise.selection import FoldStatistics, assign_folds, summarize_folds
from classwise.statistics import FullScatter, Scatter, code_labels
from classwise.tables import Source, Table, open_source


@dataclass(frozen=True, eq=False)
class Crossing:
    """Rows, their classes (n,) and folds (n,), and the statistics of each fold."""

    source: Source
    table: Table
    labels: Labels
    codes: Codes
    folds: Codes
    statistics: FoldStatistics

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any,
        folds: Any = 10,
        *,
        families: Any = "auto",
        weights: Any = None,
        groups: Any = None,
        random_state: int | None = 0,
        strict: bool = False,
        quartics: bool = False,
        form: type[Scatter] = FullScatter,
    ) -> "Crossing":
        """The first look at the rows."""
        source = open_source(X)
        table = source.read(families, y, weights, strict)
        assert table.labels is not None
        labels, codes = code_labels(table.labels)
        refuse_few_classes(labels)
        if isinstance(folds, (int, np.integer)):
            folds = min(int(folds), len(codes))
        assigned = assign_folds(folds, codes, labels, groups, random_state)
        statistics = summarize_folds(table, labels, codes, assigned, form, not strict, quartics)
        return cls(source, table, labels, codes, assigned, statistics)

    def held_out(self) -> Iterator[Codes]:
        """The positions of the rows of each fold."""
        for fold in range(len(self.statistics.parts)):
            yield np.flatnonzero(self.folds == fold)

    def log_posteriors(self, models: Sequence[BayesEstimator]) -> list[Array]:
        """log P(k | x) of each row under each model that was fitted without the row's fold; (n, g) each.

        A class that the training rows of a fold lack has -inf there.
        """
        answers = [np.full((len(self.codes), len(self.labels)), -np.inf) for _ in models]
        for rows, training in zip(self.held_out(), self.statistics.training(), strict=True):
            for model, answer in zip(models, answers, strict=True):
                fitted = clone(model).fit_statistics(training)
                known = np.searchsorted(self.labels, fitted.classes_)
                answer[np.ix_(rows, known)] = self._score(fitted, rows).T
        return answers

    def _score(self, fitted: BayesEstimator, rows: Codes) -> Array:
        table = self.source.read_like(fitted.model_.schema, fitted.model_.levels).take(rows)
        return fitted._apply(BayesClassifier.log_posterior, table)
