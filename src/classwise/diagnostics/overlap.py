"""How much classes overlap: the distance of Bhattacharyya (1943) between their Gaussians, from the statistics alone.

With C = (C_a + C_b) / 2 and d = m_a - m_b, for unbiased covariances,

    B = 1/8 d' C^-1 d + 1/2 log( |C| / sqrt(|C_a| |C_b|) )

Estimated means and covariances lie farther apart than the true ones. As C has the precision of v degrees of freedom,
4/v = 1/v_a + 1/v_b for own covariances that are equal, what lies beyond chance is

    by the means     1/8 ( (v - p - 1)/v d' C^-1 d - p (1/n_a + 1/n_b) )
    by the spread    the second term of B - 1/2 L(v) + 1/4 L(v_a) + 1/4 L(v_b)

and 0 where that is negative; L is `log_det_bias`. Columns that no Gaussian describes add the distances of their counts
(`separation`), as if they were unrelated within classes. Of rows of the two classes, with priors π_a + π_b = 1, the
best rule there is errs in a share between

    (1 - sqrt(1 - 4 π_a π_b exp(-2B))) / 2   and   min( sqrt(π_a π_b) exp(-B), π_a, π_b )       (Kailath 1967)

The first holds for the B of all columns, if that is right. The second holds for the B of any columns, as further ones
can only help; so it is taken from the Gaussians alone, and only where nothing speaks against these. Rows that lack a
number count there as if nothing were known of them. Where a single column errs less often, that is the bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from classwise.arrays import Codes, row_norms
from classwise.covariance import Covariance, DiagonalCovariance, FullCovariance
from classwise.diagnostics.advice import Finding, number, percent
from classwise.diagnostics.separation import Separation
from classwise.diagnostics.spectrum import Spectrum, log_det_bias
from classwise.statistics import Moments

Metric: TypeAlias = Literal["own", "pooled", "diagonal"]
MEASURES = {"own": "each class's own covariance", "pooled": "the pooled covariance", "diagonal": "pooled variances"}

# Pairs to print.
SHOWN = 5


class Overlap(NamedTuple):
    """A pair of classes. distance: B of the numbers as estimated; by_means, by_spread: its two terms beyond chance.

    least, most: between which the share of errors lies that the best rule makes. by_levels: what text and other columns
    add to the distance, beyond chance. rarer: the share of the rarer class, which is as often mistaken at worst.
    apart: the largest distance by a single column, whatever it holds. weight: of the rows of both.
    expected: the share of errors that models should not exceed; `most`, unless that is by numbers which only a model
    without Gaussians would know so well.
    """

    first: Any
    second: Any
    distance: float
    by_means: float
    by_spread: float
    least: float
    most: float
    by_levels: float = 0.0
    rarer: float = 0.5
    apart: float = 0.0
    weight: float = 0.0
    expected: float = 0.5

    @property
    def beyond_chance(self) -> float:
        """The distance of all columns."""
        return max(self.by_means + self.by_spread + self.by_levels, self.apart)


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

    def terms(self, a: int, b: int) -> "Terms":
        """What the numbers say of two classes."""
        first, second = self.classes[a], self.classes[b]
        from_means, from_spread = self._terms(a, b)
        factor, noise = self._chance(first, second)
        features = self.pooled.features
        by_means = from_means * factor - features * (1 / first.weight + 1 / second.weight) / 8
        by_means, by_spread = max(by_means, 0.0), max(from_spread - noise, 0.0)
        return Terms(from_means + from_spread, by_means, by_spread)

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


class Terms(NamedTuple):
    """B of the numbers as estimated, and its two terms beyond chance."""

    distance: float = 0.0
    by_means: float = 0.0
    by_spread: float = 0.0


@dataclass(frozen=True, eq=False)
class Pairs:
    """What makes overlaps of pairs: columns one by one, and the numbers together, if there are any.

    codes (g,): where the classes of the gauge stand among those of the separation. complete (g,): the share of their
    rows that have all numbers. gaussian (g,): whether the numbers of a class are known to be near to a Gaussian.
    """

    separation: Separation
    codes: Codes
    labels: Sequence[Any]
    gauge: Gauge | None = None
    complete: Sequence[float] = ()
    gaussian: Sequence[bool] = ()

    def overlap(self, a: int, b: int) -> Overlap:
        places, weight = self.codes[[a, b]], self.separation.weight[self.codes[[a, b]]]
        prior = float(weight.min() / weight.sum())
        terms = Terms() if self.gauge is None else self.gauge.terms(a, b)
        by_levels, apart, errors, alone = (float(of[places[0], places[1]]) for of in self.separation.by_pair)
        by_gaussians = self._by_gaussians(a, b, _bound(terms.by_means + terms.by_spread, prior), prior)
        expected = min(alone, by_gaussians, prior)
        sizes = (by_levels, prior, max(apart, 0.0), float(weight.sum()), expected)
        found = Overlap(self.labels[a], self.labels[b], *terms, 0.0, min(errors, expected), *sizes)
        return found._replace(least=min(_least(found.beyond_chance, prior), found.most))

    def _by_gaussians(self, a: int, b: int, bound: float, prior: float) -> float:
        """The bound by Gaussians, where two classes are such; rows that lack a number count as if unknown."""
        if self.gauge is None or self.gauge.metric != "own" or not (self.gaussian[a] and self.gaussian[b]):
            return prior
        weight = self.separation.weight[self.codes[[a, b]]]
        known = float(np.dot(weight, [self.complete[a], self.complete[b]]) / weight.sum())
        return known * bound + (1 - known) * prior

    def all(self) -> tuple[Overlap, ...]:
        """All pairs of classes, the closest first."""
        pairs = [self.overlap(a, b) for a, b in combinations(range(len(self.labels)), 2)]
        return tuple(sorted(pairs, key=lambda pair: (pair.beyond_chance, pair.distance)))


def _bound(distance: float, prior: float) -> float:
    return float(np.sqrt(prior * (1 - prior)) * np.exp(-distance))


def _least(distance: float, prior: float) -> float:
    return float((1 - np.sqrt(max(1 - 4 * _bound(distance, prior) ** 2, 0.0))) / 2)


def about_overlaps(metric: Metric | None, pairs: Sequence[Overlap], advice: str) -> Finding:
    how = [f"of the numbers by {MEASURES[metric]}"] if metric else []
    how += ["of other columns by their counts"] if any(pair.by_levels for pair in pairs) or not metric else []
    measured = f"Bhattacharyya distances {' and '.join(how)}"
    facts = [f"{measured}; the closest {SHOWN} of {len(pairs)} pairs." if len(pairs) > SHOWN else f"{measured}."]
    columns = {
        "classes": [f"{pair.first}, {pair.second}" for pair in pairs[:SHOWN]],
        "distance": [number(pair.distance) for pair in pairs[:SHOWN]],
        "beyond chance": [number(pair.by_means + pair.by_spread) for pair in pairs[:SHOWN]],
        "of it by the means": [number(pair.by_means) for pair in pairs[:SHOWN]],
        "by other columns": [number(pair.by_levels) for pair in pairs[:SHOWN]],
        "errors between them": [_errors(pair) for pair in pairs[:SHOWN]],
    }
    for name in () if metric else ("distance", "beyond chance", "of it by the means"):
        del columns[name]
    if not any(pair.by_levels for pair in pairs) and metric:
        del columns["by other columns"]
    return Finding("Overlap of classes", facts, [tuple(columns), *zip(*columns.values(), strict=True)], advice)


def _errors(pair: Overlap) -> str:
    least, most = percent(pair.least), percent(pair.most)
    return most if least == most else f"{least} to {most}"
