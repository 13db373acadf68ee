"""Which weights share a precision, as the caller says it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from classwise.errors import ClasswiseError, at_least
from classwise.logistic import Design, Groups
from classwise.rows.schema import Schema

EVIDENCE, RELEVANCE = "evidence", "relevance"


class Asked(NamedTuple):
    """Columns of the table that share a precision, and its value: NaN where the evidence is to choose it."""

    columns: list[int]
    value: float


def read_groups(precision: Any, schema: Schema, design: Design, penalize_intercept: bool) -> Groups:
    """precision: a number, "evidence", "relevance", or a mapping from a column or several to a number or "evidence".

    Columns that a mapping leaves out make up one more group, of largest evidence. An intercept that has a prior shares
    the precision of that group.
    """
    everything = list(range(len(schema)))
    if isinstance(precision, Mapping):
        asked = _read_mapping(precision, schema)
    elif isinstance(precision, str) and precision == RELEVANCE:
        asked = [Asked([j], np.nan) for j in everything]
    else:
        asked = [Asked(everything, read_value(precision))]
    named = [j for group in asked for j in group.columns]
    rest = [j for j in everything if j not in named]
    alone = penalize_intercept and design.intercept and len(asked) > 1
    if rest or alone:
        asked = [Asked(rest, np.nan), *asked]
    return _groups(asked, design, penalize_intercept)


def read_value(value: Any) -> float:
    """A precision from 0 on, or NaN for "evidence"."""
    if isinstance(value, str) and value == EVIDENCE:
        return np.nan
    if isinstance(value, str):
        raise ClasswiseError(
            f"precision={value!r} is not an option; give a number from 0 on, 'evidence', 'relevance', or a mapping "
            "from columns to one of the first two."
        )
    return at_least("precision", value, 0)


def _read_mapping(precision: Mapping[Any, Any], schema: Schema) -> list[Asked]:
    asked = []
    for key, value in precision.items():
        asked.append(Asked(schema.find(list(key) if isinstance(key, tuple) else [key]), read_value(value)))
    named = [j for group in asked for j in group.columns]
    twice = [j for i, j in enumerate(named) if j in named[:i]]
    if twice:
        raise ClasswiseError(f"precision names {schema.name(twice[0])} twice; it belongs to one group.")
    return asked


def _groups(asked: list[Asked], design: Design, penalize_intercept: bool) -> Groups:
    """By column of the design; groups without a column that has weights are dropped."""
    group = {j: c for c, part in enumerate(asked) for j in part.columns}
    codes = [group[j] for j in design.source.tolist()]
    if design.intercept:
        codes.append(0 if penalize_intercept else -1)
    used = sorted({code for code in codes if code >= 0})
    place = {code: i for i, code in enumerate(used)} | {-1: -1}
    return Groups(np.array([place[code] for code in codes]), np.array([asked[code].value for code in used]))
