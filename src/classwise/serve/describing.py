"""What a server says of its models: what they were learned from, what their columns are, how they are."""

from datetime import UTC, datetime
from typing import Any

from classwise.serve.columns import LevelColumn
from classwise.serve.models import Models, Served, kind_of


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
    """A model with its columns, its priors, and where it comes from."""
    inner, about = served.scorer.inner, served.about
    reports = zip(inner.schema_, served.scorer.reader.columns, strict=True)
    provenance = None
    if about is not None:
        names = ("library", "version", "date", "sources", "rows", "weight", "options", "size")
        provenance = {name: getattr(about, name) for name in names}
    return {
        **brief(served),
        "priors": inner.priors_.tolist(),
        "columns": [
            {
                "name": column.name,
                "type": report.type,
                "kind": report.kind,
                "family": report.family,
                "levels": column.levels.tolist() if isinstance(column, LevelColumn) else None,
                "missing": report.missing,
                "note": report.note,
            }
            for report, column in reports
        ],
        "provenance": provenance,
    }


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
