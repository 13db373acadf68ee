"""`examine`: every check, one after another. A new check is a function of the sheet, and a line of CHECKS."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from classwise.diagnostics.advice import counted, listed, number
from classwise.diagnostics.examination import column_checks, leaks, row_checks, text_checks
from classwise.diagnostics.examination.examination import PROBLEM, ColumnLine, Examination, Remark
from classwise.diagnostics.examination.opened_sheet import open_sheet
from classwise.diagnostics.examination.sheet import Sheet, SheetColumn

Check: TypeAlias = Callable[[Sheet], Iterator[Remark]]

# In the order in which they are made: a column is remarked on once, by the first that finds something. Row numbers come
# before leaks, because in a table sorted by its labels they decide them.
CHECKS: tuple[Check, ...] = (
    row_checks.about_measurement,
    column_checks.about_constant,
    column_checks.about_types,
    column_checks.about_infinity,
    column_checks.about_unnamed,
    text_checks.about_unread,
    column_checks.about_ids,
    leaks.about_leaks,
    column_checks.about_missing,
    text_checks.about_bad_cells,
    column_checks.about_stand_ins,
    text_checks.about_variants,
    column_checks.about_copies,
    text_checks.about_free_text,
    column_checks.about_codes,
    text_checks.about_conversions,
    row_checks.about_unlabeled,
    row_checks.about_label_variants,
    row_checks.about_rare_classes,
    row_checks.about_contradictions,
    row_checks.about_repeated_rows,
    column_checks.about_width,
)

# Kinds of findings that come first.
FIRST = ("target", "leak", "index", "id", "date")

# Checks that need classes are left out where the target is none.
OF_CLASSES: tuple[Check, ...] = (
    leaks.about_leaks,
    row_checks.about_label_variants,
    row_checks.about_rare_classes,
    row_checks.about_contradictions,
)


def examine(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    weights: str | None = None,
    sample_weight: Any = None,
    columns: Sequence[Any] | None = None,
    families: Any = "auto",
    missing: Sequence[str] | None = None,
    random_state: int = 0,
) -> Examination:
    """Check a table before you fit: how each column is read and why, what is wrong with it, and how to fix it.

    Findings are problems, which you should act on, and notes, which are done for you or good to know. Each comes
    with the flag that fixes it in the shell, and the argument that fixes it in Python. Nothing is changed or left out.

    Parameters
    ----------
    X, y : array, table or source, and array of shape (n,)
        As for all estimators; target is then the name of the labels. Without y, X is any source of rows, as for
        `compare`, and target, weights and columns are names of its columns.
    target : str, optional
        The column of labels.
    weights : str, optional
        The column of weights; by default all rows have weight one.
    sample_weight : array of shape (n,), optional
        Rows of weight zero do not count; otherwise weights only say how large classes are.
    columns : sequence of labels, optional
        The columns to check; by default all.
    families : str or mapping from column to family, default="auto"
        How to model columns whose type is misleading, as in NaiveBayes.
    missing : sequence of str, optional
        The texts that count as missing values in files, instead of the usual ones; --missing in the shell.
    random_state : int, default=0
        The seed that divides rows into halves, and draws a sample where there are more than 2 million values.

    Returns
    -------
    Examination
        How each column is read, and the findings.

    Notes
    -----
    A *leak* is a column that decides the label on rows held out: half of the rows of each class are learned from, and
    each column alone guesses the class that is most frequent at the same or the nearest value. It is named where it
    errs on at most 0.2 % of the held-out rows outside of the largest class, and the other columns do much worse; or
    where its values and the labels are one to one. So is a column that is missing exactly in one class, and a pair of
    columns that decides together. `classwise.diagnostics.examination.leaks` has the rule in full. Whether it is known
    before the label is, only you can say.

    An *id* is a whole number that counts rows, in order or in even steps, or text that differs in nearly every row.

    Examples
    --------
    >>> import classwise as cw, pandas as pd
    >>> table = pd.DataFrame({"Id": range(1, 61), "size": [(7 * i) % 61 / 2 for i in range(60)],
    ...                       "name": ["ab"[i % 5 % 2] for i in range(60)], "y": ["no", "no", "yes"] * 20})
    >>> cw.examine(table.drop(columns="y"), table["y"])
    60 rows, 3 columns; y has 2 classes: no (40) and yes (20).
    <BLANKLINE>
    Problems
    - Id is a row number or an id: it tells rows apart, not classes.
      To leave it out: X.drop(columns=['Id'])
    <BLANKLINE>
    column  taken for  missing  why
    Id      number              whole numbers, 1 to 60, 60 different
    size    number              numbers, 0 to 30, 60 different
    name    category            text, 2 levels: a and b
    """
    sheet = open_sheet(X, y, target, weights, sample_weight, columns, families, missing, int(random_state or 0))
    findings = _findings(sheet)
    return Examination(
        target=sheet.target,
        rows=sheet.total,
        examined=len(sheet),
        labels=tuple(sheet.labels.tolist()),
        class_rows=tuple(map(int, sheet.class_rows)),
        columns=tuple(_line(column, len(sheet)) for column in sheet.columns),
        findings=tuple(sorted(findings, key=_importance)),
    )


def _findings(sheet: Sheet) -> list[Remark]:
    checks = CHECKS if row_checks.holds_classes(sheet) else [check for check in CHECKS if check not in OF_CLASSES]
    findings = []
    for check in checks:
        for remark in list(check(sheet)):
            findings.append(remark)
            sheet = sheet.after(remark)
    return findings


def _importance(remark: Remark) -> tuple[bool, int]:
    """Problems before notes; else in the order of the checks."""
    place = FIRST.index(remark.kind) if remark.kind in FIRST else len(FIRST)
    return remark.severity != PROBLEM, place


# A line for each column -----------------------------------------------------------------------------------------------


def _line(column: SheetColumn, rows: int) -> ColumnLine:
    if column.family is None:
        return ColumnLine(column.key, column.type, "nothing", 0.0, f"{column.type}, which models do not take")
    why = f"asked for; {_held(column)}" if column.asked else _held(column)
    return ColumnLine(column.key, column.type, column.family.kind, 1 - column.present / rows, why)


def _held(column: SheetColumn) -> str:
    """What a column holds, in words."""
    if not column.present:
        return "no value at all"
    if column.is_number:
        kind = "whole numbers" if column.is_whole else "numbers"
        kind = kind if column.conversion is None else column.conversion.note
        least, most = (_shown(level, column) for level in (column.levels[0], column.levels[-1]))
        if column.distinct == 1:
            return f"{kind}, always {least}"
        return f"{kind}, {least} to {most}, {column.distinct} different"
    kind = "text" if column.is_text else "yes and no" if column.family and column.family.kind == "yes/no" else "codes"
    order = np.argsort(-column.counts, kind="stable")[:4]
    more = [f"{column.distinct - 4} more"] if column.distinct > 4 else []
    shown = sorted(map(str, column.levels[order])) if not more else list(map(str, column.levels[order]))
    return f"{kind}, {counted(column.distinct, 'level')}: {listed([*shown, *more])}"


def _shown(value: Any, column: SheetColumn) -> str:
    if column.conversion is not None and column.is_moment:
        return str(column.conversion.value(float(value)))
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else number(float(value))
