"""predict and evaluate for any source of rows: write predictions next to the rows, and measure them on labeled rows."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, count
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
from classwise.estimators.prediction_sets import prepare_sets
from classwise.rows.codes import label_columns
from classwise.rows.files import no_such_column
from classwise.rows.formats import Format, find_format
from classwise.rows.roles import Chunk, Roles, warn_of_unlabeled
from classwise.rows.sinks import STANDARD, is_text_sink, open_sink, writing
from classwise.rows.streams import FilePiece, Stream, arrow_batches
from classwise.rows.texts import WiderTypeError
from classwise.rows.written_numbers import WrittenNumber

# The types of a text file with at most this many bytes are inferred from the whole file.
ALL_SEEN = 40_000

# The column of prediction sets, and what stands between the classes of a set.
SET, BETWEEN = "set", "|"


def predict(
    model: Any,
    source: Any,
    sink: str | PathLike[str] | None = None,
    *,
    keys: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    proba: bool = False,
    sets: float | None = None,
    overwrite: bool = False,
    format: str | None = None,
) -> Any:
    """Predict the label of each row of a source, with its posterior, in the order of the rows; memory stays flat.

    Parameters
    ----------
    model : estimator
        A fitted classifier, of classwise or of scikit-learn.
    source : path, pattern, query, table or stream
        Rows, as for `summarize`. In files and databases, the same texts count as missing as when the model
        was fitted.
    sink : str or path, optional
        Where predictions go: a Parquet, CSV, TSV, JSON or Arrow file, by its suffix, or a database table such
        as "shop.duckdb#table" or "postgresql://host/shop#table"; "-" is standard output. A sink appears only
        when it is complete, and the number of rows is returned. Without a sink the predictions are returned:
        as a DataFrame of Dask or Spark if the source is one, and else as a stream of Arrow batches, which can
        be read once. Predictions for a large text file first go to a temporary file, because a later row may
        change the type of a column.
    keys : sequence of str, optional
        The columns to copy to the output; by default all. From CSV and TSV their text is copied unchanged,
        but in sinks with types, columns of the model have the model's type.
    columns : sequence of str, optional
        The columns to predict from, in the order of fit, if the model was fitted on rows without names.
    proba : bool, default=False
        Add a column `posterior_CLASS` for each class. If classes differ by case alone, later ones are
        numbered, such as `posterior_a_2` beside `posterior_A`.
    sets : float, optional
        Add a column `set` with the classes of the prediction set of this coverage, separated by "|"; for
        models with `prediction_sets`.
    overwrite : bool, default=False
        Replace an existing file or table.
    format : str, optional
        "csv", "tsv", "json", "jsonl", "parquet" or "arrow", if the suffix does not say; "csv" for "-".

    Returns
    -------
    Arrow record batch reader, or None
        The predictions; None if they went to a sink.

    Examples
    --------
    >>> import classwise as cw, pandas as pd
    >>> rows = pd.DataFrame({"id": [7, 8, 9, 10], "x": [1.0, 2.0, 8.0, 9.0], "y": list("aabb")})
    >>> m = cw.LDA().fit(rows[["x"]], rows["y"])
    >>> cw.predict(m, rows, keys=["id"]).read_all().to_pydict()["label"]
    ['a', 'a', 'b', 'b']
    """
    rows = open_rows(source, text=text_columns(model), missing=missing_marks(model))
    answer = ModelAnswer.read(model, rows.roles.features, keys, columns, proba, rows.name, sets)
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
    """Read keys unchanged from files. A key that the model reads too is read a second time, under another name, if its
    text may differ from its value: in text files with a text sink, and in files with marks for missing values.
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
    """Names that no column has, whatever the case."""
    taken = {name.lower() for name in names}
    return (name for i in count() if (name := f"copy {i}") not in taken)


@dataclass(frozen=True, eq=False)
class ModelAnswer:
    """From a chunk of rows, in a table of any library, to the keys, followed by the predictions.

    copies: the names under which chunks hold unchanged copies of keys that the model reads too.
    """

    model: Any
    features: tuple[str, ...]
    keys: tuple[str, ...]
    proba: bool
    copies: Mapping[str, str] = field(default_factory=dict)
    coverage: float | None = None

    @classmethod
    def read(
        cls,
        model: Any,
        names: Sequence[str],
        keys: Any,
        columns: Any,
        proba: bool,
        where: str,
        coverage: float | None = None,
    ) -> "ModelAnswer":
        """Check the options against the names of the rows' columns; a missing column is an error."""
        features = feature_columns(model, columns)
        if coverage is not None:
            prepare_sets(model_within(model))  # here, where the training rows are, rather than where chunks are
        carried = names if keys is None else [keys] if isinstance(keys, str) else keys
        answer = cls(model, tuple(features), tuple(carried), proba, coverage=coverage)
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
        """The keys, and their names in chunks."""
        return {name: self.copies.get(name, name) for name in self.keys}

    @property
    def added(self) -> list[str]:
        """The names of the added columns."""
        return answer_columns(self.model.classes_, self.proba, self.coverage is not None)

    @property
    def empty(self) -> dict[str, NDArray[Any]]:
        """The added columns, without rows."""
        texts = {SET: np.zeros(0, dtype=object)} if self.coverage is not None else {}
        return {name: np.zeros(0) for name in self.added} | {"label": self.labels[:0]} | texts

    def columns(self, chunk: Chunk) -> dict[str, NDArray[Any]]:
        """The added columns of a chunk."""
        rows = as_fitted(self.model, chunk.frame.select(list(self.features)))
        labels, posterior = np.asarray(self.model.predict(rows)), np.asarray(self.model.predict_proba(rows))
        answers = [self._of_one_type(labels), self._of_labels(labels, posterior)]
        answers += [self._sets(rows)] if self.coverage is not None else []
        return dict(zip(self.added, [*answers, *(posterior.T if self.proba else ())], strict=True))

    def _sets(self, rows: Any) -> Labels:
        """The classes of each row's prediction set as one text; (n,)."""
        names = [str(label) for label in self.model.classes_.tolist()]
        held = self.model.prediction_sets(rows, self.coverage)
        return np.array([BETWEEN.join(compress(names, row)) for row in held.tolist()], dtype=object)

    @property
    def labels(self) -> Labels:
        """All labels that may be predicted, of one type."""
        return self._of_one_type(self._possible_labels)

    @cached_property
    def _possible_labels(self) -> Labels:
        return np.asarray(getattr(self.model, "announced_", self.model.classes_))

    def _of_one_type(self, labels: Labels) -> Labels:
        """Labels in a type that is the same for all chunks: text if numbers are mixed with text such as "reject", or
        have more digits than a column of numbers keeps.
        """
        possible = self._possible_labels
        if possible.dtype.kind != "O":
            return labels.astype(possible.dtype, copy=False)
        return np.array([None if label is None else str(label) for label in labels.tolist()], dtype=object)

    def _of_labels(self, labels: NDArray[Any], posterior: Array) -> Array:
        """The posterior of each row's label, or the largest posterior if the row was rejected or novel; (n,)."""
        codes = posterior.argmax(axis=1)
        place = {label: k for k, label in enumerate(self.model.classes_.tolist())}
        for row in np.flatnonzero(labels != self.model.classes_[codes]).tolist():
            codes[row] = place.get(labels[row : row + 1].tolist()[0], codes[row])
        return posterior[np.arange(len(codes)), codes]


def feature_columns(model: Any, columns: Sequence[str] | None) -> Sequence[str]:
    """The columns that a model reads, in the order of fit; columns: used if it was fitted on rows without names."""
    features = getattr(model_within(model), "feature_names_in_", columns)
    if features is None:
        raise ClasswiseError("The model was fitted on rows without names: give columns=[...], in the order of fit.")
    return [str(name) for name in features]


def as_fitted(model: Any, frame: Any) -> Any:
    """The rows of a frame as a table with names, or as an array if the model was fitted without names."""
    return frame.to_native() if hasattr(model_within(model), "feature_names_in_") else frame.to_numpy()


def answer_columns(classes: Labels, proba: bool, sets: bool = False) -> list[str]:
    """The names of the added columns: the label, its posterior, with sets the prediction set, and with proba the
    posterior of each class.
    """
    by_class = label_columns("posterior_", classes.tolist()) if proba else ()
    return ["label", "posterior", *([SET] if sets else ()), *by_class]


def text_columns(model: Any, target: str | None = None) -> list[str]:
    """The columns to read as text for a model, even if all values look like numbers; target: the column of labels."""
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
    """The texts that marked missing values in the files that a model was fitted on; None for the default ones."""
    schema = getattr(getattr(model_within(model), "model_", None), "schema", None)
    return getattr(schema, "marks", None)


def _reader(rows: Rows, answer: ModelAnswer) -> Any:
    """Predictions as a stream of Arrow batches."""
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
    """Predictions by way of a complete temporary file, because batches that are handed over cannot be taken back."""
    import pyarrow as pa

    with TemporaryDirectory(prefix="classwise-", ignore_cleanup_errors=True) as folder:
        kept = str(Path(folder) / "answers.arrow")
        _write(rows, answer, kept, True, None)
        for batch in arrow_batches(kept, None):
            yield pa.Table.from_batches([batch])


def may_begin_again(stream: Stream) -> bool:
    """Whether a later row of a text file may change the types that were inferred from its first rows."""
    texts = (Format.CSV, Format.TSV)
    files = [(piece.size, *find_format(piece.name)) for piece in stream.pieces if stream.kind == "file"]
    return any(format in texts and (compression or size > ALL_SEEN) for size, format, compression in files)


def _spool(rows: Rows, answer: ModelAnswer, format: str | None) -> int:
    """Write predictions to standard output when they are complete, because printed lines cannot be taken back."""
    with TemporaryDirectory(prefix="classwise-") as folder:
        kept = Path(folder) / f"answers.{format or 'csv'}"
        count = _write(rows, answer, str(kept), True, format)
        with kept.open("rb") as file, writing(STANDARD) as output:
            shutil.copyfileobj(file, output)
    return count


def _write(rows: Rows, answer: ModelAnswer, sink: str, overwrite: bool, format: str | None) -> int:
    """Write predictions to a sink; start again if a file turns out to have other types than its first rows."""
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
    """How good a model is on a source of labeled rows: print the result, or read its measures.

    The measures are those of `model.evaluate(X, y, sample_weight)`, computed in one pass with flat memory. The AUC is
    accurate to `auc_bound`. Rows of Dask and Spark are evaluated by their workers. For a Decision, the posteriors of
    its model are evaluated.

    Parameters
    ----------
    model : estimator
        A fitted classifier, of classwise or of scikit-learn.
    source : path, pattern, query, table or stream
        Rows, as for `predict`.
    target : str
        The column of labels. Rows without a label are left out, and a warning counts them.
    columns : sequence of str, optional
        The columns to predict from, in the order of fit, if the model was fitted on rows without names.
    weights : str, optional
        The column of weights, if there is one.

    Returns
    -------
    Evaluation
        The measures; they add up over batches.

    Examples
    --------
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
    """The result of some rows: their evaluation, None if none counts, and how many there are, in all and unlabeled."""

    evaluation: Evaluation | None
    rows: int
    unlabeled: int

    def __add__(self, other: "Evaluated") -> "Evaluated":
        both = total([self.evaluation, other.evaluation])
        return Evaluated(both, self.rows + other.rows, self.unlabeled + other.unlabeled)


@dataclass(frozen=True, eq=False)
class Evaluating:
    """From a chunk of rows to its part of the evaluation."""

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
