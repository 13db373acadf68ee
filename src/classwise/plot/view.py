"""A model seen in some of its columns: the others are held at a value, or integrated out."""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.boundary import Discriminant
from classwise.classifier.marginal import marginal
from classwise.errors import ClasswiseError
from classwise.plot.canvas import Style, class_styles
from classwise.plot.moments import given, moments
from classwise.plot.polynomials import polynomials
from classwise.rows.frames import make_frame
from classwise.rows.reading import open_source
from classwise.rows.schema import Column

# Rows drawn from the model, to see how far it reaches where no rows are given.
DRAWN = 2000


@dataclass(frozen=True, eq=False)
class View:
    """free: positions of the columns to look at; held: {position: value}; all others are integrated out.

    The value of a category is the position of its level. decision: what announces labels, where it is not the largest
    posterior alone.
    """

    model: Any
    free: tuple[int, ...]
    held: dict[int, float]
    decision: Any = None

    @property
    def names(self) -> list[str]:
        """What axes call the free columns."""
        names = column_keys(self.model)
        return [name if isinstance(name := names[j], str) else f"x{name}" for j in self.free]

    @property
    def columns(self) -> list[Column]:
        """The free columns, as the model knows them."""
        return [self.model.model_.schema.columns[j] for j in self.free]

    @property
    def levels(self) -> list[Labels | None]:
        """The levels of each free column; None where it is a number."""
        return [self.model.model_.levels.get(j) for j in self.free]

    @property
    def counts(self) -> list[bool]:
        """Which of the free columns hold whole numbers."""
        return [column.family.kind == "count" for column in self.columns]

    @property
    def styles(self) -> list[Style]:
        return class_styles(self.model.classes_.tolist())

    @property
    def seen(self) -> list[int]:
        """The columns that are not integrated out, free ones first."""
        return [*self.free, *self.held]

    @property
    def tells_novelty(self) -> bool:
        """Whether a decision may ask if points are novel: their other columns are missing, unless there are none."""
        return self.model.missing != "error" or len(self.seen) == self.model.n_features_in_

    @cached_property
    def classifier(self) -> Any:
        """Bayes' rule on the columns that are not integrated out; whether a value is missing says nothing here.

        A model without densities cannot integrate: the columns that are not seen stand at their means.
        """
        if not self.has_densities:
            return self.model.classifier_
        return marginal(self.model.classifier_, self.seen)

    @property
    def has_densities(self) -> bool:
        """Whether the model tells how rows of a class are spread, or only where classes part."""
        return isinstance(self.model.classifier_, BayesClassifier)

    @cached_property
    def polynomials(self) -> list[Discriminant] | None:
        """log P(k | x) in the free columns, up to a term that classes share, where these are polynomials."""
        if not self.has_densities:
            return None
        return polynomials(self.model.classifier_, self.free, self.held, self._blank(1), tuple(self.names))

    def _blank(self, count: int) -> Array:
        """Rows of the model that have nothing but what is held; (count, p)."""
        rows = np.full((count, self.model.n_features_in_), np.nan)
        rows[:, list(self.model.model_.levels)] = -1.0
        rows[:, list(self.held)] = list(self.held.values())
        return rows

    def rows(self, points: Array) -> Array:
        """Points as rows of the model, missing where a column is integrated out; (m, free) -> (m, p).

        Where a column is a count or a category, its value is the nearest that can be.
        """
        rows = self._blank(len(points))
        for values, j, column in zip(points.T, self.free, self.columns, strict=True):
            rows[:, j] = _suiting(values, column, self.model.model_.levels.get(j))
        return rows

    def scores(self, points: Array) -> Array:
        """What is announced is the class of the largest: log P(k | x), up to a term that all classes share, or, where
        errors have their costs, minus the expected cost; (m, free) -> (g, m).

        Between whole numbers, log odds of counts go on as straight lines, where they are such.
        """
        if self.decision is not None and self.decision.costs is not None:
            return -self._decider.expected_costs(points).T
        if any(self.counts) and self.polynomials is not None:
            return np.stack([g(points) for g in self.polynomials])
        return self.classifier.announced(self.rows(points))

    def answers(self, points: Array) -> Codes:
        """The position of the class that is announced; beyond the last, one for refused and two for novel; (m,)."""
        codes, count = self.scores(points).argmax(axis=0), len(self.model.classes_)
        if self.decision is not None:
            codes = np.where(self.refuses(points), count, codes)
            codes = np.where(self.is_novel(points), count + 1, codes)
        return codes

    def refuses(self, points: Array) -> NDArray[np.bool_]:
        """Where the decision is better not made; (m,)."""
        return np.asarray(self._decider.decide(points).refused)

    def is_novel(self, points: Array) -> NDArray[np.bool_]:
        """Where the decision takes a row for novel that has the values of a point and lacks the others; (m,)."""
        if self.decision.novelty is None or not self.tells_novelty:
            return np.zeros(len(points), dtype=bool)
        known = self.model.model_
        return np.asarray(self.decision.decide(make_frame(self.rows(points), known.schema, known.levels)).novel)

    @cached_property
    def _decider(self) -> Any:
        """The decision, asked about the posteriors of points."""
        decider = copy(self.decision)
        decider.model_, decider.novelty = Posteriors(self), None
        return decider

    def ellipses(self) -> tuple[Array, Array] | None:
        """Means (g, free) and covariances (g, free, free), given what is held; None where they are not Gaussian.

        Of a Student-t, location and shape, unless columns are held.
        """
        if not self.has_densities:
            return None
        numbers = [j for j in self.held if j not in self.model.model_.levels]  # levels are independent of numbers
        place = moments(self.model.classifier_, [*self.free, *numbers], bool(numbers))
        return None if place is None else given(*place, len(self.free), np.array([self.held[j] for j in numbers]))

    def drawn(self) -> Array:
        """Rows drawn from the model, in the free columns; (DRAWN, free). Without densities, how far its rows reach."""
        if not self.has_densities:
            return np.asarray(self.model.model_.reach())[:, list(self.free)]
        rows, _ = self.model.classifier_.sample(DRAWN, np.random.default_rng(0))
        return rows[:, list(self.free)]

    def values(self, X: Any) -> Array:
        """The free columns of a table or an array; (n, free), NaN where a value is missing or a level unknown."""
        source = open_source(X)
        keys, levels = column_keys(self.model), self.model.model_.levels
        return np.column_stack([_column(source, keys[j], j, levels.get(j)) for j in self.free])


@dataclass(frozen=True, eq=False)
class Posteriors:
    """A view as the model of a decision: asked about points, rather than rows."""

    view: View

    @property
    def classes_(self) -> Labels:
        return np.asarray(self.view.model.classes_)

    def predict_proba(self, points: Array) -> Array:
        return self.view.classifier.posterior(self.view.rows(points)).T


def column_keys(model: Any) -> list[Any]:
    """The names of the columns, or their positions."""
    names = getattr(model, "feature_names_in_", None)
    return list(range(model.n_features_in_)) if names is None else list(names)


def _column(source: Any, key: Any, place: int, levels: Labels | None) -> Array:
    """A column by its name, or by its position where either side has no names."""
    if source.names is not None and isinstance(key, str):
        if key not in source.names:
            raise ClasswiseError(f"X has no column {key!r}; its columns are {list(source.names)}.")
        place = source.names.index(key)
    if place >= source.n_features:
        raise ClasswiseError(f"X has {source.n_features} columns, and this picture needs its column {place}.")
    if levels is None:
        return np.asarray(source.values.numbers(place), dtype=np.float64)
    codes = np.empty(len(source.values))
    source.values.coded(place).among(levels).write(codes)
    return np.where((codes >= 0) & (codes < len(levels)), codes, np.nan)


def _suiting(values: Array, column: Column, levels: Labels | None) -> Array:
    if levels is None and column.family.kind != "count":
        return values
    most = column.family.trials or np.inf if levels is None else len(levels) - 1
    return np.clip(np.round(values), 0, most)
