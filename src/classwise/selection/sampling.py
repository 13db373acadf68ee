"""A sample of the rows of a stream: the few of least rank, whatever chunks they come in. Samples add up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Codes
from classwise.errors import ClasswiseError
from classwise.selection.places import Bits

# A row is let in while its rank is below so many times that of the last row of an even sample, and a few more.
MARGIN, FEW = 2.0, 50


class Part(NamedTuple):
    """Rows of one chunk, as a table of pyarrow's, with their ranks, numbers and folds (m,)."""

    table: Any
    ranks: Bits
    rows: Codes
    folds: Codes

    def take(self, kept: Codes) -> "Part":
        return Part(self.table.take(kept), self.ranks[kept], self.rows[kept], self.folds[kept])


@dataclass(frozen=True, eq=False)
class Sample:
    """At most `size` rows, and for the time being some more: which stay is decided now and then."""

    size: int
    parts: tuple[Part, ...] = ()

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

    def whole(self) -> Part:
        """The rows of least rank as one table, in the order of the stream."""
        parts = self.least().parts
        table = joined([part.table for part in parts])
        ranks, rows, folds = (np.concatenate(values) for values in list(zip(*parts, strict=True))[1:])
        return Part(table, ranks, rows, folds).take(np.argsort(rows))


def may_be_drawn(ranks: Bits, rows: Codes, size: int) -> Codes:
    """Which rows have a chance to stay, by their numbers in the stream; most rows of a long one have none.

    Of n rows, the last in a sample of s has a rank of about s / n of the largest; row i need not look beyond 2 s / i.
    """
    highest = np.minimum((MARGIN * size + FEW) / (rows + 1.0), 1.0)
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
