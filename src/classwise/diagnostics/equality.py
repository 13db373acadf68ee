"""Do classes share a covariance? Box's M (Box 1949), from the statistics alone.

With S_k the scatter of class k over v_k = n_k - 1 and S the sum of scatters over v = sum v_k,

    M = v log |S| - sum v_k log |S_k|

    c1 = (sum 1/v_k - 1/v) (2p² + 3p - 1) / (6 (p + 1)(g - 1))
    c2 = (sum 1/v_k² - 1/v²) (p - 1)(p + 2) / (6 (g - 1))

    chi² = (1 - c1) M     with f = p (p + 1)(g - 1) / 2 degrees of freedom; good where n_k > 20, p <= 5 and g <= 5
    F    = M / b          with f and f2 = (f + 2) / |c2 - c1²| degrees of freedom; good where n_k is well above p

Where the covariances are equal, M is a ratio of determinants whose moments are products of gamma functions, so that

    mean M     = v L(v, p) - sum v_k L(v_k, p),    L the bias of a log determinant (`log_det_bias`)
    variance M = sum v_k² t(v_k) - v² t(v),        t(v) = sum over j < p of ψ'((v - j)/2)

The p-value is that of the gamma distribution with this mean and variance. It agrees with F where F is good, and stays
right down to n_k = p + 1, where F rejects equal covariances more often than not.

M / 2v is by how much own covariances raise the log density of a row. That beyond its mean under equality is the
difference there is; the mean itself is the cost of estimating more covariances.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import polygamma

from classwise.arrays import Array
from classwise.covariance import FullCovariance
from classwise.diagnostics.advice import LEVEL, NOTABLE, WEAK, Finding, chance, classes, number, percent
from classwise.diagnostics.spectrum import log_det_bias
from classwise.statistics import Moments


@dataclass(frozen=True)
class Equality:
    """Box's M of the classes `labels`; `skipped` are those whose own covariance has no inverse.

    chi2, dof and f, dof, f_dof: Box's approximations, to compare with other programs. p_value: by exact moments.
    difference, cost: what own covariances add to the log density of a row, and what estimating them takes away.
    power: the chance to find a difference that matters.
    """

    labels: tuple[Any, ...]
    skipped: tuple[Any, ...]
    statistic: float
    chi2: float
    f: float
    dof: float
    f_dof: float
    p_value: float
    difference: float
    cost: float
    power: float


def box_m(moments: Moments, labels: Sequence[Any], regular: Sequence[bool]) -> Equality | None:
    """Box's M of the classes whose covariance is regular, or None if there are fewer than two."""
    kept = np.flatnonzero(regular)
    if len(kept) < 2:
        return None
    chosen = moments.select(kept)
    freedom, features = chosen.weight[:, 0] - 1, chosen.mean.shape[1]
    statistic = _statistic(chosen, freedom)
    mean, variance = _null_moments(freedom, features)
    chi2, f, dof, f_dof = _approximations(statistic, freedom, features)
    # M / scale is like a chi² variable, and a difference of d a row moves it by 2 v d / scale.
    scale, shape, total = variance / (2 * mean), 2 * mean**2 / variance, float(freedom.sum())
    critical = stats.chi2.isf(LEVEL, shape)
    return Equality(
        labels=tuple(labels[k] for k in kept.tolist()),
        skipped=tuple(label for label, there in zip(labels, regular, strict=True) if not there),
        statistic=statistic,
        chi2=chi2,
        f=f,
        dof=dof,
        f_dof=f_dof,
        p_value=float(stats.chi2.sf(statistic / scale, shape)),
        difference=max(statistic - mean, 0.0) / (2 * total),
        cost=mean / (2 * total),
        power=float(stats.ncx2.sf(critical, shape, 2 * total * NOTABLE / scale)),
    )


def _statistic(moments: Moments, freedom: Array) -> float:
    own = FullCovariance(FullCovariance.own(moments.scatter, freedom[:, None]))
    pooled = FullCovariance(FullCovariance.pooled(moments.scatter, freedom.sum()[None, None]))
    return max(2 * float(freedom.sum() * pooled.half_log_det[0] - freedom @ own.half_log_det), 0.0)


def _null_moments(freedom: Array, features: int) -> tuple[float, float]:
    """The mean and variance of M where covariances are equal."""
    sizes = np.append(freedom, freedom.sum())
    means = sizes * log_det_bias(sizes, features)
    variances = sizes**2 * polygamma(1, (sizes[:, None] - np.arange(features)) / 2).sum(axis=1)
    return float(means[-1] - means[:-1].sum()), float(variances[:-1].sum() - variances[-1])


def _approximations(statistic: float, freedom: Array, p: int) -> tuple[float, float, float, float]:
    """Box's chi² and F, and their degrees of freedom."""
    others, total = len(freedom) - 1, freedom.sum()
    first = float((1 / freedom).sum() - 1 / total) * (2 * p * p + 3 * p - 1) / (6 * (p + 1) * others)
    second = float((1 / freedom**2).sum() - 1 / total**2) * (p - 1) * (p + 2) / (6 * others)
    dof = p * (p + 1) * others / 2
    gap = second - first**2
    f_dof = (dof + 2) / abs(gap) if gap else np.inf
    if gap >= 0:
        f = statistic * (1 - first - dof / f_dof) / dof
    else:
        most = f_dof / (1 - first + 2 / f_dof)
        f = f_dof * statistic / (dof * (most - statistic)) if statistic < most else np.inf
    return (1 - first) * statistic, f, dof, f_dof


def about_equality(equality: Equality | None, advice: str) -> Finding:
    return Finding("Equal covariances (Box's M)", _facts(equality), [], advice)


def _facts(equality: Equality | None) -> list[str]:
    if equality is None:
        return []
    p_value = "< 0.001" if equality.p_value < 0.001 else f"= {chance(equality.p_value)}"
    freedom = f"{equality.dof:.0f} and {equality.f_dof:.0f} degrees of freedom"
    sizes = f"by {number(equality.difference)}; estimating them costs {number(equality.cost)}"
    facts = [
        f"M = {equality.statistic:.4g}, F = {equality.f:.4g} with {freedom}, p {p_value}. "
        f"Own covariances raise the log density of a row {sizes}."
    ]
    if equality.p_value >= LEVEL and equality.power < WEAK:
        facts.append(f"With so few rows a rise by {NOTABLE} would show only {percent(equality.power)} of the time.")
    if equality.skipped:
        facts.append(f"Without {classes(equality.skipped)}, whose own covariance has no inverse.")
    return facts
