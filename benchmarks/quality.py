"""Statistical quality: AutoClassifier's log loss beside that of scikit-learn's classifiers, on a folder of tables.

    python benchmarks/quality.py --data FOLDER --peers peers.csv [--out quality.csv] [--only iris,wine]

FOLDER has a manifest.csv (name, file, target, classes); peers.csv has their log loss by name and model, from five
stratified folds (shuffled, seed 0) of at most 5,000 rows each, where numbers were standardized, missing values filled
with means and categories turned into indicators. AutoClassifier gets the same folds, and the tables as they are.
Tables that are in the file of results already are not run again.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import classwise as cw

MOST_ROWS = 5000
PEERS = ["lda", "lda-auto", "qda-0.01", "qda-0.1", "gnb", "nc", "knn"]
NOT_FEATURES = ("split", "is_train", "alive", "speaker", "rownames", "row.names")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    peers = pd.read_csv(options.peers).pivot(index="name", columns="model", values="log_loss")
    results = {} if not (options.out and options.out.exists()) else pd.read_csv(options.out, index_col=0).T.to_dict()
    with (options.data / "manifest.csv").open() as manifest:
        tables = [row for row in csv.DictReader(manifest) if row["name"] in peers.index]
    for row in tables:
        if row["name"] in results or (options.only and row["name"] not in options.only.split(",")):
            continue
        X, y = read(options.data, row)
        results[row["name"]] = score(X, y)
        print(f"{row['name']:<28}{len(y):>6} x {X.shape[1]:<4}{describe(results[row['name']])}", flush=True)
        if options.out:
            pd.DataFrame(results).T.to_csv(options.out)
    report(pd.DataFrame(results).T, peers)


def read(folder, row):
    """The table as the peers had it: rows with a label of at least five rows, at most 5,000 of them."""
    table, target = pd.read_csv(folder / row["file"]), row["target"]
    if "+" in target:
        parts = target.split("+")
        table[target] = table[parts].astype(str).agg("-".join, axis=1)
        table = table.drop(columns=parts)
    table = table.dropna(subset=[target])
    table = table.drop(columns=[column for column in NOT_FEATURES if column in table.columns])
    y = table.pop(target).astype(str).to_numpy()
    table, y = frequent(table, y)
    if len(y) > MOST_ROWS:
        kept = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        table, y = frequent(table.iloc[kept].reset_index(drop=True), y[kept])
    return table, y


def frequent(table, y):
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= 5])
    return table[kept].reset_index(drop=True), y[kept]


def score(X, y):
    labels, start = np.unique(y), time.perf_counter()
    answers = np.zeros((len(y), len(labels)))
    chosen = []
    for training, held_out in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m = cw.AutoClassifier().fit(X.iloc[training], y[training])
        columns = np.searchsorted(labels, m.classes_)
        answers[np.ix_(held_out, columns)] = m.predict_proba(X.iloc[held_out])
        chosen.append(m.comparison_.winner.name)
    answers = np.clip(answers, 1e-15, 1)
    answers /= answers.sum(axis=1, keepdims=True)
    codes = np.searchsorted(labels, y)
    return {
        "log_loss": -np.log(answers[np.arange(len(y)), codes]).mean(),
        "error": (answers.argmax(axis=1) != codes).mean(),
        "seconds": (time.perf_counter() - start) / 5,
        "chosen": max(set(chosen), key=chosen.count),
    }


def describe(result):
    return (
        f"log loss {result['log_loss']:.4f}  error {result['error']:.4f}  "
        f"{result['seconds']:7.2f} s per fit  {result['chosen']}"
    )


def report(results, peers):
    table = peers.loc[results.index, PEERS].assign(auto=results["log_loss"].astype(float))
    ranks = table.rank(axis=1, na_option="bottom")
    print(f"\nMean rank by log loss over {len(table)} tables, of {table.shape[1]} classifiers; 1 is best:")
    summary = pd.DataFrame(
        {
            "mean rank": ranks.mean(),
            "first": (ranks == 1).sum(),
            "mean log loss": table.mean(),
            "auto is better": [(table["auto"] < table[name]).sum() for name in table],
        }
    )
    print(summary.sort_values("mean rank").round(3).to_string())


if __name__ == "__main__":
    main()
