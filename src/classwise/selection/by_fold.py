"""Statistics by fold, in one pass: the training statistic of a fold is the sum of the others."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from classwise.arrays import Codes, Labels
from classwise.statistics import ClassStatistics, Scatter
from classwise.summarizing import summarize_table
from classwise.tables import Table


@dataclass(frozen=True, eq=False)
class FoldStatistics:
    """The statistics of each fold."""

    parts: tuple[ClassStatistics, ...]

    def total(self) -> ClassStatistics:
        """The statistic of all rows."""
        first, *others = self.parts
        return sum(others, first)

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


def summarize_folds(
    table: Table,
    labels: Labels,
    codes: Codes,
    folds: Codes,
    form: type[Scatter],
    allow_missing: bool = True,
    quartics: bool = False,
) -> FoldStatistics:
    """One pass: a row is counted under its fold and its class, which together are a label like any other."""
    count = int(folds.max()) + 1
    pairs = folds.astype(np.int64) * len(labels) + codes
    paired = replace(table, labels=pairs)
    together = summarize_table(paired, form, allow_missing=allow_missing, quartics=quartics)
    parts = []
    for fold in range(count):
        own = np.flatnonzero(together.labels // len(labels) == fold)
        parts.append(together.select(own, labels[together.labels[own] % len(labels)], int((folds == fold).sum())))
    return FoldStatistics(tuple(parts))
