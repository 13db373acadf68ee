"""The sections of a report: the data, the ranking, reliability, errors, separation, advice, use, provenance."""

import platform
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from itertools import combinations
from shlex import quote
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import _safe_indexing

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.classifier.evaluation import Evaluation, merged
from classwise.comparison import Comparison
from classwise.diagnostics import Diagnosis, diagnose
from classwise.errors import ClasswiseError
from classwise.plot import plot_confusion, plot_projection, plot_regions
from classwise.plot.performance import draw_reliability
from classwise.plot.view import look
from classwise.report.page import Markup, code, definitions, draw, figure, items, paragraph, section, table
from classwise.rows.codes import is_missing


@dataclass(frozen=True, eq=False)
class ReportData:
    """What a report is made from: a comparison, and the rows X (n, p) and labels y (n,) that it compared.

    weights, families: as given to `compare`; source: where the rows came from; target: the name of the labels; seed: of
    the folds; model: the file in which the best model was saved.
    """

    comparison: Comparison
    X: Any
    y: Any
    weights: Any = None
    families: Any = "auto"
    source: str | None = None
    target: str | None = None
    seed: int | None = None
    model: str | None = None

    @cached_property
    def labels(self) -> Labels:
        return np.asarray(self.y)

    @cached_property
    def best(self) -> Any:
        with _quiet():
            return self.comparison.best

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation of the winner on rows held out."""
        return merged(self.comparison.winner.final)

    @cached_property
    def drawn(self) -> tuple[Any, Labels]:
        """Rows to draw, and their labels."""
        labeled = np.flatnonzero([not is_missing(label) for label in self.labels.tolist()])
        if len(labeled) > limits.REPORT_ROWS:
            labeled = np.sort(np.random.default_rng(0).choice(labeled, limits.REPORT_ROWS, replace=False))
        return _safe_indexing(self.X, labeled), self.labels[labeled]

    @cached_property
    def shown(self) -> str:
        """A sentence that says so, if not all rows are drawn."""
        return (
            f" {len(self.drawn[1])} of {len(self.labels)} rows are shown."
            if len(self.labels) > limits.REPORT_ROWS
            else ""
        )

    @cached_property
    def diagnosis(self) -> Diagnosis | str:
        """The diagnosis of the rows, or the reason why there is none."""
        try:
            with _quiet():
                return diagnose(self.X, self.y, self.weights, families=self.families)
        except ClasswiseError as problem:
            return str(problem)

    @cached_property
    def projector(self) -> Any | None:
        """The LDA that was compared, if there was one: the plain one, or else one that was shrunk."""
        for name in ("LDA", "LDA, OAS", "LDA, Ledoit-Wolf"):
            trials = [trial for trial in self.comparison.members if trial.name == name]
            if trials:
                with _quiet():
                    return self.comparison.fitted(trials[0])
        return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings: they were shown when the rows were compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# The two columns that tell most ---------------------------------------------------------------------------------------

# Pairs are tried among so many columns, those that tell most by themselves.
TRIED = 6

# A category with more levels than this makes no picture.
MOST_LEVELS = 8


def best_pair(m: Any, X: Any, y: Labels) -> list[Any] | None:
    """The two columns in which the model, with all others integrated out, has the least log loss.

    By name or position; None if it has fewer columns that can be drawn.
    """
    losses = {column: _loss(m, X, y, [column]) for column in _drawable(m)}
    tried = sorted(losses, key=lambda column: losses[column])[:TRIED]
    pairs = list(combinations(tried, 2))
    if not pairs:
        return None
    return list(min(pairs, key=lambda pair: _loss(m, X, y, list(pair))))


def _drawable(m: Any) -> list[Any]:
    """The columns of numbers; categories of few levels too, if there are fewer than two numbers."""
    used = [column for column in m.schema_ if not column.note.startswith("left out")]
    numbers = [column.name for column in used if column.levels is None]
    return numbers if len(numbers) > 1 else [c.name for c in used if (c.levels or 0) <= MOST_LEVELS]


def _loss(m: Any, X: Any, y: Labels, columns: list[Any]) -> float:
    """The log loss on rows that have values in these columns; infinity if none has."""
    view = look(m, columns, None, len(columns))
    values = view.values(X)
    there = np.isfinite(values).all(axis=1)
    codes = np.searchsorted(m.classes_, y[there])
    return _log_loss(view.classifier.announced(view.rows(values[there])), codes) if there.any() else np.inf


def _log_loss(scores: Array, codes: Any) -> float:
    own = scores[codes, np.arange(len(codes))]
    return float(np.mean(logsumexp(scores, axis=0) - own))


# Sections -------------------------------------------------------------------------------------------------------------

# A confusion of more classes than this is told as a list of the most frequent mistakes.
MOST_CLASSES = 15
MISTAKES = 10


def data(study: ReportData) -> Markup:
    """Rows, classes, and what each column was taken for."""
    comparison = study.comparison
    weight = np.bincount(comparison.codes, minlength=len(comparison.labels))
    shares = [f"{label} {count / weight.sum():.1%}" for label, count in zip(comparison.labels, weight, strict=True)]
    of = f" of {study.source}" if study.source else ""
    called = f" of {study.target}" if study.target else ""
    sentence = f"{len(comparison.codes)} rows{of}, {len(shares)} classes{called}: {_some(shares, 12)}."
    columns = study.best.schema_
    return section("data", "The data", paragraph(sentence), table(columns.cells(), columns.sides))


def ranking(study: ReportData) -> Markup:
    """Which model is best, by how much, and how certain that is."""
    shown = study.comparison.table()
    header, *rows = map(_note_second, shown.cells(), [shown.cells()[0]] * (len(shown.lines) + 1))
    ranked = [(row, line.note) for row, line in zip(rows, shown.lines, strict=True) if line.log_loss]
    return section(
        "ranking",
        "Which model to trust",
        *(paragraph(sentence, "lead" if i == 0 else "") for i, sentence in enumerate(shown.sentences)),
        table([header, *(row for row, _ in ranked)], "<<", [note for _, note in ranked]),
        paragraph(NOTES, "small"),
        items(shown.failures()) if shown.failures() else "",
        _pictured(
            study.comparison.plot, "Log loss of every model on rows held out, with 95 % intervals; less is better."
        ),
    )


def _note_second(row: list[str], header: list[str]) -> list[str]:
    """Move the note (best, tie), the column without a heading, to the second place."""
    order = sorted(range(len(row)), key=lambda i: (i > 0, header[i] != ""))
    return [row[i] for i in order]


NOTES = (
    "Log loss is minus the mean logarithm of the probability given to the true class, on rows held out. "
    "Calibrated is the same with posteriors raised to the power that suits them. Behind is the difference to the best "
    "member of the family, with its standard error; tie marks those within one. "
    "± is half of a 95 % interval over folds. * evidence by BIC."
)


def reliability(study: ReportData) -> Markup:
    """Whether announced probabilities come true."""
    winner = study.comparison.winner
    words = f"{winner.name} announces probabilities. On the diagonal, they come true as often as announced."
    if winner.power is not None:
        use = "is used" if winner.uses_power else "did not help on rows held out, and is not used"
        before, after = (winner.estimate("log_loss", calibrated=c).value for c in (False, True))
        words += (
            f" The power {winner.power:.2f} {use}: the log loss is {before:.4g} without it and {after:.4g} with it."
        )
    caption = f"Reliability of {winner.name} on rows held out: what was announced, and what came true."
    return section("sureness", "How sure it is", paragraph(words), _pictured(study.comparison.reliability, caption))


def errors(study: ReportData) -> Markup:
    """Which classes are taken for which."""
    evaluation = study.evaluation
    words = f"{study.comparison.winner.name} errs in {evaluation.error:.1%} of the rows held out."
    parts = [paragraph(words), _mistakes(evaluation)]
    if len(evaluation.labels) <= MOST_CLASSES:
        caption = "Confusion on rows held out: how often each class (rows) was taken for each class (columns)."
        parts.append(_pictured(lambda: plot_confusion(evaluation), caption))
    return section("errors", "Where it errs", *parts)


def evaluation_sections(evaluation: Evaluation) -> list[Markup]:
    """How good a model is on rows with labels: the measures, reliability, and what is taken for what."""
    announced = "Reliability: what was announced, and what came true. On the diagonal, both are the same."
    sure = _pictured(lambda: draw_reliability({"the model": evaluation}), announced)
    wrong = [_mistakes(evaluation)]
    if len(evaluation.labels) <= MOST_CLASSES:
        caption = "Confusion: how often each class (rows) was taken for each class (columns)."
        wrong.append(_pictured(lambda: plot_confusion(evaluation), caption))
    return [
        section("data", "How good it is", f"<div class='wide'>{evaluation._repr_html_()}</div>"),
        section("sureness", "How sure it is", sure),
        section("errors", "Where it errs", *wrong),
    ]


def _mistakes(evaluation: Evaluation) -> Markup:
    counts, labels = evaluation.confusion.copy(), evaluation.labels
    of_class = counts.sum(axis=1)
    np.fill_diagonal(counts, 0)
    places = np.argsort(-counts, axis=None, kind="stable")[:MISTAKES]
    pairs = [divmod(int(place), len(labels)) for place in places if counts.flat[place] > 0]
    rows = [
        [str(labels[i]), str(labels[j]), f"{counts[i, j]:g}", f"{counts[i, j] / of_class[i]:.1%}"] for i, j in pairs
    ]
    if not rows:
        return paragraph("No row was taken for a wrong class.")
    return table([["class", "taken for", "rows", "of its class"], *rows], "<<")


def separation(study: ReportData) -> Markup:
    """Fisher's directions, and the boundaries in the two columns that tell most."""
    return section("separation", "How it separates", *_separation(study))


def _separation(study: ReportData) -> Iterator[Markup]:
    X, y = study.drawn
    projector = study.projector
    if projector is not None:
        caption = "Rows in Fisher's directions, in which classes lie furthest apart for their spread." + study.shown
        yield _pictured(lambda: plot_projection(projector, X, y), caption)
    pair = best_pair(study.best, X, y)
    if pair is None:
        yield paragraph("There are no two columns in which boundaries could be drawn.")
        return
    caption = (
        f"What {study.comparison.winner.name} decides from {pair[0]} and {pair[1]} alone, the two columns that tell "
        f"most, with all others integrated out.{study.shown}"
    )
    yield _pictured(lambda: plot_regions(study.best, X, y, columns=pair, sigmas=(2,)), caption)


def advice(study: ReportData) -> Markup:
    """The advice of the diagnosis."""
    found = study.diagnosis
    if isinstance(found, str):
        return section("advice", "What the data say", paragraph(found))
    parts = (f"{part.title}: {part.advice}" for part in found.sections.values())
    return section("advice", "What the data say", items(parts))


def using(study: ReportData) -> Markup:
    """How to use the winner from a shell and from Python."""
    model, rows = study.model or "model.cw", study.source or "data.csv"
    target = study.target or "label"
    lines = [
        *([] if study.model else [f"classwise compare {quote(rows)} --target {quote(target)} --save {model}"]),
        f"classwise predict {quote(model)} new.csv --proba -o predicted.csv",
        f"classwise explain {quote(model)} new.csv --row 1",
        f"classwise info {quote(model)}",
    ]
    python = [
        "import classwise as cw",
        f"m = cw.load({model!r})  # {study.best!r}".replace("\n", " "),
        "m.predict(X)",
        "m.predict_proba(X)",
        "print(m.explain(X[:1]))",
    ]
    return section("using", "How to use the winner", code("\n".join(lines)), code("\n".join(python)))


def provenance(study: ReportData) -> Markup:
    """Versions, date, rows, folds and seed."""
    facts = {
        "made by": f"classwise {version('classwise')}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {version('scikit-learn')}",
        "on": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "rows": f"{len(study.comparison.codes)}{f' of {study.source}' if study.source else ''}",
        "folds": str(int(study.comparison.folds.max()) + 1),
        "seed": "not recorded" if study.seed is None else str(study.seed),
        "winner": " ".join(repr(study.best).split()),
        "saved in": study.model or "no file",
    }
    return section("provenance", "Where this comes from", definitions(facts))


SECTIONS: tuple[Callable[[ReportData], Markup], ...] = (
    data, ranking, reliability, errors, separation, advice, using, provenance,
)  # fmt: skip


def _pictured(make: Callable[[], Any], caption: str) -> Markup:
    """A picture, or why there is none."""
    try:
        return figure(draw(make), caption)
    except ClasswiseError as problem:
        return paragraph(f"{caption.split(':')[0]} cannot be drawn: {problem}", "small")


def _some(texts: list[str], most: int) -> str:
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")
