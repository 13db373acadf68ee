"""Which columns a polynomial is in: some are free, some are held at a value, all others are integrated out."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from classwise.errors import ClasswiseError
from classwise.rows.schema import Schema, find_column


class Section(NamedTuple):
    """Positions of free columns; positions of the others that stay, with the values they are held at."""

    free: list[int]
    held: dict[int, float]

    @property
    def kept(self) -> list[int]:
        """The columns of the marginal density: free ones first."""
        return [*self.free, *self.held]

    @property
    def at(self) -> dict[int, float]:
        """The values that columns are held at, by position among those kept."""
        return dict(enumerate(self.held.values(), start=len(self.free)))


def read_section(schema: Schema, columns: Any, at: Any) -> Section:
    """columns: the free ones, by name or position, or None for all that are not held; at: {column: value}."""
    held = _read_values(schema, {} if at is None else at)
    free = [j for j in range(len(schema)) if j not in held] if columns is None else schema.find(_listed(columns))
    twice = [j for i, j in enumerate(free) if j in free[:i] or j in held]
    if twice:
        raise ClasswiseError(f"columns and at name {schema.name(twice[0])} twice; it is free, or held at one value.")
    if not free:
        raise ClasswiseError("No column is left for the polynomial to be in: leave one free.")
    return Section(free, held)


def column_names(schema: Schema, columns: list[int]) -> tuple[str, ...]:
    """What formulas call columns: by their names, or x0, x1, ... by their positions; x where there is but one.

    >>> column_names(Schema.of_numbers(3), [0, 2]), column_names(Schema.of_numbers(1), [0])
    (('x0', 'x2'), ('x',))
    """
    names = schema.names or (tuple(f"x{j}" for j in range(len(schema))) if len(schema) > 1 else ("x",))
    return tuple(names[j] for j in columns)


def _listed(columns: Any) -> list[Any]:
    return [columns] if isinstance(columns, str) or not isinstance(columns, Iterable) else list(columns)


def _read_values(schema: Schema, at: Any) -> dict[int, float]:
    if not isinstance(at, Mapping):
        raise ClasswiseError(f"at={at!r} is not a mapping from column to value, such as {{'width': 3.5}}.")
    names = schema.names or range(len(schema))
    held = {find_column(key, names, "The keys of at"): _read_value(key, value) for key, value in at.items()}
    if len(held) < len(at):
        raise ClasswiseError(f"at={at!r} names a column twice; it is held at one value.")
    return held


def _read_value(key: Any, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ClasswiseError(f"at holds the column {key!r} at {value!r}; give it a finite number.")
    return number
