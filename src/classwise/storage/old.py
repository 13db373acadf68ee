"""Files of older versions: each version and kind has a function that reads it, for good."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Record:
    """What a file of version 1 holds: arrays, and the facts about them that JSON can tell."""

    arrays: dict[str, NDArray[np.float64]]
    facts: dict[str, Any]


Reader: TypeAlias = Callable[[Record], Any]

READERS: dict[tuple[int, str], Reader] = {}


def reads(version: int, kind: str) -> Callable[[Reader], Reader]:
    """Declare the function that reads files of this version and kind."""

    def declare(reader: Reader) -> Reader:
        READERS[version, kind] = reader
        return reader

    return declare
