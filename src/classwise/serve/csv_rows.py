"""CSV in requests: a header of column names and rows of text in, the answer as CSV out.

A cell is read as its column asks for: a number, yes or no, a level. What is empty is missing, and so is what stood for
a missing value in the files that the model learned from. What does not fit is refused, as in JSON.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from classwise.rows.formats import MISSING
from classwise.rows.sources import Source
from classwise.serve.requests import Problem
from classwise.serve.resources import RequestDeadline
from classwise.serve.validation import InputColumn, LevelColumn, RowReader, refuse_many, refuse_other_names

# The deadline is looked at after this many rows.
ROWS_AT_ONCE = 4096

# How yes and no are written.
FLAGS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


@dataclass(frozen=True, eq=False)
class CsvRows:
    """The columns of a body, as text."""

    columns: dict[str, list[str]]

    def kept(self, names: Sequence[str]) -> dict[str, Any]:
        """Columns that the answer carries along."""
        return {name: pa.chunked_array([pa.array(self.columns[name], pa.string())]) for name in names}

    def source(self, reader: RowReader, marks: Sequence[str] | None, most_rows: int) -> Source:
        """The model's columns, checked. marks: what stands for a missing value, besides nothing."""
        missing = frozenset(("", *(MISSING if marks is None else marks)))
        named = zip(reader.columns, reader.keys, strict=True)
        columns = {name: [_value(text, column, missing) for text in self.columns[name]] for column, name in named}
        return reader.read({"columns": columns}, most_rows)


def read_csv(
    body: bytes, reader: RowReader, keep: Sequence[str], most: tuple[int, int], deadline: RequestDeadline
) -> CsvRows:
    """The columns of a body. most: rows, and columns besides those of the model."""
    lines = _lines(body)
    header = next(lines, [])
    _check_header(header, reader, keep, most[1])
    rows: list[list[str]] = []
    for count, row in enumerate(lines, 1):
        if len(row) != len(header):
            what = f"Row {count - 1} of the body, counted from 0, has {len(row)} values, and the header {len(header)}"
            raise Problem(422, f"{what}; give as many.")
        refuse_many(count, most[0])
        if not count % ROWS_AT_ONCE:
            deadline.check()
        rows.append(row)
    if not rows:
        raise Problem(422, "The body has a header, and no rows; give at least one.")
    return CsvRows(dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)))


def _lines(body: bytes) -> Iterator[list[str]]:
    """The rows of the body; what cannot be read is its fault. Lines without anything are none."""
    if not body:
        raise Problem(400, "The body is empty; send CSV with a header.")
    try:
        text = body.decode("utf-8-sig")
        yield from (row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row)
    except (UnicodeDecodeError, csv.Error) as problem:
        raise Problem(400, f"The body is not sound CSV in UTF-8: {str(problem)[:200]}") from None


def _check_header(header: list[str], reader: RowReader, keep: Sequence[str], extra_columns: int) -> None:
    most = len(reader.columns) + extra_columns
    if len(header) > most:
        raise Problem(413, f"The body has {len(header)} columns, and the limit is {most}; send the model's columns.")
    for name, count in Counter(header).items():
        if count > 1:
            raise Problem(422, f"The body has two columns called {name!r}; rename one.", column=name)
    for name in keep:
        if name not in header:
            raise Problem(422, f"keep names the column {name!r}, which the body has not.", column=name)
    kept = set(keep).difference(reader.keys)
    refuse_other_names([name for name in header if name not in kept], reader.keys, None)


def _value(text: str, column: InputColumn, missing: frozenset[str]) -> Any:
    """A cell as its column takes it; text that does not fit stays text, and is refused there."""
    if text in missing and not (isinstance(column, LevelColumn) and text in column.levels.tolist()):
        return None
    if isinstance(column, LevelColumn):
        kind = column.levels.dtype.kind
        return FLAGS.get(text.lower(), text) if kind == "b" else _number(text) if kind in "iuf" else text
    return text if column.column.conversion is not None else _number(text)


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def write_csv(kept: dict[str, Any], answers: dict[str, pa.Array]) -> bytes:
    """The columns to keep, followed by the answer."""
    for name in kept.keys() & answers.keys():
        raise Problem(422, f"keep names {name!r}, which is a column of the answer; rename it.", column=name)
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(pa.table(kept | answers), sink, pa_csv.WriteOptions(quoting_style="needed"))
    return sink.getvalue().to_pybytes()
