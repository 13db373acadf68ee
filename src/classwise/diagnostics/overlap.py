"""How much classes overlap: the distance of Bhattacharyya (1943) between their Gaussians, from the statistics alone.

With C = (C_a + C_b) / 2 and d = m_a - m_b,

    B = 1/8 d' C^-1 d + 1/2 log( |C| / sqrt(|C_a| |C_b|) )

Of rows of the two classes, with priors π_a + π_b = 1, the best rule there is errs in a share between

    (1 - sqrt(1 - 4 π_a π_b exp(-2B))) / 2   and   min( sqrt(π_a π_b) exp(-B), π_a, π_b )       (Kailath 1967)

if the classes are Gaussian and these are their means and covariances (maximum likelihood).
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from classwise.arrays import row_norms
from classwise.covariance import Covariance, DiagonalCovariance, FullCovariance
from classwise.diagnostics.section import FEW, Section, number, percent
from classwise.diagnostics.spectrum import Spectrum
from classwise.statistics import Moments

Metric: TypeAlias = Literal["own", "pooled", "diagonal"]

MEASURES = {"own": "each class's own covariance", "pooled": "the pooled covariance", "diagonal": "pooled variances"}

# Pairs to print.
SHOWN = 5

# Classes of equal weight with no more errors than RARE are well apart; below a distance of ALIKE, errors may be 45 %.
RARE, ALIKE = 0.01, 0.1


class Overlap(NamedTuple):
    """A pair of classes. distance: B; from_means: its first term; errors lie between least and most."""

    first: Any
    second: Any
    distance: float
    from_means: float
    least: float
    most: float


def overlaps(moments: Moments, pooled: Spectrum, own: Sequence[Spectrum]) -> tuple[Metric, tuple[Overlap, ...]]:
    """All pairs, the closest first, and whose covariances they were measured by: own where all are regular."""
    metric, covariance = _covariances(moments, pooled, own)
    half_log_det, values = np.broadcast_to(covariance.half_log_det, len(own)), covariance.values
    values = np.broadcast_to(values, (len(own), *values.shape[1:]))
    pairs = []
    for a, b in combinations(range(len(own)), 2):
        middle = type(covariance)((values[a : a + 1] + values[b : b + 1]) / 2)
        away = (moments.mean[a] - moments.mean[b]) + (moments.rest[a] - moments.rest[b])
        from_means = float(row_norms(middle.whiten(away[None], 0))[0]) / 8
        from_spread = float(middle.half_log_det[0] - (half_log_det[a] + half_log_det[b]) / 2)
        pairs.append(_overlap(own[a], own[b], from_means, max(from_spread, 0.0)))
    return metric, tuple(sorted(pairs, key=lambda pair: pair.distance))


def _covariances(moments: Moments, pooled: Spectrum, own: Sequence[Spectrum]) -> tuple[Metric, Covariance]:
    """One for each class, or one for all."""
    total = np.array([[pooled.weight]])
    if all(s.is_regular for s in own):
        return "own", FullCovariance(FullCovariance.own(moments.scatter, moments.weight))
    if pooled.is_regular:
        return "pooled", FullCovariance(FullCovariance.pooled(moments.scatter, total))
    return "diagonal", DiagonalCovariance(DiagonalCovariance.pooled(moments.scatter, total))


def _overlap(first: Spectrum, second: Spectrum, from_means: float, from_spread: float) -> Overlap:
    priors = np.array([first.weight, second.weight]) / (first.weight + second.weight)
    distance = from_means + from_spread
    bound = float(np.sqrt(priors.prod()) * np.exp(-distance))
    least = (1 - np.sqrt(max(1 - 4 * bound**2, 0.0))) / 2
    return Overlap(first.label, second.label, distance, from_means, float(least), min(bound, float(priors.min())))


def about_overlaps(
    metric: Metric, pairs: Sequence[Overlap], pooled: Spectrum, own: Sequence[Spectrum], is_normal: bool
) -> Section:
    measured = f"Measured by {MEASURES[metric]}"
    facts = [f"{measured}; the closest {SHOWN} of {len(pairs)} pairs." if len(pairs) > SHOWN else f"{measured}."]
    header = ("classes", "Bhattacharyya distance", "of it by the means", "errors between them")
    rows = [
        (f"{pair.first}, {pair.second}", number(pair.distance), number(pair.from_means), _range(pair))
        for pair in pairs[:SHOWN]
    ]
    few = min(s.rows_per_parameter for s in (own if metric == "own" else [pooled])) < FEW
    return Section("Overlap of classes", facts, [header, *rows], _advice(pairs[0], few, is_normal))


def _range(pair: Overlap) -> str:
    least, most = percent(pair.least), percent(pair.most)
    return most if least == most else f"{least} to {most}"


def _advice(closest: Overlap, few: bool, is_normal: bool) -> str:
    names = f"{closest.first!r} and {closest.second!r}"
    caution = "; rows are few, so expect more" if few else ""
    caution += "" if is_normal else "; as classes are not Gaussian, take the figure for a guess"
    if closest.distance < ALIKE:
        return f"These columns hardly tell {names} apart: find others, or take the two for one class{caution}."
    if closest.from_means < closest.distance / 2:
        return (
            f"{names} differ in spread more than in mean: own covariances (QDA, or RDA with a small share) should tell "
            f"them apart better than a shared one, with up to {percent(closest.most)} errors between them{caution}."
        )
    if np.exp(-closest.distance) / 2 < RARE:
        return (
            f"Even the closest classes, {names}, are well apart (up to {percent(closest.most)} errors between them): "
            f"any Gaussian classifier should do, so take a simple one, such as LDA{caution}."
        )
    return (
        f"{names} overlap: expect up to {percent(closest.most)} errors between them, whatever the Gaussian "
        f"classifier; other columns would help more than another covariance{caution}."
    )
