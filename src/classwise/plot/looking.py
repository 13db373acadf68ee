"""Which columns a picture is of, and of which model: names and values given by the caller, read and checked."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from classwise.arrays import Labels
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.marginal import flat_blocks
from classwise.densities import Constant
from classwise.errors import ClasswiseError
from classwise.plot.view import View, column_keys
from classwise.rows.schema import find_column


def look(model: Any, columns: Any, at: Any, count: int) -> View:
    """`count` columns by name or position; None for the first that are not held, numbers before categories.

    at: {column: value}.
    """
    model, decision = read_model(model)
    held = _read_held(model, {} if at is None else at)
    usable = [j for j in usable_columns(model) if j not in held]
    free = usable[:count] if columns is None else [find(model, key, "columns") for key in listed(columns)]
    if len(set(free)) != count or len(free) != count:
        needed = "one column" if count == 1 else f"{count} different columns"
        raise ClasswiseError(f"columns={columns!r}: this picture is of {needed}.")
    if set(free) & set(held):
        raise ClasswiseError(f"columns={columns!r} and at={at!r} name a column twice; it is free, or held at a value.")
    return View(model, tuple(free), held, decision)


def read_model(m: Any) -> tuple[Any, Any]:
    """The model that has the densities, and the decision around it, if there is one."""
    decision = m if hasattr(m, "expected_costs") else None
    model = m if decision is None else getattr(m, "model_", m.model)
    if not hasattr(type(model), "classifier_"):
        raise ClasswiseError(
            f"{type(model).__name__} has no densities to look at in some columns alone; give a model such as QDA or "
            "NaiveBayes."
        )
    return model, decision


def look_at_densities(m: Any, columns: Any, at: Any, count: int) -> View:
    """The same, of a model that has densities."""
    view = look(m, columns, at, count)
    if not view.has_densities:
        raise ClasswiseError(
            f"{type(view.model).__name__} has no densities, only posteriors; give a model such as LDA or NaiveBayes."
        )
    return view


def usable_columns(model: Any) -> list[int]:
    """The positions of columns that say something: numbers and counts first, then categories."""
    silent = _left_out(model)
    kept = [j for j in range(model.n_features_in_) if j not in silent]
    return sorted(kept, key=lambda j: j in model.model_.levels)


def number_columns(model: Any) -> list[int]:
    """The positions of columns that are numbers or counts, and not categories."""
    return [j for j in usable_columns(model) if j not in model.model_.levels]


def listed(columns: Any) -> list[Any]:
    """Columns as a list, also where there is but one."""
    return list(columns) if isinstance(columns, Sequence | np.ndarray) and not isinstance(columns, str) else [columns]


def find(model: Any, key: Any, option: str) -> int:
    """The position of a column that the model looks at."""
    place = find_column(key, column_keys(model), option)
    if place in _left_out(model):
        raise ClasswiseError(f"{option} name the column {key!r}, which the model has left out: see schema_.")
    return place


def _left_out(model: Any) -> set[int]:
    if not isinstance(model.classifier_, BayesClassifier):
        return {j for j, note in model.model_.notes.items() if note.startswith("left out")}
    blocks = flat_blocks(model.classifier_.density)
    return {int(j) for block in blocks if isinstance(block.density, Constant) for j in block.columns}


def _read_held(model: Any, at: Any) -> dict[int, float]:
    if not isinstance(at, Mapping):
        raise ClasswiseError(f"at={at!r} is not a mapping from column to value, such as {{'width': 3.5}}.")
    places = {key: find(model, key, "The keys of at") for key in at}
    return {j: _read_value(key, at[key], model.model_.levels.get(j)) for key, j in places.items()}


def _read_value(key: Any, value: Any, levels: Labels | None) -> float:
    if levels is not None:
        if value not in levels.tolist():
            raise ClasswiseError(f"at holds the column {key!r} at {value!r}; its levels are {levels.tolist()}.")
        return float(levels.tolist().index(value))
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ClasswiseError(f"at holds the column {key!r} at {value!r}; give it a finite number.")
    return float(value)
