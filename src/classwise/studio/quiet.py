"""Warnings are kept off the terminal while threads work: what they say stands on the page.

`warnings.catch_warnings` saves and restores one list for the whole process. Two threads that do so at the same time can
leave it as neither found it. So a filter of our own is put first, and the last thread that leaves takes it away.
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class _Quiet:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def enter(self) -> None:
        with self._lock:
            self._inside += 1
            # Others may have replaced the list meanwhile, so that every one who enters puts the filter first.
            warnings.filterwarnings("ignore", message=OURS)

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for own in [each for each in warnings.filters if getattr(each[1], "pattern", None) == OURS]:
                    with suppress(ValueError):
                        warnings.filters.remove(own)  # type: ignore[attr-defined]
                warnings.filterwarnings("default", message="(?!)")  # matches nothing, and tells Python of the change


# Matches every message, and is no pattern that anybody else would write.
OURS = "(?:)(?#classwise studio)"

_quiet = _Quiet()


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing is warned of inside, in whichever thread.

    >>> with quiet(), quiet():
    ...     warnings.warn("nobody hears this")
    """
    _quiet.enter()
    try:
        yield
    finally:
        _quiet.leave()
