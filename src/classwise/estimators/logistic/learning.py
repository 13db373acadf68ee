"""Learning weights from rows: passes over them, each of which gathers the curvature at some weights."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from classwise.arrays import Array, Codes
from classwise.engines import BLAS, Engine
from classwise.errors import ClasswiseError
from classwise.estimators.answers import required
from classwise.limits import CHUNK_SIZE, COPY_SIZE
from classwise.logistic import (
    Groups,
    Laplace,
    Model,
    Near,
    Point,
    approach_mode,
    best_values,
    first_values,
    log_evidence,
    most_probable,
    refine,
    refuse_flat,
    settled,
)
from classwise.rows.table import Table
from classwise.statistics import Curvature

# Newton's method starts from near the mode of a tenth of the rows, at least so many and so many for each weight, where
# there are several times as many.
ROWS_PER_WEIGHT = 100
FEWEST_ROWS = 20_000
START_STEPS = 12
LAST_STEP = 4.0

# The Hessian of more weights than this takes 3 GB and more.
MOST_WEIGHTS = 20_000


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fit finds: the posterior as a Gaussian, the precision of each group, the evidence, or a bound of it (None
    where some prior but the intercept's is flat), and how many times the rows were gone through.
    """

    posterior: Laplace
    values: Array
    log_evidence: float | None
    passes: int


class CurvatureRows(Protocol):
    """CurvatureRows wherever they are, to be gone through many times."""

    @property
    def model(self) -> Model: ...

    @property
    def weight(self) -> float:
        """Of all rows."""
        ...

    def curvature(self, weights: Array) -> Curvature:
        """Of all rows, at weights (r, q)."""
        ...

    def slope(self, weights: Array) -> Curvature:
        """The same without second derivatives."""
        ...

    def averaged(self, beliefs: Laplace) -> Curvature:
        """Of all rows, averaged over weights that have this Gaussian."""
        ...

    def fewer(self) -> Iterator["TableRows"]:
        """Some of the rows to go by, and then more of them, on the way to all; none where it is not worth it."""
        ...


@dataclass(frozen=True, eq=False)
class TableRows:
    """A table in memory whose labels are codes, to be gone through by an engine."""

    table: Table
    model: Model
    engine: Engine

    def curvature(self, weights: Array) -> Curvature:
        """Of all rows, at weights (r, q)."""

        def of(chunk: Table) -> Curvature:
            return self.model.curvature(weights, chunk.rows, required(chunk.labels), chunk.weights)

        return self.engine.gather(of, self.table, self._chunk_rows())

    def slope(self, weights: Array) -> Curvature:
        """The same without second derivatives."""

        def of(chunk: Table) -> Curvature:
            return self.model.slope(weights, chunk.rows, required(chunk.labels), chunk.weights)

        return self.engine.gather(of, self.table, self._chunk_rows())

    def averaged(self, beliefs: Laplace) -> Curvature:
        """Of all rows, averaged over weights that have this Gaussian."""

        def of(chunk: Table) -> Curvature:
            return self.model.averaged(beliefs, chunk.rows, required(chunk.labels), chunk.weights)

        return self.engine.gather(of, self.table, self._chunk_rows())

    def _chunk_rows(self) -> int:
        size = COPY_SIZE if self.table.is_copied else CHUNK_SIZE
        # The work is by columns of the design, of which categories have many, and there is much of it for each.
        return max(size // (4 * max(len(self.table.schema), self.model.design.room)), self.model.least_rows)

    def fewer(self) -> Iterator["TableRows"]:
        weights = self.model.shape[0] * self.model.shape[1]
        return (self.thinned(count) for count in levels_of_rows(len(self.table), weights))

    def thinned(self, count: int) -> "TableRows":
        """About so many of the rows, from all over the table."""
        return TableRows(self.table.take(spread_positions(len(self.table), count)), self.model, self.engine)

    @property
    def weight(self) -> float:
        """Of all rows."""
        return float(len(self.table) if self.table.weights is None else self.table.weights.sum())


def spread_positions(length: int, count: int) -> Codes:
    """One position in each of `count` equal parts; not the same one, lest rows come in turns.

    >>> spread_positions(10, 3).tolist()
    [2, 4, 9]
    """
    parts = np.arange(count)
    within = ((parts + 1) * 0.6180339887498949) % 1
    return np.minimum(((parts + within) * length / count).astype(np.intp), length - 1)


def learn(rows: CurvatureRows, groups: Groups, shares: Array, near: Near | None = None) -> Learned:
    """The posterior of the weights; shares (g,): of the classes. near: a place to start from, if it is known."""
    refuse_too_many(rows.model)
    # Products are of cache-sized blocks: several threads of BLAS would spend their time waiting for each other.
    with BLAS.held():
        return _learn(rows, groups, shares, near if near is not None and _fits(near, rows, groups) else None)


def _fits(near: Near, rows: CurvatureRows, groups: Groups) -> bool:
    """Whether these are weights and precisions of the same columns."""
    known = near.values is not None and near.values.shape == groups.given.shape
    return known and near.weights.shape == rows.model.shape


def _learn(rows: CurvatureRows, groups: Groups, shares: Array, near: Near | None) -> Learned:
    near = _start(rows, groups, shares) if near is None else near
    mode, values = most_probable(rows.curvature, _point(rows, near.weights), groups, near.values)
    precision = groups.precision(values, len(near.weights))
    hessian = mode.point.hessian(precision)
    proper = bool((groups.given != 0).all())
    if not proper:
        zero = _point(rows, rows.model.null(shares))
        refuse_flat(hessian, zero.hessian(precision))
    evidence = log_evidence(mode.point, precision) if proper else None
    return Learned(Laplace.of(settled(mode.point, precision).weights, hessian), values, evidence, mode.passes + 1)


def _point(rows: CurvatureRows, weights: Array) -> Point:
    return Point(rows.model.likelihood, weights, rows.curvature(weights))


def _start(rows: CurvatureRows, groups: Groups, shares: Array) -> Near:
    """The class shares alone, or where rows are many a place near the mode, found by way of fewer of them."""
    near, point = Near(rows.model.null(shares), None), None
    for some in rows.fewer():
        if len(np.unique(required(some.table.labels))) < len(shares):
            return Near(rows.model.null(shares), None)
        point, values = _near_mode_of_some(some, rows.weight / some.weight, groups, near)
        near = Near(point.weights, values)
    return near if point is None else refine(rows.slope, point, groups, near.values)


def levels_of_rows(rows: int, weights: int) -> list[int]:
    """How many rows to go by, one after the other, on the way to all: a tenth, a tenth of that, and so on, from few on.

    >>> levels_of_rows(1_000_000, 84), levels_of_rows(100_000, 84), levels_of_rows(50_000, 84)
    ([10000, 100000], [20000], [])
    """
    most = max(FEWEST_ROWS, ROWS_PER_WEIGHT * weights, rows // 10)
    if rows < 4 * most:
        return []
    least = max(FEWEST_ROWS // 4, ROWS_PER_WEIGHT * weights)
    counts = [most]
    while counts[0] // 10 >= least:
        counts.insert(0, counts[0] // 10)
    return counts


def _near_mode_of_some(some: TableRows, ratio: float, groups: Groups, near: Near) -> tuple[Point, Array]:
    """A point near the mode of some rows, taken for as many as all: within a step of a few deviations of their own."""

    def evaluate(weights: Array) -> Curvature:
        return some.curvature(weights).scaled(ratio)

    start = Point(some.model.likelihood, near.weights, evaluate(near.weights))
    values, bounds = first_values(start, groups, near.values)
    precision = groups.precision(values, len(near.weights))
    point = approach_mode(evaluate, start, precision, START_STEPS, LAST_STEP * np.sqrt(ratio))
    return point, best_values(point, groups, values, bounds) if groups.open else values


def refuse_too_many(model: Model) -> None:
    """Refuse a Hessian that would not fit in memory."""
    r, q = model.shape
    if r * q > MOST_WEIGHTS:
        raise ClasswiseError(
            f"X has {q} columns to weigh, categories one for each level, and {model.likelihood.classes} classes: "
            f"{r * q} weights, whose covariance is too large. Choose columns (for at most {MOST_WEIGHTS} weights), "
            "or project them first (sklearn.decomposition.PCA), or use LDA(shrink='oas')."
        )
