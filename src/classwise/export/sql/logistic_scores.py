"""Logistic regression as terms of a score: linear in the columns, and moderated for two classes.

Two classes have the scores -s / 2 and s / 2, of which softmax is the logit of s: what is infinite shows in both. What
is missing is made 0, its mean, before it is multiplied: in SQLite infinity times zero is NULL, and yet not missing.
"""

from typing import Any

import numpy as np
from sqlglot import exp

from classwise.arrays import Array
from classwise.export.linear import LinearScores, Variance, linear_scores
from classwise.export.sql.arithmetic import (
    POSSIBLE,
    Expression,
    case,
    column,
    linear,
    lookup,
    number,
    or_zero,
    over,
    shifted,
    square,
    times,
    total,
)
from classwise.export.sql.draft import Draft, Step
from classwise.logistic import LogisticClassifier, LogisticModel


def add_logistic(classifier: LogisticClassifier, model: Any, draft: Draft, only_label: bool) -> None:
    """Scores of which softmax is P(k | x). model: a LogisticModel."""
    scores = linear_scores(classifier, "SQL", only_label)
    names = _read(scores, model, draft)
    if classifier.shift:
        draft.add_constants(np.array(classifier.shift))
    if len(scores.slopes) > 1:
        for k, slopes in enumerate(scores.slopes):
            draft.scores[k] += _terms(scores, slopes, names)
        draft.add_constants(scores.constants)
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


def _moderated(scores: LinearScores, names: dict[int, str], draft: Draft) -> Expression:
    """s, divided by sqrt(1 + π v / 8) where that is asked for; as a column of the query, or two."""
    whole = shifted(total(_terms(scores, scores.slopes[0], names)), float(scores.constants[0]))
    score = column(draft.define(Step.WHITE, "m", whole))
    if scores.variance is None:
        return score
    squares = [square(column(z)) for z in _coordinates(scores, scores.variance, names, draft)]
    v = column(draft.define(Step.DISTANCE, "v", total(squares)))
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
