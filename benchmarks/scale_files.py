"""What is measured on files of rows, each verb in a process of its own."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

COLUMNS = [f"x{j}" for j in range(10)]

Facts: TypeAlias = dict[str, float]


def timed(work: Callable[[], int]) -> Facts:
    before, start = cpu(), perf_counter()
    rows = work()
    seconds = perf_counter() - start
    facts = {"rows": rows, "seconds": seconds, "rows_per_second": rows / seconds}
    return facts | {"cpu_seconds": cpu() - before, "peak_mb": peak()}


def cpu() -> float:
    """Seconds of all cores that this process has used: the work of others on the machine is not in them."""
    return sum(os.times()[:2])


def peak() -> float:
    """The most memory that this process has held; getrusage would count that of the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def warm_up() -> None:
    """Imports, and starting DuckDB, are not part of the work."""
    import classwise as cw

    cw.summarize("SELECT 1 AS y, 2 AS x0", target="y")


def duckdb(source: str) -> Facts:
    """The rows as DuckDB hands them over, asked without us."""
    import duckdb

    rows = duckdb.read_csv(source) if source.endswith(".csv") else duckdb.read_parquet(source)
    return timed(lambda: sum(len(batch) for batch in rows.to_arrow_reader(122_880)))


def scan(source: str) -> Facts:
    """The batches that a fit reads, and nothing done with them."""
    from classwise.limits import chunk_rows
    from classwise.rows.streams import open_stream

    warm_up()
    needed = [*COLUMNS, "y"]
    stream = open_stream(source, exact=["y"])
    return timed(lambda: sum(len(b) for piece in stream.pieces for b in piece.batches(needed, chunk_rows(11))))


def fit(source: str, scatter: str) -> Facts:
    """Full scatter serves every model; diagonal serves naive Bayes."""
    import classwise as cw

    warm_up()
    return timed(lambda: cw.summarize(source, target="y", columns=COLUMNS, scatter=scatter).rows)


def predict(source: str) -> Facts:
    import classwise as cw

    model = cw.LDA().fit_statistics(cw.summarize(source, target="y", columns=COLUMNS))
    target = Path("/tmp") / f"classwise-answers-{os.getpid()}.parquet"
    try:
        return timed(lambda: cw.predict(model, source, target, keys=["y"]))
    finally:
        target.unlink(missing_ok=True)


def compare(source: str) -> Facts:
    """The whole family in two passes; the seconds of each, and of the choices between them."""
    import classwise as cw
    from classwise.engines import Rows

    passed, seconds = Rows.gather, {}

    def timed_pass(rows: Any, work: Any, what: str, *options: Any, **named: Any) -> Any:
        start = perf_counter()
        try:
            return passed(rows, work, what, *options, **named)
        finally:
            seconds[what] = perf_counter() - start

    Rows.gather = timed_pass  # type: ignore[method-assign]
    found = timed(lambda: cw.compare(source, target="y", columns=COLUMNS, stream=True).rows)
    between = found["seconds"] - sum(seconds.values())
    return found | {"first_pass": seconds["Pass 1/2"], "second_pass": seconds["Pass 2/2"], "between": between}


def logistic(source: str) -> Facts:
    """Logistic regression, in several passes."""
    import duckdb

    import classwise as cw

    warm_up()
    rows = duckdb.sql(f"SELECT count(*) FROM '{source}'").fetchall()[0][0]

    def learned() -> int:
        cw.BayesianLogistic().fit_source(source, target="y", columns=COLUMNS)
        return int(rows)

    return timed(learned)


VERBS: dict[str, Callable[[str], Facts]] = {
    "duckdb": duckdb,
    "scan": scan,
    "fit": partial(fit, scatter="full"),
    "fit-diagonal": partial(fit, scatter="diagonal"),
    "predict": predict,
    "compare": compare,
    "logistic": logistic,
}
