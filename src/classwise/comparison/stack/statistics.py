"""The statistics of a stack: those of its members, which add and subtract."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from classwise.arrays import Labels
from classwise.comparison.stack.sums import Sums
from classwise.errors import StatisticsError
from classwise.storage import stored


@stored("AutoStatistics")
@dataclass(frozen=True, eq=False)
class AutoStatistics:
    """labels (g,), and what each member that adds up was made of, by name; rows: how many there were."""

    labels: Labels
    rows: int
    sums: dict[str, Sums]

    def __add__(self, other: Self) -> Self:
        self._check(other)
        sums = {name: own + other.sums[name] for name, own in self.sums.items()}
        return type(self)(self.labels, self.rows + other.rows, sums)

    def __sub__(self, other: Self) -> Self:
        self._check(other)
        sums = {name: own - other.sums[name] for name, own in self.sums.items()}
        return type(self)(self.labels, self.rows - other.rows, sums)

    def _check(self, other: Self) -> None:
        if not isinstance(other, AutoStatistics):
            raise StatisticsError(f"Statistics of a stack add to such statistics, not to a {type(other).__name__}.")
        if not np.array_equal(self.labels, other.labels) or self.sums.keys() != other.sums.keys():
            raise StatisticsError("Statistics add up where one stack gathered both; these are of different stacks.")

    def __repr__(self) -> str:
        return f"AutoStatistics({self.rows} rows, {len(self.labels)} classes, {len(self.sums)} members)"
