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
from timing import Patience, in_turns

from classwise.kernels.forests import ForestGrower, ForestRows

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
        values, weights, everything = X.astype(np.float32), np.ones(len(y)), np.arange(len(y))
        for cuts, peer in PEERS.items():
            theirs = peer(trees, max_features="sqrt", n_jobs=1, random_state=0)
            grower = ForestGrower(cuts == "random cuts", 1)

            def ours(grower: ForestGrower = grower) -> Any:
                rows = ForestRows(values, y, weights, shape.classes)  # arranged anew each time
                return grower.grow(rows, everything, trees, 0)

            own = [tree.tree_.threshold for tree in theirs.fit(values, y).estimators_]
            inner = [threshold[threshold != -2] for threshold in own]
            for found, expected in zip(ours(), inner, strict=True):
                np.testing.assert_array_equal(found.threshold[found.column >= 0], expected)
            timing = in_turns(ours, lambda peer=theirs: peer.fit(values, y), Patience(3, 15, 3.0))  # noqa: B023
            facts = {"cuts": cuts, "rows": shape.rows, "columns": shape.features, "classes": shape.classes}
            yield facts | timing.facts()


if __name__ == "__main__":
    main()
