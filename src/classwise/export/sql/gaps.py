"""Missing values of columns that are described jointly, integrated out within a query.

    x_M = c_M + C_MO C_OO^-1 (x_O - c_O)      what is missing, at its expectation given what is there
    (x - c)' C^-1 (x - c) = (x_O - c_O)' C_OO^-1 (x_O - c_O)      of a row filled in this way

So a row is filled by regression about the mean of each class, and then scored as a complete one; only log|C_OO| depends
on which values are missing, and is looked up. Classes with one covariance share one regression, about the middle c of
their means. Then -q_k/2 is too small by the same number in all rows with these gaps: the excess of c itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from sqlglot import exp

from classwise import limits
from classwise.arrays import Array
from classwise.densities import Gaussian, Student
from classwise.export.novelty import LOG_UNIT
from classwise.export.sql.arithmetic import Expression, case, column, double, is_null, linear, number, shifted, total
from classwise.export.sql.draft import Draft, Step, Unanswered

# Sums of 1, 2, 4, ... for more columns are no whole numbers of 64 bits.
WIDEST = 62


def gaps_of(columns: Sequence[int], density: Gaussian | Student, draft: Draft) -> "Gaps | None":
    """How gaps in columns that are described jointly are integrated out; None where they are not: the model refuses
    them, or a query would be too long. Rows left without an answer are noted.
    """
    if draft.strict:
        return None
    key = tuple(columns)
    if key not in draft.gaps:
        draft.gaps[key] = _new_gaps(columns, density, draft)
    return draft.gaps[key]


def _new_gaps(columns: Sequence[int], density: Gaussian | Student, draft: Draft) -> "Gaps | None":
    width, kinds = len(columns), len(density.covariance.values)
    most = _most_missing(width, kinds, draft)
    complete = most >= width - 1
    seen = _seen_patterns(columns, most, kinds, draft) if most and not complete else []
    # Sums of 1, 2, 4, ... tell all patterns apart; of 1, 2, 3, ... those with one gap, and the one without any value.
    weights = [1 << j if most > 1 or seen else j + 1 for j in range(width)]
    missing = [is_null(column(draft.number_of(j))) for j in columns]
    count = code = ""
    if isinstance(density, Student) or not complete:
        count = draft.define(Step.DERIVED, "gaps", sum_where(missing, [1] * width))
    if most:
        code = draft.define(Step.DERIVED, "gap", sum_where([of.copy() for of in missing], weights))
    if not complete:
        codes = [sum(weights[j] for j in of) for of in seen]
        draft.unanswered.append(Unanswered(tuple(columns), most, count, code, tuple(codes)))
    return Gaps(tuple(weights), most, tuple(seen), complete, code, count) if most else None


def _seen_patterns(columns: Sequence[int], most: int, kinds: int, draft: Draft) -> list[tuple[int, ...]]:
    """What rows of the fit lacked, where that is more than `most` values, but not all: by their positions."""
    width = len(columns)
    if width > WIDEST:
        return []
    lacked = [tuple(i for i, j in enumerate(columns) if j in pattern) for pattern in draft.seen]
    several = [of for of in dict.fromkeys(lacked) if most < len(of) < width]
    sizes = np.cumsum([kinds * len(of) * (width - len(of)) for of in several])
    return several[: int((sizes <= limits.SQL_SEEN_PATTERNS).sum())]


def _most_missing(width: int, kinds: int, draft: Draft) -> int:
    """How many values may be missing at once, so that the query stays short; 0, where even one makes it too long."""
    widest = draft.dialect.most_columns
    if kinds * width * (width - 1) > limits.SQL_GAPS or (widest and kinds * width + len(draft.names) + 64 > widest):
        return 0
    sizes = np.cumsum([kinds * comb(width, m) * m * (width - m) for m in range(1, width)])
    return max(1, int((sizes <= limits.SQL_GAP_PATTERNS).sum()))


def sum_where(conditions: Sequence[Expression], weights: Sequence[int]) -> Expression:
    """The sum of the weights of those conditions that hold."""
    whole, none = map(exp.Literal.number, weights), exp.Literal.number(0)
    return total([case((of, weight), otherwise=none.copy()) for of, weight in zip(conditions, whole, strict=True)])


@dataclass(frozen=True, eq=False)
class Gaps:
    """weights (p,): what each missing column adds to the code of a pattern. most: so many may be missing, or all; seen:
    further patterns; complete: whether there are no others. code, count: the columns of the query that tell which
    values are missing, and how many, where that is asked for.
    """

    weights: tuple[int, ...]
    most: int
    seen: tuple[tuple[int, ...], ...]
    complete: bool
    code: str
    count: str

    @property
    def width(self) -> int:
        return len(self.weights)

    @cached_property
    def patterns(self) -> list[tuple[int, ...]]:
        """What may be missing, the fewer first: at first nothing, at last everything."""
        some = [of for m in range(self.most + 1) for of in combinations(range(self.width), m)]
        some += sorted(self.seen, key=len)
        return [*some, tuple(range(self.width))] if self.most < self.width else some

    def filled(self, names: Sequence[str], center: Array, covariance: Array, draft: Draft) -> list[str]:
        """The columns with their expectations where they are missing; center (p,), covariance (p, p)."""
        whole = [self._filled(j, names, center, covariance) for j in range(self.width)]
        return [draft.define(Step.FILLED, "filled", one) for one in whole]

    def _filled(self, j: int, names: Sequence[str], center: Array, covariance: Array) -> Expression:
        """The first that is not NULL: the value, or its expectation given the most others that are there.

        In a row with gaps of another pattern it may be given fewer than there are; what is looked up is NULL then.
        """
        others = [there for there in map(self._there, self.patterns) if there and j not in there]
        given = [_expectation(j, there, names, center, covariance) for there in others]
        alone = number(center[j])
        if not self.complete:
            is_alone = exp.EQ(this=column(self.count), expression=exp.Literal.number(self.width))
            alone = case((is_alone, alone))
        return exp.Coalesce(this=column(names[j]), expressions=[*given, alone])

    def _there(self, missing: tuple[int, ...]) -> list[int]:
        return [j for j in range(self.width) if j not in missing]

    def looked_up(self, values: Array) -> Expression:
        """The value of each pattern, in their order; NULL for any other."""
        codes = [sum(self.weights[j] for j in missing) for missing in self.patterns]
        pairs = zip(codes, values.tolist(), strict=True)
        branches = [exp.If(this=exp.Literal.number(code), true=number(value)) for code, value in pairs]
        return double(exp.Case(this=column(self.code), ifs=branches))

    def log_scales(self, density: Gaussian | Student) -> Array:
        """What does not depend on the values: log|2 π C_OO|^-1/2, and what Student-t have for it; (g, patterns)."""
        found = np.zeros((density.count, len(self.patterns)))
        for i, there in enumerate(map(self._there, self.patterns)):
            if there:
                part = density.marginal(there)
                volume = part.covariance.half_log_det + len(there) * LOG_UNIT
                found[:, i] = -volume if isinstance(part, Gaussian) else part.log_scale[:, 0]
        return found

    def excess(self, density: Gaussian, center: Array) -> Array:
        """-q_O/2 + q/2 of the center (p,); (g, patterns)."""
        found = np.zeros((density.count, len(self.patterns)))
        for i, there in enumerate(map(self._there, self.patterns)):
            if there:
                found[:, i] = density.marginal(there).exponents(center[None, there])[:, 0]
        return found - found[:, :1]


def _expectation(j: int, there: list[int], names: Sequence[str], center: Array, covariance: Array) -> Expression:
    """c_j + C_jO C_OO^-1 (x_O - c_O), found in standard units. No term is left out: a gap among them makes it NULL."""
    deviations = np.sqrt(covariance.diagonal())
    correlations = covariance / np.outer(deviations, deviations)
    slopes = np.linalg.solve(correlations[np.ix_(there, there)], correlations[there, j])
    slopes = slopes * deviations[j] / deviations[there]
    return shifted(total(linear(slopes, [names[i] for i in there])), float(center[j] - slopes @ center[there]))
