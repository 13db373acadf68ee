"""Files of rows: every format, compressed or not, comes back as it was; what cannot be read says why."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import classwise as cw
from classwise.errors import ClasswiseError
from classwise.rows import texts
from classwise.rows.files import RowFile, read_rows
from classwise.rows.formats import Format, find_format
from classwise.rows.sinks import spooled, write_rows, writing
from classwise.rows.streams import open_stream
from classwise.rows.texts import WiderTypeError

ROWS = pa.table(
    {
        "age": [31, None, 57],
        "height": [1.5, 2.25, None],
        "smoker": [True, False, None],
        "city": ["Rome", "Aix, en Provence", 'the "Hague"'],
    }
)
NAMES = ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.ndjson", "a.parquet", "a.feather", "a.arrow"]
COMPRESSED = ["a.csv.gz", "a.csv.zst", "a.tsv.gz", "a.jsonl.gz", "a.jsonl.zst", "a.json.gz"]


def written(folder, text, name="rows.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


@pytest.mark.parametrize("name", NAMES + COMPRESSED)
def test_every_format_comes_back(tmp_path, name):
    path = str(tmp_path / name)
    write_rows(ROWS, path)
    assert read_rows(path).to_pydict() == ROWS.to_pydict()
    assert read_rows(path, ["city", "age"]).column_names == ["city", "age"]
    assert [batch.num_rows for batch in RowFile(path).batches(2)] in ([2, 1], [3])  # Arrow files keep their batches
    assert RowFile(path).names() == ROWS.column_names


def test_text_is_quoted_only_where_it_must_be(tmp_path):
    write_rows(ROWS.select(["age", "smoker"]), str(tmp_path / "plain.csv"))
    assert (tmp_path / "plain.csv").read_text() == "age,smoker\n31,true\n,false\n57,\n"
    write_rows(ROWS.select(["city"]), str(tmp_path / "quoted.csv"))
    assert (tmp_path / "quoted.csv").read_text() == 'city\n"Rome"\n"Aix, en Provence"\n"the ""Hague"""\n'


def test_what_is_no_number_has_no_place_in_json(tmp_path):
    write_rows(pa.table({"x": [float("nan"), float("inf"), 1.0]}), str(tmp_path / "a.jsonl"))
    assert (tmp_path / "a.jsonl").read_text() == '{"x": null}\n{"x": null}\n{"x": 1.0}\n'


class TestTypes:
    @pytest.mark.parametrize(
        ("values", "type"),
        [
            ("1 2 3", "int64"),
            ("1 2.5 3", "double"),
            ("1 ? NA", "int64"),
            ("1 . 2", "int64"),
            ("1 x 3", "string"),
            ("true False TRUE", "bool"),
            ("yes no yes", "string"),
            ("t f t", "string"),
            ("2026-01-01 2026-01-02 NA", "date32[day]"),
        ],
    )
    def test_values_tell(self, tmp_path, values, type):
        path = written(tmp_path, "\n".join(["id,v", *(f"a,{value}" for value in values.split())]))
        assert str(read_rows(path)["v"].type) == type

    def test_the_last_row_counts(self, tmp_path):
        path = written(tmp_path, "v,w\n" + "1,2\n" * 60_000 + "x,2\n")
        assert str(read_rows(path)["v"].type) == "string"

    def test_text_is_text_if_asked(self, tmp_path):
        path = written(tmp_path, "zip,v\n81234,1\n99999,2\n")
        assert read_rows(path, text=["zip"])["zip"].to_pylist() == ["81234", "99999"]
        assert str(read_rows(path)["zip"].type) == "int64"

    def test_missing_values_are_what_is_said(self, tmp_path):
        path = written(tmp_path, "v,w\n-9,NA\n1,b\n,\n")
        assert read_rows(path, missing=["-9"]).to_pydict() == {"v": [None, 1, None], "w": ["NA", "b", None]}
        assert read_rows(path).to_pydict() == {"v": [-9, 1, None], "w": [None, "b", None]}

    def test_a_mark_may_hold_what_separates_columns(self, tmp_path):
        path = tmp_path / "rows.csv"
        path.write_text('v,w\n"-9,0",a\n"1,5",NA\n')
        assert read_rows(path, missing=["-9,0"]).to_pydict() == {"v": [None, "1,5"], "w": ["a", "NA"]}

    def test_missing_values_in_other_formats(self, tmp_path):
        for name in ("a.parquet", "a.jsonl", "a.feather"):
            write_rows(pa.table({"v": [-9, 1], "w": ["?", "it's"]}), str(tmp_path / name))
            path = str(tmp_path / name)
            assert read_rows(path, missing=["-9", "it's"]).to_pydict() == {"v": [None, 1], "w": ["?", None]}
            assert read_rows(path).to_pydict() == {"v": [-9, 1], "w": ["?", "it's"]}


LATE = texts.SAMPLE + 10  # rows after those by which types are told at first

# What one value makes of a column of whole numbers, wherever it stands.
ODD = {
    "007": "string",
    "-007": "string",
    "1_0": "string",
    "0x1A": "string",
    "x": "string",
    "true": "string",
    "2026-01-31": "string",
    "12345678901234567890": "double",
    "2.5": "double",
    "+5": "int64",
    " 5": "int64",
    "1e3": "double",
    "inf": "double",
}


class TestOneTypeAColumn:
    """Types are those of all values, wherever they stand, in a table and in a stream."""

    @pytest.mark.parametrize(("value", "type"), ODD.items())
    @pytest.mark.parametrize("place", [0, 50, -1])
    def test_one_value_tells_wherever_it_stands(self, tmp_path, monkeypatch, value, type, place):
        monkeypatch.setattr(texts, "SAMPLE", 20)
        values = [str(1 + i % 5) for i in range(100)]
        values[place] = value
        path = written(tmp_path, "\n".join(["v,w", *(f"{v},a" for v in values)]))
        assert str(read_rows(path)["v"].type) == type
        streamed = begun_again(open_stream(path, exact=["w"]))
        assert str(streamed["v"].type) == {"int64": "double"}.get(type, type)  # whole numbers are numbers in a stream
        if type == "string":
            assert streamed["v"].to_pylist() == values

    def test_it_does_not_depend_on_the_rows_that_are_looked_at_first(self, tmp_path):
        for place in (0, -1):
            values = [str(1 + i % 5) for i in range(LATE)]
            values[place] = "007"
            path = written(tmp_path, "\n".join(["v,w", *(f"{v},a" for v in values)]), f"at{place}.csv")
            assert read_rows(path)["v"].to_pylist() == values
            assert begun_again(open_stream(path))["v"].to_pylist() == values

    @pytest.mark.parametrize(
        ("first", "last", "type"),
        [
            ("2026-01-31", "2026-02-01", "date32[day]"),
            ("2026-01-31", "2026-01-31 10:00", "timestamp[us]"),
            ("2026-01-31", "1-2-10", "string"),
            ("10:00", "11:30:15", "time64[us]"),
            ("10:00", "10:00+02:00", "string"),
            ("true", "False", "bool"),
            ("true", "yes", "string"),
            ("", "2026-01-31", "date32[day]"),
            ("", "x", "string"),
            ("", "", "double"),
        ],
    )
    def test_dates_and_answers(self, tmp_path, monkeypatch, first, last, type):
        monkeypatch.setattr(texts, "SAMPLE", 20)
        path = written(tmp_path, "\n".join(["v,w", *[f"{first},a"] * 30, f"{last},b"]))
        assert str(read_rows(path)["v"].type) == str(begun_again(open_stream(path))["v"].type) == type

    def test_labels_keep_all_their_digits(self, tmp_path):
        labels = ["12345678901234567890", "12345678901234567891"]
        for name, line in (("a.csv", "{},{}"), ("a.jsonl", '{{"y": {}, "x": {}}}')):
            lines = [line.format(label, x) for x in range(5) for label in labels]
            path = written(tmp_path, "\n".join([*(["y,x"] if name == "a.csv" else []), *lines, ""]), name)
            assert RowFile(path, exact=frozenset("y")).table()["y"].to_pylist() == labels * 5
            assert cw.summarize(path, target="y").labels.tolist() == labels
        (tmp_path / "a.jsonl").write_text('{"y": 1234567890123456789012}\n{"y": 1.5}\n')
        assert RowFile(path, exact=frozenset("y")).table()["y"].to_pylist() == ["1234567890123456789012", "1.5"]
        assert RowFile(path).table()["y"].to_pylist() == [1234567890123456789012.0, 1.5]


def begun_again(stream):
    """The one file of a stream, as often as its types ask for."""
    while True:
        try:
            return pa.Table.from_batches(stream.pieces[0].batches(None, 1000))
        except WiderTypeError:
            continue


class TestJson:
    def test_text_and_numbers_are_text(self, tmp_path):
        path = written(
            tmp_path, '{"v": "a b"}\n{"v": 1}\n{"v": 1.5}\n{"v": "q\\"u"}\n{"v": null}\n{"v": true}\n', "a.jsonl"
        )
        expected = ["a b", "1", "1.5", 'q"u', None, "true"]
        assert read_rows(path)["v"].to_pylist() == expected
        assert begun_again(open_stream(path))["v"].to_pylist() == expected

    def test_values_of_several_things_stay_as_they_are_written(self, tmp_path):
        path = written(tmp_path, '{"v": [1, 2], "w": 1}\n{"v": 3, "w": -1}\n', "a.jsonl")
        assert read_rows(path).to_pydict() == {"v": ["[1,2]", "3"], "w": [1, -1]}


NAMES_TO_MATCH = ["a[1]", "a1", "a*", "ab", "a?", "x#1", "x%20y", "x y", "[", "a]", "it's", "select 1", "t.db#x"]


class TestNames:
    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow"])
    def test_a_file_is_the_one_that_is_named(self, tmp_path, suffix):
        for i, name in enumerate(NAMES_TO_MATCH):
            write_rows(pa.table({"v": [i], "w": ["a"]}), str(tmp_path / f"new{suffix}"))
            (tmp_path / f"new{suffix}").rename(tmp_path / (name + suffix))  # to write to t.db#x is to write a table
        for i, name in enumerate(NAMES_TO_MATCH):
            path = str(tmp_path / (name + suffix))
            assert read_rows(path)["v"].to_pylist() == [i]
            assert begun_again(open_stream(path))["v"].to_pylist() == [i]

    def test_a_folder_has_each_file_once(self, tmp_path):
        for i, name in enumerate(NAMES_TO_MATCH):
            written(tmp_path, f"v,y\n{i},a\n", f"{name}.csv")
        assert cw.summarize(tmp_path, target="y").mean.ravel().tolist() == [(len(NAMES_TO_MATCH) - 1) / 2]

    def test_what_is_no_file_is_a_pattern(self, tmp_path):
        for i in range(3):
            written(tmp_path, f"v\n{i}\n", f"a{i}.csv")
        assert read_rows(str(tmp_path / "a[01].csv"))["v"].to_pylist() == [0, 1]
        written(tmp_path, "v\n9\n", "a[01].csv")
        assert read_rows(str(tmp_path / "a[01].csv"))["v"].to_pylist() == [9]
        assert sorted(read_rows(str(tmp_path / "a*.csv"))["v"].to_pylist()) == [0, 1, 2, 9]

    def test_files_whose_columns_are_in_another_order(self, tmp_path):
        written(tmp_path, "a,b\n1,x\n", "1.csv")
        written(tmp_path, "b;a\ny;2\n", "2.csv")
        assert read_rows(str(tmp_path / "*.csv")).to_pydict() == {"a": [1, 2], "b": ["x", "y"]}
        written(tmp_path, "b,c\ny,2\n", "3.csv")
        with pytest.raises(ClasswiseError, match=r"3\.csv lacks the column 'a'"):
            read_rows(str(tmp_path / "*.csv"))


class TestLines:
    @pytest.mark.parametrize("sign", ["#", "%", "//", "--", ";", "'", "\\"])
    @pytest.mark.parametrize("first", ["1", "2026-01-31"])
    def test_no_line_is_a_comment(self, tmp_path, sign, first):
        values = [first] * 20 + [f"{sign}N/A", f"{sign}", first] + [f"{sign} {first}"] * 10
        path = written(tmp_path, "\n".join(["a,b", *(f"{value},1" for value in values)]))
        assert read_rows(path)["a"].to_pylist() == values
        assert begun_again(open_stream(path))["a"].to_pylist() == values

    @pytest.mark.parametrize("text", ["a,b\r1,2\r3,4\r", "\r\ra,b\r1,2\r3,4", 'a,"b"\r1,2\r3,"4"\r'])
    def test_lines_may_end_as_on_old_machines(self, tmp_path, text):
        assert read_rows(written(tmp_path, text)).to_pydict() == {"a": [1, 3], "b": [2, 4]}

    def test_long_fields(self, tmp_path):
        long = "x" * 200_000
        path = written(tmp_path, f"a,b\n{long},1\ny,2\n")
        assert read_rows(path)["a"].to_pylist() == [long, "y"]
        with pytest.raises(ClasswiseError, match="cannot be read"):
            read_rows(written(tmp_path, f"a,b\n{long},1\ny,2,3\n"))
        with pytest.raises(ClasswiseError, match="first line does not name columns"):
            read_rows(written(tmp_path, f"a,{long}\n1,2\n"))

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    @pytest.mark.parametrize("inside", ["\n", "\r\n", "\r"])
    def test_names_may_have_ends_of_lines(self, tmp_path, inside, end):
        path = written(tmp_path, end.join([f'"a{inside}b",c', "1,2", f'3,"4{inside}"', ""]))
        assert read_rows(path).to_pydict() == {f"a{inside}b": [1, 3], "c": [2.0, 4.0]}

    def test_names_may_differ_by_case_alone(self, tmp_path):
        assert read_rows(written(tmp_path, "a,A\n1,2\n")).to_pydict() == {"a": [1], "A": [2]}
        table = pa.table({"a": [1, 2], "A": [3, -9], "A_1": ["x", "y"]})
        pq.write_table(table, tmp_path / "repeated.parquet")
        feather.write_feather(table, tmp_path / "repeated.feather")
        for path in (tmp_path / "repeated.parquet", tmp_path / "repeated.feather"):
            assert read_rows(path).equals(table)
            assert read_rows(path, ["A"], missing=["-9"]).to_pydict() == {"A": [3, None]}
        with pytest.raises(ClasswiseError, match="two of its keys differ by upper and lower case alone"):
            read_rows(written(tmp_path, '{"a": 1, "A": 2}\n', "repeated.jsonl"))

    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    def test_what_stands_between_columns_is_found(self, tmp_path, separator):
        path = written(tmp_path, f"a{separator}b\n1{separator}x\n")
        assert read_rows(path).to_pydict() == {"a": [1], "b": ["x"]}

    @pytest.mark.parametrize("text", ["\ufeffa,b\n1,2\n", "a,b\r\n1,2\r\n", "a,b\n1,2", "a,b\n1,2\n\n"])
    def test_marks_and_ends_of_lines(self, tmp_path, text):
        assert read_rows(written(tmp_path, text)).to_pydict() == {"a": [1], "b": [2]}

    def test_text_alone_still_has_a_first_line_of_names(self, tmp_path):
        assert read_rows(written(tmp_path, "a,b\nx,y\nz,w\n")).to_pydict() == {"a": ["x", "z"], "b": ["y", "w"]}

    def test_one_column(self, tmp_path):
        assert read_rows(written(tmp_path, "a\nx\n")).to_pydict() == {"a": ["x"]}

    @pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
    def test_lines_that_do_not_fit_are_named(self, tmp_path, name):
        sep = "\t" if name.endswith("tsv") else ","
        path = written(tmp_path, f"a{sep}b\n1{sep}2\n1{sep}2{sep}3\n", name)
        with pytest.raises(ClasswiseError, match="line 3 has 3 values, and the first line names 2 columns"):
            read_rows(path)

    @pytest.mark.parametrize("last", ["", "\r\n"])
    def test_lines_that_end_in_two_ways_are_named(self, tmp_path, last):
        path = written(tmp_path, "a,b\n1,2\r\n3,4\n5,6" + last)
        with pytest.raises(ClasswiseError, match="some of its lines end in CR LF, others in LF alone"):
            read_rows(path)

    def test_several_files_are_one(self, tmp_path):
        for i in range(3):
            written(tmp_path, f"a,b\n{i},x\n", f"part-{i}.csv")
        assert read_rows(str(tmp_path / "part-*.csv"))["a"].to_pylist() == [0, 1, 2]
        for i in range(2):
            write_rows(pa.table({"a": [i]}), str(tmp_path / f"part-{i}.feather"))
        assert read_rows(str(tmp_path / "part-*.feather"))["a"].to_pylist() == [0, 1]


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("a.csv", b"", "is empty: its first line must name the columns"),
            ("a.csv", b"a,b\n1,\xff\xfe\n", "not written in UTF-8"),
            ("a.csv", "größe;art\n1;x\n".encode("cp1252"), "not written in UTF-8. From Excel, save it as 'CSV UTF-8'"),
            ("a.parquet", b"nothing", "cannot be read"),
            ("a.feather", b"nothing at all, really nothing", "cannot be read"),
            ("a.json", b"{", "cannot be read"),
            ("a.csv.gz", b"a,b\n1,2\n", "cannot be read|gzip|zlib"),
        ],
    )
    def test_unreadable_files_say_why_in_one_line(self, tmp_path, name, content, words):
        with pytest.raises((ClasswiseError, OSError), match=words) as problem:
            read_rows(written(tmp_path, content, name))
        assert "\n" not in str(problem.value)

    def test_absent_files_and_columns(self, tmp_path):
        with pytest.raises(ClasswiseError, match="There is no file"):
            read_rows(tmp_path / "a.csv")
        with pytest.raises(ClasswiseError, match="There is no file"):
            read_rows(str(tmp_path / "*.csv"))
        path = written(tmp_path, "species,x\na,1\n")
        with pytest.raises(ClasswiseError, match="no column 'speces'; did you mean 'species'"):
            read_rows(path, ["speces"])

    def test_odd_names_are_only_names(self, tmp_path):
        table = pa.table({'a"; DROP TABLE x; --': [1], "b'c": ["x"]})
        write_rows(table, str(tmp_path / "it's.csv"))
        assert read_rows(str(tmp_path / "it's.csv"), table.column_names).to_pydict() == table.to_pydict()


class TestWriting:
    def test_files_are_not_replaced_unless_by_force(self, tmp_path):
        path = written(tmp_path, "old")
        with pytest.raises(ClasswiseError, match="exists already; --force replaces it"):
            write_rows(ROWS, path)
        assert (tmp_path / "rows.csv").read_text() == "old"
        write_rows(ROWS, path, force=True)
        assert read_rows(path).num_rows == 3

    def test_a_failure_leaves_what_was_there(self, tmp_path):
        path = written(tmp_path, "old")
        with pytest.raises(ZeroDivisionError), writing(path, force=True) as file:
            file.write(b"half" * (1 // 0))
        assert [p.name for p in tmp_path.iterdir()] == ["rows.csv"]
        assert (tmp_path / "rows.csv").read_text() == "old"

    def test_new_files_are_as_readable_as_others(self, tmp_path):
        write_rows(ROWS, str(tmp_path / "a.csv"))
        (tmp_path / "b").touch()
        assert (tmp_path / "a.csv").stat().st_mode == (tmp_path / "b").stat().st_mode

    def test_names_must_tell(self, tmp_path):
        with pytest.raises(ClasswiseError, match="does not say in which format to write; end it in"):
            write_rows(ROWS, str(tmp_path / "rows.xlsx"))
        with pytest.raises(ClasswiseError, match="There is no folder"):
            write_rows(ROWS, str(tmp_path / "nowhere" / "rows.csv"))
        assert find_format("rows") == (Format.CSV, None)


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl", "a.parquet", "a.feather", "a.csv.gz", "a.csv.zst"])
def test_streams_are_told_by_their_first_bytes(tmp_path, name):
    path = tmp_path / name
    write_rows(ROWS, str(path))
    with spooled(io.BytesIO(path.read_bytes())) as spool:
        assert read_rows(spool).to_pydict() == ROWS.to_pydict()
    assert not spool.exists()
