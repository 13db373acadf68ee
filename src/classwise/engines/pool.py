"""A pool of threads whose tasks may hand out tasks of their own.

The thread that hands out tasks does them itself, one after the other, and idle threads take some of them. While it
waits for the last of these, another thread works in its place. So one long task does not leave cores idle, and
nothing waits for a thread that never comes.
"""

from collections.abc import Callable, Sequence
from contextvars import copy_context
from threading import Condition, Lock, Thread, local
from typing import Any, Generic, TypeVar

from classwise.kernels import OURS

T = TypeVar("T")
R = TypeVar("R")


class Stopped(BaseException):
    """The caller of the pool was interrupted: what has not begun never will."""


class ThreadLocalPool(local):
    """The pool that this thread works in, or keeps while much of its work is short; depth: how many tasks it is in."""

    pool: "ThreadPool | None" = None
    depth = 0


LOCAL = ThreadLocalPool()


class Batch(Generic[T, R]):
    """Tasks that one thread has handed out. begun: how many have begun, or never will; running: how many are at work;
    problem: the first task that failed, and its error.
    """

    def __init__(self, function: Callable[[T], R], tasks: Sequence[T], lock: Lock) -> None:
        self.function, self.tasks = function, tasks
        self.results: list[Any] = [None] * len(tasks)
        self.is_done = [False] * len(tasks)
        self.begun = self.running = 0
        self.problem: tuple[int, BaseException] | None = None
        self.changed = Condition(lock)
        self.is_outer = LOCAL.depth == 0
        # What numbers NumPy is to be silent about, and whether somebody watches, is the same in all threads.
        self.context = copy_context()

    def drop(self) -> None:
        """No further task begins."""
        self.begun = len(self.tasks)


def _order(number: int, problem: BaseException) -> tuple[int, int]:
    """Which of two problems is raised: an interruption, then the first error, last what only follows from these."""
    return 2 if isinstance(problem, Stopped) else int(isinstance(problem, Exception)), number


class ThreadPool:
    """At most `size` threads at work, the caller's included; those that wait for others do not count."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = Lock()
        self._work = Condition(self._lock)
        self._batches: list[Batch[Any, Any]] = []  # those with tasks that have not begun
        self._threads: list[Thread] = []
        # How many threads are at work, are on their way to work, and have none.
        self._busy, self._called, self._idle = 1, 0, 0
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether its caller was interrupted, or has closed it."""
        return self._is_stopped

    def map(self, function: Callable[[T], R], tasks: Sequence[T], step: Callable[[], None] = lambda: None) -> list[R]:
        """function of each task, in their order; step is called in this thread, for each that is done.

        The error of the first task that fails is raised, as soon as no task is running. Others do not begin then.
        """
        if not tasks:
            return []
        batch = Batch(function, tasks, self._lock)
        with self._lock:
            if self._is_stopped:
                raise Stopped
            self._batches.append(batch)
            for _ in range(len(tasks) - 1):
                self._call()
        try:
            with OURS.at_work(), keeping(self):
                self._see_through(batch, step)
        except BaseException as problem:
            self._is_stopped |= not isinstance(problem, Exception)
            raise
        finally:
            with self._lock:
                self._close(batch)
                while batch.running:
                    self._wait(batch)
        if batch.problem is not None:
            raise batch.problem[1]
        return batch.results

    def close(self) -> None:
        """Let all threads go."""
        with self._lock:
            self._is_stopped = True
            self._work.notify_all()
        for thread in self._threads:
            thread.join()

    # The rest is called with the lock, except for what works. -------------------------------------------------------

    def _see_through(self, batch: Batch[Any, Any], step: Callable[[], None]) -> None:
        """Do tasks of a batch until there are none, then wait for others to do theirs."""
        reported = 0
        while reported < len(batch.tasks) and batch.problem is None:
            with self._lock:
                number = self._take(batch)
                if number is None and not batch.is_done[reported]:
                    self._wait(batch)
            if number is not None:
                self._do(batch, number)
            while reported < len(batch.tasks) and batch.is_done[reported]:
                reported += 1
                step()

    def _take(self, batch: Batch[Any, Any]) -> int | None:
        """The number of the next task, which is begun; None where there is none."""
        if self._is_stopped:
            self._close(batch)
        number = batch.begun
        if number == len(batch.tasks):
            return None
        batch.begun += 1
        batch.running += 1
        if batch.begun == len(batch.tasks):
            self._close(batch)
        return number

    def _close(self, batch: Batch[Any, Any]) -> None:
        batch.drop()
        if batch in self._batches:
            self._batches.remove(batch)

    def _do(self, batch: Batch[Any, Any], number: int) -> None:
        problem: BaseException | None = None
        LOCAL.depth += 1
        try:
            batch.results[number] = batch.context.copy().run(batch.function, batch.tasks[number])
        except BaseException as raised:
            problem = raised
        LOCAL.depth -= 1
        with self._lock:
            batch.running -= 1
            batch.is_done[number] = problem is None
            if problem is not None:
                self._close(batch)
                if batch.problem is None or _order(number, problem) < _order(*batch.problem):
                    batch.problem = number, problem
                self._is_stopped |= not isinstance(problem, Exception)
            batch.changed.notify()

    def _wait(self, batch: Batch[Any, Any]) -> None:
        """Until something of the batch has changed; meanwhile another thread may work in place of this one."""
        if not batch.running:
            if batch.problem is None:
                raise Stopped
            return
        self._busy -= 1
        self._call()
        try:
            batch.changed.wait()
        finally:
            self._busy += 1

    def _call(self) -> None:
        """A thread to work, if there is work and not enough are at it."""
        if not self._batches or self._busy + self._called >= self.size:
            return
        if self._idle:
            self._idle -= 1
            self._called += 1
            self._work.notify()
        elif len(self._threads) < 2 * self.size:
            self._called += 1
            self._threads.append(Thread(target=self._live, name="classwise", daemon=True))
            self._threads[-1].start()

    def _live(self) -> None:
        """The life of a thread."""
        LOCAL.pool = self
        OURS.begin()
        with self._lock:
            self._called -= 1
        while True:
            with self._lock:
                batch, number = self._next()
                if batch is None:
                    return
                self._busy += 1
            self._do(batch, number)
            with self._lock:
                self._busy -= 1

    def _most_urgent(self) -> Batch[Any, Any]:
        """What is handed out by no task: these are the largest. Else the newest, which work may come after: what waits
        for it goes on, and long lists of tasks fill the gaps.
        """
        first = self._batches[0]
        return first if first.is_outer else self._batches[-1]

    def _next(self) -> tuple[Batch[Any, Any] | None, int]:
        while not self._is_stopped:
            if self._batches and self._busy < self.size:
                batch = self._most_urgent()
                number = self._take(batch)
                assert number is not None
                return batch, number
            self._idle += 1
            self._work.wait()
            self._called -= 1
        return None, 0


class keeping:  # noqa: N801  a context, as those of contextlib are
    """This thread keeps a pool for everything inside."""

    def __init__(self, pool: ThreadPool) -> None:
        self.pool = pool

    def __enter__(self) -> ThreadPool:
        self.before, LOCAL.pool = LOCAL.pool, self.pool
        return self.pool

    def __exit__(self, *error: Any) -> None:
        LOCAL.pool = self.before
