"""Arrow streams: columns in, columns out, no row ever a Python object.

Anybody may have sent a stream, so it is read with limits, in time and memory in proportion to its size. A compressed
stream of a megabyte may hold a terabyte. So may text that refers to the same bytes again and again, or a dictionary
that grows with every batch. All are found out before anything is unpacked. Columns are counted and named before any is
read, and reading ends where its answer is given up.

pyarrow has no such limits and does not show the header of a message: that is read from its flatbuffer.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from flatbuffers.number_types import Uint8Flags
from flatbuffers.table import Table as FlatTable

from classwise.arrays import Array, Labels
from classwise.errors import ClasswiseError
from classwise.rows.codes import Coded, label_columns
from classwise.rows.frames import FrameSource
from classwise.rows.schema import Conversion
from classwise.rows.sources import Source
from classwise.serve.requests import Problem, misfit
from classwise.serve.resources import RequestDeadline
from classwise.serve.validation import (
    Checked,
    InputColumn,
    LevelColumn,
    NumberColumn,
    RowReader,
    refuse_many,
    refuse_other_names,
)

# What the header of a message is, and the places of fields in it, as Arrow's Message.fbs and Schema.fbs have them.
SCHEMA, DICTIONARY_BATCH, RECORD_BATCH = 1, 2, 3
HEADER_TYPE, HEADER = 1, 2
FIELDS, CHILDREN = 1, 5
DATA, IS_DELTA, COMPRESSION = 1, 2, 3


# The columns of a stream --------------------------------------------------------------------------------------------


def check_names(body: bytes, reader: RowReader, keep: Sequence[str], extra_columns: int) -> None:
    """Refuse a stream without the model's columns and those to keep, or with others: from its schema alone."""
    names = _read_names(body, len(reader.columns) + extra_columns)
    given = set(names)
    for name in keep:
        if name not in given:
            raise Problem(422, f"keep names the column {name!r}, which the stream has not.", column=name)
    kept = set(keep).difference(reader.keys)
    refuse_other_names([name for name in names if name not in kept], reader.keys, None)


def _read_names(body: bytes, most_columns: int) -> list[str]:
    """Columns: not too many, plain ones, each with a name of its own."""
    if not body:
        raise Problem(400, "The body is empty; send an Arrow stream.")
    with _as_problem():
        message = _messages(body).read_next_message()
        _check_schema(_flat(message), most_columns)
        names = list(pa.ipc.read_schema(message).names)  # which may not be UTF-8
    for name, count in Counter(names).items():
        if count > 1:
            raise Problem(422, f"The stream has two columns called {name!r}; rename one.", column=name)
    return names


def _check_schema(message: FlatTable, most_columns: int) -> None:
    """Count columns, and what is in them, before pyarrow makes anything of each: a few bytes may mean many."""
    if _byte(message, HEADER_TYPE) != SCHEMA:
        raise ValueError("it does not begin with a schema")
    schema = _table(message, HEADER)
    count = _count(schema, FIELDS)
    if count > most_columns:
        remedy = "send the model's columns, and besides them only those to keep"
        raise Problem(413, f"The stream has {count} columns, and the limit is {most_columns}; {remedy}.")
    first = schema.Vector(_offset(schema, FIELDS)) if count else 0
    for place in range(count):
        if _count(FlatTable(schema.Bytes, schema.Indirect(first + 4 * place)), CHILDREN):
            where = f"Column {place} of the stream, counted from 0,"
            raise Problem(422, f"{where} is nested; a column is to hold plain values.")


# The rows of a stream -----------------------------------------------------------------------------------------------


def read_table(body: bytes, most_rows: int, deadline: RequestDeadline) -> pa.Table:
    """The table that a stream holds, sound in every part."""
    with _as_problem():
        for message in _messages(body):
            deadline.check()
            _refuse_growing(_flat(message))
        table = _read_batches(body, most_rows, deadline)
        if not len(table):
            raise Problem(422, "The stream holds no rows; give at least one.")
        columns = [_sound(name, table.column(name), len(body), most_rows, deadline) for name in table.column_names]
        return pa.table(columns, schema=table.schema)


@contextmanager
def _as_problem() -> Iterator[None]:
    """Raise what cannot be read as a Problem of the stream."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, StopIteration, struct.error) as problem:
        reason = str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
        raise Problem(400, f"The body is not a sound Arrow stream: {reason}") from None


def _refuse_growing(message: FlatTable) -> None:
    kind = _byte(message, HEADER_TYPE)
    if kind not in (DICTIONARY_BATCH, RECORD_BATCH):
        return
    batch = _table(message, HEADER)
    if kind == DICTIONARY_BATCH and _byte(batch, IS_DELTA):
        raise Problem(422, "The stream adds to a dictionary; write it without (emit_dictionary_deltas=False).")
    if _offset(_table(batch, DATA) if kind == DICTIONARY_BATCH else batch, COMPRESSION):
        raise Problem(422, "The stream is compressed; send it without (compression=None).")


def _read_batches(body: bytes, most_rows: int, deadline: RequestDeadline) -> pa.Table:
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


def _sound(name: str, column: pa.ChunkedArray, size: int, most_rows: int, deadline: RequestDeadline) -> pa.ChunkedArray:
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
        is_view = pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type)
        if is_view and _text_bytes(values) > 4 * size:
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


def _text_bytes(column: pa.Array) -> int:
    """How long all texts of a column are together; each view of 16 bytes begins with its length."""
    lengths = np.frombuffer(column.buffers()[1], dtype="<i4")[4 * column.offset :: 4][: len(column)]
    return int(lengths.sum(dtype=np.int64))


# Messages: flatbuffers, whose fields have places --------------------------------------------------------------------


def _messages(body: bytes) -> Any:
    return pa.ipc.MessageReader.open_stream(pa.BufferReader(body))


def _flat(message: pa.Message) -> FlatTable:
    data = message.metadata.to_pybytes()
    return FlatTable(data, *struct.unpack_from("<I", data))


def _offset(table: FlatTable, field: int) -> int:
    """How far from its table a field is, 0 if it is not there."""
    return int(table.Offset(4 + 2 * field))


def _byte(table: FlatTable, field: int) -> int:
    return int(table.GetSlot(4 + 2 * field, 0, Uint8Flags))


def _table(table: FlatTable, field: int) -> FlatTable:
    return FlatTable(table.Bytes, table.Indirect(table.Pos + _offset(table, field)))


def _count(table: FlatTable, field: int) -> int:
    """How many items the list has that a field refers to; 0 if it is not there."""
    offset = _offset(table, field)
    return int(table.VectorLen(offset)) if offset else 0


# Columns of a model -------------------------------------------------------------------------------------------------


def read_rows(table: pa.Table, reader: RowReader, deadline: RequestDeadline) -> Source:
    """The model's columns of a table, found by name, checked."""
    return reader.checked([_read_column(column, table.column(column.name), deadline) for column in reader.columns])


def _read_column(column: InputColumn, values: pa.ChunkedArray, deadline: RequestDeadline) -> Checked:
    deadline.check()
    return _read_numbers(column, values) if isinstance(column, NumberColumn) else _read_levels(column, values)


def _read_numbers(column: NumberColumn, values: pa.ChunkedArray) -> Array:
    if column.column.conversion is not None and not _is_number(values.type):
        numbers = _read_converted(column, column.column.conversion, values)
        column.check(numbers)
        return numbers
    if not _is_number(values.type):
        raise misfit(column.name, None, f"it holds {values.type}, and the model takes numbers.")
    numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    column.check(numbers)
    return numbers


def _read_converted(column: NumberColumn, conversion: Conversion, values: pa.ChunkedArray) -> Array:
    """Dates, times and text, by the conversion of the column."""
    try:
        return FrameSource(nw.from_native(pa.table({column.name: values}), eager_only=True)).converted(0, conversion)
    except ClasswiseError as problem:
        raise misfit(column.name, None, f"{problem}") from None


def _read_levels(column: LevelColumn, values: pa.ChunkedArray) -> Coded:
    held = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    fits = {"text": _is_text, "yes/no": pa.types.is_boolean, "numbers": _is_number}[column.kind]
    if not (fits(held) or pa.types.is_null(values.type)):
        raise misfit(column.name, None, f"it holds {held}, and the model takes levels that are {column.kind}.")
    if pa.types.is_string_view(held):
        values = _without_views(values)
    encoded = (values if pa.types.is_dictionary(values.type) else values.dictionary_encode()).unify_dictionaries()
    # All chunks have the same dictionary now; to join the chunks would compare it as often.
    indices = pa.chunked_array([chunk.indices for chunk in encoded.chunks])
    codes = pc.fill_null(indices.cast(pa.int32()), -1)
    coded = Coded.of(codes.to_numpy(), encoded.chunk(0).dictionary.to_pylist())
    column.check(coded)
    return coded


def _without_views(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text that refers to bytes elsewhere, as text; a dictionary by its values, or each would be written out."""
    if not pa.types.is_dictionary(values.type):
        return values.cast(pa.large_string())
    pairs = [(chunk.indices, chunk.dictionary.cast(pa.large_string())) for chunk in values.chunks]
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, levels) for indices, levels in pairs])


def _is_number(type: pa.DataType) -> bool:
    return any(
        test(type) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    )


def _is_text(type: pa.DataType) -> bool:
    return any(test(type) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


# Answers ------------------------------------------------------------------------------------------------------------


def write_stream(kept: dict[str, pa.ChunkedArray], answers: dict[str, pa.Array]) -> bytes:
    """The columns to keep, followed by the answer, as a stream."""
    for name in kept.keys() & answers.keys():
        raise Problem(422, f"keep names {name!r}, which is a column of the answer; rename it.", column=name)
    table = pa.table(kept | answers)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def answer_columns(
    labels: Labels | None, posteriors: Array | None, classes: Sequence[Any], possible_labels: Labels
) -> dict[str, pa.Array]:
    """`label`, of the type of all that the model may predict, and `posterior_...` for each class."""
    columns = {} if labels is None else {"label": _label_column(labels, possible_labels)}
    if posteriors is not None:
        names = label_columns("posterior_", classes)
        columns |= {name: pa.array(posterior) for name, posterior in zip(names, posteriors.T, strict=True)}
    return columns


def _label_column(labels: Labels, possible_labels: Labels) -> pa.Array:
    """Labels as `cw.predict` writes them: where yes or no may be mixed with "reject" all are text, in every request. So
    are whole numbers beyond 64 bits, which Arrow has not.
    """
    if possible_labels.dtype.kind not in "OU":
        return pa.array(labels, pa.from_numpy_dtype(possible_labels.dtype))
    if all(isinstance(label, str) for label in possible_labels.tolist()):
        return pa.array(labels, pa.string())
    return pa.array([None if label is None else str(label) for label in labels.tolist()], pa.string())
