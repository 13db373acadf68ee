"""Files of rows: DuckDB reads them, and hands over Arrow tables or batches.

The first line of a text file names the columns. All values of a column of a text file decide what it holds: a number,
if every value is one, yes or no if every value is true or false, a date or a time, and else text. `kinds` has the whole
of it; what models make of dates, and of text such as 3,14, is theirs. Nothing is left to DuckDB to guess: rows that it
takes for comments would be lost.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from classwise.errors import ClasswiseError, MissingExtraError
from classwise.rows.formats import (
    MISSING,
    NOT_UTF8,
    Format,
    Head,
    find_format,
    literal,
    marked,
    matching,
    misfit,
    read_head,
    read_sheet,
)
from classwise.rows.texts import (
    EXACT,
    KINDS,
    MISFIT,
    NUMBER,
    TEXT,
    WHOLE,
    WIDE,
    Kind,
    TextReading,
    WiderTypeError,
    WideTexts,
    find_kinds,
    quoted,
    read_texts,
    sql_text,
)

# Rows of a batch, by default.
BATCH = 65_536

TEXTS = (Format.CSV, Format.TSV)


@dataclass(frozen=True, eq=False)
class Opened:
    """rows: a relation of DuckDB's. values: each column by its name, as SQL writes it, with nothing for what is
    missing; written: the same as it stands in the file. texts: whether all is text, and says what it is by its values.
    """

    rows: Any
    values: Mapping[str, str]
    written: Mapping[str, str]
    texts: bool = False


# Rows of DuckDB's, columns as they stand, and columns as they are for models: by their names, as SQL writes them.
Typed: TypeAlias = tuple[Any, dict[str, str], dict[str, str]]


@dataclass(frozen=True)
class RowFile:
    """A file of rows, or several alike ("rows/*.parquet"), not yet read.

    columns: which to read, in this order; all by default. missing: what stands for a missing value, besides nothing;
    MISSING in text files, by default. text: columns that hold text even where every value looks like a number.
    exact: columns of which every digit counts, as of labels, keys and levels; numbers that would lose some are text
    there. copies: columns by other names, or by their own, that are handed over as they stand in the file.
    """

    path: str
    columns: tuple[str, ...] | None = None
    missing: tuple[str, ...] | None = None
    text: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    copies: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        """Whether its values are text, and say themselves what they are."""
        return find_format(self.path)[0] in TEXTS

    @property
    def marks(self) -> tuple[str, ...] | None:
        """What stands for a missing value; None where nothing need, for types have a place for it."""
        is_text = self.is_text or find_format(self.path)[0] is Format.SHEET
        return MISSING if self.missing is None and is_text else self.missing

    def names(self) -> list[str]:
        """The columns that the file has."""
        with self.opened() as rows:
            return list(rows.values)

    def table(self) -> Any:
        """All rows, as a table of pyarrow's."""
        wider: dict[str, Kind] = {}
        while True:
            try:
                with self._chosen(wider, whole=True) as rows:
                    return marked(rows.to_arrow_table(), self.marks)
            except WiderTypeError:
                continue

    def batches(self, size: int = BATCH, wider: dict[str, Kind] | None = None) -> Iterator[Any]:
        """Record batches of at most `size` rows; at no time are all rows in memory.

        Whole numbers in text files are numbers here, unless every digit counts. wider: as for TextReading;
        WiderTypeError where a text file is to be begun again.
        """
        with self._chosen({} if wider is None else wider, whole=False) as rows:
            for batch in rows.to_arrow_reader(size):
                yield marked(batch, self.marks)

    def first(self, count: int, wider: dict[str, Kind]) -> Any:
        """The first rows as a record batch, and no more of the file is read; None, if there are none. Without a column
        of text, which alone could hold anything else than it seems to, no row is read, and the batch has no columns.
        """
        import pyarrow as pa

        reading = TextReading(self.exact, False, wider)
        with reading.widening(self.path), self.opened() as opened:
            if opened.texts and not self._may_be_text(opened, reading):
                return pa.table({})
            rows = self._typed(opened, reading)
            if not isinstance(rows, WideTexts):
                if "VARCHAR" not in map(str, rows.types):
                    return pa.table({})
                rows = rows.limit(count)
            return next((marked(batch, self.marks) for batch in rows.to_arrow_reader(count)), None)

    @contextmanager
    def _chosen(self, wider: dict[str, Kind], whole: bool) -> Iterator[Any]:
        """The relation of the columns requested, as they stand in the file or of the types of their values."""
        reading = TextReading(self.exact, whole, wider)
        with reading.widening(self.path), self.opened() as opened:
            yield self._typed(opened, reading)

    def _typed(self, opened: Opened, reading: TextReading) -> Any:
        requested = self._requested(list(opened.values))
        typed = {name: opened.values[name] for name in requested if name not in self.copies}
        inferred = self._inferred(opened, requested)
        stand = {name: opened.written[self.copies[name]] for name in requested if name in self.copies}
        if len(inferred) >= WIDE:
            texts = _project(opened.rows, typed | stand, requested)
            return WideTexts(reading, texts, requested, frozenset(inferred), database().cursor())
        rows, checked = reading.checked(opened.rows, inferred)
        return _project(rows, typed | checked | stand, requested)

    def _inferred(self, opened: Opened, requested: Sequence[str]) -> dict[str, str]:
        """The columns whose kind is inferred from their values, as SQL writes them."""
        others = self.text.union(self.copies)
        return {name: opened.values[name] for name in requested if opened.texts and name not in others}

    def _may_be_text(self, opened: Opened, reading: TextReading) -> bool:
        """Whether some column is, as far as the first rows show, or there are too many columns to look at."""
        requested = self._requested(list(opened.values))
        inferred = self._inferred(opened, requested)
        return (
            len(inferred) < len(requested)
            or len(inferred) >= WIDE
            or TEXT in reading.found(opened.rows, inferred).values()
        )

    def _requested(self, names: Sequence[str]) -> Sequence[str]:
        """The columns requested, or an error that names one that is not there."""
        for name in self.columns or ():
            source = self.copies.get(name, name)
            if source not in names:
                raise ClasswiseError(no_such_column(source, names, self.path))
        return names if self.columns is None else self.columns

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """All columns; what DuckDB complains of becomes an error of one line."""
        duckdb = import_duckdb()
        files = matching(self.path)
        _refuse_absent(files)
        with database().cursor() as connection:
            try:
                yield self._relation(connection, files)
            except (duckdb.Error, OSError) as problem:
                raise ClasswiseError(f"{self.path} cannot be read: {self._reason(files, problem)}") from problem

    def _reason(self, files: Sequence[str], problem: Exception) -> str:
        """What DuckDB says, unless the lines themselves show it more plainly."""
        if not self.is_text or len(files) > 1 or MISFIT.search(str(problem)):
            return _first_sentence(problem)
        try:
            return misfit(files[0], self._head(files[0]).separator) or _first_sentence(problem)
        except OSError:  # its lines cannot be had at all
            return _first_sentence(problem)

    def _head(self, file: str) -> Head:
        return read_head(file, "\t" if find_format(file)[0] is Format.TSV else None)

    def _relation(self, connection: Any, files: Sequence[str]) -> Opened:
        format, compression = find_format(self.path)
        if format in TEXTS:
            return self._texts(connection, files, compression or "none")
        if format is Format.SHEET:
            return self._sheets(connection, files)
        if format in (Format.JSON, Format.LINES):
            rows, written, values = self._json(connection, files, compression or "uncompressed")
        else:
            rows, written, values = READERS[format](connection, files)
        if self.missing is not None:
            numbers = set(map(quoted, numbers_of(rows)))
            values = {name: unmarked(value, self.missing, value in numbers) for name, value in values.items()}
        return Opened(rows, values, written)

    def _json(self, connection: Any, files: Sequence[str], compression: str) -> Typed:
        """Values have types here; a column that mixes them is text. Days, text in JSON, are days for models."""
        read = partial(connection.read_json, list(map(literal, files)), compression=compression)
        guessed = read(sample_size=-1)
        types = dict(zip(guessed.columns, map(str, guessed.types), strict=True))
        doubtful = {name: TEXT.type for name, type in types.items() if type in DOUBTFUL or self._may_lose(name, type)}
        own = {name: quoted(name) for name in doubtful}
        among = {
            name: [kind for kind in KINDS if kind is not (NUMBER if name in self.exact else EXACT)] for name in own
        }
        kinds = find_kinds(read(columns=doubtful), own, among) if doubtful else {}
        numbers = {name: kind.type for name, kind in kinds.items() if kind in (WHOLE, EXACT, NUMBER)}
        read_as = {name: AS_TYPES.get(type, type) for name, type in types.items()} | doubtful | numbers
        written = {name: quoted(name) for name in types}
        values = {name: kinds[name].of(column) if name in kinds else column for name, column in written.items()}
        return guessed if read_as == types else read(columns=read_as), written, values

    def _may_lose(self, name: str, type: str) -> bool:
        """Whether digits that count may be lost: whole numbers may have more than DuckDB's numbers keep."""
        return type == NUMBER.type and name in self.exact

    def _texts(self, connection: Any, files: Sequence[str], compression: str) -> Opened:
        """The reader takes missing values out, which is quickest, unless there are copies, which keep them."""
        heads = {file: self._head(file) for file in files}
        marks = self.marks or ()
        # DuckDB refuses marks that hold what separates columns, such as -999,0.
        later = bool(self.copies) or any(head.separator in mark for mark in marks for head in heads.values())
        rows = read_texts(connection, heads, compression, () if later else marks)
        names = heads[files[0]].names
        own = {name: f"c{i}" for i, name in enumerate(names)}
        own |= {name: f"CAST({quoted(name)} AS {TEXT.type})" for name in rows.columns[len(names) :]}
        return self._without_marks(rows, own) if later else Opened(rows, own, own, True)

    def _sheets(self, connection: Any, files: Sequence[str]) -> Opened:
        """Cells are text, and say what they are as those of text files do."""
        import pyarrow as pa

        sheets = [read_sheet(file) for file in files]
        names = sheets[0][0]
        for file, (found, _) in zip(files, sheets, strict=True):
            if found != names:
                raise ClasswiseError(f"{file} has other columns than {files[0]}; all must have the same, in one order.")
        own = {name: f"c{i}" for i, name in enumerate(names)}
        tables = [
            pa.table({f"c{i}": pa.array(values, pa.string()) for i, values in enumerate(columns)})
            for _, columns in sheets
        ]
        return self._without_marks(connection.from_arrow(pa.concat_tables(tables)), own)

    def _without_marks(self, rows: Any, own: Mapping[str, str]) -> Opened:
        """Columns as they stand, and the same with nothing for what is missing."""
        marks = self.marks or ()
        values = {name: f"v{i}" for i, name in enumerate(own)}
        kept = [f"{unmarked(own[name], marks)} AS {value}" for name, value in values.items()]
        return Opened(rows.project(", ".join(["*", *kept])), values, own, True)


def _project(rows: Any, values: Mapping[str, str], names: Sequence[str]) -> Any:
    return rows.project(", ".join(f"{values[name]} AS {quoted(name)}" for name in names))


def read_rows(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    missing: Sequence[str] | None = None,
    text: Sequence[str] = (),
) -> Any:
    """A file of rows as a table of pyarrow's: CSV, TSV, JSON, Parquet, Feather or a spreadsheet; text also compressed.

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
    from difflib import get_close_matches  # takes a while

    close = get_close_matches(name, names, 1)
    meant = f"; did you mean {close[0]!r}?" if close else "."
    where = where.replace("the table", "The table", 1) if where.startswith("the table") else where
    return f"{where} has no column {name!r}{meant} Its columns are {', '.join(map(repr, names))}."


@cache
def database() -> Any:
    """The one DuckDB of this process; each reader has a cursor of its own."""
    connection = import_duckdb().connect()
    quieten(connection)
    return connection


def quieten(connection: Any) -> None:
    """No progress bar of DuckDB's: ours shows more. In a notebook without ipywidgets it has none, and cannot say so."""
    with suppress(import_duckdb().Error):
        connection.execute("SET enable_progress_bar = false")


def import_duckdb() -> Any:
    """DuckDB, or an error that says how to get it."""
    if not find_spec("duckdb") or not find_spec("pyarrow"):
        raise MissingExtraError('Reading files takes duckdb and pyarrow: pip install "classwise[files]".')
    import duckdb

    return duckdb


def _refuse_absent(files: Sequence[str]) -> None:
    for name in files:
        if not Path(name).is_file():
            raise ClasswiseError(f"There is no file {name!r}.")


# Whole numbers of more than 64 bits, or of either sign, and days, which are text in JSON; DuckDB says JSON of values
# that are not of one type, and NULL of none.
DOUBTFUL = ("HUGEINT", "UBIGINT", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
AS_TYPES = {"JSON": "VARCHAR", "UUID": "VARCHAR", '"NULL"': "DOUBLE", "NULL": "DOUBLE"}


def _read_parquet(connection: Any, files: Sequence[str]) -> Typed:
    rows = connection.read_parquet(list(map(literal, files)))
    return _as_it_is(rows, _own_names(rows.columns, files[0]))


def _own_names(names: Sequence[str], file: str) -> list[str]:
    """The names in a Parquet file: to DuckDB, which takes x and X for one name, the second of them is X_1."""
    if not any(RENAMED.search(name) for name in names):
        return list(names)
    from pyarrow import parquet

    own = parquet.read_schema(file).names
    return [*own, *names[len(own) :]]


def _read_arrow(connection: Any, files: Sequence[str]) -> Typed:
    import pyarrow as pa
    from pyarrow import feather

    try:
        table = pa.concat_tables([feather.read_table(name) for name in files])
    except pa.ArrowException as problem:
        raise ClasswiseError(f"{files[0]} cannot be read: {_first_sentence(problem)}") from problem
    return _as_it_is(connection.from_arrow(table), table.column_names)


def _as_it_is(rows: Any, names: Sequence[str]) -> Typed:
    """Every column as it stands; names: those in the file, where DuckDB has others."""
    columns = dict(zip(names, map(quoted, rows.columns), strict=True))
    return rows, columns, columns


# How DuckDB distinguishes names that differ by case alone.
RENAMED = re.compile(r"_[0-9]+$")

READERS = {
    Format.PARQUET: _read_parquet,
    Format.ARROW: _read_arrow,
}


# Types of DuckDB's that are numbers, and marks that are.
NUMBERS = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)")
DIGITS = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


def unmarked(value: str, marks: Sequence[str], is_number: bool = False) -> str:
    """A value as SQL writes it, or nothing where it is one of the marks; numbers are compared as numbers."""
    meant = f"CAST({value} AS VARCHAR) IN ({', '.join(map(sql_text, ['', *marks]))})"
    numbers = [f"{mark}e0" for mark in marks if is_number and DIGITS.fullmatch(mark)]
    meant += f" OR {value} IN ({', '.join(numbers)})" if numbers else ""
    return f"CASE WHEN {meant} THEN NULL ELSE {value} END"


def numbers_of(rows: Any) -> set[str]:
    """The columns of a relation that are numbers."""
    types = zip(rows.columns, rows.types, strict=True)
    return {name for name, type in types if NUMBERS.fullmatch(str(type))}


def without(marks: Sequence[str], rows: Any) -> Any:
    """A relation with nothing where a value is one of the marks."""
    numbers = numbers_of(rows)
    columns = (f"{unmarked(quoted(name), marks, name in numbers)} AS {quoted(name)}" for name in rows.columns)
    return rows.project(", ".join(columns))


def _first_sentence(problem: Exception) -> str:
    lines = [line.strip() for line in str(problem).strip().splitlines()]
    text = " ".join(line for line in lines[:3] if line).removesuffix(" Possible fixes:")
    if "differ only in case" in text:
        return "two of its keys differ by upper and lower case alone; rename one of them, or write the rows as CSV."
    if "not utf-8" in text:
        return NOT_UTF8
    return text.removeprefix("Invalid Input Error: ")[:300]
