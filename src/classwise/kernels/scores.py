"""Scores of rows by class, and Bayes' rule on them, in one fused pass.

A score of class k is a polynomial of d = x - origin:

    Linear      constant_k + slope_k . d
    Diagonal    constant_k + slope_k . d + curve_k . d²
    Full        constant_k - 1/2 |d V_k - point_k|²,  V_k upper triangular

Log odds within `TIE` of the largest are a tie. Calibrated scores are power * score + shift_k.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.kernels import Array, RowsOrColumns, native, readable
from classwise.kernels.threads import threads_for

# Log odds this small are rounding.
TIE = 1e-12


class Answer(IntEnum):
    """What is asked of the scores of a row."""

    POSTERIOR = 0
    LOG_POSTERIOR = 1
    SCORES = 2
    DECISION = 3


@dataclass(frozen=True, eq=False)
class Scores:
    """origin (p,); constant (g,); first (g, p): slopes, or points; second: None, curves (g, p), or the columns of each
    V_k one after the other, down to the diagonal (g, p (p + 1) / 2).
    """

    shape: int
    origin: Array
    constant: Array
    first: Array
    second: Array | None = None

    @classmethod
    def linear(cls, origin: Array, constant: Array, slope: Array) -> "Scores":
        return cls(0, *map(contiguous, (origin, constant, slope)))

    @classmethod
    def diagonal(cls, origin: Array, constant: Array, slope: Array, curve: Array) -> "Scores":
        return cls(1, *map(contiguous, (origin, constant, slope, curve)))

    @classmethod
    def full(cls, origin: Array, constant: Array, point: Array, whitening: Array) -> "Scores":
        """whitening (g, p, p): V, of which what is below the diagonal is not looked at."""
        features = whitening.shape[1]
        lower = np.tril_indices(features)
        return cls(2, *map(contiguous, (origin, constant, point, whitening.transpose(0, 2, 1)[:, lower[0], lower[1]])))

    def answer(
        self, rows: RowsOrColumns, answer: Answer, power: float = 1.0, shift: Array | None = None
    ) -> NDArray[Any] | None:
        """Class-major (g, n), or (n,) for a decision; None where NumPy has to do it, or a row has no finite score."""
        read = readable(rows)
        if read is None:
            return None
        n = len(rows) if isinstance(rows, np.ndarray) else len(rows[0])
        count = len(self.constant)
        out = np.empty(n, dtype=np.int64) if answer is Answer.DECISION else np.empty((count, n))
        work = n * len(self.origin) * (1 if self.shape < 2 else count)
        own = (self.shape, self.origin, self.constant, self.first, self.second, TIE, power, shift)
        return out if native.score(read, *own, int(answer), threads_for(work), out) else None


def contiguous(values: Any) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)
