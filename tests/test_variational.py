"""The Gaussian nearest to the posterior of the weights: its conditions, its bound, and what it is good for."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import dblquad, quad
from scipy.linalg import cholesky
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_ndtr
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import classwise as cw
from classwise.errors import ClasswiseError
from classwise.logistic import Laplace, Logit, Probit, Regression, Softmax, nearest_gaussian
from classwise.logistic.predictive import averaged_losses
from classwise.statistics import Curvature

IRIS = load_iris(return_X_y=True)
LOG_P = {"logit": log_expit, "probit": log_ndtr}
PLAIN = {"fit_intercept": False, "standardize": False}


def variational(**options):
    return cw.BayesianLogistic(posterior="variational", **options)


def few_rows(columns, rows=12, seed=0):
    """Rows and labels, nearly separable."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] * 3 + rng.logistic(size=rows) > 0).astype(int)


def normal_rule(dimensions, each=60):
    """Points and weights of N(0, I) by a product of Gauss-Hermite's rules over weights, not over scores."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(each)
    points = np.stack(np.meshgrid(*[nodes] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
    shares = np.stack(np.meshgrid(*[weights / weights.sum()] * dimensions, indexing="ij"), axis=-1)
    return points, shares.reshape(-1, dimensions).prod(axis=1)


def exact_bound(mean, root, X, y, precision, log_p=log_expit):
    """E log p(y, w) - E log q of q = N(mean, root root'), with all averages over the weights themselves."""
    points, shares = normal_rule(len(mean))
    weights = mean + points @ root.T
    signs = np.where(y == 1, 1.0, -1.0)
    likelihood = log_p((weights @ X.T) * signs).sum(axis=1)
    prior = 0.5 * len(mean) * np.log(precision / (2 * np.pi)) - 0.5 * precision * (weights**2).sum(axis=1)
    entropy = 0.5 * len(mean) * (1 + np.log(2 * np.pi)) + np.log(np.abs(np.diagonal(root))).sum()
    return float(shares @ (likelihood + prior) + entropy)


class TestAverages:
    """Of losses, residuals and second derivatives over the scores of a row."""

    @pytest.mark.parametrize("likelihood", [Logit(), Probit()])
    @pytest.mark.parametrize("deviation", [0.0, 0.04, 0.19, 0.5, 0.51, 1.0, 3.0, 40.0])
    def test_of_two_classes_are_exact(self, likelihood, deviation):
        means = np.array([-30.0, -2.0, 0.0, 0.3, 5.0])
        variance = np.full((1, 1, 5), deviation**2)
        t = np.linspace(-10, 10, 40_001)
        shares = np.exp(-0.5 * t * t)
        for code in (0, 1):
            found = averaged_losses(likelihood, means[None], variance, np.full(5, code))
            for i, mean in enumerate(means):
                at = likelihood.losses((mean + deviation * t)[None], np.full(len(t), code))
                for part, expected in zip(found, at, strict=True):
                    np.testing.assert_allclose(
                        part[..., i], expected @ shares / shares.sum(), rtol=1e-8, atol=1e-10 * (1 + deviation)
                    )

    @pytest.mark.parametrize(("scale", "tolerance"), [(0.01, 1e-9), (0.2, 1e-5), (1.5, 1e-5), (4.0, 5e-3)])
    def test_of_three_classes(self, scale, tolerance):
        likelihood, rng = Softmax(3), np.random.default_rng(0)
        mean, root = rng.normal(size=2), scale * np.array([[1.0, 0.0], [0.4, 0.7]])
        found = averaged_losses(likelihood, mean[:, None], (root @ root.T)[..., None], np.array([2]))
        axis = np.linspace(-8, 8, 401)
        t = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        shares = np.exp(-0.5 * (t**2).sum(axis=1))
        at = likelihood.losses(likelihood.basis @ (mean + t @ root.T).T, np.full(len(t), 2))
        for part, expected in zip(found, at, strict=True):
            np.testing.assert_allclose(part[..., 0], expected @ shares / shares.sum(), atol=tolerance * (1 + scale))

    def test_without_spread_are_the_losses_themselves(self):
        likelihood, rng = Softmax(4), np.random.default_rng(1)
        mean, codes = rng.normal(size=(3, 7)), rng.integers(4, size=7)
        found = averaged_losses(likelihood, mean, np.zeros((3, 3, 7)), codes)
        for part, expected in zip(found, likelihood.losses(likelihood.basis @ mean, codes), strict=True):
            np.testing.assert_allclose(part, expected, atol=1e-14)

    def test_do_not_depend_on_blocks(self):
        """Rows of all widths at once, as one by one."""
        rng = np.random.default_rng(2)
        mean, variance = 3 * rng.normal(size=(1, 400)), np.exp(rng.uniform(-12, 6, size=(1, 1, 400)))
        codes = rng.integers(2, size=400)
        together = averaged_losses(Logit(), mean, variance, codes)
        for i in range(0, 400, 37):
            alone = averaged_losses(Logit(), mean[:, [i]], variance[..., [i]], codes[[i]])
            for part, own in zip(together, alone, strict=True):
                np.testing.assert_allclose(part[..., [i]], own, rtol=1e-10, atol=1e-12)


class TestConditions:
    """E ∇loss + T μ = 0 and Λ = T + E ∇²loss, with averages over the weights themselves."""

    @pytest.mark.parametrize("link", ["logit", "probit"])
    def test_of_two_classes(self, link):
        X, y = few_rows(2)
        m = variational(link=link, precision=0.5, **PLAIN).fit(X, y)
        mean, covariance = m.coef_[0], m.coef_cov_
        points, shares = normal_rule(2)
        weights = mean + points @ cholesky(covariance, lower=True).T
        likelihood = {"logit": Logit(), "probit": Probit()}[link]
        gradient, hessian = 0.5 * mean, 0.5 * np.eye(2)
        for row, code in zip(X, y, strict=True):
            losses = likelihood.losses((weights @ row)[None], np.full(len(weights), code))
            gradient = gradient + (losses.residuals[0] @ shares) * row
            hessian = hessian + (losses.factors[0] @ shares) * np.outer(row, row)
        np.testing.assert_allclose(gradient, 0, atol=1e-5)
        np.testing.assert_allclose(covariance @ hessian, np.eye(2), atol=1e-5)

    @pytest.mark.parametrize("classes", [2, 3, 4])
    def test_of_softmax(self, classes):
        """By a large sample: within its own noise."""
        rng = np.random.default_rng(3)
        X = rng.normal(size=(40, 2))
        y = (3 * X @ rng.normal(size=(2, classes)) + rng.gumbel(size=(40, classes))).argmax(axis=1)
        likelihood = Softmax(classes)
        if classes == 2:  # softmax itself, which the estimator leaves to the logit
            design = cw.BayesianLogistic(precision=1.0, **PLAIN).fit(X, y).classifier_.design
            model, precision = Regression(design, likelihood), np.full((1, 2), 0.7)
            start = Laplace(np.zeros((1, 2)), np.eye(2))
            beliefs = nearest_gaussian(lambda q: model.averaged(q, X, y, None), likelihood, start, precision).beliefs
        else:
            beliefs = variational(precision=0.7, **PLAIN).fit(X, y).classifier_.beliefs
        draws, half = 100_000, rng.standard_normal((beliefs.mean.size, 50_000))
        weights = beliefs.mean + (beliefs.root @ np.hstack([half, -half])).T.reshape(draws, *beliefs.mean.shape)
        gradient, products = np.zeros((classes, 2)), np.zeros((likelihood.factors, 2, 2))
        for row, code in zip(X, y, strict=True):
            losses = likelihood.losses(likelihood.basis @ (weights @ row).T, np.full(draws, code))
            gradient += np.outer(losses.residuals.mean(axis=1), row)
            products += losses.factors.mean(axis=1)[:, None, None] * np.outer(row, row)
        slope = (likelihood.basis.T @ gradient + 0.7 * beliefs.mean).ravel()
        hessian = likelihood.hessian(products) + 0.7 * np.eye(beliefs.mean.size)
        np.testing.assert_allclose(beliefs.root.T @ slope, 0, atol=0.02)  # in deviations
        np.testing.assert_allclose(beliefs.root.T @ hessian @ beliefs.root, np.eye(len(hessian)), atol=0.02)


class TestBound:
    @pytest.mark.parametrize("link", ["logit", "probit"])
    @pytest.mark.parametrize("precision", [0.01, 1.0])
    def test_of_one_weight_is_below_the_evidence_and_above_that_of_laplace(self, link, precision):
        X, y = few_rows(1)
        signs, log_p = np.where(y == 1, 1.0, -1.0), LOG_P[link]

        def joint(w):
            return np.exp(log_p(signs * X[:, 0] * w).sum() - 0.5 * precision * w * w) * np.sqrt(precision / 2 / np.pi)

        evidence = np.log(quad(joint, -20, 60, limit=400, points=[0, 2, 8])[0])
        m = variational(link=link, precision=precision, **PLAIN).fit(X, y)
        laplace = cw.BayesianLogistic(link=link, precision=precision, **PLAIN).fit(X, y)
        own, theirs = (exact_bound(f.coef_[0], np.sqrt(f.coef_cov_), X, y, precision, log_p) for f in (m, laplace))
        assert m.log_marginal_likelihood_ == pytest.approx(own, abs=1e-6)
        assert theirs + 1e-3 < own < evidence

    @pytest.mark.parametrize("columns", [1, 2])
    def test_is_the_largest_that_a_general_optimizer_finds(self, columns):
        X, y = few_rows(columns)
        lower = np.tril_indices(columns)

        def root_of(parameters):
            root = np.zeros((columns, columns))
            root[lower] = parameters[columns:]
            root[np.diag_indices(columns)] = np.exp(root.diagonal())
            return root

        def negative(parameters):
            return -exact_bound(parameters[:columns], root_of(parameters), X, y, 0.3)

        best = minimize(negative, np.zeros(columns + len(lower[0])), method="BFGS", options={"gtol": 1e-7})
        m = variational(precision=0.3, **PLAIN).fit(X, y)
        root = root_of(best.x)
        assert m.log_marginal_likelihood_ == pytest.approx(-best.fun, abs=1e-7)
        np.testing.assert_allclose(m.coef_[0], best.x[:columns], atol=1e-3)
        np.testing.assert_allclose(m.coef_cov_, root @ root.T, atol=3e-3)

    def test_of_a_flat_intercept(self):
        """The prior of density one has no normalizing constant: by brute force over both weights."""
        X, y = few_rows(1, rows=25, seed=4)
        m = variational(precision=1.0, standardize=False).fit(X, y)
        signs = np.where(y == 1, 1.0, -1.0)

        def joint(b, w):
            return np.exp(log_expit(signs * (X[:, 0] * w + b)).sum() - 0.5 * w * w) / np.sqrt(2 * np.pi)

        evidence = np.log(dblquad(joint, -4, 8, -8, 8)[0])
        assert evidence - 0.2 < m.log_marginal_likelihood_ < evidence

    def test_there_is_none_without_a_prior(self):
        X, y = few_rows(2, rows=80, seed=1)
        m = variational(precision=0).fit(X, y)
        assert not hasattr(m, "log_marginal_likelihood_")
        # Averaged residuals are averaged probabilities less labels, and orthogonal to all columns.
        residuals = m.predict_proba(X)[:, 1] - y
        np.testing.assert_allclose([residuals.sum(), *(residuals @ X)], 0, atol=1e-5)


class TestAgainstLaplace:
    def test_with_many_rows_they_agree(self):
        """They differ by O(1 / n) in deviations of the posterior: ten times the rows, about a tenth of it."""
        gaps = []
        for rows in (500, 5000):
            X, y = few_rows(3, rows=rows, seed=5)
            own, laplace = variational(precision=1.0).fit(X, y), cw.BayesianLogistic(precision=1.0).fit(X, y)
            gaps.append(
                [
                    np.abs((own.coef_ - laplace.coef_) / laplace.coef_).max(),
                    np.abs(own.coef_std_ / laplace.coef_std_ - 1).max(),
                ]
            )
        assert (np.array(gaps[1]) < 0.2 * np.array(gaps[0])).all()
        assert max(gaps[1]) < 3e-3

    def test_predictions_are_nearer_to_exact_ones(self):
        """Two weights and classes that can be separated: the exact posterior on a grid."""
        X, y = few_rows(2, rows=14, seed=8)
        X[:, 0] += np.where(y == 1, 0.7, -0.7)
        axis = np.linspace(-30, 60, 601)
        weights = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        logs = log_expit((weights @ X.T) * np.where(y == 1, 1, -1)).sum(axis=1) - 0.025 * (weights**2).sum(axis=1)
        shares = np.exp(logs - logs.max())
        exact = expit(X @ weights.T) @ shares / shares.sum()
        gaps = [
            np.abs(make(precision=0.05, **PLAIN).fit(X, y).predict_proba(X)[:, 1] - exact).max()
            for make in (variational, cw.BayesianLogistic)
        ]
        assert gaps[0] < 0.25 * gaps[1]

    def test_predictions_of_three_classes_are_nearer_to_exact_ones(self):
        """One column, and so two contrasts of weights: the exact posterior on a grid."""
        rng = np.random.default_rng(9)
        X, y = rng.normal(size=(12, 1)) + np.repeat([[-3.0], [0.5], [3.0]], 4, axis=0), np.repeat([0, 1, 2], 4)
        axis = np.linspace(-20, 20, 501)
        weights = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        scores = X[:, 0, None, None] * (Softmax(3).basis @ weights.T)
        logs = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
        joint = logs[np.arange(12), y].sum(axis=0) - 0.05 * (weights**2).sum(axis=1)
        shares = np.exp(joint - joint.max())
        exact = np.exp(logs) @ shares / shares.sum()
        gaps = [
            np.abs(make(precision=0.1, **PLAIN).fit(X, y).predict_proba(X) - exact).max()
            for make in (variational, cw.BayesianLogistic)
        ]
        assert gaps[0] < 0.5 * gaps[1]

    def test_log_loss_of_iris_by_folds(self):
        X, y = IRIS
        losses = {
            make: np.mean(
                [
                    log_loss(y[test], make().fit(X[train], y[train]).predict_proba(X[test]))
                    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)
                ]
            )
            for make in (variational, cw.BayesianLogistic)
        }
        assert losses[variational] < losses[cw.BayesianLogistic] - 0.02


class TestRows:
    def test_a_weight_of_two_is_the_row_twice(self):
        X, y = few_rows(2, rows=20)
        weights = np.arange(20) % 3
        repeated = np.repeat(np.arange(20), weights)
        options = {"precision": 0.4, "standardize": False}
        weighed = variational(**options).fit(X, y, sample_weight=weights)
        whole = variational(**options).fit(X[repeated], y[repeated])
        np.testing.assert_allclose(weighed.coef_, whole.coef_, rtol=1e-5)
        np.testing.assert_allclose(weighed.coef_cov_, whole.coef_cov_, rtol=1e-5)
        assert weighed.log_marginal_likelihood_ == pytest.approx(whole.log_marginal_likelihood_, abs=1e-8)

    def test_categories_and_missing_values(self):
        """As the columns that stand for them, filled and coded by hand."""
        rng = np.random.default_rng(6)
        kinds, number = rng.choice(["a", "b", "c"], 60), rng.normal(size=60)
        y = (number + (kinds == "a") + rng.logistic(size=60) > 0.5).astype(int)
        number[:5] = np.nan
        with pytest.warns(UserWarning, match="mean"):
            m = variational(precision=1.0, standardize=False).fit(pd.DataFrame({"kind": kinds, "x": number}), y)
        filled = np.where(np.isnan(number), np.nanmean(number), number)
        by_hand = np.column_stack([kinds == "a", kinds == "b", kinds == "c", filled]).astype(float)
        expected = variational(precision=1.0, standardize=False).fit(by_hand, y)
        np.testing.assert_allclose(m.coef_, expected.coef_, atol=1e-5)
        np.testing.assert_allclose(m.coef_std_, expected.coef_std_, atol=1e-5)

    def test_chunks_of_rows_add_up(self):
        X, y = few_rows(3, rows=50)
        beliefs = cw.BayesianLogistic(precision=1.0).fit(X, y).classifier_.beliefs
        model = Regression(cw.BayesianLogistic(precision=1.0).fit(X, y).classifier_.design, Logit())
        whole = model.averaged(beliefs, X, y, None)
        parts = [model.averaged(beliefs, X[part], y[part], None) for part in (slice(0, 17), slice(17, 50))]
        np.testing.assert_allclose((parts[0] + parts[1]).products, whole.products, rtol=1e-12)
        np.testing.assert_allclose((parts[0] + parts[1]).gradient, whole.gradient, atol=1e-12)

    def test_a_file_of_rows(self, tmp_path):
        X, y = few_rows(2, rows=30)
        table = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
        table.to_csv(tmp_path / "rows.csv", index=False)
        m = variational(precision=0.5).fit_source(str(tmp_path / "rows.csv"), target="y")
        expected = variational(precision=0.5).fit(table[["a", "b"]], y)
        np.testing.assert_allclose(m.coef_, expected.coef_, rtol=1e-6)
        np.testing.assert_allclose(m.coef_cov_, expected.coef_cov_, rtol=1e-6)


class TestEstimator:
    def test_answers_are_of_the_gaussian(self):
        X, y = IRIS
        m = variational(precision=1.0).fit(X, y)
        drawn = m.sample_weights(20_000, random_state=0)
        np.testing.assert_allclose(drawn[..., :-1].mean(axis=0), m.coef_, atol=0.05)
        np.testing.assert_allclose(drawn[..., :-1].std(axis=0), m.coef_std_, rtol=0.05)
        first = m.coefficients(0.95)[0]
        assert first.high - first.low == pytest.approx(2 * 1.959964 * m.coef_std_[0, 0], rel=1e-6)
        low, high = np.moveaxis(m.predict_interval(X[60:70]), -1, 0)
        p = m.predict_proba(X[60:70])
        assert ((low < p) & (p < high)).all()
        plugin = m.predicting("plugin").predict_log_proba(X[:5])
        scores = X[:5] @ m.coef_.T + m.intercept_
        np.testing.assert_allclose(np.diff(plugin), np.diff(scores), atol=1e-8)

    @pytest.mark.parametrize("link", ["logit", "probit"])
    def test_files_keep_it(self, tmp_path, link):
        X, y = few_rows(2, rows=30)
        m = variational(link=link, precision=0.5).fit(X, y)
        cw.save(m, tmp_path / "model.cw")
        loaded = cw.load(tmp_path / "model.cw")
        assert loaded.posterior == "variational"
        assert loaded.log_marginal_likelihood_ == m.log_marginal_likelihood_
        np.testing.assert_array_equal(loaded.predict_log_proba(X), m.predict_log_proba(X))

    def test_sql_is_of_its_weights(self):
        duckdb = pytest.importorskip("duckdb")
        pytest.importorskip("sqlglot")
        X, y = few_rows(2, rows=30)
        table = pd.DataFrame(X, columns=["a", "b"])
        m = variational(precision=0.5, predictive="moderated").fit(table, y)
        with duckdb.connect() as connection:
            connection.register("points", table)
            found = connection.sql(cw.to_sql(m, "points", output="posteriors")).fetchnumpy()
        np.testing.assert_allclose(found["posterior_1"], m.predict_proba(table)[:, 1], atol=1e-12)

    @pytest.mark.parametrize("predictive", ["plugin", "moderated"])
    def test_onnx_is_of_its_weights(self, predictive):
        pytest.importorskip("onnx")
        runtime = pytest.importorskip("onnxruntime")
        X, y = few_rows(2, rows=30)
        m = variational(precision=0.5, predictive=predictive).fit(X, y)
        session = runtime.InferenceSession(cw.to_onnx(m).SerializeToString(), providers=["CPUExecutionProvider"])
        found = session.run(None, {session.get_inputs()[0].name: X.astype(np.float64)})[1]
        np.testing.assert_allclose(found, m.predict_proba(X), atol=1e-6)

    @pytest.mark.parametrize("value", ["vb", "Variational", None, 3])
    def test_other_names_are_refused(self, value):
        with pytest.raises(ClasswiseError, match="choose 'laplace', 'variational' or 'sampled'"):
            cw.BayesianLogistic(posterior=value).fit(*IRIS)

    def test_probit_is_for_two_classes(self):
        with pytest.raises(ClasswiseError, match="two classes"):
            variational(link="probit").fit(*IRIS)

    def test_separable_classes_need_a_prior(self):
        X, y = IRIS
        with pytest.raises(ClasswiseError, match="precision"):
            variational(precision=0).fit(X, y == 0)

    def test_passes_are_counted(self):
        X, y = load_breast_cancer(return_X_y=True)
        assert variational(precision=1.0).fit(X, y).passes_ > cw.BayesianLogistic(precision=1.0).fit(X, y).passes_


class TestIteration:
    def test_where_it_starts_does_not_matter(self):
        X, y = few_rows(2)
        model = Regression(cw.BayesianLogistic(precision=1.0, **PLAIN).fit(X, y).classifier_.design, Logit())
        found = [
            nearest_gaussian(
                lambda q: model.averaged(q, X, y, None), Logit(), Laplace(np.full((1, 2), at), scale * np.eye(2)), prior
            )
            for prior in [np.full((1, 2), 0.2)]
            for at, scale in ((0.0, 1.0), (8.0, 0.05), (-3.0, 10.0))
        ]
        for other in found[1:]:
            np.testing.assert_allclose(other.beliefs.mean, found[0].beliefs.mean, atol=1e-4)
            np.testing.assert_allclose(other.beliefs.covariance, found[0].beliefs.covariance, rtol=1e-4, atol=1e-4)
            assert other.bound == pytest.approx(found[0].bound, abs=1e-9)

    def test_averages_that_contradict_each_other_are_an_error(self):
        """Whatever the Gaussian, the loss is said to be larger than the last time."""
        seen = []

        def worse(beliefs):
            seen.append(beliefs)
            return Curvature(1.0, float(len(seen)), np.ones((1, 1)), np.full((1, 1, 1), 50.0))

        with pytest.raises(ClasswiseError, match="larger precision"):
            nearest_gaussian(worse, Logit(), Laplace(np.zeros((1, 1)), np.ones((1, 1))), np.ones((1, 1)))
