"""Requests that are wrong, each in one way: a reason comes back, with row and column, and never a failure."""

import io
import json
from http import HTTPStatus

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import classwise as cw
from classwise.serve import Limits
from serving import ARROW, PROBLEM, Client, stream

NAMES = ["height", "price", "visits", "wins", "member", "city"]


def fit(**options):
    generator, count = np.random.default_rng(0), 120
    codes = generator.integers(2, size=count)
    frame = pd.DataFrame(
        {
            "height": generator.normal(codes * 2.0, 1.0),
            "price": np.exp(generator.normal(codes * 0.5, 0.7)),
            "visits": generator.poisson(2.0 + codes),
            "wins": generator.binomial(6, 0.3 + 0.3 * codes),
            "member": generator.random(count) < 0.3 + 0.4 * codes,
            "city": np.array(["Oslo", "Rome", "Lima"], dtype=object)[generator.integers(3, size=count)],
        }
    )
    families = {"price": "lognormal", "visits": "poisson", "wins": "binomial(6)"}
    return cw.NaiveBayes(families=families, **options).fit(frame, np.where(codes == 1, "yes", "no"))


@pytest.fixture(scope="module")
def model():
    return fit()


@pytest.fixture(scope="module")
def client(model):
    return Client({"people": model}, Limits(rows=500, body_bytes=100_000))


def good(place=0):
    return {"height": 1.5 + place, "price": 2.0, "visits": 3, "wins": 2, "member": True, "city": "Oslo"}


def rows_with(place, **values):
    """So many good rows, and one with other values."""
    return {"rows": [*(good(i) for i in range(place)), {**good(), **values}]}


def refused(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    told = answer.json()
    assert told["status"] == status
    assert told["title"] == HTTPStatus(status).phrase
    assert len(told["detail"]) > 20
    return told


# One column at a time -----------------------------------------------------------------------------------------------

MISFITS = [
    ("height", "1.5", "'1.5' is text"),
    ("height", True, "true is yes/no"),
    ("height", [1], "a list is not a number"),
    ("height", {"a": 1}, "an object is not a number"),
    ("height", 1e150, "not below 1e150"),
    ("height", 10**150 - 1, "not below 1e150"),
    ("height", 1e200, "not below 1e150"),
    ("height", 10**400, "not below 1e150"),
    ("height", -(10**151), "not below 1e150"),
    ("price", 0, "numbers above 0"),
    ("price", -1.5, "numbers above 0"),
    ("visits", 2.5, "whole numbers from 0 on"),
    ("visits", -1, "whole numbers from 0 on"),
    ("wins", 7, "whole numbers from 0 to N"),
    ("member", "yes", "the column holds yes/no"),
    ("member", 1, "the column holds yes/no"),
    ("city", 5, "the column holds text"),
    ("city", False, "the column holds text"),
    ("city", ["Oslo"], "a list is not a level"),
]


@pytest.mark.parametrize(("column", "value", "reason"), MISFITS)
@pytest.mark.parametrize("place", [0, 7])
def test_a_value_is_blamed_by_row_and_column(client, column, value, reason, place):
    told = refused(client.post("/predict", rows_with(place, **{column: value})), 422)
    assert (told["row"], told["column"]) == (place, column)
    assert told["detail"].startswith(f"Row {place}, column '{column}': ")
    assert reason in told["detail"]


@pytest.mark.parametrize(("column", "value", "reason"), MISFITS)
def test_the_same_in_columns(client, column, value, reason):
    columns = {name: [good()[name]] * 4 for name in NAMES}
    columns[column] = [*columns[column][:3], value]
    told = refused(client.post("/predict", {"columns": columns}), 422)
    assert (told["row"], told["column"]) == (3, column)
    assert reason in told["detail"]


def test_null_is_a_missing_value(client, model):
    row = dict.fromkeys(NAMES)
    answer = client.post("/predict", {"rows": [row]})
    assert answer.status_code == 200
    np.testing.assert_allclose(answer.json()["posteriors"][0], model.priors_, atol=1e-12)


def test_missing_values_are_refused_by_a_model_that_takes_none():
    strict = Client(fit(missing="error"))
    assert strict.post("/predict", {"rows": [good()]}).status_code == 200
    for name in NAMES:
        told = refused(strict.post("/predict", rows_with(2, **{name: None})), 422)
        assert (told["row"], told["column"]) == (2, name)
    table = pa.Table.from_pylist([good(), {**good(), "city": None}, {**good(), "height": None}])
    told = refused(strict.post("/predict", stream(table), ARROW), 422)
    assert (told["row"], told["column"]) == (2, "height")
    table = pa.Table.from_pylist([good(), {**good(), "city": None}])
    told = refused(strict.post("/predict", stream(table), ARROW), 422)
    assert (told["row"], told["column"]) == (1, "city")


def test_unseen_levels_are_refused_only_without_smoothing(client):
    assert client.post("/predict", rows_with(1, city="Atlantis")).status_code == 200
    told = refused(Client(fit(smoothing=0.0)).post("/predict", rows_with(1, city="Atlantis")), 422)
    assert (told["row"], told["column"]) == (1, "city")
    assert "never seen" in told["detail"]


def test_a_row_that_no_class_can_score_is_found():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    lone = Client(
        cw.NaiveBayes(families={0: "categorical"}, smoothing=0.0).fit([["a"], ["b"], ["c"], ["d"]], list("xxyy"))
    )
    assert lone.post("/predict", {"rows": [["a"], ["d"]]}).status_code == 200
    far = Client(cw.QDA().fit(X * 1e-140, [0, 0, 0, 1, 1, 1]))
    told = refused(far.post("/predict", {"rows": [[0.0]] * 11 + [[1e149]] + [[0.0]] * 5}), 422)
    assert told["row"] == 11


# A thousand malformed requests of twenty-four kinds ------------------------------------------------------------------

TABLE = pa.Table.from_pylist([good(i) for i in range(5)])


def body(content) -> bytes:
    return json.dumps(content).encode()


KINDS = {
    "text for a number": (422, lambda i: body(rows_with(i % 9, height=str(i)))),
    "yes for a number": (422, lambda i: body(rows_with(i % 9, visits=bool(i % 2)))),
    "number for text": (422, lambda i: body(rows_with(i % 9, city=i))),
    "out of range": (422, lambda i: body(rows_with(i % 9, wins=7 + i))),
    "too large a number": (422, lambda i: body(rows_with(i % 9, height=10 ** (150 + i)))),
    "a column too many": (422, lambda i: body(rows_with(i % 9, **{f"extra{i}": 1}))),
    "a column too few": (422, lambda i: body({"rows": [{n: v for n, v in good().items() if n != NAMES[i % 6]}]})),
    "a list too short": (422, lambda i: body({"rows": [list(good().values())[: i % 6]]})),
    "a row of another kind": (422, lambda i: body({"rows": [good(), [3, "x", None, True, 2.5][i % 5]]})),
    "rows of another kind": (422, lambda i: body({"rows": [good(), "x", 3, None, True][1 + i % 4]})),
    "no rows": (422, lambda i: body([{"rows": []}, {}, {"columns": {n: [] for n in NAMES}}, [], 7, None][i % 6])),
    "rows and columns": (422, lambda i: body({"rows": [good(i)], "columns": {}})),
    "uneven columns": (422, lambda i: body({"columns": {n: [good()[n]] * (1 + (n == NAMES[i % 6])) for n in NAMES}})),
    "an unknown member": (422, lambda i: body({"rows": [good()], f"output{i}": "label"})),
    "a wrong option": (422, lambda i: body({"rows": [good()], **OPTIONS[i % len(OPTIONS)]})),
    "a key twice": (400, lambda i: body({"rows": [good(i)]}).replace(b'"price"', b'"height"')),
    "NaN": (400, lambda i: body(rows_with(i % 9, height=[np.nan, np.inf, -np.inf][i % 3]))),
    "cut short": (400, lambda i: body({"rows": [good(i)]})[: 1 + i]),
    "not UTF-8": (400, lambda i: body({"rows": [good()]}) + bytes([0x80 + i])),
    "another encoding": (
        400,
        lambda i: body({"rows": [good(i)]}).decode().encode(["utf-16", "utf-32", "utf-8-sig"][i % 3]),
    ),
    "empty": (400, lambda i: b" \n\t"[: i % 4]),
    "nested": (400, lambda i: b'{"rows": ' + b"[" * (2000 + i)),
    "endless digits": (400, lambda i: b'{"rows": [[' + b"9" * (5000 + i) + b"]]}"),
    "too many rows": (413, lambda i: body({"rows": [[1]] * (501 + i)})),
}

OPTIONS = [
    {"output": "labels"},
    {"output": 3},
    {"output": ["label"]},
    {"reject": 2},
    {"reject": "0.5"},
    {"reject": True},
    {"priors": {"yes": 0.5}},
    {"priors": {"yes": 0.7, "no": 0.7}},
    {"priors": {"yes": 0.5, "other": 0.5}},
    {"priors": {"yes": "0.5", "no": 0.5}},
    {"priors": {"yes": -0.5, "no": 1.5}},
    {"priors": 10**400},
    {"priors": [0.5, 0.5]},
    {"priors": "empirical"},
    {"keep": ["city"]},
    {"keep": "city"},
]


@pytest.mark.parametrize("kind", KINDS)
def test_malformed(client, kind):
    status, make = KINDS[kind]
    for variant in range(45):
        told = refused(client.post("/predict", make(variant)), status)
        assert "None" not in told["detail"]


ARROW_KINDS = {
    "not Arrow": (400, lambda i: bytes(range(i % 200 + 1))),
    "cut short": (400, lambda i: stream(TABLE)[: 8 + 40 * (i % 15)]),
    "empty": (400, lambda i: b""),
    "no rows": (422, lambda i: stream(TABLE.slice(0, 0))),
    "a column too few": (422, lambda i: stream(TABLE.drop_columns([NAMES[i % 6]]))),
    "a column too many": (422, lambda i: stream(TABLE.append_column(f"extra{i}", TABLE["wins"]))),
    "a column twice": (422, lambda i: stream(TABLE.append_column("wins", TABLE["wins"]))),
    "text for a number": (422, lambda i: stream(TABLE.set_column(0, "height", TABLE["city"]))),
    "yes for a number": (422, lambda i: stream(TABLE.set_column(0, "height", TABLE["member"]))),
    "number for text": (422, lambda i: stream(TABLE.set_column(5, "city", TABLE["wins"]))),
    "number for yes": (422, lambda i: stream(TABLE.set_column(4, "member", TABLE["wins"]))),
    "dates": (422, lambda i: stream(TABLE.set_column(0, "height", TABLE["wins"].cast(pa.timestamp("s"))))),
    "nested": (422, lambda i: stream(TABLE.append_column("extra", pa.array([[1]] * 5)))),
    "infinity": (422, lambda i: stream(TABLE.set_column(0, "height", pa.array([1.0, 2.0, np.inf, 4.0, 5.0])))),
    "too many rows": (413, lambda i: stream(pa.concat_tables([TABLE] * 101))),
}


@pytest.mark.parametrize("kind", ARROW_KINDS)
def test_malformed_arrow(client, kind):
    status, make = ARROW_KINDS[kind]
    for variant in range(15):
        refused(client.post("/predict", make(variant), ARROW), status)


def test_arrow_streams_with_flipped_bits(client):
    """Whatever a damaged stream says of offsets and lengths, it is an answer or a reason, not the end of the server."""
    generator, sound = np.random.default_rng(0), bytearray(stream(TABLE))
    for _ in range(300):
        damaged = bytearray(sound)
        for place in generator.integers(len(sound), size=3).tolist():
            damaged[place] ^= 1 << int(generator.integers(8))
        assert client.post("/predict", bytes(damaged), ARROW).status_code in (200, 400, 413, 422)


def test_arrow_streams_that_would_grow(client):
    """A little text that is meant a million times, a dictionary of everything, zeros squeezed together: refused."""
    zeros = pa.table({name: pa.array(np.zeros(400)) for name in NAMES})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, zeros.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(zeros)
    assert "compressed" in refused(client.post("/predict", sink.getvalue().to_pybytes(), ARROW), 422)["detail"]
    city = pa.DictionaryArray.from_arrays(pa.array([0] * 5), pa.array([str(i) for i in range(501)]))
    refused(client.post("/predict", stream(TABLE.set_column(5, "city", city)), ARROW), 413)
    squeezed = pa.BufferOutputStream()
    with pa.ipc.new_stream(
        squeezed,
        TABLE.set_column(5, "city", city).schema,
        options=pa.ipc.IpcWriteOptions(compression="lz4"),
    ) as writer:
        writer.write_table(TABLE.set_column(5, "city", city))
    assert "compressed" in refused(client.post("/predict", squeezed.getvalue().to_pybytes(), ARROW), 422)["detail"]
    view = views_of_one_text("x" * 5000, 400)
    table = pa.table({**{name: pa.array([TABLE[name][0].as_py()] * 400) for name in NAMES[:5]}, "city": view})
    assert "many times" in refused(client.post("/predict", stream(table), ARROW), 413)["detail"]


def views_of_one_text(text, count):
    """An array of so many views, all of the same text."""
    one = pa.array([text], pa.string_view())
    _, views, held = one.buffers()
    return pa.Array.from_buffers(pa.string_view(), count, [None, pa.py_buffer(views.to_pybytes()[:16] * count), held])


def test_arrow_columns_are_counted_before_they_are_read(model):
    client = Client({"people": model})
    wide = stream(pa.table({f"x{j}": pa.nulls(1, pa.int8()) for j in range(40_000)}))
    told = refused(client.post("/predict", wide, ARROW), 413)
    assert "40000 columns" in told["detail"]
    assert "the limit is 1006" in told["detail"]
    kept = TABLE
    for j in range(300):
        kept = kept.append_column(f"k{j}", TABLE["wins"])
    query = f"/predict?output=label&keep={','.join(f'k{j}' for j in range(300))}"
    made = pa.ipc.open_stream(client.post(query, stream(kept), ARROW).content).read_all()
    assert made.num_columns == 301
    few = Client({"people": model}, Limits(extra_columns=299))
    assert "306 columns, and the limit is 305" in refused(few.post(query, stream(kept), ARROW), 413)["detail"]


def test_arrow_dictionaries_are_gone_through_once(model):
    """However many batches share one; a dictionary that takes the place of another is another."""
    first, second = pa.array([f"city {i}" for i in range(100_000)] + ["Oslo"]), pa.array(["Lima", "Oslo", "Rome"])
    batches = [(100_000, first)] * 300 + [(0, second), (1, second), (100_000, first)]
    tables = [
        TABLE.slice(0, 1).set_column(5, "city", pa.DictionaryArray.from_arrays(pa.array([place], pa.int32()), levels))
        for place, levels in batches
    ]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    answer = Client({"people": model}).post("/predict?keep=city", sink.getvalue().to_pybytes(), ARROW)
    made = pa.ipc.open_stream(answer.content).read_all()
    cities = ["Oslo"] * 300 + ["Lima", "Oslo", "Oslo"]
    assert made["city"].to_pylist() == cities
    expected = model.predict_proba(pd.DataFrame([{**good(), "city": city} for city in cities]))
    np.testing.assert_allclose(made["posterior_yes"].to_numpy(), expected[:, 1], atol=1e-12)


def test_arrow_dictionaries_that_grow_are_refused(client):
    """Each batch would have the whole dictionary of its own: a small stream that takes all memory."""
    levels = ["Oslo", "Rome", "Lima"]
    cities = [
        pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(levels[:count])) for count in (1, 2, 3)
    ]
    tables = [TABLE.slice(0, 1).set_column(5, "city", city) for city in cities]
    sink, options = pa.BufferOutputStream(), pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.ipc.new_stream(sink, tables[0].schema, options=options) as writer:
        for table in tables:
            writer.write_table(table)
    answer = client.post("/predict", sink.getvalue().to_pybytes(), ARROW)
    assert "emit_dictionary_deltas=False" in refused(answer, 422)["detail"]


def test_a_key_that_stands_twice_among_many(client):
    body = "{" + ", ".join(f'"{i}": 0' for i in [*range(7_000), 6_999]) + "}"
    assert "'6999'" in refused(client.post("/predict", body.encode()), 400)["detail"]


def test_arrow_infinity_is_blamed_by_row_and_column(client):
    table = TABLE.set_column(0, "height", pa.array([1.0, 2.0, np.inf, 4.0, 5.0]))
    told = refused(client.post("/predict", stream(table), ARROW), 422)
    assert (told["row"], told["column"]) == (2, "height")


# Arrow, in other clothes --------------------------------------------------------------------------------------------


def test_arrow_columns_may_be_of_any_width_and_order(client, model):
    expected = client.post("/predict", {"rows": TABLE.to_pylist()}).json()["posteriors"]
    dressed = {
        "city": TABLE["city"].dictionary_encode(),
        "member": TABLE["member"],
        "wins": TABLE["wins"].cast(pa.uint8()),
        "visits": TABLE["visits"].cast(pa.decimal128(21, 2)),
        "price": TABLE["price"].cast(pa.float32()),
        "height": TABLE["height"].cast(pa.float16()),
    }
    for city in (dressed["city"], TABLE["city"].cast(pa.large_string()), TABLE["city"].cast(pa.string_view())):
        answer = client.post("/predict", stream(pa.table({**dressed, "city": city})), ARROW)
        made = pa.ipc.open_stream(answer.content).read_all()
        assert made.column_names == ["label", "posterior_no", "posterior_yes"]
        np.testing.assert_allclose(made["posterior_yes"].to_numpy(), np.array(expected)[:, 1], atol=1e-12)


@pytest.mark.parametrize("type", [pl.String, pl.Categorical, pl.Enum(["Lima", "Oslo", "Rome"])])
def test_what_polars_writes(client, type):
    frame = pl.from_arrow(TABLE).with_columns(pl.col("city").cast(type))
    sink = io.BytesIO()
    frame.write_ipc_stream(sink)
    made = pa.ipc.open_stream(client.post("/predict", sink.getvalue(), ARROW).content).read_all()
    assert made["label"].to_pylist() == client.post("/predict", {"rows": TABLE.to_pylist()}).json()["label"]


def test_arrow_carries_keys_along(client):
    keyed = TABLE.append_column("id", pa.array([10, 11, 12, 13, 14])).append_column("note", pa.array(list("abcde")))
    answer = client.post("/predict?output=label&keep=id,note,city", stream(keyed), ARROW)
    made = pa.ipc.open_stream(answer.content).read_all()
    assert made.column_names == ["id", "note", "city", "label"]
    assert made["id"].to_pylist() == [10, 11, 12, 13, 14]
    refused(client.post("/predict?keep=id", stream(keyed), ARROW), 422)  # what of the note?
    refused(client.post("/predict?keep=id,note,other", stream(keyed), ARROW), 422)
    labeled = TABLE.append_column("label", TABLE["city"])
    refused(client.post("/predict?keep=label", stream(labeled), ARROW), 422)
    several = pa.concat_tables([keyed.slice(0, 2), keyed.slice(2)])
    made = pa.ipc.open_stream(client.post("/predict?keep=id,note", stream(several), ARROW).content).read_all()
    assert made["id"].to_pylist() == [10, 11, 12, 13, 14]


# Options ------------------------------------------------------------------------------------------------------------


def test_output(client):
    both = client.post("/predict", {"rows": [good()]}).json()
    label = client.post("/predict", {"rows": [good()], "output": "label"}).json()
    posteriors = client.post("/predict?output=posteriors", {"rows": [good()]}).json()
    assert label == {name: value for name, value in both.items() if name != "posteriors"}
    assert posteriors == {name: value for name, value in both.items() if name != "label"}
    refused(client.post("/predict?output=posteriors", {"rows": [good()], "output": "label"}), 422)


def test_priors_are_those_of_the_request(client, model):
    priors = {"no": 0.99, "yes": 0.01}
    frame = pd.DataFrame([good()])
    expected = model.with_priors(priors).predict_proba(frame)
    told = client.post("/predict", {"rows": [good()], "priors": priors}).json()
    np.testing.assert_allclose(told["posteriors"], expected, atol=1e-12)
    in_address = client.ask(
        "POST",
        "/predict",
        params={"priors": json.dumps(priors)},
        content=stream(pa.Table.from_pylist([good()])),
        headers={"content-type": ARROW},
    )
    made = pa.ipc.open_stream(in_address.content).read_all()
    np.testing.assert_allclose(made["posterior_yes"].to_numpy(), expected[:, 1], atol=1e-12)
    uniform = client.post("/predict", {"rows": [good()], "priors": "uniform"}).json()
    np.testing.assert_allclose(uniform["posteriors"], model.with_priors("uniform").predict_proba(frame), atol=1e-12)


def test_rejected_rows_have_no_label(client):
    rows = [good(), dict.fromkeys(NAMES)]
    told = client.post("/predict", {"rows": rows, "reject": 0.9}).json()
    assert [max(posterior) < 0.9 for posterior in told["posteriors"]] == [label is None for label in told["label"]]
    assert None in told["label"]
    made = client.post("/predict?reject=0.9", stream(pa.Table.from_pylist(rows)), ARROW)
    assert pa.ipc.open_stream(made.content).read_all()["label"].to_pylist() == told["label"]


@pytest.mark.parametrize(
    "query", ["?outputs=label", "?output=x", "?priors={", "?priors=NaN", "?reject=x", "?output=label&output=both"]
)
def test_options_in_the_address_are_checked(client, query):
    refused(client.post(f"/predict{query}", {"rows": [good()]}), 422)
    refused(client.post(f"/predict{query}", stream(TABLE), ARROW), 422)


def test_a_decision_has_costs_of_its_own(model):
    decided = Client(cw.Decision(model, reject=0.1))
    assert decided.post("/predict", {"rows": [good()]}).status_code == 200
    refused(decided.post("/predict", {"rows": [good()], "priors": "uniform"}), 422)
    refused(decided.post("/predict", {"rows": [good()], "reject": 0.5}), 422)


# Whole numbers of many digits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [2**53, 12_345_678_901_234_567_890, 9 * 10**19])
def test_whole_numbers_keep_all_their_digits(first):
    """Levels beyond 2**53, labels of twenty digits: in rows, priors, explanations and answers."""
    levels, codes = [2**53, 2**53 + 1, 2**53 + 2], np.tile([0, 1, 2], 20)
    labels, frame = [first, first + 1, first + 2], pd.DataFrame({"id": np.array(levels)[codes]})
    client = Client(cw.NaiveBayes(families={"id": "categorical"}).fit(frame, [labels[code] for code in codes]))
    told = client.post("/predict", {"rows": [{"id": level} for level in levels]}).json()
    assert told["classes"] == told["label"] == labels
    assert client.post("/predict", {"columns": {"id": [*levels, None]}}).json()["label"][:3] == labels
    priors = {str(label): float(label == labels[2]) for label in labels}
    assert client.post("/predict", {"rows": [[levels[0]]], "priors": priors}).json()["label"] == [labels[2]]
    explained = client.post("/explain", {"row": [levels[1]], "label": labels[1], "against": labels[2]}).json()
    assert (explained["label"], explained["against"]) == (labels[1], labels[2])
    assert explained["shares"][0]["value"] == levels[1]
    table = pa.table({"id": pa.array([*levels, None])})
    for query, last in (("", [labels[0]]), ("?reject=0.8", [None])):
        answer = client.post(f"/predict{query}", stream(table), ARROW)
        found = pa.ipc.open_stream(answer.content).read_all()["label"].to_pylist()
        assert found == [label and type(found[0])(label) for label in labels + last]


# Everything else about a request ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/json-patch+json", "é"]
)
def test_other_types_of_body(client, kind):
    kind = kind.encode() if kind == "é" else kind
    refused(client.post("/predict", {"rows": [good()]}, kind), 415)


def test_a_charset_is_no_other_type(client):
    assert client.post("/predict", {"rows": [good()]}, "Application/JSON; charset=utf-8").status_code == 200


def test_too_many_bytes(client):
    refused(client.post("/predict", b" " * 100_001), 413)


def test_addresses_and_methods(client):
    assert "POST" in refused(client.get("/predict"), 405)["detail"]
    assert client.get("/predict").headers["allow"] == "POST"
    assert "'people'" in refused(client.get("/models/nobody"), 404)["detail"]
    assert "'people'" in refused(client.post("/models/nobody/predict", {"rows": [good()]}), 404)["detail"]
    refused(client.get("/models/people/weights"), 404)
    refused(client.post("/models/people", {}), 405)
    refused(client.ask("DELETE", "/models/people"), 405)
    refused(client.get("/docs"), 404)  # it would load scripts from elsewhere


def test_half_a_surrogate_is_text_too(client):
    assert client.post("/predict", rows_with(0, city="\ud800")).status_code == 200
    told = refused(client.post("/predict", rows_with(0, **{"\ud800": 1})), 422)
    assert told["column"] == "\ud800"


EXPLAIN = {
    "no row": {},
    "another member": {"row": good(), "rows": []},
    "an unknown label": {"row": good(), "label": "maybe"},
    "an unknown rival": {"row": good(), "against": 5},
    "a label against itself": {"row": good(), "label": "yes", "against": "yes"},
    "a column too few": {"row": {"height": 1.0}},
    "not a row": {"row": 3},
    "text for a number": {"row": {**good(), "height": "1"}},
}


@pytest.mark.parametrize("kind", EXPLAIN)
def test_explanations_are_asked_for_as_strictly(client, kind):
    refused(client.post("/explain", EXPLAIN[kind]), 422)


def test_explanations_of_one_label_against_another(client, model):
    told = client.post("/explain", {"row": good(), "label": "no", "against": "yes"}).json()
    assert told["log_odds"] == pytest.approx(model.explain(good(), "no", "yes").log_odds, abs=1e-9)
    refused(client.post("/explain?label=no", {"row": good()}), 422)
