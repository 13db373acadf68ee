"""Statistical quality: AutoClassifier's posteriors beside those of scikit-learn's classifiers, on a folder of tables.

    python benchmarks/quality.py auto --data FOLDER --out auto.csv [--members default] [--only iris,sk_wine]
    python benchmarks/quality.py peers --data FOLDER --out calibrated.csv [--only iris,sk_wine]
    python benchmarks/quality.py report --auto auto0.csv auto1.csv auto2.csv --peers peers.csv --folds trees.csv
        [--autogluon autogluon.csv] [--md study.md]

FOLDER has a manifest.csv (name, file, target, classes). peers.csv has the log loss of ten classifiers by name and
model, from five stratified folds (shuffled, seed 0) of at most 5,000 rows of each table, where numbers were
standardized, missing values filled with means and categories turned into indicators.

`auto` gives AutoClassifier the same folds, and the tables as they are. `peers` gives the same folds and the prepared
tables to a random forest of 200 trees and to histogram gradient boosting, each calibrated by inner folds, on one core.
Seconds are those of one fit, calibration included. A line is written as soon as a table is done, and what has a line
without a failure is not run again.

`report` says where AutoClassifier stands, tables on which it loses included: by the median over several seeds, where
--auto names several files. --folds: a recorded file with a line for each table, fold and model (table, fold, model,
loss, errors, rows, cpu), of calibrated trees and of FLAML. Members were chosen by every other table in the order of
names, beginning with the first; the others were only judged on, and are reported apart. --autogluon: what
quality_autogluon.py has recorded so far; ours is then held against it on the folds that it has.
"""

import argparse
import csv
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from quality_calibrated import PEERS, Calibrated
from quality_report import report
from quality_scores import cross, losses_by_fold, score
from quality_tables import Table, read_tables
from threadpoolctl import threadpool_limits

from classwise import AutoClassifier

FIELDS = ["name", "model", "n", "p", "g", "log_loss", "error", "brier", "ece", "ece_mean", "ece_limit"]
FIELDS += ["seconds", "cpu_seconds", "weights", "failure", "by_fold"]
SMALL = 1000

Line = dict[str, Any]


def main() -> None:
    options = read_options()
    warnings.simplefilter("ignore")
    match options.command:
        case "auto":
            run_auto(options)
        case "peers":
            run_peers(options)
        case "report":
            show(report(options.auto, options.peers, options.folds, options.autogluon), options.md)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("auto", "peers"):
        command = commands.add_parser(name)
        command.add_argument("--data", type=Path, required=True)
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--only", default="", help="names of tables, with commas")
    commands.choices["auto"].add_argument("--seed", type=int, default=0, help="of its own folds and draws")
    commands.choices["auto"].add_argument("--members", help="as AutoClassifier's; a list with commas; else its default")
    command = commands.add_parser("report")
    command.add_argument("--auto", type=Path, nargs="+", required=True)
    command.add_argument("--peers", type=Path, required=True)
    command.add_argument("--folds", type=Path, required=True)
    command.add_argument("--autogluon", type=Path)
    command.add_argument("--md", type=Path, help="write the report here")
    return parser.parse_args()


def show(text: str, file: Path | None) -> None:
    if file:
        file.write_text(text)
    else:
        print(text)


def run_auto(options: argparse.Namespace) -> None:
    make = partial(AutoClassifier, random_state=options.seed, **members(options.members))
    done = finished(options.out)
    make()  # An argument that it does not take is not a failure on every table, but a reason to stop.
    for table in read_tables(options.data, options.only):
        if (table.name, "auto") not in done:
            write(options.out, line(table, "auto", make))


def members(text: str | None) -> dict[str, Any]:
    """The argument members, if one was asked for: a name, or names with commas."""
    if text is None:
        return {}
    return {"members": text.split(",") if "," in text else text}


def run_peers(options: argparse.Namespace) -> None:
    done = finished(options.out)
    with threadpool_limits(1):
        for table, model in peers_in_order(read_tables(options.data, options.only)):
            if (table.name, model) not in done:
                write(options.out, line(table, model, partial(Calibrated, PEERS[model])))


def peers_in_order(tables: list[Table]) -> Iterator[tuple[Table, str]]:
    """Small tables first; of large ones the forest first, since boosting takes hours where classes are many."""
    small = [table for table in tables if len(table.y) < SMALL]
    yield from ((table, model) for table in small for model in PEERS)
    yield from ((table, model) for model in PEERS for table in tables if len(table.y) >= SMALL)


def line(table: Table, model: str, make: Callable[[], Any]) -> Line:
    """One line of the results; a failure is a result too."""
    facts: Line = {"name": table.name, "model": model, **table.shape()}
    try:
        crossed = cross(make, table)
    except Exception as failure:
        return {**facts, "failure": f"{type(failure).__name__}: {failure}"}
    seconds = {"seconds": round(crossed.seconds, 4), "cpu_seconds": round(crossed.cpu_seconds, 4)}
    scores = score(crossed.posterior, table.codes).rounded()
    by_fold = " ".join(f"{loss:.6f}" for loss in losses_by_fold(crossed.posterior, table))
    return {**facts, **scores, **seconds, "weights": carried(crossed.models), "by_fold": by_fold}


def carried(models: list[Any]) -> str:
    """Who carried weight, on average over the folds: "aode 0.52, student 0.31"; nothing where there are no weights."""
    found = [weights_of(m) for m in models]
    names = {name for weights in found for name in weights}
    mean = {name: np.mean([weights.get(name, 0.0) for weights in found]) for name in names}
    heaviest = sorted(mean, key=lambda name: (-mean[name], name))
    return ", ".join(f"{name} {mean[name]:.2f}" for name in heaviest if mean[name] >= 0.005)


def weights_of(model: Any) -> dict[str, float]:
    """The weights by member, be they a mapping or in the order of the members."""
    weights = getattr(model, "weights_", {})
    return dict(weights.items() if hasattr(weights, "items") else zip(model.members_, weights, strict=True))


def finished(out: Path) -> set[tuple[str, str]]:
    """The tables and models that have a line without a failure."""
    if not out.exists():
        return set()
    with out.open() as file:
        return {(entry["name"], entry["model"]) for entry in csv.DictReader(file) if not entry["failure"]}


def write(out: Path, facts: Line) -> None:
    is_new = not out.exists()
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        writer.writerow(facts)
    told = {name: facts.get(name, "") for name in ("log_loss", "error", "ece", "seconds", "weights", "failure")}
    print(f"{facts['name']:<26}{facts['model']:<16}", *(f"{k} {v} " for k, v in told.items() if v != ""), flush=True)


if __name__ == "__main__":
    main()
