"""One model on one table: the fitted estimator of each side, whether they agree, and how long each takes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pairs import Pair
from shapes import Shape
from timing import Call, Patience, Timing, fastest, in_turns

# Answers are compared on the first rows; this many labels, and this many rows of probabilities.
COMPARED_LABELS = 1_000_000
COMPARED_ROWS = 20_000


@dataclass(frozen=True)
class Trial:
    """X (n, p) and y (n,) are fitted, the first `scored` rows are predicted."""

    pair: Pair
    shape: Shape
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    ours: Any
    theirs: Any

    @property
    def scored(self) -> NDArray[np.float64]:
        return self.X[: self.shape.scored]

    def times(self, patience: Patience) -> Iterator[tuple[str, Timing]]:
        """Timings by operation."""
        for operation in self.pair.operations:
            yield operation, in_turns(self._call(self.ours, operation), self._call(self.theirs, operation), patience)

    def agreement(self) -> dict[str, float]:
        """The share of rows with the same label, and the largest difference between probabilities."""
        many, some = self.scored[:COMPARED_LABELS], self.scored[:COMPARED_ROWS]
        same = self.ours.predict(many) == self.theirs.predict(many)
        difference = np.abs(self.ours.predict_proba(some) - self.theirs.predict_proba(some))
        return {"same_labels": float(same.mean()), "max_difference": float(difference.max())}

    def _call(self, model: Any, operation: str) -> Call:
        inputs = (self.X, self.y) if operation == "fit" else (self.scored,)
        return partial(getattr(model, operation), *inputs)


def prepare(pair: Pair, shape: Shape, X: NDArray[np.float64], y: NDArray[np.int64]) -> tuple[str, Trial]:
    """Fit both sides, theirs in every configuration; the name of the fastest, which is the peer, and the trial."""
    candidates = {name: make() for name, make in pair.theirs.items()}
    peer = fastest({name: partial(model.fit, X, y) for name, model in candidates.items()})
    return peer, Trial(pair, shape, X, y, pair.ours().fit(X, y), candidates[peer].fit(X, y))
