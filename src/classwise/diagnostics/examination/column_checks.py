"""What is wrong with single columns of values: row numbers and ids, nothing in them, stand-ins for missing values; and
columns that say what another says.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from classwise.arrays import Array
from classwise.diagnostics.advice import counted, listed, percent
from classwise.diagnostics.examination.examination import NOTE, PROBLEM, Key, Remark
from classwise.diagnostics.examination.sheet import Sheet, SheetColumn
from classwise.statistics import is_id

# Fewer rows than this do not show what a column holds.
FEW_ROWS = 20

# Of whole numbers that count rows this many in a hundred are different.
ALL_DIFFERENT = 0.99

# Of numbers that begin anew for each group of rows this many are by one above the last.
COUNTED_ON = 0.9

UNNAMED = re.compile(r"|unnamed: ?\d+|rownames?|row_?(number|num|nr|id)|index|column0|__index_level_0__|\.\.\.1", re.I)
ID_NAME = re.compile(r"(?i:(.*[_. -])?(id|ids|uuid|guid|key|identifier)|.*[_. -](number|num|nr|no))|.*[a-z](Id|ID)")
CODE_NAME = re.compile(
    r"(.*[_. -])?(zip|zip_?code|post_?code|postal_?code|area_?code|code|type|category|cluster)", re.I
)

# Numbers that people write where nothing is known: nines, with a sign perhaps.
STAND_INS = [sign * (10.0**digits - 1) for digits in range(2, 11) for sign in (-1, 1)] + [-9.0]

# A stand-in lies at least this far outside of all other values, in units of their range, and stands in this many rows.
FAR, FEWEST = 0.5, 3

MOSTLY_MISSING = 0.95


def named(columns: list[SheetColumn], most: int = 5) -> str:
    """Columns as the subject of a sentence."""
    return listed((column.name for column in columns), most)


def keys_of(columns: list[SheetColumn]) -> list[Key]:
    return [column.key for column in columns]


def verb(columns: list[SheetColumn], one: str, several: str) -> str:
    return one if len(columns) == 1 else several


def about_ids(sheet: Sheet) -> Iterator[Remark]:
    """Numbers that count the rows, and text that is another in nearly every row: they identify rows, not classes."""
    if len(sheet) < FEW_ROWS:
        return
    numbers = [c for c in sheet.open if c.is_whole and not c.asked and c.may_count and _counts_rows(sheet, c)]
    if numbers:
        verbs = verb(numbers, "is a row number or an id: it tells", "are row numbers or ids: they tell")
        message = f"{named(numbers)} {verbs} rows apart, not classes."
        yield Remark.of("id", PROBLEM, keys_of(numbers), message, sheet.remedies.drop(keys_of(numbers)))
    texts = [c for c in sheet.open if c.is_text and not c.asked and c.distinct >= ALL_DIFFERENT * c.present]
    texts = [column for column in texts if is_id(column.distinct, column.present)]
    if texts:
        verbs = verb(texts, "is different in nearly every row, as ids", "are different in nearly every row, as ids")
        message = f"{named(texts)} {verbs} and names are: the models leave {verb(texts, 'it', 'them')} out."
        yield Remark.of(
            "id", NOTE, keys_of(texts), message, sheet.remedies.drop(keys_of(texts), "To leave it out yourself")
        )


def _counts_rows(sheet: Sheet, column: SheetColumn) -> bool:
    """Whether whole numbers are all different, and go on by even steps or in order; or are called an id, and half of
    them are different, or they go on by one and begin anew for each group.

    Counts, incomes and years are not: they come twice, or jump.
    """
    assert column.raw is not None
    levels, present = column.levels, column.present
    step = np.diff(column.raw[~column.missing].astype(np.float64))
    if isinstance(column.key, str) and ID_NAME.fullmatch(column.key):
        return 2 * column.distinct > present or bool(np.mean(step == 1) > COUNTED_ON)
    if column.distinct < ALL_DIFFERENT * present or present < ALL_DIFFERENT * len(sheet):
        return False
    span = float(levels[-1]) - float(levels[0])
    is_even = len(np.unique(np.diff(levels.astype(np.float64)))) == 1
    is_ordered = bool((step > 0).all() or (step < 0).all())
    return is_even or (is_ordered and span <= 2 * sheet.total)


def about_unnamed(sheet: Sheet) -> Iterator[Remark]:
    """A first column without a name of its own, as programs write row numbers; and names that occur twice."""
    if sheet.twice:
        message = f"Several columns are called {listed(map(repr, sheet.twice))}: the models tell columns apart by name."
        argument = "X.loc[:, ~X.columns.duplicated()]"
        yield Remark("name", PROBLEM, (), message, "", argument, "To keep the first of them")
    first = [c for c in sheet.open[:1] if isinstance(c.key, str) and UNNAMED.fullmatch(c.key) and _is_index(sheet, c)]
    if first:
        message = (
            f"The first column, {first[0].key!r}, holds row numbers or names, as programs write them beside a table."
        )
        yield Remark.of("index", PROBLEM, keys_of(first), message, sheet.remedies.drop(keys_of(first)))


def _is_index(sheet: Sheet, column: SheetColumn) -> bool:
    return column.distinct == len(sheet) and (column.is_whole or column.is_text)


def about_constant(sheet: Sheet) -> Iterator[Remark]:
    """Columns that never vary, or hold nothing: models leave out those of numbers, and learn nothing from others."""
    empty = [column for column in sheet.open if not column.present]
    same = [column for column in sheet.open if column.distinct == 1 and not column.missing.any()]
    left_out, useless = (
        ("the models leave it out", "the models leave them out"),
        ("it says nothing", "they say nothing"),
    )
    for columns, verbs, outcome in (
        (empty, ("holds nothing", "hold nothing"), left_out),
        ([column for column in same if column.is_number], ("never varies", "never vary"), left_out),
        ([column for column in same if not column.is_number], ("never varies", "never vary"), useless),
    ):
        if columns:
            end = " in the rows looked at." if sheet.is_sample else f": {verb(columns, *outcome)}."
            yield Remark.of("constant", NOTE, keys_of(columns), f"{named(columns)} {verb(columns, *verbs)}{end}")


def about_types(sheet: Sheet) -> Iterator[Remark]:
    """Columns of a type that no model takes."""
    found = [column for column in sheet.columns if not column.is_readable]
    if found:
        types = listed(sorted({column.type for column in found}))
        message = f"{named(found)} {verb(found, 'holds', 'hold')} {types}, which the models do not take."
        yield Remark.of("type", PROBLEM, keys_of(found), message, sheet.remedies.drop(keys_of(found)))


def about_missing(sheet: Sheet) -> Iterator[Remark]:
    """Columns that are hardly ever filled in."""
    least = MOSTLY_MISSING * len(sheet)
    found = [column for column in sheet.open if len(sheet) - column.present >= least]
    if found:
        lacking = percent(min(1 - column.present / len(sheet) for column in found))
        message = (
            f"{named(found)} {verb(found, 'is', 'are')} missing in {lacking} of rows{verb(found, '', ' or more')}."
        )
        yield Remark.of("missing", NOTE, keys_of(found), message, sheet.remedies.drop(keys_of(found)))


def about_infinity(sheet: Sheet) -> Iterator[Remark]:
    """Numbers that models refuse."""
    found = {
        c: np.unique(c.levels[np.isinf(c.levels)]) for c in sheet.open if c.is_number and c.levels.dtype.kind == "f"
    }
    found = {column: values for column, values in found.items() if len(values)}
    if found:
        columns = list(found)
        message = f"{named(columns)} {verb(columns, 'holds', 'hold')} infinity, which the models do not take."
        texts = {column.key: list(map(str, values.tolist())) for column, values in found.items()}
        yield Remark.of("infinity", PROBLEM, keys_of(columns), message, sheet.remedies.missing(texts, numbers=True))


def about_stand_ins(sheet: Sheet) -> Iterator[Remark]:
    """Numbers such as -999 that stand where nothing is known, and would be taken for values."""
    found = {column: value for column in sheet.open if column.is_number for value in _stand_ins(column)}
    if found:
        shown = listed(
            f"{column.name} ({_plain(value)} in {column.counts[_place(column, value)]} rows)"
            for column, value in found.items()
        )
        message = f"A number far from all others seems to stand for missing values in {shown}."
        texts = {column.key: column.written(value) or [_plain(value)] for column, value in found.items()}
        columns = list(found)
        yield Remark.of("stand-in", PROBLEM, keys_of(columns), message, sheet.remedies.missing(texts, numbers=True))


def _stand_ins(column: SheetColumn) -> list[float]:
    levels = column.levels.astype(np.float64)
    for place in (0, -1):
        others = np.delete(levels, place)
        if len(others) < 2 or levels[place] not in STAND_INS or column.counts[place] < FEWEST:
            continue
        span = others[-1] - others[0]
        distance = others[0] - levels[0] if place == 0 else levels[-1] - others[-1]
        if distance > FAR * span:
            return [float(levels[place])]
    return []


def _place(column: SheetColumn, value: float) -> int:
    return int(np.searchsorted(column.levels, value))


def _plain(value: float) -> str:
    return f"{value:.0f}"


def about_codes(sheet: Sheet) -> Iterator[Remark]:
    """Whole numbers that are codes, by their name: their order and their distances mean nothing."""
    found = [
        column
        for column in sheet.open
        if column.is_whole and not column.asked and isinstance(column.key, str) and column.distinct > 2
        if CODE_NAME.fullmatch(column.key) and 2 * column.distinct < len(sheet)
    ]
    if found:
        verbs = verb(found, "seems to be a code: it is", "seem to be codes: they are")
        message = f"{named(found)} {verbs} taken for {verb(found, 'a number', 'numbers')}, whose size means something."
        yield Remark.of("code", NOTE, keys_of(found), message, sheet.remedies.family(keys_of(found), "categorical"))


def about_width(sheet: Sheet) -> Iterator[Remark]:
    """More columns than rows."""
    if len(sheet.columns) > sheet.total:
        message = (
            f"There are {counted(len(sheet.columns), 'column')} for {counted(sheet.total, 'row')}: a covariance of its "
            "own for each class cannot be learned, only a shared, shrunk or diagonal one."
        )
        yield Remark.of("wide", NOTE, (), message)


# Columns that repeat others -------------------------------------------------------------------------------------------
#
# Numbers are standardized, to mean 0 and length 1, with the sign of the first that is not 0: x and a + b x then agree.
# Levels are numbered in the order of their first rows: two columns with the same numbers are one to one.


# Standardized numbers that differ by less are the same: so much is lost by rounding.
ROUNDING = 1e-9

# Text with more levels than this for each row is no recoding: ids are one to one with everything.
MOST_LEVELS_PER_ROW = 0.5


def about_copies(sheet: Sheet) -> Iterator[Remark]:
    """Numbers that follow from another column, which models with covariances leave out; and text, which none does."""
    columns = [column for column in sheet.open if column.distinct > 1]
    numbers = _numbers([column for column in columns if column.is_number])
    levels = _levels(sheet, [column for column in columns if column.key not in {copy.key for copy, _ in numbers}])
    if numbers:
        keys = [copy.key for copy, _ in numbers]
        left_out = "it" if len(numbers) == 1 else "the copies"
        message = f"{_pairs(numbers)}: LDA and QDA leave {left_out} out, naive Bayes counts the same evidence twice."
        yield Remark.of("duplicate", NOTE, keys, message, sheet.remedies.drop(keys))
    if levels:
        keys = [copy.key for copy, _ in levels]
        message = f"{_pairs(levels)}: naive Bayes counts the same evidence twice."
        yield Remark.of("duplicate", PROBLEM, keys, message, sheet.remedies.drop(keys))


def _pairs(copies: list[tuple[SheetColumn, SheetColumn]]) -> str:
    shown = listed([f"{copy.name} repeats {kept.name}" for copy, kept in copies], 3)
    return shown[0].upper() + shown[1:] if shown.startswith("column ") else shown


def _numbers(columns: list[SheetColumn]) -> list[tuple[SheetColumn, SheetColumn]]:
    """Copies among columns of numbers, each with the column that is kept, the first of its kind."""
    kept: dict[tuple[int, float], list[tuple[SheetColumn, Array]]] = defaultdict(list)
    found = []
    for column in columns:
        values = _standardized(column)
        mark = float(np.dot(values, np.cos(np.arange(len(values)))))
        for place in (round(mark, 6), round(mark + 1e-6, 6), round(mark - 1e-6, 6)):
            alike = [other for other, its in kept[len(values), place] if _same(column, values, other, its)]
            if alike:
                found.append((column, alike[0]))
                break
        else:
            kept[len(values), round(mark, 6)].append((column, values))
    return found


def _standardized(column: SheetColumn) -> Array:
    """The numbers that are there, with mean 0, length 1 and the sign of the first that is not 0."""
    assert column.raw is not None
    values = column.raw[~column.missing].astype(np.float64)
    centered = values / max(np.abs(values).max(), 1e-300)
    centered = centered - centered.mean()
    length = np.sqrt(np.dot(centered, centered))
    scaled: Array = centered / length if length > 0 else centered
    return scaled * np.sign(scaled[np.argmax(np.abs(scaled) > ROUNDING)])


def _same(column: SheetColumn, values: Array, other: SheetColumn, its: Array) -> bool:
    return np.array_equal(column.missing, other.missing) and bool(np.abs(values - its).max() <= ROUNDING)


def _levels(sheet: Sheet, columns: list[SheetColumn]) -> list[tuple[SheetColumn, SheetColumn]]:
    """Copies among columns of few levels, at least one of each pair text."""
    kept: dict[bytes, SheetColumn] = {}
    found = []
    few = [c for c in columns if c.has_few_levels and c.distinct <= MOST_LEVELS_PER_ROW * len(sheet)]
    for column in few:
        mark = _renumbered(column).tobytes()
        first = kept.setdefault(mark, column)
        if first is not column and not (first.is_number and column.is_number):
            found.append((column, first))
    return found


def _renumbered(column: SheetColumn) -> Array:
    """Levels numbered in the order of their first rows, and -1 for what is missing."""
    _, first = np.unique(column.codes, return_index=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    start = int(column.codes.min() < 0)
    renumbered = np.concatenate([rank[start:], [-1]])
    if start:  # the place of what is missing among the first rows must not matter
        renumbered[:-1] -= renumbered[:-1] > rank[0]
    numbers: Array = renumbered[column.codes]
    return numbers
