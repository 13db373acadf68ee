"""How much of the machine others were using while something was timed."""

import os
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

STATISTICS = Path("/proc/stat")


class Moment(NamedTuple):
    """Seconds so far: on the clock, and of CPU used by all other processes (not known outside Linux)."""

    clock: float
    others: float | None


def now() -> Moment:
    if not STATISTICS.exists():
        return Moment(perf_counter(), None)
    user, nice, system, _idle, _waiting, *interrupts = map(int, STATISTICS.read_text().split(maxsplit=9)[1:9])
    everyone = (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
    own = os.times()
    return Moment(perf_counter(), everyone - own.user - own.system)


def cores_of_others(start: Moment, end: Moment) -> float | None:
    """The cores that others kept busy, on average; small measurements are rounded to the system's ticks."""
    if start.others is None or end.others is None:
        return None
    return max(0.0, (end.others - start.others) / (end.clock - start.clock))
