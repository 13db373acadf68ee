"""What a request did wrong, in one shape: a problem of RFC 9457, which names row and column where it knows them."""

from http import HTTPStatus
from json import dumps
from typing import Any

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


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
        """What the client is told."""
        place = {"row": self.row, "column": self.column}
        content = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **{name: value for name, value in place.items() if value is not None},
        }
        # Text from a request may hold what UTF-8 cannot write, half a surrogate pair; ASCII can.
        return Response(dumps(content), self.status, self.headers, MEDIA_TYPE)


def misfit(column: str, row: int | None, complaint: str) -> Problem:
    """A value that its column cannot take."""
    place = f"Column {shown(column)}" if row is None else f"Row {row}, column {shown(column)}"
    return Problem(422, f"{place}: {complaint}", row, column)


def shown(value: Any, most: int = 60) -> str:
    """A value as messages show it, cut where it is long.

    >>> shown("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    text = repr(value) if isinstance(value, str) else as_json(value)
    return text if len(text) <= most else text[: most - 1] + "..."


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
