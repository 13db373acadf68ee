"""Streams: rows in pieces, each of which can be read by itself, batch by batch; and `open_stream`, which makes them.

A piece is what may fail, be left out, or be done already: a file, a query, a chunk. What it yields are tables of
whichever library they come from; only the columns asked for are read, where the piece can choose.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from classwise.errors import ClasswiseError
from classwise.rows.databases import Query, read_address
from classwise.rows.files import RowFile, no_such_column
from classwise.rows.formats import SUFFIXES, Format, find_format, matching
from classwise.rows.texts import Kind, quoted


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
        """About how many rows it has; None, where this is not known before they are read."""
        ...

    def mark(self) -> str:
        """The same for the same rows, and another one when they have changed."""
        ...

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        """Its rows as tables of about `rows` rows, of these columns in this order; of all, if None."""
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
    """About how many rows a file has, at a glance; None, where a glance does not show it, as in compressed text."""
    format, compression = find_format(path)
    if format is Format.PARQUET:
        return _parquet_rows(path)
    if format in (Format.ARROW, Format.SHEET) or compression:
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


# Bytes of a text file from which the length of its lines is estimated.
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

    def first(self, columns: Sequence[str], rows: int) -> Any:
        """The first rows of these columns; None, if there are none."""
        if find_format(self.file.path)[0] is Format.ARROW:
            return next(self.batches(columns, rows), None)
        return replace(self.file, columns=tuple(columns)).first(rows, self.wider)

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        format = find_format(self.file.path)[0]
        if format is Format.ARROW and self.file.missing is None:
            return arrow_batches(self.file.path, columns, self.file.copies)
        kept = None if columns is None else tuple(columns)
        size = even(rows) if format is Format.PARQUET else rows
        return replace(self.file, columns=kept).batches(size, self.wider)

    def as_text(self, columns: Iterable[str]) -> "FilePiece":
        """The same file, with these columns as text, if it is a text file."""
        return replace(self, file=replace(self.file, text=self.file.text.union(columns)))

    def copying(self, copies: Mapping[str, str]) -> "FilePiece":
        """The same file, with these columns as they stand in it: by the names they are to have."""
        return replace(self, file=replace(self.file, copies=copies))


# Rows of a group of a Parquet file, by default. DuckDB hands over no batch with rows of two.
GROUP = 122_880


def even(rows: int) -> int:
    """About this many rows, such that a group of rows is cut into equal batches, and not into long and short ones.

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


# Whatever names or yields rows, as a stream ---------------------------------------------------------------------------


def open_stream(
    source: Any, *, exact: Sequence[str] = (), missing: Sequence[str] | None = None, text: Sequence[str] = ()
) -> Stream | None:
    """Paths, patterns, folders, queries, addresses, lazy frames, Arrow streams and iterators of tables, as a stream.

    None for rows in memory, which are no stream; a stream that is open already stays as it is. exact: columns whose
    whole numbers stay whole in text files, where other columns of whole numbers are read as numbers; missing, text: as
    for RowFile.
    """
    if isinstance(source, Stream):
        return source
    if isinstance(source, Query):
        return Stream((source if missing is None else replace(source, missing=tuple(missing)),), "query")
    paths = _paths(source)
    if paths is not None:
        query = read_address(paths[0]) if len(paths) == 1 else None
        return open_stream(query, missing=missing) if query else _files(paths, exact, missing, text)
    return _known_stream(source) or (_iterated(source) if isinstance(source, Iterator) else None)


def _paths(source: Any) -> list[str] | None:
    if isinstance(source, (str, PathLike)):
        return [fspath(source)]
    many = isinstance(source, (list, tuple)) and source and all(isinstance(p, (str, PathLike)) for p in source)
    return [fspath(path) for path in source] if many else None


def _files(paths: Sequence[str], exact: Sequence[str], missing: Sequence[str] | None, text: Sequence[str]) -> Stream:
    markers = None if missing is None else tuple(missing)
    found = [file for path in paths for file in (_folder(path) if Path(path).is_dir() else matching(path))]
    for name in found:
        if not Path(name).is_file():
            raise ClasswiseError(f"There is no file {name!r}.")
    pieces: tuple[Piece, ...] = tuple(
        FilePiece(RowFile(name, None, markers, frozenset(text), frozenset(exact))) for name in found
    )
    return Stream(pieces)


def _folder(path: str) -> list[str]:
    """The files of rows in a folder and below, in the order of their names."""
    files = [file for file in sorted(Path(path).rglob("*")) if file.is_file() and not file.name.startswith((".", "_"))]
    rows = [str(file) for file in files if any(suffix.lower() in SUFFIXES for suffix in file.suffixes[-2:])]
    if not rows:
        raise ClasswiseError(f"The folder {path!r} holds no files of rows; their names end in {', '.join(SUFFIXES)}.")
    return rows


def _known_stream(source: Any) -> Stream | None:
    """What libraries have for rows that are not here yet, or come batch by batch; tables are neither."""
    if hasattr(source, "collect_batches"):  # a lazy frame of polars
        return _made(_polars_batches(source), source.collect_schema().names())
    if hasattr(source, "to_arrow_reader") and hasattr(source, "project"):  # a relation of DuckDB's
        return _made(_relation_batches(source), list(source.columns))
    if hasattr(source, "scanner"):  # a dataset of pyarrow's
        return _made(_dataset_batches(source), list(source.schema.names))
    if hasattr(source, "__arrow_c_stream__") and not hasattr(source, "shape") and not hasattr(source, "num_rows"):
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_stream(source)
        return _made(lambda columns, rows: iter(reader), list(reader.schema.names))
    return None


def _made(make: Make, names: list[str]) -> Stream:
    return Stream((ChunkPiece("the stream of rows", make, names),), "stream")


def _polars_batches(frame: Any) -> Make:
    def batches(columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        chosen = frame if columns is None else frame.select(list(columns))
        return iter(chosen.collect_batches(chunk_size=rows))

    return batches


def _relation_batches(relation: Any) -> Make:
    def batches(columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        chosen = relation if columns is None else relation.project(", ".join(map(quoted, columns)))
        return iter(chosen.to_arrow_reader(rows))

    return batches


def _dataset_batches(dataset: Any) -> Make:
    def batches(columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        chosen = None if columns is None else list(columns)
        return iter(dataset.to_batches(columns=chosen, batch_size=rows))

    return batches


def _iterated(source: Iterator[Any]) -> Stream:
    """Tables that are handed over one by one, and then are gone."""
    first = next(source, None)
    if first is None:
        raise ClasswiseError("The iterator yields no tables, so there are no rows.")
    tables = chain([first], source)
    return Stream((ChunkPiece("the iterator of tables", lambda columns, rows: tables, columns_of(first)),), "stream")
