"""Densities as terms of a score: for each type of density, a function that adds its part of log p(x | k) to a draft.

What is common to all classes is left out. A column that is missing adds nothing where it is described by itself; where
columns are described jointly, it is at its expectation given the others; where too many of them are missing, the score
is NULL. A new density joins here: register a function for its type.
"""

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from sqlglot import exp

from classwise.arrays import Array
from classwise.densities import (
    Binomial,
    Categorical,
    Constant,
    Density,
    Gaussian,
    IndependentStudent,
    LogNormal,
    Mixture,
    OneDependence,
    Poisson,
    Presence,
    Product,
    Student,
)
from classwise.errors import ClasswiseError
from classwise.export.sql.arithmetic import (
    IMPOSSIBLE,
    Expression,
    case,
    column,
    double,
    is_null,
    lookup,
    number,
    or_zero,
    score,
    shifted,
    times,
)
from classwise.export.sql.draft import Draft
from classwise.export.sql.gaps import Gaps, gaps_of
from classwise.export.sql.gaussians import About, add_gaussian, add_independent_student, add_student, as_diagonal
from classwise.export.sql.sums import add_mixture, add_one_dependence, place_codes


@singledispatch
def add_density(density: Density, columns: Sequence[int], draft: Draft) -> None:
    """Add log p(x | k) of these columns of the model to the scores of a draft."""
    raise ClasswiseError(
        f"A {type(density).__name__} density cannot be written as SQL; score the rows in Python, with predict."
    )


@add_density.register
def _(density: OneDependence, columns: Sequence[int], draft: Draft) -> None:
    add_one_dependence(density, place_codes(density, columns, draft), draft)


@add_density.register
def _(density: Mixture, columns: Sequence[int], draft: Draft) -> None:
    add_mixture(density, columns, draft.about, draft, _gaps(density.components, columns, draft))


@add_density.register
def _(density: Product, columns: Sequence[int], draft: Draft) -> None:
    for block in density.blocks:
        add_density(block.density, [columns[j] for j in block.columns], draft)


@add_density.register
def _(density: Constant, columns: Sequence[int], draft: Draft) -> None:
    """Columns that say nothing are not even read."""


# Numbers --------------------------------------------------------------------------------------------------------------


@add_density.register
def _(density: Gaussian, columns: Sequence[int], draft: Draft) -> None:
    add_gaussian(density, columns, draft.about, draft, _gaps(density, columns, draft))


@add_density.register
def _(density: Student, columns: Sequence[int], draft: Draft) -> None:
    add_student(density, columns, draft.about, draft, _gaps(density, columns, draft))


@add_density.register
def _(density: IndependentStudent, columns: Sequence[int], draft: Draft) -> None:
    add_independent_student(density, columns, draft.about, draft)


@add_density.register
def _(density: LogNormal, columns: Sequence[int], draft: Draft) -> None:
    """The density of the logarithms; log x itself, which makes it that of x, is common to all classes."""
    _add_logs(density.logs, columns, draft.logarithm, draft)


def _gaps(density: Gaussian | Student, columns: Sequence[int], draft: Draft) -> Gaps | None:
    """How missing values are integrated out, if columns vary together within a class."""
    if as_diagonal(density.covariance) is not None:
        return None
    return gaps_of(columns, density, draft)


@singledispatch
def _add_logs(logs: Density, columns: Sequence[int], about: About, draft: Draft) -> None:
    raise ClasswiseError(f"Logarithms with a {type(logs).__name__} density cannot be written as SQL.")


@_add_logs.register
def _(logs: Gaussian, columns: Sequence[int], about: About, draft: Draft) -> None:
    add_gaussian(logs, columns, about, draft, _gaps(logs, columns, draft))


@_add_logs.register
def _(logs: Student, columns: Sequence[int], about: About, draft: Draft) -> None:
    add_student(logs, columns, about, draft, _gaps(logs, columns, draft))


_add_logs.register(IndependentStudent, add_independent_student)


@add_density.register
def _(density: Presence, columns: Sequence[int], draft: Draft) -> None:
    """A density of numbers, and log P(there or not | k) of each column that tells."""
    add_density(density.numbers, columns, draft)
    telling = [(j, place) for j, place in enumerate(columns) if not np.isnan(density.missing[:, j]).any()]
    for j, place in telling:
        # A column that never varies was not read for its values.
        x = draft.plain(place) if isinstance(density.numbers, Constant) else draft.number_of(place)
        for k, chance in enumerate(density.missing[:, j].tolist()):
            with np.errstate(divide="ignore"):
                absent, there = float(np.log(chance)), float(np.log1p(-chance))
            told = case((is_null(column(x)), score(absent)), otherwise=score(there))
            draft.add(k, double(told))


# Counts ---------------------------------------------------------------------------------------------------------------


@add_density.register
def _(density: Poisson, columns: Sequence[int], draft: Draft) -> None:
    limits = np.full(density.n_features, np.inf)
    _add_counts(density, limits, columns, draft)


@add_density.register
def _(density: Binomial, columns: Sequence[int], draft: Draft) -> None:
    _add_counts(density, density.trials, columns, draft)


def _add_counts(density: Poisson | Binomial, limits: Array, columns: Sequence[int], draft: Draft) -> None:
    """Lines in x, against the average of all classes; limits (p,): the largest count there can be."""
    slopes, constants = density.line
    for j, place in enumerate(columns):
        x = draft.count_of(place, float(limits[j]))
        for k in range(density.count):
            slope, constant = float(slopes[k, j]), float(constants[k, j])
            if np.isfinite(slope):
                term = shifted(times(number(slope), column(x)), constant)
            elif slope < 0:  # a chance or a rate of zero: nothing but none
                term = _only(x, 0.0, constant)
            else:  # a chance of one: nothing but all
                term = _only(x, float(limits[j]), -float(limits[j] * np.log(density.average[j])))
            draft.add(k, or_zero(term))


def _only(x: str, value: float, there: float) -> Expression:
    """The score of the one count that can be, and that all others are out of the question; NULL for none."""
    is_value, is_other = (kind(this=column(x), expression=number(value)) for kind in (exp.EQ, exp.NEQ))
    return double(case((is_value, number(there)), (is_other, number(IMPOSSIBLE))))


# Levels ---------------------------------------------------------------------------------------------------------------


@add_density.register
def _(density: Categorical, columns: Sequence[int], draft: Draft) -> None:
    """log p of the level, by its code: -1 for missing, then the levels, then one never seen."""
    for of_column, place in zip(density.columns, columns, strict=True):
        code = draft.code(place)
        for k, logs in enumerate(np.roll(of_column.log_probability, 1, axis=1)):
            draft.add(k, lookup(column(code), logs.tolist(), first=-1))
