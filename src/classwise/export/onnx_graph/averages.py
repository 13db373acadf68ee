"""Averages over the weights of logistic regression, in an ONNX graph.

two classes    s ~ N(m, d²):  E P(s), by the trapezoidal rule in x, where s = 10 sinh(x) near 0: to rounding for
               every deviation
more classes   the points of classwise, along the axes of the covariance of scores, which Jacobi's rotations find
draws          the mean over the draws
probit         Φ(m / sqrt(1 + d²)), with Φ by Chebyshev's polynomials
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from classwise.arrays import Array
from classwise.export.linear import Affine, WeightAverage, weight_average
from classwise.export.onnx_graph.graph import Graph, Tensor
from classwise.export.onnx_graph.mixtures import log_sum_exp
from classwise.logistic import LogisticClassifier, Probit, Softmax
from classwise.logistic.predictive import GRIDDED, POINTS, TIGHT, WIDE, cubature, grid, lattice

# Points of the rule for two classes; how far they go in deviations; and how far they are even near s = 0.
COUNT = 400
REACH = 9.0
EVEN = 10.0

# Rounds of Jacobi's rotations; they double the digits each time, once there are some.
SWEEPS = 9

# Below this, points of little weight do not change a probability.
LOST = 1e-280


def needs_average(classifier: LogisticClassifier) -> bool:
    """Whether P(k | x) is more than a formula of linear scores."""
    of_pairs = classifier.predictive == "moderated" and isinstance(classifier.likelihood, Softmax)
    return classifier.predictive == "integrated" or of_pairs or isinstance(classifier.likelihood, Probit)


def averaged_scores(classifier: LogisticClassifier, entries: Tensor, order: list[int]) -> Tensor:
    """Scores of which softmax is P(k | x); entries (n, q'): in this order."""
    average, basis = weight_average(classifier), classifier.likelihood.basis
    is_probit = isinstance(classifier.likelihood, Probit)
    mean = _mapped(average.mean, entries, order)
    if classifier.predictive == "plugin":
        return _probit(mean)
    if average.draws is not None:
        return _by_draws(average.draws, basis, entries, order)
    if isinstance(classifier.likelihood, Softmax):
        covariance = _covariance(average, entries, order)
        return (_of_many if classifier.predictive == "integrated" else _of_pairs)(basis, mean, covariance)
    variance = _mapped(average.roots[0], entries, order).squared().sum(1, keep=True)
    # As in Python, a row so far away that its variance is infinite has no answer.
    mean = (variance < np.inf).where(mean, np.nan)
    return _probit(mean / (variance + 1.0).sqrt()) if is_probit else _of_two(mean, variance.sqrt())


def _mapped(affine: Affine, entries: Tensor, order: list[int]) -> Tensor:
    return entries @ affine.slopes[order] + affine.constants[None]


# Two classes ----------------------------------------------------------------------------------------------------------


def _of_two(mean: Tensor, deviation: Tensor) -> Tensor:
    """log E P of both classes; (n, 1), (n, 1) -> (n, 2). Points t of N(0, 1) are closest where the score is zero."""
    graph = mean.graph
    deviation = graph.node("Max", deviation, 1e-12)
    center = graph.node("Max", graph.node("Min", mean / deviation * -1.0, REACH), -REACH)
    width = graph.node("Min", deviation.graph.constant(np.array([[EVEN]])) / deviation, EVEN)
    low, high = (_arcsinh((center * -1.0 + end) / width) for end in (-REACH, REACH))
    x = low + (high - low) * np.linspace(0.0, 1.0, COUNT)[None]
    up, down = x.exp(), (x * -1.0).exp()
    t = center + width * ((up - down) * 0.5)
    weights = (up + down) * (t.squared() * -0.5).exp()
    score = mean + deviation * t
    total = weights.sum(1, keep=True)
    sums = [(weights / ((score * sign).exp() + 1.0)).sum(1, keep=True) / total for sign in (1.0, -1.0)]
    return graph.concat(sums).log()


def _arcsinh(z: Tensor) -> Tensor:
    size = z.graph.node("Abs", z)
    return z.graph.node("Sign", z) * (size + (size.squared() + 1.0).sqrt()).log()


def _probit(score: Tensor) -> Tensor:
    """log Φ of both classes; (n, 1) -> (n, 2)."""
    graph = score.graph
    tail = _upper_tail(graph.node("Abs", score))
    rest = (tail * -1.0 + 1.0).log()
    is_second = score > 0.0
    return graph.concat([is_second.where(tail.log(), rest), is_second.where(rest, tail.log())])


def _upper_tail(x: Tensor) -> Tensor:
    """1 - Φ(x) for x >= 0: with z = x / √2 and t = 2 / (2 + z), erfc(z) is t exp(-z²) times a smooth function of t."""
    z = x * float(np.sqrt(0.5))
    t = x.graph.constant(np.array([[2.0]])) / (z + 2.0)
    y, following, last = t * 2.0 - 1.0, None, None
    coefficients = _tail_coefficients()
    for coefficient in coefficients[:0:-1].tolist():  # Clenshaw's recurrence
        value = y * 0.0 + coefficient if following is None else y * 2.0 * following + coefficient
        following, last = (value if last is None else value - last), following
    assert following is not None
    assert last is not None
    return (y * following - last + float(coefficients[0]) - z.squared()).exp() * t * 0.5


def _tail_coefficients() -> Array:
    """Of log(erfcx(z) / t) in Chebyshev's polynomials of 2 t - 1, for t from 0 to 1."""

    def smooth(y: Any) -> Any:
        t = np.maximum((y + 1) / 2, 1e-9)
        return np.log(erfcx(2 / t - 2) / t)

    return np.asarray(chebyshev.chebinterpolate(smooth, 30))


def _by_draws(draws: Affine, basis: Array, entries: Tensor, order: list[int]) -> Tensor:
    """log of the mean over draws of P(k | x)."""
    contrasts = basis.shape[1]
    scores = _mapped(draws, entries, order)
    count = draws.slopes.shape[1] // contrasts
    if len(basis) > 1:
        every = scores.reshape(0, count, contrasts) @ basis.T
        odds = (every - every.max(2)).exp()
        return ((odds / odds.sum(2, keep=True)).sum(1) / float(count)).log()
    second = scores.graph.node("Sigmoid", scores).sum(1, keep=True) / float(count)
    return scores.graph.concat([second * -1.0 + 1.0, second]).log()


# More classes ---------------------------------------------------------------------------------------------------------


def _covariance(average: WeightAverage, entries: Tensor, order: list[int]) -> Tensor:
    """Of the contrasts of scores; (n, r, r)."""
    away = [_mapped(root, entries, order) for root in average.roots]
    products = [[(a * b).sum(1, keep=True).widen(2) for b in away] for a in away]
    return entries.graph.concat([entries.graph.node("Concat", *row, axis=2) for row in products])


def _of_pairs(basis: Array, mean: Tensor, covariance: Tensor) -> Tensor:
    """MacKay's approximation for each pair: -log sum over l of exp(-(m_k - m_l) / sqrt(1 + π v_kl / 8)); (n, g)."""
    graph, count = mean.graph, len(basis)
    apart = (basis[:, None] - basis[None]).reshape(count * count, -1)  # s_k - s_l, as contrasts
    along = graph.constant(apart[None]) @ covariance
    variance = graph.node("Max", (along * apart[None]).sum(2), 0.0)
    differences = mean @ apart.T / (variance * (np.pi / 8) + 1.0).sqrt()
    return log_sum_exp((differences * -1.0).reshape(0, count, count), 2).squeeze(2) * -1.0


def _of_many(basis: Array, mean: Tensor, covariance: Tensor) -> Tensor:
    """log of the weighted sum of P(k | s) over points of the scores, row by row; (n, g)."""
    graph, contrasts = mean.graph, basis.shape[1]
    total = (covariance * np.eye(contrasts)[None]).sum(2).sum(1, keep=True)
    root = _roots(graph, covariance, contrasts)

    def score(m: Tensor, r: Tensor, spread: Tensor) -> Sequence[Tensor]:
        def by(points: Array, weights: Array) -> Tensor:
            scores = (graph.constant(points) @ r.transpose(1, 0) + m.widen(0)) @ basis.T
            odds = (scores - scores.max(1)).exp()
            return graph.constant(weights[None]) @ (odds / odds.sum(1, keep=True))

        def evenly() -> Tensor:
            return by(*lattice(contrasts))

        def wider() -> Tensor:
            if contrasts > GRIDDED:
                return evenly()
            return graph.choose(~(spread > WIDE).squeeze(0), lambda: by(*grid(contrasts)), evenly)

        few = 2 * contrasts**2 < POINTS
        found = graph.choose(~(spread > TIGHT).squeeze(0), lambda: by(*cubature(contrasts)), wider) if few else wider()
        least = found.min(1).squeeze(1).squeeze(0)
        return [graph.choose(least > LOST, lambda: found, evenly).squeeze(0)]

    return graph.each(score, (1,), mean, root, total)[0].log()


def _roots(graph: Graph, covariance: Tensor, size: int) -> Tensor:
    """Axes times deviations, from the least to the largest, pointing as classwise has them; (n, r, r)."""
    identity = np.eye(size)
    pairs = [(p, q) for _ in range(SWEEPS) for p in range(size) for q in range(p + 1, size)]
    first, second = (graph.constant(identity[list(of)]) for of in zip(*pairs, strict=True))

    def rotate(number: Tensor, a: Tensor, axes: Tensor) -> Sequence[Tensor]:
        p, q = first.take(number, 0), second.take(number, 0)
        across, down = (p.widen(0), q.widen(0)), (p.widen(1), q.widen(1))
        off, own, other = across[0] @ a @ down[1], across[0] @ a @ down[0], across[1] @ a @ down[1]
        is_done = off.equals(0.0)
        theta = (other - own) / (is_done.where(1.0, off) * 2.0)
        t = (theta < 0.0).where(-1.0, 1.0) / (graph.node("Abs", theta) + (theta.squared() + 1.0).sqrt())
        t = is_done.where(0.0, t)
        c = graph.constant(np.array(1.0)) / (t.squared() + 1.0).sqrt()
        turn = (c - 1.0) * (down[0] @ across[0] + down[1] @ across[1])
        turn = turn + t * c * (down[0] @ across[1] - down[1] @ across[0]) + identity
        return turn.transpose(0, 2, 1) @ a @ turn, axes @ turn

    a, axes = graph.repeat(len(pairs), rotate, covariance, covariance * 0.0 + identity[None])
    values = (a * identity[None]).sum(2)
    operands = (values, np.array([size]))
    sorted_values, order = graph._node("TopK", operands, 2, "", {"axis": 1, "largest": 0, "sorted": 1})
    places = order.widen(1) + np.zeros((1, size, 1), dtype=np.int64)
    axes = graph.node("GatherElements", axes, places, axis=2)
    forward = graph.constant((1 / np.sqrt(np.arange(1.0, size + 1)))[None]) @ axes
    deviations = graph.node("Max", sorted_values, 0.0).sqrt().widen(1)
    return axes * (forward < 0.0).where(-1.0, 1.0) * deviations
