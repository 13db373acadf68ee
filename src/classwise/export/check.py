"""Whether an export answers as the model does: the same rows are scored both ways, and compared."""

import datetime as dt
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.export.check_rows import CheckRows

# How long node may take.
SECONDS = 120

# Labels and posteriors (n, g) of rows; None and NaN where there are none. Posteriors: None where there are only labels.
Answered = tuple[list[Any], Array | None]


@dataclass(frozen=True)
class Agreement:
    """rows: how many were scored, and gaps: how many of them lack a value; where: what they are; labels: how many have
    another label; difference: the largest one between posteriors; unanswered: how many have no answer elsewhere.
    """

    rows: int
    gaps: int
    where: str
    labels: int
    difference: float | None
    unanswered: int = 0

    def __str__(self) -> str:
        what = f"Checked with {self.where}" + (f", {self.gaps} with gaps" if self.gaps else "")
        labels = "labels are the same" if not self.labels else f"{self.labels} labels differ"
        differ = "no posteriors" if self.difference is None else f"posteriors differ by at most {self.difference:.1e}"
        found = f"{what}: {labels}, {differ}"
        return found + (f", and {self.unanswered} rows have no answer." if self.unanswered else ".")


def compared(model: Any, rows: CheckRows, answered: Answered) -> Agreement:
    """The answers of a model for rows, and those of its export."""
    labels, posteriors = answered
    expected, own = model.predict_proba(rows.X), model.predict(rows.X).tolist()
    known = np.array([label is not None for label in labels])
    different = sum(a != b for a, b in zip(labels, own, strict=True) if a is not None)
    largest = None
    if posteriors is not None:
        there = np.asarray(np.isfinite(posteriors).all(axis=1))
        largest, known = float(np.abs(posteriors - expected)[there].max(initial=0.0)), known & there
    return Agreement(len(rows), int(rows.has_gap.sum()), rows.where, different, largest, int((~known).sum()))


# Python and JavaScript ------------------------------------------------------------------------------------------------


def by_python(text: str, rows: CheckRows) -> Answered:
    """The answers of a file that to_python wrote."""
    names: dict[str, Any] = {"__name__": "scorer"}
    exec(compile(text, "scorer.py", "exec"), names)
    columns = rows.columns() if rows.table.schema.names else list(zip(*rows.columns().values(), strict=True))
    try:
        return names["predict"](columns), names["predict_proba"](columns)
    except ValueError as problem:
        raise ClasswiseError(f"The file has no answer for some of {rows.where}: {problem}") from None


NODE = """
import { readFileSync } from "node:fs";
import { predict, predictProba } from "./model.mjs";
const rows = JSON.parse(readFileSync("rows.json", "utf8"));
const plain = (label) => (typeof label === "bigint" ? Number(label) : label);
console.log(JSON.stringify([predict(rows).map(plain), predictProba(rows)]));
"""


def by_node(text: str, rows: CheckRows) -> Answered | None:
    """The answers of a module that to_js wrote, if there is node to run it."""
    node = which("node")
    if node is None:
        return None
    with TemporaryDirectory() as name:
        folder = Path(name)
        given = [[_as_json(value) for value in row] for row in zip(*rows.columns().values(), strict=True)]
        contents = {"model.mjs": text, "run.mjs": NODE, "rows.json": json.dumps(given)}
        for file, content in contents.items():
            (folder / file).write_text(content, encoding="utf-8")
        done = subprocess.run(
            [node, "run.mjs"],
            cwd=folder,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
    if done.returncode:
        raise ClasswiseError(f"node could not run the module: {done.stderr.strip()[-2000:]}")
    labels, posteriors = json.loads(done.stdout)
    return labels, np.array(posteriors)


def _as_json(value: Any) -> Any:
    """A value as JSON has it; durations as seconds."""
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return value


# SQL ------------------------------------------------------------------------------------------------------------------


def by_duckdb(write: Callable[[str, str], str], rows: CheckRows) -> Answered | None:
    """The answers of a query in DuckDB, if it is there. write: the query of a table, and an output."""
    try:
        import duckdb
        import pyarrow as pa
    except ImportError:
        return None
    columns = rows.columns()
    table = pa.table(columns | {ROW: list(range(len(rows)))})
    with duckdb.connect() as connection:
        connection.register(CHECKED, table)
        labels = [label for _, label in _queried(connection, write(CHECKED, "label"), "label")]
        try:
            query = write(CHECKED, "posteriors")
        except ClasswiseError:  # some models are written for their labels alone
            return labels, None
        posteriors = _queried(connection, query, "posterior_")
    numbers = [[np.nan if value is None else value for value in row[1:]] for row in posteriors]
    return labels, np.array(numbers, dtype=np.float64)


def _queried(connection: Any, query: str, start: str) -> list[tuple[Any, ...]]:
    """The rows in order, with their number first, and the columns whose names start so; not why there is no answer."""
    found = connection.sql(query)
    kept = [place for place, name in enumerate(found.columns) if name == ROW or name.startswith(start)]
    return sorted(tuple(row[place] for place in kept) for row in found.fetchall())


CHECKED, ROW = "classwise_checked_rows", "classwise row"


# ONNX -----------------------------------------------------------------------------------------------------------------


def by_onnxruntime(exported: Any, rows: CheckRows) -> Answered | None:
    """The answers of a graph in onnxruntime, if it is there. Rows that its inputs cannot hold are left out."""
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(exported.SerializeToString())
    inputs = {value.name: value.type for value in session.get_inputs()}
    columns = _numbered(rows)
    held = np.ones(len(rows), dtype=bool)
    for name, kind in inputs.items():
        if kind in WITHOUT_GAPS:
            held &= np.array([value is not None for value in columns[name]])
    matrix = None if set(inputs) != {"X"} or "X" in columns else np.array([*columns.values()], dtype=np.float64).T[held]
    given = {"X": matrix} if matrix is not None else {n: _input(columns[n], k, held) for n, k in inputs.items()}
    found, probabilities = session.run(None, given)
    labels, posteriors = np.full(len(rows), None), np.full((len(rows), probabilities.shape[1]), np.nan)
    labels[held], posteriors[held] = found, probabilities
    facts = {fact.key: fact.value for fact in exported.metadata_props}
    labels[labels == json.loads(facts["unscorable_label"])] = None
    return labels.tolist(), posteriors


WITHOUT_GAPS = ("tensor(int64)", "tensor(bool)")
TYPES: dict[str, Any] = {
    "tensor(double)": np.float64,
    "tensor(float)": np.float32,
    "tensor(int64)": np.int64,
    "tensor(bool)": bool,
}


def _numbered(rows: CheckRows) -> dict[str, list[Any]]:
    """The values by column, dates and written numbers as numbers."""
    columns, numbers = rows.columns(), np.asarray(rows.table.rows, dtype=np.float64)
    for j, column in enumerate(rows.table.schema):
        if column.conversion is not None:
            columns[list(columns)[j]] = [None if x != x else x for x in numbers[:, j].tolist()]
    return columns


def _input(values: list[Any], kind: str, held: Any) -> Any:
    kept = [value for value, is_held in zip(values, held.tolist(), strict=True) if is_held]
    if kind == "tensor(string)":
        return np.array(["" if value is None else value for value in kept], dtype=object)[:, None]
    return np.array([np.nan if value is None else value for value in kept]).astype(TYPES[kind])[:, None]


# What runs an export, in words.
PROGRAMS = {"python": "NumPy", "js": "node", "sql": "DuckDB", "onnx": "onnxruntime"}

CHECKS: dict[str, Callable[..., Answered | None]] = {
    "python": by_python,
    "js": by_node,
    "sql": by_duckdb,
    "onnx": by_onnxruntime,
}


def check(door: str, model: Any, exported: Any, rows: CheckRows) -> Agreement | None:
    """How an export agrees with its model; None where what would run it is not installed.

    door: "python", "js", "sql" or "onnx"; exported: what was written (for SQL, a function that writes it).
    """
    answered = CHECKS[door](exported, rows)
    return None if answered is None else compared(model, rows, answered)
