"""A stack as terms of a score: each member's log posteriors to its power, averaged by weight, to the pool's power.

    l_ik = log w_i + b_i d_ik - log sum over classes of exp b_i d_ij      d: scores about the member's best
    s_k = b log sum over members of exp l_ik                              of which softmax is P(k | x)

All in logarithms, each sum about its largest term, so that nothing overflows and what is improbable keeps its digits.
"""

from collections.abc import Sequence
from functools import partial, singledispatch

import numpy as np
from sqlglot import exp

from classwise.arrays import Array, Codes, log_normalize
from classwise.classifier.protocol import FittedModel
from classwise.comparison.stack.answers import PooledClassifier
from classwise.comparison.stack.softmax import Linear
from classwise.comparison.stack.trained import Bayesian, Trained, TrainedShares
from classwise.comparison.stack.transforms import Encoding
from classwise.densities import Categorical, Density, Student
from classwise.errors import ClasswiseError
from classwise.export.sql.answers import SMALLEST
from classwise.export.sql.arithmetic import (
    Expression,
    case,
    column,
    largest,
    linear,
    log,
    lookup,
    minus,
    number,
    shifted,
    times,
    total,
)
from classwise.export.sql.draft import Draft
from classwise.export.sql.gaussians import add_student
from classwise.export.sql.stack_columns import StackColumns, steps_of
from classwise.export.sql.steps import Step

DENSITIES = (Student, Categorical)


def add_stack(stack: PooledClassifier, model: FittedModel, draft: Draft, only_label: bool) -> None:
    """Scores of which softmax is P(k | x)."""
    refuse_members(stack)
    pool, columns = stack.pool, StackColumns(draft, model.schema)
    logs = [
        _define_logs(draft, i, trained, columns, float(pool.powers[i]), float(np.log(pool.weights[i])))
        for i, trained in enumerate(stack.members.values())
        if pool.weights[i] > 0
    ]
    for k, of_class in enumerate(zip(*logs, strict=True)):
        draft.add(k, times(number(pool.power), _log_sum(draft, k, of_class)))
    draft.add_constants(stack.shift)


def refuse_members(stack: PooledClassifier) -> None:
    """Refuse members with weight that have no form in SQL."""
    stuck = [f"{name!r}" for name, trained in stack.used.items() if not can_write(trained)]
    if stuck:
        raise ClasswiseError(
            f"The stack has members that cannot be written as SQL: {', '.join(stuck)}. Fit "
            "AutoClassifier(members='sql'), which has all that can be, or score the rows with predict."
        )


def can_write(trained: Trained) -> bool:
    """Whether a member has a form in SQL."""
    if isinstance(trained, Bayesian):
        return all(isinstance(part, DENSITIES) for part in _parts(trained.classifier.density))
    return isinstance(trained, (Linear, TrainedShares))


def _parts(density: Density) -> list[Density]:
    """Numbers, and the categories beside them."""
    return [block.density for block in density.as_blocks()]


# The pool -------------------------------------------------------------------------------------------------------------


def _define_logs(
    draft: Draft, i: int, trained: Trained, columns: StackColumns, power: float, log_weight: float
) -> list[Expression]:
    """log w + log P(k | x)^b / Z of a member, for each class."""
    if isinstance(trained, TrainedShares):
        shares = log_normalize(power * trained.sums.log_priors)
        return [number(log_weight + share) for share in shares.tolist()]
    add_scores(trained, columns)
    scores = _numbered(draft, Step.MEMBER, f"m{i}s", draft.take_scores())
    best = draft.steps.define(Step.MEMBER_BEST, f"m{i}best", _largest(draft, [*map(column, scores)]))
    apart = [times(number(power), minus(column(score), column(best))) for score in scores]
    levels = _numbered(draft, Step.MEMBER_LEVEL, f"m{i}d", apart)
    whole = draft.steps.define(Step.MEMBER_TOTAL, f"m{i}total", total([_exp(column(level)) for level in levels]))
    logs = [shifted(minus(column(level), log(column(whole))), log_weight) for level in levels]
    return [*map(column, _numbered(draft, Step.MEMBER_LOG, f"m{i}l", logs))]


def _log_sum(draft: Draft, k: int, terms: Sequence[Expression]) -> Expression:
    """log of the sum of exp, about the largest."""
    if len(terms) == 1:
        return terms[0]
    top = draft.steps.define(Step.TOP, f"top{k}", _largest(draft, [term.copy() for term in terms]))
    return exp.Add(this=column(top), expression=log(total([_exp(minus(term, column(top))) for term in terms])))


def _exp(expression: Expression) -> Expression:
    is_nothing = exp.LTE(this=expression, expression=number(SMALLEST))
    return case((is_nothing, number(0.0)), otherwise=exp.Exp(this=expression.copy()))


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
    for part in _parts(classifier.density):
        if isinstance(part, Categorical):
            _add_categories(part, trained, columns)
        else:
            assert isinstance(part, Student)
            about = partial(columns.about, trained.encoding)
            add_student(part, range(part.n_features), about, columns.draft)


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
