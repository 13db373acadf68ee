"""Logistic regression as other programs can compute it: scores, and averages over the weights.

s = a'y + c                    y: numbers less their means, levels as yes or no less their shares; 0 where missing
plugin     P by s
moderated  P by s / sqrt(1 + π v / 8), of two classes;   v = |y R + b|², the variance of s
"""

from dataclasses import dataclass

import numpy as np

from classwise.arrays import Array, Codes
from classwise.logistic import Laplace, LogisticClassifier
from classwise.logistic.design import NUMBER
from classwise.logistic.posterior import Draws


@dataclass(frozen=True, eq=False)
class Variance:
    """v = |y slopes + offsets|²; slopes (q', q), offsets (q,)."""

    slopes: Array
    offsets: Array


@dataclass(frozen=True, eq=False)
class LinearFormula:
    """Of each entry of y (q',): source, the column; level, its position or -1 for a number; mean, what is subtracted.

    slopes (k, q') and constants (k,): of the scores, one for two classes, of the second against the first. variance:
    that of the one score, if probabilities depend on it.
    """

    source: Codes
    level: Codes
    mean: Array
    slopes: Array
    constants: Array
    variance: Variance | None = None

    @property
    def numbers(self) -> list[int]:
        """The entries that are numbers."""
        return np.flatnonzero(self.level == NUMBER).tolist()

    @property
    def categories(self) -> dict[int, list[int]]:
        """The entries of each column of levels."""
        marked = np.flatnonzero(self.level != NUMBER)
        return {int(j): marked[self.source[marked] == j].tolist() for j in np.unique(self.source[marked])}

    def by_level(self, entries: list[int]) -> Array:
        """What a column's entries are at each of its levels, at one never seen, and missing; (levels + 2, entries)."""
        count = int(self.level[entries].max()) + 1  # the last level is always marked
        values = np.zeros((count + 2, len(entries)))
        values[:count] = (np.arange(count)[:, None] == self.level[entries]) - self.mean[entries]
        return values


def linear_scores(classifier: LogisticClassifier) -> LinearFormula:
    """The scores of a classifier, at the most probable weights; of two classes moderated, if the model does so."""
    design, count = classifier.design, len(classifier.design.source)
    at_mean = (design.mean - design.center) / design.scale  # what y = 0 is to the design
    parts = [classifier.weights.T]
    if classifier.predictive == "moderated" and isinstance(classifier.beliefs, Laplace):
        parts.append(classifier.beliefs.root)
    slopes = [part[:count] / design.scale[:, None] for part in parts]
    constants = [at_mean @ part[:count] + part[count:].sum(axis=0) for part in parts]
    variance = Variance(slopes[1], constants[1]) if len(parts) > 1 else None
    return LinearFormula(design.source, design.level, design.mean, slopes[0].T, constants[0], variance)


def is_symmetric(classifier: LogisticClassifier) -> bool:
    """Whether the second of two classes is predicted where its score is positive, whatever is averaged over."""
    return len(classifier.labels) == 2 and isinstance(classifier.beliefs, Laplace) and not classifier.shift


# Averages over the weights --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Affine:
    """What y, the entries of LinearScores, is mapped to: y slopes + constants; slopes (q', c), constants (c,)."""

    slopes: Array
    constants: Array


@dataclass(frozen=True, eq=False)
class WeightAverage:
    """P(k | x) as an average over weights. entries: what y is. Where beliefs are Gaussian, mean: of the r contrasts of
    scores; roots: of each contrast a, u_a with covariances u_a'u_b. Else draws: of the contrasts, draw by draw (D r).
    """

    entries: LinearFormula
    mean: Affine
    roots: tuple[Affine, ...]
    draws: Affine | None


def weight_average(classifier: LogisticClassifier) -> WeightAverage:
    """What averages over the weights of a classifier take."""
    design, beliefs = classifier.design, classifier.beliefs
    count, at_mean = len(design.source), (design.mean - design.center) / design.scale

    def affine(part: Array) -> Affine:
        """Of weights (q, c) of the columns of the design."""
        return Affine(part[:count] / design.scale[:, None], at_mean @ part[:count] + part[count:].sum(axis=0))

    entries = LinearFormula(design.source, design.level, design.mean, np.zeros((0, count)), np.zeros(0))
    mean = affine(beliefs.mean.T)
    if isinstance(beliefs, Laplace):
        contrasts, width = beliefs.mode.shape
        roots = beliefs.root.reshape(contrasts, width, -1)
        return WeightAverage(entries, mean, tuple(map(affine, roots)), None)
    assert isinstance(beliefs, Draws)
    draws = beliefs.flat.transpose(2, 0, 1).reshape(design.width, -1)
    return WeightAverage(entries, mean, (), affine(draws))
