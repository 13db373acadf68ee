"""Novel rows in SQL: those that are less probable, or farther from every class, than ordinary rows are.

    log p(x) = best + log sum over classes of exp(s_k - best) + what all classes share

What this is compared with depends on which values of the row are missing: it is looked up by that pattern.
"""

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import TypeAlias

import numpy as np
from sqlglot import exp

from classwise.errors import ClasswiseError
from classwise.export.novelty import DistanceRule, EvidenceRule
from classwise.export.sql.arithmetic import (
    Expression,
    case,
    column,
    double,
    exp_or_zero,
    is_null,
    least,
    log,
    lookup,
    minus,
    number,
    or_zero,
    total,
)
from classwise.export.sql.densities import gaps_between
from classwise.export.sql.draft import Draft, Step, Unanswered
from classwise.export.sql.gaps import WIDEST, sum_where
from classwise.export.sql.gaussians import squared_distances

# Whether a row is novel, from what the scores and the best of them are called.
Novel: TypeAlias = Callable[[Sequence[str], str], Expression]

UNKNOWN = "How probable ordinary rows with such gaps are is not known to the query"


@singledispatch
def novelty_of(rule: EvidenceRule | DistanceRule, draft: Draft) -> Novel:
    """What is compared; asked for after the scores were added, and before they are taken."""
    raise ClasswiseError(f"Novelty by a {type(rule).__name__} cannot be written as SQL; look for novel rows in Python.")


@novelty_of.register
def _(rule: DistanceRule, draft: Draft) -> Novel:
    columns = rule.columns.tolist()
    gaps = gaps_between(rule.density, columns, draft)
    own = squared_distances(rule.density, columns, draft.about, draft, gaps)
    distances = [draft.define(Step.DISTANCE, "away", distance) for distance in own]
    nearest = least([*map(column, distances)], draft.dialect.ignores_nulls)
    if draft.strict:
        most: Expression = number(float(rule.most[-1]))
    else:
        gone = [is_null(column(draft.number_of(j))) for j in columns]
        most = lookup(
            column(draft.define(Step.DERIVED, "gone", sum_where(gone, [1] * len(gone)))), rule.most[::-1].tolist()
        )
    return lambda scores, best: exp.GT(this=nearest, expression=most)


@novelty_of.register
def _(rule: EvidenceRule, draft: Draft) -> Novel:
    threshold = _threshold(rule, draft)

    def novel(scores: Sequence[str], best: str) -> Expression:
        shared = or_zero(total(draft.common)) if draft.common else number(0.0)
        common = draft.steps.define(Step.SCORE, "common", shared)
        above = log(total([exp_or_zero(minus(column(score), column(best))) for score in scores]))
        evidence = draft.steps.define(Step.LEVEL, "evidence", total([column(best), column(common), above]))
        return exp.LT(this=column(evidence), expression=threshold)

    return novel


def _threshold(rule: EvidenceRule, draft: Draft) -> Expression:
    """Of the pattern of a row's gaps; NULL where it is not known, and so noted."""
    if draft.strict:
        return number(float(rule.thresholds[0]))
    width = rule.present.shape[1]
    missing = [draft.is_missing(j) for j in range(width)]
    count = draft.define(Step.DERIVED, "lacking", sum_where(missing, [1] * width))
    # Sums of 1, 2, 3, ... tell which value is missing, where it is one.
    weights = [1 << j for j in range(width)] if width <= WIDEST else [*range(1, width + 1)]
    code = draft.define(Step.DERIVED, "lack", sum_where([of.copy() for of in missing], weights))
    lacking = (~rule.present).sum(axis=1)
    usable = (lacking <= rule.gaps) | (width <= WIDEST)
    codes = ((~rule.present[usable]) @ np.array(weights, dtype=object)).tolist()
    known = {int(c): float(t) for c, t in zip(codes, rule.thresholds[usable], strict=True) if np.isfinite(t)}
    further = [c for c, n in zip(codes, lacking[usable].tolist(), strict=True) if rule.gaps < n < width]
    if rule.gaps < width - 1:
        every = tuple(range(width))
        draft.unanswered.append(Unanswered(every, rule.gaps, count, code, tuple(map(int, further)), UNKNOWN))
    branches = [exp.If(this=exp.Literal.number(c), true=number(t)) for c, t in known.items()]
    is_empty = exp.EQ(this=column(count), expression=exp.Literal.number(width))
    return case((is_empty, number(-1e308)), otherwise=double(exp.Case(this=column(code), ifs=branches)))
