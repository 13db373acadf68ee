"""Numbers: the array types and the few numerical helpers that the mathematics shares."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise.errors import UnscorableError

Array: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.integer[Any]]
Labels: TypeAlias = NDArray[Any]

EPS = float(np.finfo(np.float64).eps)

# The kinds of NumPy's dates and of the time between them.
DATES = "mM"

# A block of this many numbers (1 MB of float64) stays in a core's cache while it is worked on.
BLOCK_SIZE = 1 << 17

# Log odds this small are rounding.
TIE = 1e-12

# Of very many classes, the best is looked for in blocks of this many.
BLOCK_OF_CLASSES = 32


def slices(length: int, size: int) -> list[slice]:
    """Consecutive slices of at most `size` that cover `range(length)`.

    >>> slices(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def unmasked(values: Any) -> Any:
    """A masked array as a plain one, with NaN, NaT or None where it is masked; anything else as it is.

    >>> unmasked(np.ma.array([1.5, 2.5], mask=[False, True])), unmasked(np.ma.array([1, 2], mask=[False, True]))
    (array([1.5, nan]), array([1, None], dtype=object))
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    mask, data = np.ma.getmaskarray(values), np.asarray(values)
    if not mask.any():
        return data
    blank: Any = np.nan if data.dtype.kind == "f" else np.array("NaT", data.dtype) if data.dtype.kind in DATES else None
    return np.where(mask, blank, data)


def log_sum_exp(scores: Array) -> Array:
    """log of the sum over classes of exp(scores); (g, m) -> (m,).

    The largest score is taken out first, so nothing overflows, and a score of -inf (a prior of zero) adds nothing.

    >>> log_sum_exp(np.array([[-1000.0], [-1000.0]])) + 1000
    array([0.69314718])
    """
    peak = scores.max(axis=0)
    return np.asarray(peak + np.log(np.exp(scores - peak).sum(axis=0)))


def log_normalize(logs: Array, axis: int = 0, out: Array | None = None) -> Array:
    """logs less the log of the sum of their exponentials along an axis: log probabilities that sum to 1.

    The largest is taken out first, so nothing overflows. Relative to it, the digits that probabilities depend on are
    all still there. out: where the result goes; `logs` itself will do.

    >>> log_normalize(np.array([[-1000.0], [-1000.0]]))
    array([[-0.69314718],
           [-0.69314718]])
    """
    shifted = np.subtract(logs, logs.max(axis=axis, keepdims=True), out=out)
    shifted -= np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return shifted


def finite(values: Array | float) -> Array:
    """The values themselves, or an error if any is not finite; what is wrong with the rows the caller finds out."""
    if not np.isfinite(np.sum(values)):
        raise UnscorableError("Some rows hold NaN or infinity, or lie too far from every class to score in float64.")
    return np.asarray(values)


def leaders(scores: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The largest score of each row (m,), and which classes have it, to rounding; (g, m).

    Log odds within TIE are a tie: that little is rounding, and depends on the way the scores were computed.
    """
    peak = finite(scores.max(axis=0))
    return peak, scores >= peak - TIE


def level_ties(scores: Array) -> Array:
    """Scores that tie with the largest made equal to it, in place; (g, m).

    So a tie is a tie wherever it is looked at: in the decision, in the posterior, after a common term was added.
    """
    peak, leading = leaders(scores)
    if np.count_nonzero(leading) > len(peak):
        np.copyto(scores, peak, where=leading)
    return scores


def first_leader(scores: Array) -> Codes:
    """The first class of largest score, to rounding; (g, m) -> (m,)."""
    if len(scores) <= 2 * BLOCK_OF_CLASSES:
        return first_class(leaders(scores)[1])
    # Of many classes, find the first block that holds a leader, and then look inside that block alone.
    count, length = scores.shape
    whole = count - count % BLOCK_OF_CLASSES
    blocks = scores[:whole].reshape(-1, BLOCK_OF_CLASSES, length).max(axis=1)
    if whole < count:
        blocks = np.vstack([blocks, scores[whole:].max(axis=0)])
    peak, leading = leaders(blocks)
    block = first_class(leading)
    inside = np.minimum(block * BLOCK_OF_CLASSES + np.arange(BLOCK_OF_CLASSES)[:, None], count - 1)
    rows = np.arange(length)
    return inside[first_class(scores[inside, rows] >= peak - TIE), rows]


def first_class(marked: NDArray[np.bool_]) -> Codes:
    """The first class that is marked; (g, m) -> (m,).

    >>> first_class(np.array([[True, False], [True, True]]))
    array([0, 1])
    """
    # NumPy's argmax down columns is slow: earlier classes get larger numbers, and the largest wins.
    numbers = np.arange(len(marked), 0, -1, dtype=np.min_scalar_type(len(marked)))[:, None]
    return len(marked) - (marked * numbers).max(axis=0).astype(np.intp)


def product(first: Array, second: Array) -> Array:
    """first @ second, for two matrices.

    np.dot lets other threads run meanwhile; the @ operator, for results of a few hundred numbers, does not, and a
    pool of threads would wait in line.
    """
    return np.asarray(np.dot(first, second))


def tall_product(rows: Array, matrix: Array) -> Array:
    """rows @ matrix for many rows and a small matrix; (m, p), (p, r) -> (m, r).

    In slabs of about a million multiplications, for which BLAS has kernels that do without packing its operands:
    for a product this thin, packing costs more than multiplying.
    """
    slab = max((1 << 19) // max(matrix.size, 1), 1)
    if len(rows) <= slab:
        return product(rows, matrix)
    result = np.empty((len(rows), matrix.shape[1]))
    for part in slices(len(rows), slab):
        np.dot(rows[part], matrix, out=result[part])
    return result


def row_norms(rows: Array) -> Array:
    """|z|² of each row; (m, p) -> (m,)."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def sums_by(codes: Codes, values: Array, count: int) -> Array:
    """The sum of the values (n,) of each code; (count,).

    >>> sums_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    return np.bincount(codes, values, count).astype(np.float64)


def spread(values: Array, positions: Codes, count: int, absent: float = 0.0) -> Array:
    """Values at these positions among `count`, and `absent` at all others; (k, ...) -> (count, ...).

    >>> spread(np.array([1.0, 2.0]), np.array([0, 2]), 3)
    array([1., 0., 2.])
    """
    whole = np.full((count, *values.shape[1:]), absent)
    whole[positions] = values
    return whole


def two_sum(first: Array, second: Array) -> tuple[Array, Array]:
    """The rounded sum, and what rounding cut off: together they are first + second exactly (Knuth 1969)."""
    total = first + second
    virtual = total - first
    return total, (first - (total - virtual)) + (second - virtual)


def patterns(present: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Codes]:
    """The distinct rows of a table of yes and no, and which of them each row is; (m, p) -> (q, p), (m,).

    >>> distinct, codes = patterns(np.array([[True, False], [True, True], [True, False]]))
    >>> distinct[codes].tolist()
    [[True, False], [True, True], [True, False]]
    """
    packed = np.packbits(present, axis=1)
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    return present[first], codes.reshape(-1)


def marked_places(marked: NDArray[np.bool_]) -> Codes:
    """Where each row is marked, filled up with p where others are marked more often; (q, p) -> (q, u).

    >>> marked_places(np.array([[True, False, True], [False, True, False]]))
    array([[0, 2],
           [1, 3]])
    """
    width, most = marked.shape[1], int(marked.sum(axis=1).max(initial=0))
    return np.sort(np.where(marked, np.arange(width), width), axis=1)[:, :most]


def ratio(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator, and 0 where the denominator is 0 (an empty class has no share of anything)."""
    if np.count_nonzero(denominator) == denominator.size:
        return np.asarray(numerator / denominator)
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator != 0)
