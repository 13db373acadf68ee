"""What rows may not hold, found after the fact: an error names the columns, the values and the remedy."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.schema import Family
from classwise.tables.table import Table


def refuse_unsuitable(table: Table, allow_missing: bool) -> None:
    """Refuse what no density can take: infinity, overflow, values outside a family's range; NaN where not allowed."""
    rows = np.asarray(table.rows, dtype=np.float64)
    if not allow_missing:
        _refuse_missing(rows, table)
    remedy = "remove those rows, or put other values there"
    _refuse("infinity", np.isinf(rows), table, remedy)
    _refuse("numbers beyond 1e150, whose squares overflow,", np.abs(rows) > 1e150, table, remedy)
    for j, column in enumerate(table.schema):
        if column.family.name in RANGES:
            outside = np.zeros(rows.shape, dtype=bool)
            outside[:, j] = ~np.isnan(rows[:, j]) & ~RANGES[column.family.name](rows[:, j], column.family)
            _refuse(f"values that {column.family} cannot take", outside, table, "give the column another family")


RANGES: dict[str, Callable[[Array, Family], NDArray[np.bool_]]] = {
    "lognormal": lambda x, _: x > 0,
    "poisson": lambda x, _: (x >= 0) & (x == np.floor(x)),
    "binomial": lambda x, family: (x >= 0) & (x <= (family.trials or 0)) & (x == np.floor(x)),
}


def _refuse_missing(rows: Array, table: Table) -> None:
    missing = np.isnan(rows)
    for j in table.levels:
        missing[:, j] = rows[:, j] < 0
    _refuse("NaN", missing, table, "remove those rows, put other values there, or let missing='integrate' handle them")


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
