"""Densities in an ONNX graph: log p(x | k) of every class, up to a term common to all classes.

`scores` is one function with a version for each density. A density of a new kind is added here, and nowhere else.
"""

from functools import reduce, singledispatch
from operator import add

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.densities import (
    Binomial,
    Categorical,
    Constant,
    Density,
    Gaussian,
    IndependentStudent,
    LogNormal,
    Observed,
    Poisson,
    Presence,
    Product,
    Student,
)
from classwise.errors import ClasswiseError
from classwise.export.onnx_graph.gaussians import gaussian_scores, student_scores
from classwise.export.onnx_graph.rows import NumberRows, Rows
from classwise.export.onnx_graph.tensor import Tensor


@singledispatch
def scores(density: Density, rows: Rows) -> Tensor:
    """log p(x | k), missing values integrated out, up to a term common to all classes; (n, g), or (1, g)."""
    raise ClasswiseError(
        f"A model with {type(density).__name__} densities cannot be exported to ONNX; score its rows in Python."
    )


scores.register(Gaussian)(gaussian_scores)
scores.register(Student)(student_scores)


@scores.register
def _(density: Product, rows: Rows) -> Tensor:
    """The sum over blocks of columns."""
    return reduce(add, (scores(block.density, rows.part(block.columns.tolist())) for block in density.blocks))


@scores.register
def _(density: Observed, rows: Rows) -> Tensor:
    return scores(density.whole, rows)


@scores.register
def _(density: Constant, rows: Rows) -> Tensor:
    return rows.graph.constant(np.zeros((1, density.count)))


@scores.register
def _(density: LogNormal, rows: Rows) -> Tensor:
    """The density of the logarithms; 1/x is common to all classes."""
    values = rows.numbers()
    rows.graph.refuse(values < 0.0, values.equals(0.0))
    return scores(density.logs, NumberRows(rows.graph, rows.strict, values.log()))


@scores.register
def _(density: Presence, rows: Rows) -> Tensor:
    """The density of what is there, and log P(there or not)."""
    with np.errstate(divide="ignore"):
        absent, there = (
            np.nan_to_num(np.log(density.missing), neginf=-np.inf),
            np.nan_to_num(np.log1p(-density.missing)),
        )
    gone = rows.numbers().is_nan().cast(np.float64)
    signal = gone @ (_finite(absent) - there).T + there.sum(axis=1)[None]
    return scores(density.numbers, rows) + _ruled_out(gone, np.isneginf(absent), signal)


@scores.register
def _(density: Categorical, rows: Rows) -> Tensor:
    """A look into a table for each column."""
    graph, columns = rows.graph, enumerate(density.columns)
    tables = (graph.constant(levels.log_probability.T).take(rows.codes(j), 0) for j, levels in columns)
    return reduce(add, tables)


@scores.register
def _(density: Poisson, rows: Rows) -> Tensor:
    """A line in x, but for a rate of 0, which allows 0 alone."""
    values, never = rows.numbers(), density.values == 0
    rows.graph.refuse(values < 0.0, values > values.floor())
    slope, constant = density.line
    line = _line(values, np.where(never, 0.0, slope), constant)
    return _ruled_out((values > 0.0).cast(np.float64), never, line)


@scores.register
def _(density: Binomial, rows: Rows) -> Tensor:
    """A line in x, but for a chance of 0, which allows 0 alone, and a chance of 1, which allows N alone."""
    values, trials = rows.numbers(), density.trials
    never, always = density.values == 0, density.values == 1
    rows.graph.refuse(values < 0.0, values > values.floor(), values > trials[None])
    slope, constant = density.line
    constant = np.where(always, -trials * np.log(density.average), constant)
    line = _line(values, np.where(never | always, 0.0, slope), constant)
    some, not_all = (values > 0.0).cast(np.float64), (values < trials[None]).cast(np.float64)
    return _ruled_out(not_all, always, _ruled_out(some, never, line))


@scores.register
def _(density: IndependentStudent, rows: Rows) -> Tensor:
    """The sum over columns of log t(x_j | m_j, s_j, v_j)."""
    v = density.freedom
    log_scale = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * np.pi * density.shapes)
    values = rows.numbers()
    squares = (values.widen(1) - density.means[None]).squared() / (density.shapes * v)[None]
    terms = (squares + 1.0).log() * (-0.5 * (v + 1))[None] + log_scale[None]
    return values.is_nan().widen(1).where(0.0, terms).sum(2)


def _line(values: Tensor, slope: Array, constant: Array) -> Tensor:
    """The sum over columns of slope x + constant, of what is there; (n, p), (g, p) -> (n, g)."""
    absent = values.is_nan()
    return absent.where(0.0, values) @ slope.T + (~absent).cast(np.float64) @ constant.T


def _ruled_out(events: Tensor, impossible: NDArray[np.bool_], otherwise: Tensor) -> Tensor:
    """-inf where something happens that a class makes impossible; events (n, p), impossible (g, p), (n, g)."""
    if not impossible.any():
        return otherwise
    return (events @ impossible.T.astype(np.float64) > 0.0).where(-np.inf, otherwise)


def _finite(logs: Array) -> Array:
    """0 in place of -inf: what has probability zero is ruled out instead."""
    return np.where(np.isneginf(logs), 0.0, logs)
