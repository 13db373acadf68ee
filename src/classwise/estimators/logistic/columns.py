"""The columns of a table as logistic regression takes them: their levels, those left out, and what is missing."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.errors import ClasswiseError, ImputedValueWarning
from classwise.rows.coding import Coded
from classwise.rows.labels import code_labels, positions
from classwise.rows.roles import Chunk, Counted, Roles
from classwise.rows.schema import Schema
from classwise.rows.table import Columns, Table
from classwise.statistics import ClassStatistics


def recoded(table: Table, statistics: ClassStatistics) -> Table:
    """The table with classes as codes, and categories as positions among the levels that some row of weight has."""
    assert table.labels is not None
    labels, codes = code_labels(table.labels)
    classes = positions(labels, statistics.labels)[codes]
    levels = known_levels(statistics)
    if not levels:
        return replace(table, labels=classes)
    assert isinstance(table.source, Columns)
    values = [c.among(levels[j]) if isinstance(c, Coded) else c for j, c in enumerate(table.source.values)]
    return replace(table, source=Columns(values), levels=levels, labels=classes)


@dataclass(frozen=True, eq=False)
class Reading:
    """The same of a chunk, as a table of any library, given the levels and classes of all rows. Sent to workers."""

    roles: Roles
    schema: Schema
    levels: dict[int, Labels]
    classes: Labels

    def __call__(self, chunk: Chunk) -> Table | None:
        """The rows that count: those with a label and some weight; None, if there are none."""
        return self.table(chunk.counted(self.roles))

    def table(self, counted: Counted) -> Table | None:
        """The rows of a chunk that count; None, if there are none."""
        if not len(counted):
            return None
        labels, codes = counted.coded()
        others = set(labels.tolist()) - set(self.classes.tolist())
        if others:
            raise ClasswiseError(
                f"The label {others.pop()!r} was not there in the first pass; rows must stay as they are until the "
                "last."
            )
        classes = positions(labels, self.classes)[codes]
        return counted.source().read_like(self.schema, self.levels, classes, counted.weights)


def known_levels(statistics: ClassStatistics) -> dict[int, Any]:
    """The levels of each category, by position."""
    if not statistics.schema.levels:
        return {}
    columns = zip(statistics.schema.levels, statistics.levels.columns, strict=True)
    return {j: column.levels for j, column in columns if column is not None}


def warn_of_imputed(schema: Schema, missing: Array) -> None:
    """One warning that names the columns in which means stand for missing values."""
    columns = [j for j in np.flatnonzero(missing).tolist() if missing[j] < 1 - 1e-9]
    if columns:
        named = ", ".join(f"{schema.name(j)} ({100 * missing[j]:.3g} %)" for j in columns[:5])
        more = f" and {len(columns) - 5} more columns" if len(columns) > 5 else ""
        warnings.warn(
            f"Values are missing in {named}{more}; the mean of the column stands for them, whatever the class. "
            "LDA, QDA and NaiveBayes integrate missing values out instead.",
            ImputedValueWarning,
            stacklevel=3,
        )
