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

FOREST = cw.ForestClassifier(trees=20)
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
        (pl.Series([[1], [2]]).to_pandas(use_pyarrow_extension_array=True), "Column 'odd' holds List.*--drop odd"),
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


def test_the_name_of_a_column_is_not_its_labels():
    table = pd.DataFrame({"x": [1.0, 2.0, 8.0, 9.0], "kind": list("aabb")})
    for learn in (cw.LDA().fit, cw.compare, cw.summarize):
        with pytest.raises(cw.ClasswiseError, match=r"y is the text 'kind'.* y=table\['kind'\]"):
            learn(table, "kind")


@pytest.mark.parametrize("labels", [pd.Series(y), pl.Series(y), pa.array(y), list(y), pd.Series(y).astype("category")])
def test_labels_of_any_make(labels):
    m = cw.LDA().fit(ARRAY, labels)
    assert m.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(m.predict(ARRAY), cw.LDA().fit(ARRAY, y).predict(ARRAY))


HUGE = 2**53  # from here on, neighbors are one number in float64
WITH_A_GAP = {
    "pandas": lambda values: pd.Series(values, dtype="Int64"),
    "pandas unsigned": lambda values: pd.Series(values, dtype="UInt64"),
    "pandas of Arrow's": lambda values: pd.Series(values, dtype="int64[pyarrow]"),
    "pandas category": lambda values: pd.Series(values, dtype="Int64").astype("category"),
    "polars": pl.Series,
    "array of Arrow's": pa.array,
    "chunked array": lambda values: pa.chunked_array([values]),
    "frame of one column": lambda values: pl.DataFrame({"y": values}),
    "list": list,
    "objects": lambda values: np.array(values, dtype=object),
    "masked": lambda values: np.ma.array([v or 0 for v in values], mask=[v is None for v in values]),
    "list with NaN": lambda values: [float("nan") if v is None else v for v in values],
}


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
class TestLabelsWithGaps:
    """A missing label makes no floats of the others: 1 stays 1, and labels beyond 2**53 stay apart."""

    rows = np.array([[1.0], [2.0], [3.0], [9.0], [1.5], [2.5], [3.5]])

    @pytest.mark.parametrize("make", WITH_A_GAP.values(), ids=WITH_A_GAP)
    @pytest.mark.parametrize("first", [1, HUGE])
    def test_stay_whole_numbers(self, make, first):
        labels = make([first, first + 1, first + 2, None, first, first + 1, first + 2])
        with pytest.warns(cw.MissingLabelWarning, match="1 of 7 rows have no label and were left out"):
            m = cw.NearestMean().fit(self.rows, labels)
        assert m.classes_.dtype.kind in "iu"
        assert m.classes_.tolist() == [first, first + 1, first + 2]
        assert m.statistics_.weight.tolist() == [2.0, 2.0, 2.0]
        assert m.predict([[3.2]]).tolist() == [first + 2]
        with pytest.warns(cw.MissingLabelWarning):
            assert m.evaluate(self.rows, labels).confusion.sum() == 6

    @pytest.mark.parametrize("make", [pl.Series, pa.array, list, lambda values: pd.Series(values, dtype="boolean")])
    def test_stay_yes_and_no(self, make):
        with pytest.warns(cw.MissingLabelWarning):
            s = cw.summarize(self.rows, make([True, False, None, True, False, False, True]))
        assert s.labels.dtype == bool
        assert s.weight.tolist() == [3.0, 3.0]

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
    def test_in_a_column_of_a_table(self, make):
        whole = {"x": self.rows[:, 0], "y": pl.Series([HUGE, HUGE + 1, None, HUGE, HUGE + 1, HUGE, HUGE + 1])}
        table = (
            make(whole)
            if make is not pd.DataFrame
            else pl.DataFrame(whole).to_arrow().to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
        )
        with pytest.warns(cw.MissingLabelWarning):
            s = cw.summarize(table, target="y")
        assert s.labels.dtype == np.int64
        assert s.labels.tolist() == [HUGE, HUGE + 1]
        assert s.weight.tolist() == [3.0, 3.0]

    def test_in_batches_of_a_stream(self):
        parts = [pl.DataFrame({"x": [1.0, 2.0], "y": pair}) for pair in ([HUGE + 1, None], [HUGE, HUGE + 2])]
        with pytest.warns(cw.MissingLabelWarning):
            s = cw.summarize(iter(parts), target="y")
        assert s.labels.tolist() == [HUGE, HUGE + 1, HUGE + 2]

    def test_no_moment_in_time_is_no_label(self):
        days = np.array(["2026-01-01", "2026-01-02", "NaT", "2026-01-01"] * 2, dtype="datetime64[ns]")
        with pytest.warns(cw.MissingLabelWarning, match="2 of 8"):
            s = cw.summarize(np.arange(8.0)[:, None], days)
        assert s.weight.tolist() == [4.0, 2.0]


class TestMaskedArrays:
    """What is masked is missing."""

    def test_in_rows(self):
        masked = np.ma.array(ARRAY, mask=np.arange(ARRAY.size).reshape(ARRAY.shape) % 7 == 0)
        m, expected = cw.NaiveBayes().fit(masked, y), cw.NaiveBayes().fit(masked.filled(np.nan), y)
        np.testing.assert_array_equal(m.predict_proba(masked), expected.predict_proba(masked.filled(np.nan)))
        with pytest.raises(cw.ClasswiseError, match=r"X contains NaN in column 0 \(22\)"):
            cw.LDA(missing="error").fit(masked, y)

    def test_of_whole_numbers(self):
        masked = np.ma.array([[HUGE], [HUGE + 1], [7], [HUGE]], mask=[[False], [False], [True], [False]])
        s = cw.summarize(masked, ["a", "b", "a", "b"], families={0: "categorical"})
        assert s.levels.columns[0].levels.tolist() == [HUGE, HUGE + 1]
        assert cw.summarize(masked, ["a", "b", "a", "b"]).mean[0] == HUGE

    def test_without_a_mask(self):
        np.testing.assert_array_equal(
            cw.LDA().fit(np.ma.array(ARRAY), np.ma.array(y)).means_, cw.LDA().fit(ARRAY, y).means_
        )

    def test_in_weights(self):
        with pytest.raises(cw.ClasswiseError, match="finite and not negative; row 1 has weight nan"):
            cw.LDA().fit(ARRAY, y, np.ma.array(np.ones(150), mask=np.arange(150) == 1))


class TestOneRow:
    """A row with names is a row, not a column: one answer."""

    frame = pd.DataFrame({"x": [1.0, 2.0, 6.0, 7.5], "n": [1, 2, 2, 4], "city": ["Rome", "Oslo", "Rome", "Rome"]})
    labels = ("a", "a", "b", "b")

    @pytest.mark.parametrize("model", [cw.NaiveBayes(), cw.BayesianLogistic(), cw.AODE(), FOREST], ids=repr)
    def test_as_a_series_or_a_mapping(self, model):
        m = model.fit(self.frame, self.labels)
        row = self.frame.iloc[2]
        for given in (row, row[::-1], row.to_dict(), pl.DataFrame(self.frame).row(2, named=True)):
            for answer in (m.predict, m.predict_proba, m.predict_log_proba, m.decision_function):
                np.testing.assert_array_equal(answer(given), answer(self.frame[2:3]))
        np.testing.assert_array_equal(
            cw.Decision(m).fit(self.frame, self.labels).predict(row), m.predict(self.frame[2:3])
        )

    def test_of_a_stack(self):
        X, labels = pd.DataFrame(ARRAY, columns=NAMES), y
        m = cw.AutoClassifier(folds=3, members="fast").fit(X, labels)
        np.testing.assert_allclose(m.predict_proba(X.iloc[7]), m.predict_proba(X[7:8]), rtol=1e-12)

    def test_without_names_goes_by_order(self):
        m = cw.LDA().fit(ARRAY, y)
        np.testing.assert_array_equal(m.predict_proba(pd.Series(ARRAY[3])), m.predict_proba(ARRAY[3:4]))

    def test_that_lacks_a_column_or_holds_several(self):
        m = cw.NaiveBayes().fit(self.frame, self.labels)
        with pytest.raises(cw.ClasswiseError, match="The row lacks the column 'city'"):
            m.predict({"x": 1.0, "n": 2})
        with pytest.raises(cw.ClasswiseError, match=r"holds a list in column 'x'; for several rows give a table"):
            m.predict({"x": [1.0, 2.0], "n": [2, 3], "city": ["Rome", "Oslo"]})

    @pytest.mark.parametrize("column", [pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0]), pa.chunked_array([[1.0, 2.0]])])
    def test_a_column_is_no_table_to_learn_from(self, column):
        with pytest.raises(ValueError, match=r"Expected (a 2-dimensional container|2D array)"):
            cw.NaiveBayes().fit(column, ["a", "b"])


TWICE = {
    "pandas": pd.DataFrame([[1.0, 2.0, 0], [3.0, 5.0, 1]], columns=["x", "x", "y"]),
    "arrow": pa.Table.from_arrays([pa.array(v) for v in ([1.0, 3.0], [2.0, 5.0], [0, 1])], names=["x", "x", "y"]),
}


@pytest.mark.parametrize("frame", TWICE.values(), ids=TWICE)
def test_two_columns_of_one_name_are_refused_by_name(frame):
    message = "several columns are called 'x'.*rename"
    with pytest.raises(cw.ClasswiseError, match=message):
        cw.NaiveBayes().fit(frame, [0, 1])
    with pytest.raises(cw.ClasswiseError, match=message):
        cw.summarize(frame, target="y")


def test_sparse_columns_of_pandas_are_read():
    dense = pd.DataFrame({"n": [0, 0, 1, 2, 0, 3], "flag": [True, False] * 3, "x": [0.0, np.nan, 0.5, 0.0, 2.0, 1.0]})
    labels = ["a", "b", "b", "a", "a", "b"]
    sparse = dense.astype({name: pd.SparseDtype(dense[name].dtype) for name in dense})
    expected = cw.NaiveBayes().fit(dense, labels)
    m = cw.NaiveBayes().fit(sparse, labels)
    assert m.families_ == expected.families_ == {"n": "gaussian", "flag": "bernoulli", "x": "gaussian"}
    np.testing.assert_array_equal(m.predict_proba(sparse), expected.predict_proba(dense))
    whole = sparse.assign(y=pd.arrays.SparseArray([0, 1, 1, 0, 0, 1]))
    assert cw.summarize(whole, target="y").weight.tolist() == [3.0, 3.0]


SQUARING = {
    "LDA": cw.LDA(),
    "QDA": cw.QDA(),
    "naive Bayes": cw.NaiveBayes(),
    "RDA": cw.RDA(standardize=True),
    "Student-t": cw.QDA(estimate="bayes"),
    "mixture": cw.MixtureClassifier(random_state=0),
    "robust": cw.RobustClassifier(),
    "logistic": cw.BayesianLogistic(),
    "forest": FOREST,
}
NOT_SQUARING = {"AODE": cw.AODE(), "stack": cw.AutoClassifier(members=["own covariances", "one-dependence", "softmax"])}


def in_small_units(power, columns=(0, 2)):
    """Some columns times two to a power: every digit stays."""
    rows = ARRAY.copy()
    rows[:, list(columns)] *= 2.0**power
    return rows


class TestSmallNumbers:
    """Squares of what is below 1e-154 lose digits, and below 1e-162 all of them."""

    @pytest.mark.parametrize("name", [*SQUARING, *NOT_SQUARING])
    def test_units_do_not_matter_down_to_1e_140(self, name):
        model = {**SQUARING, **NOT_SQUARING}[name]
        expected = clone(model).fit(ARRAY, y).predict_proba(ARRAY)
        rows = in_small_units(-465)
        np.testing.assert_allclose(clone(model).fit(rows, y).predict_proba(rows), expected, rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize("power", [-515, -531, -700])
    @pytest.mark.parametrize("name", SQUARING)
    def test_smaller_ones_are_refused(self, name, power):
        with pytest.raises(
            cw.ClasswiseError, match=r"1e-152, whose squares underflow, in column 0, column 2; .* 1e150"
        ):
            clone(SQUARING[name]).fit(in_small_units(power), y)

    @pytest.mark.parametrize("power", [-531, -700])
    @pytest.mark.parametrize("name", NOT_SQUARING)
    def test_or_right_where_nothing_is_squared(self, name, power):
        model, rows = NOT_SQUARING[name], in_small_units(power)
        expected = clone(model).fit(ARRAY, y).predict_proba(ARRAY)
        np.testing.assert_allclose(clone(model).fit(rows, y).predict_proba(rows), expected, rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize("gaps", [False, True])
    @pytest.mark.parametrize("scatter", ["full", "pooled", "diagonal"])
    def test_it_is_decided_by_all_rows(self, scatter, gaps):
        """Batches of small numbers do no harm where others are large, and add up to what is refused where none is."""
        model = {"full": cw.QDA(), "pooled": cw.LDA(), "diagonal": cw.NaiveBayes()}[scatter]
        small = in_small_units(-600, [0])
        if gaps:
            small[::7, 1] = np.nan
        parts = [cw.summarize(small[i::10], y[i::10], scatter=scatter) for i in range(10)]
        with pytest.raises(cw.ClasswiseError, match="underflow, in column 0;"):
            clone(model).fit_statistics(sum(parts))
        assert clone(model).fit_statistics(sum(parts) + cw.summarize(ARRAY, y, scatter=scatter)).score(ARRAY, y) > 0.9

    def test_what_does_not_vary_does_not_underflow(self):
        rows = np.column_stack([ARRAY, np.full(150, 1e-170), np.full(150, 3e-140), np.zeros(150)])
        with pytest.warns(cw.IgnoredColumnWarning, match="column 4"):
            m = cw.NaiveBayes().fit(rows, y)
        np.testing.assert_allclose(m.predict_proba(rows), cw.NaiveBayes().fit(ARRAY, y).predict_proba(ARRAY))

    def test_logarithms_are_not_small(self):
        rows, families = in_small_units(-700, [0]), {0: "lognormal"}
        ours, theirs = (cw.NaiveBayes(families=families).fit(x, y).predict_proba(x) for x in (rows, ARRAY))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)

    @pytest.mark.parametrize("shrink", ["oas", "ledoit-wolf"])
    def test_variances_whose_squares_are_lost(self, shrink):
        """These amounts take fourth powers."""
        expected = cw.LDA(shrink=shrink).fit(ARRAY, y).predict_proba(ARRAY)
        for power in (-230, 230):
            rows = in_small_units(power, range(4))
            np.testing.assert_allclose(cw.LDA(shrink=shrink).fit(rows, y).predict_proba(rows), expected, rtol=1e-12)
        for power in (-270, 270):
            with pytest.raises(cw.ClasswiseError, match=r"mean variance of .*; measure the columns in another unit"):
                cw.LDA(shrink=shrink).fit(in_small_units(power, range(4)), y)


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
    for model in (cw.LDA, cw.NaiveBayes, cw.AODE, cw.MixtureClassifier, cw.ForestClassifier):
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
        "pandas polars pyarrow duckdb dask pyspark torch matplotlib plotly starlette onnx sqlglot safetensors typer"
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


@pytest.mark.parametrize(
    "model",
    [
        cw.LDA(),
        cw.NaiveBayes(),
        cw.AODE(),
        cw.MixtureClassifier(),
        cw.BayesianLogistic(),
        cw.Decision(cw.QDA()),
        FOREST,
    ],
    ids=lambda model: type(model).__name__,
)
def test_one_row_may_be_a_mapping_or_a_series(model):
    table, species = cw.datasets.penguins("pandas")
    complete = table.notna().all(axis=1)
    table, species = table[complete], species[complete.to_numpy()]
    m, first = model.fit(table, species), table.iloc[[0]]
    named = pl.from_pandas(first).row(0, named=True)
    for row in (table.iloc[0], named, dict(reversed(named.items()))):
        np.testing.assert_array_equal(m.predict(row), m.predict(first))
        np.testing.assert_allclose(m.predict_proba(row), m.predict_proba(first), rtol=1e-9)
    with pytest.raises(ValueError, match=r"Expected 2D array, got 1D array"):
        m.predict(list(named.values()))
    with pytest.raises(cw.ClasswiseError, match="The row lacks the column 'island'; give every column a value"):
        m.predict({"sex": "male"})
