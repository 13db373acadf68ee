"""Rows that a pass brings into memory: how many there are, all of them, or some of them drawn by chance.

Row i has the random bits of its number (rows/sampling.py), whatever chunks it comes in and whatever engine reads it.
The rows of least rank are a uniform sample of all; those of least rank of a class, one of that class.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes, Labels, sums_by
from classwise.rows.roles import Chunk, Counted, Roles, as_arrow, as_frame
from classwise.rows.sampling import Sample, SamplePart, decoded, joined, may_be_drawn, ranks_of_rows


@dataclass(frozen=True)
class Count:
    """How many rows there are."""

    rows: int

    @classmethod
    def of(cls, chunk: Chunk) -> "Count":
        return cls(len(chunk))

    def __add__(self, other: "Count") -> "Count":
        return Count(self.rows + other.rows)


# All ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of pyarrow's with the numbers of their first rows; most: how many values may be held.

    is_full: whether there were more, which are not kept.
    """

    tables: tuple[tuple[int, Any], ...]
    most: float
    is_full: bool = False

    @classmethod
    def of(cls, tables: tuple[tuple[int, Any], ...], most: float) -> "Tables":
        """None of them, if they hold more values than may be held."""
        full = sum(table.num_rows * table.num_columns for _, table in tables) > most
        return cls(() if full else tables, most, full)

    def __add__(self, other: "Tables") -> "Tables":
        if self.is_full or other.is_full:
            return Tables((), self.most, True)
        return Tables.of(self.tables + other.tables, self.most)

    def whole(self) -> Any:
        """All rows in their order."""
        return joined([table for _, table in sorted(self.tables, key=lambda part: part[0])])


@dataclass(frozen=True, eq=False)
class Keeping:
    """A chunk to itself."""

    roles: Roles
    most: float

    def __call__(self, chunk: Chunk) -> Tables | None:
        table = as_arrow(chunk.frame.select(self.roles.needed))
        return Tables.of(((chunk.first, decoded(table)),), self.most) if len(chunk) else None


# Some -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows drawn from all, and from each class; weight: of each class, drawn or not."""

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
        """The rows drawn, each once, in their order."""
        parts = [sample.whole() for sample in (self.everyone, *self.of_class.values()) if len(sample)]
        table = joined([part.table for part in parts])
        _, first = np.unique(np.concatenate([part.rows for part in parts]), return_index=True)
        return table.take(first)

    def weighed(self, roles: Roles) -> tuple[Any, Labels, Array]:
        """The rows drawn, their labels and weights (m,): a row of a class that was thinned out stands for several."""
        counted = Counted.of(as_frame(self.table()), roles)
        labels, codes = counted.coded()
        weights = np.ones(len(codes)) if counted.weights is None else counted.weights
        shares = np.array([self.weight[label] for label in labels.tolist()]) / sums_by(codes, weights, len(labels))
        # In all as many as were drawn: how sure to be is for the rows that were tried.
        scale = len(codes) / (shares[codes] @ weights)
        features = counted.frame.select(list(roles.features)).to_native()
        return features, labels[codes], weights * shares[codes] * scale


def _merged(ours: dict[Any, Any], theirs: dict[Any, Any]) -> dict[Any, Any]:
    both = {key: ours[key] + value if key in ours else value for key, value in theirs.items()}
    return {**ours, **both}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A chunk to what it adds; size: how many rows are drawn from all; of_each: from each class, if it has them."""

    roles: Roles
    size: int
    of_each: int
    seed: int

    def __call__(self, chunk: Chunk) -> Drawn:
        counted = chunk.counted(self.roles)
        if not len(counted):
            return Drawn(Sample(self.size), {}, {}, counted.rows, counted.unlabeled)
        labels, codes = counted.coded()
        ranks = ranks_of_rows(counted.numbers, self.seed)
        of_class = {}
        for k, label in enumerate(labels.tolist()):
            own = np.flatnonzero(codes == k)
            of_class[label] = _kept(counted, self.of_each, ranks, own[np.argsort(ranks[own])[: self.of_each]])
        weights = np.ones(len(codes)) if counted.weights is None else counted.weights
        weight = dict(zip(labels.tolist(), sums_by(codes, weights, len(labels)).tolist(), strict=True))
        everyone = _kept(counted, self.size, ranks, may_be_drawn(ranks, counted.numbers, self.size))
        return Drawn(everyone, of_class, weight, counted.rows, counted.unlabeled)


def draw(counted: Counted, size: int, seed: int, folds: Codes) -> Sample:
    """Of the rows of a chunk, those that may be in a sample of `size` rows, with their folds (m,)."""
    ranks = ranks_of_rows(counted.numbers, seed)
    return _kept(counted, size, ranks, may_be_drawn(ranks, counted.numbers, size), folds)


def _kept(counted: Counted, size: int, ranks: Any, kept: Codes, folds: Codes | None = None) -> Sample:
    if not len(kept):
        return Sample(size)
    frame = counted.frame.select(counted.roles.needed)
    table = as_arrow(frame if len(kept) == len(frame) else frame[kept])
    folds = np.zeros(len(ranks), dtype=np.intp) if folds is None else folds
    return Sample(size, (SamplePart(decoded(table), ranks[kept], counted.numbers[kept], folds[kept]),))
