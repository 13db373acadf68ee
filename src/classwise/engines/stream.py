"""Rows that come in batches: while threads work on some, the next are read; memory stays flat.

A piece of a stream counts as a whole or not at all: its batches are added up by themselves first, in their order. So a
file that turns out to be damaged half-way leaves nothing behind, and one that must be begun again counts once.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from classwise.engines.engine import AddedColumns, S, beside, total
from classwise.engines.progress import Meter, metered
from classwise.errors import ClasswiseError
from classwise.kernels import BLAS, OURS
from classwise.rows.roles import Chunk
from classwise.rows.streams import Piece, Stream, columns_of
from classwise.rows.texts import WiderTypeError

T = TypeVar("T")
R = TypeVar("R")

# Batches that are read ahead, for each thread.
AHEAD = 4


class End:
    """Stands after the last batch of a piece."""


@dataclass(frozen=True, eq=False)
class Gathered(Generic[S]):
    """What a piece adds: its statistic, None where it has no rows; or the problem for which it was left out."""

    piece: Piece
    value: Any
    problem: ClasswiseError | None = None


@dataclass(frozen=True, eq=False)
class StreamEngine:
    """what: is said of the work; skip: whether a piece that cannot be read is left out, rather than an error.

    ahead: how many batches are read ahead for each thread; where much is done with a row, fewer do. count: how many
    rows of a table have a number.
    """

    what: str = "Learning"
    skip: bool = False
    ahead: int = AHEAD
    count: Callable[[Any], int] = len

    def numbering(self, count: Callable[[Any], int]) -> "StreamEngine":
        return replace(self, count=count)

    def names(self, rows: Stream) -> list[str]:
        return rows.names

    def select(self, rows: Stream, columns: Sequence[str], numbered: bool = False) -> Stream:
        return rows.select(columns)

    def gather(self, summarize: Callable[[Chunk], S], rows: Stream, size: int) -> S:
        whole: S = total([])
        for part in self.by_piece(summarize, rows, size):
            try:
                whole = total([whole, part.value])
            except ClasswiseError as problem:
                raise named(problem, part.piece) from problem
        return whole

    def by_piece(
        self, summarize: Callable[[Chunk], S], rows: Stream, size: int, pieces: Sequence[Piece] | None = None
    ) -> Iterator[Gathered[S]]:
        """The sum of summarize(chunk) over each piece, added in the order of the rows; pieces: some of them."""
        whole: Any = None
        problem: ClasswiseError | None = None
        chosen = rows.pieces if pieces is None else pieces
        with metered(self.what, chosen) as meter:
            for piece, part in overlapped(
                _attempt(summarize), _events(rows, chosen, size, meter, self.count), self.ahead
            ):
                if isinstance(part, End):
                    yield Gathered(piece, None if problem else whole, problem)
                    whole = problem = None
                elif isinstance(part, WiderTypeError):  # the piece begins again
                    whole = problem = None
                elif isinstance(part, ClasswiseError):
                    problem = self.left_out(part)
                else:
                    whole = total([whole, part])

    def apply(self, answer: AddedColumns, rows: Stream, size: int) -> Iterator[Any]:
        """Tables of pyarrow's, as soon as they are there.

        WiderTypeError where a file must be begun again, of which some answers are given already.
        """
        with metered("Predicting", rows.pieces) as meter:
            events = _events(rows, rows.pieces, size, meter, len)
            for _, part in overlapped(_attempt(partial(beside, answer)), events, self.ahead):
                if isinstance(part, ClasswiseError):
                    raise part
                if not isinstance(part, End):
                    yield part

    def left_out(self, problem: ClasswiseError) -> ClasswiseError:
        """The problem itself, where a piece that has one is left out; else it is raised."""
        if not self.skip:
            raise problem
        return problem


def _events(
    rows: Stream, pieces: Sequence[Piece], size: int, meter: Meter, count: Callable[[Any], int]
) -> Iterator[tuple[Piece, Any]]:
    """Every chunk with its piece, the problems with it, and its end."""
    first = 0
    for piece in pieces:
        again = True
        while again:
            again, number = False, first
            try:
                for batch in piece.batches(rows.columns, size):
                    _refuse_other_columns(rows, batch, piece)
                    meter.advance(len(batch))
                    yield piece, Chunk(batch, number)
                    number += count(batch)
            except WiderTypeError as problem:
                again = True
                meter.forget()
                yield piece, problem
            except ClasswiseError as problem:
                yield piece, named(problem, piece)
        first = number
        meter.finish(piece)
        yield piece, End()


def _refuse_other_columns(rows: Stream, batch: Any, piece: Piece) -> None:
    """Where all columns are read, all pieces must have the same."""
    if rows.columns is not None or piece is rows.pieces[0]:
        return
    ours, theirs = rows.names, columns_of(batch)
    for name in theirs:
        if name not in ours:
            raise ClasswiseError(f"{piece.name} has the column {name!r}, which {rows.pieces[0].name} has not.")
    for name in ours:
        if name not in theirs:
            raise ClasswiseError(f"{piece.name} lacks the column {name!r}, which {rows.pieces[0].name} has.")


def overlapped(function: Callable[[T], R], items: Iterable[T], ahead: int) -> Iterator[R]:
    """function of each item, in their order; while threads work, `ahead` items for each are fetched before."""
    pending: deque[Future[R]] = deque()
    with BLAS.held() as count:
        pool = ThreadPoolExecutor(count, initializer=OURS.begin)
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > ahead * count:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def named(problem: ClasswiseError, piece: Piece) -> ClasswiseError:
    """The problem with the name of the piece in front, unless it is there."""
    if piece.name in str(problem):
        return problem
    prefixed = type(problem)(f"{piece.name}: {problem}")
    prefixed.__cause__ = problem
    return prefixed


def _attempt(function: Callable[[Any], R]) -> Callable[[tuple[Piece, Any]], tuple[Piece, Any]]:
    """function of a batch; what is no batch passes through, and a problem becomes one of the piece."""

    def work(item: tuple[Piece, Any]) -> tuple[Piece, Any]:
        piece, batch = item
        if isinstance(batch, (End, ClasswiseError)):
            return item
        try:
            return piece, function(batch)
        except ClasswiseError as problem:
            return piece, named(problem, piece)

    return work
