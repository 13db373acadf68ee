"""Text files as streams: types from the first rows, and wider ones where a later row says so.

To look at every value before reading takes several times as long as reading. So a stream begins with the types of the
first rows, and a value that does not fit ends it: whoever reads it forgets what came from this file and begins it
again, with a wider type for that column. At the end types are what they would be had all rows been looked at first:

    whole numbers  ->  numbers  ->  text          true and false, dates, times  ->  text
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from classwise.errors import ClasswiseError
from classwise.sources.reading import RowFile

# Types are told by so many rows.
SAMPLE = 20_480

WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
NUMBER, TEXT = "DOUBLE", "VARCHAR"

# What our own checks say, to be found again in the message of DuckDB's error.
MISFIT = "classwise misfit in column "

FOUND = (
    re.compile(r'Error when converting column "(?P<column>.*)"\. Could not convert string "(?P<value>.*?)" to', re.S),
    re.compile(MISFIT + r'"(?P<column>.*)": "(?P<value>.*?)"$', re.S | re.M),
)


class WiderTypeError(ClasswiseError):
    """A value does not fit the type of its column so far; the file is to be begun again."""


@dataclass
class TextRows:
    """A text file as a stream. exact: columns whose whole numbers stay whole, because they are labels, keys or levels.

    wider: types that rows read so far have shown to be needed; it grows while the file is read.
    """

    file: RowFile
    exact: frozenset[str] = frozenset()
    wider: dict[str, str] = field(default_factory=dict)

    def batches(self, columns: Sequence[str] | None, size: int) -> Iterator[Any]:
        """Record batches; WiderTypeError, where a value does not fit."""
        try:
            with self.file.opened(SAMPLE) as sampled:
                types = self._types(sampled)
            natively = {name: type for name, type in types.items() if not self._is_checked(name, type)}
            read_as = {name: natively.get(name, TEXT) for name in types}
            with self.file.opened(SAMPLE, read_as) as rows:
                chosen = list(types) if columns is None else self.file.known(columns, list(types))
                rows = rows.project(", ".join(self._expression(name, types[name]) for name in chosen))
                yield from rows.to_arrow_reader(size)
        except ClasswiseError as problem:
            self._widen(problem.__cause__ or problem)
            raise

    def _types(self, sampled: Any) -> dict[str, str]:
        """The type of each column, as far as the first rows and those that did not fit tell."""
        types = dict(zip(sampled.columns, map(str, sampled.types), strict=True))
        for name, type in types.items():
            if name in self.file.text:
                types[name] = TEXT
            elif name in self.wider:
                types[name] = self.wider[name]
            elif type in WHOLE:
                types[name] = "BIGINT" if name in self.exact else NUMBER
        return types | self._undecided(sampled, types)

    def _undecided(self, sampled: Any, types: Mapping[str, str]) -> dict[str, str]:
        """Columns without a value in the first rows are taken for numbers: then a value that is none will show."""
        texts = [name for name, type in types.items() if type == TEXT and name not in self.wider]
        texts = [name for name in texts if name not in self.file.text]
        if not texts:
            return {}
        counted = ", ".join(f"count({quoted(name)})" for name in texts)
        (counts,) = sampled.limit(SAMPLE).aggregate(counted).fetchall()
        kind = {name: "BIGINT" if name in self.exact else NUMBER for name in texts}
        return {name: kind[name] for name, count in zip(texts, counts, strict=True) if not count}

    @staticmethod
    def _is_checked(name: str, type: str) -> bool:
        """DuckDB would take 1.5 for the whole number 2, and "yes" for true: these are read as text and looked at."""
        return type in ("BIGINT", "BOOLEAN")

    def _expression(self, name: str, type: str) -> str:
        column = quoted(name)
        fits = {"BIGINT": f"regexp_full_match({column}, '\\s*[+-]?[0-9]{{1,18}}\\s*')"}
        fits["BOOLEAN"] = f"lower({column}) IN ('true', 'false')"
        if not self._is_checked(name, type):
            return column
        told = f"error('{MISFIT}{column.replace(chr(39), chr(39) * 2)}: \"' || {column} || '\"')"
        cast = f"CAST({column} AS {type})"
        return f"CASE WHEN {column} IS NULL THEN NULL WHEN {fits[type]} THEN {cast} ELSE {told} END AS {column}"

    def _widen(self, problem: BaseException) -> None:
        """Raise WiderTypeError where a value did not fit."""
        for pattern in FOUND:
            found = pattern.search(str(problem))
            if found:
                name = found["column"].replace('""', '"')
                known = self.wider.get(name)
                if known == TEXT:
                    return
                self.wider[name] = NUMBER if known is None and self._is_number(name, found["value"]) else TEXT
                raise WiderTypeError(f"{self.file.path}: {name!r} holds {found['value']!r}.") from problem

    def _is_number(self, name: str, value: str) -> bool:
        """Whole numbers too long for 64 bits are no numbers, where all their digits count."""
        try:
            float(value)
        except ValueError:
            return False
        return name not in self.exact or not value.strip().lstrip("+-").isdigit()


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
