"""Messages in a shell speak of flags and verbs, never of Python's arguments and functions."""

import re
import shlex

import numpy as np
import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner

import classwise as cw
from classwise.cli.program import app
from classwise.cli.wording import Wording, in_shell

COMMANDS = typer.main.get_command(app).commands
SQL, ONNX = (COMMANDS["export"].commands[name] for name in ("sql", "onnx"))

# What gives Python away.
PYTHON = re.compile(
    r"""(?<!--set )(?<!--set ')\b\w+=['"\[{]|\w=(True|False|None)\b|\bcw\.|\w_\b|\(X, y|set_params|\bNone\b"""
)


def said(verb, text):
    return Wording.of((COMMANDS[verb] if isinstance(verb, str) else verb).params).said(text)


@pytest.mark.parametrize(
    ("verb", "python", "shell"),
    [
        ("compare", "; references=True insists.", "; --references insists."),
        ("compare", "leave them out: references=False.", "leave them out: --no-references."),
        ("compare", "folds=20 is not an option", "--folds 20 is not an option"),
        ("compare", "random_state=0", "--seed 0"),
        ("fit", "random_state=0", "--set random_state=0"),
        (
            "fit",
            "Share it (share=1), shrink it (shrink='oas')",
            "Share it (--set share=1), shrink it (--set shrink=oas)",
        ),
        ("predict", "use floor=1e-6.", "use fit --set floor=1e-06."),
        ("predict", "sink='a b.csv' exists; overwrite=True", "--output 'a b.csv' exists; --force"),
        ("predict", "priors={'a': 0.5, 'b': 0.7}", "--priors a=0.5,b=0.7"),
        ("fit", "priors={'a': 0.5}", "--set 'priors={\"a\": 0.5}'"),
        ("fit", "families={'zip code': 'categorical'}.", "--families 'zip code=categorical'."),
        ("fit", "families='best' chooses", "--set families=best chooses"),
        ("summarize", "checkpoint='s.cws' and on_error='skip'", "--checkpoint s.cws and --on-error skip"),
        ("explain", "columns=['a', 'b'] name", "--columns a,b name"),
        ("fit", 'gather it with summarize(X, y, scatter="full").', "gather it with classwise summarize."),
        (
            "fit",
            "which AODE needs; gather them: summarize(X, y, pairs=7).",
            "which AODE needs; fit the rows themselves.",
        ),
        ("fit", "or use LDA(shrink='oas').", "or use classwise fit --model lda --set shrink=oas."),
        (ONNX, "use dtype='float64'.", "use --dtype float64."),
        (ONNX, "the best of cw.compare(X, y), or", "the best of classwise compare, or"),
        (
            SQL,
            "; call set_params(predictive='plugin'), which needs no new fit, or score the rows in Python.",
            "; fit --set predictive=plugin, or score the rows with classwise predict.",
        ),
        ("explain", "says nothing; see schema_.", "says nothing; classwise info MODEL shows which columns it reads."),
        ("fit", "y has only one class", "The column of labels has only one class"),
        ("fit", "missing='error' refuses", "--set missing=error refuses"),
    ],
)
def test_arguments_are_flags(verb, python, shell):
    assert said(verb, python) == shell


@pytest.mark.parametrize(
    "text",
    [
        "rows/share=1/part.csv has no rows.",
        "--set share=1 is in the words of the shell already.",
        "--families takes NAME=VALUE, not 'x'.",
        "Give law='chi-square', which only Python can.",
        "'a' (gaussian) and f(x) stay.",
    ],
)
def test_all_else_stays(text):
    assert said("fit", text) == text


def test_outside_of_verbs_there_are_no_flags():
    assert in_shell("overwrite=True, share=1") == "overwrite=True, fit --set share=1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("wording")
    (path / "few.csv").write_text("a,b,c,y\n1,5,2,u\n2,3,4,u\n3,4,1,v\n4,9,6,v\n5,6,7,v\n")
    (path / "word.csv").write_text("a,b\nq,2\n")
    X, y = cw.datasets.penguins("pyarrow")
    words = pa.table({"a": ["x", "y", "x", "y"], "b": [1.0, 2.0, 1.5, 2.5]})
    cw.save(cw.NaiveBayes(smoothing=0).fit(words, ["u", "v", "v", "u"]), path / "words.cw")
    cw.ForestClassifier(trees=5).fit([[i] for i in range(20)], [0, 1] * 10).statistics_.save(path / "forest.cw.cws")
    cw.save(cw.BayesianLogistic().fit(words, ["u", "v", "w", "u"]), path / "logistic.cw")
    cw.save(cw.BayesianLogistic(precision=1.0).fit([[i % 10] for i in range(40)], np.arange(40) % 10), path / "many.cw")
    cw.save(cw.LDA().fit(X, y), path / "lda.cw")
    cw.save(cw.summarize(X, y), path / "s.cws")
    return path


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("fit few.csv -t y -m qda -o x.cw", "Share it (--set share=1), restrict it (--set structure=diagonal)"),
        ("fit few.csv -t y -m lda --set shrink=big -o x.cw", "--set shrink=big is not an option"),
        ("fit few.csv -t y -m lda --set calibrate=platt -o x.cw", "choose null or 'temperature'"),
        ("fit few.csv -t y -m lda --set priors=flat -o x.cw", "or the probability of every class"),
        ("fit few.csv -t y -m logistic --set precision=0 -o x.cw", "or --set precision=evidence."),
        ("fit s.cws -m aode -o x.cw", "fit the rows themselves"),
        ("fit s.cws -m forest -o x.cw", "which a forest needs; fit the rows themselves"),
        ("fit forest.cw.cws -m forest -o x.cw", "or choose without rows: --set belief=leaves, --set calibrate=null"),
        ("fit s.cws -m naive-bayes --set families=best -o x.cw", "--families COLUMN=best"),
        ("export sql logistic.cw --table t --dialect mysql", "fit --set predictive=plugin"),
        ("export sql many.cw --table t", "such as --features height,weight."),
        (
            "export sql many.cw --table t --features x",
            "fit --set predictive=moderated, or score the rows with classwise predict.",
        ),
        ("export sql lda.cw --table t --dialect esperanto", "--dialect esperanto is not one"),
        ("export sql lda.cw --table ''", "--table '' is not a name"),
        ("explain lda.cw --columns isle", "'isle', which is not there"),
        ("predict words.cw word.csv", "use fit --set smoothing=1, or"),
        ("predict words.cw word.csv --priors flat", "--priors flat is not an option"),
    ],
)
def test_what_a_user_meets(folder, monkeypatch, command, words):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, shlex.split(command), prog_name="classwise")
    assert result.exit_code == 1, result.output
    assert words in result.stderr
    assert not PYTHON.search(result.stderr), result.stderr
