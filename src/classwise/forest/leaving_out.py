"""Leaving rows out of a forest, one at a time: out of the counts of all leaves, exactly; the cuts stay."""

import numpy as np

from classwise.arrays import Array, Codes, log_normalize, slices
from classwise.forest.beliefs import Belief, Paths
from classwise.forest.forest import Forest
from classwise.statistics.statistic import ROUNDING
from classwise.statistics.trees import LeafCounts

# Rows are left out in blocks of this many, of which all nodes are looked at.
BLOCK_OF_PATHS = 1024


def log_left_out(
    forest: Forest, belief: Belief, counts: LeafCounts, log_prior: Array, rows: Array, codes: Codes, weights: Array
) -> Array:
    """log P(k | x) of rows (m, p), each left out of the counts; (g, m), -inf where fewer than two classes are left.

    codes and weights (m,): of the rows, all of which are counted; log_prior (g,): of the classes.
    """
    weight = counts.weight[:, : counts.trees.leaf_starts[1]].sum(axis=1)  # every row is in one leaf of the first tree
    left = weight[:, None] - weights * (codes == np.arange(len(weight))[:, None])
    left[left <= ROUNDING * weight[:, None]] = 0.0
    last = left[codes, np.arange(len(codes))] == 0  # rows that their class goes with
    p = np.zeros((len(codes), len(weight)))
    seen, others = np.flatnonzero(weight), np.flatnonzero(~last)
    classes = np.searchsorted(seen, codes[others])
    p[np.ix_(others, seen)] = mean_left_out(belief, counts.select(seen), rows[others], classes, weights[others])
    for k in np.unique(codes[last]).tolist():
        kept, own = seen[seen != k], np.flatnonzero(last & (codes == k))
        if len(kept) > 1:  # what is left of the class is nothing, and the counts of the others are as they were
            table = belief.of_leaves(counts.select(kept))
            p[np.ix_(own, kept)] = counts.trees.average(counts.trees.codes(rows[own]), table)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = forest.power * np.log(p.T)
        if forest.shift is not None:
            logs = np.where(left > 0, logs + log_prior[:, None] - np.log(left), -np.inf)
        return np.nan_to_num(log_normalize(logs), copy=False, nan=-np.inf, neginf=-np.inf)


def mean_left_out(belief: Belief, counts: LeafCounts, rows: Array, classes: Codes, weights: Array) -> Array:
    """The mean over trees of P(k | leaf) of rows (m, p), each left out of the counts; (m, g)."""
    posterior, trees = belief.leaving_out(counts), counts.trees
    total = np.zeros((len(rows), len(counts.weight)))
    for block in slices(len(rows), BLOCK_OF_PATHS):
        for leaves in trees.leaves(trees.codes(rows[block])):
            total[block] += posterior(Paths.to(trees.leaf_nodes[leaves], counts, classes[block], weights[block]))
    return total / len(trees)
