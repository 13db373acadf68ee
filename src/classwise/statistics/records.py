"""Statistics files of version 1, which older versions of classwise wrote: arrays by name, and facts about them."""

from typing import Any

import numpy as np

from classwise.arrays import Labels
from classwise.errors import StoredFileError
from classwise.rows.schema import Schema
from classwise.statistics.counts import Counts, LevelCounts
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.moments import Moments
from classwise.statistics.quartics import Quartics
from classwise.statistics.scatter import SCATTERS, FullScatter
from classwise.statistics.statistic import Statistic
from classwise.storage import Record

# How the labels of a file are typed: by the kind of their NumPy array.
LABEL_KINDS: dict[str, type] = {"b": bool, "i": np.int64, "u": np.uint64, "f": np.float64, "U": str, "O": object}


def read_parts(record: Record, schema: Schema) -> dict[str, Statistic]:
    """The parts of a statistic; whether they fit together is asked of what is made of them."""
    widths = {"levels": len(schema.levels), "values": len(schema.candidates)}
    parts: dict[str, Statistic] = {}
    for name, facts in record.facts["parts"].items():
        if name in widths:
            parts[name] = _read_counts(record, name, facts, widths[name])
        elif name == "quartics":
            third, fourth = record.arrays[f"{name}.third"], record.arrays[f"{name}.fourth"]
            parts[name] = Quartics(_read_moments(record, name, facts), third, fourth)
        elif name == "numbers":
            parts[name] = Numbers(_read_moments(record, name, facts), _read_gaps(record, len(schema.numbers)))
        else:
            parts[name] = _read_moments(record, name, facts)
    return parts


def read_labels(facts: dict[str, Any]) -> Labels:
    """Labels, or levels."""
    values, kind = facts["values"], facts["kind"]
    # One long label among many short ones would take much room in an array where all are equally long.
    if kind == "U" and len(values) * max(map(len, values), default=0) > 1_000_000 + 64 * sum(map(len, values)):
        raise StoredFileError("one label is so long that they would take too much room")
    return np.array(values, dtype=LABEL_KINDS[kind])


def _read_moments(record: Record, name: str, form: str) -> Moments:
    weight, mean, rest, scatter = (record.arrays[f"{name}.{key}"] for key in ("weight", "mean", "rest", "scatter"))
    return Moments(weight, mean, rest, SCATTERS[form](scatter))


def _read_gaps(record: Record, columns: int) -> Gaps:
    if "gaps.codes" not in record.arrays:
        return Gaps.empty(columns)
    codes, present = record.arrays["gaps.codes"].astype(np.intp), record.arrays["gaps.present"] != 0
    return Gaps(codes, present, _read_moments(record, "gaps", FullScatter.name))


def _read_counts(record: Record, name: str, facts: dict[str, Any], width: int) -> Counts:
    columns: list[LevelCounts | None] = [None] * width
    for key, described in facts["levels"].items():
        columns[int(key)] = LevelCounts(read_labels(described), record.arrays[f"{name}.{key}"])
    return Counts(tuple(columns), facts["most"])
