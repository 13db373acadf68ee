"""Clusters beside their own naive Bayes: Dask and dask-ml, Spark and Spark ML, each pair in one session."""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from scale_files import COLUMNS, Facts, timed

# Turns that ours and theirs take, after the first, in which workers start, import and compile.
TURNS = 3


def taking_turns(work: dict[str, Callable[[], int]]) -> dict[str, Facts]:
    turns = [{name: timed(one) for name, one in work.items()} for _ in range(1 + TURNS)]
    return {name: median([turn[name] for turn in turns[1:]]) for name in work}


def median(turns: Sequence[Facts]) -> Facts:
    """The turn of median time."""
    return sorted(turns, key=lambda facts: facts.get("seconds", 0.0))[len(turns) // 2]


def ours(name: str, frame: Any) -> dict[str, Callable[[], int]]:
    import classwise as cw

    def rows(scatter: Any) -> int:
        return cw.summarize(frame, target="y", scatter=scatter).rows

    return {f"{name}, {scatter}": partial(rows, scatter) for scatter in ("diagonal", "full")}


def with_dask(source: str) -> dict[str, Facts]:
    import dask
    import dask.dataframe as dd
    from dask_ml.naive_bayes import GaussianNB
    from distributed import Client, LocalCluster

    def theirs() -> int:
        model = GaussianNB(classes=[0, 1, 2]).fit(array[:, :-1], array[:, -1])
        # It only plans: what it learns is computed here, all at once, which reads the rows as seldom as can be.
        learned = dask.compute(model.class_count_, model.theta_, model.sigma_, model.class_prior_)
        return int(learned[0].sum())

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        frame = dd.read_parquet(source)[[*COLUMNS, "y"]]
        array = frame.to_dask_array()
        array.compute_chunk_sizes()  # which dask-ml asks for; counting the rows is not part of its time
        return taking_turns({**ours("dask", frame), "dask-ml": theirs})


def with_spark(source: str) -> dict[str, Facts]:
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import VectorAssembler

    frame = session().read.parquet(str(Path(source).parent))
    count = frame.count()

    def theirs() -> int:
        vectors = VectorAssembler(inputCols=COLUMNS, outputCol="features").transform(frame)
        NaiveBayes(modelType="gaussian", labelCol="y").fit(vectors)
        return int(count)

    return taking_turns({**ours("spark", frame), "spark ml": theirs, "transfer": partial(transferred, frame)})


def transferred(frame: Any) -> int:
    """Rows that Java hands to Python, where they are counted: no engine that works in Python can be faster."""
    return int(frame.select(*COLUMNS, "y").mapInArrow(counted, "rows long").agg({"rows": "sum"}).collect()[0][0])


def counted(batches: Any) -> Any:
    import pyarrow as pa

    yield pa.RecordBatch.from_arrays([pa.array([sum(len(batch) for batch in batches)])], ["rows"])


def session() -> Any:
    from pyspark.sql import SparkSession

    # Its workers must find this file, in which what they count with is written.
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    os.environ |= {"PYTHONPATH": str(Path(__file__).parent)}
    warnings.simplefilter("ignore")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "ERROR").config("spark.ui.showConsoleProgress", "false")
    # Rows then reach Python through a socket of the machine instead of its network, in two thirds of the time.
    builder = builder.config("spark.python.unix.domain.socket.enabled", "true")
    return builder.config("spark.driver.memory", "4g").getOrCreate()


CLUSTERS: dict[str, Callable[[str], dict[str, Facts]]] = {"dask": with_dask, "spark": with_spark}
