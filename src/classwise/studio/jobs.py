"""Long work in the background: one thread after another, with progress, an end, and words where it fails."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from classwise.engines.progress import watched_by
from classwise.errors import ClasswiseError, MissingExtraError
from classwise.studio.quiet import quiet

LOG = logging.getLogger("classwise.studio")


class StoppedError(Exception):
    """The work is not wanted any more."""


@dataclass(eq=False)
class Job:
    """what: in words; share: from 0 to 1, how much is done; about: of what; state: "running", "done" or "failed".

    result: what the work returned, once it is done; problem: why it failed.
    """

    what: str
    share: float = 0.0
    about: str = ""
    state: str = "running"
    result: Any = None
    problem: str = ""
    is_stopped: bool = field(default=False, repr=False)

    def stop(self) -> None:
        """Give it up at its next step."""
        self.is_stopped = True

    def facts(self) -> dict[str, Any]:
        """The state of the job, for the page."""
        named = ("what", "share", "about", "state", "problem")
        return {name: getattr(self, name) for name in named}

    def run(self, work: Callable[[], Any]) -> None:
        """Do it; whatever goes wrong is kept in words."""
        try:
            with watched_by(self._display), quiet():
                self.result = work()
            self.state = "done"
        except StoppedError:
            self.state = "failed"
        except Exception as problem:
            self.problem, self.state = reason(problem), "failed"

    def _display(self, what: str) -> "_Display":
        return _Display(self, what)


@dataclass(frozen=True, eq=False)
class _Display:
    job: Job
    what: str

    def show(self, share: float, about: str) -> None:
        if self.job.is_stopped:
            raise StoppedError
        self.job.share, self.job.about = share, about

    def close(self) -> None:
        """Nothing stays on the page."""


def reason(problem: Exception) -> str:
    """An error in words, for the page; what is no error of the data is also logged, with its place."""
    line = " ".join(str(problem).split())
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
    if not isinstance(problem, ClasswiseError | MissingExtraError | ValueError | np.linalg.LinAlgError):
        LOG.exception("The studio met an error that it did not expect.")
        return f"Unexpected {type(problem).__name__}: {line}"
    return line


class Jobs:
    """Jobs by name, in the order in which they were begun. A new one replaces the old one of its name.

    Each waits for the thread of the one before: threads that wait for one lock get it in any order.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._last: threading.Thread | None = None  # whom the next job waits for
        self._threads: list[threading.Thread] = []
        self._is_over = False

    def __getitem__(self, name: str) -> Job | None:
        return self._jobs.get(name)

    def start(self, name: str, what: str, work: Callable[[], Any], in_turn: bool = True) -> Job:
        """Begin in a thread of its own; in_turn: after those that were begun before."""
        with self._lock:
            if name in self._jobs:
                self._jobs[name].stop()
            job = self._jobs[name] = Job(what, is_stopped=self._is_over)
            before = self._last if in_turn else None
            thread = threading.Thread(target=self._run, args=(job, work, before), daemon=True, name=f"studio {name}")
            self._threads = [*(each for each in self._threads if each.is_alive()), thread]
            if in_turn:
                self._last = thread
            thread.start()
        return job

    def _run(self, job: Job, work: Callable[[], Any], before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        if not job.is_stopped:
            job.run(work)

    def clear(self, but: str = "") -> None:
        """Stop and forget all of them but one: another table is there."""
        with self._lock:
            for job in (job for name, job in self._jobs.items() if name != but):
                job.stop()
            self._jobs = {name: job for name, job in self._jobs.items() if name == but}
            self._last = None  # new jobs do not wait for what still runs

    def finish(self, seconds: float) -> bool:
        """Stop all of them, and wait this long; whether all have ended."""
        self._is_over = True
        self.clear()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._threads)
