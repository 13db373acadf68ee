"""The table of a comparison: text, colors on a terminal, HTML in a notebook, or a data frame."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any

from classwise.classifier.evaluation import Estimate
from classwise.tabular import Cells, aligned, data_frame, html_table, rich_table

# The style of lines on a terminal, by their notes.
STYLES = {"best": "bold green", "better": "bold", "as good": ""}


@dataclass(frozen=True)
class ComparisonLine:
    """One model. above_best: how much its log loss, or other ranking measure, exceeds that of the best."""

    name: str
    kind: str
    accuracy: Estimate | None = None
    error: Estimate | None = None
    log_loss: Estimate | None = None
    calibrated: Estimate | None = None
    temperature: float | None = None
    brier: Estimate | None = None
    calibration_error: Estimate | None = None
    cost: Estimate | None = None
    above_best: Estimate | None = None
    free_parameters: int | None = None
    log_evidence: float | None = None
    evidence: str = ""
    seconds: float = 0.0
    note: str = ""
    reason: str = ""
    uses_power: bool = False

    @property
    def final(self) -> Estimate | None:
        """The log loss that the line is ranked by."""
        return self.calibrated if self.uses_power else self.log_loss


@dataclass(frozen=True, eq=False)
class ComparisonTable:
    """All models of a comparison, best first, with sentences that sum up the result."""

    lines: tuple[ComparisonLine, ...]
    sentences: list[str]
    backend: Any = None

    def cells(self, width: int | None = None) -> list[list[str]]:
        """The table as text, header first; columns are dropped until it fits this width, as far as possible."""
        columns = [[heading, *map(show, self.lines)] for heading, show in COLUMNS.items()]
        shown = {column[0]: column for column in columns if any(column[1:])}
        for heading in EXPENDABLE:
            if width is not None and sum(max(map(len, column)) + 2 for column in shown.values()) > width:
                shown.pop(heading, None)
        return [list(row) for row in zip(*shown.values(), strict=True)]

    def text(self, width: int | None = None, shell: bool = False) -> str:
        """Plain text of at most this width, unless names are too long; shell: whether to avoid Python terms."""
        cells, _ = self._fitted(width)
        failures = [note.split(". ")[0].rstrip(".") + "." if shell else note for note in self.failures()]
        lines = [line for note in [*failures, *self.footer(cells[0])] for line in wrap(note, width or len(note) or 1)]
        return "\n".join([*aligned(cells, self._sides(cells)), "", *lines])

    @staticmethod
    def _sides(cells: Cells) -> str:
        """Alignment: numbers to the right; names, and notes, which have no heading, to the left."""
        return "<" + "".join(">" if heading else "<" for heading in cells[0][1:])

    def _fitted(self, width: int | None = None) -> tuple[list[list[str]], list[ComparisonLine]]:
        """The header and the cells of the models that were fitted, and their lines."""
        header, *rows = self.cells(width)
        fitted = [(row, line) for row, line in zip(rows, self.lines, strict=True) if line.log_loss]
        return [header, *(row for row, _ in fitted)], [line for _, line in fitted]

    def failures(self) -> list[str]:
        """Models that could not be fitted, and why."""
        return [f"{line.name}: {line.reason}" for line in self.lines if line.reason]

    def footer(self, shown: Sequence[str] = ("evidence",)) -> list[str]:
        """The sentences, and an explanation of the signs."""
        by_bic = "evidence" in shown and any(line.evidence == "BIC" for line in self.lines)
        return [
            *self.sentences,
            "± is half of a 95 % interval over folds; of the difference to the best, its standard error."
            + (" * evidence by BIC." if by_bic else ""),
        ]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        if sys.stdout is None or not sys.stdout.isatty():
            return self.text()
        if not find_spec("rich"):
            return self.text(get_terminal_size().columns)
        from rich.console import Console

        console = Console()
        with console.capture() as captured:
            console.print(self)
        return captured.get().rstrip("\n")

    def __rich_console__(self, console: Any, options: Any) -> Any:
        """For rich consoles: the best in bold, ties in plain, the rest dim; columns that do not fit are left out."""
        from rich.text import Text

        cells, lines = self._fitted(options.max_width)
        styles = [STYLES.get(line.note, "dim") for line in lines]
        yield rich_table(cells, self._sides(cells), styles, overflow="fold")
        yield Text("")
        yield from (Text(failure, style="yellow") for failure in self.failures())
        yield from map(Text, self.footer(cells[0]))

    def _repr_html_(self) -> str:
        cells, lines = self._fitted()
        bold = {True: "; font-weight: bold", False: ""}
        styles = [f"style='white-space: nowrap{bold[line.note == 'best']}'" for line in lines]
        foot = "<br>".join(map(escape, [*self.failures(), *self.footer()]))
        return f"{html_table(cells, rows=styles)}<p>{foot}</p>"

    def records(self) -> dict[str, list[Any]]:
        """Columns of plain numbers: each measure with its standard error, low and high."""
        columns: dict[str, list[Any]] = {}
        for name in ("name", "kind"):
            columns[name] = [getattr(line, name) for line in self.lines]
        for name in ESTIMATES:
            estimates = [getattr(line, name) for line in self.lines]
            for i, part in enumerate(("", "_se", "_low", "_high")):
                columns[name + part] = [None if e is None else float(e[i]) for e in estimates]
        for name in ("temperature", "free_parameters", "log_evidence", "evidence", "seconds", "note", "reason"):
            columns[name] = [getattr(line, name) for line in self.lines]
        return columns

    def frame(self, backend: str | None = None) -> Any:
        """The numbers as a data frame of the named library; by default that of the rows, or pandas."""
        return data_frame(self.records(), backend or self.backend)


def _interval(estimate: Estimate | None, factor: float = 1.0) -> str:
    if estimate is None:
        return ""
    value, reach = factor * estimate.value, factor * (estimate.high - estimate.value)
    digits = 1 if factor > 1 else 3
    return f"{value:.{digits}f} ± {reach:.{digits}f}"


def _difference(above: Estimate | None) -> str:
    if above is None or (above.value == 0 and above.error == 0):
        return ""
    return f"{above.value:+.3f} ± {above.error:.3f}"


def _evidence(line: ComparisonLine) -> str:
    return "" if line.log_evidence is None else f"{line.log_evidence:,.0f}{'' if line.evidence == 'exact' else '*'}"


def _duration(line: ComparisonLine) -> str:
    if line.log_loss is None:
        return ""
    return f"{1e3 * line.seconds:.0f} ms" if line.seconds < 1 else f"{line.seconds:.1f} s"


COLUMNS: dict[str, Callable[[ComparisonLine], str]] = {
    "model": lambda line: line.name,
    "accuracy %": lambda line: _interval(line.accuracy, 100),
    "log loss": lambda line: _interval(line.final),
    "": lambda line: line.note,
    "above the best": lambda line: _difference(line.above_best),
    "cost": lambda line: _interval(line.cost),
    "uncalibrated": lambda line: _interval(line.log_loss if line.uses_power else None),
    "temperature": lambda line: "" if line.temperature is None else f"{line.temperature:.2f}",
    "Brier": lambda line: _interval(line.brier),
    "calibration": lambda line: _interval(line.calibration_error),
    "parameters": lambda line: "" if line.free_parameters is None else f"{line.free_parameters:,}",
    "evidence": _evidence,
    "time": _duration,
}

# The measures that have a standard error and an interval.
ESTIMATES = ("accuracy", "error", "log_loss", "calibrated", "brier", "calibration_error", "cost", "above_best")

# The columns to drop on a narrow terminal, in this order. Names, accuracy and log loss always stay.
EXPENDABLE = (
    "calibration",
    "Brier",
    "evidence",
    "time",
    "uncalibrated",
    "parameters",
    "temperature",
    "cost",
    "above the best",
)
