"""Arithmetic as SQL: numbers that lose no digit, sums that are never deep, and the cases that engines differ in.

Every number has an exponent, as in 0.5e0: that is what makes it a double, and not a decimal, wherever SQL tells them
apart; the digits are the fewest that give back the same double.
"""

from collections.abc import Callable, Iterable, Sequence
from math import lgamma
from typing import Any, TypeAlias

from sqlglot import exp

from classwise.export.novelty import FEW, LOG_UNIT, STIRLING

Expression: TypeAlias = exp.Expr

# Engines limit how deep an expression may be, and how many arguments a function may have: longer sums go by groups.
GROUP = 32

# The score of a class that is out of the question. It is finite, so that it can be added to: not all engines know
# infinity. Whatever is below POSSIBLE was made of it.
IMPOSSIBLE = -1e300
POSSIBLE = -1e290


def number(value: float) -> Expression:
    """A double, exactly.

    >>> [number(value).sql() for value in (0.5, -1e-7, 44.0)]
    ['0.5e0', '-1e-07', '44e0']
    """
    digits = repr(float(value))
    text = digits if "e" in digits else digits.removesuffix(".0") + "e0"
    return exp.Literal(this=text, is_string=False)


def score(value: float) -> Expression:
    """A log probability, of which that of zero is IMPOSSIBLE."""
    return number(max(value, IMPOSSIBLE))


def column(name: str) -> Expression:
    """A column of the query itself."""
    return exp.column(name)


def written(text: str, names: Iterable[str]) -> Expression:
    """An expression that is written already, in the words of its engine; names: the columns that it reads."""
    whole = exp.Literal(this=text, is_string=False)
    whole.meta["columns"] = tuple(names)
    return whole


def enclosed(expression: Expression) -> Expression:
    """In parentheses, where it takes some."""
    return exp.Paren(this=expression) if isinstance(expression, exp.Binary) else expression


def times(first: Expression, second: Expression) -> Expression:
    """first * second."""
    return exp.Mul(this=enclosed(first), expression=enclosed(second))


def over(first: Expression, second: Expression) -> Expression:
    """first / second, of doubles."""
    return exp.Div(this=enclosed(first), expression=enclosed(second), typed=True)


def square(expression: Expression) -> Expression:
    """x * x: POWER is slower, and not always exact."""
    return times(expression, expression.copy())


def shifted(expression: Expression, by: float) -> Expression:
    """x + by.

    >>> shifted(column("x"), -2.0).sql(), shifted(column("x"), 0.0).sql()
    ('x - 2e0', 'x')
    """
    if by == 0:
        return expression
    operation = exp.Add if by > 0 else exp.Sub
    return operation(this=expression, expression=number(abs(by)))


def minus(first: Expression, second: Expression) -> Expression:
    """first - second."""
    return exp.Sub(this=first, expression=enclosed(second))


def total(terms: Sequence[Expression]) -> Expression:
    """The sum, group by group."""
    return _in_groups(terms, _chain)


def _chain(terms: Sequence[Expression]) -> Expression:
    whole, *others = terms
    for term in others:
        negative = _without_minus(term)
        if negative is not None:
            whole = exp.Sub(this=whole, expression=negative)
        else:
            whole = exp.Add(this=whole, expression=enclosed(term) if isinstance(term, exp.Add | exp.Sub) else term)
    return whole


def _without_minus(term: Expression) -> Expression | None:
    """-a * x as a * x; None for other terms."""
    factor = term.this if isinstance(term, exp.Mul) else None
    if not isinstance(factor, exp.Literal) or not factor.name.startswith("-"):
        return None
    return exp.Mul(this=exp.Literal(this=factor.name[1:], is_string=False), expression=term.expression)


def linear(coefficients: Iterable[float], names: Iterable[str]) -> list[Expression]:
    """a * x for each, as the terms of a sum."""
    return [times(number(a), column(name)) for a, name in zip(coefficients, names, strict=True)]


def _in_groups(items: Sequence[Any], join: Callable[[Sequence[Any]], Expression]) -> Expression:
    if len(items) <= GROUP:
        return join(items)
    groups = [items[start : start + GROUP] for start in range(0, len(items), GROUP)]
    return _in_groups([join(group) for group in groups], join)


def largest(items: Sequence[Expression], ignores_nulls: bool) -> Expression:
    """The largest of several; of numbers that are all NULL or none, so that it does not matter what NULL does."""
    return _in_groups(items, lambda group: _extreme(exp.Greatest, group, ignores_nulls))


def least(items: Sequence[Expression], ignores_nulls: bool) -> Expression:
    """The least of several."""
    return _in_groups(items, lambda group: _extreme(exp.Least, group, ignores_nulls))


def _extreme(kind: type[exp.Greatest] | type[exp.Least], group: Sequence[Expression], ignores: bool) -> Expression:
    return group[0] if len(group) == 1 else kind(this=group[0], expressions=list(group[1:]), ignore_nulls=ignores)


def case(*branches: tuple[Expression, Expression], otherwise: Expression | None = None) -> Expression:
    """CASE WHEN ... THEN ... ELSE ... END; without an ELSE it is NULL."""
    chosen = exp.Case()
    for condition, value in branches:
        chosen = chosen.when(condition, value, copy=False)
    return chosen if otherwise is None else chosen.else_(otherwise, copy=False)


def lookup(place: Expression, values: Sequence[float], first: int = 0) -> Expression:
    """The value of each place, counted from `first`, as a double; of other places NULL."""
    branches = [exp.If(this=exp.Literal.number(first + i), true=score(value)) for i, value in enumerate(values)]
    return double(exp.Case(this=place, ifs=branches))


def double(expression: Expression) -> Expression:
    """As a double."""
    return exp.cast(expression, exp.DType.DOUBLE)


def or_zero(expression: Expression) -> Expression:
    """What is missing adds nothing."""
    return exp.Coalesce(this=expression, expressions=[number(0.0)])


def is_null(expression: Expression) -> Expression:
    """Whether there is no value."""
    return exp.Is(this=expression, expression=exp.Null())


def log(expression: Expression) -> Expression:
    """The natural logarithm."""
    return exp.Ln(this=expression)


# exp of less is taken for zero: PostgreSQL ends the query where an exponential, or a product with it, underflows.
SMALLEST = -600.0


def exp_or_zero(expression: Expression) -> Expression:
    """exp, and zero where it would underflow."""
    is_nothing = exp.LTE(this=expression, expression=number(SMALLEST))
    return case((is_nothing, number(0.0)), otherwise=exp.Exp(this=expression.copy()))


def log_plus_one(name: str) -> Expression:
    """log(1 + u) for u >= 0 in a column, to the last digit, also where u is small (Kahan; see Higham 2002, 1.14.1).

    The error of w = 1 + u is in log w and in w - 1 alike, so it cancels from their ratio.
    """
    u, w = column(name), exp.Add(this=number(1.0), expression=column(name))
    ratio = over(times(log(w.copy()), u.copy()), shifted(enclosed(w.copy()), -1.0))
    is_nothing, is_large = exp.EQ(this=w, expression=number(1.0)), exp.GT(this=u.copy(), expression=number(1.0))
    return case((is_nothing, u), (is_large, log(w.copy())), otherwise=ratio)


def log_factorial(count: Expression) -> Expression:
    """log x! of a whole number; with z = x + 1, Stirling's (z - 1/2) log z - z + log sqrt(2 π) + 1 / (12 z) - ..."""
    z = enclosed(shifted(count, 1.0))
    ratio = over(number(1.0), square(z.copy()))
    series: Expression = number(STIRLING[-1])
    for coefficient in STIRLING[-2::-1]:
        series = shifted(times(series, ratio.copy()), coefficient)
    main = minus(times(shifted(count.copy(), 0.5), log(z.copy())), z.copy())
    large = total([main, number(LOG_UNIT), over(enclosed(series), z.copy())])
    small = lookup(count.copy(), [lgamma(x + 1.0) for x in range(FEW)])
    return case((exp.LT(this=count.copy(), expression=number(FEW)), small), otherwise=large)
