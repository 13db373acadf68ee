"""Learning weights from a table: passes over the rows, each of which gathers the curvature at some weights."""

from dataclasses import dataclass, replace

import numpy as np

from classwise.arrays import Array, Codes
from classwise.engines import BLAS, Engine
from classwise.errors import ClasswiseError
from classwise.estimators.fitted import required
from classwise.logistic import (
    Chain,
    Design,
    Draws,
    Groups,
    Laplace,
    Model,
    Point,
    approach_mode,
    draw_chain,
    log_evidence,
    most_probable,
    refine,
    refuse_flat,
    settled,
)
from classwise.statistics import Curvature
from classwise.summarizing import CHUNK_SIZE, COPY_SIZE
from classwise.tables import Table

# Newton's method starts from the mode of so many rows for each weight, or so much of all rows, where there are several
# times as many.
ROWS_PER_WEIGHT = 100
FEWEST_ROWS = 20_000
SHARE_OF_ROWS = 0.05
START_STEPS = 12

# The Hessian of more weights than this takes 3 GB and more.
MOST_WEIGHTS = 20_000

CHAINS = 4


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fit finds: the posterior by Laplace, the precision of each group, the evidence (None where some prior but
    the intercept's is flat), and how many times the rows were gone through.
    """

    posterior: Laplace
    values: Array
    log_evidence: float | None
    passes: int


@dataclass(frozen=True, eq=False)
class Rows:
    """A table whose labels are codes, to be gone through by an engine, many times."""

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

    def _chunk_rows(self) -> int:
        size = COPY_SIZE if self.table.is_copied else CHUNK_SIZE
        # The work is by columns of the design, of which categories have many. A statistic holds c matrices of q², and
        # chunks grow with them, so that merging stays a small part of the work.
        width = self.model.design.width
        return max(size // max(len(self.table.schema), width), 8 * self.model.likelihood.factors * width)

    def thinned(self, count: int) -> "Rows":
        """About so many of the rows, from all over the table."""
        return Rows(self.table.take(spread_positions(len(self.table), count)), self.model, self.engine)

    def point(self, weights: Array) -> Point:
        return Point(self.model.likelihood, weights, self.curvature(weights))


def spread_positions(length: int, count: int) -> Codes:
    """One position in each of `count` equal parts; not the same one, lest rows come in turns.

    >>> spread_positions(10, 3).tolist()
    [2, 4, 9]
    """
    parts = np.arange(count)
    within = ((parts + 1) * 0.6180339887498949) % 1
    return np.minimum(((parts + within) * length / count).astype(np.intp), length - 1)


@dataclass(frozen=True, eq=False)
class Near:
    """Where to look first: weights (r, q) and the precision of each group, as almost the same rows have them."""

    weights: Array
    values: Array

    def fits(self, rows: Rows, groups: Groups) -> bool:
        """Whether these are weights and precisions of the same columns."""
        return self.weights.shape == rows.model.shape and self.values.shape == groups.given.shape


def learn(rows: Rows, groups: Groups, shares: Array, near: Near | None = None) -> Learned:
    """The posterior of the weights; shares (g,): of the classes. near: a place to start from, if it is known."""
    refuse_too_many(rows.model)
    # Products are of cache-sized blocks: several threads of BLAS would spend their time waiting for each other.
    with BLAS.held():
        return _learn(rows, groups, shares, near if near is not None and near.fits(rows, groups) else None)


def _learn(rows: Rows, groups: Groups, shares: Array, near: Near | None) -> Learned:
    start = _start(rows, groups, shares) if near is None else near.weights
    point = rows.point(start)
    mode, values = most_probable(rows.curvature, point, groups, None if near is None else near.values)
    precision = groups.precision(values, len(start))
    hessian = mode.point.hessian(precision)
    proper = bool((groups.given != 0).all())
    if not proper:
        zero = rows.point(rows.model.null(shares))
        refuse_flat(hessian, zero.hessian(precision))
    evidence = log_evidence(mode.point, precision) if proper else None
    return Learned(Laplace.of(settled(mode.point, precision).weights, hessian), values, evidence, mode.passes + 1)


def _start(rows: Rows, groups: Groups, shares: Array) -> Array:
    """The class shares alone, or where rows are many the mode of some of them."""
    null = rows.model.null(shares)
    count = max(FEWEST_ROWS, ROWS_PER_WEIGHT * null.size, int(SHARE_OF_ROWS * len(rows.table)))
    if len(rows.table) < 4 * count:
        return null
    some = rows.thinned(count)
    assert some.table.labels is not None
    if len(np.unique(some.table.labels)) < len(shares):
        return null
    first = some.point(null)
    values = np.where(np.isnan(groups.given), 1.0, groups.given)
    precision = groups.precision(values, len(null))
    ratio = len(rows.table) / len(some.table)
    near = approach_mode(some.curvature, first, precision / ratio, START_STEPS)
    scaled = replace(near, curvature=near.curvature.scaled(ratio))
    return refine(rows.slope, near.weights, scaled, precision)


def refuse_too_many(model: Model) -> None:
    """Refuse a Hessian that would not fit in memory."""
    r, q = model.shape
    if r * q > MOST_WEIGHTS:
        raise ClasswiseError(
            f"X has {q} columns to weigh, categories one for each level, and {model.likelihood.classes} classes: "
            f"{r * q} weights, whose covariance is too large. Choose columns (for at most {MOST_WEIGHTS} weights), "
            "or project them first (sklearn.decomposition.PCA), or use LDA(shrink='oas')."
        )


def draw(rows: Rows, learned: Learned, groups: Groups, count: int, generator: np.random.Generator) -> Draws:
    """Draws of the weights by Gibbs' sampler: four chains that start apart; the first half of each is thrown away."""
    table, design = rows.table, rows.model.design
    assert table.labels is not None
    weights = np.ones(len(table)) if table.weights is None else table.weights
    columns = whole_columns(table, design)
    precision = groups.precision(learned.values, 1)[0]
    chain = Chain(columns, table.labels.astype(np.intp), weights, precision, rows.model.likelihood)
    starts = learned.posterior.sample(CHAINS, generator)
    each = -(-count // CHAINS)
    drawn = [
        draw_chain(chain, start, each, each, own) for start, own in zip(starts, generator.spawn(CHAINS), strict=True)
    ]
    return Draws(np.stack(drawn))


def whole_columns(table: Table, design: Design) -> Array:
    """The columns of all rows at once; (q, n)."""
    return design.columns(table.rows)
