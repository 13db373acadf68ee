"""The lines of a text file: the first, which names the columns, and the first that does not fit."""

import csv
import io
import re
from glob import glob, has_magic

from classwise.errors import ClasswiseError

SEPARATORS = ",;\t|"

# The first line is looked for in so many bytes.
LONGEST = 1 << 20

MARK = b"\xef\xbb\xbf"


def matching(path: str) -> list[str]:
    """The files that a name stands for: "rows/*.csv" may be many, and is one at least."""
    if not has_magic(path):
        return [path]
    found = sorted(glob(path))  # noqa: PTH207 (a Path does not take patterns from the root)
    if not found:
        raise ClasswiseError(f"There is no file {path!r}.")
    return found


def _start(path: str) -> bytes:
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        return bytes(stream.read(LONGEST).removeprefix(MARK))


def blank_lines(path: str) -> int:
    """How many empty lines stand before the names of the columns."""
    start = _start(matching(path)[0])
    return start[: len(start) - len(start.lstrip(b"\r\n"))].count(b"\n")


def first_line(path: str) -> str:
    """The names of the columns, as they are written."""
    first = matching(path)[0]
    line = _start(first).lstrip(b"\r\n").split(b"\n")[0]
    if not line.strip():
        raise ClasswiseError(f"{first} is empty: its first line must name the columns.")
    return line.decode("utf-8", "replace")


def refuse_twins(line: str, sep: str, path: str) -> None:
    """Refuse a first line that names a column twice: which of the two is meant, nobody could say."""
    names = next(csv.reader([line], delimiter=sep), [])
    for i, name in enumerate(names):
        if name and name in names[:i]:
            raise ClasswiseError(f"{path} names the column {name!r} twice, in its first line; give each its own name.")


def separator(line: str) -> str:
    """What stands between names most often, outside of quotes; a comma, where nothing does.

    >>> separator('length;"width, in mm"')
    ';'
    """
    bare = re.sub(r'"[^"]*"', "", line)
    return max(SEPARATORS, key=bare.count)


def misfit(path: str, sep: str) -> str | None:
    """A sentence about the first line that has more or fewer values than there are columns, if one has."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        rows = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", "replace", newline=""), delimiter=sep)
        width = len(next(rows, []))
        for row in rows:
            if row and len(row) != width:
                return f"line {rows.line_num} has {len(row)} values, and the first line names {width} columns."
    return None
