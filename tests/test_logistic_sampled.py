"""Exact draws of the weights, and what they say of Laplace's approximation."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_iris

import classwise as cw
from classwise.logistic import Chain, Softmax, diagnose_chains, draw_chain

pytest.importorskip("polyagamma")
X, y = load_iris(return_X_y=True)


def sampled(draws=4000, **options):
    return cw.BayesianLogistic(posterior="sampled", draws=draws, random_state=0, **options)


def posterior_on_a_grid(rows, labels, precision, reach=9, count=241):
    """Mean and covariance of two weights without intercept, by brute force."""
    axis = np.linspace(-reach, reach, count)
    weights = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    scores = (weights @ rows.T) * np.where(labels, 1, -1)
    logs = -np.logaddexp(0, -scores).sum(axis=1) - 0.5 * precision * (weights**2).sum(axis=1)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    mean = p @ weights
    return mean, (weights - mean).T @ ((weights - mean) * p[:, None])


def test_draws_are_of_the_exact_posterior():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 2))
    labels = rows @ [2.0, -1.0] + rng.logistic(size=12) > 0
    options = {"precision": 0.5, "fit_intercept": False, "standardize": False}
    m = sampled(12_000, **options).fit(rows, labels)
    mean, covariance = posterior_on_a_grid(rows, labels, 0.5)
    noise = 5 * np.sqrt(covariance.diagonal() / m.diagnostics_.effective_size[0])
    assert (np.abs(m.coef_[0] - mean) < noise).all()
    np.testing.assert_allclose(m.coef_cov_, covariance, rtol=0.15, atol=0.05)
    laplace = cw.BayesianLogistic(**options).fit(rows, labels)
    assert np.abs(laplace.coef_[0] - mean).max() > np.abs(m.coef_[0] - mean).max()  # few rows are far from Gaussian


def test_weights_of_rows_count_as_rows():
    rng = np.random.default_rng(1)
    rows, labels, weights = rng.normal(size=(15, 2)), np.arange(15) % 2, np.tile([1, 2, 3], 5)
    options = {"precision": 1.0, "fit_intercept": False, "standardize": False}
    m = sampled(8000, **options).fit(rows, labels, sample_weight=weights)
    repeated = np.repeat(np.arange(15), weights)
    mean, covariance = posterior_on_a_grid(rows[repeated], labels[repeated] == 1, 1.0)
    noise = 5 * np.sqrt(covariance.diagonal() / m.diagnostics_.effective_size[0])
    assert (np.abs(m.coef_[0] - mean) < noise).all()


def test_softmax_of_two_classes_is_the_logit():
    """The chain for many classes, run on two: a prior on both is one of half the precision on the difference."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(20, 2))
    labels = (rows[:, 0] + rng.logistic(size=20) > 0).astype(int)
    chain = Chain(rows.T, labels, np.ones(20), np.ones(2), Softmax(2))
    draws = draw_chain(chain, np.zeros((1, 2)), 500, 12_000, rng)[:, 0] * np.sqrt(2)  # w_2 - w_1 of w = U v
    mean, covariance = posterior_on_a_grid(rows, labels == 1, 0.5)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(draws.T), covariance, rtol=0.15, atol=0.05)


def test_chains_of_iris_agree_and_predict():
    m = sampled(4000, precision=1.0).fit(X, y)
    assert m.diagnostics_.r_hat.max() < 1.05
    assert m.diagnostics_.effective_size.min() > 100
    laplace = cw.BayesianLogistic(precision=1.0).fit(X, y)
    assert np.abs(m.predict_proba(X) - laplace.predict_proba(X)).max() < 0.1
    low, high = np.moveaxis(m.predict_interval(X[60:70]), -1, 0)
    p = m.predict_proba(X[60:70])
    assert ((low < p) & (p < high)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    assert m.sample_weights(7, random_state=0).shape == (7, 3, 5)
    assert m.coefficients()[0].low < m.coefficients()[0].weight < m.coefficients()[0].high


def test_the_seed_decides():
    first, again = (sampled(80, precision=1.0).fit(X, y == 1).coef_ for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_draws_have_no_diagnostics_where_there_are_none():
    assert not hasattr(cw.BayesianLogistic(precision=1.0).fit(X, y), "diagnostics_")


class TestDiagnostics:
    def test_of_independent_draws(self):
        d = diagnose_chains(np.random.default_rng(0).normal(size=(4, 1000, 1, 2)))
        assert d.r_hat.max() < 1.01
        assert d.effective_size.min() > 3000

    def test_of_draws_that_stick_together(self):
        rng = np.random.default_rng(0)
        steps, draws = rng.normal(size=(4, 5000)), np.zeros((4, 5000))
        for i in range(1, 5000):
            draws[:, i] = 0.9 * draws[:, i - 1] + steps[:, i]
        d = diagnose_chains(draws[:, :, None, None])
        assert d.effective_size[0, 0] == pytest.approx(20_000 * (1 - 0.9) / (1 + 0.9), rel=0.25)

    def test_of_chains_that_never_met(self):
        draws = np.random.default_rng(0).normal(size=(4, 500, 1, 1)) + np.array([0, 0, 0, 3.0])[:, None, None, None]
        assert diagnose_chains(draws).r_hat[0, 0] > 1.3


def ranks(options, simulations, rows, generator, draws):
    """The rank of the true weight among draws from the posterior, for data sets simulated from the prior."""
    found = np.empty(simulations, dtype=int)
    for i in range(simulations):
        design = generator.normal(size=(rows, 2))
        weights = generator.normal(size=2)
        labels = design @ weights + generator.logistic(size=rows) > 0
        if labels.all() or not labels.any():
            labels[0] = not labels[0]
        m = cw.BayesianLogistic(precision=1.0, fit_intercept=False, standardize=False, random_state=i, **options).fit(
            design, labels
        )
        if "posterior" in options:  # draws as they come, thinned
            chain = m.classifier_.beliefs.flat[:, 0, 0]
            drawn = chain[:: len(chain) // draws][:draws]
        else:
            drawn = m.sample_weights(draws, random_state=i)[:, 0, 0]
        found[i] = (drawn < weights[0]).sum()
    return found


def uniformity(found, draws, bins=10):
    """The probability of ranks at least as uneven as these, if the true ones are uniform (chi-square)."""
    counts = np.bincount(found * bins // (draws + 1), minlength=bins)
    expected = len(found) / bins
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), bins - 1)


@pytest.mark.slow
class TestSimulationBasedCalibration:
    """300 data sets from the prior: the rank of the true weight is uniform if beliefs are right (Talts et al. 2018).

    Error rate: a posterior that is right fails once in a thousand seeds.
    """

    def test_laplace_with_many_rows(self):
        found = ranks({}, 300, 200, np.random.default_rng(0), 99)
        assert uniformity(found, 99) > 1e-3

    def test_draws_with_few_rows(self):
        found = ranks({"posterior": "sampled", "draws": 200}, 300, 15, np.random.default_rng(1), 99)
        assert uniformity(found, 99) > 1e-3

    def test_the_test_can_fail(self):
        """Posteriors of another prior are refuted."""
        generator = np.random.default_rng(2)
        found = np.array([(generator.normal(0, 1.6, 99) < generator.normal()).sum() for _ in range(300)])
        assert uniformity(found, 99) < 1e-3


def test_the_exact_posterior_by_quadrature(reference):
    table = pd.read_csv(reference / "logit_synth" / "data.csv")
    facts = json.loads((reference / "logit_synth" / "exact_posterior.json").read_text())["tau1"]
    m = sampled(24_000, precision=1.0, standardize=False, penalize_intercept=True).fit(table[["xs", "ys"]], table["y"])
    mean = np.array(facts["posterior_mean"])[[1, 2, 0]]
    deviation = np.sqrt(np.diagonal(facts["posterior_cov"]))[[1, 2, 0]]
    noise = 5 * deviation / np.sqrt(m.diagnostics_.effective_size[0])
    assert (np.abs(np.append(m.coef_[0], m.intercept_) - mean) < noise).all()
    exact = pd.read_csv(reference / "logit_synth" / "exact_tau1_pred_train.csv")["p_exact"]
    assert np.abs(m.predict_proba(table[["xs", "ys"]])[:, 1] - exact).max() < 0.0025  # Laplace: 0.0032
