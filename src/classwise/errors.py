"""What can go wrong, each kind defined by its docstring; and what messages call a column."""

from collections.abc import Mapping
from math import inf
from numbers import Integral, Real
from typing import Any, TypeVar


def column_name(name: str | None, place: int) -> str:
    """A column's quoted name, or its number where columns have no names.

    >>> column_name("width", 1), column_name(None, 1)
    ("'width'", 'column 1')
    """
    return f"column {place}" if name is None else f"'{name}'"


class ClasswiseError(ValueError):
    """Something the caller can mend: the message names the argument, the rule, the value and the remedy."""


class NotAvailableError(ClasswiseError, AttributeError):
    """This fitted model has no such attribute; the message says which models have. `hasattr` is False."""


class SingularCovarianceError(ClasswiseError):
    """A covariance has no inverse, so its Gaussian has no density.

    Nothing is regularized behind the caller's back: the message names the class, its rows, the rank,
    the constant or collinear columns, and the options that would help.
    """


class StatisticsError(ClasswiseError):
    """Two statistics cannot be combined, or a statistic lacks what a model needs."""


class StoredFileError(ClasswiseError):
    """A file is not one that classwise wrote, is damaged, or comes from a newer version."""


class UnscorableError(ClasswiseError):
    """A row has no finite score: it holds infinity, has probability zero, or lies beyond what float64 can measure."""


class OutOfTimeError(ClasswiseError):
    """Work was given up in its middle because its time limit was over."""


class MissingExtraError(ImportError):
    """A capability needs an optional library; the message gives the `pip install` that brings it."""


class DegenerateColumnWarning(UserWarning):
    """A column is constant or empty within a class, or EM stopped early; the message says which."""


class MissingLabelWarning(UserWarning):
    """Some rows have no label; the message says how many were left out."""


class UnansweredRowWarning(UserWarning):
    """What was exported has no answer for some rows that the model itself can score; the message says for which."""


class SkippedFileWarning(UserWarning):
    """Some files could not be read and were left out, as on_error="skip" asks; the message counts and names them."""


class OutOfTimeWarning(UserWarning):
    """A time limit left a model that has not looked at the columns; the message says what to give instead."""


class SingularRowWarning(UserWarning):
    """Some rows cannot be left out: without them a class, or its covariance, is gone; the message names them."""


class IgnoredColumnWarning(UserWarning):
    """A column was left out because it says nothing of the classes, or nothing new: an id, free text, one number, the
    numbers of other columns, or nothing at all.
    """


class ImputedValueWarning(UserWarning):
    """Values are missing, and the mean of their column stands for them; the message names the columns."""


# ----------------------------------------------------------------------------------------------------------------------
# Options: a name given by the caller, looked up in the table of legal ones.


T = TypeVar("T")


def choose(option: str, value: Any, table: Mapping[Any, T]) -> T:
    """The object that a name stands for.

    >>> choose("estimate", "map", {"mle": 1, "unbiased": 2})
    Traceback (most recent call last):
    ...
    classwise.errors.ClasswiseError: estimate='map' is not an option; choose 'mle' or 'unbiased'.
    """
    # Not 1 for True; NumPy's own yes and no are told by name, for nothing here waits for NumPy.
    is_name = value is None or isinstance(value, (str, bool)) or type(value).__name__ == "bool"
    if is_name and value in table:
        return table[value]
    raise ClasswiseError(f"{option}={value!r} is not an option; choose {_either(table)}.")


def fraction(option: str, value: Any, *names: str) -> float:
    """A number in [0, 1]; `names` are the words the caller might have used instead."""
    if isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) <= 1:
        return float(value)
    words = f", or {_either(names)}" if names else ""
    raise ClasswiseError(f"{option}={value!r} is not an option; give a number from 0 to 1{words}.")


def at_least(option: str, value: Any, least: float) -> float:
    """A number that is not below `least`."""
    if isinstance(value, Real) and not isinstance(value, bool) and least <= float(value) < inf:
        return float(value)
    raise ClasswiseError(f"{option}={value!r} is not an option; give a number of at least {least:g}.")


def above(option: str, value: Any, least: float) -> float:
    """A number above `least`."""
    if isinstance(value, Real) and not isinstance(value, bool) and least < float(value) < inf:
        return float(value)
    raise ClasswiseError(f"{option}={value!r} is not an option; give a number above {least:g}.")


def whole(option: str, value: Any, least: int) -> int:
    """A whole number that is not below `least`."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least:
        return int(value)
    raise ClasswiseError(f"{option}={value!r} is not an option; give a whole number of at least {least}.")


def _either(names: Any) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " or " + quoted[-1]
