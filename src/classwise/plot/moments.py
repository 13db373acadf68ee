"""Means and covariances of some columns, where a model has them."""

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.marginal import flat_blocks
from classwise.densities import Gaussian
from classwise.densities.density import Located


def moments(classifier: BayesClassifier, columns: list[int], exact: bool) -> tuple[Array, Array] | None:
    """Means (g, c) and covariances (g, c, c); columns in different blocks are independent.

    exact: of Gaussians only; else of Student-t densities as well. None where some column has neither.
    """
    means = np.zeros((len(classifier.labels), len(columns)))
    matrices = np.zeros((*means.shape, len(columns)))
    for block in flat_blocks(classifier.density):
        inside = [i for i, j in enumerate(columns) if j in block.columns]
        own = [int(np.flatnonzero(block.columns == columns[i])[0]) for i in inside]
        if not inside:
            continue
        if not isinstance(block.density, Gaussian if exact else Located):
            return None
        means[:, inside] = block.density.means[:, own]
        part = block.density.matrices()[np.ix_(range(len(means)), own, own)]
        matrices[np.ix_(range(len(means)), inside, inside)] = part
    return means, matrices


def given(means: Array, matrices: Array, free: int, values: Array) -> tuple[Array, Array]:
    """The first `free` columns given the values of the others: m + C_fh C_hh^-1 (v - m), C_ff - C_fh C_hh^-1 C_hf."""
    if not len(values):
        return means, matrices
    slopes = np.linalg.solve(matrices[:, free:, free:], matrices[:, free:, :free])
    moved = means[:, :free] + np.einsum("gh,ghf->gf", values - means[:, free:], slopes)
    return moved, matrices[:, :free, :free] - matrices[:, :free, free:] @ slopes
