"""Real clusters on this machine, in processes of their own: two workers of Dask, a Spark session of two threads."""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sql_engines import absent, spark_environment

# For tables of a few rows, where starting takes longer than working: little is compiled, and little is shuffled.
SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.default.parallelism": "3",
    "spark.python.daemon.module": "spark_daemon",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.log.level": "ERROR",
}


@contextmanager
def dask_cluster() -> Iterator[Any]:
    """A client of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def spark_session() -> Iterator[Any]:
    """A session of two threads, in which a task may fail once."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        absent("Spark needs Java, which is not installed")
    from pyspark.sql import SparkSession

    os.environ |= spark_environment()
    with tempfile.TemporaryDirectory(prefix="cwspark") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns of libraries that are newer than it
        builder = SparkSession.builder.master("local[2,2]").appName("classwise tests")
        for name, value in {**SPARK, "spark.sql.warehouse.dir": folder}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()
