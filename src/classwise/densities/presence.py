"""Missing values as a signal: whether a number is there may depend on the class.

log p(x | k) = log p(x_o | k) + sum over columns of log P(there or not | k)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes, product
from classwise.densities.constant import Constant
from classwise.densities.density import Density
from classwise.storage import stored


@stored("Presence", loose=("missing",))
@dataclass(frozen=True, eq=False)
class Presence(Density):
    """A density of numbers, and the probability that each is missing (g, p); NaN where it says nothing."""

    numbers: Density
    missing: Array

    def _is_sound(self) -> bool:
        shaped = self.missing.shape == (self.count, self.n_features)
        return shaped and bool((np.isnan(self.missing) | ((self.missing >= 0) & (self.missing < 1 + 1e-9))).all())

    @property
    def count(self) -> int:
        return self.numbers.count

    @property
    def n_features(self) -> int:
        return self.numbers.n_features

    @property
    def width(self) -> int:
        return self.numbers.width + self.n_features

    @property
    def free_parameters(self) -> int:
        return self.numbers.free_parameters + int(np.isfinite(self.missing).sum())

    @cached_property
    def _logs(self) -> tuple[Array, Array]:
        """log P(missing) and log P(there); (g, p), 0 where missing says nothing."""
        with np.errstate(divide="ignore"):
            return np.nan_to_num(np.log(self.missing), neginf=-np.inf), np.nan_to_num(np.log1p(-self.missing))

    def relative(self, rows: Array, offset: Array) -> Array:
        if isinstance(self.numbers, Constant):  # what does not look at its columns does not notice that one is missing
            return self.observed(rows, offset)
        return self.numbers.relative(rows, offset + self._logs[1].sum(axis=1, keepdims=True))

    def common(self, rows: Array) -> Array | float:
        return self.numbers.common(rows)

    def observed(self, rows: Array, offset: Array) -> Array:
        absent, there = self._logs
        gone = np.isnan(rows).astype(np.float64)
        # 0 * -inf must be 0: a column that a class never lacks rules it out only where a value is missing.
        finite = np.where(np.isneginf(absent), 0.0, absent)
        signal = product(finite - there, gone.T) + there.sum(axis=1, keepdims=True)
        impossible = product(np.isneginf(absent).astype(np.float64), gone.T) > 0
        return self.numbers.observed(rows, offset) + np.where(impossible, -np.inf, signal)

    def shares(self, row: Array, first: int, second: int) -> Array:
        absent, there = self._logs
        signal = np.where(np.isnan(row), absent, there)
        return self.numbers.shares(row, first, second) + (signal[first] - signal[second])

    def parameters(self) -> list[dict[Any, Array]]:
        pairs = zip(self.numbers.parameters(), self.missing.T, strict=True)
        return [of if np.isnan(missing).all() else {**of, "missing": missing} for of, missing in pairs]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        rows = self.numbers.sample(codes, generator)
        rows[generator.random(rows.shape) < np.nan_to_num(self.missing)[codes]] = np.nan
        return rows
