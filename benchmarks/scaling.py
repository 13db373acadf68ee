"""How times fall as threads are added: fit, predict_proba, compare and AutoClassifier, beside reading alone."""

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import machine
import numpy as np
from joblib import parallel_config
from report import aligned, duration
from shapes import Shape, draw
from threadpoolctl import threadpool_limits
from timing import seconds

import classwise as cw
from classwise.kernels import BLAS

RESULTS = Path(__file__).parent / "results" / "scaling.json"
EXAMPLE = "example: python benchmarks/scaling.py --threads 1 2 4 8 16 --rows 4000000 --compared 100000 --columns 50"
Call = Callable[[], Any]


def main() -> None:
    options = read_options()
    facts: dict[str, Any] = {"machine": machine.facts(), "timings": []}
    for name, call in calls(options).items():
        times = {threads: median_of(call, threads, options.repeats) for threads in options.threads}
        facts["timings"].append({"what": name, "seconds": times})
        print(aligned([head(options.threads), line(name, times)]), flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")


def read_options() -> argparse.Namespace:
    cores = [count for count in (1, 2, 4, 8, 16, 32) if count <= machine.cores()]
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--threads", nargs="+", type=int, default=cores, help=f"default: {cores}")
    parser.add_argument("--rows", type=int, default=4_000_000, help="of fit and predict; default: 4,000,000")
    parser.add_argument("--compared", type=int, default=100_000, help="rows of compare; default: 100,000")
    parser.add_argument("--columns", type=int, default=50, help="of compare; default: 50")
    parser.add_argument("--stacked", type=int, default=10_000, help="rows of AutoClassifier; default: 10,000")
    parser.add_argument("--repeats", type=int, default=5, help="of calls under a second; longer ones: 2; default: 5")
    parser.add_argument("--parts", nargs="+", choices=["core", "compare", "auto"], default=["core", "compare", "auto"])
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    return parser.parse_args()


def calls(options: argparse.Namespace) -> dict[str, Call]:
    found: dict[str, Call] = {}
    if "core" in options.parts:
        found |= core_calls(Shape("scaling", options.rows, 20, 5, options.rows))
    X, y = draw(Shape("compared", options.compared, options.columns, 5, 0))
    if "compare" in options.parts:
        cw.compare(X[:2000], y[:2000], references=False)  # loads what is loaded when it is first used
        found["compare"] = lambda: cw.compare(X, y, references=False, time_limit=None)
    if "auto" in options.parts:
        Z, z = draw(Shape("stacked", options.stacked, 20, 5, 0))
        found["AutoClassifier fit"] = lambda: cw.AutoClassifier().fit(Z, z)
        fitted = cw.AutoClassifier(members="fast").fit(X[:5000], y[:5000])
        found["AutoClassifier (fast) predict_proba"] = lambda: fitted.predict_proba(X)
    return found


def core_calls(shape: Shape) -> dict[str, Call]:
    X, y = draw(shape)
    found: dict[str, Call] = {"read the rows": lambda: read(X)}
    for model in (cw.LDA(), cw.QDA(), cw.NaiveBayes()):
        found[f"{type(model).__name__} fit"] = lambda model=model: model.fit(X, y)
        fitted = type(model)().fit(X[:10_000], y[:10_000])
        found[f"{type(model).__name__} predict_proba"] = lambda fitted=fitted: fitted.predict_proba(X)
    return found


def read(X: np.ndarray) -> float:
    """The sum of all numbers, by as many threads as BLAS may use."""
    threads = BLAS.allowed()
    with ThreadPoolExecutor(threads) as pool:
        return float(sum(pool.map(np.sum, np.array_split(X, 4 * threads))))


def median_of(call: Call, threads: int, repeats: int) -> float:
    """The median of short calls, the best of two long ones."""
    with threadpool_limits(threads), parallel_config(n_jobs=threads):  # also where the default is at most six
        first = seconds(call)
        return float(np.median([seconds(call) for _ in range(repeats)])) if first < 1 else min(first, seconds(call))


def head(threads: Sequence[int]) -> Sequence[str]:
    return ["", *map(str, threads), "times as fast", *(f"efficiency at {count}" for count in threads[1:])]


def line(name: str, times: dict[int, float]) -> Sequence[str]:
    """Efficiency: how many times as fast, for each thread."""
    (least, alone), *others = times.items()
    shares = [alone * least / (value * count) for count, value in others]
    fastest = alone / min(times.values())
    return [name, *map(duration, times.values()), f"{fastest:.1f}", *(f"{100 * share:.0f} %" for share in shares)]


if __name__ == "__main__":
    main()
