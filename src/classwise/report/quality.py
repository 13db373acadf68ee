"""How good models are: all in a table that sorts; of one, its mistakes, and whether its probabilities come true.

The page of an evaluation is made of the same.
"""

import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version

import numpy as np

from classwise.classifier.evaluation import Estimate, Evaluation, over_folds
from classwise.classifier.evaluation_text import auc_note, measure_cells
from classwise.comparison import Comparison
from classwise.comparison.trial import Trial, ranked
from classwise.diagnostics.advice import counted
from classwise.plot.performance import draw_reliability
from classwise.report.charts import Scale, heat_map, interval, pictured
from classwise.report.page import (
    Cell,
    Markup,
    definitions,
    folded,
    items,
    paragraph,
    percent,
    section,
    sortable,
    table,
    tiles,
)
from classwise.report.report_data import ReportData
from classwise.tabular import count_text

# How a model did compared with the one that was chosen: what the legend calls it, and a badge in its row.
KINDS = {
    "best": ("the choice", "best"),
    "tie": ("as good", "as good"),
    "better": ("better", "better"),
    "reference": ("a reference model of scikit-learn", ""),
    "worse": ("worse", ""),
}


def models(study: ReportData) -> Markup:
    """All models in a table that sorts, each with its log loss drawn in its row."""
    comparison = study.comparison
    fitted = ranked(comparison.tried, "log_loss")
    kinds = [_kind(comparison, trial) for trial in fitted]
    failures = [f"{trial.name}: {trial.reason}" for trial in comparison.tried if trial.reason]
    return section(
        "models",
        "All models compared",
        paragraph(MODELS),
        _key(kinds),
        _ranking(fitted, kinds, comparison.winner),
        paragraph(NOTES, "small"),
        folded(f"{counted(len(failures), 'model')} took no part", items(failures)) if failures else "",
    )


MODELS = (
    "All of them predicted the same rows, which were held out. Click on a heading to sort by it. The dots show the log "
    "loss, further left is better, and the lines its 95 % interval: where lines overlap much, chance decides who is "
    "ahead."
)

NOTES = (
    "± is half of a 95 % interval; of the difference of log loss to the choice, its standard error. The temperature "
    "corrects probabilities that are too sure or not sure enough; a ring shows the log loss without it. Parameters are "
    "the numbers a model learns. * evidence by BIC."
)


def _kind(comparison: Comparison, trial: Trial) -> str:
    if trial is comparison.winner:
        return "best"
    if comparison.is_clearly_better(trial):
        return "better"
    if comparison.ties(trial):
        return "tie"
    return "reference" if trial.kind == "reference" else "worse"


def _key(kinds: Sequence[str]) -> Markup:
    """What the colors mean."""
    used = (f"<li><i class='{kind}'>●</i> {text}</li>" for kind, (text, _) in KINDS.items() if kind in kinds)
    return f"<ul class='key'>{''.join(used)}</ul>"


def _ranking(fitted: Sequence[Trial], kinds: Sequence[str], winner: Trial) -> Markup:
    """fitted: from the least log loss on."""
    scale = _scale([trial.estimate("log_loss") for trial in fitted])
    shows: dict[str, Callable[[Trial], Cell]] = {
        "log loss": lambda trial: _drawn(trial, scale, winner),
        "accuracy": lambda trial: _measured(trial.estimate("accuracy"), percent=True),
        "difference": lambda trial: _difference(trial, winner),
        "temperature": lambda trial: _number(None if trial.power is None else 1 / trial.power, ".2f"),
        "Brier score": lambda trial: _measured(trial.estimate("brier")),
        "calibration error": lambda trial: _measured(trial.estimate("calibration_error")),
        "parameters": lambda trial: _number(trial.free_parameters, ",.0f"),
        "evidence": lambda trial: _number(trial.log_evidence, ",.0f", "*" if trial.evidence == "BIC" else ""),
        "seconds": lambda trial: _number(trial.seconds, ".2f"),
    }
    badges = [KINDS[kind][1] for kind in kinds]
    cells = {
        "model": [Cell(escape(trial.name), trial.name) for trial in fitted],
        "verdict": [Cell(f"<span class='badge'>{badge}</span>" if badge else "", badge) for badge in badges],
    } | {heading: [show(trial) for trial in fitted] for heading, show in shows.items()}
    kept = {heading: column for heading, column in cells.items() if any(cell.shown for cell in column)}
    rows = list(zip(*kept.values(), strict=True))
    return sortable("All models", list(kept), "<<<", rows, kinds, list(kept).index("log loss"))


def _scale(losses: Sequence[Estimate]) -> Scale:
    """From the least log loss to twice as far as the model in the middle: those far worse would squeeze the others."""
    best, middle = losses[0], losses[len(losses) // 2]
    farthest = max(best.value + 2 * (middle.value - best.value), best.high, 1.05 * best.value)
    return Scale(max(min(loss.low for loss in losses), 0.0), min(max(loss.high for loss in losses), farthest))


def _drawn(trial: Trial, scale: Scale, winner: Trial) -> Cell:
    """The log loss as a picture and as a number."""
    loss, best = trial.estimate("log_loss"), winner.estimate("log_loss").value
    without = trial.estimate("log_loss", calibrated=False).value if trial.uses_power else None
    picture, number = interval(loss, scale, best, without), _measured(loss)
    return Cell(f"<div class='drawn'>{picture}<span>{number.shown}</span></div>", number.value)


def _difference(trial: Trial, winner: Trial) -> Cell:
    """How much larger the log loss is than the winner's, by fold and so in pairs."""
    if trial is winner:
        return Cell("", 0.0)
    pairs = zip(trial.final, winner.final, strict=True)
    parts = [np.array([mine.losses - theirs.losses, mine.weight]) for mine, theirs in pairs]
    value, error, _, _ = over_folds(parts, lambda sums: float(sums[0] / sums[1]))
    return Cell(f"{value:+.3f} ± {error:.3f}", value)


def _measured(estimate: Estimate, percent: bool = False) -> Cell:
    factor, digits, unit = (100, 1, "\N{NO-BREAK SPACE}%") if percent else (1, 3, "")
    value, reach = factor * estimate.value, factor * (estimate.high - estimate.value)
    return Cell(f"{value:.{digits}f}{unit} ± {reach:.{digits}f}", estimate.value)


def _number(value: float | None, form: str, mark: str = "") -> Cell:
    return Cell("") if value is None else Cell(f"{value:{form}}{mark}", value)


def figures(evaluation: Evaluation, accuracy_interval: tuple[float, float]) -> dict[str, str]:
    """The numbers that say how good a model is, each with one to compare it with."""
    shares = evaluation.support / max(evaluation.weight, 1e-300)
    often, most = evaluation.labels[shares.argmax()], shares.max()
    guessing = -float(shares[shares > 0] @ np.log(shares[shares > 0]))
    low, high = accuracy_interval
    return {
        f"{percent(evaluation.accuracy)} right": f"of {evaluation.weight:,.10g} rows (accuracy; 95 % interval "
        f"{percent(low)} to {percent(high)}). Always saying {often} is right on {percent(most)}.",
        f"{evaluation.log_loss:.3f}": f"log loss; less is better. The shares of the classes alone have {guessing:.3f}"
        + (", which is better: do not trust these probabilities." if guessing < evaluation.log_loss else "."),
        f"{percent(evaluation.calibration_error)} off": "is how far probabilities are, on average, from the share "
        "of rows that are right (calibration error).",
    }


# Where it errs, and how sure it is ------------------------------------------------------------------------------------

# A confusion of more classes than this is shown as a list of the most frequent mistakes alone.
MOST_CLASSES = 40
MISTAKES = 10


def errors(study: ReportData) -> Markup:
    """Which classes are taken for which."""
    evaluation = study.evaluation
    words = f"It is wrong on {percent(evaluation.error)} of the rows held out."
    return section("errors", "Where it errs", paragraph(words), *mistakes(evaluation))


def mistakes(evaluation: Evaluation) -> Iterator[Markup]:
    """The most frequent mistakes, and all of them as a table of shades."""
    counts, labels = evaluation.confusion.copy(), evaluation.labels
    np.fill_diagonal(counts, 0)
    places = np.argsort(-counts, axis=None, kind="stable")[:MISTAKES]
    pairs = [divmod(int(place), len(labels)) for place in places if counts.flat[place] > 0]
    rows = [
        [str(labels[i]), str(labels[j]), count_text(counts[i, j]), percent(counts[i, j] / evaluation.support[i])]
        for i, j in pairs
    ]
    if not rows:
        yield paragraph("No row was taken for a wrong class.")
    elif len(labels) > 2:
        more = f", the first {MISTAKES}" if (counts > 0).sum() > MISTAKES else ""
        yield f"<h3>The most frequent mistakes{more}</h3>"
        yield table([["class", "taken for", "rows", "of its class"], *rows], "<<")
    if len(labels) <= MOST_CLASSES:
        yield "<h3>What was taken for what</h3>"
        yield heat_map(evaluation)
        yield paragraph(
            "Blue is right, orange is wrong; the stronger the color, the larger the share of the class.", "small"
        )


def reliability(study: ReportData) -> Markup:
    """Whether predicted probabilities come true."""
    winner = study.comparison.winner
    words = _sureness(study.evaluation)
    if winner.power is not None:
        use = "is used" if winner.uses_power else "did not help on rows held out, and is not used"
        before, after = (winner.estimate("log_loss", calibrated=c).value for c in (False, True))
        words += (
            f" A temperature of {1 / winner.power:.2f} {use}: the log loss is {before:.4g} without it and {after:.4g} "
            "with it."
        )
    caption = "Predicted probabilities of held-out rows, and the share that was right."
    return section(
        "sureness", "How sure it is", paragraph(words), pictured(study.comparison.reliability, caption, bin_tip)
    )


# A model is called too sure, or not sure enough, if its predicted probability is off by more than this on average.
MUCH_OFF = 0.02


def _sureness(evaluation: Evaluation) -> str:
    """Whether the model is right as often as it says, on average."""
    predicted = float(evaluation.bins[0, 1].sum()) / evaluation.weight
    off = predicted - evaluation.accuracy
    verdict = "as sure as it should be" if abs(off) <= MUCH_OFF else "too sure" if off > 0 else "not sure enough"
    return (
        f"It predicts with {percent(predicted)} on average, and is right on {percent(evaluation.accuracy)}: it is "
        f"{verdict}. On the dotted line, the share of rows that are right equals the probability."
    )


def bin_tip(group: int, place: int, predicted: float, observed: float) -> str:
    return f"predicted {percent(predicted)}, observed {percent(observed)}"


def made_by() -> dict[str, str]:
    return {
        "made by": f"classwise {version('classwise')}, Python {platform.python_version()} on {sys.platform}, "
        f"NumPy {np.__version__}, scikit-learn {version('scikit-learn')}",
        "on": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    }


# The page of an evaluation --------------------------------------------------------------------------------------------

BY_CLASS = (
    "Precision: of the rows taken for the class, the share that is of it. Recall: of its rows, the share taken for it. "
    "F1 is between the two. Support: how many rows the class has."
)


def _by_class(evaluation: Evaluation) -> Markup:
    shown = evaluation.by_class()
    header, *texts = shown.cells()
    rows = [
        [Cell(escape(text), "" if value != value else value) for text, value in zip(*pair, strict=True)]
        for pair in zip(texts, zip(*shown.records().values(), strict=True), strict=True)
    ]
    return sortable("Class by class", header, "<", rows, [""] * len(rows), 0)


def evaluation_sections(evaluation: Evaluation, facts: dict[str, str]) -> list[Markup]:
    """How good a model is on rows with labels. facts: how the page was made, by name."""
    words = paragraph(evaluation.summary(), "lead")
    if not evaluation.weight:
        return [section("answer", "How good it is", words)]
    notes = (paragraph(note, "small") for note in auc_note(evaluation))
    caption = "Predicted probabilities, and the share that was right. On the dotted line, both are the same."
    curve = pictured(lambda: draw_reliability({"the model": evaluation}), caption, bin_tip)
    return [
        section(
            "answer",
            "How good it is",
            words,
            tiles(figures(evaluation, evaluation.accuracy_interval)),
            table(measure_cells(evaluation), "<"),
            *notes,
        ),
        section("classes", "Class by class", _by_class(evaluation), paragraph(BY_CLASS, "small")),
        section("errors", "Where it errs", *mistakes(evaluation)),
        section("sureness", "How sure it is", paragraph(_sureness(evaluation)), curve),
        section("provenance", "How this page was made", definitions(made_by() | facts)),
    ]
