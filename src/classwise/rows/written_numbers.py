"""Numbers that are written for people: 1.234,5 and $12.50, 7 % and (3.1). Text that is recognized as such, or is not.

A convention says what stands before decimals and between thousands. A column is of numbers where all its values fit one
convention, and have the same unit. "1,234" alone fits two, and says one number or another: such a column stays text,
unless other values decide. Plain numbers, as 12 or 3.5, are not looked at here: files recognize them, and text that
holds them in a typed table was made text on purpose.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from classwise.rows.conversions import Moment, Rule, written_moment
from classwise.storage import stored

CURRENCIES = (
    "USD|EUR|GBP|JPY|CNY|CHF|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|TRY|RUB|UAH|INR|IDR|KRW|SGD|HKD|TWD|"
    "THB|BRL|MXN|ARS|CLP|COP|ZAR|ILS|AED|SAR"
)
SIGNS = "$€£¥₹₽₩₺₴₪₫₦₱฿₡₲₵₸¢"
UNIT = f"[{SIGNS}%]|{CURRENCIES}"
BLANKS = {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'"}
MINUS = "\u2212"

WRITTEN = re.compile(
    rf"(?P<open>\()?(?P<sign>[+\-{MINUS}])?(?P<before>{UNIT})?\s?[+\-{MINUS}]?"
    rf"(?P<digits>[0-9](?:[0-9.,' ]*[0-9])?)\s?(?P<after>{UNIT})?(?P<close>\))?"
)


@stored("WrittenNumber")
@dataclass(frozen=True)
class WrittenNumber(Rule):
    """Numbers in one convention. decimal: stands before decimals; thousands: between thousands, "" for nothing; unit:
    stands before or after each number, "" for none.

    >>> WrittenNumber(",", ".", "€").number("-1.234,5 €"), WrittenNumber(".").number("(3.1)")
    (-1234.5, -3.1)
    """

    decimal: str
    thousands: str = ""
    unit: str = ""

    def _is_sound(self) -> bool:
        return (self.decimal, self.thousands) in CONVENTIONS and (not self.unit or bool(re.fullmatch(UNIT, self.unit)))

    @property
    def note(self) -> str:
        parts = [f"thousands separators {self.thousands!r}"] if self.thousands else []
        parts += ["decimal commas"] if self.decimal == "," else []
        what = "percentages" if self.unit == "%" else f"amounts in {self.unit}" if self.unit else "numbers"
        return f"{what} with {' and '.join(parts)}" if parts else what if self.unit else "numbers, (1) for -1"

    @property
    def example(self) -> str:
        return f"1{self.thousands}234{self.decimal}5{self.unit}"

    @cached_property
    def replaced(self) -> list[tuple[str, str]]:
        """What is replaced in a text, in this order, to leave a number as computers read it."""
        blanks = [(blank, "") for blank in (" ", *(b for b, plain in BLANKS.items() if plain == " "))]
        quotes = [("\u2019", ""), ("'", "")] if self.thousands == "'" else []
        thousands = [(self.thousands, "")] if self.thousands in (".", ",") else quotes
        decimal = [(",", ".")] if self.decimal == "," else []
        unit = [(self.unit, "")] if self.unit else []
        return [*unit, *blanks, *thousands, *decimal, ("(", "-"), (")", ""), (MINUS, "-")]

    def number(self, value: Any) -> float:
        if not isinstance(value, str):
            raise TypeError("not text")
        # Strict about thousands: 3365.89 is not 336589, wherever it comes from.
        body = WRITTEN.fullmatch(_usual(value))
        if body is None or not PATTERNS[self.decimal, self.thousands].fullmatch(body["digits"]):
            raise ValueError(value)
        for old, new in self.replaced:
            value = value.replace(old, new)
        return float(value)

    def value(self, number: float) -> float:
        return number


# Decimals, thousands: those without separators of thousands first.
CONVENTIONS = [(".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'")]


def _pattern(decimal: str, thousands: str) -> "re.Pattern[str]":
    grouped = rf"|[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+" if thousands else ""
    return re.compile(rf"(?:0|[1-9][0-9]*{grouped})(?:{re.escape(decimal)}[0-9]+)?")


PATTERNS = {convention: _pattern(*convention) for convention in CONVENTIONS}


def written_numbers(texts: Iterable[str]) -> WrittenNumber | None:
    """The convention of numbers that all of these texts follow; None, where there is none, or more than one.

    >>> written_numbers(["3,14", "2,5"]), written_numbers(["1,234", "5,678"]), written_numbers(["01,5"])
    (WrittenNumber(decimal=',', thousands='', unit=''), None, None)
    """
    found = _conventions(texts)
    return found[0] if len(found) == 1 else None


def ambiguous_numbers(texts: Iterable[str]) -> tuple[WrittenNumber, ...]:
    """The conventions that all of these texts follow, where they are several that read them as other numbers; else ().

    >>> [rule.note for rule in ambiguous_numbers(["1,234", "5,678"])]
    ['numbers with decimal commas', "numbers with thousands separators ','"]
    """
    found = _conventions(texts)
    return tuple(found) if len(found) > 1 else ()


def recognized(texts: Iterable[str]) -> "Moment | WrittenNumber | None":
    """What all of these texts are: moments, or numbers of one convention; None for other text."""
    kept = list(texts)
    return (written_moment(kept) or written_numbers(kept)) if kept else None


def _usual(text: str) -> str:
    """With the usual blanks and quotes between thousands, and none around it."""
    for blank, usual in BLANKS.items():
        text = text.replace(blank, usual)
    return text.strip()


def _conventions(texts: Iterable[str]) -> list[WrittenNumber]:
    units, bodies, brackets, plain = set(), set(), False, False
    for text in texts:
        found = WRITTEN.fullmatch(_usual(text))
        if found is None or bool(found["open"]) != bool(found["close"]) or (found["before"] and found["after"]):
            return []
        if found["open"] and found["sign"]:
            return []
        units.add(found["before"] or found["after"] or "")
        bodies.add(found["digits"])
        brackets, plain = brackets or bool(found["open"]), plain or not found["open"]
        if len(units) > 1:
            return []
    if not bodies or (brackets and not plain):
        return []
    (unit,) = units
    fitting = [convention for convention in CONVENTIONS if _fits(convention, bodies, bool(unit) or brackets)]
    left = _distinguished(fitting, bodies)
    if len(left) == 1 and left[0][1] and not (unit or brackets or _vary(bodies, left[0][0])):
        return []
    return [WrittenNumber(*convention, unit) for convention in left]


def _vary(bodies: set[str], decimal: str) -> bool:
    """Whether some have decimals, or more digits than others: else they may be numbers of telephones."""
    return any(decimal in body for body in bodies) or len({sum(map(str.isdigit, body)) for body in bodies}) > 1


def _fits(convention: tuple[str, str], bodies: set[str], is_marked: bool) -> bool:
    """Whether all follow a convention, and some show it. is_marked: whether a unit, or brackets, mark a number."""
    decimal, thousands = convention
    if not all(map(PATTERNS[convention].fullmatch, bodies)):
        return False
    if not thousands:
        return is_marked or (decimal == "," and any("," in body for body in bodies))
    return any(thousands in body for body in bodies)


def _distinguished(fitting: list[tuple[str, str]], bodies: set[str]) -> list[tuple[str, str]]:
    """One convention, where those that fit read the same numbers, or where the numbers decide; else all."""
    read = {
        tuple(WrittenNumber(*convention).number(body) for body in bodies): convention for convention in fitting[::-1]
    }
    if len(read) < 2:
        return fitting[:1]
    # Decimals are written to the same length everywhere, or without zeros at the end. Where some numbers have none, and
    # others end in a zero, what looks like decimals are thousands.
    separator = next(thousands for _, thousands in fitting if thousands)
    some_whole = any(separator not in body for body in bodies)
    if some_whole and any(separator in body and body.endswith("0") for body in bodies):
        return [convention for convention in fitting if convention[1] == separator][:1]
    return fitting
