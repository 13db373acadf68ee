"""Rows on a device (torch, CuPy, JAX): sums by class and scores are computed where the rows are.

    sums     positions of rows sorted by class, then for blocks of rows of one class k, about a provisional mean c_k:
             r = x - c_k, sum w r, sum w r r' (or r²); sums are kept in float64
    scores   linear, c_k + (x - o)'L_k, or quadratic, c_k - 1/2 |(x - m_k) V_k|²; then Bayes' rule

Only sums, or the answers, leave the device. Operations are those of the array API standard, in float64;
where the library has none (JAX as it comes), products are of blocks of a few rows, which are added in NumPy. Of rows in
float32 on a CUDA device of torch, kernels of Triton do the same in one pass. Sums are in device_sums, scores in
device_scores, kernels in device_kernels.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.engines.engine import S, total
from classwise.rows.device_rows import DeviceMatrix, from_host, has_double, namespace, to_host
from classwise.rows.table import Table

# Numbers of rows that are worked on at once: 128 MB in float64.
DEVICE_BLOCK = 1 << 24

# Rows whose products are summed in float32, where there is no float64, before NumPy takes over.
SHORT_BLOCK = 64


class DeviceEngine:
    """Chunks are views of arrays on the device; functions get the array itself, and answers stay there."""

    def gather(self, summarize: Callable[[Any], S], rows: Table, size: int) -> S:
        return total(summarize(chunk) for chunk in rows.chunks(size))

    def apply(self, function: Callable[[Any], Any], rows: Table, size: int) -> Any:
        """function(array (m, p)) -> (..., m), side by side: (..., n)."""
        parts = [function(values_of(chunk)) for chunk in rows.chunks(size)]
        return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=-1)


def values_of(table: Table) -> Any:
    """The array of a table on a device."""
    assert isinstance(table.source, DeviceMatrix)
    return table.source.values


def block_rows(width: int) -> int:
    """How many rows to work on at once, if `width` numbers are held for each."""
    return max(DEVICE_BLOCK // max(width, 1), 1024)


def widened(values: Any) -> Any:
    """The numbers in float64, where there is one."""
    xp = namespace(values)
    return xp.astype(values, xp.float64 if has_double(values) else xp.float32, copy=False)


def on_device_of(values: Array, rows: Any) -> Any:
    """Numbers of a model, on the device of rows, in the precision that is computed in."""
    xp = namespace(rows)
    return from_host(np.asarray(values), rows, xp.float64 if has_double(rows) else xp.float32)


def away_from(rows: Any, center: Array) -> Any:
    """x - c, to the last digit of the rows: what float32 cuts off a center is subtracted by itself."""
    away = widened(rows) - on_device_of(center, rows)
    return away if has_double(rows) else away - on_device_of(center - center.astype(np.float32), rows)


def has_kernels(values: Any) -> bool:
    """Whether kernels of Triton serve: rows of torch in float32, on a CUDA device."""
    if not type(values).__module__.startswith("torch") or not values.is_cuda or str(values.dtype) != "torch.float32":
        return False
    return find_spec("triton") is not None


# Sums over rows -------------------------------------------------------------------------------------------------------


def summed(values: Any) -> Array:
    """The sum over rows (m, p) -> (p,), in NumPy."""
    xp = namespace(values)
    if has_double(values):
        return np.asarray(to_host(xp.sum(xp.astype(values, xp.float64, copy=False), axis=0)))
    return sum(np.asarray(to_host(xp.sum(some, axis=1)), dtype=np.float64).sum(axis=0) for some in _short(values))


def multiplied(first: Any, second: Any) -> Array:
    """The sum over rows of x y'; (m, p), (m, q) -> (p, q), in NumPy."""
    xp = namespace(first)
    if has_double(first):
        return np.asarray(to_host(xp.matmul(xp.matrix_transpose(first), second)))
    pairs = zip(_short(first), _short(second), strict=True)
    found = (to_host(exact_product(xp.matrix_transpose(a), b)) for a, b in pairs)
    return sum(np.asarray(some, dtype=np.float64).sum(axis=0) for some in found)


def exact_product(first: Any, second: Any) -> Any:
    """first @ second in float32 itself: JAX would round to fewer digits on some devices."""
    if type(first).__module__.startswith("jax"):
        import jax

        return jax.numpy.matmul(first, second, precision=jax.lax.Precision.HIGHEST)
    return namespace(first).matmul(first, second)


def _short(values: Any) -> Iterator[Any]:
    """Rows (m, p) in blocks of a few, (blocks, few, p), and the rest as one block."""
    whole = values.shape[0] // SHORT_BLOCK * SHORT_BLOCK
    if whole:
        yield namespace(values).reshape(values[:whole, :], (-1, SHORT_BLOCK, values.shape[1]))
    if whole < values.shape[0]:
        yield values[None, whole:, :]
