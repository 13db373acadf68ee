"""Decisions: from scores to the label that is announced."""

import numpy as np

from classwise.arrays import Array, Codes


def break_ties(scores: Array, generator: np.random.Generator) -> Codes:
    """The class of largest score, one of the equals at random; (g, m) -> (m,)."""
    lots = generator.random(scores.shape)
    lots[scores < scores.max(axis=0)] = -1
    return lots.argmax(axis=0)
