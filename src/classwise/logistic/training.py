"""Rows to learn from, wherever they are: what a pass over them adds up to, and some of them drawn into memory.

Each pass adds up what chunks say. In memory these are chunks of a table. Elsewhere a chunk is first read into a table
of its own, where it is; a first pass has found what the columns hold, and which classes there are. A few rows are then
held in memory. Of many, a sample is drawn to begin with. Rows of rare classes and levels have a larger chance, so that
these are there, and weigh less for it:

    chance = max(rows to draw / rows, 100 / rows of its class, 100 / rows of each of its levels),   weight ~ 1 / chance
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, Labels
from classwise.engines import BLAS, Engine, MemoryEngine, Rows
from classwise.engines.device import DeviceEngine, block_rows
from classwise.errors import ClasswiseError
from classwise.logistic.design import counts_of_levels
from classwise.logistic.in_place import curvature_in_place
from classwise.logistic.posterior import Laplace
from classwise.logistic.regression import Regression
from classwise.rows.codes import Coded, code_labels, positions
from classwise.rows.device_rows import DeviceMatrix, labels_beside
from classwise.rows.roles import Chunk, Counted, Roles
from classwise.rows.sampling import uniform_of_rows
from classwise.rows.schema import Schema
from classwise.rows.table import Columns, Matrix, Table
from classwise.statistics import ClassStatistics, Curvature

S = TypeVar("S")

# What a chunk adds: a table whose labels are codes of classes.
Summarize = Callable[[Table], Curvature]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows as a regression sees them, to be gone through many times.

    gather: one pass, the sum of what a function says of each chunk. sample: about so many of the rows, in memory.
    weight: of all rows. table: all of them, where they are in memory; their labels are codes.
    """

    regression: Regression
    gather: Callable[[Summarize], Curvature]
    sample: Callable[[int], "TrainingRows"]
    weight: float
    table: Table | None = None

    def curvature(self, weights: Array) -> Curvature:
        """Of all rows, at weights (r, q)."""
        return self.gather(partial(_of_chunk, self.regression.curvature, weights))

    def slope(self, weights: Array) -> Curvature:
        """The same without second derivatives."""
        return self.gather(partial(_of_chunk, self.regression.slope, weights))

    def averaged(self, beliefs: Laplace) -> Curvature:
        """Of all rows, averaged over weights that have this Gaussian."""
        return self.gather(partial(_of_chunk, self.regression.averaged, beliefs))


def _of_chunk(curvature: Any, at: Any, chunk: Table) -> Curvature:
    """What a method of a regression says of a chunk: where its rows are, if that can be done; else of a matrix."""
    if isinstance(chunk.source, DeviceMatrix) and isinstance(at, np.ndarray):
        regression: Regression = curvature.__self__
        curved = curvature.__name__ == "curvature"
        found = curvature_in_place(regression.design, regression.likelihood, at, chunk, curved)
        if found is not None:
            return found
    gathered: Curvature = curvature(at, chunk.rows, np.asarray(chunk.labels), chunk.weights)
    return gathered


# In memory ------------------------------------------------------------------------------------------------------------


def rows_of_table(table: Table, statistics: ClassStatistics, regression: Regression) -> TrainingRows:
    """The rows of a table with labels of any kind. statistics: of all of them."""
    return rows_in_memory(_recoded(table, statistics), regression)


def rows_in_memory(table: Table, regression: Regression, engine: Engine | None = None) -> TrainingRows:
    """The rows of a table whose labels are codes."""
    by = engine or (DeviceEngine() if isinstance(table.source, DeviceMatrix) else MemoryEngine())

    def gather(summarize: Summarize) -> Curvature:
        return by.gather(summarize, table, _chunk_rows(table, regression))

    def sample(count: int) -> TrainingRows:
        return rows_in_memory(table.take(spread_positions(len(table), count)), regression, engine)

    weight = float(len(table) if table.weights is None else table.weights.sum())
    return TrainingRows(regression, gather, sample, weight, table)


def _chunk_rows(table: Table, regression: Regression) -> int:
    if isinstance(table.source, DeviceMatrix):
        return block_rows(4 * regression.design.width + 2 * regression.likelihood.factors)
    size = limits.COPY_SIZE if table.is_copied else limits.CHUNK_SIZE
    # The work is by columns of the design, of which categories have many, and there is much of it for each.
    return max(size // (4 * max(len(table.schema), regression.design.room)), regression.least_rows)


def spread_positions(length: int, count: int) -> Codes:
    """One position in each of `count` equal parts; not the same one, lest rows come in turns.

    >>> spread_positions(10, 3).tolist()
    [2, 4, 9]
    """
    parts = np.arange(count)
    within = ((parts + 1) * 0.6180339887498949) % 1
    return np.minimum(((parts + within) * length / count).astype(np.intp), length - 1)


def known_levels(statistics: ClassStatistics) -> dict[int, Labels]:
    """The levels of each category, by position."""
    return {j: counts.levels for j, counts in counts_of_levels(statistics).items()}


def _recoded(table: Table, statistics: ClassStatistics) -> Table:
    """The table with classes as codes, and categories as positions among the levels that some row of weight has."""
    assert table.labels is not None
    labels, codes = code_labels(table.labels)
    classes = positions(labels, statistics.labels)[codes]
    levels = known_levels(statistics)
    if isinstance(table.source, DeviceMatrix):  # so that they need not travel for every pass
        return replace(table, labels=labels_beside(table.source, classes, len(statistics.labels)))
    if not levels:
        return replace(table, labels=classes)
    assert isinstance(table.source, Columns)
    values = [c.among(levels[j]) if isinstance(c, Coded) else c for j, c in enumerate(table.source.values)]
    return replace(table, source=Columns(values), levels=levels, labels=classes)


# Elsewhere ------------------------------------------------------------------------------------------------------------


def rows_of_source(rows: Rows, statistics: ClassStatistics, regression: Regression) -> TrainingRows:
    """Rows wherever they are; few of them in memory. statistics: of all of them, from the first pass."""
    used = set(regression.design.source.tolist())
    # An id has a level for every row, and no weights: its levels need not be known.
    levels = {j: names if j in used else names[:0] for j, names in known_levels(statistics).items()}
    passes = _Passes(
        rows, ChunkReader(rows.roles, statistics.schema, levels, statistics.labels), statistics, regression
    )
    if statistics.rows * len(statistics.schema) > limits.MOST_HELD:
        return TrainingRows(regression, passes.gather, passes.sample, passes.weight)
    held = passes.draw(Chances(1.0), "Reading")
    passes.refuse_changed(held.weight)
    return held


@dataclass(frozen=True, eq=False)
class ChunkReader:
    """A chunk, which is a table of any library, as a table of ours, given the levels and classes of all rows."""

    roles: Roles
    schema: Schema
    levels: dict[int, Labels]
    classes: Labels

    def table(self, counted: Counted) -> Table | None:
        """The rows that count, those with a label and some weight; None, if there are none."""
        if not len(counted):
            return None
        labels, codes = counted.coded()
        others = set(labels.tolist()) - set(self.classes.tolist())
        if others:
            raise ClasswiseError(
                f"The label {others.pop()!r} was not there in the first pass; rows must stay as they are until the "
                "last."
            )
        classes = positions(labels, self.classes)[codes]
        return counted.source().read_like(self.schema, self.levels, classes, counted.weights)


@dataclass(frozen=True, eq=False)
class ChunkCurvature:
    """A chunk to what it adds. Small, and sent to the workers."""

    reader: ChunkReader
    regression: Regression
    summarize: Summarize

    def __call__(self, chunk: Chunk) -> Curvature | None:
        table = self.reader.table(chunk.counted(self.reader.roles))
        if table is None:
            return None
        with BLAS.held():  # see weights.learn
            return rows_in_memory(table, self.regression).gather(self.summarize)


@dataclass(frozen=True, eq=False)
class _Passes:
    """Passes over rows that are read anew in each. statistics: of all of them."""

    rows: Rows
    reader: ChunkReader
    statistics: ClassStatistics
    regression: Regression

    @property
    def weight(self) -> float:
        return float(self.statistics.weight.sum())

    def gather(self, summarize: Summarize) -> Curvature:
        work = ChunkCurvature(self.reader, self.regression, summarize)
        total = self._pass(work, "Learning", least=self.regression.least_rows)
        self.refuse_changed(total.weight)
        return total

    def sample(self, count: int) -> TrainingRows:
        count = min(count, limits.MOST_HELD // len(self.reader.schema))
        # Where rows have weights, nobody knows how many are of a kind: all are alike.
        if self.reader.roles.weights is not None:
            return self.draw(Chances(count / self.statistics.rows), "Drawing rows")
        used = set(self.regression.design.source.tolist())
        return self.draw(Chances.of_kinds(self.statistics, used, count), "Drawing rows")

    def draw(self, chances: "Chances", what: str) -> TrainingRows:
        """Some of the rows, in memory; what: is said of the work."""
        drawn = self._pass(ChunkSample(self.reader, chances), what, numbered=True)
        return rows_in_memory(drawn.table(self.reader), self.regression)

    def _pass(self, work: Callable[[Chunk], S | None], what: str, **options: Any) -> S:
        total = self.rows.gather(work, f"{what}, pass {self.rows.passes + 1}", **options)
        if total is None:
            raise self._changed(0.0)
        return total

    def refuse_changed(self, weight: float) -> None:
        """Refuse rows that weigh more or less than those of the first pass."""
        if abs(weight - self.weight) > 1e-9 * self.weight:
            raise self._changed(weight)

    def _changed(self, now: float) -> ClasswiseError:
        return ClasswiseError(
            f"The rows are not those of the first pass: they weigh {now:g}, and weighed {self.weight:g}. Rows that are "
            "read several times must stay as they are; write them to a file, or give a function that makes the same "
            "each time."
        )


# Some of many ---------------------------------------------------------------------------------------------------------


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
        counts = {j: c.weight.sum(axis=0) for j, c in counts_of_levels(statistics).items() if j in columns}
        kinds = len(statistics.labels) + sum(map(len, counts.values()))
        fewest = min(limits.START_ROWS_OF_KIND, count / kinds)
        levels = {j: np.append(fewest / np.maximum(own, 1.0), 0.0) for j, own in counts.items()}
        return cls(count / statistics.rows, fewest / statistics.weight, levels)

    def of(self, table: Table) -> Array:
        """Of each row; (m,)."""
        chances = np.full(len(table), self.every)
        if self.classes is not None:
            assert table.labels is not None
            chances = np.maximum(chances, self.classes[table.labels])
        for j, by_level in self.levels.items():
            chances = np.maximum(chances, by_level[table.codes(j)])
        return np.minimum(chances, 1.0)


@dataclass(frozen=True, eq=False)
class SampledRows:
    """What chunks add up to: of each the rows drawn (m, p), their classes (m,), and weights (m,), if they have any."""

    parts: tuple[tuple[Array, Codes, Array | None], ...]

    def __add__(self, other: "SampledRows") -> "SampledRows":
        return SampledRows(self.parts + other.parts)

    def table(self, reader: ChunkReader) -> Table:
        """The rows as a table whose labels are codes."""
        rows, classes, weights = zip(*self.parts, strict=True)
        held = None if weights[0] is None else np.concatenate(weights)
        return Table(Matrix(np.concatenate(rows)), reader.schema, reader.levels, np.concatenate(classes), held)


@dataclass(frozen=True, eq=False)
class ChunkSample:
    """A chunk to the rows that are drawn from it. Sent to the workers."""

    reader: ChunkReader
    chances: Chances

    def __call__(self, chunk: Chunk) -> SampledRows | None:
        counted = chunk.counted(self.reader.roles)
        table = self.reader.table(counted)
        if table is None:
            return None
        chances = self.chances.of(table)
        kept = np.flatnonzero(uniform_of_rows(counted.numbers) < chances)
        some = table.take(kept)
        assert some.labels is not None
        weights = some.weights if self.chances.classes is None else self.chances.every / chances[kept]
        return SampledRows(((some.rows, some.labels, weights),))
