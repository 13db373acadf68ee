"""Scoring rows that live in a database: a query that runs there, beside rows that are fetched and scored in Python.

    python benchmarks/sql.py [--rows 10000000] [--repeats 5]

DuckDB makes the rows itself: three classes, ten numbers at an offset of a million, two columns of text and one of yes
and no. LDA and QDA look at the ten numbers, and refuse gaps, of which there are none; the other kinds of model look at
seven of them and at the other three columns. The query of the default stack, which walks through 600 trees, takes a
quarter of an hour for ten million rows: leave it out by --kinds, or ask for fewer rows. All calls are timed in turns,
repeat by repeat:

    query            CREATE TABLE AS the query of to_sql: a key and a label for each row, in a table
    Python           Arrow batches fetched from DuckDB, predict on each, the labels kept in memory
    Python, stored   the same, and the labels put back in a table with their keys
"""

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter

import duckdb
import machine
import numpy as np
import pyarrow as pa
from contention import cores_of_others, now
from report import QUIET, aligned, duration
from timing import seconds

import classwise as cw

RESULTS = Path(__file__).parent / "results" / "sql.json"

CLASSES, NUMBERS = 3, 10
CITIES = ("Oslo", "Rome", "Zürich", "Lima", "Cork")
PLANS = ("free", "basic", "full")

# Rows to learn from, rows of an Arrow batch, and rows that go first, untimed.
LEARNED, BATCH, FIRST = 100_000, 200_000, 1_000

# Each kind of model: what makes it, whether it looks at numbers alone, and the rows that it learns from.
KINDS = {
    "LDA": (lambda: cw.LDA(missing="error"), True, LEARNED),
    "QDA": (lambda: cw.QDA(missing="error"), True, LEARNED),
    "naive Bayes": (cw.NaiveBayes, False, LEARNED),
    "Decision, novelty": (lambda: cw.Decision(cw.NaiveBayes(missing="error"), novelty=0.01), False, 10_000),
    "mixture": (lambda: cw.MixtureClassifier(components=2, missing="error"), False, 10_000),
    "AODE": (cw.AODE, False, LEARNED),
    "logistic, plugin": (lambda: cw.BayesianLogistic(predictive="plugin"), False, 10_000),
    "logistic, averaged": (cw.BayesianLogistic, False, 10_000),
    "forest of 20 trees": (lambda: cw.ForestClassifier(trees=20), False, 2_000),
    "stack, members sql": (lambda: cw.AutoClassifier(members="sql", folds=2), False, 2_000),
    "stack": (lambda: cw.AutoClassifier(folds=2), False, 2_000),
}


def main():
    options = read_options()
    start, found = perf_counter(), machine.facts()
    with duckdb.connect() as connection:
        make_rows(connection, options.rows)
        models = fit_models(connection, options.kinds)
        calls = {name: ways(connection, *of, "people") for name, of in models.items()}
        for model, columns in models.values():
            for call in ways(connection, model, columns, "few").values():
                call()
        times, busy, different = in_turns(connection, calls, options.repeats)
        threads = connection.execute("SELECT current_setting('threads')").fetchall()[0][0]
    facts = {"rows": options.rows, "seconds": times, "cores_of_others": busy}
    facts |= {"different_labels": different, "bytes": {name: len(query(of[0]).encode()) for name, of in models.items()}}
    facts["machine"] = {**found, "duckdb": duckdb.__version__, "threads": threads, "wall_s": perf_counter() - start}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(facts, indent=2) + "\n")
    print(report(facts))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="default: 10000000")
    parser.add_argument("--repeats", type=int, default=5, help="default: 5")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS), help="default: all")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="PATH", help=f"default: {RESULTS}")
    return parser.parse_args()


# Rows and models ------------------------------------------------------------------------------------------------------


def make_rows(connection, rows):
    """Numbers by Box and Muller's formula about the mean of their class; text and yes/no that depend on the class."""
    means = np.random.default_rng(0).normal(size=(CLASSES, NUMBERS)) / 2
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    numbers = [
        f"1e6 + [{', '.join(map(str, of))}][code + 1] + {normal} AS n{j}" for j, of in enumerate(means.T.tolist())
    ]
    others = [
        f"{list(CITIES)}[1 + (floor(random() * 4)::INT + code) % {len(CITIES)}] AS city",
        f"{list(PLANS)}[1 + (floor(random() * 2)::INT + code) % {len(PLANS)}] AS plan",
        "random() < 0.3 + 0.2 * code AS member",
    ]
    connection.execute("SELECT setseed(0.5)")
    connection.execute(
        f"CREATE TABLE people AS SELECT id, 'class ' || code AS class, {', '.join([*numbers, *others])} "
        f"FROM (SELECT i AS id, floor(random() * {CLASSES})::INT AS code FROM range({rows}) AS r(i))"
    )
    connection.execute(f"CREATE TABLE few AS SELECT * FROM people LIMIT {FIRST}")


def fit_models(connection, kinds):
    """Of each kind the model, and the columns that it looks at."""
    numbers = [f"n{j}" for j in range(NUMBERS)]
    found = {}
    for name in kinds:
        make, is_numbers, count = KINDS[name]
        columns = numbers if is_numbers else [*numbers[:7], "city", "plan", "member"]
        learned = connection.sql(f"SELECT * FROM people LIMIT {count}").to_arrow_table()
        model = make().fit(learned.select(columns), learned["class"].to_pylist())
        found[name] = (model, columns)
        print(f"{name} learned", file=sys.stderr, flush=True)
    return found


# Calls ----------------------------------------------------------------------------------------------------------------


def query(model, table="people"):
    return cw.to_sql(model, table, "duckdb", ["id"])


def ways(connection, model, columns, table):
    return {
        "query": lambda: connection.execute(f"CREATE OR REPLACE TEMP TABLE scored AS {query(model, table)}"),
        "Python": lambda: stream(connection, model, columns, table),
        "Python, stored": lambda: store(connection, stream(connection, model, columns, table)),
    }


def stream(connection, model, columns, table):
    """Keys and labels, batch by batch."""
    reader = connection.sql(f"SELECT id, {', '.join(columns)} FROM {table}").to_arrow_reader(BATCH)
    parts = []
    for batch in reader:
        rows = pa.Table.from_batches([batch])
        parts.append((rows["id"].to_numpy(), model.predict(rows.select(columns))))
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def store(connection, scored):
    keys, labels = scored
    connection.register("answer", pa.table({"id": keys, "label": pa.array(labels)}))
    connection.execute("CREATE OR REPLACE TEMP TABLE scored_here AS SELECT * FROM answer")
    connection.unregister("answer")


def count_different(connection):
    """How many labels of the last query differ from those that Python stored last."""
    different = (
        "SELECT count(*) FROM scored JOIN scored_here AS here USING (id) WHERE scored.label IS DISTINCT FROM here.label"
    )
    return connection.execute(different).fetchall()[0][0]


def in_turns(connection, calls, repeats):
    """The seconds of each repeat, the cores that others used meanwhile, and how many labels differ."""
    names = [f"{kind}: {way}" for kind, ways_of in calls.items() for way in ways_of]
    times, busy, different = {name: [] for name in names}, {name: [] for name in names}, {}
    for repeat in range(repeats):
        for kind in list(calls)[:: -1 if repeat % 2 else 1]:
            for way in list(calls[kind])[:: -1 if repeat % 2 else 1]:
                name, start = f"{kind}: {way}", now()
                times[name].append(seconds(calls[kind][way]))
                busy[name].append(cores_of_others(start, now()))
                print(f"repeat {repeat + 1}, {name}: {duration(times[name][-1])}", file=sys.stderr, flush=True)
            different[kind] = count_different(connection)
    return times, {name: max(of) for name, of in busy.items() if None not in of}, different


# Text -----------------------------------------------------------------------------------------------------------------


def report(facts):
    found = facts["machine"]
    head = (
        f"{facts['rows']:,} rows in DuckDB {found['duckdb']}, {found['threads']} threads; {found['cores']} cores, load "
    )
    head += f"{found['load']:.1f} before; Python {found['python']}, classwise {found['classwise']}"
    lines = [["call", "time", "least", "most", "million rows/s", "times as long as the query", "others"]]
    for name, times in facts["seconds"].items():
        kind = name.split(": ")[0]
        reference = np.array(facts["seconds"][f"{kind}: query"])
        ratios, middle = np.array(times) / reference, float(np.median(times))
        busy = facts["cores_of_others"].get(name)
        shown = "" if busy is None else f"{busy:.2f}" + (" BUSY" if busy > QUIET else "")
        ratio = f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"
        spread = [duration(middle), duration(min(times)), duration(max(times))]
        lines.append([name, *spread, f"{facts['rows'] / middle / 1e6:.3g}", ratio, shown])
    sizes = ", ".join(f"{name} {size:,} bytes" for name, size in facts["bytes"].items())
    different = ", ".join(f"{name} {count}" for name, count in facts["different_labels"].items())
    return "\n\n".join(
        [head, aligned(lines), f"queries: {sizes}\nlabels that differ between query and Python: {different}"]
    )


if __name__ == "__main__":
    main()
