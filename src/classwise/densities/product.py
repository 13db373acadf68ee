"""Independent blocks of columns: log p(x | k) = sum over blocks of log p(x_block | k)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.densities.density import Block, Density
from classwise.storage import stored


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
        return rows
