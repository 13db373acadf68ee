"""The validation of requests: what rows may hold, read off the model once and held against every row.

A column of numbers takes numbers within the range of its family, a column of levels takes levels of its own type: text,
yes and no, or numbers. null is a missing value, where the model takes such. "1" is no number, except where a column was
text in fit and held numbers: there it may be written as it was in fit, and so may a date.

The checks are NumPy's, over whole columns, so that JSON and Arrow share them; a library that checks types would look at
one value after the other, and only those of JSON.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels
from classwise.rows.codes import Coded, code_values
from classwise.rows.conversions import Moment
from classwise.rows.schema import Column, Conversion, Family, Schema
from classwise.rows.sources import ArraySource, Source
from classwise.rows.table import RANGES
from classwise.serve.requests import Problem, listed, misfit, shown

# Numbers are below: the square of a much larger one overflows.
LARGEST = 1e150

# What values are in JSON, and what JSON Schema calls them.
TYPES: dict[str, set[type]] = {"yes/no": {bool}, "numbers": {int, float}, "text": {str}}
SCHEMA_TYPES = {"yes/no": "boolean", "numbers": "number", "text": "string"}

Checked = NDArray[Any] | Coded


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers, within the range of its family. allow_missing: whether null is a value."""

    name: str
    column: Column
    allow_missing: bool

    kind = "numbers"

    @property
    def choices(self) -> str:
        """What it takes."""
        return "a number" if self.column.conversion is None else shown(self.column.conversion.example)

    def read(self, values: Sequence[Any]) -> Array:
        """Values of a request as numbers (n,), NaN for null."""
        values = self._converted(values)
        _check_types(self, values)
        try:
            numbers = np.array(values, dtype=np.float64)
        except OverflowError:  # a whole number that no float holds is as good as infinite
            finite = [np.inf if type(value) is int and abs(value) >= LARGEST else value for value in values]
            numbers = np.array(finite, dtype=np.float64)
        self.check(numbers)
        return numbers

    def _converted(self, values: Sequence[Any]) -> Sequence[Any]:
        """Text as the numbers that it stands for, if the column has a conversion."""
        conversion = self.column.conversion
        if conversion is None or str not in {*map(type, values)}:
            return values
        numbers = []
        for row, value in enumerate(values):
            try:
                numbers.append(conversion.number(value) if isinstance(value, str) else value)
            except (ValueError, TypeError, OverflowError):
                raise misfit(
                    self.name, row, f"{shown(value)} is none of the {conversion.what} it holds; give {self.choices}."
                ) from None
        return numbers

    def check(self, numbers: Array) -> None:
        """Refuse numbers (n,) outside the range of the family, and gaps where the model takes none."""
        with np.errstate(invalid="ignore"):
            fine = np.abs(numbers) < LARGEST
            if self.column.family.name in RANGES:
                fine &= RANGES[self.column.family.name].holds(numbers, self.column.family)
        if self.allow_missing:
            fine |= np.isnan(numbers)
        if not fine.all():
            row = int(np.argmin(fine))
            raise misfit(self.name, row, self._complaint(float(numbers[row])))

    def mistyped(self, value: Any) -> str:
        """What is wrong with a value of another type."""
        kind = "text" if isinstance(value, str) else "yes/no" if isinstance(value, bool) else "not a number"
        return f"{shown(value)} is {kind}, and the column holds numbers; give a number without quotes."

    def _complaint(self, number: float) -> str:
        if np.isnan(number):
            return _missing(self)
        if not abs(number) < LARGEST:
            return f"{number:g} is not below 1e150, and its square would overflow."
        family = self.column.family
        return f"{number:g} is a number that {family} cannot take; it takes {RANGES[family.name].words}."

    def json_schema(self) -> dict[str, Any]:
        """What JSON Schema says of a value."""
        family = self.column.family
        if family.trials is not None:
            schema = {"type": "integer", "minimum": 0, "maximum": family.trials}
        elif family.name in ("multinomial", "complement"):
            schema = {"type": "number", "minimum": 0, "exclusiveMaximum": LARGEST}
        elif family.kind == "count":
            schema = {"type": "integer", "minimum": 0, "exclusiveMaximum": LARGEST}
        else:
            least = 0 if family.name == "lognormal" else -LARGEST
            schema = {"type": "number", "exclusiveMinimum": least, "exclusiveMaximum": LARGEST}
            ends = {"minimum": family.low, "maximum": family.high}
            schema |= {name: end for name, end in ends.items() if end is not None}
        if self.column.conversion is None:
            return _nullable(schema) if self.allow_missing else schema
        null = [{"type": "null"}] if self.allow_missing else []
        return {"anyOf": [text_schema(self.column.conversion), schema, *null], "description": self.column.note}


def text_schema(conversion: Conversion) -> dict[str, Any]:
    """What JSON Schema says of a value as text."""
    schema = {"type": "string", "examples": [conversion.example]}
    return schema | ({"format": "date"} if conversion == Moment("date") else {})


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """A column of levels. allow_unseen: whether levels may come that the rows learned from had not."""

    name: str
    column: Column
    levels: Labels
    allow_missing: bool
    allow_unseen: bool

    @cached_property
    def kind(self) -> str:
        """What the levels are: text, yes/no or numbers."""
        return {"b": "yes/no", "i": "numbers", "u": "numbers", "f": "numbers"}.get(self.levels.dtype.kind, "text")

    def read(self, values: Sequence[Any]) -> Coded:
        """Values of a request as codes."""
        _check_types(self, values)
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        coded = code_values(objects)
        self.check(coded)
        return coded

    def check(self, coded: Coded) -> None:
        """Refuse levels never seen, and gaps, where the model takes none."""
        if not self.allow_missing:
            self._refuse(coded, [name is None for name in coded.names], "it is missing (null), which the model refuses")
        if not self.allow_unseen:
            known = set(self.levels.tolist())
            unseen = [name is not None and name not in known for name in coded.names]
            self._refuse(coded, unseen, "this level was never seen in training, and the model has smoothing=0")

    def _refuse(self, coded: Coded, bad: list[bool], complaint: str) -> None:
        found = np.array([*bad, not self.allow_missing])[coded.codes]
        if found.any():
            raise misfit(self.name, int(np.argmax(found)), f"{complaint}; give {self.choices}.")

    def mistyped(self, value: Any) -> str:
        """What is wrong with a value of another type."""
        return f"{shown(value)} is not a level: the column holds {self.kind}, such as {self.choices}."

    @property
    def choices(self) -> str:
        """Some values that it takes."""
        return " or ".join(shown(level) for level in self.levels.tolist()[:3])

    def json_schema(self) -> dict[str, Any]:
        """What JSON Schema says of a value."""
        schema = {"type": SCHEMA_TYPES[self.kind]} if self.allow_unseen else {"enum": self.levels.tolist()}
        return _nullable(schema) if self.allow_missing else schema


InputColumn = NumberColumn | LevelColumn


def _check_types(column: InputColumn, values: Sequence[Any]) -> None:
    allowed = TYPES[column.kind] | {NoneType} if column.allow_missing else TYPES[column.kind]
    if not {*map(type, values)} <= allowed:
        row = next(row for row, value in enumerate(values) if type(value) not in allowed)
        raise misfit(column.name, row, _missing(column) if values[row] is None else column.mistyped(values[row]))


def _missing(column: InputColumn) -> str:
    return f"it is missing (null), and this model was fitted with missing='error'; give {column.choices}."


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


# Rows -----------------------------------------------------------------------------------------------------------------


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

    def conversion(self, column: int) -> None:
        """Values are numbers by now, or levels."""

    def numbers(self, column: int) -> Any:
        return self.columns[column]

    def converted(self, column: int, conversion: Any) -> Any:
        return self.columns[column]

    coded = numbers

    def take(self, part: slice | Codes) -> "CheckedColumns":
        return CheckedColumns([column[part] for column in self.columns], self.names)

    def restrict(self, columns: Sequence[int]) -> "CheckedColumns":
        names = None if self.names is None else tuple(self.names[j] for j in columns)
        return CheckedColumns([self.columns[j] for j in columns], names)


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

    def read(self, given: dict[str, Any], most_rows: int) -> Source:
        """The `rows` or the `columns` of a request, no more of them than the limit."""
        if len(given) != 1:
            raise Problem(422, 'Give either "rows", a list, or "columns", an object from name to list.')
        ((name, values),) = given.items()
        shape, words = {"rows": (list, "a list of rows"), "columns": (dict, "an object from name to list")}[name]
        if not isinstance(values, shape):
            raise Problem(422, f"{name} is to be {words}, not {shown(values)}.")
        lists = [values] if isinstance(values, list) else [v for v in values.values() if isinstance(v, list)]
        refuse_many(max(map(len, lists), default=0), most_rows)
        return self.read_rows(values) if name == "rows" else self.read_columns(values)

    def read_rows(self, rows: list[Any]) -> Source:
        """A list of rows, each an object from column to value, or a list of values in order."""
        if not rows:
            raise Problem(422, "rows is empty; give at least one row.")
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


def refuse_many(count: int, most_rows: int) -> None:
    """Refuse more rows than the limit."""
    if count > most_rows:
        raise Problem(413, f"The request has {count} rows or more, and the limit is {most_rows}; send fewer at a time.")


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
