"""How many threads may work: as many as the BLAS libraries of this process may use, and one inside a pool of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock, local
from typing import Any

from threadpoolctl import ThreadpoolController


class BlasThreads:
    """How many threads the BLAS libraries of this process use: one number, whoever calls.

    The first to enter sets it to one, the last to leave sets it back. Were each to restore what it found, two callers
    that overlap would leave BLAS on one thread for good.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._allowed = 1
        self._limit: Any = None

    @contextmanager
    def held(self) -> Iterator[int]:
        """Hold BLAS to one thread; gives how many it may use otherwise, which is how many we may."""
        self._enter()
        try:
            yield self._allowed
        finally:
            self._leave()

    def allowed(self) -> int:
        """How many threads BLAS may use, now or as soon as it is no longer held to one."""
        with self._lock:
            return self._allowed if self._inside else self._count()

    def _enter(self) -> None:
        with self._lock:
            if not self._inside:
                self._allowed = self._count()
                self._limit = self._controller.limit(limits=1)
            self._inside += 1

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()

    def _count(self) -> int:
        return max((library.num_threads for library in self._controller.lib_controllers), default=1)

    @cached_property
    def _controller(self) -> ThreadpoolController:
        return ThreadpoolController().select(user_api="blas")


BLAS = BlasThreads()


class Ours(local):
    """Whether this thread is one of a pool of ours: then the cores are at work, and it starts no threads of its own."""

    working = False

    def begin(self) -> None:
        self.working = True


OURS = Ours()

# Passes over fewer numbers than this take less time than starting a thread for them.
WORTH_A_THREAD = 1 << 17


def threads_for(numbers: int) -> int:
    """How many threads a pass over so many numbers may use."""
    return 1 if numbers < 2 * WORTH_A_THREAD or OURS.working else min(BLAS.allowed(), numbers // WORTH_A_THREAD)
