"""A table: rows, the labels and weights that go with them, and the checks of what rows may hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels, slices
from classwise.errors import ClasswiseError
from classwise.rows.codes import Coded
from classwise.rows.schema import Family, Schema


class TableRows(Protocol):
    """Rows wherever they are; chunks of them become matrices."""

    def __len__(self) -> int: ...

    def take(self, part: Any) -> Self:
        """Some of the rows: a view, where `part` is a slice."""
        ...

    def matrix(self, columns: Sequence[int] | None = None) -> NDArray[Any]:
        """Columns as numbers (m, p): a category as its code, -1 if missing; a missing number as NaN."""
        ...

    def plain(self) -> NDArray[Any] | Sequence[NDArray[Any]] | None:
        """All rows where they lie, as a matrix or as columns; None where some columns are not plain numbers."""
        ...

    def codes(self, column: int, missing: int) -> Codes:
        """The codes of a category (m,), with a number of its own for what is missing."""
        ...


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows that are a matrix already, all of numbers."""

    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, part: Any) -> "Matrix":
        return Matrix(self.values[part])

    def matrix(self, columns: Sequence[int] | None = None) -> NDArray[Any]:
        return self.values if columns is None or len(columns) == self.values.shape[1] else self.values[:, columns]

    def plain(self) -> NDArray[Any]:
        return self.values

    def codes(self, column: int, missing: int) -> Codes:
        raise TypeError("A matrix of numbers has no categories.")


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows kept column by column, as they are; only a chunk of them is ever a matrix."""

    values: Sequence[NDArray[Any] | Coded]

    def __len__(self) -> int:
        return len(self.values[0])

    def take(self, part: Any) -> "Columns":
        return Columns([column[part] for column in self.values])

    def restrict(self, columns: Sequence[int]) -> "Columns":
        return Columns([self.values[j] for j in columns])

    def matrix(self, columns: Sequence[int] | None = None) -> Array:
        # Column after column in memory: that is how it is filled, and how categories are looked up.
        chosen = self.values if columns is None else [self.values[j] for j in columns]
        stacked = np.empty((len(chosen), len(self)))
        for target, column in zip(stacked, chosen, strict=True):
            if isinstance(column, Coded):
                column.write(target)
            else:
                target[:] = column
        return stacked.T

    def numbers(self, columns: Sequence[int]) -> Sequence[NDArray[Any]]:
        """Some columns, all of numbers."""
        chosen = [self.values[j] for j in columns]
        return [column for column in chosen if not isinstance(column, Coded)]

    def plain(self) -> Sequence[NDArray[Any]] | None:
        found = self.numbers(range(len(self.values)))
        return found if len(found) == len(self.values) else None

    def codes(self, column: int, missing: int) -> Codes:
        coded = self.values[column]
        assert isinstance(coded, Coded)
        return coded.positions(missing)


@dataclass(frozen=True, eq=False)
class Table:
    """n rows of p columns, with the labels (n,) and weights (n,) that go with them, where there are any.

    levels: for each column whose values are levels, what its codes stand for. A chunk of a table is a table.
    """

    source: TableRows
    schema: Schema
    levels: dict[int, Labels]
    labels: Labels | None = None
    weights: Array | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def is_copied(self) -> bool:
        """Whether chunks are made by putting columns side by side, rather than views."""
        return isinstance(self.source, Columns)

    @property
    def rows(self) -> NDArray[Any]:
        """The rows as a matrix (n, p); meant for chunks. Those of a sparse matrix stay sparse."""
        return self.source.matrix()

    def block(self, columns: Sequence[int]) -> NDArray[Any]:
        """Some columns as a matrix (n, columns)."""
        return self.source.matrix(columns)

    def columns(self, columns: Sequence[int]) -> Sequence[NDArray[Any]] | None:
        """Some columns of numbers (n,), where they are kept column by column; else None."""
        return self.source.numbers(columns) if isinstance(self.source, Columns) else None

    def numbers(self) -> NDArray[Any] | Sequence[NDArray[Any]] | None:
        """All rows where they lie, as a matrix or as columns; None where some columns are not plain numbers."""
        return self.source.plain()

    def codes(self, column: int) -> Codes:
        """The codes of a category (n,): the positions of its levels, and their number for what is missing."""
        return self.source.codes(column, len(self.levels[column]))

    def shown(self, row: int) -> list[Any]:
        """The values of a row as Python objects, None where one is missing."""
        values = np.asarray(self.take(slice(row, row + 1)).rows, dtype=np.float64)[0]
        return [
            (None if value < 0 else self.level_of(row, j)) if j in self.levels else self._as_given(j, value)
            for j, value in enumerate(values.tolist())
        ]

    def _as_given(self, column: int, number: float) -> Any:
        """A number of a column, or the date that it stands for; None where it is missing."""
        conversion = self.schema.columns[column].conversion
        return None if np.isnan(number) else number if conversion is None else conversion.value(number)

    def level_of(self, row: int, column: int) -> Any:
        """The level that a row holds, whether or not it is among the known ones."""
        assert isinstance(self.source, Columns)
        coded = self.source.values[column]
        assert isinstance(coded, Coded)
        return coded.names[coded.codes[row]]

    def chunks(self, size: int) -> list["Table"]:
        """Consecutive chunks of at most `size` rows, as views."""
        return [self] if len(self) <= size else [self.take(part) for part in slices(len(self), size)]

    def take(self, part: Any) -> "Table":
        """Some of the rows, with their labels and weights."""
        labels = None if self.labels is None else self.labels[part]
        weights = None if self.weights is None else self.weights[part]
        return replace(self, source=self.source.take(part), labels=labels, weights=weights)

    def restrict(self, columns: Sequence[int]) -> "Table":
        """Some of the columns, as a table of their own."""
        rows = self.source.restrict(columns) if isinstance(self.source, Columns) else Matrix(self.block(columns))
        levels = {i: self.levels[j] for i, j in enumerate(columns) if j in self.levels}
        return replace(self, source=rows, schema=self.schema.restrict(columns), levels=levels)

    def weighted(self) -> "Table":
        """Without the rows of weight zero, which count as absent."""
        if self.weights is None or self.weights.all():
            return self
        return self.take(np.flatnonzero(self.weights))


# What rows may not hold: an error names the columns, the values and the remedy ----------------------------------------

# The option that takes missing values as they are.
INTEGRATE = "missing='integrate'"


def refuse_unsuitable(table: Table, allow_missing: bool, remedy: str = INTEGRATE) -> None:
    """Refuse what no density can take: infinity, overflow, values outside a family's range; NaN where not allowed.

    remedy: the option that would allow it.
    """
    rows = np.asarray(table.rows, dtype=np.float64)
    if not allow_missing:
        _refuse_missing(rows, table, remedy)
    other = "remove those rows, or put other values there"
    _refuse("infinity", np.isinf(rows), table, other)
    _refuse("numbers beyond 1e150, whose squares overflow,", np.abs(rows) > 1e150, table, other)
    for j, column in enumerate(table.schema.columns):
        if column.family.name in RANGES:
            _refuse_outside(rows[:, j], table.schema.name(j), column.family)


class Range(NamedTuple):
    """The values that a family can take: in words, from the least to the greatest, and whether they are whole."""

    words: str
    ends: Callable[[Family], tuple[float, float]]
    is_whole: bool = False

    def holds(self, values: Array, family: Family) -> NDArray[np.bool_]:
        low, high = self.ends(family)
        inside = (values >= low) & (values <= high)
        return inside & (values == np.floor(values)) if self.is_whole else inside


def _from(low: float) -> Callable[[Family], tuple[float, float]]:
    return lambda family: (low, inf)


RANGES = {
    "lognormal": Range("numbers above 0", _from(float(np.nextafter(0.0, 1.0)))),
    "multinomial": Range("numbers from 0 on", _from(0.0)),
    "complement": Range("numbers from 0 on", _from(0.0)),
    "kernel": Range(
        "numbers within its limits",
        lambda family: (-inf if family.low is None else family.low, inf if family.high is None else family.high),
    ),
    "poisson": Range("whole numbers from 0 on", _from(0.0), is_whole=True),
    "binomial": Range("whole numbers from 0 to N", lambda family: (0.0, float(family.trials or 0)), is_whole=True),
}


def within_families(rows: Array, schema: Schema) -> Array:
    """The same rows, with values moved to the nearest end of what the family of their column can take; (m, p)."""
    held = rows.copy()
    for j, column in enumerate(schema):
        if column.family.name in RANGES:
            held[:, j] = np.clip(held[:, j], *RANGES[column.family.name].ends(column.family))
    return held


def _refuse_outside(values: Array, name: str, family: Family) -> None:
    rule = RANGES[family.name]
    outside = values[~np.isnan(values) & ~rule.holds(values, family)]
    if len(outside):
        raise ClasswiseError(
            f"X contains values that {family} cannot take in {name} ({len(outside)}), such as {outside[0]:g}: it takes "
            f"{rule.words}; give the column another family."
        )


def _refuse_missing(rows: Array, table: Table, remedy: str) -> None:
    missing = np.isnan(rows)
    for j in table.levels:
        missing[:, j] = rows[:, j] < 0
    _refuse("NaN", missing, table, f"remove those rows, put other values there, or let {remedy} handle them")


def refuse_unscorable(table: Table) -> None:
    """Name a level never seen in training, where without smoothing it has probability zero in every class."""
    for j, levels in table.levels.items():
        unseen = np.flatnonzero(table.rows[:, j] == len(levels))
        if len(unseen):
            level = table.level_of(int(unseen[0]), j)
            raise ClasswiseError(
                f"{table.schema.name(j)} has the level {level!r}, which was never seen in training, and smoothing=0 "
                "gives it probability zero in every class; use smoothing=1, or put another level there."
            )


def _refuse(what: str, found: NDArray[np.bool_], table: Table, remedy: str) -> None:
    counts = found.sum(axis=0)
    columns = np.flatnonzero(counts)
    if len(columns):
        where = ", ".join(f"{table.schema.name(column)} ({counts[column]})" for column in columns[:5])
        more = f" and {len(columns) - 5} more columns" if len(columns) > 5 else ""
        raise ClasswiseError(f"X contains {what} in {where}{more}; {remedy}.")
