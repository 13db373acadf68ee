"""Sums of residuals by class, in one fused pass over the rows.

About a provisional mean c_k of each class, with r = x - c_k:

    weight_k = sum w;  total_k = sum w r;  products = sum w r r'

The rows are split into parts by their number alone, and the sums of the parts are added in order. So the number of
threads changes no digit.
"""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise.kernels import Array, RowsOrColumns, native, readable
from classwise.kernels.threads import WORTH_A_THREAD, threads_for

# Products of each class (g, p, p), of all classes together (p, p), or the squares of each class (g, p).
Form: TypeAlias = Literal["full", "pooled", "diagonal"]
FORMS: dict[str, int] = {"full": 0, "pooled": 1, "diagonal": 2}

# Products of more features than this are BLAS's own field: matrices that large fill its blocks.
MOST_FEATURES = 512

# At most so many parts, and no more bytes of sums than this in all of them.
MOST_PARTS, MOST_BYTES = 32, 1 << 26


def class_sums(
    rows: RowsOrColumns, codes: NDArray[np.integer[Any]], weights: Array | None, provisional: Array, form: str
) -> tuple[Array, Array, Array] | None:
    """weight (g,), total (g, p) and products of rows (n, p) with classes codes (n,); None where NumPy has to do it."""
    read = readable(rows)
    count, features = provisional.shape
    if read is None or (form != "diagonal" and features > MOST_FEATURES):
        return None
    shapes = {"full": (count, features, features), "pooled": (features, features), "diagonal": (count, features)}
    weight, total, products = np.empty(count), np.empty((count, features)), np.empty(shapes[form])
    numbers = len(codes) * features
    most = min(MOST_PARTS, MOST_BYTES // (16 * (products.size + total.size)))
    parts = max(min(numbers // WORTH_A_THREAD, most), 1)
    own = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    centers = np.ascontiguousarray(provisional, dtype=np.float64)
    codes = np.require(codes, np.dtype(codes.dtype.type), ["C", "A"])
    native.moments(read, codes, own, centers, FORMS[form], parts, threads_for(numbers), weight, total, products)
    return weight, total, products


def factor_products(columns: NDArray[Any], factors: Array) -> Array | None:
    """sum over rows of factor_c z z' for columns (q, n) and factors (c, n); (c, q, q). None where NumPy must do it."""
    read = readable(columns.T)
    count, features = len(factors), len(columns)
    if read is None or features > MOST_FEATURES or not count:
        return None
    products, numbers = np.empty((count, features, features)), count * columns.size
    parts = max(min(numbers // WORTH_A_THREAD, MOST_PARTS, MOST_BYTES // (16 * products.size)), 1)
    native.products(read, np.ascontiguousarray(factors), parts, threads_for(numbers), products)
    return products
