"""The options of logistic regression, read once: strings end here, and a plan makes a model of statistics and rows."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.errors import ClasswiseError, choose
from classwise.logistic.design import is_direct, make_design, spread_of_numbers
from classwise.logistic.evidence import PrecisionGroups, read_groups, read_value
from classwise.logistic.likelihood import LINKS, Likelihood
from classwise.logistic.logistic_classifier import PREDICTIVES, LogisticClassifier, moderated_draws
from classwise.logistic.logistic_model import LogisticModel
from classwise.logistic.regression import Regression
from classwise.logistic.training import TrainingRows, known_levels
from classwise.logistic.weights import FittedWeights, WarmStart, drawn, learn, nearest
from classwise.rows.schema import Family
from classwise.statistics import ClassStatistics

# Whether the mean of a column may stand for a missing value.
MISSING = {"mean": True, "error": False}

# What a column may be taken for: there are no densities here.
FAMILIES = ("gaussian", "categorical", "bernoulli")

# A posterior that is better than Laplace's, from the rows and what was found.
Improve = Callable[[TrainingRows, FittedWeights, PrecisionGroups], FittedWeights]


@dataclass(frozen=True, eq=False)
class LogisticPlan:
    """How to learn. likelihood: of so many classes; precision: as the caller says it, see read_groups; improve: how the
    posterior is made better than Laplace's, if it is.
    """

    likelihood: Callable[[int], Likelihood]
    precision: Any
    fit_intercept: bool
    penalize_intercept: bool
    standardize: bool
    predictive: str
    allow_missing: bool
    improve: Improve | None

    @classmethod
    def read(cls, options: Mapping[str, Any], generator: Callable[[], np.random.Generator]) -> "LogisticPlan":
        """From the options of the estimator, by name; an error if they are none, or do not go together.

        generator: makes the source of chance, where draws are asked for.
        """

        def draw(rows: TrainingRows, fitted: FittedWeights, groups: PrecisionGroups) -> FittedWeights:
            return drawn(rows, fitted, groups, int(options["draws"]), generator())

        check_options(options)
        refuse_densities(options["families"])
        improve: dict[str, Improve | None] = {"laplace": None, "variational": nearest, "sampled": draw}
        return cls(
            likelihood=LINKS[options["link"]],
            precision=options["precision"],
            fit_intercept=bool(options["fit_intercept"]),
            penalize_intercept=bool(options["penalize_intercept"]),
            standardize=bool(options["standardize"]),
            predictive=options["predictive"],
            allow_missing=MISSING[options["missing"]],
            improve=improve[options["posterior"]],
        )

    def model(
        self,
        statistics: ClassStatistics,
        ignored: dict[int, str],
        rows_of: Callable[[Regression], TrainingRows],
        near: WarmStart | None = None,
    ) -> LogisticModel:
        """statistics: of all rows, column by column; ignored: why columns are left out; rows_of: the rows, as a
        regression sees them; near: where to look first.
        """
        regression = self._regression(statistics, ignored)
        groups = read_groups(self.precision, statistics.schema, regression.design, self.penalize_intercept)
        rows = rows_of(regression)
        shares = statistics.weight / statistics.weight.sum()
        fitted = learn(rows, groups, shares, near)
        if self.improve is not None:
            fitted = self.improve(rows, fitted, groups)
        design, likelihood = regression.design, regression.likelihood
        return LogisticModel(
            classifier=LogisticClassifier(statistics.labels, design, likelihood, fitted.posterior, self.predictive),
            schema=statistics.schema,
            levels=known_levels(statistics),
            missing=statistics.missing_weight().sum(axis=0) / statistics.weight.sum(),
            notes={j: f"left out: {why}" for j, why in ignored.items()},
            shares=shares,
            deviations=spread_of_numbers(statistics)[1],
            groups=groups,
            values=fitted.values,
            log_evidence=fitted.log_evidence,
            passes=fitted.passes,
            diagnostics=fitted.diagnostics,
        )

    def _regression(self, statistics: ClassStatistics, ignored: Collection[int]) -> Regression:
        centered = self.fit_intercept and (self.standardize or not self.penalize_intercept)
        design = make_design(statistics, ignored, self.standardize, self.fit_intercept, centered)
        return Regression(design, self.likelihood(len(statistics.labels)), is_direct(design, statistics))


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that are none, or do not go together."""
    for option, table in (("link", LINKS), ("predictive", PREDICTIVES), ("missing", MISSING)):
        choose(option, options[option], table)
    precision, draws = options["precision"], options["draws"]
    if isinstance(precision, str) and precision != "relevance":
        read_value(precision)
    if not (isinstance(draws, (int, np.integer)) and draws >= 8):
        raise ClasswiseError(f"draws={draws!r} is not an option; give a whole number of at least 8.")
    if not choose("posterior", options["posterior"], {"laplace": False, "variational": False, "sampled": True}):
        return
    if options["link"] == "probit":
        raise ClasswiseError("posterior='sampled' draws for link='logit'; use 'laplace' or 'variational' with probit.")
    if options["predictive"] == "moderated":
        raise moderated_draws()


def refuse_densities(families: Any) -> None:
    """Refuse families that are of use to a density alone."""
    if isinstance(families, str) and families != "auto":
        raise ClasswiseError(f"families={families!r} is about densities, and this model has none; use 'auto'.")
    for column, family in families.items() if isinstance(families, Mapping) else ():
        if Family.read(family).name not in FAMILIES:
            raise ClasswiseError(
                f"families takes {column!r} for {family}, which is a density, and this model has none; choose "
                "'gaussian' (a number), 'categorical' or 'bernoulli'."
            )
