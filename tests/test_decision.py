"""Decisions: least expected cost, Chow's rule, novelty; priors that have shifted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palmerpenguins import load_penguins
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict

import classwise as cw
from classwise.decision import Policy, read_costs, reject_curve

X, y = load_iris(return_X_y=True)
MODEL = cw.QDA().fit(X, y)
POSTERIOR = MODEL.predict_proba(X)


class TestCosts:
    @given(st.integers(0, 500))
    def test_equals_minimizing_expected_cost_by_hand(self, seed):
        rng = np.random.default_rng(seed)
        costs = rng.uniform(0, 5, (3, 3))
        m = cw.Decision(MODEL, costs=costs)
        by_hand = [min(range(3), key=lambda j: sum(p[i] * costs[i][j] for i in range(3))) for p in POSTERIOR]
        np.testing.assert_array_equal(m.predict(X), by_hand)
        least = [min(sum(p[i] * costs[i][j] for i in range(3)) for j in range(3)) for p in POSTERIOR]
        np.testing.assert_allclose(m.decide(X).cost, least, rtol=1e-12)
        np.testing.assert_allclose(m.expected_costs(X).min(axis=1), least, rtol=1e-12)

    def test_of_errors_alone_is_predict(self):
        np.testing.assert_array_equal(cw.Decision(MODEL).predict(X), MODEL.predict(X))
        np.testing.assert_allclose(cw.Decision(MODEL).decide(X).cost, 1 - POSTERIOR.max(axis=1), atol=1e-12)

    def test_as_a_mapping(self):
        labels = np.array(["ill", "unclear", "well"])
        matrix = read_costs({"ill": {"well": 50, "unclear": 2}, "well": {"well": -1}}, labels)
        np.testing.assert_array_equal(matrix, [[0, 2, 50], [1, 0, 1], [1, 1, -1]])

    def test_move_the_decision(self):
        rows, labels = load_breast_cancer(return_X_y=True)
        plain = cw.LDA(calibrate="temperature").fit(rows, labels)
        careful = cw.Decision(plain, costs={0: {1: 30}})
        missed = [int(((m.predict(rows) == 1) & (labels == 0)).sum()) for m in (plain, careful)]
        assert missed[1] < missed[0] / 2

    @pytest.mark.parametrize(
        ("costs", "message"),
        [
            (np.ones((2, 2)), r"costs has shape \(2, 2\), and 3 classes take one of \(3, 3\)"),
            ({7: {0: 1}}, "costs names 7, which is not a class"),
            ({0: {9: 1}}, "costs names 9, which is not a class"),
            ({0: 3}, r"costs\[0\] must map decisions to their costs"),
            (np.full((3, 3), np.nan), "must be finite"),
        ],
    )
    def test_that_make_no_sense(self, costs, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.Decision(MODEL, costs=costs).predict(X)


class TestReject:
    @pytest.mark.parametrize("cost", [0.001, 0.1, 0.3, 0.7])
    def test_is_chows_rule(self, cost):
        m = cw.Decision(MODEL, reject=cost)
        refused = POSTERIOR.max(axis=1) < 1 - cost
        decided = m.decide(X)
        np.testing.assert_array_equal(decided.refused, refused)
        np.testing.assert_array_equal(decided.labels[~refused], MODEL.predict(X)[~refused])
        assert all(label == "reject" for label in decided.labels[refused])
        np.testing.assert_allclose(decided.cost, np.minimum(1 - POSTERIOR.max(axis=1), cost), atol=1e-12)

    def test_below_a_posterior(self):
        m = cw.Decision(MODEL, reject={"posterior": 0.95}, reject_label=-1)
        np.testing.assert_array_equal(m.predict(X) == -1, POSTERIOR.max(axis=1) < 0.95)

    def test_costs_less_than_any_decision(self):
        """With dear errors more is refused."""
        cheap, dear = (Policy(c * (1 - np.eye(3)), refusing=0.2).decide(POSTERIOR.T).refused.sum() for c in (1, 20))
        assert dear > cheap

    @pytest.mark.parametrize("reject", ["often", {"posterior": 2}, {"odds": 0.1}, np.inf, True])
    def test_that_makes_no_sense(self, reject):
        with pytest.raises(cw.ClasswiseError, match="reject"):
            cw.Decision(MODEL, reject=reject).predict(X)

    def test_curve(self):
        curve = MODEL.reject_curve(X, y)
        order = np.argsort(-POSTERIOR.max(axis=1), kind="stable")
        wrong = (MODEL.predict(X) != y)[order]
        assert curve.coverage[-1] == 1
        assert curve.error[-1] == pytest.approx(wrong.mean())
        for coverage in (0.5, 0.8, 0.95):
            assert curve.at(coverage) == pytest.approx(wrong[: round(150 * coverage)].mean(), abs=0.01)
        assert (np.diff(curve.coverage) > 0).all()
        assert 0 < curve.area < curve.error[-1]

    def test_curve_counts_weights(self):
        weights = np.random.default_rng(0).integers(1, 4, 150).astype(float)
        twice = np.repeat(np.arange(150), weights.astype(int))
        ours, theirs = MODEL.reject_curve(X, y, weights), MODEL.reject_curve(X[twice], y[twice])
        np.testing.assert_allclose(ours.coverage, theirs.coverage)
        np.testing.assert_allclose(ours.error, theirs.error)

    def test_rows_of_one_posterior_come_in_together(self):
        curve = reject_curve(np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]]), np.array([0, 0, 1]))
        np.testing.assert_allclose(curve.coverage, [1 / 3, 1])
        np.testing.assert_allclose(curve.error, [0, 1 / 3])


def gaussian_rows(rng, size, shift=0.0):
    labels = rng.integers(0, 3, size)
    mix = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 0.5]])
    return rng.normal(size=(size, 3)) @ mix + 6 * labels[:, None] + shift, labels


class TestNovelty:
    @pytest.mark.parametrize("law", ["leave-one-out", "chi-square"])
    @pytest.mark.parametrize("share", [0.01, 0.1])
    def test_false_alarms_are_as_asked(self, law, share):
        rng = np.random.default_rng(1)
        rows, labels = gaussian_rows(rng, 3000)
        m = cw.Decision(cw.QDA(), novelty=share, law=law).fit(rows, labels)
        new = gaussian_rows(rng, 20_000)[0]
        alarms = m.decide(new).novel.sum()
        # Of the threshold itself, learned from 3,000 rows, as well as of the new ones.
        spread = np.sqrt(20_000 * share * (1 - share) * (1 + 20_000 / 3000))
        assert abs(alarms - 20_000 * share) < 3 * spread

    @pytest.mark.parametrize("law", ["leave-one-out", "chi-square"])
    @pytest.mark.parametrize("model", [cw.QDA(), cw.LDA(), cw.NearestMean()], ids=str)
    def test_ten_sigma_out_is_novel(self, law, model):
        rng = np.random.default_rng(2)
        rows, labels = gaussian_rows(rng, 600)
        m = cw.Decision(model, novelty=0.001, law=law).fit(rows, labels)
        away = rng.normal(size=(50, 3))
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        far = rows.mean(axis=0) + away * (10 * np.abs(rows - rows.mean(axis=0)).max())
        decided = m.decide(far)
        assert decided.novel.all()
        assert set(decided.labels) == {"novel"}

    def test_leave_one_out_is_needed(self):
        """Rows of few, wide classes look more ordinary to a model that has seen them."""
        rng = np.random.default_rng(3)
        rows, labels = rng.normal(size=(60, 8)), np.repeat([0, 1, 2], 20)
        m = cw.QDA().fit(rows, labels)
        assert np.quantile(m.leave_one_out_evidence(rows, labels), 0.1) < np.quantile(m.log_evidence(rows), 0.1) - 1

    def test_evidence_left_out_equals_fitting_without_each_row(self):
        m = cw.QDA().fit(X, y)
        ours = m.leave_one_out_evidence(X, y)
        for row in range(0, 150, 17):
            rest = np.arange(150) != row
            part = cw.QDA(priors=m.priors_).fit(X[rest], y[rest])
            assert ours[row] == pytest.approx(part.log_evidence(X[row : row + 1])[0], rel=1e-9)

    def test_distances(self):
        distances = cw.LDA().fit(X, y).distances(X)
        m = cw.LDA().fit(X, y)
        expected = cdist(X, m.means_, "mahalanobis", VI=np.linalg.inv(m.covariances_[0])) ** 2
        np.testing.assert_allclose(distances, expected, rtol=1e-9)

    def test_mixed_columns(self):
        penguins = load_penguins().iloc[::4]
        rows, labels = penguins.drop(columns=["species", "year"]), penguins["species"]
        m = cw.Decision(cw.NaiveBayes(), novelty=0.05).fit(rows, labels)
        assert 0 < m.decide(rows).novel.mean() < 0.15
        with pytest.raises(cw.ClasswiseError, match="a model without other columns"):
            cw.Decision(cw.LDA(), novelty=0.05, law="chi-square").fit(rows, labels)

    def test_weights_are_rows_repeated_and_zero_is_no_row(self):
        weights = np.random.default_rng(0).integers(0, 4, 150)
        rows = np.repeat(np.arange(150), weights)
        ours = cw.Decision(cw.QDA(), novelty=0.1).fit(X, y, weights.astype(float))
        evidence = cw.QDA().fit(X[rows], y[rows])
        kept = weights > 0
        left_out = evidence.leave_one_out_evidence(X[kept], y[kept], weights[kept].astype(float))
        repeated = np.sort(np.repeat(left_out, weights[kept]))
        assert ours.threshold_ == pytest.approx(repeated[int(0.1 * (len(rows) + 1)) - 1])

    def test_distances_take_no_gaps(self):
        rows = X.copy()
        rows[3, 1] = np.nan
        with pytest.raises(cw.ClasswiseError, match="Distances of rows with gaps"):
            MODEL.distances(rows)
        with pytest.raises(cw.ClasswiseError, match="estimate='mle' or 'unbiased'"):
            cw.QDA(estimate="bayes").fit(X, y).distances(X)

    def test_naive_bayes_has_no_distances(self):
        with pytest.raises(cw.ClasswiseError, match="needs distances to Gaussian classes, and NaiveBayes has none"):
            cw.Decision(cw.NaiveBayes(), novelty=0.1, law="chi-square").fit(X, y)

    def test_a_model_of_rows_is_needed(self):
        with pytest.raises(cw.ClasswiseError, match="needs a model of the rows, and AutoClassifier has none"):
            cw.Decision(cw.AutoClassifier(folds=3), novelty=0.1).fit(X, y)

    def test_a_fitted_model_needs_rows_or_the_law(self):
        with pytest.raises(cw.ClasswiseError, match="learned from rows: call fit, or use law='chi-square'"):
            cw.Decision(MODEL, novelty=0.1).predict(X)
        assert cw.Decision(MODEL, novelty=0.1, law="chi-square").decide(X).novel.mean() < 0.2


class TestEstimator:
    def test_fits_a_clone(self):
        model = cw.QDA()
        m = cw.Decision(model, reject=0.1).fit(X, y)
        assert not hasattr(model, "statistics_")
        np.testing.assert_allclose(m.predict_proba(X), POSTERIOR)
        assert m.classes_.tolist() == [0, 1, 2]
        assert m.n_features_in_ == 4
        assert clone(m).reject == 0.1

    def test_in_cross_validation(self):
        decided = cross_val_predict(cw.Decision(cw.LDA(), reject=0.2, reject_label=-1), X, y, cv=5)
        assert set(decided.tolist()) == {-1, 0, 1, 2}
        kept = decided != -1
        assert (decided[kept] != y[kept]).mean() < 0.02

    def test_other_models(self):
        m = cw.Decision(cw.AutoClassifier(folds=3), costs={0: {1: 3}}).fit(X, y)
        assert (m.predict(X) == y).mean() > 0.95

    def test_weights(self):
        weights = np.r_[np.ones(100), np.full(50, 5.0)]
        m = cw.Decision(cw.LDA()).fit(X, y, weights)
        np.testing.assert_array_equal(m.predict(X), cw.LDA().fit(X, y, weights).predict(X))

    def test_score_counts_what_is_refused_as_wrong(self):
        m = cw.Decision(MODEL, reject=0.1)
        assert m.score(X, y) == pytest.approx((MODEL.predict(X) == y)[POSTERIOR.max(axis=1) >= 0.9].sum() / 150)

    def test_not_fitted(self):
        with pytest.raises(NotFittedError, match="call fit, or give it a model that is"):
            cw.Decision(cw.LDA()).predict(X)

    def test_options(self):
        with pytest.raises(cw.ClasswiseError, match="novelty=2 is not an option"):
            cw.Decision(cw.LDA(), novelty=2).fit(X, y)
        with pytest.raises(cw.ClasswiseError, match="law='normal' is not an option"):
            cw.Decision(cw.LDA(), novelty=0.1, law="normal").fit(X, y)


class TestShift:
    centers = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])

    def rows(self, rng, size, priors):
        labels = rng.choice(3, size, p=priors)
        return rng.normal(size=(size, 2)) + self.centers[labels], labels

    def test_recovers_shifted_priors(self):
        """Over 50 seeds: within the standard error as often as it should be, and better than counting predictions."""
        rng = np.random.default_rng(0)
        m = cw.LDA().fit(*self.rows(rng, 20_000, [1 / 3] * 3))
        truth = np.array([0.7, 0.2, 0.1])
        scores, errors, counted = [], [], []
        for seed in range(50):
            rows, _ = self.rows(np.random.default_rng(seed), 1000, truth)
            shift = m.estimate_priors(rows)
            assert shift.has_shifted
            scores.append((shift.estimate - truth) / shift.error)
            errors.append(np.abs(shift.estimate - truth).sum())
            counted.append(np.abs(np.bincount(m.predict(rows), minlength=3) / 1000 - truth).sum())
        scores = np.array(scores)
        assert abs(scores.mean()) < 0.5
        assert 0.7 < scores.std() < 1.3
        assert (np.abs(scores) < 2).mean() > 0.88
        assert np.mean(errors) < 0.5 * np.mean(counted)

    def test_leaves_priors_alone_without_a_shift(self):
        rng = np.random.default_rng(0)
        m = cw.LDA().fit(*self.rows(rng, 20_000, [0.5, 0.3, 0.2]))
        found = [m.estimate_priors(self.rows(np.random.default_rng(s), 1000, [0.5, 0.3, 0.2])[0]) for s in range(50)]
        shifted = [shift for shift in found if shift.has_shifted]
        assert len(shifted) <= 8  # 5 % of 50, and chance
        calm = next(shift for shift in found if not shift.has_shifted)
        np.testing.assert_array_equal(calm.priors, m.priors_)
        np.testing.assert_array_equal(m.with_priors(calm).priors_, m.priors_)
        uniform = stats.kstest([shift.p_value for shift in found], "uniform")
        assert uniform.pvalue > 1e-3

    def test_improves_the_new_rows(self):
        rng = np.random.default_rng(1)
        m = cw.QDA().fit(*self.rows(rng, 3000, [1 / 3] * 3))
        rows, labels = self.rows(rng, 2000, [0.85, 0.1, 0.05])
        moved = m.with_priors(m.estimate_priors(rows))
        assert moved.evaluate(rows, labels).log_loss < m.evaluate(rows, labels).log_loss - 0.1

    def test_is_a_mapping_that_prints(self):
        rng = np.random.default_rng(1)
        m = cw.LDA().fit(*self.rows(rng, 3000, [1 / 3] * 3))
        shift = m.estimate_priors(self.rows(rng, 500, [0.8, 0.1, 0.1])[0])
        assert dict(shift) == {label: shift[label] for label in (0, 1, 2)}
        assert sum(shift.values()) == pytest.approx(1)
        assert "the priors have shifted (chi-square" in repr(shift)
        assert len(shift) == 3
        with pytest.raises(KeyError):
            shift["x"]

    def test_a_class_that_is_gone(self):
        rng = np.random.default_rng(1)
        m = cw.QDA().fit(*self.rows(rng, 3000, [1 / 3] * 3))
        shift = m.estimate_priors(self.rows(rng, 2000, [0.5, 0.5, 0.0])[0])
        assert shift[2] < 0.02

    def test_a_prior_of_zero_stays(self):
        m = cw.QDA().fit(X, y).with_priors([0.5, 0.5, 0.0])
        assert m.estimate_priors(X[:100])[2] == 0
