"""What columns are taken for: every type of every library, the rule, its exceptions, and what users see of it."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import classwise as cw

y = np.array(["a", "b"] * 4)
CITIES = ["Rome", "Oslo", None, "Rome", "Lima", "Oslo", "Oslo", "Rome"]
NUMBERS = [1.0, 2.0, 4.0, 3.0, None, 2.5, 6.0, 5.0]
FLAGS = [True, False, None, True, True, False, False, True]
LEVELS = ["low", "high", None, "low", "low", "high", "high", "low"]

PANDAS = pd.DataFrame(
    {
        "float": NUMBERS,
        "integer": [1, 2, 3, 4, 6, 5, 7, 9],
        "nullable": pd.array([1, 2, None, 4, 6, 5, 7, 9], dtype="Int64"),
        "decimal": pd.Series([Decimal(n) for n in (1, 2, 3, 4, 6, 5, 7)] + [None], dtype=object),
        "arrow": pd.array(NUMBERS, dtype=pd.ArrowDtype(pa.float64())),
        "bool": [True, False] * 2 + [True] * 3 + [False],
        "flag": pd.array(FLAGS, dtype="boolean"),
        "object flag": pd.Series(FLAGS, dtype=object),
        "text": CITIES,
        "object text": pd.Series(CITIES, dtype=object),
        "arrow text": pd.array(CITIES, dtype=pd.ArrowDtype(pa.string())),
        "category": pd.Categorical(CITIES),
        "ordered": pd.Categorical(LEVELS, categories=["low", "mid", "high"], ordered=True),
    }
)
POLARS = pl.DataFrame(
    {
        "float": NUMBERS,
        "integer": pl.Series([1, 2, None, 4, 6, 5, 7, 9], dtype=pl.Int16),
        "decimal": pl.Series([Decimal(n) for n in (1, 2, 3, 4, 6, 5, 7)] + [None]),
        "flag": FLAGS,
        "text": CITIES,
        "category": pl.Series(CITIES, dtype=pl.Categorical),
        "enum": pl.Series(LEVELS, dtype=pl.Enum(["low", "mid", "high"])),
    }
)
ARROW = pa.table(
    {
        "float": NUMBERS,
        "integer": pa.array([1, 2, None, 4, 6, 5, 7, 9], pa.uint8()),
        "decimal": pa.array([Decimal(n) for n in (1, 2, 3, 4, 6, 5, 7)] + [None]),
        "flag": FLAGS,
        "text": CITIES,
        "large text": pa.array(CITIES, pa.large_string()),
        "dictionary": pa.array(CITIES).dictionary_encode(),
        "chunks": pa.chunked_array(
            [pa.array(CITIES[:3]).dictionary_encode(), pa.array(CITIES[3:]).dictionary_encode()]
        ),
    }
)
KINDS = {
    "float": "number",
    "integer": "number",
    "nullable": "number",
    "decimal": "number",
    "arrow": "number",
    "bool": "yes/no",
    "flag": "yes/no",
    "object flag": "yes/no",
}
FRAMES = {"pandas": PANDAS, "polars": POLARS, "arrow": ARROW}
each_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


@each_frame
class TestTypes:
    def test_decide_what_a_column_is(self, frame):
        m = cw.NaiveBayes().fit(frame, y)
        for column in m.schema_:
            assert column.kind == KINDS.get(column.name, "category")
            assert column.levels == (2 if column.kind == "yes/no" or column.name in ("ordered", "enum") else 3) or (
                column.kind == "number" and column.levels is None
            )

    def test_missing_values_are_found_in_all_of_them(self, frame):
        m = cw.NaiveBayes().fit(frame, y)
        shares = {column.name: column.missing for column in m.schema_}
        complete = {"bool"} | ({"integer"} if frame is PANDAS else set())
        assert shares == {name: 0.0 if name in complete else 0.125 for name in shares}

    def test_do_not_change_the_numbers(self, frame):
        """The same cities, whatever holds them, say the same."""
        m = cw.NaiveBayes().fit(frame, y)
        rows = [m.explain(frame[i : i + 1], label="a", against="b") for i in range(8)]
        for i, why in enumerate(rows):
            texts = {
                share for name, share in why.shares.items() if "text" in name or name in ("category", "dictionary")
            }
            assert len(texts) == 1
            assert (texts == {0.0}) == (CITIES[i] is None)

    def test_come_back_in_samples(self, frame):
        m = cw.NaiveBayes().fit(frame, y)
        rows, _ = m.sample(50, random_state=0)
        m.predict(rows)
        ours = dict(zip(frame.columns if frame is not ARROW else frame.column_names, types(frame), strict=True))
        theirs = dict(zip(ours, types(rows), strict=True))
        same = [name for name in ours if ours[name] == theirs[name]]
        # Where a number may be missing, or an object held it, a sample has the plain type.
        assert set(ours) - set(same) <= {
            "decimal",
            "object flag",
            "object text",
            "arrow",
            "arrow text",
            "nullable",
            "flag",
        } | ({"large text", "chunks", "dictionary"} if frame is ARROW else set())


def types(frame):
    return list(frame.dtypes) if frame is not ARROW and not isinstance(frame, pa.Table) else list(frame.schema.types)


class TestRefusedTypes:
    @pytest.mark.parametrize(
        "column",
        [
            pl.Series([[1, 2]] * 8),
            pl.Series([{"a": 1}] * 8),
            pl.Series([b"x"] * 8),
        ],
        ids=lambda column: str(column.dtype),
    )
    def test_by_name_with_the_remedy(self, column):
        frame = pl.DataFrame({"x": range(8), "when": column})
        with pytest.raises(
            cw.ClasswiseError, match=r"Column 'when' holds .* neither a number nor a category; turn it into"
        ):
            cw.NaiveBayes().fit(frame, y)

    def test_all_of_them_at_once(self):
        frame = pl.DataFrame({"x": range(8), "list": [[1]] * 8, "bytes": [b"x"] * 8})
        with pytest.raises(
            cw.ClasswiseError, match=r"'list' holds List, column 'bytes' holds Binary.*--drop list,bytes"
        ):
            cw.NaiveBayes().fit(frame, y)

    def test_levels_that_cannot_be_compared(self):
        with pytest.raises(cw.ClasswiseError, match="column 'x' mixes int and str; convert it to one type"):
            cw.NaiveBayes().fit(pd.DataFrame({"x": pd.Series([1, "a"] * 4, dtype=object)}), y)


class TestArrays:
    def test_of_objects_are_looked_at_column_by_column(self):
        X = np.array([[1.5, "Rome", True], [2.5, "Oslo", None], [None, "Rome", False], [4.0, None, True]], dtype=object)
        m = cw.NaiveBayes().fit(np.vstack([X, np.array([[3.0, "Oslo", True]], dtype=object), X[:3]]), y)
        assert [column.kind for column in m.schema_] == ["number", "category", "yes/no"]
        assert m.predict(X).shape == (4,)
        assert m.predict([[1.5, "Paris", None]]).shape == (1,)
        assert m.families_ == {0: "gaussian", 1: "categorical", 2: "bernoulli"}

    def test_of_text_are_categories(self):
        X = np.array([["Rome", "x"], ["Oslo", "y"]] * 4)
        assert [column.kind for column in cw.NaiveBayes().fit(X, y).schema_] == ["category", "category"]

    def test_lists_of_numbers_and_text(self):
        m = cw.NaiveBayes().fit([[1.0, "Rome"], [2.0, "Oslo"], [3.0, "Rome"], [5.0, "Oslo"]] * 2, y)
        assert [column.kind for column in m.schema_] == ["number", "category"]

    def test_families_by_position(self):
        X = np.column_stack([np.arange(8.0), [1, 2, 1, 3, 1, 2, 3, np.nan]])
        m = cw.NaiveBayes(families={1: "categorical"}).fit(X, y)
        assert m.schema_[1].levels == 3
        np.testing.assert_allclose(m.predict_proba([[np.nan, np.nan]])[0], [0.5, 0.5])
        np.testing.assert_allclose(np.exp(m.log_density([[np.nan, 9]])[0]), [1 / 7, 1 / 6])

    @pytest.mark.parametrize(
        "X",
        [
            np.array([[True], [False]] * 4),
            [[True], [False]] * 4,
            np.array([[True], [False]] * 4, dtype=object),
            np.array([[np.True_], [None]] * 2 + [[False], [np.nan]] * 2, dtype=object),
            [[True], [None], [False], [True]] * 2,
            [[None], [True]] * 4,
        ],
        ids=["bools", "list", "objects", "objects with gaps", "list with gaps", "list that begins with a gap"],
    )
    def test_of_yes_and_no_are_as_in_a_frame(self, X):
        frame = pd.DataFrame({"x": pd.array([None if v[0] is None or v[0] != v[0] else v[0] for v in X], "boolean")})
        m, expected = cw.NaiveBayes().fit(X, y), cw.NaiveBayes().fit(frame, y)
        assert m.families_ == {0: "bernoulli"}
        np.testing.assert_array_equal(m.predict_proba(X), expected.predict_proba(frame))

    def test_of_yes_and_no_beside_numbers(self):
        rows = [[True, 1, 0.5], [False, 2, 1.5], [False, 4, 2.5], [True, 3, 0.0]] * 2
        frame = pd.DataFrame(rows)
        expected = cw.NaiveBayes().fit(frame, y).predict_proba(frame)
        for X in (rows, tuple(map(tuple, rows)), np.array(rows, dtype=object)):
            m = cw.NaiveBayes().fit(X, y)
            assert m.families_ == {0: "bernoulli", 1: "gaussian", 2: "gaussian"}
            np.testing.assert_allclose(m.predict_proba(X), expected, rtol=1e-12)
            assert [column.type for column in m.schema_] == ["Boolean", "Float64", "Float64"]

    def test_of_yes_and_no_are_sampled_as_such(self):
        X = np.array([[True, False], [False, False], [True, True], [True, False]] * 2)
        rows, labels = cw.NaiveBayes().fit(X, y).sample(20, random_state=0)
        assert rows.dtype == bool
        mixed = np.column_stack([X[:, 0].astype(object), np.arange(8.0)])
        rows, labels = cw.NaiveBayes().fit(mixed, y).sample(20, random_state=0)
        assert cw.NaiveBayes().fit(rows, labels).families_ == {0: "bernoulli", 1: "gaussian"}

    @pytest.mark.parametrize("rows", [[[1, "a"], [2.5, "b"], [0, "b"]], [["1", "a"], ["2.5", "b"], ["0", "a"]]])
    def test_and_lists_follow_one_rule(self, rows):
        """Text is text, and numbers are numbers, in whatever row they first appear."""
        swapped = [row[::-1] for row in rows]
        for X in (rows * 2 + rows[:2], swapped * 2 + swapped[:2], [[None, None], *rows * 2, rows[1]]):
            kinds = [column.kind for column in cw.NaiveBayes().fit(X, y).schema_]
            assert kinds == [column.kind for column in cw.NaiveBayes().fit(np.array(X, dtype=object), y).schema_]
            assert kinds == [column.kind for column in cw.NaiveBayes().fit(pd.DataFrame(X, dtype=object), y).schema_]

    @pytest.mark.parametrize("unit", ["datetime64[D]", "datetime64[h]", "timedelta64[s]"])
    def test_of_dates_are_numbers_as_in_a_frame(self, unit):
        days = np.arange(8).astype(unit)[:, None]
        m = cw.NaiveBayes().fit(days, y)
        scale = {"datetime64[h]": 24}.get(unit, 1)
        np.testing.assert_allclose(
            m.means_.ravel() * scale, cw.NaiveBayes().fit(np.arange(8.0)[:, None], y).means_.ravel()
        )
        objects = np.array([[day] for day in days.ravel()], dtype=object)
        np.testing.assert_array_equal(cw.NaiveBayes().fit(objects, y).means_, m.means_)

    @pytest.mark.parametrize("unit", ["datetime64[D]", "timedelta64[s]"])
    def test_of_dates_where_numbers_were_are_refused(self, unit):
        days = np.arange(8).astype(unit)[:, None]
        with pytest.raises(cw.ClasswiseError, match=r"Column 0 is to be a number \(gaussian\), and it holds d"):
            cw.NaiveBayes().fit(np.arange(8.0)[:, None], y).predict(days)

    def test_no_moment_in_time_is_a_missing_value(self):
        m = cw.NaiveBayes().fit(np.arange(8.0)[:, None], y)
        never = np.full((3, 1), "NaT", dtype="datetime64[s]")
        for X in (never, never - never, pd.DataFrame(never), pd.DataFrame(never - never)):
            np.testing.assert_array_equal(m.log_density(X), 0.0)


HUGE = 2**53  # from here on, neighbors are one number in float64
LEVEL_COLUMNS = {
    "pandas": lambda values: pd.DataFrame({"x": pd.array(values, dtype="Int64")}),
    "pandas unsigned": lambda values: pd.DataFrame({"x": pd.array(values, dtype="UInt64")}),
    "pandas of Arrow's": lambda values: pd.DataFrame({"x": pd.array(values, dtype="int64[pyarrow]")}),
    "pandas objects": lambda values: pd.DataFrame({"x": pd.Series(values, dtype=object)}),
    "polars": lambda values: pl.DataFrame({"x": values}),
    "arrow": lambda values: pa.table({"x": values}),
    "objects": lambda values: np.array(values, dtype=object)[:, None],
    "list": lambda values: [[value] for value in values],
}


class TestLevelsWithGaps:
    """A missing value makes no floats of whole numbers that are levels."""

    @pytest.mark.parametrize("make", LEVEL_COLUMNS.values(), ids=LEVEL_COLUMNS)
    @pytest.mark.parametrize("first", [1, HUGE])
    def test_stay_whole_numbers(self, make, first):
        X = make([first, first + 1, first + 2, None, first, first + 1, first + 2, first])
        m = cw.NaiveBayes(families={0: "categorical"}).fit(X, y)
        (levels,) = [column.levels for column in m.statistics_.levels.columns]
        assert levels.dtype.kind in "iu"
        assert levels.tolist() == [first, first + 1, first + 2]
        assert m.statistics_.levels.columns[0].weight.tolist() == [[2.0, 0.0, 2.0], [1.0, 2.0, 0.0]]
        np.testing.assert_allclose(np.exp(m.log_density(X))[[0, 1, 3]], [[3 / 7, 2 / 6], [1 / 7, 3 / 6], [1.0, 1.0]])

    @pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
    def test_of_a_column_without_a_value(self, make):
        X = make({"x": pa.array([None] * 8, pa.int64()), "z": range(8)})
        with pytest.warns(cw.IgnoredColumnWarning, match=r"'x' \(no values\)"):
            cw.NaiveBayes(families={"x": "categorical"}).fit(X, y)

    def test_meet_in_batches(self):
        whole = [[HUGE, HUGE + 1], [HUGE + 2, None], [HUGE + 3, 1]]
        s = sum(cw.summarize(pl.DataFrame({"x": x}), ["a", "b"], families={"x": "categorical"}) for x in whole)
        assert s.levels.columns[0].levels.tolist() == [1, HUGE, HUGE + 1, HUGE + 2, HUGE + 3]
        assert s.levels.columns[0].levels.dtype == np.int64


class TestIds:
    """A column that differs in every row teaches nothing."""

    frame = pd.DataFrame(
        {"id": [f"p{i:03d}" for i in range(40)], "x": np.arange(40.0) % 7, "city": ["Rome", "Oslo"] * 20}
    )
    labels = np.arange(40) % 2

    @pytest.mark.parametrize("model", [cw.NaiveBayes, cw.LDA])
    def test_are_left_out_and_named(self, model):
        with pytest.warns(cw.IgnoredColumnWarning, match=r"'id' \(40 levels in 40 rows, an id or free text\)"):
            m = model().fit(self.frame, self.labels)
        plain = model().fit(self.frame.drop(columns="id"), self.labels)
        np.testing.assert_allclose(m.predict_proba(self.frame), plain.predict_proba(self.frame.drop(columns="id")))
        assert m.schema_["id"].note.startswith("left out")
        assert m.explain(self.frame[:1]).shares["id"] == 0
        rows, _ = m.sample(3, random_state=0)
        assert rows["id"].isna().all()

    def test_are_learned_on_request(self):
        m = cw.NaiveBayes(families={"id": "categorical"}).fit(self.frame, self.labels)
        assert m.score(self.frame, self.labels) == 1.0

    def test_weights_do_not_make_a_category_an_id(self):
        m = cw.NaiveBayes().fit(self.frame[["x", "city"]], self.labels, np.full(40, 1e-3))
        assert not m.schema_["city"].note

    def test_nothing_but_ids(self):
        with pytest.raises(cw.ClasswiseError, match="No column of X can tell the classes apart"):
            cw.NaiveBayes().fit(self.frame[["id"]], self.labels)

    def test_batches_may_show_that_it_is_none(self):
        """Twenty names in twenty rows may be ids; in four hundred rows they are a category."""
        m = cw.NaiveBayes()
        for _ in range(20):
            m.partial_fit(pd.DataFrame({"name": [f"n{i}" for i in range(20)]}), np.arange(20) % 2)
        assert not m.schema_["name"].note


class TestBatches:
    def test_bring_new_levels_and_classes(self):
        first = pd.DataFrame({"city": ["Rome", "Oslo"], "x": [1.0, 2.0]})
        then = pd.DataFrame({"city": ["Lima", None, "Rome", "Lima"], "x": [None, 3.0, 5.0, 6.0]})
        whole = pd.concat([first, then])
        labels = ["a", "b", "c", "c", "a", "b"]
        m = cw.NaiveBayes().partial_fit(first, labels[:2]).partial_fit(then, labels[2:])
        with pytest.warns(cw.DegenerateColumnWarning):
            expected = cw.NaiveBayes().fit(whole, labels).predict_proba(whole)
        with pytest.warns(cw.DegenerateColumnWarning):
            ours = m.predict_proba(whole)
        np.testing.assert_allclose(ours, expected, rtol=1e-12)
        assert m.schema_["city"].levels == 3

    def test_without_a_value_take_the_kind_of_the_others(self):
        """A batch of a CSV file in which a column is empty reads as numbers; so does the first batch."""
        empty = pd.DataFrame({"city": [np.nan, np.nan], "x": [1.0, 2.5]})
        full = pd.DataFrame({"city": ["Rome", "Oslo"], "x": [2.0, 4.0]})
        whole = pd.concat([empty.astype({"city": object}), full])
        expected = cw.NaiveBayes().fit(whole, ["a", "b", "a", "b"]).predict_proba(whole)
        for form in ("full", "pooled", "diagonal"):
            parts = [cw.summarize(part, ["a", "b"], scatter=form) for part in (empty, full)]
            for s in (parts[0] + parts[1], parts[1] + parts[0]):
                assert s.schema.columns[0].family.name == "categorical"
                if form != "pooled":
                    m = cw.NaiveBayes().fit_statistics(s)
                    np.testing.assert_allclose(m.predict_proba(whole), expected, rtol=1e-12)
        for order in ((empty, full), (full, empty)):
            m = cw.NaiveBayes()
            for part in order:
                m.partial_fit(part, ["a", "b"])
            np.testing.assert_allclose(m.predict_proba(whole), expected, rtol=1e-12)

    def test_of_another_kind_are_refused_by_name(self):
        text, number = pd.DataFrame({"x": ["a", "b"]}), pd.DataFrame({"x": [1.0, 2.0]})
        with pytest.raises(
            cw.StatisticsError, match=r"Column 'x' is a category \(categorical\) in one statistic and a num"
        ):
            cw.summarize(text, [0, 1]) + cw.summarize(number, [0, 1])
        with pytest.raises(cw.ClasswiseError, match=r"'x' is to be a number .* and it holds text"):
            cw.NaiveBayes().partial_fit(number, [0, 1]).partial_fit(text, [0, 1])

    def test_of_other_types_of_one_kind_are_welcome(self):
        whole = pd.DataFrame({"x": [1.0, 2.0, 4.0, 5.0], "city": ["Rome", "Oslo", "Rome", "Lima"]})
        m = cw.NaiveBayes()
        m.partial_fit(whole[:2].astype({"x": int}), [0, 1])
        m.partial_fit(pl.DataFrame(whole[2:].astype({"city": "category"})), [0, 1])
        np.testing.assert_allclose(
            m.predict_proba(whole), cw.NaiveBayes().fit(whole, [0, 1, 0, 1]).predict_proba(whole), rtol=1e-12
        )


class TestReport:
    m = cw.NaiveBayes().fit(PANDAS[["float", "flag", "text"]], y)

    def test_is_a_table(self):
        assert str(self.m.schema_).splitlines() == [
            "column  type     kind      family       levels  missing  note",
            "float   Float64  number    gaussian              12.5 %",
            "flag    Boolean  yes/no    bernoulli         2   12.5 %",
            "text    String   category  categorical       3   12.5 %",
        ]
        assert self.m.schema_[1] == self.m.schema_["flag"]
        with pytest.raises(KeyError, match="'age' is not a column; the columns are"):
            self.m.schema_["age"]

    def test_as_html(self):
        html = self.m.schema_._repr_html_()
        assert html.count("<tr>") == 4
        assert "<td>categorical</td>" in html


def test_parameters_by_column():
    families = {"n": "poisson", "w": "binomial(5)", "size": "lognormal"}
    X = pd.DataFrame(
        {"x": [1.0, 2, 4, 6], "n": [0, 2, 3, 5], "w": [1, 2, 4, 4], "size": [1.0, 2, 3, 9], "c": list("pqqq")}
    )
    m = cw.NaiveBayes(families=families, smoothing=0).fit(X, [0, 0, 1, 1])
    parameters = m.parameters_
    np.testing.assert_allclose(parameters["x"]["mean"], [1.5, 5])
    np.testing.assert_allclose(parameters["x"]["variance"], [0.25, 1])
    np.testing.assert_allclose(parameters["n"]["rate"], [1, 4])
    np.testing.assert_allclose(parameters["w"]["chance"], [0.3, 0.8])
    np.testing.assert_allclose(parameters["size"]["log mean"], [np.log(2) / 2, np.log(27) / 2])
    np.testing.assert_allclose(parameters["c"]["q"], [0.5, 1])


def test_messages_call_columns_by_their_places_in_the_table():
    X = np.array([["red", 1.0], ["blue", 2.0], ["red", 3.0]], dtype=object)
    with pytest.warns(cw.DegenerateColumnWarning, match="in column 1"):
        cw.NaiveBayes().fit(X, ["a", "b", "a"])


def test_best_families_beside_a_shared_gaussian():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=90), "z": rng.normal(size=90), "n": rng.poisson(1.0, 90)})
    m = cw.LDA(families="best").fit(X, np.arange(90) % 3)
    assert m.families_["x"] == m.families_["z"] == "gaussian"
    same = cw.LDA(families={"n": m.families_["n"]}).fit(X, np.arange(90) % 3)
    np.testing.assert_allclose(m.log_joint(X), same.log_joint(X), rtol=1e-10)


class TestExplain:
    m = cw.NaiveBayes().fit(PANDAS[["float", "flag", "text"]], y)

    def test_reads_well(self):
        row = pd.DataFrame({"float": [2.0], "flag": pd.array([None], dtype="boolean"), "text": ["Oslo"]})
        why = self.m.explain(row)
        text = str(why)
        assert (
            text.splitlines()[0]
            == f"b with probability {100 * why.probability:.1f} %, a with {100 * why.other_probability:.1f} %."
        )
        assert "missing" in text
        assert "Oslo" in text
        assert why.values == {"float": 2.0, "flag": None, "text": "Oslo"}

    def test_any_pair_of_labels(self):
        row = PANDAS[["float", "flag", "text"]][:1]
        ours, theirs = self.m.explain(row, "a", "b"), self.m.explain(row, "b", "a")
        assert ours.log_odds == pytest.approx(-theirs.log_odds)
        with pytest.raises(cw.ClasswiseError, match="'z' is not a class"):
            self.m.explain(row, "z")

    def test_a_plain_row_a_mapping_or_a_series(self):
        row = {"float": 2.0, "flag": True, "text": "Rome"}
        for same in (list(row.values()), row, pd.Series(row), pd.DataFrame([row])):
            assert self.m.explain(same).values == row
            assert self.m.explain(same).shares == self.m.explain(row).shares
        with pytest.raises(cw.ClasswiseError, match="The row lacks the column 'text'"):
            self.m.explain({"float": 2.0, "flag": None})
        with pytest.raises(ValueError, match="X has 2 features, but NaiveBayes is expecting 3"):
            self.m.explain(np.array([[2.0, 1.0]]))

    def test_against_the_most_probable(self):
        row = [2.0, False, "Oslo"]
        assert self.m.explain(row).label == "b"
        why = self.m.explain(row, against="b")
        assert (why.label, why.other) == ("a", "b")
        assert why.log_odds < 0

    def test_more_than_one_row(self):
        with pytest.raises(cw.ClasswiseError, match="explain takes one row, not 8"):
            self.m.explain(PANDAS[["float", "flag", "text"]])

    def test_the_linear_discriminant_of_lda(self):
        rng = np.random.default_rng(0)
        X, labels = rng.normal(size=(50, 3)), np.arange(50) % 2
        m = cw.LDA().fit(X, labels)
        why, edge = m.explain(X[0], 1, 0), m.boundary(1, 0)
        middle = m.means_.mean(axis=0)
        np.testing.assert_allclose(list(why.shares.values()), edge.w * (X[0] - middle), rtol=1e-9)
        assert why.volume == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name", ["adult", "hypothyroid", "horse_colic", "kddcup99_10pct", "titanic", "mushroom_full", "arrhythmia"]
)
@pytest.mark.parametrize(
    "model",
    [
        cw.NaiveBayes(),
        cw.NaiveBayes(families="best"),
        cw.NaiveBayes(missing="level"),
        cw.LDA(),
        cw.QDA(),
        cw.NearestMean(),
    ],
    ids=repr,
)
def test_raw_tables_to_posteriors(data, name, model):
    """From the file, with nothing done to it: a finite log loss, or an error that names a column and the remedy."""
    table = pd.read_csv(data / f"{name}.csv.gz")
    target = pd.read_csv(data / "manifest.csv").set_index("name").loc[name, "target"]
    X, labels = table.drop(columns=target), table[target]
    refusal = ""
    try:
        m = model.fit(X, labels)
    except cw.ClasswiseError as problem:
        refusal = str(problem)
    if refusal:
        assert type(model) in (cw.LDA, cw.QDA, cw.NearestMean)
        assert any(f"'{column}'" in refusal for column in X.columns)
        assert any(remedy in refusal for remedy in ("drop", "Drop", "Share", "Shrink", "shrink"))
        return
    known = labels.notna().to_numpy()
    codes = np.searchsorted(m.classes_, labels[known].to_numpy())
    log_loss = -m.predict_log_proba(X[known])[np.arange(known.sum()), codes].mean()
    assert np.isfinite(log_loss)
