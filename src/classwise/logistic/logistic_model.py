"""A fitted logistic model: the classifier, what its columns and weights are, and what its scores are made of."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from classwise.arrays import Array, Labels
from classwise.classifier.boundary import Boundary, Section, column_names, read_section
from classwise.classifier.explanation import Explanation
from classwise.errors import ClasswiseError, ImputedValueWarning
from classwise.logistic.design import NUMBER, marked_levels
from classwise.logistic.evidence import PrecisionGroups
from classwise.logistic.gibbs import Diagnostics
from classwise.logistic.likelihood import Likelihood, Probit
from classwise.logistic.logistic_classifier import LogisticClassifier
from classwise.logistic.posterior import Draws
from classwise.rows.codes import is_sorted
from classwise.rows.schema import Schema, find_column
from classwise.rows.table import within_families
from classwise.storage import stored
from classwise.tabular import Tabular


@stored("LogisticModel", loose=("values", "log_evidence"))
@dataclass(frozen=True, eq=False)
class LogisticModel:
    """levels: of each column that has some; missing (p,): the share without a value; notes: what to know of a column;
    shares (g,): of the classes among the rows; deviations: of each column of numbers, by position; groups: which
    weights share a precision; values: the precision of each group; log_evidence: None where a prior is flat; passes:
    how many times the rows were gone through; diagnostics: of draws, where there are any.
    """

    classifier: LogisticClassifier
    schema: Schema
    levels: dict[int, Labels]
    missing: Array
    notes: dict[int, str]
    shares: Array
    deviations: dict[int, float]
    groups: PrecisionGroups
    values: Array
    log_evidence: float | None
    passes: int
    diagnostics: Diagnostics | None = None

    def _is_sound(self) -> bool:
        width, design = len(self.schema), self.classifier.design
        shaped = self.missing.shape == (width,) and self.shares.shape == self.classifier.labels.shape
        grouped = self.groups.codes.shape == (design.width,) and self.values.shape == self.groups.given.shape
        known = set(self.levels) == set(self.schema.levels) and set(self.notes) <= set(range(width))
        known &= all(map(is_sorted, self.levels.values()))
        spread = set(self.deviations) == set(self.schema.numbers) and all(d > 0 for d in self.deviations.values())
        return shaped and grouped and known and spread and self._is_of_its_columns()

    def _is_of_its_columns(self) -> bool:
        """Whether the design has the columns that those of the table have."""
        design = self.classifier.design
        marked = {
            j: marked_levels(len(self.levels[j])) if j in self.levels else [NUMBER] for j in range(len(self.schema))
        }
        expected = [(j, level) for j in sorted(set(design.source.tolist())) for level in marked[j]]
        return list(zip(design.source.tolist(), design.level.tolist(), strict=True)) == expected

    @property
    def likelihood(self) -> Likelihood:
        return self.classifier.likelihood

    def reach(self) -> Array:
        """Two rows that others lie between: means less and plus three deviations, first and last levels; (2, p)."""
        rows = np.full((2, len(self.schema)), np.nan)
        design = self.classifier.design
        for j, level, mean in zip(design.source.tolist(), design.level.tolist(), design.mean.tolist(), strict=True):
            far = 3 * self.deviations.get(j, 0.0)
            rows[:, j] = (mean - far, mean + far) if level == NUMBER else (0, len(self.levels[j]) - 1)
        return within_families(rows, self.schema)

    # Weights, of the table's own numbers and levels -------------------------------------------------------------------

    @cached_property
    def to_raw(self) -> Array:
        """The map from V, flattened, to the weights of each score in the table's own units, flattened; (k q, r q)."""
        return np.asarray(np.kron(self.likelihood.basis, self.classifier.design.to_raw), dtype=np.float64)

    @property
    def names(self) -> list[str]:
        """Of the weights of one score: columns, levels as column=level, and the intercept last."""
        design = self.classifier.design
        keys = self.schema.names or [f"x{j}" for j in range(len(self.schema))]
        pairs = zip(design.source.tolist(), design.level.tolist(), strict=True)
        names = [keys[j] if level == NUMBER else f"{keys[j]}={self.levels[j][level]}" for j, level in pairs]
        return [*names, "(intercept)"] if design.intercept else names

    @property
    def weights(self) -> Array:
        """Most probable ones; means, of draws; (k, q)."""
        return (self.to_raw @ self.classifier.beliefs.mean.ravel()).reshape(-1, self.classifier.design.width)

    @cached_property
    def covariance(self) -> Array:
        """Of the weights of all scores, flattened; (k q, k q)."""
        return self.to_raw @ self.classifier.beliefs.covariance @ self.to_raw.T

    @property
    def deviation(self) -> Array:
        """Of the weights; (k, q)."""
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0)).reshape(self.weights.shape)

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Weights drawn from the posterior; (count, k, q)."""
        drawn = self.classifier.beliefs.sample(count, generator).reshape(count, -1)
        return (drawn @ self.to_raw.T).reshape(count, *self.weights.shape)

    def interval(self, level: float) -> Array:
        """Central credible intervals of the weights; (2, k, q)."""
        ends = [(1 - level) / 2, (1 + level) / 2]
        posterior = self.classifier.beliefs
        if isinstance(posterior, Draws):
            raw = posterior.flat.reshape(len(posterior.flat), -1) @ self.to_raw.T
            return np.quantile(raw, ends, axis=0).reshape(2, *self.weights.shape)
        return self.weights + ndtri(ends)[:, None, None] * self.deviation

    def coefficients(self, level: float) -> "Coefficients":
        low, high = self.interval(level)
        labels = self.classifier.labels.tolist()
        scored = labels[1:] if len(self.weights) == 1 else labels
        return Coefficients(
            Coefficient(label, name, *(float(part[k, j]) for part in (self.weights, self.deviation, low, high)))
            for k, label in enumerate(scored)
            for j, name in enumerate(self.names)
        )


def warn_of_imputed(schema: Schema, missing: Array) -> None:
    """One warning that names the columns in which means, or shares of levels, stand for missing values."""
    columns = [j for j in np.flatnonzero(missing).tolist() if missing[j] < 1 - 1e-9]
    if columns:
        named = ", ".join(f"{schema.name(j)} ({100 * missing[j]:.3g} %)" for j in columns[:5])
        more = f" and {len(columns) - 5} more columns" if len(columns) > 5 else ""
        texts = sum(j in schema.levels for j in columns)
        number, text = "the mean of the column stands", "the share of each level stands"
        stands = text if texts == len(columns) else number
        stands += f" for a number, {text} for a text" if 0 < texts < len(columns) else " for them"
        warnings.warn(
            f"Values are missing in {named}{more}; {stands}, whatever the class. "
            "LDA, QDA and NaiveBayes integrate missing values out instead.",
            ImputedValueWarning,
            stacklevel=3,
        )


class Coefficient(NamedTuple):
    """A weight: how much the score of `label` rises with the column, its posterior deviation and credible interval."""

    label: Any
    column: str
    weight: float
    deviation: float
    low: float
    high: float


class Coefficients(Tabular, tuple[Coefficient, ...]):
    """Weights, by class and column; prints as a table."""

    sides = "<<>>>>"

    def __iter__(self) -> Iterator[Coefficient]:
        return super().__iter__()

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text, header first."""
        numbers = [tuple(f"{value:.4g}" for value in row[2:]) for row in self]
        rows = [(str(row.label), row.column, *cells) for row, cells in zip(self, numbers, strict=True)]
        return [("label", "column", "weight", "deviation", "low", "high"), *rows]


# Scores taken apart: each column's share of one row's log odds, and the boundary between two classes ------------------


def linear_explanation(model: LogisticModel, row: Array, shown: list[Any], first: int, second: int) -> Explanation:
    """The log odds of class `first` against `second` at the most probable weights, for one row (p,)."""
    classifier, design = model.classifier, model.classifier.design
    average = _average_row(model)[None]
    at_mean = float(_against(classifier.scores(average), first, second)[0])
    away = design.columns(row[None])[:, 0] - design.columns(average)[:, 0]
    shares = np.zeros(len(model.schema))
    np.add.at(shares, design.source, (_against(classifier.weights, first, second) * away)[: len(design.source)])
    scale = _odds_per_score(model, at_mean + float(shares.sum()))
    keys = list(model.schema.names or range(len(model.schema)))
    labels = classifier.labels.tolist()
    prior = scale * at_mean + _shift(model, first, second)
    by_column = dict(zip(keys, (scale * shares).tolist(), strict=True))
    values = dict(zip(keys, shown, strict=True))
    return Explanation(labels[first], labels[second], prior + sum(by_column.values()), prior, 0.0, by_column, values)


def linear_boundary(model: LogisticModel, first: int, second: int, columns: Any, at: Any) -> Boundary:
    """f = score of `first` against `second`, in the free columns of numbers."""
    section, row = _read_place(model, columns, {} if at is None else dict(at))
    classifier, design, free = model.classifier, model.classifier.design, section.free
    weights = _against(classifier.weights, first, second)[: len(design.source)]
    slopes = dict(zip(design.source.tolist(), (weights / design.scale).tolist(), strict=True))
    means = dict(zip(design.source.tolist(), design.mean.tolist(), strict=True))
    return Boundary(
        np.array([means.get(j, 0.0) for j in free]),
        np.zeros((len(free), len(free))),
        np.array([slopes.get(j, 0.0) for j in free]),
        float(_against(classifier.scores(row[None]), first, second)[0]) + _shift(model, first, second),
        np.diag([model.deviations[j] ** 2 for j in free]),
        column_names(model.schema, free),
    )


def _against(scores: Array, first: int, second: int) -> Array:
    """The score of one class against another, from scores (k, ...)."""
    if len(scores) > 1:
        return np.asarray(scores[first] - scores[second])
    return np.asarray(scores[0] * (first - second))  # one score, of the second class against the first


def _shift(model: LogisticModel, first: int, second: int) -> float:
    """What other priors than those learned from add to the log odds."""
    shift = model.classifier.shift
    return shift[first] - shift[second] if shift else 0.0


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
