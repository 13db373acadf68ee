"""Bayesian logistic regression: the boundary modeled directly, and averaged over what is believed of its weights."""

from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from classwise.engines import MemoryEngine
from classwise.errors import ClasswiseError
from classwise.estimators.answers import read_generator
from classwise.estimators.base import refuse_few_classes
from classwise.estimators.blocks import warn_of_ignored
from classwise.estimators.columns import remember_columns
from classwise.estimators.fitted import required
from classwise.estimators.logistic_answers import MISSING
from classwise.estimators.logistic_columns import known_levels, recoded, warn_of_imputed, why_ignored
from classwise.estimators.logistic_groups import read_groups, read_value
from classwise.estimators.logistic_learning import Rows, draw, learn
from classwise.estimators.logistic_model import LogisticModel
from classwise.estimators.logistic_weights import LogisticWeights
from classwise.logistic import (
    PREDICTIVES,
    Diagnostics,
    Likelihood,
    LogisticClassifier,
    Logit,
    Model,
    Near,
    Posterior,
    Probit,
    Softmax,
    diagnose_chains,
    is_direct,
    make_design,
    spread_of_numbers,
)
from classwise.options import choose
from classwise.priors import Priors, class_priors
from classwise.schema import Families
from classwise.statistics import ClassStatistics, DiagonalScatter
from classwise.storage import shown, stored
from classwise.summarizing import summarize_table
from classwise.tables import Source, Table, open_source

KNOWN = ("gaussian", "categorical", "bernoulli")
LINKS: dict[str, type[Logit] | type[Probit]] = {"logit": Logit, "probit": Probit}
POSTERIORS = {"laplace": False, "sampled": True}


@stored("BayesianLogistic", kind="model")
class BayesianLogistic(ClassifierMixin, LogisticWeights):
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
    predictive: "integrated" averages over the posterior; "plugin" uses the most probable weights as if they were
        known; "moderated" is MacKay's closed approximation of the first.
    posterior: "laplace" is the Gaussian about the most probable weights, with the full Hessian; "sampled" is exact, by
        draws of a Gibbs sampler (logit; needs the extra `sample`), given the precision.
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
        posterior: Literal["laplace", "sampled"] = "laplace",
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

    def _fit(self, X: Any, y: Any, sample_weight: Any, near: Near | None) -> Self:
        self._check_options()
        source = open_source(X)
        table = self._read(source, required(y), sample_weight)
        allow_missing = choose("missing", self.missing, MISSING)
        statistics = summarize_table(table, DiagonalScatter, allow_missing=allow_missing)
        refuse_few_classes(statistics.labels)
        model = self._make(table, statistics, near)
        warn_of_imputed(statistics.schema, model.missing)
        self.model_ = model
        remember_columns(self, statistics)
        return self

    def near(self) -> Near:
        """Where to look first for the weights of almost the same rows."""
        return Near(self.classifier_.beliefs.mean, self.model_.values)

    def predicting(self, predictive: Literal["integrated", "plugin", "moderated"]) -> Self:
        """The same posterior of the weights, averaged over in another way: a new estimator, nothing is fitted again."""
        choose("predictive", predictive, PREDICTIVES)
        other = copy(self)
        other.predictive = predictive
        other.model_ = replace(self.model_, classifier=self.classifier_.predicting(predictive))
        return other

    def with_priors(self, priors: Priors) -> Self:
        """The same model where classes are mixed in other shares than those learned from: a new estimator.

        P(k | x) is multiplied by the ratio of the new prior to the share of the class in the rows learned from, and
        divided by the sum; nothing is fitted again. priors: as in the other estimators, none of them zero.
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

    def _check_options(self) -> None:
        """Before any row is read."""
        for option, value, table in (
            ("link", self.link, LINKS),
            ("predictive", self.predictive, PREDICTIVES),
            ("missing", self.missing, MISSING),
        ):
            choose(option, value, table)
        if isinstance(self.precision, str) and self.precision != "relevance":
            read_value(self.precision)
        if not (isinstance(self.draws, (int, np.integer)) and self.draws >= 8):
            raise ClasswiseError(f"draws={self.draws!r} is not an option; give a whole number of at least 8.")
        if not choose("posterior", self.posterior, POSTERIORS):
            return
        if self.link == "probit":
            raise ClasswiseError("posterior='sampled' draws for link='logit'; use posterior='laplace' with probit.")
        if self.predictive == "moderated":
            raise ClasswiseError("predictive='moderated' approximates a Gaussian posterior; use posterior='laplace'.")

    def _facts(self) -> dict[str, Any]:
        """What the header of a file tells; statistics are not kept, nor how many rows there were."""
        about = {"labels": self.classes_.tolist(), "columns": self._fitted().model_.schema.listed()}
        return {**about, "options": shown(self.get_params(deep=False)), "statistics": False}

    def _is_sound(self) -> bool:
        self._check_options()
        seeded = self.random_state is None or (type(self.random_state) is int and self.random_state >= 0)
        if not hasattr(self, "model_"):
            return seeded
        names = tuple(getattr(self, "feature_names_in_", ())) or None
        return seeded and self.n_features_in_ == len(self.model_.schema) and names == self.model_.schema.names

    def _read(self, source: Source, y: Any, sample_weight: Any) -> Table:
        """The rows that count, with levels that some of them have."""
        strict = not choose("missing", self.missing, MISSING)
        table = source.read(self.families, y, sample_weight, strict=strict)
        others = [column for column in table.schema if column.family.name not in KNOWN]
        if others:
            raise ClasswiseError(
                f"families takes {others[0].name!r} for {others[0].family}, which is a density, and this model has "
                "none; choose 'gaussian' (a number), 'categorical' or 'bernoulli'."
            )
        return table.weighted()

    def _make(self, table: Table, statistics: ClassStatistics, near: Near | None) -> LogisticModel:
        ignored = why_ignored(statistics)
        design = make_design(
            statistics,
            ignored,
            bool(self.standardize),
            bool(self.fit_intercept),
            centered=bool(self.fit_intercept and (self.standardize or not self.penalize_intercept)),
        )
        groups = read_groups(self.precision, statistics.schema, design, bool(self.penalize_intercept))
        likelihood = self._likelihood(statistics)
        coded = recoded(table, statistics)
        rows = Rows(coded, Model(design, likelihood, is_direct(design, statistics)), MemoryEngine())
        shares = statistics.weight / statistics.weight.sum()
        learned = learn(rows, groups, shares, near)
        posterior: Posterior = learned.posterior
        diagnostics: Diagnostics | None = None
        if choose("posterior", self.posterior, POSTERIORS):
            drawn = draw(rows, learned, groups, int(self.draws), read_generator(self.random_state))
            posterior, diagnostics = drawn, diagnose_chains(drawn.values)
        classifier = LogisticClassifier(statistics.labels, design, likelihood, posterior, self.predictive)
        warn_of_ignored(statistics, ignored)
        return LogisticModel(
            classifier=classifier,
            schema=statistics.schema,
            levels=known_levels(statistics),
            missing=statistics.missing_weight().sum(axis=0) / statistics.weight.sum(),
            notes={j: f"left out: {why}" for j, why in ignored.items()},
            shares=shares,
            deviations=spread_of_numbers(statistics)[1],
            groups=groups,
            values=learned.values,
            log_evidence=learned.log_evidence,
            passes=learned.passes,
            diagnostics=diagnostics,
        )

    def _likelihood(self, statistics: ClassStatistics) -> Likelihood:
        link, count = choose("link", self.link, LINKS), len(statistics.labels)
        if count == 2:
            return link()
        if link is Probit:
            raise ClasswiseError(f"link='probit' is for two classes, and y has {count}; use link='logit' (softmax).")
        return Softmax(count)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "mean"
        tags.input_tags.string = True
        return tags
