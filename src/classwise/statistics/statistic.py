"""What all statistics can do: add, subtract, and move with their classes and columns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from classwise.arrays import Codes
from classwise.errors import StatisticsError
from classwise.rows.schema import Column

# What a subtraction leaves may be off by this much of what was there.
ROUNDING = 1e-9


class Statistic(ABC):
    """A summary of the rows of each class, for some columns."""

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """The statistic of both sets of rows; the classes are the same."""

    @abstractmethod
    def __sub__(self, other: Self) -> Self:
        """The statistic of the rows that remain; an error where `other` cannot have been part of this."""

    @abstractmethod
    def regroup(self, positions: Codes, count: int) -> Self:
        """The same classes at new positions among `count`, the others empty."""

    @abstractmethod
    def select(self, kept: Codes) -> Self:
        """Only the classes at these positions."""

    @abstractmethod
    def restrict(self, columns: Sequence[int]) -> Self:
        """Only these columns, by position among its own."""

    @abstractmethod
    def is_of(self, count: int, columns: Sequence[Column]) -> bool:
        """Whether it summarizes `count` classes and just these columns."""

    def taken_for(self, columns: Sequence[Column]) -> Self:
        """With the same columns, of which some that have no values may have become something else."""
        return self

    def compact(self) -> Self:
        """Without what no row has."""
        return self

    def withheld(self, minimum: float) -> Self:
        """Without cells of less weight than this, so that none is about a few rows; an error where there is no way."""
        raise StatisticsError(
            f"minimum_weight cannot withhold what {type(self).__name__} hold of a few rows; gather statistics without "
            "them: summarize(X, y), with neither pairs nor quartics."
        )
