"""A value as JSON and named arrays: the first half of every file.

None, yes and no, numbers, text    themselves; numbers that JSON lacks as {"float": "inf"}
lists, tuples, dicts               [...], {"tuple": [...]}, {"dict": [[key, value], ...]}
arrays of numbers                  {"array": name}, with the order of the axes where it is not C's
arrays of text and objects         {"text": name, "dtype": "U5"}: the array `name` is a JSON list in bytes
values of declared classes         {"class": name, "fields": {...}}
"""

import hashlib
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.errors import ClasswiseError
from classwise.storage.registry import entry_of

PLAIN = (bool, int, str, type(None))
NUMBERS = "biuf"


class Packer:
    """Gathers the arrays of a value; equal arrays are stored once.

    outline: leave out what a value can do without: each value that has an `_outline` is replaced by it.
    """

    def __init__(self, outline: bool = False) -> None:
        self.outline = outline
        self.arrays: dict[str, NDArray[Any]] = {}
        self._known: dict[bytes, str] = {}

    def pack(self, value: Any, where: str = "") -> Any:
        """A value as JSON. where: its place in the whole, which names its arrays."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"float": str(float(value))}
        if isinstance(value, PLAIN):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if type(value) in (list, tuple, dict):
            return self._container(value, where)
        entry = entry_of(value)
        if entry is None:
            raise ClasswiseError(_refusal(value, where))
        return self._declared(value, where)

    def _container(self, value: Any, where: str) -> Any:
        if isinstance(value, dict):
            return {"dict": [[_key(key, where), self.pack(item, f"{where}.{key}")] for key, item in value.items()]}
        items = [self.pack(item, f"{where}.{i}") for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}

    def _declared(self, value: Any, where: str) -> Any:
        if self.outline and hasattr(value, "_outline"):
            value = value._outline()  # perhaps of another class
        entry = entry_of(value)
        assert entry is not None
        held = entry.taken_from(value)
        fields = {name: self.pack(item, f"{where}.{name}".lstrip(".")) for name, item in held.items()}
        return {"class": entry.name, "fields": fields}

    def _array(self, array: NDArray[Any], where: str) -> Any:
        if array.dtype.kind in NUMBERS and array.dtype.itemsize <= 8:
            # Sums depend on the order in which they are taken, and NumPy's on how an array lies in memory.
            axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
            order = {} if array.flags.c_contiguous or axes == sorted(axes) else {"axes": axes}
            return {"array": self._add(array.transpose(axes) if order else array, where), **order}
        if array.dtype.kind not in "UOT":
            raise ClasswiseError(_refusal(array, where))
        values = [_plain(item, where) for item in array.tolist()]
        text = np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)
        width = str(array.dtype.itemsize // 4) if array.dtype.kind == "U" else ""
        return {"text": self._add(text, where), "dtype": array.dtype.kind + width}

    def _add(self, array: NDArray[Any], where: str) -> str:
        """The name of an array that is equal to this one, or a new one."""
        array = np.array(array, dtype=array.dtype.newbyteorder("<"), order="C", ndmin=array.ndim, copy=None)
        digest = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode() + array.tobytes()).digest()
        if digest not in self._known:
            self._known[digest] = where if where not in self.arrays else f"{where} {len(self.arrays)}"
            self.arrays[self._known[digest]] = array
        return self._known[digest]


def _key(key: Any, where: str) -> Any:
    """A key of a dict, which may be several at once."""
    return {"tuple": [_plain(item, where) for item in key]} if type(key) is tuple else _plain(key, where)


def _plain(item: Any, where: str) -> Any:
    """An item of an array of objects, or of a key of a dict, as JSON has it."""
    if isinstance(item, np.generic):
        item = item.item()
    if not isinstance(item, (str, int, float)) or item != item:
        raise ClasswiseError(_refusal(item, where))
    return str(item) if isinstance(item, str) else item


def _refusal(value: Any, where: str) -> str:
    """What cannot be stored, and what to do about it."""
    what = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    name = where.split(".")[-1]
    remedy = {
        "labels": "use strings, integers or booleans as labels",
        "levels": "use strings, numbers or booleans as levels",
        "random_state": "a seed can be stored: call set_params(random_state=0), or None, and save again",
        "folds": "they are needed no more: call set_params(folds=10) and save again",
        "model": "only models of classwise can",
    }
    return f"{where} of type {what} cannot be stored; {remedy.get(name, 'numbers and text can')}."
