"""Rows unlike those that were learned from: the shares of the classes have changed, or a row is like no class at all.

Prior shift (Saerens et al. 2002): rows without labels show the new shares of the classes.

    log p(rows) = sum over rows of log sum over classes of prior_k r_k(x),   r_k(x) = P(k | x) / old prior_k

It is concave in the priors. EM climbs it: the new prior of a class is the mean of its posteriors under the last priors.

Novelty: a row is novel where log p(x) lies below a threshold, the quantile of what ordinary rows have. Rows with
different gaps have densities of different dimensions, which cannot be compared. What can be compared is how rare so
small a value is among rows drawn from the model that are seen in the same columns o:

    level(x) = P(log p(z_o) <= log p(x_o)),    z drawn from the model

So a threshold for whole rows is carried over to rows with gaps: the two of equal level.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from classwise.arrays import Array, Labels, patterns
from classwise.classifier.bayes import BayesClassifier
from classwise.errors import ClasswiseError
from classwise.storage import stored
from classwise.tabular import html_table

# EM stops when no prior moves by more than this, or after this many steps.
STILL = 1e-10
MOST_STEPS = 10_000

# A prior below this is zero.
EDGE = 1e-6

# Log-likelihoods whose curvature is less than this for each row are flat.
FLAT = 1e-12

# Below this p-value the priors are taken to have shifted.
LEVEL = 0.05


@stored("PriorShift", loose=("error",))
@dataclass(frozen=True, eq=False, repr=False)
class PriorShift(Mapping[Any, float]):
    """Priors of new rows: a mapping from label to prior, which `with_priors` takes.

    estimate (g,): the most probable priors; error (g,): their standard errors as if the classes were known exactly, NaN
    for a prior of 0 or 1, infinite where classes cannot be distinguished; before (g,): those of the model.
    statistic: twice the gain of log-likelihood over the old priors, chi-square with g - 1 degrees of freedom if nothing
    has shifted; p_value. The mapping holds the estimate if the shift is significant (p < 0.05), else the old priors.
    """

    labels: Labels
    estimate: Array
    error: Array
    before: Array
    statistic: float
    p_value: float

    def _is_sound(self) -> bool:
        return self.estimate.shape == self.error.shape == self.before.shape == self.labels.shape == (len(self),)

    @property
    def has_shifted(self) -> bool:
        """Whether the old priors are refuted."""
        return self.p_value < LEVEL

    @property
    def priors(self) -> Array:
        """The estimate if the priors have shifted, else the old ones; (g,)."""
        return self.estimate if self.has_shifted else self.before

    def __getitem__(self, label: Any) -> float:
        labels = self.labels.tolist()
        if label not in labels:
            raise KeyError(label)
        return float(self.priors[labels.index(label)])

    def __iter__(self) -> Any:
        return iter(self.labels.tolist())

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        rows = zip(self.labels.tolist(), self.before, self.estimate, self.error, strict=True)
        lines = [f"  {label!s}: {old:.4g} -> {_shown(new, error)}" for label, old, new, error in rows]
        verdict = "the priors have shifted" if self.has_shifted else "no shift that the rows could show"
        return "\n".join([f"PriorShift: {verdict} (chi-square {self.statistic:.4g}, p = {self.p_value:.3g})", *lines])

    def _repr_html_(self) -> str:
        found = zip(self.labels.tolist(), self.before, self.estimate, self.error, strict=True)
        cells = [(str(label), f"{old:.4g}", _shown(new, error)) for label, old, new, error in found]
        heading = repr(self).split("\n", 1)[0]
        return f"<p>{escape(heading)}</p>{html_table([('class', 'before', 'estimate'), *cells])}"


def _shown(prior: float, error: float) -> str:
    if np.isnan(error):
        return "0" if prior <= EDGE else f"{prior:.4g}"
    return f"{prior:.4g} ± {error:.2g}"


def estimate_shift(log_posterior: Array, labels: Labels, priors: Array) -> PriorShift:
    """From log posteriors (n, g) of new rows under the old priors (g,)."""
    known = priors > 0
    ratios = np.zeros_like(log_posterior)
    ratios[:, known] = np.exp(log_posterior[:, known]) / priors[known]
    estimate = _climb(ratios, priors)
    gain = 2 * float(np.log(ratios @ estimate).sum() - np.log(ratios @ priors).sum())
    freedom = max(int(known.sum()) - 1, 1)
    p_value = float(chi2.sf(max(gain, 0.0), freedom))
    return PriorShift(labels, estimate, _errors(ratios, estimate), priors, max(gain, 0.0), p_value)


def _climb(ratios: Array, priors: Array) -> Array:
    """EM from the old priors to the top; (g,)."""
    for _ in range(MOST_STEPS):
        joint = ratios * priors
        following = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(following - priors).max() < STILL:
            return following
        priors = following
    return priors


def _errors(ratios: Array, priors: Array) -> Array:
    """Standard errors from the curvature, within the plane where priors sum to one; (g,).

    A prior at the edge, 0 or 1, has none: NaN. Priors that the rows cannot distinguish, of classes that look the same,
    have infinite ones.
    """
    inside = np.flatnonzero(priors > EDGE)
    errors = np.full(len(priors), np.nan)
    if len(inside) < 2:
        return errors
    scaled = ratios[:, inside] / (ratios @ priors)[:, None]
    plane = np.linalg.svd(np.ones((1, len(inside))))[2][1:].T  # directions that keep the sum
    curvatures, axes = np.linalg.eigh(plane.T @ (scaled.T @ scaled) @ plane)
    shares = (plane @ axes) ** 2
    flat = curvatures <= FLAT * len(ratios)
    variances = (shares[:, ~flat] / curvatures[~flat]).sum(axis=1)
    errors[inside] = np.where((shares[:, flat] > FLAT).any(axis=1), np.inf, np.sqrt(variances))
    return errors


# Novelty: a row less probable than nearly all ordinary rows are -------------------------------------------------------


# This many of the rows drawn are expected to be as rare as those sought, within limits for the number drawn.
RARE = 200
FEWEST, MOST = 10_000, 100_000

# Below all but this many of the draws, the tail continues as an exponential distribution.
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
        """As many draws as it takes to estimate so small a share; always the same ones."""
        count = min(max(ceil(RARE / share), FEWEST), MOST)
        rows, _ = model.sample(count, np.random.default_rng(0))
        return cls(model.observing(), rows, has_levels)

    @cached_property
    def _ever(self) -> Presence:
        """Which columns the model knows values of; the others say nothing; (p,)."""
        return np.asarray(is_present(self.rows, self.has_levels).any(axis=0))

    def law(self, present: Presence) -> EvidenceLaw:
        """That of the columns (p,) in which values are present."""
        present = present & self._ever
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
