"""How a member sees the rows of a table: numbers in standard units, perhaps bent or cut into steps; categories as
positions, or as indicators among the numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes
from classwise.comparison.stack.columns import Category, Numbers, Range
from classwise.storage import stored

# A column of numbers with at most this many distinct values may be taken for a category.
FEW_VALUES = 10

# A step goes up at each of so many quantiles of a column.
MOST_STEPS = 15

# A level with fewer rows has no indicator of its own; nor have more than this many levels of a table.
FEWEST_ROWS = 2
MOST_INDICATORS = 200


@stored("Encoding")
@dataclass(frozen=True, eq=False)
class Encoding:
    """numbers, then categories; of these `few` are columns of numbers. Rows become (m, q + c).

    indicators: for each category the positions that have an indicator; empty where categories stay positions.
    cuts: for each number where steps go up, which stand after the numbers; empty where there are none.
    constants: the value of each column of numbers that never varies, by position; it is not seen at all.
    """

    width: int
    numbers: Numbers
    categories: tuple[Category, ...]
    few: tuple[int, ...]
    indicators: tuple[Codes, ...] = ()
    cuts: tuple[Array, ...] = ()
    is_plain: bool = True
    constants: dict[int, float] = field(default_factory=dict)

    def _is_sound(self) -> bool:
        marked = self.is_plain or len(self.indicators) == len(self.categories)
        cut = not self.cuts or (len(self.cuts) == len(self.numbers.columns) and not self.is_plain)
        places = [*self.numbers.columns.tolist(), *(category.column for category in self.categories), *self.constants]
        flat = all(of.ndim == 1 for of in (*self.indicators, *self.cuts))
        return marked and cut and flat and len({*places}) == len(places) and all(0 <= j < self.width for j in places)

    def __call__(self, rows: Array) -> Array:
        """Rows of the table (m, p), as a member sees them."""
        numbers = self.numbers(rows)
        parts = [numbers, *(_steps(x, cuts) for x, cuts in zip(numbers.T, self.cuts, strict=False))]
        positions = [category(rows, category.column in self.few) for category in self.categories]
        if self.is_plain:
            parts += [x[:, None] for x in positions]
        else:
            parts += [x[:, None] == shown for x, shown in zip(positions, self.indicators, strict=True)]
        return np.concatenate(parts, axis=1, dtype=np.float64)

    @property
    def n_numbers(self) -> int:
        return len(self.numbers.columns)

    @property
    def n_encoded(self) -> int:
        """How many columns rows become."""
        beside = len(self.categories) if self.is_plain else sum(map(len, self.indicators))
        return self.n_numbers + sum(map(len, self.cuts)) + beside

    def back(self, encoded: Array, generator: np.random.Generator) -> Array:
        """Rows of a table that would be seen so; (m, q + c) -> (m, p)."""
        rows = np.full((len(encoded), self.width), np.nan)
        rows[:, list(self.constants)] = list(self.constants.values())
        rows[:, self.numbers.columns] = self.numbers.back(encoded[:, : self.n_numbers])
        for i, category in enumerate(self.categories):
            rows[:, category.column] = category.back(
                encoded[:, self.n_numbers + i], category.column in self.few, generator
            )
        return rows

    def bent(self, rows: Array, codes: Codes, count: int, weights: Array) -> Self:
        """The same with bent numbers."""
        return replace(self, numbers=self.numbers.bent(rows, codes, count, weights))

    def with_indicators(self, rows: Array, weights: Array) -> Self:
        """The same with an indicator for each frequent level."""
        shown = []
        for category in self.categories:
            positions = category(rows, category.column in self.few).astype(np.intp)
            known = positions >= 0
            weight = np.bincount(positions[known], weights[known], minlength=len(category))
            shown.append(weight)
        least = max(FEWEST_ROWS, _floor(np.concatenate(shown) if shown else np.zeros(0)))
        indicators = tuple(np.flatnonzero(weight >= least) for weight in shown)
        return replace(self, indicators=indicators, is_plain=False)

    def with_steps(self, rows: Array, weights: Array, most: int = MOST_STEPS) -> Self:
        """The same with steps at quantiles of each column of numbers, or between its values if they are few."""
        return replace(self, cuts=tuple(_cuts(x, weights, most) for x in self.numbers(rows).T))


def _steps(values: Array, cuts: Array) -> Array:
    """Half a step down below each cut, half a step up above it; (m,), (c,) -> (m, c)."""
    return np.where(values[:, None] > cuts, 0.5, -0.5)


def _cuts(values: Array, weights: Array, most: int) -> Array:
    distinct = np.unique(values[:: max(len(values) // 5000, 1)])
    if len(distinct) <= most + 1:
        return (distinct[1:] + distinct[:-1]) / 2
    inner = np.linspace(0, 1, most + 2)[1:-1]
    return np.unique(np.quantile(values, inner, weights=weights, method="inverted_cdf"))


def binned(encoding: Encoding, rows: Array, weights: Array, bins: int) -> Encoding:
    """The same with a category for each column of numbers: the range between quantiles in which it lies."""
    ranges = tuple(Range.of(rows[:, j], int(j), weights, bins) for j in encoding.numbers.columns)
    none = Numbers.of(rows[:0], [], weights[:0])
    few = (*encoding.few, *(category.column for category in ranges))
    return replace(encoding, numbers=none, categories=(*encoding.categories, *ranges), few=few)


def _floor(weights: Array) -> float:
    """The weight below which a level is too rare, if there are to be so many indicators at most."""
    if len(weights) <= MOST_INDICATORS:
        return 0.0
    return float(np.sort(weights)[-MOST_INDICATORS])


def few_valued(rows: Array, columns: Sequence[int]) -> tuple[int, ...]:
    """The columns of numbers with few distinct values; a column without any value is none of them."""
    found: list[int] = []
    for j in columns:
        values = rows[:, j]
        if len(np.unique(values[:200][~np.isnan(values[:200])])) <= FEW_VALUES:
            distinct = np.unique(values[~np.isnan(values)])
            if 0 < len(distinct) <= FEW_VALUES:
                found.append(j)
    return tuple(found)


def encode(rows: Array, levels: dict[int, int], weights: Array, few: Sequence[int] = ()) -> Encoding:
    """How rows (n, p) are seen; levels: how many each column of levels has; few: numbers that become categories."""
    width = rows.shape[1]
    constants = _constants(rows, [j for j in range(width) if j not in levels], few)
    few = tuple(j for j in few if j not in constants)
    numbers = [j for j in range(width) if j not in levels and j not in few and j not in constants]
    categories = [Category.of_numbers(rows[:, j], j) for j in few]
    categories += [Category.of_levels(rows, j, count) for j, count in levels.items()]
    return Encoding(width, Numbers.of(rows, numbers, weights), tuple(categories), few, constants=constants)


def _constants(rows: Array, columns: Sequence[int], few: Sequence[int]) -> dict[int, float]:
    """The columns of numbers with one value, and that; where missing is a level of its own, without gaps."""
    found: dict[int, float] = {}
    for j in columns:
        present = rows[~np.isnan(rows[:, j]), j]
        if len(present) and present.min() == present.max() and not (j in few and len(present) < len(rows)):
            found[j] = float(present[0])
    return found
