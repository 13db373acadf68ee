"""How surprising measures of the rows are compared with those of samples, one by one and all together.

    p_value   2 min(share of samples at or above, share at or below), the rows counted as one more sample
    adjusted  the share of samples whose largest surprise, over all measures, is at least this one

A hundred measures hold five p-values below 0.05 by chance. The second number asks what chance alone would do at most
somewhere, so it is honest however many measures there are and however they depend on each other: if the rows are drawn
from the model, the chance that any adjusted value is 0.05 or less is no more than 0.05 (Westfall and Young 1993; step
by step, so that what is found does not hide the rest).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Array, Labels, ratio
from classwise.rows.schema import Schema

# Of a Gaussian, these quantiles are one standard deviation from the median.
BELOW, ABOVE = 0.1587, 0.8413


def tail_probabilities(observed: Array, samples: Array) -> Array:
    """The two-sided p-value of each measure; observed (t,), samples (draws, t) -> (t,).

    >>> tail_probabilities(np.array([5.0, 0.0]), np.array([[1.0, -1.0], [2.0, 1.0], [3.0, 0.5]]))
    array([0.5, 1. ])
    """
    count = len(samples) + 1
    above = (1 + (samples >= observed).sum(axis=0)) / count
    below = (1 + (samples <= observed).sum(axis=0)) / count
    return np.minimum(1.0, 2 * np.minimum(above, below))


def surprises(every: Array) -> Array:
    """The distance of each set from the median of all, in standard deviations of its side; (sets, t) -> (sets, t)."""
    low, middle, high = np.quantile(every, [BELOW, 0.5, ABOVE], axis=0)
    spread = every.std(axis=0)
    sides = (np.where(side > 0, side, spread) for side in (middle - low, high - middle))
    below, above = (ratio(np.abs(every - middle), np.broadcast_to(side, every.shape)) for side in sides)
    return np.where(every < middle, below, above)


def adjusted_probabilities(sizes: Array) -> Array:
    """Adjusted p-values of the first set; sizes (sets, t): the surprise of each measure in each set -> (t,).

    >>> adjusted_probabilities(np.array([[9.0, 0.5], [1.0, 0.4], [0.3, 2.0], [0.2, 0.1]]))
    array([0.25, 0.5 ])
    """
    order = np.argsort(-sizes[0], kind="stable")
    ranked = sizes[:, order]
    # The largest surprise of a set among this measure and all that surprise less.
    largest = np.maximum.accumulate(ranked[:, ::-1], axis=1)[:, ::-1]
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate((largest >= ranked[0]).mean(axis=0))
    return adjusted


# ----------------------------------------------------------------------------------------------------------------------
# What is measured of the rows of a class, and of as many rows of a sample.
#
#     a number     mean, deviation, skewness E(x - m)³ / s³, kurtosis E(x - m)⁴ / s⁴, smallest, largest
#     a count      rate, dispersion (variance / mean: 1 for a Poisson), share of zeros, largest
#     a category   the share of each level
#     two numbers      their correlation
#     two categories   Cramér's V, sqrt(chi² / (n (min(levels) - 1)))
#     one of each      the correlation ratio, sqrt(variance between levels / variance)
#
# Rows come as (b, m, p): b sets of rows with the same gaps, NaN where a value is missing, levels as their positions.

# Fewer values than this in a class have no shape to speak of.
FEWEST = 5


class Measured(NamedTuple):
    """What was measured: the positions of one or two columns, the measure's name, for a share the level's position."""

    columns: tuple[int, ...]
    measure: str
    level: int | None = None


@dataclass(frozen=True, eq=False)
class Ruler:
    """Measures rows of one class.

    columns: those that the model looks at; levels: of categories, by position; unseen: categories in which the rows
    have levels that the model has never seen; pairs: whether to measure two columns together.
    """

    schema: Schema
    columns: list[int]
    levels: dict[int, Labels]
    unseen: frozenset[int]
    pairs: bool

    def __call__(self, rows: Array) -> dict[Measured, Array]:
        """All measures of b sets of rows of a class; (b, m, p) -> (b,) each."""
        there = [j for j in self.columns if np.isfinite(rows[0, :, j]).sum() >= FEWEST]
        values = {j: self._values(rows, j) for j in there}
        measured = dict(pair for j in there for pair in self._of_one(j, values[j]))
        if self.pairs:
            measured.update(pair for i, j in combinations(there, 2) for pair in self._of_two(i, j, values))
        return measured

    def _values(self, rows: Array, j: int) -> Array:
        """A column as it is measured: a log-normal one by its logarithm; (b, m)."""
        return np.log(rows[:, :, j]) if self.schema.columns[j].family.name == "lognormal" else rows[:, :, j]

    def _of_one(self, j: int, values: Array) -> Iterator[tuple[Measured, Array]]:
        kept = values[:, np.isfinite(values[0])]
        if j in self.levels:
            for level in self._listed_levels(j):
                yield Measured((j,), "share", level), (kept == level).mean(axis=1)
            return
        measures = COUNT_MEASURES if self.schema.columns[j].family.kind == "count" else NUMBER_MEASURES
        for name, measure in measures.items():
            yield Measured((j,), name), measure(kept)

    def _listed_levels(self, j: int) -> list[int]:
        """The levels to measure: of two, the second says all. One past the last stands for levels never seen."""
        count = len(self.levels[j])
        known = [1] if count == 2 else list(range(count))
        return known + ([count] if j in self.unseen else [])

    def _of_two(self, i: int, j: int, values: dict[int, Array]) -> Iterator[tuple[Measured, Array]]:
        both = np.isfinite(values[i][0]) & np.isfinite(values[j][0])
        if both.sum() < FEWEST:
            return
        first, second = values[i][:, both], values[j][:, both]
        if i in self.levels and j in self.levels:
            yield Measured((i, j), "Cramér's V"), cramers_v(first, second)
        elif i in self.levels or j in self.levels:
            levels, numbers = (first, second) if i in self.levels else (second, first)
            yield Measured((i, j), "correlation ratio"), correlation_ratio(levels, numbers)
        else:
            yield Measured((i, j), "correlation"), correlation(first, second)


def _centered(values: Array) -> Array:
    return values - values.mean(axis=1, keepdims=True)


def _standardized_moment(values: Array, power: int) -> Array:
    away = _centered(values)
    spread = (away**2).mean(axis=1)
    return ratio((away**power).mean(axis=1), spread ** (power / 2))


def _dispersion(values: Array) -> Array:
    """Variance over mean; 0 where there is nothing but zeros."""
    return ratio(values.var(axis=1), values.mean(axis=1))


def correlation(first: Array, second: Array) -> Array:
    """The correlation of two columns in each of b sets of rows; 0 if one is constant; (b, m), (b, m) -> (b,)."""
    x, y = _centered(first), _centered(second)
    return ratio((x * y).sum(axis=1), np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1)))


def correlation_ratio(levels: Array, numbers: Array) -> Array:
    """The square root of the share of variance that lies between levels; (b, m), (b, m) -> (b,)."""
    away, between = _centered(numbers), np.zeros(len(levels))
    for level in np.unique(levels):
        own = levels == level
        count = own.sum(axis=1)
        between += ratio((away * own).sum(axis=1) ** 2, count.astype(np.float64))
    return np.sqrt(ratio(between, (away**2).sum(axis=1)))


def cramers_v(first: Array, second: Array) -> Array:
    """sqrt(chi² / (n (min(levels) - 1))) of the table of two columns of levels; (b, m), (b, m) -> (b,)."""
    rows, columns = np.unique(first), np.unique(second)
    table = np.stack([[((first == a) & (second == b)).sum(axis=1) for b in columns] for a in rows]).astype(np.float64)
    total = float(first.shape[1])
    margins = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / total
    chi_square = ratio((table - margins) ** 2, margins).sum(axis=(0, 1))
    shown = np.minimum((table.sum(axis=1) > 0).sum(axis=0), (table.sum(axis=0) > 0).sum(axis=0))
    return np.sqrt(ratio(chi_square, total * (shown - 1.0)))


NUMBER_MEASURES: dict[str, Callable[[Array], Any]] = {
    "mean": lambda values: values.mean(axis=1),
    "deviation": lambda values: values.std(axis=1),
    "skewness": lambda values: _standardized_moment(values, 3),
    "kurtosis": lambda values: _standardized_moment(values, 4),
    "smallest": lambda values: values.min(axis=1),
    "largest": lambda values: values.max(axis=1),
}

COUNT_MEASURES: dict[str, Callable[[Array], Any]] = {
    "rate": lambda values: values.mean(axis=1),
    "dispersion": _dispersion,
    "share of zeros": lambda values: (values == 0).mean(axis=1),
    "largest": lambda values: values.max(axis=1),
}

# Scales on which samples scatter evenly, so that one measure does not drown the others.
EVEN_SCALES: dict[str, Callable[[Array], Array]] = {
    "kurtosis": lambda values: np.log(np.maximum(values, 1.0)),
    "dispersion": np.sqrt,
    "correlation": lambda values: np.arctanh(np.clip(values, -1 + 1e-12, 1 - 1e-12)),
}
