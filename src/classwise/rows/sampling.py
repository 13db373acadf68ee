"""Random folds and samples of rows, by the number of each row in its stream alone.

Row i has the 64 random bits that SplitMix64 (Steele, Lea and Flood 2014) gives for the counter seed + i: when
the rows are read again, in any chunks, every row is in the same fold, and the same rows are drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes
from classwise.errors import ClasswiseError

Bits = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
FACTORS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
ALL = (1 << 64) - 1

# A row's number is, in a cluster, that of its partition, with this many bits for its place there.
PLACES = 33

# One stream of bits for folds, another for the drawing: whether a row is drawn says nothing of its fold.
FOLDS, RANKS = 1, 2


def bits_of(rows: Codes, seed: int, purpose: int) -> Bits:
    """64 bits for each row, by its number (m,)."""
    start = _mixed(np.array([(purpose * GOLDEN + seed) & ALL], dtype=np.uint64))
    return _mixed(start + np.asarray(rows).astype(np.uint64) * np.uint64(GOLDEN))


def _mixed(bits: Bits) -> Bits:
    """SplitMix64's finalizer; products and sums are modulo 2^64."""
    for shift, factor in FACTORS:
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def fold_of_rows(rows: Codes, folds: int, seed: int = 0) -> Codes:
    """The fold of each row, by its number in the stream; (m,), from 0 to folds - 1.

    Each fold gets a share of 1 / folds of the rows, and of every class, by chance: nearly even where rows are many.

    >>> fold_of_rows(np.arange(8), 3).tolist() == [*fold_of_rows(np.arange(5), 3), *fold_of_rows(np.arange(5, 8), 3)]
    True
    """
    return _shared_out(bits_of(rows, seed, FOLDS), folds)


def fold_of_groups(groups: Bits, folds: int, seed: int = 0) -> Codes:
    """The same by 64 bits of the group that a row is in: rows of one group stay together."""
    start = np.uint64((FOLDS * GOLDEN + seed) & ALL)
    return _shared_out(_mixed(groups ^ _mixed(np.array([start]))), folds)


def _shared_out(bits: Bits, folds: int) -> Codes:
    """From 0 to folds - 1, evenly: the upper half of the bits times the number of folds."""
    return ((bits >> np.uint64(32)) * np.uint64(folds) >> np.uint64(32)).astype(np.intp)


def ranks_of_rows(rows: Codes, seed: int = 0) -> Bits:
    """A rank for each row: those of least rank are a sample of all rows, each as probable as any other."""
    return bits_of(rows, seed, RANKS)


# ----------------------------------------------------------------------------------------------------------------------
# A sample of the rows of a stream: the few of least rank, whatever chunks they come in. Samples add up.

# A row is let in while its rank is below this many times that of the last row of an even sample, and a few more.
MARGIN, FEW = 2.0, 50


class SamplePart(NamedTuple):
    """Rows of one chunk, as a table of pyarrow's, with their ranks, numbers and folds (m,)."""

    table: Any
    ranks: Bits
    rows: Codes
    folds: Codes

    def take(self, kept: Codes) -> "SamplePart":
        return SamplePart(self.table.take(kept), self.ranks[kept], self.rows[kept], self.folds[kept])


@dataclass(frozen=True, eq=False)
class Sample:
    """At most `size` rows, and for the time being some more: which stay is decided now and then."""

    size: int
    parts: tuple[SamplePart, ...] = ()

    def __len__(self) -> int:
        return sum(len(part.ranks) for part in self.parts)

    def __add__(self, other: "Sample") -> "Sample":
        both = Sample(self.size, self.parts + other.parts)
        return both if len(both) <= 3 * self.size else both.least()

    def least(self) -> "Sample":
        """The rows of least rank."""
        if len(self) <= self.size:
            return self
        ranks = np.concatenate([part.ranks for part in self.parts])
        last = np.partition(ranks, self.size - 1)[self.size - 1]
        kept = [part.take(np.flatnonzero(part.ranks <= last)) for part in self.parts]
        return Sample(self.size, tuple(part for part in kept if len(part.ranks)))

    def whole(self) -> SamplePart:
        """The rows of least rank as one table, in the order of the stream."""
        parts = self.least().parts
        table = joined([part.table for part in parts])
        ranks, rows, folds = (np.concatenate(values) for values in list(zip(*parts, strict=True))[1:])
        return SamplePart(table, ranks, rows, folds).take(np.argsort(rows))


def may_be_drawn(ranks: Bits, rows: Codes, size: int) -> Codes:
    """Which rows have a chance to stay, by their numbers; most rows of a long stream have none.

    Of n rows, the last in a sample of s has a rank of about s / n of the largest; row i need not look beyond 2 s / i.
    """
    before = np.asarray(rows) & ((1 << PLACES) - 1)  # the number of rows before it in its partition
    highest = np.minimum((MARGIN * size + FEW) / (before + 1.0), 1.0)
    return np.flatnonzero(ranks * 2.0**-64 <= highest)


def joined(tables: Sequence[Any]) -> Any:
    """One table of several; columns that are whole in one and have fractions in another have fractions."""
    import pyarrow as pa

    try:
        return pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    except pa.ArrowException as problem:
        why = " ".join(str(problem).split())[:200]
        raise ClasswiseError(f"Parts of the rows have columns of types that cannot be joined: {why}") from problem


def decoded(table: Any) -> Any:
    """Dictionaries as plain values: those of different chunks need not be alike."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table[field.name].cast(field.type.value_type))
    return table


def uniform_of_rows(rows: Codes, seed: int = 0) -> Array:
    """A number from 0 to 1 for each row, by chance: that of its rank."""
    return np.asarray(ranks_of_rows(rows, seed) * 2.0**-64)
