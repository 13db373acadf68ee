"""A comparison or an evaluation as one HTML file with pictures, which needs no network."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from classwise import limits
from classwise.classifier.evaluation import Evaluation
from classwise.comparison import Comparison
from classwise.engines.rows import open_rows
from classwise.errors import ClasswiseError
from classwise.report.page import page
from classwise.report.quality import evaluation_sections
from classwise.report.report_data import ReportData
from classwise.report.sections import SECTIONS
from classwise.rows.sinks import writing

__all__ = ["ReportData", "report_html", "write_evaluation", "write_report"]


def write_report(
    comparison: Comparison,
    X: Any,
    y: Any = None,
    path: str | Path = "report.html",
    *,
    sample_weight: Any = None,
    families: Any = "auto",
    source: str | None = None,
    target: str | None = None,
    seed: int | None = None,
    model: str | None = None,
    examination: Any = None,
    importance: Any = None,
    advice: Sequence[str] | None = None,
    command: str = "",
) -> None:
    """Write a comparison of rows X (n, p) with labels y (n,) as one HTML file, which needs no network.

    The report says which model to trust, which columns matter, how all models did, why three rows are decided as they
    are, where the winner errs, how well it is calibrated, and how it separates the classes. It has a glossary. An
    existing file is replaced when the report is complete.

    After a comparison of a stream, X may be its source again, with target, and with the name of the weights' column as
    sample_weight. The report then draws a sample of rows for pictures and advice. Or give your own sample as X and y.

    Parameters
    ----------
    comparison : Comparison
        The result of `compare`.
    X : array or table of shape (n, p)
        The rows of the comparison.
    y : array of shape (n,), optional
        Their labels.
    path : str or path, default="report.html"
        The path of the HTML file.
    sample_weight : array of shape (n,), optional
        As given to `compare`.
    families : str or mapping from column to family, default="auto"
        As given to `compare`.
    source, target : str, optional
        The names of the rows and of their labels in the report.
    seed : int, optional
        The random_state of the comparison.
    model : str, optional
        The file in which the winner was saved.
    examination : Examination, optional
        The result of `examine`.
    importance : Importance, optional
        The result of `held_out_importance`; computed if None.
    advice : sequence of str, optional
        Sentences to show instead of those of `diagnose`.
    command : str, default=""
        The shell command that made the report.

    Examples
    --------
    >>> import classwise as cw, pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> cw.write_report(cw.compare(X, y, references=False), X, y, path, source="iris")
    >>> "<title>Which classifier for iris?</title>" in path.read_text()
    True
    """
    names = (source, target, seed, model, examination, importance, advice, command)
    study = ReportData(comparison, X, y, sample_weight, families, *names)
    if y is None:
        study = _sampled(study)
    with writing(str(path), force=True) as file:
        file.write(report_html(study).encode())


def _sampled(study: ReportData) -> ReportData:
    """The data of the report with rows drawn from the source, if y is not given."""
    if study.target is None:
        raise ClasswiseError("A report needs the labels: give y, or target='...' with a source of rows.")
    columns = list(study.best.feature_names_in_)
    options = {"target": study.target, "columns": columns, "weights": study.weights, "families": study.families}
    X, y, weights = open_rows(study.X, **options).sample(limits.REPORT_SAMPLE, seed=study.seed or 0)
    return replace(study, X=X, y=y, weights=None if study.weights is None else weights)


def report_html(study: ReportData) -> str:
    """The report as HTML text."""
    title = f"Which classifier for {study.target or study.source or 'these rows'}?"
    of = f" of {study.source}" if study.source else ""
    below = f"{study.comparison.rows:,} rows{of}, compared by classwise."
    return page(title, below, [made for make in SECTIONS if (made := make(study))])


def write_evaluation(evaluation: Evaluation, path: str | Path, title: str, facts: dict[str, str] | None = None) -> None:
    """Write an evaluation as one HTML file, with its tables, reliability and confusion.

    facts: to show on the page, by name, such as {"model": "model.cw"}.
    """
    below = f"{evaluation.weight:,.10g} rows, evaluated by classwise."
    with writing(str(path), force=True) as file:
        file.write(page(title, below, evaluation_sections(evaluation, facts or {})).encode())
