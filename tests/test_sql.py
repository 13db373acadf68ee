"""SQL answers as Python does, in engines that really run: every kind of model, with offsets, gaps and unseen levels."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sqlglot import exp

import classwise as cw
from classwise.densities import Observed
from classwise.export.sql.densities import add_density
from classwise.export.sql.dialects import DIALECTS as DIALECTS_KNOWN
from classwise.export.sql.draft import Draft
from sql_engines import ENGINES, Engine, duckdb_engine, quoted
from sql_tables import CASES, CITIES, MODELS, SAME_QUERY, fitted

DIALECTS = ["duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake", "mysql", "tsql"]

# Names that end a literal or an identifier somewhere, comment the rest out, or mean something of their own.
ODD = [
    'a"b',
    "c'; DROP TABLE canary; --",
    "select",
    "ünï 🐧",
    "back`tick]",
    "per%cent {0}",
    "back\\slash",
    " x\ty ",
    "T",
]


# What a Gaussian of many columns has for rows with several gaps is not what these tests are about.
wide = pytest.mark.filterwarnings("ignore::classwise.errors.UnansweredRowWarning")


def started_once(name: str, *further):
    """An engine as a parameter: with several processes, one of them runs all of its tests, and Spark's are slow."""
    marks = [pytest.mark.xdist_group(f"sql-{name}"), *[pytest.mark.slow] * (name == "spark")]
    return pytest.param(name, *further, marks=marks)


# Every engine with every table; Spark, which plans each query for a second, without the one that has nothing of its
# own.
TABLES = [started_once(engine, name) for engine in ENGINES for name in CASES if (engine, name) != ("spark", "penguins")]
every_table = pytest.mark.parametrize(("engine", "name"), TABLES, indirect=["engine"])


@pytest.fixture(scope="module", params=map(started_once, ENGINES))
def engine(request: pytest.FixtureRequest):
    with ENGINES[request.param]() as started:
        yield started


@pytest.fixture(scope="module")
def duckdb():
    with duckdb_engine() as started:
        yield started


def asked(engine: Engine, model, table="new", output="posteriors", **options) -> np.ndarray:
    """The answers by row, NaN for NULL; labels as objects."""
    text = cw.to_sql(model, table, engine.dialect, ["id"], output, **options)
    names, rows = engine.ask(text)
    assert names[0] == "id"
    answers = {row[0]: row[1:] for row in rows}
    found = [answers[i] for i in range(len(rows))]
    if names[-1] == "unanswered":
        for *answer, why in found:
            assert why == ("too many missing values" if answer[0] is None else None)
        found = [answer[:-1] for answer in found]
    return np.array(found, dtype=object)[:, 0] if output == "label" else np.array(found, dtype=np.float64)


def put(engine: Engine, frame: pd.DataFrame, table="new", types=None) -> None:
    kinds = dict.fromkeys(frame, "number") | (types or {})
    values = {
        name: (
            kinds[name],
            [None if v != v and kinds[name] == "text" else v for v in frame[name].astype(object).tolist()],
        )
        for name in frame
    }
    engine.put(table, {"id": ("whole", list(range(len(frame)))), **values})


OUTPUTS = ("label", "posteriors", "scores")


def scores_in_spark(engine: Engine) -> tuple[str, ...]:
    """What to ask of a further model: all that may be asked, but of Spark, which plans each query for long, the scores.

    Labels and posteriors are made of scores in the same last step, whatever the model.
    """
    return ("scores",) if engine.dialect == "spark" else OUTPUTS


def agree(engine: Engine, model, new, null=None, outputs=OUTPUTS, **options) -> None:
    """Labels everywhere; posteriors to 1e-9; log posteriors likewise, relative to their size; NULL where expected."""
    null = np.zeros(len(new), dtype=bool) if null is None else null
    rows = new[~null]
    if "label" in outputs:
        labels = asked(engine, model, output="label", **options)
        np.testing.assert_array_equal([label is None for label in labels], null)
        assert labels[~null].tolist() == model.predict(rows).tolist()
    if "posteriors" in outputs:
        posteriors = asked(engine, model, **options)
        np.testing.assert_array_equal(np.isnan(posteriors), np.broadcast_to(null[:, None], posteriors.shape))
        np.testing.assert_allclose(posteriors[~null], model.predict_proba(rows), rtol=0, atol=1e-9)
    if "scores" in outputs:
        scores = asked(engine, model, output="scores", **options)
        np.testing.assert_array_equal(np.isnan(scores).any(axis=1), null)
        np.testing.assert_allclose(scores[~null], model.predict_log_proba(rows), rtol=1e-9, atol=1e-9)


# Every kind of model --------------------------------------------------------------------------------------------------


# Models by which every last step is seen: that of Bayes' rule, and that of logistic regression.
FIRST = ("QDA", "logistic")


@every_table
def test_every_model_agrees(engine: Engine, name: str) -> None:
    case = CASES[name]()
    engine.put("new", case.columns())
    for kind in MODELS:
        if engine.dialect == "spark" and kind in SAME_QUERY:
            continue  # it plans each query for a second
        model = fitted(name, kind)
        numbers = [column.name for column in model.model_.schema if column.family.name == "gaussian"]
        gaps = case.new[numbers].isna().sum(axis=1).to_numpy()
        assert {0, 1, len(numbers)} <= {*gaps.tolist()}
        agree(engine, model, case.new, outputs=OUTPUTS if kind in FIRST else scores_in_spark(engine))


def test_priors_of_zero_and_shifted_powers(engine: Engine) -> None:
    case = CASES["correlated"]()
    engine.put("new", case.columns())
    model = cw.LDA(calibrate="temperature", folds=3).fit(case.rows, case.labels)
    for priors in ([0.98, 0.01, 0.01], [0.5, 0.5, 0.0]):
        moved = model.with_priors(priors)
        agree(engine, moved, case.new, outputs=scores_in_spark(engine))
    assert np.isneginf(asked(engine, moved, output="scores")[:, 2]).all()
    naive = cw.NaiveBayes(priors=[0.0, 0.5, 0.5]).fit(case.rows, case.labels)
    agree(engine, naive, case.new)


def test_means_far_apart(engine: Engine) -> None:
    """Hundreds of standard deviations between means, where expanded squares would lose digits."""
    generator = np.random.default_rng(5)
    codes = np.repeat([0, 1, 2], 40)
    rows = generator.standard_normal((120, 3)) @ [[1, 0.5, 0], [0, 1, 0.2], [0, 0, 1]]
    frame = pd.DataFrame(rows + np.array([0, 400, 402])[codes][:, None], columns=["a", "b", "c"])
    put(engine, frame)
    for model in cw.LDA(), cw.QDA(), cw.NaiveBayes(), cw.NearestMean(), cw.LDA(estimate="bayes"):
        agree(engine, model.fit(frame, codes), frame, outputs=scores_in_spark(engine))


def test_log_posteriors_where_posteriors_underflow(engine: Engine) -> None:
    frame = pd.DataFrame({"x": [-60.0, -1.0, 0.1, 70.0]})
    model = cw.LDA().fit([[-1.5], [-0.5], [0.5], [1.5]], [0, 0, 1, 1])
    put(engine, frame)
    agree(engine, model, frame.to_numpy(), features=["x"])
    far = cw.LDA().fit([[-30.5], [-29.5], [29.5], [30.5]], [0, 0, 1, 1])
    scores = asked(engine, far, output="scores", features=["x"])
    assert scores.min() < -1e4
    assert asked(engine, far, features=["x"]).min() == 0


def test_exact_ties_go_to_the_first_label(engine: Engine) -> None:
    """Rows halfway between the means of symmetric models, at zero and at an offset."""
    square = np.array([[1, 1], [1, 3], [3, 1], [3, 3]], dtype=float)
    rows = np.vstack([square, square * [-1, 1], square * [1, -1], square * [-1, -1]])
    labels = np.repeat(["d", "c", "b", "a"], 4)
    ties = np.array([[0, 0], [0, 2], [0, -2], [2, 0], [-2, 0], [0, 1e-13], [7, 0], [1, 1], [0, 1e6]], dtype=float)
    models = [
        cw.LDA(),
        cw.QDA(),
        cw.NearestMean(),
        cw.NaiveBayes(),
        cw.QDA(estimate="bayes"),
        cw.NaiveBayes(estimate="bayes"),
    ]
    outputs = OUTPUTS
    if engine.dialect == "spark":  # the label of scores that tie is found in the same way for all models
        models, outputs = [cw.LDA(), cw.QDA(estimate="bayes")], ("label",)
    for offset in (0.0, 1e6):
        put(engine, pd.DataFrame(ties + offset, columns=["x", "y"]))
        for model in models:
            model.fit(rows + offset, labels)
            agree(engine, model, ties + offset, outputs=outputs, features=["x", "y"])
            assert model.predict(ties[:1] + offset) == ["a"]
            decision = cw.Decision(model)
            decided = asked(engine, decision, output="label", features=["x", "y"])
            assert decided.tolist() == decision.predict(ties + offset).tolist()


def test_ties_of_levels(engine: Engine) -> None:
    rows = pd.DataFrame({"color": ["red", "blue"] * 4})
    model = cw.NaiveBayes().fit(rows, ["b", "b", "c", "c", "a", "a", "d", "d"])
    new = pd.DataFrame({"color": ["red", "blue", "green", None]})
    put(engine, new, types={"color": "text"})
    agree(engine, model, new)
    assert asked(engine, model, output="label").tolist() == ["a"] * 4


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "columns", "outputs"), [(150, 3, OUTPUTS), (2, 1100, ("scores",))])
def test_many_classes_and_columns(duckdb: Engine, classes: int, columns: int, outputs: tuple[str, ...]) -> None:
    """More classes than a function has arguments, and more columns than an expression may be deep."""
    generator = np.random.default_rng(6)
    codes = np.arange(classes * 8) % classes
    means = generator.standard_normal((classes, columns)) / columns**0.5
    rows = generator.standard_normal((len(codes), columns)) + means[codes]
    frame = pd.DataFrame(rows, columns=[f"c{j}" for j in range(columns)])
    model = cw.GaussianClassifier(structure="diagonal", share=1.0).fit(frame, codes)
    with ENGINES["sqlite"]() as sqlite:
        for engine in duckdb, sqlite:
            put(engine, frame[:16])
            agree(engine, model, frame[:16], outputs=outputs)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 4), st.sampled_from(list(MODELS)))
def test_any_rows(duckdb: Engine, seed: int, features: int, classes: int, name: str) -> None:
    """Random classes of random scale and place; gaps in some rows."""
    generator = np.random.default_rng(seed)
    codes = np.arange(40 * classes) % classes
    scale = 10.0 ** generator.uniform(-3, 3, features)
    rows = generator.standard_normal((len(codes), features)) + generator.standard_normal((classes, features))[codes]
    rows = rows @ (np.eye(features) + 0.3 * generator.standard_normal((features, features))) * scale
    rows += generator.choice([0, 1e6], features)
    frame = pd.DataFrame(rows, columns=[f"c{j}" for j in range(features)])
    ours = clone(MODELS[name]).fit(frame, codes)
    new = frame[:20].mask(generator.random((20, features)) < 0.2)
    put(duckdb, new.astype(object).where(new.notna(), None))
    agree(duckdb, ours, new)


# What is missing, and what cannot be scored ---------------------------------------------------------------------------


# Models, and how many gaps among seven numbers they answer: more, where all classes have one covariance.
JOINT = {
    "own covariances": (cw.QDA(), 1),
    "a shared covariance": (cw.LDA(), 2),
    "one direction": (cw.LDA(n_components=1), 2),
    "Student-t": (cw.QDA(estimate="bayes"), 1),
    "shared Student-t": (cw.LDA(estimate="bayes"), 2),
    "mixtures": (cw.MixtureClassifier(components=2), 2),
    "gaps that tell": (cw.LDA(missing="level"), 2),
    "decided": (cw.Decision(cw.QDA(), reject=0.1), 1),
}


def skip_same_in_spark(engine: Engine, name: str) -> None:
    if engine.dialect == "spark" and name not in ("own covariances", "a shared covariance", "shared Student-t"):
        pytest.skip("Spark plans each query for long, and the others have the same steps")


def odd_columns(width: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers that vary together, in columns whose names end comments and text; and a column of levels."""
    columns = ["a*/ DROP TABLE canary; --", "/*\nb", "c'", *(f"d{j}" for j in range(width - 3))]
    generator, codes = np.random.default_rng(13), np.arange(40 * width) % 3
    shared = generator.normal(size=(len(codes), 1))
    frame = pd.DataFrame(generator.normal(codes[:, None], 1.0, (len(codes), width)) + shared, columns=columns)
    frame["kind"] = np.array(["k", "l"], dtype=object)[codes % 2]
    return frame, np.array(["one", "two", "three"], dtype=object)[codes]


def with_counted_gaps(frame: pd.DataFrame, rows: int, width: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The first rows, with 0, 1, ... and all of the numbers missing, at places that vary; and how many."""
    new, counts = frame[:rows].copy(), np.arange(rows) % (width + 1)
    for i, count in enumerate(counts):
        new.iloc[i, [(i + j) % width for j in range(count)]] = None
    new.iloc[1, width] = None
    return new, counts


@pytest.mark.parametrize("name", JOINT)
def test_gaps_of_few_columns_described_jointly(engine: Engine, name: str) -> None:
    """All patterns are integrated out, and there is nothing to say."""
    skip_same_in_spark(engine, name)
    frame, labels = odd_columns(3)
    model = clone(JOINT[name][0]).fit(frame, labels)
    new, _ = with_counted_gaps(frame, 12, 3)
    put(engine, new.astype(object).where(new.notna(), None), types={"kind": "text"})
    assert cw.to_sql(model, "new", engine.dialect).startswith("WITH")
    agree(engine, model, new, outputs=scores_in_spark(engine)[:2])


@pytest.mark.parametrize("name", JOINT)
def test_gaps_of_many_columns_described_jointly(engine: Engine, name: str) -> None:
    """Up to so many are integrated out, and rows of nothing else; others are told by a warning, a comment, a column."""
    skip_same_in_spark(engine, name)
    engine.put("canary", {"id": ("whole", [1])})
    frame, labels = odd_columns(7)
    (model, most), (new, counts) = JOINT[name], with_counted_gaps(frame, 24, 7)
    model = clone(model).fit(frame, labels)
    put(engine, new.astype(object).where(new.notna(), None), types={"kind": "text"})
    named = r"'a\*/ DROP TABLE canary; --', '/\*\\nb', \"c'\", .*"
    message = rf"more than {most} missing values? among {named}NULL.*'unanswered'.*predict.*missing='error'"
    with pytest.warns(cw.UnansweredRowWarning, match=message):
        text = cw.to_sql(model, "new", engine.dialect, ["id"])
    assert text.startswith("/* ")
    is_none = (counts > most) & (counts < 7)
    np.testing.assert_array_equal(unanswered(engine, text), is_none)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.UnansweredRowWarning)
        agree(engine, model, new, is_none, scores_in_spark(engine)[:2])
    assert engine.ask("SELECT * FROM canary")[1] == [(1,)]


def unanswered(engine: Engine, text: str) -> np.ndarray:
    """Which rows have no label, with and without the comment at the top of a query."""
    _, _, query = text.partition("*/")
    for written in text, query:
        rows = sorted(engine.ask(f"SELECT q.id, q.label FROM ({written}) AS q")[1])
    return np.array([label is None for _, label in rows])


@pytest.mark.parametrize("name", ["own covariances", "a shared covariance", "shared Student-t"])
def test_gaps_that_rows_of_the_fit_had(engine: Engine, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Are integrated out among many columns, too, the most frequent first; one of another pattern has no answer."""
    if engine.dialect == "spark" and name != "a shared covariance":
        pytest.skip("Spark plans queries of so many columns for long")
    frame, labels = odd_columns(40)
    few, many = [0, 7, 30], [*range(2, 39, 2)]
    frame.iloc[:150, few], frame.iloc[150:200, many] = None, None
    model = clone(JOINT[name][0]).fit(frame, labels)
    new = frame[1400:1406].copy()
    for i, gaps in enumerate([few, many, [few[0]], few[:2], [*few, 9]]):
        new.iloc[i, gaps] = None
    put(engine, new.astype(object).where(new.notna(), None), types={"kind": "text"})
    with pytest.warns(cw.UnansweredRowWarning, match=r"the same ones \(the 2 most frequent combinations\)"):
        agree(engine, model, new, np.isin(np.arange(6), [3, 4]), ("posteriors",))
    monkeypatch.setattr("classwise.limits.SQL_SEEN_PATTERNS", 3 * 37 * len(model.model_.classifier.log_prior))
    with pytest.warns(cw.UnansweredRowWarning, match=r"the same ones \(the most frequent combination\)"):
        agree(engine, model, new, np.isin(np.arange(6), [1, 3, 4]), ("posteriors",))


@wide
def test_too_many_columns_for_any_gap(duckdb: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classwise.limits.SQL_GAPS", 10)
    frame, labels = odd_columns(5)
    model = cw.QDA().fit(frame, labels)
    new, counts = with_counted_gaps(frame, 12, 5)
    put(duckdb, new.astype(object).where(new.notna(), None), types={"kind": "text"})
    agree(duckdb, model, new, counts > 0)
    with pytest.warns(cw.UnansweredRowWarning, match="A row with a missing value in one of .* is answered with NULL"):
        cw.to_sql(model, "new")
    with pytest.raises(cw.ClasswiseError, match="'Unanswered', and the result has a column of that name"):
        cw.to_sql(model, "new", columns=["Unanswered"])


def test_a_query_that_answers_gaps_as_python_does_says_nothing() -> None:
    """Columns described one by one, one number alone, and models that refuse gaps in Python as well."""
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 4.0, 5.0, 7.0], "y": [0.0, 2.0, 1.0, 7.0, 4.0, 5.0]})
    labels = [0, 0, 0, 1, 1, 1]
    silent = cw.NaiveBayes(), cw.NearestMean(), cw.LDA(missing="error"), cw.BayesianLogistic()
    for model in (*silent, cw.AutoClassifier(members="sql", folds=2)):
        assert cw.to_sql(model.fit(frame, labels), "people").startswith("WITH")
    assert cw.to_sql(cw.QDA().fit(frame[["x"]], labels), "people").startswith("WITH")


def test_nan_is_missing(engine: Engine) -> None:
    """SQLite stores NULL for NaN; the others keep it, and it counts as missing."""
    case = CASES["correlated"]()
    new = case.new.copy().where(case.new.notna(), np.nan)
    put(engine, new)
    agree(engine, cw.NaiveBayes().fit(case.rows, case.labels), new)
    agree(engine, cw.QDA().fit(case.rows, case.labels), new)


def test_nan_is_no_level(engine: Engine) -> None:
    rows = pd.DataFrame({"size": [0.5, 1.5, 1.5, np.nan, 0.5, 1.5]})
    model = cw.NaiveBayes(families={"size": "categorical"}, missing="level").fit(rows, [0, 0, 1, 1, 0, 1])
    new = pd.DataFrame({"size": [0.5, 1.5, np.nan, 7.0]})
    put(engine, new)
    agree(engine, model, new)


def test_rows_that_python_refuses_are_null(engine: Engine) -> None:
    generator = np.random.default_rng(7)
    codes = np.arange(80) % 2
    frame = pd.DataFrame(
        {
            "x": generator.normal(codes, 1.0),
            "price": np.exp(generator.normal(codes, 1.0)),
            "visits": generator.poisson(2 + codes).astype(float),
            "wins": generator.binomial(5, 0.3 + 0.2 * codes).astype(float),
        }
    )
    families = {"price": "lognormal", "visits": "poisson", "wins": "binomial(5)"}
    good = [0.5, 2.0, 3.0, 1.0]
    spoiled = {"x": [np.inf, -np.inf, 1e200], "price": [0.0, -1.0], "visits": [-1.0, 0.5], "wins": [6.0, 1.5, -1.0]}
    rows = [good, [None] * 4]
    for name, values in spoiled.items():
        rows += [[value if name == column else g for column, g in zip(frame, good, strict=True)] for value in values]
    new = pd.DataFrame(rows, columns=list(frame), dtype=object)
    put(engine, new)
    for model in cw.NaiveBayes(families=families), cw.NaiveBayes(families=families, estimate="bayes"):
        model.fit(frame, codes)
        for i in range(2, len(new)):
            with pytest.raises(cw.ClasswiseError):
                model.predict(new[i : i + 1].astype(float))
        agree(engine, model, new.astype(float), np.arange(len(new)) >= 2)


def test_missing_error_gives_null(engine: Engine) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 4.0, 5.0], "color": ["red", "blue", "red", "red"]})
    model = cw.NaiveBayes(missing="error").fit(frame, [0, 0, 1, 1])
    new = pd.DataFrame({"x": [1.5, None, 4.0], "color": ["red", "red", None]})
    put(engine, new.astype(object).where(new.notna(), None), types={"color": "text"})
    agree(engine, model, new, np.array([False, True, True]))


def test_probability_zero(engine: Engine) -> None:
    """Without smoothing a level rules a class out; one never seen rules all of them out, and there is no answer."""
    frame = pd.DataFrame({"color": ["red", "blue", "red", "green"], "n": [0, 0, 1, 2]})
    options = {"families": {"n": "poisson"}, "smoothing": 0}
    model = cw.NaiveBayes(**options).fit(frame, ["a", "a", "b", "b"])
    new = pd.DataFrame({"color": ["red", "blue", "green", None, "pink", "blue"], "n": [0, 0, 0, 3, 0, 1]})
    put(engine, new, types={"color": "text", "n": "whole"})
    agree(engine, model, new, np.array([False] * 4 + [True] * 2))
    assert np.isneginf(asked(engine, model, output="scores")[1, 1])
    trials = cw.NaiveBayes(families={"n": "binomial(2)"}, smoothing=0).fit(frame[["n"]], ["a", "a", "b", "b"])
    counts = pd.DataFrame({"n": [0, 1, 2]})
    put(engine, counts, types={"n": "whole"})
    agree(engine, trials, counts)


def test_numbers_too_small_for_a_product(engine: Engine) -> None:
    """PostgreSQL ends a query in which a product underflows."""
    model = cw.QDA().fit([[-1.0], [0.0], [1.0], [-3.0], [0.0], [3.0]], [0, 0, 0, 1, 1, 1])
    new = pd.DataFrame({"x": [0.0, 1e-200, -5e-324, 1e-160, 1.0, 3.0]})
    put(engine, new)
    agree(engine, model, new.to_numpy(), features=["x"])


def test_whole_numbers_and_decimals_are_doubles(engine: Engine) -> None:
    """Columns of integers take part as doubles: nothing is divided or rounded as an integer."""
    generator = np.random.default_rng(8)
    codes = np.arange(60) % 2
    frame = pd.DataFrame({"a": generator.integers(0, 9, 60) + codes, "b": generator.integers(0, 9, 60)})
    put(engine, frame, types={"a": "whole", "b": "whole"})
    for model in cw.LDA(), cw.QDA(), cw.NaiveBayes():
        agree(engine, model.fit(frame, codes), frame, outputs=scores_in_spark(engine))


# Decisions ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reject", [None, 0.15, {"posterior": 0.8}])
def test_decisions(engine: Engine, reject) -> None:
    case = CASES["penguins"]()
    engine.put("new", case.columns())
    costs = {"Adelie": {"Gentoo": 10, "Chinstrap": 3}, "Gentoo": {"Adelie": 0.2}}
    model = cw.NaiveBayes(calibrate="temperature", folds=3).fit(case.rows[["bill_depth_mm", "island"]], case.labels)
    decision = cw.Decision(model, costs=costs, reject=reject, reject_label="ask O'Neill")
    new = case.new[["bill_depth_mm", "island"]]
    labels = asked(engine, decision, output="label")
    assert labels.tolist() == decision.predict(new).tolist()
    assert ("ask O'Neill" in labels) == (reject is not None)
    np.testing.assert_allclose(asked(engine, decision), decision.predict_proba(new), atol=1e-9)


def test_decisions_about_gaps(engine: Engine) -> None:
    case = CASES["correlated"]()
    engine.put("new", case.columns())
    decision = cw.Decision(cw.QDA(), costs=[[0, 1, 0]] * 3, reject=5.0, reject_label=-99)
    decision.fit(case.rows, case.labels)
    assert asked(engine, decision, output="label").tolist() == decision.predict(case.new).tolist()


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], [False, True], [-5, 2**40], [0.0, 2.0]], ids=str)
def test_labels_keep_their_type(engine: Engine, labels) -> None:
    model = cw.LDA().fit([[0.0], [1.0], [4.0], [5.0]], np.repeat(np.array(labels), 2))
    put(engine, pd.DataFrame({"x": [0.5, 4.5]}))
    found = asked(engine, model, output="label", features=["x"]).tolist()
    assert found == labels
    exact = [int] if engine.dialect == "sqlite" and isinstance(labels[0], bool) else [type(labels[0])]
    assert {type(label) for label in found} == set(exact)
    names, _ = engine.ask(cw.to_sql(model, "new", engine.dialect, ["id"], "posteriors", ["x"]))
    assert names == ["id", f"posterior_{labels[0]}", f"posterior_{labels[1]}"]


# Logistic regression --------------------------------------------------------------------------------------------------


def logistic(**options) -> cw.BayesianLogistic:
    """Two classes of numbers far from zero, levels, yes and no; fitted on the rows of `mixed`."""
    case = CASES["mixed"]()
    return cw.BayesianLogistic(families={"grade": "categorical"}, **options).fit(case.rows, case.labels)


@pytest.mark.parametrize("options", [{}, {"precision": "relevance"}, {"standardize": False}], ids=str)
def test_logistic_moderated(engine: Engine, options) -> None:
    """The variance of the score with its covariances, of rows with gaps and with levels never seen."""
    case = CASES["mixed"]()
    engine.put("new", case.columns())
    model = logistic(predictive="moderated", **options)
    agree(engine, model, case.new)
    plugin = model.predict_proba(case.new)
    assert np.abs(plugin - model.set_params(predictive="plugin").predict_proba(case.new)).max() > 1e-3
    agree(engine, model, case.new, outputs=scores_in_spark(engine))


@pytest.mark.parametrize("options", [{"standardize": False, "penalize_intercept": True}, {"fit_intercept": False}])
def test_logistic_of_columns_that_are_not_centered(engine: Engine, options) -> None:
    """What is missing stands at the mean, which is not zero then."""
    case = CASES["mixed"]()
    engine.put("new", case.columns())
    names = ["price", "wins", "member", "city"]
    model = cw.BayesianLogistic(predictive="moderated", precision=2.0, **options).fit(case.rows[names], case.labels)
    agree(engine, model, case.new[names], outputs=scores_in_spark(engine))
    agree(engine, model.set_params(predictive="plugin"), case.new[names], outputs=scores_in_spark(engine))


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_logistic_labels_need_no_average(engine: Engine, link: str) -> None:
    """Of two classes, P > 1/2 where the score is positive, whatever the averaging."""
    case = CASES["mixed"]()
    engine.put("new", case.columns())
    model = logistic(link=link)
    assert asked(engine, model, output="label").tolist() == model.predict(case.new).tolist()


def test_logistic_rows_that_python_refuses_are_null(engine: Engine) -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 2.0, 2.0, 1.0], "color": ["red", "blue"] * 2})
    new = pd.DataFrame({"x": [0.5, np.inf, -np.inf, 1.0, 1.0, 1.0], "y": [1.0, 1.0, 1.0, np.inf, 2.0, None]})
    new["color"] = ["red", "red", "red", "red", None, "green"]
    put(engine, new, types={"color": "text"})
    for predictive in "plugin", "moderated":
        model = cw.BayesianLogistic(predictive=predictive, precision=1.0).fit(frame, [0, 0, 1, 1])
        for i in (1, 2, 3):
            with pytest.raises(cw.ClasswiseError):
                model.predict(new[i : i + 1])
        agree(engine, model, new, np.arange(6) % 4 * (np.arange(6) < 4) > 0)
        agree(engine, model.set_params(missing="error"), new, np.arange(6) > 0)
    put(engine, pd.DataFrame({"x": [1e200], "y": [1.0], "color": ["red"]}), types={"color": "text"})
    assert np.isnan(asked(engine, model)).all()


@pytest.mark.parametrize("predictive", ["plugin", "moderated"])
def test_logistic_of_other_priors(engine: Engine, predictive: str) -> None:
    case = CASES["mixed"]()
    engine.put("new", case.columns())
    model = logistic(predictive=predictive)
    shifted = model.with_priors({False: 0.9, True: 0.1})
    assert (shifted.predict(case.new) != model.predict(case.new)).any()
    agree(engine, shifted, case.new)


def test_logistic_decisions(engine: Engine) -> None:
    case = CASES["mixed"]()
    engine.put("new", case.columns())
    decision = cw.Decision(logistic(predictive="moderated"), costs={True: {False: 4}})
    labels = asked(engine, decision, output="label")
    assert labels.astype(bool).tolist() == decision.predict(case.new).tolist()
    assert labels.tolist() != asked(engine, decision.model, output="label").tolist()


def test_logistic_regression_of_many_columns(duckdb: Engine) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = cw.BayesianLogistic(predictive="moderated").fit(X, y)
    put(duckdb, X[::8].reset_index(drop=True))
    agree(duckdb, model, X[::8])


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_logistic_averages_over_weights(dialect: str) -> None:
    """From scores that are well known to vast ones; and decisions by them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    y = rng.random(30) < 1 / (1 + np.exp(-X["a"]))
    rows = pd.concat([X[:5] * factor for factor in (0.1, 1.0, 10.0, 100.0, 3000.0)], ignore_index=True)
    rows.loc[3, "b"] = np.nan
    model = cw.BayesianLogistic(precision=0.05).fit(X, y)
    with ENGINES[dialect]() as engine:
        put(engine, rows)
        agree(engine, model.with_priors([0.2, 0.8]) if dialect == "sqlite" else model, rows)


def of_several(count: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Rows of several classes, their labels, and rows to score: near, far, with gaps, and of a level never seen."""
    rng = np.random.default_rng(count)
    codes = np.arange(30 * count) % count
    frame = pd.DataFrame({name: 100 + rng.normal(0.7 * sign * codes, 1) for name, sign in (("a", 1), ("b", -1))})
    frame["b"] *= 1000
    frame["color"] = np.where(rng.random(len(frame)) < 0.2 + 0.1 * codes, "red", "blue")
    new = frame[:24].copy()
    new.loc[:7, "a"] *= 3
    new.loc[20, "a"], new.loc[21, "color"], new.loc[22, "color"] = np.nan, None, "green"
    new.iloc[23] = None
    return frame, codes, new


QUICK = ("duckdb", "sqlite", "postgres")
# Of each engine: options, and how many classes; Spark plans the rotations of more than three for a minute.
SEVERAL = [
    *[started_once(name, {}, 3) for name in ENGINES],
    *[started_once(name, {}, 5) for name in QUICK],
    started_once("duckdb", {"posterior": "variational"}, 3),
    *[started_once(name, {"posterior": "sampled"}, 3) for name in ENGINES],
    *[started_once(name, {"predictive": "moderated"}, 4) for name in ENGINES],
]


@pytest.mark.parametrize(("engine", "options", "count"), SEVERAL, indirect=["engine"])
def test_logistic_averages_of_several_classes(engine: Engine, options, count: int) -> None:
    """By the same points as in Python: few where scores are well known, a grid, a lattice, or the draws themselves."""
    if options.get("posterior") == "sampled":
        pytest.importorskip("polyagamma")
    frame, codes, new = of_several(count)
    model = cw.BayesianLogistic(precision=1.0, **options).fit(frame, codes)
    put(engine, new, types={"color": "text"})
    agree(engine, model, new, outputs=scores_in_spark(engine))
    if engine.dialect == "sqlite" and count == 3:
        agree(engine, model.with_priors([0.5] + [0.5 / (count - 1)] * (count - 1)), new)


def test_logistic_averages_use_all_threads_of_duckdb() -> None:
    """Rows are told apart without being counted: one thread counts, and does then all that follows."""
    frame, codes, _ = of_several(3)
    query = cw.to_sql(cw.BayesianLogistic(precision=1.0).fit(frame, codes), "people")
    assert sqlglot.parse_one(query, dialect="duckdb").find(exp.Join)
    assert not sqlglot.parse_one(query, dialect="duckdb").find(exp.Window)


def test_logistic_draws_of_two_classes(duckdb: Engine) -> None:
    pytest.importorskip("polyagamma")
    frame, codes, new = of_several(2)
    put(duckdb, new, types={"color": "text"})
    agree(duckdb, cw.BayesianLogistic(posterior="sampled").fit(frame, codes), new)


@pytest.mark.parametrize("predictive", ["plugin", "moderated", "integrated"])
def test_probit(engine: Engine, predictive: str) -> None:
    """Φ by pieces of polynomials, also far out, where its logarithm still has digits."""
    case = CASES["mixed"]()
    engine.put("new", case.columns())
    agree(engine, logistic(link="probit", predictive=predictive), case.new, outputs=scores_in_spark(engine))
    line = cw.BayesianLogistic(link="probit", predictive=predictive, precision=0.01)
    line.fit(pd.DataFrame({"x": [-2.0, -1.0, 0.5, 1.0, -0.5, 2.0]}), [0, 0, 1, 0, 1, 1])
    far = pd.DataFrame({"x": np.linspace(-40, 40, 161)})
    put(engine, far)
    agree(engine, line, far, outputs=scores_in_spark(engine))


def test_logistic_averages_that_sql_cannot_write() -> None:
    frame, codes, _ = of_several(3)
    three = cw.BayesianLogistic(precision=1.0).fit(frame, codes)
    with pytest.raises(cw.ClasswiseError, match=r"written for duckdb, .* not for mysql; call set_params"):
        cw.to_sql(three, "people", "mysql")
    nine = cw.BayesianLogistic(precision=1.0).fit(*of_several(9)[:2])
    with pytest.raises(cw.ClasswiseError, match=r"8 contrasts in every row, .* up to 7; .*'moderated'"):
        cw.to_sql(nine, "people")
    assert "cw_averaged_points" not in cw.to_sql(nine.set_params(predictive="moderated"), "people", "mysql")


# Names ----------------------------------------------------------------------------------------------------------------


def test_odd_names_are_only_names(engine: Engine) -> None:
    """Columns, keys, labels, levels and a table whose names would break out of quotes that are not made with care."""
    engine.put("canary", {"id": ("whole", [1])})
    generator = np.random.default_rng(9)
    codes = np.arange(90) % len(ODD)
    names = [f"{name}*" for name in ODD]
    frame = pd.DataFrame(generator.normal(size=(90, len(ODD))) + codes[:, None], columns=names)
    frame["level; '"] = np.array(CITIES, dtype=object)[codes % len(CITIES)]
    labels = np.array(ODD, dtype=object)[codes]
    table = "odd; \"table' `name] --"
    types = {"level; '": "text"}
    put(engine, frame, table, types)
    model = cw.NaiveBayes().fit(frame, labels)
    posteriors = asked(engine, model, [table])
    np.testing.assert_allclose(posteriors, model.predict_proba(frame), atol=1e-9)
    assert asked(engine, model, [table], "label").tolist() == model.predict(frame).tolist()
    keys = [names[1], "level; '"]
    found, rows = engine.ask(cw.to_sql(model, [table], engine.dialect, keys, "scores"))
    assert list(found) == [*keys, *(f"score_{label}" for label in sorted(ODD))]
    assert {row[1] for row in rows} == set(frame["level; '"])
    assert engine.ask("SELECT * FROM canary")[1] == [(1,)]


def test_labels_that_differ_by_case_have_columns_that_differ_by_more(engine: Engine) -> None:
    """Engines fold case: a result that is kept, or asked again by name, must not confuse two labels."""
    generator = np.random.default_rng(12)
    labels = np.array(["A", "a", "A_2", "it's", "IT'S"], dtype=object)[np.arange(100) % 5]
    frame = pd.DataFrame({"x": generator.normal(np.arange(100) % 5, 1.0)})
    model = cw.NaiveBayes().fit(frame, labels)
    put(engine, frame)
    for output, expected in ("posteriors", model.predict_proba(frame)), ("scores", model.predict_log_proba(frame)):
        text = cw.to_sql(model, "new", engine.dialect, ["id"], output)
        _, *names = engine.ask(text)[0]
        letters = {"posteriors": "posterior_", "scores": "score_"}[output]
        assert names == [letters + name for name in ("A", "A_2", "IT'S", "a_3", "it's_2")]
        for name, of_class in zip(names, expected.T, strict=True):
            rows = engine.ask(f"SELECT q.id, q.{quoted(name, engine.dialect)} FROM ({text}) AS q")[1]
            np.testing.assert_allclose([value for _, value in sorted(rows)], of_class, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_columns_that_differ_by_case_are_refused_where_engines_fold_it(dialect: str) -> None:
    """Both names would be the same column of the table, and the answers wrong."""
    frame = pd.DataFrame({"x": [0.0, 1.0, 4.0, 5.0], "X": [3.0, 1.0, 2.0, 0.0]})
    model = cw.NaiveBayes().fit(frame, [0, 0, 1, 1])
    if dialect in ("postgres", "snowflake"):
        assert cw.to_sql(model, "people", dialect)
    else:
        message = rf"columns 'x' and 'X'.*{dialect} takes .* for one.*features=\[\.\.\.\]"
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.to_sql(model, "people", dialect)
    assert cw.to_sql(model, "people", dialect, features=["x", "x2"])
    with pytest.raises(cw.ClasswiseError, match="columns 'x' and 'x'"):
        cw.to_sql(model, "people", dialect, features=["x", "x"])


def test_a_table_may_be_called_like_a_step(duckdb: Engine) -> None:
    model = cw.LDA().fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    for table in "cw_given", "CW_score", "t", "cw__best":
        put(duckdb, pd.DataFrame({"x": [0.5]}), table)
        assert asked(duckdb, model, table, "label", features=["x"]).tolist() == [0]


def test_a_table_in_a_schema(duckdb: Engine) -> None:
    duckdb.run('CREATE SCHEMA IF NOT EXISTS "sc.hema"')
    duckdb.run('CREATE OR REPLACE TABLE "sc.hema".people AS SELECT 0 AS id, 0.5 AS x')
    model = cw.LDA().fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    assert asked(duckdb, model, ("sc.hema", "people"), "label", features=["x"]).tolist() == [0]
    duckdb.run("CREATE OR REPLACE TABLE main.people AS SELECT 0 AS id, 5.5 AS x")
    assert asked(duckdb, model, "main.people", "label", features=["x"]).tolist() == [1]


def test_a_column_that_is_not_there_is_an_error(engine: Engine) -> None:
    """SQLite would take a quoted name for text, and text for zero."""
    put(engine, pd.DataFrame({"x": [0.5]}))
    model = cw.LDA().fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    with pytest.raises(Exception, match="nosuch"):
        asked(engine, model, features=["nosuch"])


# Text -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect not in ENGINES])
@pytest.mark.parametrize("name", CASES)
def test_every_dialect_parses(dialect: str, name: str) -> None:
    """Where no engine reads it here, sqlglot does: in the dialect it was written in, with the columns in order."""
    for kind in MODELS:
        if kind in SAME_QUERY:
            continue
        model = fitted(name, kind)
        labels = model.classes_.tolist()
        results = {"scores": [f"score_{label}" for label in labels]}
        if kind in FIRST:
            results |= {"label": ["label"], "posteriors": [f"posterior_{label}" for label in labels]}
        for output, names in results.items():
            text = cw.to_sql(model, "new", dialect, ["id"], output)
            (query,) = sqlglot.parse(text, dialect=dialect)
            assert query is not None
            assert query.named_selects == ["id", *names]
            literals = {node.this for node in query.find_all(exp.Literal, exp.National)}
            assert literals >= set(CITIES if name == "mixed" else [])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_odd_names_survive_parsing(dialect: str) -> None:
    codes = np.arange(4 * len(ODD)) % len(ODD)
    frame = pd.DataFrame(codes[:, None] + np.random.default_rng(0).normal(size=(len(codes), len(ODD))), columns=ODD)
    model = cw.NaiveBayes().fit(frame, np.array(ODD, dtype=object)[codes])
    (query,) = sqlglot.parse(cw.to_sql(model, ["o;'\"`]"], dialect, ODD[:2], "posteriors"), dialect=dialect)
    assert query is not None
    assert query.named_selects == [*ODD[:2], *(f"posterior_{label}" for label in sorted(ODD))]
    read = {node.name for node in query.find_all(exp.Column) if node.table}
    assert read == set(ODD)
    assert "o;'\"`]" in {node.name for node in query.find_all(exp.Table)}


@wide
@pytest.mark.parametrize("dialect", DIALECTS)
def test_thirty_columns_are_less_than_100_kb(dialect: str) -> None:
    """Of a model that refuses gaps; a gap in any of them makes it three times as long."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    for codes, most in (y, 50_000), (np.arange(len(X)) % 5, 100_000):
        model = cw.QDA().fit(X, codes)
        assert len(cw.to_sql(model, "cells", dialect, ["id"], "posteriors").encode()) < 3 * most
        model.set_params(missing="error")
        assert len(cw.to_sql(model, "cells", dialect, ["id"], "posteriors").encode()) < most


@wide
def test_thirty_columns_in_an_engine(engine: Engine) -> None:
    """Each of them missing in some rows, and one row without any value."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    new = X[::4].reset_index(drop=True)
    new = new.mask(np.arange(30) == np.arange(len(new))[:, None] // 2)
    new.iloc[-1] = np.nan
    put(engine, new.astype(object).where(new.notna(), None))
    for model in cw.QDA(), cw.LDA(estimate="bayes"):
        agree(engine, model.fit(X, y), new, outputs=scores_in_spark(engine))


def test_importing_classwise_loads_no_sqlglot() -> None:
    code = "import sys, json, classwise; print(json.dumps('sqlglot' in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) is False


def test_without_sqlglot_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(cw.MissingExtraError, match=r"classwise\[export\]"):
        cw.to_sql(cw.LDA(), "people")


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def lda() -> cw.LDA:
    return cw.LDA().fit(pd.DataFrame({"x": [0.0, 1.0, 4.0, 5.0]}), [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "oracle"}, "dialect='oracle'.*'duckdb', 'postgres'"),
        ({"output": "probabilities"}, "output='probabilities'.*'posteriors'"),
        ({"table": ""}, "table=''"),
        ({"table": "a..b"}, "table='a..b'"),
        ({"table": "a.b.c.d"}, "is not a name"),
        ({"table": 3}, "is not a name"),
        ({"columns": "id"}, "columns='id' must be a list"),
        ({"columns": ["id", "ID"]}, "columns names 'ID'"),
        ({"columns": ["label"]}, "columns names 'label'"),
        ({"columns": ["a\0b"]}, "SQL cannot write"),
        ({"features": ["x", "y"]}, "features has 2 names, and the model has 1"),
    ],
)
def test_arguments_are_checked(lda: cw.LDA, options, message: str) -> None:
    with pytest.raises(cw.ClasswiseError, match=message):
        cw.to_sql(lda, **{"table": "people", **options})


def test_what_cannot_be_written_says_why(lda: cw.LDA) -> None:
    rows, labels = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    with pytest.raises(cw.ClasswiseError, match="without names: say what they are called"):
        cw.to_sql(cw.LDA().fit(rows, labels), "people")
    with pytest.raises(cw.ClasswiseError, match="LogisticRegression cannot be written as SQL"):
        cw.to_sql(LogisticRegression().fit(rows, labels), "people")
    with pytest.raises(cw.ClasswiseError, match="LogisticRegression cannot be written as SQL"):
        cw.to_sql(cw.Decision(LogisticRegression().fit(rows, labels)), "people")
    with pytest.raises(cw.ClasswiseError, match=r"reject_label='reject'.*-1"):
        cw.to_sql(cw.Decision(lda, reject=0.1, reject_label="reject"), "people")
    with pytest.raises(cw.ClasswiseError, match="reject_label=1 is one of the classes"):
        cw.to_sql(cw.Decision(lda, reject=0.1, reject_label=1), "people")
    with pytest.raises(cw.ClasswiseError, match=r"set_params\(ties='first'\)"):
        cw.to_sql(lda.set_params(ties="random"), "people")
    for model in cw.LDA(), cw.AutoClassifier(), cw.Decision(cw.LDA()), cw.BayesianLogistic():
        with pytest.raises(NotFittedError):
            cw.to_sql(model, "people")


def test_names_that_postgres_would_cut() -> None:
    model = cw.LDA().fit(pd.DataFrame({"x": [0.0, 1.0, 4.0, 5.0]}), ["é" * 30, "é" * 30, "b", "b"])
    with pytest.raises(cw.ClasswiseError, match="70 bytes, and postgres cuts names after 63"):
        cw.to_sql(model, "people", "postgres", output="posteriors")
    assert cw.to_sql(model, "people", "postgres")
    assert cw.to_sql(model, "people", "duckdb", output="posteriors")


def test_steps_too_wide_for_an_engine() -> None:
    rows = np.random.default_rng(0).normal(size=(400, 50))
    model = cw.QDA(shrink=0.5).fit(rows, np.arange(400) % 40)
    with pytest.raises(cw.ClasswiseError, match="step of 2001 columns, and postgres allows no more than 1600"):
        cw.to_sql(model, "wide", "postgres", features=[f"c{j}" for j in range(50)])


def test_levels_that_sql_cannot_compare() -> None:
    days = pd.DataFrame({"day": pd.Series([("a", 1), ("b", 2), ("a", 1), ("b", 2)])})
    model = cw.NaiveBayes(families={"day": "categorical"}).fit(days, [0, 0, 1, 1])
    with pytest.raises(cw.ClasswiseError, match="levels of type tuple"):
        cw.to_sql(model, "people")


def test_a_density_that_nobody_has_written(lda: cw.LDA) -> None:
    """Rows with gaps have a density of their own, which is no part of a fitted model."""
    with pytest.raises(cw.ClasswiseError, match="A Observed density cannot be written as SQL"):
        add_density(Observed(lda.classifier_.density), [0], Draft(DIALECTS_KNOWN["duckdb"], ["x"], {}, 2))
