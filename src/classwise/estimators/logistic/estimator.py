"""Bayesian logistic regression: the boundary modeled directly, and averaged over what is believed of its weights."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

from sklearn.base import ClassifierMixin

from classwise.classifier.plan import refuse_few_classes, refuse_underflow
from classwise.densities.blocks import refuse_silent, warn_of_ignored, why_constant, why_ignored
from classwise.engines import MemoryEngine, open_rows
from classwise.errors import choose
from classwise.estimators.answers import read_generator, required
from classwise.estimators.columns import remember_columns
from classwise.estimators.logistic.answers import MISSING
from classwise.estimators.logistic.beliefs import draw, nearest
from classwise.estimators.logistic.columns import known_levels, recoded, warn_of_imputed
from classwise.estimators.logistic.groups import read_groups
from classwise.estimators.logistic.learning import CurvatureRows, TableRows, learn
from classwise.estimators.logistic.model import LogisticModel
from classwise.estimators.logistic.options import (
    POSTERIORS,
    check_options,
    likelihood_of,
    refuse_densities,
    refuse_sampled,
)
from classwise.estimators.logistic.source import rows_of
from classwise.estimators.logistic.variants import LogisticVariants
from classwise.logistic import (
    Diagnostics,
    LogisticClassifier,
    Model,
    Near,
    Posterior,
    diagnose_chains,
    is_direct,
    make_design,
    spread_of_numbers,
)
from classwise.rows.reading import open_source
from classwise.rows.schema import Families
from classwise.statistics import ClassStatistics, DiagonalScatter, summarize_rows
from classwise.statistics.chunks import summarize_table
from classwise.storage import shown, stored


@stored("BayesianLogistic", kind="model")
class BayesianLogistic(ClassifierMixin, LogisticVariants):
    """Logistic regression with a posterior over its weights: P(label | x) = average of P(label | weights, x).

        logit   P(second | x) = 1 / (1 + exp(-(w'x + w0))), and softmax over the scores of more than two classes
        probit  P(second | x) = Φ(w'x + w0), of two classes
        prior   weights ~ N(0, 1 / precision), independent; of softmax, those of every class alike

    link: "logit" or "probit".
    precision: of the prior. A number (0 for none: maximum likelihood); "evidence" for the one under which the labels
        are most probable; "relevance" for one such of each column, which takes columns that do not matter out; or a
        mapping from a column, or a tuple of columns, to a number or "evidence", where columns left out are one group
        more. Scikit-learn's C is 1 / precision.
    fit_intercept: whether scores have an intercept. penalize_intercept: whether that has the prior too; else it is
        flat.
    standardize: the prior is on weights of columns of numbers divided by their standard deviation, with their means
        taken away if there is an intercept. Levels of categories are 0 or 1, less their mean, and not divided. The
        attributes are in the columns' own units either way.
    predictive: "integrated" averages over the posterior; "plugin" uses the most probable weights (means, where the
        posterior is not by Laplace) as if they were known; "moderated" is MacKay's closed approximation of the first.
    posterior: "laplace" is the Gaussian about the most probable weights, with the full Hessian; "variational" is the
        Gaussian nearest to the posterior, which is better where rows are few or classes can nearly be separated, and
        takes longer; "sampled" is exact, by draws of a Gibbs sampler (logit; needs the extra `sample`). The precision
        is that by Laplace for all three.
    draws: how many, in four chains, after as many that are thrown away; random_state: their seed.
    families: what columns are taken for, where it is not what their type says: {"zip": "categorical"}.
    missing: "mean" has the mean of its column stand for a missing value, whatever the class, with a warning at fit; a
        level never seen is taken for missing. "error" refuses missing values.

    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> m = cw.BayesianLogistic().fit(X, y)
    >>> m.predict_proba(X[[70]]).round(3).tolist(), m.predict_interval(X[[70]])[0, 1].round(2).tolist()
    ([[0.056, 0.441, 0.503]], [0.06, 0.85])
    """

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
        """Learn from rows X (n, p) and labels y (n,); a weight of two is the row twice, a weight of zero is no row.

        X is an array or a pandas, polars or Arrow table. The rows are gone through several times, chunk by chunk.
        """
        return self._fit(X, y, sample_weight, None)

    def fit_source(
        self, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Learn from rows wherever they are, with flat memory: the same model as from a table of all of them.

        source: whatever `summarize` takes with a target and can be read several times: the path of a CSV, TSV, JSON,
            Parquet or Arrow file, a pattern, a query, a database's table, a lazy frame, a function that makes batches,
            a DataFrame of Dask or Spark.
        target, weights: the columns that hold labels and weights; columns: those to learn from, all others by default.

        The first pass learns what the columns hold. Up to 20 million values are then held in memory. Of more, some
        rows are drawn to begin with, and about six passes gather what all of them say of the weights.
        """
        check_options(self)
        refuse_densities(self.families)
        refuse_sampled(self.posterior)
        rows = open_rows(source, target=target, columns=columns, weights=weights, families=self.families)
        rows.refuse_gone("fit_source")
        allow_missing = choose("missing", self.missing, MISSING)
        options: dict[str, Any] = {"families": self.families, "allow_missing": allow_missing}
        statistics = summarize_rows(rows, DiagonalScatter, "Learning, pass 1", **options)
        return self._learn(statistics, lambda model: rows_of(rows, statistics, model), None)

    def _fit(self, X: Any, y: Any, sample_weight: Any, near: Near | None) -> Self:
        check_options(self)
        refuse_densities(self.families)
        allow_missing = choose("missing", self.missing, MISSING)
        table = open_source(X).read(self.families, required(y), sample_weight, strict=not allow_missing).weighted()
        statistics = summarize_table(table, DiagonalScatter, allow_missing=allow_missing)
        return self._learn(statistics, lambda model: TableRows(recoded(table, statistics), model, MemoryEngine()), near)

    def _learn(self, statistics: ClassStatistics, rows_of: Callable[[Model], CurvatureRows], near: Near | None) -> Self:
        """rows_of: the rows, as the model sees them."""
        refuse_few_classes(statistics.labels)
        refuse_underflow(statistics)
        model = self._make(statistics, rows_of, near)
        warn_of_imputed(statistics.schema, model.missing)
        self.model_ = model
        remember_columns(self, statistics)
        return self

    def _facts(self) -> dict[str, Any]:
        """What the header of a file tells; statistics are not kept, nor how many rows there were."""
        about = {"labels": self.classes_.tolist(), **self._fitted().model_.schema.facts()}
        return {**about, "options": shown(self.get_params(deep=False)), "statistics": False}

    def _is_sound(self) -> bool:
        check_options(self)
        seeded = self.random_state is None or (type(self.random_state) is int and self.random_state >= 0)
        if not hasattr(self, "model_"):
            return seeded
        names = tuple(getattr(self, "feature_names_in_", ())) or None
        return seeded and self.n_features_in_ == len(self.model_.schema) and names == self.model_.schema.names

    def _make(
        self, statistics: ClassStatistics, rows_of: Callable[[Model], CurvatureRows], near: Near | None
    ) -> LogisticModel:
        missing = statistics.missing_weight()
        ignored = why_ignored(statistics, missing) | why_constant(statistics.constants())
        if len(ignored) == len(statistics.schema):
            refuse_silent(statistics)
        design = make_design(
            statistics,
            ignored,
            bool(self.standardize),
            bool(self.fit_intercept),
            centered=bool(self.fit_intercept and (self.standardize or not self.penalize_intercept)),
        )
        groups = read_groups(self.precision, statistics.schema, design, bool(self.penalize_intercept))
        likelihood = likelihood_of(self.link, len(statistics.labels))
        rows = rows_of(Model(design, likelihood, is_direct(design, statistics)))
        shares = statistics.weight / statistics.weight.sum()
        learned = learn(rows, groups, shares, near)
        if self.posterior == "variational":
            learned = nearest(rows, learned, groups)
        posterior: Posterior = learned.posterior
        diagnostics: Diagnostics | None = None
        if choose("posterior", self.posterior, POSTERIORS):
            assert isinstance(rows, TableRows)
            drawn = draw(rows, learned, groups, int(self.draws), read_generator(self.random_state))
            posterior, diagnostics = drawn, diagnose_chains(drawn.values)
        classifier = LogisticClassifier(statistics.labels, design, likelihood, posterior, self.predictive)
        warn_of_ignored(statistics, ignored)
        return LogisticModel(
            classifier=classifier,
            schema=statistics.schema,
            levels=known_levels(statistics),
            missing=missing.sum(axis=0) / statistics.weight.sum(),
            notes={j: f"left out: {why}" for j, why in ignored.items()},
            shares=shares,
            deviations=spread_of_numbers(statistics)[1],
            groups=groups,
            values=learned.values,
            log_evidence=learned.log_evidence,
            passes=learned.passes,
            diagnostics=diagnostics,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "mean"
        tags.classifier_tags.multi_class = self.link != "probit"
        tags.input_tags.string = True
        return tags
