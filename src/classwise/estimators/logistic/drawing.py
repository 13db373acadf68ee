"""Some rows of many, drawn by chance in a pass over all of them, and held in memory.

Rows of rare classes and levels have a larger chance, so that these are there, and weigh less for it:

    chance = max(rows to draw / rows, 100 / rows of its class, 100 / rows of each of its levels),   weight ~ 1 / chance
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from classwise.arrays import Array, Codes
from classwise.estimators.answers import required
from classwise.estimators.logistic.columns import Reading
from classwise.rows.roles import Chunk
from classwise.rows.sampling import uniform_of_rows
from classwise.rows.table import Matrix, Table
from classwise.statistics import ClassStatistics

# Of each class and level about so many rows are drawn at least, if it has them.
FEWEST_OF_KIND = 100


@dataclass(frozen=True, eq=False)
class Chances:
    """Of a row to be drawn. every: of any row; classes (g,), levels: by kind, where that counts; the last of the levels
    of a column stands for none.
    """

    every: float
    classes: Array | None = None
    levels: Mapping[int, Array] = field(default_factory=dict)

    @classmethod
    def of_kinds(cls, statistics: ClassStatistics, columns: Collection[int], count: int) -> "Chances":
        """For about `count` rows of all, and some of each class and each level of these columns: at most as many again.

        Rows have no weights: then what a kind weighs is how many rows it has.
        """
        totals = {j: total for j, total in rows_of_levels(statistics).items() if j in columns}
        fewest = min(FEWEST_OF_KIND, count / (len(statistics.labels) + sum(map(len, totals.values()))))
        levels = {j: np.append(fewest / np.maximum(total, 1.0), 0.0) for j, total in totals.items()}
        return cls(count / statistics.rows, fewest / statistics.weight, levels)

    def of(self, table: Table) -> Array:
        """Of each row; (m,)."""
        chances = np.full(len(table), self.every)
        if self.classes is not None:
            chances = np.maximum(chances, self.classes[required(table.labels)])
        for j, by_level in self.levels.items():
            chances = np.maximum(chances, by_level[table.codes(j)])
        return np.minimum(chances, 1.0)


def rows_of_levels(statistics: ClassStatistics) -> dict[int, Array]:
    """What each level of each category weighs in all classes."""
    if not statistics.schema.levels:
        return {}
    columns = zip(statistics.schema.levels, statistics.levels.columns, strict=True)
    return {j: column.weight.sum(axis=0) for j, column in columns if column is not None}


class Part(NamedTuple):
    """Rows of one chunk as a matrix (m, p), their classes (m,), and their weights (m,), where they have any."""

    rows: Array
    classes: Codes
    weights: Array | None


@dataclass(frozen=True, eq=False)
class Drawn:
    """What chunks add up to: rows that were drawn."""

    parts: tuple[Part, ...] = ()

    def __add__(self, other: "Drawn") -> "Drawn":
        return Drawn(self.parts + other.parts)

    def table(self, reading: Reading) -> Table:
        rows, classes, weights = zip(*self.parts, strict=True)
        held = None if weights[0] is None else np.concatenate(weights)
        return Table(Matrix(np.concatenate(rows)), reading.schema, reading.levels, np.concatenate(classes), held)


@dataclass(frozen=True, eq=False)
class Drawing:
    """A chunk of rows to those that are drawn from it."""

    reading: Reading
    chances: Chances

    def __call__(self, chunk: Chunk) -> Drawn | None:
        counted = chunk.counted(self.reading.roles)
        table = self.reading.table(counted)
        if table is None:
            return None
        chances = self.chances.of(table)
        kept = np.flatnonzero(uniform_of_rows(counted.numbers) < chances)
        some = table.take(kept)
        weights = some.weights if self.chances.classes is None else self.chances.every / chances[kept]
        return Drawn((Part(some.rows, required(some.labels), weights),))
