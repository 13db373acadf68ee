"""One model, one answer: wherever a model is asked, labels are the same and posteriors agree, or it is refused at once.

CLASSWISE_TABLES=54 tries that many random tables; a few are enough to see that nothing has come apart.
"""

import csv
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnxruntime
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import classwise as cw
from classwise.cli.program import app
from classwise.rows.sinks import write_rows
from random_tables import RandomTable, random_table
from serving import ARROW, Client, stream
from sql_engines import ENGINES

SEEDS = range(int(os.environ.get("CLASSWISE_TABLES", "3")))

table_of = cache(random_table)


# Models ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """make: a model for a table. fits: the tables that it is for."""

    make: Callable[[RandomTable], Any]
    fits: Callable[[RandomTable], bool] = lambda table: True


def is_binary(table: RandomTable) -> bool:
    return len(table.classes) == 2


def refused_label(table: RandomTable) -> Any:
    """One of the type of the labels."""
    return {str: "better ask", int: -99}.get(type(table.classes[0]))


def decided(table: RandomTable, model: Any, **options: Any) -> cw.Decision:
    first, second, *_ = table.classes
    return cw.Decision(model, costs={first: {second: 6}, second: {first: 0.5}}, **options)


def naive(table: RandomTable, **options: Any) -> cw.NaiveBayes:
    return cw.NaiveBayes(families=table.families, **options)


def stack(members: Any) -> Callable[[RandomTable], cw.AutoClassifier]:
    return lambda table: cw.AutoClassifier(members=members, folds=2, families=table.families)


def gaussian(**options: Any) -> Callable[[RandomTable], cw.GaussianClassifier]:
    return lambda table: cw.GaussianClassifier(families=table.families, **options)


def logistic(**options: Any) -> Callable[[RandomTable], cw.BayesianLogistic]:
    return lambda table: cw.BayesianLogistic(families=table.levels, precision=1.0, **options)


KINDS = {
    "QDA": Kind(lambda table: cw.QDA(families=table.families)),
    "LDA": Kind(lambda table: cw.LDA(families=table.families)),
    "LDA, one direction": Kind(lambda table: cw.LDA(families=table.families, n_components=1)),
    "LDA, calibrated": Kind(lambda t: cw.LDA(families=t.families, calibrate="temperature", folds=3)),
    "LDA, gaps tell": Kind(lambda table: cw.LDA(families=table.families, missing="level")),
    "RDA": Kind(lambda table: cw.RDA(families=table.families, share=0.4, shrink=0.2)),
    "nearest mean": Kind(lambda table: cw.NearestMean(families=table.families, standardize=True)),
    "diagonal": Kind(gaussian(structure="diagonal")),
    "diagonal, shared": Kind(gaussian(structure="diagonal", share=1.0)),
    "spherical": Kind(gaussian(structure="spherical", standardize=True)),
    "QDA, Student-t": Kind(gaussian(estimate="bayes")),
    "LDA, Student-t": Kind(gaussian(estimate="bayes", share=1.0)),
    "diagonal, Student-t": Kind(gaussian(structure="diagonal", estimate="bayes")),
    "naive Bayes": Kind(naive),
    "naive Bayes, Student-t": Kind(lambda table: naive(table, estimate="bayes")),
    "naive Bayes, gaps tell": Kind(lambda table: naive(table, missing="level")),
    "naive Bayes, calibrated": Kind(lambda table: naive(table, calibrate="temperature", folds=3)),
    "naive Bayes, best families": Kind(lambda table: cw.NaiveBayes(families="best")),
    "logistic, plugin": Kind(logistic(predictive="plugin")),
    "logistic, moderated": Kind(logistic(predictive="moderated"), fits=is_binary),
    "softmax, moderated": Kind(logistic(predictive="moderated"), fits=lambda table: not is_binary(table)),
    "logistic, integrated": Kind(logistic(), fits=is_binary),
    "softmax, integrated": Kind(logistic(), fits=lambda table: not is_binary(table)),
    "probit": Kind(logistic(link="probit", predictive="plugin"), fits=is_binary),
    "one-dependence": Kind(lambda table: cw.AODE()),
    "forest": Kind(lambda table: cw.ForestClassifier(trees=10, families=table.families)),
    "mixture": Kind(lambda table: cw.MixtureClassifier(components=2, families=table.families)),
    "shrunken centroids": Kind(lambda table: cw.ShrunkenCentroids(threshold=1.0, families=table.families)),
    "subspaces": Kind(lambda table: cw.HDDA(families=table.families)),
    "robust, Student-t": Kind(lambda table: cw.RobustClassifier(degrees=4, share=1, families=table.families)),
    "stack for SQL": Kind(stack("sql")),
    "stack": Kind(stack("default")),
    "stack of networks": Kind(stack(["network", "deep network", "boosted trees", "class shares"])),
    "decided by costs": Kind(lambda table: decided(table, naive(table))),
    "decided, reject": Kind(
        lambda table: decided(table, naive(table), reject=0.3, reject_label=refused_label(table)),
        fits=lambda table: refused_label(table) is not None,
    ),
    "decided, least posterior": Kind(
        lambda table: decided(
            table, cw.QDA(families=table.families), reject={"posterior": 0.7}, reject_label=refused_label(table)
        ),
        fits=lambda table: refused_label(table) is not None,
    ),
    "decided, text beside numbers": Kind(
        lambda table: decided(table, naive(table), reject=0.3, reject_label="better ask"),
        fits=lambda table: not isinstance(table.classes[0], str),
    ),
    "decided, novelty": Kind(
        lambda table: decided(table, naive(table), novelty=0.1),
        fits=lambda table: not isinstance(table.classes[0], (bool, np.bool_)),
    ),
    "decided, novelty beside yes and no": Kind(
        lambda table: decided(table, naive(table), novelty=0.1),
        fits=lambda table: isinstance(table.classes[0], (bool, np.bool_)),
    ),
    "decided, stack": Kind(lambda table: decided(table, stack("sql")(table))),
    "decided, fitted before": Kind(lambda table: decided(table, naive(table).fit(table.rows, table.labels))),
}


@cache
def fitted(kind: str, seed: int) -> Any:
    table = table_of(seed)
    model = KINDS[kind].make(table)
    if kind == "decided, fitted before":
        return model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.ImputedValueWarning)
        return model.fit(table.rows, table.labels)


# Outlets --------------------------------------------------------------------------------------------------------------
# Each exports a model, which is where it may refuse, and hands back how to ask what was exported: label and posteriors
# of each row, None and NaN where there is no answer.

Answers = tuple[list[Any], np.ndarray]
Ask = Callable[[], Answers]


def by_pandas(model, table, folder) -> Ask:
    return lambda: in_memory(model, table.features.to_pandas())


def by_polars(model, table, folder) -> Ask:
    return lambda: in_memory(model, pl.from_arrow(table.features))


def by_saving(model, table, folder) -> Ask:
    cw.save(model, folder / "model.cw")
    return lambda: in_memory(cw.load(folder / "model.cw"), table.features)


def in_memory(model, rows) -> Answers:
    return model.predict(rows).tolist(), model.predict_proba(rows)


def by_stream(model, table, folder) -> Ask:
    batches = (table.new.slice(start, 7) for start in range(0, len(table.new), 7))
    return lambda: of_columns(cw.predict(model, batches, keys=["id"], proba=True).read_all(), table)


def by_parquet(model, table, folder) -> Ask:
    write_rows(table.new, str(folder / "new.parquet"))

    def ask() -> Answers:
        cw.predict(model, folder / "new.parquet", folder / "out.parquet", keys=["id"], proba=True)
        return of_columns(pq.read_table(folder / "out.parquet"), table)

    return ask


def by_csv(model, table, folder) -> Ask:
    write_rows(table.new, str(folder / "new.csv"))

    def ask() -> Answers:
        cw.predict(model, folder / "new.csv", folder / "out.csv", keys=["id"], proba=True)
        return of_text(folder / "out.csv", table)

    return ask


def by_shell(model, table, folder) -> Ask:
    write_rows(table.new, str(folder / "new.csv"))
    cw.save(model, folder / "model.cw")

    def ask() -> Answers:
        words = ["predict", "model.cw", "new.csv", "--proba", "--key", "id", "-o", "out.csv"]
        words = [str(folder / word) if "." in word else word for word in words]
        done = CliRunner().invoke(app, words, prog_name="classwise")
        assert done.exit_code == 0, done.output
        return of_text(folder / "out.csv", table)

    return ask


def of_columns(found: pa.Table, table: RandomTable) -> Answers:
    assert found["id"].to_pylist() == table.new["id"].to_pylist()
    return found["label"].to_pylist(), np.column_stack([found[name] for name in posterior_names(found.column_names)])


def of_text(path, table: RandomTable) -> Answers:
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert [row[0] for row in rows] == [*map(str, table.new["id"].to_pylist())]
    places = [header.index(name) for name in posterior_names(header)]
    return [row[header.index("label")] for row in rows], np.array([[float(row[j]) for j in places] for row in rows])


def posterior_names(names) -> list[str]:
    found = [name for name in names if name.startswith("posterior_")]
    assert len({name.lower() for name in found}) == len(found)
    return found


def by_sql(dialect: str):
    def export(model, table, folder) -> Ask:
        queries = [cw.to_sql(model, "new", dialect, ["id"], output) for output in ("label", "posteriors")]

        def ask() -> Answers:
            with ENGINES[dialect]() as engine:
                engine.put("new", table.for_engine())
                (names, labels), (_, posteriors) = (engine.ask(query) for query in queries)
            labels, posteriors = ([row[1:] for row in sorted(rows)] for rows in (labels, posteriors))
            if names[-1] == "unanswered":
                assert all((label is None) == (why == "too many missing values") for label, why in labels)
                posteriors = [row[:-1] for row in posteriors]
            return [row[0] for row in labels], np.array(posteriors, dtype=np.float64)

        return ask

    return export


def by_onnx(model, table, folder) -> Ask:
    session = onnxruntime.InferenceSession(cw.to_onnx(model, outputs=("answer:", "answers:")).SerializeToString())
    inputs = {value.name: value.type for value in session.get_inputs()}

    def ask() -> Answers:
        rows = table.features.to_pandas()
        stated = [name for name, kind in inputs.items() if kind in ("tensor(int64)", "tensor(bool)")]
        told = rows[stated].notna().all(axis=1).to_numpy()  # these types cannot say that a value is missing
        rows = rows.assign(**{name: of for name in table.columns if (of := table.as_numbers(name)) is not None})
        given = {name: onnx_column(rows[name][told], kind) for name, kind in inputs.items()}
        found, probabilities = session.run(None, given)
        labels, posteriors = np.full(len(rows), None), np.full((len(rows), len(table.classes)), np.nan)
        labels[told], posteriors[told] = found, probabilities
        return labels.tolist(), posteriors

    return ask


def onnx_column(values, kind: str) -> np.ndarray:
    if kind == "tensor(string)":
        return values.where(values.notna(), "").to_numpy(dtype=object)[:, None]
    types = {"tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(bool)": bool}
    return values.to_numpy().astype(types[kind])[:, None]


def by_json(model, table, folder) -> Ask:
    client = Client(model)

    def ask() -> Answers:
        answer = client.post("/predict", {"columns": table.for_json()})
        assert answer.status_code == 200, answer.text
        assert answer.json()["classes"] == table.classes
        return answer.json()["label"], np.array(answer.json()["posteriors"])

    return ask


def by_arrow(model, table, folder) -> Ask:
    client = Client(model)

    def ask() -> Answers:
        answer = client.post("/predict?keep=id", stream(table.new), ARROW)
        assert answer.status_code == 200, answer.text
        return of_columns(pa.ipc.open_stream(answer.content).read_all(), table)

    return ask


OUTLETS = {
    "pandas": by_pandas,
    "polars": by_polars,
    "saved": by_saving,
    "stream": by_stream,
    "Parquet": by_parquet,
    "CSV": by_csv,
    "shell": by_shell,
    "DuckDB": by_sql("duckdb"),
    "SQLite": by_sql("sqlite"),
    "ONNX": by_onnx,
    "server, JSON": by_json,
    "server, Arrow": by_arrow,
}

# What is refused, all of it, and why: model kind -> outlet -> a part of the sentence. Nothing else may be, and what is
# refused no longer has to leave this list.
REFUSED: dict[str, dict[str, str]] = {
    "decided, text beside numbers": {"SQL": "A column of SQL has one type"},
    "decided, novelty beside yes and no": {"SQL": "A column of SQL has one type"},
}


# Models whose queries look up pairs of levels, or average over points.
LONG_QUERIES = ("stack", "one-dependence", "logistic, integrated", "softmax, integrated")


def refusal(kind: str, outlet: str) -> str | None:
    return REFUSED.get(kind, {}).get("SQL" if outlet in ("DuckDB", "SQLite") else outlet)


# Agreement ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_outlets_agree(seed: int, kind: str, tmp_path) -> None:
    table = table_of(seed)
    if not KINDS[kind].fits(table):
        pytest.skip("not a table for it")
    model = fitted(kind, seed)
    labels, posteriors = in_memory(model, table.features)
    for outlet, export in OUTLETS.items():
        if kind in LONG_QUERIES and outlet in ("DuckDB", "SQLite") and 0 < seed < len(SEEDS) <= 3:
            continue  # a query of some megabytes takes a while: one table is enough, unless more are asked for
        folder = tmp_path / outlet
        folder.mkdir()
        reason = refusal(kind, outlet)
        if reason is not None:
            with pytest.raises(cw.ClasswiseError, match=reason):
                export(model, table, folder)
            continue
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", cw.UnansweredRowWarning)
            ask = export(model, table, folder)
        found, answers = ask()
        answered = expected_answers(table, model, outlet)
        if told:  # the query says which rows have no answer: some with several gaps among many numbers
            several = table.features.to_pandas().isna().sum(axis=1).to_numpy() > 1
            answered = np.array([label is not None for label in found]) | ~several
        assert [label is not None for label in found] == answered.tolist(), outlet
        words = BOOLEANS.get(outlet, {}) if isinstance(table.classes[0], bool) else {}
        assert [words.get(told, told) for told in as_text(found, answered)] == as_text(labels, answered), outlet
        if outlet in ("pandas", "polars", "saved", "server, JSON"):
            assert found == labels, outlet
        bound = 1e-10 if outlet == "ONNX" else 1e-9
        np.testing.assert_allclose(answers[answered], posteriors[answered], rtol=0, atol=bound, err_msg=outlet)


def expected_answers(table: RandomTable, model: Any, outlet: str) -> np.ndarray:
    """Which rows have an answer: all, but where ONNX has no word for a gap."""
    rows = table.features.to_pandas()
    if outlet != "ONNX" or isinstance(cw.estimators.model_within(model), cw.AutoClassifier):
        return np.ones(len(rows), dtype=bool)
    learned = table.rows.to_pandas()
    mute = [
        name
        for name, kind in table.types.items()
        if (kind == "yes/no" or table.families.get(name) == "categorical") and learned[name].notna().all()
    ]
    return rows[mute].notna().all(axis=1).to_numpy()


def as_text(labels, answered) -> list[str]:
    """Labels as text: that is what they are in files, and beside a text for rows that are refused."""
    return [str(label) for label, there in zip(labels, answered, strict=True) if there]


# What stands for yes and no where Python's words do not: SQLite and ONNX count, and text files have words of their own.
COUNTED, WRITTEN = {"0": "False", "1": "True"}, {"false": "False", "true": "True"}
BOOLEANS = {"SQLite": COUNTED, "ONNX": COUNTED, "CSV": WRITTEN, "shell": WRITTEN}


# Columns x and X are one to these engines.
TWINS_REFUSED = dict.fromkeys(("DuckDB", "SQLite"), "takes these names for one")


@pytest.mark.parametrize("outlet", [name for name in OUTLETS if name != "shell"])  # the shell reads files as CSV does
def test_columns_that_differ_by_case_alone(outlet: str, tmp_path) -> None:
    """They are two columns, or are refused: never taken for each other."""
    generator, codes = np.random.default_rng(0), np.arange(80) % 2
    rows = pa.table({"x": generator.normal(codes, 1.0), "X": generator.normal(-codes, 1.0)})
    new = rows.slice(60).add_column(0, "id", [pa.array(range(20))])
    table = RandomTable(rows, codes, new, {"x": "number", "X": "number"}, {})
    model = cw.NaiveBayes().fit(rows, codes)
    if outlet in TWINS_REFUSED:
        with pytest.raises(cw.ClasswiseError, match=TWINS_REFUSED[outlet]):
            OUTLETS[outlet](model, table, tmp_path)()
        return
    labels, posteriors = OUTLETS[outlet](model, table, tmp_path)()
    assert [*map(str, labels)] == [*map(str, model.predict(table.features).tolist())]
    np.testing.assert_allclose(posteriors, model.predict_proba(table.features), rtol=0, atol=1e-9)


def test_every_refusal_is_of_a_kind_and_an_outlet() -> None:
    assert set(REFUSED) <= set(KINDS)
    assert {outlet for of in REFUSED.values() for outlet in of} <= {*OUTLETS, "SQL"}
