"""A stack as terms of a score: the columns that its members see, their log posteriors, and the average of these.

    z = (x - center) / scale                                              numbers in standard units, 0 where missing
    f(z, a) = ((z + 1)^a - 1) / a for z >= 0, -((1 - z)^(2 - a) - 1) / (2 - a) for z < 0         Yeo-Johnson
    l_ik = log w_i + b_i d_ik - log sum over classes of exp b_i d_ij      d: scores about the member's best
    s_k = b log sum over members of exp l_ik                              of which softmax is P(k | x)

Levels, steps and few numbers are seen by their codes. What two members see alike is one column of the query. Sums are
taken in logarithms, each about its largest term, so that nothing overflows and what is improbable keeps its digits.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from functools import partial, singledispatch

import numpy as np
from sqlglot import exp

from classwise.arrays import Array, Codes, log_normalize
from classwise.classifier.bayes import FittedModel
from classwise.comparison.stack.boosted_members import BoostedTrees
from classwise.comparison.stack.forest_members import Forest
from classwise.comparison.stack.network_members import Network
from classwise.comparison.stack.product import LEAST, MemberProduct
from classwise.comparison.stack.softmax import KernelLinear, Linear
from classwise.comparison.stack.stack_model import PooledClassifier
from classwise.comparison.stack.trained import Bayesian, Trained, TrainedShares
from classwise.comparison.stack.transforms import Category, Encoding
from classwise.densities import Categorical, Density, Mixture, OneDependence, Student
from classwise.errors import ClasswiseError
from classwise.export.sql.arithmetic import (
    Expression,
    case,
    column,
    exp_or_zero,
    is_null,
    largest,
    linear,
    log,
    lookup,
    minus,
    number,
    or_zero,
    over,
    shifted,
    square,
    times,
    total,
)
from classwise.export.sql.dialects import NEAREST
from classwise.export.sql.draft import Draft, Step
from classwise.export.sql.gaussians import add_student
from classwise.export.sql.sums import add_mixture, add_one_dependence, places_of
from classwise.export.sql.trees import add_sums, add_trees
from classwise.rows.schema import Column, Schema
from classwise.statistics.moments import LARGEST

# A number farther from its column's center, in standard units, has no answer: its powers would overflow.
FARTHEST_UNITS = 1e30

# Farther from zero, tanh is 1 or -1 in double precision.
FARTHEST_TANH = 20.0

# The steps of the layers of a network.
LAYER_STEPS = ((Step.FIRST_SUM, Step.FIRST_UNIT), (Step.SECOND_SUM, Step.SECOND_UNIT))

# The steps in which scores become log posteriors: of a member, and of the product of all.
MEMBER_STEPS = (Step.MEMBER, Step.MEMBER_BEST, Step.MEMBER_LEVEL, Step.MEMBER_TOTAL, Step.MEMBER_LOG)
PRODUCT_STEPS = (Step.PRODUCT, Step.PRODUCT_BEST, Step.PRODUCT_LEVEL, Step.PRODUCT_TOTAL, Step.PRODUCT_LOG)

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
            return self.define(Step.SEEN, "seen", shifted(or_zero(column(self._value(encoding, place))), -origin))
        shown = [(i, at) for i, places in enumerate(encoding.indicators) for at in places.tolist()]
        which, position = shown[place - encoding.n_numbers]
        code, positions = self.code(encoding, which)
        branch = exp.If(this=exp.Literal.number(positions.index(position) - 1), true=number(1.0 - origin))
        return self.define(Step.SEEN, "seen", exp.Case(this=column(code), ifs=[branch], default=number(-origin)))

    def range_of(self, encoding: Encoding, place: int) -> str:
        """How many cuts of a number lie below it; of one that is missing, how many lie below 0."""
        cuts, value = encoding.cuts[place], self._value(encoding, place)
        missing = (is_null(column(value)), exp.Literal.number(int((cuts < 0).sum())))
        return self.define(Step.SEEN, "range", _places(value, cuts, missing))

    def code(self, encoding: Encoding, which: int) -> tuple[str, list[int]]:
        """What a category is called, by its code: -1 for missing, then its values, then one never seen; and the
        position that stands for each code, -1 where it says nothing.
        """
        category = encoding.categories[which]
        count = category.count
        positions = [count if category.missing else -1, *range(count)]
        if category.column in encoding.few:
            return self._few(category), positions
        return self.given([category.column], category.column), [*positions, -1]

    def given(self, levels: Container[int], j: int) -> str:
        """A column as the table has it: a number, or the code of a level."""
        if j not in levels:
            return self._number(j)
        if j not in self._read:
            self._read[j] = self.draft.code(j)
        return self._read[j]

    def _few(self, category: Category) -> str:
        """The nearest of few numbers."""
        x = self._number(category.column)
        missing = (is_null(column(x)), exp.Literal.number(-1))
        return self.define(Step.UNITS, "near", _places(x, category.cuts, missing))

    def _value(self, encoding: Encoding, place: int) -> str:
        """A number in standard units, to its Yeo-Johnson power; NULL where it is missing."""
        numbers = encoding.numbers
        center, scale, power = (float(of[place]) for of in (numbers.center, numbers.scale, numbers.powers))
        unit = self._unit(int(numbers.columns[place]), center, scale)
        return unit if power == 1 else self.define(Step.TRANSFORMED, "transformed", _yeo_johnson(unit, power))

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
        name = self.define(Step.UNITS, "unit", case(*branches))
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

    def define(self, step: Step, letters: str, expression: Expression) -> str:
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


# Members: each one's log posteriors to its power, their average beside their product, to the pool's power -------------

DENSITIES = (Student, Categorical, Mixture, OneDependence)


def add_stack(stack: PooledClassifier, model: FittedModel, draft: Draft, only_label: bool) -> None:
    """Scores of which softmax is P(k | x)."""
    refuse_members(stack)
    pool, columns = stack.pool.trimmed(), StackColumns(draft, model.schema)
    pairs = zip(stack.used.values(), pool.powers.tolist(), strict=True)
    logs = [_define_logs(draft, i, trained, columns, power) for i, (trained, power) in enumerate(pairs)]
    shares = np.log(pool.weights)
    if pool.product is not None:
        shares = np.append(shares + np.log1p(-pool.product.share), np.log(pool.product.share))
        logs.append(_define_product(draft, pool.product, logs))
    for k, of_class in enumerate(zip(*logs, strict=True)):
        weighed = [shifted(log.copy(), share) for log, share in zip(of_class, shares.tolist(), strict=True)]
        draft.add(k, times(number(pool.power), _log_sum(draft, k, weighed)))
    draft.add_constants(stack.shift)


def refuse_members(stack: PooledClassifier) -> None:
    """Refuse members with weight that have no form in SQL."""
    stuck = [f"{name!r}" for name, trained in stack.used.items() if not can_write(trained)]
    if stuck:
        raise ClasswiseError(
            f"The stack has members that cannot be written as SQL: {', '.join(stuck)}; fit "
            "without them, or score the rows with predict."
        )


def can_write(trained: Trained) -> bool:
    """Whether a member has a form in SQL."""
    if isinstance(trained, Bayesian):
        return all(isinstance(part, DENSITIES) for part in _parts(trained.classifier.density))
    return isinstance(trained, (Linear, KernelLinear, Network, TrainedShares, Forest, BoostedTrees))


def _parts(density: Density) -> list[Density]:
    """Numbers, and the categories beside them."""
    return [block.density for block in density.as_blocks()]


# The pool -------------------------------------------------------------------------------------------------------------


def _define_logs(draft: Draft, i: int, trained: Trained, columns: StackColumns, power: float) -> list[Expression]:
    """log P(k | x)^b / Z of a member, for each class."""
    if isinstance(trained, TrainedShares):
        return [*map(number, log_normalize(power * trained.sums.log_priors).tolist())]
    add_scores(trained, columns)
    return _normalized(draft, MEMBER_STEPS, f"m{i}", draft.take_scores(), power)


def _define_product(draft: Draft, product: MemberProduct, logs: Sequence[Sequence[Expression]]) -> list[Expression]:
    """log of the product of members to their exponents, normalized, for each class."""
    exponents = [*map(number, product.exponents.tolist())]
    sums = [total([*map(times, exponents, map(_bounded, of_class))]) for of_class in zip(*logs, strict=True)]
    return _normalized(draft, PRODUCT_STEPS, "product", sums, 1.0)


def _bounded(log: Expression) -> Expression:
    """No less than LEAST; NULL stays NULL."""
    return case((exp.LT(this=log.copy(), expression=number(LEAST)), number(LEAST)), otherwise=log.copy())


def _normalized(
    draft: Draft, steps: Sequence[Step], letters: str, scores: Sequence[Expression], power: float
) -> list[Expression]:
    """power times scores, less the log of the sum of their exp."""
    first, at_best, at_level, at_total, last = steps
    names = _numbered(draft, first, f"{letters}s", scores)
    best = draft.steps.define(at_best, f"{letters}best", _largest(draft, [*map(column, names)]))
    apart = [times(number(power), minus(column(name), column(best))) for name in names]
    levels = _numbered(draft, at_level, f"{letters}d", apart)
    sum_of = total([exp_or_zero(column(of_class)) for of_class in levels])
    whole = draft.steps.define(at_total, f"{letters}total", sum_of)
    return [
        *map(column, _numbered(draft, last, f"{letters}l", [minus(column(of), log(column(whole))) for of in levels]))
    ]


def _log_sum(draft: Draft, k: int, terms: Sequence[Expression]) -> Expression:
    """log of the sum of exp, about the largest."""
    if len(terms) == 1:
        return terms[0]
    top = draft.steps.define(Step.TOP, f"top{k}", _largest(draft, [term.copy() for term in terms]))
    return exp.Add(this=column(top), expression=log(total([exp_or_zero(minus(term, column(top))) for term in terms])))


def _largest(draft: Draft, items: Sequence[Expression]) -> Expression:
    return largest(items, draft.dialect.ignores_nulls)


def _numbered(draft: Draft, step: Step, letters: str, expressions: Sequence[Expression]) -> list[str]:
    return [draft.steps.define(step, f"{letters}{k}", expression) for k, expression in enumerate(expressions)]


# The members ----------------------------------------------------------------------------------------------------------


@singledispatch
def add_scores(trained: Trained, columns: StackColumns) -> None:
    """Add the scores of a member, of which softmax is its posterior, to a draft."""
    raise ClasswiseError(f"A {type(trained).__name__} cannot be written as SQL; score the rows with predict.")


@add_scores.register
def _(trained: Bayesian, columns: StackColumns) -> None:
    """log prior + log density."""
    classifier = trained.classifier
    columns.draft.add_constants(classifier.log_prior[:, 0])
    about = partial(columns.about, trained.encoding)
    for part in _parts(classifier.density):
        if isinstance(part, Categorical):
            _add_categories(part, trained, columns)
        elif isinstance(part, OneDependence):
            _add_one_dependence(part, trained, columns)
        elif isinstance(part, Mixture):
            add_mixture(part, range(part.n_features), about, columns.draft)
        else:
            assert isinstance(part, Student)
            add_student(part, range(part.n_features), about, columns.draft)


def _add_one_dependence(density: OneDependence, trained: Bayesian, columns: StackColumns) -> None:
    """Categories by their positions, which are -1 where they say nothing."""
    codes = []
    for which in range(len(density.columns)):
        code, positions = columns.code(trained.encoding, which)
        codes.append(columns.define(Step.TRANSFORMED, "place", places_of(code, positions)))
    add_one_dependence(density, codes, columns.draft)


def _add_categories(density: Categorical, trained: Bayesian, columns: StackColumns) -> None:
    """log p of each level; nothing where a value says nothing."""
    for which, of_column in enumerate(density.columns):
        code, positions = columns.code(trained.encoding, which)
        _add_looked_up(columns.draft, code, of_column.log_probability[:, positions], first=-1)


@add_scores.register
def _(trained: Linear, columns: StackColumns) -> None:
    """intercept + weights'(x - center), less those of the first class; steps and levels are looked up."""
    draft, encoding = columns.draft, trained.encoding
    relative, constants = trained.weights - trained.weights[0], trained.intercept - trained.intercept[0]
    draft.add_constants(constants - relative @ trained.center)
    numbers, *others = _parted(relative, encoding)
    steps, indicators = others[: len(encoding.cuts)], others[len(encoding.cuts) :]
    names = [columns.about(encoding, j, 0.0, 1.0) for j in range(encoding.n_numbers)]
    for k, weights in enumerate(numbers):
        draft.scores[k] += linear(weights, names) if weights.any() else []
    for j, of_steps in enumerate(steps):
        if of_steps.shape[1]:
            _add_looked_up(draft, columns.range_of(encoding, j), [*map(steps_of, of_steps)], first=0)
    for which, weights in enumerate(indicators):
        code, positions = columns.code(encoding, which)
        values = _by_position(weights, encoding.indicators[which], len(encoding.categories[which]))
        _add_looked_up(draft, code, values[:, positions], first=-1)


@add_scores.register
def _(trained: KernelLinear, columns: StackColumns) -> None:
    """intercept + weights' exp(-|z - c|² / width), over landmarks c; |z - c|² = |z|² - 2 z'c + |c|²."""
    draft, features, (weights, intercept) = columns.draft, trained.encoding, trained._of_landmarks
    width, places = features.kernel_width, range(features.encoding.n_encoded)
    names = [columns.about(features.encoding, j, 0.0, 1.0) for j in places]
    size = column(draft.define(Step.WHITE, "size", total([square(column(name)) for name in names])))
    near = []
    for landmark in features.landmarks:
        along = total(linear(landmark * (2 / width), names))
        apart = shifted(minus(along, over(size.copy(), number(width))), -float(landmark @ landmark) / width)
        near.append(draft.define(Step.PART, "near", exp_or_zero(column(draft.define(Step.DISTANCE, "apart", apart)))))
    for k, of_class in enumerate(weights - weights[0]):
        draft.scores[k] += linear(of_class, near) if of_class.any() else []
    draft.add_constants(intercept - intercept[0])


@add_scores.register
def _(trained: Forest, columns: StackColumns) -> None:
    """log of the mean over trees of what is believed of the leaf."""
    add_trees(trained.trees, trained.beliefs, columns.draft, partial(columns.given, trained.trees.levels))


@add_scores.register
def _(trained: BoostedTrees, columns: StackColumns) -> None:
    """start + what the leaves add, of the classes whose scores they move."""
    seen = np.flatnonzero(trained.added.any(axis=0)).tolist()
    read = partial(columns.given, trained.trees.levels)
    for k, name in zip(seen, add_sums(trained.trees, trained.added[:, seen], columns.draft, read), strict=True):
        columns.draft.add(k, column(name))
    columns.draft.add_constants(trained.start)


@add_scores.register
def _(trained: Network, columns: StackColumns) -> None:
    """bias + weights' units, over the units of the last layer, less those of the first class."""
    draft, encoding = columns.draft, trained.encoding
    names = [columns.about(encoding, j, 0.0, 1.0) for j in range(encoding.n_encoded)]
    *hidden, last = trained.layers
    for layer, (of_sums, of_units) in zip(hidden, LAYER_STEPS, strict=False):
        sums = [
            draft.define(of_sums, "into", shifted(total(_weighed(weights, names)), bias))
            for weights, bias in zip(layer.weights, layer.bias.tolist(), strict=True)
        ]
        names = [draft.define(of_units, "unit", _tanh(name)) for name in sums]
    for k, of_class in enumerate(last.weights - last.weights[0]):
        draft.scores[k] += _weighed(of_class, names) if of_class.any() else []
    draft.add_constants(last.bias - last.bias[0])


def _weighed(weights: Array, names: Sequence[str]) -> list[Expression]:
    """a * x for each weight that is not zero: the layers of several networks lie side by side, and are mostly zeros."""
    kept = np.flatnonzero(weights).tolist() or [0]
    return linear(weights[kept], [names[i] for i in kept])


def _tanh(name: str) -> Expression:
    """1 - 2 / (1 + exp 2x)."""
    x, most = column(name), number(FARTHEST_TANH)
    grown = shifted(exp.Exp(this=times(number(2.0), x.copy())), 1.0)
    return case(
        (exp.GT(this=x, expression=most), number(1.0)),
        (exp.LT(this=x.copy(), expression=number(-FARTHEST_TANH)), number(-1.0)),
        otherwise=minus(number(1.0), over(number(2.0), grown)),
    )


def _parted(weights: Array, encoding: Encoding) -> list[Array]:
    """The weights (g, ...) of the numbers, of the steps of each, and of the indicators of each category."""
    sizes = [encoding.n_numbers, *map(len, encoding.cuts), *map(len, encoding.indicators)]
    return np.split(weights, np.cumsum(sizes)[:-1], axis=1)


def _by_position(weights: Array, shown: Codes, count: int) -> Array:
    """The weights (g, v) of positions with an indicator, as those of all, and 0 at the last; (g, count + 1)."""
    values = np.zeros((len(weights), count + 1))
    values[:, shown] = weights
    return values


def _add_looked_up(draft: Draft, code: str, values: Sequence[Array] | Array, first: int) -> None:
    """The value of a code, counted from `first`, in each class; nothing where all of them are 0."""
    for k, of_class in enumerate(values):
        if of_class.any():
            draft.add(k, lookup(column(code), of_class.tolist(), first))
