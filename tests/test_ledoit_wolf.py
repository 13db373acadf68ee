"""Ledoit and Wolf's amount of shrinking, from sums that add."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf
from sklearn.datasets import load_wine

import classwise as cw

X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def test_own_covariances_equal_those_of_scikit_learn():
    m = cw.QDA(shrink="ledoit-wolf").fit(X, y)
    for k in range(3):
        np.testing.assert_allclose(m.covariances_[k], ledoit_wolf(X[y == k])[0], rtol=1e-10, atol=1e-12)


def test_a_shared_covariance_is_that_of_the_residuals():
    m = cw.LDA(shrink="ledoit-wolf").fit(X, y)
    residuals = np.vstack([X[y == k] - X[y == k].mean(axis=0) for k in range(3)])
    expected = ledoit_wolf(residuals, assume_centered=True)[0]
    np.testing.assert_allclose(m.covariances_[0], expected, rtol=1e-10, atol=1e-12)


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.sampled_from([0.0, 1e4]), st.booleans())
def test_sums_merge_and_part(seed, offset, weighted):
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(60, 3)) * [1, 3, 0.2] + offset, np.arange(60) % 2
    weights = rng.choice([0.5, 1.0, 2.0], 60) if weighted else np.ones(60)
    parts = np.array_split(rng.permutation(60), 4)
    some = [cw.summarize(rows[p], labels[p], weights[p], quartics=True) for p in parts]
    whole = cw.summarize(rows, labels, weights, quartics=True).parts["quartics"]
    for k in range(2):
        own, w = rows[labels == k], weights[labels == k]
        away = own - np.average(own, axis=0, weights=w)
        np.testing.assert_allclose(whole.fourth[k], w @ (away**2).sum(axis=1) ** 2, rtol=1e-8)
    merged = sum(some)
    for other in (merged.parts["quartics"], (merged + some[0] - some[0]).parts["quartics"]):
        np.testing.assert_allclose(other.fourth, whole.fourth, rtol=1e-8)
        np.testing.assert_allclose(other.third, whole.third, rtol=1e-7, atol=1e-7 * np.abs(whole.third).max())


def test_batches_and_files(tmp_path):
    m = cw.LDA(shrink="ledoit-wolf")
    for part in np.array_split(np.random.default_rng(0).permutation(len(y)), 5):
        m.partial_fit(X[part], y[part])
    m.statistics_.save(tmp_path / "s.cws")
    loaded = cw.LDA(shrink="ledoit-wolf").fit_statistics(cw.load(tmp_path / "s.cws"))
    expected = cw.LDA(shrink="ledoit-wolf").fit(X, y).predict_proba(X)
    for same in (m, loaded):
        np.testing.assert_allclose(same.predict_proba(X), expected, rtol=1e-9, atol=1e-12)


def test_categories_may_stand_beside():
    table = pd.DataFrame(X).add_prefix("x").assign(city=np.array(["R", "O"])[y % 2])
    m = cw.LDA(shrink="ledoit-wolf").fit(table, y)
    np.testing.assert_allclose(m.covariances_, cw.LDA(shrink="ledoit-wolf").fit(X, y).covariances_, rtol=1e-12)


def test_leave_one_out():
    rows, labels = X[::4], y[::4]
    m = cw.LDA(shrink="ledoit-wolf").fit(rows, labels)
    rest = np.arange(len(labels)) != 3
    part = cw.LDA(shrink="ledoit-wolf", priors=m.priors_).fit(rows[rest], labels[rest])
    np.testing.assert_allclose(m.leave_one_out(rows, labels)[3], part.predict_log_proba(rows[3:4])[0], atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 0.5}, "is for share=0 or share=1 and standardize=False"),
        ({"standardize": True}, "is for share=0 or share=1 and standardize=False"),
        ({"structure": "diagonal"}, "derived for full covariances, and structure is 'diagonal'"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(cw.ClasswiseError, match=message):
        cw.GaussianClassifier(shrink="ledoit-wolf", **options).fit(X, y)


def test_statistics_and_rows_that_do_not_serve():
    with pytest.raises(cw.StatisticsError, match=r"summarize\(X, y, quartics=True\)"):
        cw.LDA(shrink="ledoit-wolf").fit_statistics(cw.summarize(X, y))
    gappy = np.where(np.random.default_rng(0).random(X.shape) < 0.02, np.nan, X)
    with pytest.raises(cw.ClasswiseError, match="needs rows without gaps"):
        cw.LDA(shrink="ledoit-wolf").fit(gappy, y)
    with pytest.raises(cw.StatisticsError, match="of all columns together"):
        cw.summarize(X, y, quartics=True).restrict([0, 1])
