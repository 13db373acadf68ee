"""Histograms of a class in a column: of the rows, and of every sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.checking.report import Histogram

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
