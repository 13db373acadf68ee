"""One body for every source and engine: the same labels, levels, statistics and predictions from each."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from contextlib import ExitStack, contextmanager

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pds
import pytest
from sklearn.base import clone

import classwise as cw
from classwise.rows.sinks import write_rows
from clusters import dask_cluster
from sql_engines import SPARK, absent, postgres_engine, spark_environment, spark_session

# One process for all of them: every server is started once.
pytestmark = [
    pytest.mark.filterwarnings("ignore::classwise.MissingLabelWarning"),
    pytest.mark.xdist_group("engines"),
]

N = 2400
FEATURES = ["length", "count", "color", "smooth"]


def make_rows():
    rng = np.random.default_rng(7)
    label = rng.choice(["oak", "ash", "elm"], N, p=[0.5, 0.3, 0.2])
    shift = np.array([{"oak": 0.0, "ash": 1.0, "elm": 2.5}[name] for name in label])
    rows = pd.DataFrame(
        {
            "id": np.arange(N),
            "length": rng.normal(size=N) + shift,
            "count": rng.integers(0, 9, N) + (shift > 2),
            "color": rng.choice(["red", "green", "blue, dark"], N),
            "smooth": rng.random(N) < 0.3 + 0.2 * shift / 2.5,
            "weight": rng.choice([0.0, 0.5, 1.0, 2.0], N),
            "tree": label,
        }
    )
    rows["color"] = rows["color"].astype(object)
    rows["tree"] = rows["tree"].astype(object)
    rows.loc[rng.random(N) < 0.1, "length"] = np.nan
    rows.loc[rng.random(N) < 0.1, "color"] = None
    rows.loc[rng.random(N) < 0.02, "tree"] = None
    # A level and a class that only the last rows have, and a stretch of rows without a single length.
    rows.loc[N - 5 :, "color"] = "mauve"
    rows.loc[N - 9 :, "tree"] = "yew"
    rows.loc[800:1500, "length"] = np.nan
    return rows


ROWS = make_rows()
ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)
PARTS = [ARROW.slice(0, 801), ARROW.slice(801, 600), ARROW.slice(1401)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


@pytest.fixture(scope="module")
def servers():
    """Whatever needs a server, started when it is first asked for."""
    with ExitStack() as stack:
        started = {}

        def get(make):
            if make not in started:
                started[make] = stack.enter_context(make())
            return started[make]

        yield get


def files(folder, suffix):
    home = folder / suffix.replace(".", "-")
    home.mkdir(exist_ok=True)
    for i, part in enumerate(PARTS):
        if not (home / f"part-{i}{suffix}").exists():
            write_rows(part, str(home / f"part-{i}{suffix}"))
    return home


def one_file(folder, suffix):
    path = folder / f"all{suffix}"
    if not path.exists():
        write_rows(ARROW, str(path))
    return str(path)


def duckdb_file(folder):
    path = folder / "trees.duckdb"
    if not path.exists():
        with duckdb.connect(str(path)) as connection:
            connection.register("given", ARROW)
            connection.execute("CREATE TABLE trees AS SELECT * FROM given")
    return str(path)


def postgres_address(servers):
    engine = servers(postgres_engine)
    kinds = {"id": "whole", "length": "number", "count": "whole", "color": "text", "smooth": "yes/no"}
    kinds |= {"weight": "number", "tree": "text"}
    engine.put("trees", {name: (kinds[name], ARROW[name].to_pylist()) for name in ARROW.column_names})
    return f"postgresql:///postgres?host={engine.connection.info.host}&user=cw"


def dask_frame(servers):
    import dask.dataframe as dd

    servers(dask_cluster)
    return dd.from_pandas(ROWS, npartitions=5, sort=False)


@contextmanager
def spark_trees():
    """Three partitions, in the order of the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = spark_session().createDataFrame(ARROW)
    assert frame.rdd.getNumPartitions() == 3
    yield frame


def spark_frame(servers):
    return servers(spark_trees)


SOURCES = {
    "pandas": lambda folder, servers: ROWS,
    "polars": lambda folder, servers: pl.from_arrow(ARROW),
    "pyarrow": lambda folder, servers: ARROW,
    "csv": lambda folder, servers: one_file(folder, ".csv"),
    "csv pattern": lambda folder, servers: str(files(folder, ".csv") / "part-*.csv"),
    "tsv, gzip": lambda folder, servers: one_file(folder, ".tsv.gz"),
    "json lines, zstd": lambda folder, servers: one_file(folder, ".jsonl.zst"),
    "parquet": lambda folder, servers: one_file(folder, ".parquet"),
    "parquet pattern": lambda folder, servers: str(files(folder, ".parquet") / "*.parquet"),
    "list of paths": lambda folder, servers: sorted(files(folder, ".parquet").iterdir()),
    "folder of arrow files": lambda folder, servers: files(folder, ".arrow"),
    "query": lambda folder, servers: f"SELECT * FROM '{one_file(folder, '.parquet')}' ORDER BY id",
    "duckdb relation": lambda folder, servers: duckdb.from_arrow(ARROW),
    "duckdb table": lambda folder, servers: duckdb_file(folder) + "#trees",
    "duckdb query": lambda folder, servers: cw.Query("SELECT * FROM trees ORDER BY id", duckdb_file(folder)),
    "postgres table": lambda folder, servers: postgres_address(servers) + "#trees",
    "postgres query": lambda folder, servers: cw.Query("SELECT * FROM trees ORDER BY id", postgres_address(servers)),
    "polars lazy": lambda folder, servers: pl.scan_parquet(one_file(folder, ".parquet")),
    "arrow stream": lambda folder, servers: pa.RecordBatchReader.from_batches(ARROW.schema, ARROW.to_batches(500)),
    "arrow dataset": lambda folder, servers: pds.dataset(files(folder, ".parquet")),
    "iterator of tables": lambda folder, servers: (ROWS[i : i + 700] for i in range(0, N, 700)),
    "dask": lambda folder, servers: dask_frame(servers),
    "spark": lambda folder, servers: spark_frame(servers),
}

# Sources that are read as another one here is: from these, estimators learn that take rows in the three ways there are.
ALIKE = {"pyarrow", "csv", "tsv, gzip", "json lines, zstd", "parquet", "list of paths", "folder of arrow files"}
ALIKE |= {"query", "duckdb relation", "duckdb table", "postgres table", "polars lazy", "arrow dataset"}

slow = {"spark"}
every_source = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in SOURCES]
)


@pytest.fixture(scope="module")
def plain():
    """The statistics of rows in memory, given as X, y and weights."""
    return cw.summarize(ROWS[FEATURES], ROWS["tree"], ROWS["weight"], quartics=True)


def assert_same(found, expected, tolerance=1e-10):
    assert found.labels.tolist() == expected.labels.tolist()
    assert found.features == expected.features
    assert found.rows == expected.rows
    assert [str(column.family) for column in found.schema] == [str(column.family) for column in expected.schema]

    def close(a, b):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, np.nanmax(np.abs(b), initial=0)))

    close(found.weight, expected.weight)
    close(found.mean, expected.mean)
    close(found.scatter, expected.scatter)
    close(found.missing_weight(), expected.missing_weight())
    for ours, theirs in zip(found.levels.columns, expected.levels.columns, strict=True):
        assert ours.levels.tolist() == theirs.levels.tolist()
        close(ours.weight, theirs.weight)


@every_source
def test_statistics(name, folder, servers, plain):
    source = SOURCES[name](folder, servers)
    found = cw.summarize(source, target="tree", weights="weight", columns=FEATURES, quartics=True)
    assert_same(found, plain)
    for model in (cw.NaiveBayes(), cw.GaussianClassifier(share=0.3, shrink=0.2)):
        ours = model.fit_statistics(found).predict_log_proba(ROWS[FEATURES])
        theirs = model.fit_statistics(plain).predict_log_proba(ROWS[FEATURES])
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)


@every_source
def test_predictions(name, folder, servers, plain):
    model = cw.NaiveBayes().fit_statistics(plain)
    source = SOURCES[name](folder, servers)
    answers = cw.predict(model, source, keys=["id"], proba=True)
    if name == "dask":
        found = answers.compute()
    elif name == "spark":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = answers.toArrow().to_pandas()
    else:
        found = answers.read_all().to_pandas()
    if name == "postgres table":  # a table has no order; a query may have one
        found = found.sort_values("id")
    is_text = name.startswith(("csv", "tsv"))  # what the model does not read is copied as it stands
    assert found["id"].tolist() == [str(key) if is_text else key for key in ROWS["id"].tolist()]
    assert found["label"].tolist() == model.predict(ROWS[FEATURES]).tolist()
    columns = [f"posterior_{label}" for label in model.classes_]
    np.testing.assert_allclose(found[columns], model.predict_proba(ROWS[FEATURES]), atol=1e-10)
    np.testing.assert_allclose(found["posterior"], found[columns].max(axis=1), atol=1e-10)


# All but the last are made of exact sums, or from all rows in memory; for the last, folds are assigned by a column.
ESTIMATORS = {
    "LDA": cw.LDA(),
    "QDA, Student-t": cw.QDA(estimate="bayes"),
    "RDA": cw.RDA(folds=3),
    "nearest mean": cw.NearestMean(standardize=True),
    "VEV": cw.GaussianClassifier(structure="VEV"),
    "naive Bayes, calibrated": cw.NaiveBayes(calibrate="temperature", folds=3),
    "naive Bayes, kernel": cw.NaiveBayes(families={"length": "kernel", "count": "multinomial"}),
    "AODE": cw.AODE(),
    "mixture": cw.MixtureClassifier(components=2, random_state=0),
    "centroids": cw.ShrunkenCentroids(folds=3),
    "subspaces": cw.HDDA(),
    "robust": cw.RobustClassifier(share=1, degrees=4),
    "logistic": cw.BayesianLogistic(precision=1.0),
    "stack": cw.AutoClassifier(members="fast", folds=3),
    "forest": cw.ForestClassifier(trees=12),
    "decision": cw.Decision(cw.NaiveBayes(), reject={"posterior": 0.8}),
}
# By a sum; by one pass after the other; from rows that are held.
THREE_WAYS = ("LDA", "logistic", "stack")
ROLES = {"target": "tree", "weights": "weight", "columns": FEATURES}


@pytest.fixture(scope="module")
def fitted():
    """Every estimator, of all rows in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: clone(model).fit(ROWS[FEATURES], ROWS["tree"], sample_weight=ROWS["weight"])
            for name, model in ESTIMATORS.items()
        }


@every_source
@pytest.mark.filterwarnings("ignore")
def test_every_estimator_learns_from_every_source(name, folder, servers, fitted):
    if name in ("arrow stream", "iterator of tables"):  # these are read once
        source = lambda: SOURCES[name](folder, servers)  # noqa: E731
    else:
        source = SOURCES[name](folder, servers)
    for kind, model in ESTIMATORS.items():
        if name in ALIKE and kind not in THREE_WAYS:
            continue
        if name == "postgres table" and kind in ("RDA", "naive Bayes, calibrated", "mixture", "stack", "forest"):
            continue  # a table has no order, and folds and starts depend on it; the query above has one
        found = clone(model).fit_source(source, **ROLES)
        ours, theirs = (m.predict_proba(ROWS[FEATURES]) for m in (found, fitted[kind]))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=kind)
        assert found.predict(ROWS[FEATURES]).tolist() == fitted[kind].predict(ROWS[FEATURES]).tolist()


# Rows are the same from every source, whatever is compared then; clusters compare all models below.
QUICK = {"groups": "id", "folds": 3, "references": False, "only": ["lda", "qda", "naive-bayes", "logistic"]}


@every_source
@pytest.mark.filterwarnings("ignore")
def test_every_source_is_compared_alike(name, folder, servers, compared):
    if name in ("arrow stream", "iterator of tables"):
        pytest.skip("a comparison of few rows holds them all: TestFewRows in test_compare_streams.py")
    if name in ALIKE:
        pytest.skip("rows are held, as those that a stack learns from are in the test above")
    source = SOURCES[name](folder, servers)
    found = cw.compare(source, **QUICK, **ROLES)
    for ours, theirs in zip(found.table().lines, compared.table().lines, strict=True):
        assert (ours.name, ours.reason) == (theirs.name, theirs.reason)
        if theirs.log_loss is not None:
            assert abs(ours.log_loss.value - theirs.log_loss.value) < 1e-9


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["dask", "spark"])
def test_clusters_score_rows_where_they_are(name, folder, servers):
    """In two passes, of which the second asks every model about rows that it has not seen."""
    options = {"groups": "id", "folds": 3, "references": False, "stream": True, **ROLES}
    found, expected = (cw.compare(source, **options) for source in (SOURCES[name](folder, servers), ROWS))
    assert found.streamed == expected.streamed > 0
    for ours, theirs in zip(found.table().lines, expected.table().lines, strict=True):
        assert (ours.name, ours.reason) == (theirs.name, theirs.reason)
        if theirs.log_loss is not None:
            assert abs(ours.log_loss.value - theirs.log_loss.value) < 1e-9


@pytest.fixture(scope="module")
def compared():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.compare(ROWS, **QUICK, **ROLES)


@pytest.mark.parametrize("name", ["csv pattern", "parquet pattern", "postgres table", "dask", "spark"])
@pytest.mark.parametrize("scatter", ["pooled", "diagonal"])
def test_leaner_scatters(name, scatter, folder, servers):
    expected = cw.summarize(ROWS[FEATURES], ROWS["tree"], scatter=scatter)
    found = cw.summarize(SOURCES[name](folder, servers), target="tree", columns=FEATURES, scatter=scatter)
    assert_same(found, expected)


@pytest.mark.parametrize("name", ["csv", "parquet pattern", "duckdb table", "dask", "spark"])
def test_whole_numbers_and_answers_as_labels(name, folder, servers):
    for target in ("count", "smooth"):
        expected = cw.summarize(ROWS[["length"]], ROWS[target])
        found = cw.summarize(SOURCES[name](folder, servers), target=target, columns=["length"])
        assert_same_numbers(found, expected)
        assert [type(label) for label in found.labels.tolist()] == [type(label) for label in expected.labels.tolist()]


def assert_same_numbers(found, expected):
    assert found.labels.tolist() == expected.labels.tolist()
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-10)


CONNECTED = """
import json, sys, warnings
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import classwise as cw, classwise.engines.spark as engine
from pyspark.sql import SparkSession

warnings.simplefilter("ignore")
rows = pq.read_table(sys.argv[1])
builder = SparkSession.builder.remote("local[2]")
for name, value in json.loads(sys.argv[2]).items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
frame = session.createDataFrame(rows).repartition(3)
assert ".connect." in type(frame).__module__
engine.FAN = 2
columns = ["length", "count", "color", "smooth"]
found = cw.summarize(frame, target="tree", weights="weight", columns=columns)
expected = cw.summarize(rows, target="tree", weights="weight", columns=columns)
assert found.labels.tolist() == expected.labels.tolist()
np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-10)
m = cw.NaiveBayes().fit_statistics(found)
answers = cw.predict(m, frame, keys=["id"]).toArrow().sort_by("id")
assert answers["label"].to_pylist() == m.predict(rows.select(columns)).tolist()
session.stop()
print("agreed")
"""


@pytest.mark.slow
def test_spark_connect(folder):
    """In a process of its own, which can have one kind of session only."""
    pytest.importorskip("grpc")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        absent("Spark needs Java, which is not installed")
    env = os.environ | spark_environment()
    command = [sys.executable, "-c", CONNECTED, one_file(folder, ".parquet"), json.dumps(SPARK)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("agreed\n"), done.stdout + done.stderr[-3000:]


def test_statistics_of_many_partitions_of_spark_meet_on_executors(monkeypatch, folder, servers, plain):
    monkeypatch.setattr("classwise.engines.spark.FAN", 1)
    found = cw.summarize(spark_frame(servers), target="tree", weights="weight", columns=FEATURES, quartics=True)
    assert_same(found, plain)


def test_arrays_of_dask(servers):
    da = pytest.importorskip("dask.array")
    servers(dask_cluster)
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(1000, 4)), rng.integers(0, 3, 1000), rng.random(1000)
    found = cw.summarize(da.from_array(X, chunks=(300, 2)), da.from_array(y, chunks=170), da.from_array(w, chunks=1000))
    assert_same_numbers(found, cw.summarize(X, y, w))
    with pytest.raises(cw.ClasswiseError, match="y and weights must be such too"):
        cw.summarize(da.from_array(X), y)


@pytest.mark.parametrize("name", ["dask", "spark"])
def test_a_problem_on_a_worker_is_told_here(name, folder, servers):
    source = SOURCES[name](folder, servers)
    with pytest.raises(cw.ClasswiseError, match="missing labels in") as problem:
        cw.summarize(source, target="tree", columns=FEATURES, missing="error")
    assert "\n" not in str(problem.value)
    with pytest.raises(cw.ClasswiseError, match="no column 'size'"):
        cw.summarize(source, target="size")
