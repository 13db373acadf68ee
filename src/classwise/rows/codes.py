"""Labels and categories as codes: for each row the position of its label or level among those that there are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, pairwise
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels
from classwise.errors import ClasswiseError
from classwise.kernels import code_integers
from classwise.rows.device_rows import DeviceLabels


def code_labels(labels: Labels) -> tuple[Labels, Codes]:
    """The sorted distinct labels (g,), and the code of each row (m,), in the smallest integer type that holds them.

    >>> distinct, codes = code_labels(np.array(["b", "a", "b"]))
    >>> distinct, codes
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1], dtype=int16))
    """
    if isinstance(labels, DeviceLabels):
        labels = np.asarray(labels)
    if labels.dtype.kind == "b":
        distinct, codes = _code_by_range(labels.view(np.uint8))
        return distinct.astype(bool), codes
    if labels.dtype.kind in "iu":
        return _code_integers(labels)
    if labels.dtype.kind == "f":
        return _code_floats(labels)
    return _code_by_hash(labels)


def _code_integers(labels: Labels) -> tuple[Labels, Codes]:
    coded = code_integers(labels)
    if coded is not None:
        return coded
    spread = int(labels.max()) - int(labels.min())
    # A table over the range beats sorting unless the range is mostly holes.
    if spread <= 4 * len(labels) + 1024:
        return _code_by_range(labels)
    return _code_by_sorting(labels)


def _code_by_range(labels: Labels) -> tuple[Labels, Codes]:
    lowest = labels.min()
    offsets = labels if lowest == 0 and labels.dtype != np.uint64 else _offsets(labels, lowest)
    present = np.bincount(offsets) > 0
    distinct = np.flatnonzero(present)
    if len(distinct) < len(present):
        position = np.cumsum(present) - 1
        offsets = position[offsets]
    # Adding in the labels' own type: a range that starts at -2**63 or ends at 2**64 - 1 must not pass through int64.
    return lowest + distinct.astype(labels.dtype), narrow(offsets, len(distinct))


def _offsets(labels: Labels, lowest: Any) -> Codes:
    wide = labels if labels.dtype.itemsize == 8 else labels.astype(np.int64)  # int8: 127 - -128 must not wrap
    return (wide - wide.dtype.type(lowest)).astype(np.intp, copy=False)


def _code_by_sorting(labels: Labels) -> tuple[Labels, Codes]:
    distinct, codes = np.unique(labels, return_inverse=True)
    return distinct, narrow(codes, len(distinct))


def _code_floats(labels: Labels) -> tuple[Labels, Codes]:
    if not np.isfinite(labels).all():
        count = np.count_nonzero(~np.isfinite(labels))
        raise ClasswiseError(f"y contains NaN or infinity in {count} rows; remove those rows or give them a label.")
    fractional = labels[labels != np.floor(labels)]
    if len(fractional):
        raise ClasswiseError(
            f"Unknown label type: continuous. A label is a class, and y holds fractions such as {fractional[0]}; "
            "bin it, or turn it into integers or strings."
        )
    return _code_by_sorting(labels)


def _code_by_hash(labels: Labels) -> tuple[Labels, Codes]:
    values = labels.tolist()
    distinct = sort_labels(set(values))
    position = {label: code for code, label in enumerate(distinct)}
    codes = np.fromiter(map(position.__getitem__, values), dtype=np.intp, count=len(values))
    return as_labels(distinct, labels.dtype), narrow(codes, len(distinct))


def sort_labels(distinct: set[Any], source: str = "y") -> list[Any]:
    """Sorted labels; those that cannot be compared are an error that names where they come from."""
    missing = [label for label in distinct if is_missing(label)]
    if missing:
        raise ClasswiseError(f"y contains missing labels ({missing[0]!r}); remove those rows or give them a label.")
    try:
        return sorted(distinct)
    except TypeError:
        kinds = " and ".join(sorted({type(label).__name__ for label in distinct}))
        raise ClasswiseError(f"Labels must be sortable, and {source} mixes {kinds}; convert it to one type.") from None


def is_sorted(labels: Labels) -> bool:
    """Whether labels are distinct, and in order."""
    return labels.ndim == 1 and all(first < second for first, second in pairwise(labels.tolist()))


def is_missing(label: Any) -> bool:
    """None, or what is not equal to itself: NaN is not, and pandas' NA does not even say."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def as_labels(distinct: list[Any], dtype: "np.dtype[Any]") -> Labels:
    """A list of labels as an array of `dtype`; objects stay objects, one per label."""
    labels = np.empty(len(distinct), dtype=dtype)
    labels[:] = distinct
    return labels


def pack_labels(distinct: list[Any]) -> Labels:
    """Distinct labels as an array of the type that holds them exactly; of objects, where no other does.

    >>> pack_labels([1, 2.0]), pack_labels([1, 2.5]), pack_labels([False, True]), pack_labels([1, "a"])
    (array([1, 2]), array([1. , 2.5]), array([False,  True]), array([1, 'a'], dtype=object))
    """
    kinds = {type(label) for label in distinct}
    if kinds and kinds <= {bool, np.bool_}:
        return as_labels(distinct, np.dtype(bool))
    if not kinds or not all(issubclass(kind, (int, float, np.number)) for kind in kinds):
        return as_labels(distinct, np.dtype(object))
    return _pack_numbers([label.item() if isinstance(label, np.generic) else label for label in distinct])


def _pack_numbers(numbers: list[Any]) -> Labels:
    """float64 would merge integers beyond 2**53, and make 1.0 of 1: it holds what was float, or has a fraction."""
    floats = [number for number in numbers if isinstance(number, float)]
    if len(floats) == len(numbers):
        return np.array(numbers, dtype=np.float64)
    if all(number.is_integer() for number in floats):
        whole = [int(number) for number in numbers]
        fitting = (kind for kind in (np.int64, np.uint64) if _spans(np.iinfo(kind), whole))
        return as_labels(whole, np.dtype(next(fitting, object)))
    exact = all(int(float(number)) == number for number in numbers if not isinstance(number, float))
    return as_labels(numbers, np.dtype(np.float64 if exact else object))


def _spans(limits: "np.iinfo[Any]", numbers: list[int]) -> bool:
    return limits.min <= min(numbers) and max(numbers) <= limits.max


def narrow(codes: Codes, count: int) -> Codes:
    """Codes as 16-bit integers where they fit: NumPy sorts those by radix, several times faster."""
    return codes.astype(np.int16 if count < 2**15 else np.int32, copy=False)


def union_labels(first: Labels, second: Labels, source: str = "y") -> Labels:
    """The sorted labels of either; labels that cannot be compared are an error."""
    if not len(first) or not len(second):
        return second if len(second) else first
    kinds = {first.dtype.kind, second.dtype.kind}
    # np.union1d would turn numbers mixed with strings into strings, and integers mixed with other numbers into floats.
    if kinds <= set("iufb") and (kinds <= {"f"} or np.result_type(first, second).kind != "f"):
        return np.union1d(first, second)
    together = sort_labels({*first.tolist(), *second.tolist()}, source)
    return pack_labels(together) if kinds <= set("iufb") else as_labels(together, np.result_type(first, second))


def positions(some: Labels, among: Labels) -> Codes:
    """Where labels stand among sorted others, which hold them all: 1, 1.0 and True are one label.

    >>> positions(np.array([3.0, 1.0]), np.array([1, 2, 3])).tolist()
    [2, 0]
    """
    place = {label: position for position, label in enumerate(among.tolist())}
    return np.array([place[label] for label in some.tolist()], dtype=np.intp)


# Columns of levels, in whatever library they live ---------------------------------------------------------------------


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


def label_columns(prefix: str, labels: Sequence[Any]) -> list[str]:
    """What columns with something of each label are called, wherever answers go: names that differ by more than case.

    Databases fold case. So where labels do not differ otherwise, all but the first have a number after them, one that
    makes no name which another label has.

    >>> label_columns("posterior_", ["A", "A_2", "a", "b"])
    ['posterior_A', 'posterior_A_2', 'posterior_a_3', 'posterior_b']
    """
    plain = [f"{prefix}{label}" for label in labels]
    taken, names = {name.lower() for name in plain}, dict[str, str]()
    for name in plain:
        if name.lower() in names:
            name = next(other for n in count(2) if (other := f"{name}_{n}").lower() not in taken)
            taken.add(name.lower())
        names[name.lower()] = name
    return list(names.values())
