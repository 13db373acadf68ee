"""summarize: one verb over every source of rows, with the same numbers from each."""

import warnings
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any, Literal

from classwise.binning import Also, Pairing, sketched_places, with_sketches
from classwise.engines import DaskEngine, SparkEngine, StreamEngine, is_dask, is_spark
from classwise.engines.stream import Gathered, named
from classwise.errors import ClasswiseError, MissingLabelWarning, SkippedFileWarning
from classwise.gathering.checkpoint import Checkpoint
from classwise.gathering.columns import Roles, level_columns
from classwise.gathering.learner import ArrayLearner, Learner, Tally, as_frame, sliced
from classwise.options import choose, whole
from classwise.schema import Families
from classwise.sources import Stream, open_stream
from classwise.statistics import SCATTERS, ClassStatistics
from classwise.summarizing import chunk_rows
from classwise.tables import read_table

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
        return _by_name(X, target, columns, weights, options, skip, None if checkpoint is None else fspath(checkpoint))
    if skip or checkpoint is not None or columns is not None:
        raise ClasswiseError("columns, on_error and checkpoint go with target='...', the name of the labels' column.")
    if is_dask(X):
        return finished(DaskEngine(X).gather_arrays(ArrayLearner(**options), y, weights), "X")
    if y is None:
        raise ClasswiseError("y is missing: give the labels, or target='...', the name of the column that holds them.")
    learn = ArrayLearner(**options)
    table = read_table(X, y, weights, learn.families, strict=not learn.allow_missing)
    return learn.summarize(table)


def _by_name(
    X: Any, target: str, columns: Any, weights: Any, options: dict[str, Any], skip: bool, checkpoint: str | None
) -> ClassStatistics:
    """Columns by their names, of rows wherever they are."""

    def learner(names: Sequence[str], where: str) -> Learner:
        return Learner(Roles.read(names, target, columns, weights, where), **options)

    exact = [target, *level_columns(options["families"])]
    X = X() if makes_rows(X) else X
    stream = None if is_dask(X) or is_spark(X) else open_stream(X, exact=exact)
    if stream is not None:
        stream, learn, problems = _begun(stream, learner, skip)
        engine = StreamEngine(
            stream, None if columns is None else learn.roles.needed, chunk_rows(len(learn.roles.needed)), skip
        )
        return _of_stream(engine, learn, problems, checkpoint)
    if skip or checkpoint is not None:
        raise ClasswiseError("on_error and checkpoint are for files; these rows are not in files.")
    if is_dask(X) or is_spark(X):
        cluster: DaskEngine | SparkEngine = DaskEngine(X) if is_dask(X) else SparkEngine(X)
        learn = learner(cluster.names(), "the table")
        return finished(cluster.gather(learn, learn.roles.needed) or Tally(None), "the table")
    return finished(learner(as_frame(X).columns, "the table")(X), "the table")


def open_rows(
    source: Any, exact: Sequence[str] = (), text: Sequence[str] = (), missing: Sequence[str] | None = None
) -> Stream:
    """Rows wherever they are as a stream: a table in slices, and what a function makes anew.

    exact, text, missing: as for `open_stream`.
    """
    rows = source() if makes_rows(source) else source
    return open_stream(rows, exact=exact, text=text, missing=missing) or sliced(rows)


def makes_rows(source: Any) -> bool:
    """Whether it is a function, to be called for rows; what is a table, or can be opened as it is, is not called."""
    return callable(source) and not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "shape")


def _begun(
    stream: Stream, learner: Callable[[Sequence[str], str], Learner], skip: bool
) -> tuple[Stream, Learner, list[ClasswiseError]]:
    """The stream from the first piece on that tells its columns, and the problems with those before."""
    problems: list[ClasswiseError] = []
    while True:
        try:
            return stream, learner(stream.names, stream.pieces[0].name), problems
        except ClasswiseError as problem:
            if not skip or len(stream.pieces) == 1:
                raise
            problems.append(named(problem, stream.pieces[0]))
            stream = Stream(stream.pieces[1:], stream.kind)


def _of_stream(
    engine: StreamEngine, learn: Learner, problems: list[ClasswiseError], checkpoint: str | None
) -> ClassStatistics:
    """The statistics of a stream, piece by piece. problems: with pieces that were left out before."""
    stream = engine.rows
    kept = None if checkpoint is None else Checkpoint(checkpoint, settings(learn))
    before, left = (None, list(stream.pieces)) if kept is None else kept.resume(stream.pieces)
    total, tried = Tally(before), len(left) + len(problems)
    try:
        for part in engine.gather(learn, left):
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
    return finished(total, stream.name)


def _added(total: Tally, part: Gathered[Tally]) -> Tally:
    """The total with one piece more, or the problem with that piece."""
    if part.problem is not None:
        raise part.problem
    try:
        return total if part.value is None else total + part.value
    except ClasswiseError as problem:
        raise named(problem, part.piece) from problem


def _warn_of_skipped(problems: Sequence[ClasswiseError], count: int, kind: str) -> None:
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    told = "; ".join(map(str, problems[:3]))
    warnings.warn(
        f"{len(problems)} of {count} {kind}s could not be read and were left out: {told}{more}",
        SkippedFileWarning,
        stacklevel=5,
    )


def settings(learn: Learner) -> str:
    """How statistics are gathered, as a checkpoint remembers it."""
    roles = learn.roles
    told: dict[str, Any] = {"target": roles.target, "columns": roles.features, "weights": roles.weights}
    told |= {
        "scatter": learn.form.name,
        "families": learn.families,
        "missing": learn.allow_missing,
        "quartics": learn.quartics,
    }
    return "summarize(" + ", ".join(f"{name}={value!r}" for name, value in told.items()) + ")"


def finished(tally: Tally, where: str) -> ClassStatistics:
    """The statistics of all rows; without any, an error."""
    if tally.statistics is None:
        why = "has no label or no weight" if tally.rows else "there are none"
        raise ClasswiseError(f"There are no rows to learn from in {where}: {'every row ' if tally.rows else ''}{why}.")
    warn_of_unlabeled(tally.unlabeled, tally.rows)
    return tally.statistics.compact()


def warn_of_unlabeled(unlabeled: int, rows: int) -> None:
    """Say how many rows were left out, if some were."""
    if unlabeled:
        warnings.warn(f"{unlabeled} of {rows} rows have no label and were left out.", MissingLabelWarning, stacklevel=5)
