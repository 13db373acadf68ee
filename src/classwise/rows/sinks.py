"""Sinks: files and tables that rows are written to, as they come; and files written all at once or not at all.

A file is written under another name first; a table is made in one transaction. Whatever ends the writing early, an
error, a full disk, Ctrl-C or a lost machine, nothing that could be taken for a result is left.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeAlias

from classwise.errors import ClasswiseError
from classwise.rows.databases import Query, import_adbc, read_address, table_name
from classwise.rows.files import import_duckdb
from classwise.rows.formats import COMPRESSIONS, SUFFIXES, Format, find_format, output_format, sniff_format

# Standard output, and standard input.
STANDARD = "-"

# What takes the next table of pyarrow's; the first one has the columns.
Write: TypeAlias = Callable[[Any], None]


@contextmanager
def open_sink(
    sink: str | os.PathLike[str], overwrite: bool = False, format: Format | str | None = None
) -> Iterator[Write]:
    """A file by the end of its name, or "shop.duckdb#table" or "postgresql://host/shop#table"; what takes its rows.

    "-" is standard output, in CSV, unless another format is given. format: of a file, instead of that of its name.
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


def write_rows(table: Any, path: str, *, format: Format | None = None, force: bool = False) -> None:
    """Write a table of pyarrow's, to a sink as `open_sink` has them."""
    refuse_sink(path, format, force)
    with open_sink(path, force, format) as write:
        write(table)


def refuse_sink(path: str, format: Format | None, force: bool) -> None:
    """Before any row is read: raise an error if a sink has no known format, exists, or is a terminal."""
    if path == STANDARD:
        shown_format(format)
    elif read_address(path) is None:
        output_format(path)
        refuse_existing(path, force)


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
        with writing(path, force=True) as file, _encoding(file, chosen or format, compression) as write:
            yield write
    except OSError as problem:
        raise ClasswiseError(f"sink={path!r} cannot be written: {problem.strerror or problem}.") from problem


@contextmanager
def _encoding(file: IO[bytes], format: Format, compression: str | None) -> Iterator[Write]:
    """What writes tables to a file; only text is compressed as a whole, since other formats compress what they hold."""
    with ExitStack() as stack:
        target: Any = file
        if compression and format.is_text:
            import pyarrow as pa

            target = stack.enter_context(pa.CompressedOutputStream(file, compression))
        yield stack.enter_context(WRITERS[format](target))


@contextmanager
def writing(path: str, *, force: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its name when it is complete; "-" is standard output.

    force: a file of that name is replaced, which else is an error.
    """
    if path == STANDARD:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    refuse_existing(path, force)
    # Named before it is made: wherever an interruption falls, it is known what to take away.
    partial_file = Path(path).parent / f".classwise-{os.urandom(8).hex()}"
    try:
        with partial_file.open("xb") as file:
            yield file
        _bring_to_disk(partial_file)
        partial_file.replace(path)
    except BaseException:
        partial_file.unlink(missing_ok=True)
        raise


def _bring_to_disk(path: Path) -> None:
    """Before it takes its name: else a machine that loses power might have the name without the rows."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def refuse_existing(path: str, force: bool) -> None:
    """Refuse to replace a file, unless by force."""
    if path == STANDARD:
        return
    if not force and Path(path).exists():
        raise ClasswiseError(f"The file {path!r} exists already; --force replaces it.")
    if not Path(path).parent.is_dir():
        raise ClasswiseError(f"There is no folder {str(Path(path).parent)!r} to write {path!r} in.")


def shown_format(format: Format | None) -> Format:
    """The format of standard output: CSV, unless another is given; on a terminal, one that people can read."""
    format = format or Format.CSV
    if not format.is_text:
        refuse_terminal(STANDARD, format.value)
    return format


def refuse_terminal(path: str, what: str) -> None:
    """Refuse to show what is no text on a terminal, where a path is standard output and that is one."""
    if path == STANDARD and is_terminal():
        raise ClasswiseError(f"{what} is not for reading on a terminal; give a file, or send it to a program.")


def is_terminal() -> bool:
    """Whether standard output is one."""
    return sys.stdout.isatty()


# Formats --------------------------------------------------------------------------------------------------------------


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
        _write_csv(table, file, separator, names=not begun)
        begun.append(True)

    yield write


def _tsv(file: Any) -> Any:
    return _csv(file, "\t")


def _write_csv(table: Any, file: Any, separator: str, names: bool) -> None:
    """With quotes only where some value takes them; then pyarrow puts them around all text.

    names: whether the first line names the columns.
    """
    from pyarrow import csv

    header = any(_takes_quotes(name, separator) for name in table.column_names)
    values = any(map(partial(_some_take_quotes, separator=separator), table.columns))
    options: dict[str, Any] = {"quoting_header": QUOTING[header], "quoting_style": QUOTING[values]}
    csv.write_csv(table, file, csv.WriteOptions(include_header=names, delimiter=separator, **options))


QUOTING = {False: "none", True: "needed"}


def _takes_quotes(text: str, separator: str) -> bool:
    return any(sign in text for sign in (separator, '"', "\n", "\r"))


def _some_take_quotes(column: Any, separator: str) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return pa.types.is_dictionary(column.type) or pa.types.is_nested(column.type)
    return bool(pc.any(pc.match_substring_regex(column, f'[{separator}"\n\r]')).as_py())


@contextmanager
def _lines(file: Any) -> Iterator[Write]:
    yield lambda table: file.write("".join(line + "\n" for line in _json_rows(table)).encode())


@contextmanager
def _json(file: Any) -> Iterator[Write]:
    begun: list[bool] = []

    def write(table: Any) -> None:
        for line in _json_rows(table):
            file.write(((",\n " if begun else "[") + line).encode())
            begun[:] = [True]

    yield write
    file.write(b"]\n" if begun else b"[]\n")


def _json_rows(table: Any) -> Iterator[str]:
    """Each row as a line of JSON."""
    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield json.dumps(_plain(row), ensure_ascii=False, default=str)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """NaN and infinity are not JSON: nothing stands for them."""
    return {
        name: None if isinstance(value, float) and not abs(value) < float("inf") else value
        for name, value in row.items()
    }


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
    why = " ".join(str(problem).split())[:300]
    exists = "already exists" in why
    return f"{query.name} cannot be written: {'it exists already; overwrite=True replaces it.' if exists else why}"


# Standard input as a file: rows are looked at twice, once for their types ---------------------------------------------

# This many bytes identify the format.
ENOUGH = 64


@contextmanager
def spooled(stream: IO[bytes] | None = None) -> Iterator[Path]:
    """A temporary file that holds what a stream holds, named after its format; standard input, by default."""
    stream = sys.stdin.buffer if stream is None else stream
    with TemporaryDirectory(prefix="classwise-") as folder:
        start = stream.read(ENOUGH)
        path = Path(folder) / f"rows{_suffix(start)}"
        with path.open("wb") as file:
            file.write(start)
            shutil.copyfileobj(stream, file)
        yield path


def _suffix(start: bytes) -> str:
    format, compression = sniff_format(start)
    name = next(suffix for suffix, known in SUFFIXES.items() if known is format)
    return name + next((suffix for suffix, known in COMPRESSIONS.items() if known == compression), "")
