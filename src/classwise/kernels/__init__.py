"""Kernels: the loops over rows, fused and compiled. Where there is no compiled core, NumPy does the same.

A kernel is an optional shortcut. It returns None where it cannot help: the package was built without a compiler, or
for another version, the environment variable CLASSWISE_PLAIN is set, or the rows are of a type that it does not read.
The caller then takes the plain way, which is the reference: tests hold each kernel against it.

The core is built for several instruction sets (see `native/`), and takes the best that the processor has.
"""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise.kernels.threads import BLAS, OURS, threads_for, with_jobs

Array: TypeAlias = NDArray[np.float64]

# Rows as kernels read them: a matrix (n, p), or the columns (n,) of one.
RowsOrColumns: TypeAlias = NDArray[Any] | Sequence[NDArray[Any]]

__all__ = ["BLAS", "OURS", "Array", "RowsOrColumns", "code_integers", "is_compiled", "native", "readable", "with_jobs"]


# What a core must have been built for, to be called from here: raised whenever its functions change.
INTERFACE = 5


def _load() -> Any:
    if os.environ.get("CLASSWISE_PLAIN", "0") not in ("", "0"):
        return None
    try:
        from classwise.kernels import _native  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        return None
    return _native if getattr(_native, "INTERFACE", 0) == INTERFACE else None


native: Any = _load()


def is_compiled() -> bool:
    """Whether the compiled core is there and in use."""
    return native is not None


def readable(rows: RowsOrColumns) -> Any:
    """Rows as the compiled core takes them, without a copy; None where it is not there or does not read them.

    It reads float64, or float32, in any order of memory.
    """
    if native is None:
        return None
    if isinstance(rows, np.ndarray):
        return rows if rows.ndim == 2 and rows.size and _is_read(rows) else None
    columns = tuple(rows)
    alike = columns and all(column.dtype == columns[0].dtype and _is_read(column) for column in columns)
    return columns if alike and len(columns[0]) else None


def _is_read(values: NDArray[Any]) -> bool:
    dtype = values.dtype
    is_plain = dtype.char in "df" and dtype.isnative and values.flags.aligned
    return is_plain and (values.flags.forc or not any(step % dtype.itemsize for step in values.strides))


# Integers in a range no wider than this have codes of two bytes.
WIDEST_RANGE = 32_000
LABELS_LOOKED_AT = 4096


def code_integers(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int16]] | None:
    """The sorted distinct labels (g,), and the position of each row's label among them (n,); labels are integers."""
    is_read = labels.dtype.char in "bhilqBHILQ" and labels.dtype.isnative and labels.flags.aligned
    if native is None or not is_read or not len(labels):
        return None
    labels = np.ascontiguousarray(labels)
    # Most often the first labels span the range of all, which spares a pass to find it.
    found = _coded_from(labels, *native.label_range(labels[:LABELS_LOOKED_AT], 1))
    found = found or _coded_from(labels, *native.label_range(labels, threads_for(len(labels))))
    if found is None:
        return None
    start, codes, present = found
    distinct = present.nonzero()[0]
    if len(distinct) < len(present):
        codes = (np.cumsum(present, dtype=np.int16) - np.int16(1)).take(codes)
    # Adding in the labels' own type: a range that starts at -2**63 or ends at 2**64 - 1 must not pass through int64.
    return start + distinct.astype(labels.dtype), codes


def _coded_from(labels: NDArray[Any], lowest: int, highest: int) -> tuple[NDArray[Any], NDArray[np.int16], Any] | None:
    """The lowest label (1,), labels less that (n,), and which numbers occur; None where they are not all in range."""
    if highest - lowest >= WIDEST_RANGE:
        return None
    start = np.array([lowest], dtype=labels.dtype)
    codes, present = np.empty(len(labels), dtype=np.int16), np.zeros(highest - lowest + 1, dtype=np.uint8)
    return (
        (start, codes, present) if native.label_codes(labels, start, codes, present, threads_for(len(labels))) else None
    )
