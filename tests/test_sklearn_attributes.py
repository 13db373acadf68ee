"""The attributes that scikit-learn's users know: of LinearDiscriminantAnalysis and of GaussianNB."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.naive_bayes import GaussianNB

import classwise as cw

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
TWO = WINE[0][WINE[1] < 2], WINE[1][WINE[1] < 2]
TABLES = {"iris": IRIS, "wine": WINE, "two": TWO}
LINEAR = ("coef_", "intercept_")
OF_LDA = (*LINEAR, "scalings_", "xbar_", "explained_variance_ratio_")


@pytest.fixture(params=TABLES)
def table(request):
    return TABLES[request.param]


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    assert ours.shape == theirs.shape


def same_directions(ours, theirs):
    """A direction has no sign of its own."""
    close(ours * np.sign((ours * theirs).sum(axis=0)), theirs)


class TestLinearFunctions:
    @pytest.mark.parametrize("name", ["eigen", "lsqr"])
    def test_as_the_other_solvers_but_for_one_vector(self, table, name):
        X, y = table
        m, theirs = cw.LDA().fit(X, y), LinearDiscriminantAnalysis(solver=name).fit(X, y)
        if len(m.classes_) == 2:
            close(m.coef_, theirs.coef_)
            close(m.intercept_, theirs.intercept_)
        else:
            close(m.coef_ - m.coef_[0], theirs.coef_ - theirs.coef_[0])
            close(m.intercept_ - m.intercept_[0], theirs.intercept_ - theirs.intercept_[0])

    def test_as_the_default_solver(self, table):
        """Which divides by n since version 1.9.1, and by n - g before."""
        X, y = table
        theirs = LinearDiscriminantAnalysis().fit(X, y)
        ours = [cw.LDA(estimate=estimate).fit(X, y) for estimate in ("mle", "unbiased")]
        m = min(ours, key=lambda m: np.abs(m.coef_ - theirs.coef_).max())
        close(m.coef_, theirs.coef_)
        close(m.intercept_, theirs.intercept_)
        close(m.xbar_, theirs.xbar_)
        close(m.explained_variance_ratio_, theirs.explained_variance_ratio_)
        same_directions(m.scalings_, theirs.scalings_)

    @pytest.mark.parametrize("divisor", ["mle", "unbiased"])
    def test_divisors(self, table, divisor):
        """Weights are those of maximum likelihood, times what the divisors differ by."""
        X, y = table
        n, g = len(y), len(set(y))
        times = {"mle": 1.0, "unbiased": (n - g) / n}[divisor]
        m, plain = cw.LDA(estimate=divisor).fit(X, y), cw.LDA().fit(X, y)
        close(m.coef_, times * plain.coef_)
        same_directions(m.scalings_, np.sqrt(times) * plain.scalings_)
        close(m.explained_variance_ratio_, plain.explained_variance_ratio_)
        close(m.xbar_, plain.xbar_)

    def test_shrunk(self, table):
        X, y = table
        m = cw.LDA(shrink=0.3).fit(X, y)
        C, away = m.covariances_[0], m.means_ - m.xbar_
        weights = np.linalg.solve(C, away.T).T
        close(m.coef_, weights if len(away) > 2 else weights[1:] - weights[:1])

    @pytest.mark.parametrize("priors", ["empirical", "uniform", {0: 0.2, 1: 0.5, 2: 0.3}])
    @pytest.mark.parametrize(
        "model",
        [
            cw.LDA(),
            cw.LDA(n_components=1),
            cw.LDA(calibrate="temperature", folds=3),
            cw.NearestMean(),
            cw.GaussianClassifier(share=1, structure="diagonal"),
            cw.GaussianClassifier(share="average"),
            cw.RDA(share=1, shrink=0.5),
        ],
        ids=str,
    )
    def test_their_softmax_is_the_posterior(self, model, priors):
        X, y = IRIS
        m = clone(model).set_params(priors=priors).fit(X, y)
        close(softmax(X @ m.coef_.T + m.intercept_, axis=1), m.predict_proba(X))
        moved = m.with_priors([0.5, 0.25, 0.25])
        close(softmax(X @ moved.coef_.T + moved.intercept_, axis=1), moved.predict_proba(X))

    def test_of_two_classes_they_are_the_log_odds(self):
        X, y = TWO
        m = cw.LDA(calibrate="temperature", folds=3).fit(X, y)
        assert (m.coef_.shape, m.intercept_.shape) == ((1, 13), (1,))
        close(X @ m.coef_[0] + m.intercept_[0], m.decision_function(X))

    def test_a_prior_of_zero_is_never(self):
        X, y = IRIS
        m = cw.LDA(priors=[0, 0.5, 0.5]).fit(X, y)
        assert np.isfinite(m.coef_).all()
        assert m.intercept_[0] == -np.inf
        assert np.isfinite(m.intercept_[1:]).all()

    def test_a_column_that_was_left_out_has_no_weight(self):
        X, y = IRIS
        with pytest.warns(cw.IgnoredColumnWarning):
            m = cw.LDA().fit(np.insert(X, 1, 7.0, axis=1), y)
        plain, others = cw.LDA().fit(X, y), [0, 2, 3, 4]
        assert not m.coef_[:, 1].any()
        assert not m.scalings_[1].any()
        assert m.xbar_[1] == 7
        close(m.coef_[:, others], plain.coef_)
        close(m.scalings_[others], plain.scalings_)
        close(m.xbar_[others], plain.xbar_)

    def test_rows_with_gaps(self):
        X, y = IRIS[0].copy(), IRIS[1]
        X[::7, 1] = np.nan
        m, whole = cw.LDA().fit(X, y), IRIS[0]
        close(softmax(whole @ m.coef_.T + m.intercept_, axis=1), m.predict_proba(whole))

    def test_files_keep_them(self, tmp_path):
        X, y = IRIS
        m = cw.LDA().fit(X, y)
        cw.save(m, tmp_path / "m.cw", statistics=False)
        loaded = cw.load(tmp_path / "m.cw")
        for name in OF_LDA:
            np.testing.assert_array_equal(getattr(loaded, name), getattr(m, name))


class TestDirections:
    def test_they_transform(self, table):
        X, y = table
        m = cw.LDA().fit(X, y)
        close((X - m.xbar_) @ m.scalings_, m.transform(X))

    @pytest.mark.parametrize("options", [{}, {"shrink": "cv", "folds": 3}, {"calibrate": "temperature", "folds": 3}])
    def test_shares_count_the_directions_that_were_given_up(self, options):
        X, y = WINE
        m, whole = cw.LDA(n_components=1, **options).fit(X, y), cw.LDA(**options).fit(X, y)
        # shrink="cv" may choose otherwise in fewer directions
        whole = whole if "shrink" not in options else cw.LDA(shrink=m.dials_.best[1]).fit(X, y)
        assert m.explained_variance_ratio_.shape == (1,)
        close(m.explained_variance_ratio_, whole.explained_variance_ratio_[:1])
        assert f"Proportion of trace: LD1 {whole.explained_variance_ratio_[0]:.4f}\n" in f"{m.summary()}\n"

    def test_without_statistics_they_are_not_known(self, tmp_path):
        X, y = WINE
        cw.save(cw.LDA(n_components=1).fit(X, y), tmp_path / "m.cw", statistics=False)
        loaded = cw.load(tmp_path / "m.cw")
        with pytest.raises(cw.NotAvailableError, match=r"statistics=False"):
            loaded.explained_variance_ratio_  # noqa: B018
        assert "Proportion" not in str(loaded.summary())
        assert "LD1" in str(loaded.summary())


class TestNotAvailable:
    def test_before_fit(self):
        for name in OF_LDA:
            with pytest.raises(NotFittedError):
                getattr(cw.LDA(), name)

    @pytest.mark.parametrize("model", [cw.QDA(), cw.RDA(share=0.5, shrink=0.1), cw.LDA(share=0.5)], ids=str)
    def test_classes_with_their_own_covariance(self, model):
        m = clone(model).fit(*IRIS)
        for name in LINEAR:
            with pytest.raises(cw.NotAvailableError, match=f"covariance of its own.* no {name}"):
                getattr(m, name)
        assert not any(hasattr(m, name) for name in OF_LDA)

    def test_student_t_classes(self):
        m = cw.LDA(estimate="bayes").fit(*IRIS)
        with pytest.raises(cw.NotAvailableError, match="Student-t"):
            m.coef_  # noqa: B018
        close((IRIS[0] - m.xbar_) @ m.scalings_, m.transform(IRIS[0]))

    def test_other_columns(self):
        X, y = pd.DataFrame(IRIS[0]).add_prefix("x").assign(shape=["round", "oval"] * 75), IRIS[1]
        m = cw.LDA().fit(X, y)
        for name in OF_LDA:
            with pytest.raises(cw.NotAvailableError, match=rf"^{name} is for numbers alone.*explain\(row\)"):
                getattr(m, name)
        gaps = X.drop(columns="shape").mask(np.arange(600).reshape(150, 4) % 11 == 0)
        assert not hasattr(cw.LDA(missing="level").fit(gaps, y), "coef_")

    def test_classes_without_rows(self):
        m = cw.LDA().partial_fit(*TWO, classes=[0, 1, 2])
        with pytest.raises(cw.NotAvailableError, match="no rows yet"):
            m.coef_  # noqa: B018


class TestSelection:
    """What scikit-learn does with coef_."""

    def test_recursive_elimination(self):
        X, y = WINE
        ours, theirs = RFE(cw.LDA(), n_features_to_select=4), RFE(LinearDiscriminantAnalysis(), n_features_to_select=4)
        assert ours.fit(X, y).ranking_.tolist() == theirs.fit(X, y).ranking_.tolist()
        assert RFECV(cw.LDA(), cv=3, step=4).fit(X, y).n_features_ > 1

    def test_columns_of_large_weight(self, table):
        X, y = table
        kept, expected = (SelectFromModel(m).fit(X, y).get_support() for m in (cw.LDA(), LinearDiscriminantAnalysis()))
        assert kept.tolist() == expected.tolist()

    def test_a_frame_keeps_its_names(self):
        X, y = load_iris(return_X_y=True, as_frame=True)
        selection = SelectFromModel(cw.LDA(), max_features=2).fit(X, y)
        assert selection.get_feature_names_out().tolist() == ["petal length (cm)", "petal width (cm)"]

    def test_partial_dependence(self):
        X, y = IRIS
        ours, theirs = (partial_dependence(m.fit(X, y), X, [2]) for m in (cw.LDA(), LinearDiscriminantAnalysis()))
        assert ours["average"].shape == theirs["average"].shape == (3, 43)
        closest = cw.LDA(estimate="unbiased").fit(X, y)
        either = [ours["average"], partial_dependence(closest, X, [2])["average"]]
        assert min(np.abs(a - theirs["average"]).max() for a in either) < 1e-9
        importance = permutation_importance(cw.LDA().fit(X, y), X, y, n_repeats=2, random_state=0)
        assert importance.importances_mean.argmax() in (2, 3)


class TestGaussianNB:
    def test_the_same_numbers(self, table):
        X, y = table
        m, theirs = cw.NaiveBayes(floor=0).fit(X, y), GaussianNB(var_smoothing=0).fit(X, y)
        for name in ("theta_", "var_", "class_prior_", "class_count_"):
            close(getattr(m, name), getattr(theirs, name))

    def test_weights_and_priors(self):
        X, y = load_breast_cancer(return_X_y=True)
        weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
        m = cw.NaiveBayes(floor=0, priors=[0.3, 0.7]).fit(X, y, weights)
        theirs = GaussianNB(var_smoothing=0, priors=[0.3, 0.7]).fit(X, y, weights)
        for name in ("theta_", "var_", "class_prior_", "class_count_"):
            np.testing.assert_allclose(getattr(m, name), getattr(theirs, name), rtol=1e-9)

    def test_a_column_that_never_varies(self):
        X, y = IRIS
        with pytest.warns(cw.IgnoredColumnWarning):
            m = cw.NaiveBayes().fit(np.insert(X, 0, 7.0, axis=1), y)
        assert m.theta_[:, 0].tolist() == [7, 7, 7]
        assert m.var_[:, 0].tolist() == [0, 0, 0]
        close(m.theta_[:, 1:], m.means_)

    @pytest.mark.parametrize("model", [cw.NaiveBayes(families={0: "lognormal"}), cw.NaiveBayes(estimate="bayes")])
    def test_other_columns(self, model):
        m = clone(model).fit(*IRIS)
        for name in ("theta_", "var_"):
            with pytest.raises(cw.NotAvailableError, match=f"^{name} is for Gaussian columns alone.*parameters_"):
                getattr(m, name)
        assert m.class_count_.tolist() == [50, 50, 50]
        assert not hasattr(cw.NaiveBayes().fit([["a"], ["b"], ["a"]], [0, 0, 1]), "theta_")


class TestSummary:
    def test_lda_as_r_prints_it(self):
        X, y = load_iris(return_X_y=True, as_frame=True)
        X.columns = ["sl", "sw", "pl", "pw"]
        species = load_iris().target_names[y]
        m = cw.LDA(estimate="unbiased").fit(X, species)
        assert str(m.summary()) == repr(m.summary()) == IRIS_BY_LDA
        assert repr(m) == "LDA(estimate='unbiased')"

    def test_own_covariances_have_determinants(self):
        m = cw.QDA().fit(*IRIS)
        header, *lines = str(m.summary()).splitlines()[4:8]
        assert header.split() == ["rows", "prior", "log|C|"]
        shown = [float(line.split()[-1]) for line in lines]
        np.testing.assert_allclose(shown, np.linalg.slogdet(m.covariances_)[1], rtol=1e-4)

    def test_naive_bayes_has_a_table_for_each_column(self):
        X = pd.DataFrame({"age": [31, 42, 57, 60.0], "city": ["Rome", "Oslo", "Rome", "Rome"], "era": [1.0] * 4})
        with pytest.warns(cw.IgnoredColumnWarning):
            m = cw.NaiveBayes().fit(X, ["a", "a", "b", "b"])
        assert str(m.summary()) == PEOPLE_BY_NAIVE_BAYES

    def test_other_columns_stand_below_the_means(self):
        X = pd.DataFrame(IRIS[0]).add_prefix("x").assign(shape=["round", "oval"] * 75)
        titles = [table.title for table in cw.LDA().fit(X, IRIS[1]).summary().tables]
        assert titles == ["Classes", "Means", "Coefficients of linear discriminants", "shape (categorical)"]
        assert [t.title for t in cw.LDA().fit(X[["shape"]], IRIS[1]).summary().tables] == ["Classes", titles[-1]]

    def test_long_tables_are_cut(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(300, 24)), np.arange(300) % 30
        text = str(cw.LDA().fit(X, y).summary())
        for line in ("10 more classes", "4 more columns", "22 more classes", "16 more discriminants"):
            assert f"\n... and {line}\n" in text
        assert max(map(len, text.splitlines())) < 120
        assert "\n\n... and 4 more columns" in str(cw.NaiveBayes().fit(X, y).summary())
        words = np.array([f"w{i % 25}" for i in range(300)])[:, None]
        assert "\n... and 5 more levels" in str(cw.NaiveBayes().fit(words, y).summary())

    @pytest.mark.parametrize(
        "model",
        [
            cw.QDA(estimate="bayes"),
            cw.LDA(estimate="bayes"),
            cw.LDA(calibrate="temperature", folds=3),
            cw.NaiveBayes(estimate="bayes"),
            cw.NaiveBayes(families="best"),
            cw.NearestMean(),
            cw.RDA(folds=3),
        ],
        ids=str,
    )
    def test_every_model_has_one(self, model):
        summary = clone(model).fit(*IRIS).summary()
        assert str(summary).startswith(f"{model!r}\n150 rows, 3 classes, 4 columns\n")
        assert ("Posteriors are raised to the power" in str(summary)) == (getattr(model, "calibrate", None) is not None)

    def test_weights_and_classes_without_rows(self):
        X, y = IRIS
        assert "weight" in str(cw.LDA().fit(X, y, np.full(150, 0.5)).summary())
        assert "nan" in str(cw.LDA().partial_fit(X[:100], y[:100], classes=[0, 1, 2]).summary())

    def test_in_a_notebook_names_are_escaped(self):
        m = cw.LDA().fit(pd.DataFrame(IRIS[0]).add_prefix("<b>"), IRIS[1])
        html = m.summary()._repr_html_()
        assert html.count("<table>") == 3
        assert "<b>0" not in html

    def test_only_a_fitted_model_has_one(self):
        with pytest.raises(NotFittedError):
            cw.LDA().summary()


# What R's print of MASS::lda shows, in its order: priors, means, coefficients (up to signs), proportion of trace.
IRIS_BY_LDA = """\
LDA(estimate='unbiased')
150 rows, 3 classes, 4 columns

Classes
            rows    prior
setosa        50  0.33333
versicolor    50  0.33333
virginica     50  0.33333

Means
    setosa  versicolor  virginica
sl   5.006       5.936      6.588
sw   3.428        2.77      2.974
pl   1.462        4.26      5.552
pw   0.246       1.326      2.026

Coefficients of linear discriminants
         LD1       LD2
sl  -0.82938  0.024102
sw   -1.5345    2.1645
pl    2.2012  -0.93192
pw    2.8105    2.8392
Proportion of trace: LD1 0.9912, LD2 0.0088"""

PEOPLE_BY_NAIVE_BAYES = """\
NaiveBayes()
4 rows, 2 classes, 3 columns

Classes
   rows  prior
a     2    0.5
b     2    0.5

age (gaussian)
              a     b
mean       36.5  58.5
variance  30.25  2.25

city (categorical)
        a     b
Oslo  0.5  0.25
Rome  0.5  0.75

Left out: era (always 1)"""
