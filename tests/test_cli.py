"""The command line: every verb gives what the library gives; errors are one line and an exit code."""

import csv
import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from palmerpenguins import load_penguins
from typer.testing import CliRunner

import classwise as cw
from classwise.cli.program import app
from classwise.cli.verbs import EXAMPLE
from classwise.rows.files import read_rows
from classwise.rows.formats import MISSING
from classwise.rows.sinks import write_rows

NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
PENGUINS = load_penguins()
QUICK = ["--no-references", "--folds", "3"]


def run(*arguments, input=None, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=input, prog_name="classwise")
    assert result.exit_code == code, (result.output, result.exception)
    return result


def fails(*arguments, code=1, input=None):
    """The one line that an error says."""
    result = run(*arguments, code=code, input=input)
    lines = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("classwise: ")
    assert not result.stdout
    return lines[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Penguins, new ones without labels, and two models: of all columns, and of two numbers."""
    path = tmp_path_factory.mktemp("cli")
    PENGUINS.to_csv(path / "penguins.csv", index=False)
    PENGUINS.drop(columns="species").iloc[::9].to_csv(path / "new.csv", index=False)
    run("fit", path / "penguins.csv", "-t", "species", "-d", "year", "-m", "naive-bayes", "-o", path / "nb.cw")
    two = ",".join(NUMBERS[:2])
    run("fit", path / "penguins.csv", "-t", "species", "-c", two, "-m", "lda", "-o", path / "lda.cw")
    return path


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """A folder of one's own, with the same files."""
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # others may have narrowed the terminal
    return tmp_path


def verbs(group=None, prefix=()):
    """Every verb, with its words."""
    import typer

    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from verbs(command, (*prefix, name))
        else:
            yield (*prefix, name), command


class TestHelp:
    @pytest.mark.parametrize(
        ("words", "verb"), list(verbs()), ids=lambda value: "-".join(value) if type(value) is tuple else ""
    )
    def test_every_verb_ends_with_an_example_of_itself(self, words, verb):
        assert verb.epilog.startswith(f"{EXAMPLE} classwise {' '.join(words)} ")
        lines = [line.strip() for line in run(*words, "--help").stdout.splitlines() if line.strip()]
        assert " ".join(lines).endswith(" ".join(verb.epilog.split()))

    def test_the_examples_run_in_the_order_of_the_verbs(self, here):
        for file in [*here.glob("*.cw"), here / "penguins.csv"]:
            file.unlink()
        for words, verb in sorted(verbs(), key=lambda each: each[0] != ("datasets",)):  # which the others read
            if words == ("summarize",):
                run("summarize", "penguins.csv", "--target", "species", "-o", "day-2.cws")
            if words not in {("serve",), ("studio",)}:  # which go on for ever, and have tests of their own
                run(*shlex.split(verb.epilog.removeprefix(f"{EXAMPLE} classwise ")))
        made = {path.name for path in here.iterdir()}
        assert made >= {"model.cw", "report.html", "lda.cw", "predicted.csv", "regions.png", "both.cws", "rest.cws"}
        assert made >= {"score.sql", "model.onnx", "model.json"}

    @pytest.mark.parametrize("words", [words for words, _ in verbs()], ids="-".join)
    def test_values_are_named_in_plain_words(self, words):
        assert not re.search(r"<(bool|str|int|float|list)", run(*words, "--help").stdout)

    def test_version_and_no_arguments(self):
        assert run("--version").stdout == f"classwise {cw.__version__}\n"
        assert "Usage: classwise" in run(code=2).output


class TestCompare:
    def test_the_answer_is_on_standard_output_and_all_else_beside_it(self, here):
        result = run("compare", "penguins.csv", "-t", "species", "-d", "year", *QUICK)
        X, y = PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"].to_numpy()
        comparison = cw.compare(X, y, 3, references=False)
        assert result.stdout == comparison.answer().text(shell=True) + "\n"
        assert result.stdout.startswith(comparison.answer().sentence.split(" (")[0])
        for words in ("344 rows of penguins.csv; species from 6 columns.", "Next:"):
            assert words in result.stderr

    @pytest.mark.parametrize(
        "command", ["compare penguins.csv", "fit penguins.csv -m lda -o x.cw", "examine penguins.csv"]
    )
    def test_without_a_target_the_columns_are_named(self, here, command):
        result = CliRunner().invoke(app, command.split(), prog_name="classwise")
        assert result.exit_code == 2
        assert "Which column of penguins.csv has the labels? --target takes one of 'species'" in result.stderr

    def test_a_leak_is_left_out_before_anything_is_saved(self, here):
        PENGUINS.assign(code=PENGUINS["species"].str[0]).to_csv("leak.csv", index=False)
        following = run("compare", "leak.csv", "-t", "species", *QUICK).stderr.partition("Next:")[2]
        assert "--drop code" in following
        assert "--save" not in following

    def test_what_the_data_say_is_what_came_out(self, here):
        X, y = PENGUINS[NUMBERS], PENGUINS["sex"].fillna("unknown").to_numpy()
        X.assign(sex=y, kind=PENGUINS["species"]).to_csv("sex.csv", index=False)
        result = run("compare", "sex.csv", "-t", "sex", *QUICK)
        comparison = cw.compare(X.assign(kind=PENGUINS["species"]), y, 3, references=False)
        found = cw.diagnose(X.assign(kind=PENGUINS["species"]), y, held_out=comparison.evaluations)
        assert 0 < len(found.sentences(shell=True)) <= 3
        assert "What the data say:" in result.stderr
        said = " ".join(result.stderr.split())
        for sentence in found.sentences(shell=True):
            assert f"- {sentence}" in said

    def test_all_models_and_columns_are_a_flag_away(self, here):
        result = run("compare", "penguins.csv", "-t", "species", "-d", "year", "--all", *QUICK)
        X, y = PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"].to_numpy()
        comparison = cw.compare(X, y, 3, references=False)
        ours, theirs = result.stdout.splitlines(), comparison.table().text(shell=True).splitlines()
        count = len(comparison.trials)
        assert [line[:60] for line in ours[:count]] == [line[:60] for line in theirs[:count]]  # times differ
        assert result.stdout.endswith("\n" + comparison.answer().text(shell=True) + "\n")
        assert "island             String   category" in result.stderr

    def test_the_rule_and_what_is_ranked_by(self, here):
        X, y = PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"].to_numpy()
        comparison = cw.compare(X, y, 3, references=False)
        for rule, by in (("simplest", "log_loss"), ("best", "error"), ("simplest", "brier")):
            options = ["--rule", rule, "--by", by.replace("_", "-"), "--json", *QUICK]
            found = json.loads(run("compare", "penguins.csv", "-t", "species", "-d", "year", *options).stdout)
            assert found["answer"] == json.loads(json.dumps(comparison.choose(rule, by).answer().records()))
            assert found["best"] == comparison.choose(rule, by).winner.name

    def test_costs_from_a_table(self, here):
        table = "true,Adelie,Chinstrap,Gentoo\nAdelie,0,1,1\nChinstrap,9,0,9\nGentoo,1,1,0\n"
        (here / "costs.csv").write_text(table)
        command = ["compare", "penguins.csv", "-t", "species", "-d", "year", "--costs", "costs.csv", "-m", "lda"]
        command += QUICK
        found = json.loads(run(*command, "--json").stdout)
        X, y = PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"].to_numpy()
        costs = {"Chinstrap": {"Adelie": 9, "Gentoo": 9}}
        ours = cw.compare(X, y, 3, costs=costs, only=["lda"], references=False)
        assert found["answer"]["by"] == "cost"
        assert found["best"] == ours.winner.name
        assert found["answer"]["lines"][0]["cost"] == pytest.approx(ours.winner.estimate("cost").value)
        kept = run(*command, "--save", "dear.cw")
        assert "costs" in kept.stdout
        assert "classwise predict dear.cw new.csv --proba --costs costs.csv" in kept.stderr
        line = fails("compare", "penguins.csv", "-t", "species", "--by", "cost", *QUICK)
        assert "--by cost needs to know what mistakes cost" in line

    def test_only_some_models(self, here):
        options = ["-m", "rda,qda-oas", "--json", *QUICK]
        found = json.loads(run("compare", "penguins.csv", "-t", "species", *options).stdout)
        assert {line["name"] for line in found["models"]} == {"RDA", "RDA, standardized", "QDA, OAS"}
        line = run("compare", "penguins.csv", "-t", "species", "-m", "svm", *QUICK, code=1).stderr.splitlines()[-1]
        assert line.startswith("classwise: 'svm' is no model")
        assert "naive-bayes" in line

    def test_next_repeats_the_flags(self, here):
        options = ["--drop", "island", "--missing", "n a", "--seed", "3", "-w", "year", "--no-stream"]
        said = " ".join(run("compare", "penguins.csv", "-t", "species", *options, *QUICK).stderr.split())
        said = said.replace("\\ ", "")
        assert (
            "classwise compare penguins.csv --target species --drop island --weights year --missing 'n a' "
            "--no-stream --folds 3 --seed 3 --no-references --save model.cw --html report.html"
        ) in said

    def test_time_is_said_beforehand_and_kept(self, here, monkeypatch):
        monkeypatch.setattr("classwise.limits.LOGISTIC_SECONDS", 6e-4)
        result = run("compare", "penguins.csv", "-t", "species", "-d", "year", *QUICK)
        assert "Left out for time: logistic regression (about " in result.stdout
        assert "--time " in result.stdout
        result = run("compare", "penguins.csv", "-t", "species", "-d", "year", "--time", "5000", *QUICK)
        said = re.search(r"note: Comparing 26 models takes about (\d+) min\. --time 10 would leave out", result.stderr)
        assert said
        assert int(said[1]) > 30
        assert "Left out" not in result.stdout

    def test_json_is_for_scripts(self, here):
        found = json.loads(run("compare", "penguins.csv", "-t", "species", "-d", "year", "--json", *QUICK).stdout)
        assert found["data"] == {
            "source": "penguins.csv",
            "rows": 344,
            "target": "species",
            "columns": [name for name in PENGUINS.columns if name not in ("species", "year")],
        }
        assert found["labels"] == ["Adelie", "Chinstrap", "Gentoo"]
        notes = {line["name"]: line["note"] for line in found["models"]}
        assert notes[found["best"]] == "best"
        assert found["answer"]["winner"] == found["best"]
        assert set(found["advice"]) == {"equality", "normality", "spectrum", "overlap"}

    @pytest.mark.filterwarnings("ignore::classwise.ImputedValueWarning")  # logistic regression may win
    def test_the_winner_is_saved_and_the_report_written(self, here):
        options = ["-d", "year", "--save", "best.cw", "--html", "report.html", "--seed", "7", *QUICK]
        run("compare", "penguins.csv", "-t", "species", *options)
        X, y = read_rows("penguins.csv").drop_columns(["species", "year"]), PENGUINS["species"].to_numpy()
        best = cw.compare(X, y, 3, references=False, random_state=7).best
        loaded = cw.load("best.cw")
        assert repr(loaded) == repr(best)
        np.testing.assert_array_equal(loaded.predict_proba(X), best.predict_proba(X))
        page = (here / "report.html").read_text()
        assert "penguins.csv" in page
        assert "<dd>7</dd>" in page
        assert cw.describe("best.cw").sources == ["penguins.csv"]

    def test_weights_families_and_missing_values(self, here):
        table = PENGUINS.drop(columns=["island", "sex", "year"]).assign(w=1.0, visits=range(len(PENGUINS)))
        table["visits"] %= 5
        table.to_csv("weighted.csv", index=False, na_rep="nil")
        options = ["-w", "w", "--families", "visits=poisson", "--missing", "nil", "--missing", "none"]
        result = run("compare", "weighted.csv", "-t", "species", *options, "--all", *QUICK)
        assert "visits             Int64    count   poisson" in result.stderr
        assert "0.581 %" in result.stderr
        assert "weighted.csv; species from 5 columns" in result.stderr

    def test_rows_without_a_label_and_ids_are_noted(self, here):
        table = PENGUINS[[*NUMBERS, "species"]].assign(tag=[f"id-{i}" for i in range(len(PENGUINS))])
        table.loc[:4, "species"] = None
        table.to_csv("noted.csv", index=False)
        result = run("compare", "noted.csv", "-t", "species", *QUICK)
        assert result.stderr.count("5 of 344 rows have no species") == 1
        assert result.stderr.count("tag is different in nearly every row, as ids and names are") == 1
        assert "tag: left out" not in result.stderr  # for the finding says it
        assert "note: Columns left out" not in result.stderr  # the notes on columns say it
        assert "339 rows" in result.stderr

    def test_names_that_begin_or_end_with_blanks(self, here):
        table = PENGUINS[["species", *NUMBERS[:2]]].rename(columns={NUMBERS[0]: " bill "})
        table.to_csv("blank.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
        run("fit", "blank.csv", "-t", "species", "-m", "lda", "-c", "bill", "-o", "bill.cw")
        assert list(cw.load("bill.cw").feature_names_in_) == [" bill "]
        run("fit", "blank.csv", "-t", "species", "-m", "lda", "-d", "bill", "-o", "depth.cw")
        assert list(cw.load("depth.cw").feature_names_in_) == [NUMBERS[1]]

    def test_row_numbers_are_left_out_next(self, here):
        PENGUINS[["species", "bill_length_mm"]].assign(Id=range(len(PENGUINS))).to_csv("numbered.csv", index=False)
        result = run("compare", "numbered.csv", "-t", "species", *QUICK)
        assert "numbered.csv; species from 2 columns." in result.stderr
        assert result.stderr.splitlines()[-1].endswith("--drop Id")
        result = run("compare", "numbered.csv", "-t", "species", "-d", "Id", *QUICK)
        assert "numbered.csv; species from 1 column." in result.stderr
        assert "--save model.cw" in result.stderr

    def test_columns_that_are_constant_within_a_class_are_no_news(self, here):
        PENGUINS.assign(flag=(PENGUINS["species"] == "Gentoo") * 1.0).to_csv("flagged.csv", index=False)
        assert "raised variances" not in run("compare", "flagged.csv", "-t", "species", *QUICK).stderr

    def test_text_alone_is_diagnosed_too(self, here):
        result = run("compare", "penguins.csv", "-t", "species", "-c", "island,sex", "--json", *QUICK)
        advice = json.loads(result.stdout)["advice"]
        assert set(advice) == {"overlap"}
        assert advice["overlap"].startswith("Classes 'Adelie' and 'Chinstrap' are mistaken for each other most often: ")

    def test_labels_of_numbers_and_of_yes_and_no(self, here):
        PENGUINS[NUMBERS].assign(y=(PENGUINS["species"] == "Gentoo")).to_csv("yes.csv", index=False)
        PENGUINS[NUMBERS].assign(y=pd.factorize(PENGUINS["species"])[0]).to_csv("codes.csv", index=False)
        assert json.loads(run("compare", "yes.csv", "-t", "y", "--json", *QUICK).stdout)["labels"] == [False, True]
        assert json.loads(run("compare", "codes.csv", "-t", "y", "--json", *QUICK).stdout)["labels"] == [0, 1, 2]


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["compare", "absent.csv", "-t", "y"], "There is no file 'absent.csv'."),
            (
                ["compare", "penguins.csv", "-t", "speces"],
                "did you mean 'species'? Its columns are 'species', 'island'",
            ),
            (["compare", "penguins.csv", "-t", "species", "-d", "sexx"], "did you mean 'sex'?"),
            (["compare", "penguins.csv", "-t", "body_mass_g"], "holds no classes"),
            (["compare", "penguins.csv", "-t", "species", "-w", "sex"], "Weights must be numbers"),
            (["compare", "penguins.csv", "-t", "species", "--families", "year"], "--families takes NAME=VALUE"),
            (["compare", "penguins.csv", "-t", "species", "--families", "year=round"], "'round' is not a family"),
            (["compare", "penguins.csv", "-t", "species", "-c", "species"], "No column of penguins.csv is left"),
            (["compare", "one.csv", "-t", "y"], "at least two classes"),
            (["compare", "none.csv", "-t", "y"], "none.csv has no rows."),
            (["compare", "unlabeled.csv", "-t", "y"], "there are no labels to learn"),
            (["compare", "lists.jsonl", "-t", "y"], "holds List, which is neither a number nor a category"),
            (["compare", "lists.jsonl", "-t", "y"], "--drop x"),
            (["fit", "penguins.csv", "-t", "species", "-m", "wood", "-o", "x.cw"], "is not one of auto, lda"),
            (
                ["fit", "penguins.csv", "-t", "species", "-m", "lda", "--set", "shrnk=1", "-o", "x.cw"],
                "no option 'shrnk'",
            ),
            (["predict", "penguins.csv", "new.csv"], "penguins.csv"),
            (["predict", "nb.cw", "one.csv"], "one.csv has no column 'island'"),
            (["predict", "nb.cw", "new.csv", "-k", "tag"], "no column 'tag'"),
            (["predict", "nb.cw", "new.csv", "--priors", "Adelie=1"], "lack the label 'Chinstrap'"),
            (["predict", "nb.cw", "new.csv", "--priors", "Adelie=x"], "A prior is a number"),
            (
                ["predict", "nb.cw", "new.csv", "--costs", "one.csv"],
                "is not a class; the classes are Adelie, Chinstrap",
            ),
            (["predict", "nb.cw", "new.csv", "-o", "x.xlsx"], "does not say in which format"),
            (["explain", "nb.cw", "new.csv", "--row", "999"], "there is no row 999"),
            (["explain", "lda.cw", "--columns", "sex"], "'sex'"),
            (["plot", "nb.cw", "penguins.csv", "-t", "species", "-o", "x.bmp"], "end it in .png, .svg or .pdf"),
            (["plot", "nb.cw", "penguins.csv", "-t", "speces", "-o", "x.png"], "did you mean 'species'?"),
            (["plot", "nb.cw", "penguins.csv", "-t", "species", "--kind", "projection", "-o", "x.png"], "fit an LDA"),
            (["merge", "penguins.csv", "-o", "x.cws"], "penguins.csv"),
            (["info", "penguins.csv"], "penguins.csv"),
            (["export", "sql", "nb.cw", "--table", "t", "--dialect", "esperanto"], "esperanto"),
        ],
    )
    def test_bad_data_is_one_line_and_exit_code_1(self, here, arguments, words):
        (here / "one.csv").write_text("x,y\n1,a\n2,a\n3,a\n")
        (here / "none.csv").write_text("x,y\n")
        (here / "unlabeled.csv").write_text("x,y\n1,\n2,\n")
        (here / "lists.jsonl").write_text('{"x": [1], "y": "a"}\n{"x": [2], "y": "b"}\n')
        before = sorted(path.name for path in here.iterdir())
        assert words in fails(*arguments)
        assert sorted(path.name for path in here.iterdir()) == before

    @pytest.mark.parametrize(
        "arguments",
        [
            ["compare", "penguins.csv"],
            ["compare", "penguins.csv", "-t", "species", "--folds", "1"],
            ["compare", "penguins.csv", "-t", "species", "--frobnicate"],
            ["fit", "penguins.csv", "-o", "x.cw"],
            ["predict", "nb.cw", "new.csv", "--reject", "2"],
            ["predict", "nb.cw", "new.csv", "--reject", "0.9", "--reject-cost", "1"],
            ["plot", "nb.cw", "penguins.csv", "-t", "species", "--kind", "oil", "-o", "x.png"],
            ["predict", "nb.cw", "new.csv", "--format", "xlsx"],
            ["export", "onnx", "nb.cw", "-o", "x.onnx", "--dtype", "float16"],
            ["frobnicate"],
        ],
    )
    def test_bad_usage_is_exit_code_2(self, here, arguments):
        assert "Usage: classwise" in run(*arguments, code=2).stderr

    @pytest.mark.parametrize("arguments", [["--debug", "info", "new.csv"], ["info", "new.csv", "--debug"]])
    def test_debug_shows_where(self, here, arguments):
        assert "Traceback" in run(*arguments, code=1).stderr

    def test_a_mistake_of_ours_says_that_it_is_unexpected(self, here, monkeypatch):
        monkeypatch.setattr("classwise.storage.describe", lambda path: 1 / 0)
        line = fails("info", "nb.cw")
        assert line.startswith("classwise: unexpected ZeroDivisionError: ")
        assert line.endswith("; --debug shows where")

    @pytest.mark.parametrize(
        "arguments",
        [
            ["compare", "penguins.csv", "-t", "species", "--save", "there"],
            ["compare", "penguins.csv", "-t", "species", "--html", "there"],
            ["fit", "penguins.csv", "-t", "species", "-m", "lda", "-o", "there"],
            ["predict", "nb.cw", "new.csv", "-o", "there.csv"],
            ["sample", "nb.cw", "-o", "there.csv"],
            ["plot", "nb.cw", "penguins.csv", "-t", "species", "-o", "there.png"],
            ["summarize", "penguins.csv", "-t", "species", "-o", "there"],
            ["merge", "nb.cw", "-o", "there"],
            ["subtract", "nb.cw", "nb.cw", "-o", "there"],
            ["export", "json", "nb.cw", "-o", "there"],
            ["export", "onnx", "nb.cw", "-o", "there"],
            ["export", "sql", "nb.cw", "--table", "t", "-o", "there"],
        ],
        ids=lambda arguments: "-".join(arguments[:2]),
    )
    def test_existing_files_are_not_replaced(self, here, arguments):
        for name in ("there", "there.csv", "there.png"):
            (here / name).write_text("precious")
        assert "exists already; --force replaces it" in fails(*arguments)
        assert {(here / name).read_text() for name in ("there", "there.csv", "there.png")} == {"precious"}

    def test_force_replaces(self, here):
        (here / "there.csv").write_text("precious")
        run("predict", "nb.cw", "new.csv", "-o", "there.csv", "--force")
        assert read_rows("there.csv").num_rows == 39


class TestPredict:
    def test_labels_and_posteriors_are_the_models(self, here):
        run("predict", "nb.cw", "new.csv", "--proba", "-o", "out.parquet")
        out, m = read_rows("out.parquet").to_pandas(), cw.load("nb.cw")
        X = read_rows("new.csv").drop_columns(["year"])
        assert out["label"].tolist() == m.predict(X).tolist()
        posteriors = out[[f"posterior_{label}" for label in m.classes_]].to_numpy()
        np.testing.assert_array_equal(posteriors, m.predict_proba(X))
        np.testing.assert_array_equal(out["posterior"], posteriors.max(axis=1))
        assert list(out.columns)[:7] == read_rows("new.csv").column_names  # carried along

    @pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.json", "out.jsonl", "out.feather", "out.csv.gz"])
    def test_formats_by_suffix(self, here, name):
        run("predict", "nb.cw", "new.csv", "-o", name)
        assert read_rows(name)["label"].to_pylist() == read_stdout(run("predict", "nb.cw", "new.csv"))["label"].tolist()

    def test_formats_on_standard_output(self, here):
        lines = run("predict", "nb.cw", "new.csv", "--format", "jsonl", "-k", "island").stdout.splitlines()
        assert len(lines) == 39
        assert set(json.loads(lines[0])) == {"island", "label", "posterior"}

    def test_standard_input(self, here):
        rows = (here / "new.csv").read_bytes()
        assert run("predict", "nb.cw", "-", input=rows).stdout == run("predict", "nb.cw", "new.csv").stdout

    def test_reject(self, here):
        out = read_stdout(run("predict", "nb.cw", "penguins.csv", "--reject", "0.99"))
        X = read_rows("penguins.csv").drop_columns(["species", "year"])
        m = cw.load("nb.cw")
        sure = m.predict_proba(X).max(axis=1) >= 0.99
        assert 0 < (~sure).sum() < 100
        assert out["label"].tolist() == np.where(sure, m.predict(X), "reject").tolist()
        cost = read_stdout(run("predict", "nb.cw", "penguins.csv", "--reject-cost", "0.01"))
        assert cost["label"].tolist() == out["label"].tolist()

    def test_reject_of_labels_that_are_numbers(self, here):
        PENGUINS[NUMBERS[:2]].assign(y=pd.factorize(PENGUINS["species"])[0]).to_csv("codes.csv", index=False)
        run("fit", "codes.csv", "-t", "y", "-m", "qda", "-o", "codes.cw")
        labels = read_stdout(run("predict", "codes.cw", "codes.csv", "--reject", "0.9"))["label"]
        assert set(labels) == {0, 1, 2, -1}
        assert set(read_stdout(run("predict", "codes.cw", "codes.csv"))["label"]) == {0, 1, 2}

    def test_costs(self, here):
        (here / "costs.csv").write_text("true,Adelie,Gentoo,Chinstrap\nChinstrap,50,1,0\n")
        out = read_stdout(run("predict", "nb.cw", "penguins.csv", "--costs", "costs.csv"))
        X = read_rows("penguins.csv").drop_columns(["species", "year"])
        decision = cw.Decision(cw.load("nb.cw"), costs={"Chinstrap": {"Adelie": 50}})
        assert out["label"].tolist() == decision.predict(X).tolist()
        posterior = decision.predict_proba(X)
        own = np.searchsorted(decision.classes_, out["label"])
        np.testing.assert_allclose(out["posterior"], posterior[np.arange(len(own)), own], rtol=1e-15)
        assert (own != posterior.argmax(axis=1)).any()

    @pytest.mark.parametrize("priors", ["uniform", "Adelie=0.1,Chinstrap=0.8,Gentoo=0.1"])
    def test_priors(self, here, priors):
        out = read_stdout(run("predict", "nb.cw", "new.csv", "--proba", "--priors", priors))
        given = priors if priors == "uniform" else {"Adelie": 0.1, "Chinstrap": 0.8, "Gentoo": 0.1}
        expected = cw.load("nb.cw").with_priors(given).predict_proba(read_rows("new.csv").drop_columns(["year"]))
        np.testing.assert_allclose(out.filter(like="posterior_"), expected, rtol=1e-15)

    def test_priors_of_the_rows_themselves(self, here):
        PENGUINS[PENGUINS["species"] != "Gentoo"].to_csv("shifted.csv", index=False)
        result = run("predict", "nb.cw", "shifted.csv", "--priors", "estimate", "--proba")
        m, X = cw.load("nb.cw"), read_rows("shifted.csv").drop_columns(["species", "year"])
        expected = m.with_priors(m.estimate_priors(X)).predict_proba(X)
        np.testing.assert_allclose(read_stdout(result).filter(like="posterior_"), expected, rtol=1e-12)
        assert "note: " in result.stderr

    def test_columns_that_would_be_hidden_are_refused(self, here):
        run("predict", "nb.cw", "new.csv", "-o", "once.csv")
        assert "--drop label" in fails("predict", "nb.cw", "once.csv")
        run("predict", "nb.cw", "once.csv", "--drop", "label,posterior")

    def test_text_stays_text_where_all_of_it_looks_like_numbers(self, here):
        (here / "train.csv").write_text("code,y\n" + "7,a\nx,b\n" * 5)
        (here / "sevens.csv").write_text("code\n7\n7\n")
        run("fit", "train.csv", "-t", "y", "-m", "naive-bayes", "-o", "code.cw")
        assert read_stdout(run("predict", "code.cw", "sevens.csv"))["label"].tolist() == ["a", "a"]


LABELS = np.random.default_rng(3).choice(["a", "b"], 200)
TWO = pd.DataFrame(
    {
        "x": np.random.default_rng(4).normal(size=200) + (LABELS == "b"),
        "z": np.random.default_rng(5).normal(size=200) * (1 + (LABELS == "b")),
    }
)
OF_TWO = cw.QDA().fit(TWO, LABELS)
DECISIONS = {
    "costs": cw.Decision(cw.NaiveBayes(), costs={"a": {"b": 20}}).fit(TWO, LABELS),
    "costs and reject": cw.Decision(cw.NaiveBayes(), costs={"a": {"b": 3}}, reject={"posterior": 0.7}).fit(TWO, LABELS),
    "reject by its cost": cw.Decision(cw.QDA(), reject=0.2, reject_label="ask").fit(TWO, LABELS),
    "novelty": cw.Decision(cw.QDA(), novelty=0.1, reject=0.2).fit(TWO, LABELS),
    "novelty by its law": cw.Decision(OF_TWO, novelty=0.1, law="chi-square", novel_label="odd"),
    "about a fitted model": cw.Decision(OF_TWO, costs={"b": {"a": 5}}, reject={"posterior": 0.7}),
    "numbers": cw.Decision(cw.LDA(), costs=[[0, 4], [1, 0]], reject=0.3, reject_label=-1).fit(TWO, 1 * (LABELS == "b")),
    "no name for it": cw.Decision(cw.LDA(), reject=0.3, reject_label=None).fit(TWO, LABELS),
}


class TestEvaluate:
    @pytest.fixture
    def expected(self, here):
        rows = read_rows("penguins.csv")
        return cw.load("nb.cw").evaluate(rows.drop_columns(["species", "year"]), PENGUINS["species"].to_numpy())

    def test_a_plain_answer(self, here, expected):
        result = run("evaluate", "nb.cw", "penguins.csv", "-t", "species")
        assert result.stdout == f"{expected}\n"
        assert not result.stderr
        assert run("evaluate", "nb.cw", "-t", "species", input=Path("penguins.csv").read_text()).stdout == result.stdout

    def test_rows_that_the_model_was_fitted_on_are_noted(self, here):
        run("fit", "penguins.csv", "-t", "species", "-m", "naive-bayes", "-d", "year", "-o", "mine.cw")
        PENGUINS.to_csv("new.csv", index=False)
        for verb in ("evaluate", "importance"):
            said = run(verb, "mine.cw", "./penguins.csv", "-t", "species").stderr
            assert "note: the model was fitted on ./penguins.csv: expect it to do worse on new rows." in said
            assert "note:" not in run(verb, "mine.cw", "new.csv", "-t", "species").stderr

    def test_json(self, here, expected):
        found = json.loads(run("evaluate", "nb.cw", "penguins.csv", "-t", "species", "--json").stdout)
        assert found["summary"] == expected.summary()
        assert found["target"] == "species"
        for name, value in expected.measures().items():
            assert found[name] == pytest.approx(value, rel=1e-12)
        assert found["accuracy_interval"] == pytest.approx(list(expected.accuracy_interval))
        assert [row["class"] for row in found["classes"]] == expected.labels.tolist()
        assert found["confusion"]["true_by_predicted"] == expected.confusion.tolist()

    def test_json_has_null_for_what_is_not_defined(self, here):
        PENGUINS[PENGUINS["species"] == "Adelie"].to_csv("adelie.csv", index=False)
        found = json.loads(run("evaluate", "nb.cw", "adelie.csv", "-t", "species", "--json").stdout)
        assert found["auc"] is None
        assert found["classes"][1]["recall"] is None

    def test_rows_wherever_they_are(self, here, expected):
        import duckdb

        for i in range(3):
            PENGUINS[i::3].to_csv(f"site-{i}.csv", index=False)
        with duckdb.connect("zoo.duckdb") as connection:
            connection.execute("CREATE TABLE penguins AS SELECT * FROM read_csv('penguins.csv', nullstr=['', 'NA'])")
        sources = (["site-*.csv"], [f"site-{i}.csv" for i in range(3)], ["zoo.duckdb#penguins"])
        for source in (*sources, ["SELECT * FROM 'site-*.csv'"]):
            found = json.loads(run("evaluate", "nb.cw", *source, "-t", "species", "--json").stdout)
            assert found["log_loss"] == pytest.approx(expected.log_loss, rel=1e-9)
            assert abs(found["auc"] - expected.auc) <= found["auc_bound"] + 1e-12

    def test_weights(self, here):
        found = json.loads(run("evaluate", "nb.cw", "penguins.csv", "-t", "species", "-w", "year", "--json").stdout)
        assert found["weight"] == PENGUINS["year"].sum()

    def test_the_target_may_be_left_out_where_there_is_no_other_column(self, here, expected):
        assert "Name it with --target: penguins.csv has species, year." in fails("evaluate", "nb.cw", "penguins.csv")
        PENGUINS.drop(columns="year").to_csv("labeled.csv", index=False)
        assert run("evaluate", "nb.cw", "labeled.csv").stdout == f"{expected}\n"
        assert run("evaluate", "nb.cw", "penguins.csv", "-w", "year").stdout.startswith("Right on ")
        PENGUINS.drop(columns=["species", "year"]).to_csv("bare.csv", index=False)
        assert "has no labels: the model reads all of its columns" in fails("evaluate", "nb.cw", "bare.csv")

    def test_a_model_of_columns_without_names(self, here):
        rows = PENGUINS[[*NUMBERS, "species"]].dropna()
        rows.to_csv("numbers.csv", index=False)
        model = cw.LDA().fit(rows[NUMBERS].to_numpy(), rows["species"].to_numpy())
        cw.save(model, "bare.cw")
        expected = model.evaluate(rows[NUMBERS].to_numpy(), rows["species"].to_numpy())
        assert run("evaluate", "bare.cw", "numbers.csv", "-t", "species").stdout == f"{expected}\n"
        assert "Name it with --target" in fails("evaluate", "bare.cw", "numbers.csv")

    def test_a_page(self, here, expected):
        run("evaluate", "nb.cw", "penguins.csv", "-t", "species", "--html", "page.html")
        page = Path("page.html").read_text()
        assert "<title>How good is nb.cw on penguins.csv?</title>" in page
        assert f"<p class='lead'>{expected.summary()}</p>" in re.sub(r"</?a\b[^>]*>", "", page)
        assert page.count("<figure>") == 1
        confusion = re.findall(r"<td[^>]*data-tip='(\d+) rows of (\w+) were taken for (\w+)", page)
        labels = expected.labels.tolist()
        assert {(a, b): float(n) for n, a, b in confusion} == {
            (labels[i], labels[j]): n for (i, j), n in np.ndenumerate(expected.confusion) if n
        }
        assert "<dt>command</dt><dd>classwise evaluate nb.cw penguins.csv -t species --html page.html</dd>" in page
        assert "exists" in fails("evaluate", "nb.cw", "penguins.csv", "-t", "species", "--html", "page.html")

    def test_missing_values_are_those_of_the_model_or_those_given(self, here):
        rows = PENGUINS[["bill_length_mm", "species"]].dropna()
        rows.to_csv("whole.csv", index=False)
        run("fit", "whole.csv", "-t", "species", "-m", "lda", "-o", "whole.cw")
        gaps = rows.assign(bill_length_mm=rows["bill_length_mm"].where(rows.index % 7 != 0))
        gaps.to_csv("gaps.csv", index=False, na_rep="-9")
        expected = cw.evaluate(cw.load("whole.cw"), gaps, target="species")
        assert run("evaluate", "whole.cw", "gaps.csv", "--missing=-9").stdout == f"{expected}\n"
        assert run("evaluate", "whole.cw", "gaps.csv").stdout != f"{expected}\n"

    def test_labels_that_look_like_numbers(self, here):
        rows = PENGUINS[NUMBERS].assign(kind=PENGUINS["species"].map({"Adelie": "01", "Chinstrap": "2", "Gentoo": "3"}))
        cw.save(cw.LDA().fit(rows[NUMBERS], rows["kind"]), "kinds.cw")
        rows[rows["kind"] != "01"].to_csv("kinds.csv", index=False)  # a file whose labels are all written as numbers
        assert "Right on" in run("evaluate", "kinds.cw", "kinds.csv").stdout

    def test_what_cannot_be_evaluated(self, here):
        assert "has no column 'spices'" in fails("evaluate", "nb.cw", "penguins.csv", "-t", "spices")
        assert "which is not a class" in fails("evaluate", "nb.cw", "penguins.csv", "-t", "year")
        assert "standard input, which cannot be" in fails("evaluate", "nb.cw", "penguins.csv", "-", "-t", "species")


class TestDecisions:
    """A Decision from a file decides in the shell as it does everywhere."""

    @pytest.fixture(autouse=True)
    def files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        TWO.to_csv("two.csv", index=False)
        TWO.assign(y=LABELS).to_csv("labeled.csv", index=False)
        for name, decision in DECISIONS.items():
            cw.save(decision, f"{name}.cw")

    @pytest.mark.parametrize("name", DECISIONS)
    def test_as_python_the_server_and_sql_decide(self, name):
        import duckdb

        from serving import Client

        decision = DECISIONS[name]
        labels = decision.predict(TWO).tolist()
        assert len(set(labels)) > 1
        assert labels != decision.predict_proba(TWO).argmax(axis=1).tolist()
        text = [None if label is None else str(label) for label in labels]
        run("predict", f"{name}.cw", "two.csv", "-o", "out.csv")
        run("predict", f"{name}.cw", "two.csv", "-o", "out.parquet")
        for file in ("out.csv", "out.parquet"):
            found = read_rows(file, text=["label"])["label"].to_pylist()
            assert [None if label is None else str(label) for label in found] == text
        answered = cw.predict(decision, "two.csv").read_all()["label"].to_pylist()
        assert [None if label is None else str(label) for label in answered] == text
        answer = Client({"m": f"{name}.cw"}).post("/predict", {"columns": TWO.to_dict("list")}).json()
        assert answer["label"] == labels
        refusals = {"no name for it": "reject_label=None"}
        if name in refusals:
            assert refusals[name] in fails("export", "sql", f"{name}.cw", "--table", "two")
            return
        query = run("export", "sql", f"{name}.cw", "--table", "two").stdout
        written = duckdb.connect().register("two", TWO).sql(query).fetchall()
        assert [label for (label,) in written] == labels

    def test_options_replace_its_own(self):
        Path("costs.csv").write_text("true,a,b\na,0,1\nb,9,0\n")
        decision = DECISIONS["costs and reject"]

        def asked(*options):
            return read_stdout(run("predict", "costs and reject.cw", "two.csv", *options))["label"].tolist()

        model = decision.model_
        costs = {"b": {"a": 9}}
        assert (
            asked("--costs", "costs.csv")
            == cw.Decision(model, costs=costs, reject=decision.reject).predict(TWO).tolist()
        )
        assert asked("--reject", "0.9") == (
            cw.Decision(model, costs=decision.costs, reject={"posterior": 0.9}).predict(TWO).tolist()
        )
        assert (
            asked("--reject-cost", "0.1") == cw.Decision(model, costs=decision.costs, reject=0.1).predict(TWO).tolist()
        )
        changed = cw.Decision(model.with_priors("uniform"), costs=decision.costs, reject=decision.reject)
        assert asked("--priors", "uniform") == changed.predict(TWO).tolist()

    def test_other_priors_are_refused_where_what_is_novel_was_learned_under_its_own(self):
        assert "law='chi-square'" in fails("predict", "novelty.cw", "two.csv", "--priors", "uniform")
        run("predict", "novelty by its law.cw", "two.csv", "--priors", "uniform")
        run("predict", "novelty by its law.cw", "two.csv", "--priors", "estimate")

    @pytest.mark.parametrize("name", ["costs and reject", "novelty", "about a fitted model"])
    def test_other_verbs_take_one(self, name):
        file, decision = f"{name}.cw", DECISIONS[name]
        model = getattr(decision, "model_", decision.model)
        explained = run("explain", file, "two.csv", "--row", "2")
        assert explained.stdout == f"{model.explain(TWO[1:2])}\n"
        assert f"note: the Decision predicts {str(decision.predict(TWO[1:2])[0])!r}" in explained.stderr
        functions = getattr(model, "classification_functions", lambda: f"g(a) = {model.discriminant('a')}\n")
        assert str(functions()) in run("explain", file).stdout
        drawn = read_stdout(run("sample", file, "-n", "5"))
        assert drawn["label"].tolist() == model.sample(5, random_state=0)[1].tolist()
        assert "Decision\noptions " in run("info", file).stdout
        found = json.loads(run("export", "json", file).stdout)
        assert found["model"] == "Decision"
        assert found["of"]["priors"] == model.priors_.tolist()
        run("merge", file, file, "-o", "twice.cws")
        assert cw.load("twice.cws").rows == 400

    @pytest.mark.parametrize(
        ("name", "kind"), [("novelty", "regions"), ("costs", "densities"), ("costs", "reliability")]
    )
    def test_pictures(self, name, kind):
        run("plot", f"{name}.cw", "labeled.csv", "-t", "y", "--kind", kind, "-o", f"{kind}.png")

    @pytest.mark.parametrize(
        ("kind", "why"), [("confusion", "A confusion is of the most probable"), ("projection", "QDA has no directions")]
    )
    def test_pictures_that_it_does_not_have(self, kind, why):
        assert why in fails("plot", "novelty.cw", "labeled.csv", "-t", "y", "--kind", kind, "-o", "picture.png")

    def test_of_a_stack(self):
        stack = cw.AutoClassifier(members="fast", folds=3).fit(TWO, LABELS)
        decision = cw.Decision(stack, costs={"a": {"b": 4}}, reject={"posterior": 0.6})
        cw.save(decision, "stack.cw")
        assert read_stdout(run("predict", "stack.cw", "two.csv"))["label"].tolist() == decision.predict(TWO).tolist()
        assert "note: the Decision predicts" in run("explain", "stack.cw", "two.csv").stderr
        assert "members" in json.loads(run("export", "json", "stack.cw").stdout)["of"]


class TestMissing:
    """What stands for a missing value is learned with the model, and known wherever its rows are read by name."""

    MARK = "--missing=-999"

    @pytest.fixture(autouse=True)
    def files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        holes = TWO.mask(np.random.default_rng(6).random(TWO.shape) < 0.2)
        holes.assign(y=LABELS).to_csv("rows.csv", index=False, na_rep="-999")
        holes.to_csv("new.csv", index=False, na_rep="-999")
        self.holes = holes

    @pytest.mark.parametrize(
        "options",
        [
            ["-m", "naive-bayes"],
            ["-m", "lda", "--stream"],
            ["-m", "logistic"],
            ["-m", "logistic", "--stream"],
            ["--set", "members=fast", "--set", "folds=3"],
            ["--set", "members=fast", "--set", "folds=3", "--stream"],
        ],
    )
    @pytest.mark.filterwarnings("ignore::classwise.ImputedValueWarning")
    def test_a_model_knows(self, options):
        run("fit", "rows.csv", "-t", "y", self.MARK, *options, "-o", "m.cw")
        m = cw.load("m.cw")
        assert m.model_.schema.missing == ("-999",)
        expected = m.predict_proba(self.holes).max(axis=1)
        out = read_stdout(run("predict", "m.cw", "new.csv"))
        np.testing.assert_allclose(out["posterior"], expected, rtol=1e-12)
        assert run("predict", "m.cw", "new.csv", self.MARK).stdout == run("predict", "m.cw", "new.csv").stdout
        found = cw.predict(m, "new.csv").read_all()["posterior"].to_numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-12)

    def test_other_formats_and_databases_know_it_too(self):
        import duckdb

        run("fit", "rows.csv", "-t", "y", self.MARK, "-m", "naive-bayes", "-o", "m.cw")
        expected = cw.load("m.cw").predict_proba(self.holes).max(axis=1)
        numbers = pa.Table.from_pandas(self.holes.fillna(-999.0), preserve_index=False)
        write_rows(numbers, "new.parquet")
        with duckdb.connect("shop.duckdb") as connection:
            connection.register("numbers", numbers)
            connection.execute("CREATE TABLE new AS SELECT * FROM numbers")
        for source in ("new.parquet", "shop.duckdb#new", "FROM 'new.parquet'"):
            np.testing.assert_allclose(read_stdout(run("predict", "m.cw", source))["posterior"], expected, rtol=1e-12)
        query = "SELECT *, rowid % 2 AS y FROM new"
        statistics = cw.summarize(cw.Query(query, "shop.duckdb", missing=("-999",)), target="y")
        assert statistics.schema.missing == ("-999",)
        assert statistics.mean.max() < 9

    def test_other_verbs_know(self):
        run("fit", "rows.csv", "-t", "y", self.MARK, "-m", "naive-bayes", "-o", "m.cw")
        m, row = cw.load("m.cw"), int(np.flatnonzero(self.holes["x"].isna())[0])
        explained = run("explain", "m.cw", "new.csv", "--row", row + 1).stdout
        assert explained == f"{m.explain(pa.Table.from_pandas(self.holes[row : row + 1]))}\n"
        cw.save(cw.Decision(m, reject=0.2), "d.cw")
        labels = read_stdout(run("predict", "d.cw", "new.csv"))["label"].tolist()
        assert labels == cw.Decision(m, reject=0.2).predict(self.holes).tolist()
        run("compare", "rows.csv", "-t", "y", self.MARK, "--save", "best.cw", *QUICK)
        assert cw.load("best.cw").model_.schema.missing == ("-999",)
        assert "missing     '-999'" in run("info", "m.cw").stdout

    def test_another_one_takes_its_place(self):
        run("fit", "rows.csv", "-t", "y", self.MARK, "-m", "naive-bayes", "-o", "m.cw")
        self.holes.to_csv("gone.csv", index=False, na_rep="gone")
        out = read_stdout(run("predict", "m.cw", "gone.csv", "--missing", "gone"))
        np.testing.assert_allclose(out["posterior"], cw.load("m.cw").predict_proba(self.holes).max(axis=1), rtol=1e-12)
        assert "it holds text" in fails("predict", "m.cw", "gone.csv")

    def test_statistics_know_and_sums_know_what_either_does(self):
        run("summarize", "rows.csv", "-t", "y", self.MARK, "-o", "a.cws")
        self.holes.assign(y=LABELS).to_csv("usual.csv", index=False, na_rep="?")
        run("summarize", "usual.csv", "-t", "y", "-o", "b.cws")
        run("fit", "a.cws", "-m", "naive-bayes", "-o", "a.cw")
        assert cw.load("a.cw").model_.schema.missing == ("-999",)
        run("merge", "a.cws", "b.cws", "-o", "both.cws")
        run("fit", "both.cws", "-m", "naive-bayes", "-o", "both.cw")
        assert cw.load("both.cw").model_.schema.missing == ("-999", *MISSING)
        ours, theirs = (read_stdout(run("predict", "both.cw", f"{name}.csv")) for name in ("new", "usual"))
        np.testing.assert_allclose(ours["posterior"], theirs["posterior"], rtol=1e-12)


def read_stdout(result):
    import io

    return pd.read_csv(io.StringIO(result.stdout))


class TestStreams:
    """More rows than memory holds: the same answers from rows that are read as they come."""

    def test_compare(self, here):
        found = json.loads(
            run("compare", "penguins.csv", "-t", "species", "-d", "year", "--stream", "--json", *QUICK).stdout
        )
        columns = [name for name in PENGUINS.columns if name not in ("species", "year")]
        ours = cw.compare("penguins.csv", target="species", columns=columns, folds=3, references=False, stream=True)
        assert found["data"] == {"source": "penguins.csv", "rows": 344, "target": "species", "columns": columns}
        assert found["best"] == ours.winner.name
        losses = {line["name"]: line["log_loss"] for line in found["models"]}
        assert losses == {line.name: line.log_loss and line.log_loss.value for line in ours.table().lines}
        result = run("compare", "-", "-t", "species", "--stream", *QUICK, input=(here / "penguins.csv").read_bytes())
        assert "344 rows of standard input; species from 7 columns." in result.stderr
        assert "All 344 rows were scored in a second pass" in " ".join(result.stdout.split())

    def test_compare_by_how_many_rows_there_are(self, here, monkeypatch):
        monkeypatch.setattr("classwise.limits.MOST_HELD", 2000)
        result = run("compare", "penguins.csv", "-t", "species", *QUICK)
        assert "in a second pass" in result.stdout
        assert "in a second pass" not in run("compare", "penguins.csv", "-t", "species", "--no-stream", *QUICK).stdout

    def test_costs_of_a_stream(self, here):
        (here / "dear.csv").write_text("true,Adelie,Chinstrap,Gentoo\nAdelie,0,1,1\nChinstrap,9,0,9\nGentoo,1,1,0\n")
        command = ["compare", "penguins.csv", "-t", "species", "--stream", "--costs", "dear.csv", "-m", "lda", "--json"]
        found = json.loads(run(*command, "--folds", "3").stdout)
        costs = {"Chinstrap": {"Adelie": 9, "Gentoo": 9}}
        ours = cw.compare("penguins.csv", target="species", stream=True, folds=3, only=["lda"], costs=costs)
        assert found["answer"]["by"] == "cost"
        assert found["best"] == ours.winner.name
        assert found["answer"]["lines"][0]["cost"] == pytest.approx(ours.winner.estimate("cost").value)

    def test_a_report_of_a_stream_draws_a_sample(self, here):
        options = ["-t", "species", "--stream", "--html", "report.html", *QUICK]
        run("compare", "-", *options, input=(here / "penguins.csv").read_bytes())
        page = (here / "report.html").read_text()
        assert "344 of standard input, read as a stream; pictures, importance and advice are of 344 of them" in page
        assert "<dt>command</dt><dd>classwise compare - -t species --stream --html report.html" in page

    def test_fit(self, here, monkeypatch):
        options = ["-t", "species", "-d", "year", "--set", "shrink=oas", "-m", "lda"]
        run("fit", "penguins.csv", *options, "-o", "whole.cw", "--no-stream")
        run("fit", "penguins.csv", *options, "-o", "stream.cw", "--stream")
        X = read_rows("penguins.csv").drop_columns(["species", "year"])
        whole, stream = cw.load("whole.cw"), cw.load("stream.cw")
        np.testing.assert_allclose(stream.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-9)
        assert stream.statistics_.moments.scatter.name == "pooled"
        rda = ["-t", "species", "-d", "year", "-m", "rda"]
        run("fit", "penguins.csv", *rda, "--stream", "-o", "rda.cw")
        run("fit", "penguins.csv", *rda, "--no-stream", "-o", "rda-whole.cw")
        assert cw.load("rda.cw").dials_.best == cw.load("rda-whole.cw").dials_.best
        monkeypatch.setattr("classwise.limits.MOST_HELD", 2000)
        monkeypatch.setattr("classwise.rows.files.RowFile.table", lambda file: 1 / 0)  # no table of all rows is made
        run("fit", "penguins.csv", *options, "-o", "large.cw")
        np.testing.assert_array_equal(cw.load("large.cw").means_, stream.means_)

    def test_fit_by_several_passes(self, here, monkeypatch):
        options = ["-t", "species", "-d", "year", "-m", "logistic", "--set", "precision=1"]
        run("fit", "penguins.csv", *options, "-o", "whole.cw", "--no-stream")
        monkeypatch.setattr("classwise.limits.MOST_HELD", 1000)
        run("fit", "penguins.csv", *options, "--set", "posterior=sampled", "--set", "draws=8", "-o", "sampled.cw")
        monkeypatch.setattr("classwise.rows.files.RowFile.table", lambda file: 1 / 0)  # no table of all rows is made
        run("fit", "penguins.csv", *options, "-o", "large.cw")
        np.testing.assert_allclose(cw.load("large.cw").coef_, cw.load("whole.cw").coef_, rtol=1e-9, atol=1e-10)
        line = fails("fit", "penguins.csv", *options, "--set", "posterior=sampled", "-o", "x.cw", "--stream")
        assert "or give the rows to fit" in line
        run("fit", "penguins.csv", *options[:4], "--set", "members=fast", "-o", "stack.cw")
        assert cw.load("stack.cw").rows_ == 344

    def test_summarize(self, here):
        for i in range(3):
            PENGUINS[i::3].to_csv(f"site-{i}.csv", index=False)
        run("summarize", "site-*.csv", "-t", "species", "-d", "year", "-o", "all.cws", "--checkpoint", "so-far.cws")
        columns = [name for name in PENGUINS.columns if name not in ("species", "year")]
        s, t = cw.load("all.cws"), cw.summarize("site-*.csv", target="species", columns=columns)
        np.testing.assert_array_equal(s.scatter, t.scatter)
        assert s.rows == cw.load("so-far.cws").rows == 344
        (here / "site-3.csv").write_bytes(b"species,island\n\xff\xfe")
        assert "site-3.csv" in fails("summarize", "site-*.csv", "-t", "species", "-o", "x.cws")
        result = run("summarize", "site-*.csv", "-t", "species", "-d", "year", "-o", "x.cws", "--on-error", "skip")
        assert "note: 1 of 4 files could not be read and were left out" in result.stderr
        assert cw.load("x.cws").rows == 344

    def test_databases(self, here):
        import duckdb

        with duckdb.connect("zoo.duckdb") as connection:
            connection.execute("CREATE TABLE penguins AS SELECT * FROM 'penguins.csv'")
        run("summarize", "zoo.duckdb#penguins", "-t", "species", "-d", "year", "-o", "zoo.cws")
        assert cw.load("zoo.cws").rows == 344
        run("predict", "nb.cw", "SELECT * FROM 'new.csv'", "-o", "zoo.duckdb#answers", "-k", "island")
        answers = read_rows_of("zoo.duckdb", "answers")
        assert answers["label"].to_pylist() == read_stdout(run("predict", "nb.cw", "new.csv"))["label"].tolist()

    def test_predict_makes_no_table_of_all_rows(self, here, monkeypatch):
        monkeypatch.setattr("classwise.rows.files.RowFile.table", lambda file: 1 / 0)
        whole = read_stdout(run("predict", "nb.cw", "penguins.csv"))
        assert whole["year"].tolist() == PENGUINS["year"].tolist()  # in their order, and whole
        assert whole["year"].dtype.kind == "i"

    def test_the_posterior_is_that_of_the_label_announced(self, here):
        """Also where two decisions cost the same, but for rounding."""
        (here / "ties.csv").write_text("x,y\n" + "p,a\n" * 9 + "p,b\n")
        (here / "costs.csv").write_text("true,a,b\na,0,1\nb,9,0\n")
        run("fit", "ties.csv", "-t", "y", "-m", "naive-bayes", "-o", "ties.cw")
        out = read_stdout(run("predict", "ties.cw", "ties.csv", "--costs", "costs.csv", "--proba"))
        assert set(out["label"]) == {"a"}  # though 0.9 times 1 is a little less than 0.1 times 9
        np.testing.assert_array_equal(out["posterior"], out["posterior_a"])


def read_rows_of(database, table):
    import duckdb

    with duckdb.connect(database, read_only=True) as connection:
        return connection.sql(f"FROM {table}").to_arrow_table()


class TestExplain:
    def test_formulas(self, here):
        lines, m = run("explain", "lda.cw").stdout.splitlines(), cw.load("lda.cw")
        functions = str(m.classification_functions()).splitlines()
        assert lines[: len(functions)] == functions
        assert "²" not in "".join(lines)
        edge = ["", "Adelie | Chinstrap: line", f"  {m.boundary('Adelie', 'Chinstrap')}"]
        assert lines[len(functions) : len(functions) + 3] == edge
        assert len(lines) == len(functions) + 1 + 2 * 3

    def test_formulas_beside_text(self, here):
        run("fit", "penguins.csv", "-t", "species", "-m", "lda", "-o", "mixed.cw")
        result = run("explain", "mixed.cw")
        assert result.stdout == f"{cw.load('mixed.cw').classification_functions()}\n"
        assert "island: Biscoe +" in result.stdout
        assert "cases" in run("explain", "mixed.cw", "--latex").stdout

    def test_formulas_for_latex_and_in_one_column(self, here):
        lines, m = run("explain", "lda.cw", "--latex").stdout.splitlines(), cw.load("lda.cw")
        assert lines[0] == m.classification_functions()[0]._repr_latex_() + " % g(Adelie)"
        lines = run("explain", "lda.cw", "-c", "bill_depth_mm").stdout.splitlines()
        assert lines[0] == str(m.classification_functions(columns=["bill_depth_mm"])[0])
        assert lines[7] == f"  {m.boundary('Adelie', 'Chinstrap', columns=['bill_depth_mm'])}"

    def test_models_without_polynomials_show_what_was_estimated(self, here):
        result = run("explain", "nb.cw")
        assert result.stdout.startswith("prior: Adelie 0.4419, Chinstrap 0.1977, Gentoo 0.3605\nisland (categorical)\n")
        assert "note: " in result.stderr

    def test_logistic_regression_shows_its_weights_and_boundaries(self, here):
        two = PENGUINS[PENGUINS["species"] != "Gentoo"].dropna()
        two.to_csv("two.csv", index=False)
        run("fit", "two.csv", "-t", "species", "-d", "year", "-m", "logistic", "--set", "precision=1", "-o", "l.cw")
        m = cw.load("l.cw")
        assert run("explain", "l.cw").stdout == f"{m.coefficients()}\n"
        lines = run("explain", "l.cw", "-c", "bill_depth_mm").stdout.splitlines()
        assert lines[1] == f"  {m.boundary('Adelie', 'Chinstrap', columns=['bill_depth_mm'])}"
        row = read_rows("two.csv").drop_columns(["species", "year"]).slice(2, 1)
        assert run("explain", "l.cw", "two.csv", "--row", "3").stdout == f"{m.explain(row)}\n"
        content = json.loads(run("export", "json", "l.cw").stdout)
        assert [row["weight"] for row in content["weights"]] == [*m.coef_[0], *m.intercept_]
        assert run("export", "sql", "l.cw", "--table", "two").stdout == cw.to_sql(m, "two") + "\n"
        assert "posteriors differ by at most" in run("export", "sql", "l.cw", "--table", "two", "-o", "l.sql").stderr

    def test_a_row(self, here):
        row = read_rows("penguins.csv").drop_columns(["species", "year"]).slice(2, 1)
        m = cw.load("nb.cw")
        assert run("explain", "nb.cw", "penguins.csv", "--row", "3").stdout == f"{m.explain(row)}\n"
        named = run("explain", "nb.cw", "penguins.csv", "-r", "3", "--label", "Gentoo", "--against", "Adelie").stdout
        assert named == f"{m.explain(row, 'Gentoo', 'Adelie')}\n"
        assert "'Emperor' is not a class" in fails("explain", "nb.cw", "penguins.csv", "--label", "Emperor")


class TestOtherVerbs:
    def test_sample(self, here):
        run("sample", "nb.cw", "-n", "7", "--seed", "3", "-t", "species", "-o", "new.feather")
        X, y = cw.load("nb.cw").sample(7, random_state=3)
        drawn = read_rows("new.feather")
        assert drawn["species"].to_pylist() == y.tolist()
        assert drawn.drop_columns(["species"]).to_pydict() == pa.table(X).to_pydict()

    @pytest.mark.parametrize("kind", ["regions", "pairs", "densities", "projection", "confusion", "reliability"])
    def test_plot(self, here, kind):
        options = ["--dark"] if kind == "regions" else []
        run("plot", "lda.cw", "penguins.csv", "-t", "species", "--kind", kind, "-o", "picture.png", *options)
        assert (here / "picture.png").read_bytes().startswith(b"\x89PNG")
        assert (here / "picture.png").stat().st_size > 10_000

    @pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF")])
    def test_plot_formats(self, here, suffix, start):
        run("plot", "lda.cw", "penguins.csv", "-t", "species", "-o", f"picture.{suffix}")
        assert (here / f"picture.{suffix}").read_bytes().startswith(start)

    def test_plot_options(self, here):
        command = ["plot", "nb.cw", "penguins.csv", "-t", "species", "-o", "x.png", "--force", "--kind"]
        run(*command, "densities", "-c", "sex", "--title", "Penguins")
        run(*command, "confusion", "-w", "year")
        assert "this picture is of one column" in fails(*command, "densities", "-c", "sex,island")
        assert "--columns is for --kind regions, pairs, densities" in fails(*command, "confusion", "-c", "sex")
        assert "--weights is for --kind confusion, reliability" in fails(*command, "pairs", "-w", "year")

    def test_parts_add_up_to_the_whole(self, here):
        PENGUINS[:150].to_csv("a.csv", index=False)
        PENGUINS[150:].to_csv("b.csv", index=False)
        for part in "ab":
            run("summarize", f"{part}.csv", "-t", "species", "-d", "year", "-o", f"{part}.cws")
        run("merge", "b.cws", "a.cws", "-o", "both.cws")
        run("fit", "both.cws", "-m", "lda", "--set", "shrink=oas", "-o", "parts.cw")
        run("fit", "penguins.csv", "-t", "species", "-d", "year", "-m", "lda", "--set", "shrink=oas", "-o", "whole.cw")
        X = read_rows("penguins.csv").drop_columns(["species", "year"])
        whole, parts = cw.load("whole.cw"), cw.load("parts.cw")
        assert whole.get_params()["shrink"] == "oas"
        np.testing.assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-9)
        run("subtract", "both.cws", "b.cws", "-o", "rest.cws")
        rest, a = cw.load("rest.cws"), cw.load("a.cws")
        np.testing.assert_allclose(rest.mean, a.mean, rtol=1e-10)
        assert "sources     b.cws, a.cws" in run("info", "both.cws").stdout
        assert "needs rows" in fails("fit", "both.cws", "-o", "auto.cw")
        assert "holds statistics, not a model" in fails("predict", "both.cws", "new.csv")

    def test_models_without_statistics_still_answer(self, here):
        options = ["-t", "species", "-d", "year", "-m", "naive-bayes", "--without-statistics", "-o", "lean.cw"]
        run("fit", "penguins.csv", *options)
        assert run("predict", "lean.cw", "new.csv").stdout == run("predict", "nb.cw", "new.csv").stdout
        assert json.loads(run("info", "lean.cw", "--json").stdout)["statistics"] is False

    def test_fit_without_a_model_is_a_stack(self, here):
        run("fit", "penguins.csv", "-t", "species", "-c", ",".join(NUMBERS), "--set", "folds=3", "-o", "auto.cw")
        table = read_rows("penguins.csv")
        stack = cw.AutoClassifier(folds=3).fit(table.select(NUMBERS), table["species"].to_numpy())
        loaded = cw.load("auto.cw")
        assert loaded.weights_ == stack.weights_
        np.testing.assert_array_equal(
            loaded.predict_proba(table.select(NUMBERS)), stack.predict_proba(table.select(NUMBERS))
        )

    def test_export_json_has_all_that_answers_take(self, here):
        run("export", "json", "lda.cw", "-o", "lda.json")
        found = json.loads((here / "lda.json").read_text())
        table = read_rows("penguins.csv")
        x = table.select(NUMBERS[:2]).to_pandas().dropna().to_numpy()
        scores = []
        for label in found["labels"]:
            g = {key: np.array(value) for key, value in found["discriminants"][label].items() if key != "text"}
            d = x - g["center"]
            scores.append(np.einsum("ni,ij,nj->n", d, g["quadratic"], d) + d @ g["linear"] + g["constant"])
        scores = np.array(scores).T
        m = cw.load("lda.cw")
        expected = m.decision_function(pd.DataFrame(x, columns=NUMBERS[:2]))
        differences = scores - scores[:, :1] - (expected - expected[:, :1])
        assert np.abs(differences).max() < 1e-8
        assert [column["name"] for column in found["columns"]] == NUMBERS[:2]
        assert json.loads(run("export", "json", "nb.cw").stdout)["columns"][0]["family"] == "categorical"

    def test_export_onnx_runs(self, here):
        onnxruntime = pytest.importorskip("onnxruntime")
        run("export", "onnx", "lda.cw", "-o", "lda.onnx", "--dtype", "float64")
        session = onnxruntime.InferenceSession((here / "lda.onnx").read_bytes())
        X = PENGUINS[NUMBERS[:2]].dropna()
        inputs = {name: X[[name]].to_numpy() for name in X}
        labels = session.run(None, inputs)[0]
        assert labels.ravel().tolist() == cw.load("lda.cw").predict(X).tolist()

    def test_export_sql_runs(self, here):
        import duckdb

        told = run("export", "sql", "lda.cw", "--table", "rows", "-k", "species", "-o", "lda.sql").stderr
        assert "It gives the labels and posteriors of classwise, also for missing values and levels never seen." in told
        rows = read_rows("penguins.csv")
        assert not all(rows["bill_depth_mm"].is_valid().to_pylist())
        answered = duckdb.connect().register("rows", rows).sql((here / "lda.sql").read_text()).fetchall()
        assert sorted(answered) == sorted(
            zip(rows["species"].to_pylist(), cw.load("lda.cw").predict(rows.select(NUMBERS[:2])).tolist(), strict=True)
        )
        assert "posterior_Gentoo" in run("export", "sql", "lda.cw", "--table", "t", "--answer", "posteriors").stdout

    def test_columns_without_names_are_named(self, here):
        cw.save(cw.LDA().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.5], [3.0, 2.0]], ["a", "a", "b", "b"]), "bare.cw")
        told = run("export", "sql", "bare.cw", "--table", "t", "--features", "height,weight", "-o", "bare.sql").stderr
        assert "labels are the same" in told
        assert '"height"' in Path("bare.sql").read_text()


def test_levels_keep_all_their_digits_with_and_without_a_stream(here):
    """Ids beyond 64 bits, which are one number in float64, stay apart where a column is asked to be levels."""
    first = 10**20
    rows = "".join(f"{first + i % 2},{i},{'ab'[i % 2]}\n" for i in range(40))
    (here / "ids.csv").write_text("id,x,y\n" + rows)
    for stream in ("--no-stream", "--stream"):
        options = ["-t", "y", "-m", "naive-bayes", "--families", "id=categorical", stream, "--force"]
        run("fit", "ids.csv", *options, "-o", "ids.cw")
        assert cw.load("ids.cw").model_.levels[0].tolist() == [str(first), str(first + 1)]


class TestStandardOutput:
    """A dash is standard output for every verb, and never the name of a file."""

    @pytest.fixture(autouse=True)
    def no_such_file(self, here):
        yield
        assert not (here / "-").exists()

    def test_models_and_statistics(self, here):
        def kept(name, *arguments):
            result = run(*arguments, "-o", "-")
            assert re.search(r"(is|are) on standard output\.", result.stderr)
            (here / name).write_bytes(result.stdout_bytes)
            return cw.load(name)

        kept("m.cw", "fit", "penguins.csv", "-t", "species", "-d", "year", "-m", "naive-bayes")
        assert run("predict", "m.cw", "new.csv").stdout == run("predict", "nb.cw", "new.csv").stdout
        one = kept("a.cws", "summarize", "penguins.csv", "-t", "species", "-d", "year")
        assert kept("b.cws", "merge", "a.cws", "a.cws").rows == 2 * one.rows
        assert kept("c.cws", "subtract", "b.cws", "a.cws").rows == one.rows

    def test_rows_exports_and_pictures(self, here):
        assert run("predict", "nb.cw", "new.csv", "-o", "-").stdout == run("predict", "nb.cw", "new.csv").stdout
        assert run("sample", "nb.cw", "-n", "1", "-o", "-", "--format", "jsonl").stdout.startswith('{"island"')
        assert run("export", "sql", "nb.cw", "--table", "t", "-o", "-").stdout.startswith("WITH ")
        assert run("export", "json", "lda.cw", "-o", "-").stdout.startswith("{")
        run("export", "onnx", "lda.cw", "-o", "lda.onnx")
        assert run("export", "onnx", "lda.cw", "-o", "-").stdout_bytes == (here / "lda.onnx").read_bytes()
        picture = run("plot", "lda.cw", "penguins.csv", "-t", "species", "-o", "-")
        assert picture.stdout_bytes.startswith(b"\x89PNG")

    @pytest.mark.parametrize(
        "arguments",
        [
            ["compare", "penguins.csv", "-t", "species", "--save", "-"],
            ["compare", "penguins.csv", "-t", "species", "--html", "-"],
            ["summarize", "penguins.csv", "-t", "species", "-o", "x.cws", "--checkpoint", "-"],
        ],
    )
    def test_what_must_be_a_file(self, here, arguments):
        assert f"{arguments[-2]} takes the name of a file" in fails(*arguments)

    def test_what_is_no_text_is_not_for_a_terminal(self, here, monkeypatch):
        monkeypatch.setattr(sys.modules["classwise.rows.sinks"], "is_terminal", lambda: True)
        for words in (
            ["fit", "penguins.csv", "-t", "species"],
            ["export", "onnx", "lda.cw"],
            ["merge", "nb.cw", "nb.cw"],
            ["plot", "lda.cw", "penguins.csv", "-t", "species"],
            ["predict", "nb.cw", "new.csv", "--format", "parquet"],
        ):
            assert "is not for reading on a terminal" in fails(*words, "-o", "-")


class TestStandardInput:
    """A dash is standard input wherever a verb reads rows, a model or statistics."""

    @pytest.fixture
    def model(self, here):
        return (here / "lda.cw").read_bytes()

    @pytest.mark.parametrize(
        "arguments",
        [
            ["predict", "MODEL", "new.csv"],
            ["evaluate", "MODEL", "penguins.csv", "-t", "species"],
            ["explain", "MODEL"],
            ["explain", "MODEL", "new.csv"],
            ["sample", "MODEL", "-n", "3"],
            ["info", "MODEL"],
            ["export", "json", "MODEL"],
            ["export", "sql", "MODEL", "--table", "t"],
            ["export", "onnx", "MODEL", "-o", "-"],
            ["plot", "MODEL", "penguins.csv", "-t", "species", "-o", "-"],
            ["merge", "MODEL", "lda.cw", "-o", "-"],
            ["subtract", "lda.cw", "MODEL", "-o", "-"],
        ],
        ids=lambda arguments: "-".join(arguments[:2]),
    )
    def test_models(self, here, model, monkeypatch, arguments):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")

        def given(path, **options):
            found = run(*[path if each == "MODEL" else each for each in arguments], **options).stdout_bytes
            return found.replace(b"standard input", b"lda.cw")

        assert given("-", input=model)[-2000:] == given("lda.cw")[-2000:]

    def test_statistics_are_fitted(self, here, model):
        (here / "part.cws").write_bytes(run("merge", "lda.cw", "-o", "-").stdout_bytes)
        run("fit", "-", "-m", "lda", "-o", "piped.cw", input=(here / "part.cws").read_bytes())
        run("fit", "part.cws", "-m", "lda", "-o", "read.cw")
        assert run("predict", "piped.cw", "new.csv").stdout == run("predict", "read.cw", "new.csv").stdout
        assert "--model auto needs rows" in fails("fit", "-", "-o", "x.cw", input=b"")

    def test_costs(self, here):
        costs = "species,Adelie,Chinstrap,Gentoo\nAdelie,0,1,1\nChinstrap,20,0,1\nGentoo,1,1,0\n"
        (here / "costs.csv").write_text(costs)
        expected = run("predict", "lda.cw", "new.csv", "--costs", "costs.csv").stdout
        assert run("predict", "lda.cw", "new.csv", "--costs", "-", input=costs).stdout == expected

    @pytest.mark.parametrize(
        ("arguments", "both"),
        [
            (["predict", "-"], "MODEL and DATA"),
            (["predict", "lda.cw", "--costs", "-"], "DATA and --costs"),
            (["explain", "-", "-"], "MODEL and DATA"),
            (["merge", "-", "-", "-o", "x.cws"], "PART... and PART..."),
        ],
    )
    def test_it_is_read_once(self, here, model, arguments, both):
        assert f"can be read only once, and here it is {both}" in fails(*arguments, input=model)

    def test_errors_do_not_speak_of_copies(self, here):
        assert "standard input is not a classwise file" in fails("info", "-", input="a,b\n1,2\n")
        assert "standard input names the column 'a' twice" in fails("compare", "-", "-t", "a", input="a,a\n1,2\n")
        assert "standard input has no column 'bill_length_mm'" in fails("explain", "lda.cw", "-", input="a\n1\n")


def test_one_database_is_read_and_written(here):
    import duckdb

    with duckdb.connect("zoo.duckdb") as connection:
        connection.execute("CREATE TABLE penguins AS FROM 'penguins.csv'")
    run("predict", "lda.cw", "zoo.duckdb#penguins", "-o", "zoo.duckdb#scored")
    expected = read_stdout(run("predict", "lda.cw", "zoo.duckdb#penguins"))["label"].tolist()
    with duckdb.connect("zoo.duckdb") as connection:
        assert [label for (label,) in connection.sql("SELECT label FROM scored").fetchall()] == expected


class TestDatabase:
    """One DuckDB file is read and written at once; what cannot be done is said, and nothing is lost."""

    @pytest.fixture
    def zoo(self, here):
        import duckdb

        with duckdb.connect("zoo.duckdb") as connection:
            connection.execute("CREATE TABLE penguins AS FROM 'penguins.csv', range(300) AS copies(copy)")
        return here

    @staticmethod
    def asked(query):
        import duckdb

        with duckdb.connect("zoo.duckdb", read_only=True) as connection:
            return connection.sql(query).fetchall()

    def test_a_table_is_replaced_while_it_is_read(self, zoo):
        before = self.asked("SELECT count(*), sum(body_mass_g) FROM penguins")
        run("predict", "lda.cw", "zoo.duckdb#penguins", "-o", "zoo.duckdb#penguins", "--force")
        assert self.asked("SELECT count(*), sum(body_mass_g) FROM penguins") == before == [(103200, 431100000)]
        assert self.asked("SELECT count(label) FROM penguins") == [(103200,)]

    def test_without_force_it_stays(self, zoo):
        words = "cannot be written: it exists already; --force replaces it."
        assert words in fails("predict", "lda.cw", "zoo.duckdb#penguins", "-o", "zoo.duckdb#penguins")
        assert len(self.asked("DESCRIBE penguins")) == 9

    def test_an_error_in_the_middle_leaves_all_as_it_was(self, zoo):
        import duckdb

        with duckdb.connect("zoo.duckdb") as connection:
            connection.execute("ALTER TABLE penguins ADD COLUMN hour DOUBLE")
            connection.execute("UPDATE penguins SET hour = CASE WHEN copy = 299 THEN 'inf'::DOUBLE ELSE copy END")
        cw.save(cw.LDA().fit(pa.table({"hour": [1.0, 2.0, 3.0, 5.0]}), ["a", "a", "b", "b"]), "hour.cw")
        before = self.asked("SELECT count(*) FROM penguins")
        fails("predict", "hour.cw", "zoo.duckdb#penguins", "-o", "zoo.duckdb#penguins", "--force")
        assert self.asked("SELECT count(*) FROM penguins") == before
        assert len(self.asked("DESCRIBE penguins")) == 10

    def test_every_verb_that_writes_rows(self, zoo):
        run("sample", "lda.cw", "-n", "7", "-o", "zoo.duckdb#drawn")
        run("datasets", "penguins", "-o", "zoo.duckdb#birds")
        assert self.asked("SELECT count(*) FROM drawn") + self.asked("SELECT count(*) FROM birds") == [(7,), (344,)]
        assert "it exists already; --force" in fails("sample", "lda.cw", "-o", "zoo.duckdb#drawn")

    def test_every_verb_that_reads_rows(self, zoo):
        run("datasets", "penguins", "-o", "zoo.duckdb#birds")
        for verb in (["explain", "lda.cw"], ["evaluate", "lda.cw"]):
            more = ["-t", "species"] if verb[0] == "evaluate" else ["--row", "9"]
            assert run(*verb, "zoo.duckdb#birds", *more).stdout == run(*verb, "penguins.csv", *more).stdout
        run("plot", "lda.cw", "zoo.duckdb#birds", "-t", "species", "-o", "x.png")
        assert "is a database, and does not say which rows: add #table" in fails("explain", "lda.cw", "zoo.duckdb")


def test_rows_may_have_odd_names(here):
    """Brackets are no markup, and nothing else is either."""
    names = ["[bold]x", "a,b", "ünï", "'q'"]
    rows = PENGUINS[NUMBERS].set_axis(names, axis=1).assign(**{"[red]y": PENGUINS["species"]})
    write_rows(pa.Table.from_pandas(rows), "odd.csv")
    result = run("compare", "odd.csv", "-t", "[red]y", "--all", *QUICK)
    for name in names:
        assert f"\n{name} " in result.stderr
    assert "[red]y from 4 columns" in result.stderr


class TestDatasets:
    def test_all_are_listed(self):
        listed = [line.split()[0] for line in run("datasets").stdout.splitlines()]
        assert listed[:5] == ["name", "penguins", "petals", "banana", "simplex"]
        assert len(listed) == 5 + len(cw.datasets.BOUNDARIES)

    def test_penguins(self, here):
        result = run("datasets", "penguins", "-o", "birds.csv")
        assert result.stderr == "344 rows are in birds.csv; their classes are in the column species.\n"
        pd.testing.assert_frame_equal(pd.read_csv("birds.csv"), cw.load_penguins())
        run("datasets", "penguins", "-o", "birds.parquet")
        assert read_rows("birds.parquet").equals(cw.load_penguins("pyarrow"))
        assert run("datasets", "penguins").stdout == (here / "birds.csv").read_text()
        assert "exists already; --force replaces it" in fails("datasets", "penguins", "-o", "birds.csv")

    def test_drawn_and_worked_examples(self):
        found = read_stdout(run("datasets", "pair-of-lines", "-n", "50", "--seed", "3"))
        X, y = cw.datasets.gaussians(50, covariances="pair of lines", random_state=3)
        np.testing.assert_array_equal(found[["x0", "x1"]], X)
        assert found["label"].tolist() == y.tolist()
        assert [len(read_stdout(run("datasets", name))) for name in ("petals", "banana", "simplex")] == [8, 400, 400]

    def test_refusals(self):
        assert "there are penguins, petals," in fails("datasets", "iris")
        assert "--rows is for tables that are drawn at random" in fails("datasets", "petals", "-n", "3")


def test_no_verb_is_missing_from_the_page():
    page = (Path(__file__).parents[1] / "docs" / "cli.md").read_text()
    for words, _ in verbs():
        assert f"classwise {' '.join(words)}" in page
