"""The file itself: arrays and a JSON header, in the format of safetensors.

8 bytes: n    n bytes: JSON {"__metadata__": {"classwise": "..."}, name: {dtype, shape, data_offsets}, ...}    arrays
"""

import json
import os
import secrets
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from classwise.errors import MissingExtraError, StoredFileError
from classwise.storage.blaming import NewerFileError

# The longest JSON header that safetensors writes and reads.
LONGEST_HEADER = 100_000_000

KEY = "classwise"

# Version 1: statistics only; arrays by the names of the parts, and facts about them in the header.
# Version 2: any declared class, packed; where it comes from is in the header.
VERSION = 2


def encoded(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """What a file holds."""
    return bytes(_safetensors().save(arrays, {KEY: json.dumps(header)}))


def write(path: Path, content: bytes) -> None:
    """Write atomically: the file appears under its name only when it is complete."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to; create it first.")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_header(file: BinaryIO) -> dict[str, Any]:
    """The header that classwise wrote, from the start of a file."""
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= min(LONGEST_HEADER, os.fstat(file.fileno()).st_size - 8):
        raise StoredFileError("it does not begin as a safetensors file does")
    header = json.loads(json.loads(file.read(length))["__metadata__"][KEY])
    kinds = (type(header["kind"]), type(header["version"]), type(header["facts"]))
    if kinds != (str, int, dict):
        raise StoredFileError("its header is not one that classwise writes")
    _refuse_newer(header)
    return dict(header)


def _refuse_newer(header: dict[str, Any]) -> None:
    if header["version"] > VERSION:
        raise NewerFileError(
            f"was written by a newer classwise ({header['facts'].get('library', '')}, file version "
            f"{header['version']}); upgrade to read it"
        )


def read_arrays(file: BinaryIO) -> tuple[dict[str, NDArray[Any]], int]:
    """All arrays of a file, and its size."""
    file.seek(0)
    content = file.read()
    arrays = _safetensors().load(content)
    for name, array in arrays.items():
        # An array without numbers takes no room, whatever its shape says; what is made from its shape might.
        if max(array.shape, default=0) > len(content):
            raise StoredFileError(f"the array {name!r} has shape {array.shape}, longer than the file")
        _refuse_not_bool(name, array)
    return arrays, len(content)


def _refuse_not_bool(name: str, array: NDArray[Any]) -> None:
    """NumPy takes any byte for a bool, and counts wrongly if it is neither 0 nor 1."""
    if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
        raise StoredFileError(f"the array {name!r} holds bytes that are neither yes nor no")


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError as problem:
        raise MissingExtraError('Saving and loading need safetensors: pip install "classwise[files]".') from problem
    return safetensors.numpy
