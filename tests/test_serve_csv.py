"""CSV over HTTP: the same answers as in JSON, and the same refusals."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

import classwise as cw
from classwise.serve import Limits
from serving import Client

CSV = "text/csv"
ROWS = pd.DataFrame(
    {
        "id": ["a,1", 'b"2', "c"],
        "x": [0.5, np.nan, 2.0],
        "flag": [True, False, None],
        "size": [1, 2, 7],
        'odd "name", too': ["red", "never seen", None],
    }
)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = pd.DataFrame({"x": rng.normal(y), "flag": rng.random(80) < 0.3 + 0.4 * y, "size": rng.integers(1, 4, 80)})
    X['odd "name", too'] = np.where(rng.random(80) < 0.5, "red", "NA")
    return cw.NaiveBayes(families={"size": "categorical"}).fit(X, np.array(["no", "yes"])[y])


@pytest.fixture(scope="module")
def client(model):
    return Client(model, limits=Limits(rows=100))


def body(rows: pd.DataFrame) -> bytes:
    return rows.to_csv(index=False).encode()


def read(answer) -> list[dict[str, str]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(CSV)
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_answers_are_those_of_json(client, model):
    features = ROWS.drop(columns="id")
    found = read(client.post("/predict?keep=id", body(ROWS), CSV))
    given = features.astype(object).where(features.notna(), None)
    told = client.post("/predict", {"columns": given.to_dict("list")}).json()
    assert [row["id"] for row in found] == ROWS["id"].tolist()
    assert [row["label"] for row in found] == told["label"]
    posteriors = [[float(row[f"posterior_{label}"]) for label in ("no", "yes")] for row in found]
    np.testing.assert_allclose(posteriors, told["posteriors"], rtol=1e-12)


def test_cells_by_what_their_column_holds(client, model):
    """Yes and no in several words, a mark that is a level of its own column, a byte order mark and blank lines."""
    text = 'x,flag,size,"odd ""name"", too"\r\n1.5,yes,2,NA\r\n\r\n?,0,1.0,red\r\n'
    found = read(client.post("/predict", b"\xef\xbb\xbf" + text.encode(), CSV))
    rows = pd.DataFrame({"x": [1.5, None], "flag": [True, False], "size": [2, 1], 'odd "name", too': ["NA", "red"]})
    expected = model.predict_proba(rows)[:, 1]
    np.testing.assert_allclose([float(row["posterior_yes"]) for row in found], expected, rtol=1e-12)
    assert [row["label"] for row in found] == model.predict(rows).tolist()


def test_options_stand_in_the_address(client):
    found = read(client.post("/predict?keep=id&output=label", body(ROWS), CSV))
    assert [*found[0]] == ["id", "label"]


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        (lambda text: b"", 400, "body is empty"),
        (lambda text: b"\xff\xfe", 400, "not sound CSV"),
        (lambda text: text + b'"open', 400, "not sound CSV"),
        (lambda text: text.splitlines()[0], 422, "no rows"),
        (lambda text: text + b"1,2\n", 422, "has 2 values, and the header 5"),
        (lambda text: text.replace(b"flag", b"x"), 422, "two columns called 'x'"),
        (lambda text: text.replace(b"flag", b"flags"), 422, "flag"),
        (lambda text: text.replace(b"0.5", b"half"), 422, "half"),
        (lambda text: text.replace(b"True", b"maybe"), 422, "maybe"),
        (lambda text: text + b"d,1,True,1,red\n" * 100, 413, "100"),
        (lambda text: text.replace(b"0.5", b"inf"), 422, "1e150"),
    ],
)
def test_what_does_not_fit_is_refused(client, change, status, words):
    answer = client.post("/predict?keep=id", change(body(ROWS)), CSV)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["detail"]


def test_what_else_is_refused(client):
    assert "which the body has not" in client.post("/predict?keep=other", body(ROWS), CSV).json()["detail"]
    assert client.post("/predict", body(ROWS), CSV).status_code == 422  # a column that nobody asked for
    clash = ROWS.rename(columns={"id": "label"})
    assert "a column of the answer" in client.post("/predict?keep=label", body(clash), CSV).json()["detail"]
    assert client.post("/explain", body(ROWS), CSV).status_code == 415
