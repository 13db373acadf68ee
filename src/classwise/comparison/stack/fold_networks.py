"""Networks of folds: each is fitted without one fold, and predicts the rows of the fold.

Ridges are tried from the strongest on, until the log loss of held-out rows rises. Without hidden layers there is one
best fit, and the search for it starts from the fit with the ridge before; else each fit starts from random weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, log_normalize
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.layers import Labeled, Layer, Shape, Single, bagged


@dataclass(frozen=True, eq=False)
class FoldNetworks:
    """The network of each fold, as a vector of their shape, fitted with one ridge; logs (n, g): out-of-fold."""

    rows: FoldedRows
    labeled: Labeled
    shape: Shape
    ridge: float
    vectors: Mapping[int, Array]
    logs: Array

    def bagged(self) -> tuple[Layer, ...]:
        """The network whose scores are the mean of those of all folds."""
        return bagged([self.shape.layers(vector) for vector in self.vectors.values()])

    def refitted(self) -> tuple[Layer, ...]:
        """A network of all rows, fitted from the mean of those of the folds."""
        everything = _drawn(np.arange(len(self.rows)), np.random.default_rng(self.rows.seed))
        start, some = np.mean([*self.vectors.values()], axis=0), self.labeled.select(everything)
        return self.shape.layers(self.shape.fit(start, some, self.ridge, self.rows.deadline.check))


def search_ridge(rows: FoldedRows, inputs: Single, hidden: tuple[int, ...], ridges: Sequence[float]) -> FoldNetworks:
    """The networks with the best of some ridges, which are sorted, the strongest first. inputs (n, q): of the rows."""
    shape = Shape((inputs.shape[1], *hidden, rows.count))
    labeled = Labeled.of(inputs, rows.codes, rows.count, rows.weights)
    best = _cross(rows, labeled, shape, ridges[0], {})
    for ridge in ridges[1:]:
        tried = _cross(rows, labeled, shape, ridge, best.vectors if shape.is_convex else {})
        if rows.least_lost([best.logs, tried.logs]) == 0:
            break
        best = tried
    return best


def _cross(rows: FoldedRows, labeled: Labeled, shape: Shape, ridge: float, starts: Mapping[int, Array]) -> FoldNetworks:
    vectors: dict[int, Array] = {}

    def answers(fold: int, held_out: Codes) -> Iterator[tuple[Codes, Array]]:
        generator = np.random.default_rng([rows.seed, fold])
        some = labeled.select(_drawn(rows.without(held_out), generator))
        start = starts[fold] if starts else shape.start(generator)
        vectors[fold] = shape.fit(start, some, ridge, rows.deadline.check)
        present = np.flatnonzero(rows.training_weight(fold))
        own = shape.scores(vectors[fold], labeled.inputs[held_out])
        yield present, log_normalize(own[:, present], 1)

    _, logs = rows.out_of_fold(1, answers)
    # Folds are fitted side by side, and end in any order.
    return FoldNetworks(rows, labeled, shape, ridge, dict(sorted(vectors.items())), logs)


def _drawn(rows: Codes, generator: np.random.Generator) -> Codes:
    """At most as many of the rows as one network learns from."""
    if len(rows) <= limits.BAGGED_ROWS:
        return rows
    return np.sort(generator.choice(rows, limits.BAGGED_ROWS, replace=False))
