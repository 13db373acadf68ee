"""BLAS held to one thread while our own threads work: two layers of threads get in each other's way."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
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

    def _enter(self) -> None:
        with self._lock:
            if not self._inside:
                self._allowed = max((library.num_threads for library in self._controller.lib_controllers), default=1)
                self._limit = self._controller.limit(limits=1)
            self._inside += 1

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()

    @cached_property
    def _controller(self) -> ThreadpoolController:
        return ThreadpoolController().select(user_api="blas")


BLAS = BlasThreads()
