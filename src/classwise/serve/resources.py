"""What a request may take of the server: bytes, memory, threads, time. Whatever goes beyond is refused with a reason.

A body is never held beyond the limit, nor waited for longer than the limit. Large ones are limited together, too, since
the rows of a body take ten times its room while they are read. Large requests are answered by a limited number of
threads, a limited number wait, and none if the client has left. Web frameworks have none of these limits:
with them, twelve bodies of 29 MB at once take 1.1 GB at most, and small requests are answered meanwhile
(benchmarks/serve.py, `burst` and `hostile`).
"""

import asyncio
import ctypes
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from math import inf
from time import monotonic, perf_counter
from typing import Any, TypeVar

import pyarrow as pa
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classwise.serve.requests import Problem, busy, shown
from classwise.serve.settings import Limits

T = TypeVar("T")

# After such an answer the rest of the body is not read.
CLOSE = {"Connection": "close"}

# A body of this many bytes need not wait for room: large ones do not hold it up.
SMALL = 2**20

# So long after the last large body its memory is given back; sooner, the next one would ask for it again.
QUIET_SECONDS = 1.0

TOO_LONG = "Scoring took too long; send fewer rows at a time, or try again when the server is less busy"


# Bodies -------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def held_body(request: Request, limits: Limits, room: "Room") -> AsyncIterator[bytes]:
    """All bytes of a body, with the room for it; a Problem as soon as there are too many, or if they are too late.

    A large one is read no further than its first megabyte until there is room.
    """
    most, seconds, taken = limits.body_bytes, limits.body_seconds, 0
    length = _content_length(request.headers.get("content-length"), most)
    incoming, chunks = request.stream(), list[bytes]()
    try:
        size = await _read_on(incoming, chunks, min(SMALL, most), seconds)
        if size > SMALL:
            await room.take(length)
            taken = length
            size = await _read_on(incoming, chunks, most, seconds)
        if size > most:
            raise _too_large(f"more than {most}", most)
        body = b"".join(chunks)
        chunks.clear()
        yield body
    finally:
        if taken:
            room.give_back(taken)


async def _read_on(incoming: AsyncIterator[bytes], chunks: list[bytes], most: int, seconds: float) -> int:
    """Read on to the end, or until there are more than `most` bytes; how many there are."""
    size = sum(map(len, chunks))
    try:
        async with asyncio.timeout(seconds):
            while size <= most and (chunk := await anext(incoming, None)) is not None:
                chunks.append(chunk)
                size += len(chunk)
    except TimeoutError:
        reason = f"The body took longer than {seconds:g} seconds to arrive; send fewer rows at a time."
        raise Problem(408, reason, headers=CLOSE) from None
    except ClientDisconnect:
        raise Problem(400, "The connection was closed before the body was complete.") from None
    return size


def _content_length(length: str | None, most: int) -> int:
    """The length of a body by its header; the most that is allowed, without one."""
    if length is None:
        return most
    if not (length.isascii() and length.isdigit()):
        raise Problem(400, f"Content-Length: {shown(length)} is not a number of bytes.", headers=CLOSE)
    if len(length) > 18 or int(length) > most:
        raise _too_large(length[:18], most)
    return int(length)


def _too_large(size: str, most: int) -> Problem:
    return Problem(413, f"The body has {size} bytes, and the limit is {most}; send fewer rows at a time.")


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


# Threads ------------------------------------------------------------------------------------------------------------


class RequestDeadline:
    """Until when an answer is wanted: some seconds from now, or until it is given up.

    A thread cannot be stopped from outside; work asks between its parts.

    >>> RequestDeadline().check()
    """

    def __init__(self, seconds: float = inf) -> None:
        self._end = monotonic() + seconds

    def give_up(self) -> None:
        """The client no longer waits."""
        self._end = -inf

    def check(self) -> None:
        """A Problem where time is up."""
        if monotonic() > self._end:
            raise busy(TOO_LONG)


class Workers:
    """A pool of threads with a queue that has an end."""

    def __init__(self, limits: Limits) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._count = limits.workers
        self._room = limits.workers + limits.waiting
        self._seconds = limits.score_seconds

    async def run(self, work: Callable[[RequestDeadline], T], left: Coroutine[Any, Any, None]) -> T:
        """What work gives, from a thread; a Problem if too many wait, if it takes too long, or if the client has left.

        left: ends when the client leaves.
        """
        leaving, deadline = asyncio.create_task(left), RequestDeadline(self._seconds)
        try:
            under_way = self._begin(work, deadline)
            # The place is free when the thread is, not when the client was sent an error because it took too long.
            done = asyncio.wrap_future(under_way)
            done.add_done_callback(self._free)
            ends: list[asyncio.Future[Any]] = [done, leaving]
            await asyncio.wait(ends, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
            if done.done():
                return done.result()
            under_way.cancel()  # if it has not begun
            raise Problem(400, "The connection was closed before the answer.") if leaving.done() else busy(TOO_LONG)
        finally:
            deadline.give_up()
            leaving.cancel()

    def _begin(self, work: Callable[[RequestDeadline], T], deadline: RequestDeadline) -> "Future[T]":
        if self._room <= 0:
            raise busy("Too many large requests are waiting")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._count, thread_name_prefix="classwise-serve")
        self._room -= 1
        return self._pool.submit(work, deadline)

    def _free(self, future: "asyncio.Future[Any]") -> None:
        self._room += 1
        if not future.cancelled():
            future.exception()  # retrieved, or asyncio logs that it never was

    def close(self) -> None:
        """Let the threads go, when what they do is done. An app that is started again gets new ones."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


async def left(request: Request) -> None:
    """Wait until the client has gone, once the body is complete."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


# What a server counts, for Prometheus: every request, whatever becomes of it. Every app has a registry of its own -----


MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# From a row that takes half a millisecond to a million of them.
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Requests by path and status, how long they took, rows by model, reloads by outcome."""

    def __init__(self) -> None:
        self.registry = kept = CollectorRegistry()
        self.requests = Counter("classwise_requests", "Requests answered.", ["path", "status"], registry=kept)
        self.seconds = Histogram(
            "classwise_request_seconds", "Time to answer.", ["path"], buckets=SECONDS, registry=kept
        )
        self.under_way = Gauge("classwise_requests_under_way", "Requests being answered.", registry=kept)
        self.rows = Counter("classwise_rows", "Rows scored.", ["model"], registry=kept)
        self.reloads = Counter("classwise_reloads", "Changed files read.", ["model", "outcome"], registry=kept)
        self.loaded = Gauge(
            "classwise_model_loaded_seconds", "When a model was loaded, Unix time.", ["model"], registry=kept
        )
        self.stale = Gauge(
            "classwise_model_stale", "1 if a changed file could not be loaded.", ["model"], registry=kept
        )

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self.registry)


class CountRequests:
    """An ASGI layer. paths: those that are counted by name; all others are one, or a scan would fill the memory."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]) -> None:
        self.app = app
        self.metrics = metrics
        self.paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, start = 500, perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.metrics.under_way.inc()
        try:
            await self.app(scope, receive, noting)
        finally:
            self.metrics.under_way.dec()
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(perf_counter() - start)
