"""Novelty in SQL and ONNX: the same rows are novel as in Python, whatever the densities, with gaps of every pattern."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import classwise as cw
from classwise.estimators import model_within
from classwise.export.check import by_onnxruntime
from classwise.export.check_rows import CheckRows
from classwise.export.novelty import EvidenceRule, novelty_rule
from classwise.export.onnx_graph import onnx_model
from classwise.export.sql import query
from sql_engines import ENGINES, Engine

COUNT = 240
FAMILIES = {"length": "lognormal", "calls": "poisson", "hits": "binomial(9)"}

# Rows of the fit; many more gaps than one are in some of them.
MODELS: dict[str, Callable[[], cw.Decision]] = {
    "naive Bayes": lambda: cw.Decision(cw.NaiveBayes(families=FAMILIES), novelty=0.05, reject=0.2),
    "Student-t by column": lambda: cw.Decision(cw.NaiveBayes(families=FAMILIES, estimate="bayes"), novelty=0.05),
    "gaps as signals": lambda: cw.Decision(cw.NaiveBayes(missing="level"), novelty=0.05),
    "own covariances": lambda: cw.Decision(cw.QDA(families=FAMILIES), novelty=0.05),
    "shared covariance": lambda: cw.Decision(cw.LDA(calibrate="temperature"), novelty=0.05),
    "shared variances": lambda: cw.Decision(cw.LDA(structure="diagonal"), novelty=0.05),
    "Student-t": lambda: cw.Decision(cw.GaussianClassifier(estimate="bayes"), novelty=0.05),
    "one-dependence": lambda: cw.Decision(cw.AODE(), novelty=0.05),
    "chi-square": lambda: cw.Decision(cw.QDA(), novelty=0.05, law="chi-square"),
    "chi-square, shared": lambda: cw.Decision(cw.LDA(), novelty=0.05, law="chi-square"),
    "chi-square, diagonal": lambda: cw.Decision(cw.QDA(structure="diagonal"), novelty=0.05, law="chi-square"),
}


@cache
def a_table() -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Rows to learn from, their labels, and rows to score, some of them unlike all others, and one of nothing."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=COUNT)
    rows = pd.DataFrame(
        {
            "height": 1e6 + rng.normal(codes, 1),
            "depth": rng.normal(-codes, 1 + codes),
            "length": np.exp(rng.normal(0.3 * codes, 0.5)),
            "calls": rng.poisson(3 + 20 * codes).astype(float),
            "hits": rng.binomial(9, 0.2 + 0.2 * codes).astype(float),
            "color": np.where(rng.random(COUNT) < 0.2 + 0.3 * codes, "red", "blue"),
            "always": 5.0,
        }
    )
    for name, share in {"height": 0.2, "depth": 0.2, "calls": 0.1, "color": 0.1}.items():
        rows.loc[rng.random(COUNT) < share, name] = None if name == "color" else np.nan
    new = rows.assign(height=1e6 + 2 * (rows["height"] - 1e6), calls=2 * rows["calls"])
    new.iloc[-1] = None
    return rows, np.array(["a", "b", "c"])[codes], new


def columns_of(name: str) -> list[str]:
    numbers = ["height", "depth", "length", "always"]
    return numbers if name.startswith("chi-square") else list(a_table()[0])


@cache
def fitted(name: str) -> cw.Decision:
    rows, labels, _ = a_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.IgnoredColumnWarning)
        return MODELS[name]().fit(rows[columns_of(name)], labels)


@pytest.fixture(scope="module")
def engines() -> Iterator[Callable[[str], Engine]]:
    with ExitStack() as opened:

        @cache
        def start(name: str) -> Engine:
            engine, new = opened.enter_context(ENGINES[name]()), a_table()[2]
            kinds = dict.fromkeys(new, "number") | {"color": "text"}
            values = {c: (kinds[c], [None if pd.isna(v) else v for v in new[c].tolist()]) for c in new}
            engine.put("new", {"id": ("whole", list(range(COUNT))), **values})
            return engine

        yield start


@pytest.fixture(scope="module", autouse=True)
def rules_found_once() -> Iterator[None]:
    """Thresholds for all gaps are found by drawing rows, which is slow; each model is exported several times."""
    found = cache(novelty_rule)
    with pytest.MonkeyPatch.context() as patch:
        for module in (query, onnx_model):
            patch.setattr(module, "novelty_rule", found)
        yield


def in_sql(model: cw.Decision, engine: Engine) -> list[Any]:
    return [row[1] for row in sorted(engine.ask(cw.to_sql(model, "new", engine.dialect, ["id"]))[1])]


def in_onnx(model: cw.Decision, new: pd.DataFrame) -> list[Any]:
    answered = by_onnxruntime(cw.to_onnx(model), CheckRows(new, "new rows", model_within(model)._table(new)))
    assert answered is not None
    return answered[0]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("sql"))])
@pytest.mark.parametrize("name", MODELS)
def test_sql_finds_the_same_rows(name: str, engine: str, engines: Callable[[str], Engine]) -> None:
    expected = fitted(name).predict(a_table()[2][columns_of(name)]).tolist()
    assert 15 < expected.count("novel") < 200
    assert in_sql(fitted(name), engines(engine)) == expected


@pytest.mark.parametrize("name", MODELS)
def test_onnx_finds_the_same_rows(name: str) -> None:
    new = a_table()[2][columns_of(name)]
    assert in_onnx(fitted(name), new) == fitted(name).predict(new).tolist()


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("chi-square")])
def test_the_evidence_is_the_same_to_the_last_digits(
    name: str, engines: Callable[[str], Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A threshold just above the evidence of a row makes it novel, and one just below does not."""
    model, new = fitted(name), a_table()[2]
    rule = query.novelty_rule(model)
    assert isinstance(rule, EvidenceRule)
    place = int(np.flatnonzero(new.notna().all(axis=1))[3])
    value = float(model.model_.log_evidence(new.iloc[[place]][columns_of(name)])[0])
    for sign, is_novel in ((1, True), (-1, False)):
        threshold = value + sign * 1e-9 * max(1.0, abs(value))
        moved = replace(rule, thresholds=np.where(rule.present.all(axis=1), threshold, rule.thresholds))
        for module in (query, onnx_model):
            monkeypatch.setattr(module, "novelty_rule", lambda _, moved=moved: moved)
        assert (in_sql(model, engines("duckdb"))[place] == "novel") is is_novel
        assert (in_onnx(model, new)[place] == "novel") is is_novel


def wide_decision() -> tuple[cw.Decision, pd.DataFrame]:
    """Of 70 columns, of which a few were missing together in rows of the fit."""
    rng = np.random.default_rng(1)
    codes = np.arange(200) % 2
    rows = pd.DataFrame(rng.normal(codes[:, None], 1, (200, 70)), columns=[f"x{j}" for j in range(70)])
    model = cw.Decision(cw.NaiveBayes(), novelty=0.05).fit(rows, codes)
    new = rows.iloc[:5].copy()
    new.iloc[1, 3], new.iloc[2, [3, 4]], new.iloc[3, :] = np.nan, np.nan, np.nan
    return model, new


def test_gaps_of_unknown_patterns_have_no_label() -> None:
    model, new = wide_decision()
    expected = model.predict(new).tolist()
    expected[2] = None
    assert in_onnx(model, new) == expected
    with ENGINES["duckdb"]() as engine:
        columns = {name: ("number", [None if pd.isna(v) else v for v in new[name].tolist()]) for name in new}
        engine.put("new", {"id": ("whole", list(range(5))), **columns})
        with pytest.warns(cw.UnansweredRowWarning, match="How probable ordinary rows with such gaps are is not known"):
            query = cw.to_sql(model, "new", columns=["id"])
        found = sorted(engine.ask(query)[1])
    assert [label for _, label, _ in found] == expected
    assert [why for *_, why in found] == [None, None, "too many missing values", None, None]


def test_gaps_that_rows_of_the_fit_had_are_known() -> None:
    rng = np.random.default_rng(2)
    codes = np.arange(200) % 2
    rows = pd.DataFrame(rng.normal(codes[:, None], 1, (200, 20)), columns=[f"x{j}" for j in range(20)])
    rows.iloc[:40, [2, 5, 7]] = np.nan
    model = cw.Decision(cw.LDA(), novelty=0.05).fit(rows, codes)
    new = rows.iloc[:60]
    assert in_onnx(model, new) == model.predict(new).tolist()
    with ENGINES["duckdb"]() as engine:
        columns = {name: ("number", [None if pd.isna(v) else v for v in new[name].tolist()]) for name in new}
        engine.put("new", {"id": ("whole", list(range(60))), **columns})
        with pytest.warns(cw.UnansweredRowWarning, match="most frequent combination"):
            found = in_sql(model, engine)
    assert found == model.predict(new).tolist()


def test_a_novel_label_is_of_the_type_of_the_labels() -> None:
    model = cw.Decision(cw.NaiveBayes(), novelty=0.1, novel_label="new").fit(
        [[1.0], [2.0], [3.0], [5.0]] * 5, [0, 1] * 10
    )
    with pytest.raises(cw.ClasswiseError, match=r"novel_label='new' .* such as -2"):
        cw.to_sql(model, "rows", features=["x"])
