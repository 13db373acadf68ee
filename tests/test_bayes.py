"""Bayes' rule: priors, posteriors, evidence, ties, rows far out."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.datasets import load_iris, make_blobs

import classwise as cw

X, y = load_iris(return_X_y=True)
MODELS = [cw.LDA(), cw.QDA(), cw.NaiveBayes(), cw.NearestMean(), cw.RDA(share=0.5, shrink=0.1)]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


@each_model
class TestRule:
    def test_joint_evidence_posterior(self, model):
        m = model.fit(X, y)
        joint = m.log_joint(X)
        np.testing.assert_allclose(joint, m.log_density(X) + np.log(m.priors_), rtol=1e-12)
        np.testing.assert_allclose(m.log_evidence(X), logsumexp(joint, axis=1), rtol=1e-12)
        np.testing.assert_allclose(
            m.predict_log_proba(X), joint - logsumexp(joint, axis=1)[:, None], rtol=1e-11, atol=1e-11
        )
        np.testing.assert_allclose(m.predict_proba(X), np.exp(m.predict_log_proba(X)), rtol=1e-11)

    def test_rows_far_out_stay_finite_and_monotone(self, model):
        m = model.fit(X, y)
        steps = np.linspace(0, 60, 200)[:, None]
        away = m.means_[0] + steps * (m.means_[0] - m.means_[2]) / np.linalg.norm(m.means_[0] - m.means_[2])
        log_posterior = m.predict_log_proba(away)
        assert np.isfinite(log_posterior).all()
        # Log odds are a polynomial of degree one or two along a line: past its turn it goes one way only.
        for k in (1, 2):
            steps_of_log_odds = np.diff(log_posterior[:, 0] - log_posterior[:, k])[60:]
            assert np.all(steps_of_log_odds > 0) or np.all(steps_of_log_odds < 0)
        assert np.all(np.diff(m.log_evidence(away)[5:]) < 0)

    def test_log_posteriors_where_posteriors_underflow(self, model):
        rows = np.array([[0.0], [1.0], [400.0], [401.0]])
        m = model.fit(rows, [0, 0, 1, 1])
        log_posterior = m.predict_log_proba([[0.5]])[0]
        joint = m.log_joint([[0.5]])[0]
        assert log_posterior[1] < -1e4
        np.testing.assert_allclose(log_posterior[1], joint[1] - joint[0], rtol=1e-13)
        assert m.predict_proba([[0.5]])[0].tolist() == [1.0, 0.0]

    def test_other_priors_without_a_refit(self, model):
        m = model.fit(X, y)
        other = m.with_priors({0: 0.2, 1: 0.3, 2: 0.5})
        np.testing.assert_allclose(other.log_joint(X) - m.log_joint(X), np.log([0.6, 0.9, 1.5]) * np.ones((150, 1)))
        assert other.priors_.tolist() == [0.2, 0.3, 0.5]
        assert m.priors_.tolist() == [1 / 3] * 3
        assert type(other) is type(m)
        assert other.statistics_ is m.statistics_

    def test_a_prior_of_zero_means_never(self, model):
        m = model.set_params().fit(X, y).with_priors([0.5, 0.0, 0.5])
        assert set(m.predict(X)) == {0, 2}
        assert (m.predict_proba(X)[:, 1] == 0).all()
        assert (m.predict_log_proba(X)[:, 1] == -np.inf).all()
        assert np.isfinite(m.log_evidence(X)).all()

    def test_one_row_at_a_time_is_all_rows_at_once(self, model):
        m = model.fit(X, y)
        singly = np.vstack([m.predict_proba(row[None]) for row in X])
        np.testing.assert_allclose(singly, m.predict_proba(X), rtol=1e-12, atol=1e-15)


class TestPriors:
    @pytest.mark.parametrize(
        ("priors", "message"),
        [
            ("popular", "priors='popular' is not an option; choose 'empirical', 'uniform'"),
            ([0.5, 0.5], "one number for each of 3 classes"),
            ([0.5, 0.7, -0.2], "must not be negative"),
            ([0.5, 0.4, 0.2], "must sum to 1, and these sum to 1.1"),
            ([0.5, np.nan, 0.5], "must not be negative"),
            ({0: 0.5, 1: 0.5}, "lack the label 2"),
            ({0: 0.5, 1: 0.25, 2: 0.25, 3: 0.0}, "name the label 3, which is not a class"),
            (["a", "b", "c"], "must be numbers"),
        ],
    )
    def test_refused(self, priors, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.LDA(priors=priors).fit(X, y)
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.LDA().fit(X, y).with_priors(priors)

    def test_counted_by_weight(self):
        weights = np.where(y == 0, 2.0, 1.0)
        np.testing.assert_allclose(cw.LDA().fit(X, y, weights).priors_, [0.5, 0.25, 0.25])

    def test_given_by_label(self):
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        m = cw.LDA(priors={"virginica": 0.7, "setosa": 0.1, "versicolor": 0.2}).fit(X, names)
        np.testing.assert_allclose(m.priors_, [0.1, 0.2, 0.7])


class TestTies:
    rows, labels = np.array([[-1.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array(["a", "a", "b", "b"])
    between = np.column_stack([np.zeros(1000), np.linspace(-5, 5, 1000)])

    def test_go_to_the_first_label(self):
        assert set(cw.NearestMean().fit(self.rows, self.labels).predict(self.between)) == {"a"}

    def test_or_to_a_label_at_random(self):
        m = cw.NearestMean(ties="random", random_state=0).fit(self.rows, self.labels)
        drawn = m.predict(self.between)
        # 1000 fair coins: outside 420..580 once in 4 million.
        assert 420 < (drawn == "a").sum() < 580
        np.testing.assert_array_equal(drawn, m.predict(self.between))
        np.testing.assert_array_equal(m.predict(self.rows), self.labels)

    def test_unknown_rule(self):
        with pytest.raises(cw.ClasswiseError, match="ties='last' is not an option; choose 'first' or 'random'"):
            cw.NearestMean(ties="last").fit(self.rows, self.labels)

    def test_posteriors_of_a_tie_are_equal(self):
        m = cw.NearestMean().fit(self.rows, self.labels)
        assert (m.predict_proba(self.between) == 0.5).all()


class TestNegativeLogLikelihood:
    def test_weights(self):
        m, w = cw.QDA().fit(X, y), np.arange(150) % 3
        twice = m.nll(np.repeat(X, w, axis=0), np.repeat(y, w))
        weighted = m.nll(X, y, sample_weight=w)
        np.testing.assert_allclose(weighted, twice, rtol=1e-12)

    def test_a_row_of_weight_zero_does_not_count_even_where_its_label_is_impossible(self):
        m = cw.QDA().fit(X, y).with_priors([0.5, 0.5, 0.0])
        assert np.isfinite(m.nll(X, y, sample_weight=(y != 2).astype(float)).total)
        assert m.nll(X, y).labels == np.inf

    def test_unknown_label(self):
        with pytest.raises(cw.ClasswiseError, match="label 7, which is not a class"):
            cw.QDA().fit(X, y).nll(X[:1], [7])


@pytest.mark.slow
@each_model
def test_many_chunks_are_one(model):
    """Enough rows for several chunks and threads: the answers are those of the rows taken few at a time."""
    rows, labels = make_blobs(200_000, n_features=3, centers=4, random_state=0)
    m = model.fit(rows, labels)
    parts = np.array_split(np.arange(len(rows)), 7)
    for answer in (m.predict, m.predict_proba, m.log_joint, m.log_evidence):
        whole, piecewise = answer(rows), np.concatenate([answer(rows[part]) for part in parts])
        np.testing.assert_allclose(whole, piecewise, rtol=1e-9, atol=1e-12)
