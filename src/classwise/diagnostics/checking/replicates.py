"""Histograms of a class in a column: of the rows, and of every sample."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.marginal import flat_blocks
from classwise.densities import Product
from classwise.diagnostics.checking.report import Histogram
from classwise.rows.schema import Schema

# No more bins than this.
MOST_BINS = 30


@dataclass(frozen=True, eq=False)
class Bins:
    """edges (b + 1,), ascending; what lies beyond the last is counted in it. levels: names of bins of a category."""

    edges: Array
    levels: tuple[Any, ...] | None = None

    @classmethod
    def of_levels(cls, levels: Labels, unseen: bool) -> "Bins":
        """A bin for each level, and one for those never seen, if there are any."""
        names = (*levels.tolist(), *(["(never seen)"] if unseen else []))
        return cls(np.arange(len(names) + 1, dtype=np.float64) - 0.5, names)

    @classmethod
    def of_numbers(cls, values: Array, whole: bool) -> "Bins":
        """Around the values (m,); one for each whole number, where these are few."""
        low, high = values.min(), values.max()
        if whole and high - low < MOST_BINS:
            return cls(np.arange(low - 0.5, high + 1))
        edges = np.histogram_bin_edges(values, "auto")
        return cls(edges if len(edges) <= MOST_BINS + 1 else np.linspace(low, high, MOST_BINS + 1))

    def shares(self, values: Array) -> Array:
        """The share of each set in each bin; (b, m) -> (b, bins)."""
        count, bins = len(values), len(self.edges) - 1
        places = np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, bins - 1)
        places += bins * np.arange(count)[:, None]
        return np.bincount(places.ravel(), minlength=count * bins).reshape(count, bins) / values.shape[1]

    def histogram(self, observed: Array, samples: Array) -> Histogram:
        """observed (bins,), samples (draws, bins)."""
        low, middle, high = np.quantile(samples, [0.025, 0.5, 0.975], axis=0)
        edges = self.edges if self.levels is None else None
        return Histogram(edges, self.levels, observed, low, middle, high)


# ----------------------------------------------------------------------------------------------------------------------
# Samples of a model that could have been the rows: the same classes, the same gaps, other values.

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
