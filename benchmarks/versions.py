"""Two versions of classwise beside each other: what became faster, and what slower.

    git worktree add /tmp/before v0.1
    python benchmarks/versions.py /tmp/before/src src

Each version works in a process of its own, on the same rows. They take turns, repeat by repeat, so that whatever else
the machine is doing slows both. A ratio is time after / time before: below one is faster.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from report import aligned, duration
from timing import Call, Patience, seconds

RESULTS = Path(__file__).parent / "results" / "versions.json"

# A ratio whose quartiles both lie beyond this is a change; within it, a machine's mood.
SLOWER = 1.05


def main() -> None:
    options = read_options()
    if options.serve:
        serve(options.folder)
        return
    sides = [Version(path, options.folder) for path in (options.before, options.after)]
    found = {}
    for name in options.only or CALLS:
        times = in_turns(name, sides, Patience(options.least, options.most, options.budget))
        if times is not None:
            found[name] = facts(times)
            print(" ".join(line(name, found[name])), file=sys.stderr, flush=True)
    found |= {} if options.only else {name: facts(in_processes(code, options)) for name, code in PROCESSES.items()}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2) + "\n")
    head = ["call", "before", "after", "ratio", "quartiles", "repeats", ""]
    print(aligned([head, *(line(name, each) for name, each in found.items())]))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="the folder src of the earlier version")
    parser.add_argument("after", help="the folder src of the later version")
    parser.add_argument("--only", nargs="+", metavar="CALL", help="these calls alone")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/classwise-versions"), help="for files of rows")
    parser.add_argument("--least", type=int, default=5, help="repeats; default: 5")
    parser.add_argument("--most", type=int, default=200, help="repeats; default: 200")
    parser.add_argument("--budget", type=float, default=4.0, help="seconds for each call, at least; default: 4")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# One version ----------------------------------------------------------------------------------------------------------


class Version:
    """A process that imports classwise from this folder, and runs one call each time it is asked."""

    def __init__(self, path: str, folder: Path) -> None:
        command = [sys.executable, __file__, path, path, "--serve", "--folder", str(folder)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment(path), **pipes)

    def ask(self, question: str) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(question, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def environment(path: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(path).resolve()), "CLASSWISE_PROGRESS": "0"}


def serve(folder: Path) -> None:
    """Prepare a call when its name comes first, and time it each time its name comes."""
    prepared: dict[str, Call | None] = {}
    for asked in sys.stdin:
        name = asked.strip()
        if name not in prepared:
            prepared.clear()  # the rows of the last call are not needed any more
            prepared[name] = CALLS[name](folder)
            if prepared[name] is not None:
                seconds(prepared[name])  # what the first call imports and starts is there afterwards
            print(json.dumps(prepared[name] is not None), flush=True)
        else:
            print(json.dumps(seconds(prepared[name])), flush=True)


def in_turns(name: str, sides: list[Version], patience: Patience) -> np.ndarray | None:
    """Seconds before and after, (2, repeats); who goes first alternates. None where a library is not here."""
    answers = [side.ask(name) for side in sides]  # of both: the one is ready while the other prepares
    if not all(answers):
        return None
    times: list[tuple[float, float]] = []
    while not patience.is_over(len(times), float(np.sum(times))):
        first = len(times) % 2
        pair = {side: sides[side].ask(name) for side in (first, 1 - first)}
        times.append((pair[0], pair[1]))
    return np.array(times).T


# Calls ----------------------------------------------------------------------------------------------------------------


def numbers(shape: str, model: str, operation: str, folder: Path) -> Call:
    from shapes import SHAPES, draw

    import classwise

    X, y = draw(SHAPES[shape])
    fitted = getattr(classwise, model)().fit(X, y)
    return partial(getattr(fitted, operation), *((X, y) if operation == "fit" else (X[: SHAPES[shape].scored],)))


def mixed(kind: str, model: str, operation: str, folder: Path) -> Call | None:
    import classwise

    if not find_spec("pandas") or not find_spec("pyarrow"):
        return None
    from mixed_tables import as_arrow, draw_mixed

    X, y = draw_mixed(200_000)
    table = X if kind == "pandas" else as_arrow(X)
    fitted = getattr(classwise, model)().fit(table, y)
    return partial(getattr(fitted, operation), *((table, y) if operation == "fit" else (table,)))


def selection(kind: str, rows: int, folder: Path) -> Call:
    from shapes import Shape, draw

    import classwise

    X, y = draw(Shape("chosen", rows, 20, 5, rows))
    X += np.random.default_rng(1).standard_normal(X.shape) * 2  # so that classes overlap
    if kind == "compare":
        return lambda: classwise.compare(X, y, references=False)
    return lambda: classwise.RDA().fit(X, y)


def stack(rows: int, columns: int, classes: int, scored: int, folder: Path) -> Call:
    """A fit; or the answers for so many rows."""
    from shapes import Shape, draw

    import classwise

    X, y = draw(Shape("stacked", rows, columns, classes, rows))
    X += np.random.default_rng(1).standard_normal(X.shape) * 2  # so that classes overlap
    if not scored:
        return lambda: classwise.AutoClassifier().fit(X, y)
    fitted, asked = classwise.AutoClassifier().fit(X, y), np.resize(X, (scored, columns))
    return lambda: fitted.predict_proba(asked)


def files(kind: str, verb: str, folder: Path) -> Call | None:
    if not find_spec("duckdb") or not find_spec("pyarrow"):
        return None
    from scale import make_csv, make_parquet

    import classwise

    folder.mkdir(parents=True, exist_ok=True)
    path = make_parquet(folder, 2_000_000)
    path = path if kind == "parquet" else make_csv(folder, 300_000, make_parquet(folder, 300_000))
    if verb == "compare":
        return lambda: classwise.compare(path, target="y", stream=True, references=False)
    return lambda: classwise.LDA().fit_statistics(classwise.summarize(path, target="y"))


def _calls() -> Iterator[tuple[str, Callable[[Path], Call | None]]]:
    models = ("LDA", "QDA", "NaiveBayes", "NearestMean")
    for shape in ("small", "tall", "wide", "many"):
        for model in models[: 4 if shape in ("small", "tall") else 3]:
            for operation in ("fit", "predict", "predict_proba"):
                yield f"{shape} {model} {operation}", partial(numbers, shape, model, operation)
    for kind in ("pandas", "arrow"):
        for model in ("LDA", "QDA", "NaiveBayes"):
            for operation in ("fit", "predict_proba"):
                yield f"mixed {kind} {model} {operation}", partial(mixed, kind, model, operation)
    yield "compare 2,000 x 20 x 5", partial(selection, "compare", 2_000)
    yield "compare 50,000 x 20 x 5", partial(selection, "compare", 50_000)
    yield "RDA 50,000 x 20 x 5", partial(selection, "RDA", 50_000)
    yield "stack fit 1,000 x 20 x 3", partial(stack, 1_000, 20, 3, 0)
    yield "stack fit 5,000 x 50 x 5", partial(stack, 5_000, 50, 5, 0)
    yield "stack fit 1,000,000 x 20 x 5", partial(stack, 1_000_000, 20, 5, 0)
    yield "stack predict_proba 100,000 x 20 x 5", partial(stack, 20_000, 20, 5, 100_000)
    for verb in ("fit", "compare"):
        yield f"parquet {verb}", partial(files, "parquet", verb)
    yield "csv fit", partial(files, "csv", "fit")


CALLS = dict(_calls())
PROCESSES = {"import classwise": ["-c", "import classwise"], "classwise --help": ["-m", "classwise", "--help"]}


def in_processes(command: list[str], options: argparse.Namespace) -> np.ndarray:
    """Seconds that a new interpreter takes, (2, repeats); its byte code is compiled already."""
    paths, times = (options.before, options.after), []
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for path in paths:
        subprocess.run([sys.executable, "-m", "compileall", "-q", path], check=False, **quiet)
    for repeat in range(25):
        pair = {}
        for side in (repeat % 2, 1 - repeat % 2):
            run = partial(subprocess.run, [sys.executable, *command], env=environment(paths[side]), check=False)
            pair[side] = seconds(partial(run, **quiet))
        times.append((pair[0], pair[1]))
    return np.array(times).T


# Text -----------------------------------------------------------------------------------------------------------------


def facts(times: np.ndarray) -> dict[str, Any]:
    before, after = times
    low, middle, high = np.quantile(after / before, [0.25, 0.5, 0.75]).tolist()
    medians = {"before_s": float(np.median(before)), "after_s": float(np.median(after))}
    return {**medians, "ratio": middle, "quartiles": [low, high], "repeats": len(after)}


def line(name: str, found: dict[str, Any]) -> list[str]:
    low, high = found["quartiles"]
    change = "SLOWER" if min(low, found["ratio"]) > SLOWER else "faster" if high < 1 / SLOWER else ""
    times = [duration(found["before_s"]), duration(found["after_s"])]
    return [name, *times, f"{found['ratio']:.2f}", f"{low:.2f}..{high:.2f}", str(found["repeats"]), change]


if __name__ == "__main__":
    main()
