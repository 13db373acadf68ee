"""The body of a request: never more of it in memory than the limit, never waited for longer than the limit."""

import asyncio

from starlette.requests import Request

from classwise.serve.limits import Limits
from classwise.serve.problems import Problem, shown

# After such an answer the rest of the body is not worth reading.
CLOSE = {"Connection": "close"}


async def read_body(request: Request, limits: Limits) -> bytes:
    """All bytes of a body; a Problem as soon as there are too many, or when they take too long to come."""
    _refuse_announced(request.headers.get("content-length"), limits.body_bytes)
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await _gather(request, limits.body_bytes)
    except TimeoutError:
        reason = f"The body took longer than {limits.body_seconds:g} seconds to arrive; send fewer rows at a time."
        raise Problem(408, reason, headers=CLOSE) from None


async def _gather(request: Request, most: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "The connection was closed before the body was complete.")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise _too_large(f"more than {most}", most)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _refuse_announced(length: str | None, most: int) -> None:
    if length is None:
        return
    if not (length.isascii() and length.isdigit()):
        raise Problem(400, f"Content-Length: {shown(length)} is not a number of bytes.", headers=CLOSE)
    if len(length) > 18 or int(length) > most:
        raise _too_large(length[:18], most)


def _too_large(size: str, most: int) -> Problem:
    return Problem(413, f"The body has {size} bytes, and the limit is {most}; send fewer rows at a time.")
