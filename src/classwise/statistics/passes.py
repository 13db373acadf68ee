"""Passes: rows wherever they are, gone through as often as it takes, by whichever engine is near them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from classwise.engines import DaskEngine, SparkEngine, StreamEngine, is_dask, is_spark
from classwise.engines.protocol import S
from classwise.engines.stream import named
from classwise.errors import ClasswiseError
from classwise.rows import Roles, Stream, level_columns
from classwise.rows.schema import Families
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.chunks import chunk_rows
from classwise.statistics.learner import Learner, Tally
from classwise.statistics.scatter import Scatter
from classwise.statistics.summarizing import finished, makes_rows, open_rows

GONE = (
    "fit_source reads rows several times, and these can be read once: write them to a file, or give a function that "
    "makes them anew each time it is called."
)


@dataclass(eq=False)
class Passes:
    """source: whatever `summarize` takes with a target and can be read several times; the others name its columns.

    done: how many passes there were.
    """

    source: Any
    target: str
    columns: Sequence[str] | None = None
    weights: str | None = None
    families: Families = "auto"
    done: int = 0
    _last: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if _is_gone(self.source):
            raise ClasswiseError(GONE)

    def summarize(self, form: type[Scatter], allow_missing: bool) -> ClassStatistics:
        """The statistics of all rows, in one pass."""
        learn = Learner(self.roles, form, self.families, allow_missing)
        return finished(self.gather(learn) or Tally(None), self.name)

    def gather(self, function: Callable[[Any], S], what: str = "Learning", rows: int = 0) -> S | None:
        """The sum of function(chunk), None where there are no rows; what: is said of the work; rows: that a chunk of a
        stream has at least. The function is sent to the workers of a cluster.
        """
        self.done += 1
        engine, needed = self._opened(), self.roles.needed
        if not isinstance(engine, Stream):
            return engine.gather(function, needed)
        size = max(chunk_rows(len(needed)), rows)
        stream = StreamEngine(engine, None if self.columns is None else needed, size)
        total: S | None = None
        for part in stream.gather(function, what=f"{what}, pass {self.done}"):
            try:
                total = part.value if total is None else total if part.value is None else total + part.value
            except ClasswiseError as problem:
                raise named(problem, part.piece) from problem
        return total

    @cached_property
    def roles(self) -> Roles:
        engine = self._first
        names = engine.names if isinstance(engine, Stream) else engine.names()
        return Roles.read(names, self.target, self.columns, self.weights, self.name)

    @property
    def name(self) -> str:
        """What messages call the rows."""
        return self._first.name if isinstance(self._first, Stream) else "the table"

    def _opened(self) -> Stream | DaskEngine | SparkEngine:
        """The rows, to be read from the beginning."""
        # Files, queries and tables can be read again as they are, and know by then what their columns hold.
        is_made = isinstance(self._first, Stream) and self._first.kind == "stream"
        return self._open() if is_made and self.done > 1 else self._first

    @cached_property
    def _first(self) -> Stream | DaskEngine | SparkEngine:
        return self._open()

    def _open(self) -> Stream | DaskEngine | SparkEngine:
        rows = self.source() if makes_rows(self.source) else self.source
        if _is_gone(rows) and rows is self._last:
            raise ClasswiseError(GONE)
        self._last = rows
        if is_dask(rows):
            return DaskEngine(rows)
        return SparkEngine(rows) if is_spark(rows) else open_rows(rows, [self.target, *level_columns(self.families)])


def _is_gone(rows: Any) -> bool:
    """Whether rows that have been read cannot be read again."""
    return isinstance(rows, Iterator) or hasattr(rows, "read_next_batch")
