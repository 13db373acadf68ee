"""Text files: every column is read as text, and is what its values say.

To look at every value before reading takes as long as reading. So what columns hold is told by the first rows, and a
value that does not fit ends the reading: whoever reads forgets what came from this file and begins it again, with a
wider kind for that column. At the end columns hold what they would, had all rows been looked at first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from typing import Any

from classwise.errors import ClasswiseError
from classwise.rows import kinds
from classwise.rows.kinds import (
    EMPTY,
    EXACT,
    KINDS,
    NUMBER,
    TEXT,
    WHOLE,
    Kind,
    as_number,
    find_kinds,
    joined,
    kind_of,
    least,
    upwards,
)
from classwise.rows.lines import Head, literal

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
    told = ", ".join(f"{option}={value}" for option, value in options.items())
    rows = connection.sql(f"FROM read_csv({_list(list(map(literal, files)))}, {told})")
    others = [quoted(name) for name in rows.columns[len(columns) :]]  # folders such as year=2026 are columns
    return rows.project(", ".join([*(f"c{i}" for i in range(len(columns))), *others]))


@dataclass
class Reading:
    """How columns of text are read. exact: those of which every digit counts; whole: whether whole numbers stay whole
    in all others too.

    wider: kinds that rows read so far have shown to be needed; it grows while the file is read. kinds: as they are now.
    """

    exact: frozenset[str]
    whole: bool
    wider: dict[str, Kind]
    kinds: dict[str, Kind] = field(default_factory=dict)

    def checked(self, rows: Any, values: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
        """The relation, and columns as SQL writes them; a value that does not fit is an error.

        values: the columns that say what they are, by their names, as SQL writes them.
        """
        self.kinds = self._kinds(rows, values)
        numbers = {name: f"n{i}" for i, (name, kind) in enumerate(self.kinds.items()) if kind.is_number}
        staged = [f"{as_number(values[name])} AS {number}" for name, number in numbers.items()]
        columns = {
            name: _checked(kind, values[name], numbers.get(name), place)
            for place, (name, kind) in enumerate(self.kinds.items())
        }
        return rows.project(", ".join(["*", *staged])) if staged else rows, columns

    def _kinds(self, rows: Any, values: Mapping[str, str]) -> dict[str, Kind]:
        """What each column holds, as far as the first rows and those that did not fit tell."""
        among = {name: self._among(name) for name in values}
        found = find_kinds(rows.limit(kinds.SAMPLE), values, among)
        return {name: least(joined(kind, self.wider.get(name, kind)), among[name]) for name, kind in found.items()}

    def _among(self, name: str) -> list[Kind]:
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


def _checked(kind: Kind, value: str, number: str | None, place: int) -> str:
    """A value of this kind, as SQL writes it; what does not fit ends the query, and says what it is."""
    if kind is TEXT:
        return value
    fits = f"{kind.takes(value, number)} OR {value} IS NULL"
    wider = KINDS if kind is EMPTY else list(upwards(kind))[1:]
    told = f"error('classwise misfit {place} ' || {kind_of(value, wider)} || ' ' || left({value}, 80))"
    sure = "" if number is None else f"WHEN {number} <> floor({number}) THEN {number} "  # asked first, for speed
    return f"CASE {sure}WHEN {fits} THEN {number or kind.of(value)} ELSE {told} END"


def _list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(map(sql_text, texts)) + "]"


def sql_text(text: str) -> str:
    """Text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
