"""Folds: which part of the rows each row belongs to. It depends on the row's place in the table, never on chunks."""

from collections.abc import Iterable
from typing import Any
from zlib import crc32

import numpy as np

from classwise.arrays import Codes, Labels
from classwise.errors import ClasswiseError


def assign_folds(folds: Any, codes: Codes, labels: Labels, groups: Any = None, random_state: int | None = 0) -> Codes:
    """The fold of each row; (n,), from 0 on.

    folds: how many (stratified: the rows of a class are dealt out in rounds, each round in an order of its own); an
    array with the fold of each row; a scikit-learn splitter; or (train, test) pairs of positions.
    groups (n,): rows of one group stay together; folds are then made as even as groups allow.

    >>> assign_folds(2, np.array([0, 0, 1, 1, 0, 0]), np.array(["a", "b"])).tolist()
    [0, 1, 0, 1, 1, 0]
    """
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        _check_count(int(folds), len(codes))
        if groups is not None:
            return _grouped(int(folds), groups, len(codes))
        return _filled(_stratified(int(folds), codes, labels, random_state))
    if hasattr(folds, "split") and not isinstance(folds, str):
        folds = folds.split(np.zeros(len(codes)), codes, groups)
    if isinstance(folds, Iterable) and not isinstance(folds, str):
        given = folds if isinstance(folds, np.ndarray) else list(folds)
        is_pairs = len(given) > 0 and isinstance(given[0], (tuple, list))
        return _from_pairs(list(given), len(codes)) if is_pairs else _given(given, len(codes))
    raise ClasswiseError(
        f"folds={folds!r} is not an option; give a number, an array with the fold of each row, a scikit-learn splitter "
        "or pairs of positions (train, test)."
    )


def _check_count(count: int, rows: int) -> None:
    if not 2 <= count <= rows:
        raise ClasswiseError(f"folds={count} is not an option for {rows} rows; give a number from 2 to {rows}.")


def _stratified(count: int, codes: Codes, labels: Labels, random_state: int | None) -> Codes:
    folds = np.empty(len(codes), dtype=np.intp)
    seed = 0 if random_state is None else int(random_state)
    for k, label in enumerate(labels.tolist()):
        own = np.flatnonzero(codes == k)
        # A generator for each label: the order of its rounds does not depend on what other classes there are.
        generator = np.random.default_rng([seed, crc32(repr(label).encode())])
        rounds = np.tile(np.arange(count), (-(-len(own) // count), 1))
        folds[own] = generator.permuted(rounds, axis=1).ravel()[: len(own)]
    return folds


def _filled(folds: Codes) -> Codes:
    """Without the empty ones: where classes are smaller than the number of folds, some may get no row."""
    kept, folds = np.unique(folds, return_inverse=True)
    if len(kept) < 2:
        raise ClasswiseError("There are too few rows in each class to hold some out.")
    return folds.reshape(-1)


def _grouped(count: int, groups: Any, rows: int) -> Codes:
    values = np.asarray(groups)
    if values.shape != (rows,):
        raise ClasswiseError(f"There are {rows} rows and groups of shape {values.shape}; every row needs one group.")
    _, members, sizes = np.unique(values, return_inverse=True, return_counts=True)
    if len(sizes) < count:
        raise ClasswiseError(f"There are {len(sizes)} groups, too few for {count} folds.")
    fold_of, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(count)
    for group in np.argsort(-sizes, kind="stable"):  # the largest first, each into the emptiest fold
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of[members.reshape(-1)]


def _given(folds: Any, rows: int) -> Codes:
    values = np.asarray(folds)
    if values.shape != (rows,):
        raise ClasswiseError(f"There are {rows} rows and folds of shape {values.shape}; every row needs one fold.")
    return np.unique(values, return_inverse=True)[1].reshape(-1)


def _from_pairs(pairs: list[Any], rows: int) -> Codes:
    folds = np.full(rows, -1)
    for fold, (_, test) in enumerate(pairs):
        folds[test] = fold
    tested = sum(len(test) for _, test in pairs)
    if tested != rows or (folds < 0).any():
        raise ClasswiseError("Folds must hold every row out exactly once; these do not.")
    return folds
