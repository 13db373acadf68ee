"""The container: a safetensors file with a JSON header, what the header holds, and one kind of error for all damage."""

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from math import isfinite
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from classwise.errors import ClasswiseError, MissingExtraError, StoredFileError
from classwise.storage.registry import fits

T = TypeVar("T")

# This many labels and columns are shown.
SHOWN = 20


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
# What a header holds: provenance, in JSON that a person can read.

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
        raise StoredFileError("it does not begin as the files of fit, compare and summarize do")
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


# ----------------------------------------------------------------------------------------------------------------------
# What a file holds, from its header alone: no array is read, and safetensors is not needed.


@dataclass(frozen=True)
class ColumnDescription:
    """A column: its name (None in an array), its type, and the family that describes it."""

    name: str | None
    type: str
    family: str


@dataclass(frozen=True)
class MemberDescription:
    """A member of a stack: its weight and temperature, and its log loss alone, on rows held out."""

    name: str
    weight: float
    temperature: float
    log_loss: float | str

    def __str__(self) -> str:
        facts = f"weight {self.weight:.3f}, temperature {self.temperature:.2f}, log loss {_digits(self.log_loss)}"
        return f"{self.name}: {facts}"


@dataclass(frozen=True)
class Description:
    """What a file says about itself; it prints as a table.

    kind: "model" or "statistics"; holds: the class; version: of the file's format; library: the version of classwise
    that wrote it; date: when, in UTC; sources: names of the tables that the rows came from, if they were given.
    rows: how many were learned from, weight: what they weigh, None where the model does not keep it; statistics:
    whether what was gathered is in the file. members, log_loss: of a stack, on rows held out. missing: what stands for
    a missing value in files of rows, where it is not the usual.
    """

    kind: str
    holds: str
    version: int
    library: str | None
    date: str | None
    sources: list[str]
    rows: int | None
    weight: float | None
    labels: list[Any]
    columns: list[ColumnDescription]
    options: dict[str, Any]
    statistics: bool
    size: int
    members: list[MemberDescription] = field(default_factory=list)
    log_loss: float | str | None = None
    missing: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        made = f"classwise {self.library}, file version {self.version}" if self.library else f"version {self.version}"
        options = ", ".join(f"{name}={value}" for name, value in self.options.items() if value is not None)
        lines = {
            self.kind: self.holds,
            "options": options,
            "written": f"{self.date} by {made}" if self.date else made,
            "sources": ", ".join(self.sources),
            "learned": self._learned(),
            "log loss": "" if self.log_loss is None else f"{_digits(self.log_loss)}, on rows held out",
            "labels": _list([str(label) for label in self.labels]),
            "columns": _list([_shown(i, column) for i, column in enumerate(self.columns)]),
            "missing": _list([repr(mark) for mark in self.missing]),
            "size": f"{self.size} bytes{self._with_statistics()}",
        }
        shown = [(name, text) for name, text in lines.items() if text]
        shown += [("" if i else "members", str(member)) for i, member in enumerate(self.members)]
        return "\n".join(f"{name:12}{printable(text, 2000)}" for name, text in shown)

    def _with_statistics(self) -> str:
        return "" if self.kind == "statistics" else f", {'with' if self.statistics else 'without'} statistics"

    def _learned(self) -> str:
        weight = "" if self.weight is None or self.weight == self.rows else f" of weight {self.weight:g}"
        return "" if self.rows is None else f"from {self.rows} rows{weight}"


def describe(path: str | os.PathLike[str]) -> Description:
    """What a file of classwise holds and where it comes from, without reading its numbers.

    Parameters
    ----------
    path : str or path
        The path of the file.

    Returns
    -------
    Description
        What the file holds.

    Examples
    --------
    >>> import classwise as cw, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.cw"
    >>> cw.save(cw.LDA().fit([[1.0], [2.0], [8.0], [9.0]], ["a", "a", "b", "b"]), path, source="heights.csv")
    >>> about = cw.describe(path)
    >>> about.holds, about.labels, about.rows, about.sources
    ('LDA', ['a', 'b'], 4, ['heights.csv'])
    """
    with blaming(path), Path(path).open("rb") as file:
        return description(read_header(file), os.fstat(file.fileno()).st_size)


def description(header: dict[str, Any], size: int) -> Description:
    """What a header holds, checked."""
    facts = header["facts"]
    return _checked(
        Description(
            header["kind"],
            facts["class"],
            header["version"],
            facts.get("library"),
            facts.get("date"),
            facts.get("sources", []),
            facts.get("rows"),
            facts.get("weight"),
            facts["labels"],
            [_checked(ColumnDescription(**column)) for column in facts["columns"]],
            facts.get("options", {}),
            facts.get("statistics", True),
            size,
            [_checked(MemberDescription(**member)) for member in facts.get("members", [])],
            facts.get("log_loss"),
            facts.get("missing", []),
        )
    )


def _checked(made: T) -> T:
    """A description whose fields are what they are said to be."""
    if not all(fits(getattr(made, name), hint) for name, hint in get_type_hints(type(made)).items()):
        raise StoredFileError("its header is not one that classwise writes")
    return made


def _digits(loss: float | str) -> str:
    """Four digits; infinity as a word."""
    return loss if isinstance(loss, str) else f"{loss:.4f}"


def _shown(place: int, column: ColumnDescription) -> str:
    return f"{place if column.name is None else column.name} ({column.family})"


def _list(items: list[str]) -> str:
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more
