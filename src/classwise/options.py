"""Options: a name given by the caller, looked up in the table of legal ones."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from classwise.errors import ClasswiseError

T = TypeVar("T")


def choose(option: str, value: Any, table: Mapping[Any, T]) -> T:
    """The object that a name stands for.

    >>> choose("estimate", "map", {"mle": 1, "unbiased": 2})
    Traceback (most recent call last):
    ...
    classwise.errors.ClasswiseError: estimate='map' is not an option; choose 'mle' or 'unbiased'.
    """
    if (value is None or isinstance(value, (str, bool, np.bool_))) and value in table:
        return table[value]
    raise ClasswiseError(f"{option}={value!r} is not an option; choose {_either(table)}.")


def fraction(option: str, value: Any, *names: str) -> float:
    """A number in [0, 1]; `names` are the words the caller might have used instead."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    words = f", or {_either(names)}" if names else ""
    raise ClasswiseError(f"{option}={value!r} is not an option; give a number from 0 to 1{words}.")


def at_least(option: str, value: Any, least: float) -> float:
    """A number that is not below `least`."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and least <= value < np.inf:
        return float(value)
    raise ClasswiseError(f"{option}={value!r} is not an option; give a number of at least {least:g}.")


def above(option: str, value: Any, least: float) -> float:
    """A number above `least`."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and least < value < np.inf:
        return float(value)
    raise ClasswiseError(f"{option}={value!r} is not an option; give a number above {least:g}.")


def whole(option: str, value: Any, least: int) -> int:
    """A whole number that is not below `least`."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ClasswiseError(f"{option}={value!r} is not an option; give a whole number of at least {least}.")


def _either(names: Any) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " or " + quoted[-1]
