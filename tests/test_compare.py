"""The comparison: scores that scikit-learn would find, honest ties, reasons, tables and pictures."""

import io
import json
import re
from dataclasses import replace

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
from sklearn.neighbors import KNeighborsClassifier

import classwise as cw
from classwise.comparison.candidates import LogisticRegression, Size
from classwise.comparison.family import family
from classwise.comparison.names import kind_of, plain

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
                continue  # a repeated row that is left out leaves its copy
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
    def test_the_best_has_the_least_log_loss(self, wine):
        losses = {t.name: t.estimate("log_loss").value for t in wine.trials if t.may_win}
        assert wine.winner.name == min(losses, key=losses.get)
        assert wine.winner is wine.leader is wine.members[0]

    def test_the_simplest_of_those_as_good_has_fewest_parameters(self, wine):
        simplest = wine.choose("simplest")
        tied = [t for t in wine.members if wine.above_best(t).value <= max(wine.above_best(t).error, 0.001)]
        assert list(wine.tied) == tied
        assert simplest.winner in tied
        counts = [t.free_parameters for t in tied if t.free_parameters is not None]
        assert simplest.winner.free_parameters == min(counts)
        assert simplest.leader is wine.leader
        assert type(simplest.best) is type(simplest.winner.model)

    @pytest.mark.parametrize("by", ["error", "brier", "log_loss"])
    def test_other_measures(self, wine, by):
        other = wine.choose(by=by)
        assert other.winner.estimate(by).value == min(t.estimate(by).value for t in other.members)
        assert [t.estimate(by).value for t in other.members] == sorted(t.estimate(by).value for t in wine.members)
        trial = wine["nearest mean"]
        expected = trial.estimate(by).value - other.leader.estimate(by).value
        assert other.above_best(trial).value == pytest.approx(expected)
        assert cw.compare(X, y, FOLDS, references=False, by=by).by == by

    def test_costs_of_mistakes(self):
        costs = {0: {1: 10, 2: 3}, 2: {0: 5}}
        comparison = cw.compare(X, y, FOLDS, costs=costs, only=["lda", "naive-bayes"])
        assert comparison.by == "cost"
        matrix = np.array([[0, 10, 3], [1, 0, 1], [5, 1, 0.0]])
        trial = comparison["naive Bayes"]
        paid = []
        for fold in range(5):
            own = comparison.folds == fold
            decided = (np.exp(trial.log_posterior[own]) @ matrix).argmin(axis=1)
            paid.append(matrix[comparison.codes[own], decided].sum())
        np.testing.assert_allclose(trial.costs, paid)
        assert len(trial.calibrated_costs) == 5
        used = trial.calibrated_costs if trial.uses_power else trial.costs
        assert trial.estimate("cost").value == pytest.approx(sum(used) / len(y))
        winner = comparison.winner
        assert winner.estimate("cost").value == min(t.estimate("cost").value for t in comparison.members)
        assert "per unseen row" in comparison.answer().sentence
        equal = cw.compare(X, y, FOLDS, costs=1 - np.eye(3), by="log_loss", only=["lda", "qda"])
        assert equal.by == "log_loss"
        for trial in equal.members:
            assert trial.estimate("cost").value == pytest.approx(trial.estimate("error").value)

    def test_costs_have_to_be_given(self, wine):
        for ask in (lambda: wine.choose(by="cost"), lambda: cw.compare(X, y, 4, by="cost")):
            with pytest.raises(cw.ClasswiseError, match=r"by='cost' needs to know what mistakes cost"):
                ask()

    def test_the_difference_is_paired(self, wine):
        trial, leader = wine["naive Bayes"], wine.leader
        differences = [a.log_loss - b.log_loss for a, b in zip(trial.final, leader.final, strict=True)]
        weights = np.array([part.weight for part in trial.final])
        above = wine.above_best(trial)
        assert above.value == pytest.approx(weights @ differences / weights.sum())
        without = [
            np.delete(weights, f) @ np.delete(differences, f) / np.delete(weights, f).sum() for f in range(len(weights))
        ]
        spread = ((np.array(without) - np.mean(without)) ** 2).sum()
        assert above.error == pytest.approx(np.sqrt(4 / 5 * spread))
        separate = np.hypot(trial.estimate("log_loss").error, leader.estimate("log_loss").error)
        assert above.error < separate  # what both find hard cancels

    def test_best_is_fitted_on_all_rows(self, wine):
        trial = next(t for t in wine.members if t.kind == "family")
        by_hand = type(trial.model)(**trial.tuned.plain.get_params()).fit(X, y)
        logs = (trial.power if trial.uses_power else 1.0) * by_hand.predict_log_proba(X)
        logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
        np.testing.assert_allclose(wine.fitted(trial).predict_log_proba(X), logs, atol=1e-9)

    def test_a_power_is_used_where_it_helps(self, wine):
        for trial in wine.trials:
            if trial.kind in ("logistic", "stack"):
                assert not trial.calibrated
                continue
            as_is, powered = (trial.estimate("log_loss", calibrated=c).value for c in (False, True))
            assert trial.estimate("log_loss").value == min(as_is, powered)
            assert trial.uses_power == (powered < as_is)
        nb = wine.fitted("naive Bayes, best families")
        assert hasattr(nb, "calibration_") == wine["naive Bayes, best families"].uses_power

    def test_the_stack_takes_part_like_any_model(self, wine):
        trial = wine["stack"]
        assert trial.may_win
        stack = wine.fitted("stack")
        assert_allclose = np.testing.assert_allclose
        assert_allclose(trial.estimate("log_loss").value, stack.report_.log_loss)
        assert stack.predict_proba(X).shape == (len(y), 3)
        alone = cw.AutoClassifier(folds=wine.folds).fit(X, y)
        assert_allclose(alone.predict_proba(X), stack.predict_proba(X))
        assert "stack" not in {t.name for t in cw.compare(X, y, 3, references=False).tried}

    def test_the_stack_may_win(self):
        rng = np.random.default_rng(1)
        rows = rng.uniform(-1, 1, size=(300, 2))
        labels = (np.sin(5 * rows[:, 0]) + rng.normal(scale=0.3, size=300) > 0).astype(int)
        comparison = cw.compare(rows, labels, 3)
        assert comparison.winner.name == "stack"
        assert isinstance(comparison.best, cw.AutoClassifier)
        assert comparison.answer().sentence.startswith("A stack of several models is right on ")

    def test_weights_of_zero_are_no_rows_to_the_stack(self):
        weights = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
        kept = weights > 0
        folds = np.arange(len(y)) % 3
        some = cw.compare(X, y, folds, sample_weight=weights)["stack"].estimate("log_loss").value
        np.testing.assert_allclose(some, cw.compare(X[kept], y[kept], folds[kept])["stack"].estimate("log_loss").value)

    def test_logistic_regression_is_compared_and_can_be_had(self, wine):
        model = cw.BayesianLogistic(predictive="plugin")
        expected = cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")
        np.testing.assert_allclose(np.exp(wine["logistic"].log_posterior), expected, rtol=1e-9, atol=1e-12)
        m = wine.fitted("logistic")
        np.testing.assert_array_equal(m.predict_proba(X), model.fit(X, y).predict_proba(X))
        assert wine["logistic"].free_parameters == 2 * 14
        assert "logistic, averaged" in [trial.name for trial in wine.trials]

    def test_logistic_regression_may_win(self):
        X, y = load_breast_cancer(return_X_y=True)
        comparison = cw.compare(X, y, 5, references=False)
        assert comparison.winner.kind == "logistic"
        assert isinstance(comparison.best, cw.BayesianLogistic)
        assert "does better" not in " ".join(comparison.summary())

    def test_logistic_regression_is_left_out_where_it_would_take_long(self, monkeypatch):
        monkeypatch.setattr("classwise.limits.LOGISTIC_SECONDS", 1e-3)
        comparison = cw.compare(X, y, 3, references=False)
        assert comparison["logistic"].reason == "Would take about 49 min."
        assert comparison["logistic"].is_late

    def test_levels_make_logistic_regression_go_more_rounds(self):
        plain = Size(20_000, 41, 41, 9, 0.0, False)
        regression = LogisticRegression("logistic", cw.BayesianLogistic())
        assert regression.seconds(replace(plain, columns=12)) > 3 * regression.seconds(plain)  # 29 of 41 are levels
        assert regression.seconds(replace(plain, columns=40)) < 1.1 * regression.seconds(plain)

    def test_gaps_that_logistic_regression_fills_are_told_of_when_it_is_had(self):
        rows = X.copy()
        rows[::7, 2] = np.nan
        comparison = cw.compare(rows, y, 3, references=False)
        with pytest.warns(cw.ImputedValueWarning, match="Values are missing in column 2"):
            comparison.fitted("logistic")

    def test_what_stands_for_missing_text(self):
        rows = pd.DataFrame({"x": [1.0, 2, 3, 4] * 5, "color": ["red", None, "blue", "red"] * 5})
        with pytest.warns(cw.ImputedValueWarning, match="25 %.*; the share of each level stands for them, whatever"):
            cw.BayesianLogistic().fit(rows, ["a", "b"] * 10)
        rows["x"] = rows["x"].where(rows["x"] < 4)
        with pytest.warns(cw.ImputedValueWarning, match="stands for a number, the share .* for a text, whatever"):
            cw.BayesianLogistic().fit(rows, ["a", "b"] * 10)

    def test_logistic_regression_of_ones_own_may_win(self):
        own = cw.BayesianLogistic(precision=1.0, predictive="plugin")
        comparison = cw.compare(X, y, 3, references=False, models={"mine": own})
        assert comparison["mine"].may_win
        np.testing.assert_allclose(comparison.fitted("mine").predict_proba(X), own.fit(X, y).predict_proba(X))

    def test_logistic_regression_takes_counts_for_numbers(self):
        rng = np.random.default_rng(0)
        counts = rng.poisson(np.where(np.arange(200) % 2, 2.0, 5.0))[:, None].astype(float)
        comparison = cw.compare(counts, np.arange(200) % 2, 3, references=False, families={0: "poisson"})
        assert not comparison["logistic"].reason

    def test_any_member_can_be_had(self, wine):
        m = wine.fitted(wine["RDA"])
        assert m.dials_ is wine["RDA"].tuned.record["dials_"]
        np.testing.assert_array_equal(m.predict(X), cw.RDA(folds=FOLDS).fit(X, y).predict(X))
        with pytest.raises(cw.ClasswiseError, match="a reference model, not an estimator of classwise"):
            wine.fitted(wine["softmax regression"])

    def test_best_families_can_be_had(self):
        rows = np.random.default_rng(0).poisson(3, size=(60, 2)) + np.repeat([0, 4, 8], 20)[:, None]
        comparison = cw.compare(rows, np.repeat([0, 1, 2], 20), 4, references=False)
        m = comparison.fitted(comparison["naive Bayes, best families"])
        assert "poisson" in m.families_.values()

    def test_differences_that_matter_to_nobody_are_ties(self, wine):
        close = [t for t in wine.trials if wine.above_best(t).value < 0.001]
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
        assert "temperature" not in comparison.table().cells()[0]

    def test_a_winner_without_use_is_not_praised(self):
        rng = np.random.default_rng(0)
        rows, labels = rng.normal(size=(300, 2)), rng.permutation(np.repeat([0, 1], 150))
        sentence = cw.compare(rows, labels, 5, only=["lda", "qda"]).answer().sentence
        assert "these columns hardly tell the classes apart" in sentence
        assert "; no other model does as well." not in sentence

    def test_a_better_reference_is_named(self):
        rng = np.random.default_rng(0)
        rows = rng.uniform(-1, 1, size=(400, 2))
        labels = (np.sin(6 * rows[:, 0]) * np.sin(6 * rows[:, 1]) > 0).astype(int)
        comparison = cw.compare(rows, labels, 5, only=["lda", "nearest-neighbors"])
        answer = comparison.answer()
        named = (
            "15 nearest neighbors, a reference model that cannot be chosen, does better still: "
            "its log loss is lower by 0."
        )
        assert named in answer.sentence
        assert "hardly tell the classes apart" not in answer.sentence
        assert answer.lines[1].verdict.startswith("better by 0.")
        line = next(line for line in comparison.table().lines if line.name.startswith("15"))
        assert line.note == "better"
        assert comparison.winner.kind == "family"


class TestAnswer:
    def test_the_sentence(self, wine):
        answer = wine.answer()
        rows = sum(wine.winner.final[1:], wine.winner.final[0])
        others = len(wine.tied) - 1
        assert rows.accuracy == 1
        name = plain(wine.winner.name)
        assert answer.sentence.startswith(
            f"{name[0].upper()}{name[1:]} is right on every unseen row (95 % interval 98 to 100"
        )
        (tied, *more) = [plain(trial.name) for trial in wine.tied if trial is not wine.winner]
        as_good = f"{others} of the {len(wine.members) - 1} others do" if more else f"{tied} does"
        assert f"; {as_good} as well, " in answer.sentence
        assert repr(wine) == answer.text()

    def test_one_line_for_each_kind_the_winner_first_and_the_class_shares_last(self, wine):
        lines = wine.answer().lines
        assert lines[0].name == wine.winner.name
        assert lines[0].verdict == "best"
        assert lines[-1].model == "always the most frequent class"
        assert len(lines) == 8
        assert len({line.kind for line in lines}) == 8
        for line in lines:
            trial = wine[line.name]
            of_kind = [t for t in wine.trials if kind_of(t.name) == line.kind]
            assert trial is of_kind[0]
            assert line.accuracy == pytest.approx(1 - trial.estimate("error").value)
            assert line.log_loss == pytest.approx(trial.estimate("log_loss").value)
            assert (line.verdict == "as good") == (wine.ties(trial) and trial is not wine.winner)
            if line.verdict.startswith("worse"):
                value, error = map(float, line.verdict.removeprefix("worse by ").split(" ± "))
                assert value == pytest.approx(wine.above_best(trial).value, abs=0.01)
                assert error == pytest.approx(wine.above_best(trial).error, abs=0.01)

    @pytest.mark.parametrize("width", [60, 80])
    def test_it_fits_a_terminal_and_nothing_is_cut(self, wine, width):
        for comparison in (wine, wine.choose("simplest", by="error"), wine.choose(by="brier")):
            lines = comparison.answer().text(width).split("\n")
            assert max(map(len, lines)) <= width
            assert "…" not in "".join(lines)
            assert len(lines) <= (16 if width == 80 else 28)
            for line in comparison.answer().lines:
                assert any(line.verdict in shown and f"{line.log_loss:.3f}" in shown for shown in lines)

    def test_names_of_any_length_are_folded(self):
        name = "a forest of twenty trees that were grown on the same rows"
        models = {name: RandomForestClassifier(20, random_state=0)}
        text = repr(cw.compare(X, y, 3, models=models, only=["lda"]))
        assert max(map(len, text.split("\n"))) <= 80
        assert "a forest of twenty trees that were" in text

    def test_no_errors_two_classes(self):
        rows = np.concatenate([np.zeros(30), np.ones(30)])[:, None] * 10 + np.random.default_rng(0).normal(size=(60, 1))
        comparison = cw.compare(rows, np.repeat(["a", "b"], 30), 5)
        assert "is right on every unseen row (95 % interval 94 to 100 of 100); " in comparison.answer().sentence
        assert comparison.answer().lines[0].accuracy == 1
        assert "100.0 %" in repr(comparison)

    def test_columns_that_tell_nothing(self):
        rng = np.random.default_rng(1)
        comparison = cw.compare(rng.normal(size=(200, 3)), np.arange(200) % 2, 5)
        assert "not clearly better than always naming the most frequent class" in comparison.answer().sentence

    def test_classes_of_one_row_are_named(self):
        labels = y.astype(str)
        labels[0] = "alone"
        sentence = cw.compare(X, labels, 4, references=False).answer().sentence
        assert sentence.endswith("Class 'alone' has too few rows to be held out and tried.")

    def test_one_model_alone(self):
        comparison = cw.compare(X, y, 3, only=["nearest mean, standardized"], references=False)
        assert comparison.answer().sentence.endswith("; no other model does as well.")
        assert [line.name for line in comparison.answer().lines] == ["nearest mean, standardized"]

    def test_the_simplest_says_who_is_best(self, wine):
        chosen = wine.choose("simplest", by="error")
        answer = chosen.answer()
        assert f"models that do as well as the best, {plain(chosen.leader.name)}." in answer.sentence
        assert [line.verdict for line in answer.lines[:2]] == ["simplest, as good", "best"] or (
            answer.lines[0].verdict == "best"
        )
        assert "Simplest: fewest parameters within one standard error of the least error." in answer.text()

    def test_records(self, wine):
        found = json.loads(json.dumps(wine.answer().records()))
        assert found["winner"] == wine.winner.name
        assert (found["rule"], found["by"]) == ("best", "log_loss")
        assert [line["name"] for line in found["lines"]] == [line.name for line in wine.answer().lines]


class TestOnly:
    def test_kinds_and_names(self):
        comparison = cw.compare(X, y, 3, only=["lda", "qda-student-t", "nearest mean, standardized"])
        names = {trial.name for trial in comparison.tried}
        lda = {name for name in family(13, False) if name.split(",")[0] in ("LDA", "diagonal LDA")}
        assert names == lda | {"QDA, Student-t", "nearest mean, standardized", "class shares"}
        assert {t.name for t in cw.compare(X, y, 3, only="rda", references=False).tried} == {"RDA", "RDA, standardized"}

    def test_given_models_stay(self):
        comparison = cw.compare(X, y, 3, only=["rda"], models={"mine": cw.LDA()}, references=False)
        assert {trial.name for trial in comparison.tried} == {"RDA", "RDA, standardized", "mine"}

    def test_an_unknown_name_lists_the_known_ones(self):
        with pytest.raises(cw.ClasswiseError, match=r"'svm' is no model .* lda, qda, .*stack.* qda-student-t"):
            cw.compare(X, y, 3, only=["svm"])

    def test_every_spelling_finds_a_model(self, wine):
        for name in ("logistic", "logistic regression", "Logistic-Regression"):
            assert wine[name].name == "logistic"
        assert isinstance(wine.fitted("qda-student-t"), cw.QDA)


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
    def test_a_name_says_nothing_of_what_a_model_is(self):
        """Names of ours that are not compared here, and one that begins like a kind of ours."""
        models = {name: GaussianNB() for name in ("class shares", "stack", "lda", "LDA, mine")}
        comparison = cw.compare(X, y, FOLDS, references=False, only=["lda"], models=models)
        lines = comparison.answer().lines
        assert [(line.model, line.kind) for line in lines if line.name in models] == [(m, "given") for m in models]
        assert len(lines) == 1 + len(models)
        assert comparison["class shares"].title == "class shares"
        assert "most frequent class" not in str(comparison)

    def test_of_ours_and_others(self):
        models = {"mine": cw.RDA(share=0.5, shrink=0.2), "forest": RandomForestClassifier(20, random_state=0)}
        comparison = cw.compare(X, y, FOLDS, models=models, references=False)
        expected = cross_val_predict(models["forest"], X, y, cv=FOLDS, method="predict_proba")
        np.testing.assert_allclose(np.exp(comparison["forest"].log_posterior), expected, atol=1e-12)
        expected = cross_val_predict(models["mine"], X, y, cv=FOLDS, method="predict_proba")
        np.testing.assert_allclose(np.exp(comparison["mine"].log_posterior), expected, atol=1e-9)
        assert comparison["forest"].free_parameters is None
        forest = comparison.fitted("forest")
        np.testing.assert_array_equal(forest.predict_proba(X), models["forest"].fit(X, y).predict_proba(X))

    def test_of_others_may_win(self):
        rng = np.random.default_rng(0)
        rows = rng.uniform(-1, 1, size=(400, 2))
        labels = np.where(np.sin(6 * rows[:, 0]) * np.sin(6 * rows[:, 1]) > 0, "in", "out")
        models = {"neighbors": KNeighborsClassifier(9)}
        comparison = cw.compare(rows, labels, 5, models=models, only=["lda"])
        assert comparison.winner.name == "neighbors"
        expected = KNeighborsClassifier(9).fit(rows, labels).predict_proba(rows)
        np.testing.assert_array_equal(comparison.best.predict_proba(rows), expected)
        assert comparison.answer().sentence.startswith("neighbors is right on ")

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
        assert "Could not be fitted: clumsy; .table() says why." in repr(comparison)
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
        rows = np.column_stack([X, X[:, 0] + X[:, 1] + (y == y[0])])  # which follows within classes alone
        comparison = cw.compare(rows, y, 4, references=False)
        assert "follows linearly from" in comparison["QDA"].reason
        assert "follows linearly from" in comparison["LDA"].reason
        assert not comparison["LDA, OAS"].reason
        text = comparison.table().text()
        assert "QDA: Class 0 has" in text
        assert "reason" in comparison.table().frame().columns

    def test_no_kind_is_left_out_for_a_second_model_of_another(self, monkeypatch):
        monkeypatch.setattr("classwise.limits.FAMILY_SECONDS", 5e-4)  # 3.5 s for each, RDA 21
        comparison = cw.compare(X, y, 3, references=False, time_limit=60)
        tried = {kind_of(trial.name) for trial in comparison.tried if not trial.reason}
        assert tried >= {"lda", "qda", "rda", "naive-bayes", "nearest-mean"}
        late = [trial for trial in comparison.tried if trial.is_late]
        assert late
        spent = [trial for trial in comparison.tried if not trial.reason]
        assert len(spent) + len(late) == len(comparison.tried)
        assert re.search(r"and \d+ more; time_limit=\d+ adds", " ".join(str(comparison).split()))

    def test_gaps_are_counted_on_where_covariances_are_full(self, monkeypatch):
        monkeypatch.setattr("classwise.limits.GAP_SECONDS", 100.0)
        gappy = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
        late = {trial.name for trial in cw.compare(gappy, y, 3, references=False).tried if trial.is_late}
        assert late >= {"LDA", "QDA", "RDA", "QDA, Student-t"}
        assert not late & {"naive Bayes", "nearest mean", "logistic"}
        assert not any(trial.is_late for trial in cw.compare(X, y, 3, references=False).tried)

    def test_rows_with_gaps_in_columns_that_folds_leave_out(self):
        rng = np.random.default_rng(1)
        rows = np.where(rng.random((60, 5)) < 0.1, np.nan, rng.normal(size=(60, 5)) + (np.arange(60) % 2)[:, None])
        rows = np.column_stack([rows, np.where(np.arange(60) == 7, 1.0, 0.0), 2 * rows[:, 0]])  # rare, and a copy
        comparison = cw.compare(rows, np.arange(60) % 2, 6, only=["rda"])
        assert not comparison["RDA"].reason

    def test_importance_of_a_stack_is_asked_of_the_best_single_model(self):
        rows = np.random.default_rng(0).normal(size=(200, 3))
        labels = np.where(rows[:, 0] * rows[:, 1] > 0, "same", "other")
        comparison = cw.compare(rows, labels, 3, only=["nearest-mean", "stack"])
        assert (comparison.winner.name, kind_of(comparison.asked.name)) == ("stack", "nearest-mean")
        assert comparison.importance(rows, labels).method == "integrated"
        alone = cw.compare(rows, labels, 3, only=["stack"])
        assert alone.asked is alone.winner

    def test_a_difference_that_is_clear_is_never_printed_as_nothing(self):
        rows = np.column_stack([np.arange(40.0), np.tile([0.0, 1.0], 20)])
        labels = np.repeat(["a", "b"], 20)
        rows[:, 0] += 1000 * (labels == "b")
        text = str(cw.compare(rows, labels, 4))
        assert not re.search(r"(worse|better) by 0\.0+ ±", text)

    def test_very_many_columns(self, monkeypatch):
        monkeypatch.setattr("classwise.selection.first_pass.MOST_BYTES", 1e8)
        rng = np.random.default_rng(0)
        labels = np.repeat([0, 1], 20)
        rows = rng.normal(size=(40, 800)) + 0.3 * labels[:, None]
        comparison = cw.compare(rows, labels, 4, references=False)
        assert comparison["QDA"].reason == "Covariances by fold and class would take 0.1 GB."
        assert not comparison["nearest mean"].reason
        assert comparison.winner.estimate("error").value < 0.2

    def test_what_would_take_too_long_is_left_out_and_named(self, monkeypatch, caplog):
        monkeypatch.setattr("classwise.limits.SOFTMAX_SECONDS", 0.002)  # 56 s
        monkeypatch.setattr("classwise.limits.NEIGHBOR_SECONDS", 2e-4)  # 399 s
        comparison = cw.compare(X, y, 4, models={"bayes": GaussianNB()})
        assert not comparison["softmax regression"].reason
        assert (comparison["15 nearest neighbors"].reason, comparison["bayes"].reason) == (
            "Would take about 7 min.",
            "",
        )
        assert "Left out for time: 15 nearest neighbors (about 7 min); time_limit=460 adds it." in repr(comparison)
        flags = "Left out for time: 15 nearest neighbors (about 7 min); --time 460 adds it."
        assert flags in comparison.answer().text(shell=True)
        assert {"name": "15 nearest neighbors", "reason": "Would take about 7 min."} in (
            comparison.answer().records()["left_out"]
        )
        with caplog.at_level("INFO", "classwise.comparison"):
            every = cw.compare(X, y, 4, time_limit=460)
        assert not every["15 nearest neighbors"].reason
        assert caplog.messages == ["Comparing 29 models takes about 8 min."]
        assert not cw.compare(X, y, 4, time_limit=None)["15 nearest neighbors"].reason

    def test_what_is_quick_is_always_tried(self):
        comparison = cw.compare(X, y, 4, time_limit=0)
        assert not any(trial.reason for trial in comparison.trials)

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
        comparison = cw.compare(rows, [0, 1] * 20, 4, references=False)
        assert "No column of X can tell the classes apart" in comparison.table().text()
        assert repr(comparison).startswith("No model could be fitted in every fold.")
        assert "No column of X can tell the classes apart" in repr(comparison)
        with pytest.raises(cw.ClasswiseError, match="No model could be fitted in every fold: naive Bayes"):
            _ = comparison.best

    def test_single_rows(self):
        with pytest.raises(cw.ClasswiseError, match="No class has rows in two folds"):
            cw.compare(X[[0, 60, 150]], y[[0, 60, 150]], np.array([0, 1, 2]))

    def test_bad_options(self):
        for options in ({"calibrate": "platt"}, {"references": "some"}, {"folds": 1}, {"rule": "first"}, {"by": "auc"}):
            with pytest.raises(cw.ClasswiseError, match="is not an option"):
                cw.compare(X, y, **options)
        with pytest.raises(cw.ClasswiseError, match="at least two classes"):
            cw.compare(X, np.zeros(len(y)))


class TestLooking:
    def test_text(self, wine):
        text = str(wine.table())
        header, *lines = text.split("\n")
        assert header.split()[:4] == ["model", "accuracy", "%", "log"]
        assert len([line for line in lines if " ± " in line]) >= len(wine.trials)
        assert wine.answer().sentence in text

    def test_narrow(self, wine):
        lines = wine.table().text(80).split("\n")[: len(wine.trials)]
        assert max(map(len, lines)) <= 80
        assert "accuracy %" in lines[0]
        assert "log loss" in lines[0]

    def test_html(self, wine):
        html = wine._repr_html_()
        small, every = html.split("<details><summary>All 29 models</summary>")
        assert small.count("<tr") == len(wine.answer().lines) + 1
        assert every.count("<tr") == len(wine.trials) + 1
        assert wine.answer().sentence in small
        assert "font-weight: bold" in small

    def test_frame(self, wine, penguins):
        frame = wine.table().frame()
        assert isinstance(frame, pd.DataFrame)
        assert list(frame["name"]) == [trial.name for trial in wine.trials]
        best = frame[frame["name"] == "LDA"].iloc[0]
        assert best["accuracy_low"] < best["accuracy"] == 1 - best["error"]
        assert best["temperature"] == wine["LDA"].temperature == 1 / wine["LDA"].power
        assert best["calibrated_low"] < best["calibrated"] < best["calibrated_high"]
        assert isinstance(wine.table().frame("polars"), pl.DataFrame)
        assert isinstance(penguins.table().frame(), pd.DataFrame)

    def test_rich(self, wine):
        console = Console(width=100, record=True, file=io.StringIO())
        console.print(wine.table())
        assert wine.winner.name in console.export_text()
        narrow = Console(width=60, record=True, file=io.StringIO())
        narrow.print(wine.answer())
        assert narrow.export_text() == wine.answer().text(60) + "\n"

    def test_plot(self, wine):
        axes = wine.plot()
        assert [label.get_text() for label in axes.get_yticklabels()] == [trial.name for trial in wine.trials]
        mpl.pyplot.close(axes.figure)

    def test_reliability(self, wine):
        axes = wine.reliability("LDA")
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["as is", "calibrated"]
        axes = wine.reliability("LDA", "naive Bayes", label=1)
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["LDA", "naive Bayes"]
        mpl.pyplot.close("all")


def test_iris_has_the_counts_of_the_literature():
    rows, labels = load_iris(return_X_y=True)
    comparison = cw.compare(rows, labels, np.arange(150), references=False, calibrate=None)  # leave one out
    errors = {name: round(150 * comparison[name].estimate("error").value) for name in ("LDA", "QDA")}
    assert errors == {"LDA": 3, "QDA": 4}
