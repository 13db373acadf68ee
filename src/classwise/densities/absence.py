"""What is not there: columns that say nothing, values that are missing, classes without rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes, product, spread
from classwise.densities.density import ColumnPolynomial, Density, Wrapper
from classwise.errors import ClasswiseError
from classwise.storage import stored

# Columns that say nothing about the class: they never vary, they repeat another column, or they are not looked at.


@stored("Constant", loose=("values",))
@dataclass(frozen=True, eq=False)
class Constant(Density):
    """The same values (p,) in every class, which a sample repeats; a row's density does not depend on them."""

    values: Array
    classes: int

    def _is_sound(self) -> bool:
        return self.values.ndim == 1

    @property
    def count(self) -> int:
        return self.classes

    @property
    def n_features(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return self.n_features

    @property
    def free_parameters(self) -> int:
        return 0

    def relative(self, rows: Array, offset: Array) -> Array:
        return np.repeat(offset, len(rows), axis=1)

    def common(self, rows: Array) -> float:
        return 0.0

    def polynomial(self) -> ColumnPolynomial:
        return ColumnPolynomial(np.zeros(self.count), np.zeros((self.count, self.n_features)))

    def observed(self, rows: Array, offset: Array) -> Array:
        return self.relative(rows, offset)

    def shares(self, row: Array, first: int, second: int) -> Array:
        return np.zeros(self.n_features)

    def parameters(self) -> list[dict[Any, Array]]:
        return [{}] * self.n_features

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return np.tile(self.values, (len(codes), 1))


@stored("Copies")
@dataclass(frozen=True, eq=False)
class Copies(Constant):
    """Columns that are slope * x + offset of other columns, as a sample shows; what these say is said once.

    values, offset (p,): the means over all rows, and what is added; sources, slope (p, s), or (p,) for s = 1: where the
    other columns stand in the table, and their slopes, 0 where there are fewer.
    """

    sources: Codes
    slope: Array
    offset: Array

    def _is_sound(self) -> bool:
        shaped = self.values.shape == self.offset.shape == self.sources.shape[:1] == (len(self.values),)
        return shaped and self.slope.shape == self.sources.shape and bool((self.sources >= 0).all())

    def repeat(self, rows: Array, columns: Codes) -> None:
        parts = self.slope * rows[:, self.sources]
        rows[:, columns] = parts.reshape(*rows[:, columns].shape, -1).sum(axis=2) + self.offset


# ----------------------------------------------------------------------------------------------------------------------
# What is left of a density when values are missing: they are integrated out.


@dataclass(frozen=True, eq=False)
class Observed(Wrapper):
    """The same density for rows with gaps: NaN where a number is missing."""

    whole: Density

    @property
    def wrapped(self) -> Density:
        return self.whole

    def relative(self, rows: Array, offset: Array) -> Array:
        return self.whole.observed(rows, offset)

    def common(self, rows: Array) -> float:
        return 0.0


# ----------------------------------------------------------------------------------------------------------------------
# Missing values as a signal: whether a number is there may depend on the class.
#
# log p(x | k) = log p(x_o | k) + sum over columns of log P(there or not | k)


@stored("Presence", loose=("missing",))
@dataclass(frozen=True, eq=False)
class Presence(Wrapper):
    """A density of numbers, and the probability that each is missing (g, p); NaN where it says nothing."""

    numbers: Density
    missing: Array

    def _is_sound(self) -> bool:
        shaped = self.missing.shape == (self.count, self.n_features)
        return shaped and bool((np.isnan(self.missing) | ((self.missing >= 0) & (self.missing < 1 + 1e-9))).all())

    @property
    def wrapped(self) -> Density:
        return self.numbers

    def of_values(self) -> Density:
        return self.numbers

    @property
    def width(self) -> int:
        return self.numbers.width + self.n_features

    @property
    def free_parameters(self) -> int:
        return self.numbers.free_parameters + int(np.isfinite(self.missing).sum())

    @cached_property
    def _logs(self) -> tuple[Array, Array]:
        """log P(missing) and log P(there); (g, p), 0 where missing says nothing."""
        with np.errstate(divide="ignore"):
            return np.nan_to_num(np.log(self.missing), neginf=-np.inf), np.nan_to_num(np.log1p(-self.missing))

    def relative(self, rows: Array, offset: Array) -> Array:
        if isinstance(self.numbers, Constant):  # what does not look at its columns does not notice that one is missing
            return self.observed(rows, offset)
        return self.numbers.relative(rows, offset + self._logs[1].sum(axis=1, keepdims=True))

    def observed(self, rows: Array, offset: Array) -> Array:
        absent, there = self._logs
        gone = np.isnan(rows).astype(np.float64)
        # 0 * -inf must be 0: a column that a class never lacks rules it out only where a value is missing.
        finite = np.where(np.isneginf(absent), 0.0, absent)
        signal = product(finite - there, gone.T) + there.sum(axis=1, keepdims=True)
        impossible = product(np.isneginf(absent).astype(np.float64), gone.T) > 0
        return self.numbers.observed(rows, offset) + np.where(impossible, -np.inf, signal)

    def shares(self, row: Array, first: int, second: int) -> Array:
        absent, there = self._logs
        signal = np.where(np.isnan(row), absent, there)
        return self.numbers.shares(row, first, second) + (signal[first] - signal[second])

    def parameters(self) -> list[dict[Any, Array]]:
        pairs = zip(self.numbers.parameters(), self.missing.T, strict=True)
        return [of if np.isnan(missing).all() else {**of, "missing": missing} for of, missing in pairs]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        rows = self.numbers.sample(codes, generator)
        rows[generator.random(rows.shape) < np.nan_to_num(self.missing)[codes]] = np.nan
        return rows


# ----------------------------------------------------------------------------------------------------------------------
# Classes that are expected, and of which there are no rows yet: no density, a probability of zero everywhere.


@stored("Unseen")
@dataclass(frozen=True, eq=False)
class Unseen(Wrapper):
    """seen: the densities of classes that have rows; places: where these stand among all classes, in order."""

    seen: Density
    places: Codes
    classes: int

    def _is_sound(self) -> bool:
        within = self.places.shape == (self.seen.count,) and bool((np.diff(self.places) > 0).all())
        return within and self.places[0] >= 0 and self.places[-1] < self.classes

    @property
    def wrapped(self) -> Density:
        return self.seen

    def of_seen_classes(self) -> Density:
        return self.seen

    def polynomial(self) -> ColumnPolynomial | None:
        found = self.seen.polynomial()
        if found is None:
            return None
        constant = spread(found.constant, self.places, self.classes, -np.inf)
        others = [None if of is None else spread(of, self.places, self.classes) for of in found[1:]]
        return ColumnPolynomial(constant, *others)  # type: ignore[arg-type]

    def sparse_common(self, rows: Any) -> Array | float:
        return self.seen.sparse_common(rows)

    @property
    def count(self) -> int:
        return self.classes

    def relative(self, rows: Array, offset: Array) -> Array:
        return spread(self.seen.relative(rows, offset[self.places]), self.places, self.classes, -np.inf)

    def observed(self, rows: Array, offset: Array) -> Array:
        return spread(self.seen.observed(rows, offset[self.places]), self.places, self.classes, -np.inf)

    def shares(self, row: Array, first: int, second: int) -> Array:
        if first not in self.places or second not in self.places:
            raise ClasswiseError("A class without rows has no density, and its log odds are not finite.")
        return self.seen.shares(row, *np.searchsorted(self.places, [first, second]).tolist())

    def parameters(self) -> list[dict[Any, Array]]:
        nowhere = (self.places, self.classes, np.nan)
        return [{name: spread(of, *nowhere) for name, of in column.items()} for column in self.seen.parameters()]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return self.seen.sample(np.searchsorted(self.places, codes), generator)
