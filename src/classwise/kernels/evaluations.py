"""What posteriors of held-out rows come to: mistakes, losses, and how often what was predicted happened."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise import kernels
from classwise.kernels import Array
from classwise.kernels.scores import contiguous


def posterior_sums(
    log_posterior: Array, codes: NDArray[np.integer[Any]], weights: Array, bins: int, least: float
) -> tuple[Array, Array, Array] | None:
    """Of log posteriors (n, g), up to a constant per row: the confusion (g, g); by bin of probability, the weight, the
    weight times probability and the weight of what was observed (1 + g, 3, bins), of the class that was decided for and
    then of each class; and the sums of losses, squared differences and squared losses (3,). None where NumPy has to.

    least: smaller probabilities count as this in losses.
    """
    if kernels.native is None or not log_posterior.size:
        return None
    count = log_posterior.shape[1]
    found = np.empty((count, count)), np.empty((1 + count, 3, bins)), np.empty(3)
    own = contiguous(log_posterior), np.ascontiguousarray(codes, dtype=np.int64), contiguous(weights)
    kernels.native.evaluate(*own, least, *found)
    return found
