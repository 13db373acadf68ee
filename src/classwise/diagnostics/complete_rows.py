"""The rows that a diagnosis uses: those with a label and without missing numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.diagnostics.advice import listed
from classwise.engines import Engine, MemoryEngine
from classwise.engines.engine import S
from classwise.errors import ClasswiseError
from classwise.rows.codes import code_labels
from classwise.rows.schema import Families, Family, Schema
from classwise.rows.sources import read_table
from classwise.rows.table import Matrix, Table
from classwise.statistics import ClassStatistics, FullScatter
from classwise.statistics.chunks import summarize_chunk


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
        """The columns of numbers: those taken for Gaussian, or whose family is still to be chosen."""
        table = read_table(X, y, weights, families).weighted()
        if table.labels is None:
            raise ClasswiseError("y is missing: a diagnosis compares classes, and needs a label for every row.")
        columns = table.schema.positions("gaussian", "best")
        if not columns:
            raise ClasswiseError(
                "X has no column of numbers taken for Gaussian, and a diagnosis looks at nothing else; give it one, "
                "or other families."
            )
        labels, codes = code_labels(table.labels)
        if len(labels) < 2:
            raise ClasswiseError(f"y has only one class, {labels.tolist()[0]!r}; a diagnosis compares at least two.")
        return cls(replace(table, labels=codes), columns, labels)

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
        if len(gathered.labels) < 2:
            raise ClasswiseError(
                f"Only {gathered.rows} of {len(self.table)} rows have all their numbers, and not in two classes; "
                f"leave out the columns with most values missing: {self._emptiest()}."
            )
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

    def _emptiest(self) -> str:
        missing = np.isnan(self._numbers(self.table)).sum(axis=0)
        worst = [j for j in np.argsort(-missing, kind="stable")[:3].tolist() if missing[j]]
        return listed(f"{self.schema.name(j)} ({missing[j]})" for j in worst)


def has_all(rows: Array) -> NDArray[np.bool_]:
    """Which rows (m, p) have all their numbers; (m,)."""
    return np.asarray(~np.isnan(rows).any(axis=1))


def varying(statistics: ClassStatistics) -> list[int]:
    """The columns that vary within some class."""
    return np.flatnonzero(statistics.moments.scatter.pooled_diagonal() > 0).tolist()
