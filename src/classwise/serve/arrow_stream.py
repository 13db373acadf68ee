"""Reading an Arrow stream that anybody may have sent: limits, and time and memory in proportion to its size.

A compressed stream of a megabyte may hold a terabyte, and so may text that refers to the same bytes again and again, or
a dictionary that grows with every batch. All are found out before anything is unpacked. Columns are counted and named
before any is looked at, and reading ends where its answer is given up.
"""

import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from classwise.serve.problems import Problem
from classwise.serve.work import Deadline

# What the header of a message is, and the places of fields in it, as Arrow's Message.fbs and Schema.fbs have them.
SCHEMA, DICTIONARY_BATCH, RECORD_BATCH = 1, 2, 3
HEADER_TYPE, HEADER = 1, 2
FIELDS, CHILDREN = 1, 5
DATA, IS_DELTA, COMPRESSION = 1, 2, 3


def read_names(body: bytes, most_columns: int) -> list[str]:
    """The columns of a stream, from its schema alone: not too many, plain ones, each with a name of its own."""
    if not body:
        raise Problem(400, "The body is empty; send an Arrow stream.")
    with _blaming():
        message = _messages(body).read_next_message()
        _check_schema(message.metadata.to_pybytes(), most_columns)
        names = list(pa.ipc.read_schema(message).names)  # which may not be UTF-8
    for name, count in Counter(names).items():
        if count > 1:
            raise Problem(422, f"The stream has two columns called {name!r}; rename one.", column=name)
    return names


def read_table(body: bytes, most_rows: int, deadline: Deadline) -> pa.Table:
    """The table that a stream holds, sound in every part."""
    with _blaming():
        _refuse_growing(body, deadline)
        table = _read_batches(body, most_rows, deadline)
        if not len(table):
            raise Problem(422, "The stream holds no rows; give at least one.")
        columns = [_sound(name, table.column(name), len(body), most_rows, deadline) for name in table.column_names]
        return pa.table(columns, schema=table.schema)


def refuse_many(count: int, most_rows: int) -> None:
    """Refuse more rows than the limit."""
    if count > most_rows:
        raise Problem(413, f"The request has {count} rows or more, and the limit is {most_rows}; send fewer at a time.")


@contextmanager
def _blaming() -> Iterator[None]:
    """Whatever cannot be read is the stream's fault."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, StopIteration, struct.error) as problem:
        raise Problem(400, f"The body is not a sound Arrow stream: {_first_line(problem)}") from None


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__


# Columns ------------------------------------------------------------------------------------------------------------


def _read_batches(body: bytes, most_rows: int, deadline: Deadline) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    count = 0
    with pa.ipc.open_stream(pa.BufferReader(body)) as stream:
        for batch in stream:
            deadline.check()
            count += batch.num_rows
            refuse_many(count, most_rows)
            batch.validate()
            batches.append(batch)
        return pa.Table.from_batches(batches, stream.schema)


def _sound(name: str, column: pa.ChunkedArray, size: int, most_rows: int, deadline: Deadline) -> pa.ChunkedArray:
    """A column that was checked. Offsets and lengths inside a stream are the client's word; nothing may read memory by
    them unchecked.
    """
    deadline.check()
    if pa.types.is_dictionary(column.type):
        column = _joined(column)
    for chunk in column.chunks:
        values = chunk.dictionary if pa.types.is_dictionary(column.type) else chunk
        if len(values) > most_rows:
            raise Problem(413, f"The column {name!r} has more levels than the limit of {most_rows} rows.", column=name)
        if _is_view(values.type) and _text_bytes(values) > 4 * size:
            raise Problem(413, f"The column {name!r} holds text many times as long as the stream.", column=name)
    column.validate(full=True)
    return column


def _joined(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of levels, with batches of the same dictionary as one: all levels would else be gone through for each
    batch, however few its rows are.
    """
    runs = [[*run] for _, run in groupby(column.chunks, lambda chunk: _place(chunk.dictionary))]
    joined = [
        pa.DictionaryArray.from_arrays(
            pa.concat_arrays([chunk.indices for chunk in run]),
            run[0].dictionary,
            ordered=column.type.ordered,
            safe=False,
        )
        for run in runs
    ]
    return pa.chunked_array(joined, column.type)


def _place(array: pa.Array) -> tuple[int, ...]:
    """Where an array lies in memory."""
    return len(array), array.offset, *(buffer.address if buffer else 0 for buffer in array.buffers())


def _is_view(type: pa.DataType) -> bool:
    return pa.types.is_string_view(type) or pa.types.is_binary_view(type)


def _text_bytes(column: pa.Array) -> int:
    """How long all texts of a column are together; each view of 16 bytes begins with its length."""
    lengths = np.frombuffer(column.buffers()[1], dtype="<i4")[4 * column.offset :: 4][: len(column)]
    return int(lengths.sum(dtype=np.int64))


# Messages -----------------------------------------------------------------------------------------------------------


def _messages(body: bytes) -> Any:
    return pa.ipc.MessageReader.open_stream(pa.BufferReader(body))


def _check_schema(metadata: bytes, most_columns: int) -> None:
    """Count columns, and what is in them, before pyarrow makes anything of each: a few bytes may mean many."""
    message = _Flat.of(metadata)
    if message.byte(HEADER_TYPE) != SCHEMA:
        raise ValueError("it does not begin with a schema")
    schema = message.table(HEADER)
    count = schema.count(FIELDS)
    if count > most_columns:
        remedy = "send the model's columns, and besides them only those to keep"
        raise Problem(413, f"The stream has {count} columns, and the limit is {most_columns}; {remedy}.")
    for place, field in enumerate(schema.tables(FIELDS)):
        if field.count(CHILDREN):
            where = f"Column {place} of the stream, counted from 0,"
            raise Problem(422, f"{where} is nested; a column is to hold plain values.")


def _refuse_growing(body: bytes, deadline: Deadline) -> None:
    for message in _messages(body):
        deadline.check()
        _check_batch(message.metadata.to_pybytes())


def _check_batch(metadata: bytes) -> None:
    message = _Flat.of(metadata)
    kind = message.byte(HEADER_TYPE)
    if kind not in (DICTIONARY_BATCH, RECORD_BATCH):
        return
    batch = message.table(HEADER)
    if kind == DICTIONARY_BATCH and batch.byte(IS_DELTA):
        raise Problem(422, "The stream adds to a dictionary; write it without (emit_dictionary_deltas=False).")
    if (batch.table(DATA) if kind == DICTIONARY_BATCH else batch).field(COMPRESSION):
        raise Problem(422, "The stream is compressed; send it without (compression=None).")


class _Flat:
    """A table in a flatbuffer: where its fields are."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data = data
        self.place = place

    @classmethod
    def of(cls, data: bytes) -> "_Flat":
        """The table that is the whole."""
        return cls(data, *struct.unpack_from("<I", data))

    def field(self, number: int) -> int:
        """Where a field is, 0 if it is not there."""
        fields = self.place - self._read("<i", self.place)
        within = 4 + 2 * number
        offset = self._read("<H", fields + within) if within < self._read("<H", fields) else 0
        return self.place + offset if offset else 0

    def byte(self, number: int) -> int:
        """The byte that a field is; 0 if it is not there."""
        place = self.field(number)
        return int(self._read("<B", place)) if place else 0

    def table(self, number: int) -> "_Flat":
        """The table that a field refers to."""
        return _Flat(self.data, self._target(self.field(number)))

    def count(self, number: int) -> int:
        """How many items the list has that a field refers to; 0 if it is not there."""
        place = self.field(number)
        return int(self._read("<I", self._target(place))) if place else 0

    def tables(self, number: int) -> Iterator["_Flat"]:
        """The tables of a list that a field refers to."""
        first = self._target(self.field(number)) + 4 if self.count(number) else 0
        for place in range(first, first + 4 * self.count(number), 4):
            yield _Flat(self.data, self._target(place))

    def _target(self, place: int) -> int:
        return place + int(self._read("<I", place))

    def _read(self, format: str, place: int) -> Any:
        if place < 0:
            raise struct.error("a place before the beginning")
        return struct.unpack_from(format, self.data, place)[0]
