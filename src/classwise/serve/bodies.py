"""The body of a request: never more of it in memory than the limit, never waited for longer than the limit.

Large ones are limited together, too, since the rows of a body take ten times its room while they are read.
"""

import asyncio
import ctypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pyarrow as pa
from starlette.requests import Request
from starlette.types import Message

from classwise.serve.limits import Limits
from classwise.serve.problems import Problem, shown
from classwise.serve.work import busy

# After such an answer the rest of the body is not worth reading.
CLOSE = {"Connection": "close"}

# A body of so many bytes need not wait for room: large ones do not hold it up.
SMALL = 2**20

# So long after the last large body its memory is given back; sooner, the next one would ask for it again.
QUIET_SECONDS = 1.0


class Room:
    """The room that large bodies share: who finds none waits."""

    def __init__(self, limits: Limits) -> None:
        self._all = self._free = max(limits.held_bytes, limits.body_bytes)
        self._seconds = limits.room_seconds
        self._freed = asyncio.Event()
        self._tidying: asyncio.TimerHandle | None = None

    async def take(self, size: int) -> None:
        """Wait until there is room; a Problem if there is none for too long."""
        try:
            async with asyncio.timeout(self._seconds):
                while self._free < size:
                    await self._freed.wait()
        except TimeoutError:
            raise busy("Too many large requests are being answered; send fewer rows at a time, or try again") from None
        self._free -= size
        if self._tidying is not None:
            self._tidying.cancel()

    def give_back(self, size: int) -> None:
        """Leave room to others."""
        self._free += size
        self._freed.set()
        self._freed = asyncio.Event()  # for those who wait from now on
        if self._free == self._all:
            loop = asyncio.get_running_loop()
            self._tidying = loop.call_later(QUIET_SECONDS, loop.run_in_executor, None, give_memory_back)


def give_memory_back() -> None:
    """Hand what the allocators keep for later back to the system, where they can."""
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # of another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


@asynccontextmanager
async def held_body(request: Request, limits: Limits, room: Room) -> AsyncIterator[bytes]:
    """All bytes of a body, with the room for it; a Problem as soon as there are too many, or if they are too late.

    A large one is read no further than its first megabyte until there is room.
    """
    most, incoming, taken = limits.body_bytes, Incoming(request, limits.body_seconds), 0
    announced = _announced(request.headers.get("content-length"), most)
    try:
        await incoming.read(min(SMALL, most))
        if incoming.size > SMALL:
            await room.take(announced)
            taken = announced
            await incoming.read(most)
        if incoming.size > most:
            raise _too_large(f"more than {most}", most)
        yield incoming.joined()
    finally:
        if taken:
            room.give_back(taken)


async def left(request: Request) -> None:
    """Wait until the client has gone, once the body is complete."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Incoming:
    """A body on its way."""

    def __init__(self, request: Request, seconds: float) -> None:
        self._request = request
        self._seconds = seconds
        self._chunks: list[bytes] = []
        self._is_complete = False
        self.size = 0

    async def read(self, most: int) -> None:
        """Read on to the end, or until there are more than so many bytes."""
        try:
            async with asyncio.timeout(self._seconds):
                while not self._is_complete and self.size <= most:
                    self._add(await self._request.receive())
        except TimeoutError:
            reason = f"The body took longer than {self._seconds:g} seconds to arrive; send fewer rows at a time."
            raise Problem(408, reason, headers=CLOSE) from None

    def _add(self, message: Message) -> None:
        if message["type"] == "http.disconnect":
            raise Problem(400, "The connection was closed before the body was complete.")
        self._chunks.append(message.get("body", b""))
        self.size += len(self._chunks[-1])
        self._is_complete = not message.get("more_body", False)

    def joined(self) -> bytes:
        """The whole of it, once."""
        chunks, self._chunks = self._chunks, []
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _announced(length: str | None, most: int) -> int:
    """How long a body is said to be: as long as it may be, if nothing is said."""
    if length is None:
        return most
    if not (length.isascii() and length.isdigit()):
        raise Problem(400, f"Content-Length: {shown(length)} is not a number of bytes.", headers=CLOSE)
    if len(length) > 18 or int(length) > most:
        raise _too_large(length[:18], most)
    return int(length)


def _too_large(size: str, most: int) -> Problem:
    return Problem(413, f"The body has {size} bytes, and the limit is {most}; send fewer rows at a time.")
