"""Real engines to run SQL in: DuckDB and SQLite in this process, a PostgreSQL server and a Spark session of our own."""

import atexit
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

TYPES = {
    "duckdb": {"number": "DOUBLE", "whole": "BIGINT", "text": "VARCHAR", "yes/no": "BOOLEAN", "date": "DATE"},
    "sqlite": {"number": "REAL", "whole": "INTEGER", "text": "TEXT", "yes/no": "BOOLEAN", "date": "TEXT"},
    "postgres": {"number": "DOUBLE PRECISION", "whole": "BIGINT", "text": "TEXT", "yes/no": "BOOLEAN", "date": "DATE"},
    "spark": {"number": "DOUBLE", "whole": "BIGINT", "text": "STRING", "yes/no": "BOOLEAN"},
}

Columns = dict[str, tuple[str, list[Any]]]


def quoted(name: str, dialect: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect=dialect)


def absent(what: str) -> None:
    """CI installs every engine; elsewhere one may lack some."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}, and CI must run every engine")
    pytest.skip(what)


class Engine:
    """A database that tables are put in and that is asked in its own dialect; rows come as tuples."""

    dialect: str

    def put(self, table: str, columns: Columns) -> None:
        """A table of these columns: name -> (type, values), None for missing."""
        name = quoted(table, self.dialect)
        types = TYPES[self.dialect]
        declared = ", ".join(f"{quoted(c, self.dialect)} {types[kind]}" for c, (kind, _) in columns.items())
        self.run(f"DROP TABLE IF EXISTS {name}")
        self.run(f"CREATE TABLE {name} ({declared})")
        self.insert(f"INSERT INTO {name} VALUES ({{}})", list(zip(*(of for _, of in columns.values()), strict=True)))

    def run(self, text: str) -> None:
        raise NotImplementedError

    def insert(self, text: str, rows: list[tuple[Any, ...]]) -> None:
        raise NotImplementedError

    def ask(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The names of the result's columns, and its rows."""
        raise NotImplementedError


class Connected(Engine):
    """An engine with a connection as Python's database API has it."""

    mark = "?"

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def run(self, text: str) -> None:
        self.connection.execute(text)

    def insert(self, text: str, rows: list[tuple[Any, ...]]) -> None:
        self.connection.cursor().executemany(text.format(", ".join([self.mark] * len(rows[0]))), rows)

    def ask(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor = self.connection.execute(text)
        return [column[0] for column in cursor.description], cursor.fetchall()


class DuckDB(Connected):
    dialect = "duckdb"


class SQLite(Connected):
    dialect = "sqlite"


class PostgreSQL(Connected):
    dialect = "postgres"
    mark = "%s"

    def insert(self, text: str, rows: list[tuple[Any, ...]]) -> None:
        super().insert(text.replace("%", "%%"), rows)


class Spark(Engine):
    dialect = "spark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def put(self, table: str, columns: Columns) -> None:
        from pyspark.sql import types

        kinds = {"number": types.DoubleType, "whole": types.LongType, "text": types.StringType}
        kinds["yes/no"] = types.BooleanType
        schema = types.StructType([types.StructField(name, kinds[kind]()) for name, (kind, _) in columns.items()])
        frame = self.session.createDataFrame(list(zip(*(of for _, of in columns.values()), strict=True)), schema)
        frame.createOrReplaceTempView(quoted(table, "spark"))

    def ask(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        frame = self.session.sql(text)
        return frame.columns, [tuple(row) for row in frame.collect()]


@contextmanager
def duckdb_engine() -> Iterator[Engine]:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        yield DuckDB(connection)


@contextmanager
def sqlite_engine() -> Iterator[Engine]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("SELECT LN(EXP(1.0))")
    except sqlite3.OperationalError:
        absent("this Python's SQLite was built without LN and EXP (SQLITE_ENABLE_MATH_FUNCTIONS)")
    yield SQLite(connection)
    connection.close()


# PostgreSQL -----------------------------------------------------------------------------------------------------------


def _postgres_programs() -> Path | None:
    """The folder of initdb and pg_ctl: on the path, or where Debian keeps them."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def _as_postgres(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root: another user does it."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


@contextmanager
def postgres_engine() -> Iterator[Engine]:
    """A cluster of our own in a temporary folder, reached through a socket in that folder."""
    psycopg = pytest.importorskip("psycopg")
    programs = _postgres_programs()
    if programs is None:
        absent("PostgreSQL's server programs (initdb, pg_ctl) are not installed")
    with tempfile.TemporaryDirectory(prefix="cwpg") as folder:
        home = Path(folder)
        if os.geteuid() == 0:
            shutil.chown(home, "postgres")
        rows = home / "data"

        def do(program: str, *arguments: str) -> None:
            command = _as_postgres([str(programs / program), *arguments])
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr

        do("initdb", "-D", str(rows), "-A", "trust", "-U", "cw", "--encoding=UTF8", "--locale=C", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        do("pg_ctl", "-D", str(rows), "-o", options, "-l", str(home / "log"), "-w", "start")
        try:
            with psycopg.connect(host=folder, user="cw", dbname="postgres", autocommit=True) as connection:
                yield PostgreSQL(connection)
        finally:
            do("pg_ctl", "-D", str(rows), "-m", "immediate", "stop")


# Spark ----------------------------------------------------------------------------------------------------------------

# For tables of a few rows, where planning takes longer than working: little is compiled, and little is shuffled.
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


def spark_environment() -> dict[str, str]:
    """Workers are of this Python, and find spark_daemon, which is beside this file.

    Java keeps what it was started with, and whoever comes next in this process has the same.
    """
    found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join(dict.fromkeys([str(Path(__file__).parent), *filter(None, found)]))
    return {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": path}


@cache
def started_spark() -> Any:
    """A session of two threads, in which a task may fail once; it ends with this process."""
    from pyspark.sql import SparkSession

    folder = tempfile.mkdtemp(prefix="cwspark")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    builder = SparkSession.builder.master("local[2,2]").appName("classwise tests")
    for name, value in {**SPARK, "spark.sql.warehouse.dir": folder}.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns of libraries that are newer than it
        for name, value in spark_environment().items():
            patch.setenv(name, value)
        return builder.getOrCreate()


def spark_session() -> Any:
    """A session with settings and views of its own, in a Spark that is started once."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        absent("Spark needs Java, which is not installed")
    return started_spark().newSession()


@contextmanager
def spark_engine() -> Iterator[Engine]:
    yield Spark(spark_session())


ENGINES = {
    "duckdb": duckdb_engine,
    "sqlite": sqlite_engine,
    "postgres": postgres_engine,
    "spark": spark_engine,
}
