"""Numbers that are written for people, in the convention of their column: 1.234,5 or $12.50."""

import re
from typing import Any

from classwise.export.standalone.python.columns import CONVERSIONS

# Blanks, quotes and minus signs of print, as a keyboard has them.
USUAL = {0x00A0: " ", 0x202F: " ", 0x2009: " ", 0x2019: "'", 0x2212: "-"}


def _written(value: Any, rule: dict[str, Any]) -> float:
    """Strict about thousands: 3365.89 is not 336589. (3) is -3."""
    text = value.translate(USUAL).strip()
    unit = f"(?:{re.escape(rule['unit'])})?"
    found = re.fullmatch(rf"\(?[+-]?{unit}\s?[+-]?([0-9](?:[0-9.,' ]*[0-9])?)\s?{unit}\)?", text)
    if found is None or not re.fullmatch(_convention(rule), found[1]):
        raise ValueError(value)
    for mark in (rule["unit"], " ", rule["thousands"], ")"):
        text = text.replace(mark, "") if mark else text
    return float(text.replace(rule["decimal"], ".").replace("(", "-"))


def _convention(rule: dict[str, Any]) -> str:
    decimal, thousands = re.escape(rule["decimal"]), re.escape(rule["thousands"])
    grouped = rf"|[1-9][0-9]{{0,2}}(?:{thousands}[0-9]{{3}})+" if rule["thousands"] else ""
    return rf"(?:0|[1-9][0-9]*{grouped})(?:{decimal}[0-9]+)?"


CONVERSIONS.update(written=_written)
