"""Logistic regression in SQL: scores that are linear in the columns, and averages over the weights.

    plugin       P by the scores s = a'y + c
    moderated    P by s / sqrt(1 + π v / 8), of two classes; of more, that of each pair put together
    integrated   the mean of P over s ~ N(m, v): two classes by a rule of 241 points, more by the points of classwise
    probit       Φ(m / sqrt(1 + v))
    draws        the mean of P over the draws

Two classes have the scores -s / 2 and s / 2, of which softmax is the logit of s: what is infinite shows in both. What
is missing is made 0, its mean, before it is multiplied: in SQLite infinity times zero is NULL, and yet not missing.
"""

from typing import Any

import numpy as np
from sqlglot import exp

from classwise.arrays import Array
from classwise.export.linear import Affine, LinearFormula, WeightAverage, is_symmetric, linear_scores, weight_average
from classwise.export.sql.arithmetic import (
    POSSIBLE,
    Expression,
    case,
    column,
    linear,
    lookup,
    minus,
    number,
    or_zero,
    over,
    shifted,
    times,
    total,
)
from classwise.export.sql.averages import add_average
from classwise.export.sql.draft import Draft, Step
from classwise.export.sql.points import add_drawn, add_softmax
from classwise.export.sql.probit import add_probit
from classwise.export.sql.sums import log_of_sum
from classwise.logistic import LogisticClassifier, LogisticModel, Probit, Softmax


def add_logistic(classifier: LogisticClassifier, model: Any, draft: Draft, only_label: bool) -> None:
    """Scores of which softmax is P(k | x). model: a LogisticModel.

    only_label: probabilities are not asked for. Of two classes the second is predicted where s > 0, however the weights
    are averaged over, as long as what is believed of them is symmetric.
    """
    if classifier.shift:
        draft.add_constants(np.array(classifier.shift))
    if only_label and is_symmetric(classifier):
        _add_linear(classifier, model, draft, is_logit=True)
    elif classifier.predictive == "plugin":
        _add_linear(classifier, model, draft, is_logit=not isinstance(classifier.likelihood, Probit))
    else:
        _add_averaged(classifier, model, draft)


# Linear scores --------------------------------------------------------------------------------------------------------


def _add_linear(classifier: LogisticClassifier, model: LogisticModel, draft: Draft, is_logit: bool) -> None:
    scores = linear_scores(classifier)
    names = _read(scores, model, draft)
    if len(scores.slopes) > 1:
        for k, slopes in enumerate(scores.slopes):
            draft.scores[k] += _terms(scores, slopes, names)
        draft.add_constants(scores.constants)
        return
    whole = shifted(total(_terms(scores, scores.slopes[0], names)), float(scores.constants[0]))
    score = draft.define(Step.WHITE, "m", whole)
    if is_logit:
        _add_halves(column(score), draft)
    else:
        add_probit(column(score), draft)


def _add_halves(score: Expression, draft: Draft) -> None:
    for k, half in enumerate((-0.5, 0.5)):
        draft.add(k, times(number(half), score.copy()))


def _read(scores: LinearFormula, model: LogisticModel, draft: Draft) -> dict[int, str]:
    """The columns of the table that are read, each as the query calls it."""
    spreads, origins = model.deviations, scores.mean.tolist()
    numbers = {int(scores.source[i]): origins[i] for i in scores.numbers}
    names = {j: draft.about(j, origin, spreads[j]) for j, origin in numbers.items()}
    return names | {j: draft.code(j) for j in scores.categories}


def _terms(scores: LinearFormula, slopes: Array, names: dict[int, str]) -> list[Expression]:
    """a y of each column; slopes (q',)."""
    read = [names[int(scores.source[i])] for i in scores.numbers]
    numbers = [times(number(slopes[i]), or_zero(column(x))) for i, x in zip(scores.numbers, read, strict=True)]
    levels = []
    for j, entries in scores.categories.items():
        values = scores.by_level(entries) @ slopes[entries]
        levels.append(lookup(column(names[j]), np.roll(values, 1).tolist(), first=-1))
    return [*numbers, *levels]


# Averages -------------------------------------------------------------------------------------------------------------


def _add_averaged(classifier: LogisticClassifier, model: LogisticModel, draft: Draft) -> None:
    average, basis = weight_average(classifier), classifier.likelihood.basis
    entries = _entries(average.entries, _read(average.entries, model, draft), draft)
    if average.draws is not None:
        _add_draws(average.draws, basis, entries, draft)
        return
    mean = _mapped(average.mean, entries, draft)
    covariance = _covariance(average, entries, draft)
    if isinstance(classifier.likelihood, Softmax):
        (add_softmax if classifier.predictive == "integrated" else _add_pairs)(basis, mean, covariance, draft)
    elif isinstance(classifier.likelihood, Probit):
        add_probit(_moderated(mean[0], covariance[0, 0], 1.0), draft)
    elif classifier.predictive == "moderated":
        _add_halves(_moderated(mean[0], covariance[0, 0], np.pi / 8), draft)
    else:
        add_average(mean[0], covariance[0, 0], draft)


def _entries(scores: LinearFormula, names: dict[int, str], draft: Draft) -> dict[int, str]:
    """Each entry of y, as a column of the query."""
    made = {}
    for i in scores.numbers:
        made[i] = draft.define(Step.DERIVED, "y", or_zero(column(names[int(scores.source[i])])))
    for j, entries in scores.categories.items():
        values = np.roll(scores.by_level(entries), 1, axis=0)
        for i, of in zip(entries, values.T.tolist(), strict=True):
            made[i] = draft.define(Step.DERIVED, "y", lookup(column(names[j]), of, first=-1))
    return made


def _mapped(affine: Affine, entries: dict[int, str], draft: Draft) -> list[str]:
    """y slopes + constants, as columns of the query; those that are zero everywhere are called nothing."""
    found = []
    for slopes, constant in zip(affine.slopes.T, affine.constants.tolist(), strict=True):
        used = np.flatnonzero(slopes).tolist()
        terms = linear(slopes[used], [entries[i] for i in used])
        whole = shifted(total(terms), constant) if terms else number(constant)
        found.append(draft.define(Step.WHITE, "z", whole) if terms or constant else "")
    return found


def _covariance(average: WeightAverage, entries: dict[int, str], draft: Draft) -> dict[tuple[int, int], str]:
    """u_a'u_b of the contrasts of scores, for a <= b."""
    away = [_mapped(root, entries, draft) for root in average.roots]
    found = {}
    for a, first in enumerate(away):
        for b, second in enumerate(away[a:], a):
            products = [times(column(x), column(z)) for x, z in zip(first, second, strict=True) if x and z]
            found[a, b] = draft.define(Step.DISTANCE, "v", total(products or [number(0.0)]))
    return found


def _moderated(m: str, v: str, share: float) -> Expression:
    """m / sqrt(1 + share v). As in Python, a row so far away that its variance is infinite has no answer."""
    finite = case((exp.LTE(this=column(v), expression=number(-POSSIBLE)), column(v)))
    return over(column(m), exp.Sqrt(this=shifted(times(number(share), finite), 1.0)))


def _add_pairs(basis: Array, mean: list[str], covariance: dict[tuple[int, int], str], draft: Draft) -> None:
    """MacKay's approximation for each pair: -log sum over l of exp(-(m_k - m_l) / sqrt(1 + π v_kl / 8))."""
    for k, own in enumerate(basis):
        parts = [draft.define(Step.CENTER, "pair", number(0.0))]
        for other in np.delete(basis, k, axis=0):
            apart = own - other
            weights = [apart[a] * apart[b] * (2 if a < b else 1) for a, b in covariance]
            v = draft.define(Step.DEVIATION, "v", total(linear(weights, covariance.values())))  # but for rounding >= 0
            m = draft.define(Step.DEVIATION, "m", total(linear((-apart).tolist(), mean)))
            parts.append(draft.define(Step.CENTER, "pair", _moderated(m, v, np.pi / 8)))
        draft.add(k, minus(number(0.0), log_of_sum(draft, Step.ENDS, parts)))


def _add_draws(draws: Affine, basis: Array, entries: dict[int, str], draft: Draft) -> None:
    """slopes (q', D r), constants (D r,): of the contrasts of each draw."""
    contrasts, order = basis.shape[1], sorted(entries)
    slopes = draws.slopes[order].T.reshape(-1, contrasts, len(order))
    add_drawn(basis @ slopes, draws.constants.reshape(-1, contrasts) @ basis.T, [entries[i] for i in order], draft)
