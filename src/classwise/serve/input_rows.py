"""Rows of a request, checked: what was a list of JSON values is now what an estimator reads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from classwise.arrays import Codes, Labels
from classwise.rows.checks import RANGES
from classwise.rows.coding import Coded
from classwise.rows.reading import ArraySource, Source
from classwise.rows.schema import Family, Schema
from classwise.serve.input_columns import LARGEST, Checked, InputColumn, LevelColumn, NumberColumn
from classwise.serve.problems import Problem, listed, misfit, shown


class CheckedColumns:
    """Columns that were held against the model: arrays of numbers, and codes of levels. The values of a `Source`."""

    backend: str | None = None
    missing: tuple[str, ...] | None = None

    def __init__(self, columns: Sequence[Checked], names: tuple[str, ...] | None) -> None:
        self.columns = columns
        self.names = names
        self.keys: list[Any] = list(names or range(len(columns)))

    def __len__(self) -> int:
        return len(self.columns[0])

    def type(self, column: int) -> tuple[str, None]:
        return ("Object" if isinstance(self.columns[column], Coded) else "Float64"), None

    def natural_family(self, column: int) -> Family:
        return Family("categorical" if isinstance(self.columns[column], Coded) else "gaussian")

    def numbers(self, column: int) -> Any:
        return self.columns[column]

    coded = numbers

    def take(self, part: slice | Codes) -> "CheckedColumns":
        return CheckedColumns([column[part] for column in self.columns], self.names)


@dataclass(frozen=True, eq=False)
class RowReader:
    """Reads rows for one model. columns: what each may hold; names: of the model's columns, None if they have none.

    Columns without names go by their numbers, "0", "1" and so on, where a request must name them.
    """

    columns: tuple[InputColumn, ...]
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, schema: Schema, levels: dict[int, Labels], allow_missing: bool, allow_unseen: bool) -> "RowReader":
        def column(j: int) -> InputColumn:
            name = schema.columns[j].name or str(j)
            if j in levels:
                return LevelColumn(name, schema.columns[j], levels[j], allow_missing, allow_unseen)
            return NumberColumn(name, schema.columns[j], allow_missing)

        return cls(tuple(column(j) for j in range(len(schema))), schema.names)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What requests call the columns."""
        return tuple(column.name for column in self.columns)

    def read_rows(self, rows: list[Any]) -> Source:
        """A list of rows, each an object from column to value, or a list of values in order."""
        try:
            table = self._in_order(rows)
        except (KeyError, TypeError):
            raise self._first_misshapen(rows) from None
        if self._are_plain and {*map(type, chain.from_iterable(table))} <= {int, float}:
            try:
                matrix = np.array(table, dtype=np.float64)
            except OverflowError:
                matrix = np.array([[np.inf]])
            if np.abs(matrix).max() < LARGEST:
                return Source(ArraySource(matrix, self.names))
        by_column = zip(self.columns, zip(*table, strict=True), strict=True)
        return self.checked([column.read(values) for column, values in by_column])

    def read_columns(self, columns: dict[str, Any]) -> Source:
        """An object from column to the list of its values."""
        refuse_other_names(columns, self.keys, None)
        first = self.keys[0]
        for name, values in columns.items():
            if not isinstance(values, list):
                raise misfit(name, None, f"its values are to be a list, not {shown(values)}.")
        for name, values in columns.items():
            if len(values) != len(columns[first]):
                complaint = f"it has {len(values)} values, and column {shown(first)} has {len(columns[first])}."
                raise misfit(name, None, complaint)
        if not columns[first]:
            raise Problem(422, "The columns are empty; give at least one row.")
        return self.checked([column.read(columns[column.name]) for column in self.columns])

    def checked(self, columns: Sequence[Checked]) -> Source:
        """Columns that were read one by one, together."""
        return Source(CheckedColumns(columns, self.names))

    # ----------------------------------------------------------------------------------------------------------------

    @cached_property
    def _pick(self) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
        if len(self.keys) == 1:
            (key,) = self.keys
            return lambda row: (row[key],)
        return itemgetter(*self.keys)

    @cached_property
    def _are_plain(self) -> bool:
        """Whether all columns are numbers of any size, so that one check does for the whole table."""
        return not any(isinstance(c, LevelColumn) or c.column.family.name in RANGES for c in self.columns)

    def _in_order(self, rows: list[Any]) -> list[Sequence[Any]]:
        """The values of each row, in the order of the model's columns; KeyError where a row is misshapen."""
        width = len(self.columns)
        if not all(type(row) in (dict, list) and len(row) == width for row in rows):
            raise KeyError
        return [self._pick(row) if type(row) is dict else row for row in rows]

    def _first_misshapen(self, rows: list[Any]) -> Problem:
        for place, row in enumerate(rows):
            if isinstance(row, dict):
                refuse_other_names(row, self.keys, place)
            elif not isinstance(row, list):
                return Problem(422, f"Row {place} is {shown(row)}; give an object or a list of values.", place)
            elif len(row) != len(self.columns):
                counts = f"{len(row)} values, and the model has {len(self.columns)} columns"
                return Problem(422, f"Row {place} has {counts}: {listed(self.keys)}.", place)
        raise AssertionError("some row is misshapen")


def refuse_other_names(given: Any, known: Sequence[str], row: int | None) -> None:
    """Refuse columns that the model does not have, and the lack of one that it has."""
    where = "" if row is None else f"Row {row}: "
    names = set(known)
    for name in given:
        if name not in names:
            detail = f"{where}{shown(name)} is not a column of the model; its columns are {listed(known)}."
            raise Problem(422, detail, row, name)
    names = set(given)
    for name in known:
        if name not in names:
            remedy = "give it values, null where one is missing" if row is None else "give it a value, null if missing"
            raise Problem(422, f"{where}The column {shown(name)} is not there; {remedy}.", row, name)
