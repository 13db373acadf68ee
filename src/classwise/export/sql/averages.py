"""The average over the weights of two-class logistic regression, as scores: E P(s), with s ~ N(m, d²).

The trapezoidal rule in x, at points t = center + width sinh(x) of N(0, 1), which are closest where the score is zero:

    E P(s) = sum of  w P(m + d t)  over the sum of w,    w = cosh(x) exp(-t² / 2)

Its error is below 1e-10 for every deviation up to 1e4. Each point is a column of some steps of the query.
"""

import numpy as np
from sqlglot import exp

from classwise.export.sql.arithmetic import (
    IMPOSSIBLE,
    POSSIBLE,
    SMALLEST,
    Expression,
    case,
    column,
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

# Points of the rule; how far they go in deviations; and how far they are even near s = 0.
COUNT = 241
REACH = 9.0
EVEN = 10.0

# Added to the variance, so that nothing is divided by zero.
TINY = 1e-24


def add_average(m: str, v: str, draft: Draft) -> None:
    """log E P of both classes; m, v: what mean and variance of the score are called."""
    steps = draft.steps
    # As in Python, a row so far away that its variance is infinite has no answer.
    finite = case((exp.LTE(this=column(v), expression=number(-POSSIBLE)), shifted(column(v), TINY)))
    d = steps.define(Step.DEVIATION, "deviation", exp.Sqrt(this=finite))
    _define_range(m, d, draft)
    sums: tuple[list[Expression], list[Expression], list[Expression]] = ([], [], [])
    for i, place in enumerate(np.linspace(0.0, 1.0, COUNT).tolist()):
        x = exp.Add(this=column("low"), expression=times(number(place), column("span")))
        u = column(steps.define(Step.POINT, f"u{i}", exp.Exp(this=x)))
        sinh = times(number(0.5), minus(u, over(number(1.0), u.copy())))
        t = column(
            steps.define(Step.SPOT, f"t{i}", exp.Add(this=column("center"), expression=times(column("width"), sinh)))
        )
        steps.define(Step.SPOT, f"g{i}", exp.Add(this=u.copy(), expression=over(number(1.0), u.copy())))
        w = times(column(f"g{i}"), exp.Exp(this=times(number(-0.5), square(t))))
        steps.define(Step.WEIGHED, f"w{i}", w)
        steps.define(Step.WEIGHED, f"y{i}", exp.Add(this=column(m), expression=times(column(d), t.copy())))
        for k, sign in enumerate((1.0, -1.0)):
            sums[k].append(times(column(f"w{i}"), _sigmoid(f"y{i}", sign)))
        sums[2].append(column(f"w{i}"))
    names = [steps.define(Step.AVERAGED, f"sum{k}", total(of)) for k, of in enumerate(sums)]
    for k in range(2):
        ratio = over(column(names[k]), column(names[2]))
        is_some = exp.GT(this=column(names[k]), expression=number(0.0))
        none = exp.LTE(this=column(names[k]), expression=number(0.0))
        draft.add(k, case((is_some, log(ratio)), (none, number(IMPOSSIBLE))))


def _define_range(m: str, d: str, draft: Draft) -> None:
    """center and width, and from which x on, over which span."""
    zero = times(number(-1.0), over(column(m), column(d)))
    ends = [
        (kind(this=zero.copy(), expression=number(end)), number(end))
        for kind, end in ((exp.GT, REACH), (exp.LT, -REACH))
    ]
    draft.steps.define(Step.CENTER, "center", case(*ends, otherwise=zero))
    is_wide = exp.GT(this=column(d), expression=number(1.0))
    width = case((is_wide, over(number(EVEN), column(d))), otherwise=number(EVEN))
    draft.steps.define(Step.CENTER, "width", width)
    below = _arcsinh(over(shifted(column("center"), REACH), column("width")))
    above = _arcsinh(over(minus(number(REACH), column("center")), column("width")))
    draft.steps.define(Step.ENDS, "low", times(number(-1.0), below))
    draft.steps.define(Step.ENDS, "span", exp.Add(this=above, expression=below.copy()))


def _arcsinh(z: Expression) -> Expression:
    """Of z >= 0."""
    return log(exp.Add(this=z, expression=exp.Sqrt(this=shifted(square(z.copy()), 1.0))))


def _sigmoid(name: str, sign: float) -> Expression:
    """1 / (1 + exp(sign y)), without overflow."""
    y = times(number(sign), column(name))
    is_none = exp.GT(this=y, expression=number(-SMALLEST))
    is_all = exp.LT(this=y.copy(), expression=number(SMALLEST))
    inside = over(number(1.0), shifted(exp.Exp(this=y.copy()), 1.0))
    return case((is_none, number(0.0)), (is_all, number(1.0)), otherwise=inside)
