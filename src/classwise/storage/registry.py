"""Which classes a file may hold: those declared with `stored`, under a name. Nothing else is ever built from a file.

A class is a dataclass, or an estimator: its options, and the fitted attributes that its annotations name. So what a
file holds of a class is what the class declares, and each value can be held against its annotation.

A method `_is_sound` may say more: whether the parts fit together as they do after a fit. It is called when a file is
saved and when it is loaded, children first, and may simply raise.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from classwise.errors import StoredFileError

T = TypeVar("T", bound=type)


@dataclass(frozen=True, eq=False)
class Entry:
    """A declared class. kind: of a file that holds such a value, if one may; loose: fields where NaN and infinity may
    stand.
    """

    name: str
    cls: type
    kind: str | None = None
    loose: tuple[str, ...] = ()

    @cached_property
    def options(self) -> dict[str, Any]:
        """What the constructor takes, with annotations."""
        if is_dataclass(self.cls):
            return {field.name: self._hints[field.name] for field in fields(self.cls)}
        return {name: self._hints.get(name, Any) for name in inspect.signature(self.cls).parameters}

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """What a fit sets, with annotations: all that the class declares, except for options and constants."""
        if is_dataclass(self.cls):
            return {}
        declared = {name: hint for name, hint in self._hints.items() if get_origin(hint) is not ClassVar}
        return {name: hint for name, hint in declared.items() if name not in self.options}

    @cached_property
    def required(self) -> set[str]:
        """The options without a default."""
        if is_dataclass(self.cls):
            return {field.name for field in fields(self.cls) if not _has_default(field)}
        parameters = inspect.signature(self.cls).parameters.values()
        return {parameter.name for parameter in parameters if parameter.default is inspect.Parameter.empty}

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.cls)

    def taken_from(self, value: Any) -> dict[str, Any]:
        """The options and fitted attributes of a value."""
        held = {name: getattr(value, name) for name in self.options}
        return held | {name: vars(value)[name] for name in self.attributes if name in vars(value)}

    def make(self, held: dict[str, Any]) -> Any:
        """The value again."""
        made = self.cls(**{name: held[name] for name in self.options if name in held})
        for name in self.attributes:
            if name in held:
                setattr(made, name, held[name])
        return made


ENTRIES: dict[str, Entry] = {}
_BY_CLASS: dict[type, Entry] = {}


def stored(name: str, kind: str | None = None, loose: tuple[str, ...] = ()) -> Callable[[T], T]:
    """Declare a class that files may hold, under a name that never changes.

    kind: "model" or "statistics", for what may be saved by itself; such a class gives the facts of a file's header with
    `_facts`. loose: the fields in which arrays may hold NaN and infinity.

    >>> @stored("Example")
    ... @dataclass(frozen=True)
    ... class Example:
    ...     weight: float
    >>> ENTRIES.pop("Example").make({"weight": 2.0})
    Example(weight=2.0)
    """

    def declare(cls: T) -> T:
        ENTRIES[name] = _BY_CLASS[cls] = Entry(name, cls, kind, loose)
        return cls

    return declare


def entry_of(value: Any) -> Entry | None:
    """The declaration of a value's own class; that of a base class does not count."""
    return _BY_CLASS.get(type(value))


def _has_default(field: "Field[Any]") -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


# Whether a value is what an annotation says ---------------------------------------------------------------------------


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is what an annotation says.

    >>> fits((1.0, 2), tuple[float, ...]), fits({"a": "b"}, dict[str, int]), fits(None, str | None)
    (True, False, True)
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if hasattr(origin, "__value__"):  # a type that has a name of its own, as NDArray has from Python 3.12 on
        return fits(value, origin.__value__[arguments])
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
    # A string is a sequence of strings, and never meant where a sequence is expected.
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
