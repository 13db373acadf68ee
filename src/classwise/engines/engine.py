"""What an engine does: it gathers and applies, with the same arguments wherever the rows are.

A new engine is a SourceEngine, and a line in the table `ENGINES` that says which rows are its own. From outside the
package, `register_engine` adds that line; docs/extending.md has an example.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

from numpy.typing import NDArray

from classwise.rows.roles import Chunk, as_arrow

# What chunks add up to: a statistic, or None of chunks that add nothing.
S = TypeVar("S")


class AddedColumns(Protocol):
    """Columns that are computed for rows where these are, and put next to some of their own.

    carried: the columns that go along, by the names that they are to have, with those under which chunks have them;
    empty: the columns that are added, without a row.
    """

    @property
    def carried(self) -> Mapping[str, str]: ...

    @property
    def empty(self) -> dict[str, NDArray[Any]]: ...

    def columns(self, chunk: Chunk) -> dict[str, NDArray[Any]]:
        """The columns that are added to a chunk; (m,) each."""
        ...


class Engine(Protocol):
    """Maps a function over chunks of rows: 4."""

    def gather(self, summarize: Callable[[Any], S], rows: Any, size: int) -> S:
        """The sum of summarize(chunk) over chunks of about `size` rows, in their order; None adds nothing."""
        ...

    def apply(self, answer: Any, rows: Any, size: int) -> Any:
        """Every chunk's answer, in the order of the rows and in the place where they are.

        Of a table in memory an array; of a stream an iterator of tables of pyarrow's, and of a cluster's DataFrame a
        DataFrame, where `answer` is AddedColumns.
        """
        ...


class SourceEngine(Engine, Protocol):
    """An engine of rows whose columns have names. A cluster's functions are sent to its workers."""

    def names(self, rows: Any) -> list[str]:
        """The columns of rows."""
        ...

    def select(self, rows: Any, columns: Sequence[str], numbered: bool = False) -> Any:
        """Rows of these columns alone; numbered: whether the numbers of chunks matter."""
        ...

    def numbering(self, count: Callable[[Any], int]) -> "SourceEngine":
        """The same, where only some rows have numbers: count(table) of a table.

        An engine whose chunks have numbers of their own, as the partitions of a cluster do, need not care.
        """
        return self


def total(parts: Iterable[S]) -> S:
    """The sum of statistics in their order; None, which adds nothing, where there is none.

    >>> total([None, 2, None, 3])
    5
    """
    whole: Any = None
    for part in parts:
        whole = part if whole is None else whole if part is None else whole + part
    return cast("S", whole)


def beside(answer: AddedColumns, chunk: Chunk) -> Any:
    """The keys of a chunk and what is added to them, as a table of pyarrow's."""
    import pyarrow as pa

    # Text where answers are text, also where all of a chunk are None.
    types = {name: pa.string() for name, values in answer.empty.items() if values.dtype.kind in "OU"}
    added = pa.table({name: pa.array(values, types.get(name)) for name, values in answer.columns(chunk).items()})
    if not answer.carried:
        return added
    keys = as_arrow(chunk.frame.select(list(answer.carried.values())))
    return pa.table([*keys.columns, *added.columns], names=[*answer.carried, *added.column_names])
