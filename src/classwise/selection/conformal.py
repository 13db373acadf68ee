"""Prediction sets with a guarantee: all classes that suit a row no worse than most training rows suit their own class.

    s(x, k) = -log P(k | x);   s_i = s(x_i, y_i) under the model without the fold of row i
    C(x) = {k : the number of rows i with s_i < s(x, k), under the model without the fold of i, is below c (n + 1)}

With a fold for every row this is the jackknife+ (Barber, Candès, Ramdas and Tibshirani 2021), else cross-conformal
prediction (Vovk 2015), or CV+. For rows that are exchangeable, whatever their distribution and however wrong the model,
the set holds the true class with a probability of at least 1 - 2a, a = 1 - c (less a little for folds, see
`guarantee`); in practice it is close to c. The score makes sets as small as can be on average, where posteriors are
right (Sadinle, Lei and Wasserman 2019).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels
from classwise.classifier.bayes import Model
from classwise.classifier.plan import Plan
from classwise.engines.progress import progress
from classwise.selection.crossing import Crossing
from classwise.storage import stored


@stored("SetCalibration", loose=("scores",))
@dataclass(frozen=True, eq=False, repr=False)
class SetCalibration:
    """What prediction sets need of the training rows: their scores under models that have not seen them.

    labels (g,): of the classes. models (F): each of all folds but one. scores, codes, folds, weights (n,): of each
    training row, ordered by score; an infinite score belongs to a row whose class no other fold has.
    """

    labels: Labels
    models: tuple[Model, ...]
    scores: Array
    codes: Codes
    folds: Codes
    weights: Array

    @classmethod
    def of(cls, plan: Plan, crossing: Crossing) -> "SetCalibration":
        """Models from the statistics of all folds but one, and what they say of the rows of that fold."""
        own, models = np.full(len(crossing.codes), np.inf), []
        with progress("Scores for prediction sets", len(crossing)) as bar:
            for fold in crossing.each():
                fit = plan.fit(fold.training)
                own[fold.rows] = -fold.log_posterior(fit)[np.arange(len(fold.rows)), crossing.codes[fold.rows]]
                models.append(replace(fit.model, notes={}, completion=None, log_evidence=None))
                bar.step()
        order = np.argsort(own, kind="stable")
        weights = np.ones(len(own)) if crossing.table.weights is None else crossing.table.weights
        rows = (own[order] + 0.0, crossing.codes[order], crossing.folds[order], weights[order])
        return cls(crossing.labels, tuple(models), *rows)

    def _is_sound(self) -> bool:
        count = len(self.scores)
        shaped = all(values.shape == (count,) for values in (self.codes, self.folds, self.weights))
        coded = bool(np.isin(self.codes, range(len(self.labels))).all() and (self.weights > 0).all())
        ordered = not np.isnan(self.scores).any() and bool((self.scores[1:] >= self.scores[:-1]).all())
        known = all(set(model.classifier.labels.tolist()) <= set(self.labels.tolist()) for model in self.models)
        return shaped and coded and ordered and known and bool(np.isin(self.folds, range(len(self.models))).all())

    @property
    def is_jackknife(self) -> bool:
        """Whether each row is a fold of its own."""
        return len(self.models) == len(self.scores)

    @property
    def method(self) -> str:
        """ "jackknife+" or "cross-conformal"."""
        return "jackknife+" if self.is_jackknife else "cross-conformal"

    def guarantee(self, coverage: float = 0.9) -> float:
        """The probability that a set holds the true class, at the very least, for rows of any distribution.

        With a = 1 - coverage, n rows and F folds: 1 - 2a for the jackknife+, and 1 - 2a less the smaller of
        2 (1 - 1/F) / (n/F + 1) and (1 - F/n) / (F + 1) for folds (Barber and others 2021, theorem 4).

        Parameters
        ----------
        coverage : float, default=0.9
            The coverage that is asked for.

        Returns
        -------
        float
            The least probability; never below 0.
        """
        rows, folds = float(self.weights.sum()), len(self.models)
        lost = min(2 * (1 - 1 / folds) / (rows / folds + 1), (1 - folds / rows) / (folds + 1))
        return max(1 - 2 * (1 - coverage) - (0.0 if self.is_jackknife else lost), 0.0)

    def __repr__(self) -> str:
        folds = "a fold for each" if self.is_jackknife else f"{len(self.models)} folds"
        return f"SetCalibration({self.method}, {len(self.scores)} rows, {folds})"

    def sets(self, log_posterior: Callable[[Model], Array], coverage: float, per_class: bool) -> NDArray[np.bool_]:
        """Which classes each of some rows may belong to; log_posterior: of these rows under a model, (g', m). (g, m).

        per_class: each class is compared with rows of its own alone, so that each has the coverage.
        """
        below: Array | float = 0.0
        for fold, model in enumerate(self.models):
            known = np.searchsorted(self.labels, model.classifier.labels)
            found = log_posterior(model)
            scores = np.full((len(self.labels), found.shape[1]), np.inf)
            scores[known] = -found
            below = below + (self._below_own if per_class else self._below)(fold, scores)
        counts = np.bincount(self.codes, self.weights, len(self.labels))
        total = counts[:, None] if per_class else counts.sum()
        # A class without rows cannot be compared with any.
        return np.asarray((below < coverage * (total + 1)) & (counts > 0)[:, None])

    def _below(self, fold: int, scores: Array) -> Array:
        """The weight of the rows of a fold that have smaller scores than these; (g, m) -> (g, m)."""
        return self._counted(fold, None, scores)

    def _below_own(self, fold: int, scores: Array) -> Array:
        """The same, of rows of the class of each score alone."""
        return np.stack([self._counted(fold, k, scores[k]) for k in range(len(scores))])

    def _counted(self, fold: int, k: int | None, scores: Array) -> Array:
        own, weights = self._cumulated[fold, k]
        return weights[np.searchsorted(own, scores, side="left")]

    @cached_property
    def _cumulated(self) -> dict[tuple[int, int | None], tuple[Array, Array]]:
        """The sorted scores of each fold, of all classes (None) and of each, and the weight of the rows before each."""
        found: dict[tuple[int, int | None], tuple[Array, Array]] = {}
        for fold in range(len(self.models)):
            inside = np.flatnonzero(self.folds == fold)
            for k in (None, *range(len(self.labels))):
                own = inside if k is None else inside[self.codes[inside] == k]
                found[fold, k] = self.scores[own], np.concatenate([[0.0], np.cumsum(self.weights[own])])
        return found


def held_out_sets(log_posterior: Array, codes: Codes, coverage: float) -> NDArray[np.bool_]:
    """The sets of held-out rows among themselves, from log posteriors (n, g) by models without their fold; (n, g).

    Each row is compared with all others, by their own models: this shows how large sets are, for any model, and has no
    guarantee.

    >>> posterior = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
    >>> held_out_sets(np.log(posterior), np.array([0, 0, 0, 1]), 0.7)[2]
    array([False,  True])
    """
    rows, scores = np.arange(len(codes)), -log_posterior
    own = scores[rows, codes]
    below = np.searchsorted(np.sort(own), scores, side="left") - (own[:, None] < scores)
    sets = np.asarray(below < coverage * len(codes))
    sets[rows, log_posterior.argmax(axis=1)] |= ~sets.any(axis=1)
    return sets
