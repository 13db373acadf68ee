"""The answer at the top of the page, and what is shown with it: findings, what matters, diagnosis, learning curves."""

from dataclasses import asdict
from typing import Any

from classwise.classifier.evaluation import Estimate
from classwise.comparison import Comparison, LearningCurve, compare, learning_curve
from classwise.comparison.comparison_table import ComparisonLine
from classwise.diagnostics import Diagnosis, Examination, diagnose, examine
from classwise.errors import ClasswiseError
from classwise.estimators import LDA, QDA, GaussianClassifier, NearestMean
from classwise.estimators.importance import Importance
from classwise.rows.streams import open_stream
from classwise.studio.studio_table import StudioTable

# About how many seconds the comparison may take: somebody is waiting.
SECONDS = 20.0

# How often a learning curve splits the rows, and the most rows that it takes.
REPEATS = 8
CURVE_ROWS = 20_000


def readable(table: StudioTable) -> Any:
    """The rows for functions that take a source: files with the given marks of missing values."""
    if not isinstance(table.source, str):
        return table.source
    exact = [table.opening.target, *table.opening.families]
    marks = None if table.opening.missing is None else tuple(table.opening.missing)
    return open_stream(table.source, exact=exact, missing=marks)


def compared(table: StudioTable) -> Comparison:
    """All models on the same held-out rows."""
    families = table.opening.read()["families"]
    if table.held is None:
        return compare(readable(table), **table.named, families=families, time_limit=SECONDS, stream=True)
    return compare(table.held.X, table.held.y, sample_weight=table.held.weights, families=families, time_limit=SECONDS)


def examined(table: StudioTable) -> Examination:
    """What is wrong with the table."""
    return examine(readable(table), **table.named, **table.opening.read())


def diagnosed(table: StudioTable, comparison: Comparison | None) -> Diagnosis:
    """What the rows say about the choice of a model; of a large table, the rows that are held to judge dials by."""
    outcome = None if comparison is None else comparison.evaluations
    X, y, weights = sampled(table)
    return diagnose(X, y, weights, families=table.opening.read()["families"], held_out=outcome)


def weighed(table: StudioTable, comparison: Comparison) -> Importance:
    """Which columns matter to the winner, on held-out rows."""
    X, y, weights = sampled(table)
    return comparison.importance(X, y, weights)


def learned(table: StudioTable) -> LearningCurve:
    """Error and log loss against the number of rows, for the corners of the square and for a discriminative model."""
    from classwise.estimators import BayesianLogistic

    models = {
        "QDA": QDA(),
        "QDA, Bayes": QDA(estimate="bayes"),
        "LDA": LDA(),
        "nearest mean": NearestMean(standardize=True),
        "naive Bayes (Gaussian)": GaussianClassifier(structure="diagonal"),
        "logistic": BayesianLogistic(predictive="plugin"),
    }
    X, y, _ = sampled(table)
    return learning_curve(X, y, models, repeats=REPEATS)


def sampled(table: StudioTable) -> tuple[Any, Any, Any]:
    """Rows, labels and weights in memory: all, or a uniform sample of a large table."""
    from classwise.rows.frames import make_frame

    if table.held is not None:
        return table.held.X, table.held.y, table.held.weights
    crossing = table.crossing
    frame = make_frame(crossing.table.rows, crossing.table.schema, crossing.table.levels)
    return frame, crossing.labels[crossing.codes], crossing.table.weights


# As plain values ------------------------------------------------------------------------------------------------------


def comparison_facts(found: Comparison) -> dict[str, Any]:
    """The answer in a sentence, and a line for every model, best first."""
    first, *remarks = found.summary()
    return {
        "sentence": first,
        "remarks": remarks,
        "winner": found.winner.name if found.members else None,
        "rows": found.rows,
        "lines": [_line(line, found) for line in found.table().lines],
    }


def _line(line: ComparisonLine, found: Comparison) -> dict[str, Any]:
    return {
        "name": line.name,
        "accuracy": _value(line.accuracy),
        "log_loss": _value(line.final),
        "interval": None if line.final is None else [line.final.low, line.final.high],
        "brier": _value(line.brier),
        "calibration_error": _value(line.calibration_error),
        "free_parameters": line.free_parameters,
        "seconds": line.seconds,
        "note": line.note,
        "reason": line.reason,
        "shown": _is_shown(found, line.name),
    }


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _is_shown(found: Comparison, name: str) -> bool:
    """Whether a model can be looked at in some columns alone."""
    trial = found[name]
    model = trial.trained if trial.trained is not None else trial.model
    may = trial.trained is not None or (trial.tuned is not None and trial.statistics is not None)
    return not trial.reason and may and hasattr(type(model), "classifier_")


def examination_facts(found: Examination) -> dict[str, Any]:
    """The findings, each with the flag that applies its remedy."""
    return {
        "heading": found.heading(),
        "findings": [remark.record() for remark in found.findings],
        "columns": [asdict(column) for column in found.columns],
    }


def importance_facts(found: Importance, model: str) -> dict[str, Any]:
    """What each column adds, the most important first."""
    first, second = found.sentences()
    return {
        "sentence": first,
        "more": second,
        "model": model,
        "lines": [
            {"name": str(line.name), "increase": line.increase, "error": line.standard_error, "share": line.share}
            for line in found.lines
        ],
    }


def diagnosis_facts(found: Diagnosis) -> dict[str, Any]:
    """The advice, at most three sentences, and the whole report as text."""
    if not found.labels:
        raise ClasswiseError("There are no classes to diagnose.")
    return {"sentences": list(found.sentences()), "advice": found.advice, "text": str(found)}


def curve_facts(found: LearningCurve) -> dict[str, Any]:
    """Medians and quartiles of log loss and error over the splits."""
    low, high = found.spread()
    return {
        "names": list(found.names),
        "sizes": found.sizes,
        "log_loss": found.median(),
        "low": low,
        "high": high,
        "error": found.median("error"),
        "summary": found.summary(),
        "reasons": dict(found.reasons),
    }
