"""Reading files of rows: DuckDB finds out the types, and hands over Arrow tables or batches.

The first line of a text file names the columns. A column of a text file is a number if every value is one, yes or no if
every value is true or false, and else text; dates and times are what they are, and for the models to refuse.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from glob import has_magic
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from classwise.errors import ClasswiseError, MissingExtraError
from classwise.sources.formats import Format, find_format
from classwise.sources.lines import blank_lines, first_line, matching, misfit, refuse_twins, separator

# What stands for a missing value in text files, besides nothing at all.
MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", ".")

# Rows of a batch, unless another number is asked for.
BATCH = 65_536

QUOTE = '"'

# How many rows of a text file tell its types: all, or as many as for finding its names.
ALL, SOME = -1, 1


@dataclass(frozen=True)
class RowFile:
    """A file of rows, or several alike ("rows/*.parquet"), not yet read.

    columns: which to read, in this order; all unless given. missing: what stands for a missing value, besides nothing;
    MISSING in text files, unless given. text: columns that hold text even where every value looks like a number.
    """

    path: str
    columns: tuple[str, ...] | None = None
    missing: tuple[str, ...] | None = None
    text: frozenset[str] = frozenset()

    def names(self) -> list[str]:
        """The columns that the file has."""
        with self.opened(SOME) as rows:
            return list(rows.columns)

    def table(self) -> Any:
        """All rows, as a table of pyarrow's."""
        with self.opened() as rows:
            return marked(self._projected(rows).to_arrow_table(), self.marks)

    @property
    def marks(self) -> tuple[str, ...] | None:
        """What stands for a missing value; None where nothing need, for types have a place for it."""
        is_text = find_format(self.path)[0] in (Format.CSV, Format.TSV)
        return MISSING if self.missing is None and is_text else self.missing

    def batches(self, size: int = BATCH) -> Iterator[Any]:
        """Record batches of at most so many rows; at no time are all rows in memory."""
        with self.opened() as rows:
            yield from self._projected(rows).to_arrow_reader(size)

    @contextmanager
    def opened(self, sample: int = ALL, types: Mapping[str, str] | None = None) -> Iterator[Any]:
        """A relation of DuckDB's of all columns; what it complains of becomes an error of one line.

        sample: by how many rows the types of a text file are told. types: or these are the types.
        """
        duckdb = import_duckdb()
        _refuse_absent(self.path)
        with database().cursor() as connection:
            try:
                yield self._relation(connection, sample, types)
            except (duckdb.Error, OSError) as problem:
                raise ClasswiseError(f"{self.path} cannot be read: {self._reason(problem)}") from problem

    def _projected(self, rows: Any) -> Any:
        return rows if self.columns is None else rows.project(_listed(self.known(self.columns, list(rows.columns))))

    def _reason(self, problem: Exception) -> str:
        """What DuckDB says, unless the lines themselves tell more plainly."""
        if find_format(self.path)[0] not in (Format.CSV, Format.TSV) or has_magic(self.path):
            return _first_sentence(problem)
        try:
            return misfit(self.path, self._separator()) or _first_sentence(problem)
        except OSError:  # its lines cannot be had at all
            return _first_sentence(problem)

    def _separator(self) -> str:
        return "\t" if find_format(self.path)[0] is Format.TSV else separator(first_line(self.path))

    def _relation(self, connection: Any, sample: int, types: Mapping[str, str] | None) -> Any:
        format, compression = find_format(self.path)
        if format in (Format.CSV, Format.TSV):
            options = self._csv_options(compression or "none", sample)
            if types is not None:
                return connection.read_csv(self.path, dtype=dict(types), **options)
            return connection.read_csv(self.path, **options) if sample != ALL else self._read_csv(connection, options)
        rows = READERS[format](connection, self.path, compression or "uncompressed")
        return rows if self.missing is None else without(self.missing, rows)

    def _csv_options(self, compression: str, sample: int) -> dict[str, Any]:
        markers = ["", *(self.marks or ())]
        options = {"header": True, "na_values": markers, "sample_size": sample, "compression": compression}
        options |= {"skiprows": blank_lines(self.path), "quotechar": QUOTE, "escapechar": QUOTE}
        sep = self._separator()
        refuse_twins(first_line(self.path), sep, self.path)
        return options | {"sep": sep}

    def _read_csv(self, connection: Any, options: dict[str, Any]) -> Any:
        rows = connection.read_csv(self.path, **options)
        types = dict(zip(rows.columns, map(str, rows.types), strict=True))
        texts = {name: "VARCHAR" for name in types if name in self.text}
        answers = {name: "VARCHAR" for name, type in types.items() if type == "BOOLEAN" and name not in texts}
        if answers:  # "yes" and "t" would do for DuckDB, and would come back as true
            as_text = connection.read_csv(self.path, dtype=answers, **options)
            texts |= {name: "VARCHAR" for name in answers if _has_other_words(as_text, name)}
        return connection.read_csv(self.path, dtype=texts, **options) if texts else rows

    def known(self, columns: Sequence[str], names: Sequence[str]) -> list[str]:
        """The columns asked for, or an error that names one that is not there."""
        for name in columns:
            if name not in names:
                raise ClasswiseError(no_such_column(name, names, self.path))
        return list(columns)


def read_rows(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    missing: Sequence[str] | None = None,
    text: Sequence[str] = (),
) -> Any:
    """A file of rows as a table of pyarrow's: CSV, TSV, JSON, Parquet, Feather, also compressed by gzip or zstd.

    columns, missing, text: as for RowFile.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,city\\n31,Rome\\n?,Oslo\\n")
    >>> read_rows(path).to_pydict()
    {'age': [31, None], 'city': ['Rome', 'Oslo']}
    """
    kept = None if columns is None else tuple(columns)
    return RowFile(str(path), kept, None if missing is None else tuple(missing), frozenset(text)).table()


def no_such_column(name: str, names: Sequence[str], where: str) -> str:
    """The sentence that says so, with the name that was perhaps meant.

    >>> no_such_column("speces", ["species", "island"], "a.csv")
    "a.csv has no column 'speces'; did you mean 'species'? Its columns are 'species', 'island'."
    """
    close = get_close_matches(name, names, 1)
    meant = f"; did you mean {close[0]!r}?" if close else "."
    return f"{where} has no column {name!r}{meant} Its columns are {', '.join(map(repr, names))}."


@cache
def database() -> Any:
    """The one DuckDB of this process; each reader has a cursor of its own."""
    connection = import_duckdb().connect()
    quieten(connection)
    return connection


def quieten(connection: Any) -> None:
    """No progress bar of DuckDB's: ours tells more. In a notebook without ipywidgets it has none, and cannot say so."""
    with suppress(import_duckdb().Error):
        connection.execute("SET enable_progress_bar = false")


def import_duckdb() -> Any:
    """DuckDB, or an error that says how to get it."""
    if not find_spec("duckdb") or not find_spec("pyarrow"):
        raise MissingExtraError('Reading files takes duckdb and pyarrow: pip install "classwise[files]".')
    import duckdb

    return duckdb


def _refuse_absent(path: str) -> None:
    for name in matching(path):
        if not Path(name).is_file():
            raise ClasswiseError(f"There is no file {name!r}.")


def _read_json(connection: Any, path: str, compression: str) -> Any:
    return connection.read_json(path, compression=compression, sample_size=-1)


def _read_parquet(connection: Any, path: str, compression: str) -> Any:
    return connection.read_parquet(path)


def _read_arrow(connection: Any, path: str, compression: str) -> Any:
    import pyarrow as pa
    from pyarrow import feather

    try:
        return connection.from_arrow(pa.concat_tables([feather.read_table(name) for name in matching(path)]))
    except pa.ArrowException as problem:
        raise ClasswiseError(f"{path} cannot be read: {_first_sentence(problem)}") from problem


READERS = {
    Format.JSON: _read_json,
    Format.LINES: _read_json,
    Format.PARQUET: _read_parquet,
    Format.ARROW: _read_arrow,
}


def _has_other_words(rows: Any, name: str) -> bool:
    """Whether a column of text holds anything but true and false."""
    other = f"lower({_quoted(name)}) NOT IN ('true', 'false')"
    return bool(rows.filter(other).limit(1).fetchall())


def without(missing: Sequence[str], rows: Any) -> Any:
    """A relation with nothing where a value is written as one of the markers; numbers are compared as numbers."""
    columns = {
        name: NUMBER.fullmatch(str(type)) is not None for name, type in zip(rows.columns, rows.types, strict=True)
    }
    return rows.project(", ".join(f"{unmarked(name, missing, columns[name])} AS {_quoted(name)}" for name in columns))


def unmarked(name: str, missing: Sequence[str], is_number: bool) -> str:
    """The values of a column that are no markers, as SQL writes it."""
    column, texts = _quoted(name), ["'" + marker.replace("'", "''") + "'" for marker in ["", *missing]]
    meant = f"CAST({column} AS VARCHAR) IN ({', '.join(texts)})"
    numbers = [f"{marker}e0" for marker in missing if is_number and DIGITS.fullmatch(marker)]
    meant += f" OR {column} IN ({', '.join(numbers)})" if numbers else ""
    return f"CASE WHEN {meant} THEN NULL ELSE {column} END"


# Types of DuckDB's that are numbers, and markers that are.
NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)")
DIGITS = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")

# Under this name Arrow tables tell what stood for a missing value in the rows that they were read from.
MARKS = b"classwise.missing"


def marked(rows: Any, marks: Sequence[str] | None) -> Any:
    """A table or a batch of pyarrow's that tells what stood for a missing value."""
    told = {} if marks is None else {MARKS: json.dumps(list(marks))}
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), **told}) if told else rows


def marks_of(rows: Any) -> tuple[str, ...] | None:
    """What such a table tells."""
    told = (rows.schema.metadata or {}).get(MARKS)
    return None if told is None else tuple(map(str, json.loads(told)))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_quoted, names))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _first_sentence(problem: Exception) -> str:
    lines = [line.strip() for line in str(problem).strip().splitlines()]
    text = " ".join(line for line in lines[:3] if line)
    if "not utf-8" in text:
        return "it is not written in UTF-8; convert it first, as by iconv -f latin1 -t utf-8."
    return text.removeprefix("Invalid Input Error: ")[:300]
