"""The studio: a local page on which a person sees the classes, moves the dials and watches the boundary."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from classwise.errors import MissingExtraError

if TYPE_CHECKING:
    from classwise.studio.app import create_studio as create_studio
    from classwise.studio.notebook import Studio as Studio
    from classwise.studio.notebook import studio as studio
    from classwise.studio.server import run as run

__all__ = ["Studio", "create_studio", "run", "studio"]


def __getattr__(name: str) -> Any:
    """Starlette, plotly and what goes with them are imported when they are first needed."""
    if name not in __all__:
        raise AttributeError(f"classwise.studio has no {name!r}; it has {', '.join(__all__)}.")
    try:
        from classwise.studio.app import create_studio
        from classwise.studio.notebook import Studio, studio
        from classwise.studio.server import run
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith("classwise"):
            raise
        raise MissingExtraError(f'The studio needs {problem.name}: pip install "classwise[studio]".') from problem
    return {"Studio": Studio, "create_studio": create_studio, "run": run, "studio": studio}[name]


class _CallableModule(ModuleType):
    """A module that can be called: importing this package replaces the function `classwise.studio` by the module."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        return self.studio(*given, **options)


sys.modules[__name__].__class__ = _CallableModule
