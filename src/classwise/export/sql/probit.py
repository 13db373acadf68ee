"""Probit in SQL, which has no normal distribution function: log Φ of both classes.

    log(1 - Φ(x)) = log(t / 2) - z² + f(t),     x >= 0, z = x / √2, t = 2 / (2 + z)

with f(t) = log(erfcx(z) / t) smooth for t from 0 to 1: in each of PIECES equal parts a polynomial, exact to 1e-14.
"""

from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx
from sqlglot import exp

from classwise.arrays import Array
from classwise.export.sql.arithmetic import (
    Expression,
    case,
    column,
    exp_or_zero,
    log,
    minus,
    number,
    over,
    shifted,
    square,
    times,
    total,
)
from classwise.export.sql.draft import Draft, Step

PIECES, DEGREE = 8, 10


def add_probit(score: Expression, draft: Draft) -> None:
    """log Φ(-score) and log Φ(score); score: in terms of columns before the step DEVIATION."""
    x = draft.define(Step.DEVIATION, "x_probit", score)
    z = draft.define(Step.CENTER, "z_probit", times(number(float(np.sqrt(0.5))), exp.Abs(this=column(x))))
    t = draft.define(Step.ENDS, "t_probit", over(number(2.0), shifted(column(z), 2.0)))
    tail = draft.define(Step.POINT, "tail", _log_tail(z, t))
    rest = log(minus(number(1.0), exp_or_zero(column(tail))))
    is_second = exp.GT(this=column(x), expression=number(0.0))
    is_first = exp.LTE(this=column(x), expression=number(0.0))
    draft.add(0, case((is_second, column(tail)), (is_first.copy(), rest)))
    draft.add(1, case((is_second.copy(), rest.copy()), (is_first, column(tail))))


def _log_tail(z: str, t: str) -> Expression:
    """log(1 - Φ(√2 z)) for z >= 0."""
    branches = []
    for i, coefficients in enumerate(_pieces()):
        place = shifted(times(number(2.0 * PIECES), column(t)), -(2.0 * i + 1))  # from -1 to 1 within the piece
        value: Expression = number(float(coefficients[-1]))
        for coefficient in coefficients[-2::-1].tolist():
            value = shifted(times(value, place.copy()), coefficient)
        branches.append((exp.LTE(this=column(t), expression=number((i + 1) / PIECES)), value))
    own = minus(log(times(number(0.5), column(t))), square(column(z)))
    return total([own, case(*branches)])


def _pieces() -> list[Array]:
    """Coefficients of the powers of a place from -1 to 1, for each piece; (DEGREE + 1,)."""

    def smooth(t: Any) -> Any:
        return np.asarray(np.log(erfcx(2 / np.maximum(t, 1e-12) - 2) / np.maximum(t, 1e-12)))

    def coefficients(i: int) -> Array:
        own: Any = chebyshev.chebinterpolate(lambda y: smooth((2 * i + 1 + np.asarray(y)) / (2 * PIECES)), DEGREE)
        return np.asarray(chebyshev.cheb2poly(own), dtype=np.float64)

    return [coefficients(i) for i in range(PIECES)]
