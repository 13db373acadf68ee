"""The trial of one model: how good its probabilities are for rows that it had not seen, and its evidence."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.classifier.bayes import Calibration
from classwise.classifier.evaluation import Estimate, Evaluation, merged, over_folds
from classwise.classifier.plan import Fit
from classwise.comparison.stack import AutoClassifier
from classwise.densities import Gaussian
from classwise.estimators import BayesianLogistic, Tuned
from classwise.selection.crossing import is_complete
from classwise.statistics import ClassStatistics
from classwise.storage import stored


@stored("Trial", loose=("log_posterior", "log_evidence"))
@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """What became of a model.

    kind: its role in words, for tables: "family", "twin" (logistic regression), "reference", "stack" or "given".
    reason: why it could not be fitted, or "". log_posterior (n, g): of rows held out, as the model has them. as_is,
    calibrated: their evaluations by fold, without and with the power; the power that is used for a fold was fitted on
    the others. statistics: of all rows, as the model needs them. trained: the model of all rows, where statistics would
    not do to make it later. evidence: "exact", "BIC", or "" where there is none.
    """

    name: str
    kind: str
    model: Any
    reason: str = ""
    tuned: Tuned | None = None
    statistics: ClassStatistics | None = None
    trained: BayesianLogistic | AutoClassifier | None = None
    log_posterior: Array | None = None
    as_is: tuple[Evaluation, ...] = ()
    calibrated: tuple[Evaluation, ...] = ()
    calibration: Calibration | None = None
    free_parameters: int | None = None
    log_evidence: float | None = None
    evidence: str = ""
    seconds: float = 0.0

    def _is_sound(self) -> bool:
        evaluated = len(self.as_is) > 1 and len(self.calibrated) in (0, len(self.as_is))
        return bool(self.reason) or (evaluated and (self.tuned is None) == (self.statistics is None))

    @property
    def is_stack(self) -> bool:
        """Whether it is many models, weighed by how well they do."""
        return isinstance(self.trained, AutoClassifier)

    @property
    def is_ours(self) -> bool:
        """Whether it may win: an estimator of classwise that is one model, not many."""
        return self.tuned is not None or (self.trained is not None and not self.is_stack)

    @property
    def final(self) -> tuple[Evaluation, ...]:
        """By fold, with the power if that helps."""
        return self.calibrated if self.uses_power else self.as_is

    @cached_property
    def uses_power(self) -> bool:
        """Whether rows held out are better off with the powers of other folds; where rows are few they may not be."""
        return bool(self.calibrated) and merged(self.calibrated).log_loss < merged(self.as_is).log_loss

    @property
    def power(self) -> float | None:
        """The power that suits its posteriors, fitted on all rows held out."""
        return None if self.calibration is None else self.calibration.power

    def __repr__(self) -> str:
        outcome = self.reason or f"log loss {self.estimate('log_loss').value:.4g}"
        return f"Trial({self.name!r}: {outcome})"

    def estimate(self, measure: str, calibrated: bool | None = None) -> Estimate:
        """A measure ("error", "log_loss", "brier", "calibration_error") with its interval over folds.

        calibrated: with the power or without; None for whichever is better.
        """
        parts = self.final if calibrated is None else self.calibrated if calibrated else self.as_is
        return over_folds(parts, lambda e: float(getattr(e, measure)))

    def behind(self, other: "Trial") -> Estimate:
        """How much larger the log loss is than another's, by fold and so in pairs."""
        pairs = zip(self.final, other.final, strict=True)
        parts = [np.array([mine.losses - theirs.losses, mine.weight]) for mine, theirs in pairs]
        return over_folds(parts, lambda sums: float(sums[0] / sums[1]))

    def failed(self, problem: Exception | str, seconds: float = 0.0) -> "Trial":
        """Not fitted, and why: the first line of an error."""
        said = str(problem).strip().split("\n")[0] or type(problem).__name__
        return replace(self, reason=said, tuned=None, trained=None, statistics=None, seconds=seconds)


# How many parameters it has, and how probable it makes all rows and labels: exactly, or as BIC has it -----------------


def described(trial: Trial, fit: Fit) -> Trial:
    """With free parameters and evidence of the model of all rows, as far as their statistics tell."""
    density, total = fit.model.classifier.density, fit.statistics
    trial = replace(trial, statistics=total, free_parameters=density.free_parameters + len(total.labels) - 1)
    exact = fit.model.log_evidence
    if exact is not None:
        priors = fit.plan.priors
        counted = priors is None or (isinstance(priors, str) and priors == "empirical")
        evidence = exact + (_dirichlet(total.weight) if counted else _of_labels(fit, total))
        return replace(trial, log_evidence=float(evidence), evidence="exact")
    if isinstance(density, Gaussian) and is_complete(total):
        return by_bic(trial, fit, density.log_likelihood(total.moments))
    return trial


def by_bic(trial: Trial, fit: Fit, log_likelihood: float) -> Trial:
    """With the evidence as BIC has it (Schwarz 1978), from the log likelihood of the rows, given their labels.

    log p(rows, labels) ~ log likelihood - free parameters / 2 log n
    """
    assert trial.statistics is not None
    assert trial.free_parameters is not None
    weight = float(trial.statistics.weight.sum())
    likelihood = log_likelihood + _of_labels(fit, trial.statistics)
    evidence = float(likelihood - trial.free_parameters / 2 * np.log(weight))
    return replace(trial, log_evidence=evidence, evidence="BIC")


def _of_labels(fit: Fit, total: ClassStatistics) -> float:
    """log p(labels), under the class priors of the model."""
    priors = fit.model.classifier.priors
    return float(total.weight @ np.log(priors, where=priors > 0, out=np.zeros(len(priors))))


def _dirichlet(weight: Array) -> float:
    """log p(labels), with the class priors integrated out under a uniform prior."""
    return float(gammaln(len(weight)) - gammaln(weight.sum() + len(weight)) + gammaln(weight + 1).sum())
