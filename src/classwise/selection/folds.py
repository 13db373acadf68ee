"""Folds: which part of the rows each row belongs to. It depends on the row's place in the table, never on chunks."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Codes
from classwise.errors import ClasswiseError


def assign_folds(
    folds: Any,
    codes: Codes,
    groups: Any = None,
    random_state: int | None = 0,
    counted: NDArray[np.bool_] | None = None,
) -> Codes:
    """The fold of each row that counts; (m,), from 0 on.

    folds: how many (stratified: the rows of a class are dealt out in rounds, each round in an order of its own); an
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
        dealt = _stratified(int(folds), codes, random_state) if groups is None else _grouped(int(folds), groups)
        return _filled(dealt)
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
        raise ClasswiseError(
            "No class has rows in two folds, so none can be held out; give more rows of each class, or more folds."
        )
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
