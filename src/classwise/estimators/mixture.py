"""Mixture discriminant analysis: each class is a mixture of a few Gaussians, so that it may be curved or clustered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from classwise import limits
from classwise.arrays import Array
from classwise.classifier.bayes import Priors
from classwise.classifier.plan import BlockPlan
from classwise.covariance import DiagonalCovariance, FullCovariance, NormalInverseWishart, read_prior
from classwise.densities import Mixture
from classwise.densities.em import (
    MOST_ITERATIONS,
    STARTS,
    TOLERANCE,
    Arranged,
    Ascent,
    PseudoRows,
    Search,
    learn_mixture,
)
from classwise.densities.numbers import NumbersFit, believe, complete_to_mode
from classwise.engines import BLAS, open_rows
from classwise.errors import ClasswiseError, NotAvailableError, at_least, choose
from classwise.estimators.answers import codes_among, read_generator
from classwise.estimators.generative import GenerativeAnswers
from classwise.estimators.summary import read_common
from classwise.rows.schema import Families
from classwise.rows.sources import open_source, required
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics, FullScatter, PooledScatter, Scatter
from classwise.storage import stored

COVARIANCES = {"tied": True, "class": False}


@stored("MixtureClassifier", kind="model")
class MixtureClassifier(GenerativeAnswers):
    """A mixture of Gaussians for each class: log p(x | k) = log sum over components c of share_c N(x | m_c, C).

    Parameters
    ----------
    components : int, default=3
        The number of components of each class, but at most one for every five rows (see components_).
    covariance : {"tied", "class"}, default="tied"
        "tied" for one covariance that all components of all classes share (Hastie and Tibshirani 1996),
        "class" for one that the components of a class share.
    prior : {"weak"} or NormalInverseWishart, default="weak"
        The prior of means and covariances, which keeps components from collapsing to a point: "weak" (a weak prior in
        the units of the data), or a NormalInverseWishart.
    starts : int, default=4
        The number of starts of EM, from clusters drawn with random_state; only the best is continued.
    tol : float, default=1e-06
        EM stops when the objective per row gains less than this.
    max_iter : int, default=500
        The most iterations of EM (em_ has its course).
    priors : str, mapping or sequence, default="empirical"
        "empirical" (or None), "uniform", a mapping from label to probability, or a sequence in the order of
        sorted labels.
    families : str or mapping from column to family, default="auto"
        How to model columns whose type is misleading, such as {"visits": "poisson", "grade": "categorical"}.
        The mixture is over the columns of numbers; all others are independent of it within a class.
    smoothing : float, default=1.0
        Pseudo-rows at each level of a category; 0 is maximum likelihood.
    min_frequency : float, default=0.0
        Levels with a smaller share of the rows are pooled, together with unseen levels; from 1 on it is a
        weight instead of a share.
    missing : {"integrate", "level", "error"}, default="integrate"
        "integrate" integrates missing values out, at predict and in every step of EM; "level" also learns
        from the fact that a value is missing; "error" refuses missing values.
    ties : {"first", "random"}, default="first"
        "first" predicts the first label, "random" one drawn with random_state.
    random_state : int, RandomState or Generator, default=0
        The seed of what is drawn at random.

    Attributes
    ----------
    classes_
        The labels, sorted.
    priors_
        The prior of each class; (g,).
    classifier_
        The classifier without the scikit-learn interface.
    components_
        The number of components of each class, by label.
    covariances_
        The covariance of each component; (q, p, p), read-only if shared.
    em_
        The course of EM: iterations, log-likelihood, convergence; None without EM.
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    log_marginal_likelihood_
        Log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior.
    means_
        The mean of each component, class after class; (q, p).
    mixture_
        The density of the columns of numbers: the class (owner), share, mean and covariance of each
        component.
    model_
        The fitted model without the scikit-learn interface.
    n_features_in_
        The number of columns.
    n_iter_
        The number of iterations of EM, from the best start.
    parameters_
        The estimates of each column, by name (or position): arrays over the classes, (g,) each.
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.

    Examples
    --------
    >>> import classwise as cw
    >>> X, y = cw.datasets.banana(400, random_state=0)
    >>> [int((m.fit(X, y).predict(X) != y).sum()) for m in (cw.QDA(), cw.MixtureClassifier(components=3))]
    [54, 20]
    """

    def __init__(
        self,
        *,
        components: int = 3,
        covariance: Literal["tied", "class"] = "tied",
        prior: Literal["weak"] | NormalInverseWishart = "weak",
        starts: int = STARTS,
        tol: float = TOLERANCE,
        max_iter: int = MOST_ITERATIONS,
        priors: Priors = "empirical",
        families: Families = "auto",
        smoothing: float = 1.0,
        min_frequency: float = 0.0,
        missing: Literal["integrate", "level", "error"] = "integrate",
        ties: Literal["first", "random"] = "first",
        random_state: Any = 0,
    ) -> None:
        self.components = components
        self.covariance = covariance
        self.prior = prior
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

    _told = ("em_",)
    _fitted_by = ("statistics_", "fit")

    em_: Ascent | None
    """How EM went: objective, iterations, convergence; None where no column is a number."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,). A row of weight two counts twice, a row of weight zero not at all.

        X is an array or a pandas, polars or Arrow table; it may hold text, categories, booleans and missing values. EM
        copies the columns of numbers once, and takes many passes over them.

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
        plan = self._plan()
        table = open_source(X).read(plan.families, required(y), sample_weight, strict=plan.strict).weighted()
        statistics = plan.summarize(table)
        ascent: list[Ascent] = []
        model = plan.model_with(statistics, lambda numbers: self._mixture_of(numbers, table, ascent))
        self._keep(model, statistics)
        self.em_ = ascent[0] if ascent else None
        return self

    def fit_source(
        self, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Fit to a source of rows: to all of them if they fit in memory, and else to a sample.

        Parameters
        ----------
        source : path, pattern, query, table or stream
            Rows, as for the other estimators.
        target : str
            The column of labels.
        columns : sequence of str, optional
            The columns to learn from; by default all others.
        weights : str, optional
            The column of weights; by default all rows have weight one.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        plan = self._plan()
        rows = open_rows(source, target=target, columns=columns, weights=weights, families=plan.families)
        held = rows.held()
        if held is not None:
            return self.fit(held.X, held.y, held.weights)
        rows.refuse_gone("fit_source")
        X, y, drawn = rows.sample(limits.MOST_HELD // len(rows.roles.needed), seed=0)
        return self.fit(X, y, drawn)

    # What was found -------------------------------------------------------------------------------------------------

    @property
    def mixture_(self) -> Mixture:
        """The density of the columns of numbers: the class (owner), share, mean and covariance of each component."""
        for block in self.classifier_.density.as_blocks():
            numbers = block.density.of_values()
            if isinstance(numbers, Mixture):
                return numbers
        raise NotAvailableError("This model has no mixture: none of its columns is a number.")

    @property
    def n_iter_(self) -> int:
        """The number of iterations of EM, from the best start."""
        return 0 if self.em_ is None else self.em_.iterations

    @property
    def components_(self) -> dict[Any, int]:
        """The number of components of each class, by label."""
        return dict(zip(self.classes_.tolist(), np.bincount(self.mixture_.owner).tolist(), strict=True))

    @property
    def means_(self) -> Array:
        """The mean of each component, class after class; (q, p)."""
        return self.mixture_.components.means

    @property
    def covariances_(self) -> Array:
        """The covariance of each component; (q, p, p), read-only if shared."""
        return self.mixture_.components.matrices()

    # Learning -------------------------------------------------------------------------------------------------------

    def _mixture_of(self, numbers: ClassStatistics, table: Table, ascent: list[Ascent]) -> NumbersFit:
        """The mixture of the columns of numbers; the course of EM is appended to ascent."""
        tied = choose("covariance", self.covariance, COVARIANCES)
        # One Gaussian per class fills the gaps, which gives the units of the prior and a start for EM.
        with BLAS.held():
            filled = complete_to_mode(numbers, tied, self.prior).statistics
        prior = PseudoRows.of(read_prior(self.prior, filled.denoised(), FullCovariance, tied))
        rows = np.asarray(table.block([column.place for column in numbers.schema]), dtype=np.float64)
        codes = codes_among(numbers.labels, table.labels)
        weights = np.ones(len(rows)) if table.weights is None else table.weights
        arranged = Arranged.of(rows, codes, weights, filled.mean, 1 if tied else len(numbers.labels))
        search = Search(int(self.components), int(self.starts), float(self.tol), int(self.max_iter))
        learned = learn_mixture(arranged, prior, search, read_generator(self.random_state))
        ascent.append(learned.ascent)
        remarks = [] if learned.ascent.converged else [f"stopped EM early (max_iter, tol): {learned.ascent}"]
        return NumbersFit(learned.mixture, remarks)

    def _plan(self) -> BlockPlan:
        for name in ("components", "starts", "max_iter"):
            _whole_number(name, getattr(self, name))
        at_least("tol", self.tol, 0)
        if not isinstance(self.prior, NormalInverseWishart) and self.prior != "weak":
            raise ClasswiseError(f"prior={self.prior!r} is not an option; choose 'weak' or a NormalInverseWishart.")
        tied = choose("covariance", self.covariance, COVARIANCES)
        return BlockPlan(**read_common(self), numbers=FromRows(tied, isinstance(self.prior, NormalInverseWishart)))

    def __getattr__(self, name: str) -> Any:
        """Explain in the error why methods that need statistics are not available."""
        if name in ("partial_fit", "fit_statistics", "leave_one_out", "leave_one_out_evidence"):
            raise NotAvailableError(
                f"{type(self).__name__} learns from rows, which EM goes through many times: statistics of them do not "
                "suffice, so it has no partial_fit, fit_statistics or leave_one_out. Call fit with all rows; LDA, QDA "
                "and NaiveBayes learn from statistics."
            )
        return object.__getattribute__(self, name)  # raises the usual error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        # Not the tag `categorical`, which scikit-learn reads as "all columns are codes".
        tags.input_tags.string = True
        return tags


@dataclass(frozen=True)
class FromRows:
    """The plan of the columns of numbers. Their density needs the rows, for many passes of EM, not statistics."""

    tied: bool
    keeps_constants: bool

    needs_quartics = False
    is_bayes = False

    @property
    def keeps_copies(self) -> bool:
        return self.keeps_constants

    @property
    def form(self) -> type[Scatter]:
        return PooledScatter if self.tied else FullScatter

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        raise NotAvailableError("A mixture is learned from rows: statistics of them do not suffice. Call fit.")

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return believe(statistics, DiagonalCovariance, False, "weak")

    def roughly(self) -> Self:
        return self

    def starting_at(self, start: Any) -> Self:
        return self

    def removal(self) -> None:
        return None


def _whole_number(option: str, value: Any) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
        return int(value)
    raise ClasswiseError(f"{option}={value!r} is not an option; give a whole number of at least 1.")
