"""Networks of folds: each is fitted without one fold, and predicts the rows of the fold.

Ridges are tried from the strongest on, until the log loss of held-out rows rises. Without hidden layers there is one
best fit, and the search for it starts from the fit with the ridge before; else each fit starts from random weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, log_normalize
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.layers import Labeled, Layer, Shape, Single, bagged
from classwise.engines.messages import Shared
from classwise.engines.workers import away

# The rows of a stack, and the same as networks learn from them.
SharedRows: TypeAlias = Shared[tuple[FoldedRows, Labeled]]


@dataclass(frozen=True, eq=False)
class FoldNetworks:
    """The network of each fold, as a vector of their shape, fitted with one ridge; logs (n, g): out-of-fold."""

    shared: SharedRows
    shape: Shape
    ridge: float
    vectors: Mapping[int, Array]
    logs: Array

    def bagged(self) -> tuple[Layer, ...]:
        """The network whose scores are the mean of those of all folds."""
        return bagged([self.shape.layers(vector) for vector in self.vectors.values()])

    def refitted(self) -> tuple[Layer, ...]:
        """A network of all rows, fitted from the mean of those of the folds."""
        start = np.mean([*self.vectors.values()], axis=0)
        return self.shape.layers(away(_refitted, self.shared, self.shape, self.ridge, start))


def search_ridge(rows: FoldedRows, inputs: Single, hidden: tuple[int, ...], ridges: Sequence[float]) -> FoldNetworks:
    """The networks with the best of some ridges, which are sorted, the strongest first. inputs (n, q): of the rows."""
    shape = Shape((inputs.shape[1], *hidden, rows.count))
    shared = Shared((rows, Labeled.of(inputs, rows.codes, rows.count, rows.weights)))
    best = _cross(rows, shared, shape, ridges[0], {})
    for ridge in ridges[1:]:
        tried = _cross(rows, shared, shape, ridge, best.vectors if shape.is_convex else {})
        if rows.least_lost([best.logs, tried.logs]) == 0:
            break
        best = tried
    return best


def _cross(
    rows: FoldedRows, shared: SharedRows, shape: Shape, ridge: float, starts: Mapping[int, Array]
) -> FoldNetworks:
    vectors: dict[int, Array] = {}

    def answers(fold: int, held_out: Codes) -> Iterator[tuple[Codes, Array]]:
        vectors[fold], present, own = away(_fitted, shared, shape, ridge, fold, starts.get(fold))
        yield present, own

    _, logs = rows.out_of_fold(1, answers)
    # Folds are fitted side by side, and end in any order.
    return FoldNetworks(shared, shape, ridge, dict(sorted(vectors.items())), logs)


def _fitted(
    shared: SharedRows, shape: Shape, ridge: float, fold: int, start: Array | None
) -> tuple[Array, Codes, Array]:
    """The network of a fold, as a vector; the classes that it has seen (c,), and their log posteriors (m, c)."""
    rows, labeled = shared.value
    held_out, generator = rows.held_out[fold], np.random.default_rng([rows.seed, fold])
    some = labeled.select(_drawn(rows.without(held_out), generator))
    start = shape.start(generator) if start is None else start
    vector = shape.fit(start, some, ridge, rows.deadline.check)
    present = np.flatnonzero(rows.training_weight(fold))
    own = shape.scores(vector, labeled.inputs[held_out])
    return vector, present, log_normalize(own[:, present], 1)


def _refitted(shared: SharedRows, shape: Shape, ridge: float, start: Array) -> Array:
    """The network of all rows, as a vector."""
    rows, labeled = shared.value
    some = labeled.select(_drawn(np.arange(len(rows)), np.random.default_rng(rows.seed)))
    return shape.fit(start, some, ridge, rows.deadline.check)


def _drawn(rows: Codes, generator: np.random.Generator) -> Codes:
    """At most as many of the rows as one network learns from."""
    if len(rows) <= limits.BAGGED_ROWS:
        return rows
    return np.sort(generator.choice(rows, limits.BAGGED_ROWS, replace=False))
