"""A stack in SQL answers as in Python: member by member and all together, in engines that really run."""

from copy import copy
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sqlglot
from sklearn.naive_bayes import GaussianNB

import classwise as cw
from classwise.comparison.stack import NAMED, SETS
from classwise.comparison.stack.pool import Pool
from classwise.export.sql.stacks import can_write
from sql_engines import ENGINES, Engine
from sql_tables import CASES
from test_sql import (  # noqa: F401  duckdb is a fixture
    DIALECTS,
    ODD,
    agree,
    asked,
    duckdb,
    every_table,
    put,
    scores_in_spark,
    started_once,
)


@pytest.fixture(scope="module", params=map(started_once, ENGINES))
def engine(request: pytest.FixtureRequest):
    with ENGINES[request.param]() as started:
        yield started


@cache
def stack(case: str, *members: str) -> cw.AutoClassifier:
    made = CASES[case]()
    model = cw.AutoClassifier(members=list(members) or "sql", folds=3, families=made.families)
    return model.fit(made.rows, made.labels)


@every_table
def test_stacks_agree(engine: Engine, name: str) -> None:
    """Offsets of a million, gaps, a row of nothing but gaps, and levels never seen."""
    case = CASES[name]()
    engine.put("new", case.columns())
    model = stack(name)
    assert sum(weight > 0.01 for weight in model.weights_.values()) > 1
    agree(engine, model, case.new)
    even = copy(model)
    count = len(model.members_)
    even.pool_ = Pool(np.full(count, 1 / count), np.linspace(0.5, 2.0, count), 1.5)
    agree(engine, even, case.new, outputs=scores_in_spark(engine))


@pytest.mark.parametrize("member", SETS["sql"])
@pytest.mark.parametrize("name", CASES)
def test_each_member_agrees(duckdb: Engine, name: str, member: str) -> None:  # noqa: F811
    """In one engine; in all of them every member has its share above, in a pool of even weights."""
    case = CASES[name]()
    duckdb.put("new", case.columns())
    model = stack(name, member)
    assert model.weights_ == {member: 1.0}
    agree(duckdb, model, case.new)


def gappy() -> tuple[pd.DataFrame, np.ndarray]:
    """Gaps that rows to learn from have too, a column of few numbers with gaps, one that is constant, one of gaps."""
    generator, count = np.random.default_rng(4), 150
    codes = np.arange(count) % 4
    frame = pd.DataFrame(
        {
            'a"b': generator.standard_gamma(2.0 + codes) * 1e-3 + 1e6,
            "c'; --": generator.integers(0, 4, count) + codes.astype(float),
            "flat": np.full(count, 7.0),
            "none": np.full(count, np.nan),
            "select": np.array(["x", "y's", 'z"'], dtype=object)[(generator.integers(2, size=count) + codes) % 3],
        }
    )
    frame = frame.mask(generator.random(frame.shape) < 0.15)
    return frame, np.array(["w", "x'", 'y"', "z"])[codes]


@pytest.mark.parametrize("combine", ["stack", "pick"])
def test_gaps_that_were_learned_from(engine: Engine, combine: str) -> None:
    rows, labels = gappy()
    model = cw.AutoClassifier(members="sql", combine=combine, folds=3).fit(rows, labels)
    new = rows[:60].copy()
    new.iloc[0, 4] = "never seen"
    new.iloc[1, 1] = 2.5
    new.iloc[2] = None
    types = {"select": "text"}
    put(engine, new.astype(object).where(new.notna(), None), types=types)
    agree(engine, model, new, outputs=scores_in_spark(engine))


def test_other_priors(engine: Engine) -> None:
    case = CASES["penguins"]()
    engine.put("new", case.columns())
    for priors in ([0.98, 0.01, 0.01], [0.5, 0.5, 0.0]):
        moved = stack("penguins").with_priors(priors)
        agree(engine, moved, case.new, outputs=scores_in_spark(engine))
    assert np.isneginf(asked(engine, moved, output="scores")[:, 2]).all()


def test_steps_go_up_where_they_do_in_python(engine: Engine) -> None:
    """Cuts lie at values of the rows, where a digit lost would put a row on the other side."""
    generator = np.random.default_rng(9)
    codes = np.arange(200) % 2
    whole = generator.integers(0, 40, 200) + 3 * codes
    frame = pd.DataFrame({"n": whole, "tenths": whole / 10 + 1e5, "thirds": (whole + 1) / 3 * 1e-4})
    model = cw.AutoClassifier(members=["softmax, quantile steps"], folds=3).fit(frame, codes)
    assert min(map(len, model.members_["softmax, quantile steps"].encoding.cuts)) > 10
    put(engine, frame, types={"n": "whole"})
    agree(engine, model, frame, outputs=scores_in_spark(engine))


def test_rows_that_python_refuses_are_null(engine: Engine) -> None:
    case = CASES["mixed"]()
    model = stack("mixed")
    spoiled = {
        "height": [np.inf, -np.inf, 1e151],
        "price": [0.0, -1.0],
        "visits": [-1.0, 0.5],
        "wins": [7.0, 1.5, np.inf],
    }
    good = case.rows[:1]
    rows = [good, *(good.assign(**{name: value}) for name, values in spoiled.items() for value in values)]
    new = pd.concat(rows, ignore_index=True)
    for i in range(1, len(new)):
        with pytest.raises(cw.ClasswiseError):
            model.predict(new[i : i + 1])
    types = dict.fromkeys(new, "number") | {"member": "yes/no", "grade": "whole", "city": "text"}
    put(engine, new, types=types)
    agree(engine, model, new, np.arange(len(new)) > 0)


def test_rows_far_away_and_at_the_center(engine: Engine) -> None:
    """Nothing overflows, nothing underflows; what is farther than 1e30 standard units has no answer."""
    generator = np.random.default_rng(10)
    codes = np.arange(90) % 3
    rows = generator.standard_normal((90, 2)) @ [[1, 0.5], [0, 1]] + codes[:, None]
    center = rows.mean(axis=0)
    model = cw.AutoClassifier(members="sql", folds=3).fit(rows, codes)
    new = np.array([center, center + 1e-200, [0.0, 0.0], [1e9, -1e9], [-1e25, 1e20], [1e31, 0.0], [0.0, -1e140]])
    put(engine, pd.DataFrame(new, columns=["x", "y"]))
    options = {"features": ["x", "y"]}
    labels = asked(engine, model, output="label", **options)
    assert [label is None for label in labels] == [False] * 5 + [True] * 2
    assert labels[:5].tolist() == model.predict(new[:5]).tolist()
    np.testing.assert_allclose(asked(engine, model, **options)[:5], model.predict_proba(new[:5]), atol=1e-9)


def test_decisions(engine: Engine) -> None:
    case = CASES["penguins"]()
    engine.put("new", case.columns())
    costs = {"Adelie": {"Gentoo": 10, "Chinstrap": 3}, "Gentoo": {"Adelie": 0.2}}
    decision = cw.Decision(stack("penguins"), costs=costs, reject=0.05, reject_label="ask")
    labels = asked(engine, decision, output="label")
    assert labels.tolist() == decision.predict(case.new).tolist()
    assert "ask" in labels
    np.testing.assert_allclose(asked(engine, decision), decision.predict_proba(case.new), atol=1e-9)


def test_names_that_need_quotes(engine: Engine) -> None:
    generator = np.random.default_rng(11)
    codes = np.arange(80) % 2
    odd = [name for name in ODD if engine.dialect != "spark" or "`" not in name]
    frame = pd.DataFrame({name: generator.normal(codes, 1.0) for name in odd})
    model = cw.AutoClassifier(members="sql", folds=3).fit(frame, np.array(["it's", 'so "so"'], dtype=object)[codes])
    put(engine, frame)
    agree(engine, model, frame)


@pytest.mark.slow
def test_many_classes(duckdb: Engine) -> None:  # noqa: F811
    generator = np.random.default_rng(12)
    codes = np.arange(600) % 60
    means = 3 * generator.standard_normal((60, 3))
    frame = pd.DataFrame(generator.standard_normal((600, 3)) + means[codes], columns=["a", "b", "c"])
    model = cw.AutoClassifier(members="sql", folds=2).fit(frame, codes)
    with ENGINES["sqlite"]() as sqlite:
        for engine in duckdb, sqlite:
            put(engine, frame[:50])
            agree(engine, model, frame[:50], outputs=("posteriors",))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_written(dialect: str) -> None:
    for output in ("label", "posteriors", "scores"):
        text = cw.to_sql(stack("mixed"), "new", dialect, output=output)
        assert sqlglot.parse_one(text, dialect=dialect)


def test_members_share_what_they_see_alike() -> None:
    """A column of numbers is put into standard units once, and written out once."""
    text = cw.to_sql(stack("correlated"), "new")
    units = text[text.index("cw_units AS") : text.index("cw_transformed AS")]
    assert units.count("THEN") == CASES["correlated"]().rows.shape[1]
    assert len(text) < 50_000


# What cannot be written -----------------------------------------------------------------------------------------------


LONG = [
    ("mixtures", "one-dependence", "kernel softmax", "tied mixtures"),
    ("network", "deep network", "boosted trees", "best trees"),
]


@pytest.mark.parametrize("members", LONG)
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_members_of_long_queries(dialect: str, members: tuple[str, ...]) -> None:
    """Mixtures, pairs, landmarks, units and nodes; rows with gaps, and levels never seen."""
    case = CASES["penguins"]()
    model = copy(stack("penguins", *members))
    model.pool_ = Pool(np.full(4, 1 / 4), np.linspace(0.5, 2.0, 4), 1.5)
    with ENGINES[dialect]() as engine:
        if dialect == "postgres":
            engine.run("SET jit = off")
            assert cw.to_sql(model, "new", dialect).startswith("/* SET jit = off before this query")
        engine.put("new", case.columns())
        agree(engine, model, case.new)


def test_every_named_member_can_be_written() -> None:
    case = CASES["correlated"]()
    for name in NAMED:
        assert can_write(cw.AutoClassifier(members=[name], folds=2).fit(case.rows, case.labels).members_[name])


def test_members_that_cannot_be_written_are_named() -> None:
    X, y = CASES["correlated"]().rows, CASES["correlated"]().labels
    model = cw.AutoClassifier(members=[GaussianNB(), "one-dependence", "class shares"], folds=3).fit(X, y)
    assert all(model.weights_.values())
    expected = r"cannot be written as SQL: 'GaussianNB\(\)'; fit without them"
    with pytest.raises(cw.ClasswiseError, match=expected):
        cw.to_sql(model, "new")
    with pytest.raises(cw.ClasswiseError, match=expected):
        cw.to_sql(cw.Decision(model), "new")


def test_long_pairs_are_refused() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    with pytest.raises(cw.ClasswiseError, match="levels and ranges in all, which takes a query of"):
        cw.to_sql(cw.AODE().fit(X, X[:, 0] > 0), "new", features=[f"x{j}" for j in range(60)])


def test_members_without_weight_do_not_matter() -> None:
    X, y = CASES["correlated"]().rows, CASES["correlated"]().labels
    model = cw.AutoClassifier(members=["own covariances", "one-dependence"], combine="pick", folds=3).fit(X, y)
    assert model.weights_ == {"own covariances": 1.0}
    assert cw.to_sql(model, "new").startswith("WITH")
