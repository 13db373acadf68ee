"""Agreement with R and with 60-digit arithmetic.

A few rows of each reference lie beside this file and are always checked; all rows, and the tables that cannot be
bundled, are checked where CLASSWISE_REFERENCE names the folder that holds them.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import classwise as cw

SOME_ROWS = json.loads(Path(__file__).with_name("data").joinpath("reference.json").read_text())

MODELS = {
    "lda": cw.LDA(estimate="unbiased"),
    "lda_mle": cw.LDA(),
    "qda": cw.QDA(estimate="unbiased"),
    "qda_mle": cw.QDA(),
    "gnb": cw.NaiveBayes(estimate="unbiased"),
    "gnb_mle": cw.NaiveBayes(),
}
R_NAMES = {
    "lda": "lda_logjoint",
    "lda_mle": "lda_mle_logjoint",
    "qda": "qda_logjoint",
    "gnb": "gnb_unbiased_logjoint",
    "gnb_mle": "gnb_mle_logjoint",
}


def penguins():
    table = load_penguins()[["species", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]].dropna()
    return table.drop(columns="species"), table["species"]


TABLES = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "penguins": penguins,
}
# Condition numbers decide what float64 can hold: 3e11 for raw breast cancer.
TOLERANCE = {"breast_cancer": 1e-8}


def assert_close(ours, reference, tolerance):
    """Agreement relative to each log-joint, or to 1 where it is smaller."""
    assert np.max(np.abs(ours - reference) / np.maximum(np.abs(reference), 1)) < tolerance


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("model", MODELS)
def test_log_joints_of_some_rows(table, model):
    if model not in SOME_ROWS[table]:
        pytest.skip("R's reference has no such log-joint")
    X, y = TABLES[table]()
    assert_close(MODELS[model].fit(X, y).log_joint(X)[::10], SOME_ROWS[table][model], TOLERANCE.get(table, 1e-11))


class TestSixtyDigits:
    @pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
    @pytest.mark.parametrize("model", MODELS)
    def test_log_joints(self, reference, name, model):
        oracle = np.load(reference / "mp_oracle" / f"{name}.npz", allow_pickle=True)
        ours = MODELS[model].fit(oracle["X"], oracle["y"]).log_joint(oracle["X"])
        assert_close(ours, oracle[model], TOLERANCE.get(name, 1e-11))

    @pytest.mark.parametrize(
        ("variant", "tolerance"),
        [
            ("offset1e+04", 1e-10),
            ("offset1e+06", 1e-8),
            ("offset1e+08", 1e-6),
            ("scale_mixed", 1e-12),
            # A column that repeats another up to 1e-4 or 1e-6 of it: the covariance has condition 1e8 or 1e12.
            ("collinear1e-04", 1e-6),
            ("collinear1e-06", 1e-3),
        ],
    )
    @pytest.mark.parametrize("model", ["lda", "qda", "gnb"])
    def test_posteriors_of_hard_variants(self, reference, variant, tolerance, model):
        oracle = np.load(reference / "mp_oracle" / f"iris_{variant}.npz", allow_pickle=True)
        m = MODELS[model].fit(oracle["X"], oracle["y"])
        np.testing.assert_allclose(m.predict_proba(oracle["X"]), oracle[f"posterior_{model}"], rtol=0, atol=tolerance)

    @pytest.mark.parametrize("model", ["lda", "qda"])
    def test_collinear_beyond_float64_is_left_out(self, reference, model):
        """Squares of what is left of the column are below the rounding of its own."""
        oracle = np.load(reference / "mp_oracle" / "iris_collinear1e-08.npz", allow_pickle=True)
        with pytest.warns(cw.IgnoredColumnWarning, match=r"Columns left out: column 4 \(a combination of"):
            answer = MODELS[model].fit(oracle["X"], oracle["y"]).predict_proba(oracle["X"])
        plain = MODELS[model].fit(oracle["X"][:, :4], oracle["y"])
        np.testing.assert_allclose(answer, plain.predict_proba(oracle["X"][:, :4]), atol=1e-9)


def read_r(folder, name):
    path = next(p for p in (folder / f"{name}.csv", folder / f"{name}.csv.gz") if p.exists())
    return pd.read_csv(path)


def vowel(reference, part):
    table = pd.read_csv(reference.parent / "data" / f"esl_vowel_{part}.csv.gz")
    return table[[f"x.{j}" for j in range(1, 11)]], table["y"]


class TestVowel:
    """The vowels of Hastie, Tibshirani and Friedman, The Elements of Statistical Learning."""

    @pytest.mark.parametrize("model", R_NAMES)
    def test_log_joints(self, reference, model):
        X, y = vowel(reference, "train")
        ours = MODELS[model].fit(X, y).log_joint(X)
        assert_close(ours, read_r(reference / "esl_vowel", R_NAMES[model] + "_train").to_numpy(), 1e-11)

    @pytest.mark.parametrize(
        ("model", "on_train", "on_test"), [("lda", 167, 257), ("qda", 6, 244), ("gnb", 146, 246), ("gnb_mle", 148, 249)]
    )
    def test_published_errors(self, reference, model, on_train, on_test):
        m = MODELS[model].fit(*vowel(reference, "train"))
        for part, errors in (("train", on_train), ("test", on_test)):
            X, y = vowel(reference, part)
            assert (m.predict(X) != y).sum() == errors

    def test_best_regularized_classifier(self, reference):
        X, y = vowel(reference, "test")
        m = cw.RDA(share=0.09, shrink=0, estimate="unbiased").fit(*vowel(reference, "train"))
        assert (m.predict(X) != y).sum() == 207


@pytest.mark.parametrize("share", [0.25, 0.5])
@pytest.mark.parametrize("shrink", [0.1, 0.5])
@pytest.mark.parametrize("table", ["iris", "wine", "penguins"])
def test_regularized_log_joints(reference, table, share, shrink):
    X, y = TABLES[table]()
    ours = cw.RDA(share=share, shrink=shrink, estimate="unbiased").fit(X, y).log_joint(X)
    folder = reference / {"penguins": "penguins_numeric"}.get(table, table)
    assert_close(ours, read_r(folder, f"rda_g{shrink:.2f}_l{share:.2f}_logjoint_train").to_numpy(), 1e-10)


@pytest.mark.parametrize("table", ["iris", "wine", "penguins"])
def test_fisher_directions(reference, table):
    X, y = TABLES[table]()
    folder = reference / {"penguins": "penguins_numeric"}.get(table, table)
    ours = cw.LDA(estimate="unbiased").fit(X, y).transform(X)
    theirs = read_r(folder, "lda_x_train").to_numpy()
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "errors"), [(cw.LDA(), 3), (cw.QDA(), 3), (cw.NaiveBayes(), 6), (cw.NearestMean(), 11)]
)
def test_published_errors_on_iris(model, errors):
    X, y = TABLES["iris"]()
    assert (model.fit(X, y).predict(X) != y).sum() == errors


@pytest.mark.parametrize("model", [cw.LDA(priors="uniform"), cw.QDA(), cw.NaiveBayes()], ids=["lda", "qda", "nb"])
def test_posteriors_do_not_depend_on_units(model):
    X, y = TABLES["iris"]()
    scales = np.array([1e-12, 1e12, 1e-6, 1e6])
    plain = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.fit(X * scales, y).predict_proba(X * scales), plain, rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", ["lda", "qda", "gnb"])
def test_posteriors_survive_an_offset(model):
    X, y = TABLES["iris"]()
    m = MODELS[model]
    plain = m.fit(X, y).predict_proba(X)
    # Adding 1e8 rounds each value to 1.5e-8: what is left of the rows decides how close posteriors can be.
    np.testing.assert_allclose(m.fit(X + 1e8, y).predict_proba(X + 1e8), plain, rtol=0, atol=1e-5)


@pytest.mark.parametrize("noise", [1e-4, 1e-6])
def test_near_collinear_columns_are_kept(noise):
    """A column that is another plus a little noise is one more feature, however little the noise."""
    X, y = TABLES["iris"]()
    extra = np.random.default_rng(0).normal(size=len(X))
    near = np.column_stack([X, X[:, 0] + noise * extra])
    equal = np.column_stack([X, extra])
    for model in (cw.LDA(), cw.QDA()):
        np.testing.assert_allclose(
            model.fit(near, y).predict_proba(near), model.fit(equal, y).predict_proba(equal), rtol=0, atol=1e-3
        )


@pytest.mark.parametrize("smoothing", [0, 1])
@pytest.mark.parametrize("estimate", ["mle", "unbiased"])
def test_naive_bayes_on_mixed_columns_of_some_rows(estimate, smoothing):
    table = load_penguins().drop(columns="year")
    X = table.drop(columns="species")
    m = cw.NaiveBayes(smoothing=smoothing, estimate=estimate).fit(X, table["species"])
    rows = SOME_ROWS["penguins_mixed"][f"{estimate}_{smoothing}"]
    expected = np.array([[-np.inf if value is None else value for value in row] for row in rows])
    np.testing.assert_allclose(m.log_joint(X)[::10], expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["nb_crx", "nb_germancredit", "nb_penguins_mixed", "nb_titanic_mixed"])
@pytest.mark.parametrize("smoothing", [0, 1])
@pytest.mark.parametrize("estimate", ["mle", "unbiased"])
def test_naive_bayes_on_mixed_columns(reference, name, estimate, smoothing):
    levels = json.loads((reference / name / "meta.json").read_text())["levels"]
    file = next((reference / name).glob("data.csv*"))
    table = pd.read_csv(file, dtype=dict.fromkeys([*levels, ".y"], str))
    X = table.drop(columns=".y")
    expected = pd.read_csv(reference / name / f"exact_laplace{smoothing}_{estimate}var_logjoint.csv")
    m = cw.NaiveBayes(smoothing=smoothing, estimate=estimate).fit(X, table[".y"])
    np.testing.assert_allclose(m.log_joint(X), expected[m.classes_], rtol=1e-10)


def test_numbers_taken_for_categories(reference):
    """The class of a cabin is a number in the table, and a category in the reference."""
    table = pd.read_csv(reference / "nb_titanic_mixed" / "data.csv")
    expected = pd.read_csv(reference / "nb_titanic_mixed" / "exact_laplace1_mlevar_logjoint.csv")
    m = cw.NaiveBayes(families={"pclass": "categorical"}).fit(table.drop(columns=".y"), table[".y"])
    np.testing.assert_allclose(m.log_joint(table.drop(columns=".y")), expected, rtol=1e-10)
