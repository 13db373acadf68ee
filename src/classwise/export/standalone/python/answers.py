"""What a model answers."""

from typing import Any

import numpy as np

from classwise.export.standalone.python.classifiers import log_posterior
from classwise.export.standalone.python.columns import matrix, refuse_missing, refuse_unsuitable
from classwise.export.standalone.python.numbers import TIE, UnscorableError

# Rows are scored in blocks of this many.
BLOCK_OF_ROWS = 4096


def posteriors(model: dict[str, Any], rows: Any) -> Any:
    """P(k | x) of rows of numbers; (n, p) -> (n, g)."""
    refuse_missing(rows, model["columns"], model["required"])
    if model["checked"]:
        refuse_unsuitable(rows, model["columns"])
    parts = [rows[start : start + BLOCK_OF_ROWS] for start in range(0, len(rows), BLOCK_OF_ROWS)]
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.concatenate([np.zeros((0, len(model["labels"]))), *(np.exp(_scored(model, part)) for part in parts)])
    return found / found.sum(axis=1, keepdims=True)


def _scored(model: dict[str, Any], rows: Any) -> Any:
    try:
        return log_posterior(model["classifier"], rows)
    except UnscorableError:
        refuse_unsuitable(rows, model["columns"])
        raise


def predicted(model: dict[str, Any], rows: Any, decide: Any) -> list[Any]:
    """The label of each row: the most probable one, the first of equals, or what a decision makes of it."""
    found = posteriors(model, rows)
    if decide is not None:
        return list(decide(model, found, rows))
    leading = found >= found.max(axis=1, keepdims=True) * (1 - TIE)
    return [model["labels"][code] for code in leading.argmax(axis=1).tolist()]


def read(model: dict[str, Any], rows: Any) -> Any:
    """Rows as they come, as numbers; (n, p)."""
    return matrix(rows, model["columns"])
