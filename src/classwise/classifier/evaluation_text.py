"""An evaluation in words and tables: a plain answer, then the measures, each class, and what was taken for what."""

from html import escape
from math import ceil, log10
from typing import TYPE_CHECKING

from classwise import limits
from classwise.tabular import Cells, aligned, count_text, html_table

if TYPE_CHECKING:
    from classwise.classifier.evaluation import Evaluation

# What tables call the measures.
NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "brier": "Brier score",
    "auc": "AUC",
    "calibration_error": "calibration error",
}

# Numbers below this are not seen in a table of four digits.
ROUNDING = 5e-5

# The most digits of percents.
MOST_DIGITS = 6


def text(evaluation: "Evaluation") -> str:
    """The whole answer as plain text."""
    tables = ["\n".join(aligned(cells)) for cells in _tables(evaluation)]
    return "\n\n".join([summary(evaluation), *tables, *_notes(evaluation)])


def html(evaluation: "Evaluation") -> str:
    """The same as HTML."""
    first, *notes = (f"<p>{escape(text)}</p>" for text in (summary(evaluation), *_notes(evaluation)))
    return "".join([first, *(html_table(cells, "<") for cells in _tables(evaluation)), *notes])


def summary(evaluation: "Evaluation") -> str:
    """One sentence: how many rows of a hundred are decided rightly."""
    if not evaluation.weight:
        return "There are no rows."
    right, low, high = percents(evaluation.accuracy, *evaluation.accuracy_interval)
    return f"Right on {right} of 100 rows (95 % interval {low} to {high}), {count_text(evaluation.weight)} rows."


def percents(share: float, low: float, high: float) -> list[str]:
    """A share and its interval as percent, with the digits that the interval warrants; only 1 is shown as 100.

    >>> percents(0.9333, 0.89, 0.96), percents(0.99842, 0.9980, 0.9987), percents(0.995, 0.97, 0.999)
    (['93', '89', '96'], ['99.84', '99.80', '99.87'], ['99.5', '97.0', '99.9'])
    """
    digits = max(0, ceil(-log10(50 * (high - low))))
    while digits < MOST_DIGITS and share < 1 and round(100 * share, digits) == 100:
        digits += 1
    return ["100" if value == 1 else f"{100 * value:.{digits}f}" for value in (share, low, high)]


def _tables(evaluation: "Evaluation") -> list[Cells]:
    """The measures, and by class where classes are few enough."""
    if len(evaluation.labels) > limits.MOST_CLASSES_PRINTED:
        return [measure_cells(evaluation)]
    return [measure_cells(evaluation), evaluation.by_class().cells(), evaluation.confusion_table().cells()]


def measure_cells(evaluation: "Evaluation") -> Cells:
    """The measures with their intervals; header first."""
    intervals = {"accuracy": evaluation.accuracy_interval, "log_loss": evaluation.log_loss_interval}
    shown = {name: f"{low:.4f} to {high:.4f}" for name, (low, high) in intervals.items() if low == low}
    known = {name: value for name, value in evaluation.measures().items() if name != "auc" or evaluation.ranks}
    rows = ((NAMES[name], f"{value:.4f}", shown.get(name, "")) for name, value in known.items())
    return [("measure", "value", "95 % interval"), *rows]


def auc_note(evaluation: "Evaluation") -> list[str]:
    """A sentence, where the AUC is not exact."""
    if evaluation.auc_bound >= ROUNDING:
        return [f"The AUC was counted in fine bins: it is within {evaluation.auc_bound:.1g} of the exact one."]
    return []


def _notes(evaluation: "Evaluation") -> list[str]:
    notes = auc_note(evaluation)
    if len(evaluation.labels) > limits.MOST_CLASSES_PRINTED:
        notes.append(f"by_class() and confusion_table() are the tables of all {len(evaluation.labels)} classes.")
    return notes
