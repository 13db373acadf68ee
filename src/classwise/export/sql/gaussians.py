"""Gaussian and Student-t classes as terms of a score.

Numbers come as x minus a round number near the middle of the means, so that a large offset costs no digits, and
scores are squares of whitened coordinates, or linear in them: nothing large is subtracted from anything large.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array, row_norms
from classwise.covariance import Covariance, DiagonalCovariance
from classwise.covariance.exponents import FAR, Shared
from classwise.densities import Gaussian, IndependentStudent, Student
from classwise.export.sql.arithmetic import (
    Expression,
    case,
    column,
    double,
    is_null,
    linear,
    log_plus_one,
    lookup,
    number,
    or_zero,
    shifted,
    square,
    times,
    total,
)
from classwise.export.sql.draft import Draft, Step, near

# From a column of the model, an origin, and the least standard deviation that matters to what the query calls the
# number (or its logarithm) minus the origin.
About: TypeAlias = Callable[[int, float, float], str]


def add_gaussian(density: Gaussian, columns: Sequence[int], about: About, draft: Draft) -> None:
    """log N(x | m_k, C_k): column by column, in a shared metric, or in each class's own."""
    diagonal = as_diagonal(density.covariance)
    if diagonal is not None:
        _add_alone(density.means, diagonal.deviations, columns, about, draft)
    elif len(density.covariance.values) < density.count:
        _add_shared(density, columns, about, draft)
    else:
        for k, away in enumerate(_whitened(density.means, density.covariance, columns, about, draft)):
            draft.add(k, times(number(-0.5), total([*map(square, away)])))
        draft.add_constants(-density.covariance.half_log_det)


def as_diagonal(covariance: Covariance) -> DiagonalCovariance | None:
    """The same covariance where columns do not vary together, whatever its type; else None."""
    if isinstance(covariance, DiagonalCovariance):
        return covariance
    values = covariance.matrices()
    if np.count_nonzero(values * (1 - np.eye(values.shape[1]))):
        return None
    return DiagonalCovariance(covariance.variances())


# Columns by themselves ------------------------------------------------------------------------------------------------


def _add_alone(means: Array, deviations: Array, columns: Sequence[int], about: About, draft: Draft) -> None:
    """-1/2 ((x - m) / s)² - log s of each column, and nothing where it is missing."""
    shared, deviations = len(deviations) < len(means), np.broadcast_to(deviations, means.shape)
    parabola = _line if shared else _parabola
    for j, place in enumerate(columns):
        name, away = _about_middle(means[:, j], deviations[:, j], place, about)
        is_far = bool(np.abs(away / deviations[:, j]).max() > FAR)
        for k, deviation in enumerate(deviations[:, j].tolist()):
            draft.add(k, or_zero(parabola(name, float(away[k]), deviation, is_far)))


def _about_middle(means: Array, deviations: Array, place: int, about: About) -> tuple[str, Array]:
    """A column about the middle of its means (g,), and these means about it."""
    spread = float(deviations.min())
    origin = near(float(_middle(means)), spread)
    return about(place, origin, spread), means - origin


def _middle(means: Array) -> Array:
    return np.asarray(means[0] + (means - means[0]).mean(axis=0))


def _parabola(name: str, away: float, deviation: float, is_far: bool) -> Expression:
    """-1/2 ((x - away) / s)² - log s, expanded as long as that costs no digits."""
    precision, constant = deviation**-2.0, -float(np.log(deviation))
    if is_far:
        return shifted(times(number(-0.5 * precision), square(shifted(column(name), -away))), constant)
    slope = shifted(times(number(-0.5 * precision), column(name)), away * precision)
    return shifted(times(slope, column(name)), constant - 0.5 * (away / deviation) ** 2)


def _line(name: str, away: float, deviation: float, is_far: bool) -> Expression:
    """The same where all classes have one s: what is common to them, log s and the square of x, left out."""
    if is_far:
        return times(number(-0.5 * deviation**-2.0), square(shifted(column(name), -away)))
    return shifted(times(number(away * deviation**-2.0), column(name)), -0.5 * (away / deviation) ** 2)


# Columns together -----------------------------------------------------------------------------------------------------


def _add_shared(density: Gaussian, columns: Sequence[int], about: About, draft: Draft) -> None:
    """In the subspace that the means span: linear in its coordinates z, or squares about the centers if they are far.

    No term is left out for being zero: that is how a missing value makes every score NULL.
    """
    names, origins = _about_origins(density.means, _whitenings(density.covariance), columns, about)
    shared = Shared.of(density.covariance, density.means - origins)
    offsets = -shared.middle @ shared.projection
    sums = [shifted(total(linear(of, names)), by) for of, by in zip(shared.projection.T, offsets.tolist(), strict=True)]
    white = [draft.define(Step.WHITE, "z", expression) for expression in sums]
    is_far = bool(np.abs(shared.centers).max(initial=0.0) > FAR)
    for k, center in enumerate(shared.centers):
        if is_far:
            away = [shifted(column(name), -c) for name, c in zip(white, center.tolist(), strict=True)]
            draft.add(k, times(number(-0.5), total([*map(square, away)])))
        else:
            draft.add(k, total(linear(center, white)))
    if not is_far:
        draft.add_constants(-0.5 * row_norms(shared.centers))


def _whitened(
    means: Array, covariance: Covariance, columns: Sequence[int], about: About, draft: Draft
) -> list[list[Expression]]:
    """The coordinates of x - m_k in the metric of class k, for each class."""
    whitenings = _whitenings(covariance)
    names, origins = _about_origins(means, whitenings, columns, about)
    if len(whitenings) < len(means):
        white = _coordinates(whitenings[0], np.zeros(len(names)), names, draft)
        centers = (means - origins) @ whitenings[0]
        return [[shifted(column(z), -c) for z, c in zip(white, of, strict=True)] for of in centers.tolist()]
    pairs = zip(means - origins, whitenings, strict=True)
    return [[*map(column, _coordinates(of, away @ of, names, draft))] for away, of in pairs]


def _whitenings(covariance: Covariance) -> Array:
    """V with z = x V white, of each covariance; (k, p, p)."""
    identity = np.eye(covariance.variances().shape[1])
    return np.stack([covariance.project(identity, k) for k in range(len(covariance.values))])


def _coordinates(whitening: Array, offsets: Array, names: Sequence[str], draft: Draft) -> list[str]:
    """x V - offset, as columns of the query; V is triangular, and its zeros are left out."""
    found = []
    for of, offset in zip(whitening.T, offsets.tolist(), strict=True):
        used = np.flatnonzero(of).tolist()
        terms = linear(of[used], [names[j] for j in used])
        found.append(draft.define(Step.WHITE, "z", shifted(total(terms), -offset)))
    return found


def _about_origins(means: Array, whitenings: Array, columns: Sequence[int], about: About) -> tuple[list[str], Array]:
    """Each column about an origin near the middle of the means, and these origins (p,)."""
    spreads = 1 / np.abs(whitenings).max(axis=(0, 2))
    origins = np.array([near(*of) for of in zip(_middle(means).tolist(), spreads.tolist(), strict=True)])
    names = [about(*of) for of in zip(columns, origins.tolist(), spreads.tolist(), strict=True)]
    return names, origins


# Student-t ------------------------------------------------------------------------------------------------------------


def add_student(density: Student, columns: Sequence[int], about: About, draft: Draft) -> None:
    """-(v + p)/2 log(1 + q / v), with q the squared distance in the metric of each class."""
    diagonal = as_diagonal(density.covariance)
    if diagonal is not None:
        _add_student_of_some(density, diagonal.deviations, columns, about, draft)
        return
    p, inverse = density.n_features, 1 / (density.factor * density.freedom)
    for k, away in enumerate(_whitened(density.means, density.covariance, columns, about, draft)):
        ratio = times(number(inverse[k]), total([*map(square, away)]))
        name = draft.define(Step.DISTANCE, "u", ratio)
        draft.add(k, times(number(-0.5 * (density.freedom[k] + p)), log_plus_one(name)))
    draft.add_constants(_student_scale(density, p) - density.covariance.half_log_det)


def _student_scale(density: Student, p: int) -> Array:
    """log Γ((v + p)/2) - log Γ(v/2) - p/2 log(v π factor), but for what all classes have; (g,)."""
    v = density.freedom
    return np.asarray(gammaln((v + p) / 2) - gammaln(v / 2) - 0.5 * p * np.log(v * density.factor))


def _add_student_of_some(
    density: Student, deviations: Array, columns: Sequence[int], about: About, draft: Draft
) -> None:
    """The same of those columns that are there: Student-t again, with the same freedom and as many features."""
    deviations = np.broadcast_to(deviations, density.means.shape)
    parts = [_about_middle(*of, about) for of in zip(density.means.T, deviations.T, columns, strict=True)]
    there = [double(case((is_null(column(x)), number(0.0)), otherwise=number(1.0))) for x, _ in parts]
    count = draft.define(Step.DISTANCE, "n", total(there))
    scales = np.stack([_student_scale(density, p) for p in range(density.n_features + 1)], axis=1)
    for k, of_class in enumerate(deviations):
        squares = [
            or_zero(times(number(s**-2.0), square(shifted(column(x), -float(away[k])))))
            for (x, away), s in zip(parts, of_class.tolist(), strict=True)
        ]
        inverse = 1 / (density.factor[k] * density.freedom[k])
        name = draft.define(Step.DISTANCE, "u", times(number(inverse), total(squares)))
        power = times(number(-0.5), shifted(column(count), float(density.freedom[k])))
        draft.add(k, times(power, log_plus_one(name)))
        draft.add(k, lookup(column(count), scales[k]))
        for (x, _), s in zip(parts, of_class.tolist(), strict=True):
            draft.add(k, double(case((is_null(column(x)), number(0.0)), otherwise=number(-float(np.log(s))))))


def add_independent_student(density: IndependentStudent, columns: Sequence[int], about: About, draft: Draft) -> None:
    """-(v + 1)/2 log(1 + ((x - m) / s)² / v) of each column, and nothing where it is missing."""
    v, scale = density.freedom, np.sqrt(density.shapes)
    constants = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * density.shapes)
    for j, place in enumerate(columns):
        x, away = _about_middle(density.means[:, j], scale[:, j], place, about)
        for k in range(density.count):
            inverse = 1 / (density.shapes[k, j] * v[k, j])
            name = draft.define(Step.DISTANCE, "u", times(number(inverse), square(shifted(column(x), -float(away[k])))))
            term = shifted(times(number(-0.5 * (v[k, j] + 1)), log_plus_one(name)), float(constants[k, j]))
            draft.add(k, or_zero(term))
