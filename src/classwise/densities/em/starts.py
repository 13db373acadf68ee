"""Where EM starts: clusters within each class, by k-means++ (Arthur and Vassilvitskii 2007) on whitened rows.

A row is drawn by its weight times its squared distance to the nearest center so far. Lots run along the rows as ordered
by their distance from the mean, so that neither the order of a table nor repeating a row, rather than weighing it
twice, changes what a seed draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from classwise import limits
from classwise.arrays import EPS, Array, Codes, product, row_norms
from classwise.densities.em.arranged import Arranged, Complete, Gappy, metrics_of
from classwise.densities.em.expectation import Expected, MixtureParameters, PseudoRows, expect, maximize

# A class has at most one component for each so many rows.
ROWS_PER_COMPONENT = 5

# Centers are moved to the means of the rows nearest to them so often.
MOVES = 10

# Iterations of EM for one component in each class, where rows have gaps.
COMPLETIONS = 20


def component_counts(weight: Array, components: int) -> Codes:
    """How many components each class has; fewer than asked for where it has few rows; (g,)."""
    return np.clip(weight // ROWS_PER_COMPONENT, 1, components).astype(np.intp)


def one_each(arranged: Arranged, prior: PseudoRows) -> tuple[MixtureParameters, Expected]:
    """One component for each class: the most probable, and what it is responsible for."""
    count, features = arranged.centers.shape
    owner = np.arange(count)
    at_centers = Expected(0.0, np.zeros(count), arranged.weight, np.zeros((count, features)), arranged.products)
    parameters = maximize(arranged, at_centers, prior, owner)
    if arranged.has_gaps:
        for _ in range(COMPLETIONS):
            parameters = maximize(arranged, expect(arranged, parameters), prior, owner)
    return parameters, expect(arranged, parameters)


@dataclass(frozen=True, eq=False)
class Seeding:
    """Rows, and one component for each class, in whose metric clusters are looked for."""

    arranged: Arranged
    prior: PseudoRows
    single: MixtureParameters
    expected: Expected

    @classmethod
    def of(cls, arranged: Arranged, prior: PseudoRows) -> Self:
        return cls(arranged, prior, *one_each(arranged, prior))

    def starts(self, counts: Codes, tries: int, generator: np.random.Generator) -> list[MixtureParameters]:
        """So many starts, with so many components in each class at most."""
        by_class = [self._of_class(k, int(count), tries, generator) for k, count in enumerate(counts)]
        return [self._joined([tried[i] for tried in by_class]) for i in range(tries)]

    def _joined(self, clusters: Sequence[tuple[Array, Array]]) -> MixtureParameters:
        """Parameters from the weights and sums of clusters in each class."""
        owner = np.repeat(np.arange(len(clusters)), [len(weight) for weight, _ in clusters])
        weight, sums = (np.concatenate([of[i] for of in clusters]) for i in (0, 1))
        return maximize(self.arranged, replace(self.expected, weight=weight, sums=sums), self.prior, owner)

    def _of_class(self, k: int, count: int, tries: int, generator: np.random.Generator) -> list[tuple[Array, Array]]:
        """Weights (c,) and sums of rows (c, p) of clusters, for each try."""
        if count == 1:
            return [(self.expected.weight[[k]], self.expected.sums[[k]])] * tries
        parts = [part for part in self.arranged.parts if part.k == k]
        rows = np.vstack([self._filled(part) for part in parts])
        weights = np.concatenate([part.weights for part in parts])
        white = self.single.covariance.whiten(rows - self.single.shift[k], self.arranged.kind(k))
        order = np.argsort(row_norms(white), kind="stable")
        rows, white, weights = rows[order], white[order], weights[order]
        some = np.linspace(0, len(white) - 1, min(len(white), limits.CLUSTERED_ROWS)).astype(np.intp)
        found = [clusters(white[some], weights[some], count, generator) for _ in range(tries)]
        return [_summed(nearest(white, centers), rows, weights) for centers in found]

    def _filled(self, part: Complete | Gappy) -> Array:
        """Rows with what is missing where the class expects it; (m, p)."""
        if isinstance(part, Complete):
            return part.rows
        shift = self.single.shift[part.k]
        metrics = metrics_of(self.single.covariance, self.arranged.kind(part.k), part.gaps)
        away = (part.rows - np.append(shift, 0.0)) * part.present[part.group, 0]
        return shift + metrics.of(part.group).completed(away[:, None])[:, 0, :-1]


def clusters(rows: Array, weights: Array, count: int, generator: np.random.Generator) -> Array:
    """Centers (c, p) of clusters of rows (m, p): drawn far apart, then moved to the means of what is nearest.

    There are fewer than count where there are fewer different rows.
    """
    centers = _spread(rows, weights, count, generator)
    for _ in range(MOVES):
        weight, sums = _summed(nearest(rows, centers), rows, weights)
        moved = sums / weight[:, None]
        if moved.shape == centers.shape and np.array_equal(moved, centers):
            break
        centers = moved
    return centers


def nearest(rows: Array, centers: Array) -> Codes:
    """The position of the nearest center; (m, p), (c, p) -> (m,)."""
    return np.asarray((product(centers, rows.T) - 0.5 * row_norms(centers)[:, None]).argmax(axis=0))


def _spread(rows: Array, weights: Array, count: int, generator: np.random.Generator) -> Array:
    """Rows drawn by their weight times their squared distance to those drawn before; (c, p)."""
    chances, distance = weights, np.full(len(rows), np.inf)
    rounding = EPS * (1 + row_norms(rows))
    chosen: list[Array] = []
    while len(chosen) < count and chances.any():
        cumulative = np.cumsum(chances)
        place = np.searchsorted(cumulative, generator.random() * cumulative[-1], side="right")
        chosen.append(rows[min(int(place), len(rows) - 1)])
        distance = np.minimum(distance, row_norms(rows - chosen[-1]))
        chances = weights * np.where(distance > rounding, distance, 0.0)
    return np.array(chosen)


def _summed(codes: Codes, rows: Array, weights: Array) -> tuple[Array, Array]:
    """The weight of the rows of each code that occurs (c,), and their sums (c, p)."""
    present, codes = np.unique(codes, return_inverse=True)
    belongs = (codes == np.arange(len(present))[:, None]) * weights
    return belongs.sum(axis=1), product(belongs, rows)
