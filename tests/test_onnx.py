"""ONNX models, run by onnxruntime, against the models they were made of."""

import json
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from palmerpenguins import load_penguins
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import classwise as cw
from classwise.densities import Density
from classwise.errors import ClasswiseError
from classwise.export.onnx_graph.bayes_rule import scorable_rows
from classwise.export.onnx_graph.densities import scores
from classwise.export.onnx_graph.graph import Graph

# Three tables: rows to learn from, labels, families by name, and rows to score, with gaps and levels never seen -------


def with_gaps(values, generator, share=0.15):
    gone = generator.random(values.shape) < share
    gone[0] = True  # a row of nothing but gaps
    return np.where(gone, np.nan, values) if isinstance(values, np.ndarray) else values.mask(gone)


def iris():
    """An array: numbers, a million away from zero, the last of them whole."""
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X[:, :3], X[:, 3].round()]) + 1e6
    rows = np.vstack([X, with_gaps(X, np.random.default_rng(0))])
    rows[20:30, 3] = 999_990
    return X, y, {3: "categorical"}, rows


def penguins():
    """A table with gaps: text, numbers, whole numbers, yes and no, counts."""
    table, generator = load_penguins(), np.random.default_rng(1)
    X = table.drop(columns=["species", "year"])
    X["body_mass_g"] += 1e6
    X["banded"] = generator.random(len(X)) < np.where(table["species"] == "Adelie", 0.3, 0.6)
    X["ring"] = table["year"]
    X["dives"] = generator.poisson(np.where(table["species"] == "Gentoo", 9, 4)).astype(float)
    X["eggs"] = generator.binomial(2, np.where(table["sex"] == "male", 0.2, 0.7)).astype(float)
    families = {"ring": "categorical", "dives": "poisson", "eggs": "binomial(2)", "bill_depth_mm": "lognormal"}
    gappy = X.drop(columns=["banded", "ring"])
    rows = pd.concat([with_gaps(gappy, generator), X[["banded", "ring"]]], axis=1)[X.columns]
    rows.loc[5:40, "island"] = "Ross"
    rows.loc[30:60, "ring"] = 1850
    return X, table["species"], families, pd.concat([X, rows], ignore_index=True)


def places():
    """Many classes and levels, with quotes and letters of all kinds."""
    generator, n = np.random.default_rng(2), 1500
    labels = np.array(
        [
            f'{letter}\'s "{sign}"'
            for letter, sign in zip("ABCDEFGHIJKLMÑÖßЖ鳥", "aé'ü\\ø☃ñ漢字かな\"😀ăşğ;", strict=True)
        ]
    )
    codes = generator.integers(len(labels), size=n)
    towns = np.array(
        [f"{stem} {number}'" for number in range(60) for stem in ("Zürich", 'O"Brien', "東京")], dtype=object
    )
    X = pd.DataFrame(
        {
            "größe (cm)": generator.normal(codes % 5, 1) + 1e6,
            "x'y\"z": generator.normal(codes // 5, 1) - 1e6,
            "v1": 1e6 * np.exp(generator.normal(codes % 3, 1)),
            "town": towns[(codes * 7 + generator.integers(40, size=n)) % len(towns)],
            "kind": generator.choice([-3, 4, 2**40], size=n),
            "grade": generator.choice([0.5, 0.1, 2.0, np.nan], size=n),
            "seen": generator.poisson(1e6 + 1e3 * (codes % 7)),
            "": np.nan,
        }
    ).drop(columns="")
    families = {"v1": "lognormal", "kind": "categorical", "grade": "categorical", "seen": "poisson"}
    rows = X.copy()
    numbers = ["größe (cm)", "x'y\"z", "v1", "grade", "seen", "town"]
    rows[numbers] = with_gaps(rows[numbers], generator)
    rows.loc[3:200, "town"] = "Ürümqi"
    rows.loc[100:300, "grade"] = 0.7
    rows.loc[200:400, "kind"] = 7
    return X, labels[codes], families, pd.concat([X, rows], ignore_index=True)


TABLES = {of.__name__: of() for of in (iris, penguins, places)}

# Every kind of model; f: what columns are -----------------------------------------------------------------------------

BAYES = {"estimate": "bayes"}
KINDS = {
    "QDA": lambda f: cw.QDA(),
    "LDA": lambda f: cw.LDA(families=f),
    "LDA of rank 1": lambda f: cw.LDA(n_components=1),
    "RDA": lambda f: cw.RDA(share=0.5, shrink=0.2, families=f),
    "RDA, standardized": lambda f: cw.RDA(share=0.3, shrink="oas", standardize=True),
    "average": lambda f: cw.GaussianClassifier(share="average"),
    "nearest mean": lambda f: cw.NearestMean(),
    "nearest mean, standardized": lambda f: cw.NearestMean(standardize=True),
    "spherical": lambda f: cw.GaussianClassifier(structure="spherical", families=f),
    "diagonal": lambda f: cw.GaussianClassifier(structure="diagonal", families=f),
    "diagonal, shared": lambda f: cw.GaussianClassifier(structure="diagonal", share=1),
    "Bayes": lambda f: cw.QDA(**BAYES, families=f),
    "Bayes, shared": lambda f: cw.LDA(**BAYES),
    "Bayes, diagonal": lambda f: cw.GaussianClassifier(structure="diagonal", **BAYES, families=f),
    "Bayes, diagonal, shared": lambda f: cw.GaussianClassifier(structure="diagonal", share=1, **BAYES),
    "Bayes, spherical": lambda f: cw.GaussianClassifier(structure="spherical", **BAYES),
    "Bayes, spherical, shared": lambda f: cw.NearestMean(**BAYES),
    "naive Bayes": lambda f: cw.NaiveBayes(),
    "naive Bayes of families": lambda f: cw.NaiveBayes(families=f),
    "naive Bayes, Bayes": lambda f: cw.NaiveBayes(families=f, **BAYES),
    "missing is a level": lambda f: cw.NaiveBayes(families=f, missing="level"),
    "missing is a level, joint": lambda f: cw.LDA(missing="level"),
    "rare levels": lambda f: cw.NaiveBayes(families=f, min_frequency=0.01),
    "calibrated": lambda f: cw.NaiveBayes(families=f, calibrate="temperature", folds=3),
    "uniform priors": lambda f: cw.QDA(priors="uniform"),
}


def run(exported, rows, providers=("CPUExecutionProvider",)):
    """Label and probabilities of rows in onnxruntime."""
    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=list(providers))
    types = {"tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": bool}
    given = {}
    for value in session.get_inputs():
        if value.name == "X" and isinstance(rows, np.ndarray):
            given["X"] = rows.astype(types[value.type])
        elif value.type == "tensor(string)":
            column = rows[value.name].astype(object)
            given[value.name] = column.where(column.notna(), "").to_numpy(dtype=object)[:, None]
        else:
            given[value.name] = rows[value.name].to_numpy().astype(types[value.type])[:, None]
    return session.run(None, given)


def rounded(rows, model):
    """The same rows with numbers as float32 has them."""
    if isinstance(rows, np.ndarray):
        return rows.astype(np.float32).astype(np.float64)
    schema = model.model_.schema
    numbers = [column.name for column in schema if not column.family.has_levels]
    return rows.assign(**{name: rows[name].astype(np.float32).astype(np.float64) for name in numbers})


def assert_same(model, rows, dtype="float64", **options):
    """ONNX and Python agree on the labels, and on the posteriors."""
    label, probabilities = run(cw.to_onnx(model, dtype=dtype, **options), rows)
    if dtype == "float32":
        rows = rounded(rows, model)
    expected = model.predict(rows)
    assert label.tolist() == [int(one) if isinstance(one, np.bool_) else one for one in expected]
    assert probabilities.dtype == dtype
    assert np.abs(probabilities - model.predict_proba(rows)).max() < (1e-10 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", KINDS)
def test_labels_and_posteriors(kind, table):
    X, y, families, rows = TABLES[table]
    model = KINDS[kind](families).fit(X, y)
    assert_same(model, rows)
    assert_same(model, rows, "float32")


# Logistic regression --------------------------------------------------------------------------------------------------


def logistic(table, **options):
    """Logistic regression of a table, and rows to score; counts are numbers to it."""
    X, y, families, rows = TABLES[table]
    levels = {name: family for name, family in families.items() if family == "categorical"}
    return cw.BayesianLogistic(families=levels, **options).fit(X, y), rows


@pytest.mark.filterwarnings("ignore::classwise.ImputedValueWarning")
@pytest.mark.parametrize("table", TABLES)
def test_logistic(table):
    model, rows = logistic(table, precision=1.0, predictive="plugin")
    assert_same(model, rows)
    assert_same(model, rows, "float32")
    assert_same(model.with_priors("uniform"), rows)


@pytest.mark.filterwarnings("ignore::classwise.ImputedValueWarning")
@pytest.mark.parametrize("options", [{}, {"precision": "relevance"}, {"precision": 1.0, "standardize": False}], ids=str)
def test_logistic_of_two_classes(options):
    """Moderated by the variance of the score, of rows with gaps and with levels never seen."""
    X, y, _, rows = TABLES["penguins"]
    y = np.where(y == "Adelie", "Adelie", "other")
    model = cw.BayesianLogistic(families={"ring": "categorical"}, predictive="moderated", **options).fit(X, y)
    assert_same(model, rows)
    moderated = model.predict_proba(rows)
    assert np.abs(moderated - model.set_params(predictive="plugin").predict_proba(rows)).max() > 1e-4
    assert_same(model, rows)


@pytest.mark.parametrize("options", [{"standardize": False, "penalize_intercept": True}, {"fit_intercept": False}])
def test_logistic_of_columns_that_are_not_centered(options):
    X, y, _, rows = TABLES["iris"]
    y = y == 2
    model = cw.BayesianLogistic(predictive="moderated", precision=2.0, **options).fit(X - 1e6, y)
    assert_same(model, rows - 1e6)


def test_logistic_rows_that_have_no_score():
    model = cw.BayesianLogistic(predictive="moderated", precision=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    rows = np.array([[0.5], [np.inf], [-np.inf], [np.nan], [1e200]])
    label, probabilities = run(cw.to_onnx(model), rows)
    assert label.tolist() == [0, -1, -1, 0, -1]
    assert np.isnan(probabilities[1:3]).all()
    np.testing.assert_allclose(probabilities[[0, 3]], model.predict_proba(rows[[0, 3]]), rtol=0, atol=1e-10)
    label, _ = run(cw.to_onnx(model.set_params(missing="error")), rows)
    assert label.tolist() == [0, -1, -1, -1, -1]


def test_logistic_decisions():
    model, rows = logistic("iris", predictive="plugin")
    decision = cw.Decision(model, costs={0: {1: 4}}, reject=0.1, reject_label=-9)
    label, probabilities = run(cw.to_onnx(decision), rows)
    assert label.tolist() == decision.predict(rows).tolist()
    assert -9 in label
    np.testing.assert_allclose(probabilities, decision.predict_proba(rows), rtol=0, atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3, 4, 6])
def test_logistic_averages_over_weights(classes):
    """Each rule that averages over the weights, from well known scores to vast ones; and approximations."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(15 * classes, 3))
    y = np.arange(len(X)) % classes
    rows = np.concatenate([X[:4] * factor for factor in (0.1, 1, 10, 100, 3000)])
    rows[3, 1] = np.nan
    model = cw.BayesianLogistic(precision=0.05).fit(X + y[:, None], y)
    for predictive in ("integrated", "moderated", "plugin"):
        assert_same(model.set_params(predictive=predictive), rows)


@pytest.mark.parametrize("predictive", ["integrated", "plugin", "moderated"])
def test_probit(predictive):
    X, y, _, rows = TABLES["iris"]
    model = cw.BayesianLogistic(link="probit", predictive=predictive, precision=0.01).fit(X, y == 2)
    assert_same(model, np.concatenate([rows, 30 * rows]))


def test_logistic_draws():
    X, y, _, rows = TABLES["iris"]
    model = cw.BayesianLogistic(posterior="sampled", random_state=0, precision=1.0, draws=200)
    assert_same(model.fit(X, y == 2), rows)


# Batches --------------------------------------------------------------------------------------------------------------


def test_rows_complete_or_not_in_one_batch_or_alone():
    """A row's answer does not depend on the rows around it; no rows, one row, and many."""
    X, y, _, rows = TABLES["iris"]
    exported = cw.to_onnx(cw.QDA().fit(X, y))
    label, probabilities = run(exported, rows)
    alone = [run(exported, rows[i : i + 1]) for i in (0, 150, 151, 160)]
    np.testing.assert_allclose(np.vstack([p for _, p in alone]), probabilities[[0, 150, 151, 160]], rtol=0, atol=1e-14)
    none = run(exported, rows[:0])
    assert none[0].shape == (0,)
    assert none[1].shape == (0, 3)
    many = run(exported, np.repeat(rows, 100, axis=0))
    np.testing.assert_array_equal(many[0], np.repeat(label, 100))


@pytest.mark.parametrize("table", ["penguins", "places"])
def test_batches_of_no_rows_and_one_row_of_a_table(table):
    X, y, families, rows = TABLES[table]
    model = cw.LDA(families=families).fit(X, y)
    exported = cw.to_onnx(model)
    assert run(exported, rows[:0])[1].shape == (0, len(model.classes_))
    for i in (0, len(X), len(X) + 5):
        label, probabilities = run(exported, rows[i : i + 1])
        assert label == model.predict(rows[i : i + 1])
        np.testing.assert_allclose(probabilities, model.predict_proba(rows[i : i + 1]), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "kind", ["QDA", "LDA", "diagonal", "diagonal, shared", "nearest mean", "Bayes, shared", "Bayes, spherical"]
)
def test_classes_far_apart(kind):
    """A thousand standard deviations from the average of the means; two classes near each other."""
    generator = np.random.default_rng(4)
    y = np.repeat([0, 1, 2], 30)
    X = generator.normal(size=(90, 3)) + np.array([0.0, 1.0, 4e3])[y, None] + 1e6
    assert_same(KINDS[kind]("auto").fit(X, y), np.vstack([X, with_gaps(X, generator)]))


class TestTies:
    """A tie goes to the first class, in Python as in ONNX."""

    CROSS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])

    @pytest.mark.parametrize("offset", [0.0, 0.1, 1e6])
    @pytest.mark.parametrize(
        "model", [cw.LDA(), cw.QDA(), cw.NearestMean(), cw.NaiveBayes(), cw.QDA(estimate="bayes")], ids=str
    )
    def test_between_gaussians(self, model, offset):
        centers = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 3.0], [0.0, -3.0]])
        X = (centers[:, None] + self.CROSS).reshape(-1, 2) + offset
        y = np.repeat(list("dbca"), 4)
        diagonal = np.linspace(-4, 4, 9)
        rows = np.vstack([np.column_stack([diagonal, diagonal]), np.column_stack([diagonal, -diagonal])]) + offset
        assert_same(model.fit(X, y), rows)
        assert {"a", "b", "c"} >= set(model.predict(rows))
        # A tie is one in the posteriors too, to the last digit.
        probabilities = run(cw.to_onnx(model), rows)[1]
        assert ((probabilities == probabilities.max(axis=1, keepdims=True)).sum(axis=1) >= 2).all()

    def test_between_levels(self):
        X = pd.DataFrame({"sign": ["x", "y", "z"] * 4, "more": ["p", "q"] * 6})
        model = cw.NaiveBayes().fit(X, ["b"] * 6 + ["a"] * 6)
        assert_same(model, pd.DataFrame({"sign": ["x", "y", "never", None], "more": ["p", "q", None, None]}))
        assert model.predict(X[:1]).tolist() == ["a"]


class TestDecisions:
    def setup_method(self):
        self.X, self.y, _, self.rows = TABLES["penguins"]
        self.model = cw.NaiveBayes(calibrate="temperature", folds=3).fit(self.X, self.y)

    @pytest.mark.parametrize(
        "options",
        [
            {"costs": {"Adelie": {"Chinstrap": 20}}},
            {"reject": 0.05},
            {"reject": {"posterior": 0.99}, "costs": {"Gentoo": {"Adelie": 5}}},
            {"reject": {"posterior": 0.0}},
            {"costs": np.array([[-1.0, 2, 3], [1, -2, 0.5], [4, 1, -1]]), "reject": 0.1, "reject_label": "?"},
            {},
        ],
        ids=str,
    )
    def test_costs_and_reject(self, options):
        assert_same(cw.Decision(self.model, **options), self.rows)

    def test_fitted_by_the_decision(self):
        decision = cw.Decision(cw.LDA(), reject=0.1).fit(self.X, self.y)
        assert_same(decision, self.rows)
        assert "reject" in decision.predict(self.rows)

    def test_of_a_decision(self):
        inner = cw.Decision(cw.LDA(), reject=0.9)
        assert_same(cw.Decision(inner, costs={"Gentoo": {"Adelie": 5}}).fit(self.X, self.y), self.rows)

    def test_equal_costs_go_to_the_most_probable(self):
        X = np.array([[-1.0], [1.0], [2.0], [4.0]])
        decision = cw.Decision(cw.LDA().fit(X, [1, 1, 0, 0]), costs=np.ones((2, 2)))
        assert_same(decision, np.linspace(-3, 6, 19)[:, None])

    def test_whole_numbers_beside_a_text_become_text(self):
        X, y, _, rows = TABLES["iris"]
        decision = cw.Decision(cw.LDA().fit(X, y), reject=0.1, reject_label="reject")
        label, _ = run(cw.to_onnx(decision), rows)
        assert label.tolist() == decision.predict(rows).astype(str).tolist()
        assert "reject" in label
        for number in (-7, "auto"):
            assert_same(decision.set_params(reject_label=number), rows)

    @pytest.mark.parametrize("reject_label", ["1", "0"])
    def test_a_reject_label_like_a_class(self, reject_label):
        X, y, _, _ = TABLES["iris"]
        with pytest.raises(ClasswiseError, match="two are the same in ONNX; give another reject_label"):
            cw.to_onnx(cw.Decision(cw.LDA().fit(X, y), reject=0.1, reject_label=reject_label))


@pytest.mark.parametrize(
    "members",
    [
        "default",
        ["mixtures", "tied mixtures", "one-dependence", "class shares"],
        ["network", "deep network", "boosted trees"],
    ],
)
@pytest.mark.parametrize("table", ["iris", "penguins"])
def test_stacks(table, members):
    """All named members; gaps, levels never seen, other priors and costs."""
    X, y, _, rows = TABLES[table]
    model = cw.AutoClassifier(members=members, folds=2).fit(X, y)
    assert_same(model, rows)
    assert_same(model.with_priors("uniform"), rows)


def test_a_stack_refuses_what_it_refuses_in_python():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.exp(rng.normal(size=60)), "b": rng.poisson(3, 60)})
    y = X["a"] > 1
    model = cw.AutoClassifier(members="fast", folds=2, families={"a": "lognormal", "b": "poisson"}).fit(X, y)
    rows = np.array([[1.0, 2.0], [-1.0, 2.0], [1.0, 2.5], [1e200, 2.0], [np.nan, np.nan]])
    session = onnxruntime.InferenceSession(cw.to_onnx(model).SerializeToString())
    _, probabilities = session.run(None, {"a": rows[:, :1], "b": rows[:, 1:]})
    assert np.isnan(probabilities).any(axis=1).tolist() == [False, True, True, True, False]
    good = pd.DataFrame(rows[[0, 4]], columns=["a", "b"])
    np.testing.assert_allclose(probabilities[[0, 4]], model.predict_proba(good), atol=1e-10)


@pytest.mark.parametrize("priors", [{"Adelie": 1.0, "Chinstrap": 0.0, "Gentoo": 0.0}, [0.2, 0.8, 0.0]], ids=str)
@pytest.mark.parametrize("calibrate", [None, "temperature"])
def test_other_priors(priors, calibrate):
    X, y, _, rows = TABLES["penguins"]
    assert_same(cw.QDA(calibrate=calibrate, folds=3).fit(X, y).with_priors(priors), rows)


@pytest.mark.parametrize("opset", range(18, 22))
def test_later_operators(opset):
    X, y, families, rows = TABLES["penguins"]
    model = cw.LDA(families=families).fit(X, y)
    assert cw.to_onnx(model, opset=opset).opset_import[0].version == opset
    assert_same(model, rows, opset=opset)


class TestLimits:
    """Without smoothing some values rule a class out, and some rows out of every class."""

    FAMILIES = {0: "poisson", 1: "binomial(3)", 2: "categorical"}  # noqa: RUF012
    X = np.array([[0.0, 0, 1], [0, 0, 1], [0, 0, 2], [0, 1, 1], [0, 2, 2], [0, 3, 2], [1, 3, 2], [5, 3, 2], [2, 3, 2]])
    y = np.repeat(["none", "some", "all"], 3)

    def test_parameters_at_their_limits(self):
        model = cw.NaiveBayes(families=self.FAMILIES, smoothing=0).fit(self.X, self.y)
        counts = np.array([[visits, wins, kind] for visits in (0, 1, 7) for wins in range(4) for kind in (1, 2)])
        possible = np.array([_is_scored(model, row) for row in counts.astype(float)[:, None]])
        assert 0 < possible.sum() < len(possible)
        assert_same(model, counts[possible].astype(float))
        label, probabilities = run(cw.to_onnx(model), counts.astype(float))
        np.testing.assert_array_equal(label == "", ~possible)
        np.testing.assert_array_equal(np.isnan(probabilities).all(axis=1), ~possible)

    def test_gaps(self):
        model = cw.NaiveBayes(families=self.FAMILIES, smoothing=0).fit(self.X, self.y)
        rows = with_gaps(self.X, np.random.default_rng(0), 0.4)
        assert_same(model, rows[[_is_scored(model, row) for row in rows[:, None]]])

    def test_missing_values_that_a_class_never_has(self):
        X = np.array([[1.0, 2], [np.nan, 3], [2, 5], [3, 1], [4, 2], [5, 2]])
        model = cw.NaiveBayes(missing="level", smoothing=0).fit(X, [0, 0, 0, 1, 1, 1])
        rows = np.array([[np.nan, 2], [2, np.nan], [3, 2]])
        assert_same(model, rows)
        assert run(cw.to_onnx(model), rows)[1][0].tolist() == [1.0, 0.0]

    @pytest.mark.parametrize(
        "row", [[-1, 1, 1], [0.5, 1, 1], [1, 4, 1], [1, -1, 1], [1, 1.5, 1], [np.inf, 1, 1]], ids=str
    )
    def test_what_counts_cannot_be(self, row):
        model = cw.NaiveBayes(families=self.FAMILIES).fit(self.X, self.y)
        assert not _is_scored(model, np.array([row]))
        label, probabilities = run(cw.to_onnx(model), np.array([row, self.X[0]]))
        assert label.tolist()[0] == ""
        assert label.tolist()[1] == model.predict(self.X[:1])[0]
        assert np.isnan(probabilities[0]).all()
        assert np.isfinite(probabilities[1]).all()

    @pytest.mark.parametrize("value", [0.0, -2.0, np.inf])
    def test_what_has_no_logarithm(self, value):
        X = np.array([[1.0, 5], [2, 3], [4, 4], [8, 2], [16, 9], [32, 7]])
        model = cw.NaiveBayes(families={0: "lognormal"}).fit(X, [0, 0, 0, 1, 1, 1])
        label, probabilities = run(cw.to_onnx(model), np.array([[value, 1], [np.nan, 1]]))
        assert label.tolist() == [-1, model.predict([[np.nan, 1]])[0]]
        assert np.isnan(probabilities[0]).all()

    @pytest.mark.parametrize("estimator", [cw.LDA, cw.QDA, cw.NaiveBayes])
    def test_missing_values_refused(self, estimator):
        X, y, _, _ = TABLES["penguins"]
        known = X.notna().all(axis=1)
        model = estimator().fit(X[known], y[known]).set_params(missing="error")
        exported = cw.to_onnx(model)
        label, probabilities = run(exported, X)
        np.testing.assert_array_equal(label == "", ~known)
        np.testing.assert_array_equal(np.isnan(probabilities).all(axis=1), ~known)
        assert label[known].tolist() == model.predict(X[known]).tolist()
        assert not {"If", "Loop", "Scan"} & {node.op_type for node in exported.graph.node}


def _is_scored(model, rows):
    try:
        model.predict(rows)
    except ClasswiseError:
        return False
    return True


def test_a_score_that_is_not_a_number_spoils_the_row():
    """Whatever else the row has; onnxruntime's maximum passes NaN over."""
    graph = Graph()
    joint = graph.input("joint", np.float64, 2)
    graph.output("scorable", scorable_rows(joint, [joint > 5.0]), np.bool_, 1)
    session = onnxruntime.InferenceSession(graph.model("test").SerializeToString())
    values = np.array([[1.0, 2], [np.nan, 2], [1, np.nan], [-np.inf, 2], [-np.inf, -np.inf], [1, np.inf], [1, 6]])
    scorable = session.run(None, {"joint": values})[0][:, 0]
    assert scorable.tolist() == [True, False, False, True, False, False, False]


class TestLabels:
    @pytest.mark.parametrize(
        ("labels", "dtype"),
        [
            ([False, True], np.int64),
            ([-1, 7], np.int64),
            ([2.0, 3.0], np.int64),
            ([-(2**63), 2**63 - 1], np.int64),
            (["", "ü'\"\\"], object),
        ],
        ids=str,
    )
    def test_types(self, labels, dtype):
        X = np.array([[0.0], [1.0], [5.0], [7.0]])
        model = cw.LDA().fit(X, np.repeat(labels, 2))
        label, _ = run(cw.to_onnx(model), X)
        assert label.dtype == dtype
        assert_same(model, X)
        # A row that has no score has a label that no class has.
        unscorable = run(cw.to_onnx(model), np.array([[np.inf]]))[0][0]
        assert unscorable not in labels
        assert json.loads(properties(cw.to_onnx(model))["unscorable_label"]) == unscorable

    def test_other_types_are_refused(self):
        y = np.empty(4, dtype=object)
        y[:] = [(1, 2), (1, 2), (3, 4), (3, 4)]
        with pytest.raises(ClasswiseError, match=r"The label \(1, 2\) is a tuple"):
            cw.to_onnx(cw.LDA().fit([[0.0], [1.0], [5.0], [7.0]], y))
        with pytest.raises(ClasswiseError, match="no 64-bit integer"):
            cw.to_onnx(cw.LDA().fit([[0.0], [1.0], [5.0], [7.0]], np.array([1, 1, 2**63, 2**63], dtype=np.uint64)))


def properties(exported):
    return {entry.key: entry.value for entry in exported.metadata_props}


def signature(exported):
    """Names and types of inputs and outputs."""
    session = onnxruntime.InferenceSession(exported.SerializeToString())
    return [
        {value.name: (value.type, value.shape) for value in side()}
        for side in (session.get_inputs, session.get_outputs)
    ]


class TestInterface:
    def test_of_an_array(self):
        X, y, _, _ = TABLES["iris"]
        for dtype, name in ("float64", "double"), ("float32", "float"):
            inputs, outputs = signature(cw.to_onnx(cw.LDA().fit(X, y), dtype=dtype))
            assert inputs == {"X": (f"tensor({name})", ["N", 4])}
            assert outputs == {"label": ("tensor(int64)", ["N"]), "probabilities": (f"tensor({name})", ["N", 3])}

    def test_of_a_table(self):
        X, y, families, _ = TABLES["penguins"]
        inputs, outputs = signature(cw.to_onnx(cw.LDA(families=families).fit(X, y), dtype="float32"))
        assert list(inputs) == list(X.columns)
        kinds = {"island": "string", "sex": "string", "banded": "bool", "ring": "int64"}
        assert inputs == {name: (f"tensor({kinds.get(name, 'float')})", ["N", 1]) for name in X.columns}
        assert outputs["label"] == ("tensor(string)", ["N"])

    def test_levels_of_columns_with_gaps_are_numbers(self):
        """Whole numbers and yes/no cannot be missing in their own types."""
        X = pl.DataFrame(
            {"a": [1, 2, None, 2, 5, 1], "b": [True, None, False, True, True, False], "c": [1.0, 2, 3, 7, 8, 9]}
        )
        model = cw.NaiveBayes(families={"a": "categorical"}).fit(X, [0, 0, 0, 1, 1, 1])
        exported = cw.to_onnx(model)
        assert {kind for kind, _ in signature(exported)[0].values()} == {"tensor(double)"}
        rows = X.with_columns(a=pl.Series([9, 1, 2, None, 5, 5]))
        label, probabilities = run(exported, rows.with_columns(pl.all().cast(pl.Float64)).to_pandas())
        assert label.tolist() == model.predict(rows).tolist()
        np.testing.assert_allclose(probabilities, model.predict_proba(rows), rtol=0, atol=1e-10)

    @pytest.mark.parametrize("convert", [pl.from_pandas, pl.DataFrame.to_arrow], ids=["polars", "pyarrow"])
    def test_of_other_frames(self, convert):
        X, y, families, rows = TABLES["places"]
        frame = pl.from_pandas(X) if convert is pl.from_pandas else convert(pl.from_pandas(X))
        exported = cw.to_onnx(cw.NaiveBayes(families=families).fit(frame, y))
        expected = cw.NaiveBayes(families=families).fit(X, y)
        np.testing.assert_allclose(run(exported, rows)[1], expected.predict_proba(rows), rtol=0, atol=1e-10)

    def test_a_matrix_for_a_table_and_columns_for_an_array(self):
        X, y, _, rows = TABLES["iris"]
        frame, names = pd.DataFrame(X, columns=list("abcd")), ["x0", "x1", "x2", "x3"]
        by_name, by_place = cw.LDA().fit(frame, y), cw.LDA().fit(X, y)
        expected = run(cw.to_onnx(by_name), pd.DataFrame(rows, columns=list("abcd")))[1]
        np.testing.assert_array_equal(run(cw.to_onnx(by_name, inputs="matrix"), rows)[1], expected)
        expected = run(cw.to_onnx(by_place), rows)[1]
        columns = run(cw.to_onnx(by_place, inputs="columns"), pd.DataFrame(rows, columns=names))[1]
        np.testing.assert_array_equal(columns, expected)

    def test_an_array_of_text_has_columns(self):
        X = np.array([["a", 1.0], ["b", 2.0], ["a", 4.0], ["b", 7.0]], dtype=object)
        model = cw.NaiveBayes().fit(X, [0, 0, 1, 1])
        rows = pd.DataFrame({"x0": ["a", "b", "c", None], "x1": [1.5, np.nan, 6.0, 7.0]})
        label, probabilities = run(cw.to_onnx(model), rows)
        np.testing.assert_allclose(probabilities, model.predict_proba(rows.to_numpy()), rtol=0, atol=1e-10)
        assert label.tolist() == model.predict(rows.to_numpy()).tolist()
        with pytest.raises(ClasswiseError, match=r"column 0 holds text.*inputs='columns'"):
            cw.to_onnx(model, inputs="matrix")

    def test_what_stands_for_missing_text(self):
        X = pd.DataFrame({"town": ["", "Rome", "Oslo", "Rome"], "x": [1.0, 2, 4, 3]})
        model = cw.NaiveBayes(missing="level").fit(X, [0, 0, 1, 1])
        with pytest.raises(ClasswiseError, match=r"Column 'town' has the level ''.*missing='<missing>'"):
            cw.to_onnx(model)
        exported = cw.to_onnx(model, missing=["None", "nan"])
        rows = pd.DataFrame({"town": ["", None, "Rome", "Paris"], "x": [2.0, 2, 2, 2]})
        session = onnxruntime.InferenceSession(exported.SerializeToString())
        given = np.array(["", "None", "Rome", "Paris"], dtype=object)[:, None]
        probabilities = session.run(None, {"town": given, "x": rows[["x"]].to_numpy()})[1]
        np.testing.assert_allclose(probabilities, model.predict_proba(rows), rtol=0, atol=1e-10)

    def test_names_that_clash(self):
        X = pd.DataFrame({"label": [1.0, 2, 5, 7], "v3": [1.0, 0, 1, 0]})
        model = cw.NaiveBayes().fit(X, [0, 0, 1, 1])
        with pytest.raises(ClasswiseError, match="column 'label' has the name of an output"):
            cw.to_onnx(model)
        assert_same(model, X, outputs=("announced", "posterior"))
        with pytest.raises(ClasswiseError, match="names that differ"):
            cw.to_onnx(model, outputs=("a", "a"))

    def test_what_the_model_says_of_itself(self):
        X, y, families, _ = TABLES["places"]
        exported = cw.to_onnx(cw.NaiveBayes(families=families).fit(X, y))
        told = properties(exported)
        assert json.loads(told["labels"]) == np.unique(y).tolist()
        assert json.loads(told["columns"]) == list(X.columns)
        assert told["classwise_version"] == exported.producer_version == cw.__version__
        onnx.checker.check_model(exported, full_check=True)


class TestRefusals:
    X = np.array([[0.0], [1.0], [5.0], [7.0]])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"dtype": "float16"}, "dtype='float16' is not an option; choose 'float64' or 'float32'"),
            ({"opset": 9}, "opset=9 is not an option; give a number from 18 to"),
            ({"inputs": "table"}, "inputs='table' is not an option"),
        ],
        ids=str,
    )
    def test_options(self, options, message):
        with pytest.raises(ClasswiseError, match=message):
            cw.to_onnx(cw.LDA().fit(self.X, [0, 0, 1, 1]), **options)

    @pytest.mark.parametrize("model", [cw.LDA(), cw.Decision(cw.LDA()), cw.AutoClassifier()], ids=str)
    def test_models_that_are_not_fitted(self, model):
        with pytest.raises(NotFittedError):
            cw.to_onnx(model)

    @pytest.mark.parametrize("model", [LogisticRegression().fit(X, [0, 0, 1, 1]), "model"], ids=["sklearn", "text"])
    def test_models_of_others(self, model):
        with pytest.raises(ClasswiseError, match="to_onnx takes a fitted classifier of classwise"):
            cw.to_onnx(model)

    def test_ties_at_random(self):
        model = cw.LDA(ties="random").fit(self.X, [0, 0, 1, 1])
        with pytest.raises(ClasswiseError, match=r"ties='random' needs chance.*set_params"):
            cw.to_onnx(model)
        assert_same(model.set_params(ties="first"), self.X)

    def test_densities_without_a_graph(self):
        with pytest.raises(ClasswiseError, match="Density densities cannot be exported to ONNX"):
            scores.dispatch(Density)(type("Density", (), {})(), None)

    def test_levels_that_float32_cannot_tell_apart(self):
        X = np.array([[2.0**24], [2.0**24 + 1], [5.0], [7.0]])
        model = cw.NaiveBayes(families={0: "categorical"}).fit(X, [0, 0, 1, 1])
        assert_same(model, X)
        with pytest.raises(ClasswiseError, match="the same number in float32; use dtype='float64'"):
            cw.to_onnx(model, dtype="float32")


def test_onnx_is_loaded_where_it_is_used():
    code = "import classwise as cw, sys; cw.to_onnx; assert 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_onnx_an_error_names_the_extra():
    code = (
        "import sys; sys.modules['onnx'] = None; import classwise as cw\n"
        "try: cw.to_onnx(cw.LDA().fit([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1]))\n"
        "except cw.MissingExtraError as error: assert 'classwise[export]' in str(error)\n"
        "else: raise AssertionError"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
