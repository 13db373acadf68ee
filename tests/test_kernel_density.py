"""Kernel densities: bins that add, bandwidths by leave-one-out, equal to scipy's within the error of a bin."""

import functools
import operator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gaussian_kde, norm

import classwise as cw
from classwise.densities.kernel import Curve, KernelColumn, choose_bandwidth, leave_one_out, silverman
from classwise.rows.schema import Family
from classwise.statistics.bins import DIGITS, MOST_BINS, Histogram, gather_bins

fewer = settings(max_examples=25)

FAMILIES = {"x": "kernel"}


def histogram(values, codes=None, weights=None, count=1):
    values = np.asarray(values, dtype=float)
    return gather_bins(values, np.zeros(len(values), dtype=int) if codes is None else codes, count, weights)


def two_humps(n=600, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return np.where(y == 0, rng.normal(0, 1, n), rng.choice([-2.5, 2.5], n) + 0.5 * rng.normal(size=n)), y


class TestBins:
    def test_few_values_are_exact(self):
        found = histogram([0.1, 0.1, 0.7, 12.0])
        np.testing.assert_allclose(found.centers, [0.1, 0.7, 12.0], rtol=0, atol=12 * 2.0**-DIGITS * 2)
        assert found.weight.tolist() == [[2.0, 1.0, 1.0]]

    def test_no_more_bins_than_allowed_and_no_coarser_than_needed(self):
        found = histogram(np.random.default_rng(0).normal(size=20_000))
        assert MOST_BINS / 2 - 1 <= len(found.bins) <= MOST_BINS
        assert found.weight.sum() == 20_000

    def test_an_outlier_takes_one_bin(self):
        x = np.random.default_rng(0).normal(size=5000)
        assert histogram(np.append(x, 1e6)).width <= 2 * histogram(x).width

    def test_values_are_in_their_bins(self):
        x = np.random.default_rng(0).normal(size=3000)
        found = histogram(x)
        nearest = np.abs(x[:, None] - found.centers).min(axis=1)
        assert nearest.max() <= found.width / 2

    def test_zeros_and_nothing(self):
        zeros, nothing, more = histogram([0.0, 0.0]), histogram([np.nan]), histogram([1e-20, 0.0])
        assert zeros.centers.tolist() == [0.0]
        assert len(nothing.bins) == 0
        for pair in (zeros + more, more + zeros, nothing + zeros + more, more + nothing + zeros):
            np.testing.assert_array_equal(pair.bins, (more + zeros).bins)
            assert pair.exponent == more.exponent

    @fewer
    @given(st.integers(0, 2**31), st.sampled_from(["normal", "wide", "whole", "tiny"]), st.booleans())
    def test_merging_in_any_order_is_counting_all(self, seed, kind, weighted):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 3000))
        x = {
            "normal": rng.normal(rng.normal(0, 100), 1, n),
            "wide": rng.standard_t(1, n) * 10.0 ** rng.integers(-8, 8),
            "whole": rng.integers(-5, 6, n).astype(float),
            "tiny": rng.normal(size=n) * 1e-300,
        }[kind]
        x[rng.random(n) < 0.1] = np.nan
        codes = rng.integers(0, 3, n)
        w = rng.choice([0.5, 1.0, 2.0], n) if weighted else None
        whole = gather_bins(x, codes, 3, w)
        split = np.array_split(rng.permutation(n), int(rng.integers(1, 7)))
        parts = [gather_bins(x[p], codes[p], 3, None if w is None else w[p]) for p in split]
        for merged in (functools.reduce(operator.add, parts), functools.reduce(operator.add, reversed(parts))):
            assert merged.exponent == whole.exponent or not len(whole.bins)
            np.testing.assert_array_equal(merged.bins, whole.bins)
            np.testing.assert_allclose(merged.weight, whole.weight)

    @fewer
    @given(st.integers(0, 2**31))
    def test_subtracting_leaves_the_others_in_the_bins_of_all(self, seed):
        rng = np.random.default_rng(seed)
        x, codes = rng.standard_t(2, 2000), rng.integers(0, 2, 2000)
        some, more = (gather_bins(x[part], codes[part], 2, None) for part in (slice(500), slice(500, None)))
        left = (some + more) - more
        expected = some.coarsened(left.exponent)
        np.testing.assert_array_equal(left.bins, expected.bins)
        np.testing.assert_array_equal(left.weight, expected.weight)

    def test_subtracting_what_was_never_there(self):
        some = histogram([1.0, 2.0])
        for other in (histogram([3.0]), histogram([1.0, 1.0]), histogram(np.linspace(0, 100, 5000))):
            with pytest.raises(cw.ClasswiseError, match="never part"):
                some - other


class TestBesideScipy:
    """With the same bandwidth, within what bins of width δ can change: 0.12 δ / h² anywhere."""

    @pytest.mark.parametrize("n", [5, 300, 20_000])
    def test_one_column(self, n):
        rng = np.random.default_rng(n)
        x = np.concatenate([rng.normal(0, 1, n), rng.normal(4, 0.3, n // 2)])
        found = histogram(x)
        for h in (0.1, 0.4, 1.5):
            own = KernelColumn(found.centers, found.weight / found.weight.sum(), np.array([h]))
            at = np.linspace(-5, 7, 400)
            theirs = gaussian_kde(x, bw_method=h / x.std(ddof=1)).evaluate(at)
            ours = np.exp(own.log_density(at)[0])
            curved = found.width**2 / 24 / h**3 * 0.4  # the second derivative of a density is at most 0.4 / h³
            bound = 0.121 * found.width / h**2
            assert np.abs(ours - theirs).max() <= min(bound, 4 * curved + 0.1 * bound) + 1e-3 * theirs.max()
            if n < MOST_BINS:  # each value has a bin of its own
                np.testing.assert_allclose(own.log_density(at)[0], np.log(theirs), atol=1e-3, rtol=1e-4)

    def test_weights(self):
        rng = np.random.default_rng(0)
        x, w = rng.normal(size=200), rng.integers(1, 4, 200).astype(float)
        found = histogram(x, weights=w)
        own = KernelColumn(found.centers, found.weight / found.weight.sum(), np.array([0.3]))
        theirs = gaussian_kde(np.repeat(x, w.astype(int)), bw_method=0.3 / np.repeat(x, w.astype(int)).std(ddof=1))
        at = np.linspace(-3, 3, 50)
        np.testing.assert_allclose(own.log_density(at)[0], theirs.logpdf(at), atol=1e-3)

    @pytest.mark.parametrize("apart", [3.0, 9.0, 30.0, 1000.0])
    def test_the_table_is_exact_to_a_thousandth(self, apart):
        rng = np.random.default_rng(0)
        centers = np.sort(np.concatenate([rng.normal(size=100), apart + rng.normal(size=3)]))
        curve = Curve.of(centers, np.full(103, 1 / 103), 0.2, None, None)
        at = rng.uniform(-20, apart + 20, 4000)
        ours, (exact, slope) = curve.log_density(at), curve.exact(at)
        assert np.abs(ours - exact).max() < 1e-3
        dense = np.abs(at) < 1.5
        assert np.abs(ours - exact)[dense].max() < 5e-5
        step = 1e-6
        np.testing.assert_allclose(
            slope, (curve.exact(at + step)[0] - curve.exact(at - step)[0]) / (2 * step), rtol=1e-3, atol=1e-2
        )


class TestBandwidth:
    def test_leaving_out_is_what_it_says(self):
        x = np.array([0.0, 0.4, 0.4, 1.7, 3.0])
        found = histogram(x)
        total = sum(np.log(np.mean(norm.pdf(x[i], np.delete(x, i), 0.5))) for i in range(len(x)))
        apart = [(found.centers[:, None] - found.centers) ** 2]
        assert leave_one_out(apart, found.weight[0], 0.5) == pytest.approx(total, abs=1e-9)

    def test_leaving_out_with_reflections(self):
        x = np.array([0.1, 0.4, 0.4, 1.7, 1.9])
        images = lambda of: np.concatenate([of, -of, 4 - of])  # noqa: E731
        total = sum(np.log(norm.pdf(x[i], images(np.delete(x, i)), 0.5).sum() / 4) for i in range(len(x)))
        centers = histogram(x).centers
        apart = [(centers[:, None] - image) ** 2 for image in (centers, -centers, 4 - centers)]
        assert leave_one_out(apart, histogram(x).weight[0], 0.5) == pytest.approx(total, abs=1e-9)

    def test_the_best_is_found(self):
        x, y = two_humps()
        found = histogram(x[y == 1])
        apart = [(found.centers[:, None] - found.centers) ** 2]
        best = choose_bandwidth(found, 0)
        rule = silverman(found, 0)
        ladder = np.geomspace(rule / 30, rule * 4, 400)
        scores = [leave_one_out(apart, found.weight[0], h) for h in ladder]
        assert best == pytest.approx(ladder[int(np.argmax(scores))], rel=0.05)
        assert best < rule / 2  # which takes two humps for one

    def test_near_the_best_for_a_gaussian(self):
        x = np.random.default_rng(0).normal(size=3000)
        assert choose_bandwidth(histogram(x), 0) == pytest.approx(1.06 * 3000**-0.2, rel=0.35)

    def test_a_weight_of_two_is_the_row_twice(self):
        x = np.random.default_rng(0).normal(size=80)
        twice = choose_bandwidth(histogram(np.repeat(x, 2)), 0)
        assert choose_bandwidth(histogram(x, weights=np.full(80, 2.0)), 0) == twice

    def test_weights_that_are_shares(self):
        x, y = two_humps(200)
        plain = cw.NaiveBayes(families="kernel").fit(x[:, None], y)
        shares = cw.NaiveBayes(families="kernel").fit(x[:, None], y, np.full(200, 1 / 200))
        np.testing.assert_allclose(shares.parameters_[0]["bandwidth"], plain.parameters_[0]["bandwidth"], rtol=1e-6)

    def test_whole_numbers_are_not_spikes(self):
        x = np.random.default_rng(0).poisson(8, 4000).astype(float)
        assert choose_bandwidth(histogram(x), 0) >= 0.39

    @pytest.mark.parametrize("values", [[1.0], [1.0, 1.0, 1.0], [1.0, 2.0]])
    def test_too_few_values(self, values):
        column = histogram([*values, 0.0, 5.0, 9.0], np.array([0] * len(values) + [1] * 3), count=2)
        assert 0 < choose_bandwidth(column, 0) < 20


class TestLimits:
    def test_names(self):
        assert Family.read("kernel(0, inf)") == Family("kernel", None, 0.0, None)
        assert Family.read(str(Family.read("kernel(-1.5,2)"))) == Family("kernel", None, -1.5, 2.0)
        for bad in ("kernel(1, 0)", "kernel(a, b)", "kernel(1)", "kernel(1, 1)"):
            with pytest.raises(cw.ClasswiseError, match="not a family"):
                Family.read(bad)

    @pytest.mark.parametrize(
        ("family", "low", "high"), [("kernel(0, inf)", 0, 60), ("kernel(0, 1)", 0, 1), ("kernel(-inf, 1)", -60, 1)]
    )
    def test_all_probability_is_within(self, family, low, high):
        rng = np.random.default_rng(0)
        y = np.arange(400) % 2
        x = rng.beta(1, 3, 400)
        model = cw.NaiveBayes(families={0: family}).fit(x[:, None], y)
        for k in range(2):
            total = quad(
                lambda at, k=k: np.exp(model.log_density([[at]])[0, k]), low, high, points=[0, 0.5, 1], limit=200
            )[0]
            assert total == pytest.approx(1, abs=1e-3)
        rows, _ = model.sample(2000, random_state=0)
        assert rows.min() >= low
        assert rows.max() <= high

    def test_reflection_is_better_at_a_limit(self):
        rng = np.random.default_rng(0)
        x, y = rng.exponential(size=2000), np.arange(2000) % 2
        new = rng.exponential(size=(2000, 1))
        plain = cw.NaiveBayes(families="kernel").fit(x[:, None], y).log_evidence(new).mean()
        reflected = cw.NaiveBayes(families={0: "kernel(0, inf)"}).fit(x[:, None], y).log_evidence(new).mean()
        assert reflected > plain + 0.02

    def test_values_outside(self):
        model = cw.NaiveBayes(families={0: "kernel(0, inf)"}).fit([[0.1], [0.5], [2.0], [3.0]], [0, 0, 1, 1])
        for ask in (
            lambda: model.predict([[-1.0]]),
            lambda: cw.NaiveBayes(families={0: "kernel(1, 9)"}).fit([[0.5], [2]], [0, 1]),
        ):
            with pytest.raises(cw.ClasswiseError, match="numbers within its limits"):
                ask()


class TestModel:
    @pytest.fixture
    def table(self):
        x, y = two_humps()
        rng = np.random.default_rng(1)
        rows = pd.DataFrame(
            {"x": x, "z": rng.normal(0.5 * y, 1), "color": np.where(rng.random(600) < 0.3 + 0.3 * y, "red", "blue")}
        )
        rows.loc[::17, "x"] = np.nan
        return rows, y

    def test_it_sees_two_humps(self):
        x, y = two_humps(4000)
        new, truth = two_humps(4000, seed=1)
        kernel = cw.NaiveBayes(families="kernel").fit(x[:, None], y).evaluate(new[:, None], truth)
        gaussian = cw.NaiveBayes().fit(x[:, None], y).evaluate(new[:, None], truth)
        assert kernel.log_loss < gaussian.log_loss - 0.1

    def test_columns_are_independent(self, table):
        rows, y = table
        both = cw.NaiveBayes(families=FAMILIES).fit(rows, y)
        alone = cw.NaiveBayes(families="kernel").fit(rows[["x"]], y)
        rest = cw.NaiveBayes().fit(rows[["z", "color"]], y)
        np.testing.assert_allclose(
            both.log_density(rows), alone.log_density(rows[["x"]]) + rest.log_density(rows[["z", "color"]]), atol=1e-9
        )
        assert (alone.log_density(rows[["x"]])[::17] == 0).all()  # a missing value is integrated out

    def test_batches_make_the_same_model(self, table):
        rows, y = table
        whole = cw.NaiveBayes(families=FAMILIES).fit(rows, y)
        steps = cw.NaiveBayes(families=FAMILIES)
        parts = [rows.index % 3 == i for i in range(3)]
        for part in parts:
            steps.partial_fit(rows[part], y[part])
        merged = sum(cw.summarize(rows[part], y[part], families=FAMILIES) for part in parts)
        expected = whole.predict_log_proba(rows)
        np.testing.assert_allclose(steps.predict_log_proba(rows), expected, atol=1e-10)
        np.testing.assert_allclose(
            cw.NaiveBayes(families=FAMILIES).fit_statistics(merged).predict_log_proba(rows), expected, atol=1e-10
        )

    def test_files_and_sources(self, table, tmp_path):
        rows, y = table
        whole = cw.NaiveBayes(families=FAMILIES).fit(rows, y)
        cw.save(whole, tmp_path / "m.cw")
        np.testing.assert_array_equal(cw.load(tmp_path / "m.cw").predict_proba(rows), whole.predict_proba(rows))
        for i in range(3):
            rows[i::3].assign(y=y[i::3]).to_parquet(tmp_path / f"part-{i}.parquet")
        found = cw.NaiveBayes(families=FAMILIES).fit_source(str(tmp_path / "part-*.parquet"), target="y")
        np.testing.assert_allclose(found.predict_proba(rows), whole.predict_proba(rows), atol=1e-10)

    def test_dask(self, table):
        dask = pytest.importorskip("dask.dataframe")
        rows, y = table
        source = dask.from_pandas(rows.assign(y=y), npartitions=3)
        families = {"x": "kernel", "z": "kernel"}
        found = cw.NaiveBayes(families=families).fit_source(source, target="y")
        whole = cw.NaiveBayes(families=families).fit(rows, y)
        np.testing.assert_allclose(found.predict_proba(rows), whole.predict_proba(rows), atol=1e-10)

    def test_leave_one_out_is_a_fit_without_the_row(self, table):
        rows, y = table
        few, own = rows[:40], y[:40]
        model = cw.NaiveBayes(families=FAMILIES).fit(few, own)
        found = model.leave_one_out(few, own, recount=True)
        others = np.arange(40) != 5
        expected = cw.NaiveBayes(families=FAMILIES).fit(few[others], own[others]).predict_log_proba(few[5:6])
        np.testing.assert_allclose(found[5], expected[0], atol=1e-6)

    def test_samples_look_like_the_rows(self, table):
        rows, y = table
        model = cw.NaiveBayes(families=FAMILIES).fit(rows, y)
        drawn, labels = model.sample(6000, random_state=0)
        for k in range(2):
            ours, theirs = drawn["x"][labels == k], rows["x"][y == k]
            np.testing.assert_allclose(
                np.nanquantile(ours, [0.2, 0.5, 0.8]), np.nanquantile(theirs, [0.2, 0.5, 0.8]), atol=0.5
            )

    def test_shares_add_up(self, table):
        rows, y = table
        model = cw.NaiveBayes(families=FAMILIES).fit(rows, y)
        reason = model.explain(rows[3:4])
        assert reason.prior + sum(reason.shares.values()) == pytest.approx(reason.log_odds, abs=1e-9)
        assert model.explain(rows[0:1]).shares["x"] == 0

    def test_a_class_without_a_value(self, table):
        rows, y = table
        rows.loc[y == 1, "x"] = np.nan
        with pytest.warns(cw.DegenerateColumnWarning, match="none of their own"):
            model = cw.NaiveBayes(families=FAMILIES).fit(rows, y)
        found = model.log_density(pd.DataFrame({"x": [0.3], "z": [np.nan], "color": [None]}))
        assert found[0, 0] == pytest.approx(found[0, 1], abs=0.3)

    def test_a_column_that_never_varies(self):
        x, y = two_humps(50)
        with pytest.warns(cw.IgnoredColumnWarning, match="always 3"):
            cw.NaiveBayes(families="kernel").fit(np.column_stack([x, np.full(50, 3.0)]), y)

    def test_statistics_without_bins(self):
        x, y = two_humps(50)
        with pytest.raises(cw.ClasswiseError, match="does not hold what kernel needs"):
            cw.NaiveBayes(families="kernel").fit_statistics(cw.summarize(x[:, None], y))

    def test_bins_are_numbers_too(self):
        x, y = two_humps(50)
        statistics = cw.summarize(x[:, None], y, families={0: "kernel"})
        assert cw.NaiveBayes(families={0: "gaussian"}).fit_statistics(statistics).families_ == {0: "gaussian"}

    def test_withholding(self):
        x, y = two_humps(50)
        with pytest.raises(cw.ClasswiseError, match="Histograms"):
            cw.summarize(x[:, None], y, families={0: "kernel"}).withhold(5)


def test_a_histogram_from_a_damaged_file_is_refused():
    good = histogram([1.0, 2.0, 5.0])
    assert good._is_sound()
    assert not Histogram(good.exponent, good.bins[::-1], good.weight)._is_sound()
    assert not Histogram(good.exponent, good.bins, -good.weight)._is_sound()
