"""Full Bayes where rows are few: Student-t predictives beside QDA shrunk by OAS, on a folder of tables.

    python benchmarks/few_rows.py --data FOLDER [--seeds 5] [--only wine,vowel] [--out few_rows.csv]

FOLDER has a manifest.csv (name, file, target, rows). Of each table of at most 100,000 rows the columns of numbers
without gaps are taken, if there are eight or more, and the classes of at least five rows. Where the average class has
fewer than 2 p rows the table is a case as it is; and p/2, p and 1.5 p rows of every class are drawn, at least five and
several times over, from tables that have so many. Of genes the columns of largest variance are taken. Columns that
never vary are dropped.

Every model answers for the rows of five stratified folds from the statistics of the others, as in classwise.compare:
the strength of a prior that is used for a fold is chosen by the rows of the others. Nothing is calibrated.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import pandas as pd
from report import aligned
from threadpoolctl import threadpool_limits

from classwise import LDA, QDA, NaiveBayes
from classwise.comparison.cross_validation import InMemory, Request
from classwise.comparison.family import FamilyMember

FOLDS = 5
FEWEST_ROWS = 5
MOST_ROWS = 100_000
FEWEST_COLUMNS = 8

# Genes: more columns than this, and so many of them are taken.
MOST_COLUMNS = 600
WIDTHS = (200, 500)

# Rows of each class, in columns.
LEVELS = {"p/2": 0.5, "p": 1.0, "1.5p": 1.5}
NOT_FEATURES = ("split", "is_train", "speaker", "rownames", "row.names")

RIVALS = ["QDA, OAS", "QDA, OAS, standardized"]
STUDENTS = ["QDA, weak", "QDA, evidence", "QDA, cv", "QDA, loo", "LDA, weak", "naive Bayes, weak"]
MODELS = {
    "QDA, OAS": QDA(shrink="oas"),
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
    start, parts = time.perf_counter(), []
    with (options.data / "manifest.csv").open() as manifest:
        tables = [row for row in csv.DictReader(manifest) if is_asked_for(row, options.only)]
    for row in tables:
        for case, kind, drawn in cases(row["name"], *read(options.data, row), options.seeds):
            parts.append(scores(drawn).assign(case=case, kind=kind))
            print(f"{described(case, *drawn[0])}\n{case_table(parts[-1])}\n", flush=True)
            if options.out:
                pd.concat(parts).to_csv(options.out, index=False)
    if parts:
        print(summary(pd.concat(parts)))
    print(f"measured in {(time.perf_counter() - start) / 60:.1f} minutes")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=5, help="how often rows and folds are drawn; default: 5")
    parser.add_argument("--only", default="", help="tables whose names have one of these in them; default: all")
    parser.add_argument("--out", type=Path, metavar="CSV", help="every score of every seed")
    return parser.parse_args()


def is_asked_for(row, only):
    """Not too many rows; and of two parts of one table, the first."""
    fits = int(row["rows"]) <= MOST_ROWS and not row["name"].endswith("_test")
    return fits and any(part in row["name"] for part in only.split(","))


# Cases ----------------------------------------------------------------------------------------------------------------


def read(folder, row):
    """Columns of numbers that have no gaps and vary, and labels of at least five rows."""
    table = pd.read_csv(folder / row["file"])
    if row["target"] not in table:
        return np.empty((0, 0)), np.empty(0)
    table = table.dropna(subset=[row["target"]])
    y = table.pop(row["target"]).astype(str).to_numpy()
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= FEWEST_ROWS])
    numbers = table[kept].drop(columns=[name for name in NOT_FEATURES if name in table]).select_dtypes("number")
    return varying(numbers.dropna(axis=1).to_numpy(dtype=np.float64)), y[kept]


def cases(name, X, y, seeds):
    """(case, kind, [(X, y) for each seed]), wherever the table has few rows or can be made to."""
    (rows, features), counts = X.shape, np.unique(y, return_counts=True)[1]
    if features > MOST_COLUMNS:
        for width in WIDTHS:
            yield f"{name}, {width} columns of {features}", "as it is", [(most_varied(X, width), y)] * seeds
    elif features >= FEWEST_COLUMNS:
        if rows < 2 * features * len(counts):
            yield name, "as it is", [(X, y)] * seeds
        for level, factor in LEVELS.items():
            count = max(FEWEST_ROWS, round(factor * features))
            if count <= counts.min():
                yield f"{name}, {level}", level, [sample(X, y, count, seed) for seed in range(seeds)]


def sample(X, y, count, seed):
    """So many rows of each class, at random."""
    generator = np.random.default_rng(seed)
    rows = np.concatenate([generator.permutation(np.flatnonzero(y == label))[:count] for label in np.unique(y)])
    return varying(X[rows]), y[rows]


def varying(X):
    return X[:, X.min(axis=0) < X.max(axis=0)] if len(X) else X


def most_varied(X, width):
    """Columns of largest variance: a choice that does not look at labels."""
    return X[:, np.sort(np.argsort(X.var(axis=0))[::-1][:width])]


# Scores ---------------------------------------------------------------------------------------------------------------


def scores(drawn):
    """Of every model and seed: log loss, error and seconds."""
    # Threads of BLAS that wait for each other make small factorizations slow wherever something else is running.
    with threadpool_limits(1):
        return pd.DataFrame([line for seed, (X, y) in enumerate(drawn) for line in compared(X, y, seed)])


def compared(X, y, seed):
    """Every model on the same folds, from one pass."""
    folds = InMemory(X, y, FOLDS, None, None, "auto", seed)
    for name, model in MODELS.items():
        [trial] = folds.evaluate([FamilyMember(name, model)], Request(calibrate=False))
        measures = ("log_loss", "error")
        values = dict.fromkeys(measures, np.nan) if trial.reason else {m: trial.estimate(m).value for m in measures}
        yield {"model": name, "seed": seed, **values, "seconds": trial.seconds, "note": trial.reason}


# Tables ---------------------------------------------------------------------------------------------------------------


def described(case, X, y):
    rows, features = X.shape
    classes = len(np.unique(y))
    return f"{case}: {rows} rows, {features} columns, {classes} classes, {rows / classes:.1f} rows in a class"


def case_table(found):
    """Log loss with the least and the largest of the seeds, error, and whether log loss is lower than the rivals'."""
    losses = found.pivot(index="seed", columns="model", values="log_loss")
    errors = found.groupby("model")["error"].mean()
    lines = [["model", "log loss", "from", "to", "error %", *(f"better than {rival}?" for rival in RIVALS)]]
    for model in MODELS:
        own = losses[model]
        values = [f"{value:.4f}" for value in (own.mean(), own.min(), own.max())]
        lines.append([model, *values, f"{100 * errors[model]:.1f}", *(won(own, losses[rival]) for rival in RIVALS)])
    notes = {f"{line.model}: {line.note}" for line in found.itertuples() if line.note}
    return "\n".join([aligned(lines), *sorted(notes)])


def won(own, theirs):
    """Yes or no on average, and in how many of the seeds."""
    if own.name == theirs.name:
        return ""
    return f"{'yes' if own.mean() < theirs.mean() else 'no'}, {(own < theirs).sum()} of {len(own)}"


def summary(found):
    """Over cases, each the mean of its seeds: how often a model is better than a rival, and by what factor."""
    losses = found.groupby(["case", "model"])["log_loss"].mean().unstack()
    kind_of = found.groupby("case")["kind"].first()
    kinds = {kind: kind_of == kind for kind in found["kind"].unique()}
    lines = [["model", "rival", "cases", "better", "ratio of log loss", "middle half", *kinds]]
    for rival in RIVALS:
        lines += [summary_line(model, rival, losses, kinds) for model in [*STUDENTS, "LDA, OAS"]]
    parts = ["Student-t beside OAS. Ratio: log loss over the rival's, median of the cases; below 1 is better."]
    return "\n".join([*parts, "The last columns: better in how many of the cases of each kind.", aligned(lines)])


def summary_line(model, rival, losses, kinds):
    own, theirs = losses[model], losses[rival]
    better = own < theirs
    low, middle, high = (own / theirs).quantile([0.25, 0.5, 0.75])
    by_kind = [f"{better[own_kind].sum()} of {own_kind.sum()}" for own_kind in kinds.values()]
    return [model, rival, str(len(own)), str(better.sum()), f"{middle:.3f}", f"{low:.3f} to {high:.3f}", *by_kind]


if __name__ == "__main__":
    main()
