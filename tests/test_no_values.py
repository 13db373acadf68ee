"""A class without a single value in a column is placed by the rows of all classes, and every model says so."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

import classwise as cw

X, y = load_iris(return_X_y=True)
ROWS = X.copy()
ROWS[y == 1, 2] = np.nan
OTHERS = [0, 1, 3]
THERE = ROWS[y != 1, 2]

quietly = pytest.mark.filterwarnings("ignore::classwise.DegenerateColumnWarning")

MODELS = [
    cw.LDA(),
    cw.LDA(shrink="oas", standardize=True),
    cw.LDA(n_components=1),
    cw.QDA(),
    cw.QDA(estimate="unbiased"),
    cw.QDA(shrink="oas"),
    cw.QDA(share="average"),
    cw.RDA(share=0.3, shrink=0.1),
    cw.RDA(),
    cw.QDA(structure="diagonal"),
    cw.LDA(structure="diagonal", estimate="unbiased"),
    cw.GaussianClassifier(structure="diagonal", share=0.5),
    cw.GaussianClassifier(structure="spherical", estimate="unbiased"),
    cw.NearestMean(standardize=True),
    cw.QDA(estimate="bayes"),
    cw.QDA(estimate="bayes", prior="evidence"),
    cw.QDA(estimate="bayes", prior="loo"),
    cw.LDA(estimate="bayes"),
    cw.NaiveBayes(),
    cw.NaiveBayes(estimate="bayes"),
    cw.NaiveBayes(missing="level"),
    cw.MixtureClassifier(random_state=0),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=repr)


def scatter(rows):
    away = rows - rows.mean(axis=0)
    return away.T @ away


@each_model
def test_every_model_takes_part_and_says_so(model, tmp_path):
    model = clone(model)
    with pytest.warns(cw.DegenerateColumnWarning, match="gave the values of all rows to .*: 1 in column 2"):
        model.fit(ROWS, y)
    answer = model.predict_proba(X)
    assert np.isfinite(answer).all()
    assert model.score(ROWS, y) > 0.8
    cw.save(model, tmp_path / "m.cw")
    np.testing.assert_array_equal(cw.load(tmp_path / "m.cw").predict_proba(X), answer)


@each_model
@quietly
def test_a_class_without_any_number(model):
    rows = X.copy()
    rows[y == 1] = np.nan
    m = clone(model).fit(rows, y)
    assert np.isfinite(m.predict_proba(X)).all()
    assert (m.predict(X[y != 1]) == y[y != 1]).mean() > 0.9


@quietly
class TestFormulas:
    def test_a_covariance_of_its_own(self):
        """The mean and the variance of all rows, and no correlation."""
        m = cw.QDA().fit(ROWS, y)
        np.testing.assert_allclose(m.means_[1], np.insert(X[y == 1][:, OTHERS].mean(axis=0), 2, THERE.mean()))
        expected = np.zeros((4, 4))
        expected[np.ix_(OTHERS, OTHERS)] = scatter(X[y == 1][:, OTHERS]) / 50
        expected[2, 2] = THERE.var()
        np.testing.assert_allclose(m.covariances_[1], expected, atol=1e-12)
        plain = cw.QDA().fit(X, y)
        np.testing.assert_allclose(m.covariances_[[0, 2]], plain.covariances_[[0, 2]], rtol=1e-9)

    def test_a_shared_covariance(self):
        """What is most likely: the column given the others, from the classes that have it (Anderson 1957)."""
        m = cw.LDA(tol=1e-14).fit(ROWS, y)
        within = sum(scatter(X[y == k][:, OTHERS]) for k in range(3)) / 150
        joint = (scatter(X[y == 0]) + scatter(X[y == 2])) / 100
        slope = np.linalg.solve(joint[np.ix_(OTHERS, OTHERS)], joint[OTHERS, 2])
        left = joint[2, 2] - joint[2, OTHERS] @ slope
        np.testing.assert_allclose(m.means_[:, 2], [X[y == 0, 2].mean(), THERE.mean(), X[y == 2, 2].mean()])
        np.testing.assert_allclose(m.covariances_[0][np.ix_(OTHERS, OTHERS)], within, rtol=1e-9)
        np.testing.assert_allclose(m.covariances_[0][2, OTHERS], within @ slope, rtol=1e-5)
        np.testing.assert_allclose(m.covariances_[0][2, 2], left + slope @ within @ slope, rtol=1e-5)

    def test_rows_without_any_number_count_once(self):
        """Their moments are those that the others lead to expect, so that a shared covariance stays what it is."""
        rows = X.copy()
        rows[y == 1] = np.nan
        m = cw.LDA(tol=1e-14).fit(rows, y)
        np.testing.assert_allclose(m.em_.statistics.moments.weight, np.full((3, 1), 50.0))
        np.testing.assert_allclose(m.covariances_[0], (scatter(X[y == 0]) + scatter(X[y == 2])) / 100, rtol=1e-6)

    @pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
    def test_columns_one_by_one(self, share):
        m = cw.GaussianClassifier(structure="diagonal", share=share).fit(ROWS, y)
        shared = (scatter(X[y == 0])[2, 2] + scatter(X[y == 2])[2, 2]) / 100
        np.testing.assert_allclose(m.covariances_[1][2, 2], (1 - share) * THERE.var() + share * shared)
        np.testing.assert_allclose(m.means_[1, 2], THERE.mean())

    def test_a_sphere_is_that_of_the_columns_which_have_values(self):
        m = cw.GaussianClassifier(structure="spherical").fit(ROWS, y)
        own = X[y == 1][:, OTHERS]
        np.testing.assert_allclose(m.covariances_[1][0, 0], own.var(axis=0).mean())

    def test_bayes(self):
        """As if the rows had values that vary as those of all rows do, with no regard to the other columns."""
        drawn = X.copy()
        noise = np.linspace(-1, 1, 50)
        inside = np.column_stack([np.ones(50), X[y == 1][:, OTHERS]])
        noise -= inside @ np.linalg.lstsq(inside, noise, rcond=None)[0]
        drawn[y == 1, 2] = THERE.mean() + noise * np.sqrt(THERE.var() / noise.var())
        m = cw.QDA(estimate="bayes").fit(ROWS, y)
        np.testing.assert_allclose(m.log_density(X), cw.QDA(estimate="bayes").fit(drawn, y).log_density(X), rtol=1e-9)

    def test_other_gaps(self):
        """Values that are missing here and there are filled as ever; of the class, in the other columns alone."""
        rows = ROWS.copy()
        rows[np.random.default_rng(0).random(rows.shape) < 0.1] = np.nan
        there = rows[~np.isnan(rows[:, 2]), 2]
        m = cw.QDA(tol=1e-13).fit(rows, y)
        narrow = cw.QDA(tol=1e-13).fit(rows[:, OTHERS], y)
        np.testing.assert_allclose(m.means_[1, 2], there.mean())
        np.testing.assert_allclose(m.covariances_[1][2], [0, 0, there.var(), 0], atol=1e-12)
        np.testing.assert_allclose(m.covariances_[1][np.ix_(OTHERS, OTHERS)], narrow.covariances_[1], rtol=1e-5)


@quietly
class TestLaws:
    @settings(max_examples=15, deadline=None)
    @given(
        st.integers(0, 2**31),
        st.sampled_from([cw.LDA(), cw.QDA(), cw.RDA(share=0.3, shrink=0), cw.QDA(estimate="bayes"), cw.NearestMean()]),
    )
    def test_chunks_and_differences(self, seed, model):
        order = np.random.default_rng(seed).permutation(150)
        parts = np.array_split(order, 2 + seed % 4)
        total = sum(cw.summarize(ROWS[part], y[part]) for part in parts)
        expected = clone(model).fit(ROWS, y).predict_proba(X)
        np.testing.assert_allclose(clone(model).fit_statistics(total).predict_proba(X), expected, atol=1e-8)
        some = np.sort(np.concatenate(parts[1:]))
        left = total - cw.summarize(ROWS[parts[0]], y[parts[0]])
        plain = clone(model).fit(ROWS[some], y[some])
        np.testing.assert_allclose(
            clone(model).fit_statistics(left).predict_proba(X), plain.predict_proba(X), atol=1e-8
        )

    def test_the_other_classes_may_come_later(self):
        m = cw.LDA()
        for k in (1, 0, 2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                m.partial_fit(ROWS[(y == k) | (y == 1)][::2], y[(y == k) | (y == 1)][::2], classes=[0, 1, 2])
        assert np.isfinite(m.predict_proba(X)).all()

    @pytest.mark.parametrize("model", [cw.LDA(), cw.QDA(estimate="bayes")], ids=repr)
    def test_leaving_rows_out(self, model):
        """The only value that a class has may be that of the row left out."""
        rows = ROWS[::3].copy()
        labels = y[::3]
        only = int(np.flatnonzero(labels == 1)[4])
        rows[only, 2] = 4.0
        left = clone(model).fit(rows, labels).leave_one_out(rows, labels, recount=True)
        kept = np.arange(len(rows)) != only
        m = clone(model).fit(rows[kept], labels[kept])
        np.testing.assert_allclose(left[only], m.predict_log_proba(rows[[only]])[0], rtol=1e-6)
        assert np.isfinite(left).all()

    def test_sources(self, tmp_path):
        frame = pd.DataFrame(ROWS, columns=list("abcd")).assign(label=y)
        frame.to_csv(tmp_path / "rows.csv", index=False)
        m = cw.LDA().fit_source(tmp_path / "rows.csv", target="label")
        np.testing.assert_allclose(
            m.predict_proba(frame[list("abcd")]), cw.LDA().fit(ROWS, y).predict_proba(ROWS), atol=1e-8
        )


@quietly
class TestComparisons:
    def test_every_member_takes_part(self):
        found = cw.compare(ROWS, y, folds=3, references=False)
        lacking = {trial.name: trial.reason for trial in found.trials if trial.reason}
        assert set(lacking) == {"LDA, Ledoit-Wolf"}
        assert found["LDA"].estimate("log_loss").value < 0.2

    def test_families_are_chosen_that_all_rows_allow(self):
        """In the fold that holds the 0 out, all others are above it."""
        rng = np.random.default_rng(0)
        labels = np.arange(80) % 2
        rows = np.column_stack([np.exp(rng.normal(size=80) + labels), rng.poisson(4, 80) + 0.0])
        rows[7, 0], rows[11, 1] = 0.0, 2.5
        found = cw.compare(rows, labels, folds=5, references=False)
        assert not found["naive Bayes, best families"].reason
        m = cw.NaiveBayes(families="best").fit(rows, labels)
        assert np.isfinite(m.leave_one_out(rows, labels)).all()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "target", "lacking"),
        [
            (
                "hypothyroid",
                "Class",
                {
                    "LDA, Ledoit-Wolf",
                    "QDA",
                    "QDA, OAS",
                    "QDA, OAS, standardized",
                    "spherical QDA",
                    "spherical QDA, standardized",
                },
            ),
            ("labor", "class", {"LDA", "LDA, Ledoit-Wolf", "QDA"}),
            ("oil_spill", "cls", {"QDA"}),
        ],
    )
    def test_real_tables(self, data, name, target, lacking):
        table = pd.read_csv(data / f"{name}.csv.gz")
        kinds = ["lda", "qda", "rda", "nearest-mean", "naive-bayes"]
        found = cw.compare(table.drop(columns=target), table[target], references=False, only=kinds)
        assert {trial.name for trial in found.trials if trial.reason} == lacking
