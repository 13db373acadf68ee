"""NaiveBayes straight on a table of numbers and levels, and the peers on the same table, in turns."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from mixed_peers import Combination, Mixed, Peer, combinations, matrix, mixed, why_not_mixed
from mixed_tables import CATEGORIES, CLASSES, NUMBERS, as_arrow, draw_mixed
from numpy.typing import NDArray
from report import Facts
from timing import Patience, in_turns

from classwise import NaiveBayes

OPERATIONS = ("fit", "predict_proba")

# scikit-learn's combination is the same model: its posteriors may differ by rounding alone.
ROUNDING = 1e-10

FEW = 1000

Progress = Callable[[str], None]


def time_tables(patience: Patience, progress: Progress) -> Facts:
    """Timings of every table, peer and operation; what is left out, and how posteriors differ."""
    X, y = draw_mixed()
    reason = why_not_mixed(X[:FEW], y[:FEW])
    tables = {"pandas": X, "arrow": as_arrow(X)}
    shape = f"{len(X):,} rows, {len(NUMBERS)} numbers, {len(CATEGORIES)} categories, {CLASSES} classes"
    facts: Facts = {"shape": shape, "left_out": reason, "timings": [], "by_default": None}
    for name, table in tables.items():
        peers = combinations() + ([] if reason else mixed())
        facts["timings"] += time_table(name, table, y, peers, patience, progress)
    if not reason:
        expected = NaiveBayes().fit(X, y).predict_proba(X)
        facts["by_default"] = difference(Mixed(matrix).fit(X, y).predict_proba(X), expected)
    return facts


def time_table(
    name: str, table: Any, y: NDArray[np.int64], peers: list[Peer], patience: Patience, progress: Progress
) -> Iterator[Facts]:
    """Timings of every peer on one table."""
    ours = NaiveBayes().fit(table, y)
    expected = ours.predict_proba(table)
    for peer in peers:
        given = peer.reads(table)
        agreement = difference(peer.model.fit(given, y).predict_proba(given), expected)
        if isinstance(peer.model, Combination):
            assert agreement["max_difference"] < ROUNDING, f"{peer.name} is another model: {agreement}"
        for operation in OPERATIONS:
            labels = (y,) if operation == "fit" else ()
            call, their_call = partial(getattr(ours, operation), table), partial(getattr(peer.model, operation), given)
            timing = in_turns(partial(call, *labels), partial(their_call, *labels), patience)
            facts = {"table": name, "operation": operation, "peer": peer.name, **timing.facts(), **agreement}
            progress(f"{name}, {peer.name}, {operation}: ratio {facts['ratio']:.2f}")
            yield facts


def difference(theirs: NDArray[np.float64], ours: NDArray[np.float64]) -> dict[str, float]:
    """The largest difference between posteriors, and how many rows have none (NaN) on their side."""
    unanswered = np.isnan(theirs).any(axis=1)
    apart = np.abs(theirs[~unanswered] - ours[~unanswered])
    return {"max_difference": float(apart.max(initial=0.0)), "unanswered": int(unanswered.sum())}
