"""What comes in: arrays and frames of all makes, and what is wrong with them."""

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import classwise as cw

ARRAY, y = load_iris(return_X_y=True)
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
FRAMES = {
    "pandas": lambda rows=ARRAY, names=NAMES: pd.DataFrame(rows, columns=names),
    "polars": lambda rows=ARRAY, names=NAMES: pl.DataFrame(rows, schema=list(names)),
    "arrow": lambda rows=ARRAY, names=NAMES: pa.table({n: rows[:, j] for j, n in enumerate(names)}),
}
each_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
ESTIMATORS = [
    cw.GaussianClassifier(),
    cw.QDA(),
    cw.LDA(),
    cw.NearestMean(),
    cw.RDA(share=0.5, shrink=0),
    cw.NaiveBayes(),
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


@each_frame
class TestFrames:
    def test_the_numbers_are_those_of_the_array(self, frame):
        m = cw.QDA().fit(frame(), y)
        np.testing.assert_allclose(m.predict_proba(frame()), cw.QDA().fit(ARRAY, y).predict_proba(ARRAY), rtol=1e-12)
        assert m.feature_names_in_.tolist() == NAMES
        assert m.statistics_.features == tuple(NAMES)

    def test_reordered_columns_are_refused(self, frame):
        m = cw.LDA().fit(frame(), y)
        with pytest.raises(ValueError, match="Column 0 is 'petal_width' and was 'sepal_length'"):
            m.predict(frame(ARRAY[:, ::-1], NAMES[::-1]))

    def test_other_columns_are_refused_by_name(self, frame):
        m = cw.LDA().fit(frame(), y)
        with pytest.raises(ValueError, match=r"unseen at fit time:\n- nose_length\n.*now missing:\n- petal_width"):
            m.predict(frame(ARRAY, [*NAMES[:3], "nose_length"]))

    def test_a_missing_column_is_named(self, frame):
        with pytest.raises(ValueError, match="yet now missing:\n- petal_width"):
            cw.LDA().fit(frame(), y).predict(frame(ARRAY[:, :3], NAMES[:3]))

    def test_partial_fit_checks_columns_too(self, frame):
        m = cw.LDA().partial_fit(frame(), y)
        with pytest.raises(ValueError, match="same order"):
            m.partial_fit(frame(ARRAY[:, ::-1], NAMES[::-1]), y)

    def test_names_at_only_one_of_fit_and_predict_are_a_warning(self, frame):
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            cw.LDA().fit(frame(), y).predict(ARRAY)
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            cw.LDA().fit(ARRAY, y).predict(frame())

    def test_names_in_messages(self, frame):
        holes = ARRAY.copy()
        holes[3:5, 1] = np.nan
        with pytest.raises(cw.ClasswiseError, match=r"X contains NaN in 'sepal_width' \(2\)"):
            cw.LDA(missing="error").fit(frame(holes), y)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.to_datetime(["2026-01-01", "2026-01-02"]), "Column 'odd' holds Datetime.*neither a number nor a category"),
        (pd.to_timedelta([1, 2], "D"), "Column 'odd' holds Duration"),
        (np.array([1, "wide"], dtype=object), "column 'odd' mixes int and str"),
    ],
)
def test_columns_of_no_kind_are_refused_by_name(column, message):
    frame = pd.DataFrame({"length": [1.0, 2.0], "odd": column})
    with pytest.raises(cw.ClasswiseError, match=message):
        cw.LDA().fit(frame, [0, 1])


def test_numbers_as_objects_and_decimals():
    frame = pd.DataFrame({"o": np.array([1, 2, 3, 5], dtype=object), "d": [Decimal(v) for v in (1, 2, 4, 4)]})
    np.testing.assert_allclose(cw.NearestMean().fit(frame, [0, 0, 1, 1]).means_, [[1.5, 1.5], [4, 4]])


def test_a_lazy_frame_is_refused_with_the_remedy():
    with pytest.raises(cw.ClasswiseError, match=r"give X\.collect\(\) instead"):
        cw.LDA().fit(pl.LazyFrame({"a": [1.0, 2.0]}), [0, 1])


def test_integer_and_nullable_columns():
    frame = pd.DataFrame({"i": [1, 2, 3, 5], "n": pd.array([1, 2, 9, None], "Int64")})
    with pytest.warns(cw.DegenerateColumnWarning):
        m = cw.NaiveBayes(floor=0.1).fit(frame, [0, 0, 1, 1])
    np.testing.assert_allclose(m.means_, [[1.5, 1.5], [4, 9]])


def test_unnamed_pandas_columns_have_no_names():
    assert not hasattr(cw.LDA().fit(pd.DataFrame(ARRAY), y), "feature_names_in_")


@pytest.mark.parametrize("labels", [pd.Series(y), pl.Series(y), pa.array(y), list(y), pd.Series(y).astype("category")])
def test_labels_of_any_make(labels):
    m = cw.LDA().fit(ARRAY, labels)
    assert m.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(m.predict(ARRAY), cw.LDA().fit(ARRAY, y).predict(ARRAY))


@each_estimator
class TestRefusals:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.nan, r"X contains NaN in column 2 \(1\)"),
            (np.inf, r"X contains infinity in column 2 \(1\)"),
            (-np.inf, r"X contains infinity in column 2 \(1\)"),
            (1e200, r"numbers beyond 1e150, whose squares overflow, in column 2 \(1\)"),
        ],
    )
    def test_rows_that_are_not_finite(self, estimator, value, message):
        estimator = clone(estimator).set_params(missing="error")
        rows = ARRAY.copy()
        rows[7, 2] = value
        with pytest.raises(cw.ClasswiseError, match=message):
            estimator.fit(rows, y)
        m = estimator.fit(ARRAY, y)
        answers = [m.log_joint, m.log_density, m.log_evidence]
        # Where all share a covariance, scores are linear: a class can be told even 1e200 away.
        if np.abs(value) != 1e200 or type(m) not in (cw.LDA, cw.NearestMean):
            answers += [m.predict, m.predict_proba, m.predict_log_proba, m.decision_function]
        for answer in answers:
            with pytest.raises(cw.ClasswiseError, match=message):
                answer(rows)

    def test_lengths_that_differ(self, estimator):
        with pytest.raises(cw.ClasswiseError, match="X has 150 rows and y has 149 labels"):
            estimator.fit(ARRAY, y[:-1])

    def test_weights_that_are_none(self, estimator):
        for weights, message in (
            (np.ones(3), "weights have shape"),
            (-np.ones(150), "row 0 has weight -1.0"),
            (np.full(150, np.nan), "finite"),
            (np.zeros(150), "Every weight is zero"),
        ):
            with pytest.raises(cw.ClasswiseError, match=message):
                estimator.fit(ARRAY, y, sample_weight=weights)

    def test_one_class_only(self, estimator):
        with pytest.raises(cw.ClasswiseError, match="at least two classes, and y has one class, 0"):
            estimator.fit(ARRAY[:10], y[:10])

    def test_not_fitted(self, estimator):
        fresh = type(estimator)(**estimator.get_params())
        with pytest.raises(NotFittedError, match="call fit, partial_fit or fit_statistics first"):
            fresh.predict(ARRAY)
        with pytest.raises(NotFittedError):
            _ = fresh.classes_

    def test_no_labels(self, estimator):
        with pytest.raises(cw.ClasswiseError, match="requires y to be passed"):
            estimator.fit(ARRAY, None)

    def test_early_batches_may_be_too_few(self, estimator):
        m = type(estimator)(**estimator.get_params())
        for k in range(3):
            m.partial_fit(ARRAY[y == k], y[y == k])
        np.testing.assert_allclose(m.predict_proba(ARRAY), estimator.fit(ARRAY, y).predict_proba(ARRAY), atol=1e-9)

    def test_a_failed_fit_leaves_the_earlier_one(self, estimator):
        m = estimator.fit(ARRAY, y)
        with pytest.raises(cw.ClasswiseError):
            m.fit(ARRAY[:10, :3], y[:10])
        assert m.n_features_in_ == 4
        assert m.classes_.tolist() == [0, 1, 2]
        assert m.predict(ARRAY).shape == (150,)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("structure", "banded", "structure='banded' is not an option; choose 'full', 'diagonal' or 'spherical'"),
        ("estimate", "map", "estimate='map' is not an option; choose 'mle', 'unbiased' or 'bayes'"),
        ("share", 1.5, "share=1.5 is not an option; give a number from 0 to 1, or 'average'"),
        ("share", "mean", "share='mean' is not an option"),
        ("shrink", -0.1, "shrink=-0.1 is not an option; give a number from 0 to 1, or 'oas'"),
        ("standardize", "no", "standardize='no' is not an option; choose True or False"),
        ("shrink", float("nan"), "shrink=nan is not an option"),
    ],
)
def test_unknown_option_values_name_the_legal_ones(option, value, message):
    with pytest.raises(cw.ClasswiseError, match=message):
        cw.GaussianClassifier(**{option: value}).fit(ARRAY, y)


class TestMessagesWithLabelsAsObjects:
    """A pandas column of strings is an array of objects: messages must name its labels all the same."""

    labels = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]

    def test_one_class(self):
        with pytest.raises(cw.ClasswiseError, match="one class, 'setosa'"):
            cw.LDA().fit(ARRAY[:50], self.labels[:50])

    def test_singular(self):
        with pytest.raises(cw.SingularCovarianceError, match="Class 'virginica' has 2 rows"):
            cw.QDA().fit(ARRAY[:102], self.labels[:102])

    def test_unbiased(self):
        with pytest.raises(cw.ClasswiseError, match="Class 'virginica' has weight 1"):
            cw.QDA(estimate="unbiased").fit(ARRAY[:101], self.labels[:101])

    def test_subtraction(self):
        with pytest.raises(cw.StatisticsError, match="Class 'setosa' has weight 50, so weight 100"):
            cw.summarize(ARRAY, self.labels) - cw.summarize(ARRAY, self.labels, 2.0)

    def test_nll(self):
        with pytest.raises(cw.ClasswiseError, match="label 'daisy', which is not a class"):
            cw.LDA().fit(ARRAY, self.labels).nll(ARRAY[:1], np.array(["daisy"], dtype=object))


def test_many_classes_and_many_features():
    """More classes than a byte counts, and products long enough to be cut into slabs."""
    rng = np.random.default_rng(0)
    labels = np.arange(9000) % 300
    rows = rng.normal(size=(9000, 40)) + 3 * rng.normal(size=(300, 40))[labels]
    for model in (cw.LDA(), cw.NaiveBayes()):
        m = model.fit(rows, labels)
        np.testing.assert_array_equal(m.predict(rows), m.log_joint(rows).argmax(axis=1))
        assert m.score(rows, labels) > 0.99


def test_a_row_beyond_measure_is_refused():
    m = cw.QDA().fit(ARRAY * 1e-100, y)
    with pytest.raises(cw.UnscorableError, match="too far from every class"):
        m.predict([[1e100, 0, 0, 0]])


def test_a_number_of_samples_that_is_none():
    with pytest.raises(cw.ClasswiseError, match="n=-1 is not a number of rows"):
        cw.LDA().fit(ARRAY, y).sample(-1)


def test_unexpected_classes_in_partial_fit():
    with pytest.raises(cw.ClasswiseError, match=r"label 2, which is not among classes=\[0, 1\]"):
        cw.LDA().partial_fit(ARRAY, y, classes=[0, 1])
    assert cw.LDA().partial_fit(ARRAY, y, classes=[0, 1, 2]).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "model",
    [cw.LDA(), cw.QDA(priors="uniform"), cw.QDA(estimate="bayes"), cw.NaiveBayes(), cw.AODE(), cw.LDA(n_components=1)],
    ids=repr,
)
def test_classes_expected_but_not_seen_are_kept_with_a_posterior_of_zero(model, tmp_path):
    plain = clone(model).partial_fit(ARRAY[:60], y[:60]).partial_fit(ARRAY[60:100], y[60:100])
    m = clone(model).partial_fit(ARRAY[:60], y[:60], classes=[0, 1, 2, 7]).partial_fit(ARRAY[60:100], y[60:100])
    assert m.classes_.tolist() == [0, 1, 2, 7]
    posterior = m.predict_proba(ARRAY)
    assert not posterior[:, 2:].any()
    np.testing.assert_allclose(posterior[:, :2], plain.predict_proba(ARRAY), atol=1e-9)
    np.testing.assert_array_equal(m.predict(ARRAY), plain.predict(ARRAY))
    assert np.isneginf(m.log_joint(ARRAY)[:, 2:]).all()
    np.testing.assert_allclose(m.log_evidence(ARRAY), plain.log_evidence(ARRAY), rtol=1e-9)
    np.testing.assert_allclose(m.priors_, [*plain.priors_, 0, 0])
    assert m.families_ == plain.families_
    assert set(m.sample(50, random_state=0)[1].tolist()) == {0, 1}
    assert m.evaluate(ARRAY[:100], y[:100]).confusion.shape == (4, 4)
    cw.save(m, tmp_path / "m.cw")
    np.testing.assert_array_equal(cw.load(tmp_path / "m.cw").predict_proba(ARRAY), posterior)
    later = m.partial_fit(ARRAY[100:], y[100:])
    assert later.classes_.tolist() == [0, 1, 2, 7]
    if not isinstance(model, cw.AODE):  # which keeps the ranges of the first batch
        np.testing.assert_allclose(later.predict_proba(ARRAY)[:, :3], clone(model).fit(ARRAY, y).predict_proba(ARRAY))


def test_what_needs_a_density_of_every_class_says_that_some_have_no_rows():
    m = cw.LDA(priors={0: 0.5, 1: 0.25, 2: 0.25}).partial_fit(ARRAY[:100], y[:100], classes=[0, 1, 2])
    np.testing.assert_allclose(m.priors_, [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(m.with_priors("uniform").priors_, [0.5, 0.5, 0])
    assert m.leave_one_out(ARRAY[:10], y[:10]).shape == (10, 3)
    with pytest.raises(cw.ClasswiseError, match="no rows yet"):
        m.boundary(0, 1)
    with pytest.raises(cw.ClasswiseError, match="without rows has no density"):
        m.explain(ARRAY[0], label=2)
    with pytest.raises(cw.ClasswiseError, match="cannot be written as SQL"):
        cw.to_sql(m, "people", features=["a", "b", "c", "d"])
    with pytest.raises(cw.ClasswiseError, match="leave nothing to the classes that have rows"):
        m.with_priors({0: 0, 1: 0, 2: 1})


def test_priors_none_are_the_empirical_ones():
    for model in (cw.LDA, cw.NaiveBayes, cw.AODE, cw.MixtureClassifier):
        rows, labels = ARRAY[20:], y[20:]
        np.testing.assert_array_equal(model(priors=None).fit(rows, labels).priors_, model().fit(rows, labels).priors_)
    m = cw.LDA(priors="uniform").fit(ARRAY[20:], y[20:])
    np.testing.assert_allclose(m.with_priors(None).priors_, [30 / 130, 50 / 130, 50 / 130])


def test_a_class_first_seen_later_is_a_new_class():
    m = cw.LDA().partial_fit(ARRAY[:100], y[:100])
    assert m.classes_.tolist() == [0, 1]
    m.partial_fit(ARRAY[100:], y[100:])
    assert m.classes_.tolist() == [0, 1, 2]


def test_importing_loads_no_optional_library():
    optional = (
        "pandas polars pyarrow duckdb dask pyspark torch matplotlib plotly fastapi onnx sqlglot safetensors typer"
    )
    code = f"import sys; from classwise import *; print([m for m in {optional.split()!r} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    # scikit-learn imports pandas itself where it is installed; what counts is what we add.
    bare = subprocess.run(
        [sys.executable, "-c", code.replace("from classwise import *", "import sklearn.naive_bayes, sklearn.utils")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert loaded == bare


def test_saving_without_the_extra_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(cw.MissingExtraError, match=r'pip install "classwise\[files\]"'):
        cw.summarize(ARRAY, y).save(tmp_path / "s.cws")
