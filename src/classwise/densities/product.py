"""Independent blocks of columns: log p(x | k) = sum over blocks of log p(x_block | k)."""

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from classwise.arrays import Array, Codes
from classwise.densities.density import Density


@dataclass(frozen=True, eq=False)
class Block:
    """A density over some of the columns."""

    columns: Codes
    density: Density


@dataclass(frozen=True, eq=False)
class Product(Density):
    """A density over all columns, made of densities over blocks of them."""

    blocks: tuple[Block, ...]

    @property
    def count(self) -> int:
        return self.blocks[0].density.count

    @property
    def n_features(self) -> int:
        return sum(len(block.columns) for block in self.blocks)

    @property
    def width(self) -> int:
        return self.n_features + max(block.density.width for block in self.blocks)

    def relative(self, rows: Array, offset: Array) -> Array:
        first, *others = self.blocks
        total = first.density.relative(rows[:, first.columns], offset)
        for block in others:
            total += block.density.relative(rows[:, block.columns], np.zeros_like(offset))
        return total

    def common(self, rows: Array) -> Array | float:
        return reduce(add, (block.density.common(rows[:, block.columns]) for block in self.blocks))

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        rows = np.empty((len(codes), self.n_features))
        for block in self.blocks:
            rows[:, block.columns] = block.density.sample(codes, generator)
        return rows
