"""Transforms: from the rows of a table to the columns that a member learns from.

Numbers are standardized. Yeo-Johnson powers may make them more Gaussian, quantile steps may be added, or quantile bins
may replace them. Categories stay positions of levels, or become one-hot columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Self

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.yeo_johnson import PowerSums, inverse_yeo_johnson, yeo_johnson
from classwise.errors import ClasswiseError
from classwise.statistics.moments import LARGEST
from classwise.storage import stored

# The most quantile steps of a column.
MOST_STEPS = 15

# The most quantile bins of a column of numbers; fewer if there would be too many pairs of bins.
MOST_BINS = 7

# A level needs FEWEST_ROWS rows for a one-hot column. A table has about MOST_ONE_HOT one-hot columns at most.
FEWEST_ROWS = 2
MOST_ONE_HOT = 200


# The range of a column of numbers on both sides of its center, in standard deviations.
REACH = 2.5


@stored("EncodedNumbers")
@dataclass(frozen=True, eq=False)
class Standardized:
    """Columns of numbers: (x - center) / scale, to a Yeo-Johnson power (1 changes nothing), and 0 for missing values.

    columns, center, scale, powers: (q,) each.
    """

    columns: Codes
    center: Array
    scale: Array
    powers: Array

    def _is_sound(self) -> bool:
        alike = self.columns.shape == self.center.shape == self.scale.shape == self.powers.shape
        spread = bool(((self.scale > 0) & (self.scale <= LARGEST) & (np.abs(self.center) <= LARGEST)).all())
        return alike and self.columns.ndim == 1 and spread and bool((self.columns >= 0).all())

    @classmethod
    def of(cls, rows: Array, columns: Sequence[int], weights: Array) -> Self:
        """Standardized by all rows; a constant column has a scale of 1."""
        values = rows[:, list(columns)]
        present = ~np.isnan(values)
        weight = np.where(present, weights[:, None], 0.0)
        total = np.maximum(weight.sum(axis=0), 1e-300)
        center = np.where(present, values * weight, 0.0).sum(axis=0) / total
        away = np.where(present, values - center, 0.0)
        # Scaled by a power of two near the largest value: this is exact, and no square overflows or underflows.
        unit = np.frexp(np.abs(away).max(axis=0, initial=0.0))[1]
        square = (weight * np.ldexp(away, -unit) ** 2).sum(axis=0) / total
        spread = np.ldexp(np.sqrt(square), unit)
        scale = np.where(spread > 1e-12 * np.abs(center), spread, 1.0)
        return cls(np.asarray(columns, dtype=np.intp), center, scale, np.ones(len(columns)))

    def with_powers(self, rows: Array, codes: Codes, count: int, weights: Array) -> Self:
        """The same with Yeo-Johnson powers that are fitted to the rows."""
        return replace(self, powers=PowerSums.gather(self._units(rows), codes, count, weights).best())

    def __call__(self, rows: Array) -> Array:
        """(m, p) -> (m, q)."""
        values = self._units(rows)
        if (self.powers != 1).any():
            values = yeo_johnson(values, self.powers)
        return np.nan_to_num(values, copy=False, nan=0.0)

    def inverse(self, values: Array) -> Array:
        """The numbers that are transformed to these values; (m, q) -> (m, q)."""
        return np.asarray(self.center + self.scale * inverse_yeo_johnson(values, self.powers))

    def _units(self, rows: Array) -> Array:
        return np.asarray((rows[:, self.columns] - self.center) / self.scale)


@stored("EncodedCategory")
@dataclass(frozen=True, eq=False)
class Category:
    """A column of levels, or of few distinct numbers. values (v,): the codes, or the numbers; missing: whether missing
    is the last level, as it is if values were missing at fit.
    """

    column: int
    values: Array
    missing: bool

    def _is_sound(self) -> bool:
        return self.column >= 0 and self.values.ndim == 1 and bool((np.diff(self.values) > 0).all())

    @classmethod
    def of_few(cls, values: Array, column: int) -> Self:
        """A column of few distinct numbers."""
        present = values[~np.isnan(values)]
        return cls(column, np.unique(present), len(present) < len(values))

    @property
    def count(self) -> int:
        """The number of levels, without that of missing values."""
        return len(self.values)

    def __len__(self) -> int:
        return self.count + self.missing

    @property
    def cuts(self) -> Array:
        """The borders between positions: a number has the position of the nearest value."""
        return (self.values[1:] + self.values[:-1]) / 2

    def of_levels(self, codes: Array) -> Array:
        """The position of each code; -1 if it is unseen, or missing although no value was missing at fit; (m,)."""
        return np.where(codes < 0, self._at_missing, np.where(codes < self.count, codes, -1.0))

    def of_numbers(self, values: Array) -> Array:
        """The position of each number; -1 if it is missing although no value was missing at fit; (m,)."""
        absent = np.isnan(values)
        positions = np.searchsorted(self.cuts, np.where(absent, 0.0, values)).astype(np.float64)
        return np.where(absent, self._at_missing, positions)

    @property
    def _at_missing(self) -> float:
        return float(self.count) if self.missing else -1.0

    def draw(self, positions: Codes, generator: np.random.Generator, absent: float) -> Array:
        """The values at these positions; absent: the value that marks a missing one; (m,)."""
        return np.append(self.values, absent)[positions]


@stored("EncodedRange")
@dataclass(frozen=True, eq=False)
class QuantileBins(Category):
    """A column of numbers in bins between values (v + 1,); the outermost are the least and the largest at fit."""

    @classmethod
    def of(cls, values: Array, column: int, weights: Array, bins: int) -> Self:
        """Bins with about equal numbers of rows."""
        present = ~np.isnan(values)
        if not present.any():
            return cls(column, np.array([0.0, 1.0]), True)
        levels = np.linspace(0, 1, bins + 1)
        cuts = np.quantile(values[present], levels, weights=weights[present], method="inverted_cdf")
        return cls(column, np.unique(cuts), not present.all())

    @property
    def count(self) -> int:
        return max(len(self.values) - 1, 1)

    @property
    def cuts(self) -> Array:
        return self.values[1:-1]

    def draw(self, positions: Codes, generator: np.random.Generator, absent: float) -> Array:
        """Values drawn uniformly from each bin."""
        low, high = (self.values[:-1], self.values[1:]) if len(self.values) > 1 else (self.values, self.values)
        lots = generator.random(len(positions))
        return np.append(low, absent)[positions] + lots * np.append(high - low, absent)[positions]


@stored("Encoding")
@dataclass(frozen=True, eq=False)
class Encoding:
    """The transform of a table: first numbers, then categories. Rows become (m, q + c).

    few: the categories that are columns of few distinct numbers.
    indicators: for each category, the positions with a one-hot column; empty if categories stay positions.
    cuts: for each number, the places of its quantile steps, which follow the numbers; empty if there are none.
    constants: the value of each constant column of numbers, by position; these are left out. So are empty columns, with
        the value NaN, or -1 for categories.
    copies: for each column of numbers that repeats another one, the position of that one; copies are left out, too.
    """

    width: int
    numbers: Standardized
    categories: tuple[Category, ...]
    few: tuple[int, ...]
    indicators: tuple[Codes, ...] = ()
    cuts: tuple[Array, ...] = ()
    is_plain: bool = True
    constants: dict[int, float] = field(default_factory=dict)
    copies: dict[int, int] = field(default_factory=dict)

    def _is_sound(self) -> bool:
        marked = self.is_plain or len(self.indicators) == len(self.categories)
        cut = not self.cuts or (len(self.cuts) == len(self.numbers.columns) and not self.is_plain)
        seen = [*self.numbers.columns.tolist(), *(category.column for category in self.categories)]
        places = [*seen, *self.constants, *self.copies]
        if not set(self.copies.values()) <= set(seen):
            return False
        flat = all(of.ndim == 1 for of in (*self.indicators, *self.cuts))
        return marked and cut and flat and len({*places}) == len(places) and all(0 <= j < self.width for j in places)

    @classmethod
    def of(cls, rows: Array, levels: dict[int, int], weights: Array, few: Sequence[int] = ()) -> Self:
        """The encoding of rows (n, p). levels: the number of levels of each category; few: numbers that become
        categories.
        """
        constants = _constants(rows, [j for j in range(rows.shape[1]) if j not in levels], few)
        constants |= {j: -1.0 for j, count in levels.items() if not count}
        levels = {j: count for j, count in levels.items() if count}
        copies = _copies(rows, [j for j in range(rows.shape[1]) if not (j in levels or j in constants)])
        few = tuple(j for j in few if not (j in constants or j in copies))
        others = {*levels, *few, *constants, *copies}
        numbers = [j for j in range(rows.shape[1]) if j not in others]
        categories = [Category.of_few(rows[:, j], j) for j in few]
        categories += [
            Category(j, np.arange(count, dtype=np.float64), bool((rows[:, j] < 0).any())) for j, count in levels.items()
        ]
        standardized = Standardized.of(rows, numbers, weights)
        return cls(rows.shape[1], standardized, tuple(categories), few, constants=constants, copies=copies)

    def __call__(self, rows: Array) -> Array:
        """Rows of the table (m, p), transformed."""
        numbers = self.numbers(rows)
        parts = [numbers, *(_steps(x, cuts) for x, cuts in zip(numbers.T, self.cuts, strict=False))]
        if self.is_plain:
            parts += [x[:, None] for x in self.positions(rows)]
        else:
            parts += [x[:, None] == shown for x, shown in zip(self.positions(rows), self.indicators, strict=True)]
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def positions(self, rows: Array) -> list[Array]:
        """The position of the value of each category among its levels; -1 if it is unknown; (m,) each."""
        return [self._positions(category, rows[:, category.column]) for category in self.categories]

    def _positions(self, category: Category, values: Array) -> Array:
        return category.of_numbers(values) if category.column in self.few else category.of_levels(values)

    def inverse(self, encoded: Array, generator: np.random.Generator) -> Array:
        """Rows of the table with this encoding, if categories are positions; (m, q + c) -> (m, p)."""
        rows = np.full((len(encoded), self.width), np.nan)
        rows[:, list(self.constants)] = list(self.constants.values())
        rows[:, self.numbers.columns] = self.numbers.inverse(encoded[:, : self.n_numbers])
        for category, x in zip(self.categories, encoded[:, self.n_numbers :].T, strict=True):
            rows[:, category.column] = category.draw(x.astype(np.intp), generator, self._missing(category))
        rows[:, list(self.copies)] = rows[:, list(self.copies.values())]
        return rows

    def probes(self) -> Array:
        """Rows with every value of every category, a missing and an unseen one; numbers are missing; (m, p)."""
        length = max((len(category.values) for category in self.categories), default=0) + 2
        rows = np.full((length, self.width), np.nan)
        for category in self.categories:
            values = [self._missing(category), *category.values, len(category.values)]
            rows[:, category.column] = np.resize(values, length)
        return rows

    def _missing(self, category: Category) -> float:
        """The value that marks a missing one in the table."""
        return np.nan if category.column in self.few else -1.0

    def mark_reach(self, places: Array) -> None:
        """Write the lowest, middle and highest values of its columns of numbers into places (3, p)."""
        numbers = self.numbers
        places[:, numbers.columns] = numbers.center + REACH * numbers.scale * np.array([[-1.0], [0.0], [1.0]])
        for category in self.categories:
            if category.column in self.few:
                places[:, category.column] = category.values[[0, len(category.values) // 2, -1]]

    @property
    def n_numbers(self) -> int:
        return len(self.numbers.columns)

    @property
    def n_continuous(self) -> int:
        """The number of transformed columns that are not positions: numbers, quantile steps, one-hot columns."""
        return self.n_numbers + sum(map(len, self.cuts)) + sum(map(len, self.indicators))

    @property
    def n_encoded(self) -> int:
        """The number of transformed columns."""
        return self.n_continuous + len(self.categories) * self.is_plain

    def one_hot(self, rows: Array, weights: Array) -> Self:
        """The same with a one-hot column for each frequent level."""
        found = []
        for category, positions in zip(self.categories, self.positions(rows), strict=True):
            known = positions >= 0
            found.append(np.bincount(positions[known].astype(np.intp), weights[known], minlength=len(category)))
        of_all = np.sort(np.concatenate([np.zeros(0), *found]))
        least = max(FEWEST_ROWS, of_all[-MOST_ONE_HOT] if len(of_all) > MOST_ONE_HOT else 0.0)
        return replace(self, indicators=tuple(np.flatnonzero(weight >= least) for weight in found), is_plain=False)

    def with_steps(self, rows: Array, weights: Array, most: int = MOST_STEPS) -> Self:
        """The same with steps at quantiles of each column of numbers, or between its values if few are distinct."""
        return replace(self, cuts=tuple(_cuts(x, weights, most) for x in self.numbers(rows).T))

    def binned(self, rows: Array, weights: Array, bins: int) -> Self:
        """The same with quantile bins instead of numbers."""
        columns = [QuantileBins.of(rows[:, j], int(j), weights, bins) for j in self.numbers.columns]
        return replace(
            self,
            numbers=Standardized.of(rows[:0], [], weights[:0]),
            categories=(*self.categories, *columns),
            few=(*self.few, *(of.column for of in columns)),
        )


def _steps(values: Array, cuts: Array) -> Array:
    """Steps: -0.5 below each cut, 0.5 above it; (m,), (c,) -> (m, c)."""
    return np.where(values[:, None] > cuts, 0.5, -0.5)


def _cuts(values: Array, weights: Array, most: int) -> Array:
    distinct = np.unique(values[:: max(len(values) // 5000, 1)])
    if len(distinct) <= most + 1:
        return (distinct[1:] + distinct[:-1]) / 2
    inner = np.linspace(0, 1, most + 2)[1:-1]
    return np.unique(np.quantile(values, inner, weights=weights, method="inverted_cdf"))


def _copies(rows: Array, columns: Sequence[int]) -> dict[int, int]:
    """The columns that repeat an earlier one in every row, with the position of that one."""
    first: dict[bytes, int] = {}
    sources = {j: first.setdefault(blake2b(rows[:, j].tobytes()).digest(), j) for j in columns}
    return {j: source for j, source in sources.items() if source != j}


def _constants(rows: Array, columns: Sequence[int], few: Sequence[int]) -> dict[int, float]:
    """The constant columns of numbers, with their value. Columns in `few` that have missing values do not count,
    because missing is a level there. An empty column has the value NaN.
    """
    found: dict[int, float] = {}
    for j in columns:
        present = rows[~np.isnan(rows[:, j]), j]
        if not len(present):
            found[j] = np.nan
        elif present.min() == present.max() and not (j in few and len(present) < len(rows)):
            found[j] = float(present[0])
    return found


def few_valued(rows: Array, columns: Sequence[int]) -> tuple[int, ...]:
    """The columns of numbers with few distinct values; empty columns do not count."""
    found: list[int] = []
    for j in columns:
        values = rows[:, j]
        if len(np.unique(values[:200][~np.isnan(values[:200])])) <= limits.FEW_VALUES:
            distinct = np.unique(values[~np.isnan(values)])
            if 0 < len(distinct) <= limits.FEW_VALUES:
                found.append(j)
    return tuple(found)


# The transforms of members: the first two read the table, the others transform their result further -------------------


def categories_apart(rows: FoldedRows) -> Encoding:
    """Numbers, and separate categories: levels, and numbers with few distinct values."""
    return Encoding.of(rows.rows, rows.levels, rows.weights, few_valued(rows.rows, rows.numbers))


def one_hot(rows: FoldedRows) -> Encoding:
    """Numbers, and a one-hot column for each frequent level."""
    return Encoding.of(rows.rows, rows.levels, rows.weights).one_hot(rows.rows, rows.weights)


def with_yeo_johnson(rows: FoldedRows, encoding: Encoding) -> Encoding:
    """Numbers with Yeo-Johnson powers, which are fitted to a subsample of the rows."""
    if not encoding.n_numbers:
        raise ClasswiseError("There are no numbers to bend.")
    rows.deadline.check()
    some = slice(None, None, rows.stride)
    sample = (rows.rows[some], rows.codes[some], rows.count, rows.weights[some])
    return replace(encoding, numbers=encoding.numbers.with_powers(*sample))


def with_powers_if_any(rows: FoldedRows, encoding: Encoding) -> Encoding:
    """The same, but a table without numbers stays as it is."""
    return with_yeo_johnson(rows, encoding) if encoding.n_numbers else encoding


def with_quantile_steps(rows: FoldedRows, encoding: Encoding) -> Encoding:
    """Each number, and steps at its quantiles, so that a linear model can follow any curve."""
    if not encoding.n_numbers:
        raise ClasswiseError("There are no numbers to make steps of.")
    most = int(limits.STEP_WORK / (len(rows) * rows.count * encoding.n_numbers))
    if most < 2:
        raise ClasswiseError("The table is so large that steps would take too long.")
    return encoding.with_steps(rows.rows, rows.weights, min(most, MOST_STEPS))


def in_quantile_bins(rows: FoldedRows, encoding: Encoding) -> Encoding:
    """Categories alone: numbers become quantile bins."""
    for bins in range(MOST_BINS, 1, -1):
        binned = encoding.binned(rows.rows, rows.weights, bins)
        levels = sum(map(len, binned.categories))
        if rows.count * levels**2 <= limits.STACK_PAIRS:
            return binned
    raise ClasswiseError(f"The columns have {levels} levels in all, and too many pairs of them.")
