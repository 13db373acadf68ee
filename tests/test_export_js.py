"""Models as one ES module: the same answers in node."""

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pandas as pd
import pytest

import classwise as cw
from standalone import as_rows, node_answers
from test_agreement import KINDS, fitted, table_of
from test_export_python import conversions, hostile_table, number_or_none, seed_of


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What node answers for each kind of model; all in one process."""
    cases = [(fitted(kind, seed_of(kind)), as_rows(table_of(seed_of(kind)).for_json())) for kind in KINDS]
    return dict(zip(KINDS, node_answers(tmp_path_factory.mktemp("node"), cases), strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_same(kind, answers):
    table, model = table_of(seed_of(kind)), fitted(kind, seed_of(kind))
    assert "error" not in answers[kind], answers[kind]
    np.testing.assert_allclose(answers[kind]["posteriors"], model.predict_proba(table.features), atol=1e-9, rtol=0)
    assert answers[kind]["labels"] == model.predict(table.features).tolist()


def test_levels_never_seen_hostile_names_and_hardly_known_weights(tmp_path):
    """Arrays of values, objects, text that tries to be code, and each rule that averages over weights."""
    X, y = hostile_table()
    text = X.astype(object)
    text.iloc[:3, :] = None
    text.loc[3, X.select_dtypes(exclude="number").columns] = "never seen"
    rng, asked = np.random.default_rng(1), []
    hostile = [cw.NaiveBayes().fit(X, y), cw.AODE().fit(X, y), cw.ForestClassifier(trees=3).fit(X, y)]
    rows = text.where(text.notna(), None)
    asked += [(m, rows.to_dict("records"), rows) for m in hostile]
    for classes in (2, 3, 4, 6):
        numbers = rng.normal(size=(15 * classes, 3))
        codes = np.arange(len(numbers)) % classes
        m = cw.BayesianLogistic(precision=0.05).fit(numbers + codes[:, None], codes)
        far = np.concatenate([numbers[:5] * factor for factor in (0.1, 1, 10, 100, 3000)])
        asked.append((m, far.tolist(), far))
    draws = cw.BayesianLogistic(link="probit", precision=0.1).fit(numbers, codes > 2)
    asked.append((draws, far.tolist(), far))
    found = node_answers(tmp_path, [(m, rows) for m, rows, _ in asked])
    for (m, _, given), answer in zip(asked, found, strict=True):
        typed = given.astype(X.dtypes) if isinstance(given, pd.DataFrame) else given
        assert "error" not in answer, (m, answer)
        np.testing.assert_allclose(answer["posteriors"], m.predict_proba(typed), atol=1e-9)
        assert answer["labels"] == m.predict(typed).tolist()


def test_counts_novelty_and_refusals(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = pd.DataFrame({"n": rng.poisson(30 + 4 * y), "k": rng.binomial(9, 0.3 + 0.3 * y), "z": np.exp(rng.normal(y))})
    X.loc[::7, "z"] = np.nan
    families = {"n": "poisson", "k": "binomial(9)", "z": "lognormal"}
    m = cw.Decision(cw.NaiveBayes(families=families), novelty=0.05, reject=0.2).fit(X, y)
    far = cw.Decision(cw.QDA(), novelty=0.2, law="chi-square").fit(X[["n", "z"]], y)
    strict = cw.NaiveBayes(missing="error").fit(X[["n"]].assign(c=list("uvw") * 100), y)
    good = {"n": 30, "k": 4, "z": 1.0, "c": "u"}
    changes = [(m, {"z": -1.0}, "above 0"), (m, {"k": 10}, "whole number from 0 to 9"), (m, {"z": np.inf}, "too large")]
    changes += [(strict, {"c": None}, "no value"), (m, {"n": "many"}, "a number"), (strict, {"n": np.nan}, "no value")]
    cases = [(of, [{**good, **change}]) for of, change, _ in changes]
    lacking = [(m, [{"n": 1}]), (m, [[1.0]])]
    whole, two, *refused = node_answers(
        tmp_path, [(m, X.to_dict("records")), (far, X.to_dict("records")), *cases, *lacking]
    )
    np.testing.assert_allclose(whole["posteriors"], m.predict_proba(X), atol=1e-9)
    assert whole["labels"] == m.predict(X).tolist()
    assert two["labels"] == far.predict(X[["n", "z"]]).tolist()
    assert {-1, -2} < set(whole["labels"])
    assert -2 in two["labels"]
    words = [*(word for *_, word in changes), "no column", "1 values"]
    for answer, word in zip(refused, words, strict=True):
        assert word in answer.get("error", ""), (answer, word)


def test_conversions_are_those_of_classwise(tmp_path):
    """Asked directly, part by part, as the modules that they are."""
    parts = copytree(Path(cw.__file__).parent / "export" / "standalone" / "js", tmp_path / "parts")
    (parts / "package.json").write_text('{"type": "module"}')
    asked = []
    for rule, texts in conversions():
        kind = getattr(rule, "kind", "written")
        asked += [(kind, vars(rule) | {"kind": kind}, text, number_or_none(rule.number, text)) for text in texts]
    told = json.dumps([(kind, rule, text) for kind, rule, text, _ in asked])
    script = (
        f'import {{ CONVERSIONS }} from "{parts}/columns.js"; import "{parts}/moments.js";'
        f'import "{parts}/written_numbers.js";'
        "export const labels = [];"
        f"const asked = {told};"
        "export const predict = () => asked.map(([kind, rule, text]) => CONVERSIONS[kind](text, rule));"
        "export const predictProba = () => [];"
    )
    (found,) = node_answers(tmp_path, [(script, [])])
    assert "error" not in found, found
    for (_, rule, text, expected), number in zip(asked, found["labels"], strict=True):
        assert (number is None) == (expected is None), (rule, text)
        assert expected is None or number == pytest.approx(expected, rel=1e-14), (rule, text)
