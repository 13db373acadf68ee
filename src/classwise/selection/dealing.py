"""Dealing the rows of a stream out to folds, and telling whether a second look has seen the same rows."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from classwise.arrays import Codes
from classwise.rows.coding import code_series
from classwise.rows.roles import Chunk, Counted, Roles
from classwise.rows.sampling import Bits, bits_of, fold_of_groups, fold_of_rows

# Of so many columns a mark is made: enough to tell rows apart.
MARKED = 8

# Which bits of a row's number its mark takes: not those of its fold.
MARKS = 3


@dataclass(frozen=True, eq=False)
class Hand:
    """The rows of a chunk that count, with their numbers among those of the stream, and their folds (m,)."""

    counted: Counted
    rows: Codes
    folds: Codes

    def mark(self) -> int:
        """A number that other rows, or the same ones in another order, would hardly have; it adds up, mod 2^64.

        sum over rows of random bits of the row's number times the bits of a sum of its values
        """
        frame, total = self.counted.frame, np.zeros(len(self.rows))
        features = [frame[name] for name in self.counted.roles.features]
        numbers = [series for series in features if series.dtype.is_float() or series.dtype.is_integer()]
        for series in numbers[:MARKED]:
            total += np.nan_to_num(np.asarray(series.to_numpy(), dtype=np.float64), nan=0.5)
        marks = (bits_of(self.rows, 0, MARKS) | np.uint64(1)) * (total.view(np.uint64) | np.uint64(1))
        return int(marks.sum(dtype=np.uint64))


@dataclass(frozen=True, eq=False)
class Dealer:
    """Deals rows out to so many folds, by their numbers, or by the groups they are in."""

    roles: Roles
    folds: int
    seed: int

    def deal(self, chunk: Chunk) -> Hand:
        """The rows of a chunk; the same rows are in the same folds whatever the chunks are."""
        counted = chunk.counted(self.roles)
        rows = counted.numbers
        if self.roles.groups is None:
            return Hand(counted, rows, fold_of_rows(rows, self.folds, self.seed))
        groups = group_bits(counted.frame[self.roles.groups])
        return Hand(counted, rows, fold_of_groups(groups, self.folds, self.seed))


def group_bits(column: Any) -> Bits:
    """64 bits for the group of each row; 1 and 1.0 are the same group, since text files do not tell them apart."""
    coded = code_series(column)
    known = [_bits(_plain(name)) for name in coded.names]
    return np.array([*known, _bits(None)], dtype=np.uint64)[coded.codes]


def _plain(name: Any) -> Any:
    return int(name) if isinstance(name, float) and name.is_integer() else name


def _bits(name: Any) -> int:
    return int.from_bytes(blake2b(repr(name).encode(), digest_size=8).digest(), "little")
