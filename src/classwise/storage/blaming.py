"""One kind of error for all that can be wrong with a file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG

from classwise.errors import MissingExtraError, StoredFileError


class NewerFileError(StoredFileError):
    """A file holds what only a later version can know; the message goes on from the file's name."""


@contextmanager
def blaming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever goes wrong while a file is read is the file's fault, but that it is not there or may not be read."""
    if not S_ISREG(Path(path).stat().st_mode):  # a folder, or a device that never ends
        raise StoredFileError(f"{path} is not a classwise file: it is not even a plain file.")
    try:
        yield
    except (MissingExtraError, OSError):
        raise
    except NewerFileError as problem:
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
