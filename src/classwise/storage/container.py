"""One kind of error for all that can be wrong with a file."""

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from math import isfinite
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from classwise.errors import ClasswiseError, MissingExtraError, StoredFileError


class OtherVersionError(StoredFileError):
    """A file holds what only another version can know; the message goes on from the file's name."""


@contextmanager
def blaming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever goes wrong while a file is read is the file's fault, but that it is not there or may not be read."""
    if not S_ISREG(Path(path).stat().st_mode):  # a folder, or a device that never ends
        raise StoredFileError(f"{path} is not a classwise file: it is not even a plain file.")
    try:
        yield
    except (MissingExtraError, OSError):
        raise
    except OtherVersionError as problem:
        raise StoredFileError(f"{path} {printable(str(problem))}.") from problem
    except Exception as problem:
        known = isinstance(problem, StoredFileError)
        reason = str(problem) if known else f"it cannot be read ({type(problem).__name__}: {problem})"
        raise StoredFileError(f"{path} is not a classwise file, or is damaged: {printable(reason)}.") from problem


def printable(text: str, most: int = 300) -> str:
    """Text out of a file: no more of it than fits, and nothing that a terminal would obey.

    >>> printable("red \\x1b[31m alert. ")
    'red  [31m alert'
    """
    text = "".join(letter if letter.isprintable() else " " for letter in text[: most + 1]).strip().rstrip(".")
    return text if len(text) <= most else text[:most] + " ..."


# ----------------------------------------------------------------------------------------------------------------------
# What a header tells: provenance, in JSON that a person can read.

# Options longer than this are cut in the header, where they are only for reading.
LONGEST_OPTION = 200


def provenance(source: str | Iterable[str] | None) -> dict[str, Any]:
    """The library's version, the date, and the names of the sources.

    The date is now, or SOURCE_DATE_EPOCH, which makes files reproducible to the byte.
    """
    version = import_module("classwise").__version__  # the package above us, which an import here would turn around
    sources = [source] if isinstance(source, str | os.PathLike) else list(source or [])
    return {"library": version, "date": _date(), "sources": [os.fspath(name) for name in sources]}


def _date() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError) as problem:
        raise ClasswiseError(f"SOURCE_DATE_EPOCH={epoch!r} is not a number of seconds since 1970.") from problem
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def shown(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options to read: what JSON has as it is, the rest as Python writes it.

    >>> shown({"share": 1.0, "priors": {"a": 0.5, "b": 0.5}})
    {'share': 1.0, 'priors': "{'a': 0.5, 'b': 0.5}"}
    """
    return {name: value if _is_plain(value) else repr(value)[:LONGEST_OPTION] for name, value in options.items()}


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, str) or (type(value) is float and isfinite(value))


# ----------------------------------------------------------------------------------------------------------------------
# The file itself: arrays and a JSON header, in the format of safetensors.
#
# 8 bytes: n    n bytes: JSON {"__metadata__": {"classwise": "..."}, name: {dtype, shape, data_offsets}, ...}
# arrays

# The longest JSON header that safetensors writes and reads.
LONGEST_HEADER = 100_000_000

KEY = "classwise"

# Of the format, and changed only with it: any declared class, packed; where it comes from is in the header.
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
    _refuse_other_versions(header)
    return dict(header)


def _refuse_other_versions(header: dict[str, Any]) -> None:
    version = header["version"]
    if version > VERSION:
        raise OtherVersionError(
            f"was written by a newer classwise ({header['facts'].get('library', '')}, file version {version}); "
            "upgrade to read it"
        )
    if version < VERSION:
        raise OtherVersionError(
            f"is of file version {version}, from before the first release, and this classwise reads version {VERSION}; "
            "gather or fit it again from the rows"
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
