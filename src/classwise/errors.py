"""Errors and warnings; the check of options; and the names that messages give to columns."""

import traceback
from collections.abc import Mapping
from itertools import takewhile
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

HERE = Path(__file__).parent


def column_name(name: str | None, place: int) -> str:
    """A column's quoted name, or its number where columns have no names.

    >>> column_name("width", 1), column_name(None, 1)
    ("'width'", 'column 1')
    """
    return f"column {place}" if name is None else f"'{name}'"


class ClasswiseError(ValueError):
    """An error that the caller can fix: the message names the argument, its value, the rule and the remedy."""

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter print: the caller's own lines and the message, not how classwise came upon it.

        `%debug` and `traceback.print_exc()` still have every line.
        """
        return short_traceback(self)


def short_traceback(error: BaseException) -> list[str]:
    """The lines of the caller's own code, up to where it called classwise, then the message."""
    own = takewhile(lambda frame: HERE not in Path(frame.filename).parents, traceback.extract_tb(error.__traceback__))
    called = [frame for frame in own if "site-packages" not in frame.filename]  # IPython's lines come first
    lines = [f"{_place(Path(frame.filename))}, line {frame.lineno}: {frame.line}" for frame in called]
    return [*lines, *(line.rstrip() for line in traceback.format_exception_only(error))]


def _place(file: Path) -> str:
    """The name of a file; that of a notebook cell is only a number."""
    return file.name if file.exists() else "cell"


class NotAvailableError(ClasswiseError, AttributeError):
    """This fitted model lacks the attribute; the message says which models have it. `hasattr` returns False."""


class SingularCovarianceError(ClasswiseError):
    """A covariance has no inverse, so its Gaussian has no density.

    classwise never regularizes silently. The message names the class, its rows, the rank, the constant or collinear
    columns, and the options that help.
    """


class StatisticsError(ClasswiseError):
    """Two statistics cannot be combined, or a statistic lacks what a model needs."""


class StoredFileError(ClasswiseError):
    """A file was not written by classwise, is damaged, or comes from a newer version."""


class UnscorableError(ClasswiseError):
    """A row has no finite score: it holds infinity, has probability zero, or lies beyond what float64 can measure."""


class OutOfTimeError(ClasswiseError):
    """Work was stopped before its end, because its time limit had passed."""


class MissingExtraError(ImportError):
    """A feature needs an optional library; the message gives the `pip install` command."""

    def _render_traceback_(self) -> list[str]:
        return short_traceback(self)


class DegenerateColumnWarning(UserWarning):
    """A column is constant or empty within a class, or EM stopped early; the message says which."""


class MissingLabelWarning(UserWarning):
    """Some rows have no label; the message says how many were left out."""


class UnansweredRowWarning(UserWarning):
    """The exported model has no answer for some rows that the model itself can score; the message says which."""


class SkippedFileWarning(UserWarning):
    """Some files could not be read and were left out, as on_error="skip" asks; the message counts and names them."""


class OutOfTimeWarning(UserWarning):
    """A time limit passed before any member was fitted: the model knows only the class shares. The message says what
    to do.
    """


class SingularRowWarning(UserWarning):
    """Some rows cannot be left out, because a class or its covariance needs them; the message names these rows."""


class IgnoredColumnWarning(UserWarning):
    """A column was left out because it carries no information about the classes, or none that other columns lack: an
    id, free text, a constant, a copy of other columns, or an empty column.
    """


class ImputedValueWarning(UserWarning):
    """Missing values were replaced by the mean of their column; the message names the columns."""


# ----------------------------------------------------------------------------------------------------------------------
# Options: checks of the values that callers give.


T = TypeVar("T")

# The numbers that callers give. Most are of the first two types, which are quicker to recognize than the abstract one.
NUMBER = (float, int, Real)


def choose(option: str, value: Any, table: Mapping[Any, T]) -> T:
    """The object in a table of legal names that the caller's name stands for; any other name is an error.

    >>> choose("estimate", "map", {"mle": 1, "unbiased": 2})
    Traceback (most recent call last):
    ...
    classwise.errors.ClasswiseError: estimate='map' is not an option; choose 'mle' or 'unbiased'.
    """
    # 1 does not count as True. NumPy's booleans are recognized by name, so that this module does not import NumPy.
    is_name = value is None or isinstance(value, (str, bool)) or type(value).__name__ == "bool"
    if is_name and value in table:
        return table[value]
    raise ClasswiseError(f"{option}={value!r} is not an option; choose {_either(table)}.")


def fraction(option: str, value: Any, *names: str) -> float:
    """A number in [0, 1]; names: the words that the caller may give instead, for the error message."""
    if isinstance(value, NUMBER) and not isinstance(value, bool) and 0 <= float(value) <= 1:
        return float(value)
    words = f", or {_either(names)}" if names else ""
    raise ClasswiseError(f"{option}={value!r} is not an option; give a number from 0 to 1{words}.")


def at_least(option: str, value: Any, least: float) -> float:
    """A number that is not below `least`."""
    if isinstance(value, NUMBER) and not isinstance(value, bool) and least <= float(value) < inf:
        return float(value)
    raise ClasswiseError(f"{option}={value!r} is not an option; give a number of at least {least:g}.")


def above(option: str, value: Any, least: float) -> float:
    """A number above `least`."""
    if isinstance(value, NUMBER) and not isinstance(value, bool) and least < float(value) < inf:
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
