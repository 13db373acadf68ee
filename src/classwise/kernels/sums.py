"""Moments by class, in one fused pass over the rows; and the least pivot of the matrices that they make.

About a point c_k near the mean of each class, with r = x - c_k and d = sum w r / n:

    n = sum w;  mean = c_k + d;  scatter = sum w r r' - n d d'

The rows are split into parts by their number alone, and the sums of the parts are added in order. So the number of
threads changes no digit.
"""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise import kernels
from classwise.kernels import Array, RowsOrColumns, native, readable
from classwise.kernels.scores import contiguous
from classwise.kernels.threads import WORTH_A_THREAD, threads_for

# Products of each class (g, p, p), of all classes together (p, p), or the squares of each class (g, p).
Form: TypeAlias = Literal["full", "pooled", "diagonal"]
FORMS: dict[str, int] = {"full": 0, "pooled": 1, "diagonal": 2}

# Products of more features than this are BLAS's own field: matrices that large fill its blocks.
MOST_FEATURES = 512

# At most so many parts, several for each of many threads, and no more bytes of sums than this in all of them.
MOST_PARTS, MOST_BYTES = 64, 1 << 27

# To clear and to add the products of a part takes as long as those of about a hundred rows.
ROWS_OF_PART = 2048


def class_moments(
    rows: RowsOrColumns, codes: NDArray[np.integer[Any]], count: int, head: int, weights: Array | None, form: str
) -> tuple[Array, Array, Array, Array] | None:
    """weight (g, 1), mean and rest (g, p) and scatter of rows (n, p) with classes codes (n,); None where NumPy has to.

    head: c_k is near the mean of those among the first so many rows that are of the class.
    """
    read = readable(rows)
    features = rows.shape[1] if isinstance(rows, np.ndarray) else len(rows)
    if read is None or (form != "diagonal" and features > MOST_FEATURES):
        return None
    shapes = {"full": (count, features, features), "pooled": (features, features), "diagonal": (count, features)}
    weight, mean, rest = np.empty((count, 1)), np.empty((count, features)), np.empty((count, features))
    scatter, numbers = np.empty(shapes[form]), len(codes) * features
    most = min(MOST_PARTS, MOST_BYTES // (16 * (scatter.size + mean.size)))
    parts = max(min(numbers // WORTH_A_THREAD, most), 1)
    own = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    if not (codes.flags.carray and codes.dtype.isnative):
        codes = np.require(codes, np.dtype(codes.dtype.type), ["C", "A", "W"])
    native.moments(read, codes, own, FORMS[form], head, parts, threads_for(numbers), weight, mean, rest, scatter)
    return weight, mean, rest, scatter


def factor_products(columns: NDArray[Any], factors: Array, origin: Array | None = None) -> Array | None:
    """sum over rows of factor_c z z' for columns (q, n) and factors (c, n); (c, q, q). None where NumPy must do it.

    origin (q,): z are the columns less this, and a one (q + 1).
    """
    read = readable(columns.T)
    count, features = len(factors), len(columns) + (origin is not None)
    if read is None or features > MOST_FEATURES or not count:
        return None
    products, numbers = np.empty((count, features, features)), count * columns.size
    most = min(MOST_PARTS, MOST_BYTES // (16 * products.size), columns.shape[1] // ROWS_OF_PART)
    parts = max(min(numbers // WORTH_A_THREAD, most), 1)
    center = None if origin is None else contiguous(origin)
    native.products(read, contiguous(factors), center, parts, threads_for(numbers), products)
    return products


# ----------------------------------------------------------------------------------------------------------------------
# Pivots: with L L' the correlations of the columns, pivot_j = L_jj² is the share of variance that columns before j do
# not explain.

# Larger matrices are LAPACK's own field.
MOST_COLUMNS = 48


def least_pivot(matrices: Array) -> float:
    """The least over matrices (k, p, p) and columns; 0 where a variance, or a pivot, is not positive."""
    if kernels.native is not None and matrices.shape[1] <= MOST_COLUMNS:
        return float(kernels.native.pivot(np.ascontiguousarray(matrices)))
    variances = np.diagonal(matrices, axis1=1, axis2=2)
    if not (variances > 0).all():
        return 0.0
    scale = np.sqrt(variances)
    try:
        root = np.linalg.cholesky(matrices / (scale[:, :, None] * scale[:, None, :]))
    except np.linalg.LinAlgError:
        return 0.0
    return float(np.diagonal(root, axis1=1, axis2=2).min(initial=1.0) ** 2)
