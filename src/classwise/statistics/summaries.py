"""From rows to statistics, the first half of every fit: for a table, a chunk of any engine, or any source of rows.

An engine sends only a small `Learner` to its workers, which splits a chunk by the roles of its columns and summarizes
it. `summarize` works for every source, and gives the same numbers for each.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np

from classwise import limits
from classwise.arrays import Labels
from classwise.engines import (
    DaskArrays,
    DaskEngine,
    Engine,
    MemoryEngine,
    Rows,
    StreamEngine,
    is_dask,
    makes_rows,
    open_rows,
)
from classwise.engines.stream import Gathered
from classwise.engines.stream import named as named_piece
from classwise.errors import ClasswiseError, SkippedFileWarning, choose, whole
from classwise.kernels import readable
from classwise.limits import CHUNK_SIZE, COPY_SIZE, SPARSE_SIZE, chunk_rows
from classwise.rows.codes import code_labels
from classwise.rows.databases import Query
from classwise.rows.device_rows import DeviceMatrix
from classwise.rows.roles import ArrayChunk, Chunk, Roles, level_columns, warn_of_unlabeled
from classwise.rows.schema import Families
from classwise.rows.sources import read_table
from classwise.rows.sparse import SparseRows, is_sparse
from classwise.rows.streams import Piece, Stream, open_stream
from classwise.rows.table import Table
from classwise.statistics.binning import Also, Pairing, sketched_places, with_sketches
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.in_database import summarize_in_database
from classwise.statistics.in_place import summarize_in_place
from classwise.statistics.moments import fused_moments
from classwise.statistics.parts import NUMBERS, Gathering, gather_parts
from classwise.statistics.scatter import SCATTERS, DiagonalScatter, Scatter
from classwise.storage import describe, load, save

MISSING = {"integrate": True, "level": True, "error": False}


def summarize_table(
    table: Table,
    form: type[Scatter],
    engine: Engine | None = None,
    allow_missing: bool = True,
    quartics: bool = False,
) -> ClassStatistics:
    """The statistics of a table, gathered by an engine, by the device that its rows are on, or by a compiled kernel."""
    if engine is None:
        by = summarize_in_place if isinstance(table.source, DeviceMatrix) else _in_one_pass
        found = by(table, form, quartics)
        if found is not None:
            return found
    engine = engine or MemoryEngine()
    size = sparse_chunk(table) or chunk_rows(len(table.schema.columns), COPY_SIZE if table.is_copied else CHUNK_SIZE)
    gathered = engine.gather(lambda chunk: summarize_chunk(chunk, form, allow_missing, quartics), table, size)
    return gathered.compact()


def sparse_chunk(table: Table) -> int | None:
    """How many rows of a sparse table are summarized at once; None where the table is not sparse."""
    return int(SPARSE_SIZE / table.source.stored) + 1 if isinstance(table.source, SparseRows) else None


def _in_one_pass(table: Table, form: type[Scatter], quartics: bool) -> ClassStatistics | None:
    """The statistics of complete numbers, by a compiled kernel with threads of its own; None for any other table."""
    if quartics or len(table.schema.places["gaussian"]) < len(table.schema.columns):
        return None
    if table.weights is not None and not table.weights.all():
        return None
    parts = []
    for chunk in table.chunks(limits.ONE_PASS_ROWS):
        rows = chunk.numbers()
        if rows is None or readable(rows) is None:
            return None
        labels, codes = code_labels(required_labels(chunk))
        moments = fused_moments(rows, codes, len(labels), chunk.weights, form)
        if moments is None or not moments.are_finite:
            return None
        numbers = Numbers(moments, Gaps.empty(len(chunk.schema.columns)))
        parts.append(ClassStatistics(labels, moments.weight[:, 0], len(codes), chunk.schema, {NUMBERS.name: numbers}))
    return reduce(add, parts)


def required_labels(chunk: Table) -> Labels:
    """The labels of a chunk (m,); an error if there are none."""
    if chunk.labels is None:
        raise ClasswiseError("y is missing: a statistic by class needs a label for every row.")
    return chunk.labels


def summarize_chunk(
    chunk: Table, form: type[Scatter], allow_missing: bool = True, quartics: bool = False
) -> ClassStatistics:
    """The statistics of one chunk; values that no density can model are an error that names the column."""
    chunk = chunk.weighted()
    given = required_labels(chunk)
    rows = len(given)
    labels, codes = code_labels(given) if rows else (given, np.zeros(0, dtype=np.intp))
    weight = np.bincount(codes, chunk.weights, minlength=len(labels)).astype(np.float64)
    parts = gather_parts(Gathering(chunk, codes, len(labels), form, allow_missing), quartics)
    return ClassStatistics(labels, weight, rows, chunk.schema, parts)


@dataclass(frozen=True, eq=False)
class Tally:
    """The sum over chunks. statistics: None if no row counts; rows: the number of rows that were read; unlabeled: how
    many of them had no label.
    """

    statistics: ClassStatistics | None
    rows: int = 0
    unlabeled: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        ours, theirs = self.statistics, other.statistics
        together = ours + theirs if ours is not None and theirs is not None else ours or theirs
        return Tally(together, self.rows + other.rows, self.unlabeled + other.unlabeled)

    def finished(self, where: str) -> ClassStatistics:
        """The statistics of all rows; an error if no row counts. where: the name of the rows in messages."""
        if self.statistics is None:
            why = "every row has no label or no weight" if self.rows else "there are none"
            raise ClasswiseError(f"There are no rows to learn from in {where}: {why}.")
        warn_of_unlabeled(self.unlabeled, self.rows)
        return self.statistics.compact()


@dataclass(frozen=True, eq=False)
class Learner:
    """From a chunk of rows to its statistics. roles: of its columns; None for arrays, whose columns have no names.

    It knows nothing about other chunks: classes and levels that only some of them have are merged when results are
    added. also: adds further statistics of a table.
    """

    roles: Roles | None
    form: type[Scatter]
    families: Families = "auto"
    allow_missing: bool = True
    quartics: bool = False
    also: Also | None = None

    def __call__(self, chunk: Chunk | ArrayChunk) -> Tally:
        counted: Any = chunk.counted(self.roles)  # type: ignore[arg-type]
        if counted.unlabeled and not self.allow_missing:
            where = "y" if self.roles is None else repr(self.roles.target)
            raise ClasswiseError(
                f"{where} contains missing labels in {counted.unlabeled} rows; remove those rows or give them a label."
            )
        return Tally(self._summarize(counted) if len(counted) else None, counted.rows, counted.unlabeled)

    def of_query(self, query: Query) -> Tally | None:
        """The statistics of all rows of a query, computed by its database; None where its rows have to be read."""
        if self.roles is None or self.also is not None or self.quartics:
            return None

        def summarize(chunk: Chunk, roles: Roles) -> ClassStatistics | None:
            return replace(self, roles=roles)(chunk).statistics

        found = summarize_in_database(query, self.roles, self.form, summarize)
        if found is None or (found.unlabeled and not self.allow_missing):
            return None
        return Tally(found.statistics, found.rows, found.unlabeled)

    def _summarize(self, counted: Any) -> ClassStatistics:
        labels, names = counted.labels()
        summary = self.summarize(counted.source().read(self.families, labels, counted.weights))
        return summary if names is None else replace(summary, labels=names[summary.labels])

    def summarize(self, table: Table) -> ClassStatistics:
        """The statistics of a table."""
        summary = summarize_table(table, self.form, allow_missing=self.allow_missing, quartics=self.quartics)
        return summary if self.also is None else self.also(summary, table)


ScatterForm = Literal["full", "pooled", "diagonal"]


def summarize(
    X: Any,
    y: Any = None,
    weights: Any = None,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    scatter: ScatterForm = "full",
    families: Families = "auto",
    missing: Literal["integrate", "error"] = "integrate",
    quartics: bool = False,
    pairs: int | ClassStatistics | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    checkpoint: str | PathLike[str] | None = None,
) -> ClassStatistics:
    """Gather statistics by class in one pass with flat memory: weights, means and scatter of numbers, counts of levels.

    Parameters
    ----------
    X : array of shape (n, p)
        An array, or a pandas, polars or Arrow table, with numbers, text, categories, booleans and missing
        values. With `target`, any source of rows: the path of a CSV, TSV, JSON, Parquet or Arrow file, a
        pattern ("rows/*.parquet"), a list of paths, a folder, a query, a `Query`, "shop.duckdb#table",
        "postgresql://host/shop#table", a polars lazy frame, an Arrow stream or dataset, an iterator of
        tables, a function that returns one of these, or a DataFrame of Dask or Spark.
    y : array of shape (n,), optional
        Labels of any sortable type. Rows without a label are left out, with a warning. X and y may be Dask
        arrays.
    weights : array of shape (n,) or str, optional
        A row of weight two counts twice, a row of weight zero not at all. With `target`, a column's name.
    target : str, optional
        The column of labels.
    columns : sequence of str, optional
        The columns to learn from; by default all others.
    scatter : {"full", "pooled", "diagonal"}, default="full"
        "full" is enough for every model; "pooled" (LDA) and "diagonal" (naive Bayes, nearest mean) are
        smaller.
    families : str or mapping from column to family, default="auto"
        How to model columns whose type is misleading, as in NaiveBayes.
    missing : {"integrate", "error"}, default="integrate"
        "error" refuses missing values and missing labels.
    quartics : bool, default=False
        Also gather sums of |d|⁴, which shrink="ledoit-wolf" needs (with full scatter).
    pairs : int or ClassStatistics, optional
        Also count pairs of columns, which AODE needs: the number of ranges for each column of numbers. The
        rows are then read twice, first to find the ranges. Or statistics whose ranges are reused, in one
        pass.
    on_error : {"raise", "skip"}, default="raise"
        "skip" leaves out files that cannot be read, with a warning that counts them.
    checkpoint : str or path, optional
        A statistics file that is updated while files are read. The same call, after a crash or when there are
        new files, continues with the files that are not yet in it.

    Returns
    -------
    ClassStatistics
        Statistics of every class, which add and subtract.

    Examples
    --------
    >>> import classwise as cw
    >>> cw.summarize([[1.8], [2.1], [5.8], [6.7]], [0, 0, 1, 1])
    ClassStatistics(2 classes, 1 feature, weight 4, full scatter)
    """
    allow_missing = choose("missing", missing, {"integrate": True, "error": False})
    form = choose("scatter", scatter, SCATTERS)
    skip = choose("on_error", on_error, {"raise": False, "skip": True})
    options: dict[str, Any] = {"form": form, "families": families, "allow_missing": allow_missing, "quartics": quartics}
    if pairs is None:
        return _summarized(X, y, weights, target, columns, options, skip, checkpoint)
    if checkpoint is not None:
        raise ClasswiseError(
            "checkpoint cannot be combined with pairs, for which rows may be read twice; leave it out."
        )

    def gather(also: Also) -> ClassStatistics:
        return _summarized(X, y, weights, target, columns, {**options, "also": also}, skip, None)

    return gather(_pairing(pairs, X, gather))


def _pairing(pairs: Any, X: Any, gather: Callable[[Also], ClassStatistics]) -> Pairing:
    """The counter of pairs, with the ranges of other statistics, or with ranges from a first pass over the rows."""
    if isinstance(pairs, ClassStatistics):
        return Pairing(pairs.pairs.columns)
    bins = whole("pairs", pairs, 2)
    if hasattr(X, "__next__") or hasattr(X, "read_next_batch"):
        raise ClasswiseError(
            f"pairs={bins} reads the rows twice, and {type(X).__name__} can be read once; give a function that makes "
            "one, or pairs=statistics whose ranges are to be used."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the second pass gives the same warnings
        return Pairing(sketched_places(gather(with_sketches), bins))


def _summarized(
    X: Any, y: Any, weights: Any, target: Any, columns: Any, options: dict[str, Any], skip: bool, checkpoint: Any
) -> ClassStatistics:
    """The statistics of a source with named columns, or of arrays."""
    if target is not None:
        if y is not None:
            raise ClasswiseError(f"target={target!r} names the column of the labels; leave y out.")
        named = {"target": target, "columns": columns, "weights": weights, "families": options["families"]}
        return _by_name(X, named, options, skip, None if checkpoint is None else fspath(checkpoint))
    if skip or checkpoint is not None or columns is not None:
        raise ClasswiseError("columns, on_error and checkpoint go with target='...', the name of the labels' column.")
    learn = Learner(None, **options)
    if is_dask(X):
        return DaskEngine().gather(learn, DaskArrays(X, y, weights), 0).finished("X")
    if y is None:
        raise ClasswiseError("y is missing: give the labels, or target='...', the name of the column that holds them.")
    if is_sparse(X):  # the only form that it can have
        learn = replace(learn, form=DiagonalScatter)
    return learn.summarize(read_table(X, y, weights, learn.families, strict=not learn.allow_missing, sparse=True))


def _by_name(
    X: Any, named: dict[str, Any], options: dict[str, Any], skip: bool, checkpoint: str | None
) -> ClassStatistics:
    """The statistics of a source of rows, whose columns are named."""
    if not skip and checkpoint is None:
        return summarize_rows(open_rows(X, **named), **options)
    rows, problems = _begun(X, named, skip)
    stream = rows.open()
    if not isinstance(stream, Stream) or stream.kind == "table":
        raise ClasswiseError("on_error and checkpoint are for files; these rows are not in files.")
    return _by_piece(rows, stream, Learner(rows.decided, **options), problems, checkpoint)


def summarize_rows(rows: Rows, form: type[Scatter], what: str = "Learning", **options: Any) -> ClassStatistics:
    """The statistics of a source of rows, in one pass; options: as for Learner."""
    return (rows.gather(Learner(rows.decided, form, **options), what) or Tally(None)).finished(rows.name)


def _begun(X: Any, named: dict[str, Any], skip: bool) -> tuple[Rows, list[ClasswiseError]]:
    """The rows from the first readable piece (file) on, and the errors of the pieces before it."""
    problems: list[ClasswiseError] = []
    source = X() if makes_rows(X) else X
    while True:
        try:
            return open_rows(source, **named, skip=skip), problems
        except ClasswiseError as problem:
            stream = open_stream(source, exact=[named["target"], *level_columns(named["families"])])
            if not skip or stream is None or len(stream.pieces) == 1:
                raise
            problems.append(named_piece(problem, stream.pieces[0]))
            source = Stream(stream.pieces[1:], stream.kind)


def _by_piece(
    rows: Rows, stream: Stream, learn: Learner, problems: list[ClasswiseError], checkpoint: str | None
) -> ClassStatistics:
    """The statistics of a stream, piece by piece. problems: the errors of pieces that were left out before."""
    engine = rows.engine
    assert isinstance(engine, StreamEngine)
    kept = None if checkpoint is None else Checkpoint(checkpoint, settings(rows.roles, learn))
    before, left = (None, list(stream.pieces)) if kept is None else kept.resume(stream.pieces)
    total, tried = Tally(before), len(left) + len(problems)
    try:
        for part in engine.by_piece(learn, rows.chosen(), rows.chunk_rows, left):
            try:
                total = _added(total, part)
            except ClasswiseError as problem:
                problems.append(engine.left_out(problem))
                continue
            if kept is not None and total.statistics is not None:
                kept.add(total.statistics, part.piece)
    finally:
        if kept is not None:
            kept.write()
    if problems:
        _warn_of_skipped(problems, tried, stream.kind)
    return total.finished(stream.name)


def _added(total: Tally, part: Gathered[Tally]) -> Tally:
    """The total with one more piece; an error names the piece."""
    if part.problem is not None:
        raise part.problem
    try:
        return total if part.value is None else total + part.value
    except ClasswiseError as problem:
        raise named_piece(problem, part.piece) from problem


def _warn_of_skipped(problems: Sequence[ClasswiseError], count: int, kind: str) -> None:
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    reasons = "; ".join(map(str, problems[:3]))
    warnings.warn(
        f"{len(problems)} of {count} {kind}s could not be read and were left out: {reasons}{more}",
        SkippedFileWarning,
        stacklevel=5,
    )


def settings(roles: Roles, learn: Learner) -> str:
    """The options of the statistics, as a checkpoint stores them."""
    options: dict[str, Any] = {"target": roles.target, "columns": roles.features, "weights": roles.weights}
    options |= {
        "scatter": learn.form.name,
        "families": learn.families,
        "missing": learn.allow_missing,
        "quartics": learn.quartics,
    }
    return "summarize(" + ", ".join(f"{name}={value!r}" for name, value in options.items()) + ")"


# Checkpoints: the statistics of finished files on disk, so that no file is read twice after a crash ------------------
#
# A checkpoint is a statistics file. Its list of sources holds the options, and the files that are counted.


@dataclass
class Checkpoint:
    """path: of the file; settings: the options of the statistics; done: marks of the files that are counted.

    The total and the number of its marks change together, so that an interruption never leaves a file in only one of
    them.
    """

    path: str
    settings: str
    done: list[str] = field(default_factory=list)
    _state: tuple[ClassStatistics | None, int] = (None, 0)
    _marks: dict[int, str] = field(default_factory=dict)
    _written: float = 0.0

    def resume(self, pieces: Sequence[Piece]) -> tuple[ClassStatistics | None, list[Piece]]:
        """The statistics so far, and the remaining files."""
        # Mark the files before they are read, so that a file that changes meanwhile has an old mark.
        self._marks = {id(piece): piece.mark() for piece in pieces}
        if not Path(self.path).exists():
            return None, list(pieces)
        settings, *self.done = describe(self.path).sources or [""]
        if settings != self.settings:
            raise ClasswiseError(
                f"checkpoint={self.path!r} holds what {settings or 'something else'} gathered, and this is "
                f"{self.settings}; give another file."
            )
        self._refuse_changed(pieces)
        self._state = load(self.path), len(self.done)
        known = set(self.done)
        return self._state[0], [piece for piece in pieces if self._marks[id(piece)] not in known]

    def _refuse_changed(self, pieces: Sequence[Piece]) -> None:
        done = {mark.rsplit(", ", 2)[0]: mark for mark in self.done}
        for piece in pieces:
            mark = self._marks[id(piece)]
            if done.get(mark.rsplit(", ", 2)[0], mark) != mark:
                raise ClasswiseError(
                    f"{piece.name} has changed since it was counted in checkpoint={self.path!r}; remove that file to "
                    "begin again."
                )

    def add(self, total: ClassStatistics, piece: Piece) -> None:
        """Record a finished file; total: the statistics of all finished files."""
        self.done.append(self._marks[id(piece)])
        self._state = total, len(self.done)
        if time.monotonic() - self._written > limits.CHECKPOINT_SECONDS:
            self.write()

    def write(self) -> None:
        """Write the checkpoint now."""
        total, count = self._state
        if total is not None:
            save(total, self.path, source=[self.settings, *self.done[:count]])
        self._written = time.monotonic()
