"""Naive Bayes in other Python libraries, each in its best form, beside classwise: fit and predict_proba in turns."""

import argparse
import importlib.util
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine
import numpy as np
from report import aligned, duration
from shapes import Shape, draw
from timing import Patience, in_turns

import classwise as cw

RESULTS = Path(__file__).parent / "results" / "peers.json"
EXAMPLE = "example: python benchmarks/peers.py --rows 200000"

# A library that takes one row at a time in Python is timed on so many rows, and its time multiplied.
ROWS_ONE_BY_ONE = 2000


class Pomegranate:
    """One Normal with a diagonal covariance for each class, on float32 tensors: pomegranate 1 is written in torch."""

    needs = "pomegranate"

    def fit(self, X: Any, y: Any) -> Any:
        import torch
        from pomegranate.bayes_classifier import BayesClassifier
        from pomegranate.distributions import Normal

        self.model = BayesClassifier([Normal(covariance_type="diag") for _ in range(int(y.max()) + 1)])
        self.model.fit(torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y))
        return self

    def predict_proba(self, X: Any) -> Any:
        import torch

        return self.model.predict_proba(torch.from_numpy(X.astype(np.float32))).numpy()


class MixedNaiveBayes:
    needs = "mixed_naive_bayes"

    def fit(self, X: Any, y: Any) -> Any:
        from mixed_naive_bayes import MixedNB

        self.model = MixedNB().fit(X, y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(X)


class River:
    """Learns and predicts one row at a time."""

    needs = "river"
    is_by_row = True

    def fit(self, X: Any, y: Any) -> Any:
        from river.naive_bayes import GaussianNB

        self.model = GaussianNB()
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(row)), label)
        return self

    def predict_proba(self, X: Any) -> Any:
        found = [self.model.predict_proba_one(dict(enumerate(row))) for row in X.tolist()]
        return np.array([[row[k] for k in sorted(row)] for row in found])


PEERS: dict[str, Callable[[], Any]] = {"pomegranate": Pomegranate, "mixed-naive-bayes": MixedNaiveBayes, "river": River}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: 1,000,000 x 20 x 5")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    options = parser.parse_args()
    facts = {"machine": machine.facts(), "timings": [*measured(options.rows)]}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")


def measured(rows: int) -> Any:
    X, y = draw(Shape("peers", rows, 20, 5, rows))
    lines = [["library", "operation", "rows", "theirs", "ours", "ratio", "quartiles", "max |Δp|"]]
    for name, make in PEERS.items():
        if importlib.util.find_spec(make.needs) is None:  # type: ignore[attr-defined]
            print(f"{name} is not installed.")
            continue
        count = ROWS_ONE_BY_ONE if getattr(make, "is_by_row", False) else rows
        for operation, timing, difference in of_peer(make, X[:count], y[:count]):
            found = timing.facts()
            low, high = found["ratio_quartiles"]
            times = [duration(found["theirs_s"]), duration(found["ours_s"]), f"{found['ratio']:.3g}"]
            lines.append([name, operation, f"{count:,}", *times, f"{low:.3g}..{high:.3g}", f"{difference:.0e}"])
            yield {"library": name, "operation": operation, "rows": count, "difference": difference, **found}
    print(aligned(lines))


def of_peer(make: Callable[[], Any], X: Any, y: Any) -> Any:
    patience = Patience(3, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = make().fit(X, y), cw.NaiveBayes().fit(X, y)
        some = slice(0, 2000)
        difference = float(np.abs(theirs.predict_proba(X[some]) - ours.predict_proba(X[some])).max())
        yield "fit", in_turns(lambda: cw.NaiveBayes().fit(X, y), lambda: make().fit(X, y), patience), difference
        proba = in_turns(lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X), patience)
        yield "predict_proba", proba, difference


if __name__ == "__main__":
    main()
