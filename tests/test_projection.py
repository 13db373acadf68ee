"""Fisher's directions, and classification in a few of them."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import classwise as cw

X, y = load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def digits():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 30)
    return rng.normal(size=(150, 4)) @ rng.normal(size=(4, 4)) + rng.normal(size=(5, 4))[labels], labels


def test_all_directions_are_all_of_lda(digits):
    rows, labels = digits
    full, plain = cw.LDA(n_components=4).fit(rows, labels), cw.LDA().fit(rows, labels)
    np.testing.assert_allclose(full.predict_log_proba(rows), plain.predict_log_proba(rows), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("priors", ["empirical", [0.1, 0.2, 0.3, 0.2, 0.2]])
def test_decides_by_distances_in_the_first_directions(digits, rank, priors):
    rows, labels = digits
    m = cw.LDA(n_components=rank, priors=priors).fit(rows, labels)
    plain = cw.LDA(priors=priors).fit(rows, labels)
    projected = plain.transform(rows)[:, :rank]
    means = plain.projection_.means[:, :rank]
    scores = -0.5 * ((projected[:, None] - means) ** 2).sum(axis=2) + np.log(plain.priors_)
    scores -= np.logaddexp.reduce(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(m.predict_log_proba(rows), scores, atol=1e-8)
    np.testing.assert_allclose(np.abs(m.transform(rows)), np.abs(projected), atol=1e-8)


def test_means_are_those_of_the_projected_rows():
    m = cw.LDA().fit(X, y)
    expected = [m.transform(X[y == k]).mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(m.projection_.means, expected, atol=1e-9)


@pytest.mark.parametrize("priors", ["empirical", [0.6, 0.3, 0.1]])
def test_directions_are_generalized_eigenvectors(priors):
    """B d = λ C d with d'C d = 1: B the covariance between the class means, C that within; ratios are shares of λ."""
    m = cw.LDA(priors=priors).fit(X, y)
    away = m.means_ - m.priors_ @ m.means_
    B, C, D = away.T @ (m.priors_[:, None] * away), m.covariances_[0], m.projection_.directions
    np.testing.assert_allclose(D.T @ C @ D, np.eye(2), atol=1e-9)
    values = eigh(B, C, eigvals_only=True)[::-1]
    np.testing.assert_allclose(B @ D, C @ D * values[:2], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(m.projection_.ratios, values[:2] / values.sum(), rtol=1e-9)


def test_within_a_class_the_projected_rows_have_covariance_one():
    m = cw.LDA().fit(X + 1e6, y)
    Z = m.transform(X + 1e6)
    within = Z - m.projection_.means[y]
    np.testing.assert_allclose(within.T @ within / len(Z), np.eye(2), atol=1e-5)


def test_weights_are_rows_repeated():
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    twice = np.repeat(np.arange(len(y)), weights)
    ours, theirs = cw.LDA().fit(X, y, weights.astype(float)), cw.LDA().fit(X[twice], y[twice])
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.projection_.ratios, theirs.projection_.ratios, rtol=1e-9)


def test_fewer_directions_change_decisions_and_the_documentation_says_so():
    """Unlike scikit-learn's, whose n_components is for transform alone."""
    rows, labels = X[:, :4], y
    plain = cw.LDA().fit(rows, labels).predict(rows)
    assert (cw.LDA(n_components=1).fit(rows, labels).predict(rows) != plain).any()
    theirs = LinearDiscriminantAnalysis(n_components=1).fit(rows, labels)
    np.testing.assert_array_equal(theirs.predict(rows), LinearDiscriminantAnalysis().fit(rows, labels).predict(rows))
    assert "It affects decisions too, unlike in" in cw.LDA.__doc__


def test_ratios_are_those_of_scikit_learn():
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).explained_variance_ratio_
    np.testing.assert_allclose(cw.LDA().fit(X, y).projection_.ratios, theirs, rtol=1e-8)


def test_columns_out_and_clone():
    m = cw.LDA(n_components=1).fit(X, y)
    assert m.get_feature_names_out().tolist() == ["lda0"]
    assert clone(m).n_components == 1
    assert m.transform(X).shape == (len(X), 1)


def test_leave_one_out_is_of_the_reduced_model():
    rows, labels = X[::3, :4], y[::3]
    m = cw.LDA(n_components=1).fit(rows, labels)
    ours = m.leave_one_out(rows, labels, recount=True)
    for row in (0, 20, 50):
        rest = np.arange(len(labels)) != row
        part = cw.LDA(n_components=1).fit(rows[rest], labels[rest])
        np.testing.assert_allclose(ours[row], part.predict_log_proba(rows[row : row + 1])[0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components=0 is not an option"),
        ({"n_components": "two"}, "n_components='two' is not an option"),
        ({"n_components": 3}, "n_components=3 is more than 2: 3 classes in 13 columns"),
        ({"n_components": 1, "share": 0.5}, "n_components needs share=1"),
        ({"n_components": 1, "estimate": "bayes"}, "n_components needs share=1"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(cw.ClasswiseError, match=message):
        cw.LDA(**options).fit(X, y)


@pytest.mark.skipif("CLASSWISE_DATA" not in os.environ, reason="CLASSWISE_DATA names no folder of tables")
def test_vowels_of_the_elements_of_statistical_learning():
    """Hastie, Tibshirani and Friedman (2009), figure 4.10: two directions are best on the test rows."""
    folder = Path(os.environ["CLASSWISE_DATA"])
    train, test = (pd.read_csv(folder / f"esl_vowel_{part}.csv.gz") for part in ("train", "test"))
    columns = [name for name in train if name.startswith("x")]
    errors = {}
    for rank in range(1, 11):
        m = cw.LDA(n_components=rank).fit(train[columns], train["y"])
        errors[rank] = int((m.predict(test[columns]) != test["y"]).sum())
    assert errors[2] == 227
    assert errors[10] == 257
    assert min(errors, key=errors.get) == 2
