"""Moments: weight, mean and scatter of the rows of each class.

    weight n = sum w;  mean m = sum w x / n;  scatter S = sum w (x - m)(x - m)'

Merging A and B (Chan, Golub and LeVeque 1983):

    n = n_A + n_B;  d = m_B - m_A;  m = m_A + d n_B / n;  S = S_A + S_B + d d' n_A n_B / n
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import BLOCK_SIZE, EPS, Array, Codes, ratio, slices, spread, two_sum
from classwise.errors import StatisticsError
from classwise.kernels import RowsOrColumns
from classwise.kernels.sums import class_moments
from classwise.rows.schema import Column
from classwise.statistics.scatter import DiagonalScatter, Groups, PooledScatter, Scatter
from classwise.statistics.statistic import ROUNDING, Statistic
from classwise.storage import stored

# Means, and weights, are smaller: their squares must be numbers too.
LARGEST = 1e150

# Of a smaller variance, squares are below 1e-308 here and there, and lose digits; so are pivots of its covariances.
LEAST_VARIANCE = 1e-304

# A feature plainly varies where its sum of squares is so many times what rounding makes.
FAR_BEYOND = 1e8


@stored("Moments")
@dataclass(frozen=True, eq=False)
class Moments(Statistic):
    """weight, mean (g, p) and scatter of g classes. Addition merges, subtraction removes.

    weight: (g, 1), or (g, p) where columns that are looked at one by one (diagonal scatter) have values missing.
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
        return cls(np.zeros((count, 1)), zeros, zeros, form.empty(count, features))

    def _is_sound(self) -> bool:
        count, features = self.mean.shape
        shaped = self.rest.shape == self.mean.shape and self.weight.shape in ((count, 1), (count, features))
        matched = self.scatter.values.shape == self.scatter.shape(count, features)
        if not shaped or not matched or not (self.weight >= 0).all() or not (self.squares >= 0).all():
            return False
        sizes = (self.mean, self.weight, np.sqrt(np.abs(self.scatter.values)))
        bounded = all(np.abs(values).max(initial=0.0) < LARGEST for values in sizes)
        return bounded and self.scatter.scaled(1 / self._scale()).is_positive()

    def __add__(self, other: Self) -> Self:
        weight = self.weight + other.weight
        share = ratio(other.weight, weight)
        difference = other.minus(self)
        between = self.scatter.between(self.weight * share, difference)
        # From the mean of the heavier part, which an empty part then leaves as it is.
        lighter = self.weight < other.weight
        start, rest = np.where(lighter, other.mean, self.mean), np.where(lighter, other.rest, self.rest)
        step = difference * (share - lighter)
        return type(self)(weight, *two_sum(start, rest + step), self.scatter + other.scatter + between)

    def __sub__(self, other: Self) -> Self:
        """The moments of the rows that remain; an error where `other` cannot have been part of these."""
        lacking = other.weight - self.weight > ROUNDING * self.weight
        if lacking.any():
            raise StatisticsError("Subtracting leaves a negative weight: those rows were never part of this statistic.")
        gone = self.weight - other.weight <= ROUNDING * self.weight
        # What is all taken leaves exactly nothing, not a weight of 1e-17.
        taken = replace(other, weight=np.where(gone, self.weight, other.weight))
        remainder = self._without(taken)
        self._check_remainder(taken, remainder, gone)
        # What is left of a sum of squares may be nothing but the rounding of what was there.
        noise = 16 * EPS * np.broadcast_to(self.squares, self.mean.shape)
        return replace(remainder, scatter=remainder.scatter.denoised(noise / len(noise))).cleared(gone)

    def _without(self, other: Self) -> Self:
        weight = self.weight - other.weight
        share = ratio(other.weight, weight)
        difference = self.minus(other)
        between = self.scatter.between(self.weight * share, difference)
        step = difference * share
        return type(self)(weight, *two_sum(self.mean, self.rest + step), self.scatter - other.scatter - between)

    def cleared(self, empty: NDArray[np.bool_]) -> Self:
        """Exactly nothing where nothing is left; empty (g, 1) or (g, p)."""
        if not empty.any():
            return self
        mean, rest = np.where(empty, 0.0, self.mean), np.where(empty, 0.0, self.rest)
        return type(self)(self.weight, mean, rest, self.scatter.cleared(empty))

    def _check_remainder(self, taken: Self, remainder: Self, gone: NDArray[np.bool_]) -> None:
        """What remains must be a scatter: no negative direction, and nothing at all where the class is gone."""
        scale = self._scale()
        moved = gone & (np.abs(self.minus(taken)) * np.sqrt(self.weight) > np.sqrt(ROUNDING) * scale)
        if remainder.scatter.scaled(1 / scale).lowest() < -ROUNDING or moved.any():
            raise StatisticsError(
                "Subtracting leaves a scatter that is not positive: those rows were never part of this statistic."
            )

    def _scale(self) -> Array:
        """How far the rows lie from the means, or from what rounding makes of these; (p,)."""
        deviation = np.sqrt(self.squares)
        # Means are known to rounding of their own size; below that, scatter is noise.
        noise = 8 * EPS * np.abs(self.mean).max(axis=0, initial=0.0) * np.sqrt(self.total_weight)
        return np.maximum(deviation, np.maximum(noise / np.sqrt(ROUNDING), np.finfo(np.float64).tiny ** 0.5))

    @cached_property
    def total_weight(self) -> Array:
        """The weight of all classes together; (1,), or (p,) where columns differ."""
        return np.asarray(self.weight.sum(axis=0))

    @cached_property
    def squares(self) -> Array:
        """The within-class sum of squares of each feature over all classes; (p,)."""
        return self.scatter.pooled_diagonal()

    @property
    def noise(self) -> Array:
        """The sums of squares that the rounding of values alone may make; (g, p)."""
        return self.weight * (4 * EPS * self.mean) ** 2

    @property
    def are_finite(self) -> bool:
        """Whether no sum of squares is NaN or infinite; these travel to the sums from any value."""
        squares = np.isfinite(self.scatter.pooled_diagonal())
        return np.count_nonzero(squares) == len(squares)

    def class_weight(self) -> Array:
        """The weight of each class, where columns differ their average; (g,)."""
        return self.weight[:, 0] if self.weight.shape[1] == 1 else self.weight.mean(axis=1)

    def minus(self, other: Self) -> Array:
        """The difference of the means, to the last digit; (g, p)."""
        return (self.mean - other.mean) + (self.rest - other.rest)

    def withheld(self, minimum: float) -> Self:
        """Nothing of a class, or of a column in a class, that weighs less."""
        small = self.weight < minimum
        if isinstance(self.scatter, PooledScatter) and (small & (self.weight > 0)).any():
            raise StatisticsError(
                "A pooled scatter cannot withhold its part of a small class; gather statistics with scatter='full'."
            )
        return replace(self, weight=np.where(small, 0.0, self.weight)).cleared(small)

    def regroup(self, positions: Codes, count: int) -> Self:
        weight, mean, rest = (spread(values, positions, count) for values in (self.weight, self.mean, self.rest))
        return type(self)(weight, mean, rest, self.scatter.regroup(positions, count))

    def select(self, kept: Codes) -> Self:
        return type(self)(self.weight[kept], self.mean[kept], self.rest[kept], self.scatter.select(kept))

    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        weight = self.weight if self.weight.shape[1] == 1 else self.weight[:, columns]
        return type(self)(weight, self.mean[:, columns], self.rest[:, columns], self.scatter.restrict(columns))

    def among(self, places: Sequence[int], features: int) -> Self:
        """The same features at these places among `features`; the others are always 0."""
        if len(places) == features:
            return self
        mean, rest = (spread(part.T, np.array(places), features).T for part in (self.mean, self.rest))
        return type(self)(self.weight, mean, rest, self.scatter.among(places, features))

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        return self.mean.shape == (count, len(columns))

    def merged(self, codes: Codes, count: int) -> Self:
        """The moments of larger groups: group i becomes part of class codes[i]; scatter by group."""
        groups = Groups(codes, count)
        weight = groups.sums(self.weight)
        # About the mean of the heaviest group of each class, so that a common offset costs no digits.
        order, columns = np.argsort(self.weight, axis=0, kind="stable"), np.arange(self.mean.shape[1])
        heaviest = np.zeros((count, len(columns)))
        heaviest[codes[order], columns] = self.mean[order, columns]  # of equal indices the last assignment stays
        away = (self.mean - heaviest[codes]) + self.rest
        offset = ratio(groups.sums(self.weight * away), weight)
        between = self.scatter.between(self.weight, away - offset[codes])
        total = (self.scatter + between).values
        sums = groups.sums(total.reshape(len(total), -1)).reshape(count, *total.shape[1:])
        return type(self)(weight, *two_sum(heaviest, offset), type(self.scatter)(sums))

    def by_column(self) -> Self:
        """The same moments column by column: only the diagonals of the scatter."""
        return replace(self, scatter=DiagonalScatter(self.scatter.diagonals()))

    def denoised(self) -> Self:
        """Sums of squares that are only the rounding of a mean, set to zero: such a feature is constant."""
        if self._vary_by_class:
            return self
        scatter = self.scatter.denoised(self.noise)
        return self if scatter is self.scatter else replace(self, scatter=scatter)

    def scaled(self, scale: Array) -> Self:
        """The moments of the rows times `scale` (p,)."""
        return type(self)(self.weight, self.mean * scale, self.rest * scale, self.scatter.scaled(scale))

    def overall_mean(self) -> Array:
        """The mean of all rows; (p,). 0 in a column without values."""
        start = self.mean[self.weight.argmax(axis=0), np.arange(self.mean.shape[1])]
        return start + ratio((self.weight * (self.mean - start)).sum(axis=0), self.total_weight)

    def overall_variance(self) -> Array:
        """The maximum-likelihood variance of each feature over all rows, within and between classes; (p,)."""
        away = self.mean - self.overall_mean()
        return ratio(self.squares + (self.weight * away * away).sum(axis=0), self.total_weight)

    def of_all(self) -> "Moments":
        """The moments of all rows as one class, column by column; any form of scatter serves."""
        weight, mean = self.total_weight, self.overall_mean()
        squares = weight * self.overall_variance()
        return Moments(weight[None], mean[None], np.zeros((1, len(mean))), DiagonalScatter(squares[None]))

    def constant(self) -> NDArray[np.bool_]:
        """Which features do not vary at all over the rows, to rounding; (p,)."""
        return np.asarray(self.overall_variance() <= self._rounding())

    @property
    def all_vary(self) -> bool:
        """Whether every feature plainly varies within some class: quicker to see than which do not."""
        return self._vary_by_class or self._vary_together

    @cached_property
    def _vary_by_class(self) -> bool:
        """Whether every feature plainly varies within each class, or, if scatter is pooled, within some class."""
        return self.scatter.all_beyond(self._plain())

    @cached_property
    def _vary_together(self) -> bool:
        return bool((self.squares > self._plain().sum(axis=0)).all())

    def _plain(self) -> Array:
        """Sums of squares far beyond what rounding makes or underflow loses; (g, p)."""
        return FAR_BEYOND * self.weight * ((4 * EPS * self.mean) ** 2 + LEAST_VARIANCE)

    def _rounding(self) -> Array:
        """The variance that the rounding of the values alone may make; (p,)."""
        return np.asarray((4 * EPS * np.abs(self.mean).max(axis=0, initial=0.0)) ** 2)


def gather_moments(
    rows: Array,
    codes: Codes,
    count: int,
    weights: Array | None,
    form: type[Scatter],
    present: NDArray[np.bool_] | None = None,
) -> Moments:
    """The moments of rows (m, p) whose classes are codes (m,) in range(count), every class present.

    present (m, p): which values count, where not all do; the others must be finite all the same.

    Block by block, about a provisional mean of each class, so that the residuals are small, exact, and in cache.
    """
    fused = fused_moments(rows, codes, count, weights, form) if present is None else None
    return _by_block(rows, codes, count, weights, form, present) if fused is None else fused


@np.errstate(all="ignore")  # NaN and infinity travel to the sums, where callers look for them
def _by_block(
    rows: Array,
    codes: Codes,
    count: int,
    weights: Array | None,
    form: type[Scatter],
    present: NDArray[np.bool_] | None,
) -> Moments:
    features = rows.shape[1]
    first, head = first_rows(codes, count)
    provisional = provisional_means(np.asarray(rows[first], dtype=np.float64), rows[: len(head)], head, count)
    weight = np.zeros((count, 1 if present is None else features))
    total, products = np.zeros(provisional.shape), np.zeros(form.shape(count, features))
    # A product of fewer rows than features is slow: a block holds more of each class than that.
    for block in slices(len(rows), max(BLOCK_SIZE // max(features, 1), 2 * count * features)):
        residuals = _residuals(rows[block], provisional, codes[block])
        groups = Groups(codes[block], count, None if weights is None else weights[block])
        if present is None:
            weight += groups.weight()[:, None]
        else:
            residuals *= present[block]
            weight += groups.sums(present[block].astype(np.float64))
        total += groups.sums(residuals)
        form.accumulate(products, residuals, groups)
    moments = centered(provisional, weight, total, form(products))
    return moments if present is None else moments.cleared(weight == 0)


def fused_moments(
    rows: RowsOrColumns, codes: Codes, count: int, weights: Array | None, form: type[Scatter]
) -> Moments | None:
    """The same by a compiled kernel, of rows (m, p) or of columns (m,); None where there is none for them."""
    found = class_moments(rows, codes, count, rows_looked_at(count), weights, form.name)
    return None if found is None else Moments(*found[:3], form(found[3]))


def centered(provisional: Array, weight: Array, total: Array, products: Scatter) -> Moments:
    """Moments, from the sums and products of residuals about provisional means."""
    offset = ratio(total, weight)
    return Moments(weight, *two_sum(provisional, offset), products - products.between(weight, offset))


def gather_columns(rows: Array, codes: Codes, count: int, weights: Array | None) -> Moments:
    """Moments column by column of rows (m, p) with NaN for what is missing: each column counts what it has."""
    present = ~np.isnan(rows)
    # Something finite and near the others where no value is: the first value of the column.
    first = rows[present.argmax(axis=0), np.arange(rows.shape[1])]
    filled = np.where(present, rows, np.where(np.isnan(first), 0.0, first))
    return gather_moments(filled, codes, count, weights, DiagonalScatter, present)


def _residuals(rows: Array, provisional: Array, codes: Codes) -> Array:
    residuals = provisional.take(codes, axis=0)
    return np.subtract(rows, residuals, out=residuals)


def provisional_means(start: Array, some: Array, codes: Codes, count: int) -> Array:
    """A representative point of each class: near its mean, and equal to it where the class is constant.

    start (count, p): the first row of each class, which is moved by the mean residual of some rows (k, p) of the class.
    """
    residuals, groups = _residuals(some, start, codes), Groups(codes, count)
    away = groups.sums(residuals)
    return start + away / np.maximum(groups.weight(), 1)[:, None]


def rows_looked_at(count: int) -> int:
    """How many of the first rows are enough for rough means of `count` classes."""
    return max(32 * count, 256)


def first_rows(codes: Codes, count: int) -> tuple[Codes, Codes]:
    """Where the first row of each class is (count,), and the codes of the first few rows of all.

    It is looked for beyond these only where it must be.
    """
    head = codes[: rows_looked_at(count)]
    first = np.full(count, -1)
    first[head[::-1]] = np.arange(len(head) - 1, -1, -1)  # of equal indices the last assignment stays
    for code in np.flatnonzero(first < 0):
        first[code] = np.argmax(codes == code)
    return first, head
