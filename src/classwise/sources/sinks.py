"""Sinks: rows are written as they come, and are there under their name only when all are.

A file is written under another name first; a table is made in one transaction. Whatever ends the writing early, an
error, a full disk, Ctrl-C or a lost machine, nothing that could be taken for a result is left.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from classwise.errors import ClasswiseError
from classwise.sources.databases import Query, import_adbc, read_address, table_name
from classwise.sources.formats import Format, find_format, output_format
from classwise.sources.reading import import_duckdb
from classwise.sources.writing import STANDARD, json_rows, shown_format, write_csv, writing

# What takes the next table of pyarrow's; the first one tells the columns.
Write: TypeAlias = Callable[[Any], None]


@contextmanager
def open_sink(
    sink: str | os.PathLike[str], overwrite: bool = False, format: Format | str | None = None
) -> Iterator[Write]:
    """A file by the end of its name, or "shop.duckdb#table" or "postgresql://host/shop#table"; what takes its rows.

    "-" is standard output, in CSV, unless another format is given. format: of a file, instead of what its name tells.
    """
    path = os.fspath(sink)
    query = read_address(path)
    if query is not None and query.database is None:
        raise ClasswiseError(f"sink={path!r} is a query; give a file, or a database and a table.")
    if query is not None and format is not None:
        raise ClasswiseError(f"format={format!r} is for files, and {query.name} is none; leave it out.")
    chosen = None if format is None else Format(format)
    opened = _file(path, overwrite, chosen) if query is None else DATABASES[query.is_remote](query, overwrite)
    with opened as write:
        yield _alike(write, path if query is None else query.name)


def is_text_sink(sink: str | os.PathLike[str] | None, format: Format | str | None = None) -> bool:
    """Whether rows end as text without types, in CSV or TSV."""
    path = None if sink is None else os.fspath(sink)
    if path is None or (path != STANDARD and read_address(path) is not None):
        return False
    named = Format.CSV if path == STANDARD else find_format(path)[0]
    return (named if format is None else Format(format)) in (Format.CSV, Format.TSV)


def _alike(write: Write, where: str) -> Write:
    """Tables brought to the types of the first."""
    first: list[Any] = []

    def written(table: Any) -> None:
        import pyarrow as pa

        first[:] = first or [table.schema]
        try:
            write(table if table.schema.equals(first[0]) else table.cast(first[0]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as problem:
            why = " ".join(str(problem).split())[:200]
            raise ClasswiseError(f"{where} cannot take rows unlike the first ones: {why}") from problem

    return written


# Files ----------------------------------------------------------------------------------------------------------------


@contextmanager
def _file(path: str, overwrite: bool, chosen: Format | None) -> Iterator[Write]:
    if path == STANDARD:
        with writing(path) as file, WRITERS[shown_format(chosen)](file) as write:
            yield write
        return
    format, compression = output_format(path)
    if not overwrite and Path(path).exists():
        raise ClasswiseError(f"sink={path!r} exists already; overwrite=True replaces it.")
    try:
        with writing(path, force=True) as file, ExitStack() as stack:
            target = stack.enter_context(_compressed(file, compression)) if compression else file
            yield stack.enter_context(WRITERS[chosen or format](target))
    except OSError as problem:
        raise ClasswiseError(f"sink={path!r} cannot be written: {problem.strerror or problem}.") from problem


def _compressed(file: Any, compression: str) -> Any:
    import pyarrow as pa

    return pa.CompressedOutputStream(file, compression)


@contextmanager
def _in_turn(make: Callable[[Any], Any]) -> Iterator[Write]:
    """A writer of pyarrow's, which is made when the columns are known."""
    made: list[Any] = []

    def write(table: Any) -> None:
        made[:] = made or [make(table.schema)]
        made[0].write_table(table)

    try:
        yield write
    except BaseException:
        for writer in made:
            with suppress(Exception):  # what is closed here is thrown away: only the first problem is of interest
                writer.close()
        raise
    for writer in made:
        writer.close()


def _parquet(file: Any) -> Any:
    from pyarrow import parquet

    return _in_turn(lambda schema: parquet.ParquetWriter(file, schema))


def _arrow(file: Any) -> Any:
    import pyarrow as pa

    return _in_turn(lambda schema: pa.ipc.new_file(file, schema))


@contextmanager
def _csv(file: Any, separator: str = ",") -> Iterator[Write]:
    begun: list[bool] = []

    def write(table: Any) -> None:
        write_csv(table, file, separator, names=not begun)
        begun.append(True)

    yield write


def _tsv(file: Any) -> Any:
    return _csv(file, "\t")


@contextmanager
def _lines(file: Any) -> Iterator[Write]:
    yield lambda table: file.write("".join(line + "\n" for line in json_rows(table)).encode())


@contextmanager
def _json(file: Any) -> Iterator[Write]:
    begun: list[bool] = []

    def write(table: Any) -> None:
        for line in json_rows(table):
            file.write(((",\n " if begun else "[") + line).encode())
            begun[:] = [True]

    yield write
    file.write(b"]\n" if begun else b"[]\n")


WRITERS: dict[Format, Callable[[Any], Any]] = {
    Format.CSV: _csv,
    Format.TSV: _tsv,
    Format.LINES: _lines,
    Format.JSON: _json,
    Format.PARQUET: _parquet,
    Format.ARROW: _arrow,
}


# Tables ---------------------------------------------------------------------------------------------------------------


@contextmanager
def _duckdb_table(query: Query, overwrite: bool) -> Iterator[Write]:
    duckdb, name, is_new = import_duckdb(), table_name(query.text), not Path(str(query.database)).exists()
    try:
        with duckdb.connect(query.database) as connection:
            connection.execute("BEGIN")
            made: list[bool] = []

            def write(table: Any) -> None:
                connection.register("classwise_rows", table)
                replaced = "OR REPLACE " if overwrite else ""
                start = f"INSERT INTO {name}" if made else f"CREATE {replaced}TABLE {name} AS"
                connection.execute(f"{start} SELECT * FROM classwise_rows")
                made.append(True)

            yield write
            connection.execute("COMMIT")
    except BaseException as problem:
        if is_new:
            Path(str(query.database)).unlink(missing_ok=True)
        if isinstance(problem, duckdb.Error):
            raise ClasswiseError(_refused(query, problem)) from problem
        raise


@contextmanager
def _postgres_table(query: Query, overwrite: bool) -> Iterator[Write]:
    adbc = import_adbc()
    schema, _, name = query.text.rpartition(".")
    try:
        with adbc.connect(query.database) as connection, connection.cursor() as cursor:
            made: list[bool] = []

            def write(table: Any) -> None:
                if overwrite and not made:
                    cursor.execute(f"DROP TABLE IF EXISTS {table_name(query.text)}")
                mode = "append" if made else "create"
                cursor.adbc_ingest(name, table, mode=mode, db_schema_name=schema or None)
                made.append(True)

            yield write
            connection.commit()
    except adbc.Error as problem:
        raise ClasswiseError(_refused(query, problem)) from problem


DATABASES = {False: _duckdb_table, True: _postgres_table}


def _refused(query: Query, problem: Exception) -> str:
    return f"{query.name} cannot be written: {' '.join(str(problem).split())[:300]}"
