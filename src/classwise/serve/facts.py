"""What a server answers in JSON, as types: msgspec makes JSON Schema of them for the OpenAPI document.

Numbers are written so that reading them gives the same float64 again.
"""

from datetime import UTC, datetime
from json import dumps
from math import isfinite
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from classwise.arrays import Array, Labels
from classwise.classifier.explanation import Explanation
from classwise.serve.models import Models, Served
from classwise.serve.requests import Probability
from classwise.serve.resources import RequestDeadline
from classwise.serve.scorer import PredictedRows, column_reports, kind_of, stack_report
from classwise.serve.validation import InputColumn, LevelColumn

# This many rows are written at a time: other threads get a turn in between.
PART = 2000

Label = str | int | float | bool | None


class Prediction(Struct):
    """Labels and posteriors of rows, in their order; the posteriors of a row stand in the order of classes."""

    model: str
    sha256: str | None
    classes: list[Label]
    label: list[Label] | UnsetType = UNSET
    posteriors: list[list[Probability]] | UnsetType = UNSET


class ColumnShare(Struct):
    """What a column contributes to log odds; null stands for a share that is infinite."""

    column: str
    value: Any
    share: float | None


class ExplainedRow(Struct):
    """Why a row is taken for one label rather than another: the strongest reason first."""

    model: str
    sha256: str | None
    label: Label
    against: Label
    log_odds: float | None
    prior: float | None
    volume: float | None
    shares: list[ColumnShare]


class ColumnFacts(Struct):
    """What a column is; how much of it was missing, where the model has kept that."""

    name: str
    type: str
    kind: Literal["number", "count", "category", "yes/no"]
    family: str
    levels: list[Label] | None
    missing: float | UnsetType = UNSET
    note: str | UnsetType = UNSET


class MemberFacts(Struct):
    """A member of a stack: how much it weighs, and what it says alone, on held-out rows."""

    name: str
    weight: float | None
    temperature: float | None
    log_loss: float | None
    worth: float | None


class ModelBrief(Struct):
    """A model in a list of models."""

    name: str
    kind: str
    classes: list[Label]
    sha256: str | None
    loaded: datetime


class ModelFacts(ModelBrief):
    """A model with its columns, its priors, and where it comes from; a stack with its members."""

    priors: list[float]
    columns: list[ColumnFacts]
    provenance: dict[str, Any] | None
    members: list[MemberFacts] | UnsetType = UNSET
    log_loss: float | UnsetType = UNSET


class ModelHealth(Struct):
    """Which file a model is of, and why it is not the file that is there now."""

    loaded: datetime
    sha256: str | None
    problem: str | None


class Health(Struct):
    """Whether all models are those of their files. The server answers only when all are loaded, so it is ready."""

    status: Literal["ok", "stale"]
    models: dict[str, ModelHealth]


def brief(served: Served) -> ModelBrief:
    """A model in a list of models."""
    kind, classes = kind_of(served.scorer.estimator), served.scorer.classes
    return ModelBrief(served.name, kind, classes, served.sha256, _moment(served.loaded))


def full(served: Served) -> ModelFacts:
    """A model with all that is known of it."""
    inner, about = served.scorer.inner, served.about
    names = ("library", "version", "date", "sources", "rows", "weight", "options", "size")
    provenance = None if about is None else {name: getattr(about, name) for name in names}
    facts = ModelFacts(
        **asdict(brief(served)), priors=inner.priors_.tolist(), columns=_columns(served), provenance=provenance
    )
    report = stack_report(inner)
    if report is not None:
        lines = [line for line in report if not line.reason]
        facts.members = [MemberFacts(m.name, m.weight, m.temperature, m.log_loss, m.worth) for m in lines]
        facts.log_loss = report.log_loss
    return facts


def _columns(served: Served) -> list[ColumnFacts]:
    columns = [_column(column) for column in served.scorer.reader.columns]
    for facts, report in zip(columns, column_reports(served.scorer.inner) or (), strict=False):
        facts.family, facts.missing, facts.note = report.family, report.missing, report.note
    return columns


def _column(column: InputColumn) -> ColumnFacts:
    family: Any = column.column.family
    levels = column.levels.tolist() if isinstance(column, LevelColumn) else None
    return ColumnFacts(column.name, column.column.type, family.kind, str(family), levels)


def health(models: Models) -> Health:
    """Whether all models are those of their files."""
    served, problems = models.served.items(), models.problems
    states = {name: ModelHealth(_moment(s.loaded), s.sha256, problems.get(name)) for name, s in served}
    return Health("stale" if problems else "ok", states)


def explained_row(served: Served, explained: Explanation) -> ExplainedRow:
    """Reasons, the strongest first."""
    ranked = sorted(explained.shares.items(), key=lambda share: -abs(share[1]))
    shares = [ColumnShare(str(name), explained.values[name], _finite(share)) for name, share in ranked]
    odds, prior, volume = (_finite(number) for number in (explained.log_odds, explained.prior, explained.volume))
    label, against = explained.label, explained.other
    return ExplainedRow(served.name, served.sha256, label, against, odds, prior, volume, shares)


def prediction(served: Served, answer: PredictedRows, deadline: RequestDeadline) -> bytes:
    """A Prediction as JSON, written part by part."""
    parts = [served.opening]
    if answer.labels is not None:
        parts += [b', "label": ', _written(answer.labels, deadline)]
    if answer.posteriors is not None:
        parts += [b', "posteriors": ', _written(answer.posteriors, deadline)]
    return b"".join([*parts, b"}"])


def _written(values: Labels | Array, deadline: RequestDeadline) -> bytes:
    parts = []
    for start in range(0, len(values), PART):
        deadline.check()
        part = values[start : start + PART].tolist()
        # Labels may be text that UTF-8 cannot write.
        parts.append((msgspec.json.encode(part) if values.dtype.kind == "f" else dumps(part).encode())[1:-1])
    return b"[%b]" % b", ".join(parts)


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(round(seconds, 3), UTC)
