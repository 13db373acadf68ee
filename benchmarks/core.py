"""Ratios to scikit-learn's fastest correct configuration, in time and memory, all measured in one run."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

import machine
from limits import Rates, measure_rates
from memory import WEIGHED, measure_memory
from pairs import PAIRS, Pair
from report import Facts, machine_lines, memory_table, notes, summary, timing_table
from shapes import SHAPES, Shape, draw
from timing import Patience
from trial import prepare

RESULTS = Path(__file__).parent / "results" / "core.json"

EXAMPLE = "example: python benchmarks/core.py --shapes small tall --models LDA QDA --repeats 9 --no-memory"


def main() -> None:
    options = read_options()
    start, found = perf_counter(), machine.facts()  # the load, before this run adds its own
    pairs = [PAIRS[name] for name in options.models]
    rates = measure_rates()
    patience = Patience(options.repeats, options.repeats) if options.repeats else Patience()
    timings = [t for name in options.shapes for t in time_shape(SHAPES[name], pairs, patience)]
    rates = rates.best(measure_rates())
    timings = [t | limit_of(t, rates) for t in timings]
    weighed = () if options.no_memory else options.memory_shapes
    memories = [weigh(t) for t in timings if t["shape"] in weighed and t["operation"] in WEIGHED]
    spent = {"wall_s": perf_counter() - start}
    facts = {"machine": {**found, **rates.facts(), **spent}, "timings": timings, "memory": memories}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")
    show(facts)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), help="default: all")
    parser.add_argument("--models", nargs="+", choices=PAIRS, default=list(PAIRS), help="default: all")
    parser.add_argument("--repeats", type=int, help="of every timing; default: 3 to 300, by how long one takes")
    parser.add_argument("--no-memory", action="store_true", help="measure time only")
    parser.add_argument(
        "--memory-shapes",
        nargs="+",
        choices=SHAPES,
        default=["very-tall"],
        help="shapes, of those timed, whose memory is measured too; default: very-tall",
    )
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    return parser.parse_args()


def time_shape(shape: Shape, pairs: Sequence[Pair], patience: Patience) -> Iterator[Facts]:
    """Timings of every model and operation on one table."""
    X, y = draw(shape)
    for pair in pairs:
        progress(f"{shape}, {pair.name}: choosing the peer")
        peer, trial = prepare(pair, shape, X, y)
        agreement = trial.agreement()
        for operation, timing in trial.times(patience):
            facts = {"shape": shape.name, "model": pair.name, "operation": operation, "peer": peer}
            facts |= timing.facts() | agreement
            progress(f"{shape}, {pair.name} {operation}: ratio {facts['ratio']:.2f}")
            yield facts


def limit_of(timed: Facts, rates: Rates) -> Facts:
    limit = rates.limit(timed["model"], timed["operation"], SHAPES[timed["shape"]])
    return {"limit_s": limit, "over_limit": timed["ours_s"] / limit}


def weigh(timed: Facts) -> Facts:
    """The memory of both sides of a timing."""
    which = {key: timed[key] for key in ("shape", "model", "operation", "peer")}
    progress(f"{SHAPES[timed['shape']]}, {timed['model']} {timed['operation']}: memory")
    call = timed["shape"], timed["model"], timed["operation"]
    return {**which, "ours": measure_memory(*call, side="classwise"), "theirs": measure_memory(*call, timed["peer"])}


def show(facts: Facts) -> None:
    parts = [machine_lines(facts["machine"]), timing_table(facts["timings"]), notes(facts["timings"])]
    if facts["memory"]:
        parts.append(memory_table(facts["memory"]))
    print("\n\n".join([*parts, summary(facts["timings"])]))


def progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
