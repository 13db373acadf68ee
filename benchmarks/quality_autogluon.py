"""AutoGluon on the folds of the study, for `quality.py report --folds`.

    pip install "autogluon.tabular[lightgbm,xgboost,catboost,fastai]>=1.6"      # in an environment of its own
    taskset -c 0 python benchmarks/quality_autogluon.py --data FOLDER --out autogluon.csv [--presets best_quality]

Each fit has 120 seconds and one core (without ray, whose workers would only share it), the tables as they are, and log
loss to choose by. The tables are those of the study that nothing of ours was chosen by (every other one in the order of
names, from the second on) and that have 500 rows or more. All tables are asked for one fold before the next fold
begins, so that a run may be stopped at any time.
A line is written as soon as a fit is done, and what has a line is not run again.
"""

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np
from quality_tables import FOLDS, Table, folds, read_tables

SECONDS = 120
FEWEST_ROWS = 500
LABEL = "the label"
HEADER = ["table", "fold", "model", "loss", "errors", "rows", "cpu"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--presets", nargs="+", default=["best_quality", "medium_quality"])
    options = parser.parse_args()
    tables = judged_on(options.data)
    for fold in range(FOLDS):
        for preset in options.presets:
            for table in tables:
                record(table, fold, preset, options.out)


def judged_on(folder: Path) -> list[Table]:
    """Tables that no member or default was chosen by, with as many rows as AutoGluon is meant for."""
    by_name = sorted(read_tables(folder), key=lambda table: table.name)
    return [table for table in by_name[1::2] if len(table.y) >= FEWEST_ROWS]


def record(table: Table, fold: int, preset: str, out: Path) -> None:
    model = f"AutoGluon {preset}, {SECONDS} s"
    if (table.name, str(fold), model) in done(out):
        return
    before = time.process_time()
    loss, errors, rows = held_out_loss(table, fold, preset)
    line = [table.name, fold, model, f"{loss:.8f}", errors, rows, f"{time.process_time() - before:.2f}"]
    with out.open("a", newline="") as file:
        writer = csv.writer(file)
        if file.tell() == 0:
            writer.writerow(HEADER)
        writer.writerow(line)


def done(out: Path) -> set[tuple[str, str, str]]:
    if not out.exists():
        return set()
    with out.open() as file:
        return {(line["table"], line["fold"], line["model"]) for line in csv.DictReader(file)}


def held_out_loss(table: Table, fold: int, preset: str) -> tuple[float, int, int]:
    """The summed log loss, errors and number of the rows held out."""
    from autogluon.tabular import TabularPredictor

    training, held_out = list(folds(table.y))[fold]
    rows = table.X.assign(**{LABEL: table.y})
    with tempfile.TemporaryDirectory() as folder:
        predictor = TabularPredictor(LABEL, eval_metric="log_loss", path=folder, verbosity=1)
        predictor.fit(rows.iloc[training], presets=preset, time_limit=SECONDS, num_cpus=1, num_gpus=0)
        posterior = predictor.predict_proba(rows.iloc[held_out].drop(columns=LABEL))
    of_label = posterior.to_numpy()[np.arange(len(held_out)), posterior.columns.get_indexer(table.y[held_out])]
    errors = posterior.columns.to_numpy()[posterior.to_numpy().argmax(axis=1)] != table.y[held_out]
    return float(-np.log(np.maximum(of_label, 1e-15)).sum()), int(errors.sum()), len(held_out)


if __name__ == "__main__":
    main()
