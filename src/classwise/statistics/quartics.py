"""Quartics: third and fourth powers of the distances from the class mean, |d|² d and |d|⁴, summed.

Ledoit and Wolf's amount of shrinking asks how much d d' varies from row to row, and that takes the sum of |d|⁴. Moving
the mean by δ, where S is the scatter and the d sum to zero,

    sum |d - δ|² (d - δ) = sum |d|² d - tr S δ - 2 S δ - n |δ|² δ
    sum |d - δ|⁴         = sum |d|⁴ - 4 δ' sum |d|² d + 4 δ'S δ + 2 |δ|² tr S + n |δ|⁴

so they merge as moments do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes, row_norms, spread
from classwise.errors import StatisticsError
from classwise.rows.schema import Column
from classwise.statistics.moments import Moments
from classwise.statistics.scatter import FullScatter, Groups
from classwise.statistics.statistic import Statistic
from classwise.storage import stored


@stored("Quartics")
@dataclass(frozen=True, eq=False)
class Quartics(Statistic):
    """third (g, p): sum w |d|² d; fourth (g,): sum w |d|⁴; with the moments (full scatter) that merging needs.

    Beyond what float64 can hold they are infinite or NaN, and the code that uses them refuses such units.
    """

    moments: Moments
    third: Array
    fourth: Array

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def gather(cls, rows: Array, codes: Codes, weights: Array | None, moments: Moments) -> Self:
        """Of rows (m, p) whose moments are known."""
        groups = Groups(codes, len(moments.weight), weights)
        away = (rows - moments.mean[codes]) - moments.rest[codes]
        squares = row_norms(away)[:, None]
        return cls(moments, groups.sums(away * squares), groups.sums(squares * squares)[:, 0])

    def _is_sound(self) -> bool:
        count, matched = len(self.moments.mean), self.third.shape == self.moments.mean.shape
        return matched and self.fourth.shape == (count,) and isinstance(self.moments.scatter, FullScatter)

    @np.errstate(over="ignore", invalid="ignore")
    def __add__(self, other: Self) -> Self:
        moments = self.moments + other.moments
        ours, theirs = self._about(moments), other._about(moments)
        return type(self)(moments, ours[0] + theirs[0], ours[1] + theirs[1])

    @np.errstate(over="ignore", invalid="ignore")
    def __sub__(self, other: Self) -> Self:
        moments = self.moments - other.moments
        ours, theirs = self._about(moments), other._about(moments)
        empty = moments.weight[:, 0] == 0
        third, fourth = ours[0] - theirs[0], ours[1] - theirs[1]
        return type(self)(moments, np.where(empty[:, None], 0.0, third), np.where(empty, 0.0, fourth))

    def _about(self, moments: Moments) -> tuple[Array, Array]:
        """The same sums about other means."""
        moved = moments.minus(self.moments)
        scatter, weight = self.moments.scatter.by_class(), self.moments.weight[:, 0]
        trace, length = np.trace(scatter, axis1=1, axis2=2), row_norms(moved)
        turned = np.einsum("kij,kj->ki", scatter, moved)
        third = self.third - (trace + weight * length)[:, None] * moved - 2 * turned
        along, across = (moved * self.third).sum(axis=1), (moved * turned).sum(axis=1)
        return third, self.fourth - 4 * along + 4 * across + 2 * length * trace + weight * length**2

    def regroup(self, positions: Codes, count: int) -> Self:
        third, fourth = (spread(values, positions, count) for values in (self.third, self.fourth))
        return type(self)(self.moments.regroup(positions, count), third, fourth)

    def select(self, kept: Codes) -> Self:
        return type(self)(self.moments.select(kept), self.third[kept], self.fourth[kept])

    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        return self.third.shape == (count, len(columns))

    def is_whole(self, columns: Sequence[int] | Codes) -> bool:
        """Whether no other column has a part in |d|: they do not vary within a class."""
        return not np.delete(self.moments.denoised().scatter.pooled_diagonal(), columns).any()

    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        if list(columns) == list(range(self.third.shape[1])):
            return self
        if not self.is_whole(columns):
            raise StatisticsError(
                "Sums of |d|⁴ are of all columns together; gather those of fewer columns by themselves."
            )
        return type(self)(self.moments.restrict(columns), self.third[:, columns], self.fourth)
