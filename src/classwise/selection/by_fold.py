"""Statistics by fold, in one pass: the training statistic of a fold is the sum of the others.

A row is counted under its fold and its class, which together are a label like any other: fold times g, plus class.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Codes, Labels
from classwise.rows.codes import positions, union_labels
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics, Scatter
from classwise.statistics.summaries import summarize_table


@dataclass(frozen=True, eq=False)
class FoldStatistics:
    """The statistics of each fold."""

    parts: tuple[ClassStatistics, ...]

    def total(self) -> ClassStatistics:
        """The statistic of all rows."""
        return self._total

    @cached_property
    def _total(self) -> ClassStatistics:
        first, *others = self.parts
        return sum(others, first)

    def elsewhere(self, labels: Labels) -> NDArray[np.bool_]:
        """Whether other folds have rows of each class, by fold; (k, g). labels (g,): all classes."""
        weight = np.zeros((len(self.parts), len(labels)))
        for fold, part in enumerate(self.parts):
            weight[fold, np.searchsorted(labels, part.labels)] = part.weight
        return np.asarray(weight.sum(axis=0) - weight > 0)

    def training(self) -> Iterator[ClassStatistics]:
        """For each fold, the statistic of all rows but its own: sums from the left and from the right meet there."""
        from_right = [self.parts[-1]]
        for part in self.parts[-2:0:-1]:
            from_right.append(part + from_right[-1])
        left: ClassStatistics | None = None
        for fold, part in enumerate(self.parts):
            right = from_right[len(self.parts) - 2 - fold] if fold < len(self.parts) - 1 else None
            yield _sum(left, right)
            left = _sum(left, part)


def _sum(first: ClassStatistics | None, second: ClassStatistics | None) -> ClassStatistics:
    if first is None or second is None:
        whole = second if first is None else first
        assert whole is not None
        return whole
    return first + second


@dataclass(frozen=True, eq=False)
class FoldTally:
    """What rows add to each fold and class: part of a pass, and addable, whatever classes each part has.

    labels (g,): of the classes seen so far; statistics: under the labels fold * g + class; rows (k,): by fold.
    """

    labels: Labels
    statistics: ClassStatistics
    rows: Codes

    @classmethod
    def of(
        cls,
        table: Table,
        labels: Labels,
        codes: Codes,
        folds: Codes,
        count: int,
        form: type[Scatter],
        allow_missing: bool = True,
        quartics: bool = False,
    ) -> "FoldTally":
        """Of the rows of a table, none of weight zero, with their classes and folds (n,); count: of all folds."""
        paired = replace(table, labels=folds.astype(np.int64) * len(labels) + codes)
        together = summarize_table(paired, form, allow_missing=allow_missing, quartics=quartics)
        return cls(labels, together, np.bincount(folds, minlength=count))

    def __add__(self, other: "FoldTally") -> "FoldTally":
        labels = union_labels(self.labels, other.labels)
        ours, theirs = self._among(labels), other._among(labels)
        return FoldTally(labels, ours.statistics + theirs.statistics, self.rows + other.rows)

    def _among(self, labels: Labels) -> "FoldTally":
        """The same with more classes."""
        if len(labels) == len(self.labels):  # labels holds all of ours, so they are the same
            return self
        folds, codes = np.divmod(self.statistics.labels, len(self.labels))
        places = positions(self.labels, labels)
        renamed = replace(self.statistics, labels=folds * len(labels) + places[codes])
        return FoldTally(labels, renamed, self.rows)

    def by_fold(self) -> FoldStatistics:
        """The statistics of each fold that has rows."""
        folds, codes = np.divmod(self.statistics.labels, len(self.labels))
        parts = []
        for fold in np.flatnonzero(self.rows):
            own = np.flatnonzero(folds == fold)
            parts.append(self.statistics.select(own, self.labels[codes[own]], int(self.rows[fold])))
        return FoldStatistics(tuple(parts))


def summarize_folds(
    table: Table,
    labels: Labels,
    codes: Codes,
    folds: Codes,
    form: type[Scatter],
    allow_missing: bool = True,
    quartics: bool = False,
) -> FoldStatistics:
    """One pass over a table in memory."""
    count = int(folds.max()) + 1
    return FoldTally.of(table, labels, codes, folds, count, form, allow_missing, quartics).by_fold()
