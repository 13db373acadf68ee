"""Rows as the members of a stack see them, as columns of a query: numbers in standard units, perhaps to a Yeo-Johnson
power, and 0 where there is none; levels, steps and few numbers by their codes.

    z = (x - center) / scale
    f(z, a) = ((z + 1)^a - 1) / a for z >= 0, -((1 - z)^(2 - a) - 1) / (2 - a) for z < 0

What two members see alike is one column of the query.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlglot import exp

from classwise.arrays import Array
from classwise.comparison.stack.transforms import Category, Encoding
from classwise.export.sql.arithmetic import (
    Expression,
    case,
    column,
    is_null,
    log,
    minus,
    number,
    or_zero,
    over,
    shifted,
    times,
)
from classwise.export.sql.dialects import NEAREST
from classwise.export.sql.draft import Draft
from classwise.export.sql.steps import Step
from classwise.rows.schema import Column, Schema
from classwise.statistics.moments import LARGEST

# A number farther from its column's center, in standard units, has no answer: its powers would overflow.
FARTHEST_UNITS = 1e30

# A power nearer to zero is a logarithm.
SMALL_POWER = 1e-8


@dataclass(eq=False)
class StackColumns:
    """Defines columns of a draft, each but once."""

    draft: Draft
    schema: Schema
    _names: dict[tuple[Step, str], str] = field(default_factory=dict)
    _read: dict[int, str] = field(default_factory=dict)

    def about(self, encoding: Encoding, place: int, origin: float, spread: float) -> str:
        """An encoded column minus an origin: a number, or one of the indicators that stand after them."""
        if place < encoding.n_numbers:
            return self._define(Step.SEEN, "seen", shifted(or_zero(column(self._value(encoding, place))), -origin))
        shown = [(i, at) for i, places in enumerate(encoding.indicators) for at in places.tolist()]
        which, position = shown[place - encoding.n_numbers]
        code, positions = self.code(encoding, which)
        branch = exp.If(this=exp.Literal.number(positions.index(position) - 1), true=number(1.0 - origin))
        return self._define(Step.SEEN, "seen", exp.Case(this=column(code), ifs=[branch], default=number(-origin)))

    def range_of(self, encoding: Encoding, place: int) -> str:
        """How many cuts of a number lie below it; of one that is missing, how many lie below 0."""
        cuts, value = encoding.cuts[place], self._value(encoding, place)
        missing = (is_null(column(value)), exp.Literal.number(int((cuts < 0).sum())))
        return self._define(Step.SEEN, "range", _places(value, cuts, missing))

    def code(self, encoding: Encoding, which: int) -> tuple[str, list[int]]:
        """What a category is called, by its code: -1 for missing, then its values, then one never seen; and the
        position that stands for each code, -1 where it says nothing.
        """
        category = encoding.categories[which]
        count = len(category.values)
        positions = [count if category.missing else -1, *range(count)]
        if category.column in encoding.few:
            return self._few(category), positions
        if category.column not in self._read:
            self._read[category.column] = self.draft.code(category.column)
        return self._read[category.column], [*positions, -1]

    def _few(self, category: Category) -> str:
        """The nearest of few numbers."""
        x = self._number(category.column)
        missing = (is_null(column(x)), exp.Literal.number(-1))
        return self._define(Step.UNITS, "near", _places(x, category.cuts, missing))

    def _value(self, encoding: Encoding, place: int) -> str:
        """A number in standard units, to its Yeo-Johnson power; NULL where it is missing."""
        numbers = encoding.numbers
        center, scale, power = (float(of[place]) for of in (numbers.center, numbers.scale, numbers.powers))
        unit = self._unit(int(numbers.columns[place]), center, scale)
        return unit if power == 1 else self._define(Step.BENT, "bent", _yeo_johnson(unit, power))

    def _unit(self, j: int, center: float, scale: float) -> str:
        """(x - center) / scale, NULL where it is too far to be computed with."""
        away = shifted(column(self._number(j)), -center)
        size, most = exp.Abs(this=away), number(FARTHEST_UNITS * scale)
        branches: list[tuple[Expression, Expression]] = [
            (exp.LTE(this=size, expression=most), over(away.copy(), number(scale)))
        ]
        if self.draft.dialect.raises:
            is_none = exp.LT(this=size.copy(), expression=number(NEAREST * scale))
            branches.insert(0, (is_none, number(0.0)))
        name = self._define(Step.UNITS, "unit", case(*branches))
        self._refuse(exp.GT(this=size.copy(), expression=most.copy()))
        return name

    def _number(self, j: int) -> str:
        """A column of numbers; rows with one that Python refuses are refused."""
        if j not in self._read:
            x = self._read[j] = self.draft.plain(j)
            for condition in _outside(x, self.schema.columns[j]):
                self._refuse(condition)
        return self._read[j]

    def _refuse(self, condition: Expression) -> None:
        if condition not in self.draft.refusals:
            self.draft.refusals.append(condition)

    def _define(self, step: Step, letters: str, expression: Expression) -> str:
        key = (step, expression.sql())
        if key not in self._names:
            self._names[key] = self.draft.define(step, letters, expression)
        return self._names[key]


def _places(name: str, cuts: Array, *first: tuple[Expression, Expression]) -> Expression:
    """How many of some sorted cuts lie below a number, after other branches."""
    bars = [exp.LTE(this=column(name), expression=number(cut)) for cut in cuts.tolist()]
    branches = [(bar, exp.Literal.number(i)) for i, bar in enumerate(bars)]
    return case(*first, *branches, otherwise=exp.Literal.number(len(cuts)))


def _yeo_johnson(name: str, power: float) -> Expression:
    above = _raised(shifted(column(name), 1.0), power)
    below = _raised(minus(number(1.0), column(name)), 2 - power)
    is_above = exp.GTE(this=column(name), expression=number(0.0))
    return case((is_above, above), otherwise=times(number(-1.0), below))


def _raised(base: Expression, power: float) -> Expression:
    """(base^power - 1) / power, and its limit log base."""
    if abs(power) < SMALL_POWER:
        return log(base)
    return over(shifted(exp.Exp(this=times(number(power), log(base))), -1.0), number(power))


def _outside(name: str, described: Column) -> Sequence[Expression]:
    """Conditions on a number that the family of its column cannot take."""
    x, family = column(name), described.family
    too_large = exp.GT(this=exp.Abs(this=x), expression=number(LARGEST))
    if family.name == "lognormal":
        return [too_large, exp.LTE(this=x.copy(), expression=number(0.0))]
    if family.name not in ("poisson", "binomial"):
        return [too_large]
    most = number(float(family.trials or 0)) if family.name == "binomial" else number(LARGEST)
    return [
        exp.LT(this=x.copy(), expression=number(0.0)),
        exp.GT(this=x.copy(), expression=most),
        exp.NEQ(this=x.copy(), expression=exp.Floor(this=x.copy())),
    ]


def steps_of(weights: Array) -> Array:
    """What steps with these weights (c,) add up to in each range between them; (c + 1,).

    >>> steps_of(np.array([1.0, 4.0]))
    array([-2.5, -1.5,  2.5])
    """
    return np.append(0.0, np.cumsum(weights)) - 0.5 * weights.sum()
