"""Novelty: false alarms as asked for, with gaps too; what lies far out is always told."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palmerpenguins import load_penguins
from scipy.spatial.distance import cdist
from scipy.stats import binom, chi2
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import classwise as cw
from classwise.classifier.shift import EvidenceLaw, lower_quantile

X, y = load_iris(return_X_y=True)
MODEL = cw.QDA().fit(X, y)
LAWS = ("leave-one-out", "chi-square")
MIX = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 0.5]])


def gaussian_rows(rng, size, apart=6.0):
    labels = rng.integers(0, 3, size)
    return rng.normal(size=(size, 3)) @ MIX + apart * labels[:, None], labels


def with_gaps(rng, rows, share=0.3):
    return np.where(rng.random(rows.shape) < share, np.nan, rows)


def alarms(model, law, share, seeds, *, learned=1000, apart=6.0, new=2000):
    """The share of new ordinary rows that are taken for novel, for each seed, by how many values they have: 1, 2, 3."""
    rates = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        d = cw.Decision(model, novelty=share, law=law).fit(*gaussian_rows(rng, learned, apart))
        rows = gaussian_rows(rng, new, apart)[0]
        parts = [d.decide(np.where(np.arange(3) < values, rows, np.nan)).novel.mean() for values in (1, 2, 3)]
        rates.append(parts)
    return np.array(rates)


class TestFalseAlarms:
    """Each rate is the mean of 20 models. Its standard error is that of the 20; a right rate fails a test of three
    standard errors, with its few degrees of freedom, about once in 100 times (seeds are fixed, so: never or always)."""

    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize("share", [0.01, 0.1])
    def test_are_as_asked_whatever_is_missing(self, law, share):
        rates = alarms(cw.QDA(), law, share, 20, apart=20.0)
        error = rates.std(axis=0, ddof=1) / np.sqrt(20)
        binomial = np.sqrt(share * (1 - share) / (20 * 2000))
        bias = 0.1 * share  # of the law: estimated from 333 rows in a class, of 3 columns; of 20,000 rows drawn
        assert (np.abs(rates.mean(axis=0) - share) < 3 * np.maximum(error, binomial) + bias).all()

    @pytest.mark.parametrize("law", LAWS)
    def test_within_binomial_error(self, law):
        """One large model: 100,000 rows to learn from, 20,000 new. The share asked for lies in the binomial interval of
        99.9 %, widened by the error of a threshold learned from that many rows."""
        rng = np.random.default_rng(1)
        d = cw.Decision(cw.QDA(), novelty=0.05, law=law).fit(*gaussian_rows(rng, 100_000))
        count = int(d.decide(gaussian_rows(rng, 20_000)[0]).novel.sum())
        low, high = binom.ppf([0.0005, 0.9995], 20_000, 0.05)
        widening = np.sqrt(1 + 20_000 / 100_000)
        assert abs(count - 1000) < widening * (high - low) / 2

    @pytest.mark.parametrize("law", LAWS)
    def test_are_no_more_where_classes_overlap(self, law):
        """The nearest of several classes is nearer than one's own: by chi-square there are fewer alarms than asked."""
        rates = alarms(cw.QDA(), law, 0.1, 20, apart=1.0).mean(axis=0)
        assert (rates < 0.11).all()
        if law == "leave-one-out":
            assert (rates > 0.09).all()
        else:
            assert rates[0] < 0.09

    @pytest.mark.slow
    def test_are_no_more_where_rows_are_few_and_some_are_missing(self):
        """A model of few rows has to expect more of whole rows than of their parts: carried over, that is cautious."""
        rates = alarms(cw.QDA(), "leave-one-out", 0.1, 40, learned=45)
        error = rates.std(axis=0, ddof=1) / np.sqrt(40)
        assert (rates.mean(axis=0) < 0.1 + 3 * error).all()
        assert rates.mean(axis=0)[2] > 0.06  # whole rows have floor(0.1 * 46) / 46 = 0.087
        assert alarms(cw.QDA(), "chi-square", 0.1, 40, learned=45).mean(axis=0)[2] > 0.13  # the law knows of no few

    @pytest.mark.parametrize("draw", ["normal", "standard_t"])
    def test_where_rows_learned_from_have_gaps_too(self, draw):
        """Overall they are as asked even if classes are not Gaussian: what is ordinary is learned with the gaps.

        The threshold comes from 300 rows: 3 binomial standard errors of these and of 5,000 new ones.
        """
        rng = np.random.default_rng(0)

        def rows(size):
            labels = rng.integers(0, 2, size)
            shape = (size, 3)
            noise = rng.normal(size=shape) if draw == "normal" else rng.standard_t(3, size=shape)
            return with_gaps(rng, noise @ MIX + 5 * labels[:, None]), labels

        d = cw.Decision(cw.QDA(structure="diagonal"), novelty=0.1).fit(*rows(300))
        rate = d.decide(rows(5000)[0]).novel.mean()
        assert abs(rate - 0.1) < 3 * np.sqrt(0.09 * (1 / 300 + 1 / 5000))

    @pytest.mark.parametrize("model", [cw.LDA(estimate="bayes"), cw.NaiveBayes(estimate="bayes")], ids=str)
    def test_of_full_bayes(self, model):
        rng = np.random.default_rng(2)
        d = cw.Decision(model, novelty=0.1).fit(*gaussian_rows(rng, 400))
        rows = gaussian_rows(rng, 4000)[0]
        bound = 3 * np.sqrt(0.09 * (1 / 400 + 1 / 4000))
        assert abs(d.decide(rows).novel.mean() - 0.1) < bound
        assert abs(d.decide(with_gaps(rng, rows)).novel.mean() - 0.1) < bound

    @pytest.mark.slow
    def test_of_mixed_columns_with_gaps(self):
        """Rows are those of the model: numbers, counts, yes or no and categories, three of ten values missing."""
        rng = np.random.default_rng(3)

        def table(size):
            k = rng.integers(0, 2, size)
            frame = pd.DataFrame(
                {
                    "size": rng.normal(3 * k, 1 + k),
                    "visits": rng.poisson(2 + 5 * k),
                    "color": np.where(rng.random(size) < 0.2 + 0.6 * k, "red", rng.choice(["blue", "green"], size)),
                    "member": rng.random(size) < 0.3 + 0.4 * k,
                }
            )
            return frame.astype({"visits": float, "member": object}), np.array(["a", "b"])[k]

        families = {"visits": "poisson", "member": "bernoulli"}
        d = cw.Decision(cw.NaiveBayes(families=families), novelty=0.05).fit(*table(600))
        new, _ = table(4000)
        bound = 3 * np.sqrt(0.05 * 0.95 * (1 / 600 + 1 / 4000))
        whole = d.decide(new).novel.mean()
        assert abs(whole - 0.05) < bound
        holes = new.mask(rng.random(new.shape) < 0.3)
        assert d.decide(holes).novel.mean() < 0.05 + bound  # few values, few levels: there may be no rows so rare
        assert d.decide(holes).novel.mean() > 0.02
        odd = pd.DataFrame({"size": [40.0], "visits": [np.nan], "color": ["red"], "member": [None]})
        assert d.decide(odd).novel.all()

    @pytest.mark.slow
    def test_where_gaps_are_a_signal(self):
        rng = np.random.default_rng(4)

        def rows(size):
            part, labels = gaussian_rows(rng, size)
            part[(rng.random(size) < 0.1 + 0.3 * labels), 1] = np.nan
            return part, labels

        d = cw.Decision(cw.LDA(missing="level"), novelty=0.1).fit(*rows(300))
        rate = d.decide(rows(5000)[0]).novel.mean()
        assert abs(rate - 0.1) < 3 * np.sqrt(0.09 * (1 / 300 + 1 / 5000))


class TestFarOut:
    @pytest.mark.parametrize("law", LAWS)
    @pytest.mark.parametrize("share", [0.1, 0.01, 0.002])
    @pytest.mark.parametrize(
        "model",
        [cw.QDA(), cw.LDA(), cw.NearestMean(), cw.NaiveBayes(), cw.RDA(share=0.5, shrink=0.2)],
        ids=["QDA", "LDA", "NearestMean", "NaiveBayes", "RDA"],
    )
    def test_ten_sigma_from_every_class_is_novel(self, law, share, model):
        """In any direction, whole and with any one value missing that leaves it ten sigma out in what is there."""
        rng = np.random.default_rng(2)
        rows, labels = gaussian_rows(rng, 600)
        d = cw.Decision(model, novelty=share, law=law).fit(rows, labels)
        away = rng.normal(size=(300, 3)) * rows.std(axis=0)
        far = rows.mean(axis=0) + away * 10 ** rng.uniform(0, 3, size=(300, 1))
        far = far[np.sqrt(d.model_.distances(far).min(axis=1)) >= 10]
        assert len(far) > 100
        decided = d.decide(far)
        assert decided.novel.all()
        assert set(decided.labels) == {-2}
        assert np.isnan(decided.cost).all()
        for column in range(3):
            part = far.copy()
            part[:, column] = np.nan
            still = np.sqrt(d.model_.distances(part).min(axis=1)) >= 10
            assert still.sum() > 50
            assert d.decide(part[still]).novel.all()

    @pytest.mark.parametrize("law", LAWS)
    def test_a_row_without_any_value_is_not_novel(self, law):
        d = cw.Decision(cw.QDA(), novelty=0.1, law=law).fit(X, y)
        assert not d.decide(np.full((1, 4), np.nan)).novel.any()

    def test_novel_goes_before_refused(self):
        d = cw.Decision(cw.QDA(), novelty=0.1, reject=0.0).fit(X, y)
        decided = d.decide(np.vstack([X, X + 100]))
        assert decided.novel[150:].all()
        assert not (decided.refused & decided.novel).any()


class TestLeaveOneOut:
    def test_is_needed(self):
        """Rows of few, wide classes look more ordinary to a model that has seen them."""
        rng = np.random.default_rng(3)
        rows, labels = rng.normal(size=(60, 8)), np.repeat([0, 1, 2], 20)
        m = cw.QDA().fit(rows, labels)
        assert np.quantile(m.leave_one_out_evidence(rows, labels), 0.1) < np.quantile(m.log_evidence(rows), 0.1) - 1

    def test_evidence_left_out_equals_fitting_without_each_row(self):
        ours = MODEL.leave_one_out_evidence(X, y)
        for row in range(0, 150, 17):
            rest = np.arange(150) != row
            part = cw.QDA(priors=MODEL.priors_).fit(X[rest], y[rest])
            assert ours[row] == pytest.approx(part.log_evidence(X[row : row + 1])[0], rel=1e-9)

    def test_the_threshold_is_the_quantile_of_that(self):
        d = cw.Decision(cw.QDA(), novelty=0.1).fit(X, y)
        assert d.threshold_ == np.sort(MODEL.leave_one_out_evidence(X, y))[15 - 1]
        np.testing.assert_array_equal(d.decide(X).novel, MODEL.log_evidence(X) < d.threshold_)

    def test_weights_are_rows_repeated_and_zero_is_no_row(self):
        weights = np.random.default_rng(0).integers(0, 4, 150)
        rows = np.repeat(np.arange(150), weights)
        ours = cw.Decision(cw.QDA(), novelty=0.1).fit(X, y, weights.astype(float))
        evidence = cw.QDA().fit(X[rows], y[rows])
        kept = weights > 0
        left_out = evidence.leave_one_out_evidence(X[kept], y[kept], weights[kept].astype(float))
        repeated = np.sort(np.repeat(left_out, weights[kept]))
        assert ours.threshold_ == pytest.approx(repeated[int(0.1 * (len(rows) + 1)) - 1])

    def test_too_few_rows_for_so_small_a_share(self):
        with pytest.raises(cw.ClasswiseError, match=r"novelty=0.001 is less than one row of 150.* at least 0.0066"):
            cw.Decision(cw.QDA(), novelty=0.001).fit(X, y)
        cw.Decision(cw.QDA(), novelty=0.001, law="chi-square").fit(X, y)
        assert cw.Decision(cw.QDA(), novelty=1 / 151).fit(X, y).threshold_ == MODEL.leave_one_out_evidence(X, y).min()

    @given(st.integers(0, 10**6), st.integers(1, 60), st.floats(0.01, 0.99))
    def test_a_new_value_lies_below_no_more_often_than_asked(self, seed, size, share):
        """By exchangeability: of n + 1 values, each is as likely to be the new one."""
        values = np.random.default_rng(seed).permutation(size + 1).astype(float)
        if np.floor(share * (size + 1)) < 1:
            return
        below = [
            values[i] < lower_quantile(np.delete(values, i), np.ones(size), share) for i in range(size + 1)
        ]  # fmt: skip
        assert share - 1 / (size + 1) < np.mean(below) <= share + 1e-9

    def test_a_fitted_model_needs_rows_or_the_law(self):
        with pytest.raises(cw.ClasswiseError, match="learned from rows: call fit, or use law='chi-square'"):
            cw.Decision(MODEL, novelty=0.1).predict(X)
        assert cw.Decision(MODEL, novelty=0.1, law="chi-square").decide(X).novel.mean() < 0.2


class TestCarriedOver:
    def test_to_the_exact_quantile_of_a_gaussian(self):
        """Of one Gaussian (two classes that are the same) the law of log p(x_o) is that of chi-square."""
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(4000, 4)) @ rng.normal(size=(4, 4))
        m = cw.LDA(estimate="mle").fit(np.vstack([rows, rows]), np.repeat([0, 1], 4000))
        d = cw.Decision(m, novelty=0.05)
        whole = chi2.isf(0.05, 4)
        covariance = m.covariances_[0]
        d.threshold_ = -0.5 * (whole + np.linalg.slogdet(2 * np.pi * covariance)[1])
        for columns in ([0], [1, 3], [0, 1, 2]):
            present = np.isin(np.arange(4), columns)[None]
            block = covariance[np.ix_(columns, columns)]
            exact = -0.5 * (chi2.isf(0.05, len(columns)) + np.linalg.slogdet(2 * np.pi * block)[1])
            found = m._ordinary(0.05).thresholds(d.threshold_, present)[0]
            assert abs(found - exact) < 4 * np.sqrt(0.95 / (0.05 * 10_000))  # d log p / d share is about 1 / share

    @given(st.integers(0, 10**6))
    def test_levels_and_thresholds_are_inverse_and_rise(self, seed):
        rng = np.random.default_rng(seed)
        law = EvidenceLaw.of(-rng.gamma(2.0, size=5000))
        evidence = np.sort(-rng.gamma(2.0, 3.0, size=50))
        evidence = evidence[evidence < law.evidence[-1]]
        levels = law.level(evidence)
        assert (np.diff(levels) > 0).all()
        np.testing.assert_allclose([law.threshold(level) for level in levels], evidence, rtol=1e-9, atol=1e-9)

    def test_whole_rows_are_judged_as_if_there_were_no_gaps(self):
        d = cw.Decision(cw.QDA(), novelty=0.1).fit(X, y)
        rows = X.copy()
        rows[::2, 0] = np.nan
        np.testing.assert_array_equal(d.decide(rows).novel[1::2], d.decide(X).novel[1::2])

    def test_the_same_rows_are_judged_the_same_way_every_time(self):
        rng = np.random.default_rng(0)
        d = cw.Decision(cw.QDA(), novelty=0.1).fit(X, y)
        rows = with_gaps(rng, X)
        np.testing.assert_array_equal(d.decide(rows).novel, d.decide(rows).novel)
        np.testing.assert_array_equal(d.decide(rows[:40]).novel, d.decide(rows).novel[:40])


class TestDistances:
    def test_are_those_of_mahalanobis(self):
        m = cw.LDA().fit(X, y)
        expected = cdist(X, m.means_, "mahalanobis", VI=np.linalg.inv(m.covariances_[0])) ** 2
        np.testing.assert_allclose(m.distances(X), expected, rtol=1e-9)
        np.testing.assert_allclose(cw.LDA().fit(X + 1e6, y).distances(X + 1e6), expected, rtol=1e-5)

    @pytest.mark.parametrize("model", [cw.QDA(), cw.LDA(), cw.NearestMean(), cw.NaiveBayes()], ids=str)
    def test_of_rows_with_gaps_are_those_of_the_values_that_are_there(self, model):
        m = model.fit(X, y)
        rows = with_gaps(np.random.default_rng(0), X)
        rows[0] = np.nan
        ours = m.distances(rows)
        for row in range(0, 150, 7):
            there = np.flatnonzero(~np.isnan(rows[row]))
            for k in range(3):
                away = rows[row, there] - m.means_[k, there]
                block = m.covariances_[k][np.ix_(there, there)]
                assert ours[row, k] == pytest.approx(away @ np.linalg.solve(block, away), abs=1e-9)
        np.testing.assert_array_equal(ours[0], 0)

    def test_are_chi_square_within_a_class(self):
        rng = np.random.default_rng(0)
        rows, labels = gaussian_rows(rng, 60_000)
        m = cw.QDA().fit(rows, labels)
        rows[:, 1] = np.where(rng.random(60_000) < 0.5, np.nan, rows[:, 1])
        own = m.distances(rows)[np.arange(60_000), labels]
        for values in (2, 3):
            of = own[m.present(rows).sum(axis=1) == values]
            shares = [(of > chi2.isf(share, values)).mean() for share in (0.5, 0.1, 0.01)]
            np.testing.assert_allclose(shares, [0.5, 0.1, 0.01], atol=0.008)

    def test_need_gaussian_classes(self):
        with pytest.raises(cw.ClasswiseError, match="estimate='mle' or 'unbiased'"):
            cw.QDA(estimate="bayes").fit(X, y).distances(X)
        with pytest.raises(cw.ClasswiseError, match="a model without other columns"):
            cw.Decision(cw.NaiveBayes(families={0: "lognormal"}), novelty=0.1, law="chi-square").fit(X, y)
        penguins = load_penguins().iloc[::4]
        rows = penguins.drop(columns=["species", "year"])
        with pytest.raises(cw.ClasswiseError, match="a model without other columns"):
            cw.Decision(cw.LDA(), novelty=0.05, law="chi-square").fit(rows, penguins["species"])

    def test_which_values_are_present(self):
        penguins = load_penguins()
        rows = penguins.drop(columns=["species", "year"])
        m = cw.NaiveBayes().fit(rows, penguins["species"])
        np.testing.assert_array_equal(m.present(rows), rows.notna().to_numpy())


def test_a_column_without_any_value_says_nothing():
    rows = pd.DataFrame(X, columns=list("abcd")).assign(empty=np.nan)
    rows.iloc[::7, 1] = np.nan
    with pytest.warns(cw.IgnoredColumnWarning):
        d = cw.Decision(cw.NaiveBayes(), novelty=0.1).fit(rows, y)
    without = cw.Decision(cw.NaiveBayes(), novelty=0.1).fit(rows.drop(columns="empty"), y)
    assert d.threshold_ == pytest.approx(without.threshold_, abs=0.3)
    assert 0 < d.decide(rows).novel.mean() < 0.2


class TestModelsThatHaveNone:
    def test_a_model_of_rows_is_needed(self):
        expected = "needs a model of the rows, and AutoClassifier has none; give a model such as QDA or NaiveBayes"
        with pytest.raises(cw.ClasswiseError, match=expected):
            cw.Decision(cw.AutoClassifier(members="fast", folds=3), novelty=0.1).fit(X, y)
        steps = make_pipeline(StandardScaler(), cw.QDA())
        with pytest.raises(cw.ClasswiseError, match="make the Decision the last step of the pipeline instead"):
            cw.Decision(steps, novelty=0.1).fit(X, y)

    def test_at_the_end_of_a_pipeline_it_is_the_same_in_other_units(self):
        d = cw.Decision(cw.QDA(), novelty=0.1, novel_label=-1)
        steps = make_pipeline(StandardScaler(), d).fit(X, y)
        np.testing.assert_array_equal(steps.predict(X), d.fit(X, y).predict(X))

    @pytest.mark.parametrize("novelty", [0, 1, 2, -0.1, True, "often", np.nan])
    def test_shares_that_make_no_sense(self, novelty):
        with pytest.raises(cw.ClasswiseError, match="novelty="):
            cw.Decision(cw.LDA(), novelty=novelty).fit(X, y)

    def test_penguins(self):
        penguins = load_penguins().iloc[::4]
        rows, labels = penguins.drop(columns=["species", "year"]), penguins["species"]
        d = cw.Decision(cw.NaiveBayes(), novelty=0.05).fit(rows, labels)
        assert 0 < d.decide(rows).novel.mean() < 0.15
