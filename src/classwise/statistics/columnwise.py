"""Moments of rows that are kept column by column, as files and frames hand them over.

A block of each column is put into the order of the classes, and never becomes a row. The rows of a class then lie side
by side, less a point m near their mean, above a row of ones that makes sums of products:

    R = [x - m; 1];  R diag(w) (x - m)' = [sum w (x - m)(x - m)'; sum w (x - m)']

For few columns this is faster than putting them side by side first, and sorting rows; for many it is slower.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import BLOCK_SIZE, Array, Codes, product, slices
from classwise.kernels import readable
from classwise.statistics.moments import Moments, centered, first_rows, fused_moments, provisional_means
from classwise.statistics.scatter import FEW, DiagonalScatter, FullScatter, Groups, PooledScatter, Scatter

# Up to this many columns, and FEW classes, it is faster.
FEW_COLUMNS = 20

# Numbers between one column and the next: blocks a power of two apart would fall on the same lines of the cache.
APART = 8


def suits_columns(columns: Sequence[NDArray[Any]], count: int) -> bool:
    """Whether these columns, with `count` classes, are better gathered column by column."""
    return readable(columns) is not None or (len(columns) <= FEW_COLUMNS and count <= FEW)


def gather_from_columns(
    columns: Sequence[NDArray[Any]], codes: Codes, count: int, weights: Array | None, form: type[Scatter]
) -> Moments:
    """As gather_moments, from p columns (m,) of numbers.

    >>> moments = gather_from_columns([np.array([1.0, 2.0, 6.0])], np.array([0, 0, 1]), 2, None, FullScatter)
    >>> moments.mean.tolist(), moments.scatter.values.tolist()
    ([[1.5], [6.0]], [[[0.5]], [[0.0]]])
    """
    fused = fused_moments(columns, codes, count, weights, form)
    return _by_block(columns, codes, count, weights, form) if fused is None else fused


@np.errstate(all="ignore")  # NaN and infinity travel to the sums, where callers look for them
def _by_block(
    columns: Sequence[NDArray[Any]], codes: Codes, count: int, weights: Array | None, form: type[Scatter]
) -> Moments:
    provisional = _provisional(columns, codes, count)
    features, accumulate = len(columns), _squares if form is DiagonalScatter else _products
    kept = DiagonalScatter if form is DiagonalScatter else FullScatter
    weight, total, products = np.zeros((count, 1)), np.zeros((count, features)), np.zeros(kept.shape(count, features))
    for groups, ordered in _blocks(columns, codes, count, weights):
        weight += groups.weight()[:, None]
        weights_of = groups.ordered_weights()
        for group, run in groups.spans():
            residuals = _residuals(ordered[:, run], provisional[group])
            squares, sums = accumulate(residuals, None if weights_of is None else weights_of[run])
            products[group] += squares
            total[group] += sums
    return centered(provisional, weight, total, form(LEANER[form](kept(products))))


def _blocks(
    columns: Sequence[NDArray[Any]], codes: Codes, count: int, weights: Array | None
) -> Iterator[tuple[Groups, Array]]:
    """Block by block, columns (p, m) in the order of the groups; the next block takes the place of this one."""
    length = max(min(BLOCK_SIZE // len(columns), len(codes)), 1)
    space = BLOCK.taken(len(columns), length + APART)
    for block in slices(len(codes), length):
        groups = Groups(codes[block], count, None if weights is None else weights[block])
        ordered = space[:, : block.stop - block.start]
        for target, column in zip(ordered, columns, strict=True):
            groups.put_in_order(column[block], target)
        yield groups, ordered


def _residuals(columns: Array, provisional: Array) -> Array:
    """R (p + 1, m) of the rows of one class, in one piece: NumPy would copy any other before it multiplies."""
    residuals = RUN.taken(len(columns) + 1, columns.shape[1])
    np.subtract(columns, provisional[:, None], out=residuals[:-1])
    residuals[-1] = 1.0
    return residuals


class Space(threading.local):
    """Memory that a thread keeps: to get as much from the system again, block by block, takes as long as the sums."""

    def __init__(self) -> None:
        self.held = np.empty(0)

    def taken(self, rows: int, length: int) -> Array:
        """A matrix (rows, length) with anything in it; good until the thread asks for the next."""
        if self.held.size < rows * length:
            self.held = np.empty(rows * length)
        return self.held[: rows * length].reshape(rows, length)


BLOCK, RUN = Space(), Space()


def _products(residuals: Array, weights: Array | None) -> tuple[Array, Array]:
    rows = residuals[:-1]
    # The row of ones also shows NumPy that the factors differ: for matrices this thin, its way for equal ones is slow.
    both = product(residuals, (rows if weights is None else rows * weights).T)
    return both[:-1], both[-1]


def _squares(residuals: Array, weights: Array | None) -> tuple[Array, Array]:
    rows = residuals[:-1]
    weighted = rows if weights is None else rows * weights
    return np.einsum("ij,ij->i", weighted, rows), weighted.sum(axis=1)


def _symmetric(scatter: Scatter) -> Array:
    """Without what rounding makes of two sides of a matrix that are computed one by one."""
    return (scatter.by_class() + np.swapaxes(scatter.by_class(), 1, 2)) / 2


# What each form keeps of what was gathered.
LEANER: dict[type[Scatter], Callable[[Scatter], Array]] = {
    FullScatter: _symmetric,
    PooledScatter: lambda scatter: _symmetric(scatter).sum(axis=0),
    DiagonalScatter: lambda scatter: scatter.diagonals(),
}


def _provisional(columns: Sequence[NDArray[Any]], codes: Codes, count: int) -> Array:
    """A point near the mean of each class; (count, p)."""
    first, head = first_rows(codes, count)
    start, some = (np.column_stack([column[part] for column in columns]) for part in (first, slice(len(head))))
    return provisional_means(np.asarray(start, dtype=np.float64), some, head, count)
