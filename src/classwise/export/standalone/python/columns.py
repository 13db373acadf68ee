"""Rows as they come, as a matrix of numbers: levels as positions, dates and written numbers as numbers."""

from typing import Any

import numpy as np

from classwise.export.standalone.python.numbers import UnscorableError, array

# How values of a column become numbers, by the kind of its conversion.
CONVERSIONS: dict[str, Any] = {}


def matrix(rows: Any, columns: list[dict[str, Any]]) -> Any:
    """Rows (n, p), of a table of columns by name, a list of mappings, or values in the order of the columns."""
    return np.stack(
        [_numbers(values, column, j) for j, (values, column) in enumerate(_by_column(rows, columns))], axis=1
    )


def _by_column(rows: Any, columns: list[dict[str, Any]]) -> list[tuple[Any, dict[str, Any]]]:
    names = [_name(column, j) for j, column in enumerate(columns)]
    if isinstance(rows, (list, tuple)) and rows and hasattr(rows[0], "keys"):
        rows = {name: [row[name] if name in row else _lacks(name) for row in rows] for name in names}
    if hasattr(rows, "keys") or hasattr(rows, "columns"):
        known = list(rows.keys() if hasattr(rows, "keys") else getattr(rows, "column_names", rows.columns))
        return [(rows[name] if name in known else _lacks(name), c) for name, c in zip(names, columns)]
    cells = rows if isinstance(rows, np.ndarray) else [list(row) for row in rows]
    if len(cells) and len(cells[0]) != len(columns):
        raise ValueError(f"Rows have {len(cells[0])} values, and the model has {len(columns)} columns: {names}.")
    return [([row[j] for row in cells], column) for j, column in enumerate(columns)]


def _name(column: dict[str, Any], place: int) -> Any:
    return place if column["name"] is None else column["name"]


def _lacks(name: Any) -> Any:
    raise ValueError(f"The rows have no column {name!r}, which the model needs.")


def is_missing(value: Any) -> bool:
    """None, or what is not equal to itself: NaN is not, and the NA of pandas does not even say."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _numbers(values: Any, column: dict[str, Any], place: int) -> Any:
    values = _listed(values)
    if "levels" in column:
        places = {level: code for code, level in enumerate(column["levels"])}
        return array([-1 if is_missing(value) else places.get(value, len(places)) for value in values])
    return array([np.nan if is_missing(value) else _number(value, column, place) for value in values])


def _listed(values: Any) -> list[Any]:
    """The values of a column of any library; those of NumPy's dates stay its own."""
    if getattr(getattr(values, "dtype", None), "kind", "") in "mM" and isinstance(values, np.ndarray):
        return list(values)
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return list(getattr(values, name)())
    return list(values)


def _number(value: Any, column: dict[str, Any], place: int) -> float:
    rule = column["conversion"]
    plain = isinstance(value, (int, float, np.number)) and not isinstance(value, np.timedelta64)
    try:
        return float(value) if rule is None or plain else float(CONVERSIONS[rule["kind"]](value, rule))
    except (TypeError, ValueError, OverflowError):
        what = "a number" if rule is None else f"written such as {rule['example']!r}"
        raise ValueError(f"Column {_name(column, place)!r} holds {value!r}, and its values are to be {what}.") from None


# What rows may not hold -----------------------------------------------------------------------------------------------


def refuse_missing(rows: Any, columns: list[dict[str, Any]], required: list[int]) -> None:
    """Refuse missing values in some columns."""
    for j in required:
        gone = rows[:, j] < 0 if "levels" in columns[j] else np.isnan(rows[:, j])
        if gone.any():
            raise UnscorableError(f"Column {_name(columns[j], j)!r} has missing values, which the model refuses.")


def refuse_unsuitable(rows: Any, columns: list[dict[str, Any]]) -> None:
    """Refuse infinity, numbers whose squares overflow, and values that a family cannot take."""
    for j, column in enumerate(columns):
        values = rows[:, j][~np.isnan(rows[:, j])]
        if "levels" not in column and len(values):
            _refuse(f"Column {_name(column, j)!r} holds", values, np.abs(values) > 1e150, "which is too large")
            _refuse_outside(f"Column {_name(column, j)!r} holds", values, column)


def _refuse_outside(start: str, values: Any, column: dict[str, Any]) -> None:
    if column["rule"] == "positive":
        _refuse(start, values, values <= 0, "and its values are to be above 0")
    elif column["rule"] == "amount":
        _refuse(start, values, values < 0, "and its values are to be at least 0")
    elif column["rule"] == "count":
        most = np.inf if column["most"] is None else column["most"]
        outside = (values < 0) | (values > most) | (values != np.floor(values))
        _refuse(start, values, outside, f"and its values are to be whole numbers from 0 to {most}")


def _refuse(start: str, values: Any, found: Any, why: str) -> None:
    if found.any():
        raise UnscorableError(f"{start} {values[found][0]}, {why}.")
