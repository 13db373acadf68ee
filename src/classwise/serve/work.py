"""Threads for large requests: so many at a time, so many waiting, and none beyond its time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

from classwise.serve.limits import Limits
from classwise.serve.problems import Problem

T = TypeVar("T")


class Workers:
    """A pool of threads with a queue that has an end."""

    def __init__(self, limits: Limits) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._count = limits.workers
        self._room = limits.workers + limits.waiting
        self._seconds = limits.score_seconds

    def deadline(self) -> float:
        """When a request that begins now must be done, on the clock `time.monotonic`."""
        return monotonic() + self._seconds

    async def run(self, work: Callable[[], T]) -> T:
        """What work gives, from a thread; a Problem if too many wait, or if it takes too long."""
        if self._room <= 0:
            raise _busy("Too many large requests are waiting")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._count, thread_name_prefix="classwise-serve")
        self._room -= 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        # The place is free when the thread is, not when the client was told that it takes too long.
        future.add_done_callback(self._free)
        done, _ = await asyncio.wait([future], timeout=self._seconds)
        if not done:
            future.cancel()
            raise _busy("Scoring took too long; send fewer rows at a time, or try again when the server is less busy")
        return future.result()

    def _free(self, future: "asyncio.Future[T]") -> None:
        self._room += 1
        if not future.cancelled():
            future.exception()  # asked for, so that nobody complains that nobody did

    def close(self) -> None:
        """Let the threads go, when what they do is done. An app that is started again gets new ones."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _busy(reason: str) -> Problem:
    return Problem(503, f"{reason}.", headers={"Retry-After": "1"})
