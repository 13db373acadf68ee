"""Statistics that a database computes: the same as those of its rows, and no row leaves it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import classwise as cw
from classwise import limits
from classwise.rows import databases
from classwise.rows.databases import Query
from classwise.statistics import ClassStatistics
from classwise.statistics.parts import LEVELS
from sql_engines import ENGINES

COUNT = 900


@cache
def a_table() -> pd.DataFrame:
    """Numbers at an offset of a million, whole numbers, text with gaps, yes and no; labels that would end a literal."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=COUNT)
    cities = np.array(["Oslo", "O'Fallon", "Zürich"], dtype=object)[(codes + rng.integers(2, size=COUNT)) % 3]
    cities[rng.random(COUNT) < 0.1] = None
    return pd.DataFrame(
        {
            "height": 1e6 + rng.normal(codes, 1.0),
            "weight kg": rng.normal(0, 1 + codes),
            "steps": rng.integers(1000, size=COUNT),
            "city": cities,
            "member": rng.random(COUNT) < 0.3 + 0.2 * codes,
            "kind": np.array(["it's", 'say "b"', "c; --"], dtype=object)[codes],
            "code": codes.astype(np.int64),
            "share": rng.random(COUNT),
        }
    )


FEATURES = ["height", "weight kg", "steps", "city", "member"]
TYPES = {"height": "number", "weight kg": "number", "steps": "whole", "city": "text", "member": "yes/no"}
TYPES |= {"kind": "text", "code": "whole", "share": "number"}

Put = Callable[[pd.DataFrame], str]


def plain(values: pd.Series) -> list[Any]:
    return [None if value is None or value != value else value for value in values.astype(object).tolist()]


@pytest.fixture(scope="module")
def servers() -> Iterator[Callable[[], Any]]:
    with ExitStack() as opened:
        yield cache(lambda: opened.enter_context(ENGINES["postgres"]()))


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.xdist_group("sql"))])
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Put:
    """Puts a table into a database, and says where that is; the table is called people."""
    if request.param == "postgres":
        pytest.importorskip("adbc_driver_postgresql")
        engine = request.getfixturevalue("servers")()

        def to_server(frame: pd.DataFrame) -> str:
            engine.put("people", {name: (TYPES[name], plain(frame[name])) for name in frame})
            return f"postgresql://cw@/postgres?host={engine.connection.info.host}"

        return to_server

    def to_file(frame: pd.DataFrame) -> str:
        path = str(tmp_path / "people.duckdb")
        with duckdb.connect(path) as connection:
            connection.execute("CREATE OR REPLACE TABLE people AS SELECT * FROM frame")
        return path

    return to_file


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was read row by row, but for the first rows."""
    found: list[str] = []
    original = Query.batches

    def noted(self: Query, *arguments: Any) -> Any:
        if "LIMIT" not in self.text:
            found.append(self.text)
        return original(self, *arguments)

    monkeypatch.setattr(Query, "batches", noted)
    return found


def same(first: ClassStatistics, second: ClassStatistics) -> None:
    assert first.schema == second.schema
    assert first.labels.tolist() == second.labels.tolist()
    assert first.labels.dtype == second.labels.dtype
    assert first.rows == second.rows
    np.testing.assert_array_equal(first.weight, second.weight)
    deviations = np.sqrt(second.moments.scatter.pooled_diagonal() / second.weight.sum())
    assert np.abs(first.moments.minus(second.moments) / deviations).max() < 1e-9
    scale = np.abs(second.moments.scatter.values).max()
    np.testing.assert_allclose(
        first.moments.scatter.values, second.moments.scatter.values, rtol=1e-9, atol=1e-9 * scale
    )
    if LEVELS.name in second.parts:
        for ours, theirs in zip(first.part_of(LEVELS).columns, second.part_of(LEVELS).columns, strict=True):
            assert ours is not None
            assert theirs is not None
            assert ours.levels.tolist() == theirs.levels.tolist()
            np.testing.assert_array_equal(ours.weight, theirs.weight)


def both(address: str, text: str = "people", **options: Any) -> tuple[ClassStatistics, ClassStatistics]:
    inside, rows = (cw.summarize(Query(text, address, inside=way), **options) for way in (True, False))
    return inside, rows


@pytest.mark.parametrize("scatter", ["full", "pooled", "diagonal"])
@pytest.mark.parametrize("target", ["kind", "code"])
def test_the_statistics_are_those_of_the_rows(put: Put, read: list[str], scatter: Any, target: str) -> None:
    address = put(a_table())
    inside = cw.summarize(Query("people", address, inside=True), target=target, columns=FEATURES, scatter=scatter)
    assert not read
    same(inside, cw.summarize(Query("people", address, inside=False), target=target, columns=FEATURES, scatter=scatter))
    assert read == ["people"]


def test_a_query_and_its_fit(put: Put, read: list[str]) -> None:
    address = put(a_table())
    text = 'SELECT height, "weight kg" + 1 AS w, city, kind FROM people WHERE member'
    same(*both(address, text, target="kind"))
    read.clear()
    inside, rows = (
        cw.NaiveBayes().fit_source(Query(text, address, inside=way), target="kind") for way in (True, False)
    )
    assert len(read) == 1
    frame = a_table().rename(columns={"weight kg": "w"})[["height", "w", "city"]]
    np.testing.assert_allclose(inside.predict_proba(frame), rows.predict_proba(frame), atol=1e-9)
    model = cw.QDA().fit_source(Query(text, address, inside=True), target="kind", columns=["height", "w"])
    assert model.statistics_.weight.sum() == a_table()["member"].sum()


def test_classes_that_are_far_apart_take_a_second_pass(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """About a common center, all digits of their scatter would be lost."""
    frame = a_table()[["height", "weight kg", "kind"]].copy()
    frame["height"] += 1e9 * a_table()["code"]
    address, asked = put(frame), []

    def noted(query: Query, text: str, original: Any = databases.answered) -> Any:
        asked.append(text)
        return original(query, text)

    monkeypatch.setattr("classwise.statistics.in_database.answered", noted)
    for scatter in ("full", "diagonal", "pooled"):
        same(*both(address, target="kind", scatter=scatter))
    assert sum("VALUES" in text for text in asked) == 3


def test_rows_without_labels_are_left_out(put: Put) -> None:
    frame = a_table()[[*FEATURES, "kind"]].copy()
    frame.loc[:9, "kind"] = None
    address = put(frame)
    with pytest.warns(cw.MissingLabelWarning, match="10 of 900 rows have no label"):
        inside = cw.summarize(Query("people", address, inside=True), target="kind")
    with pytest.warns(cw.MissingLabelWarning, match="10 of 900"):
        same(inside, cw.summarize(Query("people", address, inside=False), target="kind"))
    with pytest.raises(cw.ClasswiseError, match="missing labels in 10 rows"):
        cw.summarize(Query("people", address, inside=True), target="kind", missing="error")


GAPS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "a missing number": lambda frame: frame.assign(height=frame["height"].where(frame.index != 700)),
    "weights": lambda frame: frame,
    "a family of its own": lambda frame: frame.assign(share=frame["share"] + 1),
}


@pytest.mark.parametrize("why", GAPS)
def test_rows_are_read_where_sums_do_not_do(put: Put, read: list[str], why: str) -> None:
    address = put(GAPS[why](a_table()[["height", "share", "kind"]]))
    options: dict[str, Any] = {
        "weights": {"weights": "share"},
        "a family of its own": {"families": {"share": "lognormal"}},
    }
    inside = cw.summarize(Query("people", address, inside=True), target="kind", **options.get(why, {}))
    assert read == ["people"]
    assert inside.weight.sum() == pytest.approx(a_table()["share"].sum() if why == "weights" else COUNT)


def test_infinity_is_refused_as_ever(put: Put) -> None:
    address = put(a_table()[["height", "kind"]].assign(height=lambda of: of["height"].where(of.index != 800, np.inf)))
    with pytest.raises(cw.ClasswiseError, match="height"):
        cw.summarize(Query("people", address, inside=True), target="kind")


def test_by_default_a_server_computes_few_sums_itself(
    put: Put, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = put(a_table())
    is_server = address.startswith("postgresql")
    cw.summarize(Query("people", address), target="kind", columns=["height", "weight kg"])
    assert len(read) == (0 if is_server else 1)
    monkeypatch.setattr(limits, "DATABASE_SUMS", 4)
    cw.summarize(Query("people", address), target="kind", columns=["height", "weight kg"], scatter="diagonal")
    assert len(read) == (0 if is_server else 2)
    cw.summarize(Query("people", address), target="kind", columns=["height", "weight kg"])
    assert len(read) == (1 if is_server else 3)
