"""Losses averaged over what is believed of the weights: E f(V z), E ∇f(V z) and E ∇²f(V z), with V z Gaussian.

A row's loss depends on the weights by its scores alone, so that averages are over these: one for two classes, g - 1 for
more. For two classes s ~ N(m, v), and the error is rounding:

    up to a deviation of 1/2    Gauss-Hermite's rule of 5 to 16 points
    beyond                      the trapezoidal rule in x, where s = 10 sinh(x) (or 10 sqrt(v) sinh(x), if that is less)

The second has points where the loss bends, about s = 0, and where s is likely, however wide the Gaussian is: 34 points
at a deviation of 1, and 209 at one of 100. More classes are averaged by the rules of the predictive (see there).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from classwise.arrays import BLOCK_SIZE, Array, Codes, slices
from classwise.logistic.likelihood import Binary, Likelihood, Losses
from classwise.logistic.predictive import FAR, hermite, rules, scores_at

# Deviations of the score up to which so many points of Gauss and Hermite are exact to 1e-12.
NARROW = ((0.05, 5), (0.2, 8), (0.5, 16))

# The rule of graded points: how close they are in x, how far they are from even near s = 0, and rows at a time.
CLOSE = 0.05
EVEN = 10.0
WIDE_ROWS = 64

# From mean (r, m) and covariance (r, r, m): scores (k, N, m), and weights of the points (N, m) or (N, 1).
Place = Callable[[Array, Array], tuple[Array, Array]]


class Part(NamedTuple):
    """Rows, by position, whose scores are placed alike; how many of them at a time."""

    rows: Codes
    size: int
    place: Place


def averaged_losses(likelihood: Likelihood, mean: Array, covariance: Array, codes: Codes) -> Losses:
    """Over scores with mean (r, m) and covariance (r, r, m), of rows of classes codes (m,).

    >>> from classwise.logistic import Logit
    >>> losses = averaged_losses(Logit(), np.zeros((1, 1)), np.full((1, 1, 1), 4.0), np.array([1]))
    >>> [round(part.item(), 4) for part in losses]  # E log(1 + e^-s), E P - 1 and E P (1 - P), of s ~ N(0, 4)
    [1.0677, -0.5, 0.1514]
    """
    count = mean.shape[1]
    result = Losses(np.empty(count), np.empty((len(likelihood.basis), count)), np.empty((likelihood.factors, count)))
    parts = _parts_of_two if isinstance(likelihood, Binary) else _parts_of_many
    for part in parts(likelihood, covariance):
        for block in slices(len(part.rows), part.size):
            some = part.rows[block]
            scores, weights = part.place(mean[:, some], covariance[..., some])
            for total, average in zip(result, _average(likelihood, scores, weights, codes[some]), strict=True):
                total[..., some] = average
    return result


def _average(likelihood: Likelihood, scores: Array, weights: Array, codes: Codes) -> Iterator[Array]:
    """Losses, residuals and factors (..., m), from scores (k, N, m) and weights of the points (N, m) or (N, 1)."""
    _, points, rows = scores.shape
    losses = likelihood.losses(scores.reshape(len(scores), -1), np.tile(codes, points))
    return (np.einsum("...nm,nm->...m", part.reshape(*part.shape[:-1], points, rows), weights) for part in losses)


def _parts_of_two(likelihood: Likelihood, covariance: Array) -> Iterator[Part]:
    deviation, least = _deviation(covariance), -1.0
    for most, count in NARROW:
        rows = np.flatnonzero((deviation > least) & (deviation <= most))
        yield Part(rows, BLOCK_SIZE // count, partial(_by_hermite, count))
        least = most
    wide = np.flatnonzero(deviation > least)
    yield Part(wide[np.argsort(deviation[wide])], WIDE_ROWS, _graded)  # rows of similar deviations take as many points


def _parts_of_many(likelihood: Likelihood, covariance: Array) -> Iterator[Part]:
    contrasts = len(covariance)
    for chosen, rule in rules(np.einsum("aam->m", covariance), contrasts):
        points, weights = rule(contrasts)
        size = max(BLOCK_SIZE // ((likelihood.classes + likelihood.factors) * len(points)), 8)
        yield Part(np.flatnonzero(chosen), size, partial(_by_rule, likelihood, points, weights))


def _deviation(covariance: Array) -> Array:
    """Of the one score; rounding may have made a variance negative; (m,)."""
    return np.sqrt(np.maximum(covariance[0, 0], 0.0))


def _by_hermite(count: int, mean: Array, covariance: Array) -> tuple[Array, Array]:
    nodes, weights = hermite(count)
    return (mean[0] + nodes * _deviation(covariance))[None], weights


def _graded(mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Points t = t0 + width sinh(x) of N(0, 1), at equal steps of x; t0 is where the score is zero, if it is near."""
    deviation = _deviation(covariance)
    center = np.clip(-mean[0] / deviation, -FAR, FAR)
    width = np.minimum(EVEN / deviation, EVEN)
    low, high = np.arcsinh((-FAR - center) / width), np.arcsinh((FAR - center) / width)
    x = np.linspace(low, high, int(np.ceil((high - low).max() / CLOSE)) + 1)
    t = center + width * np.sinh(x)
    weights = np.cosh(x) * np.exp(-0.5 * t * t)
    return (mean[0] + deviation * t)[None], weights / weights.sum(axis=0)


def _by_rule(
    likelihood: Likelihood, points: Array, weights: Array, mean: Array, covariance: Array
) -> tuple[Array, Array]:
    return scores_at(likelihood, mean, covariance, points, steady=True), weights[:, None]
