"""Naive Bayes: columns that hardly vary, or not at all."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import classwise as cw

RNG = np.random.default_rng(2)
y = np.repeat(["a", "b"], 40)
X = pd.DataFrame(RNG.normal(size=(80, 3)) + (y == "b")[:, None], columns=["one", "two", "three"])


def test_log_density_is_a_sum_over_features():
    m = cw.NaiveBayes().fit(X, y)
    rows = X.to_numpy()
    for k, label in enumerate(["a", "b"]):
        own = rows[y == label]
        expected = norm(own.mean(axis=0), own.std(axis=0)).logpdf(rows).sum(axis=1)
        np.testing.assert_allclose(m.log_density(X)[:, k], expected, rtol=1e-12)


def test_it_is_the_gaussian_classifier_with_own_diagonals():
    naive, gaussian = cw.NaiveBayes().fit(X, y), cw.GaussianClassifier(structure="diagonal").fit(X, y)
    # One gathers squares, the other products: the last digit may differ.
    np.testing.assert_allclose(naive.predict_proba(X), gaussian.predict_proba(X), rtol=1e-13)
    np.testing.assert_allclose(naive.covariances_, gaussian.covariances_, rtol=1e-14)


class TestConstantWithinAClass:
    rows = X.copy()
    rows.loc[y == "a", "two"] = 3.0

    def test_the_variance_is_floored_with_one_warning_that_names_the_column(self):
        with pytest.warns(cw.DegenerateColumnWarning, match="to 1e-06 of the overall variance in 'two'") as caught:
            m = cw.NaiveBayes().fit(self.rows, y)
        assert len(caught) == 1
        np.testing.assert_allclose(m.variances_[0, 1], 1e-6 * self.rows["two"].var(ddof=0), rtol=1e-12)
        assert np.isfinite(m.log_joint(self.rows)).all()

    def test_the_rule_does_not_depend_on_units(self):
        answers = []
        for scale in (1e-9, 1.0, 1e9):
            with pytest.warns(cw.DegenerateColumnWarning):
                answers.append(cw.NaiveBayes().fit(self.rows * scale, y).predict_log_proba(self.rows * scale))
        np.testing.assert_allclose(answers[0], answers[1], rtol=1e-9)
        np.testing.assert_allclose(answers[2], answers[1], rtol=1e-9)

    def test_another_floor(self):
        with pytest.warns(cw.DegenerateColumnWarning, match="to 0.01 of"):
            m = cw.NaiveBayes(floor=0.01).fit(self.rows, y)
        np.testing.assert_allclose(m.variances_[0, 1], 0.01 * self.rows["two"].var(ddof=0), rtol=1e-12)

    def test_a_floor_of_zero_refuses(self):
        with pytest.raises(cw.SingularCovarianceError, match="floor=0 refuses that: 'two'"):
            cw.NaiveBayes(floor=0).fit(self.rows, y)

    @pytest.mark.parametrize("floor", [-1, 2, "low", None, True])
    def test_floors_that_are_not(self, floor):
        with pytest.raises(cw.ClasswiseError, match=r"floor=.* is not an option; give a number from 0 to 1"):
            cw.NaiveBayes(floor=floor).fit(X, y)

    def test_no_warning_where_nothing_is_floored(self):
        with warnings.catch_warnings(record=True) as caught:
            cw.NaiveBayes().fit(X, y)
        assert not caught


class TestConstantEverywhere:
    rows = X.assign(same=1 / 3)

    def test_the_column_is_left_out_with_a_warning(self):
        with pytest.warns(cw.IgnoredColumnWarning, match=r"Columns left out: 'same' \(always 0\.333333\)"):
            m = cw.NaiveBayes().fit(self.rows, y)
        np.testing.assert_allclose(m.log_joint(self.rows), cw.NaiveBayes().fit(X, y).log_joint(X), rtol=1e-12)

    @pytest.mark.filterwarnings("ignore::classwise.IgnoredColumnWarning")
    def test_samples_repeat_it(self):
        rows, _ = cw.NaiveBayes().fit(self.rows, y).sample(10, random_state=0)
        np.testing.assert_allclose(rows.iloc[:, 3], 1 / 3)

    def test_also_when_batches_round_its_mean_differently(self):
        m = cw.NaiveBayes()
        for part in np.array_split(RNG.permutation(80), 7):
            m.partial_fit(self.rows.iloc[part], y[part])
        with pytest.warns(cw.IgnoredColumnWarning, match=r"'same' \(always"):
            m.predict(self.rows)

    def test_nothing_varies(self):
        with pytest.raises(cw.ClasswiseError, match="No column of X varies"):
            cw.NaiveBayes().fit(np.ones((4, 2)), [0, 0, 1, 1])


def test_a_class_of_one_row_is_floored():
    with pytest.warns(cw.DegenerateColumnWarning):
        m = cw.NaiveBayes().fit(X[:41], y[:41])
    assert m.predict(X[40:41]).tolist() == ["b"]
