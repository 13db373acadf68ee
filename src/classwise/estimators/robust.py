"""Robust discriminant analysis: classes whose center and scatter a few outliers do not decide."""

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.stats import chi2

from classwise.arrays import Array
from classwise.classifier.bayes import Priors
from classwise.classifier.plan import BlockPlan
from classwise.covariance import FullCovariance
from classwise.covariance.rank import refuse_singular
from classwise.densities import Student
from classwise.densities.em import Ascent
from classwise.densities.numbers import NumbersFit, complete_to_mode
from classwise.densities.robust import LEAST_DEGREES, LabeledRows, fit_determinant, fit_student
from classwise.densities.robust.determinant import INLIERS
from classwise.engines import BLAS
from classwise.errors import ClasswiseError, NotAvailableError, at_least, choose, whole
from classwise.estimators.answers import codes_among, read_seed
from classwise.estimators.discriminants import DiscriminantAnswers
from classwise.estimators.from_rows import FromRows, RowsEstimator
from classwise.estimators.gaussian import Missing, Ties
from classwise.estimators.summary import read_common
from classwise.estimators.unavailable import many_passes
from classwise.rows.schema import Families
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics
from classwise.storage import stored

METHODS = {"t": True, "mcd": False}

REMEDY = "Share one scatter (share=1), drop columns, or add rows that differ."


@stored("RobustClassifier", kind="model")
class RobustClassifier(DiscriminantAnswers, RowsEstimator):
    """Robust discriminant analysis, for rows with outliers: Student-t classes, or minimum covariance determinant.

        method="t":    log p(x | k) = log t(x | m_k, C_k, v), so that a row counts (v + p) / (v + q) at fit
        method="mcd":  log p(x | k) = log N(x | m_k, C_k), of the rows that are no outliers

    where q = (x - m_k)' C_k^-1 (x - m_k) is the squared distance of a row from its class.

    Parameters
    ----------
    method : {"t", "mcd"}, default="t"
        "t" for Student-t classes by maximum likelihood (EM), as method="t" of lda and qda in R's MASS; "mcd"
        for the minimum covariance determinant with reweighting, as in R's rrcov.
    share : {0, 1}, default=0
        0 for a scatter of each class's own, 1 for one that all classes share.
    degrees : float or {"estimate"}, default="estimate"
        For method="t", the degrees of freedom: at least 1, and the smaller, the less outliers count. MASS has
        5. "estimate" finds the most likely of each scatter, from 1 to 1000.
    support : float, optional
        For method="mcd", the share of the rows whose covariance has the least determinant, from 0.5 to 1. By
        default about half of them, (n + p + 1) / 2 rows, which withstands most outliers.
    starts : int, default=10
        For method="mcd", how often scikit-learn's FastMCD looks for these rows, each time from other draws with
        random_state; the best is kept.
    tol : float, default=1e-10
        For method="t", EM stops when the log-likelihood per row gains less than this.
    max_iter : int, default=1000
        For method="t", the most iterations of EM (em_ has its course).
    priors : str, mapping or sequence, default="empirical"
        "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of
        sorted labels.
    families : str or mapping from column to family, default="auto"
        How to model columns whose type is misleading, such as {"visits": "poisson", "grade": "categorical"}.
        The robust density is over the columns of numbers; all others are independent of it within a class.
    smoothing : float, default=1.0
        Pseudo-rows at each level of a category; 0 is maximum likelihood.
    min_frequency : float, default=0.0
        Levels with a smaller share of the rows are pooled, together with unseen levels; from 1 on it is a
        weight instead of a share.
    missing : {"integrate", "level", "error"}, default="integrate"
        "integrate" integrates missing values out at predict. At fit, method="t" integrates them out in every
        step of EM; method="mcd" uses the rows that have all their numbers. "level" also learns from the fact
        that a value is missing; "error" refuses missing values.
    ties : {"first", "random"}, default="first"
        "first" predicts the first label, "random" one drawn with random_state.
    random_state : int, RandomState or Generator, default=0
        The seed of what is drawn at random: the starts of method="mcd".

    Attributes
    ----------
    classes_
        The labels, sorted.
    priors_
        The prior of each class; (g,).
    classifier_
        The classifier without the scikit-learn interface.
    covariances_
        The covariance matrix of each class, or the shape of its Student-t; (g, p, p), read-only where shared.
    degrees_
        The degrees of freedom of each class, with method="t"; (g,).
    em_
        The course of EM with method="t": log-likelihood, iterations, convergence; else None.
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    gaussian_
        The Gaussians of the columns of numbers, or location and shape of their Student-t.
    log_determinants_
        With method="mcd", the log determinant of the least covariance that was found, of each scatter: (g,), or
        (1,) where shared. It is that of the rows in the set alone, before factors and reweighting.
    log_marginal_likelihood_
        Log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior.
    means_
        The mean of each class in the columns of numbers, or the location of its Student-t; (g, p).
    model_
        The fitted model without the scikit-learn interface.
    n_features_in_
        The number of columns.
    n_iter_
        The number of iterations of EM; with method="mcd", of starts.
    parameters_
        The estimates of each column, by name (or position): arrays over the classes, (g,) each.
    row_weights_
        How much each row counted at fit: below 1 for a row far from its class, and with method="mcd" 1 or 0.
        Of the rows that have a label and a weight, in their order; not saved in files.
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.

    Notes
    -----
    MASS classifies with Gaussians whose covariance is v / (v - 2) times the shape; this model classifies with the
    Student-t itself. The factors that make covariances of method="mcd" those of Gaussian rows are for many rows: rrcov
    has further ones for few rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(3, 1, (100, 2))])
    >>> y = np.repeat(["a", "b"], 100)
    >>> X[:10] = 30.0  # outliers
    >>> m = RobustClassifier(method="mcd").fit(X, y)
    >>> m.means_.round(1) + 0.0
    array([[0. , 0.1],
           [2.9, 2.9]])
    >>> float(m.row_weights_[:10].max())
    0.0
    >>> bool(RobustClassifier(method="t").fit(X, y).row_weights_[:10].max() < 0.1)
    True
    """

    estimate: ClassVar[str] = "mle"  # type: ignore[misc]

    def __init__(
        self,
        *,
        method: Literal["t", "mcd"] = "t",
        share: Literal[0, 1] = 0,
        degrees: float | Literal["estimate"] = "estimate",
        support: float | None = None,
        starts: int = 10,
        tol: float = 1e-10,
        max_iter: int = 1000,
        priors: Priors = "empirical",
        families: Families = "auto",
        smoothing: float = 1.0,
        min_frequency: float = 0.0,
        missing: Missing = "integrate",
        ties: Ties = "first",
        random_state: Any = 0,
    ) -> None:
        self.method = method
        self.share = share
        self.degrees = degrees
        self.support = support
        self.starts = starts
        self.tol = tol
        self.max_iter = max_iter
        self.priors = priors
        self.families = families
        self.smoothing = smoothing
        self.min_frequency = min_frequency
        self.missing = missing
        self.ties = ties
        self.random_state = random_state

    _records = ("em_", "log_determinants_", "row_weights_")
    _unavailable = many_passes("a robust fit")

    em_: Ascent | None
    """How EM went: log-likelihood, iterations, convergence; None without EM."""
    log_determinants_: Array

    def _plan(self) -> BlockPlan:
        choose("method", self.method, METHODS)
        at_least("tol", self.tol, 0)
        whole("max_iter", self.max_iter, 1)
        whole("starts", self.starts, 1)
        self._degrees()
        support = self.support
        if support is not None and not (isinstance(support, (float, int)) and 0.5 <= support <= 1):
            raise ClasswiseError(f"support={support!r} is not an option; give a number from 0.5 to 1, or None.")
        if self.share not in (0, 1):
            raise ClasswiseError(
                f"share={self.share!r} is not an option; give 0 (a scatter for each class) or 1 (one for all classes)."
            )
        return BlockPlan(**read_common(self), numbers=FromRows(self.share == 1))

    def _degrees(self) -> float | None:
        """The degrees of freedom that are given; None where they are to be estimated."""
        if isinstance(self.degrees, str):
            return choose("degrees", self.degrees, {"estimate": None})
        return at_least("degrees", self.degrees, LEAST_DEGREES)

    # Learning -------------------------------------------------------------------------------------------------------

    def _numbers_of(self, numbers: ClassStatistics, table: Table, record: dict[str, Any]) -> NumbersFit:
        fit = self._by_likelihood if METHODS[self.method] else self._by_determinant
        with BLAS.held():
            return fit(self._labeled_rows(numbers, table), record)

    def _labeled_rows(self, numbers: ClassStatistics, table: Table) -> LabeledRows:
        """The rows, and one Gaussian per class as the start; where values are missing, of filled rows."""
        shared, gappy = self.share == 1, numbers.numbers.has_gaps
        filled = (complete_to_mode(numbers, shared, "weak").statistics if gappy else numbers).denoised()
        start = FullCovariance(FullCovariance.sums(filled.moments.scatter, shared) / _weights(filled, shared))
        if METHODS[self.method]:
            refuse_singular(start, numbers, REMEDY)
        rows = np.asarray(table.block([column.place for column in numbers.schema]), dtype=np.float64)
        codes = codes_among(numbers.labels, table.labels)
        weights = np.ones(len(rows)) if table.weights is None else table.weights
        columns = [numbers.schema.name(j) for j in range(len(numbers.schema))]
        return LabeledRows(rows, codes, weights, filled.mean, start.values, numbers.labels.tolist(), columns)

    def _by_likelihood(self, labeled: LabeledRows, record: dict[str, Any]) -> NumbersFit:
        fit = fit_student(labeled, self._degrees(), float(self.tol), int(self.max_iter))
        record |= {"em_": fit.ascent, "row_weights_": fit.row_weights}
        remarks = [] if fit.ascent.converged else [f"stopped EM early (max_iter, tol): {fit.ascent}"]
        return NumbersFit(fit.density, remarks)

    def _by_determinant(self, labeled: LabeledRows, record: dict[str, Any]) -> NumbersFit:
        fit = fit_determinant(labeled, self.support, int(self.starts), read_seed(self.random_state))
        record |= {"row_weights_": fit.row_weights, "log_determinants_": fit.log_determinants}
        gaps = int(np.isnan(labeled.rows).any(axis=1).sum())
        remarks = [f"left {gaps} rows with missing numbers out of the covariances (method='mcd')"] if gaps else []
        return NumbersFit(fit.density, remarks)

    # What was found -------------------------------------------------------------------------------------------------

    @property
    def degrees_(self) -> Array:
        """The degrees of freedom of each class, with method="t"; (g,)."""
        density = self._numbers_block()[1]
        if not isinstance(density, Student):
            raise NotAvailableError("With method='mcd' classes are Gaussian: there are no degrees of freedom.")
        return density.freedom

    @property
    def n_iter_(self) -> int:
        """The number of iterations of EM; with method="mcd", of starts."""
        em: Ascent | None = self._fitted().em_
        return int(self.starts) if em is None else em.iterations

    def row_weights(self, X: Any, y: Any) -> Array:
        """How much each row counts in its class under the fitted model: below 1 where it is far away; (n,).

        With method="t" it is (v + p) / (v + q), which averages to 1 over the rows of a fit; at the rows of the fit it
        is row_weights_. With method="mcd" it is 1 for a row within the 0.975 quantile of chi², and 0 beyond. Missing
        numbers do not count, neither in p nor in q.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows, of the fit or others.
        y : array of shape (n,)
            The labels of the rows.

        Returns
        -------
        array of shape (n,)
            The weight of each row.
        """
        table = self._labeled(X, y, None)
        columns, density = self._numbers_block()
        rows = np.asarray(table.block(columns.tolist()), dtype=np.float64)
        squares = -2 * self.gaussian_.observed_exponents(rows)[self._codes_of(table), np.arange(len(rows))]
        counts, own = (~np.isnan(rows)).sum(axis=1), self._codes_of(table)
        if isinstance(density, Student):
            return np.asarray((density.freedom[own] + counts) / (density.freedom[own] + squares))
        return (squares <= chi2(np.maximum(counts, 1)).ppf(INLIERS)).astype(np.float64)

    def _refuse_beside(self, what: str) -> None:
        if METHODS[self.method]:
            raise ClasswiseError(
                f"{what} is a polynomial for Gaussians, and with method='t' classes are Student-t; use method='mcd'."
            )
        super()._refuse_beside(what)

    def _refuse_distances(self) -> None:
        if not self._is_of_numbers_alone():
            raise ClasswiseError(
                "Distances are between rows of numbers, and this model has other columns: see schema_."
            )


def _weights(statistics: ClassStatistics, shared: bool) -> Array:
    """The weight behind each scatter; (k, 1, 1)."""
    weight = statistics.moments.weight[:, :1, None]
    return weight.sum(axis=0, keepdims=True) if shared else weight
