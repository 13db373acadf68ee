"""What a picture shows: a model in some of its columns, the colors of its classes, and the decision around it."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.boundary import Discriminant, discriminant
from classwise.classifier.column_view import (
    ColumnView,
    choose_columns,
    flat_blocks,
    moments,
    read_model,
    refuse_posteriors,
)
from classwise.covariance import FullCovariance
from classwise.densities import Binomial, Block, Gaussian, Poisson
from classwise.plot.canvas import Style, class_styles
from classwise.rows.frames import make_frame


@dataclass(frozen=True, eq=False)
class View(ColumnView):
    """A ColumnView with colors. decision: a Decision that predicts labels, unless the largest posterior does."""

    decision: Any = None

    @property
    def styles(self) -> list[Style]:
        return class_styles(self.model.classes_.tolist())

    @property
    def knows_novelty(self) -> bool:
        """Whether points can be novel: the model must take rows that lack the other columns."""
        return self.model.missing != "error" or len(self.seen) == self.model.n_features_in_

    @cached_property
    def polynomials(self) -> list[Discriminant] | None:
        """log P(k | x) in the free columns, up to a term that classes share, where these are polynomials."""
        if not self.has_densities:
            return None
        return polynomials(self.model.classifier_, self.free, self.held, self._blank(1), tuple(self.names))

    def scores(self, points: Array) -> Array:
        """The class of the largest score is predicted; (m, free) -> (g, m).

        It is log P(k | x), up to a term that all classes share, or minus the expected cost where errors have costs.
        Log odds of counts that are straight lines are drawn so between whole numbers, too.
        """
        if self.decision is not None and self.decision.costs is not None:
            return -self._decider.expected_costs(points).T
        if any(self.counts) and self.polynomials is not None:
            return np.stack([g(points) for g in self.polynomials])
        return self.classifier.decision_scores(self.rows(points))

    def answers(self, points: Array) -> Codes:
        """The position of the class that is predicted; beyond the last, one for refused and two for novel; (m,)."""
        codes, count = self.scores(points).argmax(axis=0), len(self.model.classes_)
        if self.decision is not None:
            codes = np.where(self.refuses(points), count, codes)
            codes = np.where(self.is_novel(points), count + 1, codes)
        return codes

    def refuses(self, points: Array) -> NDArray[np.bool_]:
        """Which points the decision refuses; (m,)."""
        return np.asarray(self._decider.decide(points).refused)

    def is_novel(self, points: Array) -> NDArray[np.bool_]:
        """Which points the decision takes for novel, as rows that lack all other columns; (m,)."""
        if self.decision.novelty is None or not self.knows_novelty:
            return np.zeros(len(points), dtype=bool)
        known = self.model.model_
        return np.asarray(self.decision.decide(make_frame(self.rows(points), known.schema, known.levels)).novel)

    @cached_property
    def _decider(self) -> Any:
        """A copy of the decision that takes points instead of rows."""
        decider = copy(self.decision)
        decider.model_, decider.novelty = PointPosteriors(self), None
        return decider


@dataclass(frozen=True, eq=False)
class PointPosteriors:
    """A view that stands in for the model of a decision, and takes points instead of rows."""

    view: View

    @property
    def classes_(self) -> Labels:
        return np.asarray(self.view.model.classes_)

    def predict_proba(self, points: Array) -> Array:
        return self.view.classifier.posterior(self.view.rows(points)).T

    def prediction_sets(self, points: Array, coverage: float) -> NDArray[np.bool_]:
        """Of rows that lack all other columns; (m, g)."""
        known = self.view.model.model_
        rows = make_frame(self.view.rows(points), known.schema, known.levels)
        return np.asarray(self.view.model.prediction_sets(rows, coverage))


def look(m: Any, columns: Any, at: Any, count: int) -> View:
    """`count` columns by name or position, None for the first that say something; others held: at={column: value}."""
    model, decision = read_model(m)
    return View(model, *choose_columns(model, columns, at, count), decision)


def look_at_densities(m: Any, columns: Any, at: Any, count: int) -> View:
    """The same, of a model that has densities."""
    view = look(m, columns, at, count)
    refuse_posteriors(view)
    return view


# Log odds as polynomials ----------------------------------------------------------------------------------------------


def polynomials(
    classifier: BayesClassifier, free: Sequence[int], held: Mapping[int, float], row: Array, names: tuple[str, ...]
) -> list[Discriminant] | None:
    """Log odds of the free columns as polynomials, one for each class; None where they are none.

        log P(k | x) = g_k(x) + a term that all classes share,   g_k(x) = x'A_k x + b_k'x + c_k

    Boundaries are then exact, whatever the other columns are. Gaussian columns have the quadratic part. Counts have a
    straight line: log p(x | k) of a Poisson is x log rate_k - rate_k, and of a binomial x log(chance_k / (1 -
    chance_k)) + N log(1 - chance_k), up to terms without k. A column held at a value adds to the constant alone,
    unless it varies together with a free one. Student-t and log-normal columns have no polynomials.

    row (1, p): the values that columns are held at, missing in all others. names: of the free columns.
    """
    blocks = flat_blocks(classifier.density)
    own = [block for block in blocks if np.isin(block.columns, free).any()]
    if not all(isinstance(block.density, Gaussian | Poisson | Binomial) for block in own):
        return None
    curved = {int(j) for block in own if isinstance(block.density, Gaussian) for j in block.columns}
    lines = {i: _line(own, j) for i, j in enumerate(free) if j not in curved}
    if not all(np.isfinite(line).all() for line in lines.values()):
        return None
    apart = [_log_density(block, row) for block in blocks if not curved & set(block.columns.tolist())]
    constants = classifier.log_prior[:, 0] + sum(apart)
    curves = _curves(classifier, [j for j in free if j in curved], {j: held[j] for j in held if j in curved})
    made = [_joined(curve, lines, k, float(constants[k]), names) for k, curve in enumerate(curves)]
    calibration = classifier.calibration
    return made if calibration is None else [g.calibrated(calibration, k) for k, g in enumerate(made)]


def _log_density(block: Block, row: Array) -> Array:
    """log p of what a row has in a block; (1, p) -> (g,)."""
    return block.density.observed(block.of(row), np.zeros((block.density.count, 1)))[:, 0]


def _line(own: list[Block], column: int) -> Array:
    """Constant, slope and variance of a column of counts by class, from log p at 0 and at 1; (3, g)."""
    block = next(block for block in own if column in block.columns)
    place = int(np.flatnonzero(block.columns == column)[0])
    rows = np.full((2, len(block.columns)), np.nan)
    rows[:, place] = 0, 1
    zero, one = block.density.observed(rows, np.zeros((block.density.count, 1))).T
    (variance,) = block.density.parameters()[place].values()
    if isinstance(block.density, Binomial):
        variance = block.density.trials[place] * variance * (1 - variance)
    with np.errstate(invalid="ignore"):  # -inf - -inf, where a parameter is at its limit: no polynomial
        return np.stack([zero, one - zero, variance])


def _curves(classifier: BayesClassifier, free: list[int], held: dict[int, float]) -> list[Discriminant | None]:
    """The Gaussian part of each class in some columns, where others are held; None without any column."""
    count = len(classifier.labels)
    if not free:
        return [None] * count
    place = moments(classifier, [*free, *held], exact=True)
    assert place is not None
    gaussian = Gaussian(place[0], FullCovariance(place[1]))
    names, at = tuple(map(str, [*free, *held])), dict(enumerate(held.values(), start=len(free)))
    return [discriminant(gaussian, k, 0.0, names).slice(at) for k in range(count)]


def _joined(
    curve: Discriminant | None, lines: Mapping[int, Array], k: int, constant: float, names: tuple[str, ...]
) -> Discriminant:
    """The curve in its columns and straight lines in the others, which are independent of it."""
    size, straight = len(names), list(lines)
    center, linear = np.zeros(size), np.zeros(size)
    quadratic, covariance = np.zeros((size, size)), np.zeros((size, size))
    if curve is not None:
        curved = [i for i in range(size) if i not in lines]
        center[curved], linear[curved], constant = curve.center, curve.linear, constant + curve.constant
        quadratic[np.ix_(curved, curved)], covariance[np.ix_(curved, curved)] = curve.quadratic, curve.covariance
    for i in straight:
        zero, linear[i], covariance[i, i] = lines[i][:, k]
        constant += float(zero)
    return Discriminant(center, quadratic, linear, constant, covariance, names)
