"""Random hostile tables in files of every format: what is read, at once or as a stream, is what was written."""

import csv
import datetime
import json
import math
import re
import sys
from contextlib import contextmanager
from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather

import classwise as cw
from classwise.rows import files, texts
from classwise.rows.files import read_rows
from classwise.rows.formats import MISSING
from classwise.rows.streams import open_stream
from classwise.rows.texts import WiderTypeError

MODEL = cw.NaiveBayes().fit(pd.DataFrame({"x": [1.0, 2.0, 8.0, 9.0]}), list("aabb"))

# So few rows tell types at first, that most tables have later ones which tell more.
FEW = 3

NAMES = ["#n", "a b", 'q"u', "it's", "A", "a", "a,b", "two\nlines", "ü", "c0", "v0", "n0", "007", "1"]
ODD = ["#1", "#N/A", "#", "//", "--", "%", "'", '"', '""', "a,b", "a;b", "a\tb", "two\nlines", "old\rline", "\r\n"]
ODD += ["007", "-007", "1_0", "0x1A", "1-2-10", "10:00+02:00", "02/01/2026", "2026-02-30", "yes", "\\", "\\N", "NaN5"]
ODD += ["12345678901234567890", "é", "\u2028", "{}", "[1]", "=1+1", *MISSING]

WHOLE = st.integers(-(10**18), 10**18) | st.integers(-9, 9)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
DAYS = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
TEXTS = st.sampled_from(ODD) | st.text("#\",;\t\n\r ab'é|", max_size=8) | st.just("x" * 140_000)


@st.composite
def columns(draw, values, none=True):
    """Columns by name: each of one sort of values, with others that come late perhaps, and with gaps."""
    rows = draw(st.integers(1, 9))
    found = {}
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)):
        sorts = draw(st.lists(st.sampled_from(values), min_size=1, max_size=2))
        late = draw(st.integers(0, rows))
        column = [draw(sorts[0] if i < late else sorts[-1]) for i in range(rows)]
        found[name] = [None if none and draw(st.integers(0, 5)) == 0 else value for value in column]
    return found


WRITTEN = [
    WHOLE.map(str),
    NUMBERS.map(repr),
    st.sampled_from([" 5", "+7", "1e3", "-.5", "5.", "inf"]),
    st.sampled_from(["true", "False", "TRUE"]),
    DAYS.map(str),
    TEXTS,
]
FILE_NAMES = st.text("[]*?#% a!-", min_size=1, max_size=8).map(lambda name: f"f{name}")


@contextmanager
def long_fields():
    """The reader of Python takes them, if asked to."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


# What text holds, in Python ---------------------------------------------------------------------------------------

WHOLE_TEXT = re.compile(r"\s*[+-]?(0|[1-9][0-9]*)\s*")
NUMBER_TEXT = re.compile(r"\s*[+-]?(((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|inf|nan)\s*", re.I)


def is_day(text):
    try:
        return bool(re.fullmatch(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}", text) and datetime.date.fromisoformat(text))
    except ValueError:
        return False


def held(texts, whole):
    """The type and the values of a column of text."""
    known = [text for text in texts if text is not None]

    def each(function):
        return [None if text is None else function(text) for text in texts]

    if all(NUMBER_TEXT.fullmatch(text) for text in known):
        is_whole = known and all(WHOLE_TEXT.fullmatch(text) and abs(int(text)) < 2**63 for text in known)
        return ("int64", each(int)) if whole and is_whole else ("double", each(float))
    if all(text.lower() in ("true", "false") for text in known):
        return "bool", each(lambda text: text.lower() == "true")
    return ("date32[day]", each(datetime.date.fromisoformat)) if all(map(is_day, known)) else ("string", texts)


def unmarked(texts):
    return [None if text in (None, "", *MISSING) else text for text in texts]


# Files ------------------------------------------------------------------------------------------------------------


def write_texts(path, table, separator, end):
    with path.open("w", newline="", encoding="utf-8") as file:
        # Python writes an end of line that is not its own without quotes, and no reader could tell.
        odd = any("\r" in (value or "") for values in table.values() for value in values)
        for rows, quoting in (([table], csv.QUOTE_ALL), (zip(*table.values(), strict=True), int(odd))):
            csv.writer(file, delimiter=separator, lineterminator=end, quoting=quoting).writerows(rows)


def read_texts(path):
    with path.open(newline="", encoding="utf-8") as file, long_fields():
        header, *rows = csv.reader(file)
        return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def write_lines(path, table):
    rows = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def streamed(path, exact=()):
    """The rows of a file as a stream hands them over, begun again as often as it asks for."""
    (piece,) = open_stream(str(path), exact=exact).pieces
    while True:
        try:
            return pa.Table.from_batches(piece.batches(None, 2))
        except WiderTypeError:
            continue


def same(found, expected):
    """Whether a table has these columns, of these types and values; NaN is the same as itself."""
    assert found.column_names == list(expected)
    for name, (type, values) in expected.items():
        assert (name, str(found[name].type)) == (name, type)
        assert [repr(value) for value in found[name].to_pylist()] == [repr(value) for value in values]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for each example, which has no other file."""
    monkeypatch.setattr(texts, "SAMPLE", FEW)
    numbers = count()

    def make():
        made = tmp_path / str(next(numbers))
        made.mkdir()
        return made

    return make


fuzzed = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)


@pytest.mark.parametrize("wide", [texts.WIDE, 1])  # as few columns are read, and as very many are
@fuzzed
@given(
    table=columns(WRITTEN),
    name=FILE_NAMES,
    suffix=st.sampled_from([".csv", ".tsv"]),
    separator=st.sampled_from(",;|"),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_text(folder, monkeypatch, wide, table, name, suffix, separator, end):
    monkeypatch.setattr(files, "WIDE", wide)
    path = folder() / f"{name}{suffix}"
    (path.parent / f"fa{suffix}").write_text("other\n1\n2\n")  # which a pattern would find instead
    write_texts(path, table, "\t" if suffix == ".tsv" else separator if len(table) > 1 else ",", end)
    expected = {name: unmarked(texts) for name, texts in table.items()}
    same(read_rows(path), {name: held(texts, whole=True) for name, texts in expected.items()})
    same(streamed(path), {name: held(texts, whole=False) for name, texts in expected.items()})


TYPED = [WHOLE, NUMBERS, st.booleans(), TEXTS]


def one_type(table):
    """Columns of one type each, as typed files have them."""
    types = [{type(value) for value in values if value is not None} for values in table.values()]
    return all(len(found) == 1 for found in types)


@fuzzed
@given(table=columns(TYPED).filter(one_type), name=FILE_NAMES, suffix=st.sampled_from([".parquet", ".arrow"]))
def test_typed(folder, table, name, suffix):
    path = folder() / f"{name}{suffix}"
    table = {name: values for name, values in table.items() if name != "a"}  # DuckDB knows one of "a" and "A"
    written = pa.table(table) if table else pa.table({"b": [1]})
    (pq.write_table if suffix == ".parquet" else feather.write_feather)(written, path)
    expected = {name: (str(written[name].type), written[name].to_pylist()) for name in written.column_names}
    same(read_rows(path), expected)
    same(streamed(path), expected)


@fuzzed
@given(table=columns(TYPED), name=FILE_NAMES)
def test_json_lines(folder, table, name):
    """A column of one type has it, of numbers is one of numbers, and else is one of text, without quotes."""
    path = folder() / f"{name}.jsonl"
    table = {name: values for name, values in table.items() if name != "a"} or {"b": [1]}
    write_lines(path, table)
    expected = {name: told(values) for name, values in table.items()}
    same(read_rows(path), expected)
    same(streamed(path), expected)


def told(values):
    """The type and the values of a column of JSON."""
    types = {type(value) for value in values if value is not None}
    if types <= {int, float}:
        return ("int64", values) if types == {int} else ("double", [v if v is None else float(v) for v in values])
    if types == {bool}:
        return "bool", values
    known = [value for value in values if value is not None]
    if types == {str} and all(map(is_day, known)):
        return "date32[day]", [v and datetime.date.fromisoformat(v) for v in values]
    return "string", [None if v is None else v if isinstance(v, str) else json.dumps(v) for v in values]


@fuzzed
@given(
    table=columns(WRITTEN, none=False), name=FILE_NAMES, x=st.lists(st.sampled_from(["1.50", "NA", " 9 ", "8e0", ""]))
)
def test_what_goes_along(folder, table, name, x):
    """Text comes out as it stands in the file, also where the model reads numbers; in Parquet those are numbers."""
    path, n = folder() / f"{name}.csv", len(next(iter(table.values())))
    table = {**table, "x": [*x, *["2"] * n][:n]}
    write_texts(path, table, ",", "\n")
    assert cw.predict(MODEL, str(path), path.parent / "out.csv") == n
    found = read_texts(path.parent / "out.csv")
    assert {name: found[name] for name in table} == table
    numbers = np.array([math.nan if text in ("", "NA") else float(text) for text in table["x"]])
    assert found["label"] == MODEL.predict(pd.DataFrame({"x": numbers})).tolist()
    cw.predict(MODEL, str(path), path.parent / "out.parquet")
    kept = pq.read_table(path.parent / "out.parquet").select(list(table))
    same(
        kept.drop_columns(["x"]), {name: ("string", [v or None for v in table[name]]) for name in table if name != "x"}
    )
    np.testing.assert_array_equal(kept["x"].to_pandas(), numbers)
