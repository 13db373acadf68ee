"""Plain values as text of a language, and the parts of a scorer that a model takes, as one text."""

import base64
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from classwise.export.standalone.plain import Plain

# Arrays of more numbers than this, and those that hold infinity or NaN, are written as bytes.
MOST_WRITTEN = 48

# Which parts of a scorer serve which kinds, in the order in which they are written. Those without kinds always are.
PARTS: Mapping[str, frozenset[str]] = {
    "numbers": frozenset(),
    "columns": frozenset(),
    "moments": frozenset({"date", "datetime", "time", "duration"}),
    "written_numbers": frozenset({"written"}),
    "densities": frozenset(),
    "gaussians": frozenset({"gaussian", "student", "decision"}),
    "one_dependence": frozenset({"one_dependence"}),
    "classifiers": frozenset(),
    "trees": frozenset({"forest", "boosted"}),
    "logistic": frozenset({"logistic"}),
    "stacks": frozenset({"pool"}),
    "decisions": frozenset({"decision"}),
    "answers": frozenset(),
}


def packed(value: Any) -> Any:
    """The same with lists in place of small arrays, and bytes as text in place of large ones.

    >>> packed({"cuts": np.array([0.5, 1.5])})
    {'cuts': [0.5, 1.5]}
    """
    if isinstance(value, dict):
        return {name: packed(of) for name, of in value.items()}
    if isinstance(value, (list, tuple)):
        return [packed(of) for of in value]
    if not isinstance(value, np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    if value.size <= MOST_WRITTEN and np.isfinite(value).all() and value.size:
        return value.tolist()
    little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    kind = little.dtype.str
    return {"base64": base64.b64encode(little.tobytes()).decode(), "type": kind, "shape": list(value.shape)}


def kinds_in(value: Any) -> Iterator[str]:
    """All kinds that occur in a model."""
    if isinstance(value, dict):
        if isinstance(value.get("kind"), str):
            yield value["kind"]
        if value.get("decision") is not None:
            yield "decision"
        for of in value.values():
            yield from kinds_in(of)
    elif isinstance(value, list):
        for of in value:
            yield from kinds_in(of)


def parts_of(model: Plain) -> list[str]:
    """The parts of a scorer that a model takes, in order."""
    kinds = frozenset(kinds_in(model))
    return [name for name, served in PARTS.items() if not served or kinds & served]


@cache
def source(language: str, name: str) -> str:
    """The text of a part."""
    return files(f"classwise.export.standalone.{language}").joinpath(name).read_text(encoding="utf-8")


def python_literal(value: Any, depth: int = 0) -> str:
    """Plain values as Python writes them; the outer dicts and lists line by line."""
    items: list[str] = []
    if isinstance(value, dict) and depth < DEPTH and "base64" not in value:
        items = [f"{name!r}: {python_literal(of, depth + 1)}" for name, of in value.items()]
    elif isinstance(value, list) and depth < DEPTH and any(isinstance(of, (dict, list)) for of in value):
        items = [python_literal(of, depth + 1) for of in value]
    if not items:
        return repr(value)
    marks = "{}" if isinstance(value, dict) else "[]"
    inside = "".join(f"{'    ' * (depth + 1)}{item},\n" for item in items)
    return f"{marks[0]}\n{inside}{'    ' * depth}{marks[1]}"


# Dicts and lists within this many others are written in one line.
DEPTH = 6


def js_literal(value: Any) -> str:
    """Plain values as JSON, which JavaScript reads, also within a page of HTML; whole numbers that it would round are
    text beside a mark.
    """
    text = json.dumps(_exact(value), ensure_ascii=True, indent=1, allow_nan=False)
    return text.replace("<", "\\u003c")


def _exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _exact(of) for name, of in value.items()}
    if isinstance(value, list):
        return [_exact(of) for of in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return {"integer": str(value)}
    return value
