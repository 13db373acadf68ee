"""AODE on tables: against plain loops, in batches, from streams, in files, inside scikit-learn."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from typer.testing import CliRunner

import classwise as cw
from classwise.cli.program import app
from classwise.rows.sources import read_table
from classwise.statistics.binning import learn_places
from surgery import closed, found, of_class, opened, replaced

COLORS, SIZES = ["blue", "green", "red"], [1.0, 2.0, 4.0]


def a_table(seed=0, size=80, gaps=0.0):
    """Columns that depend on each other within a class: a category, a yes/no, a number of few values."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], size, p=[0.4, 0.6])
    first, flag = rng.integers(0, 3, size), rng.random(size) < 0.4
    number = np.where((y == "yes") & flag, first, rng.integers(0, 3, size))
    X = pd.DataFrame({"color": np.array(COLORS, dtype=object)[first], "flag": flag, "size": np.array(SIZES)[number]})
    if gaps:
        X = X.astype({"flag": object}).mask(rng.random(X.shape) < gaps).astype({"flag": "boolean"})
    return X, y


def plain_posteriors(X, y, asked, *, smoothing=2.0, backoff=8.0, weights=None, missing="integrate"):
    """P(k | x) as the formulas say, with loops over values as they stand in the table; missing ones are summed out."""
    labels, columns = sorted(set(y)), list(X.columns)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights)
    rows = [[_value(v) for v in row] for row in X.to_numpy(dtype=object)]
    counted = missing == "level"
    levels = [sorted({r[j] for r in rows if r[j] is not None}) for j in range(len(columns))]
    levels = [own + [None] * (counted and any(r[j] is None for r in rows)) for j, own in enumerate(levels)]

    def weigh(k, wanted):
        return sum(
            w
            for r, label, w in zip(rows, y, weights, strict=True)
            if k in (None, label) and all(r[j] in values for j, values in wanted.items())
        )

    def single(j, b, k):
        rate = (weigh(None, {j: [b]}) + 1) / (weigh(None, {j: levels[j]}) + len(levels[j]))
        return (weigh(k, {j: [b]}) + smoothing * rate) / (weigh(k, {j: levels[j]}) + smoothing)

    def given_parent(j, b, i, a, k):
        together, known = weigh(k, {i: [a], j: [b]}), weigh(k, {i: [a], j: levels[j]})
        return (together + backoff * single(j, b, k)) / (known + backoff)

    def whole(x, k):
        terms = []
        for i in range(len(x)):
            others = [given_parent(j, x[j], i, x[i], k) for j in range(len(x)) if j != i]
            terms.append(single(i, x[i], k) * np.prod(others))
        return np.mean(terms)

    def summed(x, k):
        for j, value in enumerate(x):
            if value not in levels[j]:
                return sum(summed([*x[:j], b, *x[j + 1 :]], k) for b in levels[j])
        return whole(x, k)

    joint = np.array([[weigh(k, {}) * summed([_value(v) for v in x], k) for k in labels] for x in asked])
    return joint / joint.sum(axis=1, keepdims=True)


def _value(value):
    return None if pd.isna(value) else value


class TestAgainstThePlainOne:
    @pytest.mark.parametrize("missing", ["integrate", "level"])
    @pytest.mark.parametrize("gaps", [0.0, 0.25])
    def test_posteriors(self, gaps, missing):
        X, y = a_table(gaps=gaps, size=40)
        weights = np.random.default_rng(1).choice([1.0, 2.0, 0.5], 40)
        m = cw.AODE(missing=missing, smoothing=1.5, backoff=3.0).fit(X, y, sample_weight=weights)
        options = {"smoothing": 1.5, "backoff": 3.0, "weights": weights, "missing": missing}
        expected = plain_posteriors(X, y, X[:12].to_numpy(dtype=object).tolist(), **options)
        np.testing.assert_allclose(m.predict_proba(X[:12]), expected, rtol=1e-10)

    def test_levels_never_seen_are_integrated_out(self):
        X, y = a_table()
        m = cw.AODE().fit(X, y)
        asked = pd.DataFrame({"color": ["violet", None], "flag": [True, True], "size": [2.0, 2.0]})
        expected = plain_posteriors(X, y, [["violet", True, 2.0]])
        np.testing.assert_allclose(m.predict_proba(asked), np.repeat(expected, 2, axis=0), rtol=1e-10)

    def test_a_missing_number_is_integrated_out(self):
        X, y = a_table()
        m = cw.AODE().fit(X, y)
        whole = pd.DataFrame({"color": ["red"] * 3, "flag": [True] * 3, "size": SIZES})
        gone = whole[:1].assign(size=np.nan)
        np.testing.assert_allclose(
            m.log_density(gone), np.log(np.exp(m.log_density(whole)).sum(axis=0, keepdims=True)), rtol=1e-12
        )
        np.testing.assert_allclose(m.log_evidence(gone), np.log(np.exp(m.log_evidence(whole)).sum()), rtol=1e-12)

    def test_densities_integrate_to_one(self):
        X, y = load_iris(return_X_y=True)
        m = cw.AODE(bins=5).fit(X[:, [0]], y)
        low, high = X[:, 0].min(), X[:, 0].max()
        grid = np.linspace(low, high, 20_001)
        middle = (grid[1:] + grid[:-1]) / 2
        total = np.exp(m.log_density(middle[:, None])).sum(axis=0) * (grid[1] - grid[0])
        np.testing.assert_allclose(total, 1.0, rtol=1e-3)

    def test_parts_of_the_joint(self):
        X, y = a_table(gaps=0.1)
        m = cw.AODE(priors="uniform").fit(X, y)
        np.testing.assert_allclose(m.log_joint(X), m.log_density(X) + np.log(0.5), rtol=1e-12)
        own = m.log_density(X)[np.arange(len(y)), (y == "yes").astype(int)]
        assert m.nll(X, y).features == pytest.approx(-own.sum())
        assert m.nll(X, y).labels == pytest.approx(len(y) * np.log(2))
        np.testing.assert_allclose(m.predict_log_proba(X), np.log(m.predict_proba(X)), rtol=1e-9, atol=1e-12)
        assert (m.predict(X) == m.classes_[m.predict_proba(X).argmax(axis=1)]).all()


class TestColumns:
    def test_what_columns_were_taken_for(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(
            {
                "length": rng.normal(size=300),
                "visits": rng.integers(0, 4, 300),
                "color": rng.choice(COLORS, 300),
                "one": 1.0,
                "gone": [None] * 300,
            }
        )
        y = rng.integers(0, 2, 300)
        with pytest.warns(cw.IgnoredColumnWarning, match=r"'gone' \(no values\)"):
            m = cw.AODE().fit(X, y)
        assert m.families_ == {
            "length": "ranges",
            "visits": "ranges",
            "color": "categorical",
            "one": "ranges",
            "gone": "ranges",
        }
        notes = ["7 ranges", "4 values", "", "one level: says nothing", "left out: no values"]
        assert [column.note for column in m.schema_] == notes
        assert m.schema_["color"].levels == 3
        assert m.schema_["gone"].missing == 1.0
        assert list(m.parameters_["visits"]) == [0.0, 1.0, 2.0, 3.0]
        np.testing.assert_allclose(sum(m.parameters_["length"].values()), 1.0)

    def test_a_number_may_be_a_category(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"grade": rng.integers(0, 30, 500), "x": rng.normal(size=500)})
        y = X["grade"] % 2
        m = cw.AODE(families={"grade": "categorical"}).fit(X, y)
        assert m.schema_["grade"].levels == 30
        assert m.score(X, y) > 0.99 > cw.AODE().fit(X, y).score(X, y)

    def test_ids_are_left_out(self):
        X, y = a_table()
        X["id"] = [f"row {i}" for i in range(len(X))]
        with pytest.warns(cw.IgnoredColumnWarning, match=r"'id' \(80 levels in 80 rows, an id or free text\)"):
            m = cw.AODE().fit(X, y)
        np.testing.assert_allclose(
            m.predict_proba(X), cw.AODE().fit(X[["color", "flag", "size"]], y).predict_proba(X.iloc[:, :3])
        )

    def test_what_looks_like_an_id_in_a_first_batch_need_not_be_one(self):
        town = np.arange(2000) % 25
        X, y = pd.DataFrame({"town": town.astype(str), "x": town % 2 == 0}), town < 12
        m = cw.AODE().partial_fit(X[:30], y[:30])
        with pytest.warns(cw.IgnoredColumnWarning, match="25 levels in 30 rows"):
            m.predict(X[:1])
        m.partial_fit(X[30:], y[30:])
        assert m.schema_["town"].note == ""
        np.testing.assert_allclose(m.predict_proba(X[:25]), cw.AODE().fit(X, y).predict_proba(X[:25]), rtol=1e-12)

    def test_of_many_levels_the_rare_are_one(self):
        rng = np.random.default_rng(0)
        town = np.r_[rng.integers(0, 99, 3000), np.repeat(np.arange(99, 140), 2)].astype(str)
        X, y = pd.DataFrame({"town": town, "x": rng.normal(size=len(town))}), rng.integers(0, 2, len(town))
        m = cw.AODE().fit(X, y)
        assert m.schema_["town"].note == "41 rare levels pooled"
        assert len(m.parameters_["town"]) == 100
        asked = pd.DataFrame({"town": ["99", "139", "never seen"], "x": [0.0] * 3})
        assert np.ptp(m.predict_proba(asked)[:, 0]) == 0
        drawn, _ = m.sample(2000, random_state=0)
        assert set(drawn["town"]) <= set(town)
        assert any(int(name) >= 99 for name in drawn["town"])

    def test_ranges_have_equal_shares(self):
        X = np.random.default_rng(0).normal(size=(700, 1))
        (place,) = learn_places(read_table(X), 7)
        np.testing.assert_array_equal(np.bincount(place.codes(X[:, 0])), 100)

    def test_weights_move_the_ranges(self):
        rng = np.random.default_rng(0)
        X, y, weights = rng.normal(size=(200, 2)), rng.integers(0, 2, 200), rng.integers(0, 4, 200)
        weighted = cw.AODE().fit(X, y, sample_weight=weights)
        repeated = cw.AODE().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-12)

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
    def test_samples_are_tables_of_the_same_kind(self, make):
        X, y = a_table()
        m = cw.AODE().fit(make({name: X[name].tolist() for name in X}), y)
        drawn, labels = m.sample(4000, random_state=0)
        assert isinstance(drawn, make)
        assert set(np.asarray(drawn["size"])) == set(SIZES)
        share = np.mean(labels == "yes")
        assert share == pytest.approx(m.priors_[1], abs=0.03)
        blue = np.mean(np.asarray(drawn["color"])[labels == "yes"] == "blue")
        assert blue == pytest.approx(m.parameters_["color"]["blue"][1], abs=0.03)

    def test_missing_values_are_drawn_where_they_are_a_level(self):
        X, y = a_table(gaps=0.3, size=300)
        drawn, _ = cw.AODE(missing="level").fit(X, y).sample(2000, random_state=0)
        assert drawn["color"].isna().mean() == pytest.approx(X["color"].isna().mean(), abs=0.05)
        drawn, _ = cw.AODE().fit(X, y).sample(2000, random_state=0)
        assert not drawn["color"].isna().any()


class TestAnswers:
    def test_shares_add_up(self):
        X, y = a_table(gaps=0.1)
        m = cw.AODE().fit(X, y)
        for row in range(8):
            why = m.explain(X.iloc[[row]], "yes", "no")
            odds = m.predict_log_proba(X.iloc[[row]])[0]
            assert why.log_odds == pytest.approx(odds[1] - odds[0], abs=1e-9)
            assert why.prior + sum(why.shares.values()) == pytest.approx(why.log_odds, abs=1e-9)
            assert why.volume == 0
            assert all(why.shares[name] == 0 for name in X if pd.isna(X[name].iloc[row]))

    def test_other_priors(self):
        X, y = a_table()
        m = cw.AODE().fit(X, y)
        other = m.with_priors({"no": 0.9, "yes": 0.1})
        np.testing.assert_allclose(other.priors_, [0.9, 0.1])
        fitted = cw.AODE(priors={"no": 0.9, "yes": 0.1}).fit(X, y)
        np.testing.assert_allclose(other.predict_proba(X), fitted.predict_proba(X), rtol=1e-12)

    @pytest.mark.parametrize("gaps", [0.0, 0.2])
    def test_leave_one_out_is_fitting_without_the_row(self, gaps):
        X, y = a_table(size=25, gaps=gaps)
        m = cw.AODE().fit(X, y)
        left_out = m.leave_one_out(X, y, recount=True)
        for row in range(0, 25, 6):
            rest = np.arange(25) != row
            alone = cw.summarize(X[~rest], y[~rest], pairs=m.statistics_, scatter="diagonal")
            refitted = cw.AODE().fit_statistics(m.statistics_ - alone)
            np.testing.assert_allclose(left_out[row], refitted.predict_log_proba(X[~rest])[0], rtol=1e-9)
            direct = cw.AODE().fit(X[rest], y[rest]).predict_log_proba(X[~rest])[0]
            np.testing.assert_allclose(left_out[row], direct, rtol=1e-9)

    def test_leave_one_out_learns_ranges_without_the_row(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(
            {"a": rng.normal(size=40), "b": rng.exponential(size=40), "c": rng.choice(["red", "green"], 40)}
        )
        y, weights = np.where(rng.random(40) < 0.5, "yes", "no"), rng.choice([1.0, 2.0], 40)
        m = cw.AODE(bins=4).fit(X, y, weights)
        left_out, evidence = m.leave_one_out(X, y, weights, recount=True), m.leave_one_out_evidence(X, y, weights)
        for row in [0, 20, int(X["a"].argmax())]:
            rest, alone = np.arange(40) != row, X.iloc[[row]]
            n = cw.AODE(bins=4).fit(X[rest], y[rest], weights[rest])
            np.testing.assert_allclose(left_out[row], n.predict_log_proba(alone)[0], rtol=1e-9)
            np.testing.assert_allclose(evidence[row], n.with_priors(m.priors_).log_evidence(alone)[0], rtol=1e-9)

    def test_leave_one_out_pools_rare_levels_without_the_row(self):
        names = np.array([f"n{i:03}" for i in range(101)] * 2 + ["n100"])
        X, y = pd.DataFrame({"name": names, "other": np.arange(203) % 3 > 0}), np.arange(203) % 2
        left_out = cw.AODE().fit(X, y).leave_one_out(X, y, recount=True)
        for row in [0, 202]:
            rest = np.arange(203) != row
            direct = cw.AODE().fit(X[rest], y[rest]).predict_log_proba(X[~rest])[0]
            np.testing.assert_allclose(left_out[row], direct, rtol=1e-9)

    def test_levels_of_rows_of_weight_zero_are_none(self):
        names = np.array([f"n{i:03}" for i in range(98)] * 2 + [f"o{i}" for i in range(9)])
        X, y = pd.DataFrame({"name": names, "other": np.arange(205) % 3 > 0}), np.arange(205) // 2 % 2
        ours, theirs = cw.AODE().fit(X, y, np.arange(205) < 196), cw.AODE().fit(X[:196], y[:196])
        np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))

    def test_leave_one_out_refuses_ranges_of_other_rows(self):
        X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
        m = cw.AODE().partial_fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
        for model in (m, cw.AODE().fit_statistics(cw.summarize(X, y, pairs=5))):
            for ask in (model.leave_one_out, model.leave_one_out_evidence):
                with pytest.raises(cw.ClasswiseError, match="ranges of this AODE were not learned from these rows"):
                    ask(X, y)
        whole = cw.AODE().fit_statistics(cw.summarize(X, y, pairs=7))
        np.testing.assert_array_equal(whole.leave_one_out(X, y), cw.AODE().fit(X, y).leave_one_out(X, y))

    def test_decisions(self):
        X, y = a_table()
        m = cw.AODE().fit(X, y)
        careful = cw.Decision(m, costs={"yes": {"no": 50}})
        assert (careful.predict(X) == "yes").mean() > (m.predict(X) == "yes").mean()
        fitted = cw.Decision(cw.AODE(), reject=0.4).fit(X, y)
        assert set(fitted.predict(X)) <= {"yes", "no", "reject"}

    def test_comparisons(self):
        X, y = a_table(size=120)
        comparison = cw.compare(X, y, folds=3, references=False, models={"aode": cw.AODE()})
        assert np.isfinite(comparison["aode"].estimate("log_loss").value)

    def test_other_languages(self):
        X, y = a_table()
        m = cw.AODE().fit(X, y)
        assert "cw_part AS" in cw.to_sql(m, table="rows", dialect="sqlite")
        assert "cw_pairs" in cw.to_sql(m, table="rows", dialect="duckdb")
        assert cw.to_onnx(m).graph.node


class TestStatistics:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10_000), st.integers(1, 59), st.booleans())
    def test_parts_add_up(self, seed, cut, gaps):
        X, y = a_table(seed, 60, 0.2 if gaps else 0.0)
        whole = cw.summarize(X, y, pairs=5)
        first, second = (cw.summarize(X[part], y[part], pairs=whole) for part in (slice(cut), slice(cut, None)))
        for together in (first + second, second + first):
            self.assert_same(together, whole)
        rest = whole - first
        self.assert_same(rest + first, whole)
        if len(set(y[cut:])) == 2:
            np.testing.assert_allclose(
                cw.AODE().fit_statistics(rest).predict_proba(X), cw.AODE().fit_statistics(second).predict_proba(X)
            )

    def assert_same(self, ours, theirs):
        np.testing.assert_allclose(ours.weight, theirs.weight)
        np.testing.assert_allclose(ours.pairs.weight, theirs.pairs.weight, atol=1e-12)
        assert [len(place) for place in ours.pairs.columns] == [len(place) for place in theirs.pairs.columns]

    @settings(max_examples=15, deadline=None)
    @given(st.integers(0, 10_000), st.integers(20, 59))
    def test_batches_add_up(self, seed, cut):
        X, y = a_table(seed, 60, 0.1)
        batches = cw.AODE().fit_statistics(cw.summarize(X, y, pairs=7))
        batches.statistics_ = cw.summarize(X[:cut], y[:cut], pairs=batches.statistics_)
        batches.partial_fit(X[cut:], y[cut:])
        np.testing.assert_allclose(batches.predict_proba(X), cw.AODE().fit(X, y).predict_proba(X), rtol=1e-12)

    def test_a_first_batch_fixes_the_ranges(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
        m = cw.AODE().partial_fit(X[:100], y[:100])
        edges = m.statistics_.pairs.columns[0].edges
        m.partial_fit(X[100:], y[100:])
        assert m.statistics_.pairs.columns[0].edges is edges
        assert m.statistics_.weight.sum() == 300
        again = cw.AODE().fit_statistics(cw.summarize(X, y, pairs=m.statistics_))
        np.testing.assert_allclose(again.predict_proba(X), m.predict_proba(X), rtol=1e-12)

    def test_later_batches_bring_classes_levels_and_values(self):
        first = pd.DataFrame({"a": ["x", "y"] * 3, "b": [None] * 6, "c": [None] * 6})
        then = pd.DataFrame({"a": ["z", "y"] * 3, "b": [1.0, 2.0, 2.0, 1.0, 1.0, None], "c": ["u", "v"] * 3})
        m = cw.AODE().partial_fit(first, [0, 1] * 3)
        with pytest.warns(cw.IgnoredColumnWarning, match="'b'.*'c'"):
            m.predict(first)
        m.partial_fit(then, [0, 2] * 3)
        assert m.classes_.tolist() == [0, 1, 2]
        assert [column.levels for column in m.schema_] == [3, None, 2]
        both = cw.AODE().fit(pd.concat([first, then]), [0, 1] * 3 + [0, 2] * 3)
        np.testing.assert_allclose(m.predict_proba(then), both.predict_proba(then), rtol=1e-12)

    def test_other_ranges_are_refused(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
        first, second = cw.summarize(X[:150], y[:150], pairs=7), cw.summarize(X[150:], y[150:], pairs=7)
        with pytest.raises(cw.StatisticsError, match=r"different ranges of column 0.*pairs=first"):
            first + second
        with pytest.raises(cw.StatisticsError, match="different ranges"):
            first - cw.summarize(X[150:190], y[150:190], pairs=7)

    def test_other_models_learn_from_them_too(self):
        X, y = a_table()
        statistics = cw.AODE().fit(X, y).statistics_
        np.testing.assert_allclose(
            cw.NaiveBayes().fit_statistics(statistics).predict_proba(X), cw.NaiveBayes().fit(X, y).predict_proba(X)
        )
        restricted = statistics.restrict(["size", "color"])
        direct = cw.AODE().fit(X[["size", "color"]], y)
        again = cw.AODE().fit_statistics(restricted)
        np.testing.assert_allclose(
            again.predict_proba(X[["size", "color"]]), direct.predict_proba(X[["size", "color"]]), rtol=1e-12
        )

    def test_statistics_without_pairs_are_refused(self):
        X, y = a_table()
        with pytest.raises(cw.StatisticsError, match=r"no pairs.*summarize\(X, y, pairs=7\)"):
            cw.AODE().fit_statistics(cw.summarize(X, y))

    def test_missing_is_decided_afterwards(self):
        X, y = a_table(gaps=0.2)
        statistics = cw.AODE().fit(X, y).statistics_
        for missing in ("integrate", "level"):
            again = cw.AODE(missing=missing).fit_statistics(statistics)
            np.testing.assert_allclose(
                again.predict_proba(X), cw.AODE(missing=missing).fit(X, y).predict_proba(X), rtol=1e-12
            )


class TestStreams:
    @pytest.fixture
    def folder(self, tmp_path):
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        X = X.iloc[:, :6].assign(kind=np.where(X.iloc[:, 3] > 600, "large", "small"), label=y)
        for i in range(4):
            X[i::4].to_csv(tmp_path / f"{i}.csv", index=False)
        return tmp_path, X

    def test_files_are_read_twice(self, folder):
        path, X = folder
        streamed = cw.summarize(str(path / "*.csv"), target="label", pairs=7)
        rows, y = X.drop(columns="label"), X["label"]
        whole = cw.AODE().fit(rows, y)
        np.testing.assert_allclose(streamed.pairs.weight, whole.statistics_.pairs.weight)
        np.testing.assert_allclose(
            cw.AODE().fit_statistics(streamed).predict_proba(rows), whole.predict_proba(rows), rtol=1e-9
        )

    def test_ranges_that_are_known_take_one_look(self, folder):
        path, X = folder
        first = cw.summarize(str(path / "0.csv"), target="label", pairs=7)
        batches = (X[i::4] for i in range(4))
        streamed = cw.summarize(batches, target="label", pairs=first)
        assert streamed.rows == len(X)
        assert streamed.pairs.columns[0].edges.tolist() == first.pairs.columns[0].edges.tolist()

    def test_what_can_be_read_once_is_refused(self, folder):
        _, X = folder
        with pytest.raises(cw.ClasswiseError, match=r"pairs=7 reads the rows twice, and generator can be read once"):
            cw.summarize((X[i::4] for i in range(4)), target="label", pairs=7)
        made = cw.summarize(lambda: (X[i::4] for i in range(4)), target="label", pairs=7)
        assert made.pairs.weight.shape[0] == 2

    def test_options(self, folder):
        path, X = folder
        with pytest.raises(cw.ClasswiseError, match="pairs=1 is not an option"):
            cw.summarize(X, target="label", pairs=1)
        with pytest.raises(cw.ClasswiseError, match="checkpoint cannot be combined with pairs"):
            cw.summarize(str(path / "*.csv"), target="label", pairs=7, checkpoint=path / "c.cws")

    def test_dask(self, folder):
        dask, frames = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
        _, X = folder
        with dask.config.set(scheduler="synchronous"):
            partitioned = frames.from_pandas(X.sort_index(), npartitions=3)
            gathered = cw.summarize(partitioned, target="label", pairs=7)
        whole = cw.summarize(X, target="label", pairs=7)
        np.testing.assert_allclose(gathered.pairs.weight, whole.pairs.weight)

    def test_weights_and_gaps(self, folder):
        _, X = folder
        X = X.assign(w=np.random.default_rng(0).integers(0, 3, len(X)).astype(float))
        X.iloc[::7, 0], X.iloc[::5, 6] = np.nan, None
        streamed = cw.summarize(lambda: (X[i::3] for i in range(3)), target="label", weights="w", pairs=4)
        whole = cw.summarize(X.drop(columns=["label", "w"]), X["label"], X["w"], pairs=4)
        np.testing.assert_allclose(streamed.pairs.weight, whole.pairs.weight)


class TestFiles:
    @pytest.mark.parametrize("missing", ["integrate", "level"])
    @pytest.mark.parametrize("statistics", [True, False])
    def test_what_is_loaded_answers_the_same(self, tmp_path, missing, statistics):
        X, y = a_table(gaps=0.1)
        X["length"] = np.random.default_rng(0).normal(size=len(X))
        X["town"] = [f"{i % 7}" for i in range(len(X))]
        m = cw.AODE(missing=missing, bins=5).fit(X, y)
        cw.save(m, tmp_path / "m.cw", statistics=statistics)
        again = cw.load(tmp_path / "m.cw")
        np.testing.assert_array_equal(again.predict_proba(X), m.predict_proba(X))
        assert again.get_params() == m.get_params()
        assert {column.name: column.family for column in cw.describe(tmp_path / "m.cw").columns} == m.families_
        assert str(again.schema_) == str(m.schema_)
        assert again.explain(X[:1]).shares == m.explain(X[:1]).shares
        if statistics:
            np.testing.assert_array_equal(
                again.partial_fit(X, y).statistics_.pairs.weight, 2 * m.statistics_.pairs.weight
            )

    def test_statistics(self, tmp_path):
        X, y = a_table(gaps=0.1)
        statistics = cw.summarize(X, y, pairs=7)
        statistics.save(tmp_path / "s.cws")
        again = cw.load(tmp_path / "s.cws")
        np.testing.assert_array_equal((again + statistics).pairs.weight, 2 * statistics.pairs.weight)

    def test_many_levels(self, tmp_path):
        rng = np.random.default_rng(0)
        X, y = (
            pd.DataFrame({"town": rng.integers(0, 130, 900).astype(str), "n": rng.normal(size=900)}),
            rng.integers(0, 2, 900),
        )
        m = cw.AODE().fit(X, y)
        cw.save(m, tmp_path / "m.cw")
        np.testing.assert_array_equal(cw.load(tmp_path / "m.cw").predict_proba(X), m.predict_proba(X))

    def test_pickles_and_clones(self):
        X, y = a_table()
        m = cw.AODE(bins=4, backoff=1.0).fit(X, y)
        again = pickle.loads(pickle.dumps(m))
        np.testing.assert_array_equal(again.predict_proba(X), m.predict_proba(X))
        assert clone(m).get_params() == m.get_params()


class TestDamagedFiles:
    """What a file says of places and counts must fit together."""

    FILE = Path(__file__).parent / "data" / "files" / "aode-2.cw"

    @pytest.mark.parametrize(
        ("name", "field", "change"),
        [
            ("Bins", "edges", lambda edges: edges[::-1]),
            ("Bins", "edges", lambda edges: edges[:1]),
            ("Bins", "edges", lambda edges: edges[:-1]),
            ("Named", "levels", None),
            ("PairCounts", "weight", lambda weight: -weight),
            ("PairCounts", "weight", lambda weight: weight[:, 1:, 1:]),
            ("PairCounts", "weight", lambda weight: weight[:1]),
            ("OneDependence", "logs", lambda logs: -logs),
            ("OneDependence", "logs", lambda logs: logs[1:, 1:]),
            ("OneDependence", "logs", lambda logs: logs[:, :, :1]),
            ("OneDependence", "columns", None),
        ],
    )
    def test_what_does_not_fit_is_refused(self, tmp_path, name, field, change):
        header, content, arrays = opened(self.FILE.read_bytes())
        path = (*of_class(content, name)[0], "fields", field)
        node = found(content, path)
        if change is None:
            content = replaced(content, path, {"tuple": node["tuple"][1:]} if "tuple" in node else None)
        else:
            arrays["changed"] = change(arrays[node["array"]])
            content = replaced(content, path, {**node, "array": "changed"})
        (tmp_path / "m.cw").write_bytes(closed(header, content, arrays))
        with pytest.raises(cw.StoredFileError):
            cw.load(tmp_path / "m.cw")


class TestCommandLine:
    def test_fit_and_explain(self, tmp_path):
        X, y = a_table()
        X.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
        rows, model = str(tmp_path / "rows.csv"), str(tmp_path / "m.cw")
        runner = CliRunner()
        fitted = runner.invoke(
            app, ["fit", rows, "--target", "label", "--model", "aode", "--set", "bins=4", "-o", model]
        )
        assert fitted.exit_code == 0, fitted.output
        assert cw.load(model).get_params()["bins"] == 4
        told = runner.invoke(app, ["explain", model]).output
        assert "size (ranges)\n  1.0: no " in told
        assert "discriminant" not in told
        refused = runner.invoke(app, ["explain", model, "--latex"])
        assert "AODE has no polynomials" in refused.output


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"bins": 1}, "bins=1 is not an option; give a whole number of at least 2"),
            ({"bins": 2.5}, r"bins=2\.5 is not an option"),
            ({"backoff": 0}, "backoff=0 is not an option; give a number above 0"),
            ({"smoothing": -1}, "smoothing=-1 is not an option"),
            ({"missing": "drop"}, "missing='drop' is not an option; choose 'integrate', 'level' or 'error'"),
            ({"ties": "last"}, "ties='last' is not an option"),
            ({"families": "best"}, "families='best' is not for AODE"),
            (
                {"families": {"size": "poisson"}},
                r"families=\{'size': 'poisson'\} is not for AODE, which counts all numbers",
            ),
        ],
    )
    def test_options(self, options, message):
        X, y = a_table()
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.AODE(**options).fit(X, y)

    def test_missing_values_may_be_refused(self):
        X, y = a_table(gaps=0.1)
        with pytest.raises(cw.ClasswiseError, match="NaN"):
            cw.AODE(missing="error").fit(X, y)
        whole, y = a_table()
        m = cw.AODE(missing="error").fit(whole, y)
        with pytest.raises(cw.ClasswiseError, match="NaN"):
            m.predict(X)
        numbers = cw.AODE(missing="error").fit(whole[["size"]], y)
        with pytest.raises(cw.ClasswiseError, match="NaN"):
            numbers.predict(X[["size"]])

    def test_infinity_is_refused(self):
        X, y = a_table()
        m = cw.AODE().fit(X, y)
        with pytest.raises(cw.ClasswiseError, match="infinity"):
            m.predict(X.assign(size=np.inf))
        with pytest.raises(cw.ClasswiseError, match="infinity"):
            cw.AODE().fit(X.assign(size=np.inf), y)

    def test_nothing_to_learn_from(self):
        with pytest.raises(cw.ClasswiseError, match="No column of X varies"):
            cw.AODE().fit(np.ones((6, 2)), [0, 1] * 3)
        with pytest.raises(cw.ClasswiseError, match="at least two classes"):
            cw.AODE().fit(a_table()[0], ["one"] * 80)

    def test_a_table_too_wide(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(40, 2400)), np.repeat([0, 1], 20)
        with pytest.raises(cw.StatisticsError, match=r"2400 columns have 16800 ranges.*GiB.*bins=4"):
            cw.AODE().fit(X, y)


class TestQuality:
    def test_ahead_of_naive_bayes_where_columns_depend_on_each_other(self):
        X, y = load_breast_cancer(return_X_y=True)
        scores = [cross_val_score(m, X, y, cv=5, scoring="neg_log_loss").mean() for m in (cw.AODE(), cw.NaiveBayes())]
        assert scores[0] > scores[1]

    def test_two_columns_that_only_tell_together(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, (600, 2)).astype(bool)
        y = X[:, 0] ^ X[:, 1]
        assert cw.AODE().fit(X, y).score(X, y) == 1
        assert cw.NaiveBayes().fit(X, y).score(X, y) < 0.6


# Beside those of test_sklearn_contract.py.
@parametrize_with_checks([cw.AODE(missing="level", bins=4), cw.AODE(missing="error")])
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.IgnoredColumnWarning)
        check(estimator)
