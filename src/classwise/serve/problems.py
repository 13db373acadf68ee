"""What a request did wrong, in one shape: a problem of RFC 9457, which names row and column where it knows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from json import dumps
from operator import methodcaller
from typing import Any

import msgspec
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


class ProblemDetails(msgspec.Struct, omit_defaults=True):
    """What the client is told."""

    type: str
    title: str
    status: int
    detail: str
    row: int | None = None
    column: str | None = None


@dataclass(eq=False)
class Problem(Exception):  # noqa: N818 - it is what RFC 9457 calls it
    """A request cannot be answered: the status, the reason, and the row (counted from 0) and column it lies in."""

    status: int
    detail: str
    row: int | None = None
    column: str | None = None
    headers: dict[str, str] | None = None

    def __str__(self) -> str:
        return self.detail

    def response(self) -> Response:
        """The problem as an answer."""
        title = HTTPStatus(self.status).phrase
        told = ProblemDetails("about:blank", title, self.status, self.detail, self.row, self.column)
        return Response(to_json(told), self.status, self.headers, MEDIA_TYPE)


def to_json(facts: Any) -> bytes:
    """Facts as JSON, in ASCII: UTF-8 cannot write half a surrogate pair, which text of a request may hold."""
    return dumps(plain(facts)).encode()


def plain(facts: Any) -> Any:
    """Facts as lists and dicts, with Python's numbers for NumPy's."""
    return msgspec.to_builtins(facts, enc_hook=methodcaller("item"))


def misfit(column: str, row: int | None, complaint: str) -> Problem:
    """A value that its column cannot take."""
    place = f"Column {shown(column)}" if row is None else f"Row {row}, column {shown(column)}"
    return Problem(422, f"{place}: {complaint}", row, column)


def busy(reason: str) -> Problem:
    """The server has too much to do."""
    return Problem(503, f"{reason}.", headers={"Retry-After": "1"})


def shown(value: Any, most: int = 60) -> str:
    """A value as messages show it, cut where it is long.

    >>> shown("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    text = repr(value) if isinstance(value, str) else as_json(value)
    return text if len(text) <= most else text[: most - 1] + "..."


def listed(names: Sequence[Any], most: int = 8) -> str:
    """Names, the first few of many."""
    return ", ".join(shown(name) for name in names[:most]) + (", ..." if len(names) > most else "")


def as_json(value: Any) -> str:
    """A value of a request as the client wrote it."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    try:
        return dumps(value)
    except ValueError:  # a whole number of more digits than Python writes
        return "a number of thousands of digits"
