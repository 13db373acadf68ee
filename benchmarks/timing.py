"""Two calls timed in turns, so that whatever else the machine is doing slows both."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Call = Callable[[], Any]


@dataclass(frozen=True)
class Timing:
    """Seconds of each repeat; (repeats,) on both sides."""

    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]

    @property
    def ratios(self) -> NDArray[np.float64]:
        """How many times as long theirs took, by repeat."""
        return self.theirs / self.ours

    def facts(self) -> dict[str, Any]:
        low, middle, high = np.quantile(self.ratios, [0.25, 0.5, 0.75]).tolist()
        return {
            "repeats": len(self.ours),
            "ours_s": float(np.median(self.ours)),
            "theirs_s": float(np.median(self.theirs)),
            "ratio": middle,
            "ratio_quartiles": [low, high],
            "ratio_range": [float(self.ratios.min()), float(self.ratios.max())],
        }


def seconds(call: Call) -> float:
    start = perf_counter()
    result = call()
    elapsed = perf_counter() - start
    del result  # freed outside the clock: giving gigabytes back takes time too
    return elapsed


def fastest(calls: dict[str, Call], tries: int) -> str:
    """The name of the call with the shortest best time."""
    return min(calls, key=lambda name: min(seconds(calls[name]) for _ in range(tries)))


def in_turns(ours: Call, theirs: Call, repeats: int) -> Timing:
    """Time both, repeat by repeat; who goes first alternates, since the second finds the caches warm."""
    times = []
    for repeat in range(repeats):
        if repeat % 2:
            second, first = seconds(theirs), seconds(ours)
        else:
            first, second = seconds(ours), seconds(theirs)
        times.append((first, second))
    return Timing(*np.array(times).T)
