"""summarize: one verb over every source of rows, with the same numbers from each."""

import warnings
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any, Literal

from classwise.engines import DaskArrays, DaskEngine, Rows, StreamEngine, is_dask, makes_rows, open_rows
from classwise.engines.stream import Gathered
from classwise.engines.stream import named as named_piece
from classwise.errors import ClasswiseError, SkippedFileWarning, choose, whole
from classwise.rows.roles import Roles, level_columns
from classwise.rows.schema import Families
from classwise.rows.sources import read_table
from classwise.rows.streams import Stream, open_stream
from classwise.statistics.binning import Also, Pairing, sketched_places, with_sketches
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.checkpoint import Checkpoint
from classwise.statistics.chunks import Learner, Tally
from classwise.statistics.scatter import SCATTERS, Scatter

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
    return _by_piece(rows, stream, Learner(rows.roles, **options), problems, checkpoint)


def summarize_rows(rows: Rows, form: type[Scatter], what: str = "Learning", **options: Any) -> ClassStatistics:
    """The statistics of rows wherever they are, in one pass; options: as for Learner."""
    return (rows.gather(Learner(rows.roles, form, **options), what) or Tally(None)).finished(rows.name)


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
