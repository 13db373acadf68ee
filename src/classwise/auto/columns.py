"""The columns that members see: numbers in standard units, perhaps bent, and categories as positions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes
from classwise.auto.powers import PowerSums, bend, unbend
from classwise.storage import stored

# Tables have no larger numbers.
LARGEST = 1e150


@stored("EncodedNumbers")
@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns of numbers: (x - center) / scale, bent by a power (1: not at all), and 0 where there is no value.

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
        """In the units of all rows; a column that never varies has a scale of 1."""
        values = rows[:, list(columns)]
        present = ~np.isnan(values)
        weight = np.where(present, weights[:, None], 0.0)
        total = np.maximum(weight.sum(axis=0), 1e-300)
        center = np.where(present, values * weight, 0.0).sum(axis=0) / total
        away = np.where(present, values - center, 0.0)
        # In units of a power of two near the largest: that is exact, and no square overflows or underflows.
        unit = np.frexp(np.abs(away).max(axis=0, initial=0.0))[1]
        square = (weight * np.ldexp(away, -unit) ** 2).sum(axis=0) / total
        spread = np.ldexp(np.sqrt(square), unit)
        scale = np.where(spread > 1e-12 * np.abs(center), spread, 1.0)
        return cls(np.asarray(columns, dtype=np.intp), center, scale, np.ones(len(columns)))

    def bent(self, rows: Array, codes: Codes, count: int, weights: Array) -> Self:
        """The same with the powers that suit the rows."""
        if not len(self.columns):
            return self
        sums = PowerSums.gather(self._standard(rows), codes, count, weights)
        return replace(self, powers=sums.best())

    def __call__(self, rows: Array) -> Array:
        """(m, p) -> (m, q)."""
        values = self._standard(rows)
        if (self.powers != 1).any():
            values = bend(values, self.powers)
        return np.nan_to_num(values, copy=False, nan=0.0)

    def back(self, values: Array) -> Array:
        """The numbers that are seen so; (m, q) -> (m, q)."""
        return np.asarray(self.center + self.scale * unbend(values, self.powers))

    def _standard(self, rows: Array) -> Array:
        return np.asarray((rows[:, self.columns] - self.center) / self.scale)


@stored("EncodedCategory")
@dataclass(frozen=True, eq=False)
class Category:
    """A column of levels, or of few numbers: values (v,) are the codes, or the numbers. Missing is a level of its own,
    the last, where rows have shown it.
    """

    column: int
    values: Array
    missing: bool

    def _is_sound(self) -> bool:
        return self.column >= 0 and self.values.ndim == 1 and bool((np.diff(self.values) > 0).all())

    @classmethod
    def of_levels(cls, rows: Array, column: int, count: int) -> Self:
        return cls(column, np.arange(count, dtype=np.float64), bool((rows[:, column] < 0).any()))

    @classmethod
    def of_numbers(cls, values: Array, column: int) -> Self:
        present = values[~np.isnan(values)]
        return cls(column, np.unique(present), len(present) < len(values))

    def __len__(self) -> int:
        return len(self.values) + self.missing

    def __call__(self, rows: Array, is_number: bool) -> Array:
        """The position of each value, -1 where it says nothing: never seen, or missing as it never was; (m,)."""
        given = rows[:, self.column]
        if is_number:
            absent = np.isnan(given)
            middles = (self.values[1:] + self.values[:-1]) / 2
            positions = np.searchsorted(middles, np.where(absent, 0.0, given)).astype(np.float64)
        else:
            absent = given < 0
            positions = np.where(given < len(self.values), given, -1.0)
        return np.where(absent, len(self.values) if self.missing else -1.0, positions)

    def back(self, positions: Array, is_number: bool, generator: np.random.Generator) -> Array:
        """Values at these positions, missing ones included; (m,)."""
        absent = np.nan if is_number else -1.0
        return np.append(self.values, absent)[positions.astype(np.intp)]


@stored("EncodedRange")
@dataclass(frozen=True, eq=False)
class Range(Category):
    """A column of numbers, cut at values (v + 1,), of which the outermost are the least and the largest seen."""

    @classmethod
    def of(cls, values: Array, column: int, weights: Array, bins: int) -> Self:
        """Cut at quantiles, so that each range holds about as many rows."""
        present = ~np.isnan(values)
        if not present.any():
            return cls(column, np.array([0.0, 1.0]), True)
        levels = np.linspace(0, 1, bins + 1)
        cuts = np.quantile(values[present], levels, weights=weights[present], method="inverted_cdf")
        return cls(column, np.unique(cuts), not present.all())

    def __len__(self) -> int:
        return max(len(self.values) - 1, 1) + self.missing

    def __call__(self, rows: Array, is_number: bool) -> Array:
        given = rows[:, self.column]
        absent = np.isnan(given)
        positions = np.searchsorted(self.values[1:-1], np.where(absent, 0.0, given)).astype(np.float64)
        return np.where(absent, len(self) - 1 if self.missing else -1.0, positions)

    def back(self, positions: Array, is_number: bool, generator: np.random.Generator) -> Array:
        """Drawn evenly from each range."""
        places = positions.astype(np.intp)
        low, high = self.values[:-1], self.values[1:]
        if not len(low):
            low = high = self.values
        lots = generator.random(len(places))
        return np.append(low, np.nan)[places] + lots * np.append(high - low, np.nan)[places]
