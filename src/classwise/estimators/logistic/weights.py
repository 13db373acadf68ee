"""What was learned of the weights, in the columns' own units."""

from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.errors import ClasswiseError, NotAvailableError, fraction
from classwise.estimators.answers import read_generator
from classwise.estimators.logistic.answers import LogisticAnswers
from classwise.estimators.logistic.model import Coefficients
from classwise.logistic import Diagnostics


class LogisticWeights(LogisticAnswers):
    """Weights, their posterior, and how they were found."""

    @property
    def coef_(self) -> Array:
        """Most probable weights (means, of draws and of the nearest Gaussian) of the columns, in their own units.

        (1, p) for two classes, of the second against the first; (g, p) for more, which sum to zero over the classes. A
        category has one column for each level, or one for the second of two.
        """
        return self._split(self._fitted().model_.weights)[0]

    @property
    def intercept_(self) -> Array:
        """(1,) or (g,), as coef_."""
        return self._split(self._fitted().model_.weights)[1]

    @property
    def coef_std_(self) -> Array:
        """Posterior standard deviations of coef_; those of softmax are relative to the mean of the classes."""
        return self._split(self._fitted().model_.deviation)[0]

    @property
    def intercept_std_(self) -> Array:
        """Posterior standard deviations of intercept_."""
        return self._split(self._fitted().model_.deviation)[1]

    @property
    def coef_names_(self) -> list[str]:
        """What weights belong to: columns, levels as "column=level", and the intercept last."""
        return self._fitted().model_.names

    @property
    def coef_cov_(self) -> Array:
        """Posterior covariance of all weights, class after class, each in the order of coef_names_; (k q, k q)."""
        return self._fitted().model_.covariance

    def coefficients(self, level: float = 0.95) -> Coefficients:
        """Weights with their posterior deviations and credible intervals, as a table.

        >>> import classwise as cw
        >>> cw.BayesianLogistic(precision=1.0).fit([[0], [1], [2], [3]], ["no", "no", "yes", "yes"]).coefficients()
        label  column       weight  deviation     low   high
        yes    x0           0.8444     0.6834  -0.495  2.184
        yes    (intercept)  -1.267      1.506  -4.218  1.685
        """
        return self._fitted().model_.coefficients(fraction("level", level))

    def sample_weights(self, n: int = 1, random_state: Any = None) -> Array:
        """Weights drawn from the posterior, in the columns' own units, in the order of coef_names_; (n, k, q)."""
        if not (isinstance(n, (int, np.integer)) and n >= 0):
            raise ClasswiseError(f"n={n!r} is not a number of draws.")
        return self._fitted().model_.sample(int(n), read_generator(random_state))

    @property
    def precision_(self) -> dict[Any, float]:
        """The precision of the prior on the weights of each column, by name (or position)."""
        model = self._fitted().model_
        keys, codes = model.schema.names or range(len(model.schema)), model.groups.codes
        return {keys[j]: float(model.values[c]) for j, c in zip(model.classifier.design.source, codes, strict=False)}

    @property
    def log_marginal_likelihood_(self) -> float:
        """log P(labels | rows), weights integrated out by Laplace's approximation; given the precision.

        With posterior="variational" it is the bound of it that the nearest Gaussian has: never above the exact value,
        but for the error of averages over more than two classes.
        An intercept without a prior counts as flat, of density one. A flat prior on other weights has no evidence.
        """
        evidence = self._fitted().model_.log_evidence
        if evidence is None:
            raise NotAvailableError("precision=0 is no prior, so there is no marginal likelihood; give a precision.")
        return evidence

    @property
    def diagnostics_(self) -> Diagnostics:
        """Of draws: the effective sample size and R-hat of each weight, as the sampler sees them (contrasts)."""
        diagnostics = self._fitted().model_.diagnostics
        if diagnostics is None:
            raise NotAvailableError("Only draws have an effective sample size: fit with posterior='sampled'.")
        return diagnostics

    @property
    def passes_(self) -> int:
        """How many times the curvature of all rows was gathered; passes that gather gradients alone are not counted.

        With posterior="variational", those over which it was averaged are.
        """
        return self._fitted().model_.passes

    def _split(self, values: Array) -> tuple[Array, Array]:
        """Values (k, q) of the columns and of the intercept, 0 where there is none."""
        if self.model_.classifier.design.intercept:
            return values[:, :-1], values[:, -1]
        return values, np.zeros(len(values))
