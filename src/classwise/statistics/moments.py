"""Moments: weight, mean and scatter of the rows of each class.

    weight n = sum w;  mean m = sum w x / n;  scatter S = sum w (x - m)(x - m)'

Merging A and B (Chan, Golub and LeVeque 1983):

    n = n_A + n_B;  d = m_B - m_A;  m = m_A + d n_B / n;  S = S_A + S_B + d d' n_A n_B / n
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import BLOCK_SIZE, EPS, Array, Codes, ratio, slices, two_sum
from classwise.statistics.grouping import Groups
from classwise.statistics.scatter import Scatter


@dataclass(frozen=True, eq=False)
class Moments:
    """weight (g,), mean (g, p) and scatter of g classes. Addition merges, subtraction removes.

    rest (g, p): what rounding cut off the mean. Where a mean is a million deviations from zero, the last digit of the
    mean is a tenth digit of the deviation, and merging many batches by rounded means would show it.
    """

    weight: Array
    mean: Array
    rest: Array
    scatter: Scatter

    @classmethod
    def empty(cls, count: int, features: int, form: type[Scatter]) -> Self:
        zeros = np.zeros((count, features))
        return cls(np.zeros(count), zeros, zeros, form.empty(count, features))

    def __add__(self, other: Self) -> Self:
        weight = self.weight + other.weight
        share = ratio(other.weight, weight)
        difference = other.minus(self)
        between = self.scatter.between(self.weight * share, difference)
        # From the mean of the heavier part, which an empty part then leaves as it is.
        lighter = (self.weight < other.weight)[:, None]
        start, rest = np.where(lighter, other.mean, self.mean), np.where(lighter, other.rest, self.rest)
        step = difference * (share[:, None] - lighter)
        return type(self)(weight, *two_sum(start, rest + step), self.scatter + other.scatter + between)

    def __sub__(self, other: Self) -> Self:
        """The moments of the rows that remain; whether `other` was ever part of it is not looked at here."""
        weight = self.weight - other.weight
        share = ratio(other.weight, weight)
        difference = self.minus(other)
        between = self.scatter.between(self.weight * share, difference)
        step = difference * share[:, None]
        return type(self)(weight, *two_sum(self.mean, self.rest + step), self.scatter - other.scatter - between)

    def minus(self, other: Self) -> Array:
        """The difference of the means, to the last digit; (g, p)."""
        return (self.mean - other.mean) + (self.rest - other.rest)

    def regroup(self, positions: Codes, count: int) -> Self:
        """The same classes at new positions among `count`, the others empty."""
        whole = self.empty(count, self.mean.shape[1], type(self.scatter))
        weight, mean, rest = whole.weight.copy(), whole.mean.copy(), whole.rest.copy()
        weight[positions], mean[positions], rest[positions] = self.weight, self.mean, self.rest
        return type(self)(weight, mean, rest, self.scatter.regroup(positions, count))

    def select(self, kept: Codes) -> Self:
        """Only the classes at these positions."""
        return type(self)(self.weight[kept], self.mean[kept], self.rest[kept], self.scatter.select(kept))

    def denoised(self) -> Self:
        """Sums of squares that are only the rounding of a mean, set to zero: such a feature is constant."""
        noise = self.weight[:, None] * (4 * EPS * self.mean) ** 2
        return replace(self, scatter=self.scatter.denoised(noise))

    def scaled(self, scale: Array) -> Self:
        """The moments of the rows times `scale` (p,)."""
        return type(self)(self.weight, self.mean * scale, self.rest * scale, self.scatter.scaled(scale))

    def overall_mean(self) -> Array:
        """The mean of all rows; (p,)."""
        return self.mean[0] + self.weight @ (self.mean - self.mean[0]) / self.weight.sum()

    def overall_variance(self) -> Array:
        """The maximum-likelihood variance of each feature over all rows, within and between classes; (p,)."""
        away = self.mean - self.overall_mean()
        return (self.scatter.pooled_diagonal() + self.weight @ (away * away)) / self.weight.sum()

    def constant(self) -> NDArray[np.bool_]:
        """Which features do not vary at all over the rows, to rounding; (p,)."""
        return np.asarray(self.overall_variance() <= (4 * EPS * np.abs(self.mean).max(axis=0)) ** 2)


def gather_moments(rows: Array, codes: Codes, count: int, weights: Array | None, form: type[Scatter]) -> Moments:
    """The moments of rows (m, p) whose classes are codes (m,) in range(count), every class present.

    Block by block, about a provisional mean of each class, so that the residuals are small, exact, and in cache.
    """
    features = rows.shape[1]
    provisional = _provisional_means(rows, codes, count)
    weight, total = np.zeros(count), np.zeros(provisional.shape)
    products = np.zeros(form.shape(count, features))
    # A product of fewer rows than features is slow: a block holds more of each class than that.
    for block in slices(len(rows), max(BLOCK_SIZE // features, 2 * count * features)):
        groups = Groups(codes[block], count, None if weights is None else weights[block])
        residuals = _residuals(rows[block], provisional, codes[block])
        weight += groups.weight()
        total += groups.sums(residuals)
        form.accumulate(products, residuals, groups)
    offset = ratio(total, np.broadcast_to(weight[:, None], total.shape))
    return Moments(weight, *two_sum(provisional, offset), form(products) - form.between(weight, offset))


def _residuals(rows: Array, provisional: Array, codes: Codes) -> Array:
    residuals = provisional.take(codes, axis=0)
    return np.subtract(rows, residuals, out=residuals)


def _provisional_means(rows: Array, codes: Codes, count: int) -> Array:
    """A representative point of each class: near its mean, and equal to it where the class is constant.

    The first row of the class, moved by the mean residual of its rows among the first few.
    """
    head = codes[: max(32 * count, 256)]
    start = np.asarray(rows[_first_rows(codes, head, count)], dtype=np.float64)
    groups = Groups(head, count)
    away = groups.sums(_residuals(rows[: len(head)], start, head))
    return start + away / np.maximum(groups.weight(), 1)[:, None]


def _first_rows(codes: Codes, head: Codes, count: int) -> Codes:
    """The first row of each class, looked for beyond the head only where it must be."""
    first = np.full(count, -1)
    first[head[::-1]] = np.arange(len(head) - 1, -1, -1)  # of equal indices the last assignment stays
    for code in np.flatnonzero(first < 0):
        first[code] = np.argmax(codes == code)
    return first
