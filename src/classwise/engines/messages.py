"""Values as bytes, on their way between processes: a pickle, and the arrays in it as they lie in memory.

Only a process and the workers that it has started itself read these.
"""

import mmap
import os
import pickle
from collections.abc import Sequence
from contextvars import ContextVar
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Generic, TypeVar
from weakref import WeakSet

import numpy as np

T = TypeVar("T")

# Arrays begin at multiples of this many bytes, as memory for them does.
ALIGNMENT = 64

# Shared values have numbers, since files of them may have the same path, one after the other.
NUMBERS = count()

# A worker keeps so many shared values at hand.
MOST_OPEN = 8


def send(stream: BinaryIO, parts: Sequence[memoryview]) -> None:
    """Write a value that is packed."""
    stream.write(sum(len(part) for part in parts).to_bytes(8, "little"))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read a value; EOFError where the other end is closed."""
    size = int.from_bytes(_read(stream, 8), "little")
    return unpack(_read(stream, size))


def _read(stream: Any, size: int) -> bytearray:
    memory = bytearray(size)
    if stream.readinto(memory) < size:
        raise EOFError
    return memory


def pack(value: Any) -> list[memoryview]:
    """The sizes of all parts, the pickle, and the arrays, each padded."""
    arrays: list[pickle.PickleBuffer] = []
    body = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    parts = [memoryview(body), *(array.raw() for array in arrays)]
    sizes = memoryview(np.array([len(parts), *map(len, parts)], dtype=np.int64).tobytes())
    return [piece for part in (sizes, *parts) for piece in (part, _padding(len(part)))]


def unpack(memory: Any) -> Any:
    """The value; its arrays are views of the memory."""
    view = memoryview(memory)
    (count,) = np.frombuffer(view, dtype=np.int64, count=1)
    at = _padded(8 + 8 * int(count))
    parts = []
    for size in np.frombuffer(view, dtype=np.int64, count=int(count), offset=8).tolist():
        parts.append(view[at : at + size])
        at += _padded(size)
    return pickle.loads(parts[0], buffers=parts[1:])


def _padding(size: int) -> memoryview:
    return memoryview(bytes(_padded(size) - size))


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


class Shared(Generic[T]):
    """A value that many calls take, and that workers read in place: it is written once, into memory that they map.

    It is written within `kept_workers`; elsewhere it is pickled as other values are, for Spark or Dask. The memory has
    no name, and so is freed with its last user, however that ends.
    """

    def __init__(self, value: T) -> None:
        self.value = value
        self._number = next(NUMBERS)
        self._lock = Lock()
        self._file: int | None = None

    def __reduce__(self) -> Any:
        written = WRITTEN.get(None)
        if written is None:
            return Shared, (self.value,)
        with self._lock:
            if self._file is None:
                self._file = _memory_of(pack(self.value))
                written.add(self)
        return _opened, (f"/proc/{os.getpid()}/fd/{self._file}", self._number)

    def close(self) -> None:
        """Free the memory, as soon as no worker reads it."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        self.close()


# What has been written so far within some work.
WRITTEN: ContextVar[WeakSet[Shared[Any]]] = ContextVar("written")


def _memory_of(parts: Sequence[memoryview]) -> int:
    """An open file in memory, with these parts."""
    file = os.memfd_create("classwise")
    try:
        for part in parts:
            while part:
                part = part[os.write(file, part) :]
    except BaseException:
        os.close(file)
        raise
    return file


# What this worker has opened, by path and number; the last used come last.
OPEN: dict[tuple[str, int], "Shared[Any]"] = {}


def _opened(path: str, number: int) -> "Shared[Any]":
    """The shared value, in a worker."""
    key = path, number
    if key not in OPEN:
        with Path(path).open("rb") as file:
            OPEN[key] = Shared(unpack(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
    OPEN[key] = OPEN.pop(key)
    while len(OPEN) > MOST_OPEN:
        del OPEN[next(iter(OPEN))]
    return OPEN[key]
