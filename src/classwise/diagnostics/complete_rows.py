"""The rows that a diagnosis uses: those with a label and without missing numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.engines import Engine, MemoryEngine
from classwise.engines.engine import S
from classwise.errors import ClasswiseError
from classwise.rows.codes import code_labels
from classwise.rows.schema import Families, Family, Schema
from classwise.rows.sources import read_table
from classwise.rows.table import Matrix, Table
from classwise.statistics import ClassStatistics, FullScatter
from classwise.statistics.summaries import summarize_chunk


@dataclass(frozen=True, eq=False)
class NumberRows:
    """Columns of numbers of a table, read in chunks, without rows in which one of them is missing.

    labels (g,): the classes; the labels of the table are their positions (codes). No row has weight zero.
    """

    table: Table
    columns: list[int]
    labels: Labels
    engine: Engine = field(default_factory=MemoryEngine)

    @classmethod
    def read(cls, X: Any, y: Any, weights: Any, families: Families) -> "NumberRows":
        """The columns of numbers, if any: those taken for Gaussian, or whose family is still to be chosen."""
        table = read_table(X, y, weights, families).weighted()
        if table.labels is None:
            raise ClasswiseError("y is missing: a diagnosis compares classes, and needs a label for every row.")
        labels, codes = code_labels(table.labels)
        if len(labels) < 2:
            raise ClasswiseError(f"y has only one class, {labels.tolist()[0]!r}; a diagnosis compares at least two.")
        return cls(replace(table, labels=codes), list(table.schema.positions("gaussian", "best")), labels)

    def fuller(self) -> "NumberRows":
        """Without the columns that most rows lack, one after the other, until half of the rows have all the others.

        Two classes at least must have such rows; where none do, no column is left.
        """
        there, columns = ~np.isnan(self._numbers(self.table)), list(range(len(self.columns)))
        while columns and not self._suffices(np.all(there[:, columns], axis=1), alone=len(columns) == 1):
            columns.remove(min(columns, key=lambda j: there[:, j].sum()))
        return replace(self, columns=[self.columns[j] for j in columns])

    def is_gappy(self, statistics: ClassStatistics) -> bool:
        """Whether too few rows have all their numbers."""
        return len(statistics.labels) < 2 or statistics.rows < limits.FEWEST_COMPLETE * len(self.table)

    def _suffices(self, complete: NDArray[np.bool_], alone: bool) -> bool:
        assert self.table.labels is not None
        classes = len(np.unique(self.table.labels[complete]))
        return classes > 1 and (alone or complete.mean() >= limits.FEWEST_COMPLETE)

    @property
    def schema(self) -> Schema:
        """The schema of these columns, all taken for Gaussian."""
        gaussian = Family("gaussian")
        return self.table.schema.part(self.columns).seen_as(dict.fromkeys(range(len(self.columns)), gaussian))

    def gather(self, summarize: Callable[[Table], S]) -> S:
        """The sum of summarize(chunk) over chunks of complete rows."""
        return self.engine.gather(lambda chunk: summarize(self._complete(chunk)), self.table, self._chunk_rows)

    def of_class(self, code: int) -> NDArray[np.intp]:
        """The positions in the table of the complete rows of a class."""
        assert self.table.labels is not None
        own = np.flatnonzero(self.table.labels == code)
        return own[self._is_complete(self.table.take(own))] if len(own) else own

    def take(self, positions: NDArray[np.intp]) -> Array:
        """Complete rows, by their positions in the table."""
        return self._complete(self.table.take(positions)).rows

    def statistics(self) -> ClassStatistics:
        """The statistics of each class that has a complete row; their labels are codes."""
        gathered = self.gather(lambda chunk: summarize_chunk(chunk, FullScatter))
        return gathered.denoised()

    @property
    def _chunk_rows(self) -> int:
        return limits.chunk_rows(len(self.columns), limits.CHUNK_SIZE)

    def _numbers(self, chunk: Table) -> Array:
        return np.asarray(chunk.block(self.columns), dtype=np.float64)

    def _complete(self, chunk: Table) -> Table:
        rows = self._numbers(chunk)
        numbers, complete = replace(chunk, source=Matrix(rows), schema=self.schema, levels={}), has_all(rows)
        return numbers if complete.all() else numbers.take(np.flatnonzero(complete))

    def _is_complete(self, table: Table) -> NDArray[np.bool_]:
        return self.engine.apply(lambda chunk: has_all(self._numbers(chunk)), table, self._chunk_rows)


def has_all(rows: Array) -> NDArray[np.bool_]:
    """Which rows (m, p) have all their numbers; (m,)."""
    return np.asarray(~np.isnan(rows).any(axis=1))


def varying(statistics: ClassStatistics) -> list[int]:
    """The columns that vary within some class."""
    return np.flatnonzero(statistics.moments.scatter.pooled_diagonal() > 0).tolist()


class Usable(NamedTuple):
    """The columns of numbers that can be looked at together, with their statistics; None where there are none.

    gappy: columns that too many rows lack; constant: those that never vary within a class.
    """

    rows: NumberRows
    statistics: ClassStatistics | None
    gappy: list[int]
    constant: list[int]


def usable(rows: NumberRows) -> Usable:
    """Of all columns of numbers, those that vary and that rows have."""
    gappy, constant = list[int](), list[int]()
    statistics = rows.statistics() if rows.columns else None
    if statistics is not None and rows.is_gappy(statistics):
        fuller = rows.fuller()
        gappy = [j for j in rows.columns if j not in fuller.columns]
        rows, statistics = fuller, fuller.statistics() if fuller.columns else None
    if statistics is not None and len(kept := varying(statistics)) < len(rows.columns):
        constant = [column for j, column in enumerate(rows.columns) if j not in kept]
        rows = replace(rows, columns=[rows.columns[j] for j in kept])
        statistics = rows.statistics() if kept else None  # anew: rows that lack only what is left out now count
    return Usable(rows, statistics, gappy, constant)
