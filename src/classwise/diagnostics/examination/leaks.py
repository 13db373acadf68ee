"""Leaks: columns that decide the label, because they are written after it is known, or are the label in other words.

Half of the rows of each class are learned from, the others are held out. A column alone guesses the class that is most
frequent where it has the same value, or the nearest one, in the half learned from. It *decides* the label if it is
wrong on at most 0.2 % of the held-out rows outside of the largest class (so on none of fewer than 500), and right on
98 % of each class with five held-out rows.

A column that decides is a leak in one of three cases, so that an easy problem is not taken for a leak:

1. its values and the labels are one to one: it is the label in other words;
2. it has few values (text, yes/no, up to 50 numbers), and no column that does not decide errs on less than 2 % of rows;
3. it is a number with many values, it is the only column that decides, and all others make at least half of the errors
   that always guessing the largest class makes.

So is a column that is missing exactly where the label is a certain class. And so are two columns of few values that
decide together, where all columns err alone on 10 % of rows or more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Codes
from classwise.diagnostics.advice import listed
from classwise.diagnostics.examination.column_checks import named, verb
from classwise.diagnostics.examination.examination import PROBLEM, Remark
from classwise.diagnostics.examination.sheet import FEW_LEVELS, Sheet, SheetColumn

# The largest share of held-out rows outside of the largest class on which a column that decides is wrong, and the least
# share of a class on which it is right.
MOST_WRONG, LEAST_RIGHT = 0.002, 0.98

# A class is judged by at least this many held-out rows, and the label by this many outside of the largest class.
ROWS_OF_CLASS, ROWS_TO_JUDGE = 5, 10

# Another column that errs on fewer rows than this makes an easy problem; two columns are looked at together where none
# alone errs on fewer than this.
EASY, HARD = 0.02, 0.10

# Pairs are tried of this many columns, those that err least alone.
PAIRED = 8


@dataclass(frozen=True, eq=False)
class Guess:
    """How a column alone does on the held-out rows. error: the share that it is wrong on; decides: as said above."""

    column: SheetColumn
    error: float
    decides: bool


def about_leaks(sheet: Sheet) -> Iterator[Remark]:
    """Columns that decide the label alone, by being missing, or in pairs."""
    if not _can_be_judged(sheet):
        return
    yield from _missing_leaks(sheet)
    gone = {column.key for column in sheet.open if _missing_class(sheet, column) is not None}
    guesses = [_guess(sheet, column) for column in sheet.open if column.key not in gone]
    leaks = [guess for guess in guesses if guess.decides and _is_leak(sheet, guess, guesses)]
    if leaks:
        columns = [guess.column for guess in leaks]
        wrong = max(guess.error for guess in leaks)
        rows = "every held-out row" if not wrong else f"{100 * (1 - wrong):.2f} % of held-out rows"
        yield _remark(sheet, columns, f"{named(columns)} {verb(columns, 'alone tells', 'each alone tell')} "
                      f"{sheet.target} on {rows}")  # fmt: skip
    elif not any(guess.decides for guess in guesses):
        yield from _pair_leaks(sheet, guesses)


def _can_be_judged(sheet: Sheet) -> bool:
    held_out = np.bincount(sheet.y[~sheet.learned], minlength=len(sheet.labels))
    return len(sheet.labels) > 1 and int(held_out.sum() - held_out.max()) >= ROWS_TO_JUDGE


def _remark(sheet: Sheet, columns: list[SheetColumn], found: str) -> Remark:
    message = f"{found}: {verb(columns, 'is it', 'are they')} known before {sheet.target} is?"
    keys = [column.key for column in columns]
    return Remark.of("leak", PROBLEM, keys, message, sheet.remedies.drop(keys, "If not"))


# One column -----------------------------------------------------------------------------------------------------------


def _guess(sheet: Sheet, column: SheetColumn) -> Guess:
    """What a column alone makes of the held-out rows."""
    levels = None if column.has_few_levels else column.levels
    return _judged(sheet, column, _answers(sheet, column.codes, column.distinct, levels))


def _judged(sheet: Sheet, column: SheetColumn, answers: Codes) -> Guess:
    y, count = sheet.y[~sheet.learned], len(sheet.labels)
    wrong = answers != y
    rows, errors = np.bincount(y, minlength=count), np.bincount(y[wrong], minlength=count)
    judged = rows >= ROWS_OF_CLASS
    decides = errors.sum() <= MOST_WRONG * (rows.sum() - rows.max()) and bool(
        (errors[judged] <= (1 - LEAST_RIGHT) * rows[judged]).all()
    )
    return Guess(column, float(wrong.mean()), bool(decides))


def _answers(sheet: Sheet, codes: Codes, count: int, levels: NDArray[np.float64] | None = None) -> Codes:
    """The class that each held-out row is taken for, by its code; levels: numbers in order, of which the nearest that
    was learned from answers for the others.
    """
    learned, classes = sheet.learned, len(sheet.labels)
    own = np.where(codes < 0, count, codes)  # what is missing is a level of its own
    table = np.bincount(own[learned] * classes + sheet.y[learned], minlength=(count + 1) * classes)
    table = table.reshape(count + 1, classes)
    likely, seen = table.argmax(axis=1), table.sum(axis=1) > 0
    likely[~seen] = table.sum(axis=0).argmax()
    if levels is not None and seen[:-1].any():
        likely[:-1] = likely[_nearest(levels.astype(np.float64), np.flatnonzero(seen[:-1]))]
    answers: Codes = likely[own[~learned]]
    return answers


def _nearest(levels: NDArray[np.float64], known: Codes) -> Codes:
    """For each of the numbers in order, the place of the nearest among those known.

    >>> _nearest(np.array([0.0, 1.0, 5.0, 6.0]), np.array([0, 3])).tolist()
    [0, 0, 3, 3]
    """
    right = np.clip(np.searchsorted(levels[known], levels), 1, max(len(known) - 1, 1))
    right = np.minimum(right, len(known) - 1)
    left = np.maximum(right - 1, 0)
    is_left = np.abs(levels - levels[known[left]]) <= np.abs(levels[known[right]] - levels)
    nearest: Codes = known[np.where(is_left, left, right)]
    return nearest


def _is_leak(sheet: Sheet, guess: Guess, guesses: list[Guess]) -> bool:
    """Whether a column that decides is one of the three cases."""
    if _is_label(sheet, guess.column):
        return True
    others = min((other.error for other in guesses if not other.decides), default=0.0)
    if guess.column.has_few_levels:
        return others >= EASY
    largest = np.bincount(sheet.y).max() / len(sheet)
    return sum(other.decides for other in guesses) == 1 and others >= (1 - largest) / 2


def _is_label(sheet: Sheet, column: SheetColumn) -> bool:
    """Whether values and labels are one to one."""
    count, classes = column.distinct, len(sheet.labels)
    if not column.has_few_levels or count + bool(column.missing.any()) != len(np.unique(sheet.y)):
        return False
    cells = np.where(column.codes < 0, count, column.codes) * classes + sheet.y
    return len(np.unique(cells)) == len(np.unique(sheet.y))


# What is missing, and pairs -------------------------------------------------------------------------------------------


def _missing_leaks(sheet: Sheet) -> Iterator[Remark]:
    by_class: dict[int, list[SheetColumn]] = {}
    for column in sheet.open:
        k = _missing_class(sheet, column)
        if k is not None:
            by_class.setdefault(k, []).append(column)
    for k, columns in by_class.items():
        where = f"{sheet.target} is {sheet.labels[k]}"
        yield _remark(sheet, columns, f"{named(columns)} {verb(columns, 'is', 'are')} missing exactly where {where}")


def _missing_class(sheet: Sheet, column: SheetColumn) -> int | None:
    """The class in all rows of which, and in no others, the column is missing."""
    gone = int(np.count_nonzero(column.missing))
    if gone < 2 * ROWS_OF_CLASS or column.present < 2 * ROWS_OF_CLASS:
        return None
    k = int(sheet.y[np.argmax(column.missing)])
    return k if np.array_equal(column.missing, sheet.y == k) else None


def _pair_leaks(sheet: Sheet, guesses: list[Guess]) -> Iterator[Remark]:
    if min((guess.error for guess in guesses), default=0.0) < HARD:
        return
    few = [guess.column for guess in sorted(guesses, key=lambda g: g.error) if 1 < guess.column.distinct <= FEW_LEVELS]
    for first, second in combinations(few[:PAIRED], 2):
        width = second.distinct + 1
        codes = (first.codes % (first.distinct + 1)) * width + second.codes % width
        if _judged(sheet, first, _answers(sheet, codes, (first.distinct + 1) * width)).decides:
            together = listed([first.name, second.name])
            yield _remark(sheet, [first, second], f"{together} together tell {sheet.target} on every held-out row")
            return
