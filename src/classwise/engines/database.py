"""Rows of a database: sums over all rows are computed there, and everything else from its rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from classwise.engines.engine import S
from classwise.engines.stream import StreamEngine
from classwise.rows.databases import Query
from classwise.rows.roles import Chunk
from classwise.rows.streams import Stream


@runtime_checkable
class Asking(Protocol):
    """What a database may compute, rather than send its rows."""

    def of_query(self, query: Query) -> Any:
        """The same as of all rows of a query; None where rows have to be read, or that is faster."""
        ...


@dataclass(frozen=True, eq=False)
class DatabaseEngine(StreamEngine):
    """A stream whose only piece is a query."""

    def gather(self, summarize: Callable[[Chunk], S], rows: Stream, size: int) -> S:
        (query,) = rows.pieces
        found = summarize.of_query(query) if isinstance(summarize, Asking) and isinstance(query, Query) else None
        return super().gather(summarize, rows, size) if found is None else found


def is_database(rows: Any) -> bool:
    """Whether rows are those of one query."""
    return isinstance(rows, Stream) and len(rows.pieces) == 1 and isinstance(rows.pieces[0], Query)
