"""evaluate and learning_curve over rows wherever they are: the numbers of rows in memory."""

import subprocess
import sys
import warnings
from contextlib import ExitStack
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import classwise as cw
from classwise.rows.sinks import write_rows
from clusters import dask_cluster
from sql_engines import spark_session

pytestmark = pytest.mark.xdist_group("engines")

N = 600
FEATURES = ["length", "count", "color"]


def make_rows():
    rng = np.random.default_rng(4)
    label = rng.choice(["ash", "elm", "oak"], N, p=[0.5, 0.3, 0.2])
    shift = np.select([label == "elm", label == "oak"], [1.5, -1.0], 0.0)
    rows = pd.DataFrame(
        {
            "length": rng.normal(size=N) + shift,
            "count": rng.poisson(3 + 2 * (label == "elm"), N),
            "color": rng.choice(["red", "green"], N).astype(object),
            "weight": rng.choice([0.0, 0.5, 1.0, 2.0], N),
            "tree": label.astype(object),
        }
    )
    rows.loc[rng.random(N) < 0.1, "length"] = np.nan
    rows.loc[rng.random(N) < 0.05, "tree"] = None
    return rows


ROWS = make_rows()
LABELED = ROWS[ROWS["tree"].notna()]
ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)

ESTIMATORS = {
    "LDA": cw.LDA(),
    "naive Bayes, calibrated": cw.NaiveBayes(calibrate="temperature", folds=3),
    "AODE": cw.AODE(),
    "mixture": cw.MixtureClassifier(components=2, random_state=0),
    "logistic": cw.BayesianLogistic(precision=1.0),
    "stack": cw.AutoClassifier(members="fast", folds=3),
    "forest": cw.ForestClassifier(trees=12),
    "decision": cw.Decision(cw.NaiveBayes(), reject={"posterior": 0.8}),
}


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: clone(model).fit(LABELED[FEATURES], LABELED["tree"]) for name, model in ESTIMATORS.items()}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("rows")
    for i, start in enumerate(range(0, N, 250)):
        for suffix in (".csv", ".parquet"):
            write_rows(ARROW.slice(start, 250), str(home / f"part-{i}{suffix}"))
    with duckdb.connect(str(home / "trees.duckdb")) as connection:
        connection.register("given", ARROW)
        connection.execute("CREATE TABLE trees AS SELECT * FROM given")
    return home


@pytest.fixture(scope="module")
def clusters():
    """A cluster of Dask, started when it is first asked for."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(dask_cluster()))


def dask_frame(clusters):
    import dask.dataframe as dd

    clusters()
    return dd.from_pandas(ROWS, npartitions=4, sort=False)


def spark_frame():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return spark_session().createDataFrame(ARROW)


SOURCES = {
    "pandas": lambda home, clusters: ROWS,
    "polars": lambda home, clusters: pl.from_arrow(ARROW),
    "csv pattern": lambda home, clusters: str(home / "part-*.csv"),
    "parquet pattern": lambda home, clusters: str(home / "part-*.parquet"),
    "query": lambda home, clusters: f"SELECT * FROM '{home}/part-*.parquet'",
    "database": lambda home, clusters: f"{home / 'trees.duckdb'}#trees",
    "iterator": lambda home, clusters: (ROWS[i : i + 70] for i in range(0, N, 70)),
    "dask": lambda home, clusters: dask_frame(clusters),
    "spark": lambda home, clusters: spark_frame(),
}
every_source = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "spark" else name for name in SOURCES]
)


def assert_same(found, expected):
    assert found.labels.tolist() == expected.labels.tolist()
    for part in ("confusion", "losses", "scores", "bins"):
        np.testing.assert_allclose(getattr(found, part), getattr(expected, part), rtol=1e-9, atol=1e-9, err_msg=part)


@every_source
@pytest.mark.filterwarnings("ignore::classwise.MissingLabelWarning")
def test_every_source_is_evaluated_alike(name, home, clusters, fitted):
    source = SOURCES[name](home, clusters)
    known = fitted if name != "iterator" else {"LDA": fitted["LDA"]}  # what is read once is evaluated once
    for kind, model in known.items():
        inner = model.model_ if kind == "decision" else model
        expected = inner.evaluate(LABELED[FEATURES], LABELED["tree"], LABELED["weight"])
        assert_same(cw.evaluate(model, source, target="tree", weights="weight"), expected)


@every_source
@pytest.mark.filterwarnings("ignore::classwise.MissingLabelWarning")
def test_every_source_has_the_same_learning_curve(name, home, clusters):
    options = {"models": {"LDA": cw.LDA(), "NB": cw.NaiveBayes()}, "sizes": [30, 200], "repeats": 2}
    expected = cw.learning_curve(LABELED[FEATURES], LABELED["tree"], **options)
    found = cw.learning_curve(SOURCES[name](home, clusters), target="tree", columns=FEATURES, **options)
    assert found.sizes.tolist() == expected.sizes.tolist()
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9, atol=1e-9)


class TestEvaluate:
    def test_rows_without_labels_are_told_of(self, fitted):
        with pytest.warns(cw.MissingLabelWarning, match=f"{ROWS['tree'].isna().sum()} of {N} rows have no label"):
            cw.evaluate(fitted["LDA"], ROWS, target="tree")

    def test_whatever_the_chunks(self, fitted):
        rows = LABELED.reset_index(drop=True)
        expected = fitted["AODE"].evaluate(rows[FEATURES], rows["tree"])
        for size in (1, 7, 1000):
            chunks = (rows[i : i + size] for i in range(0, len(rows), size))
            assert_same(cw.evaluate(fitted["AODE"], chunks, target="tree"), expected)

    def test_models_of_scikit_learn_and_rows_without_names(self):
        rows = LABELED.dropna().reset_index(drop=True)
        X, y = rows[["length", "count"]], rows["tree"]
        expected = cw.LDA().fit(X.to_numpy(), y).evaluate(X.to_numpy(), y)
        assert_same(cw.evaluate(cw.LDA().fit(X.to_numpy(), y), rows, target="tree", columns=list(X)), expected)
        softmax = LogisticRegression().fit(X, y)
        found = cw.evaluate(softmax, rows, target="tree")
        assert found.error == pytest.approx(1 - softmax.score(X, y))

    def test_labels_that_look_like_numbers(self, tmp_path):
        rows = LABELED.dropna().assign(code=LABELED["tree"].map({"ash": 1, "elm": 2, "oak": 10}))
        rows.to_csv(tmp_path / "rows.csv", index=False)
        for labels in (rows["code"].astype(int), rows["code"].astype(int).astype(str)):
            model = cw.NaiveBayes().fit(rows[FEATURES], labels)
            found = cw.evaluate(model, tmp_path / "rows.csv", target="code")
            assert_same(found, model.evaluate(rows[FEATURES], labels))

    def test_what_cannot_be_evaluated(self, fitted):
        m = fitted["LDA"]
        with pytest.raises(cw.ClasswiseError, match=r"'tre'.*did you mean 'tree'"):
            cw.evaluate(m, ROWS, target="tre")
        with pytest.raises(cw.ClasswiseError, match="There are no rows to evaluate in"):
            cw.evaluate(m, ROWS.assign(weight=0.0), target="tree", weights="weight")
        with pytest.raises(cw.ClasswiseError, match="'yew', which is not a class"):
            cw.evaluate(m, ROWS.assign(tree="yew"), target="tree")
        with pytest.raises(cw.ClasswiseError, match="reads the column 'color', which cannot be"):
            cw.evaluate(m, ROWS, target="color")
        with pytest.raises(cw.ClasswiseError, match="fitted on rows without names"):
            cw.evaluate(cw.NaiveBayes().fit([[1.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1]), ROWS, target="tree")


class TestLearningCurve:
    def test_a_sample_is_drawn_of_more_rows_than_fit_in_memory(self, home, monkeypatch):
        monkeypatch.setattr("classwise.limits.MOST_HELD", 800)
        rows = str(home / "part-*.parquet")
        options = {"target": "tree", "columns": FEATURES, "models": {"NB": cw.NaiveBayes()}, "repeats": 2}
        with pytest.warns(cw.MissingLabelWarning):
            curve, again = (cw.learning_curve(rows, **options) for _ in range(2))
        assert curve.sizes.max() == 140  # of 200 rows, 60 are held out
        np.testing.assert_array_equal(curve.values, again.values)
        with pytest.raises(cw.ClasswiseError, match="can be read once"):
            cw.learning_curve((ROWS[i : i + 70] for i in range(0, N, 70)), **options)

    def test_options_that_do_not_go_together(self):
        with pytest.raises(cw.ClasswiseError, match="leave y out"):
            cw.learning_curve(ROWS, ROWS["tree"], target="tree")
        with pytest.raises(cw.ClasswiseError, match="columns goes with target"):
            cw.learning_curve(ROWS[FEATURES], ROWS["tree"], columns=FEATURES)


MEASURE = """
import resource, sys
import numpy as np, pyarrow as pa
import classwise as cw
rng = np.random.default_rng(0)
names = [f"x{i}" for i in range(10)]

def chunks(count):
    for _ in range(count):
        y = rng.integers(0, 2, 50_000)
        columns = {name: rng.normal(size=len(y)) + y for name in names}
        yield pa.table({**columns, "y": y})

m = cw.QDA().fit_source(lambda: chunks(2), target="y")
assert cw.evaluate(m, chunks(int(sys.argv[1])), target="y").weight == int(sys.argv[1]) * 50_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_rows():
    few, many = (
        int(subprocess.run([sys.executable, "-c", MEASURE, count], capture_output=True, text=True, check=True).stdout)
        for count in ("10", "60")
    )
    assert many < few + 60  # MB; 50 chunks of rows more would be 220
