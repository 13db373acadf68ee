"""Naive Bayes: features that are independent within a class, log p(x | k) = sum over features of log p(x_j | k)."""

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from classwise.arrays import Array, Codes
from classwise.calibration import Calibration
from classwise.covariance import ESTIMATES, Blend, DiagonalCovariance, Fixed, Recipe, check_prior
from classwise.densities import Gaussian
from classwise.errors import SingularCovarianceError
from classwise.estimators.belief import believe
from classwise.estimators.blocks import GaussianFit, borrowed, borrowers
from classwise.estimators.choosing import ChoosingEstimator, Chosen
from classwise.estimators.crossing import Crossing
from classwise.estimators.discriminating import Discriminating
from classwise.estimators.gaussian import Calibrate, Estimate, Missing, Prior, Ties
from classwise.estimators.strength import PriorChoice, chosen_prior, open_prior, settled_prior
from classwise.options import choose, fraction
from classwise.priors import Priors
from classwise.schema import Families
from classwise.selection import Downdates
from classwise.statistics import ClassStatistics, DiagonalScatter, Scatter
from classwise.storage import stored


@stored("NaiveBayes", kind="model")
class NaiveBayes(Discriminating, ChoosingEstimator):
    """Naive Bayes on mixed columns: each column has a family of its own, and its own parameters in each class.

    families: "auto" goes by type (numbers gaussian, booleans bernoulli, text and categories categorical); "best" lets
        each number take the family of largest evidence among gaussian, lognormal, poisson and categorical (families_
        and schema_ tell which); a mapping names some: {"visits": "poisson", "wins": "binomial(10)"}.
    smoothing: pseudo-rows at each level (a Dirichlet or beta prior) and at the mean rate of a Poisson column (a gamma
        prior); 0 is maximum likelihood, where a level that a class never showed rules the class out.
    floor: the least variance of a feature within a class, as a fraction of that feature's variance over all rows; 0
        refuses features that do not vary within a class. A feature that never varies says nothing and is left out.
        Either way a warning names the columns.
    estimate: "mle" divides a sum of squares by n_k, "unbiased" by n_k - 1; "bayes" integrates mean and variance out, so
        that numbers are Student-t within a class, and needs no floor.
    prior: for estimate="bayes", as in GaussianClassifier.
    priors: "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of sorted
        labels.
    calibrate: "temperature" raises posteriors to the power that suits rows held out (calibration_ tells which): columns
        that depend on each other make naive Bayes too sure. No decision changes.
    folds: how rows are held out for calibrate and prior="cv": a number of stratified folds, the fold of each row, or a
        splitter of scikit-learn's.
    min_frequency: levels with a smaller share of the rows (or weight, from 1 on) are pooled, with levels never seen.
    missing: "integrate" leaves missing values out, at fit and at predict; "level" also learns from the fact that a
        value is missing; "error" refuses them.
    ties: "first" label, or one at "random", drawn with random_state.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> int((NaiveBayes().fit(X, y).predict(X) != y).sum())
    6
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 42, 57, 60, None], "city": ["Rome", "Oslo", "Rome", None, "Rome"]})
    >>> m = NaiveBayes().fit(people, ["a", "a", "b", "b", "b"])
    >>> m.predict(pd.DataFrame({"age": [None, 59], "city": ["Oslo", "Paris"]})).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        *,
        families: Families = "auto",
        smoothing: float = 1.0,
        floor: float = 1e-6,
        estimate: Estimate = "mle",
        prior: Prior = "weak",
        priors: Priors = "empirical",
        calibrate: Calibrate = None,
        folds: Any = 10,
        min_frequency: float = 0.0,
        missing: Missing = "integrate",
        ties: Ties = "first",
        random_state: Any = None,
    ) -> None:
        self.families = families
        self.smoothing = smoothing
        self.min_frequency = min_frequency
        self.missing = missing
        self.floor = floor
        self.estimate = estimate
        self.prior = prior
        self.priors = priors
        self.calibrate = calibrate
        self.folds = folds
        self.ties = ties
        self.random_state = random_state

    def _recipe(self) -> Recipe:
        divisor = choose("estimate", self.estimate, {**ESTIMATES, "bayes": ESTIMATES["mle"]})
        return Recipe(DiagonalCovariance, divisor, Blend(0.0), Fixed(0.0))

    def _scatter_form(self) -> type[Scatter]:
        fraction("floor", self.floor)
        check_prior(self.prior)
        return DiagonalScatter if self._is_bayes else self._recipe().scatter_form()

    prior_choice_: PriorChoice
    calibration_: Calibration

    def _open_choices(self) -> dict[str, Any]:
        return open_prior(self)

    def _choose(self, crossing: Crossing) -> Chosen:
        return chosen_prior(self, crossing, DiagonalCovariance, False)

    def _unfitted(self) -> Self:
        return clone(self).set_params(prior=settled_prior(self), calibrate=None)

    def _gaussian(self, statistics: ClassStatistics) -> GaussianFit:
        if self._is_bayes:
            return believe(statistics, DiagonalCovariance, False, self.prior)
        filled = borrowed(statistics)
        variances, low = self._floored(filled)
        remarks = self._remarks(filled, low) + borrowers(statistics)
        return GaussianFit(Gaussian(filled.mean, DiagonalCovariance(variances)), remarks)

    def _independent(self, statistics: ClassStatistics) -> GaussianFit:
        return self._gaussian(statistics)

    def _downdates(self) -> Downdates | None:
        statistics = self._statistics_of_gaussian()
        if statistics is None:
            return None
        return Downdates(statistics.by_column().denoised(), self._recipe(), self.floor)

    def _floored(self, statistics: ClassStatistics) -> tuple[Array, Codes]:
        """The variances within each class, none below the floor (g, p), and the columns where it mattered."""
        variances = self._recipe().blend(statistics).values
        least = np.broadcast_to(self.floor * statistics.moments.overall_variance(), variances.shape)
        return np.maximum(variances, least), np.flatnonzero((variances <= least).any(axis=0))

    def _remarks(self, statistics: ClassStatistics, low: Codes) -> list[str]:
        """Names the columns whose variance was raised; an error if floor is 0."""
        if not len(low):
            return []
        names = ", ".join(statistics.name(column) for column in low)
        if self.floor == 0:
            raise SingularCovarianceError(
                f"These columns do not vary within every class, and floor=0 refuses that: {names}. "
                "Give floor as a small fraction of the overall variance (floor=1e-6), or drop the columns."
            )
        return [f"raised variances within a class to {self.floor:g} of the overall variance in {names}"]

    @property
    def variances_(self) -> Array:
        """The variance of each Gaussian column within each class, floored; of Student-t densities the shape; (g, p)."""
        return self.gaussian_.covariance.values
