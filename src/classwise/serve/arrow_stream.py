"""Reading an Arrow stream that anybody may have sent: no more memory than its size, no more rows than the limit.

A compressed stream of a megabyte may hold a terabyte, and so may text that refers to the same bytes again and again.
Both are found out before anything is unpacked.
"""

import struct
from typing import Any

import numpy as np
import pyarrow as pa

from classwise.serve.problems import Problem

# What the header of a message is, and the places of fields in it, as Arrow's Message.fbs has them.
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
HEADER_TYPE, HEADER, DATA, COMPRESSION = 1, 2, 1, 3


def read_stream(body: bytes, most_rows: int) -> pa.Table:
    """The table that a stream holds, sound in every part."""
    if not body:
        raise Problem(400, "The body is empty; send an Arrow stream.")
    try:
        _refuse_compressed(body)
        table = _read_table(body, most_rows)
        names = table.column_names  # which may not be UTF-8
    except (pa.ArrowException, OSError, ValueError, struct.error) as problem:
        raise Problem(400, f"The body is not a sound Arrow stream: {_first_line(problem)}") from None
    if not len(table):
        raise Problem(422, "The stream holds no rows; give at least one.")
    for name in names:
        if names.count(name) > 1:
            raise Problem(422, f"The stream has two columns called {name!r}; rename one.", column=name)
    return table


def refuse_many(count: int, most_rows: int) -> None:
    """Refuse more rows than the limit."""
    if count > most_rows:
        raise Problem(413, f"The request has {count} rows or more, and the limit is {most_rows}; send fewer at a time.")


def _read_table(body: bytes, most_rows: int) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    count = 0
    with pa.ipc.open_stream(pa.BufferReader(body)) as stream:
        for batch in stream:
            count += batch.num_rows
            refuse_many(count, most_rows)
            _check(batch, len(body), most_rows)
            batches.append(batch)
        return pa.Table.from_batches(batches, stream.schema)


def _check(batch: pa.RecordBatch, size: int, most_rows: int) -> None:
    """Offsets and lengths inside a stream are the client's word; nothing may read memory by them unchecked."""
    batch.validate()
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_nested(column.type):
            raise Problem(
                422, f"The column {name!r} holds {column.type}; a column is to hold plain values.", column=name
            )
        values = column.dictionary if pa.types.is_dictionary(column.type) else column
        if len(values) > most_rows:
            raise Problem(413, f"The column {name!r} has more levels than the limit of {most_rows} rows.", column=name)
        if _is_view(values.type) and _text_bytes(values) > 4 * size:
            raise Problem(413, f"The column {name!r} holds text many times as long as the stream.", column=name)
    batch.validate(full=True)


def _is_view(type: pa.DataType) -> bool:
    return pa.types.is_string_view(type) or pa.types.is_binary_view(type)


def _text_bytes(column: pa.Array) -> int:
    """How long all texts of a column are together; each view of 16 bytes begins with its length."""
    lengths = np.frombuffer(column.buffers()[1], dtype="<i4")[4 * column.offset :: 4][: len(column)]
    return int(lengths.sum(dtype=np.int64))


def _refuse_compressed(body: bytes) -> None:
    for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(body)):
        if _is_compressed(message.metadata.to_pybytes()):
            raise Problem(422, "The stream is compressed; send it without (compression=None).")


def _is_compressed(metadata: bytes) -> bool:
    """Whether a message's batch names a compression; metadata: a flatbuffer."""
    message = _Flat(metadata, *struct.unpack_from("<I", metadata))
    place = message.field(HEADER_TYPE)
    kind = metadata[place] if place else 0
    if kind not in (DICTIONARY_BATCH, RECORD_BATCH):
        return False
    batch = message.table(HEADER)
    return bool((batch.table(DATA) if kind == DICTIONARY_BATCH else batch).field(COMPRESSION))


class _Flat:
    """A table in a flatbuffer: where its fields are."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data = data
        self.place = place

    def field(self, number: int) -> int:
        """Where a field is, 0 if it is not there."""
        fields = self.place - self._read("<i", self.place)
        within = 4 + 2 * number
        offset = self._read("<H", fields + within) if within < self._read("<H", fields) else 0
        return self.place + offset if offset else 0

    def table(self, number: int) -> "_Flat":
        """The table that a field refers to."""
        place = self.field(number)
        return _Flat(self.data, place + self._read("<I", place))

    def _read(self, format: str, place: int) -> Any:
        if place < 0:
            raise struct.error("a place before the beginning")
        return struct.unpack_from(format, self.data, place)[0]


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
