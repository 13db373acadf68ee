"""The laws of statistics and models on tables with gaps, categories, counts and weights, as hypothesis makes them."""

import functools
import operator
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import classwise as cw

FAMILIES = {"size": "lognormal", "visits": "poisson", "wins": "binomial(4)", "grade": "categorical"}
KERNELS = FAMILIES | {"length": "kernel", "width": "kernel", "size": "kernel(0, inf)"}
MODELS = {
    "nb": functools.partial(cw.NaiveBayes, families=FAMILIES),
    "nb unsmoothed": functools.partial(cw.NaiveBayes, families=FAMILIES, smoothing=0.0),
    "nb level": functools.partial(cw.NaiveBayes, families=FAMILIES, missing="level", min_frequency=0.2),
    "nb best": functools.partial(cw.NaiveBayes, families="best"),
    "nb kernel": functools.partial(cw.NaiveBayes, families=KERNELS),
    "lda": functools.partial(cw.LDA, families=FAMILIES, shrink=0.2, standardize=True),
    "qda": functools.partial(cw.QDA, families=FAMILIES, shrink=0.2, standardize=True),
    "diagonal": functools.partial(cw.GaussianClassifier, structure="diagonal", families=FAMILIES),
    "nearest": functools.partial(cw.NearestMean, families=FAMILIES),
}
FORMS = ["full", "pooled", "diagonal"]

# A table here has more in it than most, and takes longer.
fewer = settings(max_examples=20)


class Mixed:
    """A table of every kind of column, some of its cells missing, with a split of its rows."""

    def __init__(self, seed, classes, size, gaps, weighted, offset):
        rng = np.random.default_rng(seed)
        self.y = np.concatenate([np.arange(classes).repeat(8), rng.integers(0, classes, size)])
        n, shift = len(self.y), self.y - 1.0
        columns = {
            "length": rng.normal(size=n) + shift + offset,
            "width": rng.normal(size=n) * (1 + 0.2 * self.y),
            "size": rng.lognormal(0.3 * shift, 0.5),
            "visits": rng.poisson(2.0 + self.y).astype(float),
            "wins": rng.binomial(4, 0.3 + 0.1 * self.y).astype(float),
            "grade": rng.integers(1, 4, n).astype(float),
            "smoker": rng.random(n) < 0.3 + 0.2 * (self.y > 0),
            "city": np.array(["Oslo", "Rome", "Lima", "Bonn"], dtype=object)[rng.integers(0, 2 + (self.y > 0), n)],
        }
        columns["width"] += 0.5 * columns["length"] - 0.5 * offset
        self.X = pd.DataFrame(columns)
        holes = rng.random(self.X.shape) < gaps
        holes[: 8 * classes : 2] = False  # every class has some rows without gaps
        self.X = self.X.astype({"smoker": object}).mask(holes)
        self.w = rng.choice([0.25, 1.0, 2.0, 3.5], size=n) if weighted else None
        self.parts = np.array_split(rng.permutation(n), rng.integers(2, 6))
        self.rng = rng

    def weights(self, part=slice(None)):
        return None if self.w is None else self.w[part]

    def summary(self, part, form, families=FAMILIES):
        return cw.summarize(self.X.iloc[part], self.y[part], self.weights(part), scatter=form, families=families)


@st.composite
def tables(draw, weighted=None, offsets=(0.0, 1e5)):
    return Mixed(
        draw(st.integers(0, 2**31)),
        draw(st.integers(2, 3)),
        draw(st.integers(0, 40)),
        draw(st.sampled_from([0.0, 0.1, 0.4])),
        draw(st.booleans()) if weighted is None else weighted,
        draw(st.sampled_from(offsets)),
    )


def assert_same_moments(a, b, tolerance=1e-10):
    if not a.mean.size:
        return
    ours, theirs = (np.broadcast_to(moments.weight, moments.mean.shape) for moments in (a, b))
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=1e-12)
    # Columns have a spread of about one; a few rows of them may happen to have none.
    spread = np.maximum(np.sqrt(a.overall_variance()), 0.1)
    scale = spread + np.abs(a.mean)
    assert np.all(np.abs(a.minus(b)) <= tolerance * scale)
    outer = spread**2 if a.scatter.name == "diagonal" else np.outer(spread, spread)
    assert np.all(np.abs(a.scatter.values - b.scatter.values) <= tolerance * outer * a.weight.sum())


def assert_same(a, b):
    """Equal statistics, part by part."""
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_allclose(a.weight, b.weight, rtol=1e-12)
    assert a.schema.names == b.schema.names
    assert a.parts.keys() == b.parts.keys()
    assert_same_moments(a.moments, b.moments)
    ours, theirs = a.numbers.gaps, b.numbers.gaps
    np.testing.assert_array_equal(ours.codes, theirs.codes)
    np.testing.assert_array_equal(ours.present, theirs.present)
    if len(ours):
        # A group of few rows has a spread of its own: what counts is that of the whole column.
        scale = np.sqrt(a.numbers.by_column().overall_variance()) if a.moments.scatter.name == "full" else 1e5
        assert np.all(np.abs(ours.moments.minus(theirs.moments)) <= 1e-10 * (scale + np.abs(ours.moments.mean)))
        np.testing.assert_allclose(ours.moments.weight, theirs.moments.weight, rtol=1e-12)
        np.testing.assert_allclose(ours.moments.scatter.values, theirs.moments.scatter.values, rtol=1e-9, atol=1e-8)
    for part in ("logs", "factorials"):
        if part in a.parts:
            assert_same_moments(a.parts[part], b.parts[part])
    for counts, others in ((a.levels, b.levels), (a.values, b.values)):
        for column, other in zip(counts.columns, others.columns, strict=True):
            assert (column is None) == (other is None)
            if column is not None:
                assert column.levels.tolist() == other.levels.tolist()
                np.testing.assert_allclose(column.weight, other.weight, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
class TestStatistics:
    @fewer
    @given(tables())
    def test_merging_parts_in_any_order_is_summarizing_all(self, form, table):
        parts = [table.summary(part, form) for part in table.parts]
        whole = table.summary(slice(None), form)
        assert_same(whole, functools.reduce(operator.add, parts))
        assert_same(whole, sum(reversed(parts)))
        assert sum(parts).rows == whole.rows

    @fewer
    @given(tables())
    def test_adding_then_subtracting_changes_nothing(self, form, table):
        extra_part, *parts = table.parts
        some = table.summary(np.concatenate(parts), form)
        extra = table.summary(extra_part, form)
        assert_same(some, (some + extra) - extra)

    @fewer
    @given(tables(weighted=False))
    def test_weight_two_is_the_row_twice_and_weight_zero_no_row(self, form, table):
        weights = table.rng.integers(0, 3, size=len(table.y)).astype(float)
        weights[0] = 1.0
        repeated = np.repeat(np.arange(len(table.y)), weights.astype(int))
        weighted = cw.summarize(table.X, table.y, weights, scatter=form, families=FAMILIES)
        twice = cw.summarize(table.X.iloc[repeated], table.y[repeated], scatter=form, families=FAMILIES)
        assert_same(weighted, twice)

    @fewer
    @given(tables())
    def test_files_keep_everything(self, form, tmp_path_factory, table):
        path = tmp_path_factory.mktemp("laws") / "s.cws"
        s = table.summary(slice(None), form)
        s.save(path)
        loaded = cw.load(path)
        assert_same(s, loaded)
        assert loaded.schema == s.schema
        assert loaded.rows == s.rows

    @fewer
    @given(tables())
    def test_restricting_is_summarizing_fewer_columns(self, form, table):
        columns = [c for c in table.X.columns if table.rng.random() < 0.6] or ["length"]
        narrow = cw.summarize(
            table.X[columns],
            table.y,
            table.weights(),
            scatter=form,
            families={c: f for c, f in FAMILIES.items() if c in columns},
        )
        assert_same(narrow, table.summary(slice(None), form).restrict(columns))


@fewer
@given(tables())
def test_bins_merge(table):
    parts = [table.summary(part, "diagonal", KERNELS) for part in table.parts]
    whole, merged = table.summary(slice(None), "diagonal", KERNELS), functools.reduce(operator.add, parts)
    assert_same(whole, merged)
    for ours, theirs in zip(whole.bins.columns, merged.bins.columns, strict=True):
        assert ours.exponent == theirs.exponent
        np.testing.assert_array_equal(ours.bins, theirs.bins)
        np.testing.assert_allclose(ours.weight, theirs.weight, rtol=1e-12)


@fewer
@given(tables())
def test_statistics_for_the_best_family_merge(table):
    parts = [table.summary(part, "diagonal", "best") for part in table.parts]
    assert_same(table.summary(slice(None), "diagonal", "best"), functools.reduce(operator.add, parts))


@pytest.mark.filterwarnings("ignore::classwise.DegenerateColumnWarning")
@pytest.mark.parametrize("model", MODELS)
class TestModels:
    @fewer
    @given(tables(offsets=(0.0,)))
    def test_fit_is_partial_fit_is_merging(self, model, table):
        whole = MODELS[model]().fit(table.X, table.y, table.weights())
        steps = MODELS[model]()
        for part in table.parts:
            steps.partial_fit(table.X.iloc[part], table.y[part], sample_weight=table.weights(part))
        families = {"nb best": "best", "nb kernel": KERNELS}.get(model, FAMILIES)
        merged = MODELS[model]().fit_statistics(sum(table.summary(part, "full", families) for part in table.parts))
        expected = whole.predict_log_proba(table.X)
        # EM stops when the likelihood stands still, and parameters are then known to the root of that.
        tolerance = 1e-5 if model in ("lda", "qda") else 1e-9
        for other in (steps, merged):
            np.testing.assert_allclose(other.predict_log_proba(table.X), expected, rtol=tolerance, atol=tolerance)

    @fewer
    @given(tables(offsets=(0.0,)))
    def test_all_ways_to_decide_agree(self, model, table):
        m = MODELS[model]().fit(table.X, table.y, table.weights())
        label = m.predict(table.X)
        np.testing.assert_array_equal(label, m.classes_[m.predict_proba(table.X).argmax(axis=1)])
        np.testing.assert_array_equal(label, m.classes_[m.log_joint(table.X).argmax(axis=1)])
        np.testing.assert_allclose(m.predict_proba(table.X).sum(axis=1), 1, rtol=0, atol=1e-12)

    @fewer
    @given(tables(offsets=(0.0,)))
    def test_shares_add_up_to_the_log_odds(self, model, table):
        m = MODELS[model]().fit(table.X, table.y, table.weights())
        row = table.X.iloc[[int(table.rng.integers(len(table.y)))]]
        why = m.explain(row)
        log_posterior = m.predict_log_proba(row)[0]
        first, second = (m.classes_.tolist().index(label) for label in (why.label, why.other))
        odds = log_posterior[first] - log_posterior[second]
        assert why.label == m.predict(row)[0]
        np.testing.assert_allclose(why.log_odds, odds, rtol=1e-9, atol=1e-9)
        total = why.prior + sum(why.shares.values()) + why.volume
        np.testing.assert_allclose(total, odds, rtol=1e-9, atol=1e-9)
        assert list(why.shares) == list(table.X.columns)
        if model != "nb level":
            assert all(share == 0 for column, share in why.shares.items() if why.values[column] is None)

    @fewer
    @given(tables(offsets=(0.0,)))
    def test_priors_change_without_fitting_again(self, model, table):
        m = MODELS[model]().fit(table.X, table.y)
        priors = np.arange(1.0, len(m.classes_) + 1)
        priors /= priors.sum()
        again = MODELS[model](priors=priors).fit(table.X, table.y)
        np.testing.assert_allclose(
            m.with_priors(priors).predict_log_proba(table.X), again.predict_log_proba(table.X), rtol=1e-12
        )


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@fewer
@given(tables(offsets=(0.0,)))
def test_every_library_gives_the_same_numbers(library, table):
    import polars as pl
    import pyarrow as pa

    plain = {name: [None if v != v else v for v in table.X[name].tolist()] for name in table.X}
    other = pl.DataFrame(plain) if library == "polars" else pa.table(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.DegenerateColumnWarning)
        ours = cw.NaiveBayes(families=FAMILIES).fit(table.X, table.y)
        theirs = cw.NaiveBayes(families=FAMILIES).fit(other, table.y)
    np.testing.assert_array_equal(ours.predict_log_proba(table.X), theirs.predict_log_proba(other))


FEW = [0.5] * 10 + [1000.5] * 12 + [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5]
TWICE = pd.DataFrame({"name": [f"n{i}" for i in range(30)] * 2, "x": np.arange(60.0), "few": FEW * 2})


@pytest.mark.parametrize(
    ("model", "read"),
    [
        (cw.NaiveBayes(), lambda m: m.schema_),
        (cw.LDA(), lambda m: m.schema_),
        (cw.AODE(), lambda m: m.schema_),
        (cw.BayesianLogistic(), lambda m: m.schema_),
        (cw.ForestClassifier(trees=5), lambda m: m.schema_),
        (cw.NaiveBayes(families="best"), lambda m: m.families_),
    ],
    ids=["nb", "lda", "aode", "logistic", "forest", "best"],
)
def test_what_columns_are_counts_weights_not_rows(model, read):
    """An id has a level for every other row, and values repeat in several: a weight of two is the row twice."""
    rows, labels = TWICE, np.arange(60) // 5 % 2

    def fitted(X, y, weights=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(clone(model).fit(X, y, weights))

    halves = fitted(rows, labels, np.full(60, 0.5))
    once, twice = fitted(rows[:30], labels[:30]), fitted(rows, labels)
    assert str(halves) == str(once) != str(twice)
    some = np.arange(30).repeat(2)
    assert str(fitted(rows[:30], labels[:30], np.full(30, 2.0))) == str(fitted(rows.iloc[some], labels[some]))
