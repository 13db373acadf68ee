"""HDDA: dense covariances by brute force, likelihoods at their maximum, statistics that add, rows where p is large."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import classwise as cw
from classwise import limits
from classwise.covariance import FullCovariance
from classwise.densities.subspace import MODELS, EigenSpectrum, LeastBic, Scree
from genes import GENES, read_genes

WINE, KIND = load_wine(return_X_y=True)
WINE = StandardScaler().fit_transform(WINE)


def wide(rows=60, columns=40, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 3
    X = rng.normal(size=(rows, 3)) @ (4 * rng.normal(size=(3, columns))) + rng.normal(size=(rows, columns))
    return X + y[:, None], y


X, Y = wide()


@pytest.fixture
def by_rows(monkeypatch):
    """Learn from rows, as with very many columns."""
    monkeypatch.setattr(limits, "MOST_SCATTER_COLUMNS", 10)


def densely(m, rows, columns=slice(None)):
    """Log densities by the matrices written out; (n, g)."""
    each = zip(m.means_, m.covariances_, strict=True)
    parts = [(mean[columns], covariance[columns][:, columns]) for mean, covariance in each]
    return np.stack([multivariate_normal(*part).logpdf(rows[:, columns]) for part in parts], axis=1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dimension", ["scree", "bic", 2])
class TestBruteForce:
    def test_log_densities(self, model, dimension):
        m = cw.HDDA(model=model, dimension=dimension).fit(X, Y)
        np.testing.assert_allclose(m.log_density(X), densely(m, X), rtol=1e-10, atol=1e-10)

    def test_of_some_columns(self, model, dimension):
        m, kept = cw.HDDA(model=model, dimension=dimension).fit(X, Y), [0, 3, 4, 17, 30]
        gappy = np.full_like(X, np.nan)
        gappy[:, kept] = X[:, kept]
        np.testing.assert_allclose(m.log_density(gappy), densely(m, X, kept), rtol=1e-10, atol=1e-10)
        gappy[:, 1:] = np.nan
        np.testing.assert_allclose(m.log_density(gappy), densely(m, X, [0]), rtol=1e-10, atol=1e-10)

    def test_rows_and_statistics_give_the_same(self, model, dimension, by_rows):
        weights = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
        m = cw.HDDA(model=model, dimension=dimension).fit(X, Y, weights)
        full = cw.summarize(X, Y, weights)
        other = cw.HDDA(model=model, dimension=dimension).fit_statistics(full)
        assert m.dimensions_ == other.dimensions_
        np.testing.assert_allclose(m.log_density(X), other.log_density(X), rtol=1e-9)


class TestModels:
    def test_what_is_common(self):
        own, common = (cw.HDDA(model=model).fit(X, Y) for model in ("AkjBkQkDk", "ABQkD"))
        assert len(set(own.noise_)) == 3
        assert len(set(common.noise_)) == 1
        assert len(set(common.dimensions_.values())) == 1
        assert len(np.unique(common.gaussian_.covariance.spread.round(10))) == 1
        shared = cw.HDDA(model="AjBQD").fit(X, Y)
        assert len(shared.gaussian_.covariance.values) == 1

    def test_free_parameters(self):
        """As in Bouveyron, Girard and Schmid (2007), but for the dimensions themselves."""
        orientations = 3 * 2 * (40 - 1.5)
        free = {"AkjBkQkDk": 6 + 3, "AkjBQkD": 6 + 1, "AkBkQkD": 3 + 3, "ABQkD": 1 + 1}
        for model, variances in free.items():
            covariance = cw.HDDA(model=model, dimension=2).fit(X, Y).gaussian_.covariance
            assert covariance.free_parameters == orientations + variances
        assert cw.HDDA(model="AjBQD", dimension=2).fit(X, Y).gaussian_.covariance.free_parameters == 77 + 2 + 1

    def test_eigenvalues_and_their_rest(self):
        m = cw.HDDA(model="AkjBkQkDk", dimension=2).fit(X, Y)
        for k in range(3):
            values = np.linalg.eigvalsh(np.cov(X[np.equal(Y, k)].T, bias=True))[::-1]
            np.testing.assert_allclose(m.gaussian_.covariance.spread[k], values[:2], rtol=1e-9)
            assert m.noise_[k] == pytest.approx(values[2:].sum() / 38, rel=1e-9)

    def test_all_dimensions_but_one_is_qda(self):
        rows, y = WINE[:, :3], KIND
        m = cw.HDDA(model="AkjBkQkDk", dimension=2).fit(rows, y)
        np.testing.assert_allclose(m.log_density(rows), cw.QDA().fit(rows, y).log_density(rows), rtol=1e-8)

    def test_no_dimension_and_common_noise_is_the_nearest_mean(self):
        m, other = cw.HDDA(model="ABQD", dimension=0).fit(X, Y), cw.NearestMean().fit(X, Y)
        np.testing.assert_allclose(m.log_density(X), other.log_density(X), rtol=1e-9)

    @pytest.mark.parametrize("model", ["AkjBkQkDk", "AkBQkD", "ABkQkDk", "AjBQD"])
    def test_it_is_the_likeliest(self, model):
        m = cw.HDDA(model=model, dimension=2).fit(X, Y)
        best = m.log_density(X)[np.arange(60), Y].sum()
        rng, covariance = np.random.default_rng(0), m.gaussian_.covariance
        for _ in range(5):
            turned = np.stack([np.linalg.qr(q + 0.02 * rng.normal(size=q.shape))[0] for q in covariance.values])
            other = replace(covariance, values=turned)
            assert log_likelihood(m.means_, other) < best
        for factor in (0.9, 1.1):
            for changed in ((factor, 1.0), (1.0, factor)):
                spread, noise = covariance.spread * changed[0], covariance.noise * changed[1]
                assert log_likelihood(m.means_, replace(covariance, spread=spread, noise=noise)) < best


def log_likelihood(means, covariance):
    from classwise.densities import Gaussian

    density = Gaussian(means, covariance)
    scores = density.relative(X, np.zeros((3, 1))) + density.common(X)
    return scores[Y, np.arange(len(Y))].sum()


@pytest.fixture(scope="module")
def pair():
    ours = cw.HDDA(model="ABkQkDk", dimension=2).fit(X, Y).gaussian_.covariance
    return ours, FullCovariance(ours.matrices())


class TestCovariance:
    def test_algebra(self, pair):
        ours, full = pair
        identity = np.eye(40)
        for k in range(3):
            np.testing.assert_allclose(ours.color(ours.whiten(X, k), k), X, atol=1e-9)
            np.testing.assert_allclose(ours.solve(X, k), full.solve(X, k), rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(ours.precision(k), full.precision(k), rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(ours.precisions(k), full.precisions(k), rtol=1e-9)
            np.testing.assert_allclose(ours.project(identity, k), ours.whiten(identity, k).T, atol=1e-12)
        np.testing.assert_allclose(ours.variances(), full.variances(), rtol=1e-12)
        np.testing.assert_allclose(ours.half_log_det, full.half_log_det, rtol=1e-11)
        np.testing.assert_allclose(ours.traces(full.values), np.full(3, 40.0), rtol=1e-10)
        np.testing.assert_allclose(ours.eigen()[0], full.eigen()[0], rtol=1e-8)
        scaled = np.linspace(1, 2, 40)
        np.testing.assert_allclose(ours.scaled(scaled).matrices(), full.scaled(scaled).matrices(), rtol=1e-11)
        amounts = np.array([0.1, 0.5, 1.0])
        np.testing.assert_allclose(ours.shrunk(amounts).matrices(), full.shrunk(amounts).matrices(), atol=1e-10)
        assert ours.reach(X[0]) >= max(np.linalg.norm(full.whiten(X[:1], k)) for k in range(3)) - 1e-9

    def test_samples(self, pair):
        drawn = pair[0].color(np.random.default_rng(0).normal(size=(40_000, 40)), 1)
        np.testing.assert_allclose(np.cov(drawn.T), pair[1].values[1], atol=0.08 * pair[1].values[1].max())

    def test_likelihood_from_moments(self):
        m = cw.HDDA(model="AkjBkQkDk").fit(X, Y)
        expected = m.log_density(X)[np.arange(60), Y].sum()
        assert m.gaussian_.log_likelihood(m.statistics_.moments) == pytest.approx(expected, rel=1e-10)

    def test_without_each_column(self):
        density = cw.HDDA(dimension=1).fit(X, Y).gaussian_
        plain = super(type(density), density).without_each(X[:5], np.full(40, np.nan))
        for ours, theirs in zip(density.without_each(X[:5], np.full(40, np.nan)), plain, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-8)


class TestDimension:
    def spectrum(self, *values):
        return EigenSpectrum(np.array(values), np.eye(6)[:, : len(values)], 50.0, "class 0")

    def test_scree(self):
        spectrum = self.spectrum(10.0, 8.0, 1.1, 1.0, 0.9, 0.85)
        assert Scree(0.2).own(spectrum) == 2
        assert Scree(0.01).own(spectrum) == 4
        assert Scree(0.2).common([spectrum, self.spectrum(10.0, 1.0, 0.9, 0.8, 0.7, 0.6)]) == 2

    def test_bic_is_the_likelihood_with_its_penalty(self):
        rng = np.random.default_rng(1)
        rows = rng.normal(size=(300, 2)) @ (3 * rng.normal(size=(2, 8))) + rng.normal(size=(300, 8))
        spectrum = EigenSpectrum.of_rows(rows - rows.mean(axis=0), np.ones(300), "class 0")
        criteria = []
        for d in range(8):
            covariance = MODELS["AkjBkQkDk"].covariance([spectrum], _Fixed(d))
            density = multivariate_normal(rows.mean(axis=0), covariance.matrices()[0])
            criteria.append(-2 * density.logpdf(rows).sum() + covariance.free_parameters * np.log(300))
        assert LeastBic().own(spectrum) == int(np.argmin(criteria)) == 2
        np.testing.assert_allclose(np.diff(LeastBic()._criteria(spectrum)), np.diff(criteria), rtol=1e-8)

    def test_few_rows_have_few_directions(self):
        y = np.r_[np.zeros(29), np.ones(29), 2, 2].astype(int)
        assert cw.HDDA(dimension=5).fit(X, y).dimensions_ == {0: 5, 1: 5, 2: 0}
        assert cw.HDDA().fit(X, y).dimensions_[2] == 0


class _Fixed:
    def __init__(self, count):
        self.own = lambda spectrum: count


class TestGaps:
    def test_at_fit_by_em(self):
        rng = np.random.default_rng(3)
        gappy = np.where(rng.random(WINE.shape) < 0.05, np.nan, WINE)
        m, whole = (cw.HDDA(dimension=2).fit(rows, KIND) for rows in (gappy, WINE))
        assert m.em_.converged
        assert whole.em_ is None
        np.testing.assert_allclose(m.means_, whole.means_, atol=0.15)
        assert m.evaluate(gappy, KIND).error < 0.06

    def test_refused_with_very_many_columns(self, by_rows):
        gappy = X.copy()
        gappy[3, 5] = np.nan
        with pytest.raises(cw.ClasswiseError, match="learns from complete rows; fill the gaps first"):
            cw.HDDA().fit(gappy, Y)


class TestVeryManyColumns:
    def test_memory_grows_with_rows_times_columns(self):
        rows, y = wide(columns=20_000)
        tracemalloc.start()
        try:
            m = cw.HDDA().fit(rows, y)
            m.predict_proba(rows)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 10 * rows.nbytes
        assert m.sample(2, random_state=0)[0].shape == (2, 20_000)
        with pytest.raises(cw.NotAvailableError, match=r"20000 columns are too large.*gaussian_\.covariance"):
            m.covariances_  # noqa: B018

    def test_explanations(self):
        rows, y = wide(columns=1_500)
        m = cw.HDDA().fit(rows, y)
        reason = m.explain(rows[:1])
        parts = reason.prior + reason.volume + sum(reason.shares.values())
        assert parts == pytest.approx(reason.log_odds, abs=1e-8)

    def test_what_needs_statistics_names_the_remedy(self, by_rows, tmp_path):
        with pytest.raises(cw.ClasswiseError, match=r"at most 10 columns.*here are 40\. Call fit\(X, y\)"):
            cw.HDDA().partial_fit(X, Y)
        with pytest.raises(cw.NotAvailableError, match="learns from the rows, and cannot leave them out"):
            cw.HDDA().fit(X, Y).leave_one_out(X, Y)
        with pytest.raises(cw.StatisticsError, match="one scatter matrix per class"):
            cw.HDDA().fit_statistics(cw.summarize(X, Y, scatter="diagonal"))

    def test_a_source_is_read_whole_or_refused(self, by_rows, tmp_path, monkeypatch):
        import pandas as pd

        pd.DataFrame(X).add_prefix("x").assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
        m = cw.HDDA().fit_source(tmp_path / "rows.csv", target="y")
        np.testing.assert_allclose(m.means_, cw.HDDA().fit(X, Y).means_, rtol=1e-9)
        monkeypatch.setattr(limits, "MOST_HELD", 100)
        with pytest.raises(cw.ClasswiseError, match="at most 10 columns"):
            cw.HDDA().fit_source(tmp_path / "rows.csv", target="y")

    def test_temperature_is_that_of_held_out_rows(self, monkeypatch):
        folds = np.arange(60) // 3 % 3
        by_statistics = cw.HDDA(calibrate="temperature", folds=folds).fit(X, Y)
        monkeypatch.setattr(limits, "MOST_SCATTER_COLUMNS", 10)
        m = cw.HDDA(calibrate="temperature", folds=folds).fit(X, Y)
        assert m.calibration_.power == pytest.approx(by_statistics.calibration_.power, rel=1e-6)
        np.testing.assert_allclose(m.predict_proba(X), by_statistics.predict_proba(X), atol=1e-7)

    def test_saved_and_loaded(self, by_rows, tmp_path):
        m = cw.HDDA(calibrate="temperature", folds=3).fit(X, Y)
        cw.save(m, tmp_path / "m.cw")
        np.testing.assert_array_equal(cw.load(tmp_path / "m.cw").predict_proba(X), m.predict_proba(X))


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"model": "VVV"}, "model='VVV' is not an option; choose 'AkjBkQkDk'"),
            ({"dimension": "aic"}, "dimension='aic' is not an option; choose 'scree' or 'bic'"),
            ({"dimension": -1}, "dimension=-1 is not an option; give a whole number"),
            ({"dimension": 40}, "dimension=40 is too much for 40 columns: at most 39"),
            ({"threshold": 2}, "threshold=2 is not an option"),
        ],
    )
    def test_options(self, options, match):
        with pytest.raises(cw.ClasswiseError, match=match):
            cw.HDDA(**options).fit(X, Y)

    def test_a_class_of_one_row_has_no_noise_of_its_own(self):
        y = np.r_[np.zeros(30), np.ones(29), 2].astype(int)
        with pytest.raises(cw.SingularCovarianceError, match=r"noise of class 2, which has weight 1.*model='AkjBQkDk'"):
            cw.HDDA(model="AkjBkQkDk").fit(X, y)
        assert cw.HDDA().fit(X, y).dimensions_[2] == 0


@pytest.mark.parametrize("name", GENES)
def test_real_tables_of_genes(data, name):
    rows, y = read_genes(data, name)
    m = cw.HDDA(model="AjBQD", dimension=3, calibrate="temperature", folds=3).fit(rows, y)
    assert m.evaluate(rows, y).error < 0.2
    small = cw.HDDA(model="AjBQD", dimension=3).fit(rows[:, :200], y)
    np.testing.assert_allclose(small.log_density(rows[:, :200]), densely(small, rows[:, :200]), rtol=1e-9)
