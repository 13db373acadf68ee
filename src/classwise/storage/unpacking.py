"""JSON and named arrays as a value again: nothing is built but what was declared, nor much more than the file holds."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.errors import StoredFileError
from classwise.storage.blaming import NewerFileError
from classwise.storage.registry import ENTRIES

# How deep values may stand in each other; models are about twenty deep.
DEPTH = 64

# What is built may be so many times as large as the file: an array may be used in several places.
TIMES = 64
FREE_BYTES = 1 << 20


class Unpacker:
    """Builds the values of one file. size: of the file, in bytes."""

    def __init__(self, arrays: dict[str, NDArray[Any]], size: int) -> None:
        self.arrays = arrays
        self.room = TIMES * size + FREE_BYTES
        self._texts: dict[tuple[str, str], NDArray[Any]] = {}
        self._tags: dict[frozenset[str], Callable[[dict[str, Any], int], Any]] = {
            frozenset({"array"}): self._array,
            frozenset({"array", "axes"}): self._array,
            frozenset({"text", "dtype"}): self._text,
            frozenset({"tuple"}): lambda node, depth: tuple(self._list(node["tuple"], depth)),
            frozenset({"dict"}): self._dict,
            frozenset({"float"}): self._float,
            frozenset({"class", "fields"}): self._declared,
        }

    def unpack(self, node: Any, depth: int = 0) -> Any:
        """The value of a node."""
        if depth > DEPTH:
            raise StoredFileError(f"values stand more than {DEPTH} deep in each other")
        if isinstance(node, list):
            return self._list(node, depth)
        if not isinstance(node, dict):
            return node
        if frozenset(node) not in self._tags:
            raise StoredFileError(f"it holds something with {', '.join(map(repr, list(node)[:4]))}, which nothing has")
        return self._tags[frozenset(node)](node, depth)

    def _list(self, nodes: list[Any], depth: int) -> list[Any]:
        if not isinstance(nodes, list):
            raise StoredFileError("something that is not a list stands where one is expected")
        return [self.unpack(node, depth + 1) for node in nodes]

    def _dict(self, node: dict[str, Any], depth: int) -> dict[Any, Any]:
        pairs = self._list(node["dict"], depth)
        if not all(isinstance(pair, list) and len(pair) == 2 and _is_key(pair[0]) for pair in pairs):
            raise StoredFileError("the pairs of a dict are not pairs")
        return dict(pairs)

    def _float(self, node: dict[str, Any], depth: int) -> float:
        return {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[node["float"]]

    def _array(self, node: dict[str, Any], depth: int) -> NDArray[Any]:
        array = self.arrays[node["array"]]
        self._take(array.nbytes)
        if "axes" not in node:
            return array
        axes = node["axes"]
        if sorted(axes) != list(range(array.ndim)) or not all(type(axis) is int for axis in axes):
            raise StoredFileError(f"the axes {axes!r} are not those of the array {node['array']!r}")
        return array.transpose(np.argsort(axes))

    def _text(self, node: dict[str, Any], depth: int) -> NDArray[Any]:
        name, dtype = node["text"], node["dtype"]
        if (name, dtype) not in self._texts:
            array = self.arrays[name]
            self._take(16 * array.nbytes)
            self._texts[name, dtype] = self._text_array(json.loads(array.tobytes()), dtype)
        return self._texts[name, dtype]

    def _text_array(self, values: Any, dtype: str) -> NDArray[Any]:
        kinds: tuple[type, ...] = (str, int, float) if dtype == "O" else (str,)
        if not isinstance(values, list) or not all(isinstance(value, kinds) for value in values):
            raise StoredFileError("an array of text holds something else")
        if dtype == "O":
            return np.fromiter(values, dtype=object, count=len(values))
        if dtype == "T":
            return np.array(values, dtype=np.dtypes.StringDType())
        width = int(dtype.removeprefix("U"))
        if width < max(map(len, values), default=0):
            raise StoredFileError("text is longer than its array")
        # One long label among many short ones would take much room in an array where all are equally long.
        self._take(4 * width * len(values))
        return np.array(values, dtype=f"<U{width}")

    def _declared(self, node: dict[str, Any], depth: int) -> Any:
        entry = ENTRIES.get(node["class"])
        if entry is None:
            raise NewerFileError(f"holds a {node['class']!r}, which this version of classwise does not know")
        known = entry.options | entry.attributes
        unknown = [name for name in node["fields"] if name not in known]
        if unknown:
            raise NewerFileError(
                f"holds a {entry.name} with {unknown[0]!r}, which this version of classwise does not know"
            )
        lacking = sorted(entry.required - set(node["fields"]))
        if lacking:
            raise StoredFileError(f"its {entry.name} lacks {lacking[0]!r}")
        return entry.make({name: self.unpack(item, depth + 1) for name, item in node["fields"].items()})

    def _take(self, count: int) -> None:
        self.room -= count
        if self.room < 0:
            raise StoredFileError(f"it would take more than {TIMES} times its size in memory")


def _is_key(key: Any) -> bool:
    items = key if isinstance(key, tuple) else (key,)
    return all(item is None or isinstance(item, (str, int, float, bool)) for item in items)
