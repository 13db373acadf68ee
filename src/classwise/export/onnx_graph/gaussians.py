"""Gaussians and Student-t in an ONNX graph, centered and whitened.

    Gaussian:   -1/2 q - 1/2 log|C|
    Student-t:  log Γ((v + p)/2) - log Γ(v/2) - p/2 log(v π) - 1/2 log|C| - (v + p)/2 log(1 + q / v)

with q = (x - m)' C^-1 (x - m). Rows and means are taken about the average of the means before anything else, so that a
common offset costs no digits. Where values are missing, q, |C| and p are those of the columns that are there.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.covariance import Covariance, DiagonalCovariance
from classwise.covariance.exponents import FAR, Shared
from classwise.densities import Gaussian, Student
from classwise.export.onnx_graph.rows import Distances, Rows, marginal_distances, with_gaps
from classwise.export.onnx_graph.tensor import Tensor


def gaussian_scores(density: Gaussian, rows: Rows) -> Tensor:
    """log N(x | m_k, C_k), up to a term common to all classes; (n, g)."""
    origin, means = _about_origin(density.means)
    values, covariance = rows.numbers() - origin, density.covariance
    if isinstance(covariance, DiagonalCovariance):
        return _independent(values, means, covariance)
    complete = _shared(values, means, covariance) if _is_shared(means, covariance) else _own(values, means, covariance)
    return _filled(rows, values, complete, means, covariance, lambda of: of.squares * -0.5 - of.half_log_det)


def student_scores(density: Student, rows: Rows) -> Tensor:
    """log t(x | m_k, factor_k C_k, v_k); (n, g)."""
    origin, means = _about_origin(density.means)
    values, covariance = rows.numbers() - origin, density.covariance
    if isinstance(covariance, DiagonalCovariance):
        return _student(density, _distances_alone(values, means, covariance))
    count = rows.graph.constant(np.array([means.shape[1]]))
    half_log_det = rows.graph.constant(np.broadcast_to(covariance.half_log_det, len(means))[None])
    complete = _student(density, Distances(_whitened(values, means, covariance), half_log_det, count))
    return _filled(rows, values, complete, means, covariance, lambda of: _student(density, of))


def _student(density: Student, of: Distances) -> Tensor:
    """With the terms that depend on the number of columns looked up by that number."""
    v, counts = density.freedom, np.arange(density.n_features + 1)[:, None]
    scale = gammaln((v + counts) / 2) - gammaln(v / 2) - 0.5 * counts * np.log(v * np.pi * density.factor)
    power, graph = -0.5 * (v + counts), of.squares.graph
    looked_up = [graph.node("Gather", table, of.count, axis=0) for table in (scale, power)]
    spread = (of.squares / (density.factor * v)[None] + 1.0).log()
    return looked_up[0] + looked_up[1] * spread - of.half_log_det


# Complete rows --------------------------------------------------------------------------------------------------------


def _shared(values: Tensor, means: Array, covariance: Covariance) -> Tensor:
    """One metric for all classes: measured in the space that the means span; (n, p) -> (n, g)."""
    shared = Shared.of(covariance, means)
    along, centers = (values - shared.middle[None]) @ shared.projection, shared.centers
    if np.abs(centers).max(initial=0.0) > FAR:
        return (along.widen(1) - centers[None]).squared().sum(2) * -0.5
    return along @ centers.T - 0.5 * (centers**2).sum(axis=1)[None]


def _own(values: Tensor, means: Array, covariance: Covariance) -> Tensor:
    """A metric for each class; (n, p) -> (n, g)."""
    return _whitened(values, means, covariance) * -0.5 - covariance.half_log_det[None]


def _whitened(values: Tensor, means: Array, covariance: Covariance) -> Tensor:
    """q, by whitening; (n, p) -> (n, g)."""
    features = means.shape[1]
    whitening = np.stack([covariance.project(np.eye(features), k) for k in range(len(covariance.values))])
    centers = (means[:, None, :] @ whitening)[:, 0]
    side_by_side = values @ whitening.transpose(1, 0, 2).reshape(features, -1)
    return (side_by_side.reshape(0, len(whitening), features) - centers[None]).squared().sum(2)


def _filled(
    rows: Rows,
    values: Tensor,
    complete: Tensor,
    means: Array,
    covariance: Covariance,
    score: Callable[[Distances], Tensor],
) -> Tensor:
    """The scores of complete rows, and in place of the others those of the columns that are there."""
    if rows.strict:
        return complete

    def of_what_is_there(some: Tensor) -> Tensor:
        return score(marginal_distances(rows.graph, some, means, covariance.matrices()))

    return with_gaps(rows.graph, values, complete, of_what_is_there)


# Columns that are independent: what is missing is left out ------------------------------------------------------------


def _independent(values: Tensor, means: Array, covariance: Covariance) -> Tensor:
    """-1/2 sum over columns of (x - m)² / s² and log s², of what is there; (n, p) -> (n, g)."""
    deviations = np.broadcast_to(np.sqrt(covariance.variances()), means.shape)
    if np.abs(means / deviations).max(initial=0.0) > FAR:
        of = _distances_alone(values, means, covariance)
        return of.squares * -0.5 - of.half_log_det
    absent = values.is_nan()
    there, values = (~absent).cast(np.float64), absent.where(0.0, values)
    precisions = deviations**-2.0
    constant = -0.5 * means**2 * precisions
    if _is_shared(means, covariance):  # x² and the volume are common to all classes
        return values @ (means * precisions).T + there @ constant.T
    exponents = values @ (means * precisions).T + values.squared() @ (-0.5 * precisions).T
    return exponents + there @ (constant - np.log(deviations)).T


def _distances_alone(values: Tensor, means: Array, covariance: Covariance) -> Distances:
    deviations = np.broadcast_to(np.sqrt(covariance.variances()), means.shape)
    absent = values.is_nan()
    away = (values.widen(1) - means[None]) / deviations[None]
    there = (~absent).cast(np.float64)
    squares = absent.widen(1).where(0.0, away).squared().sum(2)
    return Distances(squares, there @ np.log(deviations).T, there.cast(np.int64).sum(1))


def _about_origin(means: Array) -> tuple[Array, Array]:
    """The average of the means, and the means about it; (1, p), (g, p)."""
    origin = means[:1] + (means - means[0]).mean(axis=0)
    return origin, means - origin


def _is_shared(means: Array, covariance: Covariance) -> bool:
    return len(covariance.values) < len(means)
