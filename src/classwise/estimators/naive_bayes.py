"""Naive Bayes: features that are independent within a class, log p(x | k) = sum over features of log p(x_j | k)."""

import warnings
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.covariance import ESTIMATES, Blend, DiagonalCovariance, Fixed, Recipe
from classwise.densities import Block, Constant, Density, Gaussian, Product
from classwise.errors import ClasswiseError, DegenerateColumnWarning, SingularCovarianceError
from classwise.estimators.base import BayesEstimator
from classwise.estimators.gaussian import Estimate, Ties
from classwise.options import choose, fraction
from classwise.priors import Priors
from classwise.statistics import ClassStatistics, Scatter


class NaiveBayes(BayesEstimator):
    """Naive Bayes with a Gaussian for each feature and class.

    floor: the least variance of a feature within a class, as a fraction of that feature's variance over all rows; 0
        refuses features that do not vary within a class. A feature that never varies says nothing and is left out.
        Either way one warning names the columns.
    estimate: "mle" divides a sum of squares by n_k, "unbiased" by n_k - 1.
    priors: "empirical", "uniform", a mapping from label to probability, or a sequence in the order of sorted labels.
    ties: "first" label, or one at "random", drawn with random_state.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> int((NaiveBayes().fit(X, y).predict(X) != y).sum())
    6
    """

    def __init__(
        self,
        *,
        floor: float = 1e-6,
        estimate: Estimate = "mle",
        priors: Priors = "empirical",
        ties: Ties = "first",
        random_state: Any = None,
    ) -> None:
        self.floor = floor
        self.estimate = estimate
        self.priors = priors
        self.ties = ties
        self.random_state = random_state

    def _recipe(self) -> Recipe:
        return Recipe(DiagonalCovariance, choose("estimate", self.estimate, ESTIMATES), Blend(0.0), Fixed(0.0))

    def _scatter_form(self) -> type[Scatter]:
        fraction("floor", self.floor)
        return self._recipe().scatter_form()

    def _density(self, statistics: ClassStatistics) -> Density:
        constant = np.flatnonzero(statistics.moments.constant())
        varying = np.setdiff1d(np.arange(statistics.n_features), constant)
        if not len(varying):
            raise ClasswiseError("No column of X varies, so there is nothing to tell the classes apart.")
        variances, low = self._floored(statistics)
        self._report(statistics, np.setdiff1d(low, constant), constant)
        gaussian = Gaussian(statistics.mean[:, varying], DiagonalCovariance(variances[:, varying]))
        if not len(constant):
            return gaussian
        rest = Constant(statistics.mean[0, constant], len(statistics.labels))
        return Product((Block(varying, gaussian), Block(constant, rest)))

    def _floored(self, statistics: ClassStatistics) -> tuple[Array, Codes]:
        """The variances within each class, none below the floor (g, p), and the columns where it mattered."""
        variances = self._recipe().blend(statistics).values
        least = np.broadcast_to(self.floor * statistics.moments.overall_variance(), variances.shape)
        return np.maximum(variances, least), np.flatnonzero((variances <= least).any(axis=0))

    def _report(self, statistics: ClassStatistics, low: Codes, constant: Codes) -> None:
        """One warning that names the columns whose variance was raised and those left out; an error if floor is 0."""
        names = ", ".join(statistics.name(column) for column in low)
        if len(low) and self.floor == 0:
            raise SingularCovarianceError(
                f"These columns do not vary within every class, and floor=0 refuses that: {names}. "
                "Give floor as a small fraction of the overall variance (floor=1e-6), or drop the columns."
            )
        parts = []
        if len(low):
            parts.append(f"raised variances within a class to {self.floor:g} of the overall variance in {names}")
        if len(constant):
            never = ", ".join(statistics.name(column) for column in constant)
            parts.append(f"left out columns that never vary: {never}")
        if parts:
            warnings.warn("Naive Bayes " + "; ".join(parts) + ".", DegenerateColumnWarning, stacklevel=6)

    @property
    def variances_(self) -> Array:
        """The variance of each feature within each class, floored; (g, p)."""
        return self._floored(self._fitted().statistics_)[0]

    @property
    def covariances_(self) -> Array:
        """The same as diagonal matrices; (g, p, p)."""
        return DiagonalCovariance(self.variances_).matrices()
