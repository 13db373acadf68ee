"""Two calls timed in turns, so that whatever else the machine is doing slows both.

Not equally, though: a library whose threads wait for each other suffers far more from a busy core (LDA's predict in
scikit-learn, on two cores: 50 ms, and 440 ms while another process keeps one of them busy). Turns do not cancel that,
nor does the best of the times, so each timing says how much of the machine others were using.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any

import numpy as np
from contention import cores_of_others, now
from numpy.typing import NDArray

Call = Callable[[], Any]

# The threads of OpenBLAS spin for up to a tenth of a second after a product, before they sleep. Whoever is timed next
# would share the cores with them (LDA's fit, on two cores: 28 ms just after scikit-learn's, and 15 ms alone): so both
# sides wait. Calls that are shorter than this many seconds hardly start such threads, and are not worth the wait.
SPINNING, TOO_SHORT_TO_SPIN = 0.12, 0.002

# Calls shorter than this many seconds compete in several more rounds; of the longer ones, those that were this many
# times slower than the best are not tried again.
SHORT = 1.0
ROUNDS = 7
HOPELESS = 2


@dataclass(frozen=True)
class Timing:
    """Seconds of each repeat; (repeats,) on both sides. others: the cores that other processes kept busy meanwhile."""

    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]
    others: float | None

    @property
    def ratios(self) -> NDArray[np.float64]:
        """How many times as long theirs took, by repeat."""
        return self.theirs / self.ours

    def facts(self) -> dict[str, Any]:
        low, middle, high = np.quantile(self.ratios, [0.25, 0.5, 0.75]).tolist()
        return {
            "repeats": len(self.ours),
            "cores_of_others": self.others,
            "ours_s": float(np.median(self.ours)),
            "theirs_s": float(np.median(self.theirs)),
            "ratio": middle,
            "ratio_of_best": float(self.theirs.min() / self.ours.min()),
            "ratio_quartiles": [low, high],
            "ratio_range": [float(self.ratios.min()), float(self.ratios.max())],
        }


def seconds(call: Call, pause: float = 0.0) -> float:
    """How long a call takes, after a pause in seconds."""
    sleep(pause)
    start = perf_counter()
    result = call()
    elapsed = perf_counter() - start
    del result  # freed outside the clock: giving gigabytes back takes time too
    return elapsed


@dataclass(frozen=True)
class Patience:
    """Repeats go on until there are `most`, or there are `least` and they have taken `budget` seconds."""

    least: int = 3
    most: int = 300
    budget: float = 1.5

    def is_over(self, repeats: int, elapsed: float) -> bool:
        return repeats >= self.most or (repeats >= self.least and elapsed >= self.budget)


def fastest(calls: dict[str, Call]) -> str:
    """The name of the call with the shortest best time.

    One try would choose by chance, and against whoever goes first and finds memory cold: so there are rounds.
    """
    if len(calls) == 1:
        return next(iter(calls))
    best = {name: seconds(call) for name, call in calls.items()}
    near = [name for name in calls if best[name] < SHORT or best[name] < HOPELESS * min(best.values())]
    for _ in range(ROUNDS if max(best.values()) < SHORT else 1):
        best |= {name: min(best[name], seconds(calls[name])) for name in near}
    return min(best, key=lambda name: best[name])


def in_turns(ours: Call, theirs: Call, patience: Patience) -> Timing:
    """Time both, repeat by repeat; who goes first alternates, since the second finds the caches warm."""
    times: list[tuple[float, float]] = []
    start, pause, spent = now(), 0.0, 0.0
    while not patience.is_over(len(times), spent):
        if len(times) % 2:
            second, first = seconds(theirs, pause), seconds(ours, pause)
        else:
            first, second = seconds(ours, pause), seconds(theirs, pause)
        times.append((first, second))
        spent += first + second
        pause = SPINNING if max(first, second) > TOO_SHORT_TO_SPIN else 0.0
    first_times, second_times = np.array(times).T
    return Timing(first_times, second_times, cores_of_others(start, now()))
