"""A forest as a classifier: the mean over trees of what is believed of the leaf that a row falls into.

    P(k | x) ~ exp(shift_k) (mean over trees of  P(k | leaf of x))^power

shift: log ratios of priors, where classes are mixed in other shares than those of the rows; power: a temperature.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels, first_leader, log_normalize
from classwise.classifier.bayes import Calibration
from classwise.errors import UnscorableError
from classwise.kernels import RowsOrColumns
from classwise.kernels.scores import Answer
from classwise.rows.codes import is_sorted
from classwise.rows.table import Table
from classwise.statistics.trees import LEAF, Trees
from classwise.storage import stored

# Rows are scored in blocks of this many.
BLOCK_OF_ROWS = 4096


@stored("Forest", loose=("shift",))
@dataclass(frozen=True, eq=False)
class Forest:
    """labels (g,) sorted; beliefs (N, g): P(k | node), zero for a class without rows; calibration: its power;
    shift (g,): added to log posteriors, -inf for a class that never occurs.

    Everything is class-major, (g, m). Rows (m, p) are matrices as tables make them.
    """

    labels: Labels
    trees: Trees
    beliefs: Array
    calibration: Calibration | None = None
    shift: Array | None = None

    def _is_sound(self) -> bool:
        count = len(self.labels)
        shaped = self.beliefs.shape == (len(self.trees.column), count) and is_sorted(self.labels) and count > 1
        likely = bool((self.beliefs >= 0).all()) and np.allclose(self.beliefs.sum(axis=1), 1, atol=1e-6)
        plain = self.calibration is None or not self.calibration.shift
        return shaped and likely and plain and (self.shift is None or self._is_possible(self.shift))

    def _is_possible(self, shift: Array) -> bool:
        """Whether some class that there are rows of may occur."""
        return shift.shape == self.labels.shape and bool((shift < np.inf).all() and np.isfinite(shift).any())

    @property
    def power(self) -> float:
        return 1.0 if self.calibration is None else self.calibration.power

    @cached_property
    def of_leaves(self) -> Array:
        """P(k | leaf); (L, g)."""
        return np.ascontiguousarray(self.beliefs[self.trees.column == LEAF])

    def mean(self, rows: NDArray[Any]) -> Array:
        """The mean over trees of P(k | leaf); (m, p) -> (m, g)."""
        if np.isinf(rows).any():
            raise UnscorableError("A row holds infinity.")
        return self.trees.average(self.trees.codes(rows), self.of_leaves)

    def posterior(self, rows: NDArray[Any]) -> Array:
        """P(k | x); (m, p) -> (g, m)."""
        p = self.mean(rows).T
        if self.power != 1 or self.shift is not None:
            p = np.exp(self._log(p))
        return np.asarray(p / p.sum(axis=0))

    def log_posterior(self, rows: NDArray[Any]) -> Array:
        """log P(k | x); (m, p) -> (g, m)."""
        return self._log(self.mean(rows).T)

    def _log(self, p: Array) -> Array:
        with np.errstate(divide="ignore"):
            logs = self.power * np.log(p)
        return log_normalize(logs if self.shift is None else logs + self.shift[:, None])

    def decision_scores(self, rows: NDArray[Any]) -> Array:
        """The same: what decisions need; (m, p) -> (g, m)."""
        return self.log_posterior(rows)

    def decide(self, rows: NDArray[Any]) -> Codes:
        """The most probable class, the first of equals; (m, p) -> (m,)."""
        return first_leader(self.log_posterior(rows))

    def fused(self, rows: RowsOrColumns, answer: Answer) -> None:
        """There is no compiled kernel for all of it."""

    def in_place(self, name: str, table: Table) -> None:
        """Rows of a device are copied."""

    def observing(self) -> "Forest":
        """The same: what is missing stands at the mean of its column, or after the last level."""
        return self

    def chunk_rows(self, copied: bool) -> int:
        return BLOCK_OF_ROWS

    def contributions(self, row: Array) -> tuple[Array, Array]:
        """What is believed at the roots (g,), and what the cuts of each column that one row (p,) passes add to it, on
        average over trees; (g, p). Together they are the mean of the leaves (Saabas 2014).
        """
        leaves = np.concatenate(list(self.trees.leaves(self.trees.codes(row[None]))))
        nodes = self.trees.leaf_nodes[leaves]
        shares = np.zeros((len(row), len(self.labels)))
        while len(nodes):
            nodes = nodes[self.trees.parent[nodes] != nodes]
            above = self.trees.parent[nodes]
            np.add.at(shares, self.trees.column[above], self.beliefs[nodes] - self.beliefs[above])
            nodes = above
        roots = self.beliefs[self.trees.starts[:-1]]
        return roots.mean(axis=0), shares.T / len(self.trees)
