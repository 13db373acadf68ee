"""Threads for large requests: so many at a time, so many waiting, and none for an answer that nobody waits for."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from time import monotonic
from typing import Any, TypeVar

from classwise.serve.limits import Limits
from classwise.serve.problems import Problem

T = TypeVar("T")

TOO_LONG = "Scoring took too long; send fewer rows at a time, or try again when the server is less busy"


class Deadline:
    """Until when an answer is wanted: so many seconds from now, or until it is given up.

    A thread cannot be stopped from outside; work asks between its parts.

    >>> Deadline().check()
    """

    def __init__(self, seconds: float = inf) -> None:
        self._end = monotonic() + seconds

    def give_up(self) -> None:
        """Nobody waits any more."""
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

    def at_once(self, work: Callable[[Deadline], T]) -> T:
        """What work gives, here and now."""
        return work(Deadline(self._seconds))

    async def run(self, work: Callable[[Deadline], T], left: Coroutine[Any, Any, None]) -> T:
        """What work gives, from a thread; a Problem if too many wait, if it takes too long, or if the client has left.

        left: ends when the client leaves.
        """
        leaving, deadline = asyncio.create_task(left), Deadline(self._seconds)
        try:
            under_way = self._begin(work, deadline)
            # The place is free when the thread is, not when the client was told that it takes too long.
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

    def _begin(self, work: Callable[[Deadline], T], deadline: Deadline) -> "Future[T]":
        if self._room <= 0:
            raise busy("Too many large requests are waiting")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._count, thread_name_prefix="classwise-serve")
        self._room -= 1
        return self._pool.submit(work, deadline)

    def _free(self, future: "asyncio.Future[Any]") -> None:
        self._room += 1
        if not future.cancelled():
            future.exception()  # asked for, so that nobody complains that nobody did

    def close(self) -> None:
        """Let the threads go, when what they do is done. An app that is started again gets new ones."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def busy(reason: str) -> Problem:
    """The server has too much to do."""
    return Problem(503, f"{reason}.", headers={"Retry-After": "1"})
