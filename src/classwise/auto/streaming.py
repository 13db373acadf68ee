"""More rows than memory: members are tried on rows drawn in a first pass, and those made of sums learn from all rows in
a second.

A row is drawn by its number among those that count, so that neither chunks nor rows of weight zero matter. Of rare
classes more rows are drawn, and each then stands for fewer.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels, sums_by
from classwise.auto.statistics import AutoStatistics
from classwise.engines import StreamEngine, is_dask, is_spark
from classwise.engines.protocol import S
from classwise.errors import ClasswiseError
from classwise.gathering import (
    Chunk,
    Counted,
    Roles,
    as_arrow,
    as_frame,
    count_rows,
    level_columns,
    numbered,
    open_rows,
    warn_of_unlabeled,
)
from classwise.selection import ranks_of_rows
from classwise.selection.sampling import Part, Sample, decoded, joined, may_be_drawn
from classwise.sources import Stream
from classwise.summarizing import chunk_rows

# Of each class at least so many rows are drawn, if it has them.
FEWEST_ROWS = 100


@dataclass(frozen=True, eq=False)
class Drawn:
    """What chunks add: rows drawn from all, some of each class, and the weight of each class."""

    everyone: Sample
    of_class: dict[Any, Sample]
    weight: dict[Any, float]
    rows: int
    unlabeled: int

    def __add__(self, other: "Drawn") -> "Drawn":
        return Drawn(
            self.everyone + other.everyone,
            _merged(self.of_class, other.of_class),
            _merged(self.weight, other.weight),
            self.rows + other.rows,
            self.unlabeled + other.unlabeled,
        )

    def table(self) -> Any:
        """The rows drawn, each once, in the order of the stream."""
        parts = [sample.whole() for sample in (self.everyone, *self.of_class.values())]
        table = joined([part.table for part in parts])
        _, first = np.unique(np.concatenate([part.rows for part in parts]), return_index=True)
        return table.take(first)


def _merged(ours: dict[Any, Any], theirs: dict[Any, Any]) -> dict[Any, Any]:
    both = {key: ours[key] + value if key in ours else value for key, value in theirs.items()}
    return {**ours, **both}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A chunk of rows to what it adds; size: how many rows are drawn from all."""

    roles: Roles
    size: int
    seed: int

    def __call__(self, chunk: Chunk) -> Drawn:
        counted = Counted.of(as_frame(chunk.table), self.roles)
        if not len(counted):
            return Drawn(Sample(self.size), {}, {}, counted.rows, counted.unlabeled)
        labels, codes = counted.coded()
        numbers = chunk.first + np.arange(len(counted))
        ranks = ranks_of_rows(numbers, self.seed)
        table = decoded(as_arrow(counted.frame.select(self.roles.needed)))

        def part(kept: Any) -> tuple[Part, ...]:
            zeros = np.zeros(len(kept), dtype=np.intp)
            return (Part(table.take(kept), ranks[kept], numbers[kept], zeros),) if len(kept) else ()

        of_class = {}
        for k, label in enumerate(labels.tolist()):
            own = np.flatnonzero(codes == k)
            of_class[label] = Sample(FEWEST_ROWS, part(own[np.argsort(ranks[own])[:FEWEST_ROWS]]))
        weights = np.ones(len(codes)) if counted.weights is None else counted.weights
        weight = dict(zip(labels.tolist(), sums_by(codes, weights, len(labels)).tolist(), strict=True))
        everyone = Sample(self.size, part(may_be_drawn(ranks, numbers, self.size)))
        return Drawn(everyone, of_class, weight, counted.rows, counted.unlabeled)


@dataclass(frozen=True, eq=False)
class TwoPasses:
    """source: whatever `summarize` takes with a target and can be read twice; the others name its columns."""

    source: Any
    target: str
    columns: Sequence[str] | None
    weights: str | None
    families: Any

    def __post_init__(self) -> None:
        if is_dask(self.source) or is_spark(self.source):
            raise ClasswiseError(
                "fit_source reads rows on one machine, and not DataFrames of Dask or Spark: write them to Parquet "
                "files and give their path."
            )
        if isinstance(self.source, Iterator) or hasattr(self.source, "read_next_batch"):
            raise ClasswiseError(
                "fit_source reads rows twice, and these can be read once: write them to a file, or give a function "
                "that makes them anew."
            )

    def draw(self, size: int, seed: int) -> tuple[Any, Labels, Array]:
        """Rows to try members on, as a table; their labels and weights (m,)."""
        stream = self._opened()
        roles = self.roles(stream)
        rows = numbered(stream, partial(count_rows, roles=roles))
        total = self._gathered(rows, roles, Drawing(roles, size, seed), "Drawing rows, pass 1 of 2")
        if total is None or not total.weight:
            raise ClasswiseError(f"There are no rows to learn from in {stream.name}.")
        warn_of_unlabeled(total.unlabeled, total.rows)
        counted = Counted.of(as_frame(total.table()), roles)
        labels, codes = counted.coded()
        weights = np.ones(len(codes)) if counted.weights is None else counted.weights
        drawn = sums_by(codes, weights, len(labels))
        shares = np.array([total.weight[label] for label in labels.tolist()]) / drawn
        # In all as many as were drawn: how sure to be is for the rows that were tried.
        scale = len(codes) / (shares[codes] @ weights)
        features = counted.frame.select(list(roles.features)).to_native()
        return features, labels[codes], weights * shares[codes] * scale

    def summarize(self, summarize: Callable[[Any, Labels, Array | None], AutoStatistics]) -> AutoStatistics:
        """The statistics of all rows."""
        stream = self._opened()
        roles = self.roles(stream)

        def learn(chunk: Any) -> AutoStatistics | None:
            counted = Counted.of(as_frame(chunk), roles)
            if not len(counted):
                return None
            labels, codes = counted.coded()
            rows = counted.frame.select(list(roles.features)).to_native()
            return summarize(rows, labels[codes], counted.weights)

        total = self._gathered(stream, roles, lambda chunk: Perhaps(learn(chunk)), "Learning, pass 2 of 2")
        assert total is not None
        assert total.value is not None
        return total.value

    def roles(self, stream: Stream) -> Roles:
        return Roles.read(stream.names, self.target, self.columns, self.weights, stream.pieces[0].name)

    def _opened(self) -> Stream:
        return open_rows(self.source, exact=[self.target, *level_columns(self.families)])

    def _gathered(self, stream: Stream, roles: Roles, function: Callable[[Any], S], what: str) -> S | None:
        engine = StreamEngine(stream, roles.needed, chunk_rows(len(roles.needed)))
        parts = [part.value for part in engine.gather(function, what=what) if part.value is not None]
        return reduce(add, parts) if parts else None


@dataclass(frozen=True, eq=False)
class Perhaps:
    """Statistics that add up, or none."""

    value: AutoStatistics | None

    def __add__(self, other: "Perhaps") -> "Perhaps":
        if self.value is None or other.value is None:
            return other if self.value is None else self
        return Perhaps(self.value + other.value)
