"""Sparse text: naive Bayes on counts of words, beside scikit-learn's, on the same scipy matrix in one process.

    python benchmarks/text.py
    python benchmarks/text.py --documents 20000 --words 50000

Documents of about a hundred words, whose frequencies fall as one over their rank (Zipf's law); each class prefers some
of the words. The two sides fit and predict in turns. A ratio above 1 says that classwise is faster.
"""

import argparse
from functools import partial
from typing import Any

import numpy as np
from machine import facts as machine_facts
from scipy.sparse import csr_array
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from timing import Patience, in_turns

from classwise import NaiveBayes

LENGTH = 110
PAIRS = {
    "multinomial": (partial(NaiveBayes, families="multinomial"), MultinomialNB),
    "complement": (partial(NaiveBayes, families="complement", priors="uniform"), ComplementNB),
    "bernoulli": (partial(NaiveBayes, families="bernoulli"), BernoulliNB),
}


def documents(count: int, words: int, classes: int, seed: int = 0) -> tuple[csr_array, np.ndarray]:
    """Counts of words (count, words), and the class of each document."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, count)
    lengths = rng.poisson(LENGTH, count)
    rows = np.repeat(np.arange(count), lengths)
    ranks = (words + 1.0) ** rng.random(len(rows)) - 1
    # A third of the words of a class are others than those of the next class.
    shifted = ranks.astype(np.int64) + np.where(rng.random(len(rows)) < 1 / 3, 7 * y[rows] + 1, 0)
    counts = csr_array((np.ones(len(rows)), (rows, shifted % words)), shape=(count, words))
    counts.sum_duplicates()
    return counts, y


def measure(name: str, X: csr_array, y: np.ndarray) -> dict[str, Any]:
    """The ratios of fit and of predict_proba, and how far the probabilities are from each other."""
    ours, theirs = PAIRS[name]
    patience = Patience(least=7, most=25, budget=4.0)
    fit = in_turns(lambda: ours().fit(X, y), lambda: theirs().fit(X, y), patience).facts()
    ready, peer = ours().fit(X, y), theirs().fit(X, y)
    predict = in_turns(lambda: ready.predict_proba(X), lambda: peer.predict_proba(X), patience).facts()
    far = float(np.abs(ready.predict_proba(X) - peer.predict_proba(X)).max())
    return {"fit": fit, "predict_proba": predict, "largest_difference": far}


def shown(facts: dict[str, Any]) -> str:
    low, high = facts["ratio_quartiles"]
    return f"{1e3 * facts['ours_s']:6.0f} ms, ratio {facts['ratio']:.2f} ({low:.2f} to {high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 20])
    options = parser.parse_args()
    print(", ".join(f"{name} {value}" for name, value in machine_facts().items()))
    for classes in options.classes:
        X, y = documents(options.documents, options.words, classes)
        rows, words = X.shape
        print(f"\n{rows:,} documents x {words:,} words, {X.nnz / rows:.0f} distinct each, {classes} classes")
        for name in PAIRS:
            found = measure(name, X, y)
            print(f"{name:12} fit {shown(found['fit'])}; predict_proba {shown(found['predict_proba'])}", end="; ")
            print(f"largest difference {found['largest_difference']:.1e}")


if __name__ == "__main__":
    main()
