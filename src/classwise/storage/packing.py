"""Save, load: a value, its file, and the value again. A file is a value as JSON and named arrays, in a container.

None, yes and no, numbers, text    themselves; numbers that JSON lacks as {"float": "inf"}
lists, tuples, dicts               [...], {"tuple": [...]}, {"dict": [[key, value], ...]}
arrays of numbers                  {"array": name}, with the order of the axes where it is not C's
arrays of text and objects         {"text": name, "dtype": "U5"}: the array `name` is a JSON list in bytes
values of declared classes         {"class": name, "fields": {...}}
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from classwise.errors import ClasswiseError, StoredFileError
from classwise.storage.container import (
    VERSION,
    OtherVersionError,
    blaming,
    description,
    encoded,
    provenance,
    read_arrays,
    read_header,
    write,
)
from classwise.storage.registry import ENTRIES, entry_of, examine

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


# ----------------------------------------------------------------------------------------------------------------------
# JSON and named arrays as a value again: nothing is built but what was declared, nor much more than the file holds.

# How deep values may stand in each other; models are about twenty deep.
DEPTH = 64

# What is built may be this many times as large as the file: an array may be used in several places.
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
            raise OtherVersionError(f"holds a {node['class']!r}, which this version of classwise does not know")
        known = entry.options | entry.attributes
        unknown = [name for name in node["fields"] if name not in known]
        if unknown:
            raise OtherVersionError(
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


# Save, load: a value, its file, and the value again -------------------------------------------------------------------


# The array that says, in JSON, how the others make up the value.
CONTENT = "content"


def save(
    value: Any,
    path: str | os.PathLike[str],
    *,
    statistics: bool = True,
    source: str | Iterable[str] | None = None,
) -> None:
    """Write a fitted estimator (usually `.cw`) or a statistic (`.cws`) to one file, which `load` reads.

    A loaded model gives the same answers, to the last bit, and keeps learning. The file appears when it is complete;
    one of that name is replaced.

    Parameters
    ----------
    value : estimator or statistics
        A fitted estimator, or statistics.
    path : str or path
        The path of the file.
    statistics : bool, default=True
        False leaves out what was gathered from the rows, for privacy and size. The model answers as before,
        but cannot keep learning.
    source : str or list of str, optional
        The name of the table, or the names of the tables, that the rows came from; kept for `describe`.

    Examples
    --------
    >>> import classwise as cw, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.cw"
    >>> cw.save(cw.LDA().fit([[1.0], [2.0], [8.0], [9.0]], ["a", "a", "b", "b"]), path)
    >>> cw.load(path).predict([[3.0]]).tolist()
    ['a']
    """
    write(Path(path), as_bytes(value, statistics=statistics, source=source))


def as_bytes(value: Any, *, statistics: bool = True, source: str | Iterable[str] | None = None) -> bytes:
    """What `save` would write."""
    entry = entry_of(value)
    if entry is None or entry.kind is None:
        known = ", ".join(name for name, other in ENTRIES.items() if other.kind)
        raise ClasswiseError(f"A {type(value).__name__} cannot be saved; these can: {known}.")
    packer = Packer(outline=not statistics)
    content = packer.pack(value)
    _refuse_unsound(value)
    facts = {"class": entry.name, "statistics": statistics, **value._facts(), **provenance(source)}
    arrays = {**packer.arrays, CONTENT: np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)}
    return encoded({"kind": entry.kind, "version": VERSION, "facts": facts}, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read what classwise saved: an estimator or a statistic.

    Loading never executes anything. A file that is damaged, hostile or of another version is a StoredFileError.

    Parameters
    ----------
    path : str or path
        The path of the file.

    Returns
    -------
    estimator or statistics
        What was saved.

    Examples
    --------
    >>> import classwise as cw, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "part-1.cws"
    >>> cw.summarize([[1.0], [2.0], [9.0]], ["a", "a", "b"]).save(path)
    >>> cw.load(path)
    ClassStatistics(2 classes, 1 feature, weight 3, full scatter)
    """
    with blaming(path), Path(path).open("rb") as file:
        header = read_header(file)
        arrays, size = read_arrays(file)
        description(header, size)  # refuses a header that no file of ours has
        value = _read(header, arrays, size)
        examine(value)
        _refuse_unfitted(value)
        return value


def _read(header: dict[str, Any], arrays: dict[str, Any], size: int) -> Any:
    kind = header["kind"]
    if kind not in {entry.kind for entry in ENTRIES.values()}:
        raise OtherVersionError(f"holds a {kind!r} (version {VERSION}), which this version of classwise does not know")
    value = Unpacker(arrays, size).unpack(json.loads(arrays[CONTENT].tobytes()))
    entry = entry_of(value)
    if entry is None or entry.kind != kind:
        raise StoredFileError(f"its header promises a {kind!r}, and it holds something else")
    return value


def _refuse_unfitted(value: Any) -> None:
    """An object without facts for a header cannot be saved: its fitted attributes are gone."""
    try:
        value._facts()
    except NotFittedError as problem:
        raise StoredFileError(f"its {type(value).__name__} is not fitted") from problem


def _refuse_unsound(value: Any) -> None:
    try:
        examine(value)
    except StoredFileError as problem:
        raise ClasswiseError(f"This {type(value).__name__} cannot be saved: {problem}.") from problem
