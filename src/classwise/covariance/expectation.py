"""The expectation of EM: what rows with gaps come to, seen from given means and covariances.

For a group of n rows with values in columns o and none in u, mean x and scatter S, and a class with mean m, covariance
C and precision K = C^-1:

    V = K_uu^-1;   B = -V K_uo
    expected mean = m_u + B (x - m_o);   expected scatter = B S B' + n V

K is of a class, and only its small blocks K_uu are inverted group by group. The likelihood needs no other inverse. With
T the expected scatter of all rows about m:

    log|C_oo| = log|C| + log|K_uu|;   sum of (x - m_o)' C_oo^-1 (x - m_o) = tr K T - sum of n |u|
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, pi

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, marked_places
from classwise.statistics import DiagonalScatter, FullScatter, Gaps, Moments, PooledScatter
from classwise.statistics.scatter import Groups

# This many multiplications for blocks of one size are less work than to sort groups by size.
SMALL = 200_000


@dataclass(frozen=True, eq=False)
class GaussianParameters:
    """Means (g, p), and covariances (g, p, p), or (1, p, p) where all classes share one."""

    means: Array
    covariances: Array


@dataclass(frozen=True, eq=False)
class Band:
    """Groups that lack about as many values.

    groups (q,): their places among all; codes (q,): their classes; weight (q,): of their rows. missing (q, u): the
    columns without a value, filled up with p; inside: the same, with p - 1 for p. several (s,): which have rows that
    differ.
    """

    groups: Codes
    codes: Codes
    weight: Array
    missing: Codes
    inside: Codes
    several: Codes

    @cached_property
    def is_real(self) -> NDArray[np.bool_]:
        """Which places stand for a column; (q, u)."""
        return self.missing == self.inside

    def place(self, scatter: Array, within: Array, across: Array) -> None:
        """Add that of what is missing (q, u, u), and that with what is there, in groups whose rows differ (s, u, p).

        scatter: (g, p + 1, p + 1).
        """
        width = scatter.shape[1]
        scatter += np.bincount(self._blocks(width), within.ravel(), scatter.size).reshape(scatter.shape)
        if len(across):
            rows = self.codes[self.several, None] * width + self.missing[self.several]
            places = (rows[:, :, None] * (width - 1) + np.arange(width - 1)).ravel()
            wide = np.bincount(places, across.ravel(), len(scatter) * width * (width - 1)).reshape(-1, width, width - 1)
            scatter[:, :, :-1] += wide
            scatter[:, :-1, :] += wide.transpose(0, 2, 1)

    def _blocks(self, width: int) -> Codes:
        """Where the entry of a pair of missing columns belongs."""
        rows = self.codes[:, None] * width + self.missing
        return np.asarray(rows[:, :, None] * width + self.missing[:, None, :]).ravel()


class GapRows:
    """Rows with gaps, with all that stays the same while parameters change.

    present (g, p + 1, p + 1): the scatter within groups, of the values that are there; the last place is for nothing.
    """

    def __init__(self, gaps: Gaps, count: int) -> None:
        own, features = gaps.moments, gaps.present.shape[1]
        self.gaps = gaps
        self.classes = Groups(gaps.codes, count, own.weight[:, 0])
        self.absent = float(own.weight[:, 0] @ (~gaps.present).sum(axis=1))
        inner = Groups(gaps.codes, count).sums(own.scatter.values.reshape(len(own.weight), -1))
        self.present = np.zeros((count, features + 1, features + 1))
        self.present[:, :-1, :-1] = inner.reshape(count, features, features)
        self.bands = tuple(self._bands())

    def _bands(self) -> Iterator[Band]:
        """A block as large as the largest for every group would be much work where most lack little."""
        gaps, features = self.gaps, self.gaps.present.shape[1]
        lacking = (~gaps.present).sum(axis=1)
        few = len(gaps) * int(lacking.max(initial=0)) ** 3 <= SMALL
        sizes = np.zeros(len(gaps)) if few else np.ceil(np.log2(np.maximum(lacking, 1)))
        differs = np.diagonal(gaps.moments.scatter.values, axis1=1, axis2=2).max(axis=1, initial=0.0) > 0
        for size in np.unique(sizes):
            groups = np.flatnonzero(sizes == size)
            missing = marked_places(~gaps.present[groups])
            inside = np.minimum(missing, features - 1)
            weight, several = gaps.moments.weight[groups, 0], np.flatnonzero(differs[groups])
            yield Band(groups, gaps.codes[groups], weight, missing, inside, several)

    def filled(self, mean: Array, rest: Array, missing: Array) -> Moments:
        """The moments of each class, with gaps filled: means (q, p), and the scatter of what is missing, (g, p, p)."""
        codes, weight = self.gaps.codes, self.gaps.moments.weight
        one_by_one = Moments(weight, mean, rest, DiagonalScatter(np.zeros_like(mean)))
        merged = one_by_one.merged(codes, self.classes.count)
        away = (mean - merged.mean[codes]) + (rest - merged.rest[codes])
        FullScatter.accumulate(missing, away, self.classes)
        return replace(merged, scatter=FullScatter(missing))


class Expectation:
    """Complete rows and rows with gaps, seen from given parameters."""

    def __init__(self, parameters: GaussianParameters, complete: Moments, rows: GapRows) -> None:
        self.parameters, self.complete, self.rows = parameters, complete, rows
        # In units of the standard deviations; a column that does not vary has none, and depends on nothing.
        variances = np.diagonal(parameters.covariances, axis1=1, axis2=2)
        self.varies = variances > 0
        self.scale = np.sqrt(np.where(self.varies, variances, 1.0))
        self.precision, self.log_det = self._inverted()
        self.parts = [Conditional(self, band) for band in rows.bands]

    def _inverted(self) -> tuple[Array, Array]:
        """C^-1 in units of the deviations (k, p, p), with zeros where nothing varies; and log|C| (k,)."""
        both = self.varies[:, :, None] & self.varies[:, None, :]
        correlation = np.where(both, self.parameters.covariances / _outer(self.scale), np.eye(self.scale.shape[1]))
        log_det = np.linalg.slogdet(correlation)[1] + 2 * np.log(self.scale).sum(axis=1)
        return np.where(both, np.linalg.inv(correlation), 0.0), log_det

    def moments(self) -> Moments:
        """The moments of all rows, as expected."""
        return self._moments

    @cached_property
    def _moments(self) -> Moments:
        own, scatter = self.rows.gaps.moments, self.rows.present.copy()
        mean, rest = np.zeros((2, len(own.mean), own.mean.shape[1] + 1))
        mean[:, :-1], rest[:, :-1] = own.mean, own.rest
        for part in self.parts:
            places = part.band.groups[:, None], part.band.missing
            mean[places], rest[places] = part.expected(own.mean, own.rest), 0.0
            part.band.place(scatter, *part.scatter(own.scatter.values))
        filled = self.rows.filled(mean[:, :-1], rest[:, :-1], scatter[:, :-1, :-1])
        return _added(self.complete, filled)

    def log_likelihood(self) -> float:
        """Of the values that are there."""
        total, features = self._moments, self.scale.shape[1]
        weight, count = total.weight[:, 0], len(total.weight)
        constants = (features * weight.sum() - self.rows.absent) * log(2 * pi)
        determinants = weight @ np.broadcast_to(self.log_det, count) + sum(part.log_det() for part in self.parts)
        between = FullScatter.between(total.weight, (total.mean - self.parameters.means) + total.rest)
        if len(self.precision) == 1:
            squares = (total.scatter.pooled() + between.pooled())[None]
        else:
            squares = total.scatter.by_class() + between.values
        whole = float(np.einsum("kij,kji->", self.precision, squares / _outer(self.scale)))
        unknown = sum(float(part.band.weight @ part.unknown.sum(axis=1)) for part in self.parts)
        return -0.5 * float(constants + determinants + whole - unknown)


class Conditional:
    """What is missing in the groups of a band, given what is there; in units of the deviations.

    unknown (q, u): which missing places are columns that vary; blocks (q, u, u): K_uu, filled up with the identity;
    variance (q, u, u): V, filled up with zeros.
    """

    def __init__(self, whole: Expectation, band: Band) -> None:
        self.whole, self.band = whole, band
        self.which = np.minimum(band.codes, len(whole.precision) - 1)
        places = self.which[:, None], band.inside
        self.unknown = band.is_real & whole.varies[places]
        self.scale = np.where(band.is_real, whole.scale[places], 1.0)
        self.rows = whole.precision[places]
        both = self.unknown[:, :, None] & self.unknown[:, None, :]
        blocks = np.take_along_axis(self.rows, band.inside[:, None, :], axis=2)
        self.blocks = np.where(both, blocks, np.eye(blocks.shape[1]))
        self.variance = np.where(both, np.linalg.inv(self.blocks), 0.0)

    def log_det(self) -> float:
        """The sum of n log|K_uu| over the groups."""
        logs = np.linalg.slogdet(self.blocks)[1] - 2 * np.log(self.scale).sum(axis=1)
        return float(self.band.weight @ logs)

    def expected(self, mean: Array, rest: Array) -> Array:
        """The means of what is missing, given those (q, p) of what is there; (q, u)."""
        groups, codes, whole = self.band.groups, self.band.codes, self.whole
        away = (mean[groups] - whole.parameters.means[codes]) + rest[groups]
        away = np.where(whole.rows.gaps.present[groups], away, 0.0) / whole.scale[self.which]
        pull = (self.variance @ (self.rows @ away[:, :, None]))[:, :, 0]
        return np.asarray(whole.parameters.means[codes[:, None], self.band.inside] - self.scale * pull)

    def scatter(self, values: Array) -> tuple[Array, Array]:
        """That of what is missing (q, u, u), and with what is there (s, u, p), given that (q, p, p) of the latter."""
        several = self.band.several
        within = self.band.weight[:, None, None] * self.variance * _outer(self.scale)
        chosen = self.band.groups[several]
        present = self.whole.rows.gaps.present[chosen][:, None, :] / self.whole.scale[self.which[several]][:, None, :]
        regression = -self.scale[several][:, :, None] * (self.variance[several] @ (self.rows[several] * present))
        across = regression @ values[chosen]
        within[several] += across @ regression.transpose(0, 2, 1)
        return within, across


def _added(complete: Moments, filled: Moments) -> Moments:
    form = type(complete.scatter)
    if form is PooledScatter:
        filled = replace(filled, scatter=form(filled.scatter.pooled()))
    return complete + filled


def _outer(vectors: Array) -> Array:
    return np.asarray(vectors[:, :, None] * vectors[:, None, :])
