"""Mixed tables and missing values: time against two peers, memory, and held-out log loss against imputing means."""

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter

import machine
import pandas
import pyarrow
from limits import measure_rates
from mixed_memory import measure_memory
from mixed_missing import compare_losses
from mixed_report import loss_part, memory_part, speed_part
from mixed_speed import time_tables
from report import Facts, machine_lines
from timing import Patience

RESULTS = Path(__file__).parent / "results" / "mixed.json"

PARTS = ("speed", "memory", "missing")

EXAMPLE = "example: CLASSWISE_DATA=~/data python benchmarks/mixed.py --parts speed memory --repeats 9"


def main() -> None:
    options = read_options()
    start, found = perf_counter(), machine.facts()  # the load, before this run adds its own
    found |= {package.__name__: package.__version__ for package in (pandas, pyarrow)} | measure_rates().facts()
    facts: Facts = {}
    if "speed" in options.parts:
        facts["speed"] = time_tables(Patience(options.repeats, options.repeats), progress)
    if "memory" in options.parts:
        progress("memory: fitting in fresh processes")
        facts["memory"] = measure_memory()
    if "missing" in options.parts:
        facts["missing"] = compare_losses(progress)
    facts = {"machine": {**found, "wall_s": perf_counter() - start}, **facts}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")
    show(facts)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="default: all")
    parser.add_argument("--repeats", type=int, default=9, help="of every timing; default: 9")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    return parser.parse_args()


def show(facts: Facts) -> None:
    found = facts["machine"]
    parts = [f"{machine_lines(found)}\npandas {found['pandas']}, pyarrow {found['pyarrow']}"]
    for name, text in {"speed": speed_part, "memory": memory_part, "missing": loss_part}.items():
        if name in facts:
            parts.append(text(facts[name]))
    print("\n\n".join(parts))


def progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
