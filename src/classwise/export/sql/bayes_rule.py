"""Bayes' rule in SQL: from scores to posteriors, labels and decisions.

    d_k = s_k - max s          ties made equal, as in Python
    P(k | x) = exp d_k / sum over classes of exp d_j

The largest score is taken out first, so nothing overflows; what would underflow is zero.

The scores of logistic regression are linear in the columns, and moderated for two classes. These have -s / 2 and s / 2,
of which softmax is the logit of s: what is infinite shows in both. What is missing is made 0, its mean, before it is
multiplied: in SQLite infinity times zero is NULL, and yet not missing.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from classwise.arrays import TIE, Array
from classwise.classifier.bayes import Calibration
from classwise.classifier.decision import Policy
from classwise.export.linear import LinearScores, Variance, linear_scores, weight_average
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
from classwise.export.sql.averages import add_average, gaussian_score
from classwise.export.sql.draft import Draft, Step
from classwise.logistic import Laplace, LogisticClassifier, LogisticModel, Logit


def add_logistic(classifier: LogisticClassifier, model: Any, draft: Draft, only_label: bool) -> None:
    """Scores of which softmax is P(k | x). model: a LogisticModel."""
    is_average = _is_average(classifier) and not (only_label and not classifier.shift)
    scores = gaussian_score(weight_average(classifier)) if is_average else linear_scores(classifier, "SQL", only_label)
    names = _read(scores, model, draft)
    if classifier.shift:
        draft.add_constants(np.array(classifier.shift))
    if len(scores.slopes) > 1:
        for k, slopes in enumerate(scores.slopes):
            draft.scores[k] += _terms(scores, slopes, names)
        draft.add_constants(scores.constants)
        return
    if is_average:
        add_average(*_mean_and_variance(scores, names, draft), draft)
        return
    score = _moderated(scores, names, draft)
    for k, half in enumerate((-0.5, 0.5)):
        draft.add(k, times(number(half), score.copy()))


def _read(scores: LinearScores, model: LogisticModel, draft: Draft) -> dict[int, str]:
    """The columns of the table that are read, each as the query calls it."""
    spreads, origins = model.deviations, scores.mean.tolist()
    numbers = {int(scores.source[i]): origins[i] for i in scores.numbers}
    names = {j: draft.about(j, origin, spreads[j]) for j, origin in numbers.items()}
    return names | {j: draft.code(j) for j in scores.categories}


def _terms(scores: LinearScores, slopes: Array, names: dict[int, str]) -> list[Expression]:
    """a y of each column; slopes (q',)."""
    read = [names[int(scores.source[i])] for i in scores.numbers]
    numbers = [times(number(slopes[i]), or_zero(column(x))) for i, x in zip(scores.numbers, read, strict=True)]
    levels = []
    for j, entries in scores.categories.items():
        values = scores.by_level(entries) @ slopes[entries]
        levels.append(lookup(column(names[j]), np.roll(values, 1).tolist(), first=-1))
    return [*numbers, *levels]


def _is_average(classifier: LogisticClassifier) -> bool:
    """Whether it averages over the weights of two classes, and these are believed to be Gaussian."""
    is_two = isinstance(classifier.likelihood, Logit) and isinstance(classifier.beliefs, Laplace)
    return is_two and classifier.predictive == "integrated"


def _mean_and_variance(scores: LinearScores, names: dict[int, str], draft: Draft) -> tuple[str, str]:
    """Of the one score, as columns of the query."""
    whole = shifted(total(_terms(scores, scores.slopes[0], names)), float(scores.constants[0]))
    mean = draft.define(Step.WHITE, "m", whole)
    assert scores.variance is not None
    squares = [square(column(z)) for z in _coordinates(scores, scores.variance, names, draft)]
    return mean, draft.define(Step.DISTANCE, "v", total(squares))


def _moderated(scores: LinearScores, names: dict[int, str], draft: Draft) -> Expression:
    """s, divided by sqrt(1 + π v / 8) where that is asked for; as a column of the query, or two."""
    if scores.variance is None:
        whole = shifted(total(_terms(scores, scores.slopes[0], names)), float(scores.constants[0]))
        return column(draft.define(Step.WHITE, "m", whole))
    score, v = map(column, _mean_and_variance(scores, names, draft))
    # As in Python, a row so far away that its variance is infinite has no answer.
    finite = case((exp.LTE(this=v, expression=number(-POSSIBLE)), v.copy()))
    return over(score, exp.Sqrt(this=shifted(times(number(np.pi / 8), finite), 1.0)))


def _coordinates(scores: LinearScores, variance: Variance, names: dict[int, str], draft: Draft) -> list[str]:
    """y R + b, as columns of the query; R is triangular, and its zeros are left out."""
    entries = _entries(scores, names, draft)
    found = []
    for slopes, offset in zip(variance.slopes.T, variance.offsets.tolist(), strict=True):
        used = np.flatnonzero(slopes).tolist()
        terms = linear(slopes[used], [entries[i] for i in used])
        whole = shifted(total(terms), offset) if terms else number(offset)
        found.append(draft.define(Step.WHITE, "z", whole))
    return found


def _entries(scores: LinearScores, names: dict[int, str], draft: Draft) -> dict[int, str]:
    """Each entry of y, as a column of the query."""
    made = {}
    for i in scores.numbers:
        made[i] = draft.define(Step.DERIVED, "y", or_zero(column(names[int(scores.source[i])])))
    for j, entries in scores.categories.items():
        values = np.roll(scores.by_level(entries), 1, axis=0)
        for i, of in zip(entries, values.T.tolist(), strict=True):
            made[i] = draft.define(Step.DERIVED, "y", lookup(column(names[j]), of, first=-1))
    return made


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
    weights, whole = _define_weights(draft, _define_levels(draft, calibration))
    return [over(column(weight), column(whole)) for weight in weights]


def scores_of(draft: Draft, calibration: Calibration | None) -> list[Expression]:
    """log P(k | x) of each class; minus infinity where the probability is zero."""
    levels = _define_levels(draft, calibration)
    _, whole = _define_weights(draft, levels)
    return [
        case(
            (exp.LT(this=column(level), expression=number(POSSIBLE)), draft.dialect.endless(-1)),
            otherwise=minus(column(level), log(column(whole))),
        )
        for level in levels
    ]


def decisions_of(
    draft: Draft, calibration: Calibration | None, policy: Policy, labels: Sequence[Expression], refused: Expression
) -> Expression:
    """The label of least expected cost, of equals the most probable, of these the first; `refused` where refusing costs
    less, or the label is not probable enough.
    """
    posteriors = _numbered(draft, Step.POSTERIOR, "p", posteriors_of(draft, calibration))
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
    branches: list[tuple[Expression, Expression]] = []
    for w, cost, p, label in zip(equals, costs, posteriors, labels, strict=True):
        chosen = exp.GTE(this=column(w), expression=column("likeliest"))
        doubts = [exp.And(this=chosen.copy(), expression=doubt) for doubt in _doubts(policy, cost, p)]
        branches += [*((doubt, refused.copy()) for doubt in doubts), (chosen, label)]
    return case(*branches)


def _doubts(policy: Policy, cost: str, posterior: str) -> list[Expression]:
    """Conditions on which a decision is not announced."""
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


def _define_levels(draft: Draft, calibration: Calibration | None) -> list[str]:
    scores = draft.define_scores()
    levels = _define_level(draft, Step.LEVEL, scores, _define_best(draft, scores))
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
