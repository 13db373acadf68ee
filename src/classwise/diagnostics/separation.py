"""How well single columns separate two classes, with nothing assumed of them: counts of levels and of ranges.

Text and yes/no are counted as they are; every number is cut into ranges of about equal weight. For the counts c of L
places in two classes of n_a and n_b rows, and p = (c + 1/2) / (n + L/2),

    distance     -log( sum over places of sqrt(p_a p_b) )  -  (L - 1)/8 (1/n_a + 1/n_b)

where the last term is what chance adds (Bhattacharyya 1943; to first order in 1/n). Over columns that are unrelated
within classes distances add. Errors need no such thing: a rule that knows one column alone takes the class which is
more frequent at the row's place, not counting the row itself. It errs on

    sum over places of c_a [c_a - 1 < c_b] + c_b [c_b - 1 < c_a],   where a tie counts half,

and a model that knows all columns should not err more often.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from classwise.arrays import Array, sums_by
from classwise.rows.table import Table
from classwise.statistics.binning import learn_places

# Numbers are cut into this many ranges.
RANGES = 16

# A share of errors is taken for this many standard errors larger: it is an estimate, and the least of many columns.
MARGIN = 2.0


@dataclass(frozen=True, eq=False)
class Separation:
    """Of each pair of classes (g, g): the distance that some columns add up to, and the least share of errors by one.

    weight (g,): of the rows of each class. distance: of the columns that no Gaussian describes, beyond chance.
    apart: the largest distance by a single column, of whatever kind. errors: with a margin for chance; alone: by the
    columns that no Gaussian describes, of which models know as much.
    """

    weight: Array
    distance: Array
    apart: Array
    errors: Array
    alone: Array

    @classmethod
    def of(cls, table: Table, count: int, alone: Container[int]) -> Self:
        """Of a table whose labels are codes of `count` classes; alone: the columns whose distances are added."""
        assert table.labels is not None
        weight = sums_by(table.labels, np.ones(len(table)) if table.weights is None else table.weights, count)
        distance, apart, least = np.zeros((count, count)), np.zeros((count, count)), np.full((2, count, count), np.inf)
        for column, counts in _counted(table, count):
            own, by_itself = _distances(counts, weight), column in alone
            apart, distance = np.maximum(apart, own), distance + own * by_itself
            least[: 1 + by_itself] = np.minimum(least[: 1 + by_itself], _errors(counts, weight))
        total = weight[:, None] + weight
        share = np.clip(least / total, 0, 0.5)
        # Where no row is mistaken, one in `total` may still be, by chance.
        share += MARGIN * np.sqrt(np.maximum(share * (1 - share), 1 / total) / total)
        return cls(weight, distance.clip(0), apart, *share)

    @property
    def by_pair(self) -> tuple[Array, Array, Array, Array]:
        """Distance, largest distance, errors and errors by columns alone."""
        return self.distance, self.apart, self.errors, self.alone


def _counted(table: Table, count: int) -> Iterable[tuple[int, Array]]:
    """Each column with the weight of its places by class, (g, L)."""
    weights = np.ones(len(table)) if table.weights is None else table.weights
    for column, place in enumerate(learn_places(table, RANGES)):
        values = np.asarray(table.block([column])[:, 0], dtype=np.float64)
        codes, size = place.codes(values), len(place)
        there = codes >= 0
        if size:
            cells = table.labels[there] * size + codes[there]  # type: ignore[index]
            yield column, sums_by(cells, weights[there], count * size).reshape(count, size)


def _distances(counts: Array, weight: Array) -> Array:
    """Bhattacharyya's distance of each pair, less what chance adds; (g, g). Rows that lack the value say nothing."""
    present, size = counts.sum(axis=1), counts.shape[1]
    roots = np.sqrt((counts + 0.5) / (present + size / 2)[:, None])
    known = (present[:, None] + present) / (weight[:, None] + weight)
    with np.errstate(divide="ignore"):
        chance = (size - 1) / 8 * (1 / present[:, None] + 1 / present)
    alike = 1 - known * (1 - np.minimum(roots @ roots.T, 1))
    distance = -np.log(alike)
    return np.where(np.isfinite(chance), distance - np.where(np.isfinite(chance), chance, 0.0), 0.0)


def _errors(counts: Array, weight: Array) -> Array:
    """The weight of rows of each pair that a rule by this column alone takes for the other; (g, g).

    Rows that lack the value are taken for the more frequent class.
    """
    wrong = np.zeros((len(counts), len(counts)))
    for own in counts.T:
        ahead = own[None, :] - (own[:, None] - 1)  # how far the other class is ahead at this place, without the row
        wrong += own[:, None] * ((ahead > 0) + (ahead == 0) / 2)
    lacking = weight - counts.sum(axis=1)
    rarer = weight[:, None] < weight
    lost = np.where(rarer, lacking[:, None], 0.0)
    ties = np.where(weight[:, None] == weight, lacking[:, None] / 2, 0.0)
    return wrong + wrong.T + lost + lost.T + ties + ties.T
