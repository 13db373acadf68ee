"""The losses of rows under Gaussians whose covariances are shrunk by several amounts, in one fused pass.

In the coordinates t of a covariance's eigenvectors every amount s is a sum of the same squares:

    score_ks = constant_ks + sum_i inverse_ksi (t_i - mean_ki)² + offset_k
    loss_s = log sum_k exp score_ks - score_own
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.kernels import Array, native, readable
from classwise.kernels.scores import contiguous
from classwise.kernels.threads import threads_for


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
