"""Tables: whatever holds rows becomes a numeric array, its column names, and the labels and weights beside it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, column_or_1d

from classwise.arrays import Array, Labels, slices
from classwise.errors import ClasswiseError, column_name


@dataclass(frozen=True, eq=False)
class Table:
    """rows (n, p), with the labels (n,) and weights (n,) that go with them, where there are any.

    A chunk of a table is a table.
    """

    rows: NDArray[Any]
    labels: Labels | None = None
    weights: Array | None = None
    features: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def chunks(self, size: int) -> Iterator["Table"]:
        """Consecutive chunks of at most `size` rows, as views."""
        return (self._take(part) for part in slices(len(self), size))

    def _take(self, part: slice | NDArray[np.bool_]) -> "Table":
        labels = None if self.labels is None else self.labels[part]
        weights = None if self.weights is None else self.weights[part]
        return Table(self.rows[part], labels, weights, self.features)

    def weighted(self) -> "Table":
        """Without the rows of weight zero, which count as absent."""
        if self.weights is None or self.weights.all():
            return self
        return self._take(self.weights != 0)


def read_table(X: Any, y: Any = None, weights: Any = None) -> Table:
    """An array, or any frame that narwhals knows (pandas, polars, pyarrow, ...), as a table of numbers.

    >>> import pandas as pd
    >>> read_table(pd.DataFrame({"length": [1, 2], "width": [0.5, 0.25]}), ["a", "b"]).features
    ('length', 'width')
    """
    rows, features = _read_rows(X)
    labels = None if y is None else _read_labels(y, len(rows))
    return Table(rows, labels, _read_weights(weights, len(rows)), features)


def _read_rows(X: Any) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    features = None
    if not isinstance(X, np.ndarray):
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise ClasswiseError("X is a lazy frame, whose rows are not here yet; give X.collect() instead.")
        if isinstance(frame, nw.DataFrame):
            X, features = _read_frame(frame)
    rows = check_array(X, dtype="numeric", ensure_all_finite=False, input_name="X")
    return (rows if rows.dtype.kind in "fiub" and rows.dtype.itemsize <= 8 else rows.astype(np.float64)), features


def _read_frame(frame: "nw.DataFrame[Any]") -> tuple[Any, tuple[str, ...] | None]:
    """The frame's numbers, and its column names if they are strings (pandas numbers unnamed columns)."""
    for column, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean or (dtype == nw.Object and _holds_numbers(frame[column]))):
            raise ClasswiseError(
                f"Column {column!r} holds {dtype}, and this model needs numbers; encode it as numbers, or drop it."
            )
    names = tuple(frame.columns)
    return frame.to_numpy(), names if all(isinstance(name, str) for name in names) else None


def _holds_numbers(column: "nw.Series[Any]") -> bool:
    try:
        column.to_numpy().astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _read_labels(y: Any, length: int) -> Labels:
    labels = column_or_1d(y if isinstance(y, (np.ndarray, list, tuple)) else np.asarray(y), warn=True)
    if len(labels) != length:
        raise ClasswiseError(f"X has {length} rows and y has {len(labels)} labels; every row needs one label.")
    return np.asarray(labels)


def _read_weights(weights: Any, length: int) -> Array | None:
    if weights is None:
        return None
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(length, float(values))
    if values.shape != (length,):
        raise ClasswiseError(f"X has {length} rows and weights have shape {values.shape}; every row needs one weight.")
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise ClasswiseError(f"Weights must be finite and not negative; row {bad[0]} has weight {values[bad[0]]}.")
    if not values.any():
        raise ClasswiseError("Every weight is zero, so there are no rows to learn from.")
    return values


def refuse_not_finite(table: Table) -> None:
    """Refuse NaN, infinity, and numbers whose squares overflow, naming the columns and how many."""
    rows = np.asarray(table.rows, dtype=np.float64)
    _refuse("NaN", np.isnan(rows), table)
    _refuse("infinity", np.isinf(rows), table)
    _refuse("numbers beyond 1e150, whose squares overflow,", np.abs(rows) > 1e150, table)


def _refuse(what: str, found: NDArray[np.bool_], table: Table) -> None:
    counts = found.sum(axis=0)
    columns = np.flatnonzero(counts)
    if len(columns):
        where = ", ".join(f"{column_name(table.features, column)} ({counts[column]})" for column in columns[:5])
        more = f" and {len(columns) - 5} more columns" if len(columns) > 5 else ""
        raise ClasswiseError(f"X contains {what} in {where}{more}; remove those rows, or put other values there.")
