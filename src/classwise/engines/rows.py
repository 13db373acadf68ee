"""Rows wherever they are: a source, the roles of its columns, and the engine near it. Opened here, and only here.

rows = open_rows("rows/*.parquet", target="y")
rows.gather(summarize)      one pass; what chunks add up to
rows.held(most)             all of them in memory, if they are few
rows.sample(size, seed)     some of them, drawn by chance, in one pass
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.engines.dask import DaskEngine, is_dask
from classwise.engines.database import DatabaseEngine, is_database
from classwise.engines.drawn_rows import Count, Drawing, Keeping
from classwise.engines.engine import AddedColumns, S, SourceEngine
from classwise.engines.spark import SparkEngine, is_spark
from classwise.engines.stream import StreamEngine
from classwise.errors import ClasswiseError
from classwise.rows.databases import Query
from classwise.rows.roles import (
    Chunk,
    Counted,
    Roles,
    as_frame,
    count_rows,
    level_columns,
    read_weights,
    text_conversions,
    warn_of_unlabeled,
)
from classwise.rows.streams import ChunkPiece, FilePiece, Stream, open_stream
from classwise.rows.texts import SAMPLE, WiderTypeError

# Where a glance does not show how many rows there are, as in compressed text, this many bytes stand for a value.
PACKED = 2.0

GONE = (
    "{who} reads rows several times, and these can be read once: write them to a file, or give a function that makes "
    "them anew each time it is called."
)


class Held(NamedTuple):
    """Rows in memory, and what goes with them; a row without a label has a weight of zero."""

    X: Any
    y: Labels
    weights: Array | None
    groups: Any


@dataclass(eq=False)
class Rows:
    """open: gives the rows, from their beginning; roles: of their columns; name: what messages call them.

    levels: columns that are to be categories. is_gone: whether rows that have been read cannot be read again.
    passes: how many there were.
    """

    engine: SourceEngine
    open: Callable[..., Any]
    roles: Roles
    name: str
    all_columns: bool = False
    is_gone: bool = False
    levels: tuple[str, ...] = ()
    passes: int = field(default=0, repr=False)

    def gather(
        self,
        summarize: Callable[[Chunk], S],
        what: str = "Learning",
        least: int = 0,
        numbered: bool = False,
        ahead: int | None = None,
    ) -> S:
        """One pass: the sum of summarize(chunk), in the order of the rows; None adds nothing.

        what: is said of the work. least: rows that a chunk has at least, if it is a stream's. numbered: whether
        summarize asks for the numbers of rows. ahead: how many chunks of a stream are read ahead.
        """
        self.passes += 1
        engine = self.engine
        if isinstance(engine, StreamEngine):
            engine = replace(engine, what=what, ahead=engine.ahead if ahead is None else ahead)
        if numbered:  # a row that does not count has no number: chance by number takes no notice of it
            engine = engine.numbering(partial(count_rows, roles=self.roles))
        return engine.gather(summarize, self.chosen(numbered), max(self.chunk_rows, least))

    def apply(self, answer: AddedColumns) -> Any:
        """One pass: every chunk's answer beside its keys, in the order of the rows and where the rows are."""
        self.passes += 1
        return self.engine.apply(answer, self.chosen(), self.chunk_rows)

    def chosen(self, numbered: bool = False) -> Any:
        """The rows from their beginning, of the columns that have a role."""
        rows = self.open(self.passes > 1)
        # Where all columns of files are to be read, those of each file are compared with those of the first.
        return rows if self.all_columns else self.engine.select(rows, self.roles.needed, numbered)

    @property
    def is_clustered(self) -> bool:
        """Whether the rows are a cluster's, or have another engine of their own, and answers stay there."""
        return not isinstance(self.engine, StreamEngine)

    def select(self, columns: Sequence[str]) -> "Rows":
        """The same rows of these columns alone, none of which has another role."""
        return replace(self, roles=Roles(None, tuple(columns)), all_columns=False)

    @property
    def chunk_rows(self) -> int:
        """About how many rows a chunk has."""
        return limits.chunk_rows(len(self.roles.needed))

    def refuse_gone(self, who: str) -> None:
        """Refuse to read again what can be read once; who: reads it again."""
        if self.is_gone:
            raise ClasswiseError(GONE.format(who=who))

    @cached_property
    def decided(self) -> Roles:
        """The roles of the columns, and which of text hold dates or numbers, as far as the first rows show."""
        features = [name for name in self.roles.features if name not in self.levels]
        first = self._first(self.roles.needed) if features else None
        texts = {} if first is None else text_conversions(first, features)
        if texts and isinstance(self.open, _SourceOpener):
            self.open.read_as_text(texts)
        return replace(self.roles, texts=texts)

    def _first(self, columns: Sequence[str]) -> Any:
        """The first rows, as a table; None where there are none, or an engine does not hand them over.

        All columns that will be read are requested at once: their kinds in text files are then inferred only once.
        """
        if isinstance(self.open, _SourceOpener) and isinstance(self.open(), Stream):
            return self.open.first(columns, SAMPLE)
        first = getattr(self.engine, "first", None)
        return None if first is None else first(self.open(), columns, SAMPLE)

    # Some of the rows, or all, in memory --------------------------------------------------------------------------

    def held(self, most: float | None = None) -> Held | None:
        """All rows, if they hold no more values than this; else None."""
        frame = self.whole(most)
        return None if frame is None else self._parted(frame)

    def whole(self, most: float | None = None) -> "nw.DataFrame[Any] | None":
        """The same as one table, labels and weights among its columns, as they stand."""
        most = limits.MOST_HELD if most is None else most
        if self.expected_values() > 1.2 * most:
            return None
        tables = self.gather(Keeping(self.roles, most), "Reading", numbered=True)
        if tables is None:
            raise ClasswiseError(f"{self.name} has no rows.")
        return None if tables.is_full else as_frame(tables.whole())

    def expected_values(self) -> float:
        """About how many values the columns hold, as far as a glance shows; of a cluster's rows, by counting them."""
        rows, columns = self.open(), len(self.roles.needed)
        if isinstance(rows, Stream):
            return expected_values(rows, columns)
        return float((self.gather(Count.of, "Counting") or Count(0)).rows * columns)

    def _parted(self, frame: Any) -> Held:
        counted = Counted.of(frame, replace(self.roles, weights=None))
        if not len(counted):
            raise ClasswiseError(f"There are no rows to learn from in {self.name}: none has a label.")
        warn_of_unlabeled(counted.unlabeled, counted.rows)
        labels, codes = counted.coded()
        y = np.full(len(frame), labels[codes[0]], dtype=labels.dtype)
        y[counted.places] = labels[codes]
        groups = None if self.roles.groups is None else frame[self.roles.groups].to_numpy()
        return Held(frame.select(list(self.roles.features)).to_native(), y, self._weights(counted), groups)

    def _weights(self, counted: Counted) -> Array | None:
        name = self.roles.weights
        if name is None and not counted.unlabeled:
            return None
        weights = np.zeros(counted.rows)
        weights[counted.places] = 1.0 if name is None else read_weights(counted.frame[name], name)
        return weights

    def sample(self, size: int, of_each: int = 0, seed: int = 0) -> tuple[Any, Labels, Array]:
        """At most `size` rows, each with the same chance, and some of each class at least; in one pass.

        The rows (m, p), their labels and their weights (m,): where classes are thinned out, rows stand for several.
        """
        drawn = self.gather(Drawing(self.roles, size, of_each, seed), "Drawing rows", numbered=True)
        if drawn is None or not drawn.weight:
            raise ClasswiseError(f"There are no rows to learn from in {self.name}.")
        warn_of_unlabeled(drawn.unlabeled, drawn.rows)
        return drawn.weighed(self.roles)


# Opening --------------------------------------------------------------------------------------------------------------


def open_rows(
    source: Any,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    groups: str | None = None,
    families: Any = "auto",
    exact: Sequence[str] = (),
    text: Sequence[str] = (),
    missing: Sequence[str] | None = None,
    skip: bool = False,
) -> Rows:
    """Whatever holds or yields rows, or a function that makes it, with the roles of its columns.

    exact, text: columns of text files whose whole numbers stay whole, and which hold text whatever they look like;
    missing: what stands for a missing value in files, if not the usual.
    skip: whether files that cannot be read are left out.

    A table in memory, paths, patterns, folders, queries, databases, lazy frames, Arrow streams, iterators of tables:
    a stream. DataFrames of Dask and Spark, and rows whose engine is registered: their engine's own.
    """
    whole = [name for name in (target, *level_columns(families), *exact) if isinstance(name, str)]
    opening = _SourceOpener(source, whole, text, missing)
    first = opening()
    engine = own_engine(first) or (DatabaseEngine if is_database(first) else StreamEngine)(skip=skip)
    name = first.name if isinstance(first, Stream) else "the table"
    roles = Roles.read(engine.names(first), target, columns, weights, name, groups)
    all_columns = columns is None and isinstance(first, Stream)
    return Rows(engine, opening, roles, name, all_columns, opening.is_gone, tuple(level_columns(families)))


@dataclass(eq=False)
class _SourceOpener:
    """source: rows, or a function that makes them; exact: columns whose whole numbers stay whole in text files."""

    source: Any
    exact: Sequence[str]
    text: Sequence[str]
    missing: Sequence[str] | None
    _made: Any = None
    _opened: Any = None

    def __call__(self, again: bool = False) -> Any:
        """The rows; again: from their beginning, after they have been read."""
        # Files, queries, tables and DataFrames can be read again as they are, and know by then what their columns hold.
        is_read = again and isinstance(self._opened, Stream) and self._opened.kind == "stream"
        if self._opened is None or is_read:
            self._open()
        return self._opened

    def first(self, columns: Sequence[str], rows: int) -> Any:
        """The first rows of a stream, which stay there to be read; None, if there are none."""
        stream: Stream = self()
        if stream.kind == "file":
            return next(
                (table for piece in stream.pieces if (table := _first_rows(piece, columns, rows)) is not None),
                None,
            )
        piece = stream.pieces[0]
        batches = (piece.first(rows) if isinstance(piece, Query) else piece).batches(columns, rows)
        table = next(batches, None)
        if is_read_once(self._made) and isinstance(piece, ChunkPiece):
            whole = iter(()) if table is None else chain([table], batches)
            self._opened = replace(stream, pieces=(replace(piece, make=lambda columns, rows: whole),))
        elif stream.kind == "stream":
            self._opened = self._opening(self._made)
        return table

    def read_as_text(self, columns: Iterable[str]) -> None:
        """Read columns of text files as text, wherever their values look like other numbers than they are."""
        if isinstance(self._opened, Stream):
            pieces = tuple(p.as_text(columns) if isinstance(p, FilePiece) else p for p in self._opened.pieces)
            self._opened = replace(self._opened, pieces=pieces)

    @property
    def is_gone(self) -> bool:
        return not makes_rows(self.source) and is_read_once(self.source)

    def _open(self) -> None:
        made = self.source() if makes_rows(self.source) else self.source
        if made is self._made and is_read_once(made):
            raise ClasswiseError(GONE.format(who="This"))
        self._made = made
        self._opened = self._opening(made)

    def _opening(self, made: Any) -> Any:
        options: dict[str, Any] = {"exact": self.exact, "text": self.text, "missing": self.missing}
        return made if own_engine(made) else open_stream(made, **options) or sliced(made)


def _first_rows(piece: Any, columns: Sequence[str], rows: int) -> Any:
    """The first rows of a file; None, where there are none, or where reading on will say what is wrong."""
    while True:
        try:
            return piece.first(columns, rows)
        except WiderTypeError:
            continue
        except ClasswiseError:
            return None


def expected_values(stream: Stream, columns: int) -> float:
    """About how many values this many columns of a stream hold; a table is in memory already, and counts as none."""
    if stream.kind == "table":
        return 0.0
    counts = ((piece.count(), piece.size) for piece in stream.pieces)
    return sum(size / PACKED if count is None else count * columns for count, size in counts)


# Which rows an engine owns, and what makes the engine; all other rows are a stream.
ENGINES: list[tuple[Callable[[Any], bool], Callable[[], SourceEngine]]] = [
    (is_dask, DaskEngine),
    (is_spark, SparkEngine),
]


def register_engine(owns: Callable[[Any], bool], make: Callable[[], SourceEngine]) -> None:
    """From now on rows are read by this engine wherever they are given, if `owns` says that they are its own.

    The engine that is registered last is tried first. make: the class of the engine, or a function that makes one.
    """
    ENGINES.insert(0, (owns, make))


def own_engine(rows: Any) -> SourceEngine | None:
    """The engine that claims the rows; None for a stream."""
    return next((make() for owns, make in ENGINES if owns(rows)), None)


def makes_rows(source: Any) -> bool:
    """Whether it is a function, to be called for rows; what is a table, or can be opened as it is, is not called."""
    return callable(source) and not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "shape")


def is_read_once(source: Any) -> bool:
    """Whether rows that have been read cannot be read again."""
    return isinstance(source, Iterator) or hasattr(source, "read_next_batch")


def sliced(table: Any) -> Stream:
    """A table in memory, as a stream of slices."""
    frame = as_frame(table)

    def slices(columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        chosen = frame if columns is None else frame.select(list(columns))
        return (chosen[start : start + rows].to_native() for start in range(0, len(chosen), rows))

    return Stream((ChunkPiece("the table", slices, list(frame.columns)),), "table")
