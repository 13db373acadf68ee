"""What a column of text holds: the least of these kinds that every value of it fits, wherever the values stand.

    true and false -> text            whole numbers -> exact numbers -> numbers -> text
    times -> text                     dates -> moments -> text          moments of a zone -> text

A number is written as numbers are: 12, -3.5, 1e6, with blanks around it perhaps. Zeros before a whole one, as in 007,
make it text: it is a code, and would not come back as it was. An exact number is one that is not a whole one beyond 64
bits, whose last digits a number would lose; where all digits count, as in labels, those are text. Dates are written as
2026-01-31. A column without a single value holds numbers, none of which is known.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# So many rows tell what columns hold, until a later one tells more.
SAMPLE = 20_480

WHOLE_WRITTEN = "\\s*[+-]?(0|[1-9][0-9]*)\\s*"
NUMBER_WRITTEN = "(?i)\\s*[+-]?(((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)\\s*"
DAY = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
HOUR = "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
ZONE = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"


@dataclass(frozen=True)
class Kind:
    """type: of SQL; fits: whether a value {v}, which is {d} as a number, is of this kind, as SQL asks; wider: the next,
    which takes all of it.
    """

    type: str
    fits: str
    wider: "Kind | None" = None

    @property
    def is_number(self) -> bool:
        """Whether values of this kind are told by what they are as numbers."""
        return "{d}" in self.fits

    def takes(self, value: str, number: str | None = None) -> str:
        """Whether it is of this kind, as SQL asks of a value that is not missing. number: the value as a number, if SQL
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
    if not values:
        return {}
    ones = rows.aggregate(f"[{', '.join(f'any_value({value})' for value in values.values())}] AS ones")
    firsts = ones.project("unnest(ones) AS one").project(kind_of("one")).fetchall()
    kinds = {name: EMPTY if i is None else KINDS[i] for name, (i,) in zip(values, firsts, strict=True)}
    asked = {
        name: [wider for wider in upwards(kind) if wider in among[name] and wider is not TEXT]
        for name, kind in kinds.items()
        if kind is not EMPTY
    }
    fitting = _fitting(rows, asked, values)
    return {name: EMPTY if kind is EMPTY else next(fitting[name], TEXT) for name, kind in kinds.items()}


def _fitting(rows: Any, asked: Mapping[str, Sequence[Kind]], values: Mapping[str, str]) -> dict[str, Iterator[Kind]]:
    """Those kinds, of the ones asked for, that all values of a column fit."""
    questions = [
        f"bool_and(coalesce({kind.takes(values[name])}, false)) FILTER (WHERE {values[name]} IS NOT NULL)"
        for name, kinds in asked.items()
        for kind in kinds
    ]
    answers = iter(rows.aggregate(", ".join(questions)).fetchall()[0] if questions else ())
    told = {name: [(kind, next(answers)) for kind in kinds] for name, kinds in asked.items()}
    return {name: (kind for kind, fits in pairs if fits) for name, pairs in told.items()}
