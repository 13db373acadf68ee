"""Whether a value is what an annotation says."""

from collections.abc import Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from classwise.errors import StoredFileError
from classwise.storage.registry import Entry, entry_of


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is what an annotation says.

    >>> fits((1.0, 2), tuple[float, ...]), fits({"a": "b"}, dict[str, int]), fits(None, str | None)
    (True, False, True)
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any or isinstance(annotation, TypeVar):
        return True
    if origin in (Union, UnionType):
        return any(fits(value, choice) for choice in arguments)
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in arguments)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _is_of_type(value, arguments[1])
    if origin is not None:
        return isinstance(value, origin) and _contents_fit(value, origin, arguments)
    return _is_instance(value, NoneType if annotation is None else annotation)


def _contents_fit(value: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if origin is tuple and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if issubclass(origin, Mapping):
        return _all_fit(value, arguments[0]) and _all_fit(value.values(), arguments[1])
    # A string is a sequence of strings, and never meant where a sequence is asked for.
    return not issubclass(origin, Sequence) or (not isinstance(value, str) and _all_fit(value, arguments[0]))


def _all_fit(values: Iterable[Any], annotation: Any) -> bool:
    return all(fits(value, annotation) for value in values)


def _is_of_type(array: "np.ndarray[Any, Any]", annotation: Any) -> bool:
    """annotation: dtype[float64], dtype[integer[Any]], dtype[Any]."""
    (scalar,) = get_args(annotation)
    return scalar is Any or issubclass(array.dtype.type, get_origin(scalar) or scalar)


def _is_instance(value: Any, cls: type) -> bool:
    """As isinstance, but that yes and no are not numbers, and that whole numbers are."""
    if isinstance(value, bool):
        return cls in (bool, object)
    return isinstance(value, (int, float) if cls is float else cls)


# ----------------------------------------------------------------------------------------------------------------------
# Whether a value is one that a fit can have made: types, finite numbers, parts that fit together.


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
