"""Densities as terms of a score: for each type of density, a function that adds its part of log p(x | k) to a draft.

What is common to all classes is left out. A column that is missing adds nothing where it is described by itself; where
columns are described jointly, it is at its expectation given the others; where too many of them are missing, the score
is NULL. A new density joins here: register a function for its type.
"""

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from scipy.special import gammaln
from sqlglot import exp

from classwise.arrays import Array
from classwise.densities import (
    Binomial,
    Categorical,
    Complement,
    Constant,
    Density,
    Gaussian,
    IndependentStudent,
    LogNormal,
    Mixture,
    Multinomial,
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
    enclosed,
    is_null,
    log,
    log_factorial,
    lookup,
    minus,
    number,
    or_zero,
    score,
    shifted,
    times,
    total,
)
from classwise.export.sql.draft import Draft, Step
from classwise.export.sql.gaps import Gaps, gaps_of
from classwise.export.sql.gaussians import About, add_gaussian, add_independent_student, add_student, as_diagonal
from classwise.export.sql.sums import add_mixture, add_one_dependence, place_codes
from classwise.statistics import Bins


@singledispatch
def add_density(density: Density, columns: Sequence[int], draft: Draft) -> None:
    """Add log p(x | k) of these columns of the model to the scores of a draft."""
    raise ClasswiseError(
        f"A {type(density).__name__} density cannot be written as SQL; score the rows in Python, with predict."
    )


@add_density.register
def _(density: OneDependence, columns: Sequence[int], draft: Draft) -> None:
    codes = place_codes(density, columns, draft)
    add_one_dependence(density, codes, draft)
    for place, code in zip(density.columns, codes, strict=True):
        if isinstance(place, Bins) and place.values is None:  # within its range a number is uniform
            inside = [0.0, *(-np.log(place.widths)).tolist(), *[0.0] * place.missing]
            draft.add_common(lookup(column(code), inside, first=-1))


@add_density.register
def _(density: Mixture, columns: Sequence[int], draft: Draft) -> None:
    add_mixture(density, columns, draft.about, draft, gaps_between(density.components, columns, draft))


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
    add_gaussian(density, columns, draft.about, draft, gaps_between(density, columns, draft))


@add_density.register
def _(density: Student, columns: Sequence[int], draft: Draft) -> None:
    add_student(density, columns, draft.about, draft, gaps_between(density, columns, draft))


@add_density.register
def _(density: IndependentStudent, columns: Sequence[int], draft: Draft) -> None:
    add_independent_student(density, columns, draft.about, draft)


@add_density.register
def _(density: LogNormal, columns: Sequence[int], draft: Draft) -> None:
    """The density of the logarithms; log x itself, which makes it that of x, is common to all classes."""
    _add_logs(density.logs, columns, draft.logarithm, draft)
    for j in columns:
        x = column(draft.number_of(j))
        positive = case((exp.GT(this=x, expression=number(0.0)), x.copy()))
        draft.add_common(or_zero(times(number(-1.0), log(positive))))


def gaps_between(density: Gaussian | Student, columns: Sequence[int], draft: Draft) -> Gaps | None:
    """How missing values are integrated out, if columns vary together within a class."""
    if as_diagonal(density.covariance) is not None:
        return None
    return gaps_of(columns, density, draft)


@singledispatch
def _add_logs(logs: Density, columns: Sequence[int], about: About, draft: Draft) -> None:
    raise ClasswiseError(f"Logarithms with a {type(logs).__name__} density cannot be written as SQL.")


@_add_logs.register
def _(logs: Gaussian, columns: Sequence[int], about: About, draft: Draft) -> None:
    add_gaussian(logs, columns, about, draft, gaps_between(logs, columns, draft))


@_add_logs.register
def _(logs: Student, columns: Sequence[int], about: About, draft: Draft) -> None:
    add_student(logs, columns, about, draft, gaps_between(logs, columns, draft))


_add_logs.register(IndependentStudent, add_independent_student)


@add_density.register
def _(density: Presence, columns: Sequence[int], draft: Draft) -> None:
    """A density of numbers, and log P(there or not | k) of each column that tells."""
    add_density(density.numbers, columns, draft)
    informative = [(j, place) for j, place in enumerate(columns) if not np.isnan(density.missing[:, j]).any()]
    for j, place in informative:
        # A column that never varies was not read for its values.
        x = draft.plain(place) if isinstance(density.numbers, Constant) else draft.number_of(place)
        for k, chance in enumerate(density.missing[:, j].tolist()):
            with np.errstate(divide="ignore"):
                absent, there = float(np.log(chance)), float(np.log1p(-chance))
            term = case((is_null(column(x)), score(absent)), otherwise=score(there))
            draft.add(k, double(term))


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
        draft.add_common(or_zero(_log_average(column(x), float(density.average[j]), float(limits[j]))))
        for k in range(density.count):
            slope, constant = float(slopes[k, j]), float(constants[k, j])
            if np.isfinite(slope):
                term = shifted(times(number(slope), column(x)), constant)
            elif slope < 0:  # a chance or a rate of zero: nothing but none
                term = _only(x, 0.0, constant)
            else:  # a chance of one: nothing but all
                term = _only(x, float(limits[j]), -float(limits[j] * np.log(density.average[j])))
            draft.add(k, or_zero(term))


def _log_average(x: Expression, average: float, most: float) -> Expression:
    """log p(x) of the average class."""
    chosen = times(number(np.log(average)), x)
    if not np.isfinite(most):  # Poisson
        return shifted(minus(chosen, log_factorial(x.copy())), -average)
    rest = enclosed(minus(number(most), x.copy()))
    others = times(number(np.log1p(-average)), rest)
    ways = [log_factorial(x.copy()), log_factorial(rest.copy())]
    return shifted(minus(total([chosen, others]), enclosed(total(ways))), float(gammaln(most + 1)))


@add_density.register
def _(density: Multinomial, columns: Sequence[int], draft: Draft) -> None:
    """Lines in the counts; where some are missing, the others have a total of their own, and shares of it."""
    if draft.whole:
        raise ClasswiseError(
            "The novelty of a bag of counts cannot be written as SQL; decide in Python, or JavaScript."
        )
    names = _add_weighted(density, columns, draft)
    whole = draft.define(Step.DERIVED, "bag", total([or_zero(column(x)) for x in names]))
    for k, shares in enumerate(density.chance.tolist()):
        pairs = zip(names, shares, strict=True)
        present = [case((is_null(column(x)), number(0.0)), otherwise=number(share)) for x, share in pairs]
        left = draft.define(Step.DERIVED, "left", double(total(present)))
        positive = (exp.GT(this=column(name), expression=number(0.0)) for name in (whole, left))
        term = times(times(number(-1.0), column(whole)), log(column(left)))
        draft.add(k, case((exp.and_(*positive), term), otherwise=number(0.0)))


@add_density.register
def _(density: Complement, columns: Sequence[int], draft: Draft) -> None:
    _add_weighted(density, columns, draft)


def _add_weighted(density: Multinomial | Complement, columns: Sequence[int], draft: Draft) -> list[str]:
    """Each count times its weight; what counts are called."""
    names = [draft.amount_of(place) for place in columns]
    for k, slopes in enumerate(density.slope.tolist()):
        for x, slope in zip(names, slopes, strict=True):
            line = times(number(slope), column(x)) if np.isfinite(slope) else _only(x, 0.0, 0.0)
            draft.add(k, or_zero(line))
    return names


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
