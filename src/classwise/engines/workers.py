"""Worker processes, for work that is mostly Python, of which a process runs one thread at a time.

A thread hands a call to a worker, and waits for its answer: so the pool of threads decides what is done when, and as
many cores are at work as there are threads in it. Where no worker is free, or none is possible, the thread does the
work itself, with the same result.

A process that has imported what is needed splits the workers off: they start at once and share its memory. joblib's
processes (loky) would each import it again, which takes a core two seconds, and belong to the caller's own parallel
work, too; those of multiprocessing would run the caller's script again. With threads alone, a fit of a stack was slower
with eight threads than with four; with workers it took 15.9 s with four and 8.4 s with eight.
"""

import atexit
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakSet

from joblib import cpu_count

from classwise import limits
from classwise.engines.messages import WRITTEN, pack, receive, send
from classwise.engines.pool import LOCAL, Stopped
from classwise.engines.worker_loop import PATIENCE, PROBLEM, UNREAD, has_input
from classwise.errors import ClasswiseError
from classwise.kernels import BLAS, with_jobs

R = TypeVar("R")

# How the first process starts: it imports what its parent could, and not its parent's own script.
START = """
import pickle, socket, sys
requests = socket.socket(fileno=0)
sys.path[:], modules = pickle.loads(requests.recv(int.from_bytes(requests.recv(8), "little"), socket.MSG_WAITALL))
from classwise.engines.worker_loop import split_off_workers
split_off_workers(requests, modules)
"""
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}

# Seconds between two looks whether the caller was interrupted.
LOOK = 0.1


@contextmanager
def closed_if_it_fails(channel: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        channel.close()
        raise


class Nursery:
    """A process that has imported what workers need, and splits them off."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._requests, theirs = socket.socketpair()
        with theirs, closed_if_it_fails(self._requests):
            self._process: Any = subprocess.Popen(
                [sys.executable, "-P", "-c", START],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | ONE_THREAD,
                process_group=0,  # so that Ctrl-C does not end workers amid an answer
            )
            start = pickle.dumps((sys.path, list(modules)))
            self._requests.sendall(len(start).to_bytes(8, "little") + start)

    @property
    def is_there(self) -> bool:
        return self._process.poll() is None

    def worker(self) -> "Worker":
        ours, theirs = socket.socketpair()
        with theirs, closed_if_it_fails(ours):
            socket.send_fds(self._requests, [b"w"], [theirs.fileno()])
        return Worker(ours)

    def close(self) -> None:
        self._requests.close()
        self._process.kill()
        self._process.wait()

    def forget(self) -> None:
        """In a copy of the process that has started it: it is not ours."""
        self._requests.close()
        self._process.returncode = 0


class Worker:
    """One process, by the channel to it. since: when it was last used; pid: None until it is ready."""

    def __init__(self, channel: socket.socket) -> None:
        self.since = time.monotonic()
        self.pid: int | None = None
        self._channel = channel
        self._stream: Any = channel.makefile("rwb")
        self._is_gone = False

    @property
    def is_lasting(self) -> bool:
        """Whether it will still be there for a call that is made now."""
        return not self._is_gone and time.monotonic() - self.since < PATIENCE / 2

    def is_ready(self) -> bool:
        if self.pid is None and not self._is_gone and has_input(self._channel, 0):
            try:
                self.pid = receive(self._stream)
            except (EOFError, OSError):
                self._is_gone = True
        return self.pid is not None

    def call(self, parts: Sequence[memoryview]) -> tuple[str, Any]:
        """How a packed call ended, and the value or the error."""
        try:
            send(self._stream, parts)
            while not has_input(self._channel, LOOK):
                if LOCAL.pool is not None and LOCAL.pool.is_stopped:
                    raise Stopped
            return receive(self._stream)
        except (EOFError, OSError) as problem:
            raise ClasswiseError("A worker process ended unexpectedly, perhaps for lack of memory.") from problem

    def end(self) -> None:
        """End the process, whatever it does."""
        if self.pid is not None and not self._is_gone:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """Let the process go, which ends if it is idle."""
        self._is_gone = True
        with suppress(OSError):
            self._stream.close()
        self._channel.close()


class Workers:
    """The workers of this process, which stay for a while after their work."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._nursery: Nursery | None = None
        self._idle: list[Worker] = []
        self._busy: list[Worker] = []

    def start(self, count: int, modules: Sequence[str]) -> None:
        """So many workers, without waiting for them."""
        with self._lock:
            for worker in [worker for worker in self._idle if not worker.is_lasting]:
                self._idle.remove(worker)
                worker.close()
            missing = count - len(self._idle) - len(self._busy)
            if missing > 0:
                nursery = self._nursery_with(modules)
                self._idle[:0] = [nursery.worker() for _ in range(missing)]

    def _nursery_with(self, modules: Sequence[str]) -> Nursery:
        """The one that is there, or a new one."""
        if self._nursery is not None and not self._nursery.is_there:
            self._nursery.close()
            self._nursery = None
        self._nursery = self._nursery or Nursery(modules)
        return self._nursery

    def take(self) -> Worker | None:
        """An idle worker that is ready, the last used one first."""
        with self._lock:
            for worker in reversed(self._idle):
                if worker.is_lasting and worker.is_ready():
                    self._idle.remove(worker)
                    self._busy.append(worker)
                    return worker
        return None

    def give_back(self, worker: Worker, is_usable: bool) -> None:
        if not is_usable:
            worker.end()
        worker.since = time.monotonic()
        with self._lock:
            if worker in self._busy:
                self._busy.remove(worker)
                if is_usable:
                    self._idle.append(worker)

    def close(self) -> None:
        """End those that are idle; who uses another ends it."""
        with self._lock:
            while self._idle:
                self._idle.pop().end()
            if self._nursery is not None:
                self._nursery.close()
                self._nursery = None

    def close_all(self) -> None:
        """At the end of this process."""
        self.close()
        for worker in self._busy:
            worker.end()

    def forget(self) -> None:
        """In a copy of this process."""
        self._lock = Lock()
        for worker in (*self._idle, *self._busy):
            worker.close()
        if self._nursery is not None:
            self._nursery.forget()
        self._nursery, self._idle, self._busy = None, [], []


WORKERS = Workers()
atexit.register(WORKERS.close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKERS.forget)


class Staff:
    """The workers for some work: as many as threads, started when the first call is made."""

    def __init__(self, count: int, modules: Sequence[str]) -> None:
        self.count, self.modules = count, modules
        self._lock = Lock()
        self._is_started = self._is_given_up = False

    def take(self) -> Worker | None:
        return WORKERS.take() if self.is_started() else None

    def is_started(self) -> bool:
        """Whether workers are there, or soon will be."""
        with self._lock:
            if not self._is_started:
                self._start()
            return not self._is_given_up

    def _start(self) -> None:
        self._is_started = True
        try:
            WORKERS.start(self.count, self.modules)
        except OSError:  # no such program, or no more processes
            self._is_given_up = True

    def give_up(self) -> None:
        """All further work is done by threads."""
        self._is_given_up = True


STAFF: ContextVar[Staff | None] = ContextVar("staff", default=None)


@contextmanager
def kept_workers(n_jobs: Any, pays: bool, modules: Sequence[str] = (), most: int | None = None) -> Iterator[None]:
    """Inside, as many threads work as n_jobs asks for, and `away` hands calls to as many workers, if it pays and they
    are possible; modules: those that calls need. If n_jobs is None, at most `most` threads work; without workers, at
    most limits.SIDE_BY_SIDE.
    """
    helps = pays and are_possible()
    with with_jobs(n_jobs, most if helps else limits.SIDE_BY_SIDE):
        count = min(BLAS.allowed(), cpu_count())
        token = STAFF.set(Staff(count, modules) if helps and count >= limits.FEWEST_WORKERS else None)
        written = WRITTEN.set(WeakSet())
        try:
            yield
        except Exception:
            raise
        except BaseException:  # what they are doing is of no use any more
            WORKERS.close()
            raise
        finally:
            for shared in WRITTEN.get():
                shared.close()
            WRITTEN.reset(written)
            STAFF.reset(token)


def are_possible() -> bool:
    """Not in a process that is a worker itself, and only where memory without a name can be shared."""
    is_ours = multiprocessing.parent_process() is not None or not sys.executable or hasattr(sys, "frozen")
    return not is_ours and hasattr(os, "memfd_create") and Path("/proc/self/fd").exists()


def has_workers() -> bool:
    """Whether `away` may hand calls to workers, which start now, if they are not there yet."""
    staff = STAFF.get()
    return staff is not None and staff.is_started()


def away(function: Callable[..., R], *arguments: Any) -> R:
    """function(*arguments), in a worker if one is free and they can be pickled, else here."""
    staff = STAFF.get()
    worker = staff.take() if staff is not None else None
    if staff is None or worker is None:
        return function(*arguments)
    end, value = _asked(worker, function, arguments)
    if end == UNREAD:
        staff.give_up()
        return function(*arguments)
    if end == PROBLEM:
        raise value
    return value


def _asked(worker: Worker, function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[str, Any]:
    """How the call ended, and the value or the error; the worker is free again."""
    is_usable = True
    try:
        try:
            parts = pack((function, arguments))
        except Exception as problem:
            return UNREAD, str(problem)
        is_usable = False
        answer = worker.call(parts)
        is_usable = True
        return answer
    finally:
        WORKERS.give_back(worker, is_usable)
