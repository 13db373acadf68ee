"""The problem of a robust fit: centers of some classes, and one scatter that they have in common.

Where each class has a scatter of its own there is a problem for each class, with one center; where they share one there
is one problem, with a center for each class. Rows stay as they are: the fit finds a weight for each row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from classwise.arrays import Array, Codes, sums_by
from classwise.covariance import FullCovariance
from classwise.errors import SingularCovarianceError

# A scatter is on its way to none if a column keeps less than this share of the variance that it started with (outliers
# a million deviations away leave more), or of its variance given the other columns.
GONE, FLAT = 1e-20, 1e-9


@dataclass(frozen=True, eq=False)
class RobustProblem:
    """rows (m, p), NaN for what is missing; codes (m,): the center of each; weights (m,): how often each row counts.

    means (c, p) and covariance (p, p): where to start. name: what errors call it; columns: what they are called.
    """

    rows: Array
    codes: Codes
    weights: Array
    means: Array
    covariance: Array
    name: str
    columns: Sequence[str]

    @property
    def features(self) -> int:
        return self.rows.shape[1]

    def distinct(self) -> tuple[Self, Codes]:
        """The same with each row once, as heavy as all that equal it, and where each of these rows stands there.

        So a row twice is a row of weight two also to a search that draws rows.
        """
        _, first, places = np.unique(
            np.column_stack([self.codes, self.rows]), axis=0, return_index=True, return_inverse=True
        )
        order = np.argsort(first)
        kept, places = first[order], np.argsort(order)[places.reshape(-1)]
        weights = sums_by(places, self.weights, len(kept))
        return replace(self, rows=self.rows[kept], codes=self.codes[kept], weights=weights), places

    def averages(self, weights: Array, rows: Array, before: Array) -> Array:
        """The weighted mean of the rows of each center, or what it was before where no row counts; (c, p)."""
        count = len(self.means)
        total = sums_by(self.codes, weights, count)[:, None]
        # About what they were before, so that a common offset costs no digits.
        away = weights[:, None] * (rows - before[self.codes])
        sums = np.stack([np.bincount(self.codes, column, count) for column in away.T], axis=1)
        return np.asarray(before + np.divide(sums, total, out=np.zeros_like(sums), where=total > 0))

    def factored(self, covariance: Array, remedy: str) -> FullCovariance:
        """The covariance, ready to measure; an error where too many rows lie in a plane.

        Where they do, each step makes the scatter flatter, and there is no end to it (Kent and Tyler 1991).
        """
        found = FullCovariance(covariance[None])
        remedy = f"or {remedy}" if len(self.means) > 1 else f"share one scatter (share=1), or {remedy}"
        is_gone = np.diagonal(covariance) < GONE * np.diagonal(self.covariance)
        if is_gone.any():
            names = ", ".join(self.columns[j] for j in np.flatnonzero(is_gone).tolist())
            raise SingularCovarianceError(
                f"So many rows of {self.name} hold one value in {names} that all others count as outliers there: the "
                f"scatter shrinks to nothing. Drop these columns, {remedy}."
            )
        if found.least_pivot() < FLAT:
            raise SingularCovarianceError(
                f"Too many rows of {self.name} lie in a plane: the rows that count most have a covariance without an "
                f"inverse. Drop columns that follow from others, {remedy}."
            )
        return found


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Rows (n, p) with the class (n,) and the weight (n,) of each, which start at means (g, p), covariances (k, p, p).

    names, columns: what classes and columns are called, for errors.
    """

    rows: Array
    codes: Codes
    weights: Array
    means: Array
    covariances: Array
    names: Sequence[Any]
    columns: Sequence[str]

    def units(self) -> Array:
        """Powers of two near the deviations of the columns: dividing by them costs no digits; (p,)."""
        deviations = np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2).mean(axis=0))
        return np.exp2(np.round(np.log2(deviations)))

    def divided(self, units: Array) -> Self:
        """The same in other units (p,)."""
        covariances = self.covariances / units[:, None] / units
        return replace(self, rows=self.rows / units, means=self.means / units, covariances=covariances)

    @property
    def is_shared(self) -> bool:
        return len(self.covariances) < len(self.means)

    def problems(self, usable: Any) -> list[tuple[Codes, RobustProblem]]:
        """The problems, each with the positions of its rows; usable (n,): which rows take part."""
        if self.is_shared:
            own = np.flatnonzero(usable)
            return [(own, self._problem(own, self.codes[own], slice(None), 0, "all classes"))]
        found: list[tuple[Codes, RobustProblem]] = []
        for k, name in enumerate(self.names):
            own = np.flatnonzero((self.codes == k) & usable)
            none = np.zeros_like(self.codes[own])
            found.append((own, self._problem(own, none, slice(k, k + 1), k, f"class {name!r}")))
        return found

    def _problem(self, own: Codes, codes: Codes, centers: slice, k: int, name: str) -> RobustProblem:
        return RobustProblem(
            self.rows[own], codes, self.weights[own], self.means[centers], self.covariances[k], name, self.columns
        )
