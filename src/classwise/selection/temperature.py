"""The power that posteriors should have, from those of rows that the model had not seen.

By log loss; a normal prior of log β with deviation 1 keeps β finite where no row was decided wrongly.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from classwise.arrays import EPS, Array, Codes, log_sum_exp, slices, sums_by
from classwise.calibration import Calibration
from classwise.engines import in_threads

# How far from 1 a power may be, in its logarithm, and the step of the grid that is looked at first.
FARTHEST = 6.0
STEP = 0.5

# So many rows are enough to find the right valley.
ENOUGH = 4_000

# The most that one row can lose.
MOST_LOST = -float(np.log(EPS))

# log β is known well enough when a step is this short; and a bracket is halved at most so often.
NEAR = 1e-6
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

    def slopes(self, log_power: float) -> Slopes:
        """The loss at a power.

        With u = β log P and means under P^β: dL/dβ = E[log P] - log P_own; d²L/dβ² = the variance of log P.
        """
        count = int(self.folds.max()) + 1

        def of_block(block: slice) -> Array:
            logs, codes = self.log_posterior[block].T, self.codes[block]
            own = logs[codes, np.arange(len(codes))]
            kept = np.isfinite(own)  # a class that was ruled out stays so, whatever the power
            values = _row_slopes(logs[:, kept], own[kept], np.exp(log_power))
            folds, weights = self.folds[block][kept], self.weights[block][kept]
            return np.stack([sums_by(folds, weights * value, count) for value in values])

        blocks = list(slices(len(self.codes), max(BLOCK_OF_POSTERIORS // self.log_posterior.shape[1], 1)))
        first, second, third = np.sum(list(in_threads(of_block, blocks)), axis=0)
        return Slopes(first, second, third)

    def fit(self) -> Calibration:
        """The power under which the rows' own classes are most probable."""
        return Calibration(float(np.exp(self._best()[0])))

    def fit_by_fold(self) -> tuple[Calibration, list[Calibration]]:
        """The power from all rows, and for each fold that from the rows of the others.

        The latter are one Newton step away from the former: taking a fold away changes little.
        """
        best, slopes = self._best()
        first = slopes.first.sum() - slopes.first + best
        second = slopes.second.sum() - slopes.second + 1
        steps = np.clip(-first / np.maximum(second, 1), -1, 1)
        return Calibration(float(np.exp(best))), [Calibration(float(np.exp(best + step))) for step in steps]

    def _best(self) -> tuple[float, Slopes]:
        """log β: the best of a grid, by some of the rows, and from there by Newton's method within a bracket."""
        middle = self._start()
        low, high, log_power = middle - STEP, middle + STEP, middle
        for _ in range(MOST_STEPS):
            slopes = self.slopes(log_power)
            first, second = slopes.first.sum() + log_power, slopes.second.sum() + 1
            low, high = (low, log_power) if first > 0 else (log_power, high)
            step = -first / second if second > 0 else np.inf
            moved = log_power + step if low < log_power + step < high else (low + high) / 2
            if abs(moved - log_power) < NEAR:
                break
            log_power = float(moved)
        return log_power, slopes

    def _start(self) -> float:
        """Losses that are cut off have more than one valley."""
        some = slice(None, None, max(len(self.codes) // ENOUGH, 1))
        part = OutOfFold(self.log_posterior[some], self.codes[some], self.folds[some], self.weights[some])
        grid = np.arange(-FARTHEST, FARTHEST + STEP, STEP)
        scale = self.weights.sum() / max(part.weights.sum(), 1e-300)
        losses = [scale * part.slopes(float(u)).loss.sum() + 0.5 * u**2 for u in grid]
        return float(grid[int(np.argmin(losses))])


def _row_slopes(logs: Array, own: Array, power: float) -> Slopes:
    """The loss of each row, and its derivatives in log β; (m,) each."""
    logs = np.maximum(logs, NEVER)
    norm = log_sum_exp(power * logs)
    terms = np.exp(power * logs - norm) * logs
    mean, square = terms.sum(axis=0), (terms * logs).sum(axis=0)
    slope = power * (mean - own)
    bend = power**2 * np.maximum(square - mean**2, 0) + slope
    lost = norm - power * own
    # As in an evaluation, a row loses no more than this: a few that are hopeless must not decide for all others.
    counts = lost < MOST_LOST
    return Slopes(np.minimum(lost, MOST_LOST), slope * counts, bend * counts)
