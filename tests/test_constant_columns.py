"""A column of numbers that never varies says nothing: every model leaves it out, and answers as without it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import classwise as cw

X, y = load_iris(return_X_y=True)
VALUE = 7.1
ROWS = np.insert(X, 2, VALUE, axis=1)  # in the midst, so that places must be kept apart
NAMES = ["a", "b", "same", "c", "d"]

MODELS = [
    cw.GaussianClassifier(),
    cw.QDA(),
    cw.LDA(),
    cw.LDA(n_components=1),
    cw.NearestMean(),
    cw.NearestMean(standardize=True),
    cw.QDA(shrink="oas"),
    cw.QDA(share="average"),
    cw.QDA(structure="diagonal"),
    cw.LDA(shrink="ledoit-wolf"),
    cw.RDA(),
    cw.RDA(standardize=True),
    cw.QDA(estimate="bayes"),
    cw.QDA(estimate="bayes", prior="loo"),
    cw.LDA(estimate="bayes", prior="geisser"),
    cw.LDA(estimate="bayes", prior="evidence"),
    cw.NaiveBayes(),
    cw.NaiveBayes(floor=0),
    cw.NaiveBayes(estimate="bayes"),
    cw.NaiveBayes(calibrate="temperature", folds=3),
    cw.MixtureClassifier(),
    cw.ShrunkenCentroids(folds=3),
    cw.HDDA(),
    cw.RobustClassifier(),
    cw.RobustClassifier(method="mcd", starts=2),
    cw.BayesianLogistic(),
    cw.BayesianLogistic(precision=1.0, standardize=False),
]

each_model = pytest.mark.parametrize("model", MODELS, ids=repr)
quietly = pytest.mark.filterwarnings("ignore::classwise.IgnoredColumnWarning")


@each_model
def test_it_changes_no_answer_and_leaves_a_note(model):
    plain = model.fit(X, y).predict_proba(X)
    with pytest.warns(cw.IgnoredColumnWarning, match=r"Columns left out: column 2 \(always 7\.1\)\."):
        m = model.fit(ROWS, y)
    other = np.insert(X, 2, -1e3, axis=1)  # whatever it is at predict
    np.testing.assert_allclose(m.predict_proba(other), plain, atol=1e-8)
    assert m.schema_[2].note == "left out: always 7.1"
    assert m.n_features_in_ == 5


@quietly
@pytest.mark.parametrize("model", [cw.QDA(), cw.LDA(), cw.NaiveBayes(), cw.QDA(estimate="bayes")], ids=repr)
class TestMerged:
    """It is the rows of all batches that tell."""

    def test_batches_each_constant_at_another_value(self, model):
        rows = np.insert(X, 2, np.where(np.arange(150) % 2 == 0, 1.0, 2.0), axis=1)
        m = model.fit(rows, y)
        for half in (0, 1):
            model.partial_fit(rows[half::2], y[half::2]) if half else model.fit(rows[half::2], y[half::2])
        np.testing.assert_allclose(model.predict_proba(rows), m.fit(rows, y).predict_proba(rows), atol=1e-9)
        assert not model.schema_[2].note

    def test_batches_that_round_the_mean_differently(self, model):
        rows = np.insert(X, 2, 1 / 3, axis=1)
        parts = np.array_split(np.random.default_rng(0).permutation(150), 7)
        total = sum(cw.summarize(rows[part], y[part]) for part in parts)
        assert type(model)(**model.get_params()).fit_statistics(total).schema_[2].note == "left out: always 0.333333"

    def test_rows_taken_away_again(self, model):
        rows = ROWS.copy()
        rows[[3, 60], 2] = 9.0, -4.0
        left = np.setdiff1d(np.arange(150), [3, 60])
        m = model.fit_statistics(cw.summarize(rows, y) - cw.summarize(rows[[3, 60]], y[[3, 60]]))
        assert m.schema_[2].note == "left out: always 7.1"
        np.testing.assert_allclose(
            m.predict_proba(ROWS), type(model)(**model.get_params()).fit(X[left], y[left]).predict_proba(X), atol=1e-7
        )


@quietly
class TestGaps:
    rows = np.where(np.arange(150)[:, None] % 3 == np.arange(5), np.nan, ROWS)

    @pytest.mark.parametrize("model", [cw.LDA(), cw.QDA(), cw.NaiveBayes(), cw.MixtureClassifier()], ids=repr)
    def test_a_column_that_is_constant_where_it_has_values(self, model):
        m = model.fit(self.rows, y)
        assert m.schema_[2].note == "left out: always 7.1"
        answer = m.predict_proba(self.rows)
        plain = model.fit(np.delete(self.rows, 2, axis=1), y)
        np.testing.assert_allclose(answer, plain.predict_proba(np.delete(self.rows, 2, axis=1)), atol=1e-7)

    def test_that_it_is_missing_may_tell_something(self):
        lacking = np.where(y == 1, np.nan, 3.0)
        for model in (cw.LDA(missing="level"), cw.NaiveBayes(missing="level")):
            m = model.fit(np.column_stack([X, lacking]), y)
            odds = [m.log_joint(np.column_stack([X, np.full(150, last)])) for last in (np.nan, 3.0)]
            told = (odds[0] - odds[1])[:, 1] - (odds[0] - odds[1])[:, 0]
            np.testing.assert_allclose(told, 2 * np.log(51), rtol=1e-9)  # 51 to 1 either way, by smoothing
        assert cw.NaiveBayes(missing="level").fit(lacking[:, None], y).predict([[np.nan]]).tolist() == [1]


@quietly
class TestAnswers:
    frame = pd.DataFrame(ROWS, columns=NAMES)

    @pytest.mark.parametrize("model", [cw.LDA(), cw.QDA(estimate="bayes"), cw.NaiveBayes(), cw.MixtureClassifier()])
    def test_samples_repeat_it(self, model):
        rows, _ = model.fit(self.frame, y).sample(20, random_state=0)
        assert rows["same"].tolist() == pytest.approx([VALUE] * 20)
        assert rows["a"].nunique() == 20

    @pytest.mark.parametrize("model", [cw.QDA(), cw.NaiveBayes(), cw.BayesianLogistic()], ids=repr)
    def test_it_has_no_share_in_the_reasons(self, model):
        why = model.fit(self.frame, y).explain(self.frame[:1])
        assert why.shares.get("same", 0.0) == 0

    @pytest.mark.parametrize("model", [cw.QDA(), cw.LDA(), cw.NaiveBayes()], ids=repr)
    def test_polynomials_do_not_depend_on_it(self, model):
        m = model.fit(self.frame, y)
        edge, g = m.boundary(0, 1), m.discriminant(2)
        odds = m.log_joint(self.frame)
        np.testing.assert_allclose(edge(self.frame), odds[:, 0] - odds[:, 1], rtol=1e-8)
        assert edge.w[2] == 0
        assert not edge.W[2].any()
        assert not g.A[:, 2].any()
        assert m.boundary(0, 1, columns=["a", "same"]).names == ("a", "same")
        with pytest.raises(cw.ClasswiseError, match="left out 'same'"):
            m.boundary(0, 1, columns=["same"])

    @pytest.mark.parametrize("model", [cw.QDA(), cw.LDA(shrink=0.1), cw.NaiveBayes()], ids=repr)
    def test_leaving_rows_out(self, model, monkeypatch):
        expected = model.fit(X, y).leave_one_out(X, y)
        m = model.fit(ROWS, y)
        monkeypatch.setattr("classwise.selection.leave_one_out.LeavingOut._refit_without", None)  # by formula, still
        np.testing.assert_allclose(m.leave_one_out(ROWS, y), expected, rtol=1e-8)

    def test_a_row_that_alone_varies_is_left_out(self):
        rows = ROWS.copy()
        rows[3, 2] = 9.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cw.SingularRowWarning)
            alone = cw.LDA().fit(rows, y).leave_one_out(rows, y)[3]
        np.testing.assert_allclose(alone, cw.LDA().fit(X, y).leave_one_out(X, y)[3], rtol=1e-8)

    def test_distances_and_novelty(self):
        plain, m = cw.QDA().fit(X, y), cw.QDA().fit(ROWS, y)
        np.testing.assert_allclose(m.distances(ROWS), plain.distances(X), rtol=1e-9)
        for law in ("leave-one-out", "chi-square"):
            expected = cw.Decision(cw.QDA(), novelty=0.05, law=law).fit(X, y).decide(X).novel
            found = cw.Decision(cw.QDA(), novelty=0.05, law=law).fit(ROWS, y).decide(ROWS).novel
            assert found.tolist() == expected.tolist()

    def test_directions_and_means_are_of_the_others(self):
        m, plain = cw.LDA().fit(ROWS, y), cw.LDA().fit(X, y)
        np.testing.assert_allclose(np.abs(m.transform(ROWS)), np.abs(plain.transform(X)), rtol=1e-7)
        assert m.means_.shape == (3, 4)
        assert cw.NaiveBayes().fit(ROWS, y).variances_.shape == (3, 4)

    def test_files(self, tmp_path):
        for model in (cw.QDA(), cw.NaiveBayes(), cw.BayesianLogistic(), cw.AutoClassifier(members="fast")):
            m = model.fit(ROWS, y)
            cw.save(m, tmp_path / "m.cw")
            np.testing.assert_array_equal(cw.load(tmp_path / "m.cw").predict_proba(ROWS), m.predict_proba(ROWS))

    def test_a_given_prior_describes_it_too(self):
        prior = cw.NormalInverseWishart(mean=[*X.mean(axis=0).tolist(), 0.0], kappa=1.0, nu=7.0, scale=1.0)
        m = cw.QDA(estimate="bayes", prior=prior).fit(np.column_stack([X, np.zeros(150)]), y)
        assert m.means_.shape == (3, 5)
        assert not m.schema_[4].note

    def test_a_log_normal_column(self):
        m = cw.QDA(families={2: "lognormal"}).fit(ROWS, y)
        assert m.schema_[2].note == "left out: always 7.1"
        np.testing.assert_allclose(m.predict_proba(ROWS), cw.QDA().fit(X, y).predict_proba(X), atol=1e-9)


class TestRefusals:
    def test_constant_within_every_class_at_values_of_its_own(self):
        """It would tell the classes apart by itself, and no Gaussian describes it: nothing is left out in silence."""
        rows = np.insert(X, 2, y, axis=1)
        for model in (cw.LDA(), cw.QDA(), cw.QDA(structure="diagonal")):
            with pytest.raises(cw.SingularCovarianceError, match="column 2 does not vary"):
                model.fit(rows, y)

    def test_constant_within_one_class(self):
        rows = np.insert(X, 2, np.where(y == 1, 5.0, X[:, 0] + X[:, 3] ** 2), axis=1)
        with pytest.raises(cw.SingularCovarianceError, match=r"Class 1 .*column 2 does not vary"):
            cw.QDA().fit(rows, y)

    @pytest.mark.parametrize("model", MODELS, ids=repr)
    def test_nothing_varies(self, model):
        with pytest.raises(cw.ClasswiseError, match="No column of X varies"):
            model.fit(np.ones((40, 2)), np.arange(40) % 2)


@quietly
class TestStacks:
    def test_auto_answers_as_without_it(self):
        expected = cw.AutoClassifier(members="full").fit(X, y)
        m = cw.AutoClassifier(members="full").fit(ROWS, y)
        np.testing.assert_allclose(m.predict_proba(ROWS), expected.predict_proba(X), atol=1e-6)
        assert [line.name for line in m.report_ if line.reason] == [
            line.name for line in expected.report_ if line.reason
        ]
        rows, _ = m.sample(30, random_state=0)
        assert set(rows[:, 2]) == {VALUE}

    def test_nothing_varies(self):
        m = cw.AutoClassifier().fit(np.ones((60, 2)), np.arange(60) % 3 == 0)
        np.testing.assert_allclose(m.predict_proba([[1.0, 2.0]])[0], [2 / 3, 1 / 3], atol=0.02)

    def test_no_model_drops_out_of_a_comparison(self):
        found = cw.compare(ROWS[::2], y[::2], folds=3)
        plain = cw.compare(X[::2], y[::2], folds=3)
        for trial in found.trials:
            assert not trial.reason
            expected = plain[trial.name].estimate("log_loss").value
            assert trial.estimate("log_loss").value == pytest.approx(expected, abs=2e-3), trial.name
