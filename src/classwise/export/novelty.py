"""Novelty as other programs can compute it: what a row is compared with, by which of its values are missing.

    evidence    a row is novel where log p(x) is below the threshold of its gaps
    distance    a row is novel where it is farther from every class than the chi-square law of its values allows

Thresholds are known for rows of few gaps, and for gaps that rows of the fit had.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from classwise.arrays import Array, Codes
from classwise.densities import Gaussian
from classwise.estimators.decisions import LAWS, Decision
from classwise.statistics import ClassStatistics
from classwise.statistics.parts import NUMBERS

# Thresholds are known for this many patterns of missing values at most, those of few gaps first.
MOST_PATTERNS = 128

# log sqrt(2 π): a Gaussian density has it once for each number that is there.
LOG_UNIT = 0.5 * float(np.log(2 * np.pi))

# Factorials of counts: those below this are written down; from it on Stirling's series is exact to rounding.
FEW = 16
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)


@dataclass(frozen=True, eq=False)
class EvidenceRule:
    """present (q, p): which values are there, at first all; thresholds (q,): of log p(x), minus infinity where no row
    is novel. gaps: every pattern of up to this many missing values is known.
    """

    present: NDArray[np.bool_]
    thresholds: Array
    gaps: int


@dataclass(frozen=True, eq=False)
class DistanceRule:
    """columns: of the numbers, whose Gaussian classes are the density; most (p' + 1,): the largest squared distance, by
    how many of them are there.
    """

    columns: Codes
    density: Gaussian
    most: Array


def novelty_rule(decision: Decision) -> EvidenceRule | DistanceRule | None:
    """How a Decision finds novel rows; None if it does not."""
    if decision.novelty is None:
        return None
    model, share = decision._fitted_model(), float(decision.novelty)
    if LAWS[decision.law]:
        columns = model._numbers_block()[0]
        return DistanceRule(columns, model.gaussian_, chi2.isf(share, np.maximum(np.arange(len(columns) + 1), 1)))
    present = known_patterns(model)
    return EvidenceRule(present, decision._thresholds(model, present, share), known_gaps(present.shape[1]))


# Patterns of missing values -------------------------------------------------------------------------------------------


def known_patterns(estimator: Any) -> NDArray[np.bool_]:
    """Which values are there, in the patterns that thresholds are known for; (q, p)."""
    width = len(estimator._fitted_model.schema)
    if estimator._strict:  # other rows are refused
        return np.ones((1, width), dtype=bool)
    few, seen = present_patterns(width), seen_gaps(estimator)
    room = max(MOST_PATTERNS - len(few), 0)
    further = [gone for gone in seen if known_gaps(width) < len(gone) < width][:room]
    there = [[j not in gone for j in range(width)] for gone in further]
    return np.concatenate([few, np.array(there, dtype=bool).reshape(-1, width)])


def seen_gaps(estimator: Any) -> list[frozenset[int]]:
    """Which numbers rows of the fit lacked, the most frequent first; nothing where the model has not kept that."""
    statistics = getattr(estimator, "statistics_", None)
    if not isinstance(statistics, ClassStatistics) or NUMBERS.name not in statistics.parts:
        return []
    columns, gaps = np.array(NUMBERS.columns(statistics.schema), dtype=np.intp), statistics.numbers.gaps
    weights: Counter[frozenset[int]] = Counter()
    for present, weight in zip(gaps.present, gaps.moments.weight[:, 0].tolist(), strict=True):
        weights[frozenset(columns[~present].tolist())] += weight
    return [pattern for pattern, _ in weights.most_common()]


def present_patterns(width: int) -> NDArray[np.bool_]:
    """Which values are there, in all patterns of few missing values: as many gaps as there is room for; (q, p).

    >>> present_patterns(2).astype(int).tolist()
    [[1, 1], [0, 1], [1, 0], [0, 0]]
    """
    found = [gone for gaps in range(known_gaps(width) + 1) for gone in combinations(range(width), gaps)]
    present = np.ones((len(found), width), dtype=bool)
    for i, gone in enumerate(found):
        present[i, list(gone)] = False
    return present


def known_gaps(width: int) -> int:
    """The most missing values of a row of `width` columns, all of whose patterns are known.

    >>> known_gaps(2), known_gaps(20)
    (2, 1)
    """
    patterns, gaps = 1, 0
    while gaps < width and (gaps < 1 or patterns + comb(width, gaps + 1) <= MOST_PATTERNS):
        gaps += 1
        patterns += comb(width, gaps)
    return gaps
