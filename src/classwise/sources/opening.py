"""Opening: whatever names or yields rows, as a stream."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from classwise.errors import ClasswiseError
from classwise.sources.databases import Query, quoted, read_address
from classwise.sources.formats import SUFFIXES
from classwise.sources.lines import matching
from classwise.sources.reading import RowFile
from classwise.sources.streams import ChunkPiece, FilePiece, Make, Piece, Stream, columns_of


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
