"""The lines of a text file: the first, which names the columns, and the first that does not fit."""

import csv
import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob, has_magic

from classwise.errors import ClasswiseError

SEPARATORS = ",;\t|"

# The first line is looked for in so many bytes.
LONGEST = 1 << 20

MARK = b"\xef\xbb\xbf"
LINE_END = re.compile("\r\n|\r|\n")
FIRST_LINE = re.compile(r'(?:"[^"]*"|[^"\r\n])*')


def matching(path: str) -> list[str]:
    """The files that a name stands for: that file, if there is one; else all that match, as "rows/*.csv" does."""
    if not has_magic(path) or os.path.isfile(path):  # noqa: PTH113 (a Path may be too long to ask)
        return [path]
    found = sorted(glob(path))  # noqa: PTH207 (a Path does not take patterns from the root)
    if not found:
        raise ClasswiseError(f"There is no file {path!r}.")
    return found


def literal(path: str) -> str:
    """A name as DuckDB is told it, which matches names itself: as the pattern that only this name matches.

    >>> literal("a[1].csv")
    'a[[]1].csv'
    """
    return re.sub(r"[*?[]", r"[\g<0>]", path)


@dataclass(frozen=True)
class Head:
    """How a text file begins. names: of its columns; separator: what stands between them; blank: lines before; end:
    of the line, "\\r\\n", "\\n" or "\\r", and "" where none is found.
    """

    names: tuple[str, ...]
    separator: str
    blank: int
    end: str


def read_head(path: str, sep: str | None = None) -> Head:
    """The head of a file, whose first line names the columns. sep: what stands between them, if that is known."""
    start = _start(path).decode("utf-8", "replace")
    text = start.lstrip("\r\n")
    if not text.split("\n")[0].strip():
        raise ClasswiseError(f"{path} is empty: its first line must name the columns.")
    sep = sep or separator(text)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=sep, skipinitialspace=True)
        fields = next(lines)
    except csv.Error as problem:
        raise ClasswiseError(f"{path} cannot be read: its first line does not name columns ({problem}).") from problem
    # Blanks around a name are no part of it, unless quotes say so.
    is_quoted = any('"' in line for line in text.splitlines()[: lines.line_num])
    names = tuple((name if is_quoted else name.strip()) or f"column{i}" for i, name in enumerate(fields))
    _refuse_twins(names, path)
    end = LINE_END.match(text, len(_first_line(text)))
    return Head(names, sep, len(LINE_END.findall(start[: len(start) - len(text)])), end.group() if end else "")


def _start(path: str) -> bytes:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        return bytes(stream.read(LONGEST).removeprefix(MARK))


def _refuse_twins(names: Sequence[str], path: str) -> None:
    """Refuse a first line that names a column twice: which of the two is meant, nobody could say."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ClasswiseError(f"{path} names the column {name!r} twice, in its first line; give each its own name.")


def separator(text: str) -> str:
    """What stands between names most often in the first line, outside of quotes; a comma, where nothing does.

    >>> separator('length;"width, in mm"\\n1,5;2,5')
    ';'
    """
    bare = re.sub(r'"[^"]*"', "", _first_line(text))
    return max(SEPARATORS, key=bare.count)


def _first_line(text: str) -> str:
    """Names may have ends of lines inside quotes."""
    first = FIRST_LINE.match(text)
    return first.group() if first else ""


def misfit(path: str, sep: str) -> str | None:
    """A sentence about the first line that has more or fewer values than there are columns, if one has."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        rows = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", "replace", newline=""), delimiter=sep)
        width = len(next(rows, []))
        try:
            for row in rows:
                if row and len(row) != width:
                    return f"line {rows.line_num} has {len(row)} values, and the first line names {width} columns."
        except csv.Error:  # it has a field too long for this reader, which DuckDB takes
            return None
    return None
