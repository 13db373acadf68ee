"""Dialects: what engines do differently, each difference written down once.

sqlglot knows how each of them spells things. What is here is what they do: whether they know NaN and infinity, what
they make of numbers too large or too small, whether they keep a step of a query as a step, how long names may be, and
how they read dates and numbers that are written as text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import sqlglot
from sqlglot import exp

from classwise.errors import ClasswiseError
from classwise.export.sql.arithmetic import Expression, case, double, number
from classwise.rows.conversions import Moment
from classwise.rows.schema import Conversion
from classwise.rows.written_numbers import WrittenNumber

# Beyond so many standard deviations nothing is measured: the squares of a few more would overflow.
FARTHEST = 1e140

# What is less than so many standard deviations is none.
NEAREST = 1e-30


def nan_equals_nan(value: Expression, copy: Expression) -> Expression:
    """NULL for NaN, where NaN = NaN."""
    return exp.Nullif(this=value, expression=double(exp.Literal.string("NaN")))


def nan_by_function(value: Expression, copy: Expression) -> Expression:
    """NULL for NaN, where NaN is equal to nothing."""
    return case((exp.Not(this=exp.IsNan(this=value)), copy))


def no_nan(value: Expression, copy: Expression) -> Expression:
    """The value itself, where there is no NaN."""
    return value


@dataclass(frozen=True)
class Dialect:
    """name: as sqlglot has it. without_nan: NULL for NaN, from an expression and a copy of it.

    infinity: how it is written; None where there is none.
    raises: whether numbers that overflow, or products too small to differ from zero, end the query with an error.
    ignores_nulls: whether GREATEST does; it never matters, but sqlglot would see to it.
    fence: what keeps an engine from copying a column's expression to wherever the column is used, squares and all.
    longest_name: in bytes, where longer ones are cut without a word. most_columns: of one step.
    casts_to_bool: whether yes and no are a type of their own. folds_case: whether names of columns that differ by case
    alone are one, even in quotes.
    """

    name: str
    without_nan: Callable[[Expression, Expression], Expression]
    infinity: str | None = None
    raises: bool = False
    ignores_nulls: bool = False
    fence: str | None = None
    longest_name: int | None = None
    most_columns: int | None = None
    casts_to_bool: bool = True
    folds_case: bool = True

    def endless(self, sign: int) -> Expression:
        """Infinity or minus infinity; NULL where there is none."""
        if self.infinity is None:
            return exp.Null()
        text = self.infinity if sign > 0 else f"-{self.infinity}"
        digits = not self.infinity.isalpha()
        return exp.Literal(this=text, is_string=False) if digits else double(exp.Literal.string(text))

    def fenced(self, select: exp.Select) -> exp.Select:
        """A step that stays one."""
        if self.fence == "offset":
            return select.offset(0, copy=False)
        return select.limit(2**64 - 1, copy=False) if self.fence == "limit" else select

    def literal(self, value: Any) -> Expression:
        """A label or a level: text, a whole number, a fraction, or yes and no."""
        if isinstance(value, bool):
            yes_or_no = exp.true() if value else exp.false()
            return yes_or_no if self.name != "tsql" else exp.cast(exp.Literal.number(int(value)), exp.DType.BIT)
        if isinstance(value, int):
            return exp.Literal.number(value)
        if isinstance(value, float):
            return double(number(value))
        national = self.name == "tsql" and not value.isascii()
        return exp.National(this=value) if national else exp.Literal.string(value)


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb", nan_equals_nan, "Infinity", ignores_nulls=True),
        Dialect(
            "postgres",
            nan_equals_nan,
            "Infinity",
            raises=True,
            ignores_nulls=True,
            fence="offset",
            longest_name=63,
            most_columns=1600,
            folds_case=False,
        ),
        Dialect("sqlite", no_nan, "9e999", fence="materialized", most_columns=1900, casts_to_bool=False),
        Dialect("spark", nan_equals_nan, "Infinity", ignores_nulls=True),
        Dialect("bigquery", nan_by_function, "inf"),
        Dialect("snowflake", nan_equals_nan, "inf", folds_case=False),
        Dialect("mysql", no_nan, fence="limit", casts_to_bool=False, most_columns=4000),
        Dialect("tsql", no_nan, casts_to_bool=False, most_columns=4000),
    )
}


def read_dialect(name: Any) -> Dialect:
    """A dialect by its name."""
    if not isinstance(name, str) or name not in DIALECTS:
        known = ", ".join(map(repr, DIALECTS))
        raise ClasswiseError(f"dialect={name!r} is not one that to_sql writes; choose {known}.")
    return DIALECTS[name]


# Conversions: dates, times of day and numbers written as text become the numbers that the model learned from ----------
#
# Moments are read from columns of their own type, or from text as ISO 8601 writes it. Few engines have a type for
# durations: elsewhere such a column is to hold seconds.


# How each engine writes days since 1970-01-01, of a moment without a zone and with one.
DAYS = {
    "duckdb": ("EPOCH(CAST(x AS TIMESTAMP)) / 86400e0", "EPOCH(CAST(x AS TIMESTAMPTZ)) / 86400e0"),
    "postgres": (
        "EXTRACT(EPOCH FROM CAST(x AS TIMESTAMP)) / 86400e0",
        "EXTRACT(EPOCH FROM CAST(x AS TIMESTAMPTZ)) / 86400e0",
    ),
    "sqlite": ("JULIANDAY(x) - 2440587.5e0", "JULIANDAY(x) - 2440587.5e0"),
    "spark": (  # a timestamp is an instant there, shown in the zone of the session
        "UNIX_MICROS(FROM_UTC_TIMESTAMP(CAST(x AS TIMESTAMP), CURRENT_TIMEZONE())) / 86400e6",
        "UNIX_MICROS(CAST(x AS TIMESTAMP)) / 86400e6",
    ),
    "bigquery": ("UNIX_MICROS(CAST(x AS TIMESTAMP)) / 86400e6", "UNIX_MICROS(CAST(x AS TIMESTAMP)) / 86400e6"),
    "snowflake": (
        "DATE_PART(EPOCH_MICROSECOND, CAST(x AS TIMESTAMP_NTZ)) / 86400e6",
        "DATE_PART(EPOCH_MICROSECOND, CAST(x AS TIMESTAMP_TZ)) / 86400e6",
    ),
    "mysql": ("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', x) / 86400e6",) * 2,
    "tsql": (
        "DATEDIFF_BIG(MICROSECOND, '1970-01-01', CAST(x AS DATETIME2)) / 86400e6",
        "DATEDIFF_BIG(MICROSECOND, '1970-01-01', CAST(CAST(x AS DATETIMEOFFSET) AT TIME ZONE 'UTC' AS DATETIME2)) "
        "/ 86400e6",
    ),
}

# Hours since midnight.
HOURS = {
    "duckdb": "EPOCH(CAST(x AS TIME)) / 3600e0",
    "postgres": "EXTRACT(EPOCH FROM CAST(x AS TIME)) / 3600e0",
    "sqlite": "(JULIANDAY('2000-01-01 ' || x) - 2451544.5e0) * 24e0",
    "spark": "UNIX_MICROS(CAST(CONCAT('1970-01-01 ', x, 'Z') AS TIMESTAMP)) / 3600e6",
    "bigquery": "TIME_DIFF(CAST(x AS TIME), CAST('00:00:00' AS TIME), MICROSECOND) / 3600e6",
    "snowflake": "TIMESTAMPDIFF(MICROSECOND, CAST('00:00:00' AS TIME), CAST(x AS TIME)) / 3600e6",
    "mysql": "TIME_TO_SEC(x) / 3600e0 + MICROSECOND(x) / 3600e6",
    "tsql": "DATEDIFF_BIG(MICROSECOND, CAST('00:00:00' AS TIME), CAST(x AS TIME)) / 3600e6",
}

SECONDS = {"duckdb": "EPOCH(x)", "postgres": "EXTRACT(EPOCH FROM x)"}


@singledispatch
def converted(conversion: Conversion | None, source: Expression, dialect: Dialect) -> Expression:
    """A column of the table as a number. conversion: how its values become numbers; None, where they are some."""
    return double(source)


@converted.register
def _(conversion: Moment, source: Expression, dialect: Dialect) -> Expression:
    written = {"time": HOURS, "duration": SECONDS}.get(conversion.kind, {}).get(dialect.name, "x")
    if conversion.is_day:
        written = DAYS[dialect.name][conversion.zoned]
    parsed = sqlglot.parse_one(written, read=dialect.name)
    return double(parsed.transform(lambda node: source.copy() if _is_placeholder(node) else node))


@converted.register
def _(conversion: WrittenNumber, source: Expression, dialect: Dialect) -> Expression:
    """What is not part of the number is taken out of the text; nothing is left of a value that is missing."""
    text: Expression = exp.cast(source, exp.DType.TEXT)
    for old, new in conversion.replaced:
        literals = [dialect.literal(part) for part in (old, new)]
        text = exp.Anonymous(this="REPLACE", expressions=[text, *literals])
    return double(exp.Nullif(this=text, expression=exp.Literal.string("")))


def _is_placeholder(node: Expression) -> bool:
    return isinstance(node, exp.Column) and node.name == "x"
