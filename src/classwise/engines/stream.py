"""Rows that come in batches: while threads work on some, the next are read; memory stays flat.

A piece of a stream counts as a whole or not at all: its batches are added up by themselves first, in their order. So a
file that turns out to be damaged half-way leaves nothing behind, and one that must be begun again counts once.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from classwise.engines.blas import BLAS
from classwise.engines.memory import threads
from classwise.engines.progress import Meter, metered
from classwise.engines.protocol import S
from classwise.errors import ClasswiseError
from classwise.rows import Piece, Stream, WiderTypeError, columns_of

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
    value: S | None
    problem: ClasswiseError | None = None


@dataclass(frozen=True, eq=False)
class StreamEngine:
    """rows: the stream; columns: those to read, all if None; batch: about how many rows are read at a time.

    skip: whether a piece that cannot be read is left out, rather than an error. ahead: how many batches are read ahead
    for each thread; where much is done with a row, fewer do.
    """

    rows: Stream
    columns: Sequence[str] | None
    batch: int
    skip: bool = False
    ahead: int = AHEAD

    def gather(
        self, summarize: Callable[[Any], S], pieces: Sequence[Piece] | None = None, what: str = "Learning"
    ) -> Iterator[Gathered[S]]:
        """The sum of summarize(batch) over each piece, added in the order of the rows; what: is said of the work."""
        chosen = self.rows.pieces if pieces is None else pieces
        total: S | None = None
        problem: ClasswiseError | None = None
        with metered(what, chosen) as meter:
            for piece, part in overlapped(_attempt(summarize), self._events(chosen, meter), self.ahead):
                if isinstance(part, End):
                    yield Gathered(piece, None if problem else total, problem)
                    total = problem = None
                elif isinstance(part, WiderTypeError):  # the piece begins again
                    total = problem = None
                elif isinstance(part, ClasswiseError):
                    problem = self.left_out(part)
                else:
                    total = part if total is None else total + part

    def apply(self, function: Callable[[Any], R]) -> Iterator[R]:
        """function(batch) of each batch, in the order of the rows, as soon as it is there.

        WiderTypeError where a file must be begun again, of which some answers are given already.
        """
        with metered("Predicting", self.rows.pieces) as meter:
            for _, part in overlapped(_attempt(function), self._events(self.rows.pieces, meter), self.ahead):
                if isinstance(part, ClasswiseError):
                    raise part
                if not isinstance(part, End):
                    yield part

    def left_out(self, problem: ClasswiseError) -> ClasswiseError:
        """The problem itself, where a piece that has one is left out; else it is raised."""
        if not self.skip:
            raise problem
        return problem

    def _events(self, pieces: Sequence[Piece], meter: Meter) -> Iterator[tuple[Piece, Any]]:
        """Every batch with its piece, the problems with it, and its end."""
        for piece in pieces:
            again = True
            while again:
                again = False
                try:
                    for batch in piece.batches(self.columns, self.batch):
                        self._refuse_other_columns(batch, piece)
                        meter.advance(len(batch))
                        yield piece, batch
                except WiderTypeError as problem:
                    again = True
                    meter.forget()
                    yield piece, problem
                except ClasswiseError as problem:
                    yield piece, named(problem, piece)
            meter.finish(piece)
            yield piece, End()

    def _refuse_other_columns(self, batch: Any, piece: Piece) -> None:
        """Where all columns are read, all pieces must have the same."""
        if self.columns is not None or piece is self.rows.pieces[0]:
            return
        ours, theirs = self.rows.names, columns_of(batch)
        for name in theirs:
            if name not in ours:
                raise ClasswiseError(f"{piece.name} has the column {name!r}, which {self.rows.pieces[0].name} has not.")
        for name in ours:
            if name not in theirs:
                raise ClasswiseError(f"{piece.name} lacks the column {name!r}, which {self.rows.pieces[0].name} has.")


def overlapped(function: Callable[[T], R], items: Iterable[T], ahead: int) -> Iterator[R]:
    """function of each item, in their order; while threads work, so many for each are fetched ahead."""
    pending: deque[Future[R]] = deque()
    with BLAS.held() as count, threads(count) as pool:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > ahead * count:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def named(problem: ClasswiseError, piece: Piece) -> ClasswiseError:
    """The problem with the name of the piece in front, unless it is there."""
    if piece.name in str(problem):
        return problem
    told = type(problem)(f"{piece.name}: {problem}")
    told.__cause__ = problem
    return told


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
