"""What a server says of its models: what they were learned from, what their columns are, how they are."""

from datetime import UTC, datetime
from typing import Any

from classwise.comparison.stack import AutoClassifier
from classwise.serve.columns import InputColumn, LevelColumn
from classwise.serve.models import Models, Served, kind_of
from classwise.serve.scoring import Scorer


def brief(served: Served) -> dict[str, Any]:
    """A model in a list of models."""
    return {
        "name": served.name,
        "kind": kind_of(served.scorer),
        "classes": served.scorer.classes,
        "sha256": served.sha256,
        "loaded": _written(served.loaded),
    }


def full(served: Served) -> dict[str, Any]:
    """A model with its columns, its priors, and where it comes from; a stack with its members."""
    inner, about = served.scorer.inner, served.about
    provenance = None
    if about is not None:
        names = ("library", "version", "date", "sources", "rows", "weight", "options", "size")
        provenance = {name: getattr(about, name) for name in names}
    return {
        **brief(served),
        "priors": inner.priors_.tolist(),
        "columns": _columns(served.scorer),
        **_members(inner),
        "provenance": provenance,
    }


def _columns(scorer: Scorer) -> list[dict[str, Any]]:
    """What each column is; how much of it is missing, where the model has kept that."""
    columns = [_column(column) for column in scorer.reader.columns]
    if not isinstance(scorer.inner, AutoClassifier):
        for column, report in zip(columns, scorer.inner.schema_, strict=True):
            column |= {"family": report.family, "missing": report.missing, "note": report.note}
    return columns


def _column(column: InputColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.column.type,
        "kind": column.column.family.kind,
        "family": str(column.column.family),
        "levels": column.levels.tolist() if isinstance(column, LevelColumn) else None,
    }


def _members(inner: Any) -> dict[str, Any]:
    """The members of a stack: how much each weighs, and what it says alone, on rows held out."""
    if not isinstance(inner, AutoClassifier):
        return {}
    facts = ("name", "weight", "temperature", "log_loss", "worth")
    members = [{fact: getattr(line, fact) for fact in facts} for line in inner.report_ if not line.reason]
    return {"members": members, "log_loss": inner.report_.log_loss}


def health(models: Models) -> dict[str, Any]:
    """Whether all models are those of their files. The server answers only when all are loaded, so it is ready."""
    states = {
        name: {
            "loaded": _written(served.loaded),
            "sha256": served.sha256,
            "problem": models.troubles[name].reason if name in models.troubles else None,
        }
        for name, served in models.served.items()
    }
    return {"status": "stale" if models.troubles else "ok", "models": states}


def _written(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
