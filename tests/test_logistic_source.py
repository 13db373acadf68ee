"""Logistic regression of rows wherever they are: the same weights, covariance, precision and evidence as in memory."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import classwise as cw
from classwise.engines import StreamEngine, open_rows
from classwise.logistic import Design, Expansion, Logit, PrecisionGroups, Regression, TrainingRows, make_design
from classwise.logistic.training import Chances, ChunkCurvature, ChunkReader, ChunkSample
from classwise.logistic.weights import refine
from classwise.rows.roles import Chunk, Roles
from classwise.statistics import DiagonalScatter, summarize_rows
from test_engines_agree import FEATURES, ROWS, SOURCES, folder, servers, slow  # noqa: F401

# Beside the tests of all engines, in one process.
pytestmark = [
    pytest.mark.filterwarnings("ignore::classwise.MissingLabelWarning"),
    pytest.mark.filterwarnings("ignore::classwise.ImputedValueWarning"),
    pytest.mark.xdist_group("engines"),
]

SIZE = 700


def batches(rows, size=SIZE):
    """A function that makes batches."""
    return lambda: (rows[i : i + size] for i in range(0, len(rows), size))


ONCE = {"arrow stream", "iterator of tables"}
SEVERAL = {name: make for name, make in SOURCES.items() if name not in ONCE}
SEVERAL["function that makes batches"] = lambda *_: batches(ROWS)
SEVERAL["function that makes a stream"] = lambda *_: lambda: pa.Table.from_pandas(ROWS).to_reader(500)
# Of sources that are read alike, one; test_engines_agree.py has them all.
ALIKE = {"pyarrow", "csv", "json lines, zstd", "parquet pattern", "list of paths", "folder of arrow files"}
ALIKE |= {"query", "duckdb relation", "duckdb table", "postgres table"}
every_source = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in SEVERAL if name not in ALIKE],
)


@pytest.fixture
def many(monkeypatch):
    """As if there were many rows: 2,400 are too many to hold, and some 600 are drawn."""
    monkeypatch.setattr("classwise.limits.MOST_HELD", 2400)


def in_memory(model, rows, target, columns, weights=None):
    return model.fit(rows[columns], rows[target], None if weights is None else rows[weights])


def assert_same(found, expected, rows, tolerance=1e-9, of_covariance=1e-8):
    def close(a, b):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())

    assert found.classes_.tolist() == expected.classes_.tolist()
    assert found.coef_names_ == expected.coef_names_
    assert list(found.precision_) == list(expected.precision_)
    close(found.coef_, expected.coef_)
    close(found.intercept_, expected.intercept_)
    # At the last place but one of the search, from which the mode is one step away: it has fewer digits.
    far = of_covariance * expected.coef_cov_.max()
    np.testing.assert_allclose(found.coef_cov_, expected.coef_cov_, rtol=of_covariance, atol=far)
    close(list(found.precision_.values()), list(expected.precision_.values()))
    assert found.log_marginal_likelihood_ == pytest.approx(expected.log_marginal_likelihood_, rel=tolerance)
    close(found.predict_proba(rows), expected.predict_proba(rows))


@pytest.fixture(scope="module")
def plain():
    """Four classes, two of them rare; weights, gaps, categories, rows without labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return in_memory(cw.BayesianLogistic(), ROWS, "tree", FEATURES, "weight")


class TestSources:
    @every_source
    def test_the_same_model(self, name, folder, servers, plain, many):  # noqa: F811
        source = SEVERAL[name](folder, servers)
        found = cw.BayesianLogistic().fit_source(source, target="tree", columns=FEATURES, weights="weight")
        assert_same(found, plain, ROWS[FEATURES])

    @pytest.mark.parametrize("name", ["pandas", "csv", "parquet pattern", "function that makes batches", "dask"])
    def test_the_same_model_of_few_rows(self, name, folder, servers, plain):  # noqa: F811
        source = SEVERAL[name](folder, servers)
        found = cw.BayesianLogistic().fit_source(source, target="tree", columns=FEATURES, weights="weight")
        assert found.passes_ == plain.passes_
        assert_same(found, plain, ROWS[FEATURES], 1e-12)

    @pytest.mark.parametrize("name", ["csv pattern", "duckdb table", "polars lazy", "dask"])
    @pytest.mark.parametrize("link", ["logit", "probit"])
    def test_two_classes(self, name, link, folder, servers, many):  # noqa: F811
        model, columns = cw.BayesianLogistic(link=link, precision=2.0), ["length", "count", "color"]
        expected = in_memory(cw.BayesianLogistic(link=link, precision=2.0), ROWS, "smooth", columns)
        found = model.fit_source(SEVERAL[name](folder, servers), target="smooth", columns=columns)
        assert [type(label) for label in found.classes_.tolist()] == [bool, bool]
        assert_same(found, expected, ROWS[columns], 1e-10)

    def test_all_other_columns_are_learned_from(self, folder, servers, many):  # noqa: F811
        kept = ROWS[[*FEATURES, "tree", "weight"]]
        expected = in_memory(cw.BayesianLogistic(precision=1.0), kept, "tree", FEATURES, "weight")
        found = cw.BayesianLogistic(precision=1.0).fit_source(batches(kept), target="tree", weights="weight")
        assert_same(found, expected, ROWS[FEATURES])

    @pytest.mark.parametrize("name", ["dask", pytest.param("spark", marks=pytest.mark.slow)])
    def test_a_problem_on_a_worker_is_told_here(self, name, folder, servers):  # noqa: F811
        source = SEVERAL[name](folder, servers)
        with pytest.raises(cw.ClasswiseError, match="missing labels in") as problem:
            cw.BayesianLogistic(missing="error").fit_source(source, target="tree", columns=FEATURES)
        assert "\n" not in str(problem.value)

    def test_a_model_is_kept_in_a_file(self, tmp_path, plain, many):
        found = cw.BayesianLogistic().fit_source(batches(ROWS), target="tree", columns=FEATURES, weights="weight")
        cw.save(found, tmp_path / "model.cw")
        assert_same(cw.load(tmp_path / "model.cw"), found, ROWS[FEATURES], 1e-15)


class TestModels:
    """The same weights from passes as from a table, whatever the options."""

    @pytest.mark.parametrize(
        "options",
        [
            {"precision": {("length", "count"): "evidence", "color": 3.0}},
            {"fit_intercept": False, "precision": 1.0},
            {"penalize_intercept": True},
            {"standardize": False},
            {"predictive": "plugin"},
            {"families": {"count": "categorical"}},
        ],
    )
    def test_options(self, options, many):
        rows = ROWS[ROWS["tree"].isin(["oak", "ash", "elm"])]
        expected = in_memory(cw.BayesianLogistic(**options), rows, "tree", FEATURES, "weight")
        found = cw.BayesianLogistic(**options).fit_source(
            batches(rows), target="tree", columns=FEATURES, weights="weight"
        )
        assert_same(found, expected, rows[FEATURES], 1e-8)

    def test_the_nearest_gaussian(self, many):
        """The search ends within 1e-6 deviations."""
        options, columns = {"posterior": "variational", "precision": 1.0}, ["length", "color"]
        expected = in_memory(cw.BayesianLogistic(**options), ROWS, "smooth", columns, "weight")
        found = cw.BayesianLogistic(**options).fit_source(
            batches(ROWS), target="smooth", columns=columns, weights="weight"
        )
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)
        np.testing.assert_allclose(found.coef_cov_, expected.coef_cov_, atol=1e-6)
        assert found.log_marginal_likelihood_ == pytest.approx(expected.log_marginal_likelihood_, abs=1e-6)

    def test_no_prior(self, many):
        columns, rows = ["length", "count"], ROWS[ROWS["tree"] != "yew"]
        expected = in_memory(cw.BayesianLogistic(precision=0.0), rows, "tree", columns)
        found = cw.BayesianLogistic(precision=0.0).fit_source(batches(rows), target="tree", columns=columns)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-10)
        np.testing.assert_allclose(found.coef_cov_, expected.coef_cov_, rtol=1e-8, atol=1e-10)
        with pytest.raises(cw.ClasswiseError, match="undetermined"):
            cw.BayesianLogistic(precision=0.0).fit_source(batches(rows), target="tree", columns=FEATURES)

    def test_columns_that_do_not_matter(self, many):
        """Where a precision has no end it stops at a bound, which depends on where the search begins: less exact."""
        expected = in_memory(cw.BayesianLogistic(precision="relevance"), ROWS, "tree", FEATURES)
        found = cw.BayesianLogistic(precision="relevance").fit_source(batches(ROWS), target="tree", columns=FEATURES)
        np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-4)
        assert found.log_marginal_likelihood_ == pytest.approx(expected.log_marginal_likelihood_, rel=1e-5)

    @pytest.mark.parametrize("size", [97, 1000, 2400])
    def test_chunks_do_not_matter(self, size, plain, many):
        found = cw.BayesianLogistic().fit_source(batches(ROWS, size), target="tree", columns=FEATURES, weights="weight")
        assert_same(found, plain, ROWS[FEATURES])

    def test_a_column_that_is_always_the_same(self, many):
        rows, columns = ROWS.assign(never=False, four=4.0), ["length", "never", "four"]
        with pytest.warns(cw.IgnoredColumnWarning, match="'four' .always 4."):
            expected = in_memory(cw.BayesianLogistic(precision=1.0), rows, "tree", columns)
        with pytest.warns(cw.IgnoredColumnWarning, match="'four' .always 4."):
            found = cw.BayesianLogistic(precision=1.0).fit_source(batches(rows), target="tree", columns=columns)
        assert_same(found, expected, rows[columns])

    def test_a_weight_of_two_is_the_row_twice(self, many):
        rows = ROWS[ROWS["tree"].notna()].assign(weight=np.arange(len(ROWS[ROWS["tree"].notna()])) % 3)
        twice = rows.loc[rows.index.repeat(rows["weight"])]
        model = cw.BayesianLogistic(precision=1.0)
        expected = cw.BayesianLogistic(precision=1.0).fit_source(batches(twice), target="tree", columns=FEATURES)
        found = model.fit_source(batches(rows), target="tree", columns=FEATURES, weights="weight")
        assert_same(found, expected, rows[FEATURES])

    def test_numbers_alone(self, monkeypatch):
        """First derivatives are then of rows as they come, and all rows are transformed once."""
        rng = np.random.default_rng(0)
        rows = pd.DataFrame(rng.normal(size=(40_000, 5)), columns=list("abcde"))
        scores = rows.to_numpy() @ rng.normal(size=(5, 3)) + rng.gumbel(size=(40_000, 3))
        rows["y"] = np.array(["u", "v", "w"])[scores.argmax(axis=1)]
        expected = in_memory(cw.BayesianLogistic(), rows, "y", list("abcde"))
        monkeypatch.setattr("classwise.limits.MOST_HELD", 40_000)
        found = cw.BayesianLogistic().fit_source(batches(rows, 3000), target="y")
        assert_same(found, expected, rows[list("abcde")])
        assert found.passes_ <= 2 < expected.passes_


class TestBatches:
    """Batches of one table that do not look alike."""

    def test_types_that_change(self, many):
        """Whole numbers, then fractions; text, then categories; a batch without a single level; another library."""
        rng = np.random.default_rng(1)
        rows = pd.DataFrame({"a": np.round(4 * rng.normal(size=3000)), "b": rng.choice(["u", "v", "w"], 3000)})
        rows["y"] = np.where(rng.random(3000) < 1 / (1 + np.exp(-rows["a"] / 4)), 2, 5)
        rows.loc[1000:, "a"] += rng.normal(size=2000)
        rows["b"] = rows["b"].astype(object)
        rows.loc[2000:2499, "b"] = None
        expected = in_memory(cw.BayesianLogistic(precision=1.0), rows, "y", ["a", "b"])
        parts = [
            rows[:1000].astype({"a": np.int32, "b": "category"}),
            rows[1000:2000].astype({"y": float, "a": np.float64}),
            rows[2000:2500],
            pa.Table.from_pandas(rows[2500:2800], preserve_index=False).set_column(
                1, "b", pa.array(rows["b"][2500:2800]).dictionary_encode()
            ),
            pl.from_pandas(rows[2800:]),
        ]
        found = cw.BayesianLogistic(precision=1.0).fit_source(lambda: iter(parts), target="y")
        assert_same(found, expected, rows[["a", "b"]])

    def test_a_column_of_numbers_with_a_word_in_a_late_row(self, tmp_path, many):
        """The file is begun again in the first pass, and is known to hold text in all others."""
        rows = pd.DataFrame({"a": np.arange(30_000) % 7, "b": np.arange(30_000) % 3, "y": np.arange(30_000) // 7 % 2})
        rows["b"] = rows["b"].astype(str)
        rows.loc[29_990, "b"] = "many"
        rows.to_csv(tmp_path / "rows.csv", index=False)
        expected = in_memory(cw.BayesianLogistic(precision=1.0), rows, "y", ["a", "b"])
        found = cw.BayesianLogistic(precision=1.0).fit_source(tmp_path / "rows.csv", target="y")
        assert found.coef_names_[-2] == "b=many"
        assert_same(found, expected, rows[["a", "b"]])

    def test_a_batch_that_does_not_count(self, plain, many):
        """Neither rows, nor labels, nor weights."""
        unlabeled, weightless = ROWS.assign(tree=None), ROWS.assign(weight=0.0)
        parts = [ROWS[:0], unlabeled, ROWS[:900], weightless, ROWS[900:]]
        found = cw.BayesianLogistic().fit_source(lambda: iter(parts), target="tree", columns=FEATURES, weights="weight")
        assert_same(found, plain, ROWS[FEATURES])

    def test_text_where_there_were_numbers(self):
        parts = [ROWS[:700], ROWS[700:].assign(count="many")]
        with pytest.raises(cw.ClasswiseError, match="'count' is a number"):
            cw.BayesianLogistic().fit_source(lambda: iter(parts), target="tree", columns=FEATURES)


class TestRefusals:
    @pytest.mark.parametrize(
        "source", [iter([ROWS]), (ROWS for _ in range(2)), pa.Table.from_pandas(ROWS).to_reader(500)]
    )
    def test_what_can_be_read_once(self, source):
        with pytest.raises(cw.ClasswiseError, match="can be read once: write them to a file, or give a function"):
            cw.BayesianLogistic().fit_source(source, target="tree", columns=FEATURES)

    def test_a_function_that_makes_nothing_anew(self):
        rows = iter([ROWS[:1000], ROWS[1000:]])
        with pytest.raises(cw.ClasswiseError, match="can be read once"):
            cw.BayesianLogistic().fit_source(lambda: rows, target="tree", columns=FEATURES)

    @pytest.mark.parametrize("most", [20_000_000, 2400])
    def test_rows_that_change_between_passes(self, most, monkeypatch):
        monkeypatch.setattr("classwise.limits.MOST_HELD", most)
        calls = []

        def fewer_and_fewer():
            calls.append(None)
            return iter([ROWS[: 2400 - len(calls)]])

        with pytest.raises(cw.ClasswiseError, match="not those of the first pass: they weigh 23"):
            cw.BayesianLogistic().fit_source(fewer_and_fewer, target="id", columns=["length"])

    def test_a_label_that_comes_later(self, many):
        kinds = [ROWS, ROWS.assign(tree=ROWS["tree"].replace("yew", "fir"))]
        with pytest.raises(cw.ClasswiseError, match="label 'fir' was not there in the first pass"):
            cw.BayesianLogistic().fit_source(lambda: iter([kinds.pop(0)]), target="tree", columns=FEATURES)

    def test_draws_need_rows_in_memory(self):
        with pytest.raises(cw.ClasswiseError, match="or give the rows to fit"):
            cw.BayesianLogistic(posterior="sampled").fit_source("nowhere.csv", target="y")

    @pytest.mark.parametrize("families", ["best", {"count": "poisson"}])
    def test_densities_are_refused_before_a_row_is_read(self, families):
        for learn in (
            lambda model: model.fit_source("nowhere.csv", target="y"),
            lambda model: model.fit(ROWS[["count"]], ROWS["smooth"]),
        ):
            with pytest.raises(cw.ClasswiseError, match="this model has none"):
                learn(cw.BayesianLogistic(families=families))

    def test_no_rows_one_class_no_column(self):
        model = cw.BayesianLogistic()
        with pytest.raises(cw.ClasswiseError, match="no rows to learn from"):
            model.fit_source(ROWS[:0], target="tree", columns=FEATURES)
        with pytest.raises(cw.ClasswiseError, match="no column 'size'"):
            model.fit_source(batches(ROWS), target="size")
        with pytest.raises(cw.ClasswiseError, match="y has one class"):
            model.fit_source(ROWS[ROWS["tree"] == "oak"], target="tree", columns=FEATURES)

    def test_an_interruption_leaves_nothing_behind(self, many):
        calls = []

        def interrupted():
            calls.append(None)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return iter([ROWS])

        model = cw.BayesianLogistic()
        with pytest.raises(KeyboardInterrupt):
            model.fit_source(interrupted, target="tree", columns=FEATURES)
        assert not hasattr(model, "model_")
        assert not hasattr(model, "n_features_in_")


class TestPasses:
    def test_what_each_is(self, many, monkeypatch):
        passes, gather = [], StreamEngine.gather

        def recording(self, summarize, rows, size):
            passes.append(self.what)
            return gather(self, summarize, rows, size)

        monkeypatch.setattr(StreamEngine, "gather", recording)
        cw.BayesianLogistic().fit_source(batches(ROWS), target="tree", columns=FEATURES)
        assert passes[:3] == ["Learning, pass 1", "Drawing rows, pass 2", "Learning, pass 3"]
        assert len(passes) > 5
        assert passes[3:] == [f"Learning, pass {i + 1}" for i in range(3, len(passes))]

    def test_few_rows_are_read_twice(self, monkeypatch):
        calls, source = [], batches(ROWS)
        cw.BayesianLogistic().fit_source(lambda: calls.append(None) or source(), target="tree", columns=FEATURES)
        assert len(calls) == 2

    def test_rows_are_made_once_for_each(self, many):
        calls = []
        source = batches(ROWS)
        rows = open_rows(lambda: calls.append(None) or source(), target="tree", columns=FEATURES)
        summarize_rows(rows, DiagonalScatter)
        assert rows.gather(len) == len(ROWS)
        assert len(calls) == rows.passes == 2

    def test_warnings_come_once(self, many):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cw.BayesianLogistic().fit_source(batches(ROWS), target="tree", columns=FEATURES)
        kinds = [warning.category for warning in caught]
        assert kinds.count(cw.MissingLabelWarning) == kinds.count(cw.ImputedValueWarning) == len(kinds) / 2 == 1

    def test_what_is_sent_to_workers_is_small(self):
        reader = reader_of(ROWS, "tree", FEATURES)
        statistics = summarize_rows(open_rows(ROWS, target="tree", columns=FEATURES), DiagonalScatter)
        model = Regression(make_design(statistics, (), True, True, True), Logit())
        sent = []
        rows = TrainingRows(model, lambda work: sent.append(ChunkCurvature(reader, model, work)), None, 0.0)
        rows.curvature(np.zeros((1, 8)))
        assert len(pickle.dumps(sent[0])) < 4000
        assert pickle.loads(pickle.dumps(sent[0])).summarize.args[0].__func__ is Regression.curvature

    @pytest.mark.slow
    def test_memory_is_flat(self, monkeypatch):
        """As much for four times as many rows."""
        import tracemalloc

        monkeypatch.setattr("classwise.limits.MOST_HELD", 50_000)
        peaks = []
        for count in (40, 160):

            def make(count=count):
                for i in range(count):
                    rng = np.random.default_rng(i)
                    a, b = rng.normal(size=(2, 5000))
                    yield pd.DataFrame({"a": a, "b": b, "y": a + rng.logistic(size=5000) > 0})

            tracemalloc.start()
            cw.BayesianLogistic(precision=1.0).fit_source(make, target="y")
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[1] < 1.3 * peaks[0]


def reader_of(rows, target, columns):
    statistics = cw.summarize(rows, target=target, columns=columns, scatter="diagonal")
    levels = {j: c.levels for j, c in zip(statistics.schema.levels, statistics.levels.columns, strict=True)}
    return ChunkReader(Roles(target, tuple(columns)), statistics.schema, levels, statistics.labels)


class TestDrawing:
    ROWS = pd.DataFrame({"a": np.arange(100_000.0), "y": np.where(np.arange(100_000) % 500 == 7, "rare", "common")})

    def test_rare_classes_are_drawn_more_often_and_weigh_less(self):
        statistics = cw.summarize(self.ROWS, target="y", scatter="diagonal")
        chances = Chances.of_kinds(statistics, {0, 1}, 5000)
        assert chances.every == 0.05
        np.testing.assert_allclose(chances.classes, [100 / 99_800, 0.5])
        reader = reader_of(self.ROWS, "y", ["a"])
        table = ChunkSample(reader, chances)(Chunk(self.ROWS)).table(reader)
        counts = np.bincount(table.labels)
        assert abs(counts[0] - 4990) < 300
        assert 70 < counts[1] < 130
        np.testing.assert_allclose(table.weights, np.where(table.labels == 1, 0.1, 1.0))
        np.testing.assert_array_equal(self.ROWS["y"][table.rows[:, 0]] == "rare", table.labels == 1)

    def test_rare_levels_are_drawn_too(self):
        """All rows of "w", of which there are a few, and no more of those that have no level."""
        level = np.array(["u", "v", None], dtype=object)[np.arange(100_000) % 3]
        level[5000:100_000:20_000] = "w"
        rows = self.ROWS.assign(level=level)
        statistics = cw.summarize(rows, target="y", scatter="diagonal")
        reader = reader_of(rows, "y", ["a", "level"])
        table = ChunkSample(reader, Chances.of_kinds(statistics, {0, 1}, 5000))(Chunk(rows)).table(reader)
        assert np.count_nonzero(table.rows[:, 1] == 2) == 5
        assert abs(np.count_nonzero(table.rows[:, 1] < 0) - 5000 / 3) < 200
        assert table.weights.sum() == pytest.approx(5000, rel=0.05)

    @pytest.mark.parametrize("rare", [3000, 100_000])
    def test_no_more_than_twice_as_many_for_rare_levels(self, rare):
        rows = self.ROWS.assign(level=[str(i) if i < rare else "common" for i in range(100_000)])
        statistics = cw.summarize(rows, target="y", scatter="diagonal")
        reader = reader_of(rows, "y", ["a", "level"])
        table = ChunkSample(reader, Chances.of_kinds(statistics, {1}, 5000))(Chunk(rows)).table(reader)
        assert 5000 - 300 < len(table) < 10_000
        assert table.weights.sum() == pytest.approx(5000, rel=0.1)

    def test_an_id_is_left_out(self, many):
        """It has no weights, so its levels count for nothing, neither here nor in what is sent to workers."""
        rows = ROWS.assign(key=[f"key {i}" for i in range(len(ROWS))])
        columns = [*FEATURES, "key"]
        with pytest.warns(cw.IgnoredColumnWarning):
            expected = in_memory(cw.BayesianLogistic(precision=1.0), rows, "tree", columns)
        with pytest.warns(cw.IgnoredColumnWarning):
            found = cw.BayesianLogistic(precision=1.0).fit_source(batches(rows), target="tree", columns=columns)
        assert_same(found, expected, rows[columns])
        assert not any(name.startswith("key") for name in found.coef_names_)

    def test_the_same_rows_are_drawn_in_whatever_chunks_they_come(self):
        reader = reader_of(self.ROWS, "y", ["a"])
        draw = ChunkSample(reader, Chances(0.1))
        first, other = (draw(Chunk(self.ROWS[s : s + 5000], s)).table(reader) for s in (0, 5000))
        again = [draw(Chunk(self.ROWS[s : s + 100], s)) for s in range(0, 5000, 100)]
        np.testing.assert_array_equal(first.rows, sum(again[1:], again[0]).table(reader).rows)
        assert not set((other.rows - 5000).ravel()) <= set(first.rows.ravel())
        assert first.weights is None

    @pytest.mark.parametrize("weighted", [False, True])
    def test_a_level_that_hardly_any_row_has(self, weighted, monkeypatch):
        """Where rows have weights none of it may be drawn: steps that their metric takes for short are not believed."""
        monkeypatch.setattr("classwise.limits.MOST_HELD", 2000)
        rng = np.random.default_rng(0)
        rows = pd.DataFrame({"a": rng.normal(size=8000), "c": rng.choice(list("uvw"), 8000), "weight": 1.0})
        rows["y"] = np.where(rows["a"] + rng.logistic(size=8000) > 0, "yes", "no")
        rows.loc[[77, 4000, 7999], "c"] = "x"
        rows.loc[[77, 4000, 7999], "y"] = "yes"
        given = "weight" if weighted else None
        expected = in_memory(cw.BayesianLogistic(precision=0.01), rows, "y", ["a", "c"])
        found = cw.BayesianLogistic(precision=0.01).fit_source(
            batches(rows), target="y", columns=["a", "c"], weights=given
        )
        assert_same(found, expected, rows[["a", "c"]], 1e-8, of_covariance=1e-7)  # three rows tell little of it

    def test_steps_that_lead_uphill_are_not_believed(self):
        """Twenty rows against one, in a metric that hardly knows them: the next step would be shorter, far up."""
        model = Regression(
            Design(np.zeros(1, int), np.array([-1]), np.zeros(1), np.zeros(1), np.ones(1), False), Logit()
        )
        rows, codes = np.ones((21, 1)), np.append(np.ones(20, int), 0)
        start = model.curvature(np.zeros((1, 1)), rows, codes, None)
        flat = Expansion(model.likelihood, np.zeros((1, 1)), replace(start, products=1e-6 * start.products))
        groups = PrecisionGroups(np.zeros(1, int), np.array([1e-6]))
        near = refine(lambda weights: model.slope(weights, rows, codes, None), flat, groups, None)
        assert model.slope(near.weights, rows, codes, None).loss <= start.loss
