"""Bayes' rule in SQL: from scores to posteriors, labels and decisions.

    d_k = s_k - max s          ties made equal, as in Python
    P(k | x) = exp d_k / sum over classes of exp d_j

The largest score is taken out first, so nothing overflows; what would underflow is zero.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from classwise.arrays import TIE
from classwise.classifier.bayes import Calibration
from classwise.classifier.decision import Policy
from classwise.export.sql.arithmetic import (
    POSSIBLE,
    Expression,
    case,
    column,
    exp_or_zero,
    largest,
    least,
    linear,
    log,
    minus,
    number,
    over,
    shifted,
    times,
    total,
)
from classwise.export.sql.draft import Draft, Step
from classwise.export.sql.novelty import Novel


def labels_of(draft: Draft, calibration: Calibration | None, labels: Sequence[Expression]) -> Expression:
    """The label of the largest score, the first of those that tie."""
    scores = draft.define_scores()
    best = _define_best(draft, scores)
    if calibration is None:
        return _first(scores, exp.GTE, shifted(column(best), -TIE), labels)
    level = _calibrated(draft, _define_level(draft, Step.LEVEL, scores, best), calibration)
    return _first(level, exp.EQ, number(0.0), labels)


def posteriors_of(draft: Draft, calibration: Calibration | None) -> list[Expression]:
    """P(k | x) of each class."""
    scores = draft.define_scores()
    weights, whole = _define_weights(draft, _define_levels(draft, calibration, scores, _define_best(draft, scores)))
    return [over(column(weight), column(whole)) for weight in weights]


def scores_of(draft: Draft, calibration: Calibration | None) -> list[Expression]:
    """log P(k | x) of each class; minus infinity where the probability is zero."""
    scores = draft.define_scores()
    levels = _define_levels(draft, calibration, scores, _define_best(draft, scores))
    _, whole = _define_weights(draft, levels)
    return [
        case(
            (exp.LT(this=column(level), expression=number(POSSIBLE)), draft.dialect.endless(-1)),
            otherwise=minus(column(level), log(column(whole))),
        )
        for level in levels
    ]


def decisions_of(
    draft: Draft,
    calibration: Calibration | None,
    policy: Policy,
    labels: Sequence[Expression],
    refused: Expression,
    novel: tuple[Novel, Expression] | None = None,
) -> Expression:
    """The label of least expected cost, of equals the most probable, of these the first; `refused` where refusing costs
    less, or the label is not probable enough. novel: whether a row is novel, and its label.
    """
    scores = draft.define_scores()
    best = _define_best(draft, scores)
    branches: list[tuple[Expression, Expression]] = []
    if novel is not None:
        # A row whose novelty is not known has no label.
        branches += [(of.is_so, exp.Null()) for of in draft.unanswered]
        branches.append((novel[0](scores, best), novel[1]))
    levels = _define_levels(draft, calibration, scores, best)
    weights, whole = _define_weights(draft, levels)
    shares = [over(column(weight), column(whole)) for weight in weights]
    posteriors = _numbered(draft, Step.POSTERIOR, "p", shares)
    costs = _numbered(draft, Step.COST, "cost", [total(linear(of, posteriors)) for of in policy.costs.T.tolist()])
    ignores = draft.dialect.ignores_nulls
    lowest = draft.steps.define(Step.LEAST, "lowest", least([*map(column, costs)], ignores))
    bar = shifted(column(lowest), policy.rounding)
    chances = [
        case((exp.LTE(this=column(cost), expression=bar.copy()), column(p)), (_is_there(cost), number(-1.0)))
        for cost, p in zip(costs, posteriors, strict=True)
    ]
    equals = _numbered(draft, Step.EQUALS, "w", chances)
    draft.steps.define(Step.LIKELIEST, "likeliest", largest([*map(column, equals)], ignores))
    for w, cost, p, label in zip(equals, costs, posteriors, labels, strict=True):
        chosen = exp.GTE(this=column(w), expression=column("likeliest"))
        doubts = [exp.And(this=chosen.copy(), expression=doubt) for doubt in _doubts(policy, cost, p)]
        branches += [*((doubt, refused.copy()) for doubt in doubts), (chosen, label)]
    return case(*branches)


def _doubts(policy: Policy, cost: str, posterior: str) -> list[Expression]:
    """Conditions under which no decision is made."""
    doubts: list[Expression] = []
    if np.isfinite(policy.refusing):
        doubts.append(exp.GT(this=column(cost), expression=number(policy.refusing)))
    if policy.least_posterior > 0:
        doubts.append(exp.LT(this=column(posterior), expression=number(policy.least_posterior)))
    return doubts


def _numbered(draft: Draft, step: Step, letter: str, expressions: Sequence[Expression]) -> list[str]:
    """One column for each class; their names."""
    return [draft.steps.define(step, f"{letter}{k}", expression) for k, expression in enumerate(expressions)]


def _is_there(name: str) -> Expression:
    return exp.Not(this=exp.Is(this=column(name), expression=exp.Null()))


# ----------------------------------------------------------------------------------------------------------------------


def _define_best(draft: Draft, scores: Sequence[str]) -> str:
    """The largest score; NULL where the row cannot be scored: it is refused, or its scores are not finite."""
    peak = draft.steps.define(Step.PEAK, "peak", largest([*map(column, scores)], draft.dialect.ignores_nulls))
    scorable: Expression = exp.Between(this=column(peak), low=number(POSSIBLE), high=number(-POSSIBLE))
    if draft.refusals:
        scorable = exp.And(this=scorable, expression=exp.EQ(this=column("fits"), expression=exp.Literal.number(1)))
    return draft.steps.define(Step.BEST, "best", case((scorable, column(peak))))


def _define_level(draft: Draft, step: Step, scores: Sequence[str], best: str) -> list[str]:
    """Scores about the best one, those that tie with it made equal to it."""
    tied = shifted(column(best), -TIE)
    level = [
        case(
            (exp.GTE(this=column(score), expression=tied.copy()), number(0.0)),
            otherwise=minus(column(score), column(best)),
        )
        for score in scores
    ]
    return _numbered(draft, step, "d" if step is Step.LEVEL else "f", level)


def _define_levels(draft: Draft, calibration: Calibration | None, scores: Sequence[str], best: str) -> list[str]:
    levels = _define_level(draft, Step.LEVEL, scores, best)
    return levels if calibration is None else _calibrated(draft, levels, calibration)


def _calibrated(draft: Draft, levels: Sequence[str], calibration: Calibration) -> list[str]:
    """power * d + shift, about the best of these again."""
    shifts = calibration.shift or (0.0,) * len(levels)
    powers = _numbered(
        draft,
        Step.CALIBRATED,
        "y",
        [
            shifted(times(number(calibration.power), column(level)), float(shift))
            for level, shift in zip(levels, shifts, strict=True)
        ],
    )
    highest = largest([*map(column, powers)], draft.dialect.ignores_nulls)
    best = draft.steps.define(Step.CALIBRATED_BEST, "highest", highest)
    return _define_level(draft, Step.CALIBRATED_LEVEL, powers, best)


def _define_weights(draft: Draft, levels: Sequence[str]) -> tuple[list[str], str]:
    """exp d of each class, and their sum."""
    powers = [exp_or_zero(column(level)) for level in levels]
    weights = _numbered(draft, Step.WEIGHT, "e", powers)
    return weights, draft.steps.define(Step.TOTAL, "total", total([*map(column, weights)]))


def _first(names: Sequence[str], compare: Any, bar: Expression, labels: Sequence[Expression]) -> Expression:
    """The first label whose column passes."""
    pairs = zip(names, labels, strict=True)
    return case(*((compare(this=column(name), expression=bar.copy()), label) for name, label in pairs))
