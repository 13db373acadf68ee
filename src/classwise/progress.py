"""Progress: work that takes longer than two seconds says how far it is, where somebody is looking."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, Self

# Seconds before anything is shown, and between two changes of what is shown.
PATIENCE = 2.0
PACE = 0.1


class Line:
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
        self._next = time.monotonic() + PATIENCE

    def step(self, about: str = "") -> None:
        """One step is done; about: what it was."""
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


_silence = [False]


@contextmanager
def silent() -> Iterator[None]:
    """Nothing is shown inside: the work is part of some larger one, which shows its own progress."""
    before, _silence[0] = _silence[0], True
    try:
        yield
    finally:
        _silence[0] = before


def progress(what: str, steps: int) -> Progress:
    """A count of steps, shown where somebody is looking: on a terminal, or in a notebook."""
    return Progress(what, steps, None if _silence[0] else _display())


def _display() -> Callable[[str], Any] | None:
    if "ipykernel" in sys.modules:
        return Widget
    return Line if sys.stderr is not None and sys.stderr.isatty() else None
