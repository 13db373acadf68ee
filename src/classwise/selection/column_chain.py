"""The log joint of held-out rows for one set of columns after another: a column is added to a set by one term.

    log p(x_S, x_j | k) = log p(x_S | k) + log N(r_j | 0, v_j),   r_j = x_j - m_j - C_jS C_SS^-1 (x_S - m_S)

Here r and v are what is left of the other columns when S is known. Once j is known too, each column l loses its
regression on r_j (a sweep):

    r_l - (c_lj / v_j) r_j;   c_lm - c_lj c_jm / v_j

By the precision P = C^-1 and u = P (x - m) instead of C and r, the same sweep takes columns away. Columns that are
independent of all others within a class have a term that no sweep changes. So a set costs one pass over the rows.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import log, pi
from typing import Any

import numpy as np

from classwise.arrays import EPS, Array, Codes, sums_by

# As in an evaluation, a row loses no more than this.
MOST_LOST = -log(EPS)

# Log probabilities of zero, which a level without smoothing may have, become this: differences stay numbers.
LEAST_TERM = -1e5


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Held-out rows with their own class first. codes, folds, weights (n,); count: of the folds; classes: their number;
    shared: whether all classes share a covariance.
    """

    codes: Codes
    folds: Codes
    weights: Array
    count: int
    classes: int
    shared: bool

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def slots(self) -> Codes:
        """Which class stands at each place of a row: its own first; (g, n)."""
        slots = np.tile(np.arange(self.classes)[:, None], len(self))
        slots[self.codes, np.arange(len(self))] = 0
        slots[0] = self.codes
        return slots

    @cached_property
    def places(self) -> Codes:
        """Where the covariance of each row's fold and class stands among all of them; (1, n) or (g, n)."""
        return self.folds[None] if self.shared else self.slots * self.count + self.folds

    def spread(self, values: Array) -> Array:
        """Numbers of each fold and covariance (..., k F), for each row; (..., 1, n) or (..., g, n)."""
        return np.take(values, self.places, axis=-1)

    def by_slot(self, values: Array) -> Array:
        """Numbers of each fold and class (F, g, ...), for each row with its own class first; (..., g, n)."""
        return np.moveaxis(values[self.folds, self.slots], (0, 1), (-2, -1))

    def losses(self, log_joint: Array) -> Array:
        """-log P(own class | x); (..., g, n) -> (..., n), NaN where a covariance has no inverse."""
        others = log_joint[..., 1:, :] - log_joint[..., :1, :]
        with np.errstate(over="ignore"):
            np.exp(others, out=others)
        total = others.sum(axis=-2)
        return np.minimum(np.log1p(total, out=total), MOST_LOST)

    def totals(self, log_joint: Array) -> Array:
        """The sum of all losses; (..., g, n) -> (...)."""
        return np.dot(self.losses(log_joint), self.weights)

    def by_fold(self, log_joint: Array) -> Array:
        """The sum of the losses of each fold; (g, n) -> (F,)."""
        return sums_by(self.folds, self.weights * self.losses(log_joint), self.count)

    @cached_property
    def weight(self) -> Array:
        """The weight of the rows of each fold; (F,)."""
        return sums_by(self.folds, self.weights, self.count)


@dataclass(frozen=True, eq=False)
class ColumnChain:
    """Sets of columns, b at a time, and the columns that may still be moved: those independent of all others first.

    log_joint (b, g, n): of each set. terms (f, g, n): log p(x_j | k) of independent columns. residuals (b, q, g, n) and
    matrices (b, q, q, k F): r and C of Gaussian columns in units of their standard deviation, or u and P where sign is
    -1 and columns are taken away. scales (q, k F): -log sqrt(2 π v) of each. least: the share of its variance that a
    column must keep given others. NaN stands in a set whose covariance has no inverse.
    """

    rows: ScoredRows
    columns: tuple[int, ...]
    log_joint: Array
    terms: Array
    residuals: Array
    matrices: Array
    scales: Array
    least: float
    sign: int = 1

    def moved(self, i: int) -> Array:
        """The log joint of the sets once the i-th column is moved; (b, g, n)."""
        if i < len(self.terms):
            return self.log_joint + self.sign * self.terms[i]
        i -= len(self.terms)
        variance = self._pivot(i)
        term = self.residuals[:, i] ** 2
        term *= self.rows.spread(-0.5 / variance)
        term += self.rows.spread(self.scales[i] - 0.5 * self.sign * np.log(variance))
        term *= self.sign
        term += self.log_joint
        return term

    def after(self, i: int) -> "ColumnChain":
        """The sets once the i-th column is moved, which is then no longer to be moved."""
        residuals, matrices = self._swept(i)
        return replace(self.frozen(i), log_joint=self.moved(i), residuals=residuals, matrices=matrices)

    def frozen(self, i: int) -> "ColumnChain":
        """The same sets, with the i-th column left where it is from now on."""
        columns = self.columns[:i] + self.columns[i + 1 :]
        if i < len(self.terms):
            return replace(self, columns=columns, terms=_without(self.terms, i, 0))
        i -= len(self.terms)
        return replace(
            self,
            columns=columns,
            residuals=_without(self.residuals, i, 1),
            matrices=_without(_without(self.matrices, i, 1), i, 2),
            scales=_without(self.scales, i, 0),
        )

    def doubled(self) -> "ColumnChain":
        """All sets twice: without the first column, and with it."""
        rest, (residuals, matrices) = self.frozen(0), self._swept(0)
        return replace(
            rest,
            log_joint=np.concatenate([self.log_joint, self.moved(0)]),
            residuals=np.concatenate([rest.residuals, residuals]),
            matrices=np.concatenate([rest.matrices, matrices]),
        )

    def _pivot(self, i: int) -> Array:
        """The variance that is left of a Gaussian column, NaN if there is next to none; (b, k F)."""
        variance = self.matrices[:, i, i]
        return np.where(variance > self.least, variance, np.nan)

    def _swept(self, i: int) -> tuple[Array, Array]:
        """Residuals and matrices of the other Gaussian columns, once the i-th column is known."""
        rest = self.frozen(i)
        i -= len(self.terms)
        if i < 0:  # an independent column
            return rest.residuals, rest.matrices
        covariances = _without(self.matrices[:, :, i], i, 1)
        slopes = covariances / self._pivot(i)[:, None]
        residuals = np.multiply(self.rows.spread(-slopes), self.residuals[:, i, None])
        residuals += rest.residuals
        return residuals, rest.matrices - slopes[:, :, None] * covariances[:, None]

    def reversed(self) -> "ColumnChain":
        """The set of all columns, from which columns are taken away; of a chain of one set that is empty so far."""
        whole = self
        while whole.columns:
            whole = whole.after(0)
        matrices = np.moveaxis(self.matrices[0], -1, 0)
        precision = np.moveaxis(np.linalg.inv(matrices), 0, -1)
        turned = np.empty_like(self.residuals[0])
        for j, row in enumerate(precision):
            turned[j] = (self.rows.spread(row) * self.residuals[0]).sum(axis=0)
        return replace(
            self,
            log_joint=whole.log_joint,
            residuals=turned[None],
            matrices=precision[None],
            least=0.0,
            sign=-1,
        )


def _without(values: Array, i: int, axis: int) -> Array:
    """All but the i-th along an axis: a view where that is the first, as in a search through all sets."""
    every: Any = (slice(None),) * axis
    return values[(*every, slice(1, None))] if i == 0 else np.delete(values, i, axis=axis)


def log_scales(variances: Array) -> Array:
    """-log sqrt(2 π v), and 0 where a column does not vary."""
    return -0.5 * np.log(2 * pi * np.where(variances > 0, variances, 1.0))
