"""High-dimensional discriminant analysis: classes in subspaces of their own, for more columns than rows."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.classifier.bayes import Calibration, Priors
from classwise.classifier.plan import BlockPlan, Plan
from classwise.covariance import TOLERANCE, Completion
from classwise.covariance.subspace import SubspaceCovariance
from classwise.densities.numbers import NumbersFit
from classwise.densities.subspace import MODELS, Dimension, Given, LeastBic, Scree, Subspaces
from classwise.engines import BLAS, Rows
from classwise.errors import ClasswiseError, NotAvailableError, at_least, choose, fraction, whole
from classwise.estimators.answers import codes_among, read_seed
from classwise.estimators.discriminants import DiscriminantAnswers
from classwise.estimators.gaussian import Calibrate, Missing, Ties
from classwise.estimators.prediction_sets import SetEstimator
from classwise.estimators.summary import read_common
from classwise.rows.schema import Families
from classwise.rows.sources import Source, open_source, required
from classwise.rows.table import Table
from classwise.selection.by_rows import out_of_fold_by_rows
from classwise.selection.leave_one_out import LeavingOut
from classwise.statistics import ClassStatistics, DiagonalScatter
from classwise.storage import stored


@dataclass(frozen=True)
class SubspacePlan(BlockPlan):
    """A plan that gathers no scatter of more columns than a matrix for each class can have."""

    def by_rows(self) -> Self:
        """The same with directions from the rows, and statistics of each column alone."""
        assert isinstance(self.numbers, Subspaces)
        return self.learning(replace(self.numbers, by_rows=True))

    def summarize(self, table: Table, before: ClassStatistics | None = None) -> ClassStatistics:
        if self.form is not DiagonalScatter:
            _refuse_many(len(table.schema.numbers))
        return super().summarize(table, before)

    def gather(self, rows: Rows) -> ClassStatistics:
        _refuse_many(len(rows.roles.features))
        return super().gather(rows)


def _refuse_many(columns: int) -> None:
    if columns > limits.MOST_SCATTER_COLUMNS:
        raise ClasswiseError(
            f"HDDA adds up statistics of at most {limits.MOST_SCATTER_COLUMNS} columns, as they hold a matrix for each "
            f"class, and here are {columns}. Call fit(X, y) with all rows in memory, which takes no such matrix; or "
            "ShrunkenCentroids and NaiveBayes, whose statistics grow with the columns and not with their square."
        )


@stored("HDDA", kind="model")
class HDDA(DiscriminantAnswers, SetEstimator):
    """High-dimensional discriminant analysis (Bouveyron, Girard and Schmid 2007), for more columns than rows.

        C_k = Q_k diag(a_k1, ..., a_kd, b_k, ..., b_k) Q_k'

    Each class varies by a_kj along d_k directions of its own, and by b_k, the noise, in all others. These covariances
    have an inverse however few rows there are, and cost p d_k numbers in place of p². By default all classes have the
    same noise and the same number of directions.

    Parameters
    ----------
    model : str, default="AkjBQkD"
        What is a class's own (with k) and what is common to all classes (without), under the names of R's
        HDclassif: A for the variances along the directions ("Akj", or one for each class, "Ak", or one for
        all, "A"), B for the noise, Q for the directions, D for their number. Each of "Akj", "Ak" and "A" goes
        with "B" or "Bk", then "Qk", then "D" or "Dk"; besides, there are "AjBQD" and "ABQD". HDclassif starts
        from "AkjBkQkDk"; noise in common takes far fewer rows.
    dimension : int or {"scree", "bic"}, default="scree"
        The number of directions: given, "scree" (Cattell's test: the last drop between eigenvalues that is at
        least threshold times the largest), or "bic" (the first minimum of the Bayesian information
        criterion). A class has at most two directions fewer than different rows.
    threshold : float, default=0.2
        For dimension="scree": how large a drop must be, as a part of the largest.
    priors : str, mapping or sequence, default="empirical"
        "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of
        sorted labels.
    calibrate : {"temperature"}, optional
        "temperature" raises posteriors to the power that fits held-out rows best (calibration_ holds it).
        With many columns and few rows posteriors are far too sure, which this corrects. It changes no decision.
    folds : int, array of shape (n,) or splitter, default=10
        How rows are held out for calibrate: a number of stratified folds, the fold of each row, or a
        scikit-learn splitter.
    families : str or mapping from column to family, default="auto"
        How to model columns whose type is misleading, such as {"visits": "poisson", "grade": "categorical"}.
        The subspaces are of the columns of numbers; all others are independent of them within a class.
    smoothing : float, default=1.0
        Pseudo-rows at each level of a category; 0 is maximum likelihood.
    min_frequency : float, default=0.0
        Levels with a smaller share of the rows are pooled, together with unseen levels; from 1 on it is a
        weight instead of a share.
    missing : {"integrate", "level", "error"}, default="integrate"
        "integrate" integrates missing values out at predict, and uses EM at fit (em_ has its course); with
        more than 1,000 columns of numbers, missing numbers are refused at fit. "level" also learns from the
        fact that a value is missing; "error" refuses missing values.
    tol : float, default=1e-10
        EM for missing values stops when the log-likelihood per row gains less than this.
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
    classifier_
        The classifier without the scikit-learn interface.
    covariances_
        The covariance matrix of each class; (g, p, p), for at most 5,000 columns.
    dimensions_
        The number of directions of each class, by label.
    em_
        The course of EM: iterations, log-likelihood, convergence; None without EM.
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    gaussian_
        The Gaussians of the columns of numbers. gaussian_.covariance has the directions Q (values), the variances
        a along them (spread) and b (noise).
    log_marginal_likelihood_
        Log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior.
    means_
        The mean of each class in the columns of numbers; (g, p).
    model_
        The fitted model without the scikit-learn interface.
    n_features_in_
        The number of columns.
    noise_
        The variance b of each class outside its directions; (g,).
    parameters_
        The estimates of each column, by name (or position): arrays over the classes, (g,) each.
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.
    statistics_
        What was gathered from the rows; statistics add and subtract.

    Notes
    -----
    Up to 1,000 columns of numbers the model comes from statistics that add: `partial_fit`, `fit_statistics` and
    `fit_source` give the same model as `fit`. Beyond that a matrix of all pairs of columns is too large, and `fit`
    takes the directions from the rows themselves, in memory that grows with rows times columns; the other ways to learn
    are an error. Directions depend on the units of the columns: standardize columns of different units first, as in
    `make_pipeline(StandardScaler(), HDDA())`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b"], 30)
    >>> X = rng.normal(size=(60, 200)) + 5 * rng.normal(size=(60, 1)) * rng.normal(size=200)
    >>> X[y == "b", :20] += 2
    >>> m = HDDA().fit(X, y)
    >>> m.dimensions_
    {'a': 1, 'b': 1}
    >>> int((m.predict(X) != y).sum())
    0
    """

    estimate: ClassVar[str] = "mle"  # type: ignore[misc]

    def __init__(
        self,
        *,
        model: str = "AkjBQkD",
        dimension: int | Literal["scree", "bic"] = "scree",
        threshold: float = 0.2,
        priors: Priors = "empirical",
        calibrate: Calibrate = None,
        folds: Any = 10,
        families: Families = "auto",
        smoothing: float = 1.0,
        min_frequency: float = 0.0,
        missing: Missing = "integrate",
        tol: float = TOLERANCE,
        ties: Ties = "first",
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.dimension = dimension
        self.threshold = threshold
        self.priors = priors
        self.calibrate = calibrate
        self.folds = folds
        self.families = families
        self.smoothing = smoothing
        self.min_frequency = min_frequency
        self.missing = missing
        self.tol = tol
        self.ties = ties
        self.random_state = random_state

    def _plan(self) -> SubspacePlan:
        model = choose("model", self.model, MODELS)
        numbers = Subspaces(model, self._rule(), at_least("tol", self.tol, 0))
        return SubspacePlan(**read_common(self), numbers=numbers)

    def _rule(self) -> Dimension:
        threshold = fraction("threshold", self.threshold)
        if isinstance(self.dimension, str):
            rules: dict[str, Dimension] = {"scree": Scree(threshold), "bic": LeastBic()}
            return choose("dimension", self.dimension, rules)
        return Given(whole("dimension", self.dimension, 0))

    # Learning -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,). A row of weight two counts twice, a row of weight zero not at all.

        X is an array or a pandas, polars or Arrow table; it may hold text, categories, booleans and missing values.
        With more than 1,000 columns of numbers, these are copied once, and must have no missing values.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows to learn from.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        plan, source = self._plan(), open_source(X)
        table = source.read(plan.families, required(y), sample_weight, strict=plan.strict)
        if len(table.schema.numbers) <= limits.MOST_SCATTER_COLUMNS:
            return super().fit(source, y, sample_weight)
        calibration = self._temperature(source, y, sample_weight) if self._is_choosing else None
        plan, table = plan.by_rows(), table.weighted()
        statistics = plan.summarize(table)
        model = plan.model_with(statistics, lambda numbers: _of_rows(plan, numbers, table))
        self._keep(model.with_classifier(model.classifier.calibrated(calibration)), statistics)
        if calibration is not None:
            self.calibration_ = calibration
        return self

    def _temperature(self, source: Source, y: Any, sample_weight: Any) -> Calibration:
        """The power of the posteriors, by one fit for each fold."""

        def answer(rows: Source, labels: Labels, weights: Array, held: Source) -> tuple[Labels, Array]:
            other = self._with_options({}).fit(rows, labels, weights)
            return other.classes_, other.predict_log_proba(held)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all rows gives the warnings
            seed = read_seed(self.random_state)
            return out_of_fold_by_rows(answer, source, y, sample_weight, self.folds, seed).fit()

    def _fit_rows(self, plan: Plan, rows: Rows) -> Self:
        held = rows.held() if len(rows.roles.features) > limits.MOST_SCATTER_COLUMNS else None
        return super()._fit_rows(plan, rows) if held is None else self.fit(held.X, held.y, held.weights)

    def _leaving_out(self, X: Any, y: Any, sample_weight: Any, recount: bool) -> tuple[LeavingOut, Array]:
        if isinstance(self._fitted().statistics_.moments.scatter, DiagonalScatter):
            raise NotAvailableError(
                f"With more than {limits.MOST_SCATTER_COLUMNS} columns HDDA learns from the rows, and cannot leave "
                "them out one by one; use scikit-learn's cross_val_predict."
            )
        return super()._leaving_out(X, y, sample_weight, recount)

    # What was found -------------------------------------------------------------------------------------------------

    @property
    def em_(self) -> Completion | None:
        """The course of EM for missing values: iterations, log-likelihood, convergence; None without EM."""
        return self.model_.completion

    @property
    def dimensions_(self) -> dict[Any, int]:
        """The number of directions of each class, by label."""
        counts = np.broadcast_to(self._subspaces().dimensions, (len(self.classes_),))
        return dict(zip(self.classes_.tolist(), counts.tolist(), strict=True))

    @property
    def noise_(self) -> Array:
        """The variance of each class outside its directions; (g,)."""
        return np.broadcast_to(self._subspaces().noise, (len(self.classes_),))

    def _subspaces(self) -> SubspaceCovariance:
        covariance = self.gaussian_.covariance
        assert isinstance(covariance, SubspaceCovariance)
        return covariance


def _of_rows(plan: BlockPlan, numbers: ClassStatistics, table: Table) -> NumbersFit:
    """The density of the columns of numbers, from the rows of a table without gaps."""
    subspaces = plan.numbers
    assert isinstance(subspaces, Subspaces)
    rows = np.asarray(table.block([column.place for column in numbers.schema]), dtype=np.float64)
    if np.isnan(rows).any():
        raise ClasswiseError(
            f"X contains NaN, and with more than {limits.MOST_SCATTER_COLUMNS} columns of numbers HDDA learns from "
            "complete rows; fill the gaps first, with scikit-learn's SimpleImputer, or drop columns."
        )
    weights = np.ones(len(rows)) if table.weights is None else table.weights
    with BLAS.held():
        return subspaces.of_rows(numbers, rows, codes_among(numbers.labels, table.labels), weights)
