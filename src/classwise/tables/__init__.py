"""Tables: whatever holds rows becomes chunks of numbers, with the labels and weights beside them."""

from classwise.tables.checks import refuse_unscorable, refuse_unsuitable
from classwise.tables.coding import Coded
from classwise.tables.frames import make_frame, open_frame
from classwise.tables.reading import Source, open_asked, open_row, open_source, read_counted, read_table
from classwise.tables.table import Matrix, Table
from classwise.tables.targets import read_labels

__all__ = [
    "Coded",
    "Matrix",
    "Source",
    "Table",
    "make_frame",
    "open_asked",
    "open_frame",
    "open_row",
    "open_source",
    "read_counted",
    "read_labels",
    "read_table",
    "refuse_unscorable",
    "refuse_unsuitable",
]
