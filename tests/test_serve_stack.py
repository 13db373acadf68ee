"""A server with a stack: it tells of its members, explains, takes other priors, and is replaced while it runs."""

import asyncio
import shutil

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import classwise as cw
from serving import Client
from sql_tables import CASES, plain

CASE = CASES["penguins"]()
ROWS = [
    dict(zip(CASE.types, row, strict=True))
    for row in zip(*(plain(CASE.new[name], kind) for name, kind in CASE.types.items()), strict=True)
]


@pytest.fixture(scope="module")
def stack():
    return cw.AutoClassifier(members="fast", folds=3).fit(CASE.rows, CASE.labels)


def test_it_tells_of_its_members(stack, tmp_path):
    cw.save(stack, tmp_path / "birds.cw", source="birds.csv")
    client = Client(tmp_path / "birds.cw")
    told = client.get("/model").json()
    assert told["kind"] == "AutoClassifier"
    assert told["priors"] == stack.priors_.tolist()
    assert {member["name"]: member["weight"] for member in told["members"]} == stack.weights_
    assert told["log_loss"] == stack.report_.log_loss
    assert [column["name"] for column in told["columns"]] == list(CASE.rows)
    assert told["columns"][0]["levels"] == ["Biscoe", "Dream", "Torgersen"]
    assert told["provenance"]["rows"] == len(CASE.rows)
    schema = client.get("/openapi.json").json()
    assert "/explain" in schema["paths"]
    assert Client(cw.Decision(stack, reject=0.1)).get("/model").json()["kind"] == "Decision of AutoClassifier"


def test_explanations_are_those_of_python(stack):
    client = Client(stack)
    for place in (0, 3, len(ROWS) - 1):  # a level never seen, and nothing but gaps
        told, expected = client.post("/explain", {"row": ROWS[place]}).json(), stack.explain(CASE.new.iloc[[place]])
        assert (told["label"], told["against"]) == (expected.label, expected.other)
        assert told["log_odds"] == pytest.approx(expected.log_odds, abs=1e-9)
        assert {s["column"]: s["share"] for s in told["shares"]} == pytest.approx(expected.shares, abs=1e-9)


def test_other_priors_and_reserve(stack):
    client, priors = Client(stack), {"Adelie": 0.1, "Chinstrap": 0.8, "Gentoo": 0.1}
    told = client.post("/predict", {"rows": ROWS, "priors": priors, "reject": 0.9}).json()
    moved = stack.with_priors(priors).predict_proba(CASE.new)
    np.testing.assert_allclose(told["posteriors"], moved, rtol=0, atol=1e-9)
    assert [label is None for label in told["label"]] == (moved.max(axis=1) < 0.9).tolist()


def test_a_stack_takes_the_place_of_another_model(stack, tmp_path):
    model = cw.NaiveBayes().fit(CASE.rows, CASE.labels)
    cw.save(model, tmp_path / "model.cw")
    client = Client(tmp_path / "model.cw")
    cw.save(stack, tmp_path / "next.cw")
    shutil.move(tmp_path / "next.cw", tmp_path / "model.cw")
    asyncio.run(client.app.state.models.look())
    told = client.post("/predict", {"rows": ROWS}).json()
    np.testing.assert_allclose(told["posteriors"], stack.predict_proba(CASE.new), rtol=0, atol=1e-9)
    assert client.get("/model").json()["kind"] == "AutoClassifier"


@pytest.mark.parametrize("families", [{0: "lognormal"}, {0: "poisson"}, {0: "binomial(3)"}], ids=str)
def test_an_example_is_a_row_that_it_takes(families):
    """A stack draws counts and prices as it draws other numbers; what is shown as an example must be taken."""
    values = np.array([1.0, 0.001, 0.002, 3.0] * 10) if families[0] == "lognormal" else np.array([0, 1, 0, 3] * 10)
    labels = np.arange(40) % 2
    stack = cw.AutoClassifier(members="fast", families=families, folds=3).fit(values[:, None], labels)
    client = Client(stack)
    content = client.get("/openapi.json").json()["paths"]["/predict"]["post"]["requestBody"]["content"]
    example = content["application/json"].get("example") or next(iter(content["application/json"]["examples"].values()))
    assert client.post("/predict", example.get("value", example)).status_code == 200


def test_classifiers_of_your_own_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 2)) + (np.arange(40) % 2)[:, None]
    stack = cw.AutoClassifier(members=[GaussianNB(), "class shares"], folds=3).fit(X, np.arange(40) % 2)
    with pytest.raises(cw.ClasswiseError, match=r"The member 'GaussianNB\(\)' is a classifier of your own"):
        Client(stack)
