"""The comparison: scores that scikit-learn would find, honest ties, reasons, tables and pictures."""

import io

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from palmerpenguins import load_penguins
from rich.console import Console
from scipy.special import gammaln
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import classwise as cw
from classwise.comparison.family import family

mpl.use("Agg")

X, y = load_wine(return_X_y=True)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
PENGUINS = load_penguins()


@pytest.fixture(scope="module")
def wine():
    return cw.compare(X, y, FOLDS)


@pytest.fixture(scope="module")
def penguins():
    return cw.compare(PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"], 5, references=False)


class TestScores:
    @pytest.mark.filterwarnings("ignore::classwise.DegenerateColumnWarning")
    @pytest.mark.parametrize("name", [n for n, m in family(13, False).items() if not m._open_choices()])
    def test_equal_those_of_scikit_learn(self, wine, name):
        model = family(13, False)[name]
        expected = cross_val_predict(model, X, y, cv=FOLDS, method="predict_log_proba")
        np.testing.assert_allclose(np.exp(wine[name].log_posterior), np.exp(expected), atol=1e-9)
        loss = log_loss(y, np.exp(expected))
        assert wine[name].estimate("log_loss", calibrated=False).value == pytest.approx(loss, rel=1e-9)
        error = (expected.argmax(axis=1) != y).mean()
        assert wine[name].estimate("error").value == pytest.approx(error)

    def test_chosen_options_of_a_fold_come_from_the_others(self, wine):
        trial = wine["RDA, standardized"]
        dials = trial.tuned.record["dials_"]
        for fold, (training, held_out) in enumerate(FOLDS.split(X, y)):
            others = np.delete(dials.by_fold, fold, axis=0).sum(axis=0)
            share, shrink = dials.best_without(fold)
            i, j = dials.shares.index(share), dials.shrinks.index(shrink)
            assert others[i, j] == others.min()
            m = cw.RDA(share=share, shrink=shrink, standardize=True).fit(X[training], y[training])
            np.testing.assert_allclose(trial.log_posterior[held_out], m.predict_log_proba(X[held_out]), atol=1e-8)

    def test_references(self, wine):
        assert {t.name for t in wine.trials if t.kind == "reference"} == {
            "softmax regression",
            "15 nearest neighbors",
            "class shares",
        }
        shares = wine["class shares"].estimate("log_loss", calibrated=False).value
        assert shares == pytest.approx(-(np.bincount(y) / len(y)) @ np.log(np.bincount(y) / len(y)), rel=0.01)
        assert wine["softmax regression"].estimate("error").value < 0.04

    def test_calibrated_losses_use_powers_of_other_folds(self, wine):
        trial = wine["naive Bayes"]
        raw, codes = trial.log_posterior, y
        by_hand = 0.0
        for (_, held_out), part in zip(FOLDS.split(X, y), trial.calibrated, strict=True):
            powers = np.exp(np.linspace(-2, 2, 401))
            losses = []
            for power in powers:
                scores = power * raw[held_out]
                scores = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
                losses.append(-scores[np.arange(len(held_out)), codes[held_out]].sum())
            assert min(losses) - 1e-6 <= part.losses  # the best power of the fold itself would be better
            by_hand += part.losses
        assert trial.estimate("log_loss", calibrated=True).value == pytest.approx(by_hand / len(y))

    def test_weights_are_rows_repeated(self):
        weights = np.random.default_rng(0).integers(1, 3, len(y))
        folds = np.arange(len(y)) % 5
        twice = np.repeat(np.arange(len(y)), weights)
        weighted = cw.compare(X, y, folds, sample_weight=weights, references=False)
        repeated = cw.compare(X[twice], y[twice], folds[twice], references=False)
        for trial in weighted.trials:
            other = repeated[trial.name]
            if trial.reason or "loo" in trial.name or "Ledoit" in trial.name:
                continue  # a repeated row that is left out leaves its twin
            for measure in ("error", "log_loss", "brier", "calibration_error"):
                ours, theirs = trial.estimate(measure), other.estimate(measure)
                assert ours.value == pytest.approx(theirs.value, rel=1e-6, abs=1e-9), (trial.name, measure)
                assert ours.error == pytest.approx(theirs.error, rel=1e-5, abs=1e-9), (trial.name, measure)

    def test_weights_of_zero_are_no_rows(self):
        weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
        kept, models = weights > 0, {"mine": cw.RDA(), "bayes": GaussianNB()}
        some = cw.compare(X, y, 4, sample_weight=weights, references=True, models=models)
        expected = cw.compare(X[kept], y[kept], 4, sample_weight=weights[kept], references=True, models=models)
        np.testing.assert_array_equal(some.folds, expected.folds)
        for trial in expected.trials:
            assert some[trial.name].reason == trial.reason
            if not trial.reason:
                np.testing.assert_array_equal(some[trial.name].log_posterior, trial.log_posterior)
        np.testing.assert_array_equal(some.best.predict_proba(X), expected.best.predict_proba(X))

    def test_what_labels_are_called_is_no_seed(self):
        ours, theirs = (cw.compare(X, labels, 4, references=False) for labels in (y, y.astype(float)))
        np.testing.assert_array_equal(ours.folds, theirs.folds)
        assert [trial.name for trial in ours.trials] == [trial.name for trial in theirs.trials]

    def test_groups_stay_together(self):
        groups = np.arange(len(y)) // 6
        comparison = cw.compare(X, y, 5, groups=groups, references=False)
        folds = comparison.folds
        assert all(len(set(folds[groups == group])) == 1 for group in set(groups))

    def test_the_same_seed_is_the_same_comparison(self):
        first, second = (cw.compare(X, y, 4, references=False, random_state=3) for _ in range(2))
        for trial in first.trials:
            assert trial.log_posterior is not None
            np.testing.assert_array_equal(trial.log_posterior, second[trial.name].log_posterior)


class TestEvidence:
    def test_exact(self, wine):
        m = cw.LDA(estimate="bayes").fit(X, y)
        counts = np.bincount(y)
        labels = gammaln(3) + gammaln(counts + 1).sum() - gammaln(len(y) + 3)
        trial = wine["LDA, Student-t"]
        assert trial.evidence == "exact"
        assert trial.log_evidence == pytest.approx(m.log_marginal_likelihood_ + labels)

    def test_by_bic(self, wine):
        m = cw.LDA().fit(X, y)
        count = 3 * 13 + 13 * 14 // 2 + 2
        trial = wine["LDA"]
        assert (trial.evidence, trial.free_parameters) == ("BIC", count)
        assert trial.log_evidence == pytest.approx(-m.nll(X, y).total - count / 2 * np.log(len(y)))

    def test_likelihood_from_statistics_is_that_of_the_rows(self):
        for model in (cw.QDA(shrink=0.2), cw.LDA(), cw.NearestMean(), cw.GaussianClassifier(structure="diagonal")):
            m = model.fit(X, y)
            likelihood = m.classifier_.density.log_likelihood(cw.summarize(X, y).moments)
            assert likelihood == pytest.approx(-m.nll(X, y).features, rel=1e-10)

    def test_free_parameters(self, wine, penguins):
        expected = {
            "QDA": 3 * 13 + 3 * 91,
            "naive Bayes": 2 * 39,
            "nearest mean": 39 + 1,
            "spherical QDA": 39 + 3,
            "diagonal LDA": 39 + 13,
            "QDA, Student-t": 3 * 13 + 3 * 91,
        }
        for name, count in expected.items():
            assert wine[name].free_parameters == count + 2
        assert wine["softmax regression"].free_parameters == 2 * 14
        # Four numbers, an island of three levels, a sex of two.
        assert penguins["naive Bayes"].free_parameters == 2 * 12 + 3 * (2 + 1) + 2
        assert penguins["naive Bayes, missing as a level"].free_parameters == 2 * 12 + 12 + 3 * (2 + 2) + 2


class TestChoice:
    def test_the_best_is_the_simplest_that_ties(self, wine):
        members = [t for t in wine.trials if t.is_ours]
        tied = [t for t in members if wine.behind(t).value <= max(wine.behind(t).error, 0.001)]
        assert wine.winner in tied
        assert wine.winner.free_parameters == min(t.free_parameters for t in tied)
        assert wine.leader is tied[0]

    def test_the_difference_is_paired(self, wine):
        trial, leader = wine["naive Bayes"], wine.leader
        differences = [a.log_loss - b.log_loss for a, b in zip(trial.final, leader.final, strict=True)]
        weights = np.array([part.weight for part in trial.final])
        behind = wine.behind(trial)
        assert behind.value == pytest.approx(weights @ differences / weights.sum())
        without = [
            np.delete(weights, f) @ np.delete(differences, f) / np.delete(weights, f).sum() for f in range(len(weights))
        ]
        spread = ((np.array(without) - np.mean(without)) ** 2).sum()
        assert behind.error == pytest.approx(np.sqrt(4 / 5 * spread))
        separate = np.hypot(trial.estimate("log_loss").error, leader.estimate("log_loss").error)
        assert behind.error < separate  # what both find hard cancels

    def test_best_is_fitted_on_all_rows(self, wine):
        trial = wine.winner
        by_hand = type(trial.model)(**trial.tuned.plain.get_params()).fit(X, y)
        logs = (trial.power if trial.uses_power else 1.0) * by_hand.predict_log_proba(X)
        logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
        np.testing.assert_allclose(wine.best.predict_log_proba(X), logs, atol=1e-9)

    def test_a_power_is_used_where_it_helps(self, wine):
        for trial in wine.trials:
            if trial.kind in ("twin", "stack"):
                assert not trial.calibrated
                continue
            as_is, powered = (trial.estimate("log_loss", calibrated=c).value for c in (False, True))
            assert trial.estimate("log_loss").value == min(as_is, powered)
            assert trial.uses_power == (powered < as_is)
        nb = wine.fitted("naive Bayes, best families")
        assert hasattr(nb, "calibration_") == wine["naive Bayes, best families"].uses_power

    def test_the_stack_is_compared_and_can_be_had_but_does_not_win(self, wine):
        trial = wine["stack"]
        assert not trial.is_ours
        stack = wine.fitted("stack")
        assert_allclose = np.testing.assert_allclose
        assert_allclose(trial.estimate("log_loss").value, stack.report_.log_loss)
        assert stack.predict_proba(X).shape == (len(y), 3)
        alone = cw.AutoClassifier(folds=wine.folds).fit(X, y)
        assert_allclose(alone.predict_proba(X), stack.predict_proba(X))
        assert "stack" not in {t.name for t in cw.compare(X, y, 3, references=False).tried}

    def test_weights_of_zero_are_no_rows_to_the_stack(self):
        weights = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
        kept = weights > 0
        folds = np.arange(len(y)) % 3
        some = cw.compare(X, y, folds, sample_weight=weights)["stack"].estimate("log_loss").value
        np.testing.assert_allclose(some, cw.compare(X[kept], y[kept], folds[kept])["stack"].estimate("log_loss").value)

    def test_the_twin_is_compared_and_can_be_had(self, wine):
        model = cw.BayesianLogistic(predictive="plugin")
        expected = cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")
        np.testing.assert_allclose(np.exp(wine["logistic"].log_posterior), expected, rtol=1e-9, atol=1e-12)
        m = wine.fitted("logistic")
        np.testing.assert_array_equal(m.predict_proba(X), model.fit(X, y).predict_proba(X))
        assert wine["logistic"].free_parameters == 2 * 14
        assert "logistic, averaged" in [trial.name for trial in wine.trials]

    def test_the_twin_may_win(self):
        X, y = load_breast_cancer(return_X_y=True)
        comparison = cw.compare(X, y, 5, references=False)
        assert comparison.winner.kind == "twin"
        assert isinstance(comparison.best, cw.BayesianLogistic)
        assert "does better" not in " ".join(comparison.summary())

    def test_the_twin_is_left_out_where_it_would_take_long(self, monkeypatch):
        monkeypatch.setattr("classwise.limits.LONG_LOGISTIC", 1000)
        comparison = cw.compare(X, y, 3, references=False)
        assert "references=True insists" in comparison["logistic"].reason

    def test_gaps_that_the_twin_fills_are_told_of_when_it_is_had(self):
        rows = X.copy()
        rows[::7, 2] = np.nan
        comparison = cw.compare(rows, y, 3, references=False)
        with pytest.warns(cw.ImputedValueWarning, match="Values are missing in column 2"):
            comparison.fitted("logistic")

    def test_a_twin_of_ones_own_may_win(self):
        own = cw.BayesianLogistic(precision=1.0, predictive="plugin")
        comparison = cw.compare(X, y, 3, references=False, models={"mine": own})
        assert comparison["mine"].is_ours
        np.testing.assert_allclose(comparison.fitted("mine").predict_proba(X), own.fit(X, y).predict_proba(X))

    def test_the_twin_takes_counts_for_numbers(self):
        rng = np.random.default_rng(0)
        counts = rng.poisson(np.where(np.arange(200) % 2, 2.0, 5.0))[:, None].astype(float)
        comparison = cw.compare(counts, np.arange(200) % 2, 3, references=False, families={0: "poisson"})
        assert not comparison["logistic"].reason

    def test_any_member_can_be_had(self, wine):
        m = wine.fitted(wine["RDA"])
        assert m.dials_ is wine["RDA"].tuned.record["dials_"]
        np.testing.assert_array_equal(m.predict(X), cw.RDA(folds=FOLDS).fit(X, y).predict(X))
        with pytest.raises(cw.ClasswiseError, match="not an estimator of classwise"):
            wine.fitted(wine["softmax regression"])

    def test_best_families_can_be_had(self):
        rows = np.random.default_rng(0).poisson(3, size=(60, 2)) + np.repeat([0, 4, 8], 20)[:, None]
        comparison = cw.compare(rows, np.repeat([0, 1, 2], 20), 4, references=False)
        m = comparison.fitted(comparison["naive Bayes, best families"])
        assert "poisson" in m.families_.values()

    def test_differences_that_matter_to_nobody_are_ties(self, wine):
        close = [t for t in wine.trials if wine.behind(t).value < 0.001]
        assert all(wine.ties(t) for t in close)

    def test_small_classes_and_many_folds(self):
        few = np.concatenate([np.flatnonzero(y == k)[:4] for k in range(3)])
        comparison = cw.compare(X[few], y[few], references=False)
        assert not comparison.leader.reason
        assert cw.NaiveBayes(calibrate="temperature", folds=100).fit(X, y).calibration_.power > 0

    def test_without_calibration(self):
        comparison = cw.compare(X, y, 4, references=False, calibrate=None)
        assert comparison.winner.calibration is None
        assert comparison.best.calibrate is None
        assert "power" not in comparison.table().cells()[0]

    def test_a_better_reference_is_named(self):
        rng = np.random.default_rng(0)
        rows = rng.uniform(-1, 1, size=(400, 2))
        labels = (np.sin(6 * rows[:, 0]) * np.sin(6 * rows[:, 1]) > 0).astype(int)
        comparison = cw.compare(rows, labels, 5)
        assert "15 nearest neighbors does better, by" in " ".join(comparison.summary())
        line = next(line for line in comparison.table().lines if line.name.startswith("15"))
        assert line.note == "better"
        assert comparison.winner.kind == "family"


class TestFamily:
    def test_numbers(self, wine):
        names = {trial.name for trial in wine.trials}
        assert {"LDA", "QDA", "RDA", "RDA, standardized", "nearest mean", "naive Bayes", "QDA, Student-t, loo"} <= names
        assert not any(trial.reason for trial in wine.trials)

    def test_mixed_columns_with_gaps(self, penguins):
        assert not any(trial.reason for trial in penguins.trials)
        assert penguins.winner.estimate("log_loss").value < 0.05
        assert "naive Bayes, missing as a level" in {trial.name for trial in penguins.trials}

    def test_no_numbers(self):
        rows = PENGUINS[["island", "sex"]]
        comparison = cw.compare(rows, PENGUINS["species"], 5, references=False)
        members = {trial.name for trial in comparison.trials if trial.kind == "family"}
        assert members == {"naive Bayes", "naive Bayes, missing as a level"}

    def test_one_number(self):
        comparison = cw.compare(X[:, :1], y, 5, references=False)
        assert not any(trial.reason for trial in comparison.trials)
        assert "nearest mean" not in {trial.name for trial in comparison.trials}

    def test_families_given(self):
        rows = pd.DataFrame({"visits": np.random.default_rng(0).poisson(2 + 3 * y), "x": X[:, 0]})
        comparison = cw.compare(rows, y, 4, families={"visits": "poisson"}, references=False)
        assert comparison.best.families_["visits"] == "poisson"

    @pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "arrow"])
    def test_other_frames(self, make, penguins):
        rows = PENGUINS.drop(columns=["species", "year"])
        other = make({name: [None if pd.isna(value) else value for value in rows[name]] for name in rows.columns})
        comparison = cw.compare(other, PENGUINS["species"], 5)
        for trial in penguins.trials:
            ours, theirs = trial.estimate("log_loss"), comparison[trial.name].estimate("log_loss")
            assert ours.value == pytest.approx(theirs.value, rel=1e-6)
        assert not any(trial.reason for trial in comparison.trials)


class Clumsy(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("Dropped it.")

    def predict_proba(self, X):
        raise NotImplementedError


class TestGiven:
    def test_of_ours_and_others(self):
        models = {"mine": cw.RDA(share=0.5, shrink=0.2), "forest": RandomForestClassifier(20, random_state=0)}
        comparison = cw.compare(X, y, FOLDS, models=models, references=False)
        expected = cross_val_predict(models["forest"], X, y, cv=FOLDS, method="predict_proba")
        np.testing.assert_allclose(np.exp(comparison["forest"].log_posterior), expected, atol=1e-12)
        expected = cross_val_predict(models["mine"], X, y, cv=FOLDS, method="predict_proba")
        np.testing.assert_allclose(np.exp(comparison["mine"].log_posterior), expected, atol=1e-9)
        assert comparison["forest"].free_parameters is None

    def test_with_families_and_priors_of_their_own(self):
        rows = pd.DataFrame({"visits": np.random.default_rng(0).poisson(2 + 3 * y), "a": X[:, 0], "b": X[:, 6]})
        mine = cw.QDA(estimate="bayes", families={"visits": "poisson"}, priors=np.array([0.2, 0.3, 0.5]))
        comparison = cw.compare(rows, y, FOLDS, models={"mine": mine}, references=False)
        expected = cross_val_predict(mine, rows, y, cv=FOLDS, method="predict_proba")
        np.testing.assert_allclose(np.exp(comparison["mine"].log_posterior), expected, atol=1e-9)

    def test_folds_from_a_generator(self):
        ours = cw.compare(X, y, FOLDS.split(X, y), references=False)
        np.testing.assert_array_equal(ours.folds, cw.compare(X, y, FOLDS, references=False).folds)

    def test_a_name_that_is_taken(self):
        with pytest.raises(cw.ClasswiseError, match="models has the name 'LDA', which is compared already"):
            cw.compare(X, y, 4, models={"LDA": cw.LDA()})

    def test_what_fails_says_why(self):
        comparison = cw.compare(X, y, 4, models={"clumsy": Clumsy()}, references=False)
        assert comparison["clumsy"].reason == "Dropped it."
        assert comparison.trials[-1].name == "clumsy"
        assert "clumsy: Dropped it." in comparison.table().text()

    def test_what_is_no_classifier_is_refused(self):
        with pytest.raises(cw.ClasswiseError, match=r"models\['no'\] has no fit and predict_proba"):
            cw.compare(X, y, 4, models={"no": 3})

    def test_unknown_names(self, wine):
        with pytest.raises(KeyError, match="'SVM' was not compared"):
            wine["SVM"]


class TestReasons:
    def test_singular_classes(self):
        rows = np.column_stack([X, X[:, 0] + X[:, 1]])
        comparison = cw.compare(rows, y, 4, references=False)
        assert "follows linearly from" in comparison["QDA"].reason
        assert "follows linearly from" in comparison["LDA"].reason
        assert not comparison["LDA, OAS"].reason
        text = comparison.table().text()
        assert "QDA: Class 0 has" in text
        assert "reason" in comparison.table().frame().columns

    def test_very_many_columns(self, monkeypatch):
        monkeypatch.setattr("classwise.selection.first_pass.MOST_BYTES", 1e8)
        rng = np.random.default_rng(0)
        labels = np.repeat([0, 1], 20)
        rows = rng.normal(size=(40, 800)) + 0.3 * labels[:, None]
        comparison = cw.compare(rows, labels, 4, references=False)
        assert comparison["QDA"].reason == "Covariances by fold and class would take 0.1 GB."
        assert not comparison["nearest mean"].reason
        assert comparison.winner.estimate("error").value < 0.2

    def test_large_tables_leave_slow_references_out(self, monkeypatch):
        monkeypatch.setattr("classwise.limits.LONG_REFERENCE", 1000)
        comparison = cw.compare(X, y, 4)
        assert "references=True insists" in comparison["softmax regression"].reason
        assert not comparison["class shares"].reason
        assert not cw.compare(X, y, 4, references=True)["softmax regression"].reason

    def test_nearest_neighbors_take_no_weights(self):
        comparison = cw.compare(X, y, 4, sample_weight=np.arange(1, len(y) + 1))
        assert comparison["15 nearest neighbors"].reason == "KNeighborsClassifier takes no weights."
        assert not comparison["softmax regression"].reason

    def test_classes_of_one_row_are_not_scored(self):
        labels = y.astype(str)
        labels[0] = "alone"
        comparison = cw.compare(X, labels, 4, references=False)
        assert comparison.leader.final[0].labels.tolist() == ["0", "1", "2", "alone"]
        assert sum(part.weight for part in comparison.leader.final) == len(y) - 1

    def test_nothing_can_be_fitted(self):
        rows = pd.DataFrame({"id": [f"row {i}" for i in range(40)]})
        comparison = cw.compare(rows, [0, 1] * 20, 4)
        assert "No column of X can tell the classes apart" in comparison.table().text()
        assert "No member of the family could be fitted" in repr(comparison)
        with pytest.raises(
            cw.ClasswiseError, match="No member of the family could be fitted in every fold: naive Bayes"
        ):
            _ = comparison.best

    def test_single_rows(self):
        with pytest.raises(cw.ClasswiseError, match="No class has rows in two folds"):
            cw.compare(X[[0, 60, 150]], y[[0, 60, 150]], np.array([0, 1, 2]))

    def test_bad_options(self):
        for options in ({"calibrate": "platt"}, {"references": "some"}, {"folds": 1}):
            with pytest.raises(cw.ClasswiseError, match="is not an option"):
                cw.compare(X, y, **options)
        with pytest.raises(cw.ClasswiseError, match="at least two classes"):
            cw.compare(X, np.zeros(len(y)))


class TestLooking:
    def test_text(self, wine):
        text = str(wine.table())
        header, *lines = text.split("\n")
        assert header.split()[:4] == ["model", "error", "%", "log"]
        assert len([line for line in lines if " ± " in line]) >= len(wine.trials)
        assert f"Best: {wine.winner.name}, log loss" in text
        assert repr(wine) == text

    def test_narrow(self, wine):
        lines = wine.table().text(80).split("\n")[: len(wine.trials)]
        assert max(map(len, lines)) <= 80
        assert "log loss" in lines[0]

    def test_html(self, wine):
        html = wine._repr_html_()
        assert html.count("<tr") == len(wine.trials) + 1
        assert "font-weight: bold" in html

    def test_frame(self, wine, penguins):
        frame = wine.table().frame()
        assert isinstance(frame, pd.DataFrame)
        assert list(frame["name"]) == [trial.name for trial in wine.trials]
        best = frame[frame["name"] == wine.leader.name].iloc[0]
        assert best["calibrated_low"] < best["calibrated"] < best["calibrated_high"]
        assert isinstance(wine.table().frame("polars"), pl.DataFrame)
        assert isinstance(penguins.table().frame(), pd.DataFrame)

    def test_rich(self, wine):
        console = Console(width=100, record=True, file=io.StringIO())
        console.print(wine.table())
        assert wine.winner.name in console.export_text()

    def test_plot(self, wine):
        axes = wine.plot()
        assert [label.get_text() for label in axes.get_yticklabels()] == [trial.name for trial in wine.trials]
        mpl.pyplot.close(axes.figure)

    def test_reliability(self, wine):
        axes = wine.reliability()
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["as is", "calibrated"]
        axes = wine.reliability("LDA", "naive Bayes", label=1)
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["LDA", "naive Bayes"]
        mpl.pyplot.close("all")


def test_iris_has_the_counts_of_the_literature():
    rows, labels = load_iris(return_X_y=True)
    comparison = cw.compare(rows, labels, np.arange(150), references=False, calibrate=None)  # leave one out
    errors = {name: round(150 * comparison[name].estimate("error").value) for name in ("LDA", "QDA")}
    assert errors == {"LDA": 3, "QDA": 4}
