"""What each column is: its name, its type, and the family of densities that is to describe it.

The type decides, so that batches of one table do not disagree:

    integers, floats, decimals             a number     gaussian
    dates, times, durations                a number     gaussian, after a conversion
    booleans                               yes/no       bernoulli
    text, categoricals, enums              a category   categorical
    text that is all dates, or all         a number     gaussian, after a conversion: decided once, and kept
      numbers as people write them
    lists, bytes, anything else            refused by name
    no value at all                        a number, until another batch shows what it is

It holds for frames, arrays and lists alike; values without a type of their own, as those of lists and objects, have
the types of what stands in the column.

Counts are never guessed: "poisson", "multinomial" and "binomial(N)" must be given, as any other family may be, per
column or for all numbers. The columns of a sparse matrix are all alike, and have no names: one `Repeated` stands for
them, however many there are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf, isinf, nan
from typing import Any, Literal, Self, TypeAlias

import narwhals as nw
import numpy as np

from classwise.errors import ClasswiseError, StatisticsError, column_name
from classwise.rows.conversions import Moment
from classwise.rows.formats import MISSING
from classwise.rows.written_numbers import WrittenNumber
from classwise.storage import stored

# What a family takes a column for.
KINDS = {
    "gaussian": "number",
    "lognormal": "number",
    "poisson": "count",
    "binomial": "count",
    "categorical": "category",
    "bernoulli": "yes/no",
    "multinomial": "count",
    "complement": "count",
    "kernel": "number",
    "best": "number",
}

# The families that all numbers of a table can be given at once; "binomial" has trials for each column.
FOR_ALL = tuple(name for name in KINDS if name not in ("binomial", "categorical"))

# The families that take the columns of a sparse matrix, whose zeros are not looked at one by one.
FOR_SPARSE = ("gaussian", "poisson", "bernoulli", "multinomial", "complement")

# The libraries whose tables a schema may remember, so that a sample can be such a table too.
BACKENDS = ("pandas", "polars", "pyarrow", "modin", "cudf")

# How values of a column become numbers, where they are none as they stand.
Conversion: TypeAlias = Moment | WrittenNumber

Families: TypeAlias = (
    Literal["auto", "best", "gaussian", "lognormal", "poisson", "bernoulli", "multinomial", "complement", "kernel"]
    | Mapping[str | int, str]
)


@stored("Family")
@dataclass(frozen=True)
class Family:
    """A family of densities; a binomial knows its number of trials, and a kernel density its limits, if it has some.

    >>> str(Family.read("binomial(10)")), str(Family.read("kernel(0, inf)"))
    ('binomial(10)', 'kernel(0.0, inf)')
    """

    name: str
    trials: int | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def read(cls, text: Any) -> Self:
        """A family by its name."""
        trials = re.fullmatch(r"binomial\((\d+)\)", text) if isinstance(text, str) else None
        if trials and int(trials[1]) > 0:
            return cls("binomial", int(trials[1]))
        limits = re.fullmatch(r"kernel\(([^,]+),([^,]+)\)", text) if isinstance(text, str) else None
        if limits:
            return cls("kernel", None, *_read_limits(text, limits[1], limits[2]))
        if text in KINDS and text != "binomial":
            return cls(text)
        names = ", ".join(repr(name) for name in KINDS if name not in ("binomial", "best"))
        raise ClasswiseError(
            f"{text!r} is not a family; choose {names}, 'binomial(N)' with N trials, 'kernel(low, high)' with limits, "
            "or 'best'."
        )

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
        if self.low is not None or self.high is not None:
            low, high = (-inf if self.low is None else self.low), (inf if self.high is None else self.high)
            return f"{self.name}({low}, {high})"
        return self.name if self.trials is None else f"{self.name}({self.trials})"


def _read_limits(text: str, *ends: str) -> tuple[float | None, float | None]:
    """The limits of a kernel density, None for infinity."""
    try:
        low, high = map(float, ends)
    except ValueError:
        low, high = nan, nan
    if not low < high:
        raise ClasswiseError(f"{text!r} is not a family: 'kernel(low, high)' takes two numbers, the smaller first.")
    return None if isinf(low) else low, None if isinf(high) else high


@stored("Column")
@dataclass(frozen=True)
class Column:
    """A column: its name (None in an array), its type, its family, and whether that family was given by the user.

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


@stored("Repeated")
@dataclass(frozen=True)
class Repeated(Sequence[Column]):
    """A number of columns that are alike except for their places, and have no names.

    >>> columns = Repeated(Column(None, "Float64", Family("multinomial")), 100_000)
    >>> len(columns), columns[-1].place
    (100000, 99999)
    """

    column: Column
    times: int

    def _is_sound(self) -> bool:
        family = self.column.family.name in FOR_SPARSE
        return family and self.times > 0 and self.column.name is None and self.column.conversion is None

    def __len__(self) -> int:
        return self.times

    def __getitem__(self, place: Any) -> Any:
        places = range(self.times)[place]
        if isinstance(places, range):
            return [replace(self.column, place=j) for j in places]
        return replace(self.column, place=places)

    def __iter__(self) -> Iterator[Column]:
        return (replace(self.column, place=j) for j in range(self.times))


def _common_type(first: Column, second: Column) -> str:
    """A type that holds both; values decide what levels are."""
    return "Object" if first.family.has_levels else "Float64"


# The families whose columns are summarized alike: "ranged" cannot take every number. Of a sparse matrix, "sums" are
# enough except for Gaussians.
SUMMARIZED = {
    "numbers": ("gaussian", "poisson", "binomial", "multinomial", "complement", "kernel", "best"),
    "gaussian": ("gaussian",),
    "kernel": ("kernel",),
    "ranged": ("lognormal", "poisson", "binomial", "multinomial", "complement", "kernel"),
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

    columns: tuple[Column, ...] | Repeated
    backend: str | None = None
    missing: tuple[str, ...] | None = None

    @classmethod
    @lru_cache(maxsize=16)  # the same columns come again, fit after fit
    def of_numbers(cls, count: int, type: str = "Float64", names: tuple[str, ...] | None = None) -> Self:
        """`count` columns of numbers."""
        gaussian = Family("gaussian")
        return cls(tuple(Column(n, type, gaussian, place=j) for j, n in enumerate(names or (None,) * count)))

    @classmethod
    def of_sparse(cls, count: int, family: Family) -> Self:
        """The columns of a sparse matrix."""
        return cls(Repeated(Column(None, "Float64", family), count))

    @cached_property
    def is_sparse(self) -> bool:
        """Whether the columns are those of a sparse matrix: all alike, and perhaps very many."""
        return isinstance(self.columns, Repeated)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """The column names, or None where there are none."""
        if self.is_sparse:
            return None
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
        if isinstance(self.columns, Repeated):
            return {self.columns.column.family.name: self._every}
        for j, column in enumerate(self.columns):
            found.setdefault(column.family.name, []).append(j)
        return found

    @cached_property
    def _every(self) -> Any:
        """All columns, by position. Those of a sparse matrix are not written out: a damaged file may claim billions."""
        every = range(len(self.columns))
        return every if self.is_sparse else list(every)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The columns that are treated alike, by the names of SUMMARIZED, and "all"."""
        every = self._every
        if isinstance(self.columns, Repeated):
            nothing: dict[str, list[int]] = {name: [] for name in SUMMARIZED}
            is_gaussian = self.columns.column.family.name == "gaussian"
            own = {"numbers": every, "gaussian": every, "sums": []} if is_gaussian else {"sums": every}
            return nothing | own | {"all": every}
        alike = {name: self.positions(*families) for name, families in SUMMARIZED.items()}
        return alike | {"all": every, "sums": []}

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

    def all_seen_as(self, family: Family) -> Self:
        """With another family for all columns of a sparse matrix."""
        assert isinstance(self.columns, Repeated)
        return replace(self, columns=replace(self.columns, column=replace(self.columns.column, family=family)))

    def part(self, columns: Sequence[int]) -> Self:
        """Only these columns, seen as part of the table: messages call them by their places there."""
        if self.is_sparse:
            return self.restrict(columns)
        return replace(self, columns=tuple(self.columns[j] for j in columns))

    def restrict(self, columns: Sequence[int]) -> Self:
        """Only these columns, as a table of their own."""
        if isinstance(self.columns, Repeated):
            return replace(self, columns=replace(self.columns, times=len(columns)))
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
        if isinstance(self.columns, Repeated) or isinstance(other.columns, Repeated):
            return self._merged_sparse(other)
        first = self if self.names else other
        columns = (a.merge(b) for a, b in zip(first.columns, (other if first is self else self).columns, strict=True))
        marks = [mark for schema in (self, other) for mark in schema.missing or ()]
        missing = None if self.missing is None and other.missing is None else tuple(dict.fromkeys(marks))
        return replace(self, columns=tuple(columns), backend=self.backend or other.backend, missing=missing)

    def _merged_sparse(self, other: "Schema") -> Self:
        if not isinstance(self.columns, Repeated) or not isinstance(other.columns, Repeated):
            raise StatisticsError(
                "One statistic is of a sparse matrix and the other is not, and they hold different sums; give both in "
                "one form: scipy.sparse.csr_array(X) makes a sparse matrix, X.toarray() a dense one."
            )
        together = self.columns.column.merge(other.columns.column)
        return replace(self, columns=replace(self.columns, column=together))

    @property
    def marks(self) -> tuple[str, ...] | None:
        """What else than usual stands for a missing value in files; None, where nothing else does."""
        return None if self.missing == MISSING else self.missing

    def facts(self) -> dict[str, Any]:
        """The columns as the header of a file has them, and what stands for a missing value, if not the usual."""
        # One line for all columns of a sparse matrix.
        listed = [replace(self.columns[0], name=f"{len(self)} columns")] if self.is_sparse else self.columns
        columns = [{"name": c.name, "type": c.type, "family": str(c.family)} for c in listed]
        return {"columns": columns} | ({} if self.marks is None else {"missing": list(self.marks)})

    def _is_sound(self) -> bool:
        return bool(self.columns) and (self.backend is None or self.backend in BACKENDS)


def read_families(families: Any, names: Sequence[Any], are_numbers: Sequence[bool]) -> dict[int, Family]:
    """The families that were given, by position; other columns have the family of their type.

    families: "auto", "best", a family for all numbers, or a mapping from name or position to family.
    """
    if isinstance(families, str) and families == "auto":
        return {}
    if isinstance(families, str) and families in FOR_ALL:
        return {j: Family(families) for j, is_number in enumerate(are_numbers) if is_number}
    if not isinstance(families, Mapping):
        every = ", ".join(repr(name) for name in FOR_ALL if name != "best")
        raise ClasswiseError(
            f"families={families!r} is not an option; choose 'auto', 'best' or a mapping from column to family; or one "
            f"for all numbers: {every}."
        )
    return {find_column(key, names, "families"): Family.read(family) for key, family in families.items()}


def family_of_sparse(families: Any) -> Family:
    """The one family that all columns of a sparse matrix have."""
    name = "gaussian" if isinstance(families, str) and families == "auto" else families
    if isinstance(name, str) and name in FOR_SPARSE:
        return Family(name)
    raise ClasswiseError(
        f"families={families!r} is not for a sparse matrix, whose columns are all alike; choose one of "
        f"{', '.join(map(repr, FOR_SPARSE))}, or give X.toarray()."
    )


def find_column(key: Any, names: Sequence[Any], option: str) -> int:
    """The position of a column given by name or position."""
    if key in names:
        return names.index(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < len(names):
        return int(key)
    known = ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    raise ClasswiseError(f"{option} name the column {key!r}, which is not there; the columns are {known}.")
