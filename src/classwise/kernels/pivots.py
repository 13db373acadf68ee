"""The least pivot of symmetric matrices: what is left of a column's variance beside the columns before it.

With L L' the correlations of the columns, pivot_j = L_jj²: the share of variance that columns before j do not explain.
"""

import numpy as np

from classwise import kernels
from classwise.kernels import Array

# Larger matrices are LAPACK's own field.
MOST_FEATURES = 48


def least_pivot(matrices: Array) -> float:
    """The least over matrices (k, p, p) and columns; 0 where a variance, or a pivot, is not positive."""
    if kernels.native is not None and matrices.shape[1] <= MOST_FEATURES:
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
