"""Full Bayes where rows are few: Student-t predictives beside QDA shrunk by OAS, on a folder of tables.

    python benchmarks/few_rows.py --data FOLDER [--seeds 5] [--only wine,vowel] [--out few_rows.csv]

FOLDER has a manifest.csv (name, file, target). Of each table the columns of numbers without gaps are taken, and the
classes of at least five rows. Where the average class has fewer than 2 p rows the table is a case as it is; from the
others p/2, p and 1.5 p rows of each class are drawn, at least 4, several times over. Tables of genes are cut to their
columns of largest variance. Columns that never vary are dropped.

Every model answers for the rows of five stratified folds from the statistics of the others, as in classwise.compare:
strengths of priors that are used for a fold are chosen without its labels being scored. Nothing is calibrated.
"""

import argparse
import csv
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from report import aligned

from classwise import LDA, QDA, NaiveBayes
from classwise.comparison.trial import Trial, try_member
from classwise.estimators import Crossing

FOLDS = 5
FEWEST = 5  # rows of a class in the whole table
MOST_ROWS = 6000
MANY_COLUMNS = 600
WIDEST = (200, 500)
NARROWEST = 8
LEVELS = {"p/2": 0.5, "p": 1.0, "1.5p": 1.5}
NOT_FEATURES = ("split", "is_train", "speaker", "rownames", "row.names")

RIVAL = "QDA, OAS"
STUDENTS = ["QDA, weak", "QDA, evidence", "QDA, cv", "QDA, loo", "LDA, weak", "naive Bayes, weak"]
MODELS = {
    RIVAL: QDA(shrink="oas"),
    "QDA, OAS, standardized": QDA(shrink="oas", standardize=True),
    "LDA, OAS": LDA(shrink="oas"),
    "QDA, weak": QDA(estimate="bayes"),
    "QDA, evidence": QDA(estimate="bayes", prior="evidence"),
    "QDA, cv": QDA(estimate="bayes", prior="cv"),
    "QDA, loo": QDA(estimate="bayes", prior="loo"),
    "LDA, weak": LDA(estimate="bayes"),
    "naive Bayes, weak": NaiveBayes(estimate="bayes"),
}


def main():
    options = read_options()
    with (options.data / "manifest.csv").open() as manifest:
        tables = [row for row in csv.DictReader(manifest) if is_asked_for(row["name"], options.only)]
    lines = []
    for row in tables:
        X, y = read(options.data, row)
        for case, kind, drawn in cases(row["name"], X, y, options.seeds):
            found = pd.DataFrame([scores | {"seed": seed} for seed, rows in drawn for scores in compared(*rows)])
            lines.append(found.assign(case=case, kind=kind))
            print(f"\n{describe(case, drawn)}\n{case_table(found)}", flush=True)
            if options.out:
                pd.concat(lines).to_csv(options.out, index=False)
    print(f"\n{summary(pd.concat(lines))}")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=5, help="how often rows are drawn; default: 5")
    parser.add_argument("--only", default="", help="tables whose names contain one of these; default: all")
    parser.add_argument("--out", type=Path, metavar="CSV", help="all scores")
    return parser.parse_args()


def is_asked_for(name, only):
    return any(part in name for part in only.split(","))


# Tables ---------------------------------------------------------------------------------------------------------------


def read(folder, row):
    """Columns of numbers without gaps, and labels of at least five rows."""
    table = pd.read_csv(folder / row["file"]).dropna(subset=[row["target"]])
    y = table.pop(row["target"]).astype(str).to_numpy()
    numbers = table.drop(columns=[name for name in NOT_FEATURES if name in table]).select_dtypes("number")
    X = numbers.dropna(axis=1).to_numpy(dtype=np.float64)
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= FEWEST])
    return X[kept], y[kept]


def cases(name, X, y, seeds):
    """(case, kind, [(seed, (rows, labels))]): what the table has to say where rows are few."""
    X = varying(X)
    (rows, features), classes = X.shape, len(np.unique(y))
    if features > MANY_COLUMNS:
        for width in WIDEST:
            yield f"{name}, {width} of {features} columns", "as it is", as_it_is(most_varied(X, width), y, seeds)
    elif features < NARROWEST or classes < 2:
        return
    elif rows / classes < 2 * features and rows < MOST_ROWS:
        yield name, "as it is", as_it_is(X, y, seeds)
    for level, factor in LEVELS.items():
        count = max(4, round(factor * features))
        if features <= MANY_COLUMNS and np.unique(y, return_counts=True)[1].min() >= count:
            yield f"{name}, {level}", level, [(seed, drawn(X, y, count, seed)) for seed in range(seeds)]


def as_it_is(X, y, seeds):
    """All rows each time: what differs is their folds."""
    return [(seed, (X, y)) for seed in range(seeds)]


def drawn(X, y, count, seed):
    """So many rows of each class, at random."""
    generator = np.random.default_rng(seed)
    rows = np.concatenate([generator.permutation(np.flatnonzero(y == label))[:count] for label in np.unique(y)])
    return varying(X[rows]), y[rows]


def varying(X):
    return X[:, X.min(axis=0) < X.max(axis=0)]


def most_varied(X, width):
    """Columns of largest variance: a choice that does not look at labels."""
    return X[:, np.sort(np.argsort(X.var(axis=0))[::-1][:width])]


# Scores ---------------------------------------------------------------------------------------------------------------


def compared(X, y, seed):
    """The scores of every model on the same folds, from one pass."""
    crossing = Crossing.read(X, y, FOLDS, random_state=seed)
    for name, model in MODELS.items():
        trial = try_member(Trial(name, "given", model), crossing, False, lambda: None)
        measures = {} if trial.reason else {m: trial.estimate(m).value for m in ("log_loss", "error")}
        yield {"model": name, "seed": seed, **measures, "seconds": trial.seconds, "note": trial.reason}
