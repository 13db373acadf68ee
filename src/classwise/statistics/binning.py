"""Binning: from the rows of a table to the places that its values are counted as, and to the counts of pairs of them.

Numbers are cut into ranges of about equal weight; those with few distinct values have one range for each. Categories
are their levels. Ranges are learned in a first pass over the rows, and pairs counted in a second.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TypeAlias

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, slices
from classwise.errors import ClasswiseError
from classwise.rows.codes import Coded, code_labels
from classwise.rows.table import Columns, Table
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.pairs import PairCounts, gather_pairs
from classwise.statistics.parts import PAIRS, SKETCHES
from classwise.statistics.places import Bins, Named, Place, Quantiles, Sketches

# Pairs are counted in chunks of this many values, each of which becomes a matrix.
CHUNK_VALUES = 1 << 22


def learn_places(table: Table, bins: int, *, missing: bool = False) -> tuple[Place, ...]:
    """The places of each column of a table in memory: exact quantiles, all levels. The labels are not looked at.

    bins: how many ranges numbers are cut into. missing: count missing values too, in columns that have some, at a place
    of their own.

    >>> from classwise.rows.sources import read_table
    >>> places = learn_places(read_table([[1.0, "a"], [2.0, "b"], [5.0, "a"]]), bins=7)
    >>> [place.names for place in places]
    [[1.0, 2.0, 5.0], ['a', 'b']]
    """
    table = table.weighted()
    return tuple(_learn_place(table, j, bins, missing) for j in range(len(table.schema)))


def _learn_place(table: Table, column: int, bins: int, missing: bool) -> Place:
    missing = missing and _has_gaps(table, column)
    if column not in table.levels:
        values = _numbers(table, column)
        return cut(Quantiles.of(values, table.weights, most=max(len(values), 1)), bins, missing)
    levels, codes = table.levels[column], table.codes(column)
    weight = np.bincount(codes, table.weights, minlength=len(levels) + 1).astype(np.float64)[:-1]
    seen = weight > 0  # levels that only rows of weight zero have are none
    return Named.of_most(levels[seen], weight[seen], limits.MOST_LEVELS, missing)


def _numbers(table: Table, column: int) -> Array:
    return np.asarray(table.block([column])[:, 0], dtype=np.float64)


def _has_gaps(table: Table, column: int) -> bool:
    if column in table.levels:
        return bool((table.codes(column) == len(table.levels[column])).any())
    return bool(np.isnan(_numbers(table, column)).any())


def cut(quantiles: Quantiles, bins: int, missing: bool = False) -> Bins:
    """The ranges of a column of numbers."""
    if len(quantiles.points) <= limits.FEW_VALUES:
        return Bins.of_values(quantiles.points, missing)
    inner = quantiles.cuts(bins)
    inner = inner[inner < quantiles.highest]  # a range has some width
    return Bins(np.concatenate([[quantiles.lowest], inner, [quantiles.highest]]), None, missing)


def known_places(places: Sequence[Place], table: Table, bins: int | None = None) -> tuple[Place, ...]:
    """The places of rows counted before, with what a table adds: levels, missing values, and ranges where there were
    no values yet.

    bins: how many ranges; None if there are to be none but those before.
    """
    return tuple(_known_place(place, table, j, bins) for j, place in enumerate(places))


def _known_place(place: Place, table: Table, column: int, bins: int | None) -> Place:
    if isinstance(place, Bins) and not place.count and bins is not None:
        return _learn_place(table, column, bins, missing=True)
    missing = _has_gaps(table, column)
    if isinstance(place, Bins):
        return replace(place, missing=missing)
    # A category without a single value looks like a number, and has nothing to count but that it is missing.
    nothing = Bins.of_values(np.empty(0), missing)
    return replace(place.extended(table.levels[column]), missing=missing) if column in table.levels else nothing


def count_pairs(table: Table, places: Sequence[Place], classes: Codes, count: int) -> PairCounts:
    """The pairs of a table whose rows have these classes (n,), numbers from 0 to count - 1; in one pass."""
    table, size = _placed_among(table, places), max(CHUNK_VALUES // max(len(places), 1), 1)

    def counted(part: slice) -> PairCounts:
        chunk = table.take(part)
        return gather_pairs(np.asarray(chunk.rows, dtype=np.float64), places, classes[part], count, chunk.weights)

    return reduce(add, map(counted, slices(len(table), size)))


def _placed_among(table: Table, places: Sequence[Place]) -> Table:
    """The same table, its categories as positions among the levels of the places."""
    if not table.levels:
        return table
    assert isinstance(table.source, Columns)
    columns = zip(table.source.values, places, strict=True)
    values = [c.among(p.levels) if isinstance(c, Coded) and isinstance(p, Named) else c for c, p in columns]
    levels = {j: place.levels for j, place in enumerate(places) if isinstance(place, Named)}
    return replace(table, source=Columns(values), levels=levels)


def with_pairs(statistics: ClassStatistics, table: Table, places: Sequence[Place]) -> ClassStatistics:
    """The statistics of a table, with its pairs."""
    if table.labels is None:
        raise ClasswiseError("y is missing: a statistic by class needs a label for every row.")
    table = table.weighted()
    assert table.labels is not None
    labels, classes = code_labels(table.labels)
    pairs = count_pairs(table, places, classes, len(labels))
    return statistics.with_part(PAIRS, pairs).compact()


# Streams ------------------------------------------------------------------------------------------------------------

# Adds to the statistics of a table what else is to be gathered of it.
Also: TypeAlias = Callable[[ClassStatistics, Table], ClassStatistics]


@dataclass(frozen=True, eq=False)
class Pairing:
    """Counts the pairs of each chunk at places that are known; small, and sent to the workers."""

    places: tuple[Place, ...]

    def __call__(self, statistics: ClassStatistics, table: Table) -> ClassStatistics:
        return with_pairs(statistics, table, known_places(self.places, table))


def with_sketches(statistics: ClassStatistics, table: Table) -> ClassStatistics:
    """The statistics of a table, with sketches of the quantiles of its numbers."""
    table = table.weighted()
    columns = (None if j in table.levels else _sketch(table, j) for j in range(len(table.schema)))
    return statistics.with_part(SKETCHES, Sketches(tuple(columns)))


def _sketch(table: Table, column: int) -> Quantiles:
    return Quantiles.of(_numbers(table, column), table.weights)


def sketched_places(statistics: ClassStatistics, bins: int) -> tuple[Place, ...]:
    """The places of rows that were never seen together, from sketches of their quantiles and counts of their levels."""
    sketches, schema = statistics.part_of(SKETCHES), statistics.schema
    counts = dict(zip(schema.levels, statistics.levels.columns, strict=True))

    def place(column: int) -> Place:
        counted, sketch = counts.get(column), sketches.columns[column]
        if counted is not None:
            return Named.of_most(counted.levels, counted.weight.sum(axis=0), limits.MOST_LEVELS)
        assert sketch is not None
        return cut(sketch, bins)

    return tuple(map(place, range(len(schema))))
