"""Text files: every column is read as text, and holds what its values say: the least kind that all of them fit.

    true and false -> text            whole numbers -> exact numbers -> numbers -> text
    times -> text                     dates -> moments -> text          moments of a zone -> text

A number is written as numbers are: 12, -3.5, 1e6, with blanks around it perhaps. Zeros before a whole one, as in 007,
make it text: it is a code, and would not come back as it was. An exact number is one that is not a whole one beyond 64
bits, whose last digits a number would lose; where all digits count, as in labels, those are text. Dates are written as
2026-01-31. A column without a single value holds numbers, none of which is known.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from typing import Any

from classwise.errors import ClasswiseError
from classwise.rows.formats import Head, literal

# This many rows decide what columns hold, until a later one does not fit.
SAMPLE = 20_480

# In this many rows most columns have a value.
FEW = 64

WHOLE_WRITTEN = "\\s*[+-]?(0|[1-9][0-9]*)\\s*"
NUMBER_WRITTEN = "(?i)\\s*[+-]?(((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)\\s*"
DAY = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
HOUR = "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"


@dataclass(frozen=True)
class Kind:
    """type: of SQL; fits: whether a value {v}, which is {d} as a number, is of this kind, in SQL; wider: the next,
    which takes all of it.
    """

    type: str
    fits: str
    wider: "Kind | None" = None

    @property
    def is_number(self) -> bool:
        """Whether values of this kind are recognized by what they are as numbers."""
        return "{d}" in self.fits

    def takes(self, value: str, number: str | None = None) -> str:
        """SQL for whether a value that is not missing is of this kind. number: the value as a number, if SQL
        has it already.
        """
        return self.fits.replace("{v}", value).replace("{d}", number or as_number(value))

    def of(self, value: str) -> str:
        """A value, of which it is known that it fits."""
        return value if self is TEXT else f"CAST({value} AS {self.type})"


def as_number(value: str) -> str:
    """A value as a number, as SQL finds it; nothing, where it is none."""
    return f"TRY_CAST({value} AS DOUBLE)"


def _written(pattern: str, type: str) -> str:
    return f"(regexp_full_match({{v}}, '{pattern}') AND TRY_CAST({{v}} AS {type}) IS NOT NULL)"


# Most numbers are seen to be some without a look at each of their signs: those with a fraction, and those that begin
# with a digit above zero. "1_0" would be a number for DuckDB.
_NUMBER = (
    "CASE WHEN {d} <> floor({d}) THEN true"
    " WHEN {v} BETWEEN '1' AND '9~' AND {d} IS NOT NULL AND NOT contains({v}, '_') THEN true"
    f" ELSE regexp_full_match({{v}}, '{NUMBER_WRITTEN}') END"
)
_LONG = f"(strlen({{v}}) > 18 AND regexp_full_match({{v}}, '{WHOLE_WRITTEN}') AND TRY_CAST({{v}} AS BIGINT) IS NULL)"

TEXT = Kind("VARCHAR", "true")
NUMBER = Kind("DOUBLE", _NUMBER, TEXT)
EXACT = Kind("DOUBLE", f"({_NUMBER} AND NOT {_LONG})", NUMBER)
WHOLE = Kind("BIGINT", _written(WHOLE_WRITTEN, "BIGINT"), EXACT)
ANSWER = Kind("BOOLEAN", "(lower({v}) IN ('true', 'false'))", TEXT)
MOMENT = Kind("TIMESTAMP", _written(f"{DAY}([ T]{HOUR})?", "TIMESTAMP"), TEXT)
DATE = Kind("DATE", _written(DAY, "DATE"), MOMENT)
ZONED = Kind("TIMESTAMPTZ", _written(f"{DAY}[ T]{HOUR} ?{ZONE}", "TIMESTAMPTZ"), TEXT)
TIME = Kind("TIME", _written(HOUR, "TIME"), TEXT)

# A column without values: any value makes something else of it.
EMPTY = Kind("DOUBLE", "false")

# The least first: a value is of the first kind that it fits.
KINDS = (ANSWER, WHOLE, EXACT, NUMBER, DATE, MOMENT, ZONED, TIME, TEXT)


def kind_of(value: str, among: Iterable[Kind] = KINDS) -> str:
    """The place among KINDS of the first of these kinds that a value fits, as SQL finds it; that of text, if none."""
    cases = [f"WHEN {kind.takes(value)} THEN {KINDS.index(kind)}" for kind in among if kind is not TEXT]
    return f"CASE WHEN {value} IS NULL THEN NULL {' '.join(cases)} ELSE {KINDS.index(TEXT)} END"


def joined(kind: Kind, other: Kind) -> Kind:
    """The least kind that takes the values of both.

    >>> joined(WHOLE, NUMBER).type, joined(WHOLE, DATE).type, joined(EMPTY, DATE).type
    ('DOUBLE', 'VARCHAR', 'DATE')
    """
    if EMPTY in (kind, other):
        return other if kind is EMPTY else kind
    above = set(upwards(other))
    return next(wider for wider in upwards(kind) if wider in above)


def least(kind: Kind, among: Sequence[Kind]) -> Kind:
    """The least of these that takes all values of a kind."""
    return next((wider for wider in upwards(kind) if wider in among), kind)


def upwards(kind: Kind) -> Iterator[Kind]:
    """The kind, and all that take its values, the least first."""
    step: Kind | None = kind
    while step is not None:
        yield step
        step = step.wider


def find_kinds(rows: Any, values: Mapping[str, str], among: Mapping[str, Sequence[Kind]]) -> dict[str, Kind]:
    """The least kind, of those that it may be of, that takes all values of a column of a relation.

    values: how SQL writes a column, by its name. One value of each says which kinds it can still be of.
    """
    kinds = _kinds_of_one(rows.limit(FEW), values)
    if empty := {name: value for name, value in values.items() if kinds[name] is EMPTY}:
        kinds |= _kinds_of_one(rows, empty)
    possible = {
        name: [wider for wider in upwards(kind) if wider in among[name] and wider is not TEXT]
        for name, kind in kinds.items()
        if kind is not EMPTY
    }
    fitting = _fitting(rows, possible, values)
    return {name: EMPTY if kind is EMPTY else next(fitting[name], TEXT) for name, kind in kinds.items()}


def _kinds_of_one(rows: Any, values: Mapping[str, str]) -> dict[str, Kind]:
    """The kind of one value of each column; EMPTY, where there is none."""
    ones = rows.aggregate(f"[{', '.join(f'any_value({value})' for value in values.values())}] AS ones")
    found = ones.project("unnest(ones) AS one").project(kind_of("one")).fetchall()
    return {name: EMPTY if i is None else KINDS[i] for name, (i,) in zip(values, found, strict=True)}


def _fitting(rows: Any, possible: Mapping[str, Sequence[Kind]], values: Mapping[str, str]) -> dict[str, Iterator[Kind]]:
    """Those of the given kinds that all values of a column fit."""
    tests = [
        f"bool_and(coalesce({kind.takes(values[name])}, false)) FILTER (WHERE {values[name]} IS NOT NULL)"
        for name, kinds in possible.items()
        for kind in kinds
    ]
    answers = iter(rows.aggregate(", ".join(tests)).fetchall()[0] if tests else ())
    tested = {name: [(kind, next(answers)) for kind in kinds] for name, kinds in possible.items()}
    return {name: (kind for kind, fits in pairs if fits) for name, pairs in tested.items()}


# Reading, with the kinds that columns have ----------------------------------------------------------------------------
#
# To look at every value before reading takes as long as reading. So the first rows decide what columns hold, and a
# value that does not fit ends the reading: the reader drops what came from this file and begins it again, with a
# wider kind for that column. At the end columns hold what they would, had all rows been looked at first.

QUOTE = '"'

# What DuckDB would else find out by itself.
OPTIONS = {"header": "true", "auto_detect": "false", "comment": "''", "quote": f"'{QUOTE}'", "escape": f"'{QUOTE}'"}

# What our own check says, to be found again in the message of DuckDB's error: which column, which kind, which value.
MISFIT = re.compile(r"classwise misfit (?P<column>\d+) (?P<kind>\d+) (?P<value>.{0,80})", re.S)


class WiderTypeError(ClasswiseError):
    """A value does not fit what its column holds so far; the file is to be begun again."""


def read_texts(connection: Any, files: Mapping[str, Head], compression: str, marks: Sequence[str]) -> Any:
    """Files as one relation of text: columns c0, c1, ... in the order of the first file, and nothing for a mark.

    Names of our own, because theirs may differ by case alone, which DuckDB does not see.
    """
    names = next(iter(files.values())).names
    alike = [(head, list(group)) for head, group in groupby(files, files.__getitem__)]
    parts = [_read_alike(connection, head, names, group, compression, marks) for head, group in alike]
    return reduce(lambda one, other: one.union(other), parts)


def _read_alike(
    connection: Any, head: Head, names: Sequence[str], files: Sequence[str], compression: str, marks: Sequence[str]
) -> Any:
    """Files that begin alike."""
    for name in (*names, *head.names):
        if name not in head.names or name not in names:
            other = "has" if name in head.names else "lacks"
            raise ClasswiseError(
                f"{files[0]} {other} the column {name!r}, unlike the first file; all must have the same."
            )
    columns = [f"c{names.index(name)}" for name in head.names]
    options = OPTIONS | {
        "columns": "{" + ", ".join(f"{column}: 'VARCHAR'" for column in columns) + "}",
        "nullstr": _list(["", *marks]),
        "skip": str(head.blank),
        "delim": sql_text(head.separator),
        "compression": sql_text(compression),
    }
    if head.end:  # DuckDB would take the first that it sees, also inside of quotes
        options["new_line"] = sql_text(head.end.replace("\r", "\\r").replace("\n", "\\n"))
    settings = ", ".join(f"{option}={value}" for option, value in options.items())
    rows = connection.sql(f"FROM read_csv({_list(list(map(literal, files)))}, {settings})")
    others = [quoted(name) for name in rows.columns[len(columns) :]]  # folders such as year=2026 are columns
    return rows.project(", ".join([*(f"c{i}" for i in range(len(columns))), *others]))


@dataclass
class TextReading:
    """How columns of text are read. exact: those of which every digit counts; whole: whether whole numbers stay whole
    in all others too.

    wider: kinds that the rows looked at so far have shown to be needed: the first rows, which are looked at once, and
    those that did not fit. It grows while the file is read. kinds: as they are now.
    """

    exact: frozenset[str]
    whole: bool
    wider: dict[str, Kind]
    kinds: dict[str, Kind] = field(default_factory=dict)

    def checked(self, rows: Any, values: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
        """The relation, and columns as SQL writes them; a value that does not fit is an error.

        values: the columns that say what they are, by their names, as SQL writes them.
        """
        self.kinds = self.found(rows, values)
        numbers = {name: f"n{i}" for i, (name, kind) in enumerate(self.kinds.items()) if kind.is_number}
        staged = [f"{as_number(values[name])} AS {number}" for name, number in numbers.items()]
        columns = {
            name: _checked(kind, values[name], numbers.get(name), place)
            for place, (name, kind) in enumerate(self.kinds.items())
        }
        return rows.project(", ".join(["*", *staged])) if staged else rows, columns

    def found(self, rows: Any, values: Mapping[str, str]) -> dict[str, Kind]:
        """What each column holds, as far as the first rows and those that did not fit show."""
        among = {name: self.among(name) for name in values}
        if unknown := {name: value for name, value in values.items() if name not in self.wider}:
            self.wider.update(find_kinds(rows.limit(SAMPLE), unknown, among))
        return {name: least(self.wider[name], among[name]) for name in values}

    def among(self, name: str) -> list[Kind]:
        """The kinds that a column may be of."""
        other = (NUMBER,) if name in self.exact else (EXACT,) if self.whole else (WHOLE, EXACT)
        return [kind for kind in KINDS if kind not in other]

    @contextmanager
    def widening(self, path: str) -> Iterator[None]:
        """Where a value does not fit, WiderTypeError instead of DuckDB's error."""
        try:
            yield
        except ClasswiseError as problem:
            found = MISFIT.search(str(problem.__cause__))
            if found is None:
                raise
            name, kind = list(self.kinds.items())[int(found["column"])]
            self.wider[name] = joined(kind, KINDS[int(found["kind"])])
            raise WiderTypeError(f"{path}: {name!r} holds {found['value']!r}.") from problem


# Very many columns ----------------------------------------------------------------------------------------------------
#
# The time that DuckDB takes to plan a query grows with the square of its columns: minutes, for 6,000 that are checked.
# So the values of such a file are read as text, and those of many columns are put one below the other: SQL sees two
# columns, the place of a column and a value of it.

# From this many columns on; and how many values are looked at together.
WIDE, TOGETHER = 500, 2_000_000


@dataclass(frozen=True, eq=False)
class WideTexts:
    """A relation of very many columns, all text; inferred: names of those whose kind is inferred, among all names."""

    reading: TextReading
    rows: Any
    names: Sequence[str]
    inferred: frozenset[str]
    connection: Any

    def to_arrow_table(self) -> Any:
        """All rows, columns with the kinds that they have."""
        import pyarrow as pa

        columns = [column.combine_chunks() for column in self.rows.to_arrow_table().columns]
        return pa.table(self._typed(columns), names=list(self.names))

    def to_arrow_reader(self, size: int) -> Iterator[Any]:
        """Batches of at most `size` rows; WiderTypeError where one does not fit what others hold."""
        import pyarrow as pa

        for batch in self.rows.to_arrow_reader(size):
            yield pa.RecordBatch.from_arrays(self._typed(batch.columns), names=list(self.names))

    def _typed(self, columns: Sequence[Any]) -> list[Any]:
        texts = {name: column for name, column in zip(self.names, columns, strict=True) if name in self.inferred}
        self._widen(texts)
        typed: dict[str, Any] = {}
        for kind in set(self.reading.kinds.values()) - {TEXT}:
            of_kind = {name: column for name, column in texts.items() if self.reading.kinds[name] is kind}
            for part in _parts(of_kind):
                values = self._below(part).project(f"{kind.of('v')} AS v").to_arrow_table()["v"].combine_chunks()
                rows = len(values) // len(part)
                typed |= {name: values.slice(i * rows, rows) for i, name in enumerate(part)}
        return [typed.get(name, column) for name, column in zip(self.names, columns, strict=True)]

    def _widen(self, texts: Mapping[str, Any]) -> None:
        """Take note of what columns hold; WiderTypeError where rows before were of another kind."""
        reading, found = self.reading, self._found(texts)
        needed = {
            name: least(joined(kind, reading.kinds.get(name, reading.wider.get(name, kind))), reading.among(name))
            for name, kind in found.items()
        }
        other = [name for name, kind in reading.kinds.items() if needed[name] is not kind]
        reading.wider.update({name: needed[name] for name in other})
        if other:
            raise WiderTypeError(f"{other[0]!r} holds other values than before.")
        reading.kinds.update(needed)

    def _found(self, texts: Mapping[str, Any]) -> dict[str, Kind]:
        """The least kind that takes all values of each column."""
        tested = [kind for kind in KINDS if kind is not TEXT]
        tests = [f"bool_and({kind.takes('v', 'd')}) FILTER (WHERE v IS NOT NULL)" for kind in tested]
        found: dict[str, Kind] = {}
        for part in _parts(texts):
            rows = self._below(part).project(f"*, {as_number('v')} AS d")
            answers = {i: fits for i, *fits in rows.aggregate(", ".join(["i", *tests]), "i").fetchall()}
            for i, name in enumerate(part):
                fits = dict(zip(tested, answers.get(i, ()), strict=False))
                kinds = [kind for kind in self.reading.among(name) if fits.get(kind)]
                found[name] = kinds[0] if kinds else TEXT if False in fits.values() else EMPTY
        return found

    def _below(self, columns: Mapping[str, Any]) -> Any:
        """The values of columns, one column below the other."""
        import numpy as np
        import pyarrow as pa

        values = pa.concat_arrays(list(columns.values()))
        places = np.repeat(np.arange(len(columns)), len(values) // len(columns))
        return self.connection.from_arrow(pa.table({"i": places, "v": values}))


def _parts(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Columns, so many at a time that their values are not too many."""
    rows = max((len(column) for column in columns.values()), default=0)
    size = max(1, TOGETHER // max(rows, 1))
    items = list(columns.items())
    return (dict(items[start : start + size]) for start in range(0, len(items), size))


def _checked(kind: Kind, value: str, number: str | None, place: int) -> str:
    """A value of this kind, as SQL writes it; what does not fit ends the query, and says what it is."""
    if kind is TEXT:
        return value
    fits = f"{kind.takes(value, number)} OR {value} IS NULL"
    wider = KINDS if kind is EMPTY else list(upwards(kind))[1:]
    misfit = f"error('classwise misfit {place} ' || {kind_of(value, wider)} || ' ' || left({value}, 80))"
    sure = "" if number is None else f"WHEN {number} <> floor({number}) THEN {number} "  # tested first, for speed
    return f"CASE {sure}WHEN {fits} THEN {number or kind.of(value)} ELSE {misfit} END"


def _list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(map(sql_text, texts)) + "]"


def sql_text(text: str) -> str:
    """Text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
