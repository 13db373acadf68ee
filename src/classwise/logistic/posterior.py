"""What is believed of the weights once the rows are seen: a Gaussian, or draws.

    V ~ N(mode, A^-1), A the Hessian of the objective;   score of a row: V z ~ N(mode z, [z'C_ab z])

So says Laplace; the Gaussian nearest to the posterior (see variational) has another center and another A.
C_ab is the block of the covariance between contrasts a and b.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from classwise.arrays import EPS, Array
from classwise.errors import ClasswiseError
from classwise.statistics.curvature import DesignColumns, scores_of, squares_of
from classwise.storage import stored

# Curvature this small a part of that without any weights is none: some weights may be anything.
FLATTEST = 1e-7


class WeightPosterior(ABC):
    """Beliefs about weights V (r, q)."""

    @property
    @abstractmethod
    def mean(self) -> Array:
        """(r, q)."""

    @property
    @abstractmethod
    def covariance(self) -> Array:
        """(r q, r q), of V flattened row by row."""

    @abstractmethod
    def sample(self, count: int, generator: np.random.Generator) -> Array:
        """Weights; (count, r, q)."""


@stored("Laplace")
@dataclass(frozen=True, eq=False)
class Laplace(WeightPosterior):
    """A Gaussian: by Laplace, or the nearest to the posterior.

    mode (r, q): its center; factor (r q, r q): L, lower triangular, of the precision L L' of the weights.
    """

    mode: Array
    factor: Array

    @classmethod
    def of(cls, mode: Array, hessian: Array) -> "Laplace":
        """From the Hessian of the objective at the mode."""
        try:
            return cls(mode, cholesky(hessian, lower=True))
        except LinAlgError:
            raise _undetermined() from None

    def _is_sound(self) -> bool:
        squared = self.mode.ndim == 2 and self.factor.shape == (self.mode.size, self.mode.size)
        return squared and bool((self.factor.diagonal() > 0).all() and np.isfinite(self.covariance).all())

    @property
    def mean(self) -> Array:
        return self.mode

    @cached_property
    def root(self) -> Array:
        """R = L^-T, with covariance R R'; (r q, r q)."""
        return np.asarray(solve_triangular(self.factor, np.eye(len(self.factor)), lower=True).T)

    @cached_property
    def covariance(self) -> Array:
        return self.root @ self.root.T

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        normal = generator.standard_normal((len(self.factor), count))
        return self.mode + (self.root @ normal).T.reshape(count, *self.mode.shape)

    @cached_property
    def blocks(self) -> Array:
        """The covariance between contrasts; (r, r, q, q)."""
        r, q = self.mode.shape
        return np.ascontiguousarray(self.covariance.reshape(r, q, r, q).transpose(0, 2, 1, 3))

    def scores(self, columns: DesignColumns) -> tuple[Array, Array]:
        """Mean (r, m) and covariance (r, r, m) of the scores of rows with columns (q, m)."""
        mean = scores_of(self.mode, columns)
        covariance = np.empty((len(mean), *mean.shape))
        for a in range(len(mean)):
            for b in range(a + 1):
                covariance[a, b] = covariance[b, a] = squares_of(self.blocks[a, b], columns)
        return mean, covariance


@dataclass(frozen=True, eq=False)
class PointMass(WeightPosterior):
    """All belief in the most probable weights (r, q): for predictions at these alone, which need no curvature."""

    mode: Array

    @property
    def mean(self) -> Array:
        return self.mode

    @property
    def covariance(self) -> Array:
        return np.zeros((self.mode.size, self.mode.size))

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        return np.tile(self.mode, (count, 1, 1))


@stored("Draws")
@dataclass(frozen=True, eq=False)
class Draws(WeightPosterior):
    """Draws of the weights, by chain: values (chains, draws, r, q)."""

    values: Array

    def _is_sound(self) -> bool:
        return self.values.ndim == 4 and self.values.size > 0

    @cached_property
    def flat(self) -> Array:
        """All draws; (count, r, q)."""
        return self.values.reshape(-1, *self.values.shape[2:])

    @cached_property
    def mean(self) -> Array:
        return self.flat.mean(axis=0)

    @cached_property
    def covariance(self) -> Array:
        return np.atleast_2d(np.cov(self.flat.reshape(len(self.flat), -1), rowvar=False))

    def sample(self, count: int, generator: np.random.Generator) -> Array:
        return self.flat[generator.integers(len(self.flat), size=count)]


def refuse_flat(hessian: Array, without: Array) -> None:
    """Refuse directions in which weights may be anything: where there is hardly any curvature left of that at zero."""
    scale = 1 / np.sqrt(np.maximum(without.diagonal(), np.finfo(np.float64).tiny))
    reference = without * scale * scale[:, None]
    reference[np.diag_indices_from(reference)] += len(scale) * EPS
    lowest = eigh(hessian * scale * scale[:, None], reference, eigvals_only=True, subset_by_index=[0, 0])[0]
    dependent = eigh(reference, eigvals_only=True, subset_by_index=[0, 0])[0] < 1e-10
    if dependent or not lowest > FLATTEST:
        raise _undetermined()


def _undetermined() -> ClasswiseError:
    return ClasswiseError(
        "precision=0 leaves some weights undetermined: columns depend on each other (all levels of a category do), or "
        "the classes can be separated, and the weights are infinite. Give a precision above 0, or precision='evidence'."
    )
