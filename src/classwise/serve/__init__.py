"""Serving: models behind HTTP, that answer as Python would, check every row and survive their clients."""

from typing import TYPE_CHECKING, Any

from classwise.errors import MissingExtraError
from classwise.serve.settings import Limits

if TYPE_CHECKING:
    from classwise.serve.app import create_app as create_app
    from classwise.serve.server import run as run

__all__ = ["Limits", "create_app", "run"]


def __getattr__(name: str) -> Any:
    """Starlette and what goes with it are imported when they are first needed."""
    if name not in ("create_app", "run"):
        raise AttributeError(f"classwise.serve has no {name!r}; it has {', '.join(__all__)}.")
    try:
        from classwise.serve.app import create_app
        from classwise.serve.server import run
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith("classwise"):
            raise
        raise MissingExtraError(f'Serving needs {problem.name}: pip install "classwise[serve]".') from problem
    return {"create_app": create_app, "run": run}[name]
