"""Logistic regression on rows that stay on a device: sums of losses and their derivatives, and scores, leave it.

Columns, losses and sums are those of regression.py, row-major: z (m, q), scores (m, k), factors (m, c).
"""

from itertools import combinations
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.engines.device import away_from, exact_product, multiplied, on_device_of, summed, values_of
from classwise.logistic.design import NUMBER, Design
from classwise.logistic.likelihood import Likelihood, Logit, Softmax
from classwise.logistic.posterior import Laplace
from classwise.rows.device_rows import DeviceLabels, from_host, has_double, namespace, to_host
from classwise.rows.table import Table
from classwise.statistics import Curvature


def columns_in_place(design: Design, rows: Any) -> Any:
    """(x - center) / scale, the mean where a value is missing, and a one; (m, p) -> (m, q)."""
    xp = namespace(rows)
    own = rows if design.is_plain and rows.shape[1] == len(design.source) else _taken(xp, rows, design)
    away = away_from(own, design.center) / on_device_of(design.scale, rows)
    z = xp.where(xp.isnan(away), on_device_of((design.mean - design.center) / design.scale, rows), away)
    return xp.concat([z, xp.ones_like(z[:, :1])], axis=1) if design.intercept else z


def _taken(xp: Any, rows: Any, design: Design) -> Any:
    return xp.take(rows, from_host(design.source.astype(np.int32), rows), axis=1)


def is_of_numbers(design: Design) -> bool:
    """Whether no column stands for a level."""
    return bool((design.level == NUMBER).all())


def curvature_in_place(
    design: Design, likelihood: Likelihood, weights: Array, chunk: Table, curved: bool
) -> Curvature | None:
    """Of rows on a device, at weights V (r, q); None, where columns are not all numbers, the link is another, or the
    device has no float64: Newton's steps would not settle.
    """
    rows, held = values_of(chunk), chunk.labels
    if not is_of_numbers(design) or not isinstance(likelihood, (Logit, Softmax)) or not has_double(rows):
        return None
    codes = held.positions if isinstance(held, DeviceLabels) else from_host(np.asarray(held), rows)
    z = columns_in_place(design, rows)
    scores = exact_product(z, on_device_of((likelihood.basis @ weights).T, rows))
    of_two = isinstance(likelihood, Logit)
    losses, residuals, factors = (_of_two if of_two else _of_many)(namespace(rows), scores, codes, curved)
    weight = float(len(chunk))
    if chunk.weights is not None:
        own = on_device_of(chunk.weights, rows)[:, None]
        losses, residuals, factors = losses * own, residuals * own, [factor * own for factor in factors]
        weight = float(chunk.weights.sum())
    products = [multiplied(z * factor, z) for factor in factors]
    square = np.stack(products) if products else np.zeros((0, z.shape[1], z.shape[1]))
    return Curvature(weight, float(summed(losses)[0]), multiplied(residuals, z), square)


def _of_two(xp: Any, scores: Any, codes: Any, curved: bool) -> tuple[Any, Any, list[Any]]:
    """Losses (m, 1), residuals (m, 1) and the second derivative (m, 1) of logit."""
    sign = 2.0 * xp.astype(codes == 1, scores.dtype)[:, None] - 1.0
    t = scores * sign
    small = xp.exp(-xp.abs(t))
    losses = xp.log1p(small) + xp.where(t < 0, -t, xp.zeros_like(t))
    wrong = xp.where(t > 0, small, xp.ones_like(t)) / (1 + small)
    right = xp.where(t > 0, xp.ones_like(t), small) / (1 + small)
    return losses, -sign * wrong, [right * wrong] if curved else []


def _of_many(xp: Any, scores: Any, codes: Any, curved: bool) -> tuple[Any, Any, list[Any]]:
    """Losses (m, 1), residuals (m, g) and p_k p_l (m, 1) of the pairs k < l of softmax."""
    count = scores.shape[1]
    own = codes[:, None] == from_host(np.arange(count), codes, codes.dtype)[None, :]
    shifted = scores - xp.max(scores, axis=1, keepdims=True)
    p = xp.exp(shifted)
    among = xp.sum(p, axis=1, keepdims=True)
    p = p / among
    nothing = xp.zeros_like(p)
    losses = xp.log(among) - xp.sum(xp.where(own, shifted, nothing), axis=1, keepdims=True)
    # p - 1 of the own class is minus the sum of the others, which keeps its digits where p is almost 1.
    others = xp.where(own, nothing, p)
    residuals = xp.where(own, -xp.sum(others, axis=1, keepdims=True), p)
    pairs = combinations(range(count), 2) if curved else ()
    return losses, residuals, [p[:, k : k + 1] * p[:, m : m + 1] for k, m in pairs]


def gaussian_scores_in_place(design: Design, beliefs: Laplace, rows: Any) -> tuple[Array, Array]:
    """Mean (r, m) and covariance (r, r, m) of the contrasts of scores, in NumPy."""
    xp, z = namespace(rows), columns_in_place(design, rows)
    mean = np.asarray(to_host(exact_product(z, on_device_of(beliefs.mode.T, rows))), dtype=np.float64).T
    covariance = np.empty((len(mean), *mean.shape))
    for a in range(len(mean)):
        for b in range(a + 1):
            squares = xp.sum(exact_product(z, on_device_of(beliefs.blocks[a, b], rows)) * z, axis=1)
            covariance[a, b] = covariance[b, a] = np.asarray(to_host(squares), dtype=np.float64)
    return mean, covariance
