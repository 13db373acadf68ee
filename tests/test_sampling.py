"""Samples look like the model they come from."""

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.datasets import load_iris

import classwise as cw

X, y = load_iris(return_X_y=True)
MODELS = [
    cw.LDA(),
    cw.QDA(),
    cw.NaiveBayes(),
    cw.NearestMean(),
    cw.RDA(share=0.5, shrink=0),
    cw.NearestMean(standardize=True),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=repr)


@each_model
def test_means_and_covariances_of_samples(model):
    """Chi-square tests of mean and covariance of each class: 6 models x 3 classes x 2, each false once in 1e5."""
    m = model.fit(X, y)
    rows, labels = m.sample(30_000, random_state=5)
    features = X.shape[1]
    for k in range(3):
        own = rows[labels == k]
        count, covariance = len(own), m.covariances_[k]
        away = own.mean(axis=0) - m.means_[k]
        assert count * away @ np.linalg.solve(covariance, away) < chi2(features).isf(1e-5)
        # n/2 (|A - I|² in the metric of the model) is chi-square for the sample covariance A of white rows.
        white = np.linalg.solve(np.linalg.cholesky(covariance), (own - m.means_[k]).T)
        distance = count / 2 * ((white @ white.T / count - np.eye(features)) ** 2).sum()
        assert distance < chi2(features * (features + 1) // 2).isf(1e-5)


@each_model
def test_labels_follow_the_priors(model):
    _, labels = model.fit(X, y).with_priors([0.7, 0.3, 0.0]).sample(10_000, random_state=1)
    # Binomial deviation 46: six of them are missed once in 5e8.
    assert abs((labels == 0).sum() - 7000) < 6 * 46
    assert (labels != 2).all()


@pytest.mark.slow
@pytest.mark.parametrize("model", [cw.LDA(), cw.QDA(), cw.NaiveBayes(), cw.NearestMean()], ids=repr)
def test_refitting_on_samples_recovers_the_parameters(model):
    m = model.fit(X, y)
    again = type(model)(**model.get_params()).fit(*m.sample(1_000_000, random_state=2))
    deviation = np.sqrt(np.diagonal(m.covariances_, axis1=1, axis2=2))
    # 3.3e5 rows of each class: the mean is known to 0.0017 deviations, a variance to 0.0025 of itself.
    np.testing.assert_allclose((again.means_ - m.means_) / deviation, 0, atol=0.01)
    scale = deviation[:, :, None] * deviation[:, None, :]
    np.testing.assert_allclose((again.covariances_ - m.covariances_) / scale, 0, atol=0.015)
    np.testing.assert_allclose(again.priors_, m.priors_, atol=0.003)


def test_seeds():
    m = cw.QDA().fit(X, y)
    for seed in (7, np.random.default_rng(7), np.random.RandomState(7)):
        rows, labels = m.sample(5, random_state=seed)
        assert rows.shape == (5, 4)
        assert labels.shape == (5,)
    np.testing.assert_array_equal(m.sample(5, random_state=7)[0], m.sample(5, random_state=7)[0])
