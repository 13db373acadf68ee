"""Averaged one-dependence: each column in turn is the parent of all others.

p(x | k) = mean over columns i of  p(x_i | k)  product over j != i of  p(x_j | x_i, k)
"""

from typing import Any

import numpy as np

from classwise.export.standalone.python.densities import DENSITIES
from classwise.export.standalone.python.numbers import UnscorableError, array, log_sum_exp


def one_dependence(density: dict[str, Any], rows: Any) -> tuple[Any, Any]:
    """log of the mean over parents, and what ranges of numbers take from it."""
    if np.isinf(rows).any():
        raise UnscorableError("Some rows hold infinity.")
    sizes, table = density["sizes"], array(density["logs"])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    codes = [_codes(place, rows[:, j]) for j, place in enumerate(density["places"])]
    common = -sum(_log_width(place, code) for place, code in zip(density["places"], codes))
    places = np.stack([np.where(code < 0, -1, start + code) for code, start in zip(codes, starts)], axis=1)
    parents = [_given(places, int(starts[j]), size, j, table) for j, size in enumerate(sizes) if size > 1]
    return log_sum_exp(np.array(parents), 0) - np.log(len(parents)), common + np.zeros(len(rows))


def _given(places: Any, start: int, size: int, parent: int, table: Any) -> Any:
    """log p of all columns, given one; where that is missing, its levels are summed over; (n, g)."""
    own, scores = places[:, parent], np.zeros((len(places), table.shape[2]))
    known = own >= 0
    scores[known] = _summed(places[known], own[known], table)
    gone = places[~known]
    if len(gone):
        levels = range(start, start + size)
        every = [table[a, a] + _summed(gone, np.full(len(gone), a), table) for a in levels]
        scores[~known] = log_sum_exp(np.array(every), 0)
    return scores


def _summed(places: Any, parents: Any, table: Any) -> Any:
    """The sum over a row's levels b of table[parent, b]; (n, g)."""
    total = np.zeros((len(places), table.shape[2]))
    for column in places.T:
        there = column >= 0
        total[there] += table[parents[there], column[there]]
    return total


def _codes(place: dict[str, Any], values: Any) -> Any:
    """The level, or the range, of each value; -1 where there is none."""
    if "codes" in place:
        return np.array(place["codes"])[values.astype(int)]
    codes = place["first"] + np.searchsorted(array(place["edges"]), values, side="right")
    return np.where(np.isnan(values), place["missing"], codes)


def _log_width(place: dict[str, Any], codes: Any) -> Any:
    return 0.0 if "codes" in place else np.append(array(place["log_widths"]), 0.0)[codes]


DENSITIES.update(one_dependence=one_dependence)
