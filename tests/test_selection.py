"""Folds, statistics by fold, and cross-validation that equals scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict

import classwise as cw
from classwise.selection import assign_folds
from classwise.selection.crossing import Crossing

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

    def test_are_stratified(self):
        folds = assign_folds(5, self.codes)
        for k in range(3):
            counts = np.bincount(folds[self.codes == k], minlength=5)
            assert counts.max() - counts.min() <= 1

    def test_do_not_depend_on_later_rows_or_those_of_other_classes(self):
        whole = assign_folds(5, self.codes)
        np.testing.assert_array_equal(assign_folds(5, self.codes[:60]), whole[:60])
        some = (self.codes != 1) | (np.arange(101) < 20)
        np.testing.assert_array_equal(assign_folds(5, self.codes[some])[self.codes[some] != 1], whole[self.codes != 1])

    def test_differ_by_class(self):
        """Classes of a row or two are spread over all folds."""
        assert len(set(assign_folds(5, np.arange(60) % 30).tolist())) == 5

    def test_rows_that_do_not_count_have_none(self):
        counted = np.arange(101) % 3 > 0
        some, groups = self.codes[counted], np.arange(101) // 4
        np.testing.assert_array_equal(assign_folds(5, some, counted=counted), assign_folds(5, some))
        grouped = assign_folds(5, some, groups, counted=counted)
        np.testing.assert_array_equal(grouped, assign_folds(5, some, groups[counted]))
        given = np.arange(101) % 6
        pairs = [(np.flatnonzero(given != fold), np.flatnonzero(given == fold)) for fold in range(6)]
        for folds in (given, pairs, pairs[1:3] + pairs[4:]):  # folds 0 and 3 hold only rows that do not count
            np.testing.assert_array_equal(assign_folds(folds, some, counted=counted), [0, 1, 2, 3] * 16 + [0, 1, 2][:3])

    def test_differ_by_seed(self):
        assert (assign_folds(5, self.codes, random_state=1) != assign_folds(5, self.codes)).any()

    def test_groups_stay_together_and_folds_are_even(self):
        groups = np.random.default_rng(1).integers(0, 30, 101)
        folds = assign_folds(5, self.codes, groups)
        assert all(len(set(folds[groups == group])) == 1 for group in set(groups))
        counts = np.bincount(folds)
        assert counts.max() - counts.min() <= 6

    def test_may_be_given(self):
        given = np.array(list("xyz"))[np.arange(101) % 3]
        np.testing.assert_array_equal(assign_folds(given, self.codes), np.arange(101) % 3)
        splitter = StratifiedKFold(4, shuffle=True, random_state=0)
        pairs = list(splitter.split(np.zeros(101), self.codes))
        expected = np.empty(101, dtype=int)
        for fold, (_, test) in enumerate(pairs):
            expected[test] = fold
        for folds in (splitter, pairs):
            np.testing.assert_array_equal(assign_folds(folds, self.codes), expected)
        groups = np.arange(101) // 4
        grouped = assign_folds(GroupKFold(5), self.codes, groups)
        assert all(len(set(grouped[groups == group])) == 1 for group in set(groups))

    @pytest.mark.parametrize(
        ("folds", "message"),
        [
            (1, "give a number from 2 to 101"),
            (102, "give a number from 2 to 101"),
            ("many", "folds='many' is not an option"),
            (np.zeros(7), r"101 rows and folds of shape \(7,\)"),
            (np.zeros(101), "No class has rows in two folds"),
            ([(np.arange(100), np.arange(3))], "hold every row out exactly once"),
        ],
    )
    def test_refusals(self, folds, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            assign_folds(folds, self.codes)

    def test_refusals_of_groups(self):
        with pytest.raises(cw.ClasswiseError, match="2 groups, too few for 5 folds"):
            assign_folds(5, self.codes, np.arange(101) % 2)
        with pytest.raises(cw.ClasswiseError, match="every row needs one group"):
            assign_folds(5, self.codes, np.zeros(3))


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
        (posterior,) = crossing.log_posteriors([cw.LDA()._plan()])
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
    (ours,) = Crossing.read(rows, labels, splitter).log_posteriors([MODELS[name]._plan()])
    theirs = cross_val_predict(MODELS[name], rows, labels, cv=splitter, method="predict_proba")
    tolerance = 1e-9 if table != "penguins" or name in ("nb", "nearest", "diagonal") else 1e-6  # by EM
    np.testing.assert_allclose(np.exp(ours), theirs, atol=tolerance)


def test_levels_that_training_rows_lack():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "city": [f"c{i}" for i in rng.integers(0, 15, 60)]})
    labels = np.arange(60) % 2
    splitter = StratifiedKFold(6, shuffle=True, random_state=0)
    (ours,) = Crossing.read(table, labels, splitter).log_posteriors([cw.NaiveBayes()._plan()])
    theirs = cross_val_predict(cw.NaiveBayes(), table, labels, cv=splitter, method="predict_proba")
    np.testing.assert_allclose(np.exp(ours), theirs, atol=1e-9)


NAMES = [y.astype(float), y.astype(str), np.array(["oak", "pine", "yew"])[y], np.array([False, True])[y // 2]]


@pytest.mark.parametrize("labels", NAMES, ids=["float", "text", "words", "bool"])
def test_what_labels_are_called_is_no_seed(labels):
    """Integers, floats and words that sort alike: the same rows in the same folds, so the same is chosen."""
    codes = np.unique(labels, return_inverse=True)[1]
    ours, theirs = cw.RDA(calibrate="temperature").fit(X, labels), cw.RDA(calibrate="temperature").fit(X, codes)
    np.testing.assert_array_equal(ours.dials_.log_loss, theirs.dials_.log_loss)
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def mixed(rng, n=150):
    """Rows of iris with categories; some rows have a level, and a class, that no other row has, and no weight."""
    weights = rng.choice([0.0, 1.0, 2.0], n, p=[0.2, 0.5, 0.3])
    weights[:6] = 0.0
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=rng.choice(["red", "green"], n))
    labels = y.copy()
    table.loc[:2, "kind"], table.loc[:2, "a"], labels[3:6] = "mauve", 1e6, -1
    return table, labels, weights


CHOOSING = {
    "dials": cw.RDA(),
    "dials, groups of rows": cw.RDA(folds=np.arange(150) % 7),
    "dials, a splitter": cw.RDA(folds=StratifiedKFold(4, shuffle=True, random_state=0)),
    "dials, pairs": cw.RDA(folds=[(np.flatnonzero(np.arange(150) % 3 != f), np.arange(f, 150, 3)) for f in range(3)]),
    "power": cw.QDA(calibrate="temperature"),
    "prior": cw.QDA(estimate="bayes", prior="cv"),
    "prior, one by one": cw.QDA(estimate="bayes", prior="loo"),
    "best families": cw.NaiveBayes(families="best", calibrate="temperature"),
}


def dropped(model, kept):
    """The same model, its folds those of the rows that are kept."""
    folds = model.folds
    if isinstance(folds, np.ndarray):
        return clone(model).set_params(folds=folds[kept])
    if isinstance(folds, list):
        place = np.cumsum(kept) - 1
        return clone(model).set_params(folds=[tuple(place[part[kept[part]]] for part in pair) for pair in folds])
    return clone(model)


@pytest.mark.parametrize("name", CHOOSING)
def test_a_row_of_weight_zero_is_no_row_where_folds_choose(name):
    table, labels, weights = mixed(np.random.default_rng(0))
    if "one by one" in name:
        table = table.drop(columns="kind")
    kept = weights > 0
    ours = clone(CHOOSING[name]).fit(table, labels, weights)
    theirs = dropped(CHOOSING[name], kept).fit(table[kept], labels[kept], weights[kept])
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    np.testing.assert_array_equal(ours.predict_proba(table[kept]), theirs.predict_proba(table[kept]))


@pytest.mark.filterwarnings("ignore::classwise.MissingLabelWarning")
def test_a_row_without_a_label_is_no_row_where_folds_choose():
    labels = np.array(["a", "b", "c"], dtype=object)[y]
    labels[::4] = None
    kept = np.arange(150) % 4 > 0
    ours, theirs = cw.RDA().fit(X, labels), cw.RDA().fit(X[kept], labels[kept])
    np.testing.assert_array_equal(ours.dials_.log_loss, theirs.dials_.log_loss)


class TestDials:
    """share and shrink by cross-validation: every pair equals a model of its own."""

    folds = StratifiedKFold(5, shuffle=True, random_state=1)

    @pytest.mark.parametrize("standardize", [False, True])
    @pytest.mark.parametrize("structure", ["full", "diagonal"])
    def test_losses_equal_those_of_single_models(self, standardize, structure):
        m = cw.RDA(structure=structure, standardize=standardize, folds=self.folds).fit(X, y)
        dials = m.dials_
        for i, j in ((0, 5), (3, 0), (5, 9), (10, 13)):
            single = cw.RDA(
                structure=structure, standardize=standardize, share=dials.shares[i], shrink=dials.shrinks[j]
            )
            posterior = cross_val_predict(single, X, y, cv=self.folds, method="predict_log_proba")
            expected = -posterior[np.arange(150), y].mean()
            np.testing.assert_allclose(dials.log_loss[i, j], expected, rtol=1e-9)

    def test_the_best_is_fitted_on_all_rows(self):
        m = cw.RDA(standardize=True, folds=self.folds).fit(X, y)
        share, shrink = m.dials_.best
        assert (
            m.dials_.log_loss.min() == m.dials_.log_loss[m.dials_.shares.index(share), m.dials_.shrinks.index(shrink)]
        )
        plain = cw.RDA(standardize=True, share=share, shrink=shrink).fit(X, y)
        np.testing.assert_allclose(m.predict_proba(X), plain.predict_proba(X), rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("model", [cw.QDA(shrink="cv"), cw.LDA(shrink="cv"), cw.GaussianClassifier(share="cv")])
    def test_one_dial_at_a_time(self, model):
        m = model.fit(X, y)
        assert 1 in m.dials_.log_loss.shape
        assert m.score(X, y) > 0.95

    def test_mixed_columns_and_gaps(self):
        penguins = load_penguins()[::3]
        rows, labels = penguins.drop(columns=["species", "year"]), penguins["species"].to_numpy()
        m = cw.LDA(shrink="cv", standardize=True, folds=self.folds).fit(rows, labels)
        single = cw.LDA(shrink=m.dials_.shrinks[2], standardize=True)
        posterior = cross_val_predict(single, rows, labels, cv=self.folds, method="predict_log_proba")
        own = posterior[np.arange(len(labels)), np.searchsorted(m.classes_, labels)]
        # Gaps are filled once for all values of the dials: near to filling them for each.
        np.testing.assert_allclose(m.dials_.log_loss[0, 2], -own.mean(), rtol=1e-2)

    def test_mixed_columns_without_gaps_are_exact(self):
        penguins = load_penguins().dropna()[::3]
        rows, labels = penguins.drop(columns=["species", "year"]), penguins["species"].to_numpy()
        m = cw.RDA(standardize=True, folds=self.folds).fit(rows, labels)
        for i, j in ((0, 4), (6, 8), (10, 0)):
            single = cw.RDA(share=m.dials_.shares[i], shrink=m.dials_.shrinks[j], standardize=True)
            posterior = cross_val_predict(single, rows, labels, cv=self.folds, method="predict_log_proba")
            own = posterior[np.arange(len(labels)), np.searchsorted(m.classes_, labels)]
            np.testing.assert_allclose(m.dials_.log_loss[i, j], -own.mean(), rtol=1e-9)

    def test_weights_count(self):
        weights = np.random.default_rng(0).choice([0.5, 1.0, 3.0], 150)
        m = cw.RDA(folds=self.folds).fit(X, y, weights)
        assert (m.dials_.log_loss != cw.RDA(folds=self.folds).fit(X, y).dials_.log_loss).any()

    def test_singular_values_of_the_dials_are_passed_over(self):
        rows = np.column_stack([X, X[:, 0] + X[:, 1] + (y == 1)])  # which follows within classes alone
        m = cw.RDA().fit(rows, y)
        assert np.isinf(m.dials_.log_loss[:, 0]).all()
        assert m.dials_.best[1] > 0

    def test_nothing_works(self):
        labels = np.arange(30) % 2
        with pytest.raises(cw.ClasswiseError, match="column 0 does not vary"):
            cw.RDA().fit(np.column_stack([labels, 3 * labels]), labels)

    def test_the_rows_are_needed(self):
        with pytest.raises(cw.ClasswiseError, match="need the rows: call fit"):
            cw.RDA().fit_statistics(cw.summarize(X, y))
        assert not hasattr(cw.RDA(), "partial_fit")
        assert hasattr(cw.RDA(share=0.5, shrink=0.1), "partial_fit")

    def test_the_vowels_of_the_textbook(self, data):
        """Hastie, Tibshirani and Friedman (2009), figure 4.7: the test error is least near share 0.09, 207 of 462."""
        train, test = (pd.read_csv(data / f"esl_vowel_{part}.csv.gz") for part in ("train", "test"))
        columns = [c for c in train.columns if c.startswith("x.")]
        shares = np.round(np.arange(0, 1.001, 0.01), 2)
        s = cw.summarize(train[columns], train["y"])
        wrong = [
            (
                cw.RDA(share=share, shrink=0, estimate="unbiased").fit_statistics(s).predict(test[columns]) != test["y"]
            ).sum()
            for share in shares
        ]
        assert min(wrong) == wrong[9] == 207
