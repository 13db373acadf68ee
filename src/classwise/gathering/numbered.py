"""Rows with numbers: a stream whose chunks know how many rows that count came before them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from classwise.sources import Piece, Stream, columns_of


@dataclass(frozen=True, eq=False)
class Chunk:
    """A table of any library; first: how many rows came before it, of those that count."""

    table: Any
    first: int

    def __len__(self) -> int:
        return len(self.table)

    @property
    def columns(self) -> list[str]:
        return columns_of(self.table)


@dataclass(eq=False)
class NumberedPiece:
    """A piece of a stream after another; one that is begun again begins with the same number.

    counted: how many rows of a table count.
    """

    piece: Piece
    counted: Callable[[Any], int]
    before: "NumberedPiece | None" = None
    end: int = 0

    @property
    def name(self) -> str:
        return self.piece.name

    @property
    def size(self) -> int:
        return self.piece.size

    def names(self) -> list[str]:
        return self.piece.names()

    def count(self) -> int | None:
        return self.piece.count()

    def mark(self) -> str:
        return self.piece.mark()

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        self.end = 0 if self.before is None else self.before.end
        for table in self.piece.batches(columns, rows):
            yield Chunk(table, self.end)
            self.end += self.counted(table)


def numbered(stream: Stream, counted: Callable[[Any], int]) -> Stream:
    """The same rows, in chunks that know their place; pieces are to be read in their order.

    counted: how many rows of a table count. The others have no number: chance by number takes no notice of them.
    """
    pieces: list[NumberedPiece] = []
    for piece in stream.pieces:
        pieces.append(NumberedPiece(piece, counted, pieces[-1] if pieces else None))
    return Stream(tuple(pieces), stream.kind)
