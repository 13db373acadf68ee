"""Chance by place: which fold a row is in, and whether it is drawn, as functions of its number in the stream alone.

Row i has the 64 random bits that SplitMix64 (Steele, Lea and Flood 2014) gives for the counter seed + i: whoever reads
the rows again, in whatever chunks, finds every row in the same fold, and the same rows drawn.
"""

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Codes

Bits = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
FACTORS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
ALL = (1 << 64) - 1

# One stream of bits for folds, another for the drawing: whether a row is drawn says nothing of its fold.
FOLDS, RANKS = 1, 2


def bits_of(rows: Codes, seed: int, purpose: int) -> Bits:
    """64 bits for each row, by its number (m,)."""
    start = _mixed(np.array([(purpose * GOLDEN + seed) & ALL], dtype=np.uint64))
    return _mixed(start + np.asarray(rows).astype(np.uint64) * np.uint64(GOLDEN))


def _mixed(bits: Bits) -> Bits:
    """SplitMix64's finalizer; products and sums are modulo 2^64."""
    for shift, factor in FACTORS:
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def fold_of_rows(rows: Codes, folds: int, seed: int = 0) -> Codes:
    """The fold of each row, by its number in the stream; (m,), from 0 to folds - 1.

    Each fold gets a share of 1 / folds of the rows, and of every class, by chance: nearly even where rows are many.

    >>> fold_of_rows(np.arange(8), 3).tolist() == [*fold_of_rows(np.arange(5), 3), *fold_of_rows(np.arange(5, 8), 3)]
    True
    """
    return _shared_out(bits_of(rows, seed, FOLDS), folds)


def fold_of_groups(groups: Bits, folds: int, seed: int = 0) -> Codes:
    """The same by 64 bits of the group that a row is in: rows of one group stay together."""
    start = np.uint64((FOLDS * GOLDEN + seed) & ALL)
    return _shared_out(_mixed(groups ^ _mixed(np.array([start]))), folds)


def _shared_out(bits: Bits, folds: int) -> Codes:
    """From 0 to folds - 1, evenly: the upper half of the bits times the number of folds."""
    return ((bits >> np.uint64(32)) * np.uint64(folds) >> np.uint64(32)).astype(np.intp)


def ranks_of_rows(rows: Codes, seed: int = 0) -> Bits:
    """A rank for each row: those of least rank are a sample of all rows, each as probable as any other."""
    return bits_of(rows, seed, RANKS)
