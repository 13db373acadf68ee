"""Real tables through every door: how far exports are from classwise, over every kind of model.

    CLASSWISE_DATA=~/tables python tests/check_outlets.py [NAME ...]

Models learn from half of the rows, and other rows are scored both ways, with their gaps and levels never seen. Prints
the largest difference of posteriors of each kind and door, labels that differ, and what has no answer or is refused.
"""

import csv
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import classwise as cw
from classwise.estimators import model_within
from classwise.export.check import ROW, Agreement, check
from classwise.export.check_rows import CheckRows
from classwise.rows.files import read_rows

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
    "LDA": cw.LDA,
    "LDA, calibrated": lambda: cw.LDA(calibrate="temperature", folds=3),
    "RDA": lambda: cw.RDA(share=0.5, shrink=0.2),
    "NearestMean": lambda: cw.NearestMean(standardize=True),
    "Student-t": lambda: cw.GaussianClassifier(estimate="bayes"),
    "NaiveBayes": cw.NaiveBayes,
    "NaiveBayes, best": lambda: cw.NaiveBayes(families="best", missing="level"),
    "AODE": cw.AODE,
    "mixture": lambda: cw.MixtureClassifier(components=2),
    "logistic": lambda: cw.BayesianLogistic(precision=1.0),
    "logistic, plugin": lambda: cw.BayesianLogistic(precision=1.0, predictive="plugin"),
    "forest": lambda: cw.ForestClassifier(trees=20),
    "stack": lambda: cw.AutoClassifier(folds=2),
    "Decision": lambda: cw.Decision(cw.NaiveBayes(), reject=0.1, novelty=0.05),
}

MOST_LEARNED, MOST_SCORED = 600, 120


def halves(path: Path, target: str) -> tuple[Any, Any, Any]:
    """Rows to learn from, their labels, and rows to score."""
    whole = read_rows(path)
    named = np.array([value is not None for value in whole[target].to_pylist()])
    order = np.random.default_rng(0).permutation(np.flatnonzero(named))
    X, y = whole.drop_columns([target]), np.array(whole[target].to_pylist())
    learned, scored = order[: min(len(order) // 2, MOST_LEARNED)], order[len(order) // 2 :][:MOST_SCORED]
    return X.take(learned), y[learned], X.take(scored)


def exported(door: str, model: Any) -> Any:
    if door == "sql":
        return lambda table, output: cw.to_sql(model, table, "duckdb", [ROW], output)
    return {"python": cw.to_python, "js": cw.to_js, "onnx": cw.to_onnx}[door](model)


def agreements(path: Path, target: str, report: Callable[[str, str, Agreement | str], None]) -> None:
    X, y, new = halves(path, target)
    for kind, make in KINDS.items():
        try:
            model = make().fit(X, y)
            model.predict_proba(new)
        except cw.ClasswiseError as problem:
            report(kind, "fit", str(problem))
            continue
        rows = CheckRows(new, path.name, model_within(model)._table(new))
        for door in ("python", "js", "onnx", "sql"):
            try:
                found = check(door, model, exported(door, model), rows)
            except cw.ClasswiseError as problem:
                report(kind, door, str(problem))
                continue
            assert found is not None, f"{door} cannot be run here"
            report(kind, door, found)


def main(names: list[str]) -> int:
    folder = Path(os.environ["CLASSWISE_DATA"])
    with (folder / "manifest.csv").open() as file:
        targets = {Path(row["file"]).name.split(".")[0]: row["target"] for row in csv.DictReader(file)}
    worst: dict[tuple[str, str], float] = defaultdict(float)
    wrong = []
    warnings.simplefilter("ignore")
    for name in names:

        def report(kind: str, door: str, found: Agreement | str, name: str = name) -> None:
            if isinstance(found, str):
                print(f"{name}: {kind}, {door}: {found[:150]}", flush=True)
                return
            worst[kind, door] = max(worst[kind, door], found.difference or 0.0)
            if found.labels or found.unanswered or (found.difference or 0.0) > 1e-9:
                print(f"{name}: {kind}, {door}: {found}", flush=True)
            if found.labels or (found.difference or 0.0) > 1e-9:
                wrong.append((name, kind, door))

        agreements(folder / f"{name}.csv.gz", targets[name], report)
    for (kind, door), difference in worst.items():
        print(f"{kind:20} {door:8} {difference:.1e}")
    print(f"{len(wrong)} of the answers differ: {wrong}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or TABLES) > 0)
