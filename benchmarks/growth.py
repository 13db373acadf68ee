"""How times grow with rows and with columns: fit and predict_proba, beside scikit-learn's fastest configuration."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import machine
from pairs import PAIRS
from report import aligned, duration
from shapes import Shape, draw
from timing import Patience
from trial import prepare

RESULTS = Path(__file__).parent / "results" / "growth.json"
EXAMPLE = "example: python benchmarks/growth.py --models LDA"

ROWS = [Shape("rows", rows, 20, 5, rows) for rows in (300, 1000, 10_000, 100_000, 1_000_000)]
COLUMNS = [Shape("columns", 100_000, columns, 5, 100_000) for columns in (2, 5, 10, 20, 50, 100, 200)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--models", nargs="+", choices=PAIRS, default=["LDA", "QDA", "NaiveBayes"])
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    options = parser.parse_args()
    timings = [timing for shape in (*ROWS, *COLUMNS) for timing in timed(shape, options.models)]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"machine": machine.facts(), "timings": timings}, indent=2) + "\n")


def timed(shape: Shape, models: list[str]) -> Iterator[dict[str, Any]]:
    X, y = draw(shape)
    for name in models:
        peer, trial = prepare(PAIRS[name], shape, X, y)
        for operation, timing in trial.times(Patience(3, 50, 0.4)):
            if operation == "predict":
                continue
            facts = timing.facts()
            which = {"along": shape.name, "rows": shape.rows, "columns": shape.features, "model": name, "peer": peer}
            print(
                aligned([[str(shape), name, operation, duration(facts["ours_s"]), f"{facts['ratio']:.1f}"]]), flush=True
            )
            yield {**which, "operation": operation, **facts}


if __name__ == "__main__":
    main()
