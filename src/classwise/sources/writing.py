"""Writing files of rows: in the format of the name, all at once or not at all."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from classwise.errors import ClasswiseError
from classwise.sources.formats import Format, output_format

STANDARD = "-"


def write_rows(table: Any, path: str, *, format: Format | None = None, force: bool = False) -> None:
    """Write a table of pyarrow's; "-" is standard output, in CSV unless another format is given."""
    if path == STANDARD:
        format, compression = shown_format(format), None
    else:
        named, compression = output_format(path)
        format = format or named
    with writing(path, force=force) as file:
        _write(table, file, format, compression)


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
    with NamedTemporaryFile("wb", dir=Path(path).parent, prefix=".classwise-", delete=False) as file:
        try:
            yield file
            file.close()
            _bring_to_disk(file.name)
            Path(file.name).chmod(0o666 & ~_umask())
            os.replace(file.name, path)
        except BaseException:
            file.close()
            Path(file.name).unlink(missing_ok=True)
            raise


def _bring_to_disk(path: str) -> None:
    """Before it takes its name: else a machine that loses power might have the name without the rows."""
    with Path(path).open("rb+") as file:
        os.fsync(file.fileno())


def refuse_existing(path: str, force: bool) -> None:
    """Refuse to replace a file, unless by force."""
    if path == STANDARD:
        return
    if not force and Path(path).exists():
        raise ClasswiseError(f"The file {path!r} exists already; --force replaces it.")
    if not Path(path).parent.is_dir():
        raise ClasswiseError(f"There is no folder {str(Path(path).parent)!r} to write {path!r} in.")


def _umask() -> int:
    """What the user lets others not do; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


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


def _write(table: Any, file: IO[bytes], format: Format, compression: str | None) -> None:
    if compression is None or not format.is_text:
        WRITERS[format](table, file)
        return
    import pyarrow as pa

    with pa.CompressedOutputStream(file, compression) as stream:
        WRITERS[format](table, stream)


def write_csv(table: Any, file: Any, separator: str = ",", names: bool = True) -> None:
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


def _write_tsv(table: Any, file: Any) -> None:
    write_csv(table, file, "\t")


def _write_lines(table: Any, file: Any) -> None:
    for line in json_rows(table):
        file.write((line + "\n").encode())


def _write_json(table: Any, file: Any) -> None:
    file.write(b"[" + ",\n ".join(json_rows(table)).encode() + b"]\n")


def json_rows(table: Any) -> Iterator[str]:
    """Each row as a line of JSON."""
    import json

    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield json.dumps(_plain(row), ensure_ascii=False, default=str)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """NaN and infinity are not JSON: nothing stands for them."""
    return {
        name: None if isinstance(value, float) and not abs(value) < float("inf") else value
        for name, value in row.items()
    }


def _write_parquet(table: Any, file: Any) -> None:
    from pyarrow import parquet

    parquet.write_table(table, file)


def _write_arrow(table: Any, file: Any) -> None:
    from pyarrow import feather

    feather.write_feather(table, file)


WRITERS: dict[Format, Callable[[Any, Any], None]] = {
    Format.CSV: write_csv,
    Format.TSV: _write_tsv,
    Format.LINES: _write_lines,
    Format.JSON: _write_json,
    Format.PARQUET: _write_parquet,
    Format.ARROW: _write_arrow,
}
