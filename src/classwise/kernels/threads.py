"""How many threads may work, and one inside a pool of ours.

As many as n_jobs asks for; else as joblib.parallel_config asks for; else as the BLAS libraries of this process may use,
which are all cores, unless OMP_NUM_THREADS, threadpoolctl or a worker of joblib limits them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from numbers import Integral
from threading import Lock, local
from typing import Any

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from classwise.errors import ClasswiseError


class BlasThreads:
    """How many threads the BLAS libraries of this process use: one number for all callers.

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
        """Hold BLAS to one thread; gives how many threads of ours may work."""
        self._enter()
        try:
            yield self.allowed()
        finally:
            self._leave()

    def allowed(self) -> int:
        """How many threads of ours may work: unless somebody asks for a number, as many as BLAS may use when it is not
        held to one.
        """
        asked = JOBS.get() or _asked_of_joblib()
        if asked is not None:
            return asked
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

# How many threads the caller of a function with n_jobs asks for; None: no number.
JOBS: ContextVar[int | None] = ContextVar("jobs", default=None)


@contextmanager
def with_jobs(n_jobs: Any, most: int | None = None) -> Iterator[None]:
    """Inside, this many threads work: a number, -1 for all cores, -2 for all but one.

    None changes nothing, but where the caller has not asked for a number, at most `most` threads work.
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ClasswiseError(
            f"n_jobs={n_jobs!r} is not an option; give a number of threads, -1 for all cores, -2 for all but one, or "
            "None for as many as BLAS may use."
        )
    number = JOBS.get() if n_jobs is None else max(effective_n_jobs(int(n_jobs)), 1)
    if number is None and most is not None and _asked_of_joblib() is None and BLAS.allowed() > most:
        number = most
    token = JOBS.set(number)
    try:
        yield
    finally:
        JOBS.reset(token)


def _asked_of_joblib() -> int | None:
    """The number inside joblib.parallel_config(n_jobs=...); else None."""
    asked = get_active_backend()[1]
    return None if asked is None else max(effective_n_jobs(asked), 1)


class Ours(local):
    """Whether this thread works in a pool of ours: then the cores are at work, and it starts no threads of its own."""

    working = False

    def begin(self) -> None:
        self.working = True

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """This thread works in a pool for a while."""
        before, self.working = self.working, True
        try:
            yield
        finally:
            self.working = before


OURS = Ours()

# Passes over fewer numbers than this take less time than starting a thread for them.
WORTH_A_THREAD = 1 << 17


def threads_for(numbers: int) -> int:
    """How many threads a pass over so many numbers may use."""
    return 1 if numbers < 2 * WORTH_A_THREAD or OURS.working else min(BLAS.allowed(), numbers // WORTH_A_THREAD)
