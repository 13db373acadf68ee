"""Gaussian and Student-t classes as terms of a score.

Numbers come as x minus a round number near the middle of the means, so that a large offset costs no digits, and
scores are squares of whitened coordinates, or linear in them: nothing large is subtracted from anything large.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import gammaln
from sqlglot import exp

from classwise.arrays import Array, row_norms
from classwise.covariance import Covariance, DiagonalCovariance
from classwise.covariance.exponents import FAR, Shared
from classwise.densities import Gaussian, IndependentStudent, Student
from classwise.export.novelty import LOG_UNIT
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
from classwise.export.sql.gaps import Gaps

# From a column of the model, an origin, and the least standard deviation that matters to what the query calls the
# number (or its logarithm) minus the origin.
About: TypeAlias = Callable[[int, float, float], str]


def add_gaussian(
    density: Gaussian, columns: Sequence[int], about: About, draft: Draft, gaps: Gaps | None = None
) -> None:
    """log N(x | m_k, C_k): column by column, in a shared metric, or in each class's own.

    gaps: how missing values are integrated out of columns that vary together; None where there are none, or no score.
    """
    diagonal = as_diagonal(density.covariance)
    if diagonal is not None:
        _add_alone(density.means, diagonal.deviations, columns, about, draft)
    elif len(density.covariance.values) < density.count and not draft.whole:
        _add_shared(density, columns, about, draft, gaps)
    else:
        for k, distance in enumerate(_distances(density, columns, about, draft, gaps)):
            draft.add(k, times(number(-0.5), distance))
        if gaps is None:
            volume = density.covariance.half_log_det + density.n_features * LOG_UNIT
            draft.add_constants(np.broadcast_to(-volume, density.count))
        else:
            _add_looked_up(gaps.log_scales(density), gaps, draft)


def squared_distances(
    density: Gaussian, columns: Sequence[int], about: About, draft: Draft, gaps: Gaps | None
) -> list[Expression]:
    """(x - m_k)' C_k^-1 (x - m_k) of the values that are there, for each class."""
    diagonal = as_diagonal(density.covariance)
    if diagonal is None:
        return _distances(density, columns, about, draft, gaps)
    deviations = np.broadcast_to(diagonal.deviations, density.means.shape)
    parts = [_about_middle(*of, about) for of in zip(density.means.T, deviations.T, columns, strict=True)]
    return [total(_squares(parts, k, of)) for k, of in enumerate(deviations)]


def _squares(parts: Sequence[tuple[str, Array]], k: int, deviations: Array) -> list[Expression]:
    """((x - m) / s)² of each column, nothing where it is missing; parts: its name, and the means about its origin."""
    return [
        or_zero(times(number(s**-2.0), square(shifted(column(x), -float(away[k])))))
        for (x, away), s in zip(parts, deviations.tolist(), strict=True)
    ]


def _add_looked_up(values: Array, gaps: Gaps, draft: Draft) -> None:
    """What depends on which values are missing; (g, patterns)."""
    for k, of_class in enumerate(values):
        draft.add(k, gaps.looked_up(of_class))


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
    """log N(x | m, s²) of each column, and nothing where it is missing."""
    shared = len(deviations) < len(means) and not draft.whole
    deviations = np.broadcast_to(deviations, means.shape)
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
    """-1/2 ((x - away) / s)² - log s - log sqrt(2 π), expanded as long as that costs no digits."""
    precision, constant = deviation**-2.0, -float(np.log(deviation)) - LOG_UNIT
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


def _add_shared(density: Gaussian, columns: Sequence[int], about: About, draft: Draft, gaps: Gaps | None) -> None:
    """In the subspace that the means span: linear in its coordinates z, or squares about the centers if they are far.

    No term is left out for being zero: that is how a missing value makes every score NULL.
    """
    names, origins = _about_origins(density.means, _whitenings(density.covariance), columns, about)
    shared = Shared.of(density.covariance, density.means - origins)
    if gaps is not None:
        about_origins, middle = Gaussian(density.means - origins, density.covariance), _middle(density.means) - origins
        names = gaps.filled(names, middle, density.covariance.matrices()[0], draft)
        _add_looked_up(gaps.excess(about_origins, middle), gaps, draft)
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


def _distances(
    density: Gaussian, columns: Sequence[int], about: About, draft: Draft, gaps: Gaps | None
) -> list[Expression]:
    """The squared distance of x from m_k in the metric of class k, for each class."""
    covariance, whitenings = density.covariance, _whitenings(density.covariance)
    names, origins = _about_origins(density.means, whitenings, columns, about)
    means = density.means - origins
    if len(whitenings) < len(means):
        return _shared_distances(Gaussian(means, covariance), whitenings[0], names, draft, gaps)
    found = []
    for k, (mean, whitening) in enumerate(zip(means, whitenings, strict=True)):
        there = names if gaps is None else gaps.filled(names, mean, covariance.matrices()[k], draft)
        white = _coordinates(whitening, mean @ whitening, there, draft)
        found.append(total([square(column(z)) for z in white]))
    return found


def _shared_distances(
    density: Gaussian, whitening: Array, names: list[str], draft: Draft, gaps: Gaps | None
) -> list[Expression]:
    """The same in the one metric of all classes; names: of the columns, about the origin of the density."""
    middle = _middle(density.means)
    there = names if gaps is None else gaps.filled(names, middle, density.covariance.matrices()[0], draft)
    white = _coordinates(whitening, np.zeros(len(names)), there, draft)
    centers = (density.means @ whitening).tolist()
    found = [total([square(shifted(column(z), -c)) for z, c in zip(white, of, strict=True)]) for of in centers]
    if gaps is None:
        return found
    excess = [gaps.looked_up(-2 * of) for of in gaps.excess(density, middle)]
    return [exp.Add(this=distance, expression=by) for distance, by in zip(found, excess, strict=True)]


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


def add_student(density: Student, columns: Sequence[int], about: About, draft: Draft, gaps: Gaps | None = None) -> None:
    """-(v + p)/2 log(1 + q / v), with q the squared distance in the metric of each class."""
    diagonal = as_diagonal(density.covariance)
    if diagonal is not None:
        _add_student_of_some(density, diagonal.deviations, columns, about, draft)
        return
    p, inverse = density.n_features, 1 / (density.factor * density.freedom)
    shape = Gaussian(density.means, density.covariance)
    for k, distance in enumerate(_distances(shape, columns, about, draft, gaps)):
        name = draft.define(Step.DISTANCE, "u", times(number(inverse[k]), distance))
        power = number(-0.5 * (density.freedom[k] + p))
        if gaps is not None:  # the features that are there
            power = exp.Add(this=power, expression=times(number(0.5), column(gaps.count)))
        draft.add(k, times(power, log_plus_one(name)))
    if gaps is None:
        draft.add_constants(_student_scale(density, p) - density.covariance.half_log_det)
    else:
        _add_looked_up(gaps.log_scales(density), gaps, draft)


def _student_scale(density: Student, p: int) -> Array:
    """log Γ((v + p)/2) - log Γ(v/2) - p/2 log(v π factor); (g,)."""
    v = density.freedom
    return np.asarray(gammaln((v + p) / 2) - gammaln(v / 2) - 0.5 * p * np.log(v * np.pi * density.factor))


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
        inverse = 1 / (density.factor[k] * density.freedom[k])
        name = draft.define(Step.DISTANCE, "u", times(number(inverse), total(_squares(parts, k, of_class))))
        power = times(number(-0.5), shifted(column(count), float(density.freedom[k])))
        draft.add(k, times(power, log_plus_one(name)))
        draft.add(k, lookup(column(count), scales[k]))
        for (x, _), s in zip(parts, of_class.tolist(), strict=True):
            draft.add(k, double(case((is_null(column(x)), number(0.0)), otherwise=number(-float(np.log(s))))))


def add_independent_student(density: IndependentStudent, columns: Sequence[int], about: About, draft: Draft) -> None:
    """-(v + 1)/2 log(1 + ((x - m) / s)² / v) of each column, and nothing where it is missing."""
    v, scale = density.freedom, np.sqrt(density.shapes)
    constants = gammaln((v + 1) / 2) - gammaln(v / 2) - 0.5 * np.log(v * np.pi * density.shapes)
    for j, place in enumerate(columns):
        x, away = _about_middle(density.means[:, j], scale[:, j], place, about)
        for k in range(density.count):
            inverse = 1 / (density.shapes[k, j] * v[k, j])
            name = draft.define(Step.DISTANCE, "u", times(number(inverse), square(shifted(column(x), -float(away[k])))))
            term = shifted(times(number(-0.5 * (v[k, j] + 1)), log_plus_one(name)), float(constants[k, j]))
            draft.add(k, or_zero(term))
