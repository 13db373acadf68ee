"""The losses of rows: of posteriors, of their powers, by softmax, and along a path of shrinking; each in a fused pass.

Along a path, Gaussians have covariances that are shrunk by several amounts. In the coordinates t of a covariance's
eigenvectors every amount s is a sum of the same squares:

    score_ks = constant_ks + sum_i inverse_ksi (t_i - mean_ki)² + offset_k
    loss_s = log sum_k exp score_ks - score_own
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.kernels import Array, is_compiled, native, readable
from classwise.kernels.scores import contiguous
from classwise.kernels.threads import threads_for


def posterior_sums(
    log_posterior: Array, codes: NDArray[np.integer[Any]], weights: Array, bins: int, least: float
) -> tuple[Array, Array, Array] | None:
    """Of log posteriors (n, g), up to a constant per row: the confusion (g, g); by bin of probability, the weight, the
    weight times probability and the weight of what was observed (1 + g, 3, bins), of the class that was decided for and
    then of each class; and the sums of losses, squared differences and squared losses (3,). None where NumPy has to.

    least: smaller probabilities count as this in losses.
    """
    if not is_compiled() or not log_posterior.size:
        return None
    count = log_posterior.shape[1]
    found = np.empty((count, count)), np.empty((1 + count, 3, bins)), np.empty(3)
    own = contiguous(log_posterior), np.ascontiguousarray(codes, dtype=np.int64), contiguous(weights)
    native.evaluate(*own, least, *found)
    return found


def power_slopes(
    logs: Array, own: Array, folds: NDArray[Any], weights: Array, count: int, power: float, most_lost: float
) -> Array | None:
    """The log loss of held-out rows under a power of their posteriors, and its first and second derivative in the log
    of the power, summed by fold; (3, count). None where NumPy has to do it.

    logs (g, n): log posteriors relative to the largest; own (n,): of the row's class. A row loses at most most_lost.
    """
    if readable(logs) is None:
        return None
    sums = np.empty((3, count))
    native.slopes(logs, own, folds, weights, power, most_lost, threads_for(logs.size), sums)
    return sums


def softmax_losses(
    rows: NDArray[Any],
    codes: NDArray[np.integer[Any]],
    weights: Array | None,
    origin: Array,
    constant: Array,
    slope: Array,
    curved: bool,
) -> tuple[float, Array, Array] | None:
    """Of rows (n, p) with scores constant_k + slope_k . (x - origin): the sum of their losses -log P(own class), its
    gradient by slope and constant (g, p + 1), and where curved, w P(k) P(l) of each row for the pairs k < l (c, n).

    None where NumPy has to do it, or something is not finite. In one thread: chunks are handed out to several.
    """
    read = readable(rows)
    if read is None:
        return None
    count, features = slope.shape
    gradient = np.zeros((features + 1, count))
    factors = np.empty((count * (count - 1) // 2, len(rows))) if curved else None
    own = map(contiguous, (origin, constant, slope))
    row_weights = None if weights is None else contiguous(weights)
    loss = native.softmax(read, np.ascontiguousarray(codes), row_weights, *own, gradient, factors)
    is_finite = np.isfinite(loss) and bool(np.isfinite(gradient).all())
    return (loss, gradient.T, factors if factors is not None else np.empty((0, len(rows)))) if is_finite else None


def path_losses(
    rows: NDArray[Any],
    origin: Array,
    vectors: Array,
    means: Array,
    inverse: Array,
    constant: Array,
    offset: Array,
    codes: NDArray[np.integer[Any]],
    weights: Array,
) -> Array | None:
    """The sum over rows (n, p) of their losses, weighted, at each amount (s,); None where NumPy has to do it.

    t = vectors (x - origin), with vectors (k, p, p) of each class or of all; means (g, p): in these coordinates;
    inverse (k, s, p); constant (k, s); offset (g, 1) or (g, n); codes, weights (n,).
    """
    read = readable(rows)
    if read is None:
        return None
    own = map(contiguous, (origin, vectors, means, inverse, constant, offset))
    losses = np.empty(constant.shape[1])
    threads = threads_for(len(rows) * vectors.size)
    native.path(read, *own, np.ascontiguousarray(codes, dtype=np.int64), contiguous(weights), threads, losses)
    return losses
