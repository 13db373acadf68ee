"""Rows from elsewhere: files of every format, queries and databases, as Arrow tables or streams; and rows written."""

from classwise.sources.databases import Query
from classwise.sources.formats import Format, find_format, output_format
from classwise.sources.opening import open_stream
from classwise.sources.reading import MISSING, RowFile, marks_of, no_such_column, read_rows
from classwise.sources.sinks import is_text_sink, open_sink
from classwise.sources.spooling import spooled
from classwise.sources.streams import ChunkPiece, FilePiece, Piece, Stream, columns_of
from classwise.sources.texts import WiderTypeError
from classwise.sources.writing import write_rows, writing

__all__ = [
    "MISSING",
    "ChunkPiece",
    "FilePiece",
    "Format",
    "Piece",
    "Query",
    "RowFile",
    "Stream",
    "WiderTypeError",
    "columns_of",
    "find_format",
    "is_text_sink",
    "marks_of",
    "no_such_column",
    "open_sink",
    "open_stream",
    "output_format",
    "read_rows",
    "spooled",
    "write_rows",
    "writing",
]
