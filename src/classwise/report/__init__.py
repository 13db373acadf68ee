"""A comparison or an evaluation as a page: one HTML file with its pictures, to be read without a network."""

from pathlib import Path
from typing import Any

from classwise.classifier.evaluation import Evaluation
from classwise.comparison import Comparison
from classwise.errors import ClasswiseError
from classwise.report.page import page
from classwise.report.sections import SECTIONS, ReportData, evaluation_sections
from classwise.rows.sinks import writing

__all__ = ["ReportData", "report_html", "write_evaluation", "write_report"]


def write_report(
    comparison: Comparison,
    X: Any,
    y: Any,
    path: str | Path,
    *,
    sample_weight: Any = None,
    families: Any = "auto",
    source: str | None = None,
    target: str | None = None,
    seed: int | None = None,
    model: str | None = None,
) -> None:
    """Write a comparison of rows X (n, p) with labels y (n,) as one HTML file, which needs no network.

    It has the columns, the ranking, reliability, confusion, Fisher's projection, boundaries, the advice of `diagnose`,
    and how to use the winner. A file of that name is replaced when the report is complete.

    sample_weight, families: as they were given to `compare`. source, target: what to call the rows and their labels;
    seed: the random_state of the comparison; model: the file in which the winner was saved.

    >>> import classwise as cw, pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> cw.write_report(cw.compare(X, y, references=False), X, y, path, source="iris")
    >>> "<title>Which classifier for iris?</title>" in path.read_text()
    True
    """
    if comparison.streamed:
        raise ClasswiseError(
            "A report draws single rows, and this comparison was of a stream, of which it keeps none; compare a sample "
            "of the rows as a table, and report on that."
        )
    study = ReportData(comparison, X, y, sample_weight, families, source, target, seed, model)
    with writing(str(path), force=True) as file:
        file.write(report_html(study).encode())


def report_html(study: ReportData) -> str:
    """The page as text."""
    title = f"Which classifier for {study.target or study.source or 'these rows'}?"
    return page(title, [make(study) for make in SECTIONS])


def write_evaluation(evaluation: Evaluation, path: str | Path, title: str) -> None:
    """Write an evaluation as one HTML file, with its tables, reliability and confusion."""
    with writing(str(path), force=True) as file:
        file.write(page(title, evaluation_sections(evaluation)).encode())
