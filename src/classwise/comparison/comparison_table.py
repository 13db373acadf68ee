"""The table of a comparison: text, colors on a terminal, HTML in a notebook, a frame for code."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from shutil import get_terminal_size
from typing import Any

from classwise.classifier.evaluation import Estimate
from classwise.tabular import aligned, data_frame, html_table, rich_table

# How lines look on a terminal, by their notes.
STYLES = {"best": "bold green", "better": "bold", "tie": ""}


@dataclass(frozen=True)
class ComparisonLine:
    """One model. behind: how much larger its log loss is than that of the best member of the family."""

    name: str
    kind: str
    error: Estimate | None = None
    log_loss: Estimate | None = None
    calibrated: Estimate | None = None
    power: float | None = None
    brier: Estimate | None = None
    calibration_error: Estimate | None = None
    behind: Estimate | None = None
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
    """Lines in the order of their log loss, and what they say in sentences."""

    lines: tuple[ComparisonLine, ...]
    sentences: list[str]
    backend: Any = None

    def cells(self, width: int | None = None) -> list[list[str]]:
        """The table as text, header first; of no more than this width, if the model's names leave room."""
        columns = [[heading, *map(show, self.lines)] for heading, show in COLUMNS.items()]
        shown = {column[0]: column for column in columns if any(column[1:])}
        for heading in EXPENDABLE:
            if width is not None and sum(max(map(len, column)) + 2 for column in shown.values()) > width:
                shown.pop(heading, None)
        return [list(row) for row in zip(*shown.values(), strict=True)]

    def text(self, width: int | None = None) -> str:
        """Plain text, of no more than this width, if the model's names leave room."""
        cells, _ = self._fitted(width)
        return "\n".join([*aligned(cells), "", *self.failures(), *self.footer(cells[0])])

    def _fitted(self, width: int | None = None) -> tuple[list[list[str]], list[ComparisonLine]]:
        """The cells of models that could be fitted, below the header, and their lines."""
        header, *rows = self.cells(width)
        fitted = [(row, line) for row, line in zip(rows, self.lines, strict=True) if line.log_loss]
        return [header, *(row for row, _ in fitted)], [line for _, line in fitted]

    def failures(self) -> list[str]:
        """Models that could not be fitted, and why."""
        return [f"{line.name}: {line.reason}" for line in self.lines if line.reason]

    def footer(self, shown: Sequence[str] = ("evidence",)) -> list[str]:
        """Sentences, and what the signs mean."""
        by_bic = "evidence" in shown and any(line.evidence == "BIC" for line in self.lines)
        return [
            *self.sentences,
            "± is half of a 95 % interval over folds; of the difference, its standard error."
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
        """For consoles of rich's: the best in bold, ties in plain, the rest dim; what does not fit is left out."""
        from rich.text import Text

        cells, lines = self._fitted(options.max_width)
        styles = [STYLES.get(line.note, "dim") for line in lines]
        sides = "<" + "".join(">" if heading else "<" for heading in cells[0][1:])  # notes have no heading
        yield rich_table(cells, sides, styles, no_wrap=True)
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
        for name in ("error", "log_loss", "calibrated", "brier", "calibration_error", "behind"):
            estimates = [getattr(line, name) for line in self.lines]
            for i, part in enumerate(("", "_se", "_low", "_high")):
                columns[name + part] = [None if e is None else float(e[i]) for e in estimates]
        for name in ("power", "free_parameters", "log_evidence", "evidence", "seconds", "note", "reason"):
            columns[name] = [getattr(line, name) for line in self.lines]
        return columns

    def frame(self, backend: str | None = None) -> Any:
        """The numbers as a data frame: of the library the rows came in, of pandas, or of the one named."""
        return data_frame(self.records(), backend or self.backend)


def _interval(estimate: Estimate | None, factor: float = 1.0) -> str:
    if estimate is None:
        return ""
    value, reach = factor * estimate.value, factor * (estimate.high - estimate.value)
    digits = 1 if factor > 1 else 3
    return f"{value:.{digits}f} ± {reach:.{digits}f}"


def _difference(behind: Estimate | None) -> str:
    if behind is None or (behind.value == 0 and behind.error == 0):
        return ""
    return f"{behind.value:+.3f} ± {behind.error:.3f}"


def _evidence(line: ComparisonLine) -> str:
    return "" if line.log_evidence is None else f"{line.log_evidence:,.0f}{'' if line.evidence == 'exact' else '*'}"


def _duration(line: ComparisonLine) -> str:
    if line.log_loss is None:
        return ""
    return f"{1e3 * line.seconds:.0f} ms" if line.seconds < 1 else f"{line.seconds:.1f} s"


COLUMNS: dict[str, Callable[[ComparisonLine], str]] = {
    "model": lambda line: line.name,
    "error %": lambda line: _interval(line.error, 100),
    "log loss": lambda line: _interval(line.log_loss),
    "calibrated": lambda line: _interval(line.calibrated),
    "power": lambda line: "" if line.power is None else f"{line.power:.2f}",
    "behind": lambda line: _difference(line.behind),
    "": lambda line: line.note,
    "Brier": lambda line: _interval(line.brier),
    "calibration": lambda line: _interval(line.calibration_error),
    "parameters": lambda line: "" if line.free_parameters is None else f"{line.free_parameters:,}",
    "evidence": _evidence,
    "time": _duration,
}

# Where the terminal is narrow, these go first.
EXPENDABLE = ("calibration", "Brier", "evidence", "time", "parameters", "power", "error %")
