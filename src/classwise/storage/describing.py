"""What a file holds, from its header alone: no array is read, and safetensors is not needed."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from classwise.errors import StoredFileError
from classwise.storage.container import blaming, printable, read_header
from classwise.storage.examining import fits

T = TypeVar("T")

# So many labels and columns are shown.
SHOWN = 20


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
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        lines = {
            self.kind: f"{self.holds}({options})" if options else self.holds,
            "written": f"{self.date} by {made}" if self.date else made,
            "sources": ", ".join(self.sources),
            "learned": self._learned(),
            "log loss": "" if self.log_loss is None else f"{_digits(self.log_loss)}, on rows held out",
            "labels": _list([repr(label) for label in self.labels]),
            "columns": _list([_shown(i, column) for i, column in enumerate(self.columns)]),
            "missing": _list([repr(mark) for mark in self.missing]),
            "size": f"{self.size} bytes, {'with' if self.statistics else 'without'} statistics",
        }
        told = [(name, text) for name, text in lines.items() if text]
        told += [("" if i else "members", str(member)) for i, member in enumerate(self.members)]
        return "\n".join(f"{name:12}{printable(text, 2000)}" for name, text in told)

    def _learned(self) -> str:
        weight = "" if self.weight is None else f" of weight {self.weight:g}"
        return "" if self.rows is None else f"from {self.rows} rows{weight}"


def describe(path: str | os.PathLike[str]) -> Description:
    """What a file of classwise holds and where it comes from, without reading its numbers.

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
    """What a header tells, checked."""
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
    """Four digits; infinity is told in a word."""
    return loss if isinstance(loss, str) else f"{loss:.4f}"


def _shown(place: int, column: ColumnDescription) -> str:
    return f"{place if column.name is None else column.name!r} ({column.family})"


def _list(items: list[str]) -> str:
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return ", ".join(items[:SHOWN]) + more
