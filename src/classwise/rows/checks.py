"""What rows may not hold, found after the fact: an error names the columns, the values and the remedy."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.rows.schema import Family
from classwise.rows.table import Table

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
    for j, column in enumerate(table.schema):
        if column.family.name in RANGES:
            _refuse_outside(rows[:, j], table.schema.name(j), column.family)


class Range(NamedTuple):
    """The values that a family can take, in words and as a test."""

    words: str
    holds: Callable[[Array, Family], NDArray[np.bool_]]


RANGES = {
    "lognormal": Range("numbers above 0", lambda x, _: x > 0),
    "poisson": Range("whole numbers from 0 on", lambda x, _: (x >= 0) & (x == np.floor(x))),
    "binomial": Range(
        "whole numbers from 0 to N", lambda x, family: (x >= 0) & (x <= (family.trials or 0)) & (x == np.floor(x))
    ),
}


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
