"""The two columns that tell most: those in which the model, all other columns integrated out, has least log loss."""

from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import logsumexp

from classwise.arrays import Array, Labels
from classwise.plot.looking import look

# Pairs are tried among so many columns, those that tell most by themselves.
TRIED = 6

# A category with more levels than this makes no picture.
MOST_LEVELS = 8


def best_pair(m: Any, X: Any, y: Labels) -> list[Any] | None:
    """Two columns of a model by name (or position), or None where it has fewer that can be drawn."""
    losses = {column: _loss(m, X, y, [column]) for column in _drawable(m)}
    tried = sorted(losses, key=lambda column: losses[column])[:TRIED]
    pairs = list(combinations(tried, 2))
    if not pairs:
        return None
    return list(min(pairs, key=lambda pair: _loss(m, X, y, list(pair))))


def _drawable(m: Any) -> list[Any]:
    """Numbers; categories of few levels, where there are fewer than two numbers."""
    used = [column for column in m.schema_ if not column.note.startswith("left out")]
    numbers = [column.name for column in used if column.levels is None]
    return numbers if len(numbers) > 1 else [c.name for c in used if (c.levels or 0) <= MOST_LEVELS]


def _loss(m: Any, X: Any, y: Labels, columns: list[Any]) -> float:
    """Of the rows that have a value in these columns; infinity, where none has."""
    view = look(m, columns, None, len(columns))
    values = view.values(X)
    there = np.isfinite(values).all(axis=1)
    codes = np.searchsorted(m.classes_, y[there])
    return _log_loss(view.classifier.announced(view.rows(values[there])), codes) if there.any() else np.inf


def _log_loss(scores: Array, codes: Any) -> float:
    own = scores[codes, np.arange(len(codes))]
    return float(np.mean(logsumexp(scores, axis=0) - own))
