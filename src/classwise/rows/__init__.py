"""Rows wherever they are: what their columns hold, tables in memory, files, queries, databases; and rows written."""

from classwise.rows.checks import refuse_unscorable, refuse_unsuitable
from classwise.rows.coding import Coded
from classwise.rows.databases import Query
from classwise.rows.files import RowFile, no_such_column, read_rows
from classwise.rows.formats import MISSING, Format, find_format, marks_of, output_format
from classwise.rows.frames import make_frame, open_frame
from classwise.rows.labels import code_labels, is_missing, is_sorted, pack_labels, positions, sort_labels, union_labels
from classwise.rows.opening import open_stream
from classwise.rows.reading import Source, open_asked, open_row, open_source, read_counted, read_table
from classwise.rows.roles import (
    ArrayChunk,
    Chunk,
    Counted,
    Roles,
    as_arrow,
    as_frame,
    count_rows,
    level_columns,
    read_weights,
    warn_of_unlabeled,
)
from classwise.rows.sampling import fold_of_groups, fold_of_rows, ranks_of_rows
from classwise.rows.sinks import is_text_sink, open_sink
from classwise.rows.streams import ChunkPiece, FilePiece, Piece, Stream, columns_of
from classwise.rows.table import Matrix, Table
from classwise.rows.targets import read_labels
from classwise.rows.texts import WiderTypeError
from classwise.rows.writing import spooled, write_rows, writing

__all__ = [
    "MISSING",
    "ArrayChunk",
    "Chunk",
    "ChunkPiece",
    "Coded",
    "Counted",
    "FilePiece",
    "Format",
    "Matrix",
    "Piece",
    "Query",
    "Roles",
    "RowFile",
    "Source",
    "Stream",
    "Table",
    "WiderTypeError",
    "as_arrow",
    "as_frame",
    "code_labels",
    "columns_of",
    "count_rows",
    "find_format",
    "fold_of_groups",
    "fold_of_rows",
    "is_missing",
    "is_sorted",
    "is_text_sink",
    "level_columns",
    "make_frame",
    "marks_of",
    "no_such_column",
    "open_asked",
    "open_frame",
    "open_row",
    "open_sink",
    "open_source",
    "open_stream",
    "output_format",
    "pack_labels",
    "positions",
    "ranks_of_rows",
    "read_counted",
    "read_labels",
    "read_rows",
    "read_table",
    "read_weights",
    "refuse_unscorable",
    "refuse_unsuitable",
    "sort_labels",
    "spooled",
    "union_labels",
    "warn_of_unlabeled",
    "write_rows",
    "writing",
]
