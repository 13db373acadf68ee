"""Standard input as a file: rows are looked at twice, once for their types."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from classwise.sources.formats import COMPRESSIONS, SUFFIXES, sniff_format

# So many bytes tell the format.
ENOUGH = 64


@contextmanager
def spooled(stream: IO[bytes] | None = None) -> Iterator[Path]:
    """A temporary file that holds what a stream holds, named after its format; standard input, unless given."""
    stream = sys.stdin.buffer if stream is None else stream
    with TemporaryDirectory(prefix="classwise-") as folder:
        start = stream.read(ENOUGH)
        path = Path(folder) / f"rows{_suffix(start)}"
        with path.open("wb") as file:
            file.write(start)
            shutil.copyfileobj(stream, file)
        yield path


def _suffix(start: bytes) -> str:
    format, compression = sniff_format(start)
    name = next(suffix for suffix, known in SUFFIXES.items() if known is format)
    return name + next((suffix for suffix, known in COMPRESSIONS.items() if known == compression), "")
