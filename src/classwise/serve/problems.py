"""What a request did wrong, in one shape: a problem of RFC 9457, which names row and column where it knows them."""

from collections.abc import Sequence
from http import HTTPStatus
from json import dumps
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


class ProblemDetails(msgspec.Struct):
    """What the client is told."""

    type: str
    title: str
    status: int
    detail: str
    row: int | UnsetType = UNSET
    column: str | UnsetType = UNSET


class Problem(Exception):  # noqa: N818 - it is what RFC 9457 calls it
    """A request cannot be answered: the status, the reason, and the row (counted from 0) and column it lies in."""

    def __init__(
        self,
        status: int,
        detail: str,
        row: int | None = None,
        column: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.row = row
        self.column = column
        self.headers = headers

    def response(self) -> Response:
        """The problem as an answer."""
        row, column = UNSET if self.row is None else self.row, UNSET if self.column is None else self.column
        told = ProblemDetails("about:blank", HTTPStatus(self.status).phrase, self.status, self.detail, row, column)
        return Response(to_json(told), self.status, self.headers, MEDIA_TYPE)


def to_json(facts: Any) -> bytes:
    """Facts as JSON, in ASCII: UTF-8 cannot write half a surrogate pair, which text of a request may hold."""
    return dumps(msgspec.to_builtins(facts)).encode()


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
