"""What each column was taken for, as a table to look at."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

from classwise.arrays import Array, Labels
from classwise.rows.schema import Schema
from classwise.tabular import Tabular


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
