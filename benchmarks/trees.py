"""The trees of a forest, grown by classwise and by scikit-learn: the same trees, one core each, in turns."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import machine
import numpy as np
from report import aligned, duration
from shapes import Shape, draw
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits
from timing import Patience, Timing, in_turns

from classwise.kernels.forests import ForestGrower, ForestRows, ForestTree

RESULTS = Path(__file__).parent / "results" / "trees.json"
EXAMPLE = "example: python benchmarks/trees.py --trees 20"
SHAPES = [Shape("", rows, columns, classes, 0) for rows, columns, classes in
          [(1_000, 20, 3), (5_000, 50, 5), (20_000, 20, 5), (20_000, 20, 40)]]  # fmt: skip
PEERS = {"random cuts": ExtraTreesClassifier, "best cuts": RandomForestClassifier}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--trees", type=int, default=20, help="that each grows; default: 20")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    options = parser.parse_args()
    with threadpool_limits(1):
        timings = list(measured(options.trees))
    lines = [["", "rows", "columns", "classes", "theirs", "ours", "ratio"]]
    lines += [[str(t[key]) for key in ("cuts", "rows", "columns", "classes")] +
              [duration(t["theirs_s"]), duration(t["ours_s"]), f"{t['ratio']:.3g}"] for t in timings]  # fmt: skip
    print(aligned(lines))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"machine": machine.facts(), "timings": timings}, indent=2) + "\n")


def measured(trees: int) -> Iterator[dict[str, Any]]:
    for shape in SHAPES:
        X, y = draw(shape)
        for cuts in PEERS:
            facts = {"cuts": cuts, "rows": shape.rows, "columns": shape.features, "classes": shape.classes}
            yield facts | timed(cuts, X.astype(np.float32), y, trees).facts()


def timed(cuts: str, X: Any, y: Any, trees: int) -> Timing:
    """Both grow the same trees, which is checked first."""
    weights, everything = np.ones(len(y)), np.arange(len(y))

    def ours() -> list[ForestTree]:
        rows = ForestRows(X, y, weights, int(y.max()) + 1)  # arranged anew each time
        return ForestGrower(cuts == "random cuts", 1).grow(rows, everything, trees, 0)

    def theirs() -> Any:
        return PEERS[cuts](trees, max_features="sqrt", n_jobs=1, random_state=0).fit(X, y)

    for found, tree in zip(ours(), theirs().estimators_, strict=True):
        is_cut = tree.tree_.feature >= 0
        np.testing.assert_array_equal(found.threshold[found.column >= 0], tree.tree_.threshold[is_cut])
    return in_turns(ours, theirs, Patience(3, 15, 3.0))


if __name__ == "__main__":
    main()
