"""Rows to learn from, of growing number, and rows held out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from classwise.arrays import Codes
from classwise.errors import ClasswiseError

# Rows of each class that every subset has.
FEWEST = 2

# Sizes that are tried, unless others are given, and the least of them.
STEPS, LEAST = 8, 10


@dataclass(frozen=True, eq=False)
class Splits:
    """Rows to learn from, in an order whose every beginning has all classes, and rows held out; again and again."""

    codes: Codes
    repeats: int
    held_out: float
    generator: np.random.Generator

    def __iter__(self) -> Iterator[tuple[Codes, Codes]]:
        for _ in range(self.repeats):
            order = nested_order(self.codes, self.generator)
            yield order[: self.most], order[self.most :]

    @property
    def most(self) -> int:
        """How many rows there are to learn from."""
        return len(self.codes) - max(1, round(self.held_out * len(self.codes)))

    @property
    def least(self) -> int:
        """The smallest subset."""
        return FEWEST * len(np.unique(self.codes))

    def sizes(self) -> list[int]:
        """From few to all, evenly spaced on a logarithmic scale."""
        first = min(max(self.least, LEAST), self.most)
        return sorted({round(size) for size in np.geomspace(first, self.most, STEPS)})


def nested_order(codes: Codes, generator: np.random.Generator) -> Codes:
    """A random order whose beginnings hold two rows of each class, and then the classes in their shares; (n,).

    >>> order = nested_order(np.array([0] * 90 + [1] * 10), np.random.default_rng(0))
    >>> [int((order[:size] >= 90).sum()) for size in (4, 20, 50, 100)]
    [2, 2, 5, 10]
    """
    shuffled = generator.permutation(len(codes))
    keys = np.empty(len(codes))
    for k in np.unique(codes):
        own = shuffled[codes[shuffled] == k]
        keys[own] = (np.arange(len(own)) + generator.random()) / len(own)
        keys[own[:FEWEST]] = -1.0
    return shuffled[np.argsort(keys[shuffled], kind="stable")]


def read_sizes(sizes: Sequence[int], splits: Splits) -> list[int]:
    wanted = sorted({int(size) for size in sizes})
    if not wanted or wanted[0] < splits.least or wanted[-1] > splits.most:
        raise ClasswiseError(
            f"sizes={list(sizes)!r}: subsets have from {splits.least} rows ({FEWEST} of each class) to {splits.most}, "
            f"which is what held_out={splits.held_out:g} leaves of {len(splits.codes)}."
        )
    return wanted
