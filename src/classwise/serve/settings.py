"""The limits of a server: bodies, rows, time, connections."""

from dataclasses import dataclass, fields
from math import isfinite
from os import cpu_count

from classwise.errors import ClasswiseError

MAY_BE_ZERO = ("waiting", "inline_bytes", "extra_columns")


@dataclass(frozen=True)
class Limits:
    """How large one request may be, and how many there may be at once. Whatever goes beyond is refused with a reason.

    body_bytes: of a request; rows: in a request; extra_columns: of an Arrow stream, besides those of the model.
    held_bytes: of bodies of more than a megabyte that are held at once; room_seconds: until there is room for one more.
    header_seconds: until the head of a request is there, body_seconds: until its body is, write_seconds: until its
        answer is read by the client.
    score_seconds: for reading, scoring and writing rows, the wait for a free thread included.
    workers: threads that score large requests; waiting: large requests that may wait for one.
    connections: open at the same time; stop_seconds: for requests under way when the server is stopped.
    inline_bytes: up to this size a request is answered at once, without a thread.

    >>> Limits(rows=10).rows
    10
    """

    body_bytes: int = 32 * 2**20
    rows: int = 1_000_000
    extra_columns: int = 1000
    held_bytes: int = 64 * 2**20
    room_seconds: float = 30.0
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    write_seconds: float = 30.0
    score_seconds: float = 30.0
    workers: int = min(cpu_count() or 1, 8)
    waiting: int = 32
    connections: int = 1000
    stop_seconds: int = 30
    inline_bytes: int = 4096

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 0 if field.name in MAY_BE_ZERO else 1e-9
            is_number = type(value) is int or (field.type is float and type(value) is float and isfinite(value))
            if not is_number or value < least:
                words = "a number above 0" if least else "a whole number, 0 or more"
                raise ClasswiseError(f"{field.name}={value!r} is not a limit; give {words}.")
