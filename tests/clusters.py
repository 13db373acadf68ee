"""Real clusters on this machine, in processes of their own: two workers of Dask, a Spark session of two threads."""

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sql_engines import absent


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
    """A session of two threads, in which a task may fail three times."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        absent("Spark needs Java, which is not installed")
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with tempfile.TemporaryDirectory(prefix="cwspark") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns of libraries that are newer than it
        builder = SparkSession.builder.master("local[2,4]").appName("classwise tests")
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": folder,
            "spark.log.level": "ERROR",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()
