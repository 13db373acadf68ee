"""Which new models a comparison is better with: `compare` on the folds of the study, with and without each of them.

    python benchmarks/quality_family.py run --data FOLDER --out family.csv [--folds 0,1,2] [--only iris,sk_wine]
    python benchmarks/quality_family.py report --out family.csv [--md family.md]
    python benchmarks/quality_family.py stack --data FOLDER --out stack.csv [--folds 0]

A comparison of the rows of four folds chooses the model with the least held-out log loss, among those that it has
always had, and among those and a new one. The chosen models are then scored on the fifth fold. So a new model counts
only where it would be chosen, and its part in the choice is honest. A line is written as soon as a table and fold are
done; what has a line is not run again.

`report`: for each new model, on how many tables it was chosen, the change of the log loss there and over all tables
(geometric mean of the ratios, with a 95 % interval by bootstrap over tables), and the seconds that it takes.

`stack` gives the new models to the default stack as further members, all at once, and prints the log loss of the last
fold with and without them, and the weight that they get.
"""

import argparse
import csv
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from quality_scores import normalized
from quality_tables import FOLDS, Table, folds, read_tables
from report import aligned
from threadpoolctl import threadpool_limits

import classwise as cw
from classwise.comparison.stack import NAMED

NEW: dict[str, Callable[[], Any]] = {
    "EDDA, BIC": lambda: cw.GaussianClassifier(structure="bic"),
    "EDDA, CV": lambda: cw.GaussianClassifier(structure="cv"),
    "HDDA": cw.HDDA,
    "shrunken centroids": cw.ShrunkenCentroids,
    "robust, Student-t": cw.RobustClassifier,
    "robust, Student-t, shared": lambda: cw.RobustClassifier(share=1),
    "naive Bayes, kernel": lambda: cw.NaiveBayes(families="kernel"),
    "mixtures": cw.MixtureClassifier,
    "mixtures, BIC": lambda: cw.MixtureClassifier(components="bic", covariance="bic"),
}

# Tables with more numbers times classes than this are left out for models that would take minutes on them. So are
# tables with missing numbers for EDDA, where EM is run for all structures and folds.
MOST = {"EDDA": 1_500_000, "robust": 1_500_000, "mixtures": 1_500_000, "mixtures, BIC": 60_000}
FIELDS = ["table", "fold", "rows", "held_out", "inner", "outer", "seconds", "best"]
LEAST_LOSS = 1e-4


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "report", "stack"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", default=",".join(map(str, range(FOLDS))))
    parser.add_argument("--only", default="", help="names of tables, with commas")
    parser.add_argument("--md", type=Path, help="write the report here")
    options = parser.parse_args()
    {"run": run, "report": report, "stack": stack}[options.command](options)


# Runs -----------------------------------------------------------------------------------------------------------------


def run(options: argparse.Namespace) -> None:
    tables = read_tables(options.data, options.only)
    for fold in map(int, options.folds.split(",")):
        for table in tables:
            if (table.name, str(fold)) not in {(line["table"], line["fold"]) for line in read(options.out)}:
                with threadpool_limits(1):
                    write(options.out, line_of(table, fold))


def line_of(table: Table, fold: int) -> dict[str, Any]:
    training, held_out = list(folds(table.y))[fold]
    X, y = table.X.iloc[training], table.y[training]
    new = {name: make() for name, make in NEW.items() if suits(name, table)}
    found = cw.compare(X, y, folds=FOLDS, references=False, models=new, time_limit=None)
    inner = {name: of.log_loss for name, of in found.evaluations.items() if found[name].may_win}
    former = {name: loss for name, loss in inner.items() if name not in NEW}
    best = min(former, key=lambda name: former[name])
    outer, seconds = {}, {}
    for name in (best, *(name for name in new if name in inner)):
        model, seconds[name] = found.fitted(name), found[name].seconds
        outer[name] = held_out_loss(model, table, held_out)
    facts = [table.name, fold, len(table.y), len(held_out), *map(json.dumps, (inner, outer, seconds)), best]
    return dict(zip(FIELDS, facts, strict=True))


def suits(name: str, table: Table) -> bool:
    most = MOST.get(name, MOST.get(name.partition(",")[0], np.inf))
    has_gaps = table.X.select_dtypes("number").isna().any(axis=None)
    return table.X.size * len(table.labels) <= most and not (has_gaps and name.startswith("EDDA"))


def read(out: Path) -> list[dict[str, str]]:
    if not out.exists():
        return []
    with out.open() as file:
        return list(csv.DictReader(file))


def write(out: Path, line: dict[str, Any]) -> None:
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(line)
    print(line["table"], line["fold"], line["best"], flush=True)


# The stack ------------------------------------------------------------------------------------------------------------

# Mixtures are members of the stack by name, and take too long with BIC.
NOT_STACKED = ("mixtures", "mixtures, BIC", "EDDA, CV")


def stack(options: argparse.Namespace) -> None:
    """A line for each table: log loss without and with the new members, their weight, and seconds of both fits."""
    for fold in map(int, options.folds.split(",")):
        for table in read_tables(options.data, options.only):
            training, held_out = list(folds(table.y))[fold]
            X, y = table.X.iloc[training], table.y[training]
            with threadpool_limits(1):
                default = cw.AutoClassifier().fit(X, y)
                former = [line.name for line in default.report_ if line.name in NAMED]
                new = [make() for name, make in NEW.items() if name not in NOT_STACKED and suits(name, table)]
                more = cw.AutoClassifier(members=[*former, *new]).fit(X, y)
            losses = [held_out_loss(model, table, held_out) for model in (default, more)]
            weight = sum(of for name, of in more.weights_.items() if name not in NAMED)
            took = [sum(line.seconds or 0.0 for line in model.report_) for model in (default, more)]
            line = [
                table.name,
                fold,
                *(f"{loss:.5f}" for loss in losses),
                f"{weight:.3f}",
                *(f"{of:.1f}" for of in took),
            ]
            with options.out.open("a", newline="") as file:
                csv.writer(file).writerow(line)
            print(*line, flush=True)


def held_out_loss(model: Any, table: Table, held_out: Any) -> float:
    posterior = np.zeros((len(held_out), len(table.labels)))
    places = np.searchsorted(table.labels, model.classes_.astype(str))
    posterior[:, places] = model.predict_proba(table.X.iloc[held_out])
    return float(-np.log(normalized(posterior)[np.arange(len(held_out)), table.codes[held_out]]).mean())


# The report -----------------------------------------------------------------------------------------------------------


def report(options: argparse.Namespace) -> None:
    lines = [["model", "tables", "chosen on", "log loss where chosen", "log loss over all", "interval", "seconds"]]
    lines += [[name, *told(name, read(options.out))] for name in NEW]
    text = aligned(lines)
    print(text)
    if options.md:
        rows = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
        options.md.write_text("\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n")


def told(name: str, lines: list[dict[str, str]]) -> list[str]:
    """The cells of one model. Losses are averaged over the folds of a table before their ratio is taken."""
    with_it: dict[str, list[float]] = {}
    without: dict[str, list[float]] = {}
    chosen, seconds = set(), []
    for line in lines:
        inner, outer, took = (json.loads(line[key]) for key in ("inner", "outer", "seconds"))
        best = line["best"]
        is_chosen = name in outer and inner[name] < inner[best]
        with_it.setdefault(line["table"], []).append(outer[name if is_chosen else best])
        without.setdefault(line["table"], []).append(outer[best])
        chosen |= {line["table"]} if is_chosen else set()
        seconds += [took[name]] if name in took else []
    logs = {t: np.log(max(np.mean(with_it[t]), LEAST_LOSS) / max(np.mean(without[t]), LEAST_LOSS)) for t in with_it}
    drawn = np.random.default_rng(0).choice([*logs.values()], (2000, len(logs))).mean(axis=1)
    low, high = np.exp(np.quantile(drawn, [0.025, 0.975]))
    where = np.exp(np.mean([logs[t] for t in chosen])) if chosen else np.nan
    of_all = np.exp(np.mean([*logs.values()]))
    interval = f"{low:.3f} to {high:.3f}"
    return [str(len(logs)), str(len(chosen)), f"{where:.3f}", f"{of_all:.3f}", interval, f"{np.median(seconds):.2f}"]


if __name__ == "__main__":
    main()
