"""predict and evaluate: answers beside rows wherever they are, and how good they are where rows have labels."""

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
from classwise.classifier.evaluation import Evaluation
from classwise.engines import Rows, open_rows, total
from classwise.errors import ClasswiseError
from classwise.estimators.answers import codes_among
from classwise.estimators.decisions import model_within
from classwise.rows.codes import label_columns
from classwise.rows.files import no_such_column
from classwise.rows.formats import Format, find_format
from classwise.rows.roles import Chunk, Roles, warn_of_unlabeled
from classwise.rows.sinks import STANDARD, is_text_sink, open_sink, writing
from classwise.rows.streams import FilePiece, Stream, arrow_batches
from classwise.rows.texts import WiderTypeError
from classwise.rows.written_numbers import WrittenNumber

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
    rows = open_rows(source, text=text_columns(model), missing=missing_marks(model))
    answer = ModelAnswer.read(model, rows.roles.features, keys, columns, proba, rows.name)
    if rows.is_clustered:
        if sink is not None:
            raise ClasswiseError("Leave sink out: what is returned for rows of Dask or Spark can write itself.")
        return rows.select(answer.needed).apply(answer)
    stream, answer = _as_they_stand(rows.open(), answer, is_text_sink(sink, format))
    rows = replace(rows, open=lambda again=False: stream).select(answer.needed)
    if sink is None:
        return _reader(rows, answer)
    if fspath(sink) == STANDARD and may_begin_again(rows.open()):
        return _spool(rows, answer, format)
    return _write(rows, answer, fspath(sink), overwrite, format)


def _as_they_stand(stream: Stream, answer: "ModelAnswer", to_text: bool) -> tuple[Stream, "ModelAnswer"]:
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
class ModelAnswer:
    """A chunk of rows, as a table of any library, to the columns asked for and the model's answers beside them.

    copies: under which names chunks have those keys that the model reads as something else.
    """

    model: Any
    features: tuple[str, ...]
    keys: tuple[str, ...]
    proba: bool
    copies: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, model: Any, names: Sequence[str], keys: Any, columns: Any, proba: bool, where: str) -> "ModelAnswer":
        """By the names of the rows' columns; what is not there is an error."""
        features = feature_columns(model, columns)
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
        return list(dict.fromkeys([*self.carried.values(), *self.features]))

    @property
    def carried(self) -> dict[str, str]:
        """The keys, and how chunks name them."""
        return {name: self.copies.get(name, name) for name in self.keys}

    @property
    def added(self) -> list[str]:
        """The columns that are added."""
        return answer_columns(self.model.classes_, self.proba)

    @property
    def empty(self) -> dict[str, NDArray[Any]]:
        """The columns that are added, without a row."""
        return {name: np.zeros(0) for name in self.added} | {"label": self.labels[:0]}

    def columns(self, chunk: Chunk) -> dict[str, NDArray[Any]]:
        """The columns that are added to a chunk."""
        rows = as_fitted(self.model, chunk.frame.select(list(self.features)))
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
        """Labels of the type that all chunks have: text, where some are numbers and others, such as "reject", text, and
        where they have more digits than a column of numbers keeps.
        """
        announced = self._announced
        if announced.dtype.kind != "O":
            return labels.astype(announced.dtype, copy=False)
        return np.array([None if label is None else str(label) for label in labels.tolist()], dtype=object)

    def _of_labels(self, labels: NDArray[Any], posterior: Array) -> Array:
        """The posterior of each row's label (n,); of one that is no class, because the row was refused, the best."""
        codes = posterior.argmax(axis=1)
        place = {label: k for k, label in enumerate(self.model.classes_.tolist())}
        for row in np.flatnonzero(labels != self.model.classes_[codes]).tolist():
            codes[row] = place.get(labels[row : row + 1].tolist()[0], codes[row])
        return posterior[np.arange(len(codes)), codes]


def feature_columns(model: Any, columns: Sequence[str] | None) -> Sequence[str]:
    """The columns that a model reads, in the order of fit; columns: those given, where it was fitted without names."""
    features = getattr(model_within(model), "feature_names_in_", columns)
    if features is None:
        raise ClasswiseError("The model was fitted on rows without names: give columns=[...], in the order of fit.")
    return [str(name) for name in features]


def as_fitted(model: Any, frame: Any) -> Any:
    """Rows of a frame, in the kind of table that a model was fitted on: with names or without."""
    return frame.to_native() if hasattr(model_within(model), "feature_names_in_") else frame.to_numpy()


def answer_columns(classes: Labels, proba: bool) -> list[str]:
    """What answers are called: the label, its posterior, and with proba that of each class."""
    return ["label", "posterior", *(label_columns("posterior_", classes.tolist()) if proba else ())]


def text_columns(model: Any, target: str | None = None) -> list[str]:
    """The columns that hold text for a model, even where all values of a file look like numbers; target: the labels."""
    is_text = target is not None and any(isinstance(label, str) for label in np.asarray(model.classes_).tolist())
    labels = [str(target)] if is_text else []
    inner: Any = getattr(model_within(model), "model_", None)
    if not hasattr(inner, "levels") or not hasattr(inner, "schema"):
        return labels
    names = [column.name for column in inner.schema.columns]
    texts = [j for j, levels in inner.levels.items() if any(isinstance(level, str) for level in levels)]
    texts += [j for j, column in enumerate(inner.schema) if isinstance(column.conversion, WrittenNumber)]
    return [name for j in texts if (name := names[j]) is not None] + labels


def missing_marks(model: Any) -> tuple[str, ...] | None:
    """What stood for a missing value in the files that a model was made from; None, where it was the usual."""
    schema = getattr(getattr(model_within(model), "model_", None), "schema", None)
    return getattr(schema, "marks", None)


def _reader(rows: Rows, answer: ModelAnswer) -> Any:
    """Answers as a stream of Arrow batches."""
    import pyarrow as pa

    tables = _kept(rows, answer) if may_begin_again(rows.open()) else rows.apply(answer)
    first = next(tables, None)
    if first is None:
        raise ClasswiseError(f"There are no rows to predict in {rows.name}.")

    def batches() -> Iterator[Any]:
        yield from first.to_batches()
        for table in tables:
            yield from table.cast(first.schema).to_batches()

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def _kept(rows: Rows, answer: ModelAnswer) -> Iterator[Any]:
    """Answers from a file, when they are complete: what has been handed over cannot be begun again."""
    import pyarrow as pa

    with TemporaryDirectory(prefix="classwise-", ignore_cleanup_errors=True) as folder:
        kept = str(Path(folder) / "answers.arrow")
        _write(rows, answer, kept, True, None)
        for batch in arrow_batches(kept, None):
            yield pa.Table.from_batches([batch])


def may_begin_again(stream: Stream) -> bool:
    """Whether a later row of a text file may show that its columns hold something else than its first rows say."""
    texts = (Format.CSV, Format.TSV)
    files = [(piece.size, *find_format(piece.name)) for piece in stream.pieces if stream.kind == "file"]
    return any(format in texts and (compression or size > ALL_SEEN) for size, format, compression in files)


def _spool(rows: Rows, answer: ModelAnswer, format: str | None) -> int:
    """Answers to standard output when they are complete: what has been printed cannot be begun again."""
    with TemporaryDirectory(prefix="classwise-") as folder:
        kept = Path(folder) / f"answers.{format or 'csv'}"
        count = _write(rows, answer, str(kept), True, format)
        with kept.open("rb") as file, writing(STANDARD) as output:
            shutil.copyfileobj(file, output)
    return count


def _write(rows: Rows, answer: ModelAnswer, sink: str, overwrite: bool, format: str | None) -> int:
    """Answers to a sink; begun again where a file turns out to hold other types than its first rows."""
    while True:
        try:
            with open_sink(sink, overwrite, format) as write:
                count = 0
                for table in rows.apply(answer):
                    write(table)
                    count += len(table)
                if not count:
                    raise ClasswiseError(f"There are no rows to predict in {rows.name}.")
            return count
        except WiderTypeError:
            continue


# Rows with labels -----------------------------------------------------------------------------------------------------


def evaluate(
    model: Any, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
) -> Evaluation:
    """How good a model is on labeled rows wherever they are: print the answer, or read its measures.

    The numbers are those of `model.evaluate(X, y, sample_weight)`, gathered in one pass; memory stays flat. The AUC is
    within its `auc_bound`. Rows of Dask and Spark are evaluated by their workers. Of a Decision, the posteriors of its
    model are evaluated.

    model: a fitted classifier, of classwise or of scikit-learn. source: rows wherever they are, as for `predict`.
    target: the column of the labels; rows without one are left out, and a warning says how many.
    columns: those to predict from, in the order of fit, where the model was fitted on rows without names.
    weights: the column of the weights, if rows have any.

    >>> import classwise as cw, pandas as pd
    >>> rows = pd.DataFrame({"x": [1.0, 2.0, 8.0, 9.0], "y": list("aabb")})
    >>> m = cw.LDA().fit(rows[["x"]], rows["y"])
    >>> cw.evaluate(m, rows, target="y").error
    0.0
    """
    features = feature_columns(model, columns)
    options: dict[str, Any] = {"text": text_columns(model, target), "missing": missing_marks(model)}
    rows = open_rows(source, target=target, columns=features, weights=weights, **options)
    if rows.roles.features != tuple(features):
        taken = next(name for name in features if name not in rows.roles.features)
        raise ClasswiseError(f"The model reads the column {taken!r}, which cannot be the target or the weights, too.")
    found = rows.gather(Evaluating(model, rows.roles), "Evaluating")
    if found is None or found.evaluation is None:
        raise ClasswiseError(f"There are no rows to evaluate in {rows.name}: none has a label and a weight.")
    warn_of_unlabeled(found.unlabeled, found.rows)
    return found.evaluation


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What some rows add: their evaluation, if any of them count, and how many there were, with labels and without."""

    evaluation: Evaluation | None
    rows: int
    unlabeled: int

    def __add__(self, other: "Evaluated") -> "Evaluated":
        both = total([self.evaluation, other.evaluation])
        return Evaluated(both, self.rows + other.rows, self.unlabeled + other.unlabeled)


@dataclass(frozen=True, eq=False)
class Evaluating:
    """A chunk of rows to what it adds."""

    model: Any
    roles: Roles

    def __call__(self, chunk: Chunk) -> Evaluated:
        counted = chunk.counted(self.roles)
        if not len(counted):
            return Evaluated(None, counted.rows, counted.unlabeled)
        labels, codes = counted.coded()
        rows = as_fitted(self.model, counted.frame.select(list(self.roles.features)))
        return Evaluated(self._of(rows, labels[codes], counted.weights), counted.rows, counted.unlabeled)

    def _of(self, rows: Any, labels: Labels, weights: Array | None) -> Evaluation:
        model = model_within(self.model)
        if hasattr(model, "evaluate"):
            return model.evaluate(rows, labels, weights)
        with np.errstate(divide="ignore"):
            log_posterior = np.log(model.predict_proba(rows))
        return Evaluation.of(log_posterior, codes_among(model.classes_, labels), model.classes_, weights)
