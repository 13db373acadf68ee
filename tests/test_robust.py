"""Robust classes: numbers of R's MASS and rrcov, scikit-learn's MinCovDet, the likelihood by brute force, outliers."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2, multivariate_t
from sklearn.covariance import MinCovDet, fast_mcd
from sklearn.datasets import load_iris, load_wine

import classwise as cw
from classwise.covariance import FullCovariance
from classwise.densities import Gaussian, Student

R = json.loads((Path(__file__).parent / "data" / "robust_reference.json").read_text())
X, Y = np.array(R["rows"], dtype=float), np.array(R["labels"])
IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)


def with_outliers(rows=200, share=0.1, seed=0):
    """Two classes, of which some rows lie far away; and which."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    points = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], rows) + 3 * y[:, None]
    far = rng.random(rows) < share
    points[far] += rng.normal([15, -15], 1, (far.sum(), 2))
    return points, y, far


class TestMass:
    """method = "t" of lda and qda, with five degrees of freedom."""

    def test_own_scatters(self):
        m = cw.RobustClassifier(degrees=5, tol=1e-15).fit(X, Y)
        np.testing.assert_allclose(m.means_, R["qda_means"], atol=1e-7)
        np.testing.assert_allclose(m.covariances_, R["qda_covariances"], atol=1e-7)

    def test_a_shared_scatter(self):
        m = cw.RobustClassifier(degrees=5, share=1, tol=1e-15).fit(X, Y)
        np.testing.assert_allclose(m.means_, R["lda_means"], atol=1e-7)
        # MASS classifies by Gaussians of the covariance of the Student-t.
        plug_in = Gaussian(m.means_, FullCovariance(m.gaussian_.covariance.values * 5 / 3))
        scores = plug_in.relative(X, np.zeros((3, 1)))
        posterior = np.exp(scores - scores.max(axis=0))
        np.testing.assert_allclose((posterior / posterior.sum(axis=0)).T, R["lda_posterior"], atol=1e-7)


def shares_of(m, rows, y):
    """Weights by their definition."""
    squares = [
        (row - m.means_[k]) @ np.linalg.solve(m.covariances_[k], row - m.means_[k])
        for row, k in zip(rows, np.searchsorted(m.classes_, y), strict=True)
    ]
    freedom = m.degrees_[np.searchsorted(m.classes_, y)]
    return (freedom + rows.shape[1]) / (freedom + squares)


class TestStudent:
    @pytest.mark.parametrize("share", [0, 1])
    @pytest.mark.parametrize("table", [IRIS, WINE], ids=["iris", "wine"])
    def test_log_densities_and_row_weights_by_definition(self, table, share):
        rows, y = table
        m = cw.RobustClassifier(share=share).fit(rows, y)
        each = zip(m.means_, m.covariances_, m.degrees_, strict=True)
        expected = np.stack([multivariate_t(mean, c, df=v).logpdf(rows) for mean, c, v in each], axis=1)
        np.testing.assert_allclose(m.log_density(rows), expected, rtol=1e-9)
        np.testing.assert_allclose(m.row_weights_, shares_of(m, rows, y), rtol=1e-9)
        np.testing.assert_allclose(m.row_weights(rows, y), m.row_weights_, rtol=1e-9)
        assert m.row_weights_.mean() == pytest.approx(1, abs=1e-4)
        assert m.em_.objective[-1] == pytest.approx(expected[np.arange(len(y)), y].sum(), rel=1e-9)
        assert (np.diff(m.em_.objective) >= -1e-9).all()

    def test_nothing_near_is_likelier(self):
        rows, y, _ = with_outliers()
        rows = rows[y == 0]
        y = np.arange(len(rows)) % 2  # two classes of the same distribution, which share a scatter
        m = cw.RobustClassifier(share=1, tol=1e-14).fit(rows, y)
        scale = np.sqrt(np.diagonal(m.covariances_[0]))

        def loss(parameters):
            means = parameters[:4].reshape(2, 2)
            root = np.array([[parameters[4], 0], [parameters[5], parameters[6]]]) * scale[:, None]
            density = Student(
                means, FullCovariance((root @ root.T)[None]), np.ones(2), np.full(2, np.exp(parameters[7]))
            )
            return -density.relative(rows, np.zeros((2, 1)))[y, np.arange(len(y))].sum()

        root = np.linalg.cholesky(m.covariances_[0]) / scale[:, None]
        start = np.r_[m.means_.ravel(), root[0, 0], root[1, 0], root[1, 1], np.log(m.degrees_[0])]
        found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000})
        assert loss(start) <= found.fun + 1e-6
        np.testing.assert_allclose(found.x, start, atol=1e-3)

    def test_degrees_are_found(self):
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((4000, 3)) / np.sqrt(rng.chisquare(4, 4000) / 4)[:, None]
        y = np.arange(4000) % 2
        m = cw.RobustClassifier(share=1).fit(rows, y)
        assert m.degrees_[0] == pytest.approx(4, rel=0.15)
        gaussian = cw.RobustClassifier(share=1).fit(rng.standard_normal((4000, 3)), y)
        assert gaussian.degrees_[0] > 50

    def test_very_many_degrees_are_gaussian(self):
        rows, y = WINE
        m = cw.RobustClassifier(degrees=1e9).fit(rows, y)
        np.testing.assert_allclose(m.predict_proba(rows), cw.QDA().fit(rows, y).predict_proba(rows), atol=1e-5)
        np.testing.assert_allclose(m.row_weights_, 1, atol=1e-5)

    def test_weights_count_rows(self):
        rows, y, _ = with_outliers()
        weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
        repeated = np.repeat(np.arange(len(y)), weights.astype(int))
        one = cw.RobustClassifier(tol=1e-13).fit(rows, y, weights)
        other = cw.RobustClassifier(tol=1e-13).fit(rows[repeated], y[repeated])
        np.testing.assert_allclose(one.predict_proba(rows), other.predict_proba(rows), atol=1e-7)
        np.testing.assert_allclose(one.degrees_, other.degrees_, rtol=1e-4)

    def test_missing_values_are_integrated_out_in_em(self):
        rows, y, _ = with_outliers(rows=120)
        gappy = np.where(np.random.default_rng(2).random(rows.shape) < 0.15, np.nan, rows)
        m = cw.RobustClassifier(share=1, degrees=4, tol=1e-13).fit(gappy, y)
        observed = m.classifier_.density.observed(gappy, np.zeros((2, 1)))
        best = observed[y, np.arange(len(y))].sum()
        assert m.em_.objective[-1] == pytest.approx(best, rel=1e-9)
        rng = np.random.default_rng(3)
        for _ in range(20):  # no parameters near these are likelier
            means = m.means_ + 0.02 * rng.normal(size=m.means_.shape)
            turn = np.eye(2) + 0.02 * rng.normal(size=(2, 2))
            near = Student(means, FullCovariance((turn @ m.covariances_[0] @ turn.T)[None]), np.ones(2), m.degrees_)
            assert near.observed(gappy, np.zeros((2, 1)))[y, np.arange(len(y))].sum() < best
        np.testing.assert_allclose(m.row_weights(gappy, y), m.row_weights_, rtol=1e-6)

    def test_stopping_early_is_said(self):
        with pytest.warns(cw.DegenerateColumnWarning, match="stopped EM early"):
            m = cw.RobustClassifier(max_iter=2).fit(X, Y)
        assert m.n_iter_ == 2

    def test_no_polynomials(self):
        m = cw.RobustClassifier().fit(X, Y)
        with pytest.raises(cw.ClasswiseError, match="with method='t' classes are Student-t; use method='mcd'"):
            m.boundary("setosa", "virginica")
        assert m.distances(X).shape == (150, 3)


class TestDeterminant:
    @pytest.mark.parametrize("table", [(X[50:], Y[50:]), WINE], ids=["iris", "wine"])
    def test_objective_equals_scikit_learns_or_is_better(self, table):
        rows, y = table
        labels = np.unique(y)
        theirs = [np.linalg.slogdet(fast_mcd(rows[y == k], random_state=0)[1])[1] for k in labels]
        one, more = (cw.RobustClassifier(method="mcd", starts=starts).fit(rows, y) for starts in (1, 10))
        assert (more.log_determinants_ <= np.array(theirs) + 1e-9).all()
        assert (more.log_determinants_ <= one.log_determinants_ + 1e-12).all()

    def test_objective_of_rrcov(self):
        rows, y = X[50:], Y[50:]
        m = cw.RobustClassifier(method="mcd", support=R["mcd_rows"][0] / 50 + 1e-9).fit(rows, y)
        np.testing.assert_allclose(m.log_determinants_, R["mcd_log_determinants"], atol=1e-9)

    def test_location_and_covariance_of_scikit_learn(self):
        rows, y = WINE
        m = cw.RobustClassifier(method="mcd", starts=1).fit(rows, y)
        factor = 0.975 / chi2(15).cdf(chi2(13).ppf(0.975))
        for k in range(3):
            theirs = MinCovDet(random_state=0).fit(rows[y == k])
            np.testing.assert_array_equal(m.row_weights_[y == k] == 1, theirs.support_)
            np.testing.assert_allclose(m.means_[k], theirs.location_, rtol=1e-9)
            kept = rows[y == k][theirs.support_]
            np.testing.assert_allclose(m.covariances_[k], factor * np.cov(kept.T, bias=True), rtol=1e-8)

    def test_shared_scatter_is_that_of_the_rows_that_count(self):
        rows, y, far = with_outliers()
        m = cw.RobustClassifier(method="mcd", share=1).fit(rows, y)
        assert m.row_weights_[far].max() == 0
        kept = m.row_weights_ == 1
        away = rows - np.stack([rows[kept & (y == k)].mean(axis=0) for k in (0, 1)])[y]
        factor = 0.975 / chi2(4).cdf(chi2(2).ppf(0.975))
        np.testing.assert_allclose(m.covariances_[0], factor * away[kept].T @ away[kept] / kept.sum(), rtol=1e-9)
        assert len(m.log_determinants_) == 1

    @pytest.mark.parametrize("share", [0, 1])
    def test_weights_count_rows(self, share):
        rows, y, _ = with_outliers()
        weights = np.random.default_rng(1).integers(1, 3, len(y)).astype(float)
        repeated = np.repeat(np.arange(len(y)), weights.astype(int))
        options = {"method": "mcd", "share": share, "starts": 20}
        one = cw.RobustClassifier(**options).fit(rows, y, weights)
        other = cw.RobustClassifier(**options).fit(rows[repeated], y[repeated])
        np.testing.assert_allclose(one.log_determinants_, other.log_determinants_, atol=1e-9)
        np.testing.assert_allclose(one.predict_proba(rows), other.predict_proba(rows), atol=1e-7)

    def test_rows_with_gaps_are_left_out_and_that_is_said(self):
        rows, y, _ = with_outliers()
        gappy = rows.copy()
        gappy[:5, 0] = np.nan
        with pytest.warns(cw.DegenerateColumnWarning, match="left 5 rows with missing numbers out"):
            m = cw.RobustClassifier(method="mcd").fit(gappy, y)
        np.testing.assert_allclose(m.means_, cw.RobustClassifier(method="mcd").fit(rows[5:], y[5:]).means_)
        assert np.isfinite(m.predict_log_proba(gappy)).all()
        assert m.row_weights_[:5].max() == 0

    def test_boundaries_are_polynomials(self):
        m = cw.RobustClassifier(method="mcd", share=1).fit(*with_outliers()[:2])
        assert m.boundary(0, 1).kind == "line"
        with pytest.raises(cw.NotAvailableError, match="there are no degrees of freedom"):
            m.degrees_  # noqa: B018

    def test_a_plane_is_refused(self):
        rows, y, _ = with_outliers()
        rows[np.arange(200) % 5 > 0, 1] = 7.0
        with pytest.raises(cw.SingularCovarianceError, match="So many rows of class 0 hold one value in column 1"):
            cw.RobustClassifier(method="mcd").fit(rows, y)

    def test_one_enormous_value_is_no_collapse(self):
        rows, y, _ = with_outliers()
        model = cw.RobustClassifier(degrees=4, share=1)
        expected = model.fit(rows, y).covariances_
        rows[0, 0] = 1e9
        np.testing.assert_allclose(model.fit(rows, y).covariances_, expected, rtol=0.2)


class TestNoEnd:
    """The likelihood has no maximum if more than (v + p - 1) / (v + p) of the rows lie in a plane."""

    def test_one_value_in_a_column(self):
        rows, y, _ = with_outliers(share=0.0)
        rows[np.arange(len(rows)) % 19 > 0, 1] = 7.0  # 95 %, which is more than (4 + 1) / (4 + 2)
        for share in (0, 1):
            with pytest.raises(cw.SingularCovarianceError, match="hold one value in column 1"):
                cw.RobustClassifier(degrees=4, share=share).fit(rows, y)
        assert cw.RobustClassifier(degrees=50, share=1).fit(rows, y).em_.converged  # which 54 / 55 would take

    def test_a_plane(self):
        rows, y, _ = with_outliers(share=0.0)
        rows[np.arange(len(rows)) % 19 > 0, 1] = rows[np.arange(len(rows)) % 19 > 0, 0]
        with pytest.raises(
            cw.SingularCovarianceError, match=r"Too many rows of all classes lie in a plane.*, or give more"
        ):
            cw.RobustClassifier(degrees=4, share=1).fit(rows, y)


@pytest.mark.parametrize("options", [{"method": "t"}, {"method": "mcd"}, {"method": "mcd", "share": 1}], ids=repr)
class TestOutliers:
    def test_they_hardly_count(self, options):
        rows, y, far = with_outliers()
        clean = with_outliers(share=0.0)[0]
        m, gaussian = cw.RobustClassifier(**options).fit(rows, y), cw.QDA().fit(rows, y)
        assert m.row_weights_[far].max() < 0.1 < np.median(m.row_weights_[~far])
        expected = cw.QDA().fit(clean, y).means_
        assert np.abs(m.means_ - expected).max() < 0.4 < np.abs(gaussian.means_ - expected).max()

    def test_other_columns_and_files(self, options, tmp_path):
        rows, y, _ = with_outliers()
        table = pd.DataFrame(rows, columns=["a", "b"]).assign(color=np.where(y == 1, "red", "blue"))
        m = cw.RobustClassifier(**options).fit(table, y)
        cw.save(m, tmp_path / "m.cw")
        again = cw.load(tmp_path / "m.cw")
        np.testing.assert_array_equal(again.predict_proba(table), m.predict_proba(table))
        np.testing.assert_allclose(again.row_weights(table, y), m.row_weights(table, y))
        table.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
        source = cw.RobustClassifier(**options).fit_source(tmp_path / "rows.csv", target="y")
        np.testing.assert_allclose(source.predict_proba(table), m.predict_proba(table), atol=1e-9)
        assert len(m.with_priors("uniform").row_weights_) == 200


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"method": "mve"}, "method='mve' is not an option; choose 't' or 'mcd'"),
            ({"share": 0.5}, "share=0.5 is not an option; give 0"),
            ({"degrees": 0.5}, "degrees=0.5 is not an option; give a number of at least 1"),
            ({"degrees": "cv"}, "degrees='cv' is not an option; choose 'estimate'"),
            ({"support": 0.3}, "support=0.3 is not an option; give a number from 0.5 to 1"),
            ({"starts": 0}, "starts=0 is not an option"),
        ],
    )
    def test_options(self, options, match):
        with pytest.raises(cw.ClasswiseError, match=match):
            cw.RobustClassifier(**options).fit(X, Y)

    def test_too_few_rows(self):
        few = np.r_[0:4, 50:54]
        with pytest.raises(
            cw.SingularCovarianceError, match=r"has rank 3.*Share one scatter \(share=1\), drop columns"
        ):
            cw.RobustClassifier().fit(X[few], Y[few])
        with pytest.raises(cw.ClasswiseError, match="needs more than 6 rows without gaps in class 'setosa'"):
            cw.RobustClassifier(method="mcd").fit(X[few], Y[few])

    def test_statistics_do_not_suffice(self):
        m = cw.RobustClassifier().fit(X, Y)
        for name in ("partial_fit", "fit_statistics", "leave_one_out"):
            with pytest.raises(cw.NotAvailableError, match="learns from rows, which a robust fit goes through many"):
                getattr(m, name)
