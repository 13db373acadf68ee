"""Rows whose columns are given by name, wherever they are: as a table, if they are few, and else as a stream."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Array, Labels
from classwise.engines import StreamEngine, is_dask, is_spark
from classwise.errors import ClasswiseError
from classwise.rows import Roles, Stream, level_columns
from classwise.rows.sampling import joined
from classwise.statistics import Counted, as_arrow, as_frame, open_rows, read_weights, warn_of_unlabeled
from classwise.statistics.chunks import chunk_rows

# No more values than this are held in memory, unless that is asked for: rows times columns.
MOST_CELLS = 20_000_000

# Where a glance does not tell how many rows there are, as in compressed text, so many bytes stand for a value.
PACKED = 2.0


class Held(NamedTuple):
    """Rows in memory, and what goes with them; a row without a label has a weight of zero."""

    X: Any
    y: Labels
    weights: Array | None
    groups: Any


class TooManyError(ClasswiseError):
    """There are more rows than may be held in memory."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of pyarrow's that follow one another; most: how many values may be held."""

    tables: tuple[Any, ...]
    most: float

    def __add__(self, other: "Tables") -> "Tables":
        both = Tables(self.tables + other.tables, self.most)
        if sum(table.num_rows * table.num_columns for table in both.tables) > self.most:
            raise TooManyError("There are more rows than may be held in memory.")
        return both


@dataclass(frozen=True, eq=False)
class ByName:
    """source: whatever `summarize` takes with a target, or a function that makes it; the others name its columns."""

    source: Any
    target: str
    columns: Sequence[str] | None
    weights: str | None
    groups: Any
    families: Any

    def opened(self) -> Stream:
        """The rows, to be read from the beginning."""
        # Files, queries and lazy frames can be read again as they are, and know by then what their columns hold.
        return self._stream if self._stream.kind != "stream" else self._open()

    def _open(self) -> Stream:
        return open_rows(self.source, exact=[self.target, *level_columns(self.families)])

    @cached_property
    def _stream(self) -> Stream:
        if is_dask(self.source) or is_spark(self.source):
            raise ClasswiseError(
                "compare reads rows in two passes on one machine, and not DataFrames of Dask or Spark: write them to "
                "Parquet files and give their path, or take a sample of them."
            )
        return self._open()

    @property
    def is_gone(self) -> bool:
        """Whether rows that have been read cannot be read again."""
        return isinstance(self.source, Iterator) or hasattr(self.source, "read_next_batch")

    @cached_property
    def roles(self) -> Roles:
        stream = self._stream
        return Roles.read(stream.names, self.target, self.columns, self.weights, stream.pieces[0].name, self.groups)

    def held(self, streamed: bool | None) -> Held | None:
        """All rows, if they are to be in memory; None, if they are to be read as a stream: where that is not said,
        because there are too many.
        """
        if streamed:
            self._refuse_gone()
            return None
        most = MOST_CELLS if streamed is None and self._stream.kind != "table" else np.inf
        if expected_cells(self._stream, len(self.roles.needed)) > 1.2 * most:
            return None
        try:
            return self._collected(most)
        except TooManyError:
            self._refuse_gone()
            return None

    def _refuse_gone(self) -> None:
        """Refuse to read as a stream what can be read only once."""
        if self.is_gone:
            raise ClasswiseError(
                "A comparison of a stream reads it twice, and these rows can be read once: write them to a file, give "
                "a function that makes a new stream each time, or stream=False to hold all rows in memory."
            )

    def _collected(self, most: float) -> Held:
        columns = None if self.columns is None else self.roles.needed
        engine = StreamEngine(self._stream, columns, chunk_rows(len(self.roles.needed)))
        total = Tables((), most)
        for part in engine.gather(self._taken(most), what="Reading"):
            total = total if part.value is None else total + part.value
        if not total.tables:
            raise ClasswiseError(f"There are no rows to learn from in {self._stream.name}: there are none.")
        return self._parted(as_frame(joined(total.tables)))

    def _taken(self, most: float) -> Any:
        return lambda chunk: Tables((as_arrow(as_frame(chunk).select(self.roles.needed)),), most)

    def _parted(self, frame: Any) -> Held:
        counted = Counted.of(frame, replace(self.roles, weights=None))
        if not len(counted):
            raise ClasswiseError(f"There are no rows to learn from in {self._stream.name}: none has a label.")
        warn_of_unlabeled(counted.unlabeled, counted.rows)
        labels, codes = counted.coded()
        y = np.full(len(frame), labels[codes[0]], dtype=labels.dtype)
        y[counted.places] = labels[codes]
        groups = None if self.roles.groups is None else frame[self.roles.groups].to_numpy()
        return Held(frame.select(list(self.roles.features)).to_native(), y, self._weights(counted), groups)

    def _weights(self, counted: Counted) -> Array | None:
        name = self.roles.weights
        if name is None and not counted.unlabeled:
            return None
        weights = np.zeros(counted.rows)
        weights[counted.places] = 1.0 if name is None else read_weights(counted.frame[name], name)
        return weights


def expected_cells(stream: Stream, columns: int) -> float:
    """About how many values so many columns of a stream hold, as far as a glance tells."""
    counts = ((piece.count(), piece.size) for piece in stream.pieces)
    return sum(size / PACKED if count is None else count * columns for count, size in counts)
