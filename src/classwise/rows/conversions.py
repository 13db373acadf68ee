"""Conversions: columns that become numbers by a rule. The rule is decided when a model learns, and belongs to it.

    2026-01-31                         a date           days since 1970-01-01
    2026-01-31 10:30                   a date and time  days since 1970-01-01, in UTC where it has a time zone
    10:30                              a time of day    hours since midnight
    a duration                         a duration       seconds
    "1.234,5", "$12.50", "7 %"         text             the number that is written

Types say what dates and times are. Text is recognized where all values that are not missing are of one kind. For a
prediction, a value may be written as it was in fit, or be the number itself.
"""

import datetime as dt
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import DATES, Array
from classwise.errors import ClasswiseError
from classwise.rows.codes import is_missing
from classwise.storage import stored

DAY, HOUR, SECOND = 86_400_000_000, 3_600_000_000, 1_000_000  # in microseconds
EPOCH = dt.datetime(1970, 1, 1)


class Rule(ABC):
    """How the values of a column become numbers, and numbers become values."""

    @property
    @abstractmethod
    def note(self) -> str:
        """What `schema_` says of the column."""

    @property
    def what(self) -> str:
        """What values are, in messages."""
        return self.note

    @property
    @abstractmethod
    def example(self) -> str:
        """A value as text, for messages."""

    @abstractmethod
    def number(self, value: Any) -> float:
        """One value that is neither missing nor a number; ValueError, where it does not fit."""

    @abstractmethod
    def value(self, number: float) -> Any:
        """The value that a number stands for."""

    def numbers(self, values: NDArray[Any], name: str) -> Array:
        """Values of any type (n,) as numbers, NaN where missing; numbers are taken as they are. name: for messages."""
        if values.dtype.kind in "fiu":
            return values.astype(np.float64)
        known: dict[Any, float] = {}  # few values are distinct, mostly
        return np.array([self._found(value, known, name) for value in values.tolist()], dtype=np.float64)

    def _found(self, value: Any, known: dict[Any, float], name: str) -> float:
        if is_missing(value):
            return np.nan
        if value not in known:
            known[value] = self._checked(value, name)
        return known[value]

    def _checked(self, value: Any, name: str) -> float:
        if isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.timedelta64)):
            return float(value)
        try:
            return self.number(value)
        except (ValueError, TypeError, OverflowError):
            raise ClasswiseError(
                f"Column {name} holds {value!r}, and it is to hold {self.what}, such as {self.example!r}; write it so, "
                f"or take the column for a category when fitting: families={{{name}: 'categorical'}} in Python, "
                f"--families {name.strip(chr(39))}=categorical in the shell."
            ) from None


# Dates and times ------------------------------------------------------------------------------------------------------

ZONE = "Z|[+-][0-9]{2}(?::?[0-9]{2})?"
WRITTEN_DAY = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    rf"(?:[ T]([0-9]{{1,2}}):([0-9]{{2}})(?::([0-9]{{2}})(?:[.]([0-9]+))?)?(?: ?({ZONE}))?)?"
)
# The day or the month first: 31.1.2026, 1/31/2026.
WRITTEN_LATE = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})((?:[ T][0-9].*)?)")
WRITTEN_HOUR = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.]([0-9]+))?)?")

NOTES = {
    "date": "date, as days since 1970-01-01",
    "datetime": "date and time, as days since 1970-01-01",
    "time": "time of day, as hours since midnight",
    "duration": "duration, as seconds",
}
WORDS = {"date": "dates", "datetime": "dates and times", "time": "times of day", "duration": "durations"}
EXAMPLES = {"date": "2026-01-31", "datetime": "2026-01-31 10:30:00", "time": "10:30:00", "duration": "90"}

Kind: TypeAlias = Literal["date", "datetime", "time", "duration"]
Order: TypeAlias = Literal["ymd", "dmy", "mdy"]


@stored("Moment")
@dataclass(frozen=True)
class Moment(Rule):
    """Dates, times of day and durations. zoned: whether moments have a time zone, and are those of UTC here. order: in
    which year, month and day are written as text; the year may always come first.

    >>> Moment("date").numbers(np.array(["1970-01-02", None, "2026-01-31"], dtype=object), "'when'")
    array([1.0000e+00,        nan, 2.0484e+04])
    >>> Moment("time").value(10.5)
    datetime.time(10, 30)
    """

    kind: Kind
    zoned: bool = False
    order: Order = "ymd"

    @property
    def note(self) -> str:
        written = {"ymd": "", "dmy": " (written day first)", "mdy": " (written month first)"}[self.order]
        return NOTES[self.kind].replace(",", f"{written},") + (" in UTC" if self.zoned else "")

    @property
    def example(self) -> str:
        day = {"ymd": "2026-01-31", "dmy": "31.01.2026", "mdy": "01/31/2026"}[self.order]
        return EXAMPLES[self.kind].replace("2026-01-31", day) + ("+00:00" if self.zoned else "")

    @property
    def what(self) -> str:
        return WORDS[self.kind]

    @property
    def is_day(self) -> bool:
        """Whether numbers are days since 1970."""
        return self.kind in ("date", "datetime")

    def numbers(self, values: NDArray[Any], name: str) -> Array:
        kind = values.dtype.kind
        if (kind == "M" and self.is_day) or (kind == "m" and self.kind in ("duration", "time")):
            units = values.astype(f"{kind}8[us]")
            count = units.view(np.int64) / {"date": DAY, "datetime": DAY, "time": HOUR, "duration": SECOND}[self.kind]
            return np.where(np.isnat(units), np.nan, count)
        return super().numbers(values.astype(object) if kind in DATES else values, name)

    def number(self, value: Any) -> float:
        if isinstance(value, np.generic):
            value = value.astype(f"{value.dtype.kind}8[us]").item()
        if isinstance(value, str):
            value = self._written(value.strip())
        if self.is_day and isinstance(value, dt.date):
            return _microseconds(_since_epoch(value)) / DAY
        if self.kind == "time" and isinstance(value, dt.time):
            return _microseconds(dt.datetime.combine(EPOCH, value.replace(tzinfo=None)) - EPOCH) / HOUR
        if self.kind == "duration" and isinstance(value, dt.timedelta):
            return _microseconds(value) / SECOND
        raise TypeError(f"{value!r} is not a {self.kind}")

    def _written(self, text: str) -> Any:
        return read_day(text, self.order) if self.is_day else read_hour(text) if self.kind == "time" else None

    def value(self, number: float) -> Any:
        if self.kind == "duration":
            return dt.timedelta(microseconds=round(number * SECOND))
        if self.kind == "time":
            ticks = min(max(round(number * HOUR), 0), DAY - 1)
            return (EPOCH + dt.timedelta(microseconds=ticks)).time()
        ticks = round(number) * DAY if self.kind == "date" else round(number * DAY)
        # What a model draws may lie outside of the years 1 to 9999, which dates have.
        least, most = (_microseconds(edge - EPOCH) for edge in (dt.datetime.min, dt.datetime.max))
        moment = EPOCH + dt.timedelta(microseconds=min(max(ticks, least), most))
        if self.kind == "date":
            return moment.date()
        return moment.replace(tzinfo=dt.UTC) if self.zoned else moment


def _since_epoch(value: dt.date) -> dt.timedelta:
    if not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time()) - EPOCH
    return (value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)) - EPOCH


def _microseconds(span: dt.timedelta) -> int:
    return span // dt.timedelta(microseconds=1)


def read_day(text: str, order: Order = "ymd") -> dt.datetime:
    """A date, with or without a time and a zone, as ISO 8601 writes it, or in another order; ValueError if it is none.

    >>> read_day("2026-01-31T10:30Z").isoformat(), read_day("31.1.2026", "dmy").isoformat()
    ('2026-01-31T10:30:00+00:00', '2026-01-31T00:00:00')
    """
    if text[4:5] == "-" and text[5:6].isdigit() and (len(text) == 10 or text[13:14] == ":"):
        with suppress(ValueError):  # quick, and without a word for 2026-1-5
            return dt.datetime.fromisoformat(text)
    late = WRITTEN_LATE.fullmatch(text) if order != "ymd" else None
    if late is not None:
        day, month = (late[1], late[3]) if order == "dmy" else (late[3], late[1])
        text = f"{late[4]}-{month}-{day}{late[5]}"
    found = WRITTEN_DAY.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    clock = (int(hour or 0), int(minute or 0), int(second or 0), _micro(fraction))
    return dt.datetime(int(year), int(month), int(day), *clock, tzinfo=_zone(zone))


def read_hour(text: str) -> dt.time:
    """A time of day; ValueError where it is none."""
    found = WRITTEN_HOUR.fullmatch(text)
    if found is None:
        raise ValueError(text)
    hour, minute, second, fraction = found.groups()
    return dt.time(int(hour), int(minute), int(second or 0), _micro(fraction))


def _micro(fraction: str | None) -> int:
    return int((fraction or "")[:6].ljust(6, "0"))


def _zone(zone: str | None) -> dt.tzinfo | None:
    if zone is None or zone == "Z":
        return None if zone is None else dt.UTC
    digits = zone[1:].replace(":", "").ljust(4, "0")
    span = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return dt.timezone(-span if zone[0] == "-" else span)


def written_moment(texts: Sequence[str]) -> Moment | None:
    """The moments that all of these texts are; None, where one is none, or some have a time zone and others none.

    Whether the day or the month comes first is decided by a day beyond the 12th. Dots are for days first.

    >>> written_moment(["1/2/2026", "1/31/2026"]).order, written_moment(["1.2.2026"]).order
    ('mdy', 'dmy')
    """
    found = [moment for order in ORDERS if (moment := _moment_in(texts, order)) is not None]
    if len(found) == 2 and all("." in text.partition(" ")[0] for text in texts):
        return found[0]
    return found[0] if len(found) == 1 else None


def ambiguous_dates(texts: Sequence[str]) -> bool:
    """Whether all of these texts are dates, and it is not known whether the day or the month comes first."""
    return written_moment(texts) is None and all(_moment_in(texts, order) is not None for order in ORDERS[1:])


ORDERS: tuple[Order, ...] = ("ymd", "dmy", "mdy")


def _moment_in(texts: Iterable[str], order: Order) -> Moment | None:
    found: set[tuple[Kind, bool]] = set()
    for text in texts:
        kind = _kind_of(text.strip(), order)
        if kind is None:
            return None
        found.add(kind)
    if len(found) == 1:
        return Moment(*found.pop(), order)
    return Moment("datetime", False, order) if found == {("date", False), ("datetime", False)} else None


def _kind_of(text: str, order: Order) -> tuple[Kind, bool] | None:
    """What a text is that is written in this order, which times of day have none of."""
    is_late = order != "ymd"
    try:
        if not is_late and WRITTEN_HOUR.fullmatch(text):
            read_hour(text)
            return "time", False
        value = read_day(text, order) if bool(WRITTEN_LATE.fullmatch(text)) == is_late else None
    except ValueError:
        return None
    return None if value is None else ("datetime" if ":" in text else "date", value.tzinfo is not None)


def moment_of_objects(values: Sequence[Any]) -> Moment | None:
    """The moments that all of these objects are, which are not missing; None, where one is none."""
    kinds: set[Kind | None] = set()
    for value in values:
        kinds.add(_object_kind(value))
    if not kinds or None in kinds:
        return None
    if kinds <= {"date", "datetime"}:
        zoned = any(getattr(value, "tzinfo", None) is not None for value in values)
        return Moment("datetime" if "datetime" in kinds else "date", zoned)
    return Moment(kinds.pop() or "date") if len(kinds) == 1 else None


def _object_kind(value: Any) -> Kind | None:
    if isinstance(value, np.datetime64):
        return array_kind(value.dtype)
    classes: tuple[tuple[Any, Kind], ...] = (
        ((dt.timedelta, np.timedelta64), "duration"),
        (dt.datetime, "datetime"),
        (dt.date, "date"),
        (dt.time, "time"),
    )
    return next((kind for classes_, kind in classes if isinstance(value, classes_)), None)


def array_kind(dtype: "np.dtype[Any]") -> Kind:
    """What an array of dates or durations holds, by its type."""
    if dtype.kind == "m":
        return "duration"
    return "date" if np.datetime_data(dtype)[0] in ("Y", "M", "W", "D") else "datetime"
