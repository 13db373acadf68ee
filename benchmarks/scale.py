"""Rows that do not fit in memory: how fast they are learned from, beside merely reading them with the same reader.

Every measurement is made in a process of its own, whose peak of memory is its own too. The rows are made here, once,
and kept: random numbers in ten columns, and a label in three classes. At full size: --rows 1e8 --csv-rows 1e7.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import machine

RESULTS = Path(__file__).parent / "results" / "scale.json"
COLUMNS = [f"x{j}" for j in range(10)]
ROWS_PER_FILE = 1_000_000
EXAMPLE = "example: python benchmarks/scale.py --rows 1e6 --csv-rows 2e5 --folder /tmp/rows --clusters"


def main() -> None:
    options = read_options()
    if options.measure:
        print(json.dumps(MEASURES[options.measure](options.source)))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    parquet = make_parquet(options.folder, int(options.rows))
    text = make_csv(options.folder, int(options.csv_rows), parquet)
    found: dict[str, Any] = {"machine": machine.facts()}
    for name, source in (("parquet", parquet), ("csv", text)):
        found[name] = {verb: measured(verb, source) for verb in ("scan", "fit", "predict")}
        show(name, found[name])
    if options.clusters:
        found["clusters"] = {verb: measured(verb, parquet) for verb in CLUSTERS}
        show("clusters", found["clusters"])
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2) + "\n")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--rows", type=float, default=1e6, help="of Parquet; default: 1e6")
    parser.add_argument("--csv-rows", type=float, default=2e5, help="of CSV; default: 2e5")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/classwise-scale"), help="for the rows")
    parser.add_argument("--clusters", action="store_true", help="Dask and Spark too, beside their own naive Bayes")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--source", help=argparse.SUPPRESS)
    return parser.parse_args()


# Rows -----------------------------------------------------------------------------------------------------------------


def make_parquet(folder: Path, rows: int) -> str:
    """Files of at most a million rows each, made by DuckDB: sums of uniform numbers are as good as normal here."""
    import duckdb

    home = folder / f"parquet-{rows}"
    home.mkdir(exist_ok=True)
    normal = "(random() + random() + random() + random() - 2)"
    numbers = ", ".join(f"{normal} + y * {0.1 * j} AS {name}" for j, name in enumerate(COLUMNS))
    for i, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        path, count = home / f"part-{i:03}.parquet", min(ROWS_PER_FILE, rows - start)
        if not path.exists():
            made = f"SELECT (random() * 3)::INTEGER % 3 AS y FROM range({count})"
            duckdb.sql(f"COPY (SELECT {numbers}, y FROM ({made})) TO '{path}.new' (FORMAT parquet)")
            Path(f"{path}.new").rename(path)
    return str(home / "*.parquet")


def make_csv(folder: Path, rows: int, parquet: str) -> str:
    import duckdb

    path = folder / f"rows-{rows}.csv"
    if not path.exists():
        duckdb.sql(f"COPY (SELECT * FROM '{parquet}' LIMIT {rows}) TO '{path}.new' (FORMAT csv, HEADER)")
        Path(f"{path}.new").rename(path)
    return str(path)


# Measurements ---------------------------------------------------------------------------------------------------------


def measured(verb: str, source: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", verb, "--source", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}  # type: ignore[dict-item]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def timed(work: Callable[[], int]) -> dict[str, float]:
    start = perf_counter()
    rows = work()
    seconds = perf_counter() - start
    return {"rows": rows, "seconds": seconds, "rows_per_second": rows / seconds, "peak_mb": peak()}


def peak() -> float:
    """The most memory that this process has held; getrusage would count that of the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def scan(source: str) -> dict[str, float]:
    """The batches that a fit reads, and nothing done with them."""
    from classwise.sources import open_stream
    from classwise.summarizing import chunk_rows

    needed = [*COLUMNS, "y"]
    stream = open_stream(source, exact=["y"])
    return timed(lambda: sum(len(b) for piece in stream.pieces for b in piece.batches(needed, chunk_rows(11))))


def fit(source: str) -> dict[str, float]:
    import classwise as cw

    cw.LDA(), cw.summarize("SELECT 1 AS y, 2 AS x0", target="y")  # imports are not part of the work
    return timed(lambda: cw.LDA().fit_statistics(cw.summarize(source, target="y", columns=COLUMNS)).statistics_.rows)


def predict(source: str) -> dict[str, float]:
    import classwise as cw

    model = cw.LDA().fit_statistics(cw.summarize(source, target="y", columns=COLUMNS))
    target = Path("/tmp") / f"classwise-answers-{os.getpid()}.parquet"
    try:
        return timed(lambda: cw.predict(model, source, target, keys=["y"]))
    finally:
        target.unlink(missing_ok=True)


# Clusters, beside their own naive Bayes -------------------------------------------------------------------------------


def dask_fit(source: str) -> dict[str, float]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import classwise as cw

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        frame = dd.read_parquet(source)
        cw.summarize(dd.from_pandas(frame.head(100), npartitions=4), target="y")  # workers import what they need
        return timed(lambda: cw.summarize(frame, target="y", scatter="diagonal").rows)


def dask_ml_fit(source: str) -> dict[str, float]:
    import dask.dataframe as dd
    from dask_ml.naive_bayes import GaussianNB
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        model = GaussianNB(classes=[0, 1, 2])
        rows = dd.read_parquet(source)[[*COLUMNS, "y"]]
        some, all_ = (numbers(frame) for frame in (dd.from_pandas(rows.head(100), npartitions=4), rows))
        model.fit(some[:, :-1], some[:, -1])
        return timed(lambda: int(model.fit(all_[:, :-1], all_[:, -1]).class_count_.sum()))


def numbers(frame: Any) -> Any:
    """As an array with chunks of known sizes, which dask-ml asks for; counting the rows is not part of its time."""
    array = frame.to_dask_array()
    array.compute_chunk_sizes()
    return array


def spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    warnings.simplefilter("ignore")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return (
        builder.config("spark.log.level", "ERROR")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )


def spark_fit(source: str) -> dict[str, float]:
    import classwise as cw

    frame = spark().read.parquet(str(Path(source).parent))
    cw.summarize(frame.limit(100), target="y")
    return timed(lambda: cw.summarize(frame, target="y", scatter="diagonal").rows)


def spark_ml_fit(source: str) -> dict[str, float]:
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import VectorAssembler

    frame = spark().read.parquet(str(Path(source).parent))

    def work(rows: Any = frame) -> int:
        vectors = VectorAssembler(inputCols=COLUMNS, outputCol="features").transform(rows)
        NaiveBayes(modelType="gaussian", labelCol="y").fit(vectors)
        return 0

    work(frame.limit(100))
    seconds = timed(work)["seconds"]
    rows = frame.count()
    return {"rows": rows, "seconds": seconds, "rows_per_second": rows / seconds, "peak_mb": peak()}


CLUSTERS = {"dask": dask_fit, "dask-ml": dask_ml_fit, "spark": spark_fit, "spark-ml": spark_ml_fit}
MEASURES: dict[str, Callable[[str], dict[str, float]]] = {"scan": scan, "fit": fit, "predict": predict, **CLUSTERS}


def show(name: str, found: dict[str, dict[str, float]]) -> None:
    scanned = found.get("scan", {}).get("rows_per_second")
    for verb, facts in found.items():
        if "failed" in facts:
            print(f"{name:8} {verb:9} failed: {facts['failed']}")
            continue
        share = f"{facts['rows_per_second'] / scanned:6.0%} of scan" if scanned else ""
        rate = f"{facts['rows_per_second'] / 1e6:7.2f} M rows/s"
        print(f"{name:8} {verb:9} {facts['seconds']:8.2f} s {rate} {facts['peak_mb']:7.0f} MB peak {share}")


if __name__ == "__main__":
    main()
