"""What each column is: its name, its type, and the family of densities that is to describe it.

The rule goes by type, so that batches of one table do not disagree:

    integers, floats, decimals             a number     gaussian
    dates, times, durations                a number     gaussian, after a conversion
    booleans                               yes/no       bernoulli
    text, categoricals, enums              a category   categorical
    text that is all dates, or all         a number     gaussian, after a conversion: decided once, and kept
      numbers as people write them
    lists, bytes, anything else            refused by name
    no value at all                        a number, until another batch shows what it is

It holds for frames, arrays and lists alike; values without a type of their own, as those of lists and objects, go by
the types of what stands in the column.

Counts are never guessed: "poisson" and "binomial(N)" are asked for, as any other family may be, per column.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import narwhals as nw
import numpy as np

from classwise.arrays import Array, Labels
from classwise.errors import ClasswiseError, StatisticsError, column_name
from classwise.rows.conversions import Moment
from classwise.rows.formats import MISSING
from classwise.rows.written_numbers import WrittenNumber
from classwise.storage import stored
from classwise.tabular import Tabular

# What a family takes a column for.
KINDS = {
    "gaussian": "number",
    "lognormal": "number",
    "poisson": "count",
    "binomial": "count",
    "categorical": "category",
    "bernoulli": "yes/no",
    "best": "number",
}

# The libraries whose tables a schema may remember, so that a sample can be such a table too.
BACKENDS = ("pandas", "polars", "pyarrow", "modin", "cudf")

# How values of a column become numbers, where they are none as they stand.
Conversion: TypeAlias = Moment | WrittenNumber

Families: TypeAlias = Literal["auto", "best"] | Mapping[str | int, str]


@stored("Family")
@dataclass(frozen=True)
class Family:
    """A family of densities; a binomial knows its number of trials.

    >>> Family.read("binomial(10)")
    Family(name='binomial', trials=10)
    """

    name: str
    trials: int | None = None

    @classmethod
    def read(cls, text: Any) -> Self:
        """A family by its name."""
        trials = re.fullmatch(r"binomial\((\d+)\)", text) if isinstance(text, str) else None
        if trials and int(trials[1]) > 0:
            return cls("binomial", int(trials[1]))
        if text in KINDS and text != "binomial":
            return cls(text)
        names = ", ".join(repr(name) for name in KINDS if name not in ("binomial", "best"))
        raise ClasswiseError(f"{text!r} is not a family; choose {names}, 'binomial(N)' with N trials, or 'best'.")

    def _is_sound(self) -> bool:
        return Family.read(str(self)) == self

    @property
    def kind(self) -> str:
        """What it takes a column for: number, count, category or yes/no."""
        return KINDS[self.name]

    @property
    def has_levels(self) -> bool:
        """Whether values are levels to be counted, rather than numbers."""
        return self.kind in ("category", "yes/no")

    def __str__(self) -> str:
        return self.name if self.trials is None else f"{self.name}({self.trials})"


@stored("Column")
@dataclass(frozen=True)
class Column:
    """A column: its name (None in an array), its type, its family, and whether that family was asked for.

    declared: the categories of an ordered type, in their order. place: where it stands in the table, for messages.
    conversion: how its values become numbers, where they are dates, or numbers that are written as text.
    """

    name: str | None
    type: str
    family: Family
    asked: bool = False
    declared: tuple[str, ...] | None = None
    place: int = 0
    conversion: Conversion | None = None

    def _is_sound(self) -> bool:
        # Samples are made with the type that is called so: it must be a type.
        found = getattr(nw, self.type.split("(")[0], None)
        return isinstance(found, type) and issubclass(found, nw.dtypes.DType) and self.place >= 0

    @property
    def note(self) -> str:
        """What its conversion is, if it has one."""
        return "" if self.conversion is None else self.conversion.note

    def merge(self, other: "Column") -> "Column":
        """The column of two batches; their types may differ, what they are taken for may not."""
        if self.family != other.family:
            raise StatisticsError(
                f"Column {self.name!r} is a {self.family.kind} ({self.family}) in one statistic and a "
                f"{other.family.kind} ({other.family}) in the other; give it one family for both."
            )
        kept = self if self.type == other.type else replace(self, type=_common_type(self, other), declared=None)
        return replace(kept, asked=self.asked or other.asked, conversion=self._conversion_with(other))

    def _conversion_with(self, other: "Column") -> Conversion | None:
        found = {column.conversion for column in (self, other) if column.conversion is not None}
        days = [moment for moment in found if isinstance(moment, Moment) and moment.is_day]
        if len(found) < 2:
            return found.pop() if found else None
        orders = {moment.order for moment in days} - {"ymd"}
        if len(days) == len(found) and len(orders) < 2:
            zoned = any(moment.zoned for moment in days)
            is_date = all(moment.kind == "date" for moment in days)
            return Moment("date" if is_date else "datetime", zoned, orders.pop() if orders else "ymd")
        notes = " and ".join(sorted(conversion.note for conversion in found))
        raise StatisticsError(f"Column {self.name!r} is of two kinds, {notes}; write it in one way for both.")


def _common_type(first: Column, second: Column) -> str:
    """A type that holds both: what levels are, their values will tell."""
    return "Object" if first.family.has_levels else "Float64"


# The families whose columns are summarized alike: "ranged" cannot take every number.
SUMMARIZED = {
    "numbers": ("gaussian", "poisson", "binomial", "best"),
    "gaussian": ("gaussian",),
    "ranged": ("lognormal", "poisson", "binomial"),
    "logs": ("lognormal", "best"),
    "candidates": ("best",),
    "levels": ("categorical", "bernoulli"),
}


@stored("Schema")
@dataclass(frozen=True)
class Schema:
    """The columns of a table, and the library that held it (None for an array).

    missing: what stood for a missing value in the files that the rows came from, besides nothing; None, where rows came
    from elsewhere.
    """

    columns: tuple[Column, ...]
    backend: str | None = None
    missing: tuple[str, ...] | None = None

    @classmethod
    @lru_cache(maxsize=16)  # the same columns come again, fit after fit
    def of_numbers(cls, count: int, type: str = "Float64", names: tuple[str, ...] | None = None) -> Self:
        """So many columns of numbers."""
        gaussian = Family("gaussian")
        return cls(tuple(Column(n, type, gaussian, place=j) for j, n in enumerate(names or (None,) * count)))

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """The column names, or None where there are none."""
        names = tuple(column.name for column in self.columns if column.name is not None)
        return names if names and len(names) == len(self) else None

    def name(self, column: int) -> str:
        """What messages call a column."""
        return column_name(self.columns[column].name, self.columns[column].place)

    def positions(self, *families: str) -> list[int]:
        """The columns of these families, in order."""
        found = [self.by_family[family] for family in families if family in self.by_family]
        return found[0] if len(found) == 1 else sorted(j for columns in found for j in columns)

    @cached_property
    def by_family(self) -> dict[str, list[int]]:
        """The columns of each family that occurs, in order."""
        found: dict[str, list[int]] = {}
        for j, column in enumerate(self.columns):
            found.setdefault(column.family.name, []).append(j)
        return found

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The columns that are treated alike, by the names of SUMMARIZED, and "all"."""
        alike = {name: self.positions(*families) for name, families in SUMMARIZED.items()}
        return alike | {"all": list(range(len(self.columns)))}

    @cached_property
    def numbers(self) -> list[int]:
        """The columns whose values are numbers, and enter moments."""
        return self.places["numbers"]

    @cached_property
    def logs(self) -> list[int]:
        """The columns whose logarithms enter moments."""
        return self.places["logs"]

    @cached_property
    def candidates(self) -> list[int]:
        """The columns whose family is yet to be chosen."""
        return self.places["candidates"]

    @cached_property
    def levels(self) -> list[int]:
        """The columns whose values are levels, and are counted."""
        return self.places["levels"]

    def find(self, keys: Sequence[int | str]) -> list[int]:
        """The positions of columns given by name or position."""
        return [find_column(key, self.names or range(len(self)), "columns") for key in keys]

    def seen_as(self, families: Mapping[int, Family]) -> Self:
        """With other families for some columns."""
        columns = list(self.columns)
        for j, family in families.items():
            columns[j] = replace(columns[j], family=family)
        return replace(self, columns=tuple(columns))

    def part(self, columns: Sequence[int]) -> Self:
        """Only these columns, seen as part of the table: messages call them by their places there."""
        return replace(self, columns=tuple(self.columns[j] for j in columns))

    def restrict(self, columns: Sequence[int]) -> Self:
        """Only these columns, as a table of their own."""
        kept = (replace(self.columns[j], place=i) for i, j in enumerate(columns))
        return replace(self, columns=tuple(kept))

    def merge(self, other: "Schema") -> Self:
        """The schema of both; columns that differ are an error that names them. What is missing in one is missing."""
        if len(self) != len(other):
            raise StatisticsError(f"Statistics of {len(self)} and of {len(other)} features cannot be combined.")
        if self.names and other.names and self.names != other.names:
            ours, theirs = next((a, b) for a, b in zip(self.names, other.names, strict=True) if a != b)
            raise StatisticsError(f"The columns differ: '{ours}' stands where the other statistic has '{theirs}'.")
        if self == other:
            return self
        first = self if self.names else other
        columns = (a.merge(b) for a, b in zip(first.columns, (other if first is self else self).columns, strict=True))
        marks = [mark for schema in (self, other) for mark in schema.missing or ()]
        missing = None if self.missing is None and other.missing is None else tuple(dict.fromkeys(marks))
        return replace(self, columns=tuple(columns), backend=self.backend or other.backend, missing=missing)

    @property
    def marks(self) -> tuple[str, ...] | None:
        """What else than usual stands for a missing value in files; None, where nothing else does."""
        return None if self.missing == MISSING else self.missing

    def facts(self) -> dict[str, Any]:
        """The columns as the header of a file tells them, and what stands for a missing value, if not the usual."""
        columns = [{"name": c.name, "type": c.type, "family": str(c.family)} for c in self.columns]
        return {"columns": columns} | ({} if self.marks is None else {"missing": list(self.marks)})

    def _is_sound(self) -> bool:
        return bool(self.columns) and (self.backend is None or self.backend in BACKENDS)


def read_families(families: Any, names: Sequence[Any], are_numbers: Sequence[bool]) -> dict[int, Family]:
    """The families that were asked for, by position; columns not among them go by their type.

    families: "auto", "best", or a mapping from name or position to family.
    """
    if isinstance(families, str) and families == "auto":
        return {}
    if isinstance(families, str) and families == "best":
        return {j: Family("best") for j, is_number in enumerate(are_numbers) if is_number}
    if not isinstance(families, Mapping):
        raise ClasswiseError(
            f"families={families!r} is not an option; choose 'auto', 'best' or a mapping from column to family."
        )
    return {find_column(key, names, "families"): Family.read(family) for key, family in families.items()}


def find_column(key: Any, names: Sequence[Any], option: str) -> int:
    """The position of a column given by name or position."""
    if key in names:
        return list(names).index(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    known = ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    raise ClasswiseError(f"{option} name the column {key!r}, which is not there; the columns are {known}.")


# What each column was taken for, as a table to look at ----------------------------------------------------------------


class ColumnReport(NamedTuple):
    """One column. levels: how many, for a category; missing: the share of the weight without a value."""

    name: Any
    type: str
    kind: str
    family: str
    levels: int | None
    missing: float
    note: str


class SchemaReport(Tabular, tuple[ColumnReport, ...]):
    """The columns in order; prints as a table, and is found by name or position.

    >>> import classwise as cw, pandas as pd
    >>> X = pd.DataFrame({"age": [31, 42, 57, 60], "smoker": [True, False] * 2, "city": ["Rome", "Oslo", None, None]})
    >>> m = cw.NaiveBayes().fit(X, ["a", "a", "b", "b"])
    >>> m.schema_
    column  type     kind      family       levels  missing  note
    age     Int64    number    gaussian
    smoker  Boolean  yes/no    bernoulli         2
    city    String   category  categorical       2     50 %
    >>> m.schema_["city"].levels
    2
    """

    sides = "<<<<>><"

    @classmethod
    def of(cls, schema: Schema, levels: Mapping[int, Labels], missing: Array, notes: Mapping[int, str]) -> Self:
        """levels: of each column that has some; missing (p,): the share without a value; notes: what to know."""
        return cls(
            ColumnReport(
                name=j if column.name is None else column.name,
                type=column.type,
                kind=column.family.kind,
                family=str(column.family),
                levels=len(levels[j]) if j in levels else None,
                missing=float(missing[j]),
                note="; ".join(filter(None, [column.note, notes.get(j)])),
            )
            for j, column in enumerate(schema)
        )

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, slice)):
            return super().__getitem__(key)
        found = [column for column in self if column.name == key]
        if not found:
            raise KeyError(f"{key!r} is not a column; the columns are {[column.name for column in self]}.")
        return found[0]

    def __iter__(self) -> Iterator[ColumnReport]:
        return super().__iter__()

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text, header first."""
        rows = [(str(c.name), c.type, c.kind, c.family, _number(c.levels), _share(c.missing), c.note) for c in self]
        return [("column", "type", "kind", "family", "levels", "missing", "note"), *rows]


def _number(levels: int | None) -> str:
    return "" if levels is None else str(levels)


def _share(missing: float) -> str:
    return "" if not missing else f"{100 * missing:.3g} %"
