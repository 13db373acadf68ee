"""From the columns of a table to those that have weights: numbers in units of their spread, levels as yes or no.

    number    z = (x - center) / scale
    level     z = [x is the level] - center, one for each level of a category, one for yes/no
    intercept z = 1, the last

A missing value, or a level never seen, stands at its mean over all rows, whatever their class. Centers are means where
an intercept makes up for them, and else 0; scales are standard deviations of numbers, where asked for, and else 1. A
level is not divided by its deviation: that would grant rare levels larger effects.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from classwise.arrays import Array, Codes, ratio
from classwise.statistics import ClassStatistics, LevelCounts
from classwise.statistics.curvature import DesignColumns, Indicated
from classwise.storage import stored

NUMBER = -1

# Categories of so many levels stand as indicators; of fewer, columns are multiplied faster than looked up.
MANY_LEVELS = 32

# Numbers whose means are no more than so many deviations away lose three of sixteen digits, if the means stay.
FARTHEST = 1e3


@stored("LogisticDesign")
@dataclass(frozen=True, eq=False)
class Design:
    """Each (q',), of the columns but the intercept. source: the column of the table; level: the position of the level
    that it marks, or -1 for a number; mean: what stands for a missing value; center, scale: as above.
    """

    source: Codes
    level: Codes
    mean: Array
    center: Array
    scale: Array
    intercept: bool

    def _is_sound(self) -> bool:
        shapes = {part.shape for part in (self.source, self.level, self.mean, self.center, self.scale)}
        placed = bool((self.source >= 0).all() and (self.level >= NUMBER).all() and (self.scale > 0).all())
        return shapes == {(len(self.source),)} and placed and len(self.source) > 0

    @property
    def width(self) -> int:
        """The number of columns, q."""
        return len(self.source) + self.intercept

    @cached_property
    def is_plain(self) -> bool:
        """Whether the columns are those of the table, all numbers."""
        return bool((self.level == NUMBER).all()) and self.source.tolist() == list(range(len(self.source)))

    def columns(self, rows: NDArray[Any], out: Array | None = None) -> Array:
        """Rows (m, p) of a table as columns (q, m): categories come as positions among their levels."""
        result = np.empty((self.width, len(rows))) if out is None else out
        result[len(self.source) :] = 1.0
        numbers = result[: len(self.source)]
        if self.is_plain and rows.shape[1] == len(self.source):
            np.subtract(rows.T, self.center[:, None], out=numbers)
        else:
            self._spread(np.asarray(rows, dtype=np.float64), numbers)
        self._fill(numbers)
        if (self.scale != 1).any():
            numbers /= self.scale[:, None]
        return result

    # Many levels -----------------------------------------------------------------------------------------------------

    def leanest(self, rows: NDArray[Any], out: Array | None = None) -> DesignColumns:
        """The same columns, with indicators in place of those of many levels, where rows are many; out (room, m)."""
        there = None if out is None else out[:, : len(rows)]
        if not self._grouped:
            return self.columns(rows, there)
        if len(rows) < self.width:
            return self.columns(rows)
        dense = self._others.columns(rows, None if there is None else there[: self._others.width])
        return Indicated.of(dense, list(self._places(rows)), self._map)

    @property
    def room(self) -> int:
        """How many numbers the leanest columns of a row take."""
        return self._others.width + len(self._grouped) if self._grouped else self.width

    @property
    def merged_rows(self) -> int:
        """Of so many rows at least should second derivatives be gathered at once, where there are indicators: the sum
        of all has q² numbers, and each row adds to a few of them.
        """
        return self.width**2 // self.room if self._grouped else 0

    @cached_property
    def _grouped(self) -> list[int]:
        """The columns of the table that have indicators: categories of many levels, with a column for each."""
        return [j for j, count in self._levels.items() if MANY_LEVELS <= count == np.count_nonzero(self.source == j)]

    @cached_property
    def _others(self) -> "Design":
        """All other columns, and a one."""
        own = ~np.isin(self.source, self._grouped)
        return Design(self.source[own], self.level[own], self.mean[own], self.center[own], self.scale[own], True)

    def _places(self, rows: NDArray[Any]) -> Iterator[Codes]:
        """Which of all indicators each row has, category by category; the last of a category is for a missing value."""
        start = 0
        for j in self._grouped:
            values, count = np.asarray(rows[:, j]), self._levels[j]
            known = (values >= 0) & (values < count)
            yield start + np.where(known, values, count).astype(np.intp)
            start += count + 1

    @cached_property
    def _map(self) -> Any:
        """From dense columns, the last of them a one, and indicators to all columns: x - center, by scale; sparse."""
        dense = self._others.width
        counts = [self._levels[j] + 1 for j in self._grouped]
        starts = dict(zip(self._grouped, dense + np.cumsum([0, *counts[:-1]]), strict=True))
        cells: list[tuple[int, int, float]] = []
        following = iter(range(dense - 1))
        for i, (j, level) in enumerate(zip(self.source.tolist(), self.level.tolist(), strict=True)):
            if j not in starts:
                cells.append((i, next(following), 1.0))
                continue
            cells.append((i, starts[j] + level, 1 / self.scale[i]))
            cells.append((i, starts[j] + self._levels[j], self.mean[i] / self.scale[i]))
            cells.append((i, dense - 1, -self.center[i] / self.scale[i]))
        if self.intercept:
            cells.append((self.width - 1, dense - 1, 1.0))
        rows, columns, values = zip(*cells, strict=True)
        return csr_array((values, (rows, columns)), shape=(self.width, dense + sum(counts)))

    def _spread(self, rows: Array, target: Array) -> None:
        """x - center, and yes or no - center; NaN where a value is missing or a level was never seen."""
        for j, (source, level) in enumerate(zip(self.source.tolist(), self.level.tolist(), strict=True)):
            values = rows[:, source]
            if level == NUMBER:
                target[j] = values
            else:
                known = (values >= 0) & (values < self._levels[source])
                target[j] = np.where(known, values == level, np.nan)
        target -= self.center[:, None]

    def _fill(self, numbers: Array) -> None:
        # NaN travels to the sum, so looking there spares most blocks the search.
        if np.isnan(numbers.sum()):
            missing = np.isnan(numbers)
            np.copyto(numbers, (self.mean - self.center)[:, None], where=missing)

    @cached_property
    def _levels(self) -> dict[int, int]:
        """How many levels each category has; yes/no, of which one column is kept, has two."""
        marked = self.level != NUMBER
        return {j: int(self.level[marked & (self.source == j)].max()) + 1 for j in np.unique(self.source[marked])}

    @cached_property
    def to_raw(self) -> Array:
        """The map of weights in these columns to weights of the table's own numbers and levels; (q, q).

        w_j / scale_j, and the intercept less the sum of w_j center_j / scale_j.
        """
        matrix = np.diag(np.append(1 / self.scale, [1.0] * self.intercept))
        if self.intercept:
            matrix[-1, :-1] = -self.center / self.scale
        return matrix


def marked_levels(count: int) -> list[int]:
    """The levels of a category that have a column each: all, but of two the second alone."""
    return [1] if count == 2 else list(range(count))


def make_design(
    statistics: ClassStatistics, ignored: Collection[int], standardize: bool, intercept: bool, centered: bool
) -> Design:
    """From statistics of the rows, column by column; some columns may be ignored."""
    means, deviations = spread_of_numbers(statistics)
    weight = {j: counts.weight.sum(axis=0) for j, counts in counts_of_levels(statistics).items()}
    shares = {j: ratio(own, own.sum()) for j, own in weight.items()}  # of the rows that have a level
    parts: list[tuple[int, int, float, float]] = []
    for j in range(len(statistics.schema)):
        if j in ignored:
            continue
        if j in shares:
            parts += [(j, level, float(shares[j][level]), 1.0) for level in marked_levels(len(shares[j]))]
        else:
            parts.append((j, NUMBER, means[j], deviations[j]))
    source, level, mean, scale = (np.array(part) for part in zip(*parts, strict=True))
    center = mean if centered else np.zeros(len(mean))
    return Design(source, level, mean, center, scale if standardize else np.ones(len(mean)), intercept)


def spread_of_numbers(statistics: ClassStatistics) -> tuple[dict[int, float], dict[int, float]]:
    """The mean and the standard deviation of each column of numbers over all rows; 0 and 1 of one that has no values,
    and a deviation of 1 where it does not vary.
    """
    places, moments = statistics.schema.numbers, statistics.by_column().moments
    spread = np.where(moments.constant(), 1.0, np.sqrt(moments.overall_variance()))
    means = moments.overall_mean()
    return dict(zip(places, means.tolist(), strict=True)), dict(zip(places, spread.tolist(), strict=True))


def is_direct(design: Design, statistics: ClassStatistics) -> bool:
    """Whether sums over the rows can be of the table's own numbers, and mapped to columns afterwards: all columns are
    numbers, none is missing, and their means are not far away.
    """
    if not design.is_plain or len(design.source) != len(statistics.schema) or statistics.missing_weight().any():
        return False
    deviation = np.array(list(spread_of_numbers(statistics)[1].values()))
    return bool((np.abs(design.mean) <= FARTHEST * deviation).all() and np.isfinite(design.to_raw).all())


def counts_of_levels(statistics: ClassStatistics) -> dict[int, LevelCounts]:
    """The levels of each category and what they weigh, by position."""
    if not statistics.schema.levels:
        return {}
    columns = zip(statistics.schema.levels, statistics.levels.columns, strict=True)
    return {j: column for j, column in columns if column is not None}
