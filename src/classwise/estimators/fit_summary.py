"""The summary of a fitted model, for print and notebooks: m.summary()."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from classwise import limits
from classwise.arrays import Array
from classwise.classifier.boundary import column_names
from classwise.tabular import Cells, aligned, html_table

if TYPE_CHECKING:
    from classwise.estimators.answers import Answers
    from classwise.estimators.discriminants import DiscriminantAnswers
    from classwise.estimators.generative import GenerativeAnswers

# The note of a column that was left out begins with this.
LEFT_OUT = "left out: "


@dataclass(frozen=True)
class SummaryTable:
    """One table. cells: header first, as in `tabular`; notes: lines below the table, such as what was cut."""

    title: str
    cells: Cells
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([self.title, *aligned(self.cells), *self.notes])

    def html(self) -> str:
        """The table as HTML, for a notebook."""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p><b>{escape(self.title)}</b></p>{html_table(self.cells)}{notes}"


@dataclass(frozen=True, repr=False)
class FitSummary:
    """Prints as text, and as HTML in a notebook. tables: first of the classes, then of the columns."""

    heading: str
    tables: tuple[SummaryTable, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n\n".join([self.heading, *map(str, self.tables), *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        lines = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<p>{escape(self.heading)}</p>{''.join(table.html() for table in self.tables)}{lines}"


def fit_summary(model: "Answers", tables: Sequence[SummaryTable]) -> FitSummary:
    """The table of the classes, the given tables up to a limit, and notes on columns that were left out."""
    schema, learned = model._fitted_model.schema, model._weight_learned()
    counts = [] if learned is None else [_counted(learned[0], "row")]
    counts += [_counted(len(model.classes_), "class"), _counted(len(schema), "column")]
    shown = tables[: limits.SUMMARY_LINES]
    notes = [*_more(len(tables) - len(shown), "column"), *_calibration(model), *_left_out(model)]
    return FitSummary(f"{model!r}\n{', '.join(counts)}", (_classes(model), *shown), tuple(notes))


def means_table(model: "DiscriminantAnswers") -> SummaryTable:
    """The means of the Gaussian columns, or the locations of Student-t ones."""
    title = "Locations of Student-t classes" if model._is_bayes else "Means"
    return _table(title, _gaussian_names(model), _labels(model), model.means_.T, ("column", "class"))


def directions_table(model: "DiscriminantAnswers", directions: Array, ratios: Array | None) -> SummaryTable:
    """Fisher's directions (p, r) as R prints them, with the ratio of each (r,), if known."""
    names = [f"LD{i}" for i in range(1, directions.shape[1] + 1)]
    title, kinds = "Coefficients of linear discriminants", ("column", "discriminant")
    table = _table(title, _gaussian_names(model), names, directions, kinds)
    if ratios is None:
        return table
    shares = [f"{name} {ratio:.4f}" for name, ratio in zip(names, ratios, strict=True)]
    note = f"Proportion of trace: {', '.join(shares[: limits.SUMMARY_COLUMNS])}"
    return replace(table, notes=(*table.notes, note))


def column_tables(model: "GenerativeAnswers", but: Collection[int] = ()) -> list[SummaryTable]:
    """A table of estimates for each column; but: positions of columns to leave out."""
    columns = zip(_names(model), model.families_.values(), model.parameters_.values(), strict=True)
    kept = [column for j, column in enumerate(columns) if j not in but and column[2]]
    return [
        _table(
            f"{name} ({family})", list(map(str, of)), _labels(model), np.array(list(of.values())), ("level", "class")
        )
        for name, family, of in kept
    ]


def cut_table(title: str, cells: Cells) -> SummaryTable:
    """A table of at most SUMMARY_LINES lines, with a note on what was cut."""
    return SummaryTable(
        title, cells[: limits.SUMMARY_LINES + 1], tuple(_more(len(cells) - 1 - limits.SUMMARY_LINES, "line"))
    )


def _classes(model: "Answers") -> SummaryTable:
    """Rows and prior of each class, and the log determinant of its covariance where it has its own."""
    columns, learned = {"prior": model.priors_}, model._weight_learned()
    if learned is not None:
        rows, weight = learned
        columns = {"rows" if weight.sum() == rows else "weight": weight} | columns
    determinants = model._log_determinants()
    if determinants is not None:
        columns["log|C|"] = determinants
    return _table("Classes", _labels(model), list(columns), np.array(list(columns.values())).T, ("class", ""))


def _table(
    title: str, down: Sequence[str], across: Sequence[str], values: Array, kinds: tuple[str, str]
) -> SummaryTable:
    """A table of values (lines, columns) with names down and across, cut to size; kinds: what the notes count."""
    kept = values[: limits.SUMMARY_LINES, : limits.SUMMARY_COLUMNS]
    lines, columns = kept.shape
    body = [(name, *map(_shown, of)) for name, of in zip(down, kept.tolist(), strict=False)]
    cut = (*_more(len(down) - lines, kinds[0]), *_more(len(across) - columns, kinds[1]))
    return SummaryTable(title, [("", *across[:columns]), *body], cut)


def _names(model: "Answers") -> tuple[str, ...]:
    schema = model._fitted_model.schema
    return column_names(schema, list(range(len(schema))))


def _gaussian_names(model: "DiscriminantAnswers") -> tuple[str, ...]:
    """The names of the Gaussian columns that were not left out."""
    return column_names(model.model_.schema, model._numbers_block()[0].tolist())


def _labels(model: "Answers") -> list[str]:
    return [str(label) for label in model.classes_.tolist()]


def _shown(value: float) -> str:
    """Five significant digits, and all digits before the decimal point."""
    return f"{value:.0f}" if 1e5 <= abs(value) < 1e12 else f"{value:.5g}"


def _counted(count: int, kind: str) -> str:
    """
    >>> _counted(3, "class"), _counted(1, "row")
    ('3 classes', '1 row')
    """
    return f"{count} {kind}" if count == 1 else f"{count} {kind}{'es' if kind.endswith('s') else 's'}"


def _more(count: int, kind: str) -> list[str]:
    return [f"... and {count} more {_counted(count, kind).partition(' ')[2]}"] if count > 0 else []


def _calibration(model: "Answers") -> list[str]:
    calibration = getattr(model._classifier, "calibration", None)
    return [] if calibration is None else [f"Posteriors are raised to the power {calibration.power:.4g}."]


def left_out(model: "Answers") -> dict[int, str]:
    """The notes of columns that were left out, by position."""
    return {j: note for j, note in model._fitted_model.notes.items() if note.startswith(LEFT_OUT)}


def _left_out(model: "Answers") -> list[str]:
    """A note that names the columns that were left out, and why."""
    names = [f"{_names(model)[j]} ({note.removeprefix(LEFT_OUT)})" for j, note in left_out(model).items()]
    more = _more(len(names) - limits.SUMMARY_LINES, "column")
    return ["Left out: " + "; ".join(names[: limits.SUMMARY_LINES] + more)] if names else []
