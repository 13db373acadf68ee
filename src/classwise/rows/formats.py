"""Formats of row files: told by the end of a name, or by the first bytes; and what stands for a missing value."""

import json
from collections.abc import Sequence
from enum import Enum
from pathlib import PurePath
from typing import Any

from classwise.errors import ClasswiseError

# What stands for a missing value in text files, besides nothing at all.
MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", ".")

# Under this name Arrow tables tell what stood for a missing value in the rows that they were read from.
MARKS = b"classwise.missing"


class Format(Enum):
    """How rows are written."""

    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    LINES = "jsonl"
    PARQUET = "parquet"
    ARROW = "arrow"

    @property
    def is_text(self) -> bool:
        return self not in (Format.PARQUET, Format.ARROW)


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
}

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}

# What files begin with.
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
BINARY = {b"PAR1": Format.PARQUET, b"ARROW1": Format.ARROW}


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
    if not any(suffix in SUFFIXES for suffix in suffixes[-2:]):
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
    return ", ".join(list(SUFFIXES)[:-1]) + f" or {list(SUFFIXES)[-1]}"


def marked(rows: Any, marks: Sequence[str] | None) -> Any:
    """A table or a batch of pyarrow's that tells what stood for a missing value."""
    told = {} if marks is None else {MARKS: json.dumps(list(marks))}
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), **told}) if told else rows


def marks_of(rows: Any) -> tuple[str, ...] | None:
    """What such a table tells."""
    told = (rows.schema.metadata or {}).get(MARKS)
    return None if told is None else tuple(map(str, json.loads(told)))
