"""Dates, times and numbers written for people are numbers of the model, wherever its rows are and it is asked."""

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import classwise as cw
from classwise.rows.conversions import Moment, ambiguous_dates
from classwise.rows.written_numbers import WrittenNumber, ambiguous_numbers, recognized
from serving import ARROW, Client, stream
from sheets import write_ods, write_xlsx
from sql_engines import ENGINES, spark_session

N = 60
EPOCH = dt.datetime(1970, 1, 1)
FOREST = cw.ForestClassifier(trees=20)


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def a_table() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows as people have them, and the numbers that they stand for; both with labels y."""
    rng = np.random.default_rng(0)
    codes = np.arange(N) % 2
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 60, N) + 30 * codes]
    moments = [dt.datetime(2025, 12, 1) + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 90_000, N)]
    times = [dt.time(int(m) // 60, int(m) % 60) for m in rng.integers(0, 1440, N)]
    prices, amounts = rng.normal(5 + codes, 1, N).round(2), rng.normal(9000, 4000, N).round(2)
    shares = rng.integers(1, 99, N)
    given = {
        "day": days,
        "moment": moments,
        "time": times,
        "price": [f"{price:.2f}".replace(".", ",") for price in prices],
        "amount": [f"{german(amount)} €" for amount in amounts],
        "share": [f"{share}%" for share in shares],
    }
    meant = {
        "day": [float((day - EPOCH.date()).days) for day in days],
        "moment": [(moment - EPOCH) / dt.timedelta(days=1) for moment in moments],
        "time": [time.hour + time.minute / 60 for time in times],
        "price": prices.tolist(),
        "amount": amounts.tolist(),
        "share": shares.astype(float).tolist(),
    }
    for place, name in enumerate(given):
        given[name][3 + place] = meant[name][3 + place] = None
    labels = pl.Series("y", np.array(["no", "yes"])[codes])
    return tuple(pl.DataFrame(values).with_columns(labels) for values in (given, meant))


GIVEN, MEANT = a_table()
X, Y, NUMBERS = GIVEN.drop("y"), GIVEN["y"].to_numpy(), MEANT.drop("y")
PLAIN = cw.NaiveBayes().fit(NUMBERS, Y)
EXPECTED = PLAIN.predict_proba(NUMBERS)
TEXT = GIVEN.with_columns(pl.col("day", "moment", "time").cast(pl.String))
NOTES = [
    "date, as days since 1970-01-01",
    "date and time, as days since 1970-01-01",
    "time of day, as hours since midnight",
    "numbers with decimal commas",
    "amounts in € with thousands separators '.' and decimal commas",
    "percentages",
]


@pytest.fixture(scope="module")
def model() -> cw.NaiveBayes:
    return cw.NaiveBayes().fit(X, Y)


def agrees(posteriors: Any, bound: float = 1e-12) -> None:
    np.testing.assert_allclose(np.asarray(posteriors), EXPECTED, rtol=0, atol=bound)


FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: X,
    "Arrow": lambda: X.to_arrow(),
    "pandas": lambda: pd.DataFrame(X.to_dict(as_series=False)),
    "pandas of Arrow's": lambda: X.to_arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "pandas of text": lambda: pd.DataFrame(TEXT.drop("y").to_dict(as_series=False)),
    "polars of text": lambda: TEXT.drop("y"),
    "zoned": lambda: X.with_columns(pl.col("moment").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")),
    "objects": lambda: np.array(X.rows(), dtype=object),
}


class TestTables:
    @pytest.mark.parametrize("frame", FRAMES)
    def test_every_library_gives_the_same_numbers(self, frame, model):
        rows = FRAMES[frame]()
        m = cw.NaiveBayes().fit(rows, Y)
        agrees(m.predict_proba(rows))
        assert [column.note.removesuffix(" in UTC") for column in m.schema_] == NOTES
        assert {column.kind for column in m.schema_} == {"number"}
        if frame != "objects":
            agrees(model.predict_proba(rows))

    @pytest.mark.parametrize("frame", FRAMES)
    def test_samples_are_of_the_type_of_the_rows(self, frame):
        rows = FRAMES[frame]()
        m = cw.NaiveBayes().fit(rows, Y)
        drawn, _ = m.sample(5, random_state=0)
        assert type(drawn) is type(rows)
        first = drawn[0] if frame == "objects" else list(pl.DataFrame(drawn).row(0))
        assert isinstance(first[0], dt.date)
        assert isinstance(first[1], dt.datetime)
        assert isinstance(first[2], dt.time)
        assert all(isinstance(value, float) for value in first[3:])
        assert np.isfinite(m.predict_proba(drawn)).all()

    def test_numbers_are_taken_as_they_are(self, model):
        agrees(model.predict_proba(NUMBERS))

    def test_durations_are_seconds(self):
        spans = pl.DataFrame({"span": [dt.timedelta(seconds=s) for s in (60, 90, 30.5, 600, 601, 599)]})
        for frame in (spans, spans.to_arrow(), spans.to_pandas(), np.array(spans.rows(), dtype=object)):
            m = cw.NaiveBayes().fit(frame, [0, 0, 0, 1, 1, 1])
            np.testing.assert_allclose(m.means_.ravel(), [60.1666667, 600])
        assert m.schema_[0].note == "duration, as seconds"

    def test_text_can_stay_text(self):
        m = cw.NaiveBayes(families={"price": "categorical", "day": "categorical"}).fit(X, Y)
        assert [m.schema_[name].kind for name in ("price", "day", "share")] == ["category", "category", "number"]
        assert m.schema_["day"].note == ""
        drawn, _ = m.sample(3, random_state=0)
        assert set(drawn["day"]) <= set(TEXT["day"])
        assert np.isfinite(m.predict_proba(TEXT.drop("y"))).all()

    def test_an_explanation_shows_dates(self, model):
        reason = model.explain(X[:1])
        assert reason.values["day"] == X["day"][0]
        assert str(X["day"][0]) in str(reason)

    def test_a_value_that_does_not_fit_is_named(self, model):
        for name, value in (("day", "soon"), ("price", "cheap"), ("time", "25:00"), ("amount", "1.2.3,4,5")):
            wrong = TEXT.drop("y").with_columns(pl.lit(value).alias(name))
            with pytest.raises(cw.ClasswiseError, match=rf"'{name}' holds '{value}'.*--families {name}=categorical"):
                model.predict(wrong)

    def test_conversions_are_stored(self, model, tmp_path):
        cw.save(model, tmp_path / "m.cw")
        loaded = cw.load(tmp_path / "m.cw")
        agrees(loaded.predict_proba(TEXT.drop("y")))
        assert [column.note for column in loaded.schema_] == NOTES

    def test_statistics_merge(self):
        halves = [cw.summarize(X[part], Y[part]) for part in (slice(0, 30), slice(30, N))]
        agrees(cw.NaiveBayes().fit_statistics(halves[0] + halves[1]).predict_proba(X), 1e-9)
        other = X.with_columns(pl.col("price").str.replace(",", ".", literal=True) + " €")
        with pytest.raises(cw.ClasswiseError, match=r"'price' is of two kinds, amounts in € and numbers with decimal"):
            halves[0] + cw.summarize(other, Y)

    def test_dates_and_moments_merge(self):
        first, second = (cw.summarize(pl.DataFrame({"t": of}), [0, 1]) for of in (X["day"][:2], X["moment"][:2]))
        assert (first + second).schema.columns[0].conversion == Moment("datetime")

    @pytest.mark.parametrize(
        "estimator", [cw.LDA(), cw.BayesianLogistic(), cw.AutoClassifier(folds=2), cw.AODE(), FOREST]
    )
    @pytest.mark.filterwarnings("ignore::classwise.ImputedValueWarning")
    def test_every_model_takes_them(self, estimator):
        plain = type(estimator)(**estimator.get_params()).fit(NUMBERS, Y)
        np.testing.assert_allclose(
            estimator.fit(X, Y).predict_proba(TEXT.drop("y")), plain.predict_proba(NUMBERS), rtol=0, atol=1e-6
        )

    def test_compare(self):
        found, plain = (cw.compare(rows, Y, folds=3, random_state=0) for rows in (X, NUMBERS))
        assert [trial.name for trial in found.trials] == [trial.name for trial in plain.trials]
        for one, other in zip(found.trials, plain.trials, strict=True):
            losses = [[fold.log_loss for fold in trial.as_is] for trial in (one, other)]
            np.testing.assert_allclose(*losses, rtol=1e-4, err_msg=one.name)


# Rows elsewhere -------------------------------------------------------------------------------------------------------


def csv(folder: Path) -> Any:
    GIVEN.write_csv(folder / "rows.csv", separator=";")
    return folder / "rows.csv"


def csv_parts(folder: Path) -> Any:
    """Each file tells its own kinds."""
    for i, start in enumerate(range(0, N, 20)):
        GIVEN[start : start + 20].write_csv(folder / f"{i}.csv", separator="\t")
    return folder / "*.csv"


def parquet(folder: Path) -> Any:
    GIVEN.write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def parquet_of_text(folder: Path) -> Any:
    TEXT.write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def database(folder: Path) -> Any:
    with duckdb.connect(folder / "rows.duckdb") as connection:
        connection.from_arrow(GIVEN.to_arrow()).create("given")
    return cw.Query("given", str(folder / "rows.duckdb"))


def dask(folder: Path) -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(TEXT.to_pandas(), npartitions=4)


def sheet(folder: Path) -> Any:
    pytest.importorskip("python_calamine")
    write_xlsx(folder / "rows.xlsx", {"Rows": [GIVEN.columns, *TEXT.rows()]})
    return folder / "rows.xlsx"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "CSV": csv,
    "CSV in parts": csv_parts,
    "Parquet": parquet,
    "Parquet of text": parquet_of_text,
    "DuckDB": database,
    "a query": lambda folder: cw.Query(f"SELECT * FROM '{parquet(folder)}'"),
    "chunks": lambda folder: (GIVEN[start : start + 7] for start in range(0, N, 7)),
    "chunks, again": lambda folder: lambda: iter([TEXT[:11], TEXT[11:]]),
    "a reader": lambda folder: GIVEN.to_arrow().to_reader(13),
    "lazy": lambda folder: TEXT.lazy(),
    "Dask": dask,
    "a spreadsheet": sheet,
}


class TestSources:
    @pytest.mark.parametrize("source", SOURCES)
    def test_learn_the_same(self, source, tmp_path):
        m = cw.NaiveBayes().fit_source(SOURCES[source](tmp_path), target="y")
        agrees(m.predict_proba(X), 1e-9)
        assert [column.note for column in m.schema_] == NOTES

    @pytest.mark.parametrize("source", sorted(set(SOURCES) - {"CSV in parts", "Dask", "chunks, again"}))
    def test_answer_the_same(self, source, tmp_path, model):
        answers = cw.predict(model, SOURCES[source](tmp_path), proba=True).read_all()
        agrees(np.column_stack([answers["posterior_no"], answers["posterior_yes"]]))

    @pytest.mark.slow
    @pytest.mark.xdist_group("engines")  # with the other tests of Spark, in a process where Java runs already
    def test_spark(self, model):
        """Its moments have a zone, that of the session."""
        session = spark_session()
        session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        rows = GIVEN.with_columns(pl.col("time").cast(pl.String), pl.col("moment").dt.replace_time_zone("UTC"))
        frame = session.createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)
        m = cw.NaiveBayes().fit_source(frame, target="y")
        agrees(m.predict_proba(X), 1e-9)
        assert [column.note.removesuffix(" in UTC") for column in m.schema_] == NOTES
        frame.createOrReplaceTempView("given")
        query = cw.to_sql(m, "given", "spark", ["price", "amount"], output="posteriors")
        asked = {tuple(row)[:2]: tuple(row)[2:] for row in session.sql(query).collect()}
        agrees([asked[price, amount] for price, amount in zip(X["price"], X["amount"], strict=True)], 1e-9)

    def test_from_a_sheet_of_typed_cells(self, tmp_path, model):
        pytest.importorskip("python_calamine")
        rows = X.drop("time")
        cells = [(*row, y) for row, y in zip(rows.rows(), Y, strict=True)]
        write_xlsx(tmp_path / "rows.xlsx", {"Rows": [[*rows.columns, "y"], *cells]})
        m = cw.NaiveBayes().fit_source(tmp_path / "rows.xlsx", target="y")
        plain = cw.NaiveBayes().fit(NUMBERS.drop("time"), Y)
        np.testing.assert_allclose(m.predict_proba(rows), plain.predict_proba(NUMBERS.drop("time")), atol=1e-6)
        assert m.schema_["day"].type == "Date"

    def test_a_stream_that_changes_its_mind_names_the_column(self):
        parts = [pl.DataFrame({"x": ["1,5", "2,5"], "y": [0, 1]}), pl.DataFrame({"x": ["3,5", "many"], "y": [0, 1]})]
        with pytest.raises(cw.ClasswiseError, match=r"'x' holds 'many'.*families=\{'x': 'categorical'\}"):
            cw.NaiveBayes().fit_source(iter(parts), target="y")
        m = cw.NaiveBayes(families={"x": "categorical"}).fit_source(iter(parts), target="y")
        assert m.schema_["x"].levels == 4

    def test_thousands_that_look_like_decimals(self, tmp_path):
        """A file to score may hold nothing but 1.234, which is not one and a bit."""
        (tmp_path / "old.csv").write_text("x;y\n1.234,5;a\n2.000;a\n900;b\n800,5;b\n")
        (tmp_path / "new.csv").write_text("x\n1.234\n1.500\n")
        m = cw.NaiveBayes().fit_source(tmp_path / "old.csv", target="y")
        found = cw.predict(m, tmp_path / "new.csv", proba=True).read_all()
        expected = m.predict_proba(pl.DataFrame({"x": [1234.0, 1500.0]}))
        np.testing.assert_allclose(found["posterior_a"], expected[:, 0])


# Outlets --------------------------------------------------------------------------------------------------------------


class TestOutlets:
    @pytest.mark.parametrize("dialect", ENGINES)
    def test_sql_of_text(self, dialect, model):
        self._ask(dialect, model, dict.fromkeys(X.columns, "text"))

    @pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
    def test_sql_of_dates(self, dialect, model):
        self._ask(dialect, model, dict.fromkeys(X.columns, "text") | {"day": "date"})

    def _ask(self, dialect, model, kinds):
        rows = TEXT.drop("y").with_row_index("id")
        with ENGINES[dialect]() as engine:
            engine.put("new", {name: (kinds.get(name, "whole"), rows[name].to_list()) for name in rows.columns})
            found = sorted(engine.ask(cw.to_sql(model, "new", dialect, ["id"], "posteriors"))[1])
        agrees([row[1:] for row in found], 1e-7)

    def test_duckdb_has_types_for_all(self):
        rows = X.with_columns(pl.col("moment").dt.replace_time_zone("Asia/Tokyo"))
        rows = rows.with_columns(span=pl.col("moment") - pl.col("moment").min())
        m = cw.NaiveBayes().fit(rows, Y)
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'America/New_York'")
            connection.from_arrow(rows.to_arrow()).create("given")
            found = connection.sql(cw.to_sql(m, "given", output="posteriors")).fetchall()
        np.testing.assert_allclose(found, m.predict_proba(rows), rtol=0, atol=1e-9)

    @pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "mysql", "tsql"])
    def test_sql_elsewhere_can_be_written(self, dialect, model):
        assert "86400e6" in cw.to_sql(model, "new", dialect)

    def test_onnx_takes_numbers_and_says_so(self, model):
        session = onnxruntime.InferenceSession(cw.to_onnx(model).SerializeToString())
        given = {name: NUMBERS[name].cast(pl.Float64).fill_null(np.nan).to_numpy()[:, None] for name in X.columns}
        agrees(session.run(None, given)[1])
        told = json.loads(session.get_modelmeta().custom_metadata_map["conversions"])
        assert list(told.values()) == NOTES

    def test_server_of_json(self, model):
        client = Client(model)
        for rows in (TEXT.drop("y"), NUMBERS):
            answer = client.post("/predict", {"columns": rows.to_dict(as_series=False)})
            assert answer.status_code == 200, answer.text
            agrees(answer.json()["posteriors"])
        answer = client.post("/predict", {"rows": [TEXT.drop("y").row(0, named=True) | {"day": "soon"}]})
        assert answer.status_code == 422
        assert "Row 0, column 'day': 'soon' is none of the dates it holds; give '2026-01-31'" in answer.json()["detail"]
        shares = client.post("/explain", {"row": TEXT.drop("y").row(0, named=True)}).json()["shares"]
        assert {share["column"]: share["value"] for share in shares}["day"] == TEXT["day"][0]

    def test_server_of_arrow(self, model):
        client = Client(model)
        for rows in (X, TEXT.drop("y"), NUMBERS):
            answer = client.post("/predict", stream(rows.to_arrow(compat_level=pl.CompatLevel.oldest())), ARROW)
            assert answer.status_code == 200, answer.content
            found = pa.ipc.open_stream(answer.content).read_all()
            agrees(np.column_stack([found["posterior_no"], found["posterior_yes"]]))
        wrong = X.with_columns(day=pl.lit("soon"))
        answer = client.post("/predict", stream(wrong.to_arrow(compat_level=pl.CompatLevel.oldest())), ARROW)
        assert answer.status_code == 422
        assert "soon" in answer.json()["detail"]

    def test_openapi_says_what_it_takes(self, model):
        told = Client(model).get("/openapi.json").json()["paths"]["/predict"]["post"]["requestBody"]["content"]
        body = told["application/json"]
        (row,) = body["examples"]["rows"]["value"]["rows"]
        assert dt.date.fromisoformat(row["day"])
        schema = body["schema"]["oneOf"][0]["properties"]["rows"]["items"]["anyOf"][0]["properties"]["day"]
        assert schema["anyOf"][0]["format"] == "date"
        assert schema["description"] == NOTES[0]


# Recognition ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "rule", "numbers"),
    [
        (["3,14", "2,5"], WrittenNumber(","), [3.14, 2.5]),
        (["0,123", "0,456"], WrittenNumber(","), [0.123, 0.456]),
        (["12345,678", "1,234"], WrittenNumber(","), [12345.678, 1.234]),
        (["1,234,567", "1,234"], WrittenNumber(".", ","), [1234567, 1234]),
        (["1,234.5", "99"], WrittenNumber(".", ","), [1234.5, 99]),
        (["950", "1,230"], WrittenNumber(".", ","), [950, 1230]),  # nobody writes 1,230 beside 950 for 1.23
        (["1.234,5", "7"], WrittenNumber(",", "."), [1234.5, 7]),
        (["1 234", "99"], WrittenNumber(".", " "), [1234, 99]),
        (["1\u202f234,5", "99"], WrittenNumber(",", " "), [1234.5, 99]),
        (["1'234.50", "99"], WrittenNumber(".", "'"), [1234.5, 99]),
        (["$12.50", "-$3"], WrittenNumber(".", "", "$"), [12.5, -3]),
        (["12 EUR", "3,5 EUR"], WrittenNumber(",", "", "EUR"), [12, 3.5]),
        (["12.5%", "3 %"], WrittenNumber(".", "", "%"), [12.5, 3]),
        (["(12.5)", "3.5"], WrittenNumber("."), [-12.5, 3.5]),
        (["\u22123,5", "+2,5"], WrittenNumber(","), [-3.5, 2.5]),
        (["2026-01-31", "2026-2-1"], Moment("date"), [20484, 20485]),
        (["2026-01-31", "2026-01-31T12:00"], Moment("datetime"), [20484, 20484.5]),
        (["2026-01-31 12:00Z", "2026-01-31 12:00+06:00"], Moment("datetime", True), [20484.5, 20484.25]),
        (["10:30", "9:15:36"], Moment("time"), [10.5, 9.26]),
        (["31.01.2026", "1.2.2026"], Moment("date", False, "dmy"), [20484, 20485]),
        (["1.2.2026 12:00", "2.2.2026 18:00"], Moment("datetime", False, "dmy"), [20485.5, 20486.75]),
        (["1/31/2026", "2/1/2026"], Moment("date", False, "mdy"), [20484, 20485]),
        (["31/1/2026", "1/2/2026"], Moment("date", False, "dmy"), [20484, 20485]),
    ],
)
def test_recognized(texts, rule, numbers):
    assert recognized(texts) == rule
    np.testing.assert_allclose(rule.numbers(np.array([*texts, None], dtype=object), "'x'"), [*numbers, np.nan])


@pytest.mark.parametrize(
    "texts",
    [
        ["1,234", "5,678"],  # one and a bit, or a thousand
        ["1,234", "950"],
        ["$1.234", "$2.345"],
        ["01234", "98101"],
        ["12", "3.5"],  # text, though it could be a number
        ["1.2.3", "1.2.4"],
        ["612 345 678", "698 765 432"],  # telephones
        ["+49 30 1234", "+49 40 9876"],
        ["A1", "B2"],
        ["1,2", "1,2,3"],  # several answers to one question
        ["$5", "€5"],
        ["3,14", "many"],
        ["(1)", "(2)"],
        ["2026-13-01", "2026-01-01"],
        ["2026-01-31 12:00", "2026-01-31 12:00Z"],
        ["25:00", "10:30"],
        ["1/2/2026", "3/4/2026"],  # days of two months, or months of two days
        ["31/1/2026", "1/31/2026"],
        ["31.01.2026", "2026-01-31"],
        [],
    ],
)
def test_not_recognized(texts):
    assert recognized(texts) is None


def test_thousands_are_not_mistaken_for_decimals():
    rule = WrittenNumber(",", ".", "€")
    assert rule.number("1.234,5€") == 1234.5
    assert rule.number("12345 €") == 12345
    for wrong in ("3365.89", "3,365,8", "12 €5", "1.2345", "€", ""):
        with pytest.raises(ValueError):
            rule.number(wrong)


def test_ambiguous_dates_are_told():
    assert ambiguous_dates(["1/2/2026", "3/4/2026"])
    assert not ambiguous_dates(["1/31/2026", "3/4/2026"])
    assert not ambiguous_dates(["red"])


def test_dates_written_day_first(tmp_path):
    """In files to learn from, in files to score, and in what the server takes."""
    (tmp_path / "rows.csv").write_text("when;y\n31.01.2026;a\n1.2.2026;a\n5.6.2026;b\n6.6.2026;b\n")
    m = cw.NaiveBayes().fit_source(tmp_path / "rows.csv", target="y")
    assert m.schema_["when"].note == "date (written day first), as days since 1970-01-01"
    expected = m.predict_proba(pl.DataFrame({"when": [dt.date(2026, 6, 5)]}))
    for when in ("5.6.2026", "2026-06-05"):
        np.testing.assert_array_equal(m.predict_proba(pl.DataFrame({"when": [when]})), expected)
    assert Client(m).post("/predict", {"rows": [{"when": "5.6.2026"}]}).json()["posteriors"] == expected.tolist()


def test_ambiguous_numbers_are_told():
    assert [rule.number("1,234") for rule in ambiguous_numbers(["1,234", "950"])] == [1.234, 1234.0]
    assert ambiguous_numbers(["1,234", "1,2"]) == ambiguous_numbers(["red"]) == ()


# Spreadsheets ---------------------------------------------------------------------------------------------------------


class TestSheets:
    @pytest.fixture(autouse=True)
    def _calamine(self):
        pytest.importorskip("python_calamine")

    def test_cells_are_what_values_of_a_text_file_are(self, tmp_path):
        rows = [[1, 0.5, True, "007", None, "a"], [2, "NA", False, "010", None, "b"]]
        names = ["n", "x", "flag", "code", None, "label"]
        write_xlsx(tmp_path / "rows.xlsx", {"Rows": [names, *rows], "Other": [["z"]]})
        assert _read(tmp_path / "rows.xlsx").to_pydict() == {
            "n": [1, 2],
            "x": [0.5, None],
            "flag": [True, False],
            "code": ["007", "010"],
            "label": ["a", "b"],
        }

    def test_opendocument(self, tmp_path):
        day = dt.date(2026, 1, 31)
        write_ods(tmp_path / "rows.ods", [["n", "x", "when", "label"], [1, 0.5, day, "a"], [2, 1.5, day, "b"]])
        found = {"n": [1, 2], "x": [0.5, 1.5], "when": [str(day)] * 2, "label": ["a", "b"]}
        assert {
            name: [str(v) if name == "when" else v for v in values]
            for name, values in _read(tmp_path / "rows.ods").to_pydict().items()
        } == found

    def test_an_empty_first_sheet_names_the_others(self, tmp_path):
        write_xlsx(tmp_path / "rows.xlsx", {"Notes": [], "Rows": [["x"], [1]]})
        with pytest.raises(cw.ClasswiseError, match=r"first sheet of .*rows.xlsx is empty.*'Notes', 'Rows'"):
            _read(tmp_path / "rows.xlsx")

    def test_what_is_none(self, tmp_path):
        (tmp_path / "rows.xlsx").write_bytes(b"PK\x03\x04 nothing")
        with pytest.raises(cw.ClasswiseError, match=r"rows.xlsx cannot be read"):
            _read(tmp_path / "rows.xlsx")

    def test_names_twice(self, tmp_path):
        write_xlsx(tmp_path / "rows.xlsx", {"Rows": [["x", "x"], [1, 2]]})
        with pytest.raises(cw.ClasswiseError, match="names the column 'x' twice"):
            _read(tmp_path / "rows.xlsx")

    def test_several_must_be_alike(self, tmp_path):
        for i, name in enumerate("xz"):
            write_xlsx(tmp_path / f"{i}.xlsx", {"Rows": [[name], [1]]})
        with pytest.raises(cw.ClasswiseError, match=r"1.xlsx has other columns than .*0.xlsx"):
            _read(tmp_path / "*.xlsx")


def test_a_sheet_without_the_library_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr("classwise.rows.formats.find_spec", lambda name: None)
    write_xlsx(tmp_path / "rows.xlsx", {"Rows": [["x"], [1]]})
    with pytest.raises(cw.MissingExtraError, match=r"classwise\[xlsx\]"):
        _read(tmp_path / "rows.xlsx")


def _read(path: Path) -> Any:
    from classwise.rows.files import read_rows

    return read_rows(path)
