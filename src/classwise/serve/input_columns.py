"""What a value of each column may be: read off the model once, held against every request.

A column of numbers takes numbers within the range of its family, a column of levels takes levels of its own type: text,
yes and no, or numbers. null is a missing value, where the model takes such. Nothing is converted: "1" is no number.

The checks are NumPy's, over whole columns, so that JSON and Arrow share them; a library that checks types would look at
one value after the other, and only those of JSON.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Labels
from classwise.rows.checks import RANGES
from classwise.rows.coding import Coded, code_values
from classwise.rows.schema import Column
from classwise.serve.problems import misfit, shown

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
    choices = "a number"

    def read(self, values: Sequence[Any]) -> Array:
        """Values of a request as numbers (n,), NaN for null."""
        _check_types(self, values)
        try:
            numbers = np.array(values, dtype=np.float64)
        except OverflowError:  # a whole number that no float holds is as good as infinite
            finite = [np.inf if type(value) is int and abs(value) >= LARGEST else value for value in values]
            numbers = np.array(finite, dtype=np.float64)
        self.check(numbers)
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
        elif family.kind == "count":
            schema = {"type": "integer", "minimum": 0, "exclusiveMaximum": LARGEST}
        else:
            least = 0 if family.name == "lognormal" else -LARGEST
            schema = {"type": "number", "exclusiveMinimum": least, "exclusiveMaximum": LARGEST}
        return _nullable(schema) if self.allow_missing else schema


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
