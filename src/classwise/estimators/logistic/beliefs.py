"""Beliefs about the weights that are better than Laplace's, from rows and what a fit has found."""

import numpy as np

from classwise.arrays import Array
from classwise.engines import BLAS
from classwise.estimators.logistic.learning import CurvatureRows, Learned, TableRows
from classwise.logistic import Chain, Design, Draws, Groups, draw_chain, nearest_gaussian
from classwise.rows.table import Table

CHAINS = 4


def nearest(rows: CurvatureRows, learned: Learned, groups: Groups) -> Learned:
    """The Gaussian nearest to the posterior, given the precision, and its bound of the evidence."""
    precision = groups.precision(learned.values, len(learned.posterior.mean))
    with BLAS.held():  # see learn
        found = nearest_gaussian(rows.averaged, rows.model.likelihood, learned.posterior, precision)
    evidence = None if learned.log_evidence is None else found.bound
    return Learned(found.beliefs, learned.values, evidence, learned.passes + found.passes)


def draw(rows: TableRows, learned: Learned, groups: Groups, count: int, generator: np.random.Generator) -> Draws:
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
