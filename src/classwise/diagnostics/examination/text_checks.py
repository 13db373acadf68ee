"""Dates and numbers that are written for people, and what is wrong with other text: levels written in two ways."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from classwise.diagnostics.advice import counted, listed
from classwise.diagnostics.examination.column_checks import keys_of, named, verb
from classwise.diagnostics.examination.examination import NOTE, NUMBER, PROBLEM, Remark, Remedy
from classwise.diagnostics.examination.sheet import Sheet, SheetColumn
from classwise.rows.conversions import NOTES, Moment, ambiguous_dates
from classwise.rows.schema import Conversion
from classwise.rows.written_numbers import WrittenNumber, ambiguous_numbers, recognized
from classwise.statistics import is_id

# A column of text is one of numbers with bad cells where this many of its values are numbers, and so few texts are not.
MOSTLY_NUMBERS, FEW_TEXTS = 0.8, 5

# A category with more levels than this and fewer rows for each is nearly free text.
MANY_LEVELS, ROWS_PER_LEVEL = 50, 5

# Dates in writings that no model reads: '31 Jan 2026', '2026/1/31', '31.1.26', '1/31/2026 10:30 PM'.
CLOCK = r"([ T,]+[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?\s?(Z|[+-][0-9:]+|[AaPp][Mm])?)?"
MONTH = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[.]?"
OTHER_DATE = re.compile(
    rf"([0-9]{{4}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}|[0-9]{{1,2}}([-/.])[0-9]{{1,2}}\2([0-9]{{4}}|[0-9]{{2}})"
    rf"|([0-9]{{1,2}}[.]?[ -]{MONTH}|{MONTH} [0-9]{{1,2}}),?[ -][0-9]{{2,4}}){CLOCK}"
)


# Dates, and numbers written for people --------------------------------------------------------------------------------


def about_conversions(sheet: Sheet) -> Iterator[Remark]:
    """Dates, and numbers written for people, which the models turn into numbers."""
    by_note: dict[Conversion, list[SheetColumn]] = defaultdict(list)
    for column in sheet.open:
        if column.conversion is not None:
            by_note[column.conversion].append(column)
    for rule, columns in by_note.items():
        yield Remark.of(_kind(rule), NOTE, keys_of(columns), _conversion(rule, columns))


def _kind(rule: Conversion) -> str:
    if isinstance(rule, Moment):
        return "date" if rule.is_day else rule.kind
    if rule.unit:
        return "percent" if rule.unit == "%" else "currency"
    return "thousands" if rule.thousands else "decimal comma" if rule.decimal == "," else "brackets"


def _conversion(rule: Conversion, columns: list[SheetColumn]) -> str:
    """What becomes of columns, as a sentence."""
    are = verb(columns, "is", "are")
    if isinstance(rule, Moment):
        held, _, used = rule.note.partition(", as ")
        held = f"a {held}" if len(columns) == 1 else held.replace(NOTES[rule.kind].partition(",")[0], rule.what)
        return f"{named(columns)} {are} {held}, and {are} used as {used}."
    example = str(columns[0].given.levels[0]).strip() if columns[0].given else rule.example
    holds = verb(columns, "holds", "hold")
    return f"{named(columns)} {holds} {rule.note}, such as {example!r}, and {are} read as numbers."


def about_unread(sheet: Sheet) -> Iterator[Remark]:
    """Text that can be read as dates, or as numbers, in two ways; and dates in writings that the models do not read."""
    texts = [column for column in sheet.open if column.is_text and not column.asked]
    days = [column for column in texts if ambiguous_dates(column.levels.tolist())]
    if days:
        example = str(days[0].levels[0]).strip()
        message = (
            f"{named(days)} {verb(days, 'is', 'are')} taken for text: in dates such as {example!r} nothing tells "
            "whether the day or the month comes first. Write 2026-01-31."
        )
        remedy = _code(sheet, days, "pd.to_datetime({0}, dayfirst=True)", "If the day comes first")
        yield Remark.of("date", PROBLEM, keys_of(days), message, remedy)
    for column in texts:
        rules = ambiguous_numbers(column.levels.tolist())
        if rules:
            yield _two_numbers(sheet, column, rules)
    others = [column for column in texts if column not in days and _are_other_dates(column)]
    if others:
        example = str(others[0].levels[0]).strip()
        message = (
            f"{named(others)} {verb(others, 'is', 'are')} taken for text: the models do not read dates such as "
            f"{example!r}. Write 2026-01-31."
        )
        remedy = _code(sheet, others, "pd.to_datetime({0}, dayfirst={1})", "To make dates of them")
        yield Remark.of("date", PROBLEM, keys_of(others), message, remedy)


def _two_numbers(sheet: Sheet, column: SheetColumn, rules: Sequence[WrittenNumber]) -> Remark:
    """Text such as 1,234, which is a thousand or one and a bit."""
    ambiguous = [text for text in column.levels if not all(rule.number(text).is_integer() for rule in rules)]
    example = (ambiguous or column.levels)[0]
    numbers = " or ".join(dict.fromkeys(f"{rule.number(example):.15g}" for rule in rules))
    message = (
        f"{column.name} is taken for text: {example.strip()!r} may be {numbers}, and nothing tells which. Write it "
        "without thousands separators, and with a decimal point."
    )
    separator = next(rule.thousands for rule in rules if rule.thousands)
    code = "{0}.str.replace(r'[^0-9-]', '', regex=True).astype(float)"
    remedy = _code(sheet, [column], code, f"If {separator!r} stands between thousands")
    return Remark.of("two readings", PROBLEM, [column.key], message, remedy)


def _are_other_dates(column: SheetColumn) -> bool:
    return all(OTHER_DATE.fullmatch(text.strip()) for text in column.levels)


def _code(sheet: Sheet, columns: list[SheetColumn], code: str, when: str) -> Remedy:
    """What makes numbers or dates of text in pandas; no flag does."""
    own = "; ".join(f"X[{c.key!r}] = {code.format(f'X[{c.key!r}]', _day_first(c))}" for c in columns)
    return Remedy("", own if sheet.remedies.backend == "pandas" else "", when)


def _day_first(column: SheetColumn) -> bool:
    """Whether the first number of some date is no month."""
    firsts = (re.match(r"\d+", text.strip()) for text in column.levels)
    return any(first is not None and 12 < int(first[0]) < 32 for first in firsts)


# Text -----------------------------------------------------------------------------------------------------------------


def about_bad_cells(sheet: Sheet) -> Iterator[Remark]:
    """Numbers and dates that are text because of a few cells."""
    found = {column: bad for column in sheet.open if (bad := _bad_cells(column)) is not None}
    if found:
        columns = list(found)
        shown = listed(f"{c.name}{f' ({listed(map(repr, bad))})' if bad else ''}" for c, bad in found.items())
        holds, are = verb(columns, "holds", "hold"), verb(columns, "is", "are")
        message = f"{shown} {holds} numbers or dates, and {are} taken for text" + (
            " because of these cells." if any(found.values()) else "."
        )
        remedy = sheet.remedies.missing({column.key: bad for column, bad in found.items()})
        yield Remark.of("bad cells", PROBLEM, keys_of(columns), message, remedy)


def _bad_cells(column: SheetColumn) -> list[str] | None:
    """The few texts among numbers or dates; None where it is no column of those."""
    if not column.is_text or column.asked:
        return None
    bad = _not_numbers(column.levels)
    if any(text.strip().lstrip("+-")[:1].isdigit() for text in bad):  # perhaps as people write them
        bad = [text for text in column.levels if not re.search("[0-9]", text)]
        if recognized(set(column.levels) - set(bad)) is None:
            return None
    places = [level in bad for level in column.levels]
    numbers = column.present - int(column.counts[places].sum())
    many = len(bad) <= FEW_TEXTS and column.distinct - len(bad) > 2 * len(bad)
    return bad if many and numbers >= MOSTLY_NUMBERS * column.present else None


def _not_numbers(texts: Iterable[str]) -> list[str]:
    """Those that are not written as programs write numbers."""
    return [text for text in texts if not NUMBER.fullmatch(text)]


def about_variants(sheet: Sheet) -> Iterator[Remark]:
    """Levels that differ by upper and lower case, or by blanks, alone."""
    found = {column: same for column in sheet.open if column.is_text and (same := variants(column.levels))}
    if found:
        columns = list(found)
        shown = listed(f"{c.name} ({listed(map(repr, same[0]))})" for c, same in found.items())
        message = f"Levels that differ by case or blanks alone are taken for different ones in {shown}."
        code = "; ".join(f"X[{c.key!r}] = X[{c.key!r}].str.strip().str.lower()" for c in columns)
        remedy = Remedy("", code if sheet.remedies.backend == "pandas" else "", "To make them the same")
        yield Remark.of("variants", PROBLEM, keys_of(columns), message, remedy)


def variants(levels: Iterable[str]) -> list[list[str]]:
    """Groups of texts that are the same except for case and blanks.

    >>> variants(["Male", "male ", "female"])
    [['Male', 'male ']]
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for level in levels:
        groups[" ".join(level.split()).casefold()].append(level)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def about_free_text(sheet: Sheet) -> Iterator[Remark]:
    """Text with so many levels that most have hardly a row."""
    texts = [column for column in sheet.open if column.is_text and not column.asked]
    ignored = [column for column in texts if is_id(column.distinct, column.present)]
    many = [
        c for c in texts if c not in ignored and c.distinct > MANY_LEVELS and c.present < ROWS_PER_LEVEL * c.distinct
    ]
    if ignored:
        message = (
            f"{_with_levels(ignored)} {verb(ignored, 'has', 'have')} fewer than two rows for each, as ids and free "
            f"text have: the models leave {verb(ignored, 'it', 'them')} out."
        )
        yield Remark.of("free text", NOTE, keys_of(ignored), message, sheet.remedies.drop(keys_of(ignored)))
    if many:
        message = f"{_with_levels(many)} {verb(many, 'has', 'have')} few rows for each: little is learned from them."
        yield Remark.of("free text", NOTE, keys_of(many), message, sheet.remedies.drop(keys_of(many)))


def _with_levels(columns: list[SheetColumn]) -> str:
    return listed(f"{column.name} ({counted(column.distinct, 'level')})" for column in columns)
