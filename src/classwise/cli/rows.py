"""Rows from a file, parted into what is learned from, labels, weights and keys."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from classwise.cli.saying import note
from classwise.errors import ClasswiseError
from classwise.rows.files import RowFile, no_such_column
from classwise.rows.opening import open_stream
from classwise.rows.streams import Stream
from classwise.rows.writing import spooled

STANDARD = "-"


@dataclass(frozen=True)
class Roles:
    """Which column is what, by name."""

    target: str | None = None
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    weights: str | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """X: a table of pyarrow's; y and weights (n,), where there are any; name: what to call the rows."""

    X: Any
    y: Any
    weights: Any
    name: str

    def __len__(self) -> int:
        return int(self.X.num_rows)


@contextmanager
def kept_rows(data: str) -> Iterator[str]:
    """Rows by a name under which they can be read as often as it takes: standard input goes to a file first."""
    if data != STANDARD:
        yield data
        return
    if sys.stdin.isatty():
        note("reading rows from the keyboard; end with Ctrl-D.")
    with spooled() as path:
        yield str(path)


def called(data: str) -> str:
    """What to call rows."""
    return "standard input" if data == STANDARD else data


def learn_rows(path: str, roles: Roles, missing: Sequence[str] | None, families: Any, name: str) -> Rows:
    """All rows with labels, in memory; those without one are left out, with a note."""
    from classwise.rows.roles import level_columns

    exact = frozenset([*filter(None, [roles.target]), *level_columns(families)])
    table = RowFile(path, None, None if missing is None else tuple(missing), exact=exact).table()
    if not table.num_rows:
        raise ClasswiseError(f"{name} has no rows.")
    return part(table, roles, name)


def open_learning(path: str, roles: Roles, missing: Sequence[str] | None, families: Any, name: str) -> "Learning":
    """Rows with labels as a stream, and the columns to learn from."""
    from classwise.rows.roles import level_columns

    exact = [*filter(None, [roles.target]), *level_columns(families)]
    stream = open_stream(path, exact=exact, missing=missing)
    assert stream is not None
    return Learning(stream, _chosen(stream.names, roles, name))


@dataclass(frozen=True, eq=False)
class Learning:
    """A stream of rows, and the columns to learn from."""

    stream: Stream
    columns: list[str]

    @property
    def is_table(self) -> bool:
        """Whether it is files of rows that fit in memory well: then they are read as a table."""

        from classwise import limits
        from classwise.engines.rows import expected_values

        return self.stream.kind == "file" and expected_values(self.stream, len(self.columns) + 1) <= limits.MOST_HELD


def part(table: Any, roles: Roles, name: str) -> Rows:
    """A table by its roles."""
    names = table.column_names
    used = _chosen(names, roles, name)
    if roles.target is not None:
        labeled = table[roles.target].is_valid()
        absent = table.num_rows - int(labeled.true_count if hasattr(labeled, "true_count") else _count(labeled))
        if absent:
            note(f"{absent} of {table.num_rows} rows have no {roles.target}, and were left out.")
            table = table.filter(labeled)
    y = None if roles.target is None else _labels(table[roles.target], roles.target)
    weights = None if roles.weights is None else _numbers(table[roles.weights], roles.weights)
    return Rows(table.select(used), y, weights, name)


def _chosen(names: Sequence[str], roles: Roles, where: str) -> list[str]:
    """The columns to learn from: those asked for, or all that have no other role."""
    asked = [roles.target, roles.weights, *(roles.columns or ()), *roles.drop]
    for name in asked:
        if name is not None and name not in names:
            raise ClasswiseError(no_such_column(name, names, where))
    others = {roles.target, roles.weights, *roles.drop}
    chosen = [name for name in (roles.columns or names) if name not in others]
    if not chosen:
        raise ClasswiseError(f"No column of {where} is left to learn from.")
    return chosen


def _count(mask: Any) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(mask).as_py() or 0)


def _labels(column: Any, name: str) -> Any:
    if not len(column):
        raise ClasswiseError(f"The column {name!r} is empty: there are no labels to learn.")
    return column.to_numpy()


def _numbers(column: Any, name: str) -> Any:
    import numpy as np

    try:
        values = np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ClasswiseError(f"Weights must be numbers, and the column {name!r} holds something else.") from None
    if np.isnan(values).any():
        raise ClasswiseError(f"The column {name!r} has no weight in {int(np.isnan(values).sum())} rows; 0 is no row.")
    return values


@contextmanager
def row_file(data: str, missing: Sequence[str] | None = None, text: Sequence[str] = ()) -> Iterator[RowFile]:
    """A file of rows by its name; "-" is standard input."""
    with kept_rows(data) as path:
        yield RowFile(path, None, None if missing is None else tuple(missing), frozenset(text))


def score_rows(data: str, model: Any, missing: Sequence[str] | None = None) -> Any:
    """All rows of a file as a table, its columns read as the model knows them. missing: instead of what it knows."""
    with row_file(data, missing or missing_marks(model), text_columns(model)) as file:
        return file.table()


def text_columns(model: Any) -> list[str]:
    """The columns that hold text for a model, even where all values of a file look like numbers."""
    from classwise.estimators.scoring import text_columns as known

    return known(model)


def missing_marks(model: Any) -> tuple[str, ...] | None:
    """What stands for a missing value, where a model has learned that it is not the usual."""
    from classwise.estimators.scoring import missing_marks as known

    return known(model)


def model_rows(table: Any, model: Any, where: str) -> Any:
    """The columns that a model was fitted on, in its order."""
    names = list(getattr(model, "feature_names_in_", table.column_names))
    for name in names:
        if name not in table.column_names:
            raise ClasswiseError(no_such_column(name, table.column_names, where))
    return table.select(names)


def names(values: Sequence[str] | None) -> tuple[str, ...] | None:
    """Names by commas, or given one by one.

    >>> names(["a,b", "c"]), names(None)
    (('a', 'b', 'c'), None)
    """
    return None if values is None else tuple(name.strip() for value in values for name in value.split(",") if name)


def pairs(values: Sequence[str] | None, option: str) -> dict[str, str]:
    """{"a": "x", "b": "y"} of a=x,b=y.

    >>> pairs(["a=x,b=binomial(3)"], "--families")
    {'a': 'x', 'b': 'binomial(3)'}
    """
    given = [pair for value in values or () for pair in re.split(r",(?=[^,]*=)", value)]
    for pair in given:
        if "=" not in pair:
            raise ClasswiseError(f"{option} takes NAME=VALUE, not {pair!r}.")
    return {name.strip(): value.strip() for name, value in (pair.rsplit("=", 1) for pair in given)}
