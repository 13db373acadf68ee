"""Rows arranged for many passes: sorted by class and by what they lack, less a center of their class.

With r = x - center, the sum of w r r' over the complete rows of a class is what it is, whichever components they belong
to: it is gathered once, and a pass has only sums of r to gather. So it is with rows that lack some columns, in those
that they have.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log, pi
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import BLOCK_SIZE, Array, Codes, marked_places, patterns, product, slices
from classwise.covariance import FullCovariance

# Complete rows of a class are gone through in blocks of this many numbers, which threads share.
PIECE = 8 * BLOCK_SIZE

# Rows with gaps are gone through in batches that hold no more numbers, with matrices of this many.
BATCH = 4 * BLOCK_SIZE


@dataclass(frozen=True, eq=False)
class Complete:
    """Rows of class k that lack nothing: rows (m, p), less the center; weights (m,)."""

    k: int
    rows: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Gappy:
    """Rows of class k in b patterns of what they lack: gaps (b, u), p for nothing. Rows of a pattern stand together.

    rows (m, p + 1): less the center, 0 where a value is missing, and at the end; weights (m,); group (m,): the pattern
    of each row; roots (s, p + 1), of patterns root_group (s,): vectors whose squares z z' add up to the sum of w r r'.
    """

    k: int
    rows: Array
    weights: Array
    gaps: Codes
    group: Codes
    roots: Array
    root_group: Codes

    @cached_property
    def present(self) -> Array:
        """1 where a pattern has values, else 0; (b, 1, p + 1)."""
        present = np.ones((len(self.gaps), 1, self.rows.shape[1]))
        np.put_along_axis(present, self.gaps[:, None, :], 0.0, axis=2)
        return present

    @cached_property
    def starts(self) -> Codes:
        """The first row of each pattern; (b,)."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    @cached_property
    def weight(self) -> Array:
        """Of each pattern; (b,)."""
        return np.asarray(np.add.reduceat(self.weights, self.starts))


@dataclass(frozen=True, eq=False)
class Arranged:
    """All rows. centers (g, p); products (kinds, p, p): the sum of w r r' over complete rows, of each class, or of all;
    parts: the rows, in the order of their classes.
    """

    centers: Array
    products: Array
    parts: tuple[Complete | Gappy, ...]

    @classmethod
    def of(cls, rows: Array, codes: Codes, weights: Array, centers: Array, kinds: int) -> Self:
        """rows (n, p), NaN where a value is missing; codes (n,): classes; kinds: 1, or g for products by class.

        Rows without a single value are left out.
        """
        features = centers.shape[1]
        missing: NDArray[np.bool_] = np.asarray(np.isnan(rows).any(axis=1))
        products = np.zeros((kinds, features, features))
        parts: list[Complete | Gappy] = []
        for k, own in _by_class(codes):
            whole, some = own[~missing[own]], own[missing[own]]
            for part in slices(len(whole), max(PIECE // features, 1)):
                piece = Complete(k, rows[whole[part]] - centers[k], weights[whole[part]])
                scaled = np.sqrt(piece.weights)[:, None] * piece.rows
                products[k if kinds > 1 else 0] += product(scaled.T, scaled)
                parts.append(piece)
            parts += _batches(k, rows[some] - centers[k], weights[some])
        return cls(centers, products, tuple(parts))

    @property
    def kinds(self) -> int:
        return len(self.products)

    def kind(self, k: int) -> int:
        """Which covariance is class k's."""
        return k if self.kinds > 1 else 0

    def of_kind(self, owner: Codes, kind: int) -> Codes:
        """The components that have a covariance."""
        return np.flatnonzero(owner == kind) if self.kinds > 1 else np.arange(len(owner))

    def weight_of_kinds(self, weight: Array) -> Array:
        """The weight (g,) of the classes of each covariance; (kinds,)."""
        return weight if self.kinds > 1 else weight.sum(keepdims=True)

    @cached_property
    def weight(self) -> Array:
        """Of the rows of each class; (g,)."""
        return self._weight_in(Complete, Gappy)

    @cached_property
    def complete_weight(self) -> Array:
        """Of the complete rows of each class; (g,)."""
        return self._weight_in(Complete)

    def _weight_in(self, *kinds: type[Complete] | type[Gappy]) -> Array:
        total = np.zeros(len(self.centers))
        for part in self.parts:
            total[part.k] += part.weights.sum() if isinstance(part, kinds) else 0.0
        return total

    @cached_property
    def has_gaps(self) -> bool:
        return any(isinstance(part, Gappy) for part in self.parts)

    @cached_property
    def is_large(self) -> bool:
        """Whether threads pay."""
        return sum(part.rows.size for part in self.parts) > 2 * PIECE


def _by_class(codes: Codes) -> Iterator[tuple[int, Codes]]:
    """Each class that occurs, and the positions of its rows."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return ((int(codes[own[0]]), own) for own in np.split(order, starts[1:]))


def _batches(k: int, rows: Array, weights: Array) -> Iterator[Gappy]:
    """Rows with gaps (m, p), as many rows and patterns at a time as memory should hold."""
    if not len(rows):
        return
    features = rows.shape[1]
    distinct, group = patterns(np.isnan(rows))
    lacking = distinct.sum(axis=1)
    order = np.argsort(group, kind="stable")
    runs = np.split(order, np.searchsorted(group[order], np.arange(1, len(distinct))))
    # Patterns that lack about as many columns are gone through together.
    runs = sorted(runs, key=lambda run: int(lacking[group[run[0]]]))
    valued = [run for run in runs if lacking[group[run[0]]] < features]
    wide = np.column_stack([np.nan_to_num(rows), np.zeros(len(rows))])
    for batch in _batched(valued, max(PIECE // features, 1), max(BATCH // (features * int(lacking.max())), 1)):
        own, codes = np.concatenate(batch), np.repeat(np.arange(len(batch)), [len(run) for run in batch])
        gaps = marked_places(distinct[[group[run[0]] for run in batch]])
        roots = [_roots(wide[run], weights[run]) for run in batch]
        of_roots = np.repeat(np.arange(len(batch)), [len(some) for some in roots])
        yield Gappy(k, wide[own], weights[own], gaps, codes, np.vstack(roots), of_roots)


def _batched(runs: Iterable[Codes], most_rows: int, most_runs: int) -> Iterator[list[Codes]]:
    """Runs of rows in batches of at most most_rows rows and most_runs runs; a run that is too long is cut."""
    batch: list[Codes] = []
    for run in runs:
        for part in slices(len(run), most_rows):
            size = sum(map(len, batch))
            if batch and (size + len(run[part]) > most_rows or len(batch) == most_runs):
                yield batch
                batch = []
            batch.append(run[part])
    if batch:
        yield batch


def _roots(rows: Array, weights: Array) -> Array:
    """Vectors whose squares add up to the sum of w r r': the rows, or as many as there are columns."""
    scaled = np.sqrt(weights)[:, None] * rows
    return scaled if len(rows) <= rows.shape[1] else np.asarray(np.linalg.qr(scaled, mode="r"))


# ----------------------------------------------------------------------------------------------------------------------
# A covariance as rows need it that lack columns u, for many patterns u at once.
#
# With Q = C^-1 of all columns, inverses are of what is missing, which is mostly little. Of a vector v that is 0 in u:
#
#     t = (Q v)[u] Q[u, u]^-1;   C[o, o]^-1 v = (Q v - t Q[u, :])[o];   what is expected in u is -t
#
#     log|C[o, o]| = log|C| + log|Q[u, u]|;   what is left in u has covariance Q[u, u]^-1
#
# Patterns that lack fewer columns than others lack a column of nothing instead: one more, that is 0 in all vectors and
# independent of the others. So all vectors here have p + 1 numbers.


class GapMetrics(NamedTuple):
    """Of b patterns that lack `gaps` (b, u): precision (p + 1, p + 1): Q; rest (b, u, u): Q[u, u]^-1; volume (b,):
    1/2 log|2π C[o, o]|.
    """

    gaps: Codes
    precision: Array
    rest: Array
    volume: Array

    def of(self, group: Codes) -> "GapMetrics":
        """Those of some patterns, in any order and any number."""
        return GapMetrics(self.gaps[group], self.precision, self.rest[group], self.volume[group])

    def project(self, vectors: Array) -> "Projected":
        """Q v, that in u, and t; (b, c, p + 1) -> the same, (b, c, u) twice."""
        ahead = vectors @ self.precision
        inside = np.take_along_axis(ahead, self.gaps[:, None, :], axis=2)
        return Projected(ahead, inside, inside @ self.rest)

    def slopes(self, projected: "Projected") -> Array:
        """C[o, o]^-1 v, in the columns that are there; (b, c, p + 1)."""
        return projected.ahead - projected.lacking @ self.precision[self.gaps]

    def filled(self, vectors: Array, values: Array) -> Array:
        """Vectors (b, c, p + 1) with these values (b, c, u) where nothing is."""
        filled = vectors.copy()
        np.put_along_axis(filled, self.gaps[:, None, :], values, axis=2)
        return filled

    def completed(self, vectors: Array) -> Array:
        """With what is expected where nothing is; (b, c, p + 1) -> the same."""
        return self.filled(vectors, -self.project(vectors).lacking)


class Projected(NamedTuple):
    """Of vectors v: Q v (b, c, p + 1), what it has in u (b, c, u), and t (b, c, u)."""

    ahead: Array
    inside: Array
    lacking: Array


def metrics_of(covariance: FullCovariance, kind: int, gaps: Codes) -> GapMetrics:
    """Of one of several covariances; gaps (b, u): the columns that patterns lack, and p for the column of nothing."""
    features = covariance.values.shape[1]
    precision = np.eye(features + 1)
    precision[:features, :features] = product(covariance.whitening[kind], covariance.whitening[kind].T)
    inner = precision[gaps[:, :, None], gaps[:, None, :]]
    inner[_twice(gaps, features)] = 0.0
    # In units in which the diagonal is one: columns may be of any scale.
    scale = 1 / np.sqrt(np.diagonal(precision))[gaps]
    units = scale[:, :, None] * scale[:, None, :]
    inner *= units
    there = features - (gaps < features).sum(axis=1)
    determinant = 0.5 * np.linalg.slogdet(inner)[1] - np.log(scale).sum(axis=1)
    volume = covariance.half_log_det[kind] + determinant + 0.5 * log(2 * pi) * there
    return GapMetrics(gaps, precision, np.linalg.inv(inner) * units, volume)


def _twice(gaps: Codes, features: int) -> NDArray[np.bool_]:
    """Where the column of nothing meets itself, except for the diagonal; (b, u, u)."""
    spare = gaps == features
    return np.asarray(spare[:, :, None] & spare[:, None, :] & ~np.eye(gaps.shape[1], dtype=bool))


def inverse(covariance: FullCovariance) -> Array:
    """V V', where z = x V is white; (k, p, p)."""
    return np.stack([product(whitening, whitening.T) for whitening in covariance.whitening])
