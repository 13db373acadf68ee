"""Posteriors to a power: the power is the best, decisions stay, everything that uses posteriors agrees."""

import numpy as np
import pytest
from palmerpenguins import load_penguins
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import classwise as cw
from classwise.classifier.bayes import Calibration
from classwise.selection import OutOfFold
from classwise.selection.crossing import Crossing

X, y = load_breast_cancer(return_X_y=True)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
MODELS = [
    cw.NaiveBayes(folds=FOLDS),
    cw.QDA(folds=FOLDS),
    cw.LDA(folds=FOLDS, shrink="oas", standardize=True),
    cw.QDA(folds=FOLDS, estimate="bayes"),
]


def powered(logs, power):
    return power * logs - np.logaddexp.reduce(power * logs, axis=1, keepdims=True)


def loss(logs, codes, log_power):
    """With the prior of log power."""
    own = powered(logs, np.exp(log_power))[np.arange(len(codes)), codes]
    return -own.sum() + 0.5 * log_power**2


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_power_is_the_best_for_rows_held_out(model):
    m = clone(model).set_params(calibrate="temperature").fit(X, y)
    plain = clone(model).set_params(folds=10)
    logs = cross_val_predict(plain, X, y, cv=FOLDS, method="predict_log_proba")
    best = minimize_scalar(lambda u: loss(logs, y, u), bounds=(-4, 4), method="bounded", options={"xatol": 1e-7})
    assert np.log(m.calibration_.power) == pytest.approx(best.x, abs=1e-4)
    assert m.calibration_.power < 1  # dependent features make these too sure


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_posteriors_are_a_power_of_what_they_were_and_decisions_stay(model):
    plain, m = clone(model).fit(X, y), clone(model).set_params(calibrate="temperature").fit(X, y)
    expected = powered(plain.predict_log_proba(X), m.calibration_.power)
    np.testing.assert_allclose(m.predict_log_proba(X), expected, atol=1e-9)
    np.testing.assert_allclose(m.predict_proba(X), np.exp(expected), atol=1e-12)
    np.testing.assert_array_equal(m.predict(X), plain.predict(X))
    np.testing.assert_allclose(m.decision_function(X), m.calibration_.power * plain.decision_function(X), rtol=1e-9)
    for method in ("log_joint", "log_density", "log_evidence"):
        np.testing.assert_allclose(getattr(m, method)(X), getattr(plain, method)(X), rtol=1e-7)


def test_improves_log_loss_of_new_rows():
    half = np.random.default_rng(0).random(len(y)) < 0.5
    for model in MODELS[:2]:
        plain = clone(model).fit(X[half], y[half])
        m = clone(model).set_params(calibrate="temperature").fit(X[half], y[half])
        rows, codes = np.arange((~half).sum()), y[~half]
        before, after = (-p.predict_log_proba(X[~half])[rows, codes].mean() for p in (plain, m))
        assert after < 0.6 * before


def test_leave_one_out_has_the_power():
    m = cw.QDA(calibrate="temperature").fit(X, y)
    plain = cw.QDA().fit(X, y).leave_one_out(X, y)
    np.testing.assert_allclose(m.leave_one_out(X, y), powered(plain, m.calibration_.power), atol=1e-8)


def test_an_explanation_has_the_power():
    penguins = load_penguins()
    rows, labels = penguins.drop(columns=["species", "year"]), penguins["species"]
    plain = cw.NaiveBayes().fit(rows, labels)
    m = cw.NaiveBayes(calibrate="temperature").fit(rows, labels)
    power = m.calibration_.power
    ours, theirs = (model.explain(rows.iloc[[5]]) for model in (m, plain))
    assert ours.log_odds == pytest.approx(power * theirs.log_odds)
    assert ours.prior == pytest.approx(power * theirs.prior)
    log_posterior = m.predict_log_proba(rows.iloc[[5]])[0]
    first, second = (m.classes_.tolist().index(label) for label in (ours.label, ours.other))
    assert ours.log_odds == pytest.approx(log_posterior[first] - log_posterior[second])
    assert sum(ours.shares.values()) + ours.prior + ours.volume == pytest.approx(ours.log_odds)


class TestOtherPriors:
    def test_posteriors_change_by_the_ratio_of_the_priors(self):
        m = cw.QDA(calibrate="temperature").fit(X, y)
        priors = np.array([0.9, 0.1])
        moved = m.with_priors(priors)
        expected = m.predict_log_proba(X) + np.log(priors / m.priors_)
        expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(moved.predict_log_proba(X), expected, atol=1e-9)
        np.testing.assert_array_equal(moved.predict(X), m.classes_[expected.argmax(axis=1)])
        np.testing.assert_allclose(moved.log_joint(X), m.with_priors("uniform").log_density(X) + np.log(priors))

    def test_what_was_chosen_is_kept(self):
        m = cw.RDA(calibrate="temperature", folds=3).fit(X[:, :4], y).with_priors("uniform")
        assert m.calibration_ == m.classifier_.calibration
        assert m.dials_.best

    def test_and_back(self):
        m = cw.NaiveBayes(calibrate="temperature").fit(X, y)
        back = m.with_priors([0.9, 0.1]).with_priors(m.priors_)
        np.testing.assert_allclose(back.predict_log_proba(X), m.predict_log_proba(X), atol=1e-9)

    @pytest.mark.parametrize("power", [0.5, 2.0])
    def test_a_prior_of_zero_stays_zero(self, power):
        m = cw.QDA().fit(X, y)
        m._model = m.model_.with_classifier(m.classifier_.calibrated(Calibration(power)))
        np.testing.assert_array_equal(m.with_priors([1.0, 0.0]).predict_proba(X)[:, 1], 0)

    def test_an_explanation_still_adds_up(self):
        m = cw.LDA(calibrate="temperature").fit(X, y).with_priors([0.9, 0.1])
        why = m.explain(X[0])
        assert sum(why.shares.values()) + why.prior == pytest.approx(why.log_odds)
        log_posterior = m.predict_log_proba(X[:1])[0]
        assert why.log_odds == pytest.approx(abs(log_posterior[0] - log_posterior[1]))


class TestOutOfFold:
    rng = np.random.default_rng(0)
    logs = powered(3 * rng.normal(size=(500, 4)), 1)
    codes = (powered(logs, 0.5) + rng.gumbel(size=(500, 4))).argmax(axis=1)  # drawn with the power 0.5
    folds = np.arange(500) % 5
    rows = OutOfFold(logs, codes, folds, np.ones(500))

    def test_finds_the_power_that_rows_were_drawn_with(self):
        assert self.rows.fit().power == pytest.approx(0.5, abs=0.1)

    def test_slopes_match_finite_differences(self):
        for log_power in (-1.0, 0.0, 0.7):
            step = 1e-4
            left, here, right = (self.rows.slopes(log_power + d) for d in (-step, 0, step))
            np.testing.assert_allclose(here.first, (right.loss - left.loss) / (2 * step), rtol=1e-6)
            second = (right.loss - 2 * here.loss + left.loss) / step**2
            np.testing.assert_allclose(here.second, second, rtol=1e-4)

    def test_without_a_fold_is_near_to_fitting_without_it(self):
        _, by_fold = self.rows.fit_by_fold()
        for fold, approximate in enumerate(by_fold):
            kept = self.folds != fold
            exact = OutOfFold(self.logs[kept], self.codes[kept], self.folds[kept], np.ones(kept.sum())).fit()
            assert np.log(approximate.power) == pytest.approx(np.log(exact.power), abs=0.05)
            assert approximate.power != self.rows.fit().power

    def test_weight_two_is_the_row_twice(self):
        weights = self.rng.choice([1.0, 2.0], 500)
        twice = np.repeat(np.arange(500), weights.astype(int))
        repeated = OutOfFold(self.logs[twice], self.codes[twice], self.folds[twice], np.ones(len(twice)))
        weighted = OutOfFold(self.logs, self.codes, self.folds, weights)
        assert weighted.fit().power == pytest.approx(repeated.fit().power, rel=1e-6)

    def test_where_nothing_is_wrong_the_power_is_finite(self):
        best = self.logs.argmax(axis=1)
        power = OutOfFold(self.logs, best, self.folds, np.ones(500)).fit().power
        assert 1 < power < np.exp(4)

    def test_a_few_hopeless_rows_do_not_decide_for_all(self):
        logs = self.logs.copy()
        logs[:3] = [0.0, -5000.0, -5000.0, -5000.0]
        codes = self.codes.copy()
        codes[:3] = 1
        power = OutOfFold(logs, codes, self.folds, np.ones(500)).fit().power
        assert power == pytest.approx(self.rows.fit().power, rel=0.05)

    def test_what_was_ruled_out_does_not_count(self):
        logs = self.logs.copy()
        logs[:10] = [0.0, -np.inf, -np.inf, -np.inf]
        codes = self.codes.copy()
        codes[:10] = 1
        kept = slice(10, None)
        with_them = OutOfFold(logs, codes, self.folds, np.ones(500)).fit()
        without = OutOfFold(logs[kept], codes[kept], self.folds[kept], np.ones(490)).fit()
        assert with_them.power == pytest.approx(without.power, rel=1e-9)


class TestSurface:
    def test_rows_are_needed(self):
        m = cw.LDA(calibrate="temperature")
        with pytest.raises(cw.ClasswiseError, match="calibrate='temperature' needs the rows: call fit"):
            m.fit_statistics(cw.summarize(X, y))
        assert not hasattr(m, "partial_fit")

    def test_unknown(self):
        with pytest.raises(cw.ClasswiseError, match="calibrate='platt' is not an option; choose None or 'temperature'"):
            cw.LDA(calibrate="platt").fit(X, y)

    def test_fitting_again_without_forgets_the_power(self):
        m = cw.LDA(calibrate="temperature").fit(X, y)
        m.set_params(calibrate=None).fit(X, y)
        assert not hasattr(m, "calibration_")
        np.testing.assert_allclose(m.predict_proba(X), cw.LDA().fit(X, y).predict_proba(X))

    def test_a_failed_fit_leaves_the_model_as_it_was(self):
        m = cw.LDA(calibrate="temperature").fit(X, y)
        before = m.predict_proba(X)
        with pytest.raises(cw.ClasswiseError):
            m.fit(X[:, :1] * 0, y)
        np.testing.assert_array_equal(m.predict_proba(X), before)

    def test_with_dials(self):
        rows, labels = load_iris(return_X_y=True)
        m = cw.RDA(calibrate="temperature").fit(rows, labels)
        assert m.dials_.best != (0.0, 0.0)
        assert 0.2 < m.calibration_.power < 5

    def test_ties_at_random(self):
        m = cw.NaiveBayes(calibrate="temperature", ties="random", random_state=0).fit(X, y)
        np.testing.assert_array_equal(m.predict(X), cw.NaiveBayes().fit(X, y).predict(X))

    def test_the_only_row_of_a_class_says_nothing(self):
        labels = y.copy()
        labels[3] = 7
        crossing = Crossing.read(X, labels, 5)
        np.testing.assert_array_equal(np.flatnonzero(crossing.scored_weights == 0), [3])
        m = cw.QDA(calibrate="temperature", estimate="bayes").fit(X, labels)
        assert 0.05 < m.calibration_.power < 1
