"""Reading files of rows: DuckDB reads them, and hands over Arrow tables or batches.

The first line of a text file names the columns. What a column of a text file holds is told by all its values: a number,
if every value is one, yes or no if every value is true or false, and else text; dates and times are what they are, and
for the models to refuse. `kinds` has the whole of it. Nothing is left to DuckDB to guess: rows that it takes for
comments would be lost.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, partial, reduce
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from classwise.errors import ClasswiseError, MissingExtraError
from classwise.sources.formats import Format, find_format
from classwise.sources.kinds import DAYS, EMPTY, EXACT, NUMBER, TEXT, WHOLE, Kind, find_kinds
from classwise.sources.lines import Head, literal, matching, misfit, read_head

# What stands for a missing value in text files, besides nothing at all.
MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", ".")

# Rows of a batch, unless another number is asked for.
BATCH = 65_536

QUOTE = '"'

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

    columns: which to read, in this order; all unless given. missing: what stands for a missing value, besides nothing;
    MISSING in text files, unless given. text: columns that hold text even where every value looks like a number.
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

    def names(self) -> list[str]:
        """The columns that the file has."""
        with self.opened() as rows:
            return list(rows.values)

    def table(self) -> Any:
        """All rows, as a table of pyarrow's."""
        with self.opened() as rows:
            return self.chosen(rows, self.columns).to_arrow_table()

    def batches(self, size: int = BATCH) -> Iterator[Any]:
        """Record batches of at most so many rows; at no time are all rows in memory."""
        with self.opened() as rows:
            yield from self.chosen(rows, self.columns).to_arrow_reader(size)

    def chosen(self, opened: Opened, columns: Sequence[str] | None) -> Any:
        """The relation of these columns, of the types that all rows tell."""
        asked = self.asked(columns, opened)
        return opened.rows.project(self.projection(opened, asked, self._typed(opened, asked)))

    def projection(self, opened: Opened, asked: Sequence[str], typed: Mapping[str, str]) -> str:
        """Columns as SQL lists them. typed: the values of those that are not copied."""
        values = (opened.written[self.copies[name]] if name in self.copies else typed[name] for name in asked)
        return ", ".join(f"{value} AS {quoted(name)}" for name, value in zip(asked, values, strict=True))

    def asked(self, columns: Sequence[str] | None, opened: Opened) -> list[str]:
        """The columns asked for, or an error that names one that is not there."""
        names = list(opened.values)
        if columns is None:
            return names
        for name in columns:
            if self.copies.get(name, name) not in names:
                raise ClasswiseError(no_such_column(self.copies.get(name, name), names, self.path))
        return list(columns)

    def _typed(self, opened: Opened, asked: Sequence[str]) -> Mapping[str, str]:
        """Values of the types that all rows tell."""
        if not opened.texts:
            return opened.values
        kinds = self.exactly(find_kinds(opened.rows, self.told(opened, asked)))
        return {name: kinds.get(name, TEXT).of(value) for name, value in opened.values.items()}

    def exactly(self, kinds: Mapping[str, Kind]) -> dict[str, Kind]:
        """Kinds by which no column loses digits that count."""
        return {name: TEXT if kind is NUMBER and name in self.exact else kind for name, kind in kinds.items()}

    def told(self, opened: Opened, asked: Sequence[str]) -> dict[str, str]:
        """Of the columns asked for, those of which values tell what they hold."""
        return {name: opened.values[name] for name in asked if name not in self.text and name not in self.copies}

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
        """What DuckDB says, unless the lines themselves tell more plainly."""
        if not self.is_text or len(files) > 1:
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
        if format in (Format.JSON, Format.LINES):
            rows, written, values = self._json(connection, files, compression or "uncompressed")
        else:
            rows, written, values = READERS[format](connection, files)
        if self.missing is not None:
            values = {name: _unmarked(value, self.missing) for name, value in values.items()}
        return Opened(rows, values, written)

    def _json(self, connection: Any, files: Sequence[str], compression: str) -> Typed:
        """Values have types here; a column that mixes them is text. Days, text in JSON, are days for models."""
        read = partial(connection.read_json, list(map(literal, files)), compression=compression)
        guessed = read(sample_size=-1)
        types = dict(zip(guessed.columns, map(str, guessed.types), strict=True))
        doubtful = {name: TEXT.type for name, type in types.items() if type in DOUBTFUL}
        kinds: dict[str, Kind] = {}
        if doubtful:
            own = {name: quoted(name) for name in doubtful}
            kinds = self.exactly(find_kinds(read(columns=doubtful), own, (WHOLE, EXACT, NUMBER, *DAYS)))
        numbers = {name: kind.type for name, kind in kinds.items() if kind in (WHOLE, EXACT, NUMBER, EMPTY)}
        mixed = {name: TEXT.type for name, type in types.items() if type in MIXED}
        read_as = types | mixed | doubtful | numbers
        written = {name: quoted(name) for name in types}
        values = {name: kinds[name].of(column) if name in kinds else column for name, column in written.items()}
        return guessed if read_as == types else read(columns=read_as), written, values

    def _texts(self, connection: Any, files: Sequence[str], compression: str) -> Opened:
        """All columns as text, under names of our own: theirs may differ by case alone, which DuckDB does not see.

        The reader takes missing values out, which is quickest, unless there are copies, which keep them.
        """
        heads = [self._head(file) for file in files]
        names, marks = heads[0].names, MISSING if self.missing is None else self.missing
        parts = [
            _read_texts(connection, head, names, [files[i] for i in places], compression, () if self.copies else marks)
            for head, places in ((h, list(g)) for h, g in groupby(range(len(files)), heads.__getitem__))
        ]
        rows = reduce(lambda one, other: one.union(other), parts)
        own = {name: f"c{i}" for i, name in enumerate(names)}
        own |= {name: quoted(name) for name in rows.columns[len(names) :]}  # folders such as year=2026 are columns
        if not self.copies:
            return Opened(rows, own, own, True)
        values = {name: f"v{i}" for i, name in enumerate(own)}
        kept = [f"{_unmarked(own[name], marks)} AS {value}" for name, value in values.items()]
        return Opened(rows.project(", ".join(["*", *kept])), values, own, True)


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


def _refuse_absent(files: Sequence[str]) -> None:
    for name in files:
        if not Path(name).is_file():
            raise ClasswiseError(f"There is no file {name!r}.")


def _read_texts(
    connection: Any, head: Head, names: Sequence[str], files: Sequence[str], compression: str, marks: Sequence[str]
) -> Any:
    """Files that begin alike as text: the columns are c0, c1, ... in the order of the names."""
    for name in (*names, *head.names):
        if name not in head.names or name not in names:
            other = "lacks" if name not in head.names else "has"
            raise ClasswiseError(
                f"{files[0]} {other} the column {name!r}, unlike the files before; all must have the same."
            )
    columns = {f"c{names.index(name)}": "VARCHAR" for name in head.names}
    options = {
        "columns": "{" + ", ".join(f"{name}: {_text(type)}" for name, type in columns.items()) + "}",
        "nullstr": _list(["", *marks]),
        "skip": str(head.blank),
        "delim": _text(head.separator),
        "quote": _text(QUOTE),
        "escape": _text(QUOTE),
        "compression": _text(compression),
    }
    told = ", ".join(f"{option}={value}" for option, value in (OPTIONS | options).items())
    rows = connection.sql(f"FROM read_csv({_list(map(literal, files))}, {told})")
    others = [quoted(name) for name in rows.columns[len(columns) :]]
    return rows.project(", ".join([*sorted(columns, key=lambda name: int(name[1:])), *others]))


# What DuckDB takes for numbers may be whole ones of too many digits for it, and days are text in JSON. It says JSON of
# values that are not of one type.
DOUBTFUL = ("DOUBLE", "HUGEINT", "UBIGINT", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", '"NULL"', "NULL")
MIXED = ("JSON", "UUID")

# What DuckDB would else find out by itself.
OPTIONS = {"header": "true", "auto_detect": "false", "comment": "''"}


def _read_parquet(connection: Any, files: Sequence[str]) -> Typed:
    return _as_it_is(connection.read_parquet(list(map(literal, files))))


def _read_arrow(connection: Any, files: Sequence[str]) -> Typed:
    import pyarrow as pa
    from pyarrow import feather

    try:
        return _as_it_is(connection.from_arrow(pa.concat_tables([feather.read_table(name) for name in files])))
    except pa.ArrowException as problem:
        raise ClasswiseError(f"{files[0]} cannot be read: {_first_sentence(problem)}") from problem


def _as_it_is(rows: Any) -> Typed:
    columns = {name: quoted(name) for name in rows.columns}
    return rows, columns, columns


READERS = {
    Format.PARQUET: _read_parquet,
    Format.ARROW: _read_arrow,
}


def _unmarked(value: str, marks: Sequence[str]) -> str:
    """A value, or nothing where it is written as one of the marks."""
    return f"CASE WHEN CAST({value} AS VARCHAR) IN ({', '.join(map(_text, ['', *marks]))}) THEN NULL ELSE {value} END"


def _list(texts: Iterable[str]) -> str:
    return "[" + ", ".join(map(_text, texts)) + "]"


def _text(text: str) -> str:
    """Text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _first_sentence(problem: Exception) -> str:
    lines = [line.strip() for line in str(problem).strip().splitlines()]
    text = " ".join(line for line in lines[:3] if line)
    if "not utf-8" in text:
        return "it is not written in UTF-8; convert it first, as by iconv -f latin1 -t utf-8."
    return text.removeprefix("Invalid Input Error: ")[:300]
