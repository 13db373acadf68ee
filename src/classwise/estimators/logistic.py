"""Bayesian logistic regression: predictions are averaged over the posterior of the weights."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from classwise.arrays import Array, Labels
from classwise.classifier.bayes import Priors, class_priors
from classwise.classifier.boundary import Boundary
from classwise.classifier.explanation import Explanation
from classwise.classifier.plan import refuse_few_classes, refuse_underflow
from classwise.densities.blocks import refuse_silent, warn_of_ignored, why_constant, why_ignored
from classwise.engines import open_rows
from classwise.errors import ClasswiseError, NotAvailableError, choose, fraction
from classwise.estimators.answers import Answers, read_generator, remember_columns
from classwise.estimators.fit_summary import SummaryTable, cut_table
from classwise.estimators.unavailable import LABELS_ALONE, many_passes
from classwise.logistic import (
    MISSING,
    Coefficients,
    Diagnostics,
    HessianMetric,
    Laplace,
    LogisticClassifier,
    LogisticModel,
    LogisticPlan,
    Regression,
    TrainingRows,
    WarmStart,
    check_options,
    linear_boundary,
    linear_explanation,
    rows_of_source,
    rows_of_table,
    warn_of_imputed,
)
from classwise.rows.schema import Families
from classwise.rows.sources import open_source, required
from classwise.rows.table import Table
from classwise.statistics import ClassStatistics, DiagonalScatter, summarize_rows
from classwise.statistics.summaries import summarize_table
from classwise.storage import shown, stored


@stored("BayesianLogistic", kind="model")
class BayesianLogistic(Answers):
    """Logistic regression with a posterior over its weights: P(label | x) = average of P(label | weights, x).

        logit   P(second | x) = 1 / (1 + exp(-(w'x + w0))), and softmax over the scores of more than two classes
        probit  P(second | x) = Φ(w'x + w0), of two classes
        prior   weights ~ N(0, 1 / precision), independent; with softmax, the weights of every class

    Parameters
    ----------
    link : {"logit", "probit"}, default="logit"
        "logit" or "probit".
    precision : float, array or str, default="evidence"
        The precision of the prior. A number (0 for no prior: maximum likelihood); "evidence" for the one with
        the largest marginal likelihood; "relevance" for one such precision per column, which switches off
        columns that do not matter; or a mapping from a column, or a tuple of columns, to a number or
        "evidence", where all other columns form one more group. scikit-learn's C is 1 / precision.
    fit_intercept : bool, default=True
        Whether scores have an intercept.
    penalize_intercept : bool, default=False
        Whether the intercept has the prior too; otherwise its prior is flat.
    standardize : bool, default=True
        Put the prior on the weights of standardized numbers: divided by their standard deviation, and
        centered if there is an intercept. One-hot columns of categories are centered, but not divided.
        Attributes such as coef_ are always in the columns' own units.
    predictive : {"integrated", "plugin", "moderated"}, default="integrated"
        "integrated" averages over the posterior; "plugin" uses the most probable weights as if they were
        known (their means, with another posterior than "laplace"); "moderated" is MacKay's closed-form
        approximation of "integrated".
    posterior : {"laplace", "variational", "sampled"}, default="laplace"
        "laplace" is the Gaussian around the most probable weights, with the full Hessian; "variational" is
        the Gaussian nearest to the posterior, which is slower, and better if rows are few or classes almost
        separable; "sampled" draws from the exact posterior by Gibbs sampling (logit; needs the extra
        `sample`). All three use the precision that the Laplace approximation gives.
    draws : int, default=2000
        The number of draws, in four chains, after a burn-in of as many.
    families : str or mapping from column to family, default="auto"
        How to read columns whose type is misleading, such as {"zip": "categorical"}.
    missing : {"mean", "error"}, default="mean"
        "mean" replaces missing values by the mean of their column, with a warning at fit, and treats unseen
        levels as missing; "error" refuses missing values.
    random_state : int, RandomState or Generator, optional
        The seed of the draws.

    Attributes
    ----------
    classes_
        The labels, sorted.
    priors_
        The share of each class in the training rows, or the priors given to with_priors; (g,).
    classifier_
        The classifier without the scikit-learn interface.
    coef_
        The most probable weights in the columns' own units (posterior means, if posterior is not "laplace").
    coef_cov_
        Posterior covariance of all weights, class after class, each in the order of coef_names_; (k q, k q).
    coef_names_
        The names of the weights: columns, levels as "column=level", and the intercept last.
    coef_std_
        Posterior standard deviations of coef_; with softmax, of weights relative to the mean of the classes.
    diagnostics_
        With posterior="sampled": effective sample size and R-hat of each weight that is sampled (contrasts).
    families_
        The family of each column, by name (or position).
    feature_names_in_
        The names of the columns, if they have names.
    intercept_
        The intercepts; (1,) or (g,), as coef_.
    intercept_std_
        Posterior standard deviations of intercept_.
    log_marginal_likelihood_
        Log P(labels | rows) given the precision, with the weights integrated out by Laplace's approximation.
    n_features_in_
        The number of columns.
    passes_
        The number of passes over all rows that computed the curvature; passes for gradients alone do not
        count.
    precision_
        The precision of the prior on the weights of each column, by name (or position).
    schema_
        How the model reads each column, as a table: type, kind, family, levels, missing values.

    Examples
    --------
    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> m = cw.BayesianLogistic().fit(X, y)
    >>> m.predict_proba(X[[70]]).round(3).tolist(), m.predict_interval(X[[70]])[0, 1].round(2).tolist()
    ([[0.056, 0.441, 0.503]], [0.06, 0.85])
    """

    _remedy = "missing='mean'"

    model_: LogisticModel

    _unavailable = LABELS_ALONE | many_passes("Newton's method")

    def __init__(
        self,
        *,
        link: Literal["logit", "probit"] = "logit",
        precision: Any = "evidence",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        standardize: bool = True,
        predictive: Literal["integrated", "plugin", "moderated"] = "integrated",
        posterior: Literal["laplace", "variational", "sampled"] = "laplace",
        draws: int = 2000,
        families: Families = "auto",
        missing: Literal["mean", "error"] = "mean",
        random_state: Any = None,
    ) -> None:
        self.link = link
        self.precision = precision
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.standardize = standardize
        self.predictive = predictive
        self.posterior = posterior
        self.draws = draws
        self.families = families
        self.missing = missing
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,). A row of weight two counts twice, a row of weight zero not at all.

        X is an array or a pandas, polars or Arrow table. The fit takes several passes over the rows, in chunks.

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
        return self._fit(X, y, sample_weight, None)

    def fit_source(
        self, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Fit to a source of rows with flat memory: the same model as from a table of all rows.

        Parameters
        ----------
        source : path, pattern, query, table or stream
            As for `summarize` with a target, if it can be read several times: the path of a CSV, TSV, JSON,
            Parquet or Arrow file, a pattern, a query, a database table, a lazy frame, a function that returns
            batches, or a DataFrame of Dask or Spark.
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

        Notes
        -----
        The first pass finds the types, levels and scales of the columns. Up to 20 million values are then held in
        memory. With more, the fit starts on a sample, and takes about six more passes over all rows.
        """
        plan = self._plan()
        if self.posterior == "sampled":
            raise ClasswiseError(
                "posterior='sampled' goes through the rows for every draw, and fit_source reads them from where they "
                "are; use 'laplace' or 'variational', or give the rows to fit."
            )
        rows = open_rows(source, target=target, columns=columns, weights=weights, families=self.families)
        rows.refuse_gone("fit_source")
        options: dict[str, Any] = {"families": self.families, "allow_missing": plan.allow_missing}
        statistics = summarize_rows(rows, DiagonalScatter, "Learning, pass 1", **options)
        return self._learn(plan, statistics, partial(rows_of_source, rows, statistics))

    def _fit(self, X: Any, y: Any, sample_weight: Any, near: WarmStart | None) -> Self:
        plan = self._plan()
        strict = not plan.allow_missing
        table = open_source(X).read(self.families, required(y), sample_weight, strict=strict).weighted()
        statistics = summarize_table(table, DiagonalScatter, allow_missing=plan.allow_missing)
        return self._learn(plan, statistics, partial(rows_of_table, table, statistics), near)

    def _plan(self) -> LogisticPlan:
        """The options, checked before any row is read."""
        return LogisticPlan.read(self.get_params(deep=False), partial(read_generator, self.random_state))

    def _learn(
        self,
        plan: LogisticPlan,
        statistics: ClassStatistics,
        rows_of: Callable[[Regression], TrainingRows],
        near: WarmStart | None = None,
    ) -> Self:
        """Fit the model; rows_of: from a regression to its training rows."""
        refuse_few_classes(statistics.labels)
        refuse_underflow(statistics)
        ignored = why_ignored(statistics, statistics.missing_weight()) | why_constant(statistics.constants())
        if len(ignored) == len(statistics.schema):
            refuse_silent(statistics)
        model = plan.model(statistics, ignored, rows_of, near)
        warn_of_ignored(statistics, ignored)
        warn_of_imputed(statistics.schema, model.missing)
        self.model_ = model
        remember_columns(self, statistics.schema)
        return self

    # Methods of this model alone --------------------------------------------------------------------------------------

    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """The central credible interval of P(k | x, weights), as the weights vary over their posterior; (n, g, 2).

        Exact for two classes. For more classes it uses 2048 points of the posterior, and its ends are accurate to about
        a hundredth of its width.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        level : float, default=0.95
            The probability that an interval holds.

        Returns
        -------
        array of shape (n, g, 2)
            The lower and upper end for each class.

        Examples
        --------
        >>> import classwise as cw
        >>> m = cw.BayesianLogistic(precision=1.0).fit([[0], [1], [2], [3]], ["no", "no", "yes", "yes"])
        >>> m.predict_interval([[3]])[0, 1].round(2).tolist(), round(float(m.predict_proba([[3]])[0, 1]), 2)
        ([0.16, 0.99], 0.71)
        """
        tail = (1 - fraction("level", level)) / 2
        ends = self._apply(lambda model, rows: model.interval(rows, tail, 1 - tail), self._table(X))
        return ends.transpose(2, 1, 0)

    def boundary(
        self, first: Any, second: Any, *, columns: Any = None, at: Mapping[Any, Any] | None = None
    ) -> Boundary:
        """f(x) = w'x + w0, at the most probable weights: positive where `first` is more probable than `second`.

        Parameters
        ----------
        first : label
            The class for which the function is positive.
        second : label
            The class for which it is negative.
        columns : sequence of columns, optional
            Draw the boundary in these columns of numbers, by name or position; the others stay at their means.
        at : mapping from column to value, optional
            {column: value} holds a column at a value, or a category at a level; other categories stay at the mean
            of their one-hot columns.

        Returns
        -------
        Boundary
            The function, with its coefficients, kind and points.

        Notes
        -----
        f is the log odds, or the score of the probit link. With two classes, P(first | x) is 1/2 where f = 0, also
        averaged over the posterior; with more classes, averaging curves the line a little.

        Examples
        --------
        >>> import classwise as cw
        >>> m = cw.BayesianLogistic(precision=1.0).fit([[1, 0], [2, 1], [6, 2], [7, 0]], ["low", "low", "high", "high"])
        >>> m.boundary("high", "low").kind
        'line'
        """
        pair = self._position(first), self._position(second)
        return linear_boundary(self.model_, *pair, columns, at)

    @property
    def classes_(self) -> Labels:  # type: ignore[override]
        """The labels, sorted; (g,)."""
        return self._fitted().model_.classifier.labels

    @property
    def classifier_(self) -> LogisticClassifier:
        """The classifier: labels, columns, likelihood and posterior of the weights; uses the current `predictive`."""
        classifier = self._fitted().model_.classifier
        return classifier if self.predictive == classifier.predictive else classifier.predicting(self.predictive)

    @property
    def priors_(self) -> Array:
        """The share of each class in the training rows, or the priors given to with_priors; (g,)."""
        shift, shares = self.classifier_.shift, self.model_.shares
        return shares * np.exp(shift) if shift else shares

    @property
    def _classifier(self) -> LogisticClassifier:
        return self.classifier_

    @property
    def _strict(self) -> bool:
        return not choose("missing", self.missing, MISSING)

    def _reasons(self, table: Table, first: int, second: int) -> Explanation:
        values = np.asarray(table.rows, dtype=np.float64)[0]
        reasons = linear_explanation(self.model_, values, table.shown(0), first, second)
        scores = self.classifier_.log_posterior(values[None])[:, 0]
        odds = float(scores[first] - scores[second])
        # Log odds averaged over the posterior of the weights are smaller than those at the most probable weights.
        if abs(odds - reasons.log_odds) <= 1e-9 * max(1.0, abs(odds)):
            return reasons
        return replace(reasons, log_odds=odds, volume=odds - reasons.log_odds, rest="uncertain weights")

    def _summary_tables(self) -> list[SummaryTable]:
        return [cut_table("Weights", self.coefficients().cells())]

    # The same posterior in other uses: new estimators, without a new fit ----------------------------------------------

    def near(self, keep: bool = False) -> WarmStart:
        """A start for a fit to almost the same rows.

        Parameters
        ----------
        keep : bool, default=False
            Whether that fit keeps the precision of this one.

        Returns
        -------
        WarmStart
            Weights and precision to start from.
        """
        beliefs = self.classifier_.beliefs
        metric = HessianMetric(np.ones(len(beliefs.factor)), beliefs.factor) if isinstance(beliefs, Laplace) else None
        return WarmStart(beliefs.mean, self.model_.values, metric if keep else None)

    def predicting(self, predictive: Literal["integrated", "plugin", "moderated"]) -> Self:
        """The same posterior of the weights with another `predictive`: a new estimator, without a new fit.

        Parameters
        ----------
        predictive : {"integrated", "plugin", "moderated"}
            How predictions use the posterior, as the option of that name.

        Returns
        -------
        estimator
            A new estimator; this one stays as it is.
        """
        other = copy(self)
        other.predictive = predictive
        other.model_ = replace(self.model_, classifier=self.classifier_.predicting(predictive))
        return other

    def with_priors(self, priors: Priors) -> Self:
        """The same model under other class priors: a new estimator, without a new fit.

        P(k | x) is multiplied by the ratio of the new prior to the share of the class in the training rows, and
        normalized. priors: as in the other estimators, none of them zero.

        Parameters
        ----------
        priors : str, mapping or sequence
            The class priors: "empirical", "uniform", a mapping from label to probability, or a sequence in the
            order of the sorted labels.

        Returns
        -------
        estimator
            A new estimator; this one stays as it is.
        """
        if self.link == "probit":
            raise ClasswiseError(
                "Other priors shift log odds, and link='probit' has none that are linear; use 'logit'."
            )
        given = class_priors(priors, self.classes_, self.model_.shares)
        if not given.all():
            never = self.classes_[given == 0].tolist()[0]
            raise ClasswiseError(f"The prior of {never!r} is 0; leave its rows out and fit again.")
        other = copy(self)
        classifier = replace(self.model_.classifier, shift=()).with_priors(self.model_.shares, given)
        other.model_ = replace(self.model_, classifier=classifier)
        return other

    # The posterior of the weights, in the columns' own units ----------------------------------------------------------

    @property
    def coef_(self) -> Array:
        """The most probable weights in the columns' own units (posterior means, if posterior is not "laplace").

        (1, p) for two classes, those of the second against the first; (g, p) for more, which sum to zero over the
        classes. A category has a one-hot column for each level, or only one if it has two levels.
        """
        return self._split(self._fitted().model_.weights)[0]

    @property
    def intercept_(self) -> Array:
        """The intercepts; (1,) or (g,), as coef_."""
        return self._split(self._fitted().model_.weights)[1]

    @property
    def coef_std_(self) -> Array:
        """Posterior standard deviations of coef_; with softmax, of weights relative to the mean of the classes."""
        return self._split(self._fitted().model_.deviation)[0]

    @property
    def intercept_std_(self) -> Array:
        """Posterior standard deviations of intercept_."""
        return self._split(self._fitted().model_.deviation)[1]

    @property
    def coef_names_(self) -> list[str]:
        """The names of the weights: columns, levels as "column=level", and the intercept last."""
        return self._fitted().model_.names

    @property
    def coef_cov_(self) -> Array:
        """Posterior covariance of all weights, class after class, each in the order of coef_names_; (k q, k q)."""
        return self._fitted().model_.covariance

    def coefficients(self, level: float = 0.95) -> Coefficients:
        """Weights with their posterior deviations and credible intervals, as a table.

        Parameters
        ----------
        level : float, default=0.95
            The probability that an interval holds.

        Returns
        -------
        Coefficients
            One line per weight.

        Examples
        --------
        >>> import classwise as cw
        >>> cw.BayesianLogistic(precision=1.0).fit([[0], [1], [2], [3]], ["no", "no", "yes", "yes"]).coefficients()
        label  column       weight  deviation     low   high
        yes    x0           0.8444     0.6834  -0.495  2.184
        yes    (intercept)  -1.267      1.506  -4.218  1.685
        """
        return self._fitted().model_.coefficients(fraction("level", level))

    def sample_weights(self, n: int = 1, random_state: Any = None) -> Array:
        """Weights drawn from the posterior, in the columns' own units, in the order of coef_names_; (n, k, q).

        Parameters
        ----------
        n : int, default=1
            The number of draws.
        random_state : int, RandomState or Generator, optional
            The seed of what is drawn at random.

        Returns
        -------
        array of shape (n, k, q)
            The draws.
        """
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
        """log P(labels | rows) given the precision, with the weights integrated out by Laplace's approximation.

        With posterior="variational" it is the variational bound, which does not exceed the exact value, except for the
        error of averages over more than two classes. An intercept without a prior has a flat prior of density one. With
        precision=0 there is no marginal likelihood.
        """
        evidence = self._fitted().model_.log_evidence
        if evidence is None:
            raise NotAvailableError("precision=0 is no prior, so there is no marginal likelihood; give a precision.")
        return evidence

    @property
    def diagnostics_(self) -> Diagnostics:
        """With posterior="sampled": effective sample size and R-hat of each weight that is sampled (contrasts)."""
        diagnostics = self._fitted().model_.diagnostics
        if diagnostics is None:
            raise NotAvailableError("Only draws have an effective sample size: fit with posterior='sampled'.")
        return diagnostics

    @property
    def passes_(self) -> int:
        """The number of passes over all rows that computed the curvature; passes for gradients alone do not count.

        With posterior="variational", it includes the passes that averaged the curvature over the posterior.
        """
        return self._fitted().model_.passes

    def _split(self, values: Array) -> tuple[Array, Array]:
        """Split values (k, q) into those of the columns and of the intercept, which is 0 if there is none."""
        if self.model_.classifier.design.intercept:
            return values[:, :-1], values[:, -1]
        return values, np.zeros(len(values))

    # Files and scikit-learn's tags ------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        """The facts in the header of a file; the model keeps neither statistics nor the number of rows."""
        about = {"labels": self.classes_.tolist(), **self._fitted().model_.schema.facts()}
        return {**about, "options": shown(self.get_params(deep=False)), "statistics": False}

    def _is_sound(self) -> bool:
        check_options(self.get_params(deep=False))
        seeded = self.random_state is None or (type(self.random_state) is int and self.random_state >= 0)
        if not hasattr(self, "model_"):
            return seeded
        names = tuple(getattr(self, "feature_names_in_", ())) or None
        return seeded and self.n_features_in_ == len(self.model_.schema) and names == self.model_.schema.names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "mean"
        tags.classifier_tags.multi_class = self.link != "probit"
        tags.input_tags.string = True
        return tags
