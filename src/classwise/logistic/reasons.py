"""Linear scores taken apart: each column's share of one row's log odds, and the boundary between two classes."""

from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.classifier.boundary import Boundary, Section, column_names, read_section
from classwise.classifier.explanation import Explanation
from classwise.errors import ClasswiseError
from classwise.logistic.likelihood import Probit
from classwise.logistic.logistic_model import LogisticModel
from classwise.rows.schema import find_column


def _shift(model: LogisticModel, first: int, second: int) -> float:
    """What other priors than those learned from add to the log odds."""
    shift = model.classifier.shift
    return shift[first] - shift[second] if shift else 0.0


def _against(model: LogisticModel, scores: Array, first: int, second: int) -> Array:
    """The score of one class against another, from scores (k, ...)."""
    if len(scores) > 1:
        return np.asarray(scores[first] - scores[second])
    return np.asarray(scores[0] * (first - second))  # one score, of the second class against the first


def linear_explanation(model: LogisticModel, row: Array, shown: list[Any], first: int, second: int) -> Explanation:
    """The log odds of class `first` against `second` at the most probable weights, for one row (p,)."""
    classifier, design = model.classifier, model.classifier.design
    weights = _against(model, classifier.weights, first, second)
    at_mean = _against(model, classifier.scores(_average_row(model)[None]), first, second)[0]
    away = design.columns(row[None])[:, 0] - design.columns(_average_row(model)[None])[:, 0]
    shares = np.zeros(len(model.schema))
    np.add.at(shares, design.source, (weights * away)[: len(design.source)])
    scale = _odds_per_score(model, float(at_mean + shares.sum()))
    keys = list(model.schema.names or range(len(model.schema)))
    labels = classifier.labels.tolist()
    prior = scale * float(at_mean) + _shift(model, first, second)
    by_column = dict(zip(keys, (scale * shares).tolist(), strict=True))
    values = dict(zip(keys, shown, strict=True))
    return Explanation(labels[first], labels[second], prior + sum(by_column.values()), prior, 0.0, by_column, values)


def _odds_per_score(model: LogisticModel, score: float) -> float:
    """1, where scores are log odds; else log P / (1 - P) over the score."""
    if not isinstance(model.likelihood, Probit):
        return 1.0
    small = 1e-6
    at = score if abs(score) > small else small
    own, other = model.likelihood.log_own(np.array([at, -at]))
    return float((own - other) / at)


def _average_row(model: LogisticModel) -> Array:
    """A row without values, which stands at the mean of every column; (p,)."""
    return np.array([-1.0 if j in model.levels else np.nan for j in range(len(model.schema))])


def linear_boundary(model: LogisticModel, first: int, second: int, columns: Any, at: Any) -> Boundary:
    """f = score of `first` against `second`, in the free columns of numbers."""
    section, row = _read_place(model, columns, {} if at is None else dict(at))
    design, free = model.classifier.design, section.free
    weights = _against(model, model.classifier.weights, first, second)[: len(design.source)]
    slopes = dict(zip(design.source.tolist(), (weights / design.scale).tolist(), strict=True))
    means = dict(zip(design.source.tolist(), design.mean.tolist(), strict=True))
    return Boundary(
        np.array([means.get(j, 0.0) for j in free]),
        np.zeros((len(free), len(free))),
        np.array([slopes.get(j, 0.0) for j in free]),
        float(_against(model, model.classifier.scores(row[None]), first, second)[0]) + _shift(model, first, second),
        np.diag([model.deviations[j] ** 2 for j in free]),
        column_names(model.schema, free),
    )


def _read_place(model: LogisticModel, columns: Any, at: dict[Any, Any]) -> tuple[Section, Array]:
    """The columns that are free, and a row (p,) that is average but for what is held."""
    schema, row = model.schema, _average_row(model)
    places = {key: find_column(key, schema.names or range(len(schema)), "The keys of at") for key in at}
    for key, j in places.items():
        if j in model.levels:
            row[j] = _level(model, j, at[key])
    numbers = {key: at[key] for key, j in places.items() if j not in model.levels}
    if columns is None:
        columns = [j for j in range(len(schema)) if j not in model.levels and j not in places.values()]
    section = read_section(schema, columns, numbers)
    if any(j in model.levels for j in section.free):
        raise ClasswiseError("A boundary is in columns of numbers; hold a category at a level: at={column: level}.")
    row[list(section.held)] = list(section.held.values())
    return section, row


def _level(model: LogisticModel, column: int, value: Any) -> float:
    levels = model.levels[column].tolist()
    if value not in levels:
        raise ClasswiseError(f"at holds {model.schema.name(column)} at {value!r}; its levels are {levels[:8]}.")
    return float(levels.index(value))
