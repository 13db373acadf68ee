"""Samples of a model that could have been the rows: the same classes, the same gaps, other values."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes
from classwise.classifier import BayesClassifier
from classwise.densities import Product
from classwise.marginal import flat_blocks
from classwise.schema import Schema

# Samples are drawn in batches of this many numbers.
BATCH = 1 << 20


@dataclass(frozen=True, eq=False)
class Replicates:
    """codes (n,): the class of each row; gaps (n, p): which values are missing.

    A row is drawn from p(x | k) of its own class, as `sample` draws it; with estimate="bayes" that is the predictive
    density, row by row. Given that a value is there: whether one is missing is taken over from the rows.
    """

    classifier: BayesClassifier
    schema: Schema
    codes: Codes
    gaps: NDArray[np.bool_]

    def batches(self, draws: int, generator: np.random.Generator) -> Iterator[Array]:
        """So many samples in all; (b, n, p) each."""
        size = max(1, BATCH // max(self.gaps.size, 1))
        for start in range(0, draws, size):
            yield self.draw(min(size, draws - start), generator)

    def steps(self, draws: int) -> int:
        """How many batches that is."""
        return -(-draws // max(1, BATCH // max(self.gaps.size, 1)))

    def draw(self, count: int, generator: np.random.Generator) -> Array:
        """(count, n, p), NaN where the rows have gaps."""
        density = Product(tuple(flat_blocks(self.classifier.density)))
        rows = density.sample(np.tile(self.codes, count), generator).reshape(count, *self.gaps.shape)
        rounded = [j for j, c in enumerate(self.schema) if c.family.name == "gaussian" and "Int" in c.type]
        rows[:, :, rounded] = np.round(rows[:, :, rounded])  # as `sample` gives them, where a column is of integers
        rows[:, self.gaps] = np.nan
        return rows
