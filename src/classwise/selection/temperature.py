"""The power that posteriors should have, from those of rows that the model had not seen.

By log loss; a normal prior of log β, with deviation 1 by default, keeps β finite where no row was decided wrongly.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from classwise.arrays import EPS, Array, Codes, slices, sums_by
from classwise.classifier.bayes import Calibration
from classwise.engines import in_threads
from classwise.kernels.losses import power_slopes

# How far from 1 a power may be, in its logarithm, and the step of the grid that is looked at first.
FARTHEST = 6.0
STEP = 0.5

# This many rows are enough to find the right valley, and this many to find its floor to two digits.
ENOUGH = 2_000
PLENTY = 20_000

# The most that one row can lose.
MOST_LOST = -float(np.log(EPS))

# After a step of this length Newton has log β to about the square of it; a bracket is halved at most so often.
NEAR = 1e-3
MOST_STEPS = 40

# Stands for log 0: so far down that nothing of it is left, and its square is still a number.
NEVER = -1e100

# Rows are looked at in blocks of this many numbers.
BLOCK_OF_POSTERIORS = 1 << 16


class Slopes(NamedTuple):
    """The log loss of each fold, summed over its rows, with its first and second derivative in log β; (k,) each."""

    loss: Array
    first: Array
    second: Array


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Log posteriors (n, g) of rows under models that had not seen them, with their classes and folds (n,)."""

    log_posterior: Array
    codes: Codes
    folds: Codes
    weights: Array
    deviation: float = 1.0

    @property
    def _belief(self) -> float:
        """The prior's precision of log β."""
        return self.deviation**-2

    @cached_property
    def _relative_logs(self) -> "_RelativeLogs":
        """A row whose class was ruled out stays so, whatever the power: it does not count."""
        rows = np.arange(len(self.codes))
        logs = np.ascontiguousarray(self.log_posterior.T)
        kept = np.isfinite(logs[self.codes, rows])
        if not kept.all():
            logs = np.ascontiguousarray(logs[:, kept])
        logs -= logs.max(axis=0)
        np.maximum(logs, NEVER, out=logs)
        codes, folds, weights = self.codes[kept], self.folds[kept], np.asarray(self.weights[kept], dtype=np.float64)
        own = logs[codes, rows[: len(codes)]]
        return _RelativeLogs(logs, own, folds.astype(np.int64, copy=False), weights, int(self.folds.max()) + 1)

    def slopes(self, log_power: float) -> Slopes:
        """The loss at a power."""
        return self._relative_logs.slopes(log_power)

    def fit(self) -> Calibration:
        """The power under which the rows' own classes are most probable."""
        return Calibration(float(np.exp(self._best()[0])))

    def fit_by_fold(self) -> tuple[Calibration, list[Calibration]]:
        """The power from all rows, and for each fold that from the rows of the others.

        The latter are one Newton step away from the former: taking a fold away changes little.
        """
        best, slopes = self._best()
        first = slopes.first.sum() - slopes.first + self._belief * best
        second = slopes.second.sum() - slopes.second + self._belief
        steps = np.clip(-first / np.maximum(second, self._belief), -1, 1)
        return Calibration(float(np.exp(best))), [Calibration(float(np.exp(best + step))) for step in steps]

    def _best(self) -> tuple[float, Slopes]:
        """log β: the best of a grid, by some of the rows, and from there by Newton's method within a bracket."""
        middle = self._start()
        if len(self.codes) > 2 * PLENTY:
            middle = self._some(PLENTY)._descend(middle)[0]
        return self._descend(middle)

    def _descend(self, middle: float) -> tuple[float, Slopes]:
        low, high, log_power = middle - STEP, middle + STEP, middle
        for _ in range(MOST_STEPS):
            slopes = self.slopes(log_power)
            first, second = slopes.first.sum() + self._belief * log_power, slopes.second.sum() + self._belief
            low, high = (low, log_power) if first > 0 else (log_power, high)
            moved = log_power - first / second if second > 0 else np.inf
            if low <= moved <= high and abs(moved - log_power) < NEAR:
                return float(moved), slopes
            log_power = float(moved if low < moved < high else (low + high) / 2)
        return log_power, slopes

    def _start(self) -> float:
        """Losses that are cut off have more than one valley."""
        part = self._some(ENOUGH)
        grid = np.arange(-FARTHEST, FARTHEST + STEP, STEP)
        scale = self.weights.sum() / max(part.weights.sum(), 1e-300)
        losses = [scale * part.slopes(float(u)).loss.sum() + 0.5 * self._belief * u**2 for u in grid]
        return float(grid[int(np.argmin(losses))])

    def _some(self, count: int) -> "OutOfFold":
        """About `count` of the rows, evenly."""
        some = slice(None, None, max(len(self.codes) // count, 1))
        return replace(
            self,
            log_posterior=self.log_posterior[some],
            codes=self.codes[some],
            folds=self.folds[some],
            weights=self.weights[some],
        )


@dataclass(frozen=True, eq=False)
class _RelativeLogs:
    """The rows that count, class-major: log posteriors relative to the largest (g, m), and of the own class (m,)."""

    logs: Array
    own: Array
    folds: Codes
    weights: Array
    count: int

    def slopes(self, log_power: float) -> Slopes:
        fused = power_slopes(
            self.logs, self.own, self.folds, self.weights, self.count, float(np.exp(log_power)), MOST_LOST
        )
        if fused is not None:
            return Slopes(*fused)

        def of_block(block: slice) -> Array:
            values = _row_slopes(self.logs[:, block], self.own[block], float(np.exp(log_power)))
            folds, weights = self.folds[block], self.weights[block]
            return np.stack([sums_by(folds, weights * value, self.count) for value in values])

        blocks = list(slices(len(self.own), max(BLOCK_OF_POSTERIORS // len(self.logs), 1)))
        sums = np.sum(in_threads(of_block, blocks), axis=0) if blocks else np.zeros((3, self.count))
        return Slopes(*sums)


def _row_slopes(logs: Array, own: Array, power: float) -> Slopes:
    """The loss of each row, and its derivatives in log β; (m,) each.

    With u = log P and means under P^β: dL/dβ = E[u] - u_own; d²L/dβ² = the variance of u.
    """
    terms = np.exp(power * logs)
    total = terms.sum(axis=0)
    terms /= total
    terms *= logs
    mean, square = terms.sum(axis=0), np.einsum("ki,ki->i", terms, logs)
    slope = power * (mean - own)
    curvature = power**2 * np.maximum(square - mean**2, 0) + slope
    lost = np.log(total) - power * own
    # As in an evaluation, a row loses no more than this: a few that are hopeless must not decide for all others.
    counts = lost < MOST_LOST
    return Slopes(np.minimum(lost, MOST_LOST), slope * counts, curvature * counts)
