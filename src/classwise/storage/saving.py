"""Save, load: a value, its file, and the value again."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
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
from classwise.storage.packing import Packer, Unpacker
from classwise.storage.registry import ENTRIES, entry_of
from classwise.storage.soundness import examine

# The array that says, in JSON, how the others make up the value.
CONTENT = "content"


def save(
    value: Any,
    path: str | os.PathLike[str],
    *,
    statistics: bool = True,
    source: str | Iterable[str] | None = None,
) -> None:
    """Write a fitted estimator (by custom `.cw`) or a statistic (`.cws`) to one file, which `load` reads.

    A loaded model gives the same answers, to the last bit, and goes on learning. The file appears when it is complete;
    one of that name is replaced.

    statistics: False leaves out what was gathered from the rows, for privacy and size. The model answers as before,
        but cannot go on learning.
    source: the name of the table, or the names of the tables, that the rows came from; kept for `describe`.

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
    """What has nothing to tell a header cannot have been saved: its fitted attributes are gone."""
    try:
        value._facts()
    except NotFittedError as problem:
        raise StoredFileError(f"its {type(value).__name__} is not fitted") from problem


def _refuse_unsound(value: Any) -> None:
    try:
        examine(value)
    except StoredFileError as problem:
        raise ClasswiseError(f"This {type(value).__name__} cannot be saved: {problem}.") from problem
