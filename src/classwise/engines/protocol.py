"""What an engine is asked for: two verbs, gather and apply."""

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

from numpy.typing import NDArray

from classwise.rows import Table


class Addable(Protocol):
    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Addable)


class Engine(Protocol):
    """Maps a function over chunks of rows."""

    def gather(self, summarize: Callable[[Table], S], table: Table, chunk_rows: int) -> S:
        """The sum of summarize(chunk), added in the order of the rows."""
        ...

    def apply(self, function: Callable[[Table], NDArray[Any]], table: Table, chunk_rows: int) -> NDArray[Any]:
        """function(chunk) -> (..., m) on each chunk, kept side by side in the order of the rows: (..., n)."""
        ...
