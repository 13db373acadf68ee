"""Rows with gaps: their moments by class and pattern, where a pattern is the set of columns that have a value.

That is all a Gaussian's likelihood needs of them (Little and Rubin 2019, chapter 11), so that one pass over the rows
still suffices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import EPS, Array, Codes, patterns, ratio
from classwise.errors import ClasswiseError, StatisticsError
from classwise.rows.schema import Column
from classwise.statistics.moments import LEAST_VARIANCE, Moments, gather_columns, gather_moments
from classwise.statistics.scatter import DiagonalScatter, FullScatter, Scatter
from classwise.statistics.statistic import Statistic
from classwise.storage import stored


@stored("Gaps")
@dataclass(frozen=True, eq=False)
class Gaps(Statistic):
    """The moments of q groups of rows; the rows of a group have one class and one pattern.

    codes (q,): the class of each group; present (q, p): its pattern; moments: of the groups, zero where no value is.
    """

    codes: Codes
    present: NDArray[np.bool_]
    moments: Moments

    @classmethod
    @lru_cache(maxsize=16)  # most rows have none, chunk after chunk
    def empty(cls, features: int) -> Self:
        nothing = np.zeros((0, features), dtype=bool)
        return cls(np.zeros(0, dtype=np.intp), nothing, Moments.empty(0, features, FullScatter))

    @classmethod
    def gather(cls, rows: Array, codes: Codes, weights: Array | None) -> Self:
        """The moments of rows (m, p) with NaN for what is missing; codes (m,) are their classes."""
        present = ~np.isnan(rows)
        pattern, numbers = patterns(present)
        pairs, group = np.unique(np.column_stack([codes, numbers]), axis=0, return_inverse=True)
        _refuse_too_many(len(pairs), rows.shape[1])
        filled = np.where(present, rows, 0.0)
        moments = gather_moments(filled, group.reshape(-1), len(pairs), weights, FullScatter)
        return cls(pairs[:, 0].astype(np.intp), pattern[pairs[:, 1]], moments)._sorted()

    def _is_sound(self) -> bool:
        matched = self.present.shape == self.moments.mean.shape and isinstance(self.moments.scatter, FullScatter)
        return matched and self.codes.shape == (len(self.present),) and self.moments.weight.shape[1] == 1

    def __len__(self) -> int:
        return len(self.codes)

    def by_column(self, count: int) -> Moments:
        """What each column has, by class; (count, p) weights."""
        diagonal = self.moments.by_column()
        weight = diagonal.weight * self.present
        return Moments(weight, diagonal.mean, diagonal.rest, diagonal.scatter).merged(self.codes, count)

    def __add__(self, other: Self) -> Self:
        codes, present, ours, theirs = self._union(other)
        return type(self)(codes, present, self._spread(ours, len(codes)) + other._spread(theirs, len(codes)))

    def __sub__(self, other: Self) -> Self:
        codes, present, ours, theirs = self._union(other)
        if len(codes) > len(self):
            raise StatisticsError("Subtracting rows with gaps that were never part of this statistic.")
        return type(self)(codes, present, self._spread(ours, len(codes)) - other._spread(theirs, len(codes))).compact()

    def regroup(self, positions: Codes, count: int) -> Self:
        return type(self)(positions[self.codes], self.present, self.moments)._sorted()

    def select(self, kept: Codes) -> Self:
        groups = np.flatnonzero(np.isin(self.codes, kept))
        return type(self)(np.searchsorted(kept, self.codes[groups]), self.present[groups], self.moments.select(groups))

    def restrict(self, columns: Sequence[int]) -> Self:
        narrow = type(self)(self.codes, self.present[:, columns], self.moments.restrict(columns))
        return narrow._where(np.asarray(np.any(narrow.present, axis=1)))._merged()

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        return self.present.shape[1] == len(columns) and bool(np.isin(self.codes, np.arange(count)).all())

    def compact(self) -> Self:
        return self._where(np.asarray(self.moments.weight[:, 0] > 0))

    def withheld(self, minimum: float) -> Self:
        return self._where(np.asarray(self.moments.weight[:, 0] >= minimum))

    def split_complete(self) -> tuple[Self, Self]:
        """The groups without gaps, and those with."""
        complete: NDArray[np.bool_] = np.asarray(np.all(self.present, axis=1))
        return self._where(complete), self._where(~complete)

    def scaled(self, scale: Array) -> Self:
        """The moments of the rows times `scale` (p,)."""
        return type(self)(self.codes, self.present, self.moments.scaled(scale))

    def _where(self, kept: NDArray[np.bool_]) -> Self:
        groups = np.flatnonzero(kept)
        return type(self)(self.codes[groups], self.present[groups], self.moments.select(groups))

    def _keys(self) -> NDArray[np.int64]:
        return np.column_stack([self.codes, np.packbits(self.present, axis=1)]).astype(np.int64)

    def _sorted(self) -> Self:
        order = np.lexsort(self._keys().T[::-1])
        return type(self)(self.codes[order], self.present[order], self.moments.select(order))

    def _merged(self) -> Self:
        """Groups that have become one."""
        if not len(self):
            return self
        _, first, group = np.unique(self._keys(), axis=0, return_index=True, return_inverse=True)
        return type(self)(self.codes[first], self.present[first], self.moments.merged(group.reshape(-1), len(first)))

    def _union(self, other: Self) -> tuple[Codes, NDArray[np.bool_], Codes, Codes]:
        """The groups of either in order, and the positions of ours and theirs among them."""
        keys = np.vstack([self._keys(), other._keys()])
        _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        _refuse_too_many(len(first), self.present.shape[1])
        codes, present = np.concatenate([self.codes, other.codes]), np.vstack([self.present, other.present])
        group = group.reshape(-1)
        return codes[first], present[first], group[: len(self)], group[len(self) :]

    def _spread(self, positions: Codes, count: int) -> Moments:
        return self.moments.regroup(positions, count)


def _refuse_too_many(groups: int, features: int) -> None:
    if groups * features * features > limits.MOST_GAP_NUMBERS:
        raise ClasswiseError(
            f"X has {groups} patterns of missing values (by class) in {features} columns of numbers, too many to keep "
            "a matrix for each; use structure='diagonal' or NaiveBayes, which look at columns one by one, or impute."
        )


@stored("Numbers")
@dataclass(frozen=True, eq=False)
class Numbers(Statistic):
    """Columns of numbers: the moments of complete rows, and of the others by pattern.

    With diagonal scatter columns are looked at one by one, what each has is in the moments, and gaps are never used.
    """

    moments: Moments
    gaps: Gaps

    @classmethod
    def gather(cls, rows: Array, codes: Codes, count: int, weights: Array | None, form: type[Scatter]) -> Self:
        """rows (m, p) with NaN for what is missing."""
        if form is DiagonalScatter:
            return cls(gather_columns(rows, codes, count, weights), Gaps.empty(rows.shape[1]))
        present = ~np.isnan(rows)
        complete, some = present.all(axis=1), present.any(axis=1)
        gappy = np.flatnonzero(some & ~complete)
        gaps = Gaps.gather(rows[gappy], codes[gappy], None if weights is None else weights[gappy])
        return cls(_of_complete(rows, codes, count, weights, form, np.flatnonzero(complete)), gaps)

    def _is_sound(self) -> bool:
        count, features = self.moments.mean.shape
        return self.gaps.present.shape[1] == features and bool(np.isin(self.gaps.codes, np.arange(count)).all())

    @property
    def has_gaps(self) -> bool:
        """Whether some rows have values in some columns only."""
        return len(self.gaps.codes) > 0

    def by_column(self) -> Moments:
        """What each column has, whatever the others have."""
        if not self.has_gaps:
            return self.moments.by_column()
        return self.moments.by_column() + self.gaps.by_column(len(self.moments.weight))

    def column_means(self) -> tuple[Array, Array]:
        """The weight and the mean of the values each column has; (g, p), (g, p). Any form of scatter serves."""
        weight = np.broadcast_to(self.moments.weight, self.moments.mean.shape)
        if not self.has_gaps:
            return weight, self.moments.mean
        gaps = self.gaps.by_column(len(weight))
        total = weight + gaps.weight
        return total, self.moments.mean + ratio(gaps.weight, total) * (gaps.mean - self.moments.mean)

    def overall_mean(self) -> Array:
        """The mean of the values that each column has in all rows; (p,)."""
        return self.of_all().mean[0] if self.has_gaps else self.moments.overall_mean()

    def of_all(self) -> Moments:
        """What each column has in all rows, as one class; any form of scatter serves."""
        whole = self.moments.of_all()
        return whole + self.gaps.by_column(len(self.moments.weight)).of_all() if self.has_gaps else whole

    def present_weight(self) -> Array:
        """The weight of the values each column has; (g, p)."""
        whole = self.moments.weight * np.ones_like(self.moments.mean)  # broadcast_to takes several times as long
        return whole + self.gaps.by_column(len(whole)).weight if self.has_gaps else whole

    def underflow(self) -> list[int]:
        """The columns that vary, over all rows, by so little that squares of it lose digits in float64."""
        squares = self.moments.squares
        if self.has_gaps:
            squares = squares + self.gaps.by_column(len(self.moments.weight)).scatter.pooled_diagonal()
        weight, mean = self.column_means()
        total = weight.sum(axis=0)
        away = np.where(weight > 0, mean - ratio((weight * mean).sum(axis=0), total), 0.0)
        variance = ratio(squares + (weight * away * away).sum(axis=0), total)
        # What has underflowed altogether shows in the means, unless these are equal to the last digits.
        rounding = 4 * EPS * np.abs(mean).max(axis=0, initial=0.0)
        varies = (variance > rounding**2) | (np.abs(away).max(axis=0, initial=0.0) > rounding)
        return list(np.flatnonzero(varies & (variance < LEAST_VARIANCE)).tolist())

    def __add__(self, other: Self) -> Self:
        gaps = self.gaps + other.gaps if self.has_gaps or other.has_gaps else self.gaps
        return type(self)(self.moments + other.moments, gaps)

    def __sub__(self, other: Self) -> Self:
        gaps = self.gaps - other.gaps if other.has_gaps else self.gaps
        return type(self)(self.moments - other.moments, gaps)

    def withheld(self, minimum: float) -> Self:
        return type(self)(self.moments.withheld(minimum), self.gaps.withheld(minimum))

    def regroup(self, positions: Codes, count: int) -> Self:
        return type(self)(self.moments.regroup(positions, count), self.gaps.regroup(positions, count))

    def select(self, kept: Codes) -> Self:
        return type(self)(self.moments.select(kept), self.gaps.select(kept))

    def restrict(self, columns: Sequence[int]) -> Self:
        moments = self.moments.restrict(columns)
        if not self.has_gaps:
            return type(self)(moments, Gaps.empty(len(columns)))
        complete, gaps = self.gaps.restrict(columns).split_complete()
        if len(complete):
            moments = moments + _in_form(complete.moments.merged(complete.codes, len(moments.weight)), moments)
        return type(self)(moments, gaps)

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        return self.moments.is_of(count, columns)

    def scaled(self, scale: Array) -> Self:
        """The numbers times `scale` (p,)."""
        return type(self)(self.moments.scaled(scale), self.gaps.scaled(scale))


def _of_complete(
    rows: Array, codes: Codes, count: int, weights: Array | None, form: type[Scatter], kept: Codes
) -> Moments:
    present, local = np.unique(codes[kept], return_inverse=True)
    if not len(present):
        return Moments.empty(count, rows.shape[1], form)
    kept_weights = None if weights is None else weights[kept]
    return gather_moments(rows[kept], local, len(present), kept_weights, form).regroup(present, count)


def _in_form(moments: Moments, like: Moments) -> Moments:
    """Full moments in the form of others."""
    form = type(like.scatter)
    if form is FullScatter:
        return moments
    return Moments(moments.weight, moments.mean, moments.rest, form(moments.scatter.pooled()))
