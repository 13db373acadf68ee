"""A stream: rows in pieces, each of which can be read by itself, batch by batch.

A piece is what may fail, be left out, or be done already: a file, a query, a chunk. What it yields are tables of
whichever library they come from; only the columns asked for are read, where the piece can choose.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from classwise.errors import ClasswiseError
from classwise.rows.files import RowFile, no_such_column
from classwise.rows.formats import Format, find_format
from classwise.rows.kinds import Kind


class Piece(Protocol):
    """Part of a stream. name: what errors call it; size: its bytes, 0 where they are not known."""

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    def names(self) -> list[str]:
        """Its columns."""
        ...

    def count(self) -> int | None:
        """About how many rows it has; None, where nobody knows before they are read."""
        ...

    def mark(self) -> str:
        """The same for the same rows, and another one when they have changed."""
        ...

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        """Its rows as tables of about so many rows, of these columns in this order; of all, if None."""
        ...


@dataclass(frozen=True, eq=False)
class Stream:
    """Pieces in order. kind: what a piece is called. columns: those to read, in this order; all of them, if None."""

    pieces: Sequence[Piece]
    kind: str = "file"
    columns: tuple[str, ...] | None = None

    def select(self, columns: Sequence[str]) -> "Stream":
        """The same rows of these columns alone."""
        return replace(self, columns=tuple(columns))

    @cached_property
    def names(self) -> list[str]:
        """The columns of the first piece."""
        return self.pieces[0].names()

    @property
    def name(self) -> str:
        """What messages call it."""
        others = len(self.pieces) - 1
        return self.pieces[0].name + (f" and {others} more" if others else "")

    @property
    def size(self) -> int:
        """Bytes in all, 0 where they are not known."""
        return sum(piece.size for piece in self.pieces)


def estimate_rows(path: str) -> int | None:
    """About how many rows a file has, at a glance; None, where a glance does not tell, as in compressed text."""
    format, compression = find_format(path)
    if format is Format.PARQUET:
        return _parquet_rows(path)
    if format is Format.ARROW or compression:
        return None
    with Path(path).open("rb") as file:
        start = file.read(GLANCE)
    lines = start.count(b"\n")
    return round(Path(path).stat().st_size * lines / len(start)) if lines else None


def _parquet_rows(path: str) -> int | None:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return int(parquet.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):  # the reader will say what is wrong
        return None


# Bytes of a text file from which the length of its lines is told.
GLANCE = 1 << 16


@dataclass(frozen=True, eq=False)
class FilePiece:
    """One file of rows. wider: what its rows have shown to be needed, for its return."""

    file: RowFile
    wider: dict[str, Kind] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.file.path

    @property
    def size(self) -> int:
        return Path(self.file.path).stat().st_size

    def names(self) -> list[str]:
        return self.file.names()

    def count(self) -> int | None:
        return estimate_rows(self.file.path)

    def mark(self) -> str:
        state = Path(self.file.path).stat()
        return f"{os.path.abspath(self.file.path)}, {state.st_size} bytes, {state.st_mtime_ns} ns"  # noqa: PTH100

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        format = find_format(self.file.path)[0]
        if format is Format.ARROW and self.file.missing is None:
            return arrow_batches(self.file.path, columns, self.file.copies)
        kept = None if columns is None else tuple(columns)
        size = even(rows) if format is Format.PARQUET else rows
        return replace(self.file, columns=kept).batches(size, self.wider)

    def copying(self, copies: Mapping[str, str]) -> "FilePiece":
        """The same file, with these columns as they stand in it: by the names they are to have."""
        return replace(self, file=replace(self.file, copies=copies))


# Rows of a group, unless whoever wrote a Parquet file chose otherwise. DuckDB hands over no batch with rows of two.
GROUP = 122_880


def even(rows: int) -> int:
    """About so many rows, such that a group of rows is cut into equal batches, and not into long and short ones.

    >>> even(100_000), even(50_000)
    (122880, 61440)
    """
    return GROUP // max(round(GROUP / rows), 1)


def arrow_batches(
    path: str, columns: Sequence[str] | None, copies: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Any]:
    """The batches of an Arrow file, of the size that it has them in; the file is mapped, not loaded. copies: columns by
    other names.
    """
    import pyarrow as pa

    try:
        with pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
            chosen = [copies.get(name, name) for name in columns or reader.schema.names]
            for name in chosen:
                if name not in reader.schema.names:
                    raise ClasswiseError(no_such_column(name, reader.schema.names, path))
            for i in range(reader.num_record_batches):
                batch = reader.get_batch(i)
                yield batch if columns is None else batch.select(chosen).rename_columns(list(columns))
    except (pa.ArrowException, OSError) as problem:
        raise ClasswiseError(f"{path} cannot be read: {str(problem).splitlines()[0]}") from problem


# Batches, given the columns to read (None for all) and about how many rows a batch is to have.
Make: TypeAlias = Callable[[Sequence[str] | None, int], Iterator[Any]]


@dataclass(frozen=True, eq=False)
class ChunkPiece:
    """Rows that somebody else holds or makes, as tables of any library."""

    name: str
    make: Make
    columns: list[str]
    size: int = 0

    def names(self) -> list[str]:
        return self.columns

    def count(self) -> int | None:
        return None

    def mark(self) -> str:
        raise ClasswiseError(
            f"checkpoint is for files, whose names tell which are done, and {self.name} has no such name; write the "
            "rows to files first, or leave checkpoint out."
        )

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        for chunk in self.make(columns, rows):
            names = columns_of(chunk)
            for name in columns or ():
                if name not in names:
                    raise ClasswiseError(no_such_column(name, names, self.name))
            yield chunk


def columns_of(table: Any) -> list[str]:
    """The names of the columns of a table of any library."""
    schema: Any = getattr(table, "schema", None)
    names = schema.names if hasattr(schema, "names") else getattr(table, "columns", ())
    return list(names() if callable(names) else names)
