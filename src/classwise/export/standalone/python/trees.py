"""Forests: the mean over trees of what is believed of the leaf that a row falls into. Boosted trees: a sum instead."""

from typing import Any

import numpy as np

from classwise.export.standalone.python.classifiers import CLASSIFIERS
from classwise.export.standalone.python.numbers import UnscorableError, array, log_normalize


def forest(classifier: dict[str, Any], rows: Any) -> Any:
    """power log mean + shift, normalized."""
    with np.errstate(divide="ignore"):
        logs = classifier["power"] * np.log(_sum(classifier, rows) / len(classifier["roots"]))
    return log_normalize(logs + array(classifier["shift"]))


def boosted(classifier: dict[str, Any], rows: Any) -> Any:
    """start + sum, normalized."""
    return log_normalize(array(classifier["start"]) + _sum(classifier, rows))


def _sum(trees: dict[str, Any], rows: Any) -> Any:
    if np.isinf(rows).any():
        raise UnscorableError("A row holds infinity.")
    values, levels = np.where(np.isnan(rows), array(trees["fill"]), rows), trees["levels"]
    values[:, levels] = np.where(rows[:, levels] < 0, array(trees["fill"])[levels], rows[:, levels])
    beliefs, total = array(trees["beliefs"]), 0.0
    for root in np.asarray(trees["roots"]).tolist():
        total = total + beliefs[np.asarray(trees["leaf"])[_leaves(trees, values, root)]]
    return total


def _leaves(trees: dict[str, Any], values: Any, root: int) -> Any:
    """The node at which each row ends; (n,)."""
    column, cut, left, right = (np.asarray(trees[name]) for name in ("column", "cut", "left", "right"))
    nodes, every = np.full(len(values), root), np.arange(len(values))
    while (column[nodes] >= 0).any():
        below = values[every, column[nodes]] <= cut[nodes]
        nodes = np.where(column[nodes] < 0, nodes, np.where(below, left[nodes], right[nodes]))
    return nodes


CLASSIFIERS.update(forest=forest, boosted=boosted)
