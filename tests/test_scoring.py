"""predict over sources and sinks: rows in order, keys beside them, files and tables whole."""

import csv
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import classwise as cw
from classwise.rows import texts
from classwise.rows.files import read_rows
from classwise.rows.sinks import write_rows
from classwise.rows.streams import open_stream
from sql_engines import postgres_engine

RNG = np.random.default_rng(5)
N = 3000


def make_rows():
    y = RNG.choice(["no", "yes"], N)
    return pd.DataFrame(
        {
            "id": [f"{i:05}" for i in range(N)],
            "x": RNG.normal(size=N) + (y == "yes"),
            "zip": RNG.choice(["10115", "20095", "80331"], N),
            "y": y,
        }
    )


ROWS = make_rows()
MODEL = cw.NaiveBayes().fit(ROWS[["x", "zip"]], ROWS["y"])


@pytest.fixture
def source(tmp_path):
    """Three files of CSV, in which postal codes and ids look like numbers."""
    for i in range(3):
        part = pa.Table.from_pandas(ROWS[i * 1000 : (i + 1) * 1000], preserve_index=False)
        write_rows(part, str(tmp_path / f"rows-{i}.csv"))
    return str(tmp_path / "rows-*.csv")


@pytest.mark.parametrize(
    "name", ["o.parquet", "o.parquet.gz", "o.csv", "o.tsv", "o.csv.gz", "o.json", "o.jsonl", "o.jsonl.zst", "o.arrow"]
)
def test_files(tmp_path, source, name):
    assert cw.predict(MODEL, source, tmp_path / name, keys=["y", "x"]) == N
    found = read_rows(tmp_path / name).to_pandas()
    assert list(found.columns) == ["y", "x", "label", "posterior"]
    assert found["y"].tolist() == ROWS["y"].tolist()
    np.testing.assert_array_equal(found["x"], ROWS["x"])
    assert found["label"].tolist() == MODEL.predict(ROWS[["x", "zip"]]).tolist()
    np.testing.assert_allclose(found["posterior"], MODEL.predict_proba(ROWS[["x", "zip"]]).max(axis=1), rtol=1e-14)


def test_tables_of_duckdb(tmp_path, source):
    sink = f"{tmp_path / 'shop.duckdb'}#answers"
    assert cw.predict(MODEL, source, sink, proba=True) == N
    with pytest.raises(cw.ClasswiseError, match=r"cannot be written.*exists"):
        cw.predict(MODEL, source, sink)
    assert cw.predict(MODEL, source, sink, keys=["id"], overwrite=True) == N
    assert cw.Query("answers", str(tmp_path / "shop.duckdb")).names() == ["id", "label", "posterior"]


class TestOneDatabase:
    """Rows from a file of DuckDB's, and answers into it."""

    @pytest.fixture
    def base(self, tmp_path):
        import duckdb

        with duckdb.connect(tmp_path / "shop.duckdb") as connection:
            connection.register("rows", ROWS)
            connection.execute("CREATE TABLE people AS SELECT * FROM rows")
        return f"{tmp_path / 'shop.duckdb'}"

    def test_is_read_and_written(self, base):
        assert cw.predict(MODEL, f"{base}#people", f"{base}#scored", keys=["id"]) == N
        found = cw.predict(MODEL, f"{base}#people", keys=["id"]).read_all()
        scored = pa.Table.from_batches(cw.Query("scored", base).batches(None, 1000))
        assert scored.to_pydict() == found.to_pydict()
        query = cw.Query("SELECT * FROM people WHERE x > 0", base)
        assert cw.predict(MODEL, query, f"{base}#scored", overwrite=True) == (ROWS["x"] > 0).sum()

    def test_a_table_may_take_the_place_of_its_rows(self, base):
        assert cw.predict(MODEL, f"{base}#people", f"{base}#people", overwrite=True) == N
        assert cw.Query("people", base).names() == [*ROWS, "label", "posterior"]

    def test_is_left_as_it_was_by_a_failure(self, base, tmp_path):
        import duckdb

        with duckdb.connect(base) as connection:
            connection.execute("INSERT INTO people SELECT id, 1e400, zip, y FROM people LIMIT 1")
            connection.execute("CREATE TABLE scored AS SELECT 7 AS kept")
        for sink in (f"{base}#scored", f"{base}#other", f"{tmp_path / 'new.duckdb'}#scored"):
            with pytest.raises(cw.ClasswiseError, match="infinity"):
                cw.predict(MODEL, f"{base}#people", sink, overwrite=True)
        assert pa.Table.from_batches(cw.Query("scored", base).batches(None, 9)).to_pydict() == {"kept": [7]}
        with pytest.raises(cw.ClasswiseError, match="cannot be read"):
            cw.Query("other", base).names()
        assert not (tmp_path / "new.duckdb").exists()

    def test_is_read_while_somebody_else_here_writes(self, base):
        import duckdb

        with duckdb.connect(base) as connection:
            connection.execute("CREATE TABLE mine AS SELECT 1 AS one")
            assert cw.summarize(f"{base}#people", target="y").rows == N


def test_tables_of_postgres(source):
    with postgres_engine() as engine:
        address = f"postgresql:///postgres?host={engine.connection.info.host}&user=cw"
        assert cw.predict(MODEL, source, f"{address}#answers", keys=["id"]) == N
        with pytest.raises(cw.ClasswiseError, match="'answers' in postgresql:///postgres cannot be written"):
            cw.predict(MODEL, source, f"{address}#answers", keys=["id"])
        assert cw.predict(MODEL, source, f"{address}#answers", keys=["id"], overwrite=True) == N
        _, found = engine.ask("SELECT label, count(*) FROM answers GROUP BY label ORDER BY label")
        assert [row[1] for row in found] == np.unique(MODEL.predict(ROWS[["x", "zip"]]), return_counts=True)[1].tolist()
        engine.run("CREATE TABLE prices (amount numeric(10, 2), class integer)")
        engine.run("INSERT INTO prices VALUES (1.25, 0), (2.5, 0), (8, 1), (NULL, 1)")
        assert cw.summarize(f"{address}#prices", target="class").mean.ravel().tolist() == [1.875, 8.0]
        without = cw.summarize(cw.Query("prices", address, missing=("2.5",)), target="class")
        assert without.mean.ravel().tolist() == [1.25, 8.0]
        with pytest.raises(cw.ClasswiseError, match="no column 'klass'; did you mean 'class'"):
            cw.summarize(f"{address}#prices", target="klass")
        with pytest.raises(cw.ClasswiseError, match=r"cannot be read: .*nowhere"):
            cw.summarize(f"{address}#nowhere", target="class")


def test_types_that_turn_out_wider_begin_the_sink_again(tmp_path):
    """After the rows by which types are told, a key is text: the whole column is."""
    n = 30_000
    ids = [*map(str, range(n - 1)), "last"]
    rows = pd.DataFrame({"id": ids, "x": RNG.normal(size=n), "zip": "10115"})
    write_rows(pa.Table.from_pandas(rows, preserve_index=False), str(tmp_path / "rows.csv"))
    assert cw.predict(MODEL, tmp_path / "rows.csv", tmp_path / "o.parquet", keys=["id"]) == n
    assert pq.read_table(tmp_path / "o.parquet")["id"].to_pylist() == ids


HOSTILE = ["1-2-10", "10:00+02:00", "NA", "0099", " 7 ", "1.50", "true", "#1", "a,b", 'q"u', "", "two\nlines", "-0"]


class TestWhatGoesAlong:
    """Columns that are carried along come out as they stand in the file, wherever they stand."""

    @pytest.fixture
    def hostile(self, tmp_path, monkeypatch):
        """A file whose columns begin as one thing and end as another; x and zip are known to the model."""
        monkeypatch.setattr(texts, "SAMPLE", 50)
        n = 300
        columns = {f"c{i}": ["1"] * 100 + [value] * 100 + ["2"] * 100 for i, value in enumerate(HOSTILE)}
        columns |= {"x": ["1.50", "NA", "-0.25"] * 100, "zip": ["10115", "?", "20095"] * 100}
        with (tmp_path / "rows.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(columns)
            rows.writerows(zip(*columns.values(), strict=True))
        assert len(columns["x"]) == n
        return columns

    def expected(self):
        rows = pd.DataFrame({"x": [1.5, np.nan, -0.25] * 100, "zip": ["10115", None, "20095"] * 100})
        return MODEL.predict(rows).tolist()

    @pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.csv.gz"])
    def test_text_stays_as_it_is(self, tmp_path, hostile, name):
        assert cw.predict(MODEL, tmp_path / "rows.csv", tmp_path / name) == 300
        opened = gzip.open if name.endswith("gz") else open
        with opened(tmp_path / name, "rt", newline="") as file:
            header, *rows = csv.reader(file, delimiter="\t" if name.endswith("tsv") else ",")
        found = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
        assert {name: found[name] for name in hostile} == hostile
        assert found["label"] == self.expected()

    @pytest.mark.parametrize("name", ["o.parquet", "o.jsonl", "o.arrow", None])
    def test_what_the_model_reads_has_its_type_where_there_are_types(self, tmp_path, hostile, name):
        told = cw.predict(MODEL, tmp_path / "rows.csv", name and tmp_path / name)
        found = (told.read_all() if name is None else read_rows(tmp_path / name)).to_pydict()
        others = {name: [value or None for value in hostile[name]] for name in hostile if name not in ("x", "zip")}
        assert {name: found[name] for name in others} == others
        assert found["x"] == [1.5, None, -0.25] * 100
        assert found["zip"] == ["10115", None, "20095"] * 100
        assert found["label"] == self.expected()

    @pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".arrow"])
    def test_types_and_values_stay(self, tmp_path, suffix):
        """Also of what stands for a missing value, and of text that looks like a day."""
        rows = pa.table(
            {"day": ["2026-01-31", "NA", "-9"], "k": [-9, 1, 2], "x": [-9.0, 1.5, 2.0], "zip": ["10115"] * 3}
        )
        write_rows(rows, str(tmp_path / f"rows{suffix}"))
        stream = open_stream(tmp_path / f"rows{suffix}", missing=["-9", "-9.0"])
        found = cw.predict(MODEL, stream).read_all()
        assert found.select(rows.column_names).to_pydict() == rows.to_pydict()
        assert [str(type) for type in found.schema.types[:3]] == ["string", "int64", "double"]
        unknown = MODEL.predict_proba(pd.DataFrame({"x": [np.nan], "zip": ["10115"]})).max()
        assert found["posterior"][0].as_py() == unknown


def test_rows_in_memory_and_models_without_names():
    array = ROWS[["x"]].to_numpy()
    for model in (cw.LDA().fit(array, ROWS["y"]), LogisticRegression().fit(array, ROWS["y"])):
        with pytest.raises(cw.ClasswiseError, match="give columns="):
            cw.predict(model, ROWS)
        found = cw.predict(model, ROWS, columns=["x"], keys="id").read_all()
        assert found["label"].to_pylist() == model.predict(array).tolist()


def test_decisions_that_are_refused():
    decision = cw.Decision(MODEL, reject={"posterior": 0.8})
    found = cw.predict(decision, ROWS, keys=["id"]).read_all().to_pandas()
    refused = found["label"] == "reject"
    assert 0 < refused.sum() < N
    assert (found.loc[refused, "posterior"] < 0.8).all()
    assert (found.loc[~refused, "posterior"] >= 0.8).all()


@pytest.mark.parametrize(("reject_label", "kind"), [("auto", int), (-9, int), ("reject", str)])
def test_labels_that_are_numbers_stay_so_where_rows_may_be_refused_unless_that_is_text(tmp_path, reject_label, kind):
    """Whether or not some row of a chunk is."""
    model = cw.LDA().fit(ROWS[["x"]], (ROWS["y"] == "yes").astype(int))
    decision = cw.Decision(model, reject={"posterior": 0.7}, reject_label=reject_label)
    parts = (ROWS[i : i + 1] for i in range(100))
    labels = cw.predict(decision, parts, keys=["id"]).read_all()["label"].to_pylist()
    assert labels == [kind(label) for label in decision.predict(ROWS[["x"]][:100])]
    assert set(labels) == {kind(0), kind(1), decision.reject_label_}
    assert cw.predict(decision, ROWS[:0:-1], tmp_path / "o.parquet", keys=[]) == N - 1


def test_labels_that_differ_by_case_have_columns_that_differ_by_more(tmp_path):
    """A table of DuckDB could not hold both otherwise."""
    labels = np.where(ROWS["x"] > 0.5, "a", "A")
    model = cw.NaiveBayes().fit(ROWS[["x"]], labels)
    sink = f"{tmp_path / 'shop.duckdb'}#answers"
    assert cw.predict(model, ROWS, sink, keys=["id"], proba=True) == N
    found = cw.Query("SELECT * FROM answers ORDER BY id", str(tmp_path / "shop.duckdb"))
    assert found.names() == ["id", "label", "posterior", "posterior_A", "posterior_a_2"]
    streamed = cw.predict(model, ROWS, keys=[], proba=True).read_all()
    np.testing.assert_allclose(streamed["posterior_a_2"], model.predict_proba(ROWS[["x"]])[:, 1], rtol=1e-14)


def test_labels_with_more_digits_than_a_column_of_numbers_keeps_are_text():
    labels = np.array([10**25 + 1, 10**25 + 3], dtype=object)[np.repeat([0, 1], 20)]
    rows = pd.DataFrame({"x": np.arange(40.0)})
    found = cw.predict(cw.NearestMean().fit(rows, labels), rows, keys=[]).read_all()["label"].to_pylist()
    assert found == [str(label) for label in labels]


def test_a_function_makes_the_rows():
    for made in (ROWS, iter([ROWS[:7], ROWS[7:]])):
        found = cw.predict(MODEL, lambda made=made: made, keys=["id"]).read_all()
        assert found["id"].to_pylist() == ROWS["id"].tolist()
    assert cw.summarize(lambda: iter([ROWS]), target="y", columns=["x"]).rows == N


def test_standard_output_and_formats(tmp_path, source, capfdbinary):
    cw.predict(MODEL, source, tmp_path / "o.csv", keys=["id", "zip"])
    expected = (tmp_path / "o.csv").read_bytes()
    assert expected.startswith(b"id,zip,label,posterior\n00000,")
    assert cw.predict(MODEL, source, "-", keys=["id", "zip"]) == N
    assert capfdbinary.readouterr().out == expected
    small = pa.Table.from_pandas(ROWS[:5], preserve_index=False)
    assert cw.predict(MODEL, small, "-", keys=["y"], format="jsonl") == 5
    assert capfdbinary.readouterr().out.count(b'{"y": ') == 5
    cw.predict(MODEL, small, tmp_path / "o.csv", keys=["y"], format="tsv", overwrite=True)
    assert (tmp_path / "o.csv").read_bytes().startswith(b"y\tlabel\tposterior\n")


@pytest.mark.parametrize("name", ["late.csv", "late.csv.gz"])
def test_what_turns_to_text_late_is_text_from_the_first_row_on_without_a_sink(tmp_path, name, capfdbinary):
    notes = [*map(str, range(29_999)), "seven"]
    rows = pd.DataFrame({"x": np.zeros(30_000), "zip": "10115", "note": notes})
    rows.to_csv(tmp_path / name, index=False)
    found = cw.predict(MODEL, tmp_path / name)
    assert found.schema.field("note").type == pa.string()
    assert found.read_all()["note"].to_pylist() == notes
    next(cw.predict(MODEL, tmp_path / name))  # what is read no further leaves nothing behind
    assert cw.predict(MODEL, tmp_path / name, "-", keys=["note"]) == 30_000
    assert capfdbinary.readouterr().out.splitlines()[-1].startswith(b"seven,")


def test_what_turns_to_text_late_is_printed_as_it_is(tmp_path, capfdbinary):
    rows = pd.DataFrame({"x": np.zeros(30_000), "zip": "10115", "note": [*range(29_999), "seven"]})
    rows.to_csv(tmp_path / "late.csv", index=False)
    assert cw.predict(MODEL, tmp_path / "late.csv", "-", keys=["note"]) == 30_000
    lines = capfdbinary.readouterr().out.splitlines()
    assert len(lines) == 30_001
    assert lines[1].startswith(b"0,")
    assert lines[-1].startswith(b"seven,")


class TestRefusals:
    def test_columns(self, source):
        with pytest.raises(cw.ClasswiseError, match="no column 'idd'; did you mean 'id'"):
            cw.predict(MODEL, source, keys=["idd"])
        with pytest.raises(cw.ClasswiseError, match="no column 'zip'"):
            cw.predict(MODEL, ROWS[["x"]])
        with pytest.raises(cw.ClasswiseError, match="has a column 'label' already"):
            cw.predict(MODEL, ROWS.assign(label=1))

    def test_sinks(self, tmp_path, source):
        with pytest.raises(cw.ClasswiseError, match="does not say in which format"):
            cw.predict(MODEL, source, tmp_path / "o.xlsx")
        with pytest.raises(cw.ClasswiseError, match="is for files"):
            cw.predict(MODEL, source, f"{tmp_path / 'shop.duckdb'}#answers", format="csv")
        with pytest.raises(cw.ClasswiseError, match="is a query"):
            cw.predict(MODEL, source, "SELECT 1")
        with pytest.raises(cw.ClasswiseError, match="no rows to predict"):
            cw.predict(MODEL, cw.Query("SELECT 1.0 AS x, 'a' AS zip WHERE false"), tmp_path / "o.csv")
        assert not list(tmp_path.glob("o.*"))

    def test_sources(self):
        with pytest.raises(cw.ClasswiseError, match="There is no file"):
            cw.summarize("nowhere/*.csv", target="y")
        with pytest.raises(cw.ClasswiseError, match="add #table to the address"):
            cw.summarize("shop.duckdb", target="y")
        with pytest.raises(cw.ClasswiseError, match=r"cannot be read: .*nowhere"):
            cw.summarize("SELECT * FROM nowhere", target="y")
        with pytest.raises(cw.ClasswiseError, match="y is missing"):
            cw.summarize(ROWS)
        with pytest.raises(cw.ClasswiseError, match="leave y out"):
            cw.summarize(ROWS, ROWS["y"], target="y")
        with pytest.raises(cw.ClasswiseError, match="has no columns with names"):
            cw.summarize(np.zeros((3, 2)), target="y")
        with pytest.raises(cw.ClasswiseError, match="columns=3 is not the name of a column"):
            cw.summarize(ROWS, target="y", columns=[3])

    def test_passwords_stay_out_of_messages(self):
        with pytest.raises(cw.ClasswiseError) as problem:
            cw.summarize("postgresql://me:secret@127.0.0.1:1/shop#people", target="y")
        assert "secret" not in str(problem.value)
        assert "'people' in postgresql://127.0.0.1:1/shop cannot be read" in str(problem.value)
