"""The laws that statistics and models obey, on tables that hypothesis makes."""

import functools
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classwise as cw

FORMS = ["full", "pooled", "diagonal"]
MODELS = {
    "lda": cw.LDA,
    "qda": cw.QDA,
    "nb": cw.NaiveBayes,
    "nearest": cw.NearestMean,
    "rda": functools.partial(cw.RDA, share=0.5, shrink=0.1),
    "evi": functools.partial(cw.GaussianClassifier, structure="EVI"),
    "vev": functools.partial(cw.GaussianClassifier, structure="VEV"),
    "centroids": functools.partial(cw.ShrunkenCentroids, threshold=0.5),
    "hdda": functools.partial(cw.HDDA, model="AkjBkQkDk", dimension="bic"),
}


class Rows:
    """Gaussian rows of a few classes, whose mean lies `offset` standard deviations from zero, with a split of them."""

    def __init__(self, seed, classes, features, size, offset, weighted):
        rng = np.random.default_rng(seed)
        self.y = np.concatenate([np.arange(classes).repeat(features + 3), rng.integers(0, classes, size)])
        centers = rng.normal(scale=2, size=(classes, features))
        # Condition number at most 16: how many digits a law keeps depends on it.
        turn, _ = np.linalg.qr(rng.normal(size=(features, features)))
        mixing = turn * rng.uniform(0.5, 2, size=features)
        self.X = centers[self.y] + rng.normal(size=(len(self.y), features)) @ mixing + offset
        self.w = rng.choice([0.25, 1.0, 2.0, 3.5], size=len(self.y)) if weighted else None
        self.order = rng.permutation(len(self.y))
        self.parts = np.array_split(self.order, rng.integers(2, 7))
        self.rng = rng

    def weights(self, part=slice(None)):
        return None if self.w is None else self.w[part]


@st.composite
def rows(draw, offsets=(0.0, 3.0, 1e6), weighted=None):
    return Rows(
        draw(st.integers(0, 2**31)),
        draw(st.integers(2, 4)),
        draw(st.integers(1, 4)),
        draw(st.integers(0, 60)),
        draw(st.sampled_from(offsets)),
        draw(st.booleans()) if weighted is None else weighted,
    )


def assert_same(a, b, tolerance=1e-10):
    """Statistics equal relative to their own scale: a mean to the deviation or to itself, a scatter to its diagonal."""
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_allclose(a.weight, b.weight, rtol=tolerance)
    total = np.sqrt(a.moments.scatter.pooled_diagonal())
    mean_scale = np.sqrt(a.moments.overall_variance()) + np.abs(a.mean)
    assert np.all(np.abs(a.mean - b.mean) <= tolerance * mean_scale)
    scale = total**2 if a.moments.scatter.name == "diagonal" else np.outer(total, total)
    assert np.all(np.abs(a.scatter - b.scatter) <= tolerance * scale)


def posterior_tolerance(table):
    return 1e-11 if np.abs(table.X).max() < 1e3 else 1e-7


def assert_same_posteriors(table, a, b):
    """Log posteriors equal, relative to 1 or to their own size."""
    ours, theirs = a.predict_log_proba(table.X), b.predict_log_proba(table.X)
    assert np.max(np.abs(ours - theirs) / np.maximum(np.abs(ours), 1)) < posterior_tolerance(table)


@pytest.mark.parametrize("form", FORMS)
class TestStatistics:
    @given(rows())
    def test_merging_parts_in_any_order_is_summarizing_all(self, form, table):
        parts = [cw.summarize(table.X[p], table.y[p], table.weights(p), scatter=form) for p in table.parts]
        whole = cw.summarize(table.X, table.y, table.weights(), scatter=form)
        assert_same(whole, functools.reduce(operator.add, parts))
        assert_same(whole, sum(reversed(parts)))

    @given(rows())
    def test_adding_then_subtracting_changes_nothing(self, form, table):
        extra_part, *parts = table.parts
        rest = np.concatenate(parts)
        some = cw.summarize(table.X[rest], table.y[rest], table.weights(rest), scatter=form)
        extra = cw.summarize(table.X[extra_part], table.y[extra_part], table.weights(extra_part), scatter=form)
        assert_same(some, (some + extra) - extra)

    @given(rows())
    def test_the_empty_statistic_is_the_identity(self, form, table):
        s = cw.summarize(table.X, table.y, table.weights(), scatter=form)
        empty = cw.ClassStatistics.empty(s.n_features, type(s.moments.scatter))
        for same in (s + empty, empty + s):
            np.testing.assert_array_equal(same.scatter, s.scatter)
            np.testing.assert_array_equal(same.mean, s.mean)

    @given(rows(weighted=False))
    def test_weight_two_is_the_row_twice_and_weight_zero_no_row(self, form, table):
        weights = table.rng.integers(0, 3, size=len(table.y)).astype(float)
        weights[0] = 1.0
        repeated = np.repeat(np.arange(len(table.y)), weights.astype(int))
        weighted = cw.summarize(table.X, table.y, weights, scatter=form)
        assert_same(weighted, cw.summarize(table.X[repeated], table.y[repeated], scatter=form))

    @given(rows())
    def test_scatter_by_its_definition(self, form, table):
        s = cw.summarize(table.X, table.y, table.weights(), scatter="full")
        for k, label in enumerate(s.labels):
            own = table.y == label
            w = np.ones(own.sum()) if table.w is None else table.w[own]
            away = table.X[own] - np.average(table.X[own], axis=0, weights=w)
            scatter = (away * w[:, None]).T @ away
            np.testing.assert_allclose(s.scatter[k], scatter, atol=1e-9 * np.trace(scatter))


@pytest.mark.parametrize("model", MODELS)
class TestModels:
    @given(rows())
    def test_fit_is_partial_fit_is_merging(self, model, table):
        make = MODELS[model]
        whole = make().fit(table.X, table.y, table.weights())
        steps = make()
        for part in table.parts:
            steps.partial_fit(table.X[part], table.y[part], sample_weight=table.weights(part))
        merged = make().fit_statistics(sum(cw.summarize(table.X[p], table.y[p], table.weights(p)) for p in table.parts))
        assert_same_posteriors(table, whole, steps)
        assert_same_posteriors(table, whole, merged)

    @given(rows(offsets=(0.0, 3.0)))
    def test_the_order_of_rows_and_the_names_of_classes_do_not_matter(self, model, table):
        plain = MODELS[model]().fit(table.X, table.y, table.weights())
        shuffled = MODELS[model]().fit(table.X[table.order], table.y[table.order], table.weights(table.order))
        assert_same_posteriors(table, plain, shuffled)
        names = np.array(["d", "a", "c", "b"])
        renamed = MODELS[model]().fit(table.X, names[table.y], table.weights())
        order = np.argsort(names[: len(plain.classes_)])
        np.testing.assert_allclose(
            renamed.predict_log_proba(table.X), plain.predict_log_proba(table.X)[:, order], rtol=1e-11, atol=1e-11
        )

    @given(rows(offsets=(0.0, 3.0)))
    def test_the_order_of_columns_does_not_matter(self, model, table):
        columns = table.rng.permutation(table.X.shape[1])
        plain = MODELS[model]().fit(table.X, table.y).predict_log_proba(table.X)
        moved = MODELS[model]().fit(table.X[:, columns], table.y).predict_log_proba(table.X[:, columns])
        np.testing.assert_allclose(moved, plain, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("model", ["lda", "qda"])
@given(rows(offsets=(0.0, 3.0)))
def test_invertible_affine_maps_do_not_matter(model, table):
    features = table.X.shape[1]
    turn, _ = np.linalg.qr(table.rng.normal(size=(features, features)))
    mapped = table.X @ (turn * table.rng.uniform(0.1, 10, size=features)) + table.rng.normal(size=features)
    plain = MODELS[model]().fit(table.X, table.y).predict_log_proba(table.X)
    np.testing.assert_allclose(
        MODELS[model]().fit(mapped, table.y).predict_log_proba(mapped), plain, rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("model", MODELS)
@given(rows(offsets=(0.0, 1e6)), st.sampled_from([1.0, 60.0, 1e4]))
def test_all_ways_to_decide_agree(model, table, away):
    m = MODELS[model]().fit(table.X, table.y)
    X = np.vstack([table.X, table.X.mean(axis=0) + away * table.rng.normal(size=table.X.shape)])
    label = m.predict(X)
    np.testing.assert_array_equal(label, m.classes_[m.predict_proba(X).argmax(axis=1)])
    np.testing.assert_array_equal(label, m.classes_[m.predict_log_proba(X).argmax(axis=1)])
    np.testing.assert_array_equal(label, m.classes_[m.log_joint(X).argmax(axis=1)])
    decision = m.decision_function(X)
    if len(m.classes_) == 2:
        np.testing.assert_array_equal(label, m.classes_[(decision > 0).astype(int)])
    else:
        np.testing.assert_array_equal(label, m.classes_[decision.argmax(axis=1)])
    np.testing.assert_allclose(m.predict_proba(X).sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
@given(st.integers(0, 2**31), st.integers(1, 3))
def test_all_ways_to_decide_agree_on_a_lattice(model, seed, features):
    """Integer rows, symmetric classes: the ties that rounding might break in different ways."""
    rng = np.random.default_rng(seed)
    half = rng.integers(-3, 4, size=(8, features)).astype(float)
    half = np.vstack([half, np.eye(features), -np.eye(features)])
    X, y = np.vstack([half, -half]), np.repeat([0, 1], len(half))
    m = MODELS[model](priors="uniform").fit(X, y)
    grid = np.vstack([X, np.zeros((1, features)), rng.integers(-4, 5, size=(50, features))])
    label = m.predict(grid)
    np.testing.assert_array_equal(label, m.predict_proba(grid).argmax(axis=1))
    np.testing.assert_array_equal(label, m.log_joint(grid).argmax(axis=1))
    np.testing.assert_array_equal(label, (m.decision_function(grid) > 0).astype(int))
