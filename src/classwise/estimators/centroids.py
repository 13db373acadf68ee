"""Nearest shrunken centroids: for many columns, of which few separate classes."""

from typing import Any, ClassVar, Literal

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import Priors
from classwise.classifier.boundary import column_names
from classwise.classifier.plan import BlockPlan
from classwise.densities.centroids import Shrunken
from classwise.errors import ClasswiseError, at_least, choose, fraction
from classwise.estimators.discriminants import DiscriminantAnswers
from classwise.estimators.gaussian import Calibrate, Missing, Ties
from classwise.estimators.prediction_sets import SetEstimator
from classwise.estimators.summary import read_common
from classwise.rows.schema import Families
from classwise.selection.thresholds import ThresholdPath
from classwise.storage import stored

METRICS = {"standardized": False, "euclidean": True}


@stored("ShrunkenCentroids", kind="model")
class ShrunkenCentroids(DiscriminantAnswers, SetEstimator):
    """Nearest shrunken centroids (Tibshirani et al. 2002), as in pamr: class means that differ in few columns.

        d_kj = (m_kj - m_j) / (sqrt(1/n_k - 1/n) (s_j + s0)),   d'_kj = sign(d_kj) max(|d_kj| - threshold, 0)

    The difference of each class mean from the overall mean, in standard errors, is moved toward zero by the threshold.
    A column in which no difference is left does not count any more: the threshold selects columns. Classes are Gaussian
    around the shrunken means, with independent columns of deviation s_j + s0 that all classes share.

    Parameters
    ----------
    threshold : float or {"cv"}, default="cv"
        How far differences are moved toward zero, in standard errors; 0 keeps them all. "cv" tries 30 values,
        and takes the one with the least cross-validated log loss (threshold_path_ has them all).
    offset : float, optional, default=0.5
        Which quantile of the deviations s_j within classes is s0, which keeps columns that hardly vary from
        counting most: 0.5 for the median, as in pamr and scikit-learn; None for s0 = 0.
    metric : {"standardized", "euclidean"}, default="standardized"
        "standardized" measures each column in units of s_j + s0, as pamr does. "euclidean" measures all
        columns in one unit, as scikit-learn's NearestCentroid does with equal priors.
    priors : str, mapping or sequence, default="empirical"
        "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of
        sorted labels.
    calibrate : {"temperature"}, optional
        "temperature" raises posteriors to the power that fits held-out rows best (calibration_ holds it).
        With many dependent columns posteriors are overconfident, which this corrects. It changes no decision.
    folds : int, array of shape (n,) or splitter, default=10
        How rows are held out for "cv" and calibrate: a number of stratified folds, the fold of each row, or a
        scikit-learn splitter.
    families : str or mapping from column to family, default="auto"
        How to model columns whose type is misleading, such as {"visits": "poisson", "grade": "categorical"}.
        Only columns of numbers are shrunk; all others are independent of them within a class.
    smoothing : float, default=1.0
        Pseudo-rows at each level of a category; 0 is maximum likelihood.
    min_frequency : float, default=0.0
        Levels with a smaller share of the rows are pooled, together with unseen levels; from 1 on it is a
        weight instead of a share.
    missing : {"integrate", "level", "error"}, default="integrate"
        "integrate" leaves missing values out, at fit and at predict; "level" also learns from the fact that a
        value is missing; "error" refuses them.
    ties : {"first", "random"}, default="first"
        "first" predicts the first label, "random" one drawn with random_state.
    random_state : int, RandomState or Generator, optional
        The seed of what is drawn at random.

    Attributes
    ----------
    classes_
        The labels, sorted.
    priors_
        The prior of each class; (g,).
    calibration_
        The power of the posteriors and its log loss, with calibrate="temperature".
    centroids_
        The shrunken mean of each class in each column, as in scikit-learn's NearestCentroid; (g, p).
    classifier_
        The classifier without the scikit-learn interface.
    covariances_
        The covariance matrix of each class; (g, p, p), read-only.
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    gaussian_
        The Gaussians of the columns of numbers: means and covariances.
    log_marginal_likelihood_
        Log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior.
    means_
        The shrunken mean of each class in the Gaussian columns; (g, p).
    model_
        The fitted model without the scikit-learn interface.
    n_features_in_
        The number of columns.
    parameters_
        The estimates of each column, by name (or position): arrays over the classes, (g,) each.
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.
    selected_columns_
        The columns of numbers in which classes still differ, by name (or position).
    statistics_
        What was gathered from the rows; statistics add and subtract.
    threshold_
        The threshold in use: the one given, or the one that was chosen.
    threshold_path_
        The log loss of every threshold tried and the number of columns it leaves, where "cv" chose it.

    Notes
    -----
    The model needs only the weight, mean and sum of squares of each column, so memory grows with the number of columns,
    and not with its square. Statistics add, so that `partial_fit`, `fit_statistics` and `fit_source` give the same
    model. scikit-learn's NearestCentroid has the same centroids. With equal priors it predicts by Euclidean distances,
    as metric="euclidean" does. With other priors it divides by s_j, without s0, and its posteriors are the squares of
    those of Bayes' rule, normalized.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b"], 20)
    >>> X = rng.normal(size=(40, 500))
    >>> X[:, :3] += np.where(y == "a", 0.0, 3.0)[:, None]
    >>> m = ShrunkenCentroids(threshold=4).fit(X, y)
    >>> m.selected_columns_
    [0, 1, 2]
    >>> int((m.predict(X) != y).sum())
    0
    """

    estimate: ClassVar[str] = "unbiased"  # type: ignore[misc]

    def __init__(
        self,
        *,
        threshold: float | Literal["cv"] = "cv",
        offset: float | None = 0.5,
        metric: Literal["standardized", "euclidean"] = "standardized",
        priors: Priors = "empirical",
        calibrate: Calibrate = None,
        folds: Any = 10,
        families: Families = "auto",
        smoothing: float = 1.0,
        min_frequency: float = 0.0,
        missing: Missing = "integrate",
        ties: Ties = "first",
        random_state: Any = None,
    ) -> None:
        self.threshold = threshold
        self.offset = offset
        self.metric = metric
        self.priors = priors
        self.calibrate = calibrate
        self.folds = folds
        self.families = families
        self.smoothing = smoothing
        self.min_frequency = min_frequency
        self.missing = missing
        self.ties = ties
        self.random_state = random_state

    threshold_path_: ThresholdPath

    def _plan(self) -> BlockPlan:
        is_open = isinstance(self.threshold, str) and self.threshold == "cv"
        if isinstance(self.threshold, str) and not is_open:
            raise ClasswiseError(
                f"threshold={self.threshold!r} is not an option; give a number of at least 0, or 'cv'."
            )
        threshold = 0.0 if is_open else at_least("threshold", self.threshold, 0)
        offset = None if self.offset is None else fraction("offset", self.offset)
        numbers = Shrunken(threshold, offset, choose("metric", self.metric, METRICS), is_open)
        return BlockPlan(**read_common(self), numbers=numbers)

    @property
    def threshold_(self) -> float:
        """The threshold in use: the one given, or the one that was chosen."""
        path = self._fitted().__dict__.get("threshold_path_")
        return float(self.threshold) if path is None else path.best

    @property
    def centroids_(self) -> Array:
        """The shrunken mean of each class in each column, as in scikit-learn's NearestCentroid; (g, p).

        For models of numbers alone. A constant column has its value; one without values has NaN.
        """
        self._refuse_beside("A centroid")
        return self._with_constants(self.means_)

    @property
    def selected_columns_(self) -> list[Any]:
        """The columns of numbers in which classes still differ, by name (or position)."""
        columns, gaussian = self._numbers_block()
        differ = np.flatnonzero((gaussian.means != gaussian.means[0]).any(axis=0))
        places = columns[differ].tolist()
        return list(column_names(self.model_.schema, places)) if self.model_.schema.names else places
