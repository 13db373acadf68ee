"""Sums by class of rows on a device: positions of rows sorted by class, and then blocks of rows of one class.

r = x - c_k, about a provisional mean c_k;   sum w r;   sum w r r', or sum w r²;   kept in float64
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Array, Codes, slices
from classwise.engines.device import block_rows, has_kernels, multiplied, on_device_of, summed, widened
from classwise.rows.device_rows import from_host, namespace, to_host

# This many rows of a class give its provisional mean.
PILOT_ROWS = 32


class ClassSums(NamedTuple):
    """weight (g,); total (g, p): sum w r; products: sum w r r', (g, p, p), or sum w r², (g, p)."""

    weight: Array
    total: Array
    products: Array


@dataclass(frozen=True, eq=False)
class ClassedRows:
    """rows (n, p) of classes codes (n,) in range(count), with weights (n,) or None; all on the device."""

    rows: Any
    codes: Any
    count: int
    weights: Any = None

    @cached_property
    def order(self) -> Any:
        """The positions of the rows, sorted by class; (n,)."""
        return self._sorted[0]

    @cached_property
    def edges(self) -> Any:
        """Where each class begins in that order, and the last ends; (g + 1,)."""
        from array_api_compat import device

        xp, codes = namespace(self.codes), self._sorted[1]
        return xp.searchsorted(codes, xp.arange(self.count + 1, dtype=codes.dtype, device=device(codes)))

    @cached_property
    def bounds(self) -> Any:
        """The same in NumPy."""
        return to_host(self.edges)

    @cached_property
    def _sorted(self) -> tuple[Any, Any]:
        xp = namespace(self.codes)
        if type(self.codes).__module__.startswith("torch"):  # the values come with the order
            codes, order = self.codes.sort(stable=True)
            return order, codes
        order = xp.argsort(self.codes, stable=True)
        return order, xp.take(self.codes, order, axis=0)

    def pilot(self) -> tuple[Array, Codes]:
        """Some rows of each class (k, p) and their codes (k,), in NumPy: evenly spaced among the rows of the class."""
        starts, sizes = self.bounds[:-1], np.diff(self.bounds)
        kept = [
            start + np.unique(np.linspace(0, size - 1, min(size, PILOT_ROWS)).astype(np.int64))
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
            if size
        ]
        places = namespace(self.order).take(self.order, from_host(np.concatenate(kept), self.order), axis=0)
        codes = np.repeat(np.flatnonzero(sizes), [len(some) for some in kept])
        return np.asarray(to_host(self._taken(places)), dtype=np.float64), codes

    def sums(self, provisional: Array, diagonal: bool) -> ClassSums:
        """About provisional means (g, p)."""
        if has_kernels(self.rows):
            from classwise.engines import device_kernels

            if device_kernels.suits(self.rows.shape[1]):
                return self._by_kernel(device_kernels, provisional, diagonal)
        features = self.rows.shape[1]
        weight, sums = np.zeros(self.count), np.zeros((self.count, features))
        products = np.zeros((self.count, features) if diagonal else (self.count, features, features))
        for k, rows, weights in self._parts(provisional):
            weighted = rows if weights is None else rows * weights[:, None]
            weight[k] += rows.shape[0] if weights is None else float(summed(weights[:, None])[0])
            sums[k] += summed(weighted)
            products[k] += summed(weighted * rows) if diagonal else multiplied(weighted, rows)
        return ClassSums(weight, sums, products)

    def quartic_sums(self, mean: Array, rest: Array) -> tuple[Array, Array]:
        """sum w |d|² d (g, p) and sum w |d|⁴ (g,), of distances from means."""
        third, fourth = np.zeros(mean.shape), np.zeros(self.count)
        for k, rows, weights in self._parts(mean):
            away = rows - on_device_of(rest[k], rows)
            squares = namespace(away).sum(away * away, axis=1)[:, None]
            own = squares if weights is None else squares * weights[:, None]
            third[k] += summed(away * own)
            fourth[k] += summed(squares * own)[0]
        return third, fourth

    def _by_kernel(self, kernels: Any, provisional: Array, diagonal: bool) -> ClassSums:
        sums = kernels.class_sums(self.rows, self.order, self.edges, provisional, self.weights, diagonal)
        weight = np.diff(self.bounds).astype(np.float64)
        if self.weights is not None:
            weight = np.array([float(summed(w[:, None])[0]) for w in self._weights_by_class()])
        return ClassSums(weight, *sums)

    def _weights_by_class(self) -> Iterator[Any]:
        ordered = namespace(self.weights).take(self.weights, self.order, axis=0)
        for start, stop in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True):
            yield ordered[start:stop]

    def _parts(self, provisional: Array) -> Iterator[tuple[int, Any, Any]]:
        """Blocks of rows of one class, about its provisional mean, with their weights."""
        size = block_rows(self.rows.shape[1])
        for k, (start, stop) in enumerate(zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)):
            center = on_device_of(provisional[k], self.rows)
            # JAX compiles for every length anew: there, all blocks have one, and rows that do not count weigh nothing.
            length = size if type(self.rows).__module__.startswith("jax") else None
            for part in slices(stop - start, min(size, int(self.rows.shape[0]))):
                yield k, *self._block(slice(start + part.start, start + part.stop), center, length)

    def _block(self, part: slice, center: Any, length: int | None) -> tuple[Any, Any]:
        xp, rows, count = namespace(self.rows), self.rows, part.stop - part.start
        places = self.order[part]
        weights = None if self.weights is None else xp.take(self.weights, places, axis=0)
        if length is not None and count < (length := min(length, int(rows.shape[0]))):
            places = xp.concat([places, xp.zeros(length - count, dtype=places.dtype)])
            real = xp.astype(xp.arange(length) < count, xp.float32)
            weights = real if weights is None else real * xp.concat([weights, xp.zeros(length - count)])
        return widened(self._taken(places)) - center, weights

    def _taken(self, places: Any) -> Any:
        return namespace(self.rows).take(self.rows, places, axis=0)
