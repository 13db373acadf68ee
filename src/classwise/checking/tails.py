"""How surprising measures of the rows are beside those of samples, one by one and all together.

    p_value   2 min(share of samples at or above, share at or below), the rows counted as one more sample
    adjusted  the share of samples whose largest surprise, over all measures, is at least this one

A hundred measures hold five p-values below 0.05 by chance. The second number asks what chance alone would do at most
somewhere, so it is honest however many measures there are and however they depend on each other: if the rows are drawn
from the model, the chance that any adjusted value is 0.05 or less is no more than 0.05 (Westfall and Young 1993; step
by step, so that what is found does not hide the rest).
"""

import numpy as np

from classwise.arrays import Array, ratio

# Of a Gaussian, these quantiles are one standard deviation from the median.
BELOW, ABOVE = 0.1587, 0.8413


def tail_probabilities(observed: Array, samples: Array) -> Array:
    """(t,), (draws, t) -> (t,).

    >>> tail_probabilities(np.array([5.0, 0.0]), np.array([[1.0, -1.0], [2.0, 1.0], [3.0, 0.5]]))
    array([0.5, 1. ])
    """
    count = len(samples) + 1
    above = (1 + (samples >= observed).sum(axis=0)) / count
    below = (1 + (samples <= observed).sum(axis=0)) / count
    return np.minimum(1.0, 2 * np.minimum(above, below))


def surprises(every: Array) -> Array:
    """How far each set is from the middle of all, in standard deviations on its side; (sets, t) -> (sets, t)."""
    low, middle, high = np.quantile(every, [BELOW, 0.5, ABOVE], axis=0)
    spread = every.std(axis=0)
    sides = (np.where(side > 0, side, spread) for side in (middle - low, high - middle))
    below, above = (ratio(np.abs(every - middle), np.broadcast_to(side, every.shape)) for side in sides)
    return np.where(every < middle, below, above)


def adjusted_probabilities(sizes: Array) -> Array:
    """Of the first set; sizes (sets, t): how surprising each measure of each set is -> (t,).

    >>> adjusted_probabilities(np.array([[9.0, 0.5], [1.0, 0.4], [0.3, 2.0], [0.2, 0.1]]))
    array([0.25, 0.5 ])
    """
    order = np.argsort(-sizes[0], kind="stable")
    ranked = sizes[:, order]
    # The largest surprise of a set among this measure and all that surprise less.
    largest = np.maximum.accumulate(ranked[:, ::-1], axis=1)[:, ::-1]
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate((largest >= ranked[0]).mean(axis=0))
    return adjusted
