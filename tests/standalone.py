"""Exported models as their users run them: Python in a namespace of its own, JavaScript in node."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import classwise as cw

RUN = """
import { readFileSync } from "node:fs";
const revive = (_, value) => (value && value.double ? Number(value.double) : value);
const cases = JSON.parse(readFileSync(process.argv[2], "utf8"), revive);
const plain = (label) => (typeof label === "bigint" ? Number(label) : label);
const answers = [];
for (const { file, rows } of cases) {
  try {
    const model = await import(file);
    answers.push({ labels: model.predict(rows).map(plain), posteriors: model.predictProba(rows) });
  } catch (problem) {
    answers.push({ error: `${problem.constructor.name}: ${problem.message}` });
  }
}
console.log(JSON.stringify(answers));
"""


def python_scorer(model: Any) -> Any:
    """The functions of the file that to_python writes."""
    names: dict[str, Any] = {"__name__": "scorer"}
    exec(compile(cw.to_python(model), "scorer.py", "exec"), names)
    return SimpleNamespace(**names)


def node_answers(folder: Path, cases: list[tuple[Any, list[Any]]]) -> list[dict[str, Any]]:
    """What node answers for models, or their text, and rows; one process asks them all."""
    asked = []
    for i, (model, rows) in enumerate(cases):
        file = folder / f"model{i}.mjs"
        file.write_text(model if isinstance(model, str) else cw.to_js(model), encoding="utf-8")
        asked.append({"file": str(file), "rows": [_told(row) for row in rows]})
    (folder / "run.mjs").write_text(RUN)
    (folder / "cases.json").write_text(json.dumps(asked, allow_nan=False), encoding="utf-8")
    done = subprocess.run(["node", "run.mjs", "cases.json"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def _told(row: Any) -> Any:
    """A row as JSON can tell it: what is not finite by its name."""
    if isinstance(row, dict):
        return {name: _value(value) for name, value in row.items()}
    return [_value(value) for value in row]


def _value(value: Any) -> Any:
    if isinstance(value, float) and not -1e308 < value < 1e308:
        return {"double": {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]}
    return value


def as_rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
