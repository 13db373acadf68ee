"""Folds, statistics by fold, and cross-validation that equals scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict

import classwise as cw
from classwise.estimators.crossing import Crossing
from classwise.selection import assign_folds

X, y = load_iris(return_X_y=True)
MODELS = {
    "lda": cw.LDA(),
    "qda": cw.QDA(estimate="unbiased"),
    "nb": cw.NaiveBayes(),
    "nearest": cw.NearestMean(standardize=True),
    "rda": cw.RDA(share=0.3, shrink=0.2),
    "bayes": cw.QDA(estimate="bayes"),
    "diagonal": cw.GaussianClassifier(structure="diagonal", share=0.5),
}


class TestFolds:
    codes = np.random.default_rng(0).integers(0, 3, 101)
    labels = np.array(["a", "b", "c"])

    def test_are_stratified(self):
        folds = assign_folds(5, self.codes, self.labels)
        for k in range(3):
            counts = np.bincount(folds[self.codes == k], minlength=5)
            assert counts.max() - counts.min() <= 1

    def test_do_not_depend_on_later_rows_or_other_classes(self):
        whole = assign_folds(5, self.codes, self.labels)
        np.testing.assert_array_equal(assign_folds(5, self.codes[:60], self.labels), whole[:60])
        some = self.codes != 1
        fewer = assign_folds(5, self.codes[some] // 2, self.labels[[0, 2]])
        np.testing.assert_array_equal(fewer, whole[some])

    def test_differ_by_seed(self):
        assert (
            assign_folds(5, self.codes, self.labels, random_state=1) != assign_folds(5, self.codes, self.labels)
        ).any()

    def test_groups_stay_together_and_folds_are_even(self):
        groups = np.random.default_rng(1).integers(0, 30, 101)
        folds = assign_folds(5, self.codes, self.labels, groups)
        assert all(len(set(folds[groups == group])) == 1 for group in set(groups))
        counts = np.bincount(folds)
        assert counts.max() - counts.min() <= 6

    def test_may_be_given(self):
        given = np.array(list("xyz"))[np.arange(101) % 3]
        np.testing.assert_array_equal(assign_folds(given, self.codes, self.labels), np.arange(101) % 3)
        splitter = StratifiedKFold(4, shuffle=True, random_state=0)
        pairs = list(splitter.split(np.zeros(101), self.codes))
        expected = np.empty(101, dtype=int)
        for fold, (_, test) in enumerate(pairs):
            expected[test] = fold
        for folds in (splitter, pairs):
            np.testing.assert_array_equal(assign_folds(folds, self.codes, self.labels), expected)
        groups = np.arange(101) // 4
        grouped = assign_folds(GroupKFold(5), self.codes, self.labels, groups)
        assert all(len(set(grouped[groups == group])) == 1 for group in set(groups))

    @pytest.mark.parametrize(
        ("folds", "message"),
        [
            (1, "give a number from 2 to 101"),
            (102, "give a number from 2 to 101"),
            ("many", "folds='many' is not an option"),
            (np.zeros(7), r"101 rows and folds of shape \(7,\)"),
            ([(np.arange(100), np.arange(3))], "hold every row out exactly once"),
        ],
    )
    def test_refusals(self, folds, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            assign_folds(folds, self.codes, self.labels)

    def test_refusals_of_groups(self):
        with pytest.raises(cw.ClasswiseError, match="2 groups, too few for 5 folds"):
            assign_folds(5, self.codes, self.labels, np.arange(101) % 2)
        with pytest.raises(cw.ClasswiseError, match="every row needs one group"):
            assign_folds(5, self.codes, self.labels, np.zeros(3))


class TestStatisticsByFold:
    def test_training_statistics_are_those_of_the_other_rows(self):
        crossing = Crossing.read(X, y, 7)
        for fold, training in enumerate(crossing.statistics.training()):
            rest = crossing.folds != fold
            expected = cw.summarize(X[rest], y[rest])
            np.testing.assert_allclose(training.scatter, expected.scatter, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(training.mean, expected.mean, rtol=1e-12)
            assert training.rows == expected.rows

    def test_they_add_up(self):
        total = Crossing.read(X, y, 7).statistics.total()
        np.testing.assert_allclose(total.scatter, cw.summarize(X, y).scatter, rtol=1e-10, atol=1e-10)

    def test_a_class_may_lack_in_a_fold(self):
        labels = y.copy()
        labels[:2] = 7
        crossing = Crossing.read(X, labels, 10)
        (posterior,) = crossing.log_posteriors([cw.LDA()])
        assert posterior.shape == (150, 4)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("table", ["iris", "wine", "penguins"])
def test_scores_equal_those_of_scikit_learn(name, table):
    """The same folds, fitted one by one from the rows: the same posteriors."""
    if table == "penguins":
        penguins = load_penguins()
        rows, labels = penguins.drop(columns=["species", "year"]), penguins["species"].to_numpy()
    else:
        rows, labels = load_iris(return_X_y=True) if table == "iris" else load_wine(return_X_y=True)
    splitter = StratifiedKFold(10, shuffle=True, random_state=3)
    (ours,) = Crossing.read(rows, labels, splitter).log_posteriors([MODELS[name]])
    theirs = cross_val_predict(MODELS[name], rows, labels, cv=splitter, method="predict_proba")
    tolerance = 1e-9 if table != "penguins" or name in ("nb", "nearest", "diagonal") else 1e-6  # by EM
    np.testing.assert_allclose(np.exp(ours), theirs, atol=tolerance)


def test_levels_that_training_rows_lack():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "city": [f"c{i}" for i in rng.integers(0, 15, 60)]})
    labels = np.arange(60) % 2
    splitter = StratifiedKFold(6, shuffle=True, random_state=0)
    (ours,) = Crossing.read(table, labels, splitter).log_posteriors([cw.NaiveBayes()])
    theirs = cross_val_predict(cw.NaiveBayes(), table, labels, cv=splitter, method="predict_proba")
    np.testing.assert_allclose(np.exp(ours), theirs, atol=1e-9)
