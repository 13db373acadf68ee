"""What is wrong with labels and rows: no class at all, classes of a row or two; the same row under several labels, and
many times.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Codes
from classwise.diagnostics.advice import counted, listed, percent
from classwise.diagnostics.examination.examination import NOTE, PROBLEM, Remark, Remedy
from classwise.diagnostics.examination.sheet import Sheet, SheetColumn
from classwise.diagnostics.examination.text_checks import variants

# Labels ---------------------------------------------------------------------------------------------------------------


# A target is taken for a measurement from this many different numbers on, or from this many for each row.
MANY_NUMBERS, FEW_CLASSES, CLASSES_PER_ROW, TEXTS_PER_ROW = 100, 20, 0.2, 0.5

# The number of folds of compare, by default.
FOLDS = 10

# A class is rare below this share of rows, and below this part of an even share.
RARE, RARE_OF_EVEN = 0.05, 0.2


def holds_classes(sheet: Sheet) -> bool:
    """Whether the target looks like classes, rather than a measurement or text."""
    count, limit = len(sheet.labels), max(FEW_CLASSES, CLASSES_PER_ROW * sheet.total)
    if not _are_numbers(sheet):
        return count <= max(FEW_CLASSES, TEXTS_PER_ROW * sheet.total)
    return count <= min(limit, MANY_NUMBERS) and not _has_fractions(sheet)


def _are_numbers(sheet: Sheet) -> bool:
    return all(isinstance(label, (int, float, np.number)) and not isinstance(label, bool) for label in sheet.labels)


def _has_fractions(sheet: Sheet) -> bool:
    return any(float(label) != np.floor(float(label)) for label in sheet.labels)


def about_measurement(sheet: Sheet) -> Iterator[Remark]:
    """A target that is no class."""
    if not holds_classes(sheet):
        what = "numbers" if _are_numbers(sheet) else "values"
        message = f"{sheet.target} has {len(sheet.labels)} different {what} in {sheet.total} rows: is it a class?"
        argument = "pd.qcut(y, 3, labels=['low', 'middle', 'high'])" if what == "numbers" else ""
        yield Remark.of("target", PROBLEM, (), message, Remedy("", argument, "If not, name another target, or cut it"))


def about_unlabeled(sheet: Sheet) -> Iterator[Remark]:
    """Rows without a label."""
    if sheet.unlabeled:
        rows = sheet.total + sheet.unlabeled
        message = f"{sheet.unlabeled} of {rows} rows have no {sheet.target}: they are left out."
        yield Remark.of("missing labels", NOTE, (), message)


def about_label_variants(sheet: Sheet) -> Iterator[Remark]:
    """Labels that differ by case or blanks alone."""
    same = variants(label for label in sheet.labels if isinstance(label, str))
    if same:
        shown = listed((listed(map(repr, group)) for group in same), 2)
        message = f"Labels of {sheet.target} differ by case or blanks alone, and are taken for classes: {shown}."
        remedy = Remedy("", "y.str.strip().str.lower()", "To make them the same")
        yield Remark.of("label variants", PROBLEM, (), message, remedy)


def about_rare_classes(sheet: Sheet) -> Iterator[Remark]:
    """Classes that cannot be held out, and those that are hard to judge."""
    if len(sheet.labels) < 2:
        message = f"Every row has the same {sheet.target}, {str(sheet.labels[0])!r}: there is nothing to tell apart."
        yield Remark.of("one class", PROBLEM, (), message)
        return
    single, few = sheet.class_rows < 2, (sheet.class_rows >= 2) & (sheet.class_rows < FOLDS)
    if single.any():
        who, each = f"{_shown(sheet, single)} of {sheet.target} {_have(single)}", " each" if single.sum() > 1 else ""
        message = f"{who} a single row{each}, which cannot be both learned from and held out."
        yield Remark.of("rare class", PROBLEM, (), message)
    if few.any():
        least = int(sheet.class_rows[few].min())
        message = f"{_shown(sheet, few)} of {sheet.target} {_have(few)} fewer rows than there are folds ({FOLDS})."
        remedy = (
            Remedy(f"--folds {least}", f"folds={least}", "To hold one out each time") if not single.any() else Remedy()
        )
        yield Remark.of("rare class", NOTE, (), message, remedy)
    if not single.any() and not few.any():
        yield from _imbalance(sheet)


def _shown(sheet: Sheet, chosen: np.ndarray) -> str:
    labels = [
        f"{label} ({int(rows)})" for label, rows in zip(sheet.labels[chosen], sheet.class_rows[chosen], strict=True)
    ]
    return ("Class " if len(labels) == 1 else "Classes ") + listed(labels, 4)


def _have(chosen: np.ndarray) -> str:
    return "has" if np.count_nonzero(chosen) == 1 else "have"


def _imbalance(sheet: Sheet) -> Iterator[Remark]:
    shares = sheet.class_weight / sheet.class_weight.sum()
    rare = shares < min(RARE, RARE_OF_EVEN / len(shares))
    if rare.any():
        labels = listed(sheet.labels[rare], 4)
        largest = int(np.argmax(shares))
        part = f"{percent(shares[rare].sum())} of {counted(sheet.total, 'row')}"
        message = (
            f"{labels} {'is' if rare.sum() == 1 else 'are'} {part}: always saying {sheet.labels[largest]} is right on "
            f"{percent(shares[largest])}, so look at the balanced accuracy."
        )
        yield Remark.of("imbalance", NOTE, (), message)


# Rows -----------------------------------------------------------------------------------------------------------------
#
# A sum of random numbers, one for each column and value, identifies a row: rows with the same sum are the same.


# Rows that differ in their label alone are reported from this share on, and repeated rows from this one.
CONTRADICTED, REPEATED = 0.01, 0.05

# Columns of few values make repeated rows by chance. More than this many times as many are no chance.
BEYOND_CHANCE = 10.0

# Columns that identify rows or labels, whatever they hold.
IDENTIFYING = ("id", "index", "leak")


def about_contradictions(sheet: Sheet) -> Iterator[Remark]:
    """Rows that are the same in every column and have different labels: a bound of what any classifier can do."""
    wrong = len(sheet) - int(_most_frequent(_rows(sheet), sheet.y, len(sheet.labels)).sum())
    if wrong >= max(2, CONTRADICTED * len(sheet)):
        identifying = [column.key for column in sheet.columns if sheet.settled.get(column.key) in IDENTIFYING]
        but = f" but {listed(identifying)}" if identifying else ""
        bound = f"no classifier can be right on more than {100 * (1 - wrong / len(sheet)):.1f} % of these rows"
        bound = f"without {'it' if len(identifying) == 1 else 'them'} {bound}" if identifying else bound
        message = f"Rows that are the same in every column{but} have different labels: {bound}."
        yield Remark.of("contradiction", NOTE, (), message)


def about_repeated_rows(sheet: Sheet) -> Iterator[Remark]:
    """Rows that stand there several times, label included, more often than chance would have it."""
    repeated = len(sheet) - len(np.unique(_rows(sheet) * len(sheet.labels) + sheet.y))
    if repeated >= max(2, REPEATED * len(sheet)) and repeated > BEYOND_CHANCE * _by_chance(sheet):
        message = (
            f"{percent(repeated / len(sheet))} of rows repeat another row, including its label: a held-out row may "
            "have been learned from, and the models look better than they are."
        )
        yield Remark.of("repeated rows", NOTE, (), message)


def _columns(sheet: Sheet) -> list[SheetColumn]:
    return [c for c in sheet.columns if c.is_readable and sheet.settled.get(c.key) not in IDENTIFYING]


def _rows(sheet: Sheet) -> Codes:
    """For each row the number of its kind among different rows; (n,). Without columns every row is of its own kind."""
    columns = _columns(sheet)
    if not columns:
        return np.arange(len(sheet))
    marks: NDArray[np.uint64] = np.zeros(len(sheet), dtype=np.uint64)
    generator = np.random.default_rng(0)
    for column in columns:
        values = generator.integers(0, 2**64, column.distinct + 1, dtype=np.uint64)
        marks += values[column.codes]  # -1, what is missing, finds the last
    rows: Codes = np.unique(marks, return_inverse=True)[1]
    return rows


def _most_frequent(rows: Codes, y: Codes, classes: int) -> Codes:
    """How many rows of each kind have its most frequent label."""
    cells, times = np.unique(rows * classes + y, return_counts=True)
    most = np.zeros(rows.max() + 1, dtype=np.intp)
    np.maximum.at(most, cells // classes, times)
    return most


def _by_chance(sheet: Sheet) -> float:
    """About how many pairs of rows would be the same, were columns independent."""
    shares = (np.append(column.counts, np.count_nonzero(column.missing)) / len(sheet) for column in _columns(sheet))
    logs = sum(np.log(np.square(share).sum()) for share in shares)
    return float(len(sheet) ** 2 / 2 * np.exp(logs))
