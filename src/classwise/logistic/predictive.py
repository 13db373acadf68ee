"""Averages over what is believed of the weights, with V z Gaussian: of probabilities, P(k | x) = E P(k | V z), and of
losses with their derivatives, E f(V z), E ∇f(V z) and E ∇²f(V z).

A row depends on the weights by its scores alone, so that averages are over these. Two classes have one, s ~ N(m, v).
Probabilities:

    probit      Φ(m / sqrt(1 + v)), exactly
    logit       Gauss-Hermite's rule of 32 points, for deviations up to 1; up to 30, the trapezoidal rule with points
                so close that its error, which falls as exp(-2π² / (h sqrt v)), is rounding; beyond, closed tails and
                Gauss-Legendre's rule between them
    moderated   1 / (1 + exp(-m / sqrt(1 + π v / 8))), MacKay's (1992) approximation

Losses, to rounding:

    up to a deviation of 1/2    Gauss-Hermite's rule of 5 to 16 points
    beyond                      the trapezoidal rule in x, where s = 10 sinh(x) (or 10 sqrt(v) sinh(x), if that is less)

The second has points where the loss bends, about s = 0, and where s is likely, however wide the Gaussian is: 34 points
at a deviation of 1, and 209 at one of 100.

More classes have r = g - 1 correlated contrasts of scores. Where these are well known (variances that sum to at most
0.1) a rule of 2 r² + 1 points, exact to degree 5, is good to about 1e-5. Elsewhere it takes 2048 points: for three or
four classes a grid by Gauss-Hermite's rule, good to about 1e-6 and 1e-4; for more, and for variances beyond 8, a
lattice that fills the space evenly, each point with its mirror image, good to about 1e-3. All are the same for every
call, and probabilities sum to 1 exactly.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_expit, log_ndtr, logsumexp, ndtri

from classwise.arrays import BLOCK_SIZE, Array, Codes, log_normalize, slices
from classwise.logistic.likelihood import Binary, Likelihood, Logit, Losses

HERMITE = 32
NARROW = 1.0
# The trapezoidal rule in deviations: how far, and how close in units of the score.
FAR = 9.0
CLOSE = 0.6

# Beyond this deviation its points would be too many: the rule on a window of scores serves, and so many points of it.
VAST = 30.0
ENDS = 40.0
LEGENDRE = 160

# Points of the lattice, half of them mirrored; the total variance of scores up to which fewer do.
POINTS = 2048
TIGHT = 0.1

# Up to so many contrasts, of so much variance in all, a grid of as many points is better than a lattice.
GRIDDED = 3
WIDE = 8.0
# More nodes of Gauss and Hermite on one axis are of no use: the weights of the outer ones vanish.
MOST_NODES = 64
# Points of less weight are left out. Of three classes that is two in five: their weights add up to less than 1e-19.
LEAST_WEIGHT = 1e-22

# Deviations of the score up to which so many points of Gauss and Hermite are exact to 1e-12.
HERMITE_COUNTS = ((0.05, 5), (0.2, 8), (0.5, 16))

# The rule of graded points: how close they are in x, how far they are from even near s = 0, and rows at a time.
GRADED = 0.05
EVEN = 10.0
WIDE_ROWS = 64

# Points of N(0, I) (N, r), and their weights (N,), for r dimensions.
Rule = Callable[[int], tuple[Array, Array]]


def log_average(likelihood: Likelihood, mean: Array, covariance: Array) -> Array:
    """log E P(k | s) of scores with mean (r, m) and covariance (r, r, m); (g, m)."""
    if not isinstance(likelihood, Binary):
        return _log_average_of_many(likelihood, mean, covariance)
    m, v = mean[0], np.maximum(covariance[0, 0], 0.0)
    if not isinstance(likelihood, Logit):
        return likelihood.log_probabilities((m / np.sqrt(1 + v))[None])
    # Of the less probable class first, whose digits are those that matter.
    rare = _log_rare(-np.abs(m), np.sqrt(v))
    common = np.log1p(-np.exp(rare))
    return np.where(m > 0, np.stack([rare, common]), np.stack([common, rare]))


def log_moderated(likelihood: Likelihood, mean: Array, covariance: Array) -> Array:
    """MacKay's approximation, and for more classes that of each pair put together:

    P(k) = 1 / sum over l of exp(-(m_k - m_l) / sqrt(1 + π v_kl / 8)), divided by their sum; v_kl that of s_k - s_l.
    """
    if isinstance(likelihood, Binary):
        v = covariance[0, 0]
        spread = np.sqrt(1 + (np.pi * v / 8 if isinstance(likelihood, Logit) else v))
        return likelihood.log_probabilities((mean[0] / spread)[None])
    scores = likelihood.basis @ mean
    full = np.einsum("ka,abm,lb->klm", likelihood.basis, covariance, likelihood.basis)
    own = np.einsum("kkm->km", full)
    variance = np.maximum(own[:, None] + own[None] - 2 * full, 0.0)
    differences = (scores[:, None] - scores[None]) / np.sqrt(1 + np.pi * variance / 8)
    return log_normalize(-logsumexp(-differences, axis=1))


def _log_rare(mean: Array, deviation: Array) -> Array:
    """log E 1 / (1 + e^-s), mean at most 0."""
    result = np.empty(len(mean))
    wide = deviation > NARROW
    nodes, weights = hermite(HERMITE)
    result[~wide] = _log_sum(mean[~wide] + nodes * deviation[~wide], weights)
    order = np.flatnonzero(wide)[np.argsort(deviation[wide])]  # rows of similar deviations take as many points
    for some in slices(len(order), WIDE_ROWS):
        m, d = mean[order[some]], deviation[order[some]]
        result[order[some]] = _log_rare_wide(m, d) if d[-1] <= VAST else _log_rare_vast(m, d)
    return result


def _log_sum(scores: Array, weights: Array) -> Array:
    """log of the weighted sum over points (points, 1) of P at scores (points, m), also where that is below 1e-308."""
    total = (weights * expit(scores)).sum(axis=0)
    lost = total < 1e-290
    with np.errstate(divide="ignore"):
        result = np.log(total)
    if lost.any():
        result[lost] = logsumexp(log_expit(scores[:, lost]) + np.log(weights), axis=0)
    return np.asarray(result)


def _log_rare_wide(mean: Array, deviation: Array) -> Array:
    """The trapezoidal rule: the integrand is largest between m and m + v, and not far above 0."""
    top = np.minimum(deviation, -mean / deviation) + FAR
    count = int(np.ceil(((top + FAR) * deviation).max() / CLOSE)) + 1
    t = np.linspace(np.full(len(top), -FAR), top, count)
    logs = log_expit(mean + deviation * t) - 0.5 * t * t
    return np.asarray(logsumexp(logs, axis=0) + np.log((t[1] - t[0]) / np.sqrt(2 * np.pi)))


def _log_rare_vast(mean: Array, deviation: Array) -> Array:
    """However wide the Gaussian is: beyond 40 either way the probability is 1 or e^s to rounding, and those parts are
    known; between, Gauss and Legendre's rule takes as many points for every deviation.

        E 1 / (1 + e^-s) = P(s > 40) + integral from -40 to 40 + E [e^s; s < -40]

    The last is e^-40 N(-40 | m, v) times a Mills ratio, and as a product keeps its digits where its factors overflow.
    """
    nodes, weights = legendre()
    density = -0.5 * ((nodes - mean) / deviation) ** 2 - np.log(deviation)
    middle = logsumexp(log_expit(nodes) + density + np.log(weights / np.sqrt(2 * np.pi)), axis=0)
    above = log_ndtr((mean - ENDS) / deviation)
    x = (-ENDS - mean) / deviation - deviation
    with np.errstate(over="ignore"):
        tilted = -ENDS - 0.5 * ((ENDS + mean) / deviation) ** 2 + np.log(0.5 * erfcx(np.maximum(-x, 0) / np.sqrt(2)))
        below = np.where(x < 0, tilted, mean + 0.5 * deviation**2 + log_ndtr(x))
    return np.asarray(logsumexp([above, middle, below], axis=0))


@lru_cache(maxsize=1)
def legendre() -> tuple[Array, Array]:
    """Points and weights of Gauss and Legendre's rule on both halves of [-40, 40]; (count, 1) each."""
    points, weights = np.polynomial.legendre.leggauss(LEGENDRE)
    half = 0.5 * ENDS * (points + 1)
    return np.concatenate([-half[::-1], half])[:, None], np.tile(0.5 * ENDS * weights, 2)[:, None]


@lru_cache(maxsize=8)
def hermite(count: int) -> tuple[Array, Array]:
    """Points and weights for averages over N(0, 1); (count, 1) each."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes[:, None], (weights / weights.sum())[:, None]


def _log_average_of_many(likelihood: Likelihood, mean: Array, covariance: Array) -> Array:
    result = np.empty((likelihood.classes, mean.shape[1]))
    for rows, rule in rules(np.einsum("aam->m", covariance), len(mean)):
        if rows.any():
            result[:, rows] = _log_by_rule(likelihood, mean[:, rows], covariance[..., rows], *rule(len(mean)))
    return result


def rules(total: Array, contrasts: int) -> list[tuple[NDArray[np.bool_], Rule]]:
    """Which rows are averaged by which rule, by their total variance (m,)."""
    tight = (total <= TIGHT) & (2 * contrasts**2 < POINTS)
    gridded = ~tight & (total <= WIDE) & (contrasts <= GRIDDED)
    return [(tight, cubature), (gridded, grid), (~tight & ~gridded, lattice)]


def _log_by_rule(likelihood: Likelihood, mean: Array, covariance: Array, points: Array, weights: Array) -> Array:
    """log of the weighted sum of P(k | s) over points (N, r) of N(0, I), a block of rows at a time."""
    result = np.empty((likelihood.classes, mean.shape[1]))
    size = max(BLOCK_SIZE // (likelihood.classes * len(points)), 16)
    for rows in slices(mean.shape[1], size):
        p = at_points(likelihood, mean[:, rows], covariance[..., rows], points)
        total = np.einsum("knm,n->km", p, weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            result[:, rows] = np.log(total)
        lost = np.flatnonzero(~(total > 1e-280).all(axis=0)) + rows.start
        if len(lost):  # below what float64 can hold, in logs from the beginning
            result[:, lost] = _log_of_lost(likelihood, mean[:, lost], covariance[..., lost])
    return result


def _log_of_lost(likelihood: Likelihood, mean: Array, covariance: Array) -> Array:
    points, weights = lattice(len(mean))
    scores = scores_at(likelihood, mean, covariance, points)
    logs = likelihood.log_probabilities(scores.reshape(len(scores), -1)).reshape(scores.shape)
    return np.asarray(logsumexp(logs + np.log(weights)[:, None], axis=1))


def at_points(likelihood: Likelihood, mean: Array, covariance: Array, points: Array) -> Array:
    """P(k | s) at points (N, r) of N(0, I), for scores of this mean and covariance; (g, N, m)."""
    scores = scores_at(likelihood, mean, covariance, points)
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores


def scores_at(likelihood: Likelihood, mean: Array, covariance: Array, points: Array, steady: bool = False) -> Array:
    """U (mean + root point); (g, N, m). steady: points move little with the covariance."""
    roots = np.einsum("ka,mab->kbm", likelihood.basis, _roots(covariance, steady))
    scores = np.empty((likelihood.classes, len(points), mean.shape[1]))
    for k, center in enumerate(likelihood.basis @ mean):
        np.dot(points, roots[k], out=scores[k])
        scores[k] += center
    return scores


def _roots(covariance: Array, steady: bool) -> Array:
    """Square roots of covariances (r, r, m), of which rounding may have made some negative; (m, r, r).

    Those along the axes suit the lattice best, whose first columns are the most even. steady: the symmetric ones, to
    which the signs and the order of axes do not matter: a small change of a covariance is a small change of its root.
    """
    values, axes = np.linalg.eigh(np.moveaxis(covariance, -1, 0))
    # Which way an axis points is up to the program that computes it: a rule makes all of them agree, and the lattice.
    forward = (1 / np.sqrt(np.arange(1.0, len(covariance) + 1))) @ axes
    along = axes * (np.where(forward < 0, -1.0, 1.0) * np.sqrt(np.maximum(values, 0.0)))[:, None, :]
    return np.asarray(along @ axes.transpose(0, 2, 1)) if steady else along


@lru_cache(maxsize=8)
def lattice(dimensions: int) -> tuple[Array, Array]:
    """Points of N(0, I) spread more evenly than random ones, and their weights; (2048, dimensions), (2048,).

    A lattice by the generalized golden ratio (Roberts 2018), each point with its mirror image, so that the mean is 0
    exactly; turned and scaled so that the covariance is I exactly.
    """
    half = POINTS // 2
    steps = (1 / _generalized_golden_ratio(dimensions)) ** np.arange(1, dimensions + 1)
    uniform = (0.5 + np.arange(1, half + 1)[:, None] * steps) % 1
    normal = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
    normal = np.linalg.solve(np.linalg.cholesky(normal.T @ normal / half), normal.T).T
    return np.concatenate([normal, -normal]), np.full(POINTS, 1 / POINTS)


@lru_cache(maxsize=GRIDDED)
def grid(dimensions: int) -> tuple[Array, Array]:
    """The product of Gauss-Hermite's rules of each axis, of at most 2048 points in all; (N, dimensions), (N,).

    Points in the corners, of next to no weight, are left out.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(min(int(POINTS ** (1 / dimensions)), MOST_NODES))
    points = np.stack([axis.ravel() for axis in np.meshgrid(*[nodes] * dimensions)], axis=1)
    shares = np.meshgrid(*[weights / weights.sum()] * dimensions)
    products = np.prod([share.ravel() for share in shares], axis=0)
    some = products > LEAST_WEIGHT
    return points[some], products[some]


@lru_cache(maxsize=8)
def cubature(dimensions: int) -> tuple[Array, Array]:
    """Points and weights for averages over N(0, I), exact for polynomials of degree 5 (McNamee and Stenger 1967).

    At the center, at +-sqrt(3) along each axis, and at the corners of each pair of axes; (2 r² + 1, r).
    """
    r, reach = dimensions, np.sqrt(3.0)
    axes = reach * np.eye(r)
    points, weights = [np.zeros((1, r)), axes, -axes], [1 + (r * r - 7 * r) / 18, *[(4 - r) / 18] * (2 * r)]
    for i, j in zip(*np.triu_indices(r, 1), strict=True):
        points.append(np.array([a * axes[i] + b * axes[j] for a in (1, -1) for b in (1, -1)]))
        weights += [1 / 36] * 4
    return np.concatenate(points), np.array(weights)


def _generalized_golden_ratio(dimensions: int) -> float:
    """The root of x^(d + 1) = x + 1."""
    ratio = 2.0
    for _ in range(64):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    return ratio


# Losses ---------------------------------------------------------------------------------------------------------------

# From mean (r, m) and covariance (r, r, m): scores (k, N, m), and weights of the points (N, m) or (N, 1).
Place = Callable[[Array, Array], tuple[Array, Array]]


class ScoreRule(NamedTuple):
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


def _parts_of_two(likelihood: Likelihood, covariance: Array) -> Iterator[ScoreRule]:
    deviation, least = _deviation(covariance), -1.0
    for most, count in HERMITE_COUNTS:
        rows = np.flatnonzero((deviation > least) & (deviation <= most))
        yield ScoreRule(rows, BLOCK_SIZE // count, partial(_by_hermite, count))
        least = most
    wide = np.flatnonzero(deviation > least)
    yield ScoreRule(
        wide[np.argsort(deviation[wide])], WIDE_ROWS, _graded
    )  # rows of similar deviations take as many points


def _parts_of_many(likelihood: Likelihood, covariance: Array) -> Iterator[ScoreRule]:
    contrasts = len(covariance)
    for chosen, rule in rules(np.einsum("aam->m", covariance), contrasts):
        points, weights = rule(contrasts)
        size = max(BLOCK_SIZE // ((likelihood.classes + likelihood.factors) * len(points)), 8)
        yield ScoreRule(np.flatnonzero(chosen), size, partial(_by_rule, likelihood, points, weights))


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
    x = np.linspace(low, high, int(np.ceil((high - low).max() / GRADED)) + 1)
    t = center + width * np.sinh(x)
    weights = np.cosh(x) * np.exp(-0.5 * t * t)
    return (mean[0] + deviation * t)[None], weights / weights.sum(axis=0)


def _by_rule(
    likelihood: Likelihood, points: Array, weights: Array, mean: Array, covariance: Array
) -> tuple[Array, Array]:
    return scores_at(likelihood, mean, covariance, points, steady=True), weights[:, None]
