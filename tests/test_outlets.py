"""Every model through every outlet: it answers, or docs/outlets.md says why not."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd
import pytest

import classwise as cw
from serving import Client
from standalone import node_answers, python_scorer

DOCS = Path(__file__).parents[1] / "docs" / "outlets.md"


def a_table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 2
    numbers = rng.normal(1.2 * codes[:, None], 1.0, (120, 2))
    colors = np.where(rng.random(120) < 0.3 + 0.4 * codes, "red", "blue")
    return pd.DataFrame({"x": numbers[:, 0], "z": numbers[:, 1], "color": colors}), np.array(["no", "yes"])[codes]


X, Y = a_table()
PRIORS = {"no": 0.3, "yes": 0.7}

MODELS = {
    "QDA": cw.QDA(),
    "LDA": cw.LDA(),
    "RDA": cw.RDA(folds=3),
    "NearestMean": cw.NearestMean(),
    'GaussianClassifier, estimate="bayes"': cw.GaussianClassifier(estimate="bayes"),
    "NaiveBayes": cw.NaiveBayes(),
    "AODE": cw.AODE(),
    "MixtureClassifier": cw.MixtureClassifier(components=2),
    "BayesianLogistic": cw.BayesianLogistic(),
    'BayesianLogistic, predictive="plugin"': cw.BayesianLogistic(predictive="plugin"),
    "ForestClassifier": cw.ForestClassifier(trees=20),
    "AutoClassifier": cw.AutoClassifier(folds=2),
    'AutoClassifier, members="sql"': cw.AutoClassifier(members="sql", folds=2),
    "Decision": cw.Decision(cw.QDA(missing="error"), costs={"no": {"yes": 5}}),
    "Decision, novelty": cw.Decision(cw.QDA(), novelty=0.05),
}


@cache
def fitted(name: str) -> Any:
    return MODELS[name].fit(X, Y)


# Each asks a model, and says itself whether the answer is right.


def predict(m: Any, folder: Path) -> None:
    posterior = m.predict_proba(X)
    assert posterior.shape == (120, 2)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert set(m.predict(X)) <= {"no", "yes", "novel"}


def explain(m: Any, folder: Path) -> None:
    reason = m.explain(X.iloc[[3]])
    parts = reason.prior + reason.volume + sum(reason.shares.values())
    assert parts == pytest.approx(reason.log_odds, abs=1e-9)
    assert list(reason.shares) == list(X)


def evaluate(m: Any, folder: Path) -> None:
    own = np.log(m.predict_proba(X)[np.arange(120), (Y == "yes").astype(int)])
    assert m.evaluate(X, Y).log_loss == pytest.approx(-own.mean(), rel=1e-9)


def with_priors(m: Any, folder: Path) -> None:
    before, after = m.predict_proba(X), m.with_priors(PRIORS).predict_proba(X)
    tilted = before * np.array([0.3, 0.7]) / 0.5
    np.testing.assert_allclose(after, tilted / tilted.sum(axis=1, keepdims=True), atol=0.02)


def sample(m: Any, folder: Path) -> None:
    rows, labels = m.sample(7, random_state=0)
    assert list(rows) == list(X)
    assert len(rows) == len(labels) == 7


def log_density(m: Any, folder: Path) -> None:
    assert np.isfinite(m.log_density(X)).all()


def leave_one_out(m: Any, folder: Path) -> None:
    assert m.leave_one_out(X, Y).shape == (120, 2)


def save(m: Any, folder: Path) -> None:
    cw.save(m, folder / "m.cw")
    np.testing.assert_array_equal(cw.load(folder / "m.cw").predict_proba(X), m.predict_proba(X))


def files(m: Any, folder: Path) -> None:
    X.to_csv(folder / "rows.csv", index=False)
    cw.predict(m, folder / "rows.csv", folder / "out.csv", keys=[], proba=True)
    found = pd.read_csv(folder / "out.csv")
    np.testing.assert_allclose(found[["posterior_no", "posterior_yes"]], m.predict_proba(X), atol=1e-9)


def serve(m: Any, folder: Path) -> None:
    answer = Client(m).post("/predict", {"columns": X.to_dict("list")})
    assert answer.status_code == 200, answer.text
    assert answer.json()["label"] == m.predict(X).tolist()


def sql(m: Any, folder: Path) -> None:
    queries = [cw.to_sql(m, "rows", columns=["id"], output=output) for output in ("label", "posteriors")]
    with duckdb.connect() as connection:
        connection.register("rows", X.assign(id=range(120)))
        labels, posteriors = (sorted(connection.sql(query).fetchall()) for query in queries)
    assert [label for _, label in labels] == m.predict(X).tolist()
    np.testing.assert_allclose([row[1:] for row in posteriors], m.predict_proba(X), atol=1e-9)


def onnx(m: Any, folder: Path) -> None:
    session = onnxruntime.InferenceSession(cw.to_onnx(m).SerializeToString())
    columns = {name: X[[name]].to_numpy(object if name == "color" else float) for name in X}
    assert session.run(None, columns)[0].tolist() == m.predict(X).tolist()


def python(m: Any, folder: Path) -> None:
    scorer = python_scorer(m)
    np.testing.assert_allclose(scorer.predict_proba(X), m.predict_proba(X), atol=1e-9)
    assert scorer.predict(X) == m.predict(X).tolist()


def javascript(m: Any, folder: Path) -> None:
    (answer,) = node_answers(folder, [(m, X.to_dict("records"))])
    np.testing.assert_allclose(answer["posteriors"], m.predict_proba(X), atol=1e-9)
    assert answer["labels"] == m.predict(X).tolist()


def regions(m: Any, folder: Path) -> None:
    cw.plot.plot_regions(m, X, Y, columns=["x", "z"]).figure.savefig(folder / "regions.png")
    plt.close("all")


def densities(m: Any, folder: Path) -> None:
    cw.plot.plot_densities(m, columns="x").figure.savefig(folder / "densities.png")
    plt.close("all")


OUTLETS: dict[str, Callable[[Any, Path], None]] = {
    "predict": predict,
    "explain": explain,
    "evaluate": evaluate,
    "with_priors": with_priors,
    "sample": sample,
    "log_density": log_density,
    "leave_one_out": leave_one_out,
    "save": save,
    "files": files,
    "serve": serve,
    "SQL": sql,
    "ONNX": onnx,
    "Python": python,
    "JavaScript": javascript,
    "regions": regions,
    "densities": densities,
}


def documented() -> dict[tuple[str, str], str]:
    """The cells of the table, by model and outlet."""
    lines = [line.strip("| ").split(" | ") for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    header, *rows = lines
    return {(row[0], outlet): cell for row in rows for outlet, cell in zip(header[1:], row[1:], strict=True)}


TABLE = documented()


def test_the_table_is_of_every_model_and_outlet() -> None:
    assert set(TABLE) == {(model, outlet) for model in MODELS for outlet in OUTLETS}
    notes = {cell for cell in TABLE.values() if cell != "yes"}
    assert notes == set(re.findall(r"^- (\([a-z]\)) ", DOCS.read_text(), re.MULTILINE))


@pytest.mark.parametrize(("model", "outlet"), TABLE, ids=lambda name: name)
def test_it_answers_or_the_table_says_why_not(model: str, outlet: str, tmp_path: Path) -> None:
    ask = OUTLETS[outlet]
    if TABLE[model, outlet] == "yes":
        ask(fitted(model), tmp_path)
    else:
        with pytest.raises((cw.ClasswiseError, AttributeError)):
            ask(fitted(model), tmp_path)
