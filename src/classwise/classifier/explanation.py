"""Why a row is taken for one class rather than another: each column's share of the log odds.

    log P(a | x) / P(b | x) = log prior_a / prior_b + sum over columns of their shares (+ volume)

An independent column has the share log p(x_j | a) / p(x_j | b). Where classes share a covariance, the share is that of
the linear discriminant, w_j (x_j - middle_j). Where each has its own, exponents split into -1/2 d_j (C^-1 d)_j with
d = x - m, and the logarithm of the volumes, -1/2 log |C_a| / |C_b|, belongs to no column. A calibrated model has all
of this times its power.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a row is taken for one class rather than another; prints as a table.

    label, against: the two classes; log_odds: log P(label | x) / P(against | x), and what it is made of:
    shares: {column: its share}; prior: the log prior odds; volume: of joint Gaussians, else 0. They add up to log_odds.
    values: {column: the value of the row}, None where it is missing. rest: what `volume` is called, where it stands for
    something else that belongs to no column.
    """

    label: Any
    against: Any
    log_odds: float
    prior: float
    volume: float
    shares: dict[Any, float]
    values: dict[Any, Any]
    rest: str = "volume"

    def __str__(self) -> str:
        odds = f"{self.log_odds:+.4g}"
        lines = [f"log odds of {self.label!r} against {self.against!r}: {odds}"]
        ranked = sorted(self.shares.items(), key=lambda share: -abs(share[1]))
        parts: list[tuple[str, str, float]] = [("prior", "", self.prior)]
        parts += [(str(column), _shown(self.values[column]), share) for column, share in ranked]
        if self.volume:
            parts.append((self.rest, "", self.volume))
        name_width, value_width = (max(len(part[0]) for part in parts), max(len(part[1]) for part in parts))
        return "\n".join(lines + [f"  {n:<{name_width}}  {v:>{value_width}}  {s:+.4g}" for n, v, s in parts])

    __repr__ = __str__


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def explain(
    model: BayesClassifier, row: Array, columns: list[Any], values: list[Any], first: int, second: int
) -> Explanation:
    """The log odds of class `first` against class `second` for one row (p,)."""
    prior = float(model.log_prior[first, 0] - model.log_prior[second, 0])
    shares = model.density.shares(row, first, second)
    log_density = model.log_density(row[None])[:, 0]
    with np.errstate(invalid="ignore"):
        volume = float(log_density[first] - log_density[second] - shares.sum())
    # Below rounding there is no volume, and an impossible row (log 0) has none that could be told.
    if abs(volume) <= 1e-9 * max(1.0, float(np.abs(log_density).min())) or not np.isfinite(volume):
        volume = 0.0
    if model.calibration is not None:
        power, shift = model.calibration.power, model.calibration.shift
        prior = power * prior + (shift[first] - shift[second] if shift else 0.0)
        shares, volume = power * shares, power * volume
    labels = model.labels.tolist()
    return Explanation(
        labels[first],
        labels[second],
        prior + float(shares.sum()) + volume,
        prior,
        volume,
        dict(zip(columns, shares.tolist(), strict=True)),
        dict(zip(columns, values, strict=True)),
    )
