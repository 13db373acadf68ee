"""Statistics as the arrays and facts of a file, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.errors import StatisticsError
from classwise.schema import Schema
from classwise.statistics.counts import Counts, LevelCounts
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.moments import Moments
from classwise.statistics.quartics import Quartics
from classwise.statistics.scatter import SCATTERS, FullScatter
from classwise.statistics.statistic import Statistic
from classwise.storage import Record

# How the labels of a file are typed: by the kind of their NumPy array.
LABEL_KINDS: dict[str, type] = {"b": bool, "i": np.int64, "u": np.uint64, "f": np.float64, "U": str, "O": object}


def written_parts(parts: Mapping[str, Statistic]) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays of all parts, by "part.name", and the facts that go with them."""
    arrays: dict[str, Array] = {}
    facts: dict[str, Any] = {}
    for name, part in parts.items():
        if isinstance(part, Numbers):
            arrays |= _moment_arrays(name, part.moments) | _gap_arrays(part.gaps)
            facts[name] = part.moments.scatter.name
        elif isinstance(part, Moments):
            arrays |= _moment_arrays(name, part)
            facts[name] = part.scatter.name
        elif isinstance(part, Quartics):
            arrays |= _moment_arrays(name, part.moments) | {f"{name}.third": part.third, f"{name}.fourth": part.fourth}
            facts[name] = part.moments.scatter.name
        elif isinstance(part, Counts):
            known = {i: column for i, column in enumerate(part.columns) if column is not None}
            arrays |= {f"{name}.{i}": column.weight for i, column in known.items()}
            levels = {str(i): written_labels(column.levels, "Levels") for i, column in known.items()}
            facts[name] = {"columns": len(part.columns), "most": part.most, "levels": levels}
    return arrays, facts


def read_parts(record: Record, schema: Schema) -> tuple[Labels, dict[str, Statistic]]:
    """The labels and the parts of a statistic, checked to fit together."""
    labels = read_labels(record.facts["labels"])
    parts: dict[str, Statistic] = {}
    count, columns = len(labels), len(schema.numbers)
    for name, facts in record.facts["parts"].items():
        if isinstance(facts, dict):
            parts[name] = _read_counts(record, name, facts, count)
        elif name == "quartics":
            moments = _read_moments(record, name, facts, count, len(schema.positions("gaussian")))
            third, fourth = record.arrays[f"{name}.third"], record.arrays[f"{name}.fourth"]
            _check(third.shape == moments.mean.shape and fourth.shape == (count,))
            parts[name] = Quartics(moments, third, fourth)
        elif name == "numbers":
            parts[name] = Numbers(_read_moments(record, name, facts, count, columns), _read_gaps(record, columns))
        else:
            width = len(schema.logs) if name == "logs" else len(schema.candidates)
            parts[name] = _read_moments(record, name, facts, count, width)
    _check(record.arrays["weight"].shape == (count,) and "numbers" in parts)
    expected = {"levels": len(schema.levels), "values": len(schema.candidates)}
    _check(all(len(p.columns) == expected[name] for name, p in parts.items() if isinstance(p, Counts)))
    return labels, parts


def written_labels(labels: Labels, what: str) -> dict[str, Any]:
    """Labels as JSON: what kind they are, and their values."""
    values = labels.tolist()
    if not all(isinstance(value, (str, int, float)) for value in values):
        kind = type(values[0]).__name__
        raise StatisticsError(f"{what} of type {kind} cannot be stored; use strings, integers or booleans.")
    return {"kind": labels.dtype.kind, "values": values}


def read_labels(facts: dict[str, Any]) -> Labels:
    return np.array(facts["values"], dtype=LABEL_KINDS[facts["kind"]])


def _moment_arrays(name: str, moments: Moments) -> dict[str, Array]:
    values = {"weight": moments.weight, "mean": moments.mean, "rest": moments.rest, "scatter": moments.scatter.values}
    return {f"{name}.{key}": array for key, array in values.items()}


def _gap_arrays(gaps: Gaps) -> dict[str, Array]:
    if not len(gaps):
        return {}
    pattern = {"gaps.codes": gaps.codes.astype(np.float64), "gaps.present": gaps.present.astype(np.float64)}
    return pattern | _moment_arrays("gaps", gaps.moments)


def _read_moments(record: Record, name: str, form: str, count: int, columns: int) -> Moments:
    arrays = [record.arrays[f"{name}.{key}"] for key in ("weight", "mean", "rest", "scatter")]
    weight, mean, rest, scatter = arrays
    _check(mean.shape == rest.shape == (count, columns) and weight.shape in ((count, 1), (count, columns)))
    _check(scatter.shape == SCATTERS[form].shape(count, columns) and all(a.dtype == np.float64 for a in arrays))
    return Moments(weight, mean, rest, SCATTERS[form](scatter))


def _read_gaps(record: Record, columns: int) -> Gaps:
    if "gaps.codes" not in record.arrays:
        return Gaps.empty(columns)
    codes, present = record.arrays["gaps.codes"].astype(np.intp), record.arrays["gaps.present"] != 0
    _check(codes.ndim == 1 and present.shape == (len(codes), columns))
    return Gaps(codes, present, _read_moments(record, "gaps", FullScatter.name, len(codes), columns))


def _read_counts(record: Record, name: str, facts: dict[str, Any], count: int) -> Counts:
    columns: list[LevelCounts | None] = [None] * int(facts["columns"])
    for key, described in facts["levels"].items():
        levels, weight = read_labels(described), record.arrays[f"{name}.{key}"]
        _check(weight.shape == (count, len(levels)) and weight.dtype == np.float64)
        columns[int(key)] = LevelCounts(levels, weight)
    return Counts(tuple(columns), facts["most"])


def _check(fits: bool) -> None:
    if not fits:
        raise StatisticsError("its arrays do not fit together.")
