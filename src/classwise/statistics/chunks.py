"""Rows to statistics, the first half of every fit: a table, and a chunk of any engine.

What an engine sends to its workers is small: a `Learner` parts a chunk by roles, and summarizes it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classwise.engines import Engine, MemoryEngine
from classwise.errors import ClasswiseError
from classwise.limits import CHUNK_SIZE, COPY_SIZE, chunk_rows
from classwise.rows.codes import code_labels
from classwise.rows.roles import ArrayChunk, Chunk, Roles, warn_of_unlabeled
from classwise.rows.schema import Families
from classwise.rows.table import Table
from classwise.statistics.binning import Also
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.parts import Gathering, gather_parts
from classwise.statistics.scatter import Scatter

MISSING = {"integrate": True, "level": True, "error": False}


def summarize_table(
    table: Table,
    form: type[Scatter],
    engine: Engine | None = None,
    allow_missing: bool = True,
    quartics: bool = False,
) -> ClassStatistics:
    """The statistics of a table, gathered by an engine."""
    engine = engine or MemoryEngine()
    size = chunk_rows(len(table.schema), COPY_SIZE if table.is_copied else CHUNK_SIZE)
    gathered = engine.gather(lambda chunk: summarize_chunk(chunk, form, allow_missing, quartics), table, size)
    return gathered.compact()


def summarize_chunk(
    chunk: Table, form: type[Scatter], allow_missing: bool = True, quartics: bool = False
) -> ClassStatistics:
    """The statistics of one chunk; what no density can take is an error that names its column."""
    chunk = chunk.weighted()
    if chunk.labels is None:
        raise ClasswiseError("y is missing: a statistic by class needs a label for every row.")
    labels, codes = code_labels(chunk.labels) if len(chunk) else (chunk.labels, np.zeros(0, dtype=np.intp))
    weight = np.bincount(codes, chunk.weights, minlength=len(labels)).astype(np.float64)
    parts = gather_parts(Gathering(chunk, codes, len(labels), form, allow_missing), quartics)
    return ClassStatistics(labels, weight, len(chunk), chunk.schema, parts)


@dataclass(frozen=True, eq=False)
class Tally:
    """What chunks add up to: their statistics, None without a single row to learn from; rows: how many were read;
    unlabeled: how many of them had no label.
    """

    statistics: ClassStatistics | None
    rows: int = 0
    unlabeled: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        ours, theirs = self.statistics, other.statistics
        together = ours + theirs if ours is not None and theirs is not None else ours or theirs
        return Tally(together, self.rows + other.rows, self.unlabeled + other.unlabeled)

    def finished(self, where: str) -> ClassStatistics:
        """The statistics of all rows; without any, an error. where: what messages call the rows."""
        if self.statistics is None:
            why = "every row has no label or no weight" if self.rows else "there are none"
            raise ClasswiseError(f"There are no rows to learn from in {where}: {why}.")
        warn_of_unlabeled(self.unlabeled, self.rows)
        return self.statistics.compact()


@dataclass(frozen=True, eq=False)
class Learner:
    """A chunk of rows to what it adds. roles: of its columns; None for arrays, whose columns have no names.

    It knows nothing of other chunks: classes and levels that only some of them have meet when the results are added.
    also: adds to the statistics of a table what else is to be gathered of it.
    """

    roles: Roles | None
    form: type[Scatter]
    families: Families = "auto"
    allow_missing: bool = True
    quartics: bool = False
    also: Also | None = None

    def __call__(self, chunk: Chunk | ArrayChunk) -> Tally:
        counted: Any = chunk.counted(self.roles)  # type: ignore[arg-type]
        if counted.unlabeled and not self.allow_missing:
            where = "y" if self.roles is None else repr(self.roles.target)
            raise ClasswiseError(
                f"{where} contains missing labels in {counted.unlabeled} rows; remove those rows or give them a label."
            )
        return Tally(self._summarize(counted) if len(counted) else None, counted.rows, counted.unlabeled)

    def _summarize(self, counted: Any) -> ClassStatistics:
        labels, names = counted.labels()
        summary = self.summarize(counted.source().read(self.families, labels, counted.weights))
        return summary if names is None else replace(summary, labels=names[summary.labels])

    def summarize(self, table: Table) -> ClassStatistics:
        """The statistics of a table."""
        summary = summarize_table(table, self.form, allow_missing=self.allow_missing, quartics=self.quartics)
        return summary if self.also is None else self.also(summary, table)
