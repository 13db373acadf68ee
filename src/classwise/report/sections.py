"""The sections of a report, from the answer to how it was made, and those of the page of an evaluation."""

from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from shlex import quote
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from classwise.diagnostics.advice import listed
from classwise.plot import plot_projection, plot_regions
from classwise.report.charts import Bar, bars, pictured
from classwise.report.page import (
    Markup,
    code,
    definitions,
    folded,
    items,
    paragraph,
    percent,
    prose,
    section,
    table,
    tiles,
)
from classwise.report.quality import errors, figures, made_by, models, reliability
from classwise.report.report_data import ReportData, quiet
from classwise.report.sets import sets

# The answer -----------------------------------------------------------------------------------------------------------


def answer(study: ReportData) -> Markup:
    """Which model to trust, in a sentence and a small table."""
    made = study.comparison.answer()
    lines = [[line.model, percent(line.accuracy), f"{line.log_loss:.3f}", line.verdict] for line in made.lines]
    return section(
        "answer",
        "Which model to trust",
        paragraph(made.sentence, "lead"),
        tiles(figures(study.evaluation, study.comparison.winner.accuracy_interval)),
        table([HEADER, *lines], "<>><", ["best", *[""] * (len(lines) - 1)]),
    )


HEADER = ["model", "accuracy", "log loss", "verdict"]

# The table ------------------------------------------------------------------------------------------------------------

# This many classes are listed with their shares.
LISTED = 12


def data(study: ReportData) -> Markup:
    """What `examine` found, the classes, and what each column was taken for."""
    evaluation, columns = study.evaluation, study.best.schema_
    shares = evaluation.support / max(evaluation.weight, 1e-300)
    of = f" of {study.source}" if study.source else ""
    called = f" of {study.target}" if study.target else ""
    names = [f"{label} ({percent(share)})" for label, share in zip(evaluation.labels, shares, strict=True)]
    words = f"{study.comparison.rows:,} rows{of}, {len(columns)} columns, and {len(names)} classes{called}"
    return section(
        "data",
        "Your table",
        paragraph(f"{words}: {listed(names, LISTED)}."),
        _remarks(study),
        folded(f"What each of the {len(columns)} columns was taken for", table(columns.cells(), columns.sides)),
    )


def _remarks(study: ReportData) -> Markup:
    """The findings of the examination, with their remedies as flags or arguments."""
    if study.examination is None:
        return ""
    found = study.examination.findings
    if not found:
        return paragraph("Nothing in it looks wrong.")
    shell = bool(study.command)
    items = (f"<li>{prose(remark.message)}{_remedy(remark, shell)}</li>" for remark in found)
    return f"<ul>{''.join(items)}</ul>"


def _remedy(remark: Any, shell: bool) -> Markup:
    change = remark.flag if shell else remark.argument
    return f" {escape(remark.when)}: <code>{escape(change)}</code>" if change else ""


# What matters ---------------------------------------------------------------------------------------------------------

# This many columns are drawn, and the rest counted.
MOST_BARS = 15


def importance(study: ReportData) -> Markup:
    """How much worse the winner, or the best single model where a stack wins, is without each column."""
    found = study.what_matters
    if found is None:
        return ""
    if isinstance(found, str):
        return section("importance", "What matters", paragraph(found))
    lines = [
        Bar(
            str(line.name) if isinstance(line.name, str) else f"column {line.name}",
            line.increase,
            f"{line.increase:.3f}",
            line.standard_error if np.isfinite(line.standard_error) else 0.0,
            f"{line.name}: log loss +{line.increase:.4f}, standard error {line.standard_error:.4f}",
        )
        for line in found.lines
    ]
    more, model = len(lines) - MOST_BARS, study.comparison.asked
    instead = f"Of {model.title}, the best single model: a stack takes long to ask."
    return section(
        "importance",
        "What matters",
        *([paragraph(instead)] if model is not study.comparison.winner else []),
        *map(paragraph, found.sentences()[:1]),
        bars(lines[:MOST_BARS], "What matters"),
        *([folded(f"{more} more columns", bars(lines[MOST_BARS:], "What matters less"))] if more > 0 else []),
        *(paragraph(sentence, "small") for sentence in found.sentences()[1:]),
    )


# Three rows, explained: one that is sure and right, one that is unsure, one that is wrong -----------------------------


# This many columns of a row are drawn; what the others add up to is one bar.
MOST_SHARES = 6

TITLES = {"sure": "Sure, and right", "unsure": "Unsure", "wrong": "Wrong"}


def examples(study: ReportData) -> Markup:
    """What speaks for the decision in three rows, and what against it."""
    chosen = three_rows(study)
    every = f"The model that has learned from all rows decides these {len(study.drawn.y):,} rows rightly, every one."
    return section(
        "examples",
        "Three rows explained" if len(chosen) == 3 else "Some rows explained",
        paragraph(INTRODUCTION),
        *(_explained(study, TITLES[kind], i) for kind, i in chosen.items()),
        "" if "wrong" in chosen else paragraph(every),
    )


INTRODUCTION = (
    "What speaks for the decision, and what against it, in log odds: blue bars speak for the class that the model "
    "says, orange ones for the runner-up. All bars add up to the decision."
)


def three_rows(study: ReportData) -> dict[str, int]:
    """Places among the drawn rows: the surest that is right, the least sure, the surest that is wrong."""
    sure = study.posteriors.max(axis=1)
    right = np.array([a == b for a, b in zip(study.decided, study.drawn.y.tolist(), strict=True)], dtype=bool)
    candidates = {"sure": np.where(right, sure, 0), "wrong": np.where(right, 0, sure), "unsure": 1 - sure}
    found: dict[str, int] = {}
    for kind, score in candidates.items():
        score[list(found.values())] = 0
        if score.max() > 0:
            found[kind] = int(score.argmax())
    return {kind: found[kind] for kind in TITLES if kind in found}


def _explained(study: ReportData, title: str, i: int) -> Markup:
    with quiet():
        explanation = study.best.explain(_safe_indexing(study.drawn.X, [i]))
    order = np.argsort(-study.posteriors[i])
    labels = study.best.classes_.tolist()
    (first, own), (second, other) = ((str(labels[k]), study.posteriors[i, k]) for k in order[:2])
    truth = "which is right" if study.decided[i] == study.drawn.y[i] else f"but it is {study.drawn.y[i]}"
    words = f"The model says {first} with {_sure(own)}, {truth}. The runner-up is {second} with {_sure(other)}."
    flip = explanation.flip
    name = study.row_name(i)
    return (
        f"<div class='example'><h3>{escape(f'{title}: {name}')}</h3>{paragraph(words)}"
        f"{bars(_bars(explanation), f'{title}: {name}')}{paragraph(str(flip)) if flip else ''}</div>"
    )


def _sure(posterior: float) -> str:
    """A probability, never called 0 or 100 %: a model is not certain."""
    return percent(min(max(float(posterior), 1e-9), 1 - 1e-9))


def _bars(explanation: Any) -> list[Bar]:
    """The columns with the largest shares first, the rest together, and what belongs to no column."""
    ranked = sorted(explanation.shares.items(), key=lambda share: -abs(share[1]))
    first = ranked if len(ranked) == MOST_SHARES + 1 else ranked[:MOST_SHARES]
    lines = [_bar(f"{_named(name)} = {_shown(explanation.values[name])}", share) for name, share in first]
    if rest := ranked[len(first) :]:
        lines.append(_bar(f"{len(rest)} other columns", sum(share for _, share in rest)))
    lines.append(_bar("class frequencies (prior)", explanation.prior))
    if explanation.volume:
        lines.append(_bar("what no single column says", explanation.volume))
    return lines


def _bar(name: str, share: float) -> Bar:
    shown = f"{share:+.2f}" if np.isfinite(share) else f"{share:+}"
    return Bar(name, float(np.clip(share, -1e6, 1e6)), shown)


def _named(name: Any) -> str:
    return name if isinstance(name, str) else f"column {name}"


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


# How it separates the classes -----------------------------------------------------------------------------------------


# Boundaries of more classes than this are not drawn, where Fisher's directions show how they lie.
MOST_REGIONS = 12


def separation(study: ReportData) -> Markup:
    """The boundaries in the two columns that matter most, and Fisher's directions."""
    return section("separation", "How it separates the classes", *_separation(study))


def _separation(study: ReportData) -> Iterator[Markup]:
    projector, labels = study.projector, study.best.classes_.tolist()
    if projector is None or len(labels) <= MOST_REGIONS:
        yield _regions(study, labels)
    if projector is not None:
        X, y = study.drawn.X, study.drawn.y
        caption = "All columns at once: rows in Fisher's directions, in which classes lie furthest apart."
        yield pictured(lambda: plot_projection(projector, X, y), caption + study.shown, _teller(study), labels)


def _regions(study: ReportData, labels: list[Any]) -> Markup:
    if study.seen is None or study.pair is None:
        return paragraph("There are no two columns in which boundaries could be drawn.")
    (name, model), pair = study.seen, study.pair
    first, second = (column if isinstance(column, str) else f"column {column}" for column in pair)
    caption = f"What {name} decides from {first} and {second} alone, the two columns that matter most."
    if all(model.schema_[column].levels for column in pair):  # rows would hide what is written in the tiles
        caption += " Each tile has the probability of the class that it is taken for."
        return pictured(lambda: plot_regions(model, columns=pair), caption, None, labels)
    X, y = study.drawn.X, study.drawn.y
    draw = partial(plot_regions, model, X, y, columns=pair, sigmas=(2,))
    return pictured(draw, caption + study.shown, _teller(study), labels)


def _teller(study: ReportData) -> Callable[[int, int, float, float], str]:
    """What is said of a drawn row: points come in the order of the classes, and then of the rows."""
    labels = study.drawn.y.tolist()
    groups = [[i for i, label in enumerate(labels) if label == own] for own in study.best.classes_.tolist()]
    sure = study.posteriors.max(axis=1)

    def point_tip(group: int, place: int, x: float, y: float) -> str:
        i = groups[group][place]
        said = f"{study.decided[i]}, {percent(sure[i])}"
        return f"{study.row_name(i)}: {labels[i]}\nthe model says {said}"

    return point_tip


# Advice, use, provenance ----------------------------------------------------------------------------------------------


def advice(study: ReportData) -> Markup:
    """What the rows advise."""
    return section("advice", "What the data say", items(study.sentences)) if study.sentences else ""


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
    shell, script = (code("\n".join(text)) for text in (lines, python))
    return section("using", "How to use it", paragraph("In the shell:"), shell, paragraph("In Python:"), script)


def provenance(study: ReportData) -> Markup:
    """Versions, date, rows, folds and seed."""
    comparison = study.comparison
    rows = f"{comparison.rows:,}{f' of {study.source}' if study.source else ''}"
    if comparison.streamed:
        rows += (
            f", read as a stream; pictures, importance and advice are of {len(study.labels):,} of them, drawn by chance"
        )
    facts = made_by() | {
        **({"command": study.command} if study.command else {}),
        "rows": rows,
        "folds": str(len(comparison.winner.as_is)),
        "seed": "not recorded" if study.seed is None else str(study.seed),
        "columns": "as they are" if study.families == "auto" else f"families {study.families}",
        "weights": "none" if study.weights is None else "as given",
        "winner": " ".join(repr(study.best).split()),
        "saved in": study.model or "no file",
    }
    return section("provenance", "How this report was made", definitions(facts))


SECTIONS: tuple[Callable[[ReportData], Markup], ...] = (
    answer, data, importance, models, examples, errors, reliability, sets, separation, advice, using, provenance,
)  # fmt: skip
