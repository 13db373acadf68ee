"""Models as one file of Python: the same answers without classwise."""

import ast
import subprocess
import sys
from collections import Counter
from importlib.resources import files

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import classwise as cw
from classwise.export.standalone.written import PARTS
from classwise.rows.conversions import Moment
from classwise.rows.written_numbers import CONVENTIONS, WrittenNumber
from random_tables import LEVELS, NAMES
from standalone import as_rows, python_scorer
from test_agreement import KINDS, fitted, table_of


def seed_of(kind: str) -> int:
    """A table for each kind, so that all tables are for some."""
    start = list(KINDS).index(kind) % 3
    return next(seed for seed in (start, 0, 1, 2) if KINDS[kind].fits(table_of(seed)))


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_same(kind):
    table, model = table_of(seed_of(kind)), fitted(kind, seed_of(kind))
    scorer = python_scorer(model)
    rows = table.features.to_pydict()
    np.testing.assert_allclose(scorer.predict_proba(rows), model.predict_proba(table.features), atol=1e-9, rtol=0)
    assert scorer.predict(rows) == model.predict(table.features).tolist()
    assert model.classes_.tolist() == scorer.LABELS
    assert table.columns == scorer.COLUMNS


def test_rows_in_any_shape():
    table, model = table_of(0), fitted("naive Bayes", 0)
    scorer, columns = python_scorer(model), table.features.to_pydict()
    expected = model.predict_proba(table.features)
    shapes = [columns, as_rows(columns), table.features, table.features.to_pandas(), pl.from_arrow(table.features)]
    shapes += [[list(row.values()) for row in as_rows(columns)]]
    for rows in shapes:
        np.testing.assert_allclose(scorer.predict_proba(rows), expected, atol=1e-12)
    numbers = np.random.default_rng(0).normal(size=(50, 2))
    m = cw.QDA().fit(numbers, numbers[:, 0] > 0)
    np.testing.assert_allclose(python_scorer(m).predict_proba(numbers), m.predict_proba(numbers), atol=1e-12)
    assert python_scorer(m).predict(numbers[:0]) == []


def test_the_file_needs_numpy_alone(tmp_path):
    (tmp_path / "scorer.py").write_text(cw.to_python(fitted("stack", 0)), encoding="utf-8")
    code = (
        "import sys; import scorer; scorer.predict_proba({name: [None] for name in scorer.COLUMNS});"
        "print(*{name.partition('.')[0] for name in sys.modules} & {'classwise', 'scipy', 'sklearn', 'pandas'})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("language", ["python", "js"])
def test_parts_have_no_name_twice(language):
    """They stand in one file, so that a name of one would be that of another."""
    names: list[str] = []
    folder = files(f"classwise.export.standalone.{language}")
    for part in [*PARTS, *(["special"] if language == "js" else [])]:
        if language == "python":
            body = ast.parse(folder.joinpath(f"{part}.py").read_text()).body
            names += [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            names += [
                n.id
                for node in body
                if isinstance(node, ast.Assign)
                for n in ast.walk(node.targets[0])
                if isinstance(n, ast.Name)
            ]
        else:
            lines = folder.joinpath(f"{part}.js").read_text().replace("export ", "").splitlines()
            words = [line.split() for line in lines if line.startswith(("function ", "const ", "class "))]
            names += [word[1].partition("(")[0] for word in words]
    assert [name for name, count in Counter(names).items() if count > 1 and name.isidentifier()] == []


# Rows that differ from those of the fit -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["LDA", "naive Bayes", "one-dependence", "logistic, integrated", "forest", "stack"])
def test_unseen_levels_and_rows_without_values(kind):
    table, model = table_of(0), fitted(kind, 0)
    columns = table.features.to_pandas().iloc[:4].astype(object)
    columns.iloc[0, :] = None
    for name, type in table.types.items():
        if type == "text":
            columns.loc[columns.index[1:], name] = "a level \x00 never seen"
    columns = columns.where(columns.notna(), None)
    with np.errstate(all="raise"):
        found = python_scorer(model).predict_proba(columns.to_dict("list"))
    schema = pa.schema([(name, table.features.schema.field(name).type) for name in columns])
    rows = pa.table({name: pa.array(columns[name].tolist(), schema.field(name).type) for name in columns})
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-9)


def test_logistic_with_weights_hardly_known():
    """Each rule that averages over the weights, from well known scores to vast ones."""
    rng = np.random.default_rng(1)
    for classes in (2, 3, 4, 6):
        X = rng.normal(size=(15 * classes, 3))
        y = np.arange(len(X)) % classes
        m = cw.BayesianLogistic(precision=0.05).fit(X + y[:, None], y)
        rows = np.concatenate([X[:5] * factor for factor in (0.1, 1, 10, 100, 3000)])
        np.testing.assert_allclose(python_scorer(m).predict_proba(rows), m.predict_proba(rows), atol=1e-9)
    two = (X[:40], (X[:40, 0] + rng.normal(size=40) > 0))
    for options in ({"link": "probit"}, {"posterior": "sampled", "random_state": 0}):
        m = cw.BayesianLogistic(**options).fit(*two)
        np.testing.assert_allclose(python_scorer(m).predict_proba(rows), m.predict_proba(rows), atol=1e-9)


def test_counts_and_novelty_by_distance():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = pd.DataFrame({"n": rng.poisson(3e6 + 4000 * y), "k": rng.binomial(9, 0.3 + 0.3 * y), "z": rng.normal(y)})
    X.loc[::7, "z"] = np.nan
    families = {"n": "poisson", "k": "binomial(9)"}
    m = cw.Decision(cw.NaiveBayes(families=families), novelty=0.05, reject=0.2).fit(X, y)
    scorer = python_scorer(m)
    np.testing.assert_allclose(scorer.predict_proba(X), m.predict_proba(X), atol=1e-9)
    assert scorer.predict(X) == m.predict(X).tolist()
    assert {-1, -2} < set(scorer.predict(X))
    far = cw.Decision(cw.QDA(), novelty=0.2, law="chi-square").fit(
        X[["z"]].assign(w=X["z"] ** 2 + rng.normal(size=300)), y
    )
    rows = pd.DataFrame({"z": [0.0, 4.0, np.nan, 9.0], "w": [0.0, -9.0, 30.0, np.nan]})
    assert python_scorer(far).predict(rows) == far.predict(rows).tolist()
    assert -2 in far.predict(rows)


# Names, levels and labels that try to be code -------------------------------------------------------------------------

HOSTILE = [
    *NAMES,
    '"""',
    "'''\\",
    "\\u0022",
    "</script>",
    "`${1}`",
    "// */ #",
    "\u2028",
    "x" * 200,
    "é\n\r\t",
    "__class__",
    "",
]


def hostile_table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.array(HOSTILE[:5], dtype=object)[np.arange(200) % 5]
    codes = np.arange(200) % 5
    levels = [text for some in LEVELS for text in some] + HOSTILE
    columns = {name: rng.normal(codes) for name in HOSTILE[:-1:2]}
    drawn = {
        name: np.array(levels, dtype=object)[(codes + rng.integers(30, size=200)) % len(levels)]
        for name in HOSTILE[1::2]
    }
    return pd.DataFrame(columns | drawn), labels


def test_hostile_names():
    X, y = hostile_table()
    for m in (
        cw.NaiveBayes().fit(X, y),
        cw.Decision(cw.ForestClassifier(trees=3), reject=0.5, reject_label='"""').fit(X, y),
    ):
        scorer = python_scorer(m)
        np.testing.assert_allclose(scorer.predict_proba(X), m.predict_proba(X), atol=1e-9)
        assert scorer.predict(X) == m.predict(X).tolist()
        assert list(X) == scorer.COLUMNS


# What is refused ------------------------------------------------------------------------------------------------------


def test_rows_that_classwise_refuses():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 5.0, 6.0, 8.0], "b": [1, 2, 3, 4, 6, 5], "c": list("uvuvuv")})
    y = list("xxxyyy")
    scorer = python_scorer(cw.NaiveBayes(families={"a": "lognormal", "b": "poisson"}, missing="error").fit(X, y))
    good = {"a": 1.0, "b": 2, "c": "u"}
    assert scorer.predict([good]) == ["x"]
    for change, word in [
        ({"a": -1.0}, "above 0"),
        ({"b": 1.5}, "whole numbers"),
        ({"a": np.inf}, "too large"),
        ({"a": None}, "'a' has missing"),
        ({"c": None}, "'c' has missing"),
        ({"a": "one"}, "'one'"),
    ]:
        with pytest.raises(ValueError, match=word):
            scorer.predict([{**good, **change}])
    with pytest.raises(ValueError, match="no column 'b'"):
        scorer.predict([{"a": 1.0, "c": "u"}])
    with pytest.raises(ValueError, match="2 values"):
        scorer.predict([[1.0, 2.0]])


def test_models_that_cannot_leave():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = X[:, 0] > 0
    with pytest.raises(cw.ClasswiseError, match="draws lots"):
        cw.to_python(cw.QDA(ties="random").fit(X, y))
    with pytest.raises(cw.ClasswiseError, match="cannot be exported"):
        cw.to_python("a model")
    from sklearn.naive_bayes import GaussianNB

    stack = cw.AutoClassifier(members=[GaussianNB(), "class shares"], folds=2).fit(X, y)
    with pytest.raises(cw.ClasswiseError, match="classifier of your own"):
        cw.to_js(stack)


# Dates and numbers that are written -----------------------------------------------------------------------------------

DATES = {
    "ymd": [
        "2026-01-31",
        "2026-1-5",
        "2026-01-31 10:30",
        "2026-01-31T10:30:15.25Z",
        "2026-01-31 10:30+05:30",
        "x",
        "2026-02-30",
    ],
    "dmy": ["31.1.2026", "1/2/2026 9:05", "2026-01-31", "31.13.2026"],
    "mdy": ["1/31/2026", "12-24-2026 23:59:59", "31/1/2026"],
}
NUMBERS = [
    "3,14",
    "1.234,5",
    "-1.234,50",
    "(7,1)",
    "12",
    "\u22123",
    "1,234.5",
    "1 234",
    "1\u202f234,5",
    "0,5",
    "007",
    "1'234",
    "x",
    "- 3",
    "+4",
]


def conversions() -> list[tuple[Moment | WrittenNumber, list[str]]]:
    days = [(Moment("datetime", zoned, order), texts) for order, texts in DATES.items() for zoned in (False, True)]
    hours = [(Moment("time"), ["10:30", "9:05:01.5", "24:00", "noon"])]
    written = [
        (WrittenNumber(d, t, u), [f"{u}{n}" for n in NUMBERS] + NUMBERS)
        for d, t in CONVENTIONS
        for u in ("", "$", "%", "EUR")
    ]
    return [*days, *hours, *written]


def number_or_none(ask, text) -> float | None:
    try:
        return float(ask(text))
    except (ValueError, TypeError, OverflowError):
        return None


def test_conversions_are_those_of_classwise():
    from classwise.export.standalone.python import moments, written_numbers  # noqa: F401
    from classwise.export.standalone.python.columns import CONVERSIONS

    for rule, texts in conversions():
        told = {"kind": "written", **vars(rule)} if isinstance(rule, WrittenNumber) else vars(rule)
        for text in texts:
            expected = number_or_none(rule.number, text)
            found = number_or_none(lambda value, told=told: CONVERSIONS[told["kind"]](value, told), text)
            assert found == expected, (rule, text)


def test_older_pythons_can_read_it():
    for kind in ("stack", "decided, novelty", "logistic, integrated", "one-dependence"):
        ast.parse(cw.to_python(fitted(kind, 1)), feature_version=(3, 9))
