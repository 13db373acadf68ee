"""Logistic regression in the compiled core: rows of numbers are gone through as they lie in memory, once for the losses
and once for the products.

With u = (x - center, 1), columns are z = units u, units = (1 / scale, 1). So scores are W z = (W units) u, and sums of
u become those of z once they are brought to its units.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, slices
from classwise.kernels.losses import softmax_losses
from classwise.kernels.sums import factor_products
from classwise.logistic.design import Design
from classwise.logistic.likelihood import Likelihood
from classwise.statistics import Curvature
from classwise.statistics.curvature import BLOCK_OF_ROWS


def fused_curvature(
    design: Design,
    likelihood: Likelihood,
    weights: Array,
    rows: NDArray[Any],
    codes: Codes,
    row_weights: Array | None,
    curved: bool,
) -> Curvature | None:
    """Of rows (m, p), all numbers and all there, at weights V (r, q); None where NumPy has to do it.

    curved: with second derivatives.
    """
    by_class = likelihood.as_softmax(likelihood.basis @ weights)
    if by_class is None:
        return None
    units, numbers = np.append(1 / design.scale, 1.0), len(design.center)
    constant, slope = by_class[:, numbers:].sum(axis=1), by_class[:, :numbers] * units[:-1]
    total = None
    for block in slices(len(rows), max(BLOCK_OF_ROWS // likelihood.factors, 1)):  # whose factors stay near
        own = None if row_weights is None else row_weights[block]
        found = _of_block(rows[block], codes[block], own, design.center, constant, slope, curved)
        if found is None:
            return None
        total = found if total is None else total + found
    return None if total is None else _in_units(total, units, len(likelihood.basis), design.width)


def _of_block(
    rows: NDArray[Any],
    codes: Codes,
    row_weights: Array | None,
    center: Array,
    constant: Array,
    slope: Array,
    curved: bool,
) -> Curvature | None:
    """By class and of u."""
    found = softmax_losses(rows, codes, row_weights, center, constant, slope, curved)
    if found is None:
        return None
    loss, gradient, factors = found
    products = factor_products(rows.T, factors, center) if curved else np.zeros((0, len(center) + 1, len(center) + 1))
    weight = float(len(rows) if row_weights is None else row_weights.sum())
    return None if products is None else Curvature(weight, loss, gradient, products)


def _in_units(total: Curvature, units: Array, scores: int, width: int) -> Curvature:
    """By score, and of the columns of the design, of which the intercept may be none."""
    gradient = (total.gradient * units)[-scores:, :width]
    products = total.products * units * units[:, None]
    return replace(total, gradient=gradient, products=products[:, :width, :width])
