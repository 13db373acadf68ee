"""The schedule of a comparison: the expected time of candidates, and which of them are left out for it."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from classwise import limits
from classwise.comparison.candidates import Candidate, Size
from classwise.engines.progress import span

LOG = logging.getLogger("classwise.comparison")


@dataclass(frozen=True, eq=False)
class Slot:
    """A candidate; refusal: why it is not tried, or ""; fitting, scoring: its expected seconds, of which those of
    fitting count once for candidates that share their work; is_late: whether it is left out for its time.
    """

    candidate: Candidate
    refusal: str
    fitting: float
    scoring: float
    is_late: bool = False

    @property
    def seconds(self) -> float:
        return self.fitting + self.scoring


def scheduled(candidates: Sequence[Candidate], size: Size, time_limit: float | None) -> list[Slot]:
    """Candidates in their order, with those marked as late that do not fit into the time limit.

    Quick candidates are always tried. Among the others, one of each kind comes first, the quickest first, so that no
    kind is left out in favor of a second variant of another. Times are estimated, not measured, so that the same rows
    lead to the same models on every machine.
    """
    slots = [_slot_of(candidate, size) for candidate in candidates]
    if time_limit is None:
        return slots
    spent = sum(slot.seconds for slot in slots if slot.seconds <= limits.QUICK_SECONDS)
    done: set[int] = set()
    for i in _one_of_each_kind_first(slots):
        slot, work = slots[i], id(slots[i].candidate.work)
        seconds = slot.scoring if work in done else slot.seconds
        if seconds and spent + seconds > time_limit:
            slots[i] = replace(slot, refusal=f"Would take about {span(slot.seconds)}.", is_late=True)
        else:
            spent += seconds
            done.add(work)
    return slots


def _slot_of(candidate: Candidate, size: Size) -> Slot:
    refusal = candidate.refusal(size)
    if refusal:
        return Slot(candidate, refusal, 0.0, 0.0)
    return Slot(candidate, "", candidate.seconds(size), candidate.scoring_seconds(size))


def _one_of_each_kind_first(slots: Sequence[Slot]) -> list[int]:
    """The positions of slow candidates: first one of each kind, the quickest first, then the second of each kind."""
    slow = [i for i, slot in enumerate(slots) if slot.seconds > limits.QUICK_SECONDS]
    kinds = [slot.candidate.trial().group for slot in slots]
    turns = {i: kinds[:i].count(kinds[i]) for i in slow}
    return sorted(slow, key=lambda i: (turns[i], slots[i].seconds))


def log_expected_time(schedule: Sequence[Slot]) -> None:
    """Log the expected total time, if it is more than a few seconds."""
    tried = [slot for slot in schedule if not slot.refusal]
    seconds = sum({id(slot.candidate.work): slot.fitting for slot in tried}.values())
    seconds += sum(slot.scoring for slot in tried)
    if seconds >= limits.ANNOUNCED_SECONDS:
        LOG.info("Comparing %d models takes about %s.", len(tried), span(seconds), extra={"seconds": seconds})
