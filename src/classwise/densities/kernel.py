"""Kernel densities: independent columns, each a mean of Gaussians around the values of a class.

    p(x | k) = 1/(n_k h_k) sum over bins b of n_kb φ((x - c_b) / h_k)

The values were counted in bins (`statistics.bins`), and count as if each were at the middle c of its bin. With bins of
width δ this changes the density by at most 0.12 δ / h² (φ is nowhere steeper), and by about its curvature times δ²/24.

The bandwidth h is the one under which each value is most probable given the others (leave-one-out likelihood), between
the width of a bin and four times Silverman's rule, 0.9 min(s, IQR / 1.34) n^-1/5.

At a limit of the column the density is reflected: what would lie outside lies as far inside (Silverman 1986, 2.10).

Far from all values, log p is the sum above. Near them it is read from a table of it, with steps of h/8 and exact
slopes: a cubic in between is off by less than 0.001, and by about 0.00001 where values are dense.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product as pairs_of
from math import log, pi, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from classwise.arrays import Array, Codes, slices
from classwise.densities.density import Density
from classwise.engines import in_threads
from classwise.errors import UnscorableError
from classwise.rows.schema import Family
from classwise.statistics.bins import MOST_BINS, Histogram, Histograms
from classwise.storage import stored

# Bandwidths are looked for from Silverman's rule over this to this many times the rule, first at this many of them.
FINER, COARSER, TRIED = 32.0, 4.0, 10

# The table: steps in a bandwidth, and how many bandwidths it reaches beyond values.
STEPS, REACH = 8, 5

# Values are compared with centers in blocks of this many pairs.
PAIRS = 1 << 19


@stored("KernelColumn")
@dataclass(frozen=True, eq=False)
class KernelColumn:
    """One column: centers (b,), the share of each in each class (g, b), and the bandwidth of each class (g,).

    low, high: the limits at which the density is reflected; None where there is none.
    """

    centers: Array
    share: Array
    bandwidth: Array
    low: float | None = None
    high: float | None = None

    def _is_sound(self) -> bool:
        shaped = self.share.shape == (len(self.bandwidth), len(self.centers)) and 0 < len(self.centers) <= MOST_BINS
        whole = bool((self.share >= 0).all() and (np.abs(self.share.sum(axis=1) - 1) < 1e-9).all())
        return shaped and whole and bool((self.bandwidth > 0).all() and (np.diff(self.centers) > 0).all())

    def log_density(self, values: Array) -> Array:
        """log p(x | k) of each value; NaN where it is missing; (m,) -> (g, m)."""
        low, high = -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high
        if (values < low).any() or (values > high).any():
            raise UnscorableError("Some values are outside the limits of a kernel density.")
        return np.stack([curve.log_density(values) for curve in self.curves])

    @cached_property
    def curves(self) -> list["Curve"]:
        """The density of each class."""
        pairs = zip(self.share, self.bandwidth.tolist(), strict=True)
        return [Curve.of(self.centers, share, h, self.low, self.high) for share, h in pairs]

    def draw(self, codes: Codes, generator: np.random.Generator) -> Array:
        """A value for each code; what falls outside a limit is reflected."""
        cumulative = self.share.cumsum(axis=1)
        lots = generator.random(len(codes))[:, None] * cumulative[codes, -1:]
        chosen = (lots >= cumulative[codes, :-1]).sum(axis=1)
        values = self.centers[chosen] + self.bandwidth[codes] * generator.standard_normal(len(codes))
        values = values if self.low is None else self.low + np.abs(values - self.low)
        values = values if self.high is None else self.high - np.abs(self.high - values)
        return values if self.low is None else np.maximum(values, self.low)


@dataclass(frozen=True, eq=False)
class Curve:
    """The density of one class: centers (b,), reflections among them, the logs of their shares (b,), a bandwidth."""

    centers: Array
    log_share: Array
    bandwidth: float

    @classmethod
    def of(cls, centers: Array, share: Array, bandwidth: float, low: float | None, high: float | None) -> Self:
        held = share > 0
        centers, logs = centers[held], np.log(share[held])
        images = np.concatenate([centers, *(2 * end - centers for end in (low, high) if end is not None)])
        return cls(images, np.tile(logs, len(images) // len(centers)), bandwidth)

    def exact(self, values: Array) -> tuple[Array, Array]:
        """log p(x) and its derivative, by summing over all centers; (m,) -> (m,), (m,)."""
        logs, slopes = np.empty(len(values)), np.empty(len(values))
        for part in slices(len(values), max(PAIRS // len(self.centers), 1)):
            away = (self.centers - values[part, None]) / self.bandwidth
            terms = self.log_share - 0.5 * away * away
            peak = terms.max(axis=1, keepdims=True)
            weights = np.exp(terms - peak)
            total = weights.sum(axis=1)
            logs[part] = peak[:, 0] + np.log(total)
            slopes[part] = (weights * away).sum(axis=1) / (total * self.bandwidth)
        return logs - log(self.bandwidth * sqrt(2 * pi)), slopes

    @cached_property
    def table(self) -> tuple[Array, Array, Array]:
        """Places near the centers, increasing, with log p and its slope there; (t,) each."""
        steps = np.round(self.centers / self._step).astype(np.int64)
        near = np.unique(np.unique(steps)[:, None] + np.arange(-STEPS * REACH, STEPS * REACH + 1))
        places = near * self._step
        return places, *self.exact(places)

    @property
    def _step(self) -> float:
        return self.bandwidth / STEPS

    def log_density(self, values: Array) -> Array:
        """log p(x) of each value; (m,) -> (m,)."""
        places, logs, slopes = self.table
        above = np.clip(np.searchsorted(places, values), 1, len(places) - 1)
        before = above - 1
        t = (values - places[before]) / self._step
        # Hermite's cubic between two places, with the slopes at both.
        found = (1 + 2 * t) * (1 - t) ** 2 * logs[before] + t * t * (3 - 2 * t) * logs[above]
        found += self._step * t * (1 - t) * ((1 - t) * slopes[before] - t * slopes[above])
        # Between places that are no neighbors, and beyond the last.
        far = np.flatnonzero((places[above] - places[before] > 1.5 * self._step) | (t < 0) | (t > 1))
        if len(far):
            found[far] = self.exact(values[far])[0]
        return found


@stored("Kernel")
@dataclass(frozen=True, eq=False)
class Kernel(Density):
    """Independent columns of numbers, each with a kernel density."""

    columns: tuple[KernelColumn, ...]

    def _is_sound(self) -> bool:
        return len({len(column.bandwidth) for column in self.columns}) == 1

    @classmethod
    def estimate(cls, bins: Histograms, families: Sequence[Family], rows_per_weight: float = 1.0) -> Self:
        """From bins; a class without a value takes the values of all rows. rows_per_weight: 1 where weights count."""
        held = [_with_overall_weight(column) for column in bins.columns]
        tasks = list(pairs_of(range(len(held)), range(len(held[0].weight))))

        def chosen(task: tuple[int, int]) -> float:
            column, k = task
            family = families[column]
            return choose_bandwidth(held[column], k, rows_per_weight, family.low, family.high)

        bandwidth = np.array(in_threads(chosen, tasks)).reshape(len(held), -1)
        pairs = zip(held, bandwidth, families, strict=True)
        return cls(tuple(KernelColumn(own.centers, _shares(own), h, of.low, of.high) for own, h, of in pairs))

    @property
    def count(self) -> int:
        return len(self.columns[0].bandwidth)

    @property
    def n_features(self) -> int:
        return len(self.columns)

    @property
    def width(self) -> int:
        return self.n_features + 8 * self.count

    @property
    def free_parameters(self) -> int:
        return sum(int((column.share > 0).sum()) for column in self.columns)

    def relative(self, rows: Array, offset: Array) -> Array:
        scores = np.repeat(offset, len(rows), axis=1)
        for column, values in zip(self.columns, np.asarray(rows, dtype=np.float64).T, strict=True):
            scores += column.log_density(values)
        return scores

    def common(self, rows: Array) -> float:
        return 0.0

    def observed(self, rows: Array, offset: Array) -> Array:
        scores = np.repeat(offset, len(rows), axis=1)
        for column, values in zip(self.columns, rows.T, strict=True):
            scores += np.where(np.isnan(values), 0.0, column.log_density(values))
        return scores

    def shares(self, row: Array, first: int, second: int) -> Array:
        found = np.array(
            [column.log_density(value[None])[:, 0] for column, value in zip(self.columns, row, strict=True)]
        )
        return np.where(np.isnan(row), 0.0, found[:, first] - found[:, second])

    def parameters(self) -> list[dict[Any, Array]]:
        return [{"bandwidth": column.bandwidth} for column in self.columns]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return np.column_stack([column.draw(codes, generator) for column in self.columns])


def _with_overall_weight(column: Histogram) -> Histogram:
    empty = np.logical_not(np.any(column.weight, axis=1))
    return column.with_weight(np.where(empty[:, None], column.weight.sum(axis=0), column.weight))


def _shares(column: Histogram) -> Array:
    return column.weight / column.weight.sum(axis=1, keepdims=True)


# ----------------------------------------------------------------------------------------------------------------------
# The bandwidth.


def choose_bandwidth(
    column: Histogram, k: int, rows_per_weight: float = 1.0, low: float | None = None, high: float | None = None
) -> float:
    """The bandwidth of class k: by leave-one-out likelihood, or by Silverman's rule where nothing is left to leave out.

    A weight of two is the row twice.
    """
    held = column.weight[k] > 0
    centers, weight = column.centers[held], column.weight[k, held] * rows_per_weight
    rule, finest = silverman(column, k, rows_per_weight), _finest(column)
    if len(centers) < 2 or weight.sum() <= 2:
        return max(rule, finest)
    apart = _distances(centers, low, high)
    lowest, highest = log(max(rule / FINER, finest)), log(max(rule * COARSER, 2 * finest))
    ladder = np.linspace(lowest, highest, TRIED)
    scores = [leave_one_out(apart, weight, h) for h in np.exp(ladder).tolist()]
    best = int(np.argmax(scores))
    near = ladder[max(best - 1, 0)], ladder[min(best + 1, TRIED - 1)]
    found = minimize_scalar(
        lambda h: -leave_one_out(apart, weight, float(np.exp(h))),
        bounds=near,
        method="bounded",
        options={"xatol": 0.02},
    )
    return float(np.exp(found.x if -found.fun > scores[best] else ladder[best]))


def leave_one_out(apart: Sequence[NDArray[np.float64]], weight: Array, bandwidth: float) -> float:
    """The log likelihood of all values, each under the density of the others; apart: squared distances of the centers
    (b, b), and of centers and reflections; weight (b,): of which one row is left out.
    """
    left_out = np.minimum(weight, 1.0)
    total = np.zeros(len(weight))
    for squares in apart:
        heights = np.exp(squares * (-0.5 / bandwidth**2))
        own = heights.diagonal().copy()
        np.fill_diagonal(heights, 0.0)  # rather than take one row from a sum that may be little more than that row
        total += heights @ weight + own * (weight - left_out)
    density = total / ((weight.sum() - left_out) * bandwidth * sqrt(2 * pi))
    return float(weight @ np.log(np.maximum(density, np.finfo(np.float64).tiny)))


def _distances(centers: Array, low: float | None, high: float | None) -> list[Array]:
    images = [centers, *(2 * end - centers for end in (low, high) if end is not None)]
    return [(centers[:, None] - image) ** 2 for image in images]


def silverman(column: Histogram, k: int, rows_per_weight: float = 1.0) -> float:
    """0.9 min(s, IQR / 1.34) n^-1/5 of class k; of all rows where the class does not vary."""
    for weight in (column.weight[k], column.weight.sum(axis=0)):
        spread = _spread(column.centers, weight)
        if spread > 0:
            return 0.9 * spread * float(max(column.weight[k].sum() * rows_per_weight, 1.0)) ** -0.2
    return 1.0  # a column that never varies says nothing, whatever its bandwidth


def _spread(centers: Array, weight: Array) -> float:
    mean = weight @ centers / weight.sum()
    deviation = float(np.sqrt(weight @ (centers - mean) ** 2 / weight.sum()))
    cumulative = np.cumsum(weight) / weight.sum()
    quarter, three = centers[np.searchsorted(cumulative, [0.25, 0.75])]
    return min(deviation, (three - quarter) / 1.34) if three > quarter else deviation


def _finest(column: Histogram) -> float:
    """No finer than a bin; nor than values on a grid, where a density of one step makes a probability of one."""
    gaps = np.diff(column.centers)
    return max(column.width, float(gaps.min()) / sqrt(2 * pi) if len(gaps) else 0.0)
