"""The command line with a stack: every verb works, or says plainly why not."""

import json

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins

import classwise as cw
from classwise.rows.files import read_rows
from sql_engines import duckdb_engine
from test_cli import fails, run

PENGUINS = load_penguins()
COLUMNS = [name for name in PENGUINS.columns if name not in ("species", "year")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("stack")
    PENGUINS.to_csv(path / "penguins.csv", index=False)
    PENGUINS.drop(columns="species").iloc[::9].to_csv(path / "new.csv", index=False)
    pd.DataFrame({"true": ["Adelie", "Chinstrap", "Gentoo"], "Adelie": [0, 9, 1], "Chinstrap": [1, 0, 1]}).assign(
        Gentoo=[1, 1, 0]
    ).to_csv(path / "costs.csv", index=False)
    options = ["-t", "species", "-d", "year", "--set", "folds=3"]
    run("fit", path / "penguins.csv", *options, "--set", "members=sql", "-o", path / "sql.cw")
    run(
        "fit",
        path / "penguins.csv",
        *options,
        "-m",
        "auto",
        "--set",
        'members=["one-dependence"]',
        "-o",
        path / "one.cw",
    )
    return path


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


def answered(path):
    return read_rows(path).to_pandas()


def test_predict(here):
    model, new = cw.load("sql.cw"), read_rows("new.csv", missing=["NA", ""]).select(COLUMNS)
    run("predict", "sql.cw", "new.csv", "--proba", "-o", "out.csv")
    out, posteriors = answered("out.csv"), model.predict_proba(new)
    np.testing.assert_allclose(out[[f"posterior_{label}" for label in model.classes_]], posteriors, atol=1e-9)
    assert out["label"].tolist() == model.predict(new).tolist()
    run("predict", "sql.cw", "new.csv", "--reject", "0.999", "-o", "reject.csv")
    assert ((answered("reject.csv")["label"] == "reject") == (posteriors.max(axis=1) < 0.999)).all()
    run("predict", "sql.cw", "new.csv", "--priors", "Adelie=0.1,Chinstrap=0.8,Gentoo=0.1", "--proba", "-o", "moved.csv")
    moved = model.with_priors([0.1, 0.8, 0.1])
    np.testing.assert_allclose(answered("moved.csv")["posterior_Chinstrap"], moved.predict_proba(new)[:, 1], atol=1e-9)
    run("predict", "sql.cw", "new.csv", "--priors", "estimate", "-o", "estimated.csv")
    run("predict", "sql.cw", "new.csv", "--costs", "costs.csv", "-o", "costs-out.csv")
    costs = {"Adelie": {"Chinstrap": 1, "Gentoo": 1}, "Chinstrap": {"Adelie": 9, "Gentoo": 1}, "Gentoo": {"Adelie": 1}}
    costs["Gentoo"]["Chinstrap"] = 1
    assert answered("costs-out.csv")["label"].tolist() == cw.Decision(model, costs=costs).predict(new).tolist()


def test_explain(here):
    model = cw.load("sql.cw")
    assert run("explain", "sql.cw").stdout.strip() == str(model.report_).strip()
    assert "A stack has no formulas" in run("explain", "sql.cw").stderr
    assert "has no polynomials" in fails("explain", "sql.cw", "--latex")
    assert "has no polynomials" in fails("explain", "sql.cw", "--columns", "bill_length_mm")
    told = run("explain", "sql.cw", "penguins.csv", "--row", "5", "--label", "Gentoo").stdout
    row = read_rows("penguins.csv").select(COLUMNS).slice(4, 1)
    assert told.strip() == str(model.explain(row, "Gentoo")).strip()


def test_sample(here):
    run("sample", "sql.cw", "--rows", "7", "-o", "drawn.csv")
    drawn = answered("drawn.csv")
    assert drawn.shape == (7, len(COLUMNS) + 1)
    assert set(drawn["island"].dropna()) <= {"Biscoe", "Dream", "Torgersen"}


def test_info(here):
    told, model = run("info", "sql.cw").stdout, cw.load("sql.cw")
    assert f"log loss    {model.report_.log_loss:.4f}, on rows held out" in told
    for name, weight in model.weights_.items():
        assert f"{name}: weight {weight:.3f}, temperature {model.temperatures_[name]:.2f}, log loss " in told
    facts = json.loads(run("info", "sql.cw", "--json").stdout)
    assert {member["name"]: member["weight"] for member in facts["members"]} == pytest.approx(model.weights_)


def test_export(here):
    run("export", "sql", "sql.cw", "--table", "new", "--answer", "posteriors", "-o", "score.sql")
    model, rows = cw.load("sql.cw"), PENGUINS[COLUMNS][::5]
    with duckdb_engine() as engine:
        kinds = {name: "number" if pd.api.types.is_numeric_dtype(rows[name]) else "text" for name in COLUMNS}
        gone = rows.astype(object).where(rows.notna(), None)
        engine.put("new", {name: (kinds[name], gone[name].tolist()) for name in COLUMNS})
        _, found = engine.ask((here / "score.sql").read_text())
    np.testing.assert_allclose(np.array(found, dtype=float), model.predict_proba(rows), atol=1e-9)
    run("export", "sql", "one.cw", "--table", "new", "-o", "one.sql")
    run("export", "onnx", "sql.cw", "-o", "model.onnx")
    told = json.loads(run("export", "json", "sql.cw").stdout)
    assert {member["name"] for member in told["members"]} == set(model.members_)


@pytest.mark.parametrize("kind", ["regions", "confusion", "reliability"])
def test_pictures(here, kind):
    run("plot", "sql.cw", "penguins.csv", "-t", "species", "--kind", kind, "-o", "picture.png")
    assert (here / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", ["pairs", "densities", "projection"])
def test_pictures_that_need_densities(here, kind):
    told = fails("plot", "sql.cw", "penguins.csv", "-t", "species", "--kind", kind, "-o", "picture.png")
    assert "AutoClassifier has no d" in told


def test_statistics_are_of_another_kind(here):
    assert "holds a stack, whose members have statistics of their own" in fails(
        "merge", "sql.cw", "sql.cw", "-o", "x.cws"
    )
    run(
        "fit",
        "penguins.csv",
        "-t",
        "species",
        "-d",
        "year",
        "--set",
        "members=fast",
        "--without-statistics",
        "-o",
        "lean.cw",
    )
    assert run("predict", "lean.cw", "new.csv").stdout.startswith("island")
    assert json.loads(run("info", "lean.cw", "--json").stdout)["statistics"] is False


def test_compare_shows_the_stack_with_its_members_and_keeps_it(here):
    done = run(
        *("compare", "penguins.csv", "-t", "species", "-d", "year", "--folds", "3"),
        *("--all", "--save", "s.cw", "--keep", "stack"),
    )
    assert "What the stack is made of:" in done.stderr
    assert "own covariances, Yeo-Johnson" in done.stderr
    assert any(line.startswith("stack") for line in done.stdout.splitlines())
    assert any(line.startswith("a stack of several models") for line in done.stdout.splitlines())
    assert isinstance(cw.load("s.cw"), cw.AutoClassifier)
    lost = run("compare", "penguins.csv", "-t", "species", "--folds", "3", "--save", "x", "--keep", "nobody", code=1)
    assert lost.stderr.splitlines()[-1].startswith("classwise: --keep: 'nobody' was not compared; these were: ")
