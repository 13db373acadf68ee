"""Rows in arrays of torch, CuPy or JAX, which stay on their device: read here, and brought to NumPy where they must be.

What knows such arrays works on them where they are. Everything else asks a table for a matrix, as it does of any other
rows, and gets a copy of that chunk in NumPy: slower, and the same numbers.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Codes, Labels
from classwise.errors import MissingExtraError

# The libraries whose arrays these are: array-api-strict is the standard itself, for tests.
LIBRARIES = ("torch", "cupy", "jax", "jaxlib", "array_api_strict")

# Floats of two bytes: such rows are read as float32.
SHORT = ("bfloat16", "float16")

# Labels that are whole numbers in a range no longer than this are coded by subtraction.
LONGEST_RANGE = 1 << 15


def is_on_device(values: Any) -> bool:
    """Whether values are an array of one of these libraries, none of which need be installed."""
    return type(values).__module__.partition(".")[0] in LIBRARIES


def namespace(values: Any) -> Any:
    """The functions of an array's library, under the names of the array API standard."""
    try:
        from array_api_compat import array_namespace
    except ImportError:
        library = type(values).__module__.partition(".")[0]
        raise MissingExtraError(
            f"Rows of {library} take array-api-compat: pip install 'classwise[gpu]', or give NumPy arrays "
            "(X.cpu().numpy())."
        ) from None
    return array_namespace(values)


def has_double(values: Any) -> bool:
    """Whether the library and the device compute in float64: JAX only if it is configured to, Apple's devices never."""
    library = type(values).__module__.partition(".")[0]
    if library.startswith("jax"):
        config: Any = import_module("jax").config
        return bool(config.jax_enable_x64)
    if library == "array_api_strict":
        return "float64" in namespace(values).__array_namespace_info__().dtypes(device=values.device)
    return getattr(getattr(values, "device", None), "type", "") != "mps"


def to_host(values: Any) -> Any:
    """An array of a device as one of NumPy; anything else as it is."""
    if not is_on_device(values):
        return values
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        return (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    if type(values).__module__.startswith("array_api_strict"):
        values = values.to_device(namespace(values).__array_namespace_info__().default_device())
    return values.get() if hasattr(values, "get") else np.asarray(values)


def from_host(values: NDArray[Any], like: Any, dtype: Any = None) -> Any:
    """An array of NumPy on the device of another; dtype: of that library, or the nearest to its own."""
    from array_api_compat import device

    xp = namespace(like)
    contiguous = np.ascontiguousarray(values)
    if not contiguous.flags.writeable:
        contiguous = contiguous.copy()  # torch would warn
    return xp.asarray(contiguous, dtype=dtype, device=device(like))


def as_given(X: Any, answer: Any) -> Any:
    """An answer about rows as the same kind of array as they are: numbers on their device, text in NumPy.

    Of rows in float32, the answer is in float32.
    """
    if not is_on_device(X) or is_on_device(answer) or answer.dtype.kind not in "biuf":
        return answer
    is_short = answer.dtype == np.float64 and np.dtype(dtype_of(X)).kind == "f"
    return from_host(answer.astype(dtype_of(X)) if is_short else answer, X)


def labels_at(labels: Labels, chosen: Any) -> Any:
    """The labels at positions: where both are numbers, on the device of the positions.

    Labels 0, 1, 2... are the positions themselves, without a copy.
    """
    if not is_on_device(chosen):
        are_positions = labels.dtype == chosen.dtype and labels[0] == 0 and labels[-1] == len(labels) - 1
        return chosen if are_positions else labels.take(chosen)
    if labels.dtype.kind not in "biuf":
        return labels[to_host(chosen)]
    xp = namespace(chosen)
    table = from_host(labels, chosen)
    if labels.dtype.kind in "iu" and labels[-1] - labels[0] == len(labels) - 1:  # adding is faster than looking up
        return xp.astype(chosen, table.dtype) + table[0]
    return xp.take(table, chosen, axis=0)


def dtype_of(values: Any) -> "np.dtype[Any]":
    """NumPy's name for the type of an array's numbers; float32 for the shorter floats, which NumPy may not have."""
    name = str(values.dtype).rpartition(".")[2]
    return np.dtype("float32" if name in SHORT else name)


def take_rows(values: Any, part: Any) -> Any:
    """Some of the rows of an array: a view, where `part` is a slice."""
    if isinstance(part, slice):
        return values[part, ...]
    places = np.flatnonzero(part) if np.asarray(part).dtype == bool else np.asarray(part, dtype=np.int64)
    return namespace(values).take(values, from_host(places, values), axis=0)


@dataclass(frozen=True, eq=False)
class DeviceMatrix:
    """Rows that are a matrix of numbers on a device; `matrix` is a copy of them in NumPy."""

    values: Any

    @property
    def shape(self) -> tuple[int, int]:
        return (int(self.values.shape[0]), int(self.values.shape[1]))

    @property
    def dtype(self) -> "np.dtype[Any]":
        return dtype_of(self.values)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> Any:
        """Some of the rows; or one column, in NumPy."""
        return to_host(self.values[part]) if isinstance(part, tuple) else self.take(part)

    def take(self, part: Any) -> "DeviceMatrix":
        return DeviceMatrix(take_rows(self.values, part))

    def matrix(self, columns: Any = None) -> NDArray[Any]:
        whole = to_host(self.values)
        return whole if columns is None or len(columns) == whole.shape[1] else whole[:, columns]

    def plain(self) -> NDArray[Any]:
        return self.matrix()

    def codes(self, column: int, missing: int) -> Codes:
        raise TypeError("A matrix of numbers has no categories.")


@dataclass(frozen=True, eq=False)
class DeviceLabels:
    """Labels on a device: of each row the position of its label (n,), and the labels there may be; not all need occur.

    NumPy takes it for an array of labels, which are then copied.
    """

    positions: Any
    names: Labels

    @property
    def dtype(self) -> "np.dtype[Any]":
        return self.names.dtype

    def __len__(self) -> int:
        return int(self.positions.shape[0])

    def __getitem__(self, part: Any) -> "DeviceLabels":
        return DeviceLabels(take_rows(self.positions, part), self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Labels:
        return self.names[to_host(self.positions)].astype(dtype or self.names.dtype, copy=False)


def labels_beside(rows: Any, codes: Codes, count: int) -> Any:
    """Codes (n,) in range(count) on the device of rows."""
    xp = namespace(rows.values)
    return DeviceLabels(from_host(codes, rows.values, xp.int8 if count < 128 else xp.int32), np.arange(count))


def read_device_rows(X: Any) -> DeviceMatrix | NDArray[Any]:
    """X (n, p) where it is, whole numbers as float64; what is no matrix of numbers in NumPy, where it is checked."""
    xp = namespace(X)
    if X.ndim != 2 or not all(X.shape) or xp.isdtype(X.dtype, ("bool", "complex floating")):
        return to_host(X)
    if xp.isdtype(X.dtype, "integral"):
        return DeviceMatrix(xp.astype(X, xp.float64 if has_double(X) else xp.float32))
    is_short = str(X.dtype).rpartition(".")[2] in SHORT
    return DeviceMatrix(xp.astype(X, xp.float32) if is_short else X)


def read_device_labels(y: Any) -> Any:
    """Labels that are whole numbers of a short range where they are, others in NumPy."""
    xp = namespace(y)
    if y.ndim != 1 or not y.shape[0] or not xp.isdtype(y.dtype, ("bool", "integral")):
        return to_host(y)
    if xp.isdtype(y.dtype, "bool"):
        return DeviceLabels(xp.astype(y, xp.int8), np.array([False, True]))
    lowest, highest = int(xp.min(y)), int(xp.max(y))
    if highest - lowest >= LONGEST_RANGE or not -(2**62) < lowest < 2**62:
        return to_host(y)
    narrow = xp.int8 if highest - lowest < 127 else xp.int16
    wide = y if dtype_of(y).itemsize > 2 else xp.astype(y, xp.int32)  # 127 - -128 is no int8
    positions = xp.astype(wide if lowest == 0 else wide - lowest, narrow)
    return DeviceLabels(positions, (lowest + np.arange(highest - lowest + 1)).astype(dtype_of(y)))
