"""Formats of row files: how a name or the first bytes identify them, and how a text file begins."""

import codecs
import csv
import datetime as dt
import io
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from glob import glob, has_magic
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any

from classwise.errors import ClasswiseError, MissingExtraError

# What stands for a missing value in text files, besides nothing at all.
MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", ".")

# The metadata of Arrow tables hold, under this name, what stood for a missing value in the rows they were read from.
MARKS = b"classwise.missing"


class Format(Enum):
    """How rows are written."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    LINES = "jsonl"
    PARQUET = "parquet"
    ARROW = "arrow"
    SHEET = "xlsx"

    @property
    def is_text(self) -> bool:
        return self not in (Format.PARQUET, Format.ARROW, Format.SHEET)


SUFFIXES = {
    ".csv": Format.CSV,
    ".txt": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".json": Format.JSON,
    ".jsonl": Format.LINES,
    ".ndjson": Format.LINES,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".feather": Format.ARROW,
    ".arrow": Format.ARROW,
    ".ipc": Format.ARROW,
    ".xlsx": Format.SHEET,
    ".xlsm": Format.SHEET,
    ".xlsb": Format.SHEET,
    ".xls": Format.SHEET,
    ".ods": Format.SHEET,
}

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

# What files begin with.
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
BINARY = {b"PAR1": Format.PARQUET, b"ARROW1": Format.ARROW, b"PK\x03\x04": Format.SHEET}


def find_format(name: str) -> tuple[Format, str | None]:
    """The format and the compression that a name stands for; a name that says nothing is taken for CSV.

    >>> find_format("people.csv.gz")
    (<Format.CSV: 'csv'>, 'gzip')
    """
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    last = suffixes[:-1] if compression else suffixes
    return SUFFIXES.get(last[-1], Format.CSV) if last else Format.CSV, compression


def output_format(name: str) -> tuple[Format, str | None]:
    """The same for a file that is to be written, where a name that says nothing is an error."""
    format, compression = find_format(name)
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    if format is Format.SHEET or not any(suffix in SUFFIXES for suffix in suffixes[-2:]):
        raise ClasswiseError(f"The name {name!r} does not say in which format to write; end it in {_known()}.")
    return format, compression


def sniff_format(start: bytes) -> tuple[Format, str | None]:
    """The format and the compression of a file that begins so.

    >>> sniff_format(b'{"a": 1}'), sniff_format(b"a,b")
    ((<Format.LINES: 'jsonl'>, None), (<Format.CSV: 'csv'>, None))
    """
    for magic, compression in COMPRESSED.items():
        if start.startswith(magic):
            return Format.CSV, compression
    for magic, format in BINARY.items():
        if start.startswith(magic):
            return format, None
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"{", b"["):
        return (Format.LINES if text[:1] == b"{" else Format.JSON), None
    return Format.CSV, None


def _known() -> str:
    *first, last = (suffix for suffix, format in SUFFIXES.items() if format is not Format.SHEET)
    return f"{', '.join(first)} or {last}"


def marked(rows: Any, marks: Sequence[str] | None) -> Any:
    """A table or a batch of pyarrow's with what stood for a missing value as metadata."""
    metadata = {} if marks is None else {MARKS: json.dumps(list(marks))}
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), **metadata}) if metadata else rows


def marks_of(rows: Any) -> tuple[str, ...] | None:
    """What stood for a missing value, by the metadata of such a table."""
    marks = (rows.schema.metadata or {}).get(MARKS)
    return None if marks is None else tuple(map(str, json.loads(marks)))


# Text files: the first line, which names the columns, and the first that does not fit ---------------------------------

SEPARATORS = ",;\t|"

# The first line is looked for in this many bytes.
LONGEST = 1 << 20

MARK = b"\xef\xbb\xbf"

# What to do about a text file in another encoding.
NOT_UTF8 = (
    "it is not written in UTF-8. From Excel, save it as 'CSV UTF-8'; in a shell, convert it by "
    "iconv -f cp1252 -t utf-8 OLD > NEW."
)
LINE_END = re.compile("\r\n|\r|\n")
FIRST_LINE = re.compile(r'(?:"[^"]*"|[^"\r\n])*')


def matching(path: str) -> list[str]:
    """The files that a name stands for: that file, if there is one; else all that match, as "rows/*.csv" does."""
    if not has_magic(path) or os.path.isfile(path):  # noqa: PTH113 (a Path may be too long to ask)
        return [path]
    found = sorted(glob(path))  # noqa: PTH207 (a Path does not take patterns from the root)
    if not found:
        raise ClasswiseError(f"There is no file {path!r}.")
    return found


def literal(path: str) -> str:
    """A name for DuckDB, which matches names itself: the pattern that only this name matches.

    >>> literal("a[1].csv")
    'a[[]1].csv'
    """
    return re.sub(r"[*?[]", r"[\g<0>]", path)


@dataclass(frozen=True)
class Head:
    """How a text file begins. names: of its columns; separator: what stands between them; blank: lines before; end:
    of the line, "\\r\\n", "\\n" or "\\r", and "" where none is found.
    """

    names: tuple[str, ...]
    separator: str
    blank: int
    end: str


def read_head(path: str, sep: str | None = None) -> Head:
    """The head of a file, whose first line names the columns. sep: what stands between them, if that is known."""
    begin = _start(path)
    _refuse_other_encodings(path, begin.lstrip(b"\r\n").split(b"\n")[0])
    start = begin.decode("utf-8", "replace")
    text = start.lstrip("\r\n")
    if not text.split("\n")[0].strip():
        raise ClasswiseError(f"{path} is empty: its first line must name the columns.")
    sep = sep or separator(text)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=sep, skipinitialspace=True)
        fields = next(lines)
    except csv.Error as problem:
        raise ClasswiseError(f"{path} cannot be read: its first line does not name columns ({problem}).") from problem
    # Blanks around a name are no part of it, unless quotes say so.
    is_quoted = any('"' in line for line in text.splitlines()[: lines.line_num])
    names = tuple((name if is_quoted else name.strip()) or f"column{i}" for i, name in enumerate(fields))
    refuse_repeated_names(names, path)
    end = LINE_END.match(text, len(_first_line(text)))
    return Head(names, sep, len(LINE_END.findall(start[: len(start) - len(text)])), end.group() if end else "")


def _start(path: str) -> bytes:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        return bytes(stream.read(LONGEST).removeprefix(MARK))


def _refuse_other_encodings(path: str, line: bytes) -> None:
    """Names in another encoding would be garbled, and could not be requested."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(line)  # which allows a line that is cut within a letter
    except UnicodeDecodeError as problem:
        raise ClasswiseError(f"{path} cannot be read: {NOT_UTF8}") from problem


def refuse_repeated_names(names: Sequence[str], path: str) -> None:
    """Refuse a first line that names a column twice: a name must mean one column."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ClasswiseError(f"{path} names the column {name!r} twice, in its first line; give each its own name.")


def separator(text: str) -> str:
    """What stands between names most often in the first line, outside of quotes; a comma, where nothing does.

    >>> separator('length;"width, in mm"\\n1,5;2,5')
    ';'
    """
    bare = re.sub(r'"[^"]*"', "", _first_line(text))
    return max(SEPARATORS, key=bare.count)


def _first_line(text: str) -> str:
    """Names may have ends of lines inside quotes."""
    first = FIRST_LINE.match(text)
    return first.group() if first else ""


def misfit(path: str, sep: str) -> str | None:
    """A sentence about the first line with more or fewer values than columns, or about line ends that differ."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        rows = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", "replace", newline=""), delimiter=sep)
        width = len(next(rows, []))
        try:
            for row in rows:
                if row and len(row) != width:
                    return f"line {rows.line_num} has {len(row)} values, and the first line names {width} columns."
        except csv.Error:  # it has a field too long for this reader, which DuckDB takes
            return None
    with pa.input_stream(path, compression="detect") as stream:
        ends = {line.endswith(b"\r\n") for line in io.BufferedReader(stream) if line.endswith(b"\n")}
    return MIXED_ENDS if len(ends) > 1 else None


MIXED_ENDS = (
    "some of its lines end in CR LF, others in LF alone. In a shell, tr -d '\\r' < OLD > NEW makes them the same."
)


# Spreadsheets: the first sheet, as columns of text. Its cells say what they are as the values of a text file do -------


def read_sheet(path: str) -> tuple[list[str], list[list[str | None]]]:
    """The names of the columns, which its first row holds, and their values as text; None for an empty cell."""
    return _read(path, Path(path).stat().st_mtime_ns)


@lru_cache(maxsize=1)  # after names and kinds, the rows of the same file are read
def _read(path: str, changed: int) -> tuple[list[str], list[list[str | None]]]:
    first, *rows = _cells(path)
    names = [_text(cell) or f"column{i}" for i, cell in enumerate(first)]
    refuse_repeated_names(names, path)
    columns = [[_text(row[i]) for row in rows] for i in range(len(names))]
    used = [i for i, cell in enumerate(first) if cell != "" or any(value is not None for value in columns[i])]
    return [names[i] for i in used], [columns[i] for i in used]


def _cells(path: str) -> Sequence[Sequence[Any]]:
    calamine = _import_calamine()
    try:
        book = calamine.CalamineWorkbook.from_path(path)
        names = list(book.sheet_names)
        rows: list[list[Any]] = book.get_sheet_by_index(0).to_python(skip_empty_area=True) if names else []
    except (calamine.CalamineError, OSError) as problem:
        raise ClasswiseError(f"{path} cannot be read: {str(problem).splitlines()[0][:300]}") from problem
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if not rows:
        sheets = ", ".join(map(repr, names))
        raise ClasswiseError(
            f"The first sheet of {path} is empty: rows are read from the first, and its sheets are {sheets}. Move the "
            "sheet with the rows to the front, or save it as CSV."
        )
    return rows


def _text(cell: Any) -> str | None:
    """A cell as a text file would have it.

    >>> [_text(cell) for cell in (1.0, 0.25, True, dt.datetime(2026, 1, 31), "Rome ", "")]
    ['1', '0.25', 'true', '2026-01-31', 'Rome', None]
    """
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, dt.datetime) and cell.time() == dt.time():  # calamine has no other dates
        return str(cell.date())
    if isinstance(cell, dt.timedelta):
        return repr(cell.total_seconds())
    return str(cell).strip() or None


def _import_calamine() -> Any:
    if not find_spec("python_calamine"):
        raise MissingExtraError('Reading spreadsheets takes python-calamine: pip install "classwise[xlsx]".')
    import python_calamine

    return python_calamine
