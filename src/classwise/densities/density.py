"""The interface of the densities of classes, as classifiers use it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Array, Codes, patterns
from classwise.kernels.scores import Scores
from classwise.storage import stored


class ColumnPolynomial(NamedTuple):
    """constant_k + sum over columns of slope_kj x_j + curve_kj x_j²; (g,), (g, p), (g, p) or None for no squares."""

    constant: Array
    slope: Array
    curve: Array | None = None


class Density(ABC):
    """p(x | k) for every class k at once. Results are class-major: one row of (g, m) per class.

    A row is p numbers; a category stands in it as the position of its level, and as -1 where it is missing.
    """

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of classes g."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features p of a row."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers an evaluation holds per row; engines choose the size of chunks by it."""

    @property
    @abstractmethod
    def free_parameters(self) -> int:
        """How many numbers were estimated, or integrated out."""

    @abstractmethod
    def relative(self, rows: Array, offset: Array) -> Array:
        """log p(x | k) + offset_k, up to a term common to all classes, which Bayes' rule cancels; (m, p) -> (g, m).

        offset (g, 1): the log priors, for Bayes' rule; zeros, for the densities themselves.
        """

    @abstractmethod
    def common(self, rows: Array) -> Array | float:
        """That common term; (m, p) -> (m,), or 0."""

    def scores(self, offset: Array) -> Scores | None:
        """`relative` as polynomials of the rows, where it is such: then a compiled kernel may evaluate it."""
        return None

    def polynomial(self) -> ColumnPolynomial | None:
        """`relative` as a sum over columns of polynomials of the second degree, where it is one; for sparse rows."""
        return None

    def sparse_common(self, rows: Any) -> Array | float:
        """`common` of sparse rows (m, p), where `polynomial` is not None; (m,), or 0."""
        return 0.0

    @abstractmethod
    def observed(self, rows: Array, offset: Array) -> Array:
        """log p(x_o | k) + offset_k, where o are the columns that have a value and NaN is integrated out; (g, m)."""

    @abstractmethod
    def shares(self, row: Array, first: int, second: int) -> Array:
        """Each column's share of log p(x | first) - log p(x | second), 0 where it is missing; (p,) -> (p,).

        They add up to it except for a term that belongs to no column (the volumes of joint Gaussians).
        """

    @abstractmethod
    def parameters(self) -> list[dict[Any, Array]]:
        """What was estimated of each column, by name; each an array over the classes (g,)."""

    @abstractmethod
    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        """One row drawn from the density of each code; (m,) -> (m, p)."""

    def repeat(self, rows: Array, columns: Codes) -> None:  # noqa: B027
        """Fill in those of its columns, in rows that were drawn (m, p), that repeat other columns; most have none."""

    def without_each(self, rows: Array, blank: Array) -> Iterator[Array]:
        """`observed` of the rows (m, p) without each column in turn, offsets aside; (g, m) each.

        blank (p,): what stands for a missing value.
        """
        left, nothing = np.array(rows, dtype=np.float64), np.zeros((self.count, 1))
        for j in range(self.n_features):
            left[:, j] = blank[j]
            yield self.observed(left, nothing)
            left[:, j] = rows[:, j]

    # What it is made of. Most densities are one block, know all their classes, and do not look at what is missing.

    def as_blocks(self) -> tuple["Block", ...]:
        """The blocks of columns that are independent of each other."""
        return (Block(np.arange(self.n_features), self),)

    def of_seen_classes(self) -> "Density":
        """The density of the classes that have rows."""
        return self

    @property
    def is_density(self) -> bool:
        """Whether rows have a density; scores that only compare classes have none, and cannot be drawn from."""
        return True

    def of_values(self) -> "Density":
        """The density of values, given that they are there: whether one is missing says nothing any more."""
        return self


@stored("Block")
@dataclass(frozen=True, eq=False)
class Block:
    """A density over some of the columns."""

    columns: Codes
    density: Density

    def _is_sound(self) -> bool:
        shaped = self.columns.shape == (self.density.n_features,) and len(self.columns) > 0
        return shaped and bool((np.diff(self.columns) > 0).all())

    def of(self, rows: Array) -> Array:
        """Its columns; a view where they stand side by side."""
        first, last = self.columns[0], self.columns[-1]
        if last - first + 1 == len(self.columns):
            return rows[..., first : last + 1]
        return rows[..., self.columns]


class Located(Density):
    """Densities around a point for each class; means (g, p)."""

    means: Array

    @property
    def count(self) -> int:
        return len(self.means)

    @property
    def n_features(self) -> int:
        return self.means.shape[1]

    @abstractmethod
    def matrices(self) -> Array:
        """The covariance of each class, or the shape of its Student-t; (g, p, p)."""


def by_pattern(rows: Array, empty: Array, score: Callable[[Codes, Array], Array]) -> Array:
    """Scores by the columns that rows have, and `empty` (g, 1) of a row without any; (m, p) -> (g, m).

    score: of some columns, and the rows that have just these.
    """
    scores = np.repeat(empty, len(rows), axis=1)
    distinct, codes = patterns(~np.isnan(rows))
    for group, some in enumerate(distinct):
        if some.any():
            own, columns = np.flatnonzero(codes == group), np.flatnonzero(some)
            scores[:, own] = score(columns, rows[np.ix_(own, columns)])
    return scores


class Wrapper(Density):
    """A density that changes another in one respect, and leaves the rest to it."""

    @property
    @abstractmethod
    def wrapped(self) -> Density:
        """The other density."""

    @property
    def count(self) -> int:
        return self.wrapped.count

    @property
    def n_features(self) -> int:
        return self.wrapped.n_features

    @property
    def width(self) -> int:
        return self.wrapped.width

    @property
    def free_parameters(self) -> int:
        return self.wrapped.free_parameters

    @property
    def is_density(self) -> bool:
        return self.wrapped.is_density

    def common(self, rows: Array) -> Array | float:
        return self.wrapped.common(rows)

    def observed(self, rows: Array, offset: Array) -> Array:
        return self.wrapped.observed(rows, offset)

    def shares(self, row: Array, first: int, second: int) -> Array:
        return self.wrapped.shares(row, first, second)

    def parameters(self) -> list[dict[Any, Array]]:
        return self.wrapped.parameters()

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return self.wrapped.sample(codes, generator)


# ----------------------------------------------------------------------------------------------------------------------
# Independent blocks of columns: log p(x | k) = sum over blocks of log p(x_block | k).


@stored("Product")
@dataclass(frozen=True, eq=False)
class Product(Density):
    """A density over all columns, made of densities over blocks of them."""

    blocks: tuple[Block, ...]

    def _is_sound(self) -> bool:
        columns = sorted(column for block in self.blocks for column in block.columns.tolist())
        counts = {block.density.count for block in self.blocks}
        return columns == list(range(len(columns))) and len(counts) == 1

    def as_blocks(self) -> tuple[Block, ...]:
        return self.blocks

    @property
    def is_density(self) -> bool:
        return all(block.density.is_density for block in self.blocks)

    @property
    def count(self) -> int:
        return self.blocks[0].density.count

    @property
    def n_features(self) -> int:
        return sum(len(block.columns) for block in self.blocks)

    @property
    def width(self) -> int:
        return self.n_features + max(block.density.width for block in self.blocks)

    @property
    def free_parameters(self) -> int:
        return sum(block.density.free_parameters for block in self.blocks)

    def relative(self, rows: Array, offset: Array) -> Array:
        return self._sum(lambda block, own: block.density.relative(block.of(rows), own), offset)

    def common(self, rows: Array) -> Array | float:
        return reduce(add, (block.density.common(block.of(rows)) for block in self.blocks))

    def observed(self, rows: Array, offset: Array) -> Array:
        return self._sum(lambda block, own: block.density.observed(block.of(rows), own), offset)

    def _sum(self, score: Callable[[Block, Array], Array], offset: Array) -> Array:
        """The scores of all blocks; the offset is counted once."""
        first, *others = self.blocks
        total = score(first, offset)
        for block in others:
            total += score(block, np.zeros_like(offset))
        return total

    def polynomial(self) -> ColumnPolynomial | None:
        constant, slope, curve = np.zeros(self.count), *np.zeros((2, self.count, self.n_features))
        for block in self.blocks:
            found = block.density.polynomial()
            if found is None:
                return None
            constant += found.constant
            slope[:, block.columns] = found.slope
            curve[:, block.columns] = 0.0 if found.curve is None else found.curve
        return ColumnPolynomial(constant, slope, curve if curve.any() else None)

    def sparse_common(self, rows: Any) -> Array | float:
        return reduce(add, (block.density.sparse_common(rows[:, block.columns]) for block in self.blocks))

    def without_each(self, rows: Array, blank: Array) -> Iterator[Array]:
        nothing = np.zeros((self.count, 1))
        scores = [block.density.observed(block.of(rows), nothing) for block in self.blocks]
        if not np.isfinite(scores).all():  # infinity less infinity: without smoothing, a level may rule a class out
            yield from super().without_each(rows, blank)
            return
        whole = np.sum(scores, axis=0)
        parts = [block.density.without_each(block.of(rows), blank[block.columns]) for block in self.blocks]
        owners = {j: i for i, block in enumerate(self.blocks) for j in block.columns.tolist()}
        for j in range(self.n_features):  # the columns of a block come in their order
            yield whole - scores[owners[j]] + next(parts[owners[j]])

    def shares(self, row: Array, first: int, second: int) -> Array:
        shares = np.zeros(self.n_features)
        for block in self.blocks:
            shares[block.columns] = block.density.shares(block.of(row), first, second)
        return shares

    def parameters(self) -> list[dict[Any, Array]]:
        columns: list[dict[Any, Array]] = [{}] * self.n_features
        for block in self.blocks:
            for j, of_column in zip(block.columns.tolist(), block.density.parameters(), strict=True):
                columns[j] = of_column
        return columns

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        rows = np.empty((len(codes), self.n_features))
        for block in self.blocks:
            rows[:, block.columns] = block.density.sample(codes, generator)
        for block in self.blocks:
            block.density.repeat(rows, block.columns)
        return rows
