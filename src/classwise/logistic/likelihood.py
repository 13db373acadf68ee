"""Likelihoods of labels given scores: logit, probit and softmax; and the contrasts that scores of many classes have.

Softmax does not change if the same is added to all scores. Weights W (g, q) with independent Gaussian priors of one
precision for each column split, orthogonally, into contrasts V = U'W (g - 1, q) and the mean over the classes:

    W = U V + 1 mean',    U'U = I,    U'1 = 0

The rows tell of V alone; the prior of V is that of W, entry by entry. The mean keeps its prior, whatever the rows, and
no probability depends on it: it is left at 0, where the most probable W has it. So the posterior of V is proper, and
all classes are treated alike, with no class of reference. An intercept without a prior is flat in the mean alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from classwise.arrays import Array, Codes, log_normalize
from classwise.errors import ClasswiseError
from classwise.statistics import Curvature
from classwise.storage import stored


def contrasts(classes: int) -> Array:
    """U: orthonormal columns that sum to zero (Helmert's); (g, g - 1).

    >>> contrasts(2).ravel().round(4).tolist()
    [-0.7071, 0.7071]
    """
    columns = np.zeros((classes, classes - 1))
    for k in range(1, classes):
        columns[:k, k - 1] = -1.0
        columns[k, k - 1] = k
    return columns / np.sqrt((columns**2).sum(axis=0))


# ----------------------------------------------------------------------------------------------------------------------
# What a label says of the scores of a row: its loss -log P(label | s), with first and second derivatives.
#
#     logit     P(1 | s) = 1 / (1 + e^-s)                  one score, of the second class against the first
#     probit    P(1 | s) = Φ(s)
#     softmax   P(k | s) = e^s_k / sum over l of e^s_l     one score for each class, free up to a common term
#
# Weights are V (r, q): r = 1 for two classes, and g - 1 contrasts for more (see contrasts).

HALF_LOG_TAU = 0.5 * np.log(2 * np.pi)


class Losses(NamedTuple):
    """-log P of each row's label (m,), residuals (k, m), and the entries of the second derivatives (c, m), or none."""

    values: Array
    residuals: Array
    factors: Array


class Likelihood(ABC):
    """P(label | scores), of g classes."""

    classes: int

    @property
    @abstractmethod
    def basis(self) -> Array:
        """Scores are basis @ V z; (k, r)."""

    @property
    @abstractmethod
    def factors(self) -> int:
        """How many entries of the second derivatives are gathered."""

    @abstractmethod
    def losses(self, scores: Array, codes: Codes, curved: bool = True) -> Losses:
        """At scores (k, m), of rows of classes codes (m,); curved: with second derivatives."""

    @abstractmethod
    def hessian(self, products: Array) -> Array:
        """Second derivatives of the loss by V, from the products (c, q, q); (r q, r q)."""

    @abstractmethod
    def log_probabilities(self, scores: Array) -> Array:
        """log P(k | s); (k, m) -> (g, m)."""

    def as_softmax(self, by_score: Array) -> Array | None:
        """Weights by score (k, q) as those of a softmax (g, q), whose last they are; None where it is no softmax."""
        return None

    @property
    def contrasts(self) -> int:
        """How many weights a column has, r."""
        return self.basis.shape[1]

    def gradient(self, curvature: Curvature) -> Array:
        """First derivatives of the loss by V; (r, q)."""
        return self.basis.T @ curvature.gradient


@dataclass(frozen=True)
class Binary(Likelihood):
    """Two classes and one score, whose sign is turned so that it speaks for the row's own class."""

    classes = 2
    factors = 1

    @property
    def basis(self) -> Array:
        return np.ones((1, 1))

    def hessian(self, products: Array) -> Array:
        return products[0]

    def losses(self, scores: Array, codes: Codes, curved: bool = True) -> Losses:
        sign = np.where(np.asarray(codes) == 1, 1.0, -1.0)
        values, slopes, curvatures = self._of_own(scores[0] * sign)
        return Losses(values, (sign * slopes)[None], curvatures[None][: int(curved)])

    def log_probabilities(self, scores: Array) -> Array:
        return np.stack([self.log_own(-scores[0]), self.log_own(scores[0])])

    @abstractmethod
    def log_own(self, scores: Array) -> Array:
        """log P of the class that a score speaks for; elementwise."""

    @abstractmethod
    def _of_own(self, t: Array) -> tuple[Array, Array, Array]:
        """-log P, and its derivatives by t."""


@stored("Logit")
@dataclass(frozen=True)
class Logit(Binary):
    """P = 1 / (1 + e^-t)."""

    def log_own(self, scores: Array) -> Array:
        return np.asarray(log_expit(scores))

    def _of_own(self, t: Array) -> tuple[Array, Array, Array]:
        right, wrong = expit(t), expit(-t)
        return -log_expit(t), -wrong, right * wrong

    def as_softmax(self, by_score: Array) -> Array:
        return np.vstack([np.zeros_like(by_score), by_score])


@stored("Probit")
@dataclass(frozen=True)
class Probit(Binary):
    """P = Φ(t)."""

    def log_own(self, scores: Array) -> Array:
        return np.asarray(log_ndtr(scores))

    def _of_own(self, t: Array) -> tuple[Array, Array, Array]:
        log_p = log_ndtr(t)
        slope = np.exp(-0.5 * t * t - HALF_LOG_TAU - log_p)
        # slope + t is a small difference where t is far below zero; it is never negative.
        return -log_p, -slope, slope * np.maximum(slope + t, 0.0)


@stored("Softmax")
@dataclass(frozen=True)
class Softmax(Likelihood):
    """P(k | s) = e^s_k / sum over l of e^s_l; second derivatives p_k [k = l] - p_k p_l, of which k < l tell all."""

    classes: int

    @cached_property
    def basis(self) -> Array:
        return contrasts(self.classes)

    @property
    def factors(self) -> int:
        return self.classes * (self.classes - 1) // 2

    def losses(self, scores: Array, codes: Codes, curved: bool = True) -> Losses:
        shifted = np.subtract(scores, scores.max(axis=0), out=np.empty(scores.shape))
        flat, own = shifted.reshape(-1), _own_places(codes, scores.shape[1])
        score = flat[own]
        p = np.exp(shifted, out=shifted)
        total = p.sum(axis=0)
        p /= total
        factors = self._factors(p) if curved else p[:0]
        # p - 1 of the own class is minus the sum of the others, which keeps its digits where p is almost 1.
        flat[own] = 0.0
        flat[own] = -p.sum(axis=0)
        return Losses(np.log(total) - score, p, factors)

    def _factors(self, p: Array) -> Array:
        """p_k p_l of the pairs k < l; (c, m)."""
        factors = np.empty((self.factors, p.shape[1]))
        place = 0
        for k in range(self.classes - 1):
            following = p[k + 1 :]
            np.multiply(p[k], following, out=factors[place : place + len(following)])
            place += len(following)
        return factors

    def hessian(self, products: Array) -> Array:
        first, second = np.triu_indices(self.classes, 1)
        columns = products.shape[-1]
        blocks = np.zeros((self.classes, self.classes, columns, columns))
        blocks[first, second] = blocks[second, first] = -products
        each = np.arange(self.classes)
        blocks[each, each] = -blocks.sum(axis=1)
        half = np.tensordot(self.basis, blocks, (0, 0))
        whole = np.tensordot(half, self.basis, (1, 0))
        size = self.contrasts * columns
        return np.ascontiguousarray(whole.transpose(0, 1, 3, 2)).reshape(size, size)

    def log_probabilities(self, scores: Array) -> Array:
        return log_normalize(scores)

    def as_softmax(self, by_score: Array) -> Array:
        return by_score


def logit(classes: int) -> Likelihood:
    """Of two classes; of more, softmax."""
    return Logit() if classes == 2 else Softmax(classes)


def probit(classes: int) -> Likelihood:
    """Of two classes; more are refused."""
    if classes > 2:
        raise ClasswiseError(
            f"Only binary classification is supported by link='probit': it has two classes, and y has {classes}; use "
            "link='logit' (softmax)."
        )
    return Probit()


LINKS: dict[str, Callable[[int], Likelihood]] = {"logit": logit, "probit": probit}


def _own_places(codes: Codes, count: int) -> Codes:
    """Where the entries of the rows' own classes are in a flattened array (g, m)."""
    places = np.multiply(codes, count, dtype=np.intp)
    places += np.arange(count)
    return places
