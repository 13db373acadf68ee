"""Dates, times and durations as numbers: days since 1970-01-01, hours since midnight, seconds."""

import datetime as dt
import re
from typing import Any

import numpy as np

from classwise.export.standalone.python.columns import CONVERSIONS

DAY, HOUR, SECOND = 86_400_000_000, 3_600_000_000, 1_000_000  # in microseconds
EPOCH = dt.datetime(1970, 1, 1)
WRITTEN_DAY = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.]([0-9]+))?)?(?: ?(Z|[+-][0-9]{2}(?::?[0-9]{2})?))?)?"
)
WRITTEN_LATE = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})((?:[ T][0-9].*)?)")
WRITTEN_HOUR = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.]([0-9]+))?)?")


def _microseconds(span: dt.timedelta) -> int:
    return span // dt.timedelta(microseconds=1)


def _as_python(value: Any) -> Any:
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return value.astype(f"{value.dtype.kind}8[us]").item()
    return value.strip() if isinstance(value, str) else value


def _days(value: Any, rule: dict[str, Any]) -> float:
    value = _as_python(value)
    if isinstance(value, str):
        value = _read_day(value, rule["order"])
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    if value.tzinfo is not None:
        value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return _microseconds(value - EPOCH) / DAY


def _read_day(text: str, order: str) -> dt.datetime:
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


def _micro(fraction: Any) -> int:
    return int((fraction or "")[:6].ljust(6, "0"))


def _zone(zone: Any) -> Any:
    if zone is None or zone == "Z":
        return None if zone is None else dt.timezone.utc
    digits = zone[1:].replace(":", "").ljust(4, "0")
    span = dt.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return dt.timezone(-span if zone[0] == "-" else span)


def _hours(value: Any, rule: dict[str, Any]) -> float:
    value = _as_python(value)
    if isinstance(value, str):
        found = WRITTEN_HOUR.fullmatch(value)
        if found is None:
            raise ValueError(value)
        value = dt.time(int(found[1]), int(found[2]), int(found[3] or 0), _micro(found[4]))
    if isinstance(value, dt.timedelta):
        return _microseconds(value) / HOUR
    return _microseconds(dt.datetime.combine(EPOCH, value.replace(tzinfo=None)) - EPOCH) / HOUR


def _seconds(value: Any, rule: dict[str, Any]) -> float:
    return _microseconds(_as_python(value)) / SECOND


CONVERSIONS.update(date=_days, datetime=_days, time=_hours, duration=_seconds)
