"""Novelty: a row less probable than nearly all ordinary rows are.

A row is novel where log p(x) lies below a threshold, the quantile of what ordinary rows have. Rows with different gaps
have densities of different dimensions, which cannot be compared. What can be compared is how rare so small a value is
among rows drawn from the model that are seen in the same columns o:

    level(x) = P(log p(z_o) <= log p(x_o)),    z drawn from the model

So a threshold for whole rows is carried over to rows with gaps: the two of equal level.
"""

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, patterns
from classwise.classifier.bayes import BayesClassifier
from classwise.errors import ClasswiseError

# So many of the rows drawn are expected to be as rare as those sought, within limits for the number drawn.
RARE = 200
FEWEST, MOST = 10_000, 100_000

# Below the least probable of the draws but for so many, the law goes on as an exponential one.
TAIL = 20

Presence = NDArray[np.bool_]


class EvidenceLaw(NamedTuple):
    """Values of log p(z_o), ascending (q,), and the log of the share of draws at or below each (q,)."""

    evidence: Array
    log_share: Array

    @classmethod
    def of(cls, evidence: Array) -> "EvidenceLaw":
        """From the evidence of draws; (N,).

        In the far tail 1/2 chi-square is exponential: each unit of log p less is rarer by a factor e.
        """
        values, counts = np.unique(evidence, return_counts=True)
        total = np.cumsum(counts)
        start = min(int(np.searchsorted(total, TAIL)), len(values) - 1)
        return cls(values[start:], np.log(total[start:] / len(evidence)))

    def level(self, evidence: Array) -> Array:
        """The log of the share of draws at or below; (m,) -> (m,)."""
        beyond = np.minimum(evidence - self.evidence[0], 0.0)
        return np.asarray(np.interp(evidence, self.evidence, self.log_share) + beyond)

    def threshold(self, level: float) -> float:
        """The evidence of a level."""
        beyond = min(level - float(self.log_share[0]), 0.0)
        return float(np.interp(level, self.log_share, self.evidence)) + beyond


@dataclass(frozen=True, eq=False)
class Ordinary:
    """Rows drawn from a model (N, p); has_levels (p,): which columns hold the positions of levels, not numbers."""

    model: BayesClassifier
    rows: Array
    has_levels: Presence

    @classmethod
    def of(cls, model: BayesClassifier, has_levels: Presence, share: float) -> "Ordinary":
        """As many draws as it takes to tell so small a share; always the same ones."""
        count = min(max(ceil(RARE / share), FEWEST), MOST)
        rows, _ = model.sample(count, np.random.default_rng(0))
        return cls(model.observing(), rows, has_levels)

    def law(self, present: Presence) -> EvidenceLaw:
        """That of the columns (p,) in which values are present."""
        rows = self.rows[is_present(self.rows[:, present], self.has_levels[present]).all(axis=1)]
        rows = np.where(present, rows, np.where(self.has_levels, -1.0, np.nan))
        return EvidenceLaw.of(self.model.log_evidence(rows))

    def levels(self, evidence: Array, present: Presence) -> Array:
        """The level of each row by its own gaps; (n,), (n, p) -> (n,)."""
        distinct, codes = patterns(present)
        levels = np.zeros(len(evidence))  # a row without any value is as ordinary as can be
        for group, some in enumerate(distinct):
            if some.any():
                levels[codes == group] = self.law(some).level(evidence[codes == group])
        return levels

    def thresholds(self, threshold: float, present: Presence) -> Array:
        """The threshold for whole rows, carried over to the gaps of each row; (n, p) -> (n,)."""
        level = float(self.law(np.ones_like(self.has_levels)).level(np.array([threshold]))[0])
        distinct, codes = patterns(present)
        own = [self.law(some).threshold(level) if some.any() else -np.inf for some in distinct]
        return np.array(own)[codes]


def is_present(rows: Array, has_levels: Presence) -> Presence:
    """Which values are there: numbers that are not NaN, levels that are not -1; (n, p) -> (n, p)."""
    return np.asarray(~(np.isnan(rows) | (has_levels & (rows < 0))))


def learned_threshold(ordinary: Ordinary, evidence: Array, present: Presence, weights: Array, share: float) -> float:
    """The threshold for whole rows, from the evidence (n,) of rows that were left out, with their gaps (n, p)."""
    if present.all():
        return lower_quantile(evidence, weights, share)
    level = lower_quantile(ordinary.levels(evidence, present), weights, share)
    return ordinary.law(np.ones_like(ordinary.has_levels)).threshold(level)


def lower_quantile(values: Array, weights: Array, share: float) -> float:
    """The value below which a new one lies with probability at most `share`: of weight n, that of rank share (n + 1).

    >>> lower_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    2.0
    """
    total = float(weights.sum())
    rank = np.floor(share * (total + 1) + 1e-9)
    if rank < 1:
        raise ClasswiseError(
            f"novelty={share:g} is less than one row of {total:g}, so that no threshold can be learned from them; give "
            f"at least {1 / (total + 1):.2g}, more rows, or law='chi-square'."
        )
    order = np.argsort(values)
    place = np.searchsorted(np.cumsum(weights[order]), rank - 1e-9)
    return float(values[order][min(int(place), len(values) - 1)])
