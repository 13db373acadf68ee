"""Selection of columns: how long it takes to score all sets of columns, beside scikit-learn on some of them.

    python benchmarks/columns.py [--rows 1000] [--columns 15] [--classes 3] [--folds 10] [--repeats 3]

classwise scores all sets, and says which is best of each size. scikit-learn cross-validates the same model on the same
folds for some sets drawn at random, and its time for all of them is extrapolated; the log losses of these sets are
compared. Both are timed in turns. The last column is the whole of select_columns, with the search repeated without each
fold.
"""

import argparse
from time import perf_counter

import numpy as np
from contention import cores_of_others, now
from report import aligned, duration
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import classwise as cw
from classwise.selection.column_scores import column_scores
from classwise.selection.crossing import Crossing
from classwise.statistics import FullScatter

PAIRS = {
    "LDA": (cw.LDA(), LinearDiscriminantAnalysis()),
    "QDA": (cw.QDA(estimate="unbiased"), QuadraticDiscriminantAnalysis()),
    "naive Bayes": (cw.NaiveBayes(floor=1e-9), GaussianNB(var_smoothing=0.0)),
}

# So many sets, drawn at random, are scored by scikit-learn.
SOME = 40


def main():
    options = read_options()
    rng = np.random.default_rng(0)
    y = rng.integers(0, options.classes, options.rows)
    X = rng.normal(size=(options.rows, options.columns)) @ rng.normal(size=(options.columns, options.columns))
    X += 0.4 * rng.normal(size=(options.classes, options.columns))[y]
    folds = np.arange(options.rows) % options.folds
    start = now()
    lines = [measured(name, X, y, folds, options.repeats) for name in PAIRS]
    head = ["model", "sets", "all sets", "sets a second", "scikit-learn, all", "ratio", "max difference", "with nested"]
    print(aligned([head, *lines]))
    print(f"Cores that other processes kept busy: {cores_of_others(start, now()):.1f}")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"rows": 1000, "columns": 15, "classes": 3, "folds": 10, "repeats": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def measured(name, X, y, folds, repeats):
    ours, theirs = PAIRS[name]
    rng = np.random.default_rng(1)
    sets = [tuple(np.flatnonzero(row)) for row in rng.random((SOME, X.shape[1])) < 0.5]
    sets = [tuple(map(int, columns)) or (0,) for columns in sets]
    times, peers = [], []
    for _ in range(repeats):
        seconds, found = timed(lambda: all_sets(ours, X, y, folds))
        times.append(seconds)
        seconds, losses = timed(lambda: [cross_validated(theirs, X[:, list(s)], y, folds) for s in sets])
        peers.append(seconds * len(found) / len(sets))
    nested, _ = timed(lambda: cw.select_columns(ours, X, y, method="best", folds=folds))
    difference = max(abs(found[tuple(sorted(s))] - loss) for s, loss in zip(sets, losses, strict=True))
    best = float(np.median(times))
    ratio = float(np.median(np.array(peers) / times))
    return [
        name,
        f"{len(found):,}",
        duration(best),
        f"{len(found) / best:,.0f}",
        duration(float(np.median(peers))),
        f"{ratio:.0f}",
        f"{difference:.0e}",
        duration(nested),
    ]


def timed(call):
    start = perf_counter()
    result = call()
    return perf_counter() - start, result


def all_sets(model, X, y, folds):
    """The log loss of every set, reading the rows included."""
    scores = column_scores(model._plan(), Crossing.read(X, y, folds, form=FullScatter), range(X.shape[1]))
    return {tuple(sorted(columns)): loss / len(y) for columns, loss in scores.every(X.shape[1])}


def cross_validated(model, X, y, folds):
    posterior = cross_val_predict(clone(model), X, y, cv=PredefinedSplit(folds), method="predict_proba")
    return float(-np.log(np.maximum(posterior[np.arange(len(y)), y], np.finfo(float).eps)).mean())


if __name__ == "__main__":
    main()
