"""A forest in SQL answers as in Python, in engines that really run; by itself, and as a member of a stack."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import classwise as cw
from classwise import limits
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.forest_members import ForestMember
from classwise.comparison.stack.pool import Pool
from sql_engines import ENGINES, Engine
from sql_tables import CASES
from test_sql import agree, asked, every_table, put, scores_in_spark, started_once

KINDS = {
    "random": {"trees": 7, "min_leaf": 10},
    "best, uniform": {"cuts": "best", "trees": 12, "min_leaf": 25, "priors": "uniform", "calibrate": None},
}


@pytest.fixture(scope="module", params=map(started_once, ENGINES))
def engine(request: pytest.FixtureRequest):
    with ENGINES[request.param]() as started:
        yield started


@cache
def fitted(case: str, kind: str) -> cw.ForestClassifier:
    made = CASES[case]()
    return cw.ForestClassifier(families=made.families, **KINDS[kind]).fit(made.rows, made.labels)


@pytest.mark.parametrize("kind", KINDS)
@every_table
def test_forests_agree(engine: Engine, name: str, kind: str) -> None:
    """Offsets of a million, gaps, a row of nothing but gaps, and levels never seen."""
    case = CASES[name]()
    engine.put("new", case.columns())
    agree(engine, fitted(name, kind), case.new, outputs=scores_in_spark(engine))


def test_classes_without_rows_or_priors(engine: Engine) -> None:
    case = CASES["correlated"]()
    engine.put("new", case.columns())
    labels = np.unique(case.labels).tolist()
    m = cw.ForestClassifier(trees=5, min_leaf=30).partial_fit(case.rows, case.labels, classes=[*labels, labels[-1] * 2])
    agree(engine, m, case.new)
    agree(engine, m.with_priors([0.5, 0.5, 0.0, 0.0]), case.new, outputs=scores_in_spark(engine))
    roots = cw.ForestClassifier(trees=3, min_leaf=len(case.rows)).fit(case.rows, case.labels)
    assert (roots.trees_.column == -1).all()
    agree(engine, roots, case.new, outputs=scores_in_spark(engine))


def test_a_row_with_infinity_has_no_answer(engine: Engine) -> None:
    rows = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0) % 7})
    m = cw.ForestClassifier(trees=5).fit(rows, np.arange(60) // 20)
    new = pd.DataFrame({"a": [3.0, np.inf, 50.0], "b": [1.0, 2.0, -np.inf]})
    put(engine, new)
    assert np.isnan(asked(engine, m)[:, 0]).tolist() == [False, True, True]


def test_members_of_a_stack(engine: Engine) -> None:
    """Two forests beside a member of another kind."""
    case = CASES["correlated"]()
    engine.put("new", case.columns())
    stack = cw.AutoClassifier(members=["softmax"], folds=3).fit(case.rows, case.labels)
    table = stack._table(case.rows, case.labels)
    codes = stack._codes_of(table)
    rows = FoldedRows(
        np.asarray(table.rows, dtype=np.float64),
        {j: len(of) for j, of in table.levels.items()},
        stack.classes_,
        codes,
        np.arange(len(codes)) % 3,
        np.ones(len(codes)),
        np.arange(len(codes)),
    )
    forests = (ForestMember(name, name == "random", 6, 20) for name in ("random", "best"))
    stack.members_ |= {member.name: member.cross(rows).trained for member in forests}
    stack.pool_ = Pool(np.array([0.2, 0.5, 0.3]), np.array([1.0, 2.0, 0.7]), 1.5)
    agree(engine, stack, case.new, outputs=scores_in_spark(engine))


def test_what_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    m = fitted("correlated", "random")
    for dialect in ("bigquery", "snowflake", "mysql", "tsql"):
        with pytest.raises(
            cw.ClasswiseError, match=f"written for duckdb, postgres, sqlite, spark, and not for {dialect}"
        ):
            cw.to_sql(m, "rows", dialect)
    monkeypatch.setattr(limits, "SQL_NUMBERS", 10)
    with pytest.raises(cw.ClasswiseError, match="fit with fewer trees or a larger min_leaf"):
        cw.to_sql(m, "rows")
