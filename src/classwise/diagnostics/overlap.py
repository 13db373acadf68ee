"""How much classes overlap: the distance of Bhattacharyya (1943) between their Gaussians, from the statistics alone.

With C = (C_a + C_b) / 2 and d = m_a - m_b, for unbiased covariances,

    B = 1/8 d' C^-1 d + 1/2 log( |C| / sqrt(|C_a| |C_b|) )

Estimated means and covariances lie farther apart than the true ones. As C has the precision of v degrees of freedom,
4/v = 1/v_a + 1/v_b for own covariances that are equal, what lies beyond chance is

    by the means     1/8 ( (v - p - 1)/v d' C^-1 d - p (1/n_a + 1/n_b) )
    by the spread    the second term of B - 1/2 L(v) + 1/4 L(v_a) + 1/4 L(v_b)

and 0 where that is negative; L is `log_det_bias`. Of rows of the two classes, with priors π_a + π_b = 1 and B beyond
chance, the best rule there is errs in a share between

    (1 - sqrt(1 - 4 π_a π_b exp(-2B))) / 2   and   min( sqrt(π_a π_b) exp(-B), π_a, π_b )       (Kailath 1967)

if the classes are Gaussian.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from classwise.arrays import row_norms
from classwise.covariance import Covariance, DiagonalCovariance, FullCovariance
from classwise.diagnostics.advice import FEW, Finding, number, percent
from classwise.diagnostics.spectrum import Spectrum, log_det_bias
from classwise.statistics import Moments

Metric: TypeAlias = Literal["own", "pooled", "diagonal"]
MEASURES = {"own": "each class's own covariance", "pooled": "the pooled covariance", "diagonal": "pooled variances"}

# Pairs to print.
SHOWN = 5

# Classes of equal weight with no more errors than RARE are well apart; below a distance of ALIKE, errors may be 45 %.
RARE, ALIKE = 0.01, 0.1


class Overlap(NamedTuple):
    """A pair of classes. distance: B as estimated; by_means, by_spread: its two terms beyond chance.

    least, most: between which the share of errors lies, by the distance beyond chance.
    """

    first: Any
    second: Any
    distance: float
    by_means: float
    by_spread: float
    least: float
    most: float

    @property
    def beyond_chance(self) -> float:
        return self.by_means + self.by_spread


@dataclass(frozen=True, eq=False)
class Gauge:
    """The covariances that distances are measured by: one for each class ("own"), or one for all."""

    metric: Metric
    covariance: Covariance
    moments: Moments
    classes: Sequence[Spectrum]
    pooled: Spectrum

    @classmethod
    def of(cls, moments: Moments, pooled: Spectrum, own: Sequence[Spectrum]) -> "Gauge":
        """Own covariances where all are regular, else the pooled one where that is, else pooled variances."""
        scatter, freedom = moments.scatter, np.array([[pooled.freedom]])
        if all(s.is_regular for s in own):
            return cls("own", FullCovariance(FullCovariance.own(scatter, moments.weight - 1)), moments, own, pooled)
        if pooled.is_regular:
            return cls("pooled", FullCovariance(FullCovariance.pooled(scatter, freedom)), moments, own, pooled)
        return cls("diagonal", DiagonalCovariance(DiagonalCovariance.pooled(scatter, freedom)), moments, own, pooled)

    def overlap(self, a: int, b: int) -> Overlap:
        first, second = self.classes[a], self.classes[b]
        from_means, from_spread = self._terms(a, b)
        factor, noise = self._chance(first, second)
        features = self.pooled.features
        by_means = from_means * factor - features * (1 / first.weight + 1 / second.weight) / 8
        by_means, by_spread = max(by_means, 0.0), max(from_spread - noise, 0.0)
        errors = _errors(by_means + by_spread, first.weight / (first.weight + second.weight))
        return Overlap(first.label, second.label, from_means + from_spread, by_means, by_spread, *errors)

    def _terms(self, a: int, b: int) -> tuple[float, float]:
        """The two terms of B, as estimated."""
        i, j = (a, b) if self.metric == "own" else (0, 0)
        values, half_log_det, moments = self.covariance.values, self.covariance.half_log_det, self.moments
        middle = type(self.covariance)((values[i : i + 1] + values[j : j + 1]) / 2)
        away = (moments.mean[a] - moments.mean[b]) + (moments.rest[a] - moments.rest[b])
        from_means = float(row_norms(middle.whiten(away[None], 0))[0]) / 8
        return from_means, max(float(middle.half_log_det[0] - (half_log_det[i] + half_log_det[j]) / 2), 0.0)

    def _chance(self, first: Spectrum, second: Spectrum) -> tuple[float, float]:
        """The factor that corrects the first term for chance, and what chance adds to the second."""
        # Of variances one by one, each is as uncertain as if it were the only one.
        features = 1 if self.metric == "diagonal" else self.pooled.features
        if self.metric != "own":
            return max(1 - (features + 1) / self.pooled.freedom, 0.0), 0.0
        freedom = 4 / (1 / first.freedom + 1 / second.freedom)
        middle, a, b = log_det_bias(np.array([freedom, first.freedom, second.freedom]), features).tolist()
        return 1 - (features + 1) / freedom, middle / 2 - (a + b) / 4


def _errors(distance: float, prior: float) -> tuple[float, float]:
    bound = float(np.sqrt(prior * (1 - prior)) * np.exp(-distance))
    least = (1 - np.sqrt(max(1 - 4 * bound**2, 0.0))) / 2
    return float(least), min(bound, prior, 1 - prior)


def overlaps(moments: Moments, pooled: Spectrum, own: Sequence[Spectrum]) -> tuple[Metric, tuple[Overlap, ...]]:
    """The covariances used, and all pairs of classes, the closest first."""
    gauge = Gauge.of(moments, pooled, own)
    pairs = [gauge.overlap(a, b) for a, b in combinations(range(len(own)), 2)]
    return gauge.metric, tuple(sorted(pairs, key=lambda pair: (pair.beyond_chance, pair.distance)))


def about_overlaps(
    metric: Metric, pairs: Sequence[Overlap], pooled: Spectrum, own: Sequence[Spectrum], is_normal: bool
) -> Finding:
    measured = f"Bhattacharyya distances by {MEASURES[metric]}"
    facts = [f"{measured}; the closest {SHOWN} of {len(pairs)} pairs." if len(pairs) > SHOWN else f"{measured}."]
    header = ("classes", "distance", "beyond chance", "of it by the means", "errors between them")
    few = min(s.rows_per_parameter for s in (own if metric == "own" else [pooled])) < FEW
    advice = _advice(pairs[0], few, is_normal)
    return Finding("Overlap of classes", facts, [header, *map(_cells, pairs[:SHOWN])], advice)


def _cells(pair: Overlap) -> tuple[str, ...]:
    least, most = percent(pair.least), percent(pair.most)
    sizes = map(number, (pair.distance, pair.beyond_chance, pair.by_means))
    return (f"{pair.first}, {pair.second}", *sizes, most if least == most else f"{least} to {most}")


def _advice(closest: Overlap, few: bool, is_normal: bool) -> str:
    names = f"{closest.first!r} and {closest.second!r}"
    caution = "; rows are few, so the figure is rough" if few else ""
    caution += "" if is_normal else "; as classes are not Gaussian, take the figure for a guess"
    if closest.beyond_chance < ALIKE:
        return f"These columns hardly tell {names} apart: find others, or take the two for one class."
    if closest.by_means < closest.by_spread:
        return (
            f"{names} differ in spread more than in mean: own covariances (QDA, or RDA with a small share) should tell "
            f"them apart better than a shared one, with up to {percent(closest.most)} errors between them{caution}."
        )
    if np.exp(-closest.beyond_chance) / 2 < RARE:
        return (
            f"Even the closest classes, {names}, are well apart (up to {percent(closest.most)} errors between them): "
            f"any Gaussian classifier should do, so take a simple one, such as LDA{caution}."
        )
    return (
        f"{names} overlap: expect up to {percent(closest.most)} errors between them, whatever the Gaussian "
        f"classifier; other columns would help more than another covariance{caution}."
    )
