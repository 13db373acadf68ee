"""Scores of g classes that matter only by their differences: coordinates in which nothing is left over.

Softmax does not change if the same is added to all scores. Weights W (g, q) with independent Gaussian priors of one
precision for each column split, orthogonally, into contrasts V = U'W (g - 1, q) and the mean over the classes:

    W = U V + 1 mean',    U'U = I,    U'1 = 0

The rows tell of V alone; the prior of V is that of W, entry by entry. The mean keeps its prior, whatever the rows, and
no probability depends on it: it is left at 0, where the most probable W has it. So the posterior of V is proper, and
all classes are treated alike, with no class of reference. An intercept without a prior is flat in the mean alone.
"""

import numpy as np

from classwise.arrays import Array, Codes


def contrasts(classes: int) -> Array:
    """U: orthonormal columns that sum to zero (Helmert's); (g, g - 1).

    >>> contrasts(2).ravel().round(4).tolist()
    [-0.7071, 0.7071]
    """
    columns = np.zeros((classes, classes - 1))
    for k in range(1, classes):
        columns[:k, k - 1] = -1.0
        columns[k, k - 1] = k
    return columns / np.sqrt((columns**2).sum(axis=0))


def pairs(classes: int) -> tuple[Codes, Codes]:
    """The pairs of classes k < l, as two arrays of positions."""
    return np.triu_indices(classes, 1)
