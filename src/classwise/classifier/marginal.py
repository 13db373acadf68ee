"""A classifier of some columns alone, given that they have values: the others are integrated out.

    p(x_some | k) = integral of p(x | k) over all other columns

Columns in different blocks are independent within a class, so a block without any of the columns is simply left out.
Inside a block the rest is integrated out where a row has NaN there, or -1 for a category.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from classwise.classifier.bayes import BayesClassifier
from classwise.densities import Block, Density, Observed, Product


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


def marginal(classifier: BayesClassifier, columns: Sequence[int]) -> BayesClassifier:
    """Bayes' rule on these columns; it takes whole rows, with NaN (-1 for a category) in all others."""
    kept = [block for block in flat_blocks(classifier.density) if np.isin(block.columns, columns).any()]
    return replace(classifier, density=Observed(Product(tuple(kept))))
