"""Whether a value is one that a fit can have made: types, finite numbers, parts that fit together."""

from typing import Any

import numpy as np

from classwise.errors import StoredFileError
from classwise.storage.annotations import fits
from classwise.storage.registry import Entry, entry_of


def examine(value: Any) -> None:
    """Refuse a value whose fields are not what their annotations say, or that does not find itself sound."""
    with np.errstate(all="ignore"):
        _examine(value, "")


def _examine(value: Any, where: str) -> None:
    entry = entry_of(value)
    if entry is None:
        for name, item in _items(value):
            _examine(item, f"{where}.{name}")
        return
    for name, item in entry.taken_from(value).items():
        _examine(item, f"{where}.{name}".lstrip("."))
    problem = _problem(value, entry)
    if problem:
        raise StoredFileError(f"{where or 'the whole'} is no {entry.name}: {problem}")


def _items(value: Any) -> list[tuple[Any, Any]]:
    if type(value) is dict:
        return list(value.items())
    return list(enumerate(value)) if type(value) in (list, tuple) else []


def _problem(value: Any, entry: Entry) -> str:
    annotations = entry.options | entry.attributes
    for name, item in entry.taken_from(value).items():
        if not fits(item, annotations[name]):
            return f"{name} is of another type"
        if name in entry.options and name not in entry.loose and not _is_finite(item):
            return f"{name} holds NaN or infinity"
    try:
        is_sound = getattr(value, "_is_sound", lambda: True)()
    except Exception as problem:  # whatever the parts of a damaged file provoke in each other
        return str(problem) or type(problem).__name__
    return "" if is_sound else "its parts do not fit together"


def _is_finite(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return bool(np.isfinite(value).all())
    return not isinstance(value, float) or bool(np.isfinite(value))
