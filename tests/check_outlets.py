"""Real tables through every door: how far exports are from classwise, over every kind of model.

    CLASSWISE_DATA=~/tables python tests/check_outlets.py [NAME ...] [--kinds KIND ...]

Models learn from half of the rows, and other rows are scored both ways, with their gaps and levels never seen; of large
tables a few hundred rows of each. What is found of each table goes to tests/data/outlets.json. Prints the labels that
differ, what has no answer or is refused, and at the end the largest differences of posteriors of each kind and door.
tests/test_outlets.py writes them into docs/outlets.md.
"""

import argparse
import csv
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

import classwise as cw
from classwise import limits
from classwise.estimators import model_within
from classwise.export.check import ROW, Agreement, check, compared
from classwise.export.check_rows import CheckRows
from classwise.export.novelty import known_gaps
from classwise.rows.files import read_rows
from sql_engines import ENGINES, Engine

FOUND = Path(__file__).parent / "data" / "outlets.json"

TABLES = [
    "adult",
    "chile",
    "credit_approval_crx",
    "dermatology",
    "titanic",
    "horse_colic",
    "hypothyroid",
    "penguins",
    "labor",
    "mushroom_full",
    "breast_cancer_ljubljana",
    "klar_germancredit",
    "esl_SAheart",
    "esl_vowel_train",
    "sk_wine",
    "iris",
    "ecoli",
    "wheat_seeds",
    "haberman",
    "banknote_authentication",
]

KINDS: dict[str, Callable[[], Any]] = {
    "QDA": lambda: cw.GaussianClassifier(shrink=0.1),
    "LDA": lambda: cw.GaussianClassifier(share=1, shrink=0.1),
    "LDA, calibrated": lambda: cw.GaussianClassifier(share=1, shrink=0.1, calibrate="temperature", folds=3),
    "RDA": lambda: cw.RDA(share=0.5, shrink=0.2),
    "NearestMean": lambda: cw.NearestMean(standardize=True),
    "Student-t": lambda: cw.GaussianClassifier(estimate="bayes"),
    "NaiveBayes": cw.NaiveBayes,
    "NaiveBayes, best": lambda: cw.NaiveBayes(families="best", missing="level"),
    "AODE": cw.AODE,
    "mixture": lambda: cw.MixtureClassifier(components=2),
    "shrunken centroids": lambda: cw.ShrunkenCentroids(folds=3),
    "subspaces": cw.HDDA,
    "robust": lambda: cw.RobustClassifier(share=1, degrees=4),
    "logistic": lambda: cw.BayesianLogistic(precision=1.0),
    "logistic, moderated": lambda: cw.BayesianLogistic(precision=1.0, predictive="moderated"),
    "logistic, plugin": lambda: cw.BayesianLogistic(precision=1.0, predictive="plugin"),
    "forest": lambda: cw.ForestClassifier(trees=20),
    "stack": lambda: cw.AutoClassifier(folds=2),
    "structure VEV": lambda: cw.GaussianClassifier(structure="VEV"),
    "Decision, novelty": lambda: cw.Decision(cw.NaiveBayes(), reject=0.1, novelty=0.05),
}

MOST_LEARNED, MOST_SCORED = 400, 80

# The forests of a stack have fewer trees than by default, whose queries take minutes.
FEWER_TREES = 40

Report = Callable[[str, str, Agreement | str], None]


def halves(path: Path, target: str) -> tuple[Any, Any, Any]:
    """Rows to learn from, their labels, and rows to score."""
    whole = read_rows(path)
    named = np.array([value is not None for value in whole[target].to_pylist()])
    order = np.random.default_rng(0).permutation(np.flatnonzero(named))
    X, y = whole.drop_columns([target]), np.array(whole[target].to_pylist())
    learned, scored = order[: min(len(order) // 2, MOST_LEARNED)], order[len(order) // 2 :][:MOST_SCORED]
    return X.take(learned), y[learned], X.take(scored)


# Doors ----------------------------------------------------------------------------------------------------------------


def by_file(door: str) -> Callable[[Any, CheckRows], Agreement]:
    def ask(model: Any, rows: CheckRows) -> Agreement:
        few, many = split_by_gaps(model, rows)
        found = check(door, model, {"python": cw.to_python, "js": cw.to_js}[door](model), few)
        assert found is not None, f"{door} cannot be run here"
        return replace(found, rows=len(rows), unanswered=found.unanswered + many)

    return ask


def split_by_gaps(model: Any, rows: CheckRows) -> tuple[CheckRows, int]:
    """The rows whose novelty is known to a file, for which others are an error; and how many others there are."""
    if getattr(model, "novelty", None) is None:
        return rows, 0
    lacking = (~model.model_.present(rows.X)).sum(axis=1)
    few = (lacking <= known_gaps(rows.table.rows.shape[1])) | (lacking == rows.table.rows.shape[1])
    X = rows.X.take(np.flatnonzero(few))
    return CheckRows(X, rows.where, model_within(model)._table(X)), int((~few).sum())


def by_onnx(dtype: Any) -> Callable[[Any, CheckRows], Agreement]:
    def ask(model: Any, rows: CheckRows) -> Agreement:
        if dtype == "float32":  # both see the same numbers; levels are found whatever their digits
            levels = rows.table.levels
            X = pa.table(
                {n: rows.X[n] if j in levels else rounded(rows.X[n]) for j, n in enumerate(rows.X.column_names)}
            )
            rows = CheckRows(X, rows.where, model_within(model)._table(X))
        found = check("onnx", model, cw.to_onnx(model, dtype=dtype), rows)
        assert found is not None
        return found

    return ask


def rounded(column: Any) -> Any:
    if pa.types.is_floating(column.type):
        return column.cast(pa.float32(), safe=False).cast(pa.float64())
    return column


@cache
def engine(name: str) -> Engine:
    return OPENED.enter_context(ENGINES[name]())


OPENED = ExitStack()


def by_engine(name: str) -> Callable[[Any, CheckRows], Agreement]:
    def ask(model: Any, rows: CheckRows) -> Agreement:
        queries = [cw.to_sql(model, "checked", name, [ROW], output) for output in ("label", "posteriors")]
        database = engine(name)
        if name == "postgres":
            database.run("SET jit = off")
        database.put("checked", {ROW: ("whole", list(range(len(rows)))), **typed(rows, name)})
        found = [sorted(database.ask(query)[1], key=lambda row: row[0]) for query in queries]
        width = len(model.classes_)
        labels = [plain(row[1], model) for row in found[0]]
        numbers = [[np.nan if value is None else value for value in row[1 : 1 + width]] for row in found[1]]
        return compared(model, rows, (labels, np.array(numbers, dtype=np.float64)))

    return ask


def plain(label: Any, model: Any) -> Any:
    """SQLite has no type for yes and no."""
    return bool(label) if label is not None and model.classes_.dtype.kind == "b" else label


def typed(rows: CheckRows, dialect: str) -> dict[str, tuple[str, list[Any]]]:
    """The columns, each with its type in a database; dates as they are written, where there is no type for them."""
    found = {}
    for name, values in rows.columns().items():
        known = [value for value in values if value is not None]
        kinds = {bool: "yes/no", int: "whole", float: "number", str: "text"}
        found[name] = (kinds[type(known[0])] if known else "text", values)
    return found


DOORS: dict[str, Callable[[Any, CheckRows], Agreement]] = {
    "Python": by_file("python"),
    "JavaScript": by_file("js"),
    "ONNX": by_onnx("float64"),
    "ONNX, float32": by_onnx("float32"),
    "DuckDB": by_engine("duckdb"),
    "SQLite": by_engine("sqlite"),
    "PostgreSQL": by_engine("postgres"),
}


def allowed(door: str) -> float:
    return 1e-6 if "float32" in door else 1e-9


# Tables ---------------------------------------------------------------------------------------------------------------


def agreements(path: Path, target: str, kinds: Sequence[str], report: Report) -> None:
    X, y, new = halves(path, target)
    for kind in kinds:
        make = KINDS[kind]
        start = perf_counter()
        try:
            model = make().fit(X, y)
            model.predict_proba(new)
        except cw.ClasswiseError as problem:
            report(kind, "fit", str(problem))
            continue
        rows = CheckRows(new, path.name, model_within(model)._table(new))
        for door, ask in DOORS.items():
            try:
                report(kind, door, ask(model, rows))
            except cw.ClasswiseError as problem:
                report(kind, door, str(problem))
        print(f"  {kind}: {perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def facts_of(path: Path, target: str) -> dict[str, int]:
    """Of the rows that are scored: how many there are, how many lack a value, and how many have a level never seen."""
    X, _, new = halves(path, target)
    gaps, unseen = np.zeros(len(new), dtype=bool), np.zeros(len(new), dtype=bool)
    for name in new.column_names:
        known = set(X[name].to_pylist())
        gaps |= np.array([value is None for value in new[name].to_pylist()])
        if pa.types.is_string(new[name].type) or pa.types.is_large_string(new[name].type):
            unseen |= np.array([value is not None and value not in known for value in new[name].to_pylist()])
    return {"rows": len(new), "gaps": int(gaps.sum()), "unseen": int(unseen.sum()), "columns": new.num_columns}


def found_of(path: Path, target: str, kinds: Sequence[str]) -> dict[str, Any]:
    """What is to be kept of a table; by kind and door the largest difference of posteriors, how many labels differ, and
    how many rows have no answer; or why all is refused.
    """
    kept: dict[str, Any] = {"facts": facts_of(path, target), "doors": {}}

    def report(kind: str, door: str, found: Agreement | str) -> None:
        own = kept["doors"].setdefault(kind, {})
        if isinstance(found, str):
            own[door] = found.split(";")[0][:200]
            print(f"{path.name}: {kind}, {door}: {found[:150]}", flush=True)
            return
        own[door] = [float(f"{found.difference or 0.0:.1e}"), found.labels, found.unanswered]
        if found.labels or found.unanswered or (found.difference or 0.0) > allowed(door):
            print(f"{path.name}: {kind}, {door}: {found}", flush=True)

    agreements(path, target, kinds, report)
    return kept


def read_found() -> dict[str, Any]:
    return json.loads(FOUND.read_text()) if FOUND.exists() else {}


def write_found(found: dict[str, Any]) -> None:
    """A line for each table."""
    lines = [f"{json.dumps(name)}: {json.dumps(found[name], separators=(',', ':'))}" for name in sorted(found)]
    FOUND.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def answers(found: dict[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    """table, kind, door and what was found, of all."""
    for name, of in found.items():
        for kind, doors in of["doors"].items():
            for door, answer in doors.items():
                yield name, kind, door, answer


def wrong(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The answers that differ."""
    asked = [of for of in answers(found) if not isinstance(of[3], str)]
    return [
        (name, kind, door)
        for name, kind, door, (difference, labels, _) in asked
        if (labels and "float32" not in door) or difference > allowed(door)
    ]


def worst(found: dict[str, Any]) -> dict[tuple[str, str], float]:
    """The largest difference of each kind and door."""
    largest: dict[tuple[str, str], float] = {}
    for _, kind, door, of in answers(found):
        if not isinstance(of, str):
            largest[kind, door] = max(largest.get((kind, door), 0.0), of[0])
    return largest


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*TABLES, []], metavar="NAME", help="tables; default: all 20")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS), metavar="KIND")
    asked = parser.parse_args(arguments)
    folder = Path(os.environ["CLASSWISE_DATA"])
    with (folder / "manifest.csv").open() as file:
        targets = {Path(row["file"]).name.split(".")[0]: row["target"] for row in csv.DictReader(file)}
    warnings.simplefilter("ignore")
    limits.STACK_TREES = FEWER_TREES
    for name in asked.names or TABLES:
        print(name, file=sys.stderr, flush=True)
        found = found_of(folder / f"{name}.csv.gz", targets[name], asked.kinds)
        before = read_found()
        found["doors"] = before.get(name, {}).get("doors", {}) | found["doors"]
        write_found(before | {name: found})
    whole = read_found()
    for (kind, door), difference in worst(whole).items():
        print(f"{kind:20} {door:14} {difference:.1e}")
    print(f"{len(whole)} tables; {len(wrong(whole))} answers differ: {wrong(whole)}")
    return len(wrong(whole))


if __name__ == "__main__":
    with OPENED:
        sys.exit(main(sys.argv[1:]) > 0)
