"""Text files as streams: what columns hold is told by the first rows, and is more where a later row says so.

To look at every value before reading takes several times as long as reading. So a stream begins with the kinds of the
first rows, and a value that does not fit ends it: whoever reads it forgets what came from this file and begins it
again, with a wider kind for that column. At the end columns hold what they would, had all rows been looked at first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from classwise.errors import ClasswiseError
from classwise.sources.kinds import EXACT, KINDS, NUMBER, WHOLE, Kind, first_kinds, joined, kind_of
from classwise.sources.reading import Opened, RowFile

# What our own check says, to be found again in the message of DuckDB's error: which column, which kind, which value.
MISFIT = re.compile(r"classwise misfit (?P<column>\d+) (?P<kind>\d+) (?P<value>.{0,80})", re.S)


COUNTED = (WHOLE, EXACT)


class WiderTypeError(ClasswiseError):
    """A value does not fit what its column holds so far; the file is to be begun again."""


@dataclass
class TextRows:
    """A text file as a stream. Whole numbers are read as numbers, but for the columns of which every digit counts.

    wider: kinds that rows read so far have shown to be needed; it grows while the file is read.
    """

    file: RowFile
    wider: dict[str, Kind] = field(default_factory=dict)

    def batches(self, columns: Sequence[str] | None, size: int) -> Iterator[Any]:
        """Record batches; WiderTypeError, where a value does not fit."""
        kinds: dict[str, Kind] = {}
        try:
            with self.file.opened() as opened:
                asked = self.file.asked(columns, opened)
                kinds |= self._kinds(opened, asked)
                yield from opened.rows.project(self._checked(opened, asked, kinds)).to_arrow_reader(size)
        except ClasswiseError as problem:
            self._widen(problem, kinds)
            raise

    def _kinds(self, opened: Opened, asked: Sequence[str]) -> dict[str, Kind]:
        """What each column holds, as far as the first rows and those that did not fit tell."""
        found = first_kinds(opened.rows, self.file.told(opened, asked))
        kinds = {name: joined(kind, self.wider.get(name, kind)) for name, kind in found.items()}
        exact = self.file.exactly(kinds)
        return {
            name: NUMBER if kind in COUNTED and name not in self.file.exact else kind for name, kind in exact.items()
        }

    def _checked(self, opened: Opened, asked: Sequence[str], kinds: Mapping[str, Kind]) -> str:
        """The columns asked for; a value that does not fit is an error."""
        checked = {
            name: kind.or_else(opened.values[name], _told(place, opened.values[name]))
            for place, (name, kind) in enumerate(kinds.items())
        }
        return self.file.projection(opened, asked, {**opened.values, **checked})

    def _widen(self, problem: ClasswiseError, kinds: Mapping[str, Kind]) -> None:
        """Raise WiderTypeError where a value did not fit."""
        found = MISFIT.search(str(problem.__cause__))
        if found is None:
            return
        name, kind = list(kinds.items())[int(found["column"])]
        self.wider[name] = joined(kind, KINDS[int(found["kind"])])
        raise WiderTypeError(f"{self.file.path}: {name!r} holds {found['value']!r}.") from problem


def _told(place: int, value: str) -> str:
    """What becomes an error where a value does not fit, as SQL writes it."""
    return f"error('classwise misfit {place} ' || {kind_of(value)} || ' ' || left({value}, 80))"
