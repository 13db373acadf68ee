"""Progress: long work says how far it is, where somebody is looking, and ends when its time is over."""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from math import inf
from threading import Lock
from types import TracebackType
from typing import Any, Protocol, Self

from classwise.errors import OutOfTimeError

# Seconds before anything is shown, and between two changes of what is shown.
PATIENCE = 2.0
PACE = 0.1

# Where progress is logged without a display, and the seconds between two lines.
LOG = logging.getLogger("classwise")
LOG_PACE = 10.0


@dataclass(frozen=True)
class Deadline:
    """When work has to end, by the clock of `time.monotonic`; never, unless it is given."""

    at: float = inf

    @classmethod
    def after(cls, seconds: float | None) -> Self:
        """Some seconds from now; None: never."""
        return cls() if seconds is None else cls(time.monotonic() + seconds)

    @property
    def is_over(self) -> bool:
        return self.at < inf and time.monotonic() >= self.at

    def check(self) -> None:
        """Give the work up where the time is over: called between its steps."""
        if self.is_over:
            raise OutOfTimeError("the time limit was over in the middle of it.")


class TerminalLine:
    """One line on a terminal, written again and again."""

    def __init__(self, what: str) -> None:
        self.what = what

    def show(self, share: float, about: str) -> None:
        filled = round(20 * share)
        bar = "━" * filled + " " * (20 - filled)
        line = f"{self.what} {bar} {100 * share:3.0f} % {about}"
        sys.stderr.write("\r" + f"{line:<79.79}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r" + " " * 79 + "\r")
        sys.stderr.flush()


class Widget:
    """The same in a notebook, by IPython's display, which is there wherever a notebook is."""

    def __init__(self, what: str) -> None:
        shown: Any = import_module("IPython.display")
        self.what, self._html = what, shown.HTML
        self._handle = shown.display(shown.HTML(""), display_id=True)

    def show(self, share: float, about: str) -> None:
        bar = f'<progress value="{share:.3f}" max="1" style="width: 16em"></progress>'
        self._handle.update(self._html(f"{self.what} {bar} {about}"))

    def close(self) -> None:
        self._handle.update(self._html(""))


class Progress:
    """Counts steps of work; `show` appears after a while, and goes when the work is done or interrupted."""

    def __init__(self, what: str, steps: int, display: Callable[[str], Any] | None) -> None:
        self.what, self.steps, self.done = what, steps, 0
        self._make = display
        self._shown: Any = None
        self._next = time.monotonic() + _patience()
        self._lock = Lock()

    def step(self, about: str = "") -> None:
        """One step is done, in whatever thread; about: what it was."""
        with self._lock:
            self.done += 1
            now = time.monotonic()
            if self._make is None or now < self._next:
                return
            self._shown = self._shown or self._make(self.what)
            self._shown.show(min(self.done / max(self.steps, 1), 1.0), about)
            self._next = now + PACE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown is not None:
            self._shown.close()


class Log:
    """The same as lines of the log "classwise", for work without a display."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._next = 0.0

    def show(self, share: float, about: str) -> None:
        if time.monotonic() >= self._next:
            LOG.info("%s: %s", self.what, about)
            self._next = time.monotonic() + LOG_PACE

    def close(self) -> None:
        pass


class MeteredPart(Protocol):
    """Part of the rows. size: its bytes; count(): about how many rows it has, None where that is not known."""

    @property
    def size(self) -> int: ...

    def count(self) -> int | None: ...


class Meter:
    """Counts rows as they are read: how many, of how many bytes, how fast, and how long it will take."""

    def __init__(self, what: str, parts: Sequence[MeteredPart], display: Callable[[str], Any] | None) -> None:
        self.what, self._make = what, display
        self._shown: Any = None
        self._start = time.monotonic()
        self._next = self._start + _patience()
        self._rows = self._inside = self._done = 0
        self._bytes = sum(part.size for part in parts) if display else 0
        self._expected = _sum_known([part.count() for part in parts]) if display else None

    def advance(self, rows: int) -> None:
        """Count more rows."""
        self._rows += rows
        self._inside += rows
        now = time.monotonic()
        if self._make is None or now < self._next:
            return
        self._shown = self._shown or self._make(self.what)
        self._shown.show(self.share, self.about(now - self._start))
        self._next = now + PACE

    def forget(self) -> None:
        """The rows of the current part do not count: it is begun again."""
        self._rows, self._inside = self._rows - self._inside, 0

    def finish(self, part: MeteredPart) -> None:
        """A part is done."""
        self._inside = 0
        self._done += part.size if self._make else 0

    @property
    def share(self) -> float:
        """Of the rows, where their number is known, and else of the bytes, part by part."""
        if self._expected:
            return min(self._rows / self._expected, 1.0)
        return self._done / self._bytes if self._bytes else 0.0

    def about(self, seconds: float) -> str:
        """What is shown."""
        parts = [_short(self._rows, " rows")]
        if self._bytes:
            parts.append(f"{_short(self.share * self._bytes, 'B')} of {_short(self._bytes, 'B')}")
        parts.append(_short(self._rows / max(seconds, 1e-9), " rows/s"))
        if self.share:
            parts.append(f"{span(seconds * (1 / self.share - 1))} left")
        return ", ".join(parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown is not None:
            self._shown.close()


def _sum_known(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _short(number: float, unit: str) -> str:
    """A number in three digits.

    >>> _short(12_345_678, " rows"), _short(512, "B")
    ('12.3 M rows', '512 B')
    """
    for size, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {name}{unit}"
    return f"{number:.0f} {unit.lstrip()}"


def span(seconds: float) -> str:
    """Seconds as people say them.

    >>> span(42), span(200), span(8000)
    ('42 s', '3 min', '2 h 13 min')
    """
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


# How many are silent now; several threads may be, each within larger work of its own.
_silence = [0]
_silence_lock = Lock()
_own_silence: ContextVar[bool] = ContextVar("own silence", default=False)
_watcher: ContextVar[Callable[[str], Any] | None] = ContextVar("watcher", default=None)


@contextmanager
def watched_by(display: Callable[[str], Any]) -> Iterator[None]:
    """What is begun inside shows its progress on this display, at once; for programs that show it in their own way.

    display: takes what is done, and returns something with `show(share, about)` and `close()`, as a TerminalLine has.
    """
    token = _watcher.set(display)
    try:
        yield
    finally:
        _watcher.reset(token)


def _patience() -> float:
    """Seconds before anything is shown: none for a program that watches."""
    return PATIENCE if _watcher.get() is None else 0.0


@contextmanager
def silent() -> Iterator[None]:
    """Nothing is shown inside: the work is part of some larger one, which shows its own progress."""
    with _silence_lock:
        _silence[0] += 1
    token = _own_silence.set(True)
    try:
        yield
    finally:
        with _silence_lock:
            _silence[0] -= 1
        _own_silence.reset(token)


def _is_silent() -> bool:
    """Work that a program watches is silenced by larger work of the same thread alone: other threads may go on."""
    return _silence[0] > 0 if _watcher.get() is None else _own_silence.get()


def progress(what: str, steps: int) -> Progress:
    """A count of steps, shown where somebody is looking: on a terminal, or in a notebook."""
    return Progress(what, steps, None if _is_silent() else _display())


def metered(what: str, parts: Sequence[MeteredPart]) -> Meter:
    """A meter of rows, shown on a terminal or in a notebook, and else logged, if the log listens."""
    logged = Log if LOG.isEnabledFor(logging.INFO) else None
    return Meter(what, parts, None if _is_silent() else _display() or logged)


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook; some libraries import one without running it."""
    kernel: Any = sys.modules.get("ipykernel.kernelapp")
    return kernel is not None and bool(kernel.IPKernelApp.initialized())


def _display() -> Callable[[str], Any] | None:
    if _watcher.get() is not None:
        return _watcher.get()
    if _in_notebook():
        return Widget
    return TerminalLine if sys.stderr is not None and sys.stderr.isatty() else None
