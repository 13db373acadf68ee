"""Bayesian logistic regression: numbers from R, from scikit-learn, from statsmodels, and from its own definitions."""

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

import classwise as cw
from classwise import logistic
from classwise.logistic import Design, Expansion, Laplace, Logit, Probit, Regression, Softmax
from classwise.logistic.predictive import _log_rare_vast, _log_rare_wide, cubature, grid, lattice, log_average
from classwise.statistics.curvature import Indicated, gather_curvature

IRIS = load_iris(return_X_y=True)
SOME_ROWS = json.loads(Path(__file__).with_name("data").joinpath("logistic_reference.json").read_text())
PRECISIONS = ("0.01", "0.1", "1", "10")

# How far the integrated predictive is from the exact one on the 250 rows of logit_synth: Laplace's own error.
LAPLACE_ERROR = {"0.01": 0.0084, "0.1": 0.0060, "1": 0.0033, "10": 0.00092}


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def plain(precision, **options):
    """As R's reference has it: raw columns, and a prior on the intercept too."""
    return cw.BayesianLogistic(precision=float(precision), standardize=False, penalize_intercept=True, **options)


def assert_is_reference(m, X, expected, step=1):
    weights = np.append(m.coef_[0], m.intercept_)
    np.testing.assert_allclose(weights, expected["weights"], atol=1e-8)
    np.testing.assert_allclose(m.coef_cov_, expected["covariance"], atol=1e-8)
    assert m.log_marginal_likelihood_ == pytest.approx(expected["evidence"], abs=1e-8)
    for predictive in ("plugin", "moderated", "integrated"):
        p = np.exp(m.classifier_.predicting(predictive).log_posterior(X[::step])[1])
        np.testing.assert_allclose(p, expected[predictive], atol=1e-8)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_separable_iris_as_in_r(precision):
    X, y = IRIS
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    assert_is_reference(plain(precision).fit(X, y == 0), X, SOME_ROWS[precision], step=25)


class TestWholeReference:
    @pytest.mark.parametrize("name", ["logit_SAheart_esl42", "logit_synth", "logit_iris_separable_setosa"])
    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_map_covariance_evidence_and_predictives(self, reference, name, precision):
        folder = reference / name
        table = pd.read_csv(folder / "data.csv")
        X, y = table.drop(columns="y").to_numpy(), table["y"]
        coefficients = pd.read_csv(folder / f"map_tau{precision}_coef_cov.csv")
        order = [*range(1, len(coefficients)), 0]
        covariance = coefficients.drop(columns=["name", "coef"]).to_numpy()
        rows = pd.read_csv(folder / f"map_tau{precision}_pred_train.csv")
        facts = json.loads((folder / "meta.json").read_text())[f"tau{precision}"]
        expected = {
            "weights": coefficients["coef"].to_numpy()[order],
            "covariance": covariance[order][:, order],
            "evidence": facts["log_evidence_laplace"],
            "plugin": rows["p_plugin"],
            "moderated": rows["p_mackay"],
            "integrated": rows["p_laplace_integrated"],
        }
        assert_is_reference(plain(precision).fit(X, y), X, expected)
        flat = cw.BayesianLogistic(precision=float(precision), standardize=False).fit(X, y)
        unpenalized = list(facts["map_unpenalised_intercept"].values())
        np.testing.assert_allclose(np.append(flat.intercept_, flat.coef_[0]), unpenalized, atol=1e-8)

    @pytest.mark.parametrize("name", ["logit_SAheart_esl42", "logit_synth"])
    def test_maximum_likelihood(self, reference, name):
        table = pd.read_csv(reference / name / "data.csv")
        glm = pd.read_csv(reference / name / "glm_coef.csv")
        for precision in (0, 1e-12):
            m = cw.BayesianLogistic(precision=precision).fit(table.drop(columns="y"), table["y"])
            np.testing.assert_allclose(np.append(m.intercept_, m.coef_[0]), glm["Estimate"], atol=1e-8)
            np.testing.assert_allclose(
                np.append(m.intercept_std_, m.coef_std_[0]), glm["Std. Error"], rtol=1e-5 if precision == 0 else 1e-4
            )

    def test_table_of_the_elements_of_statistical_learning(self, reference):
        """ESL, Table 4.2, to its three decimals."""
        table = pd.read_csv(reference / "logit_SAheart_esl42" / "data.csv")
        m = cw.BayesianLogistic(precision=1e-9).fit(table.drop(columns="y"), table["y"])
        weights = np.append(m.intercept_, m.coef_[0])
        errors = np.append(m.intercept_std_, m.coef_std_[0])
        np.testing.assert_allclose(weights, [-4.130, 0.006, 0.080, 0.185, 0.939, -0.035, 0.001, 0.043], atol=6e-4)
        np.testing.assert_allclose(errors, [0.964, 0.006, 0.026, 0.057, 0.225, 0.029, 0.004, 0.010], atol=6e-4)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_the_exact_predictive(self, reference, precision):
        table = pd.read_csv(reference / "logit_synth" / "data.csv")
        exact = pd.read_csv(reference / "logit_synth" / f"exact_tau{precision}_pred_train.csv")["p_exact"]
        m = plain(precision).fit(table[["xs", "ys"]], table["y"])
        assert np.abs(m.predict_proba(table[["xs", "ys"]])[:, 1] - exact).max() < LAPLACE_ERROR[precision]


class TestAgainstPeers:
    @pytest.mark.parametrize("load", [load_iris, load_wine])
    @pytest.mark.parametrize("precision", [0.1, 1.0, 10.0])
    def test_softmax_is_scikit_learns(self, load, precision):
        X, y = load(return_X_y=True)
        X = standardized(X)
        m = cw.BayesianLogistic(precision=precision, standardize=False).fit(X, y)
        exact = LogisticRegression(C=1 / precision, solver="newton-cholesky", tol=1e-12).fit(X, y)
        np.testing.assert_allclose(m.coef_, exact.coef_, atol=1e-6)
        np.testing.assert_allclose(m.intercept_, exact.intercept_ - exact.intercept_.mean(), atol=1e-6)
        np.testing.assert_allclose(m.coef_.sum(axis=0), 0, atol=1e-12)
        peer = LogisticRegression(C=1 / precision, tol=1e-8, max_iter=10_000).fit(X, y)
        assert slope_norm(m, X, y, precision) < slope_norm(peer, X, y, precision)

    @pytest.mark.parametrize("precision", [0.1, 1.0])
    def test_two_classes_are_scikit_learns(self, precision):
        X, y = load_breast_cancer(return_X_y=True)
        X = standardized(X)
        m = cw.BayesianLogistic(precision=precision, predictive="plugin").fit(X, y)
        peer = LogisticRegression(C=1 / precision, tol=1e-12, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(m.predict_proba(X), peer.predict_proba(X), atol=1e-6)

    def test_probit_is_statsmodels(self):
        discrete = pytest.importorskip("statsmodels.discrete.discrete_model")
        X, y = load_breast_cancer(return_X_y=True)
        X = X[:, [1, 4, 8, 9]]
        m = cw.BayesianLogistic(link="probit", precision=0).fit(X, y)
        peer = discrete.Probit(y, np.column_stack([np.ones(len(X)), X])).fit(disp=0, tol=1e-12)
        np.testing.assert_allclose(np.append(m.intercept_, m.coef_[0]), peer.params, rtol=1e-6)
        np.testing.assert_allclose(np.append(m.intercept_std_, m.coef_std_[0]), peer.bse, rtol=1e-6)


def slope_norm(m, X, y, precision):
    """The gradient of the objective in all weights, computed from its definition."""
    scores = X @ m.coef_.T + m.intercept_
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    residuals = p / p.sum(axis=1, keepdims=True) - (y[:, None] == m.classes_)
    return np.linalg.norm(np.c_[residuals.T @ X + precision * m.coef_, residuals.sum(axis=0)])


def model_of(likelihood, X):
    p = X.shape[1]
    return Regression(Design(np.arange(p), np.full(p, -1), np.zeros(p), np.zeros(p), np.ones(p), True), likelihood)


@pytest.mark.parametrize("likelihood", [Logit(), Probit(), Softmax(3), Softmax(5)], ids=str)
def test_gradient_and_hessian_match_finite_differences(likelihood):
    rng = np.random.default_rng(0)
    X, codes, weights = rng.normal(size=(40, 3)), rng.integers(likelihood.classes, size=40), rng.uniform(0.5, 2, 40)
    model = model_of(likelihood, X)
    precision = np.full(model.shape, 0.7)

    def at(v):
        return Expansion(likelihood, v, model.curvature(v, X, codes, weights))

    here = rng.normal(size=model.shape)
    step = 1e-5
    gradient, hessian = np.empty(here.size), np.empty((here.size, here.size))
    for i in range(here.size):
        change = np.zeros(here.size)
        change[i] = step
        above, below = at(here + change.reshape(here.shape)), at(here - change.reshape(here.shape))
        gradient[i] = (above.objective(precision) - below.objective(precision)) / (2 * step)
        hessian[i] = (above.gradient(precision) - below.gradient(precision)).ravel() / (2 * step)
    np.testing.assert_allclose(at(here).gradient(precision).ravel(), gradient, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(at(here).hessian(precision), hessian, rtol=1e-7, atol=1e-7)
    slope = model.slope(here, X, codes, weights)
    np.testing.assert_array_equal(slope.gradient, at(here).curvature.gradient)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("likelihood", [Logit(), Softmax(4)], ids=str)
def test_slopes_of_rows_as_they_are(likelihood, intercept):
    """The direct way, without columns, against that by columns: offsets, scales and weights of rows."""
    rng = np.random.default_rng(0)
    center, scale = np.array([300.0, -2.0, 0.0]), np.array([4.0, 1.0, 1e-5])
    X = (center + scale * rng.normal(size=(9000, 3))).astype(np.float32)
    codes, weights = rng.integers(likelihood.classes, size=9000), rng.uniform(0.5, 2, 9000)
    design = Design(np.arange(3), np.full(3, -1), center, intercept * center, scale, intercept)
    by_columns, direct = Regression(design, likelihood), Regression(design, likelihood, direct=True)
    at = rng.normal(size=direct.shape)
    for own in (None, weights):
        expected, found = by_columns.slope(at, X, codes, own), direct.slope(at, X, codes, own)
        np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-10, atol=1e-8)
        assert found.loss == pytest.approx(expected.loss, rel=1e-12)
        assert found.weight == expected.weight
        assert found.products.shape == expected.products.shape == (0, direct.shape[1], direct.shape[1])


@pytest.mark.parametrize(("columns", "factors"), [(1, 8), (4, 10), (21, 10), (21, 55), (100, 10), (101, 10), (3, 0)])
def test_products_of_columns_are_their_definition(columns, factors):
    """Two ways, for few and for many factors, over blocks that do not divide the rows."""
    rng = np.random.default_rng(0)
    z, bends = rng.normal(size=(columns, 2001)), rng.uniform(size=(factors, 2001))
    found = gather_curvature(z, np.zeros(2001), np.zeros((1, 2001)), bends, None).products
    np.testing.assert_allclose(found, np.einsum("cm,im,jm->cij", bends, z, z, optimize=True), rtol=1e-12, atol=1e-10)


class TestManyLevels:
    """A category of many levels stands as indicators, and gives the same sums as columns of yes and no."""

    COUNTS: ClassVar = {1: 40, 2: 3, 4: 33}  # beside numbers in columns 0 and 3

    def rows(self, count=2500):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(count, 5))
        for j, levels in self.COUNTS.items():
            rows[:, j] = rng.integers(-1, levels + 1, size=count)  # with missing values, and levels never seen
        rows[::7, 3] = np.nan
        return rows, rng.uniform(0.5, 2, count), rng

    def model(self, likelihood, intercept, rng):
        parts = [(j, level) for j in range(5) for level in (range(self.COUNTS[j]) if j in self.COUNTS else [-1])]
        source, level = np.array(parts).T
        mean, scale = rng.uniform(0.01, 0.2, len(source)), np.where(level < 0, 1.7, 1.0)
        return Regression(Design(source, level, mean, intercept * mean, scale, intercept), likelihood)

    @pytest.mark.parametrize("intercept", [True, False])
    @pytest.mark.parametrize("likelihood", [Logit(), Softmax(3)], ids=str)
    def test_curvature_slope_averages_and_scores_are_those_of_columns(self, monkeypatch, likelihood, intercept):
        rows, weights, rng = self.rows()
        codes, lean = rng.integers(likelihood.classes, size=len(rows)), self.model(likelihood, intercept, rng)
        at = rng.normal(size=lean.shape)
        root = rng.normal(size=(at.size, at.size)) / at.size
        beliefs = Laplace.of(at, np.eye(at.size) + root @ root.T)
        assert isinstance(lean.design.leanest(rows), Indicated)
        own = (rows, codes, weights)
        found = [lean.curvature(at, *own), lean.slope(at, *own), lean.averaged(beliefs, *own)]
        scores = beliefs.scores(lean.design.leanest(rows))
        monkeypatch.setattr(logistic.design, "MANY_LEVELS", 1000)
        plain = Regression(replace(lean.design), likelihood)
        expected = [plain.curvature(at, *own), plain.slope(at, *own), plain.averaged(beliefs, *own)]
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.loss == pytest.approx(theirs.loss, rel=1e-12)
            np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-10, atol=1e-9)
            np.testing.assert_allclose(ours.products, theirs.products, rtol=1e-10, atol=1e-9)
        for ours, theirs in zip(scores, beliefs.scores(plain.design.columns(rows)), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize("numbers", [2, 0])
    def test_no_column_for_each_level_is_made_of_many_rows(self, monkeypatch, classes, numbers):
        rng = np.random.default_rng(0)
        level, labels = rng.integers(0, 150, 3000), rng.integers(0, classes, 3000)
        labels[level % 5 == 0] = 0
        table = pd.DataFrame(rng.normal(size=(3000, numbers)), columns=list("ab")[:numbers])
        table["city"] = [f"city {i}" for i in level]
        table.loc[::50, "city"] = None
        made = []
        columns = Design.columns

        def seen(design, rows, out=None):
            made.append(design.width if len(rows) > 200 else 0)
            return columns(design, rows, out)

        monkeypatch.setattr(Design, "columns", seen)
        with pytest.warns(cw.ImputedValueWarning):
            m = cw.BayesianLogistic().fit(table, labels)
        p = m.predict_proba(table)
        assert max(made) == numbers + 1
        monkeypatch.setattr(logistic.design, "MANY_LEVELS", 1000)
        with pytest.warns(cw.ImputedValueWarning):
            plain = cw.BayesianLogistic().fit(table, labels)
        np.testing.assert_allclose(p, plain.predict_proba(table), rtol=0, atol=1e-9)
        np.testing.assert_allclose(m.coef_cov_, plain.coef_cov_, rtol=0, atol=1e-9)


class TestAverages:
    @pytest.mark.parametrize("deviation", [0.01, 0.9, 1.1, 3.0, 12.0, 60.0])
    @pytest.mark.parametrize("mean", [0.0, -0.7, 4.0, -30.0])
    def test_the_logit_normal_integral(self, mean, deviation):
        def integrand(t):
            return expit(mean + deviation * t) * np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)

        turn = -mean / deviation
        breaks = sorted(
            {float(np.clip(b, -38, 38)) for b in (turn, turn - 1 / deviation, turn + 1 / deviation, 0, deviation)}
        )
        exact, _ = quad(integrand, -38, 38, points=breaks, epsabs=0, epsrel=1e-12, limit=1000)
        ours = log_average(Logit(), np.array([[mean]]), np.array([[[deviation**2]]]))
        assert np.exp(ours[1, 0]) == pytest.approx(exact, rel=1e-9)
        assert np.exp(ours).sum() == pytest.approx(1, abs=1e-12)

    @pytest.mark.parametrize("mean", [0.0, -1.0, -50.0, -480.5, -961.0, -1441.5])
    def test_of_two_classes_the_rules_for_wide_and_for_vast_gaussians_agree(self, mean):
        for deviation in (20.0, 30.0, 40.0):
            wide, vast = (rule(np.array([mean]), np.array([deviation])) for rule in (_log_rare_wide, _log_rare_vast))
            np.testing.assert_allclose(vast, wide, rtol=1e-12, atol=1e-12)

    def test_of_two_classes_a_gaussian_may_be_of_any_width(self):
        """A row far from all others: points as close as the score bends would fill the memory."""
        means, deviations = np.array([[0.0, 3.0, -1e9, -1e20]]), np.array([[[1e9, 1e9, 1e8, 1e9]]])
        logs = log_average(Logit(), means, deviations**2)
        np.testing.assert_allclose(np.exp(logs).sum(axis=0), 1)
        np.testing.assert_allclose(logs[:, 0], np.log(0.5))
        np.testing.assert_allclose(np.exp(logs[1]), ndtr(means[0] / deviations[0, 0]), rtol=1e-7)

    def test_a_row_far_from_all_others_is_predicted(self):
        m = cw.BayesianLogistic().fit([[1.0], [2.0], [6.0], [7.0]], ["low", "low", "high", "high"])
        np.testing.assert_allclose(m.predict_proba([[1e12], [-1e12]]).sum(axis=1), 1)

    def test_probit_in_closed_form_is_the_integral(self):
        exact, _ = quad(lambda t: ndtr(0.4 + 1.5 * t) * np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi), -10, 10)
        ours = log_average(Probit(), np.array([[0.4]]), np.array([[[2.25]]]))
        assert np.exp(ours[1, 0]) == pytest.approx(exact, abs=1e-9)

    @pytest.mark.parametrize("rule", [lattice, cubature, grid])
    @pytest.mark.parametrize("dimensions", [2, 3])
    def test_rules_have_the_moments_of_a_standard_normal(self, rule, dimensions):
        points, weights = rule(dimensions)
        assert weights.sum() == pytest.approx(1)
        np.testing.assert_allclose(weights @ points, 0, atol=1e-12)
        np.testing.assert_allclose(points.T @ (points * weights[:, None]), np.eye(dimensions), atol=1e-9)

    @pytest.mark.parametrize(("classes", "error"), [(3, 1e-5), (4, 1e-3), (6, 3e-3)])
    @pytest.mark.parametrize("variance", [0.02, 1.0])
    def test_softmax_against_a_large_sample(self, classes, error, variance):
        rng = np.random.default_rng(1)
        likelihood = Softmax(classes)
        r = classes - 1
        mean, root = rng.normal(size=(r, 1)), rng.normal(size=(r, r)) * np.sqrt(variance / r / r)
        ours = np.exp(log_average(likelihood, mean, (root @ root.T)[:, :, None]))[:, 0]
        normal = rng.standard_normal((r, 400_000))
        drawn = np.exp(likelihood.log_probabilities(likelihood.basis @ (mean + root @ np.c_[normal, -normal])))
        noise = 5 * drawn.std(axis=1) / np.sqrt(drawn.shape[1])
        assert (np.abs(ours - drawn.mean(axis=1)) < noise + error * variance).all()
        assert ours.sum() == pytest.approx(1, abs=1e-12)

    def test_probabilities_far_below_the_smallest_number(self):
        logs = log_average(Softmax(3), np.array([[900.0], [0.0]]), np.zeros((2, 2, 1)))
        assert np.isfinite(logs).all()
        assert logs.min() < -700
        two = log_average(Logit(), np.array([[-2000.0]]), np.array([[[4.0]]]))
        assert two[1, 0] == pytest.approx(-2000 + 2, rel=1e-9)  # E e^s = e^(m + v/2) where s is far below 0
