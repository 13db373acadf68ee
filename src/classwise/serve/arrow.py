"""Arrow streams: columns in, columns out, no row ever a Python object.

The answer has one batch for all rows: the columns to keep, `label`, and `posterior_...` for each class.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from classwise.arrays import Array
from classwise.rows.coding import Coded
from classwise.rows.schema import label_columns
from classwise.serve.columns import Checked, InputColumn, LevelColumn, NumberColumn
from classwise.serve.problems import Problem, as_json, misfit
from classwise.serve.rows import RowReader, Rows, refuse_other_names
from classwise.serve.scoring import Answer
from classwise.serve.work import Deadline

MEDIA_TYPE = "application/vnd.apache.arrow.stream"


def check_names(names: Sequence[str], reader: RowReader, keep: Sequence[str]) -> None:
    """Refuse a stream without the model's columns and those to keep, or with others."""
    given = set(names)
    for name in keep:
        if name not in given:
            raise Problem(422, f"keep names the column {name!r}, which the stream has not.", column=name)
    kept = set(keep).difference(reader.keys)
    refuse_other_names([name for name in names if name not in kept], reader.keys, None)


def read_rows(table: pa.Table, reader: RowReader, deadline: Deadline) -> Rows:
    """The model's columns of a table, found by name, checked."""
    return reader.checked([_read_column(column, table.column(column.name), deadline) for column in reader.columns])


def write_stream(table: pa.Table, classes: Sequence[Any], answer: Answer, keep: Sequence[str]) -> bytes:
    """The answer as a stream."""
    columns = {name: table.column(name) for name in keep}
    for name, values in _answer_columns(classes, answer).items():
        if name in columns:
            raise Problem(422, f"keep names {name!r}, which is a column of the answer; rename it.", column=name)
        columns[name] = values
    made = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, made.schema) as writer:
        writer.write_table(made)
    return sink.getvalue().to_pybytes()


def _answer_columns(classes: Sequence[Any], answer: Answer) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if answer.labels is not None:
        columns["label"] = _labels(answer.labels, classes)
    if answer.posteriors is not None:
        names = label_columns("posterior_", classes)
        columns |= {name: pa.array(posterior) for name, posterior in zip(names, answer.posteriors.T, strict=True)}
    return columns


def _labels(labels: Any, classes: Sequence[Any]) -> pa.Array:
    """Labels in the type of the classes. Text among numbers (rejected, novel) makes text of all, and so do whole
    numbers beyond 64 bits, which Arrow has not.
    """
    if labels.dtype.kind != "O" or isinstance(classes[0], str):
        return pa.array(labels)
    values, known = labels.tolist(), np.array(classes)
    if known.dtype.kind == "O" or any(isinstance(value, str) for value in values):
        return pa.array([value if value is None or isinstance(value, str) else as_json(value) for value in values])
    return pa.array(values, pa.from_numpy_dtype(known.dtype))


def _read_column(column: InputColumn, values: pa.ChunkedArray, deadline: Deadline) -> Checked:
    deadline.check()
    if isinstance(column, NumberColumn):
        return _read_numbers(column, values)
    return _read_levels(column, values)


def _read_numbers(column: NumberColumn, values: pa.ChunkedArray) -> Array:
    if not _is_number(values.type):
        raise misfit(column.name, None, f"it holds {values.type}, and the model takes numbers.")
    numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    column.check(numbers)
    return numbers


def _read_levels(column: LevelColumn, values: pa.ChunkedArray) -> Coded:
    held = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    fits = {"text": _is_text, "yes/no": pa.types.is_boolean, "numbers": _is_number}[column.kind]
    if not (fits(held) or pa.types.is_null(values.type)):
        raise misfit(column.name, None, f"it holds {held}, and the model takes levels that are {column.kind}.")
    if pa.types.is_string_view(held):
        values = _without_views(values)
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    coded = _coded(encoded.unify_dictionaries())
    column.check(coded)
    return coded


def _without_views(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text that refers to bytes elsewhere, as text; a dictionary by its values, or each would be written out."""
    if not pa.types.is_dictionary(values.type):
        return values.cast(pa.large_string())
    pairs = [(chunk.indices, chunk.dictionary.cast(pa.large_string())) for chunk in values.chunks]
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, levels) for indices, levels in pairs])


def _coded(encoded: pa.ChunkedArray) -> Coded:
    """Levels of chunks that all have the same dictionary; to join the chunks would compare it as often."""
    indices = pa.chunked_array([chunk.indices for chunk in encoded.chunks])
    codes = pc.fill_null(indices.cast(pa.int32()), -1)
    return Coded.of(codes.to_numpy(), encoded.chunk(0).dictionary.to_pylist())


def _is_number(type: pa.DataType) -> bool:
    return any(
        test(type) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    )


def _is_text(type: pa.DataType) -> bool:
    return any(test(type) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))
