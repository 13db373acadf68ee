"""The server answers as Python does: the same labels, the same posteriors, whatever the model and the format."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

import classwise as cw
from serving import ARROW, Client, stream
from sql_tables import CASES, MODELS, Case, plain

# What wraps or replaces a Bayes classifier, beside the models that exports are tried on.
OTHERS = {
    "stacked": lambda case: cw.AutoClassifier(members="full", folds=3, families=case.families),
    "stacked, decided": lambda case: cw.Decision(
        cw.AutoClassifier(members="fast", folds=3, families=case.families), reject={"posterior": 0.9}
    ),
    "one-dependence": lambda case: cw.AODE(),
    "forest": lambda case: cw.ForestClassifier(trees=10, families=case.families),
    "mixture": lambda case: cw.MixtureClassifier(components=2, families=case.families),
    "decided": lambda case: cw.Decision(cw.NaiveBayes(families=case.families), reject={"posterior": 0.9}),
    "by costs": lambda case: cw.Decision(cw.NaiveBayes(families=case.families), costs=None, reject=0.2),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]()


def fitted(model, case: Case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(case.rows, case.labels)


def in_json(case: Case) -> dict[str, list]:
    return {name: plain(case.new[name], kind) for name, kind in case.types.items()}


def in_arrow(case: Case) -> pa.Table:
    types = {"number": pa.float64(), "whole": pa.int64(), "text": pa.string(), "yes/no": pa.bool_()}
    return pa.table({name: pa.array(values, types[case.types[name]]) for name, values in in_json(case).items()})


def check(model, case: Case) -> None:
    labels, posteriors = model.predict(case.new).tolist(), model.predict_proba(case.new)
    client, columns = Client({"m": model}), in_json(case)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for content in ({"columns": columns}, {"rows": rows}, {"rows": [list(row.values()) for row in rows]}):
        answer = client.post("/predict", content)
        assert answer.status_code == 200, answer.text
        assert answer.json()["label"] == labels
        assert answer.json()["classes"] == model.classes_.tolist()
        np.testing.assert_allclose(answer.json()["posteriors"], posteriors, rtol=0, atol=1e-9)
    check_arrow(client, in_arrow(case), model, labels, posteriors)
    check_single(client, rows, labels, posteriors)


def check_arrow(client, table, model, labels, posteriors) -> None:
    answer = client.post("/predict", stream(table), ARROW)
    assert answer.status_code == 200, answer.text
    made = pa.ipc.open_stream(answer.content).read_all()
    written = made["label"].to_pylist()
    if made["label"].type == pa.string():  # True or "reject": all of it is text
        labels = [str(label) for label in labels]
    assert written == labels
    names = [name for name in made.column_names if name.startswith("posterior_")]
    np.testing.assert_allclose(np.column_stack([made[n].to_numpy() for n in names]), posteriors, rtol=0, atol=1e-9)


def check_single(client, rows, labels, posteriors) -> None:
    """A row by itself is answered as among others."""
    for place in [*range(12), len(rows) - 1]:
        answer = client.post("/predict", {"rows": [rows[place]]}).json()
        assert answer["label"] == [labels[place]]
        np.testing.assert_allclose(answer["posteriors"], posteriors[place : place + 1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_models(case, name):
    model = clone(MODELS[name])
    model.set_params(families=levels_of(case) if isinstance(model, cw.BayesianLogistic) else case.families)
    check(fitted(model, case), case)


def levels_of(case: Case):
    """The families that a model without densities knows."""
    return "auto" if case.families == "auto" else {n: f for n, f in case.families.items() if f == "categorical"}


@pytest.mark.parametrize("name", OTHERS)
def test_models_made_of_others(case, name):
    check(fitted(OTHERS[name](case), case), case)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_logistic(case, link):
    if link == "probit" and len(set(case.labels.tolist())) > 2:
        pytest.skip("probit is for two classes")
    check(fitted(cw.BayesianLogistic(link=link, families=levels_of(case)), case), case)


def test_a_model_without_names_goes_by_numbers():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(60, 3)) + 1e6, np.repeat([0, 1], 30)
    model = cw.QDA().fit(X, y)
    client, expected = Client(model), model.predict_proba(X)
    rows = client.post("/predict", {"rows": X.tolist()}).json()["posteriors"]
    columns = client.post("/predict", {"columns": {str(j): X[:, j].tolist() for j in range(3)}}).json()["posteriors"]
    table = pa.table({str(j): X[:, 2 - j] for j in (2, 0, 1)}).rename_columns(["0", "2", "1"])
    made = pa.ipc.open_stream(client.post("/predict", stream(table), ARROW).content).read_all()
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(made["posterior_1"].to_numpy(), expected[:, 1])


@pytest.mark.parametrize(
    ("labels", "names"),
    [(["A", "a"], ["posterior_A", "posterior_a_2"]), ([False, True], ["posterior_False", "posterior_True"])],
)
def test_an_arrow_stream_has_the_columns_of_predict(labels, names):
    table = pa.table({"x": [0.0, 1.0, 4.0, 5.0]})
    model = cw.LDA().fit(table, np.repeat(labels, 2))
    made = pa.ipc.open_stream(Client(model).post("/predict", stream(table), ARROW).content).read_all()
    assert made.column_names == ["label", *names]
    assert cw.predict(model, table, keys=[], proba=True).read_all().column_names == ["label", "posterior", *names]
    np.testing.assert_allclose(made[names[1]], model.predict_proba(table)[:, 1], rtol=0, atol=1e-9)


DECIDED = {
    "yes or no beside text": ([False, True], {}),
    "whole numbers beside text": ([1, 2], {"reject_label": "ask"}),
    "whole numbers beside a fraction": ([1, 2], {"reject_label": -0.5}),
    "whole numbers": ([1, 2], {}),
    "whole numbers beside nothing": ([1, 2], {"reject_label": None}),
    "text beside nothing": (["a", "b"], {"reject_label": None}),
    "yes or no": ([False, True], {"reject": None}),
}


@pytest.mark.parametrize("kind", DECIDED)
def test_labels_are_of_one_type_in_every_request(kind):
    """That of all that the model may announce, as `cw.predict` writes it: whether or not a row here is refused."""
    classes, options = DECIDED[kind]
    table = pa.table({"x": [0.0, 1.0, 4.0, 5.0]})
    inner = cw.LDA().fit(table, np.repeat(classes, 2))
    model = cw.Decision(inner, **{"reject": {"posterior": 0.9}} | options)
    client, kinds = Client(model), {type(label) for label in model.announced_.tolist()}
    for xs in ([0.5, 2.5, 4.5], [0.5, 4.5], [2.5]):
        rows = pa.table({"x": xs})
        made = pa.ipc.open_stream(client.post("/predict", stream(rows), ARROW).content).read_all()["label"]
        expected = cw.predict(model, rows, keys=[]).read_all()["label"]
        assert made.type == expected.type
        assert made.to_pylist() == expected.to_pylist()
        told = client.post("/predict", {"columns": {"x": xs}}).json()["label"]
        assert told == model.predict(rows).tolist()
        assert {type(label) for label in told} <= kinds


def test_rows_refused_by_a_request_leave_labels_their_type():
    table = pa.table({"x": [0.0, 1.0, 4.0, 5.0]})
    client = Client(cw.LDA().fit(table, [False, False, True, True]))
    for xs, labels in (([0.5, 2.5], [False, None]), ([0.5, 4.5], [False, True]), ([2.5], [None])):
        answer = client.post("/predict?reject=0.99", stream(pa.table({"x": xs})), ARROW)
        made = pa.ipc.open_stream(answer.content).read_all()["label"]
        assert (made.type, made.to_pylist()) == (pa.bool_(), labels)
        assert client.post("/predict?reject=0.99", {"columns": {"x": xs}}).json()["label"] == labels


@pytest.mark.parametrize("ties", ["first", "random"])
def test_ties_are_broken_by_the_model(ties):
    """Two classes alike: the posteriors do not tell which label is announced."""
    X = np.array([[-1.0], [0.0], [1.0], [-1.0], [0.0], [1.0]])
    client = Client(cw.LDA(ties=ties, random_state=None).fit(X, list("aaabbb")))
    told = {client.post("/predict", {"rows": [[0.5]]}).json()["label"][0] for _ in range(40)}
    assert told == ({"a"} if ties == "first" else {"a", "b"})


def test_explanations_are_those_of_python(case):
    model = fitted(cw.NaiveBayes(families=case.families), case)
    columns, client = in_json(case), Client(model)
    for place in range(3):
        row = {name: values[place] for name, values in columns.items()}
        told, expected = client.post("/explain", {"row": row}).json(), model.explain(case.new.iloc[[place]])
        assert (told["label"], told["against"]) == (expected.label, expected.other)
        assert told["log_odds"] == pytest.approx(expected.log_odds, abs=1e-9)
        assert {s["column"]: s["share"] for s in told["shares"]} == pytest.approx(expected.shares, abs=1e-9)
        parts = sum(share["share"] for share in told["shares"]) + told["prior"] + told["volume"]
        assert parts == pytest.approx(told["log_odds"], abs=1e-9)
