"""Folds: which part of the rows each row belongs to. It depends on the row's place among all, never on chunks."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Codes
from classwise.errors import ClasswiseError
from classwise.rows.codes import code_series
from classwise.rows.roles import Chunk, Counted, Roles
from classwise.rows.sampling import Bits, bits_of, fold_of_groups, fold_of_rows

# A mark is made of this many columns: enough to distinguish rows.
MARKED = 8

# Which bits of a row's number its mark takes, and which decide whether it is scored: not those of its fold.
MARKS, SCORED = 3, 4


def assign_folds(
    folds: Any,
    codes: Codes,
    groups: Any = None,
    random_state: int | None = 0,
    counted: NDArray[np.bool_] | None = None,
) -> Codes:
    """The fold of each row that counts; (m,), from 0 on.

    folds: how many (stratified: the rows of a class are assigned in rounds, each round in an order of its own); an
    array with the fold of each row; a scikit-learn splitter; or (train, test) pairs of positions.
    codes (m,): the class of each row that counts, by its position among the sorted labels: what a label is called
    decides nothing. groups (n,): rows of one group stay together; folds are then made as even as groups allow.
    counted (n,): which rows are these, where the others weigh nothing; folds and groups are those of all.

    >>> assign_folds(2, np.array([0, 0, 1, 1, 0, 0])).tolist()
    [0, 1, 0, 1, 0, 1]
    """
    counted = np.ones(len(codes), dtype=bool) if counted is None else counted
    groups = None if groups is None else _one_each("group", groups, len(counted))[counted]
    if _is_number(folds):
        _check_count(int(folds), len(codes))
        assigned = _stratified(int(folds), codes, random_state) if groups is None else _grouped(int(folds), groups)
        return _filled(assigned)
    if hasattr(folds, "split") and not isinstance(folds, str):
        pairs = list(folds.split(np.zeros(len(codes)), codes, groups))
        return _filled(_from_pairs(pairs, np.ones(len(codes), dtype=bool)))
    if isinstance(folds, Iterable) and not isinstance(folds, str):
        given = folds if isinstance(folds, np.ndarray) else list(folds)
        is_pairs = len(given) > 0 and isinstance(given[0], (tuple, list))
        return _filled(_from_pairs(given, counted) if is_pairs else _one_each("fold", given, len(counted))[counted])
    raise ClasswiseError(
        f"folds={folds!r} is not an option; give a number, an array with the fold of each row, a scikit-learn splitter "
        "or pairs of positions (train, test)."
    )


def no_more_than(folds: Any, rows: int) -> Any:
    """Where folds are a number, no more of them than there are rows."""
    return min(int(folds), rows) if _is_number(folds) else folds


def _is_number(folds: Any) -> bool:
    return isinstance(folds, (int, np.integer)) and not isinstance(folds, bool)


def _check_count(count: int, rows: int) -> None:
    if not 2 <= count <= rows:
        raise ClasswiseError(f"folds={count} is not an option for {rows} rows; give a number from 2 to {rows}.")


def _stratified(count: int, codes: Codes, random_state: int | None) -> Codes:
    folds = np.empty(len(codes), dtype=np.intp)
    seed = 0 if random_state is None else int(random_state)
    for k in np.unique(codes).tolist():
        own = np.flatnonzero(codes == k)
        # A generator for each class: the order of its rounds does not depend on how many rows the others have.
        rounds = np.tile(np.arange(count), (-(-len(own) // count), 1))
        folds[own] = np.random.default_rng([seed, k]).permuted(rounds, axis=1).ravel()[: len(own)]
    return folds


def _filled(folds: Any) -> Codes:
    """From 0 on, without the empty ones: where classes are smaller than the number of folds, some may get no row."""
    kept, codes = np.unique(folds, return_inverse=True)
    if len(kept) < 2:
        raise ClasswiseError("No class has rows in two folds, so none can be held out; give more rows of each class.")
    return codes.reshape(-1)


def _grouped(count: int, groups: NDArray[Any]) -> Codes:
    _, members, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < count:
        raise ClasswiseError(f"There are {len(sizes)} groups, too few for {count} folds.")
    fold_of, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(count)
    for group in np.argsort(-sizes, kind="stable"):  # the largest first, each into the emptiest fold
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of[members.reshape(-1)]


def _one_each(what: str, given: Any, rows: int) -> NDArray[Any]:
    values = np.asarray(given)
    if values.shape != (rows,):
        raise ClasswiseError(f"There are {rows} rows and {what}s of shape {values.shape}; every row needs one {what}.")
    return values


def _from_pairs(pairs: Iterable[Any], counted: NDArray[np.bool_]) -> Codes:
    folds, times = np.full(len(counted), -1), np.zeros(len(counted), dtype=np.intp)
    for fold, (_, test) in enumerate(pairs):
        folds[test] = fold
        np.add.at(times, test, 1)
    if (times[counted] != 1).any():
        raise ClasswiseError("Folds must hold every row out exactly once; these do not.")
    return folds[counted]


# ----------------------------------------------------------------------------------------------------------------------
# The folds of the rows of a stream, and marks that show whether a second pass reads the same rows.


@dataclass(frozen=True, eq=False)
class FoldedChunk:
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

    def sampled(self, share: float, seed: int) -> "FoldedChunk":
        """About this share of the rows, drawn at random: the same rows whatever the chunks are."""
        if share >= 1:
            return self
        kept = np.flatnonzero(bits_of(self.rows, seed, SCORED) < np.uint64(share * 2**64))
        return FoldedChunk(self.counted.take(kept), self.rows[kept], self.folds[kept])


@dataclass(frozen=True, eq=False)
class FoldAssigner:
    """Assigns rows to `folds` folds, by their numbers, or by the groups they are in."""

    roles: Roles
    folds: int
    seed: int

    def assign(self, chunk: Chunk) -> FoldedChunk:
        """The rows of a chunk; the same rows are in the same folds whatever the chunks are."""
        counted = chunk.counted(self.roles)
        rows = counted.numbers
        if self.roles.groups is None:
            return FoldedChunk(counted, rows, fold_of_rows(rows, self.folds, self.seed))
        groups = group_bits(counted.frame[self.roles.groups])
        return FoldedChunk(counted, rows, fold_of_groups(groups, self.folds, self.seed))


def group_bits(column: Any) -> Bits:
    """64 bits for the group of each row; 1 and 1.0 are the same group, since text files do not distinguish them."""
    coded = code_series(column)
    known = [_bits(_plain(name)) for name in coded.names]
    return np.array([*known, _bits(None)], dtype=np.uint64)[coded.codes]


def _plain(name: Any) -> Any:
    return int(name) if isinstance(name, float) and name.is_integer() else name


def _bits(name: Any) -> int:
    return int.from_bytes(blake2b(repr(name).encode(), digest_size=8).digest(), "little")
