"""Columns of levels as codes: for each row the position of its level, in whatever library the column lives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels
from classwise.statistics import code_labels, is_missing, pack_labels, sort_labels


@dataclass(frozen=True, eq=False)
class Coded:
    """Codes (n,), -1 for missing, and the names they stand for; written out as positions among some levels.

    lookup: the position of each name among those levels, and -1 at the end, where the code -1 finds it.
    """

    codes: Codes
    names: tuple[Any, ...]
    lookup: Array

    @classmethod
    def of(cls, codes: Codes, names: Sequence[Any]) -> "Coded":
        return cls(codes, tuple(names), np.array([*range(len(names)), -1], dtype=np.float64))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, part: Any) -> "Coded":
        return replace(self, codes=self.codes[part])

    def write(self, target: Array) -> None:
        """Each row's position among the levels, into target (n,)."""
        # Without range checks: codes are positions or -1 by construction, and "wrap" finds -1 at the end.
        np.take(self.lookup, self.codes, out=target, mode="wrap")

    def positions(self, missing: int) -> Codes:
        """The same as integers (n,), with a number of its own for what is missing."""
        lookup = self.lookup.astype(np.intp)
        lookup[lookup < 0] = missing
        return lookup.take(self.codes, mode="wrap")

    @cached_property
    def levels(self) -> list[Any]:
        """The names that are levels: what stands for missing is not."""
        return [name for name in self.names if not is_missing(name)]

    def among(self, levels: Labels) -> "Coded":
        """Written as positions among these levels; other names as the position after the last."""
        place = {level: position for position, level in enumerate(levels.tolist())}
        positions = [-1 if is_missing(name) else place.get(name, len(levels)) for name in self.names]
        return replace(self, lookup=np.array([*positions, -1], dtype=np.float64))

    def sorted_levels(self, source: str) -> Labels:
        """Its levels in order, as an array: bools and numbers as such, anything else as objects."""
        return pack_labels(sort_labels(set(self.levels), source))

    def without(self, missing: NDArray[np.bool_]) -> "Coded":
        """With no level in some rows (n,), whatever stood there."""
        codes = np.where(missing, -1, self.codes)
        return Coded.of(codes, ()) if missing.all() else replace(self, codes=codes)


def code_series(series: "nw.Series[Any]") -> Coded:
    """A column of a frame as codes, by the fastest way its library has."""
    if series.dtype == nw.Boolean or series.dtype.is_integer():
        values, missing = whole_values(series)
        coded = code_values(values)
        return coded if missing is None else coded.without(missing)
    if series.dtype.is_numeric():
        return code_values(series.to_numpy())
    library, native = series.implementation, series.to_native()
    if library.is_pandas_like():
        return _code_pandas(native, nw.get_native_namespace(series))
    if library.is_polars():
        return _code_polars(native, nw.get_native_namespace(series))
    if library.is_pyarrow():
        return _code_arrow(native)
    return code_values(np.asarray(series.to_list(), dtype=object))


def whole_values(series: "nw.Series[Any]") -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Whole numbers, or yes and no, and which are missing, if some are: any other value stands there.

    NumPy has no missing integer, and would make floats of all: 1.0 of 1, and one number of 2**53 and 2**53 + 1.
    """
    if not series.null_count():
        return series.to_numpy(), None
    present = series.drop_nulls()
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    return (series.fill_null(present[0]).to_numpy() if len(present) else np.zeros(len(series), np.int64)), missing


def _code_pandas(native: Any, pandas: Any) -> Coded:
    if hasattr(native, "cat"):
        return Coded.of(native.cat.codes.to_numpy(), native.cat.categories.tolist())
    codes, names = pandas.factorize(native)
    return Coded.of(np.asarray(codes, dtype=np.int32), list(names))


def _code_polars(native: Any, polars: Any) -> Coded:
    names = sorted(native.drop_nulls().unique().cast(polars.String).to_list())
    codes = native.cast(polars.Enum(names)).to_physical().cast(polars.Int32).fill_null(-1)
    return Coded.of(codes.to_numpy(), names)


def _code_arrow(native: Any) -> Coded:
    encoded = native.unify_dictionaries() if hasattr(native.type, "value_type") else native.dictionary_encode()
    encoded = encoded.combine_chunks()
    if hasattr(encoded, "num_chunks"):  # no rows, or too many strings for one array
        return code_values(np.asarray(native.to_pylist(), dtype=object))
    indices = encoded.indices
    if str(indices.type).startswith("uint"):  # there is no -1 in them
        indices = indices.cast("int32" if len(encoded.dictionary) < 2**31 else "int64")
    return Coded.of(indices.fill_null(-1).to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist())


def code_values(values: NDArray[Any]) -> Coded:
    """A column of any array as codes."""
    if values.dtype.kind == "b":
        return Coded.of(values.view(np.int8), [False, True])
    if values.dtype.kind in "iu" and len(values):
        levels, codes = code_labels(values)
        return Coded.of(codes, levels.tolist())
    if values.dtype.kind == "f":
        levels, codes = np.unique(values, return_inverse=True, equal_nan=True)
        return Coded.of(codes.reshape(-1).astype(np.int32), levels.tolist())
    return _code_objects(values)


def _code_objects(values: NDArray[Any]) -> Coded:
    items = values.tolist()
    place = {name: code for code, name in enumerate(dict.fromkeys(items))}
    codes = np.fromiter(map(place.__getitem__, items), dtype=np.int32, count=len(items))
    return Coded.of(codes, list(place))
