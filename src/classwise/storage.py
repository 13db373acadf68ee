"""Files: arrays and a JSON header in one safetensors file. Numbers and text only: loading an untrusted file is safe."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from classwise.errors import ClasswiseError, MissingExtraError, StoredFileError

VERSION = 1


@dataclass(frozen=True)
class Record:
    """What a file holds: the kind of thing, its arrays, and the facts about it that JSON can tell."""

    kind: str
    arrays: dict[str, NDArray[np.float64]]
    facts: dict[str, Any]


class Stored(Protocol):
    """Something that can be rebuilt from a record."""

    @classmethod
    def from_record(cls, record: Record) -> Any: ...


KINDS: dict[str, type[Stored]] = {}
T = TypeVar("T", bound=type[Stored])


def stored(kind: str) -> Callable[[T], T]:
    """Declare the class that `load` builds from files of this kind."""

    def declare(cls: T) -> T:
        KINDS[kind] = cls
        return cls

    return declare


def write(path: str | os.PathLike[str], record: Record) -> None:
    """Write atomically: the file appears under its name only when it is complete."""
    header = {"classwise": json.dumps({"kind": record.kind, "version": VERSION, "facts": record.facts})}
    # ascontiguousarray: safetensors stores the bytes as they lie, whatever the strides say.
    arrays = {name: np.ascontiguousarray(values) for name, values in record.arrays.items()}
    content = _safetensors().save(arrays, header)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} to; create it first.")
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Read what classwise saved: a statistic.

    >>> import classwise as cw, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "part-1.cws"
    >>> cw.summarize([[1.0], [2.0], [9.0]], ["a", "a", "b"]).save(path)
    >>> cw.load(path)
    ClassStatistics(2 classes, 1 feature, weight 3, full scatter)
    """
    record = read(path)
    if record.kind not in KINDS:
        raise StoredFileError(f"{path} holds a {record.kind!r}, which this version of classwise does not know.")
    try:
        return KINDS[record.kind].from_record(record)
    except (KeyError, TypeError, ClasswiseError, IndexError) as problem:
        raise StoredFileError(f"{path} is damaged: {problem}") from problem


def read(path: str | os.PathLike[str]) -> Record:
    """The record in a file."""
    content = Path(path).read_bytes()
    try:
        arrays = _safetensors().load(content)
        length = int.from_bytes(content[:8], "little")
        header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["classwise"])
        kind, version, facts = header["kind"], header["version"], header["facts"]
    except MissingExtraError:
        raise
    except Exception as problem:  # whatever a damaged file provokes in the reader, the file is the cause
        raise StoredFileError(f"{path} is not a classwise file, or is damaged ({problem}).") from problem
    if version > VERSION:
        raise StoredFileError(f"{path} was written by a newer classwise (file version {version}); upgrade to read it.")
    return Record(kind, arrays, facts)


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError as problem:
        raise MissingExtraError('Saving and loading need safetensors: pip install "classwise[files]".') from problem
    return safetensors.numpy
