"""compare over files, queries and streams: two passes, and the numbers of a table in memory."""

import json
import logging
import os
import subprocess
import sys
from itertools import pairwise

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import classwise as cw
from classwise.rows.roles import as_frame
from classwise.rows.sampling import Sample, SamplePart, fold_of_groups, fold_of_rows, may_be_drawn, ranks_of_rows
from classwise.rows.sinks import write_rows
from classwise.selection.folds import group_bits
from sql_engines import postgres_engine

N, FOLDS = 160, 3
QUICK = {"folds": FOLDS, "references": False}
MEASURES = ("error", "log_loss", "brier", "calibration_error")


def make_rows(n=N, seed=3, gaps=False):
    rng = np.random.default_rng(seed)
    label = rng.choice(["ash", "elm", "oak"], n, p=[0.5, 0.3, 0.2])
    shift = np.select([label == "elm", label == "oak"], [1.0, -1.0], 0.0)
    rows = pd.DataFrame(
        {
            "length": rng.normal(size=n) + shift,
            "width": rng.normal(size=n) * (1 + (label == "oak")),
            "count": rng.poisson(3 + 2 * (label == "elm"), n),
            "color": rng.choice(["red", "green"], n).astype(object),
            "weight": rng.choice([0.0, 0.5, 1.0, 2.0], n, p=[0.05, 0.25, 0.6, 0.1]),
            "tree": label.astype(object),
        }
    )
    rows.loc[n - 4 :, "color"] = "mauve"  # a level that no early chunk has
    if gaps:
        rows.loc[rng.random(n) < 0.1, "length"] = np.nan
        rows.loc[rng.random(n) < 0.1, "color"] = None
        rows.loc[[5, 50], "tree"] = None
    return rows


ROWS = make_rows()
FEATURES = ["length", "width", "count", "color"]
ROLES = {"target": "tree", "columns": FEATURES, "weights": "weight"}


def in_memory(rows, seed=0, **options):
    """The comparison of the same rows in the same folds, without any stream."""
    weights = rows["weight"].to_numpy()
    # Only rows that count have a number.
    counted = (weights > 0) & rows["tree"].notna().to_numpy()
    folds = fold_of_rows(np.cumsum(counted) - counted, FOLDS, seed)
    return cw.compare(rows[FEATURES], rows["tree"], folds, sample_weight=weights, references=False, **options)


@pytest.fixture(scope="module")
def expected():
    return in_memory(ROWS)


def assert_same(found, expected, tolerance=1e-9):
    assert [trial.name for trial in found.tried] == [trial.name for trial in expected.tried]
    assert found.winner.name == expected.winner.name
    assert found.leader.name == expected.leader.name
    assert found.labels.tolist() == expected.labels.tolist()
    for one in expected.tried:
        other = found[one.name]
        if one.kind == "stack":
            assert other.reason == "Needs the rows in memory."
            continue
        assert bool(one.reason) == bool(other.reason), other.reason
        if one.reason:
            continue
        for calibrated in (False, True) if one.calibrated else (False,):
            for measure in MEASURES:
                ours, theirs = one.estimate(measure, calibrated), other.estimate(measure, calibrated)
                np.testing.assert_allclose(theirs, ours, rtol=0, atol=tolerance, err_msg=f"{one.name}, {measure}")
        assert other.free_parameters == one.free_parameters
        assert other.evidence == one.evidence
        if one.power is not None:
            assert other.power == pytest.approx(one.power, rel=1e-6)
        if one.log_evidence is not None:
            assert other.log_evidence == pytest.approx(one.log_evidence, rel=1e-9)


def chunks(rows, size):
    """A function that hands the rows over in chunks, as often as it is called."""
    table = pa.Table.from_pandas(rows, preserve_index=False)
    return lambda: iter([table.slice(start, size) for start in range(0, len(rows), size)])


class TestAgreement:
    @pytest.mark.parametrize("suffix", [".parquet", ".csv"])
    def test_with_a_table_in_memory(self, tmp_path, expected, suffix):
        path = tmp_path / f"rows{suffix}"
        write_rows(pa.Table.from_pandas(ROWS, preserve_index=False), str(path))
        assert_same(cw.compare(path, stream=True, **ROLES, **QUICK), expected)

    @pytest.mark.parametrize("size", [1, 7, 64, N])
    def test_whatever_the_chunks(self, expected, size):
        assert_same(cw.compare(chunks(ROWS, size), stream=True, **ROLES, **QUICK), expected)

    @pytest.mark.filterwarnings("ignore::classwise.MissingLabelWarning")
    def test_with_gaps_and_missing_labels(self, tmp_path):
        rows = make_rows(120, 8, gaps=True)
        write_rows(pa.Table.from_pandas(rows, preserve_index=False), str(tmp_path / "rows.csv"))
        found = cw.compare(tmp_path / "rows.csv", stream=True, random_state=5, **ROLES, **QUICK)
        assert_same(found, in_memory(rows, 5))
        with pytest.warns(cw.MissingLabelWarning, match="2 of 120 rows"):
            cw.compare(tmp_path / "rows.csv", stream=True, models={}, **ROLES, **QUICK)

    def test_rows_of_weight_zero_are_no_rows(self):
        ours, theirs = (
            cw.compare(chunks(rows, 50), stream=True, **ROLES, **QUICK) for rows in (ROWS, ROWS[ROWS["weight"] > 0])
        )
        assert_same(ours, theirs)

    def test_dials_and_strengths_are_those_of_all_rows(self, expected):
        found = cw.compare(chunks(ROWS, 50), stream=True, **ROLES, **QUICK)
        ours, theirs = expected["RDA"].tuned.record["dials_"], found["RDA"].tuned.record["dials_"]
        assert theirs.best == ours.best
        np.testing.assert_allclose(theirs.by_fold, ours.by_fold, atol=1e-9)
        best = found.fitted("QDA, Student-t, loo")
        assert best.prior_choice_.best == expected.fitted("QDA, Student-t, loo").prior_choice_.best
        X = ROWS[FEATURES]
        np.testing.assert_allclose(found.best.predict_proba(X), expected.best.predict_proba(X), atol=1e-9)

    def test_models_of_ones_own(self, expected):
        models = {
            "counts": cw.NaiveBayes(families={"count": "poisson"}),
            "softmax": LogisticRegression(),
            "mine": cw.BayesianLogistic(precision=1.0),
        }
        columns = ["length", "width", "count"]
        folds = fold_of_rows(np.arange(N), FOLDS)
        ours = cw.compare(ROWS[columns], ROWS["tree"], folds, models=models, references=False)
        stream = {"stream": True, "target": "tree", "columns": columns}
        assert_same(cw.compare(chunks(ROWS, 60), models=models, **stream, **QUICK), ours, 1e-7)
        with pytest.raises(cw.ClasswiseError, match="has no fit"):
            cw.compare(chunks(ROWS, 60), models={"x": 3}, **stream, **QUICK)

    def test_references_are_fitted_on_the_sample_if_that_is_asked_for(self):
        folds = fold_of_rows(np.arange(N), FOLDS)
        ours = cw.compare(ROWS[FEATURES], ROWS["tree"], folds, references=True)
        stream = {"stream": True, "target": "tree", "columns": FEATURES, "folds": FOLDS}
        assert_same(cw.compare(chunks(ROWS, 60), references=True, **stream), ours)
        left = cw.compare(chunks(ROWS, 60), **stream)
        assert left["softmax regression"].reason == "Needs rows in memory, and these are read as a stream."
        shares, theirs = (c["class shares"].estimate("log_loss") for c in (left, ours))
        np.testing.assert_allclose(shares, theirs, atol=1e-12)


class TestFewRows:
    def test_are_compared_as_a_table(self, tmp_path):
        write_rows(pa.Table.from_pandas(ROWS, preserve_index=False), str(tmp_path / "rows.parquet"))
        ours = cw.compare(ROWS[FEATURES], ROWS["tree"], sample_weight=ROWS["weight"], **QUICK)
        found = cw.compare(tmp_path / "rows.parquet", **ROLES, **QUICK)
        assert_same(found, ours)
        assert found["LDA"].log_posterior is not None
        assert not found.streamed
        assert_same(cw.compare(ROWS, **ROLES, **QUICK), ours)
        assert_same(cw.compare((ROWS[i : i + 50] for i in range(0, N, 50)), **ROLES, **QUICK), ours)

    def test_with_missing_labels(self):
        rows = make_rows(60, 8, gaps=True).drop(columns=["color", "length"])
        with pytest.warns(cw.MissingLabelWarning, match="2 of 60 rows"):
            found = cw.compare(rows, target="tree", weights="weight", **QUICK)
        with pytest.warns(cw.MissingLabelWarning, match="2 of 60 rows"):
            ours = cw.compare(rows[["width", "count"]], rows["tree"], sample_weight=rows["weight"], **QUICK)
        assert_same(found, ours)
        assert found.folds.tolist() == ours.folds.tolist()

    def test_too_many_are_a_stream(self, tmp_path, monkeypatch):
        monkeypatch.setattr("classwise.limits.MOST_HELD", 6 * N - 1)
        path = tmp_path / "rows.parquet"
        write_rows(pa.Table.from_pandas(ROWS, preserve_index=False), str(path))
        assert cw.compare(path, **ROLES, **QUICK).streamed == N
        assert not cw.compare(path, stream=False, **ROLES, **QUICK).streamed
        with pytest.raises(cw.ClasswiseError, match="can be read once"):
            cw.compare((ROWS[i : i + 50] for i in range(0, N, 50)), **ROLES, **QUICK)


@pytest.fixture(scope="module")
def large():
    return make_rows(4000, 11).drop(columns=["weight", "color"])


SAMPLED = {"stream": True, "target": "tree", "folds": FOLDS, "references": False, "sample": 1000}


class TestSample:
    def test_choices_by_some_rows_are_the_same_whatever_the_chunks(self, large):
        first, second = (cw.compare(chunks(large, size), **SAMPLED) for size in (4000, 333))
        assert_same(second, first)
        assert "chosen by 1,000 of them" in str(first)
        assert "4,000 rows were scored" in str(first)
        assert first.rows == 4000

    def test_evaluations_are_of_all_rows(self, large):
        found = cw.compare(chunks(large, 1500), **SAMPLED)
        folds = fold_of_rows(np.arange(len(large)), FOLDS)
        ours = cw.compare(large.drop(columns="tree"), large["tree"], folds, references=False)
        for name in ("LDA", "QDA", "naive Bayes", "nearest mean"):  # nothing is chosen but the power
            for measure in MEASURES:
                theirs = found[name].estimate(measure, calibrated=False)
                np.testing.assert_allclose(theirs, ours[name].estimate(measure, calibrated=False), atol=1e-12)
            assert found[name].power == pytest.approx(ours[name].power, rel=0.2)
        for trial in ours.members:
            assert found[trial.name].estimate("log_loss").value == pytest.approx(
                trial.estimate("log_loss").value, abs=0.02
            )

    def test_too_small_a_sample_is_refused(self, large):
        with pytest.raises(cw.ClasswiseError, match="sample=20 is too small"):
            cw.compare(chunks(large, 1500), **{**SAMPLED, "sample": 20})

    @given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(1, 60), st.integers(0, 2**70))
    @settings(max_examples=60, deadline=None)
    def test_it_is_the_rows_of_least_rank(self, sizes, size, seed):
        total, first, n = Sample(size), 0, sum(sizes)
        for count in sizes:
            rows = np.arange(first, first + count)
            ranks = ranks_of_rows(rows, seed)
            kept = may_be_drawn(ranks, rows, size)
            table = pa.table({"row": rows[kept]})
            total = total + Sample(size, (SamplePart(table, ranks[kept], rows[kept], rows[kept] % 2),))
            assert len(total) <= 4 * size + 400
            first += count
        drawn = total.whole()
        best = np.sort(np.argsort(ranks_of_rows(np.arange(n), seed))[:size])
        assert drawn.rows.tolist() == best.tolist()
        assert drawn.table["row"].to_pylist() == best.tolist()
        assert drawn.folds.tolist() == (best % 2).tolist()


class TestFolds:
    @given(st.lists(st.integers(0, 50), max_size=6), st.integers(2, 12), st.integers(0, 2**64))
    @settings(max_examples=50, deadline=None)
    def test_a_row_is_where_its_number_says(self, sizes, folds, seed):
        ends = np.cumsum([0, *sizes])
        parts = [fold_of_rows(np.arange(a, b), folds, seed) for a, b in pairwise(ends)]
        whole = fold_of_rows(np.arange(ends[-1]), folds, seed)
        assert np.concatenate([*parts, []]).tolist() == whole.tolist()
        assert ((whole >= 0) & (whole < folds)).all()

    def test_folds_are_even_and_seeds_differ(self):
        rows = np.arange(1_000_000)
        first, second = fold_of_rows(rows, 10, 0), fold_of_rows(rows, 10, 1)
        for folds in (first, second, first[::10], first[np.arange(10) + 10 * rows[:1000, None]][:, 3]):
            counts = np.bincount(folds, minlength=10)
            even = len(folds) / 10
            assert ((counts - even) ** 2 / even).sum() < 33.7  # the 0.9999 quantile of chi-square with 9 degrees
        assert (first == second).mean() == pytest.approx(0.1, abs=0.002)
        drawn = ranks_of_rows(rows, 0) < np.uint64(2**60)
        assert np.bincount(first[drawn]).min() > 0.9 * drawn.sum() / 10

    def test_groups_stay_together_whatever_they_are_written_in(self):
        values = [3, 1, 3, 2, 1, 1]
        ours = group_bits(as_frame(pa.table({"g": values}))["g"])
        assert ours.tolist() == group_bits(as_frame(pd.DataFrame({"g": np.array(values, float)}))["g"]).tolist()
        assert len(set(ours.tolist())) == 3
        words = group_bits(as_frame(pl.DataFrame({"g": [f"g{value}" for value in values]}))["g"])
        assert fold_of_groups(words, 2)[[0, 1, 1]].tolist() == fold_of_groups(words, 2)[[2, 4, 5]].tolist()

    def test_groups_of_a_stream(self):
        rows = ROWS.assign(site=np.arange(N) // 8)
        found = cw.compare(chunks(rows, 30), stream=True, groups="site", **ROLES, **QUICK)
        folds = fold_of_groups(group_bits(as_frame(rows)["site"]), FOLDS)
        weights = rows["weight"].to_numpy()
        ours = cw.compare(rows[FEATURES], rows["tree"], folds, sample_weight=weights, references=False)
        assert_same(found, ours)
        few = cw.compare(rows, groups="site", **ROLES, **QUICK)
        sites = rows["site"].to_numpy()[weights > 0]
        assert all(len(set(few.folds[sites == site])) == 1 for site in set(sites.tolist()))


SOURCES = {
    "pattern": lambda home: str(home / "part-*.parquet"),
    "compressed text": lambda home: [str(home / f"part-{i}.csv.gz") for i in range(3)],
    "query": lambda home: f"SELECT * FROM '{home}/part-*.parquet'",
    "database": lambda home: f"{home / 'trees.duckdb'}#trees",
    "lazy frame": lambda home: pl.scan_parquet(str(home / "part-*.parquet")),
    "dataset": lambda home: pds.dataset(sorted(map(str, home.glob("part-*.parquet")))),
    "relation": lambda home: duckdb.from_arrow(pa.Table.from_pandas(ROWS, preserve_index=False)),
    "readers": lambda home: lambda: pa.Table.from_pandas(ROWS, preserve_index=False).to_reader(50),
    "arrow": lambda home: Exporting(),
    "table": lambda home: ROWS,
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("sources")
    table = pa.Table.from_pandas(ROWS, preserve_index=False)
    for i, start in enumerate(range(0, N, 60)):
        write_rows(table.slice(start, 60), str(home / f"part-{i}.parquet"))
        write_rows(table.slice(start, 60), str(home / f"part-{i}.csv.gz"))
    with duckdb.connect(str(home / "trees.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE trees AS SELECT * FROM given")
    return home


class TestSources:
    @pytest.mark.parametrize("name", SOURCES)
    def test_the_same_from_each(self, home, expected, name):
        assert_same(cw.compare(SOURCES[name](home), stream=True, **ROLES, **QUICK), expected)


@pytest.mark.xdist_group("engines")
def test_postgres(expected):
    """By a query that gives the rows an order; without one, an order that changes is noticed."""
    numbered = ROWS.assign(id=np.arange(N))
    kinds = {"count": "whole", "id": "whole", "color": "text", "tree": "text"}
    with postgres_engine() as engine:
        columns = {name: (kinds.get(name, "number"), numbered[name].tolist()) for name in numbered}
        engine.put("trees", columns)
        address = f"postgresql:///postgres?host={engine.connection.info.host}&user=cw"
        ordered = cw.Query("SELECT * FROM trees ORDER BY id", address)
        assert_same(cw.compare(ordered, stream=True, **ROLES, **QUICK), expected)
        shuffled = cw.Query("SELECT * FROM trees ORDER BY random()", address)
        with pytest.raises(cw.ClasswiseError, match="ORDER BY"):
            cw.compare(shuffled, stream=True, **ROLES, **QUICK)


class Exporting:
    """Rows that somebody hands over as an Arrow stream, as often as they are asked for."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.Table.from_pandas(ROWS, preserve_index=False).to_reader(40).__arrow_c_stream__(requested_schema)


STREAMED = {"stream": True, **ROLES, **QUICK}


def test_a_model_is_asked_whatever_it_is_called():
    """Also where it has the name of a reference that is left out."""
    rows = ROWS[["length", "width", "tree"]].dropna()
    told = make_pipeline(StandardScaler(), LogisticRegression())
    named = {name: {name: told} for name in ("class shares", "15 nearest neighbors", "stack", "mine")}
    losses = [
        cw.compare(chunks(rows, 50), target="tree", models=models, stream=True, references=False)[name]
        .estimate("log_loss")
        .value
        for name, models in named.items()
    ]
    assert max(losses) - min(losses) < 1e-12
    assert (
        losses[0] < cw.compare(chunks(rows, 50), target="tree", stream=True)["class shares"].estimate("log_loss").value
    )


class TestRefusals:
    def test_rows_that_change_their_order(self):
        orders = iter([ROWS, ROWS.iloc[::-1]])
        with pytest.raises(cw.ClasswiseError, match="ORDER BY"):
            cw.compare(lambda: iter([next(orders)]), **STREAMED)

    def test_rows_within_a_class_that_change_their_order(self):
        swapped = ROWS.copy()
        own = np.flatnonzero(ROWS["tree"] == "ash")
        swapped.iloc[own] = ROWS.iloc[own[::-1]].to_numpy()
        swapped = swapped.astype(ROWS.dtypes)
        orders = iter([ROWS, swapped])
        with pytest.raises(cw.ClasswiseError, match="not the same when they were read again"):
            cw.compare(lambda: iter([next(orders)]), **STREAMED)

    def test_what_can_be_read_once(self):
        with pytest.raises(cw.ClasswiseError, match="can be read once"):
            cw.compare(iter([ROWS]), **STREAMED)
        with pytest.raises(cw.ClasswiseError, match="can be read once"):
            cw.compare(pa.Table.from_pandas(ROWS).to_reader(), **STREAMED)

    def test_options_that_do_not_go_together(self):
        X, y = ROWS[["length", "width"]], ROWS["tree"]
        for options in ({"y": y}, {"sample_weight": np.ones(N)}):
            with pytest.raises(cw.ClasswiseError, match="names the column of the labels"):
                cw.compare(ROWS, target="tree", **options)
        for options in ({"stream": True, "y": y}, {"columns": ["length"], "y": y}, {}):
            with pytest.raises(cw.ClasswiseError, match="y is missing"):
                cw.compare(X, **options)
        with pytest.raises(cw.ClasswiseError, match="folds=<ndarray> is not an option for a stream"):
            cw.compare(chunks(ROWS, 50), target="tree", stream=True, folds=np.zeros(N))
        with pytest.raises(cw.ClasswiseError, match=r"'tre'.*did you mean 'tree'"):
            cw.compare(chunks(ROWS, 50), target="tre", stream=True)

    def test_one_class_no_rows_and_no_classes(self, monkeypatch):
        with pytest.raises(cw.ClasswiseError, match="one class, 'ash'"):
            cw.compare(chunks(ROWS[ROWS["tree"] == "ash"], 50), **STREAMED)
        with pytest.raises(cw.ClasswiseError, match="no rows to learn from"):
            cw.compare(chunks(ROWS.assign(weight=0.0), 50), **STREAMED)
        monkeypatch.setattr("classwise.selection.first_pass.MOST_CLASSES", 100)
        with pytest.raises(cw.ClasswiseError, match="holds no classes"):
            cw.compare(chunks(ROWS.assign(name=[f"n{i}" for i in range(N)]), 50), stream=True, target="name")

    def test_covariances_that_take_too_much_memory_are_not_gathered(self, monkeypatch):
        monkeypatch.setattr("classwise.selection.first_pass.MOST_BYTES", 100.0)
        found = cw.compare(chunks(ROWS, 50), **STREAMED)
        assert "GB" in found["QDA"].reason
        assert not found["naive Bayes"].reason
        assert not found["nearest mean"].reason

    def test_what_is_kept_of_single_rows_is_nothing(self):
        found = cw.compare(chunks(ROWS, 50), **STREAMED)
        assert found["LDA"].log_posterior is None
        assert (len(found.codes), found.rows, found.streamed) == (0, N, N)

    def test_a_report_draws_a_sample_of_the_source(self, tmp_path):
        found = cw.compare(chunks(ROWS, 50), **STREAMED)
        cw.write_report(found, chunks(ROWS, 50), None, tmp_path / "source.html", target="tree")
        cw.write_report(found, ROWS[FEATURES], ROWS["tree"], tmp_path / "table.html", target="tree")
        for name in ("source", "table"):
            page = (tmp_path / f"{name}.html").read_text()
            assert f"<dt>rows</dt><dd>{N:,}, read as a stream; pictures, importance and advice are of" in page
            assert "Three rows explained" in page or "Some rows explained" in page
            assert "<h3>Sure, and right: a row</h3>" in page
        with pytest.raises(cw.ClasswiseError, match="target="):
            cw.write_report(found, chunks(ROWS, 50), None, tmp_path / "never.html")
        assert not (tmp_path / "never.html").exists()


def test_progress_tells_the_pass(caplog, monkeypatch):
    monkeypatch.setattr("classwise.engines.progress.PATIENCE", 0.0)
    monkeypatch.setattr("classwise.engines.progress.PACE", 0.0)
    monkeypatch.setattr("classwise.engines.progress.LOG_PACE", 0.0)
    with caplog.at_level(logging.INFO, "classwise"):
        cw.compare(chunks(ROWS, 50), stream=True, **ROLES, **QUICK)
    said = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("Pass 1/2: 150 rows") for line in said)
    assert any(line.startswith("Pass 2/2: 150 rows") and "rows/s" in line for line in said)


def test_pictures_and_tables(tmp_path):
    import matplotlib as mpl

    mpl.use("agg")
    found = cw.compare(chunks(ROWS, 50), stream=True, **ROLES, **QUICK)
    found.plot()
    found.reliability()
    assert len(found.table().frame()) == len(found.tried)
    assert found.best.predict(ROWS[FEATURES][:2]).shape == (2,)


MEASURE = """
import json, sys
from pathlib import Path
import classwise as cw
options = {"references": False, "calibrate": None, "only": ["lda", "naive-bayes"]}
found = cw.compare(sys.argv[1], target="y", folds=5, stream=True, sample=20_000, **options)
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3
print(json.dumps({"rows": found.rows, "peak": peak, "best": found.winner.name}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_memory_does_not_grow_with_rows(tmp_path):
    """A comparison holds some chunks, a sample and its libraries, whose allocators keep a little of what was freed.

    What it holds of 1,200,000 rows more must be less than those rows are by themselves; in memory, the posteriors of
    these models alone would be more than twice as much. Both files are long enough for every thread to have had a chunk
    of full length: before that, memory grows with the first chunks and not with the rows.
    """
    peaks, tidy = [], {**os.environ, "MALLOC_ARENA_MAX": "2"}
    for count in (2_100_000, 3_300_000):
        path = tmp_path / f"{count}.parquet"
        numbers = ", ".join(f"random() + random() + y * {0.1 * j} AS x{j}" for j in range(10))
        made = f"SELECT (random() * 2)::INTEGER AS y FROM range({count})"
        duckdb.sql(f"COPY (SELECT {numbers}, y FROM ({made})) TO '{path}' (FORMAT parquet)")
        command = [sys.executable, "-c", MEASURE, str(path)]
        done = subprocess.run(command, env=tidy, capture_output=True, text=True, check=False, timeout=900)
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout)
        assert facts["rows"] == count
        peaks.append(facts["peak"])
    assert peaks[1] < 850  # MB
    assert peaks[1] < peaks[0] + 1.2e6 * 11 * 8 / 1e6


class TestManyRows:
    """A stream with more rows than there is time to score: a random sample of them is scored."""

    @pytest.fixture
    def few(self, monkeypatch):
        monkeypatch.setattr("classwise.limits.SCORED_VALUES", N * len(FEATURES) // 2)
        return cw.compare(chunks(ROWS, 50), stream=True, **ROLES, **QUICK)

    def test_about_the_share_is_scored_whatever_the_chunks(self, few):
        scored = sum(part.weight for part in few["LDA"].as_is)
        assert 0.3 < scored / ROWS["weight"].sum() < 0.7
        again = cw.compare(chunks(ROWS, 17), stream=True, **ROLES, **QUICK)
        np.testing.assert_allclose(again["LDA"].estimate("log_loss"), few["LDA"].estimate("log_loss"), rtol=1e-12)
        assert f"of {int((ROWS['weight'] > 0).sum())} rows, drawn at random, were scored" in few.remarks[0]

    def test_no_time_limit_scores_all(self, few, expected):
        options = {**QUICK, "time_limit": None}
        found = cw.compare(chunks(ROWS, 50), stream=True, **ROLES, **options)
        assert_same(found, expected)

    def test_statistics_are_of_all_rows(self, few, expected):
        np.testing.assert_allclose(few.fitted("LDA").means_, expected.fitted("LDA").means_, rtol=1e-12)
        assert (expected["QDA, OAS"].evidence, few["QDA, OAS"].evidence) == ("BIC", "")
