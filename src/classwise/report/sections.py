"""The sections of a report."""

import platform
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from shlex import quote
from typing import Any

import numpy as np

from classwise.errors import ClasswiseError
from classwise.plot import plot_confusion, plot_projection, plot_regions
from classwise.report.page import Markup, code, definitions, figure, items, paragraph, section, table
from classwise.report.study import Study, best_pair, draw

# A confusion of more classes than this is told as a list of the most frequent mistakes.
MOST_CLASSES = 15
MISTAKES = 10


def data(study: Study) -> Markup:
    """Rows, classes, and what each column was taken for."""
    comparison = study.comparison
    weight = np.bincount(comparison.codes, minlength=len(comparison.labels))
    shares = [f"{label} {count / weight.sum():.1%}" for label, count in zip(comparison.labels, weight, strict=True)]
    of = f" of {study.source}" if study.source else ""
    called = f" of {study.target}" if study.target else ""
    sentence = f"{len(comparison.codes)} rows{of}, {len(shares)} classes{called}: {_some(shares, 12)}."
    columns = study.best.schema_
    return section("data", "The data", paragraph(sentence), table(columns.cells(), columns.sides))


def ranking(study: Study) -> Markup:
    """Who is ahead, by how much, and how sure that is."""
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
    """The model, then whether it is best or ties, which has no heading, then numbers."""
    order = sorted(range(len(row)), key=lambda i: (i > 0, header[i] != ""))
    return [row[i] for i in order]


NOTES = (
    "Log loss is minus the mean logarithm of the probability given to the true class, on rows held out. "
    "Calibrated is the same with posteriors raised to the power that suits them. Behind is the difference to the best "
    "member of the family, with its standard error; tie marks those within one. "
    "± is half of a 95 % interval over folds. * evidence by BIC."
)


def sureness(study: Study) -> Markup:
    """Whether probabilities come true."""
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


def errors(study: Study) -> Markup:
    """Which classes are taken for which."""
    evaluation = study.evaluation
    words = f"{study.comparison.winner.name} errs in {evaluation.error:.1%} of the rows held out."
    parts = [paragraph(words), _mistakes(study)]
    if len(evaluation.labels) <= MOST_CLASSES:
        caption = "Confusion on rows held out: how often each class (rows) was taken for each class (columns)."
        parts.append(_pictured(lambda: plot_confusion(evaluation), caption))
    return section("errors", "Where it errs", *parts)


def _mistakes(study: Study) -> Markup:
    counts, labels = study.evaluation.confusion.copy(), study.evaluation.labels
    of_class = counts.sum(axis=1)
    np.fill_diagonal(counts, 0)
    places = np.argsort(-counts, axis=None, kind="stable")[:MISTAKES]
    pairs = [divmod(int(place), len(labels)) for place in places if counts.flat[place] > 0]
    rows = [
        [str(labels[i]), str(labels[j]), f"{counts[i, j]:g}", f"{counts[i, j] / of_class[i]:.1%}"] for i, j in pairs
    ]
    if not rows:
        return paragraph("No row held out was taken for a wrong class.")
    return table([["class", "taken for", "rows", "of its class"], *rows], "<<")


def separation(study: Study) -> Markup:
    """Fisher's directions, and the boundaries in the two columns that tell most."""
    return section("separation", "How it separates", *_separation(study))


def _separation(study: Study) -> Iterator[Markup]:
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


def advice(study: Study) -> Markup:
    """What the rows themselves say about the choice."""
    found = study.diagnosis
    if isinstance(found, str):
        return section("advice", "What the data say", paragraph(found))
    parts = (f"{part.title}: {part.advice}" for part in found.sections.values())
    return section("advice", "What the data say", items(parts))


def using(study: Study) -> Markup:
    """The winner on other rows, from a shell and from Python."""
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


def provenance(study: Study) -> Markup:
    """Where all this comes from."""
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


SECTIONS: tuple[Callable[[Study], Markup], ...] = (
    data, ranking, sureness, errors, separation, advice, using, provenance,
)  # fmt: skip


def _pictured(make: Callable[[], Any], caption: str) -> Markup:
    """A picture, or why there is none."""
    try:
        return figure(draw(make), caption)
    except ClasswiseError as problem:
        return paragraph(f"{caption.split(':')[0]} cannot be drawn: {problem}", "small")


def _some(texts: list[str], most: int) -> str:
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")
