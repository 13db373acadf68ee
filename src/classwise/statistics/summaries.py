"""Rows to statistics, the first half of every fit: a table, a chunk of any engine, every source of rows.

What an engine sends to its workers is small: a `Learner` parts a chunk by roles, and summarizes it. `summarize` is one
verb over every source, with the same numbers from each.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np

from classwise import limits
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
from classwise.limits import CHUNK_SIZE, COPY_SIZE, chunk_rows
from classwise.rows.codes import code_labels
from classwise.rows.roles import ArrayChunk, Chunk, Roles, level_columns, warn_of_unlabeled
from classwise.rows.schema import Families
from classwise.rows.sources import read_table
from classwise.rows.streams import Piece, Stream, open_stream
from classwise.rows.table import Table
from classwise.statistics.binning import Also, Pairing, sketched_places, with_sketches
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.parts import Gathering, gather_parts
from classwise.statistics.scatter import SCATTERS, Scatter
from classwise.storage import describe, load, save

MISSING = {"integrate": True, "level": True, "error": False}


def summarize_table(
    table: Table,
    form: type[Scatter],
    engine: Engine | None = None,
    allow_missing: bool = True,
    quartics: bool = False,
) -> ClassStatistics:
    """The statistics of a table, gathered by an engine."""
    engine = engine or MemoryEngine()
    size = chunk_rows(len(table.schema.columns), COPY_SIZE if table.is_copied else CHUNK_SIZE)
    gathered = engine.gather(lambda chunk: summarize_chunk(chunk, form, allow_missing, quartics), table, size)
    return gathered.compact()


def summarize_chunk(
    chunk: Table, form: type[Scatter], allow_missing: bool = True, quartics: bool = False
) -> ClassStatistics:
    """The statistics of one chunk; what no density can take is an error that names its column."""
    chunk = chunk.weighted()
    if chunk.labels is None:
        raise ClasswiseError("y is missing: a statistic by class needs a label for every row.")
    rows = len(chunk.labels)
    labels, codes = code_labels(chunk.labels) if rows else (chunk.labels, np.zeros(0, dtype=np.intp))
    weight = np.bincount(codes, chunk.weights, minlength=len(labels)).astype(np.float64)
    parts = gather_parts(Gathering(chunk, codes, len(labels), form, allow_missing), quartics)
    return ClassStatistics(labels, weight, rows, chunk.schema, parts)


@dataclass(frozen=True, eq=False)
class Tally:
    """What chunks add up to: their statistics, None without a single row to learn from; rows: how many were read;
    unlabeled: how many of them had no label.
    """

    statistics: ClassStatistics | None
    rows: int = 0
    unlabeled: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        ours, theirs = self.statistics, other.statistics
        together = ours + theirs if ours is not None and theirs is not None else ours or theirs
        return Tally(together, self.rows + other.rows, self.unlabeled + other.unlabeled)

    def finished(self, where: str) -> ClassStatistics:
        """The statistics of all rows; without any, an error. where: what messages call the rows."""
        if self.statistics is None:
            why = "every row has no label or no weight" if self.rows else "there are none"
            raise ClasswiseError(f"There are no rows to learn from in {where}: {why}.")
        warn_of_unlabeled(self.unlabeled, self.rows)
        return self.statistics.compact()


@dataclass(frozen=True, eq=False)
class Learner:
    """A chunk of rows to what it adds. roles: of its columns; None for arrays, whose columns have no names.

    It knows nothing of other chunks: classes and levels that only some of them have meet when the results are added.
    also: adds to the statistics of a table what else is to be gathered of it.
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
    """Weight, mean and scatter of the numbers and counts of the levels of each class, in one pass, with flat memory.

    X (n, p): an array, or a pandas, polars or Arrow table. Numbers, text, categories, booleans; missing values. Or,
        with `target`, whatever holds or yields rows: the path of a CSV, TSV, JSON, Parquet or Arrow file, a pattern
        ("rows/*.parquet"), a list of paths, a folder, a query, a `Query`, "shop.duckdb#table",
        "postgresql://host/shop#table", a lazy frame of polars, a stream or dataset of Arrow's, an iterator of tables, a
        function that makes one of these, a DataFrame of Dask or Spark.
    y (n,): labels of any sortable kind; rows without a label are left out, with a warning. Also arrays of Dask.
    weights (n,): a weight of two is the row twice, a weight of zero is no row; with `target`, the name of a column.
    target: the column that holds the labels. columns: those to learn from; all others, unless given.
    scatter: "full" serves every model; "pooled" (LDA) and "diagonal" (naive Bayes, nearest mean) are leaner.
    families: what columns are taken for, where it is not what their type says; as in NaiveBayes.
    missing: "error" refuses missing values, and missing labels.
    quartics: gather sums of |d|⁴ too, which shrink="ledoit-wolf" needs (with full scatter).
    pairs: count pairs of columns too, which AODE needs, with numbers cut into so many ranges: the rows are read twice,
        first for the ranges. Or the statistics whose ranges are to be used: then once.
    on_error: "skip" leaves out files that cannot be read, with a warning that counts them.
    checkpoint: a statistics file that is written while files are read. After a crash the same call goes on with the
        files that are not in it yet; after a day, with those that are new.

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
    """What counts pairs: in the ranges of other statistics, or in ranges that a first look at the rows tells."""
    if isinstance(pairs, ClassStatistics):
        return Pairing(pairs.pairs.columns)
    bins = whole("pairs", pairs, 2)
    if hasattr(X, "__next__") or hasattr(X, "read_next_batch"):
        raise ClasswiseError(
            f"pairs={bins} reads the rows twice, and {type(X).__name__} can be read once; give a function that makes "
            "one, or pairs=statistics whose ranges are to be used."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say of the rows is said when they are counted
        return Pairing(sketched_places(gather(with_sketches), bins))


def _summarized(
    X: Any, y: Any, weights: Any, target: Any, columns: Any, options: dict[str, Any], skip: bool, checkpoint: Any
) -> ClassStatistics:
    """By names, or by arrays."""
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
    return learn.summarize(read_table(X, y, weights, learn.families, strict=not learn.allow_missing))


def _by_name(
    X: Any, named: dict[str, Any], options: dict[str, Any], skip: bool, checkpoint: str | None
) -> ClassStatistics:
    """Columns by their names, of rows wherever they are."""
    if not skip and checkpoint is None:
        return summarize_rows(open_rows(X, **named), **options)
    rows, problems = _begun(X, named, skip)
    stream = rows.open()
    if not isinstance(stream, Stream) or stream.kind == "table":
        raise ClasswiseError("on_error and checkpoint are for files; these rows are not in files.")
    return _by_piece(rows, stream, Learner(rows.decided, **options), problems, checkpoint)


def summarize_rows(rows: Rows, form: type[Scatter], what: str = "Learning", **options: Any) -> ClassStatistics:
    """The statistics of rows wherever they are, in one pass; options: as for Learner."""
    return (rows.gather(Learner(rows.decided, form, **options), what) or Tally(None)).finished(rows.name)


def _begun(X: Any, named: dict[str, Any], skip: bool) -> tuple[Rows, list[ClasswiseError]]:
    """The rows from the first piece on that tells its columns, and the problems with those before."""
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
    """The statistics of a stream, piece by piece. problems: with pieces that were left out before."""
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
    """The total with one piece more, or the problem with that piece."""
    if part.problem is not None:
        raise part.problem
    try:
        return total if part.value is None else total + part.value
    except ClasswiseError as problem:
        raise named_piece(problem, part.piece) from problem


def _warn_of_skipped(problems: Sequence[ClasswiseError], count: int, kind: str) -> None:
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    told = "; ".join(map(str, problems[:3]))
    warnings.warn(
        f"{len(problems)} of {count} {kind}s could not be read and were left out: {told}{more}",
        SkippedFileWarning,
        stacklevel=5,
    )


def settings(roles: Roles, learn: Learner) -> str:
    """How statistics are gathered, as a checkpoint remembers it."""
    told: dict[str, Any] = {"target": roles.target, "columns": roles.features, "weights": roles.weights}
    told |= {
        "scatter": learn.form.name,
        "families": learn.families,
        "missing": learn.allow_missing,
        "quartics": learn.quartics,
    }
    return "summarize(" + ", ".join(f"{name}={value!r}" for name, value in told.items()) + ")"


# Checkpoints: what finished files add up to, on disk, so that nothing is read twice after a crash --------------------
#
# A checkpoint is a statistics file like any other. Its sources are how it was gathered, and the files that are in it.


@dataclass
class Checkpoint:
    """path: of the file; settings: how statistics are gathered; done: marks of the files that are counted in them.

    What is written is a total and the number of marks that belong to it, which change together: whenever the work is
    interrupted, no file is in one of them alone.
    """

    path: str
    settings: str
    done: list[str] = field(default_factory=list)
    _state: tuple[ClassStatistics | None, int] = (None, 0)
    _marks: dict[int, str] = field(default_factory=dict)
    _written: float = 0.0

    def resume(self, pieces: Sequence[Piece]) -> tuple[ClassStatistics | None, list[Piece]]:
        """What is gathered so far, and the files that are left."""
        # Before they are read: a file that changes meanwhile is not the one that is marked.
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
        """A file is done; total: what all files that are done add up to."""
        self.done.append(self._marks[id(piece)])
        self._state = total, len(self.done)
        if time.monotonic() - self._written > limits.CHECKPOINT_SECONDS:
            self.write()

    def write(self) -> None:
        """Write now."""
        total, count = self._state
        if total is not None:
            save(total, self.path, source=[self.settings, *self.done[:count]])
        self._written = time.monotonic()
