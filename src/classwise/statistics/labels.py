"""Labels as codes: the sorted distinct labels, and for each row the position of its own among them."""

from itertools import pairwise
from typing import Any

import numpy as np

from classwise.arrays import Codes, Labels
from classwise.errors import ClasswiseError


def code_labels(labels: Labels) -> tuple[Labels, Codes]:
    """The sorted distinct labels (g,), and the code of each row (m,), in the smallest integer type that holds them.

    >>> distinct, codes = code_labels(np.array(["b", "a", "b"]))
    >>> distinct, codes
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1], dtype=int16))
    """
    if labels.dtype.kind == "b":
        distinct, codes = _code_by_range(labels.view(np.uint8))
        return distinct.astype(bool), codes
    if labels.dtype.kind in "iu":
        return _code_integers(labels)
    if labels.dtype.kind == "f":
        return _code_floats(labels)
    return _code_by_hash(labels)


def _code_integers(labels: Labels) -> tuple[Labels, Codes]:
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
    # np.union1d would turn numbers beside strings into strings, and integers beside other numbers into floats.
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
