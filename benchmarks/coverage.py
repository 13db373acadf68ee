"""Prediction sets on real tables: how often they hold the true class of held-out rows, and how large they are.

    CLASSWISE_DATA=... python benchmarks/coverage.py [--coverage 0.9] [--rows 2000] [--tables 30]

Of each table at most so many rows are drawn, half of them to learn from. The standard error is that of the share of
covered rows, of those held out and of those learned from: sqrt(c (1 - c) (1 / m + 1 / n)).
"""

import argparse
import os
import sys
import warnings
from math import sqrt
from pathlib import Path

import numpy as np
from quality_tables import of_frequent_labels, read_tables
from report import aligned
from sklearn.model_selection import train_test_split

import classwise as cw
from classwise.errors import ClasswiseError

MODELS = {"naive Bayes": cw.NaiveBayes(), "LDA": cw.LDA()}
FEWEST = 4
MOST_COLUMNS = 300


def main():
    options = read_options()
    head = ["table", "rows", "classes", "model", "method", "covered", "s.e.", "size", "one class", "by class", "least"]
    lines = [line for table in chosen(options) for line in of_table(table, options)]
    print(aligned([head, *(line[:-1] for line in lines)]))
    short = [line for line in lines if line[-1] < -2]
    print(f"{len(lines)} studies of {len({line[0] for line in lines})} tables; asked: {options.coverage:g}.")
    print(f"Below it by more than two standard errors: {[f'{line[0]}, {line[3]}' for line in short] or 'none'}.")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--tables", type=int, default=30)
    return parser.parse_args()


def chosen(options):
    if "CLASSWISE_DATA" not in os.environ:
        sys.exit("CLASSWISE_DATA is to name the folder of the tables.")
    tables = read_tables(Path(os.environ["CLASSWISE_DATA"]))
    usable = [table for table in tables if table.X.shape[1] <= MOST_COLUMNS and len(table.y) >= 100]
    return usable[: options.tables]


def of_table(table, options):
    """A line for each model that can be fitted."""
    X, y = table.X, table.y
    if len(y) > options.rows:
        drawn = np.random.default_rng(0).permutation(len(y))[: options.rows]
        X, y = of_frequent_labels(X.iloc[drawn], y[drawn])
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    for name, model in MODELS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = model.fit(X, y)
                sets = fitted.prediction_sets(X_new, options.coverage)
                own = fitted.prediction_sets(X_new, options.coverage, per_class=True)
        except (ClasswiseError, np.linalg.LinAlgError) as problem:
            print(f"{table.name}, {name}: {str(problem)[:100]}", file=sys.stderr)
            continue
        codes = np.searchsorted(fitted.classes_, y_new)
        held, by_class = (s[np.arange(len(codes)), codes] for s in (sets, own))
        error = sqrt(options.coverage * (1 - options.coverage) * (1 / len(y) + 1 / len(codes)))
        classes = [by_class[codes == k].mean() for k in np.unique(codes)]
        yield [
            table.name,
            str(len(y)),
            str(len(fitted.classes_)),
            name,
            fitted._sets().method,
            f"{held.mean():.3f}",
            f"{error:.3f}",
            f"{sets.sum(axis=1).mean():.2f}",
            f"{(sets.sum(axis=1) == 1).mean():.0%}",
            f"{by_class.mean():.3f}",
            f"{min(classes):.2f}",
            (held.mean() - options.coverage) / error,
        ]


if __name__ == "__main__":
    main()
