"""Why a row is assigned to one class rather than another: each column's share of the log odds.

    log P(a | x) / P(b | x) = log prior_a / prior_b + sum over columns of their shares (+ volume)

The share of an independent column is log p(x_j | a) / p(x_j | b). If classes share a covariance, the share is that of
the linear discriminant, w_j (x_j - middle_j). If each class has its own, the exponents split into -1/2 d_j (C^-1 d)_j
with d = x - m, and the logarithm of the volumes, -1/2 log |C_a| / |C_b|, belongs to no column. In a calibrated model
all of these are multiplied by the power.
"""

from dataclasses import dataclass
from html import escape
from math import exp, nan
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.flip import Flip, named, shown
from classwise.tabular import aligned, html_table

# The columns with the largest shares are listed, at most this many; the others are summed up.
MOST = 15

# A column that changes the odds by less than this factor supports neither class.
NEITHER = 1.005


class Reason(NamedTuple):
    """A column, its value (None if missing), and its share of the log odds."""

    column: Any
    value: Any
    share: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a row is assigned to one class rather than another; prints as a table, and as HTML in a notebook.

    label, other: the two classes.
    log_odds: log P(label | x) / P(other | x), the sum of prior, volume and shares.
    prior: the log prior odds.
    volume: the part that belongs to no column, such as the volumes of joint Gaussians; else 0.
    shares: {column: its share of the log odds}.
    values: {column: the value of the row}; None if missing.
    rest: the name of `volume` in the table.
    probability, other_probability: P(label | x) and P(other | x).
    flip: the smallest change of one column that changes the decision; None if there is none.
    searched: whether such a change was looked for; not where columns are those of a sparse matrix.
    """

    label: Any
    other: Any
    log_odds: float
    prior: float
    volume: float
    shares: dict[Any, float]
    values: dict[Any, Any]
    rest: str = "volume"
    probability: float = nan
    other_probability: float = nan
    flip: Flip | None = None
    searched: bool = True

    @property
    def for_(self) -> tuple[Reason, ...]:
        """The columns that support the label, the largest shares first."""
        return tuple(reason for reason in self._ranked if reason.share > 0)

    @property
    def against(self) -> tuple[Reason, ...]:
        """The columns that speak against the label, the largest shares first."""
        return tuple(reason for reason in self._ranked if reason.share < 0)

    @property
    def _ranked(self) -> list[Reason]:
        reasons = (Reason(column, self.values[column], share) for column, share in self.shares.items())
        return sorted(reasons, key=lambda reason: -abs(reason.share))

    def sentences(self) -> tuple[str, str]:
        """One sentence on the probabilities of the two classes, and one on what would change the decision."""
        ours, theirs = _percent(self.probability), _percent(self.other_probability)
        probabilities = f"{self.label} with probability {ours}, {self.other} with {theirs}."
        if self.flip is not None or not self.searched:
            return probabilities, "" if self.flip is None else str(self.flip)
        return probabilities, "No change of a single column, as far as rows reach, changes the decision."

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text, header first: columns in the order of their shares, the prior, the sum."""
        kept, cut = self._ranked[:MOST], self._ranked[MOST:]
        parts = [(named(reason.column), shown(reason.value), reason.share) for reason in kept]
        if cut:
            parts.append((f"{len(cut)} other columns", "", sum(reason.share for reason in cut)))
        parts.append(("prior", "", self.prior))
        parts += [(self.rest, "", self.volume)] if self.volume else []
        parts.append(("total", "", self.log_odds))
        lines = [
            (name, value, self._speaks_for(share), _factor(share), f"{share:+.4g}") for name, value, share in parts
        ]
        return [("column", "value", "speaks for", "odds", "log odds"), *lines]

    def _speaks_for(self, share: float) -> str:
        if not abs(share) > np.log(NEITHER):
            return "neither"
        return str(self.label if share > 0 else self.other)

    def __str__(self) -> str:
        first, last = self.sentences()
        return "\n".join([first, "", *aligned(self.cells(), "<><"), *(["", last] if last else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, last = (f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        return f"{first}{html_table(self.cells(), '<><')}{last}"


def _percent(probability: float) -> str:
    """A probability in percent; it is 0 or 100 only if it is exactly 0 or 1.

    >>> [_percent(p) for p in (0.98234, 0.999999, 1e-9, 1.0)]
    ['98.2 %', '>99.9 %', '<0.1 %', '100.0 %']
    """
    if 0 < probability < 0.001:
        return "<0.1 %"
    return ">99.9 %" if 0.999 < probability < 1 else f"{100 * probability:.1f} %"


def _factor(share: float) -> str:
    """The factor by which a share multiplies the odds of the class that it supports.

    >>> [_factor(share) for share in (0.0, -0.7, 10.9, 300.0)]
    ['x 1', 'x 2', 'x 54000', 'x 2e130']
    """
    size = abs(share)
    if not size < 13.8:  # a million
        power = size / np.log(10)
        return f"x {10 ** (power % 1):.0f}e{int(power)}" if np.isfinite(size) else "x ∞"
    value = exp(size)
    return f"x {value:.2g}" if value < 100 else f"x {float(f'{value:.2g}'):.0f}"


def explain_sparse(model: BayesClassifier, row: Any, first: int, second: int) -> Explanation:
    """The same for one row of a sparse matrix (1, p): the shares of what it stores, and of all zeros together."""
    dense = np.asarray(row.toarray(), dtype=np.float64)[0]
    held = np.sort(row.indices[row.data != 0])
    power, shift = (1.0, ()) if model.calibration is None else (model.calibration.power, model.calibration.shift)
    prior = power * float(model.log_prior[first, 0] - model.log_prior[second, 0])
    shares = power * model.density.shares(dense, first, second)
    kept = dict(zip(held.tolist(), shares[held].tolist(), strict=True))
    zeros = float(shares.sum() - shares[held].sum()) if len(held) < len(dense) else 0.0
    prior += shift[first] - shift[second] if shift else 0.0
    labels, values = model.labels.tolist(), dict(zip(held.tolist(), dense[held].tolist(), strict=True))
    total = prior + sum(kept.values()) + zeros
    return Explanation(
        labels[first], labels[second], total, prior, zeros, kept, values, rest="all zeros", searched=False
    )


def explain(
    model: BayesClassifier, row: Array, columns: list[Any], values: list[Any], first: int, second: int
) -> Explanation:
    """The log odds of class `first` against class `second` for one row (p,)."""
    prior = float(model.log_prior[first, 0] - model.log_prior[second, 0])
    shares = model.density.shares(row, first, second)
    scores = model.density.relative(row[None], np.zeros_like(model.log_prior))[:, 0]
    with np.errstate(invalid="ignore"):
        volume = float(scores[first] - scores[second] - shares.sum())
    # A volume within rounding error is 0; so is that of an impossible row (log 0), where it is undefined.
    if abs(volume) <= 1e-9 * max(1.0, float(np.abs(scores).min())) or not np.isfinite(volume):
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
