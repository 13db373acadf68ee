"""Which classes a file may hold: those declared with `stored`, under a name. Nothing else is ever built from a file.

A class is a dataclass, or an estimator: its options, and the fitted attributes that its annotations name. So what a
file holds of a class is what the class declares, and each value can be held against its annotation.

A method `_is_sound` may say more: whether the parts fit together as they do after a fit. It is asked when a file is
saved and when it is loaded, children first, and may simply raise.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar, get_origin, get_type_hints

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
        """What a fit sets, with annotations: all that the class declares, but for options and constants."""
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

    kind: "model" or "statistics", for what may be saved by itself; such a class tells a file's header about itself with
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
