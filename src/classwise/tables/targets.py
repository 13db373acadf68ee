"""Targets: labels from arrays, lists and columns of any library, as an array of the type that their values have."""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from classwise.arrays import DATES, Labels, unmasked
from classwise.statistics import is_missing, pack_labels
from classwise.tables.coding import code_series, whole_values
from classwise.tables.frames import open_frame


def read_labels(y: Any) -> tuple[Labels, NDArray[np.bool_] | None]:
    """The labels (n,), and which are missing, if some are: whatever stands there has no meaning.

    >>> read_labels([1, None, 2])
    (array([1, 1, 2]), array([False,  True, False]))
    """
    if type(y) is not np.ndarray:
        series = _as_series(y)
        if series is not None:
            return _read_series(series)
        y = _as_array(unmasked(y))
    labels = y if y.ndim == 1 else np.asarray(column_or_1d(y, warn=True))
    if labels.dtype.kind == "O":
        return _read_objects(labels)
    missing = np.isnan(labels) if labels.dtype.kind == "f" else np.isnat(labels) if labels.dtype.kind in DATES else None
    return labels, missing if missing is not None and missing.any() else None


def _as_series(y: Any) -> "nw.Series[Any] | None":
    """A column of any library, or the one column of a frame."""
    if isinstance(y, (list, tuple, np.ndarray)):
        return None
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    if hasattr(y, "__arrow_c_array__") and not hasattr(y, "__arrow_c_stream__"):
        import pyarrow as pa

        return nw.from_native(pa.chunked_array([pa.array(y)]), series_only=True)
    frame = open_frame(y)
    if frame is None:
        return None
    column_or_1d(np.empty(frame.shape, dtype=bool), warn=True)  # says what it says of arrays
    return frame[:, 0]


def _read_series(series: "nw.Series[Any]") -> tuple[Labels, NDArray[np.bool_] | None]:
    if series.dtype == nw.Boolean or series.dtype.is_integer():
        return whole_values(series)
    if series.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return read_labels(np.asarray(series.to_native()))
    coded = code_series(series)
    missing = np.array([*map(is_missing, coded.names), True])[coded.codes]
    names = pack_labels([*coded.names] or [None])
    names = names.astype(object) if names.dtype.kind == "f" else names  # who declares fractions categories has classes
    return names[coded.codes], missing if missing.any() else None


def _as_array(y: Any) -> NDArray[Any]:
    """A list as an array: integers beside NaN, or beside very large ones, stay what they are."""
    values = np.asarray(y)
    return np.array(y, dtype=object) if isinstance(y, (list, tuple)) and values.dtype.kind == "f" else values


def _read_objects(labels: Labels) -> tuple[Labels, NDArray[np.bool_] | None]:
    """Objects that are all yes and no, or all numbers, as such."""
    distinct = set(labels.tolist())
    present = [label for label in distinct if not is_missing(label)]
    missing = None
    if len(present) < len(distinct):
        missing = np.array([is_missing(label) for label in labels.tolist()])
    dtype = pack_labels(present).dtype
    if dtype.kind == "O":
        return labels, missing
    return (labels if missing is None else np.where(missing, present[0], labels)).astype(dtype), missing
