"""A classifier of some columns alone, given that they have values: the others are integrated out.

    p(x_some | k) = integral of p(x | k) over all other columns

Columns in different blocks are independent within a class, so a block without any of the columns is simply left out.
Inside a block the rest is integrated out where a row has NaN there, or -1 for a category.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier
from classwise.densities import Block, Constant, Density, Gaussian, Observed, Product
from classwise.densities.density import Located


def flat_blocks(density: Density) -> list[Block]:
    """The blocks of a density, none of them made of blocks again, of values that are there.

    >>> from classwise.densities import Poisson
    >>> inner = Product(tuple(Block(np.array([j]), Poisson(np.ones((2, 1)))) for j in (1, 0)))
    >>> [block.columns.tolist() for block in flat_blocks(Product((Block(np.array([3, 5]), inner),)))]
    [[5], [3]]
    """
    density = density.of_values()
    if not isinstance(density, Product):
        return list(density.as_blocks())
    return [
        Block(outer.columns[inner.columns], inner.density)
        for outer in density.blocks
        for inner in flat_blocks(outer.density)
    ]


def unused_columns(density: Density) -> set[int]:
    """The columns that a density leaves out, since they are constant."""
    return {int(j) for block in flat_blocks(density) if isinstance(block.density, Constant) for j in block.columns}


def marginal(classifier: BayesClassifier, columns: Sequence[int]) -> BayesClassifier:
    """Bayes' rule on these columns; it takes whole rows, with NaN (-1 for a category) in all others."""
    kept = [block for block in flat_blocks(classifier.density) if np.isin(block.columns, columns).any()]
    return replace(classifier, density=Observed(Product(tuple(kept))))


# Means and covariances ------------------------------------------------------------------------------------------------


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
