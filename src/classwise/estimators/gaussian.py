"""The Gaussian family: one estimator with two dials, share and shrink."""

from typing import Any, Literal

import numpy as np

from classwise.arrays import Array
from classwise.covariance import ESTIMATES, STRUCTURES, Recipe, read_sharing, read_shrinkage
from classwise.densities import Gaussian
from classwise.discriminant import Boundary, Discriminant, boundary, discriminant
from classwise.errors import ClasswiseError
from classwise.estimators.base import BayesEstimator
from classwise.options import choose
from classwise.priors import Priors
from classwise.statistics import ClassStatistics, Scatter

Structure = Literal["full", "diagonal", "spherical"]
Share = float | Literal["average"]
Shrink = float | Literal["oas"]
Estimate = Literal["mle", "unbiased"]
Ties = Literal["first", "random"]


class GaussianClassifier(BayesEstimator):
    """One Gaussian per class: log p(x | k) = -p/2 log 2π - 1/2 log|C_k| - 1/2 (x - m_k)' C_k^-1 (x - m_k).

        C_k(share)         = (1 - share) C_k + share C_shared
        C_k(share, shrink) = (1 - shrink) C_k(share) + shrink (tr C_k(share) / p) I

    structure: "full", "diagonal" (features independent within a class) or "spherical" (one variance for all features;
        shrinking it changes nothing).
    share: 0 for a covariance of each class's own, 1 for one that all share, anything between, or "average" for the
        unweighted mean of the classes' covariances.
    shrink: 0 for the covariance as estimated, 1 for a sphere, anything between, or "oas" for the amount that Chen et
        al. (2010) derive from the covariance and the number of rows.
    estimate: "mle" divides scatter by n_k (shared: n), "unbiased" by n_k - 1 (shared: n - g).
    priors: "empirical", "uniform", a mapping from label to probability, or a sequence in the order of sorted labels.
    standardize: shrink (or take the sphere) in units of each feature's overall standard deviation; means_ and
        covariances_ stay in the units of X.
    ties: "first" label, or one at "random", drawn with random_state.

    >>> X = [[1.8], [2.1], [2.5], [3.2], [3.8], [5.8], [6.7], [7.0]]
    >>> m = GaussianClassifier().fit(X, [0, 0, 0, 0, 0, 1, 1, 1])
    >>> m.predict_proba([[4.6], [5.0]]).round(4)
    array([[0.9744, 0.0256],
           [0.3623, 0.6377]])
    """

    def __init__(
        self,
        *,
        structure: Structure = "full",
        share: Share = 0.0,
        shrink: Shrink = 0.0,
        estimate: Estimate = "mle",
        priors: Priors = "empirical",
        standardize: bool = False,
        ties: Ties = "first",
        random_state: Any = None,
    ) -> None:
        self.structure = structure
        self.share = share
        self.shrink = shrink
        self.estimate = estimate
        self.priors = priors
        self.standardize = standardize
        self.ties = ties
        self.random_state = random_state

    def _recipe(self) -> Recipe:
        return Recipe(
            choose("structure", self.structure, STRUCTURES),
            choose("estimate", self.estimate, ESTIMATES),
            read_sharing(self.share),
            read_shrinkage(self.shrink),
            choose("standardize", self.standardize, {True: True, False: False}),
        )

    def _scatter_form(self) -> type[Scatter]:
        return self._recipe().scatter_form()

    def _density(self, statistics: ClassStatistics) -> Gaussian:
        return Gaussian(statistics.mean, self._recipe().estimate(statistics))

    @property
    def gaussian_(self) -> Gaussian:
        """The densities: means and covariance."""
        density = self.classifier_.density
        assert isinstance(density, Gaussian)
        return density

    @property
    def covariances_(self) -> Array:
        """The covariance matrix of each class; (g, p, p), a read-only view of one matrix where all share it."""
        matrices = self.gaussian_.covariance.matrices()
        return np.broadcast_to(matrices, (len(self.classes_), *matrices.shape[1:]))

    def discriminant(self, label: Any) -> Discriminant:
        """g_k(x) = x'A x + b'x + c: the log joint of a class, up to a constant that all classes share."""
        k = self._position(label)
        return discriminant(self.gaussian_, k, float(self.classifier_.log_prior[k, 0]))

    def boundary(self, first: Any, second: Any) -> Boundary:
        """f(x) = x'W x + w'x + w0, positive where `first` is more probable than `second`.

        >>> X = [[-1, -1], [-1, 1], [2, 0], [3, 0]]
        >>> edge = GaussianClassifier(share="average").fit(X, [-1, -1, 1, 1]).boundary(1, -1)
        >>> edge.w, round(edge.w0, 12)
        (array([28.,  0.]), -21.0)
        """
        edge = boundary(self.discriminant(first), self.discriminant(second))
        if np.isnan(edge.w0):
            raise ClasswiseError(f"Classes {first!r} and {second!r} both have a prior of zero: there is no boundary.")
        return edge

    def _position(self, label: Any) -> int:
        labels = self.classes_.tolist()
        if label not in labels:
            raise ClasswiseError(f"{label!r} is not a class of the model; the classes are {labels}.")
        return labels.index(label)
