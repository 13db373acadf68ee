"""Shrunken centroids: equal to scikit-learn's and to pamr's formulas, from statistics that add, with 20,000 columns."""

import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import NearestCentroid

import classwise as cw
from classwise.densities.centroids import Contrasts
from genes import GENES, read_genes

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
THRESHOLDS = (0.0, 0.3, 1.0, 2.5, 6.0, 15.0)


def wide(rows=60, columns=300, classes=3, informative=10, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    X = rng.normal(size=(rows, columns))
    X[:, :informative] += y[:, None]
    return X, y


def by_pamr(X, y, threshold, weights=None):
    """Posteriors by the formulas of pamr's nsc and diag.disc."""
    w = np.ones(len(y)) if weights is None else weights
    labels, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes, w)
    means = np.stack([np.average(X[codes == k], axis=0, weights=w[codes == k]) for k in range(len(labels))])
    center = np.average(X, axis=0, weights=w)
    sd = np.sqrt((w[:, None] * (X - means[codes]) ** 2).sum(axis=0) / (w.sum() - len(labels)))
    sd = sd + np.median(sd)
    error = np.sqrt(1 / counts - 1 / w.sum())[:, None]
    delta = (means - center) / sd / error
    delta = np.sign(delta) * np.maximum(np.abs(delta) - threshold, 0) * error
    scores = ((X - center) / sd) @ delta.T - (delta**2).sum(axis=1) / 2 + np.log(counts / w.sum())
    posterior = np.exp(scores - scores.max(axis=1, keepdims=True))
    return posterior / posterior.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("table", [IRIS, WINE, wide()], ids=["iris", "wine", "wide"])
class TestEqualToOthers:
    def test_centroids_and_decisions_of_scikit_learn(self, table, threshold):
        X, y = table
        theirs = NearestCentroid(shrink_threshold=threshold or None).fit(X, y)
        ours = cw.ShrunkenCentroids(threshold=threshold, priors="uniform", metric="euclidean").fit(X, y)
        np.testing.assert_allclose(ours.centroids_, theirs.centroids_, rtol=1e-10, atol=1e-10)
        scores = ours.predict_log_proba(X)
        first, second = np.sort(scores, axis=1)[:, -1], np.sort(scores, axis=1)[:, -2]
        clear = first - second > 1e-9
        np.testing.assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])

    def test_posteriors_of_pamr(self, table, threshold):
        X, y = table
        ours = cw.ShrunkenCentroids(threshold=threshold).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), by_pamr(X, y, threshold), rtol=1e-8, atol=1e-12)

    def test_selected_columns_are_those_that_differ(self, table, threshold):
        X, y = table
        m = cw.ShrunkenCentroids(threshold=threshold).fit(X, y)
        differ = np.ptp(m.centroids_, axis=0) > 0
        assert m.selected_columns_ == np.flatnonzero(differ).tolist()


def test_weights_count_rows():
    X, y = IRIS
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    one = cw.ShrunkenCentroids(threshold=1.0).fit(X, y, weights)
    np.testing.assert_allclose(one.predict_proba(X), by_pamr_of(X, y, repeated), rtol=1e-8)


def by_pamr_of(X, y, rows):
    m = cw.ShrunkenCentroids(threshold=1.0).fit(X[rows], y[rows])
    np.testing.assert_allclose(m.predict_proba(X[rows]), by_pamr(X[rows], y[rows], 1.0), rtol=1e-8)
    return m.predict_proba(X)


class TestThresholdByCrossValidation:
    def test_the_path_is_what_single_thresholds_lose(self):
        X, y = wide()
        folds = np.arange(len(y)) % 4
        m = cw.ShrunkenCentroids(folds=folds).fit(X, y)
        path = m.threshold_path_
        assert len(path.thresholds) == len(path.selected) == 30
        assert path.selected[0] == 300
        assert path.selected[-1] == 0
        assert list(path.selected) == sorted(path.selected, reverse=True)
        for place in (0, 7, 20, 29):
            losses = np.zeros(len(y))
            for fold in range(4):
                held = folds == fold
                part = cw.ShrunkenCentroids(threshold=path.thresholds[place]).fit(X[~held], y[~held])
                losses[held] = -part.predict_log_proba(X[held])[np.arange(held.sum()), y[held]]
            assert path.log_loss[place] == pytest.approx(losses.mean(), rel=1e-9)
        assert m.threshold_ == path.best == path.thresholds[int(np.argmin(path.log_loss))]
        chosen = cw.ShrunkenCentroids(threshold=m.threshold_).fit(X, y)
        np.testing.assert_allclose(m.predict_proba(X), chosen.predict_proba(X))
        assert "ThresholdPath(threshold=" in repr(path)

    def test_gaps_and_other_columns(self):
        import pandas as pd

        X, y = wide(columns=6, informative=3)
        table = pd.DataFrame(X, columns=list("abcdef")).assign(color=np.where(y == 0, "red", "blue"))
        table.loc[::7, "a"] = np.nan
        m = cw.ShrunkenCentroids(folds=3).fit(table, y)
        assert set(m.selected_columns_) <= set("abcdef")
        assert m.evaluate(table, y).log_loss < 1.0
        alone = cw.ShrunkenCentroids(threshold=0).fit(table[["a"]], y)
        np.testing.assert_allclose(alone.means_[:, 0], table["a"].groupby(y).mean(), rtol=1e-12)

    def test_saved_with_its_path(self, tmp_path):
        X, y = wide()
        m = cw.ShrunkenCentroids(folds=3, calibrate="temperature").fit(X, y)
        cw.save(m, tmp_path / "m.cw")
        again = cw.load(tmp_path / "m.cw")
        np.testing.assert_array_equal(again.predict_proba(X), m.predict_proba(X))
        assert again.threshold_ == m.threshold_
        assert again.selected_columns_ == m.selected_columns_
        assert again.with_priors("uniform").threshold_ == m.threshold_


def test_leaving_a_row_out_is_fitting_without_it():
    X, y = wide(rows=20, columns=12)
    left_out = cw.ShrunkenCentroids(threshold=0.7).fit(X, y).leave_one_out(X, y, recount=True)
    for row in (0, 11):
        others = np.arange(20) != row
        without = cw.ShrunkenCentroids(threshold=0.7).fit(X[others], y[others])
        np.testing.assert_allclose(left_out[row], without.predict_log_proba(X[[row]])[0], rtol=1e-9)


def test_a_class_without_a_value_in_a_column_lies_at_the_mean_of_all():
    X, y = wide(rows=30, columns=4, informative=2)
    X[y == 2, 3] = np.nan
    with pytest.warns(cw.DegenerateColumnWarning, match="classes that have none of their own"):
        m = cw.ShrunkenCentroids(threshold=0).fit(X, y)
    assert m.centroids_[2, 3] == pytest.approx(np.nanmean(X[:, 3]))


def test_twenty_thousand_columns_take_memory_in_proportion():
    X, y = wide(columns=20_000)
    model = cw.ShrunkenCentroids(folds=3)
    tracemalloc.start()
    try:
        model.fit(X, y).predict_proba(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        reason = model.explain(X[:1])
        assert tracemalloc.get_traced_memory()[1] < 50 * X.nbytes  # a matrix of all pairs takes 333 times as much
    finally:
        tracemalloc.stop()
    assert peak < 10 * X.nbytes
    assert len(reason.shares) == 20_000


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"threshold": -1}, "threshold=-1 is not an option; give a number of at least 0"),
            ({"threshold": "best"}, "threshold='best' is not an option; give a number of at least 0, or 'cv'"),
            ({"offset": 2}, "offset=2 is not an option; give a number from 0 to 1"),
            ({"metric": "manhattan"}, "metric='manhattan' is not an option"),
        ],
    )
    def test_options(self, options, match):
        with pytest.raises(cw.ClasswiseError, match=match):
            cw.ShrunkenCentroids(**options).fit(*IRIS)

    def test_columns_that_do_not_vary_within_classes(self):
        X = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.5], [1.0, 2.5]])
        with pytest.raises(cw.SingularCovarianceError, match=r"do not vary within any class.*column 0\. Drop them, or"):
            cw.ShrunkenCentroids(threshold=0, offset=None).fit(X, [0, 0, 1, 1])
        assert cw.ShrunkenCentroids(threshold=0).fit(X, [0, 0, 1, 1]).predict(X).tolist() == [0, 0, 1, 1]

    def test_no_more_rows_than_classes(self):
        with pytest.raises(cw.ClasswiseError, match="weight 2 in 2 classes"):
            cw.ShrunkenCentroids(threshold=0).fit([[0.0], [1.0]], [0, 1])

    def test_statistics_and_an_open_threshold(self):
        statistics = cw.summarize(*IRIS)
        with pytest.raises(cw.ClasswiseError, match="threshold='cv' needs the rows"):
            cw.ShrunkenCentroids().fit_statistics(statistics)
        assert not hasattr(cw.ShrunkenCentroids(), "partial_fit")


def test_contrasts_at_the_largest_threshold_are_gone():
    contrasts = Contrasts.of(cw.summarize(*WINE), 0.5)
    assert contrasts.selected(contrasts.largest()) == 0
    assert contrasts.selected(0.999 * contrasts.largest()) == 1


@pytest.mark.parametrize("name", GENES)
def test_real_tables_of_genes(data, name):
    X, y = read_genes(data, name)
    centroids = cw.ShrunkenCentroids(threshold=2.0, priors="uniform").fit(X, y).centroids_
    theirs = NearestCentroid(shrink_threshold=2.0).fit(X, y).centroids_
    np.testing.assert_allclose(centroids, theirs, atol=1e-10)
    m = cw.ShrunkenCentroids(folds=3).fit(X, y)
    assert len(m.selected_columns_) < X.shape[1]
