"""`classwise export` says what will be the same, and checks itself."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import classwise as cw
from classwise.cli.program import app
from classwise.export.check import ROW, by_python, check, compared
from classwise.export.check_rows import CheckRows, drawn_rows, given_rows
from test_agreement import KINDS, fitted, table_of
from test_export_python import hostile_table

PENGUINS = cw.load_penguins().drop(columns="year")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Models of penguins, and the rows."""
    folder = tmp_path_factory.mktemp("exports")
    X, y = PENGUINS.drop(columns="species"), PENGUINS["species"]
    PENGUINS.to_csv(folder / "penguins.csv", index=False)
    cw.save(cw.LDA().fit(X, y), folder / "lda.cw")
    cw.save(cw.Decision(cw.NaiveBayes(), novelty=0.1, reject=0.2).fit(X, y), folder / "novel.cw")
    cw.save(cw.ForestClassifier(trees=5).fit(X, y), folder / "forest.cw")
    return folder


def told(*words: str) -> str:
    done = CliRunner().invoke(app, [*map(str, words)], prog_name="classwise")
    assert done.exit_code == 0, done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("door", ["python", "js", "onnx", "sql"])
@pytest.mark.parametrize("model", ["lda", "forest"])
def test_exports_check_themselves(here, door, model):
    more = ["--table", "penguins"] if door == "sql" else []
    said = told("export", door, here / f"{model}.cw", "-o", here / f"{model}.{door}", "-f", *more)
    assert "It gives the labels and posteriors of classwise" in said
    assert "Checked with 256 rows drawn from the model, " in said
    assert "labels are the same" in said
    (difference,) = re.findall(r"differ by at most ([0-9.e+-]+)[.,] ?", said.replace(". ", "., "))
    assert float(difference.rstrip(".")) < 1e-9


def test_rows_may_be_given(here):
    said = told("export", "python", here / "novel.cw", "-o", here / "novel.py", "--check", here / "penguins.csv", "-f")
    assert "costs, reject and novelty" in said
    assert re.search(r"Checked with 344 rows of \S+penguins.csv, 11 with gaps: labels are the same", said)
    told("export", "js", here / "novel.cw", "-o", here / "novel.mjs", "-f")


def test_a_wrong_export_is_found_out(here):
    model = cw.load(here / "lda.cw")
    text = cw.to_python(model.with_priors({"Adelie": 0.1, "Chinstrap": 0.1, "Gentoo": 0.8}))
    found = compared(model, rows := given_rows(model, here / "penguins.csv"), by_python(text, rows))
    assert found.difference > 0.1
    assert found.labels > 0
    assert f"{found.labels} labels differ" in str(found)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_can_be_drawn_for_every_kind(kind):
    """Also where a model is none of rows, and where columns are dates and written numbers."""
    seed = 1 if KINDS[kind].fits(table_of(1)) else 0
    model = fitted(kind, seed)
    rows = drawn_rows(model)
    assert len(rows) == 256
    assert np.isfinite(model.predict_proba(rows.X)).all()


def test_novelty_of_wide_rows_is_said_to_be_unknown(here):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 20)), columns=[f"x{j}" for j in range(20)])
    m = cw.Decision(cw.NaiveBayes(), novelty=0.1).fit(X, X["x0"] > 0)
    cw.save(m, here / "wide.cw")
    said = told("export", "python", here / "wide.cw", "-o", here / "wide.py")
    assert "a row with more than 1 missing values is an error" in said
    assert re.search("[1-9][0-9]* with gaps: labels are the same", said)


def test_hostile_names_through_every_door(tmp_path):
    """Quotes, newlines, comment marks, reserved words, 200 characters: as names of columns, levels and labels."""
    X, y = hostile_table()
    X = X.rename(columns={"": "order"})
    model = cw.Decision(cw.NaiveBayes(), costs={y[0]: {y[1]: 3.0}}, reject=0.6, reject_label="x'; --").fit(X, y)
    rows = CheckRows(X, "hostile rows", model.model_._table(X))
    graph = cw.to_onnx(model, missing="<missing>")
    doors = {"python": cw.to_python(model), "js": cw.to_js(model), "onnx": graph}
    doors["sql"] = lambda table, output: cw.to_sql(model, table, "duckdb", [ROW], output)
    for door, exported in doors.items():
        found = check(door, model, exported, rows)
        assert (found.labels, found.unanswered) == (0, 0), (door, found)
        assert found.difference < 1e-9, (door, found)
