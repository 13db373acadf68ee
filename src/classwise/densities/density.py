"""What a classifier asks of the densities of its classes."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes


class Density(ABC):
    """p(x | k) for every class k at once. Results are class-major: one row of (g, m) per class.

    A row is p numbers; a category stands in it as the position of its level, and as -1 where it is missing.
    """

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of classes g."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features p of a row."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers an evaluation holds per row; engines choose the size of chunks by it."""

    @property
    @abstractmethod
    def free_parameters(self) -> int:
        """How many numbers were estimated, or integrated out."""

    @abstractmethod
    def relative(self, rows: Array, offset: Array) -> Array:
        """log p(x | k) + offset_k, up to a term common to all classes, which Bayes' rule cancels; (m, p) -> (g, m).

        offset (g, 1): the log priors, for Bayes' rule; zeros, for the densities themselves.
        """

    @abstractmethod
    def common(self, rows: Array) -> Array | float:
        """That common term; (m, p) -> (m,), or 0."""

    @abstractmethod
    def observed(self, rows: Array, offset: Array) -> Array:
        """log p(x_o | k) + offset_k, where o are the columns that have a value and NaN is integrated out; (g, m)."""

    @abstractmethod
    def shares(self, row: Array, first: int, second: int) -> Array:
        """Each column's share of log p(x | first) - log p(x | second), 0 where it is missing; (p,) -> (p,).

        They add up to it but for a term that belongs to no column (the volumes of joint Gaussians).
        """

    @abstractmethod
    def parameters(self) -> list[dict[Any, Array]]:
        """What was estimated of each column, by name; each an array over the classes (g,)."""

    @abstractmethod
    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        """One row drawn from the density of each code; (m,) -> (m, p)."""


class Located(Density):
    """Densities around a point for each class; means (g, p)."""

    means: Array

    @property
    def count(self) -> int:
        return len(self.means)

    @property
    def n_features(self) -> int:
        return self.means.shape[1]

    @abstractmethod
    def matrices(self) -> Array:
        """The covariance of each class, or the shape of its Student-t; (g, p, p)."""
