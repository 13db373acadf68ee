"""What a column of text holds: the least of these kinds that every value of it fits, wherever the values stand.

    true and false -> text            whole numbers -> exact numbers -> numbers -> text
    times -> text                     dates -> moments -> text          moments of a zone -> text

A number is written as numbers are: 12, -3.5, 1e6, with blanks around it perhaps. Zeros before it, as in 007, make it
text: it is a code, and would not come back as it was. An exact number is one that is not a whole one beyond 64 bits,
whose last digits a number would lose; where all digits count, as in labels, other numbers are text. Dates are written
as 2026-01-31. A column without a single value holds numbers, none of which is known.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# So many rows tell which kinds are possible at all.
SAMPLE = 20_480

WHOLE_WRITTEN = "\\s*[+-]?(0|[1-9][0-9]*)\\s*"
NUMBER_WRITTEN = "(?i)\\s*[+-]?(((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)\\s*"
DAY = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
HOUR = "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"


def _written(pattern: str, type: str) -> str:
    return f"(regexp_full_match({{v}}, '{pattern}') AND TRY_CAST({{v}} AS {type}) IS NOT NULL)"


# Most numbers are seen to be some without a look at each of their signs: those with a fraction, and those that begin
# with a digit above zero. "1_0" would be a number for DuckDB.
_NUMBER = (
    "(TRY_CAST({v} AS DOUBLE) <> floor(TRY_CAST({v} AS DOUBLE))"
    " OR {v} BETWEEN '1' AND '9~' AND TRY_CAST({v} AS DOUBLE) IS NOT NULL AND NOT contains({v}, '_')"
    f" OR regexp_full_match({{v}}, '{NUMBER_WRITTEN}'))"
)
_LONG = f"(strlen({{v}}) > 18 AND regexp_full_match({{v}}, '{WHOLE_WRITTEN}') AND TRY_CAST({{v}} AS BIGINT) IS NULL)"


@dataclass(frozen=True)
class Kind:
    """type: of SQL; fits: whether a value {v} is of this kind, as SQL asks; wider: the next, which takes all of it."""

    type: str
    fits: str
    wider: "Kind | None" = None

    def takes(self, value: str) -> str:
        """Whether it is of this kind, as SQL asks of a value that is not missing."""
        return self.fits.replace("{v}", value)

    def of(self, value: str) -> str:
        """A value, of which it is known that it fits."""
        return value if self is TEXT else f"CAST({value} AS {self.type})"

    def or_else(self, value: str, otherwise: str) -> str:
        """A value that fits; else what is told instead."""
        if self is TEXT:
            return value
        return f"CASE WHEN {value} IS NULL OR {self.takes(value)} THEN {self.of(value)} ELSE {otherwise} END"


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
DAYS = (DATE, MOMENT, ZONED, TIME, TEXT)


def kind_of(value: str) -> str:
    """The place among KINDS of the first kind that a value fits, as SQL finds it."""
    cases = " ".join(f"WHEN {kind.takes(value)} THEN {i}" for i, kind in enumerate(KINDS))
    return f"CASE {cases} END"


def joined(kind: Kind, other: Kind) -> Kind:
    """The least kind that takes the values of both.

    >>> joined(WHOLE, NUMBER).type, joined(WHOLE, DATE).type, joined(EMPTY, DATE).type
    ('DOUBLE', 'VARCHAR', 'DATE')
    """
    if EMPTY in (kind, other):
        return other if kind is EMPTY else kind
    above = set(_upwards(other))
    return next(wider for wider in _upwards(kind) if wider in above)


def _upwards(kind: Kind) -> Iterable[Kind]:
    step: Kind | None = kind
    while step is not None:
        yield step
        step = step.wider


def first_kinds(rows: Any, values: Mapping[str, str], among: Sequence[Kind] = KINDS) -> dict[str, Kind]:
    """The kind of each column of a relation, by its first rows. values: how SQL writes a column, by its name."""
    return {
        name: kinds[0] for name, kinds in _fitting(rows.limit(SAMPLE), dict.fromkeys(values, among), values).items()
    }


def find_kinds(rows: Any, values: Mapping[str, str], among: Sequence[Kind] = KINDS) -> dict[str, Kind]:
    """The same by all rows; the first ones leave little to ask of all."""
    first = _fitting(rows.limit(SAMPLE), dict.fromkeys(values, among), values)
    asked = {name: among if EMPTY in kinds else kinds for name, kinds in first.items() if kinds[0] is not TEXT}
    return {name: kinds[0] for name, kinds in (first | _fitting(rows, asked, values)).items()}


def _fitting(rows: Any, asked: Mapping[str, Sequence[Kind]], values: Mapping[str, str]) -> dict[str, Sequence[Kind]]:
    """Those kinds, of the ones asked for, that all values of a column fit; only EMPTY, where it has none."""
    if not asked:
        return {}
    questions = [
        f"bool_and(coalesce({kind.takes(values[name])}, false)) FILTER (WHERE {values[name]} IS NOT NULL)"
        for name, kinds in asked.items()
        for kind in kinds
    ]
    (answers,) = rows.aggregate(", ".join(questions)).fetchall()
    told = iter(answers)
    fitting = {name: [(kind, next(told)) for kind in kinds] for name, kinds in asked.items()}
    return {name: [kind for kind, fits in pairs if fits] or [EMPTY] for name, pairs in fitting.items()}
