"""Priors that have shifted: found with the error they should have, and left alone where nothing has."""

import numpy as np
import pytest
from palmerpenguins import load_penguins
from scipy import stats
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import classwise as cw

X, y = load_iris(return_X_y=True)
SEEDS = 50


class TestShift:
    centers = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])

    def rows(self, rng, size, priors):
        labels = rng.choice(3, size, p=priors)
        return rng.normal(size=(size, 2)) + self.centers[labels], labels

    def shifts(self, truth, size=1000):
        """Of 50 samples, the shift that is found, and the shares of labels predicted."""
        m = cw.LDA().fit(*self.rows(np.random.default_rng(1000), 200_000, [0.5, 0.3, 0.2]))
        samples = [self.rows(np.random.default_rng(seed), size, truth)[0] for seed in range(SEEDS)]
        counted = np.array([np.bincount(m.predict(rows), minlength=3) / size for rows in samples])
        return m, [m.estimate_priors(rows) for rows in samples], counted

    @pytest.mark.parametrize("truth", [[0.7, 0.2, 0.1], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]])
    def test_recovers_priors_within_its_standard_error(self, truth):
        """z = (estimate - truth) / error is standard normal.

        Of 50 z those within ±1.96 are binomial(50, 0.95): 41 or fewer with probability 0.0008. Their sum of squares is
        chi-square with 50 degrees of freedom, their mean times the root of 50 standard normal; both are held to 99.9 %.
        So for each of three classes and three truths a right estimate fails with probability 0.0028 if seeds are drawn
        anew, and once in 40 times in one of the nine. Errors 1.5 times too small fail with probability 0.85 in each.
        """
        _, shifts, _ = self.shifts(np.array(truth))
        z = np.array([(shift.estimate - truth) / shift.error for shift in shifts])
        assert (stats.binom.cdf((np.abs(z) < 1.96).sum(axis=0), SEEDS, 0.95) > 0.0008).all()
        low, high = stats.chi2.ppf([0.0005, 0.9995], SEEDS)
        squares = (z**2).sum(axis=0)
        assert ((low < squares) & (squares < high)).all()
        assert (np.abs(z.mean(axis=0)) * np.sqrt(SEEDS) < stats.norm.isf(0.0005)).all()

    def test_the_test_above_would_notice_wrong_errors(self):
        """Its power, on the same samples: errors half or twice as large are noticed in every class."""
        truth = np.array([0.7, 0.2, 0.1])
        _, shifts, _ = self.shifts(truth)
        z = np.array([(shift.estimate - truth) / shift.error for shift in shifts])
        low, high = stats.chi2.ppf([0.0005, 0.9995], SEEDS)
        assert (((2 * z) ** 2).sum(axis=0) > high).all()
        assert (((z / 2) ** 2).sum(axis=0) < low).all()

    def test_beats_counting_labels(self):
        truth = np.array([0.7, 0.2, 0.1])
        _, shifts, counted = self.shifts(truth)
        ours = np.array([np.abs(shift.estimate - truth).sum() for shift in shifts])
        theirs = np.abs(counted - truth).sum(axis=1)
        assert all(shift.has_shifted for shift in shifts)
        assert ours.mean() < 0.5 * theirs.mean()
        assert stats.wilcoxon(ours, theirs, alternative="less").pvalue < 1e-6

    def test_leaves_priors_alone_without_a_shift(self):
        """p is uniform: at 5 % it refutes binomial(50, 0.05) times, more than 8 with probability 0.0008."""
        m, shifts, _ = self.shifts([0.5, 0.3, 0.2])
        assert sum(shift.has_shifted for shift in shifts) <= 8
        assert stats.kstest([shift.p_value for shift in shifts], "uniform").pvalue > 1e-3
        for shift in shifts:
            kept = m.priors_ if not shift.has_shifted else shift.estimate
            np.testing.assert_array_equal(m.with_priors(shift).priors_, kept)

    def test_is_the_top_of_the_likelihood(self):
        """Also by another way up: SciPy's, from the densities and not from posteriors."""
        rng = np.random.default_rng(2)
        m = cw.QDA(priors="uniform").fit(*self.rows(rng, 2000, [1 / 3] * 3))
        rows, _ = self.rows(rng, 300, [0.6, 0.3, 0.1])
        density = np.exp(m.log_density(rows))

        def loss(logits):
            priors = np.exp(logits - np.logaddexp.reduce(logits))
            return -np.log(density @ priors).sum()

        best = minimize(loss, np.zeros(3), tol=1e-12)
        shift = m.estimate_priors(rows)
        np.testing.assert_allclose(shift.estimate, np.exp(best.x - np.logaddexp.reduce(best.x)), atol=1e-4)
        assert shift.statistic == pytest.approx(2 * (loss(np.zeros(3)) - best.fun), abs=1e-5)
        assert shift.p_value == pytest.approx(stats.chi2.sf(shift.statistic, 2), rel=1e-12)

    def test_whatever_priors_the_model_has(self):
        """The estimate is that of the new rows; where it starts from does not matter."""
        rng = np.random.default_rng(3)
        m = cw.LDA().fit(*self.rows(rng, 3000, [1 / 3] * 3))
        rows, _ = self.rows(rng, 500, [0.6, 0.3, 0.1])
        ours = m.estimate_priors(rows).estimate
        for priors in ([0.9, 0.05, 0.05], [0.01, 0.01, 0.98]):
            np.testing.assert_allclose(m.with_priors(priors).estimate_priors(rows).estimate, ours, atol=1e-6)

    def test_of_calibrated_models(self):
        rng = np.random.default_rng(4)
        m = cw.QDA(calibrate="temperature").fit(*self.rows(rng, 3000, [1 / 3] * 3))
        rows, labels = self.rows(rng, 2000, [0.8, 0.1, 0.1])
        shift = m.estimate_priors(rows)
        assert (np.abs(shift.estimate - np.bincount(labels) / 2000) < 4 * shift.error).all()
        moved = m.with_priors(shift)
        # at the top, the mean of the new posteriors is the new priors
        np.testing.assert_allclose(moved.predict_proba(rows).mean(axis=0), shift.estimate, atol=1e-8)

    def test_of_mixed_tables_with_gaps(self):
        penguins = load_penguins()
        rows, labels = penguins.drop(columns=["species", "year"]), penguins["species"]
        m = cw.NaiveBayes().fit(rows, labels)
        chosen = np.flatnonzero(labels != "Gentoo")
        shift = m.estimate_priors(rows.iloc[chosen])
        assert shift.has_shifted
        assert shift["Gentoo"] < 0.02
        assert shift["Adelie"] == pytest.approx((labels.iloc[chosen] == "Adelie").mean(), abs=0.05)

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

    def test_classes_that_look_the_same_cannot_be_told_apart(self):
        rng = np.random.default_rng(5)
        rows = rng.normal(size=(400, 2))
        m = cw.LDA().fit(np.vstack([rows, rows, rows + 4]), np.repeat([0, 1, 2], 400))
        shift = m.estimate_priors(np.vstack([rows[:100], rows[:50] + 4]))
        assert np.isinf(shift.error[:2]).all()
        assert 0 < shift.error[2] < 0.1
        assert shift.estimate[2] == pytest.approx(1 / 3, abs=0.05)
        assert shift.p_value > 1e-3
        assert "± inf" in repr(shift)

    def test_at_the_edge_there_is_no_standard_error(self):
        rng = np.random.default_rng(6)
        m = cw.LDA().fit(np.vstack([rng.normal(size=(300, 2)) + 20 * k for k in range(3)]), np.repeat([0, 1, 2], 300))
        shift = m.estimate_priors(rng.normal(size=(100, 2)))
        np.testing.assert_allclose(shift.estimate, [1, 0, 0], atol=1e-9)
        assert np.isnan(shift.error).all()
        assert "0: 0.3333 -> 1\n" in repr(shift)
        assert repr(shift).endswith("2: 0.3333 -> 0")
