"""Statistics of a database's table: sums computed there, beside rows that are read and summed here.

    python benchmarks/in_database.py [--rows 1000000] [--repeats 3]

DuckDB in a file, and a PostgreSQL server of its own on this machine, reached through a socket (so there is no network,
which would make rows dearer). Three classes, numbers at an offset of a million. Every line is one call of
cw.summarize, both ways in turns; the differences of means and scatters are relative to the deviations.
"""

import argparse
import json
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import duckdb
import machine
import numpy as np
from contention import cores_of_others, now
from report import QUIET, aligned, duration

import classwise as cw

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from sql_engines import ENGINES

RESULTS = Path(__file__).parent / "results" / "in_database.json"
WIDTHS, FORMS = (4, 10, 20), ("diagonal", "full")


def main():
    options = read_options()
    found = machine.facts()
    with tempfile.TemporaryDirectory() as folder, postgres(options.rows) as server:
        sources = {"DuckDB": in_duckdb(Path(folder), options.rows), "PostgreSQL": server}
        lines = [
            compared(database, address, width, form, options.repeats)
            for database, address in sources.items()
            if address is not None
            for form in FORMS
            for width in WIDTHS
        ]
    facts = {"rows": options.rows, "machine": found, "lines": lines}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")
    print(report(facts))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: 1000000")
    parser.add_argument("--repeats", type=int, default=3, help="default: 3")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    return parser.parse_args()


# Tables ---------------------------------------------------------------------------------------------------------------


def in_duckdb(folder, rows):
    path = folder / "people.duckdb"
    numbers = ", ".join(f"1e6 + i % 3 + random() + random() AS n{j}" for j in range(max(WIDTHS)))
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE people AS SELECT 'class ' || i % 3 AS y, {numbers} FROM range({rows}) AS r(i)"
        )
    return str(path)


@contextmanager
def postgres(rows):
    """The address of a server that holds the table."""
    with ENGINES["postgres"]() as engine:
        numbers = ", ".join(f"1e6 + i % 3 + random() + random() AS n{j}" for j in range(max(WIDTHS)))
        engine.run(
            f"CREATE TABLE people AS SELECT 'class ' || i % 3 AS y, {numbers} FROM generate_series(1, {rows}) AS r(i)"
        )
        engine.run("VACUUM ANALYZE people")
        yield f"postgresql://cw@/postgres?host={engine.connection.info.host}"


# Calls ----------------------------------------------------------------------------------------------------------------


def compared(database, address, width, form, repeats):
    columns = [f"n{j}" for j in range(width)]
    times, busy = {True: [], False: []}, []
    statistics = {}
    for repeat in range(repeats + 1):  # the first is not counted
        for inside in (True, False)[:: -1 if repeat % 2 else 1]:
            source = cw.Query("people", address, inside=inside)
            before, start = now(), perf_counter()
            statistics[inside] = cw.summarize(source, target="y", columns=columns, scatter=form)
            if repeat:
                times[inside].append(perf_counter() - start)
                busy.append(cores_of_others(before, now()))
    difference = apart(statistics[True], statistics[False])
    line = {"database": database, "scatter": form, "columns": width, "inside": times[True], "read": times[False]}
    line |= {"difference": difference, "cores_of_others": max(filter(None, busy), default=None)}
    print(f"{database}, {form}, {width} columns done", file=sys.stderr, flush=True)
    return line


def apart(first, second):
    """The largest difference of means, in deviations, and of scatters, relative to them."""
    squares = first.moments.scatter.pooled_diagonal()
    deviations = np.sqrt(squares / first.weight.sum())
    means = np.abs(first.moments.minus(second.moments) / deviations).max()
    scale = squares if first.moments.scatter.values.ndim < 3 else np.sqrt(np.outer(squares, squares))
    return float(max(means, np.abs((first.moments.scatter.values - second.moments.scatter.values) / scale).max()))


def report(facts):
    found = facts["machine"]
    head = f"{facts['rows']:,} rows; {found['cores']} cores, load {found['load']:.1f} before"
    lines = [["database", "scatter", "columns", "inside", "rows read", "inside / read", "difference", "others"]]
    for line in facts["lines"]:
        ratios = np.array(line["inside"]) / np.array(line["read"])
        middle = [duration(float(np.median(line[way]))) for way in ("inside", "read")]
        busy = line["cores_of_others"]
        shown = "" if busy is None else f"{busy:.2f}" + (" BUSY" if busy > QUIET else "")
        ratio = f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"
        cells = [line["database"], line["scatter"], str(line["columns"]), *middle, ratio, f"{line['difference']:.0e}"]
        lines.append([*cells, shown])
    return f"{head}\n\n{aligned(lines)}"


if __name__ == "__main__":
    main()
