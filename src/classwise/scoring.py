"""predict: labels and posteriors beside rows wherever they are, in the order of the rows."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Labels
from classwise.engines import DaskEngine, SparkEngine, StreamEngine, is_dask, is_spark
from classwise.errors import ClasswiseError
from classwise.estimators import model_within
from classwise.gathering import as_arrow, as_frame, open_rows
from classwise.schema import label_columns
from classwise.sources import (
    FilePiece,
    Format,
    Stream,
    WiderTypeError,
    find_format,
    is_text_sink,
    no_such_column,
    open_sink,
    writing,
)
from classwise.sources.streams import arrow_batches
from classwise.sources.writing import STANDARD
from classwise.summarizing import chunk_rows

# A text file of fewer bytes is seen whole when its types are told.
ALL_SEEN = 40_000


def predict(
    model: Any,
    source: Any,
    sink: str | PathLike[str] | None = None,
    *,
    keys: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    proba: bool = False,
    overwrite: bool = False,
    format: str | None = None,
) -> Any:
    """The label of each row, and its posterior, beside the rows and in their order; memory stays flat.

    model: a fitted classifier, of classwise or of scikit-learn. source: rows wherever they are, as for `summarize`. In
        files and databases, what stood for a missing value where the model learned stands for one.
    sink: where the answers go: a Parquet, CSV, TSV, JSON or Arrow file, by the end of its name, or
        "shop.duckdb#table" or "postgresql://host/shop#table". It appears when it is complete, or not at all; the
        number of rows is returned. "-" is standard output. Without a sink, answers are returned: a DataFrame of Dask or
        Spark, if the rows are one, and else a stream of Arrow batches, to be read once. Where a later row of a large
        text file may show a column to be something else, answers wait in a temporary file until all are there.
    keys: columns to carry along; all, unless given. They are copied as they stand in files: from CSV and TSV the text,
        but what the model reads goes into sinks that have types as what the model takes it for.
    columns: those to predict from, in the order of fit, where the model was fitted on rows without names.
    proba: add a column `posterior_CLASS` for each class; where classes differ by case alone, the later ones have a
        number after them, such as `posterior_a_2` beside `posterior_A`.
    overwrite: replace what is there under the sink's name.
    format: "csv", "tsv", "json", "jsonl", "parquet" or "arrow", where the name of a file does not tell; "-" is "csv".

    >>> import classwise as cw, pandas as pd
    >>> rows = pd.DataFrame({"id": [7, 8, 9, 10], "x": [1.0, 2.0, 8.0, 9.0], "y": list("aabb")})
    >>> m = cw.LDA().fit(rows[["x"]], rows["y"])
    >>> cw.predict(m, rows, keys=["id"]).read_all().to_pydict()["label"]
    ['a', 'a', 'b', 'b']
    """
    if is_dask(source) or is_spark(source):
        if sink is not None:
            raise ClasswiseError("Leave sink out: what is returned for rows of Dask or Spark can write itself.")
        engine: DaskEngine | SparkEngine = DaskEngine(source) if is_dask(source) else SparkEngine(source)
        answer = Answer.read(model, engine.names(), keys, columns, proba, "the table")
        return _of_dask(engine, answer) if isinstance(engine, DaskEngine) else _of_spark(engine, answer)
    stream = open_rows(source, text=text_columns(model), missing=missing_marks(model))
    answer = Answer.read(model, stream.names, keys, columns, proba, stream.name)
    stream, answer = _as_they_stand(stream, answer, is_text_sink(sink, format))
    engine_ = StreamEngine(stream, answer.needed, chunk_rows(len(answer.needed)))
    if sink is None:
        return _reader(engine_, answer)
    if fspath(sink) == STANDARD and may_begin_again(stream):
        return _spool(engine_, answer, format)
    return _write(engine_, answer, fspath(sink), overwrite, format)


def _as_they_stand(stream: Stream, answer: "Answer", to_text: bool) -> tuple[Stream, "Answer"]:
    """Keys as files have them. What the model reads too is read twice, under another name, where that may differ: as
    text that is to be text again, and where some values stand for none.
    """
    files = [piece.file for piece in stream.pieces if isinstance(piece, FilePiece)]
    if not files:
        return stream, answer
    differ = any(to_text if file.is_text else file.missing is not None for file in files)
    twice = [name for name in answer.keys if name in answer.features and differ]
    copies = dict(zip(twice, _unused(stream.names), strict=False))
    own = {name: name for name in answer.keys if name not in answer.features}
    by_name = own | {copy: name for name, copy in copies.items()}
    pieces = [piece.copying(by_name) if isinstance(piece, FilePiece) else piece for piece in stream.pieces]
    return Stream(pieces, stream.kind), replace(answer, copies=copies)


def _unused(names: Sequence[str]) -> Iterator[str]:
    """Names that no column has, in capitals or not."""
    taken = {name.lower() for name in names}
    return (name for i in count() if (name := f"copy {i}") not in taken)


@dataclass(frozen=True, eq=False)
class Answer:
    """A chunk of rows, as a table of any library, to the columns asked for and the model's answers beside them.

    copies: under which names chunks have those keys that the model reads as something else.
    """

    model: Any
    features: tuple[str, ...]
    keys: tuple[str, ...]
    proba: bool
    copies: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, model: Any, names: Sequence[str], keys: Any, columns: Any, proba: bool, where: str) -> "Answer":
        """By the names of the rows' columns; what is not there is an error."""
        features = getattr(model_within(model), "feature_names_in_", columns)
        if features is None:
            raise ClasswiseError("The model was fitted on rows without names: give columns=[...], in the order of fit.")
        carried = names if keys is None else [keys] if isinstance(keys, str) else keys
        answer = cls(model, tuple(features), tuple(carried), proba)
        for name in answer.needed:
            if name not in names:
                raise ClasswiseError(no_such_column(name, names, where))
        for name in answer.added:
            if name in answer.keys:
                raise ClasswiseError(f"{where} has a column {name!r} already; name the others in keys.")
        return answer

    @property
    def needed(self) -> list[str]:
        """All columns that are read."""
        return list(dict.fromkeys([*self._carried, *self.features]))

    @property
    def _carried(self) -> list[str]:
        """The keys, as chunks name them."""
        return [self.copies.get(name, name) for name in self.keys]

    @property
    def added(self) -> list[str]:
        """The columns that are added."""
        return answer_columns(self.model.classes_, self.proba)

    def columns(self, chunk: Any) -> dict[str, NDArray[Any]]:
        """The columns that are added to a chunk."""
        X = as_frame(chunk).select(list(self.features))
        rows = X.to_native() if hasattr(model_within(self.model), "feature_names_in_") else X.to_numpy()
        labels, posterior = np.asarray(self.model.predict(rows)), np.asarray(self.model.predict_proba(rows))
        answers = [self._of_one_type(labels), self._of_labels(labels, posterior)]
        return dict(zip(self.added, [*answers, *(posterior.T if self.proba else ())], strict=True))

    @property
    def labels(self) -> Labels:
        """All that may be announced, of one type."""
        return self._of_one_type(self._announced)

    @cached_property
    def _announced(self) -> Labels:
        return np.asarray(getattr(self.model, "announced_", self.model.classes_))

    def _of_one_type(self, labels: Labels) -> Labels:
        """Labels of the type that all chunks have: text, where some are numbers and others, such as "reject", text."""
        announced = self._announced
        if announced.dtype.kind != "O" or not hasattr(self.model, "announced_"):
            return labels.astype(announced.dtype, copy=False)
        return np.array([None if label is None else str(label) for label in labels.tolist()], dtype=object)

    def _of_labels(self, labels: NDArray[Any], posterior: Array) -> Array:
        """The posterior of each row's label (n,); of one that is no class, because the row was refused, the best."""
        codes = posterior.argmax(axis=1)
        place = {label: k for k, label in enumerate(self.model.classes_.tolist())}
        for row in np.flatnonzero(labels != self.model.classes_[codes]).tolist():
            codes[row] = place.get(labels[row : row + 1].tolist()[0], codes[row])
        return posterior[np.arange(len(codes)), codes]

    def arrow(self, chunk: Any) -> Any:
        """Keys and answers, as a table of pyarrow's."""
        import pyarrow as pa

        # Also where all that is announced of a chunk is None.
        is_text = hasattr(self.model, "announced_") and self._announced.dtype.kind in "OU"
        types = {"label": pa.string()} if is_text else {}
        added = self.columns(chunk).items()
        answers = pa.table({name: pa.array(values, types.get(name)) for name, values in added})
        if not self.keys:
            return answers
        keys = as_arrow(as_frame(chunk).select(self._carried))
        return pa.table([*keys.columns, *answers.columns], names=[*self.keys, *answers.column_names])

    def pandas(self, chunk: Any) -> Any:
        """The same as a DataFrame of pandas, with the index of the rows."""
        return chunk[list(self.keys)].assign(**self.columns(chunk))


def answer_columns(classes: Labels, proba: bool) -> list[str]:
    """What answers are called: the label, its posterior, and with proba that of each class."""
    return ["label", "posterior", *(label_columns("posterior_", classes.tolist()) if proba else ())]


def text_columns(model: Any) -> list[str]:
    """The columns that hold text for a model, even where all values of a file look like numbers."""
    inner: Any = getattr(model_within(model), "model_", None)
    if not hasattr(inner, "levels") or not hasattr(inner, "schema"):
        return []
    names = [column.name for column in inner.schema.columns]
    texts = [j for j, levels in inner.levels.items() if any(isinstance(level, str) for level in levels)]
    return [name for j in texts if (name := names[j]) is not None]


def missing_marks(model: Any) -> tuple[str, ...] | None:
    """What stood for a missing value in the files that a model was made from; None, where it was the usual."""
    schema = getattr(getattr(model_within(model), "model_", None), "schema", None)
    return getattr(schema, "marks", None)


def _reader(engine: StreamEngine, answer: Answer) -> Any:
    """Answers as a stream of Arrow batches."""
    import pyarrow as pa

    tables = _kept(engine, answer) if may_begin_again(engine.rows) else engine.apply(answer.arrow)
    first = next(tables, None)
    if first is None:
        raise ClasswiseError(f"There are no rows to predict in {engine.rows.name}.")

    def batches() -> Iterator[Any]:
        yield from first.to_batches()
        for table in tables:
            yield from table.cast(first.schema).to_batches()

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def _kept(engine: StreamEngine, answer: Answer) -> Iterator[Any]:
    """Answers from a file, when they are complete: what has been handed over cannot be begun again."""
    import pyarrow as pa

    with TemporaryDirectory(prefix="classwise-", ignore_cleanup_errors=True) as folder:
        kept = str(Path(folder) / "answers.arrow")
        _write(engine, answer, kept, True, None)
        for batch in arrow_batches(kept, None):
            yield pa.Table.from_batches([batch])


def may_begin_again(stream: Stream) -> bool:
    """Whether a later row of a text file may show that its columns hold something else than its first rows say."""
    texts = (Format.CSV, Format.TSV)
    files = [(piece.size, *find_format(piece.name)) for piece in stream.pieces if stream.kind == "file"]
    return any(format in texts and (compression or size > ALL_SEEN) for size, format, compression in files)


def _spool(engine: StreamEngine, answer: Answer, format: str | None) -> int:
    """Answers to standard output when they are complete: what has been printed cannot be begun again."""
    with TemporaryDirectory(prefix="classwise-") as folder:
        kept = Path(folder) / f"answers.{format or 'csv'}"
        rows = _write(engine, answer, str(kept), True, format)
        with kept.open("rb") as file, writing(STANDARD) as output:
            shutil.copyfileobj(file, output)
    return rows


def _write(engine: StreamEngine, answer: Answer, sink: str, overwrite: bool, format: str | None) -> int:
    """Answers to a sink; begun again where a file turns out to hold other types than its first rows."""
    while True:
        try:
            with open_sink(sink, overwrite, format) as write:
                rows = 0
                for table in engine.apply(answer.arrow):
                    write(table)
                    rows += len(table)
                if not rows:
                    raise ClasswiseError(f"There are no rows to predict in {engine.rows.name}.")
            return rows
        except WiderTypeError:
            continue


def _of_dask(engine: DaskEngine, answer: Answer) -> Any:
    empty = {name: np.zeros(0) for name in answer.added} | {"label": answer.labels[:0]}
    meta = engine.rows._meta[list(answer.keys)].assign(**empty)
    return engine.apply(answer.pandas, answer.needed, meta)


def _of_spark(engine: SparkEngine, answer: Answer) -> Any:
    from pyspark.sql import types

    kinds = {"b": types.BooleanType(), "i": types.LongType(), "u": types.LongType(), "f": types.DoubleType()}
    label = kinds.get(answer.labels.dtype.kind, types.StringType())
    kept = [engine.rows.schema[name] for name in answer.keys]
    added = [types.StructField(name, types.DoubleType()) for name in answer.added[1:]]
    schema = types.StructType([*kept, types.StructField("label", label), *added])
    return engine.apply(answer.arrow, answer.needed, schema)
