"""Rows that do not fit in memory: how fast they are learned from, beside merely reading them with the same reader.

Every verb is measured in a process of its own, whose peak of memory is its own too. Verbs take turns, so that a machine
that is busy for a while is so for all of them; the median of the rounds is shown. Clusters take turns with the naive
Bayes of their own libraries, in one session. The rows are made here, once, and kept: random numbers in ten columns, and
a label in three classes.

At full size: --rows 1e8 --csv-rows 1e7 --cluster-rows 1e7 --clusters --rounds 3, which takes 12 GB of disk.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine
from scale_clusters import CLUSTERS, median
from scale_files import COLUMNS, VERBS, Facts

RESULTS = Path(__file__).parent / "results" / "scale.json"
ROWS_PER_FILE = 1_000_000
EXAMPLE = "example: python benchmarks/scale.py --rows 1e6 --csv-rows 2e5 --folder /tmp/rows --clusters"


def main() -> None:
    options = read_options()
    if options.measure:
        print(json.dumps(MEASURES[options.measure](options.source)))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"machine": machine.facts()}
    for name in options.only or [*FILES, *(CLUSTERS if options.clusters else ())]:
        source = make_rows(name, options)
        found[name] = in_rounds(source, options) if name in FILES else measured(name, source)
        show(name, found[name])
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=2) + "\n")


FILES = ("parquet", "csv")
MEASURES: dict[str, Callable[[str], Any]] = {**VERBS, **CLUSTERS}


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--rows", type=float, default=1e6, help="of Parquet; default: 1e6")
    parser.add_argument("--csv-rows", type=float, default=2e5, help="of CSV; default: 2e5")
    parser.add_argument("--cluster-rows", type=float, default=1e6, help="of Parquet, for clusters; default: 1e6")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/classwise-scale"), help="for the rows")
    parser.add_argument("--verbs", nargs="+", choices=VERBS, default=list(VERBS), help="default: all of them")
    parser.add_argument("--rounds", type=int, default=1, help="how often each verb has its turn; default: 1")
    parser.add_argument("--clusters", action="store_true", help="Dask and Spark too, beside their own naive Bayes")
    parser.add_argument("--only", nargs="+", choices=[*FILES, *CLUSTERS], help="these alone")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--source", help=argparse.SUPPRESS)
    return parser.parse_args()


# Rows -----------------------------------------------------------------------------------------------------------------


def make_rows(name: str, options: argparse.Namespace) -> str:
    if name == "csv":
        return make_csv(options.folder, int(options.csv_rows), make_parquet(options.folder, int(options.csv_rows)))
    return make_parquet(options.folder, int(options.rows if name == "parquet" else options.cluster_rows))


def make_parquet(folder: Path, rows: int) -> str:
    """Files of at most a million rows each, made by DuckDB: sums of uniform numbers are as good as normal here."""
    import duckdb

    home = folder / f"parquet-{rows}"
    home.mkdir(exist_ok=True)
    normal = "(random() + random() + random() + random() - 2)"
    numbers = ", ".join(f"{normal} + y * {0.1 * j} AS {name}" for j, name in enumerate(COLUMNS))
    for i, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        path, count = home / f"part-{i:03}.parquet", min(ROWS_PER_FILE, rows - start)
        if not path.exists():
            made = f"SELECT (random() * 3)::INTEGER % 3 AS y FROM range({count})"
            duckdb.sql(f"COPY (SELECT {numbers}, y FROM ({made})) TO '{path}.new' (FORMAT parquet)")
            Path(f"{path}.new").rename(path)
    return str(home / "*.parquet")


def make_csv(folder: Path, rows: int, parquet: str) -> str:
    import duckdb

    path = folder / f"rows-{rows}.csv"
    if not path.exists():
        duckdb.sql(f"COPY (SELECT * FROM '{parquet}' LIMIT {rows}) TO '{path}.new' (FORMAT csv, HEADER)")
        Path(f"{path}.new").rename(path)
    return str(path)


# Measurements ---------------------------------------------------------------------------------------------------------


def in_rounds(source: str, options: argparse.Namespace) -> dict[str, Facts]:
    rounds = [{verb: measured(verb, source) for verb in options.verbs} for _ in range(options.rounds)]
    return {verb: median([found[verb] for found in rounds]) for verb in options.verbs}


def measured(verb: str, source: str) -> Any:
    """What a process of its own finds."""
    command = [sys.executable, __file__, "--measure", verb, "--source", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        failed = {"failed": done.stderr.strip().splitlines()[-1]}
        return {verb: failed} if verb in CLUSTERS else failed
    return json.loads(done.stdout.splitlines()[-1])


def show(name: str, found: dict[str, Facts]) -> None:
    scanned = found.get("scan", {}).get("rows_per_second")
    for verb, facts in found.items():
        if "failed" in facts:
            print(f"{name:8} {verb:15} failed: {facts['failed']}")
            continue
        print(f"{name:8} {verb:15} {facts['seconds']:8.2f} s {facts['rows_per_second'] / 1e6:7.2f} M rows/s", end=" ")
        if name in FILES:  # workers of a cluster, and Java, are other processes
            print(f"{facts['cpu_seconds']:8.2f} s of cores {facts['peak_mb']:7.0f} MB peak", end=" ")
        print(f"{facts['rows_per_second'] / scanned:6.0%} of scan" if scanned else "")
        if "first_pass" in facts:
            passes = f"first pass {facts['first_pass']:.2f} s, second pass {facts['second_pass']:.2f} s"
            print(f"{'':8} {'':15} {passes}, choosing between them {facts['between']:.2f} s")


if __name__ == "__main__":
    main()
